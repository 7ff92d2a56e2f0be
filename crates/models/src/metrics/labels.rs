//! Several labels a row: precision, recall and F1 by label and over all, and how often a row's set is met exactly.

use serde::{Deserialize, Serialize};

use super::classes::{Average, ClassFigures};
use super::{Hits, ratio};

/// A report on predicted sets of labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelReport {
    pub documents: u64,
    /// Share of rows whose labels were met exactly (scikit-learn's accuracy of several labels).
    pub exact: f64,
    /// Share of wrong decisions among rows x labels (Hamming loss).
    pub hamming_loss: f64,
    /// All labels thrown together.
    #[serde(rename = "micro")]
    pub micro_average: Average,
    /// Mean over all labels.
    #[serde(rename = "macro")]
    pub macro_average: Average,
    /// Mean weighted by the rows of each label.
    #[serde(rename = "weighted")]
    pub weighted_average: Average,
    pub labels: Vec<ClassFigures>,
}

impl LabelReport {
    /// Compares predicted with true sets, both ascending numbers of `names`.
    pub fn new(truth: &[Vec<u32>], called: &[Vec<u32>], names: &[String]) -> LabelReport {
        let mut hits = vec![Hits::default(); names.len()];
        for (truth, called) in truth.iter().zip(called) {
            for &t in truth {
                match called.binary_search(&t) {
                    Ok(_) => hits[t as usize].right += 1.0,
                    Err(_) => hits[t as usize].missed += 1.0,
                }
            }
            for &c in called.iter().filter(|&c| truth.binary_search(c).is_err()) {
                hits[c as usize].wrong += 1.0;
            }
        }
        let n = truth.len() as f64;
        let exact = truth.iter().zip(called).filter(|(t, c)| t == c).count() as f64;
        let wrong: f64 = hits.iter().map(|h| h.wrong + h.missed).sum();
        LabelReport {
            documents: truth.len() as u64,
            exact: ratio(exact, n),
            hamming_loss: ratio(wrong, n * names.len() as f64),
            micro_average: Hits::pooled(&hits),
            macro_average: Hits::average(hits.iter().map(|&h| (1.0, h))),
            weighted_average: Hits::average(hits.iter().map(|&h| (h.support(), h))),
            labels: names.iter().zip(&hits).map(|(name, &h)| ClassFigures::new(name, h)).collect(),
        }
    }
}
