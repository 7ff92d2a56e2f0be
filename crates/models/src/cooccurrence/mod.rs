//! How often words stand near each other, and what that says of them: counts, positive pointwise mutual information, vectors.
//!
//! Two words of a document co-occur when at most `window` kept words lie from one to the other; words outside the vocabulary
//! are taken out first, as word2vec and GloVe do. The matrix is symmetric and its diagonal counts each pair twice, as if every
//! word looked both ways. Counts are whole multiples of a unit, so that no order of adding changes them.

mod count;
mod ppmi;

use serde::{Deserialize, Serialize};

pub use count::PairCounter;
pub use ppmi::{Ppmi, PpmiParams};

use super::SparseRows;

/// What a pair at a distance of `d` words counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum PairWeighting {
    /// 1, as Levy and Goldberg count.
    #[default]
    Uniform,
    /// 1 / d, as GloVe counts.
    Harmonic,
}

/// How pairs of words are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CooccurrenceParams {
    /// Words from one to the other at the most. Default 5.
    pub window: usize,
    /// What a pair counts by its distance: `uniform` (default) or `harmonic`.
    pub weighting: PairWeighting,
    /// Words that occur less often are left out. Default 5.
    pub min_count: u64,
    /// Words kept at the most, the most frequent; 0 (default) keeps all.
    pub max_words: usize,
    /// Memory for pairs that are not yet sorted, in MB; what is over goes to scratch files. Default 1024. Results do not
    /// depend on it.
    pub memory: usize,
}

impl Default for CooccurrenceParams {
    fn default() -> CooccurrenceParams {
        CooccurrenceParams { window: 5, weighting: PairWeighting::Uniform, min_count: 5, max_words: 0, memory: 1024 }
    }
}

/// The counted pairs, `[words, words]`.
pub struct Cooccurrence {
    /// Row `i` has the count of word `i` with each word that it met.
    rows: SparseRows,
    /// Sums of the rows.
    sums: Vec<f64>,
}

impl Cooccurrence {
    /// Pairs that occurred, each of both orders.
    pub fn pairs(&self) -> u64 {
        self.rows.entries()
    }

    /// The counts, a row a word.
    pub fn rows(&self) -> &SparseRows {
        &self.rows
    }

    /// Sum of all counts.
    pub fn total(&self) -> f64 {
        self.sums.iter().sum()
    }
}
