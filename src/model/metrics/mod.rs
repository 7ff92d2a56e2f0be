//! How good predictions are: reports on classes, on sets of labels and on values, as scikit-learn defines their figures.
//!
//! What divides by zero is 0 in precision, recall and F1 (scikit-learn's `zero_division=0`) and `None` where a measure has no
//! meaning (an area under the curve of one class). Logarithms are natural. Probabilities are rows of one number a class.

mod classes;
mod labels;
mod probability;
mod values;

pub use classes::{Average, ClassFigures, ClassReport};
pub use labels::LabelReport;
pub use probability::{Bin, ProbabilityReport};
pub use values::ValueReport;

pub(crate) use probability::area_under_curve;
pub(crate) use values::{r_squared, rank_correlation};

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
pub(crate) fn largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}
