//! word2vec: word vectors that predict their neighbours (Mikolov, Chen, Corrado and Dean 2013, Efficient Estimation of Word
//! Representations in Vector Space; Mikolov, Sutskever, Chen, Corrado and Dean 2013, Distributed Representations of Words and
//! Phrases and their Compositionality); and what was built on it: vectors of documents that predict their words (Le and Mikolov
//! 2014, Distributed Representations of Sentences and Documents) and words that are made of their characters (Chen, Xu, Liu,
//! Sun and Luan 2015, Joint Learning of Character and Word Embeddings).
//!
//! Takes a corpus as numbers of words, gives `[words, dim] f32`. `train` passes over the corpus in stretches, one step after the
//! other, while other threads `plan` the next, from an alias table or a `huffman` tree; `kernel` is the step of one prediction;
//! `characters` are rows that words share; `document` infers the vector of a text. Definitions are those of the C tool, but
//! that the inputs of a window share their negative samples, that stretches come in a random order, and that the logistic
//! function is computed and not looked up.

mod characters;
mod document;
mod huffman;
mod kernel;
mod matrix;
mod plan;
#[cfg(test)]
mod tests;
mod train;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub use document::Doc2vec;
pub use plan::{DOCUMENT, END};
pub use train::{Corpus, Word2vec};

/// What predicts what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The mean of a window predicts its centre.
    #[default]
    Cbow,
    /// Each word of a window predicts its centre.
    SkipGram,
    /// The mean of a window and its document predicts its centre: distributed memory.
    Dm,
    /// The document predicts each of its words: distributed bag of words.
    Dbow,
}

impl Architecture {
    /// Whether documents have vectors.
    pub fn of_documents(self) -> bool {
        matches!(self, Architecture::Dm | Architecture::Dbow)
    }
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

/// How vectors are trained. Defaults are those of the C tool for words.
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
    /// The rate of learning at the beginning; none takes 0.05 for CBOW and 0.025 for all else.
    pub lr: Option<f64>,
    /// The rate of learning at the end.
    pub min_lr: f64,
    /// Whether half of a Chinese word's vector is the mean of those of its characters (CWE); with CBOW.
    pub characters: bool,
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
            characters: false,
        }
    }
}

impl Word2vecParams {
    /// The rate of learning at the beginning.
    pub fn rate(&self) -> f64 {
        self.lr.unwrap_or(match self.architecture {
            Architecture::Cbow => 0.05,
            _ => 0.025,
        })
    }

    /// Fails when they cannot be used; the message names the flag.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("--dim", self.dim, 1..=100_000),
            ("--window", self.window, 1..=10_000),
            ("--epochs", self.epochs, 1..=1_000_000),
            ("--negative", self.negative, 1..=10_000),
        ];
        for (flag, value, range) in counts {
            ensure!(range.contains(&value), "{flag} is {value}; it lies from {} to {}", range.start(), range.end());
        }
        ensure!(
            !self.characters || self.architecture == Architecture::Cbow,
            "--chars makes words of their characters while a mean of words is trained: it goes with CBOW"
        );
        ensure!(self.sample.is_finite() && self.sample >= 0.0, "--sample is {}; it is 0 or above", self.sample);
        let (lr, least) = (self.rate(), self.min_lr);
        ensure!(
            least > 0.0 && least <= lr && lr.is_finite(),
            "the rate of learning goes from --lr {lr} to --min-lr {least}; it must fall, to above 0"
        );
        Ok(())
    }
}
