//! F1 of entities: one is right where its kind and both its ends are (seqeval's default).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Average, ClassFigures, Hits};

/// A report on entities that were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityReport {
    pub documents: u64,
    /// All kinds thrown together.
    #[serde(rename = "micro")]
    pub micro_average: Average,
    /// Mean over the kinds that are there or were found.
    #[serde(rename = "macro")]
    pub macro_average: Average,
    /// Mean weighted by the entities of each kind.
    #[serde(rename = "weighted")]
    pub weighted_average: Average,
    /// Kind by kind, in the order of the names.
    pub kinds: Vec<ClassFigures>,
}

/// The entities of a text: kind and place.
pub type Entities = Vec<(String, Range<usize>)>;

impl EntityReport {
    /// Compares found with right entities, a list for each document; one that is listed twice counts once.
    pub fn new(right: &[Entities], found: &[Entities]) -> EntityReport {
        let mut kinds: BTreeMap<&str, Hits> = BTreeMap::new();
        for (right, found) in right.iter().zip(found) {
            let set = |all: &'_ Entities| -> BTreeSet<(String, usize, usize)> {
                all.iter().map(|(kind, place)| (kind.clone(), place.start, place.end)).collect()
            };
            let (wanted, called) = (set(right), set(found));
            for (kind, _) in right.iter().chain(found) {
                kinds.entry(kind).or_default();
            }
            for (kind, hits) in &mut kinds {
                let count = |all: &mut dyn Iterator<Item = &(String, usize, usize)>| {
                    all.filter(|(of_kind, ..)| of_kind == kind).count() as f64
                };
                hits.right += count(&mut wanted.intersection(&called));
                hits.wrong += count(&mut called.difference(&wanted));
                hits.missed += count(&mut wanted.difference(&called));
            }
        }
        let hits: Vec<Hits> = kinds.values().copied().collect();
        EntityReport {
            documents: right.len() as u64,
            micro_average: Hits::pooled(&hits),
            macro_average: Hits::average(hits.iter().map(|&hits| (1.0, hits))),
            weighted_average: Hits::average(hits.iter().map(|&hits| (hits.support(), hits))),
            kinds: kinds.iter().map(|(kind, &hits)| ClassFigures::new(kind, hits)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::reference;
    use super::*;

    #[test]
    fn entities_are_measured_as_seqeval_does() {
        let reference = &reference()["entities"];
        let entities = |name: &str| -> Vec<Entities> {
            let rows: Vec<Vec<(String, usize, usize)>> = serde_json::from_value(reference[name].clone()).unwrap();
            rows.into_iter().map(|row| row.into_iter().map(|(kind, from, to)| (kind, from..to)).collect()).collect()
        };
        let report = EntityReport::new(&entities("wanted"), &entities("found"));
        let near = |found: [f64; 3], expected: &Value| {
            let wanted = ["precision", "recall", "f1-score"].map(|figure| expected[figure].as_f64().unwrap());
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?} {expected}");
        };
        let of_average = |average: Average| [average.precision, average.recall, average.f1];
        near(of_average(report.micro_average), &reference["report"]["micro avg"]);
        near(of_average(report.macro_average), &reference["report"]["macro avg"]);
        near(of_average(report.weighted_average), &reference["report"]["weighted avg"]);
        for kind in &report.kinds {
            near([kind.precision, kind.recall, kind.f1], &reference["report"][&kind.label]);
            assert_eq!(kind.support as f64, reference["report"][&kind.label]["support"].as_f64().unwrap());
        }
        assert_eq!((report.documents, report.kinds.len()), (30, 4));
    }
}
