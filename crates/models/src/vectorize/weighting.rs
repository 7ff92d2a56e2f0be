//! Counts to weights.

use serde::{Deserialize, Serialize};

use super::{Formula, Norm, VectorizerParams};

impl VectorizerParams {
    /// The inverse document frequency of a term that is in `df` of `n` documents.
    pub(super) fn idf(&self, n: f64, df: f64) -> f64 {
        match self.formula {
            Formula::Sklearn if self.smooth_idf => ((1.0 + n) / (1.0 + df)).ln() + 1.0,
            Formula::Sklearn => (n / df).ln() + 1.0,
            Formula::Textbook => (n / (df + 1.0)).ln(),
            Formula::Bm25 => ((n - df + 0.5) / (df + 0.5)).ln_1p(),
            Formula::LogCount | Formula::Count | Formula::Binary => 1.0,
        }
    }

    /// The weighting for kept terms, given each one's document frequency, in column order; `terms` is the number of terms in
    /// all documents, unkept ones included.
    pub fn weighting(&self, documents: u64, terms: u64, df: impl Iterator<Item = u64>) -> Weighting {
        let n = documents as f64;
        let idf = |df: u64| self.idf(n, df as f64);
        let norm = match (self.norm, self.formula) {
            (Norm::Formula, Formula::Sklearn) => Norm::L2,
            (Norm::Formula, _) => Norm::None,
            (norm, _) => norm,
        };
        Weighting {
            formula: self.formula,
            sublinear_tf: self.sublinear_tf,
            norm,
            k1: self.k1,
            b: self.b,
            mean_length: terms as f64 / n.max(1.0),
            idf: if self.has_idf() { df.map(idf).collect() } else { Vec::new() },
        }
    }
}

/// Turns counts of kept terms into a row; fitted on some documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighting {
    pub(super) formula: Formula,
    pub(super) sublinear_tf: bool,
    pub(super) norm: Norm,
    pub(super) k1: f64,
    pub(super) b: f64,
    /// Terms of a document, on average.
    pub(super) mean_length: f64,
    /// The inverse document frequency of each column; empty where the formula has none.
    pub(super) idf: Vec<f64>,
}

impl Weighting {
    /// Replaces counts by weights. `counts` holds ascending columns; `length` is the document's length in terms, unknown
    /// ones included.
    pub fn apply(&self, counts: &mut [(u32, f32)], length: f64) {
        let by = self.divisor(counts, length);
        for (j, value) in counts.iter_mut() {
            *value = (self.weight(*j, *value, length) / by) as f32;
        }
    }

    /// The inverse document frequency of a column; 1 where the formula has none.
    pub fn idf_of(&self, column: usize) -> f64 {
        self.idf.get(column).copied().unwrap_or(1.0)
    }

    /// The weight of a count before the row is scaled.
    #[inline]
    pub fn weight(&self, column: u32, count: f32, length: f64) -> f64 {
        let count = f64::from(count);
        let idf = || self.idf[column as usize];
        match self.formula {
            Formula::Sklearn => self.tf(count) * idf(),
            Formula::Textbook => self.tf(count) / length * idf(),
            Formula::Bm25 => {
                let held_against = self.k1 * (1.0 - self.b + self.b * length / self.mean_length);
                idf() * count * (self.k1 + 1.0) / (count + held_against)
            }
            // Hashed counts can be below 0; what they count downwards weighs as what they count upwards.
            Formula::LogCount => count.signum() * count.abs().ln_1p(),
            Formula::Count => count,
            Formula::Binary => 1.0,
        }
    }

    /// The norm that the weights of a row are divided by.
    pub(super) fn divisor(&self, counts: &[(u32, f32)], length: f64) -> f64 {
        let weights = counts.iter().map(|&(j, count)| self.weight(j, count, length));
        let by = match self.norm {
            Norm::Formula | Norm::None => 1.0,
            Norm::L1 => weights.map(f64::abs).sum(),
            Norm::L2 => weights.map(|w| w * w).sum::<f64>().sqrt(),
        };
        if by > 0.0 { by } else { 1.0 }
    }

    #[inline]
    fn tf(&self, count: f64) -> f64 {
        if self.sublinear_tf { 1.0 + count.ln() } else { count }
    }
}
