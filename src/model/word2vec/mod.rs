//! word2vec: word vectors that predict their neighbours (Mikolov, Chen, Corrado and Dean 2013, Efficient Estimation of Word
//! Representations in Vector Space; Mikolov, Sutskever, Chen, Corrado and Dean 2013, Distributed Representations of Words and
//! Phrases and their Compositionality).
//!
//! Takes a corpus as numbers of words, gives `[words, dim] f32`. `train` passes over the corpus in blocks of pieces, on several
//! threads and to the same bytes; `plan` draws what a `piece` is to learn, from an `alias` table or a `huffman` tree; `kernel`
//! is the step of one prediction, `slots` the copies that pieces work on, `checkpoint` the file of the whole state. Definitions
//! are those of the C tool, but that the inputs of a window share their negative samples, and that the logistic function is
//! computed and not looked up.

mod alias;
mod checkpoint;
mod huffman;
mod kernel;
mod matrix;
mod piece;
mod plan;
mod random;
mod slots;
#[cfg(test)]
mod tests;
mod train;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub(crate) use train::Word2vec;

/// What predicts what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The mean of a window predicts its centre.
    #[default]
    Cbow,
    /// Each word of a window predicts its centre.
    SkipGram,
}

/// How a word is predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// It is told from words drawn at random.
    #[default]
    Negative,
    /// By its path in a Huffman tree.
    Hierarchical,
}

/// How vectors are trained. Defaults are those of the C tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Word2vecParams {
    /// What predicts what.
    pub architecture: Architecture,
    /// How a word is predicted.
    pub objective: Objective,
    /// Dimensions.
    pub dim: usize,
    /// Words on each side at the most.
    pub window: usize,
    /// Words drawn for each prediction.
    pub negative: usize,
    /// Words of a higher share are thinned out; 0 keeps all.
    pub sample: f64,
    /// Passes over the corpus.
    pub epochs: usize,
    /// The rate of learning at the beginning; none takes 0.025 for skip-gram and 0.05 for CBOW.
    pub lr: Option<f64>,
    /// The rate of learning at the end.
    pub min_lr: f64,
}

impl Default for Word2vecParams {
    fn default() -> Word2vecParams {
        Word2vecParams {
            architecture: Architecture::default(),
            objective: Objective::default(),
            dim: 100,
            window: 5,
            negative: 5,
            sample: 1e-3,
            epochs: 5,
            lr: None,
            min_lr: 1e-4,
        }
    }
}

impl Word2vecParams {
    /// The rate of learning at the beginning.
    pub fn rate(&self) -> f64 {
        self.lr.unwrap_or(match self.architecture {
            Architecture::Cbow => 0.05,
            Architecture::SkipGram => 0.025,
        })
    }

    /// Fails when they cannot be used; the message names the flag.
    pub(crate) fn check(&self) -> Result<()> {
        let counts = [
            ("--dim", self.dim, 1..=100_000),
            ("--window", self.window, 1..=10_000),
            ("--epochs", self.epochs, 1..=1_000_000),
            ("--negative", self.negative, 1..=10_000),
        ];
        for (flag, value, range) in counts {
            ensure!(range.contains(&value), "{flag} is {value}; it lies from {} to {}", range.start(), range.end());
        }
        ensure!(self.sample.is_finite() && self.sample >= 0.0, "--sample is {}; it is 0 or above", self.sample);
        let (lr, least) = (self.rate(), self.min_lr);
        ensure!(
            least > 0.0 && least <= lr && lr.is_finite(),
            "the rate of learning goes from --lr {lr} to --min-lr {least}; it must fall, to above 0"
        );
        Ok(())
    }
}
