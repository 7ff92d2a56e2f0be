//! Measures of predictions: reports on classes, on sets of labels and on values, as scikit-learn defines their figures.
//!
//! A ratio with denominator zero is 0 in precision, recall and F1 (scikit-learn's `zero_division=0`) and `None` where a measure has no
//! meaning (an area under the curve of one class). Logarithms are natural. Probabilities are rows of one number a class.

mod answers;
mod bleu;
mod classes;
mod entities;
mod labels;
mod probability;
mod rouge;
mod values;

pub use answers::{AnswerMatch, cmrc_match, squad_match};
pub use bleu::{Bleu, character_tokens, chinese_tokens, corpus_bleu, sentence_bleu, textbook_bleu};
pub use classes::{Average, ClassFigures, ClassReport};
pub use entities::{Entities, EntityReport};
pub use labels::LabelReport;
pub use probability::{Bin, ProbabilityReport};
pub use rouge::{Rouge, mean_rouge, rouge};
pub use values::ValueReport;

pub use probability::area_under_curve;
pub(crate) use values::r_squared;
pub(crate) use values::rank_correlation;

/// Counts of one class: found rightly, found wrongly, missed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Hits {
    right: f64,
    wrong: f64,
    missed: f64,
}

impl Hits {
    fn precision(self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    fn recall(self) -> f64 {
        ratio(self.right, self.right + self.missed)
    }

    fn f1(self) -> f64 {
        ratio(2.0 * self.right, 2.0 * self.right + self.wrong + self.missed)
    }

    /// Members of the class.
    fn support(self) -> f64 {
        self.right + self.missed
    }

    fn average(hits: impl Iterator<Item = (f64, Hits)> + Clone) -> Average {
        let total: f64 = hits.clone().map(|(weight, _)| weight).sum();
        let mean = |figure: fn(Hits) -> f64| ratio(hits.clone().map(|(weight, h)| weight * figure(h)).sum(), total);
        Average { precision: mean(Hits::precision), recall: mean(Hits::recall), f1: mean(Hits::f1) }
    }

    /// All classes thrown together.
    fn pooled(hits: &[Hits]) -> Average {
        let sum = hits.iter().fold(Hits::default(), |a, b| Hits {
            right: a.right + b.right,
            wrong: a.wrong + b.wrong,
            missed: a.missed + b.missed,
        });
        Hits::average(std::iter::once((1.0, sum)))
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The place of the largest number, the first of equals.
pub fn largest<T: PartialOrd>(values: &[T]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Reference values of answers and entities (tests/reference/answers).
#[cfg(test)]
fn reference() -> serde_json::Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/answers/expected.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Reference, read};

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| i.to_string()).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    fn same(a: Average, b: Average) -> bool {
        near(a.precision, b.precision) && near(a.recall, b.recall) && near(a.f1, b.f1)
    }

    #[test]
    fn class_reports_equal_those_of_scikit_learn() {
        for case in Reference::read().all["reports"].as_array().unwrap() {
            let (truth, called): (Vec<u32>, Vec<u32>) = (read(&case["truth"]), read(&case["called"]));
            let report = ClassReport::new(&truth, &called, &names(4));
            assert!(near(report.accuracy, read(&case["accuracy"])) && near(report.mcc, read(&case["mcc"])));
            assert!(same(report.macro_average, read(&case["macro"])), "{report:?}");
            assert!(same(report.weighted_average, read(&case["weighted"])));
            assert!(same(report.micro_average, read(&case["micro"])));
            assert_eq!(report.confusion, read::<Vec<Vec<u64>>>(&case["confusion"]));
        }
    }

    #[test]
    fn probability_reports_equal_those_of_scikit_learn() {
        for case in Reference::read().all["probabilities"].as_array().unwrap() {
            let p: Vec<Vec<f64>> = read(&case["p"]);
            let report = ProbabilityReport::new(&read::<Vec<u32>>(&case["truth"]), &p.concat(), read(&case["classes"]));
            assert!(near(report.log_loss, read(&case["log_loss"])), "{}", report.log_loss);
            assert!(near(report.brier, read(&case["brier"])), "{}", report.brier);
            assert!(near(report.auc.unwrap(), read(&case["auc"])));
            assert_eq!(report.reliability.iter().map(|bin| bin.documents).sum::<u64>(), 120);
        }
    }

    #[test]
    fn label_reports_equal_those_of_scikit_learn() {
        let reference = Reference::read();
        let labels = &reference.all["labels"];
        let sets = |name: &str| -> Vec<Vec<u32>> {
            let rows: Vec<Vec<u32>> = read(&labels[name]);
            rows.iter().map(|row| (0..).zip(row).filter(|(_, has)| **has == 1).map(|(l, _)| l).collect()).collect()
        };
        let report = LabelReport::new(&sets("truth"), &sets("called"), &names(5));
        assert!(same(report.micro_average, read(&labels["micro"])));
        assert!(same(report.macro_average, read(&labels["macro"])));
        assert!(same(report.weighted_average, read(&labels["weighted"])));
        assert!(near(report.exact, read(&labels["exact"])) && near(report.hamming_loss, read(&labels["hamming_loss"])));
    }

    #[test]
    fn measures_of_values_agree_with_a_calculation_by_hand() {
        // Differences of ranks 0, 1, -1, 0: 1 - 6 x 2 / (4 x 15) = 0.8.
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[10.0, 30.0, 20.0, 40.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        // Three of the four pairs are in order, and one is tied.
        assert_eq!(area_under_curve(&[0.1, 0.5, 0.5, 0.9], &[false, false, true, true]), Some(0.875));
        assert_eq!(r_squared(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(r_squared(&[2.0, 2.0, 2.0], &[1.0, 2.0, 3.0]), Some(0.0));
        let report = ValueReport::new(&[1.0, 2.0, 4.0], &[1.0, 3.0, 3.0]);
        assert_eq!((report.documents, report.mse, report.mae), (3, 2.0 / 3.0, 2.0 / 3.0));
    }

    #[test]
    fn a_reliability_table_sums_up_to_the_calibration_error() {
        // Two rows at 0.15 of which none is so, two at 0.95 of which one is: (0.15 + 0.45) / 2.
        let p = [0.85, 0.15, 0.85, 0.15, 0.05, 0.95, 0.05, 0.95];
        let report = ProbabilityReport::new(&[0, 0, 1, 0], &p, 2);
        let bins: Vec<(f64, u64, f64)> =
            report.reliability.iter().map(|b| (b.from, b.documents, b.frequency)).collect();
        assert_eq!(bins, [(0.1, 2, 0.0), (0.9, 2, 0.5)]);
        assert!((report.ece - 0.3).abs() < 1e-12);
    }

    #[test]
    fn an_area_needs_every_class() {
        let p = [0.5, 0.3, 0.2, 0.1, 0.8, 0.1];
        assert_eq!(ProbabilityReport::new(&[0, 1], &p, 3).auc, None);
    }
}
