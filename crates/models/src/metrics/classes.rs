//! One class a row: accuracy, precision, recall, F1, the confusion of classes, and Matthews's correlation.

use serde::{Deserialize, Serialize};

use super::{Hits, ratio};

/// Precision, recall and F1 over classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// TP / (TP + FP).
    pub precision: f64,
    /// TP / (TP + FN).
    pub recall: f64,
    /// Harmonic mean of both (over classes: the mean of their F1).
    pub f1: f64,
}

/// The figures of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassFigures {
    pub label: String,
    /// TP / (TP + FP).
    pub precision: f64,
    /// TP / (TP + FN).
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
    /// Rows of the class.
    pub support: u64,
    /// Rows that were predicted to be of the class: TP + FP.
    pub predicted: u64,
}

impl ClassFigures {
    pub(super) fn new(label: &str, hits: Hits) -> ClassFigures {
        ClassFigures {
            label: label.to_owned(),
            precision: hits.precision(),
            recall: hits.recall(),
            f1: hits.f1(),
            support: hits.support() as u64,
            predicted: (hits.right + hits.wrong) as u64,
        }
    }
}

/// A report on predicted classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    pub documents: u64,
    /// Share of rows called rightly.
    pub accuracy: f64,
    /// Mean over the classes that are there or were called.
    #[serde(rename = "macro")]
    pub macro_average: Average,
    /// All classes thrown together; each figure is the accuracy.
    #[serde(rename = "micro")]
    pub micro_average: Average,
    /// Mean weighted by the rows of each class.
    #[serde(rename = "weighted")]
    pub weighted_average: Average,
    /// Matthews's correlation of called and true classes (Gorodkin 2004 for more than two).
    pub mcc: f64,
    /// Class by class, in the order of the names.
    pub classes: Vec<ClassFigures>,
    /// Rows by true class (outer) and called class (inner).
    pub confusion: Vec<Vec<u64>>,
}

impl ClassReport {
    /// Compares called with true classes, both numbers of `names`. A class that is neither there nor called has its line
    /// of zeros, but does not enter the macro average.
    pub fn new(truth: &[u32], called: &[u32], names: &[String]) -> ClassReport {
        let k = names.len();
        let mut confusion = vec![vec![0u64; k]; k];
        for (&t, &c) in truth.iter().zip(called) {
            confusion[t as usize][c as usize] += 1;
        }
        let row = |c: usize| confusion[c].iter().sum::<u64>() as f64;
        let column = |c: usize| confusion.iter().map(|row| row[c]).sum::<u64>() as f64;
        let hits: Vec<Hits> = (0..k)
            .map(|c| {
                let right = confusion[c][c] as f64;
                Hits { right, wrong: column(c) - right, missed: row(c) - right }
            })
            .collect();
        let there = hits.iter().filter(|h| h.support() + h.wrong > 0.0).map(|&h| (1.0, h));
        let n = truth.len() as f64;
        let right: f64 = hits.iter().map(|h| h.right).sum();
        let dot = |a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| (0..k).map(|c| a(c) * b(c)).sum::<f64>();
        let (rows, columns) = (n * n - dot(&row, &row), n * n - dot(&column, &column));
        ClassReport {
            documents: truth.len() as u64,
            accuracy: ratio(right, n),
            macro_average: Hits::average(there),
            micro_average: Hits::pooled(&hits),
            weighted_average: Hits::average(hits.iter().map(|&h| (h.support(), h))),
            mcc: ratio(right * n - dot(&row, &column), (rows * columns).sqrt()),
            classes: names.iter().zip(&hits).map(|(name, &h)| ClassFigures::new(name, h)).collect(),
            confusion,
        }
    }
}
