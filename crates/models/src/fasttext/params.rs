//! What a fastText model is trained with, under fastText's names and in the order of its file.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// What is learned of the text. Numbers are those of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Words from the words around them, thrown together.
    Cbow = 1,
    /// The words around from each word.
    #[default]
    Skipgram = 2,
    /// Labels from the text.
    Supervised = 3,
}

/// What is minimised. Numbers are those of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Hierarchical softmax over a Huffman tree.
    Hs = 1,
    /// Negative sampling.
    #[default]
    Ns = 2,
    /// Softmax over all outputs.
    Softmax = 3,
    /// One versus all: a logistic regression a label, for several labels a text.
    Ova = 4,
}

/// Parameters of a fastText model; the defaults are fastText's for unsupervised vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FastTextParams {
    /// What is learned.
    pub form: Form,
    /// What is minimised.
    pub loss: Loss,
    /// Values of a vector.
    pub dim: usize,
    /// Words on each side of a word, at the most.
    pub window: usize,
    /// Passes over the text.
    pub epochs: usize,
    /// Words that occur less often have no vector of their own.
    pub min_count: u64,
    /// Labels that occur less often are left out.
    pub min_count_label: u64,
    /// Outputs drawn against each right one, for negative sampling.
    pub negative: usize,
    /// Words in a row that are a feature together, at the most; for supervised models.
    pub word_ngrams: usize,
    /// Places that n-grams are hashed into.
    pub bucket: u32,
    /// Shortest character n-gram, in characters.
    pub minn: usize,
    /// Longest character n-gram; 0: none.
    pub maxn: usize,
    /// Words more frequent than this share are passed over at times; for unsupervised models.
    pub sample: f64,
    /// Rate of learning at the start; it falls to 0 along a straight line. Not in fastText's file.
    pub lr: f32,
    /// What a label begins with, in files of tokens and in fastText's file.
    pub label: String,
}

impl Default for FastTextParams {
    fn default() -> Self {
        FastTextParams {
            form: Form::Skipgram,
            loss: Loss::Ns,
            dim: 100,
            window: 5,
            epochs: 5,
            min_count: 5,
            min_count_label: 0,
            negative: 5,
            word_ngrams: 1,
            bucket: 2_000_000,
            minn: 3,
            maxn: 6,
            sample: 1e-4,
            lr: 0.05,
            label: "__label__".to_owned(),
        }
    }
}

impl FastTextParams {
    /// fastText's defaults for supervised models.
    pub fn supervised() -> FastTextParams {
        FastTextParams {
            form: Form::Supervised,
            loss: Loss::Softmax,
            min_count: 1,
            minn: 0,
            maxn: 0,
            lr: 0.1,
            ..FastTextParams::default()
        }
    }

    /// Whether there are n-grams at all.
    pub(super) fn hashes(&self) -> bool {
        self.maxn > 0 || (self.form == Form::Supervised && self.word_ngrams > 1)
    }

    /// Fails when they cannot be used.
    pub fn check(&self) -> Result<()> {
        self.clone().checked().map(drop)
    }

    /// Checks them, and sets aside buckets that nothing would be hashed into, as fastText does.
    pub(super) fn checked(mut self) -> Result<FastTextParams> {
        ensure!(self.dim > 0 && self.dim <= 1 << 16, "a vector has 1 to 65536 values, not {} (--dim)", self.dim);
        ensure!(
            self.epochs > 0 && self.epochs <= i32::MAX as usize,
            "there is nothing to do in {} epochs (--epochs)",
            self.epochs
        );
        ensure!(self.lr.is_finite() && self.lr > 0.0, "the rate of learning is above 0, not {} (--lr)", self.lr);
        ensure!(self.window > 0 && self.window <= 1000, "a window has 1 to 1000 words, not {} (--window)", self.window);
        ensure!(
            self.word_ngrams > 0 && self.word_ngrams <= 100,
            "n-grams have 1 to 100 words, not {} (--word-ngrams)",
            self.word_ngrams
        );
        ensure!(
            self.maxn == 0 || (self.minn <= self.maxn && self.maxn <= 100),
            "character n-grams of {} to {} characters cannot be: --minn is at most --maxn, and this at most 100",
            self.minn,
            self.maxn
        );
        ensure!(
            self.loss != Loss::Ova || self.form == Form::Supervised,
            "the loss ova is for labels: take ns, hs or softmax"
        );
        ensure!(self.negative > 0 || self.loss != Loss::Ns, "negative sampling draws at least one (--negative)");
        ensure!(self.sample > 0.0, "the threshold of sampling is above 0, not {} (--sample)", self.sample);
        ensure!(self.bucket <= 1 << 30, "there are at most 2^30 buckets, not {} (--bucket)", self.bucket);
        ensure!(!self.label.is_empty(), "labels begin with something, lest every word be one (--label)");
        ensure!(!self.hashes() || self.bucket > 0, "n-grams need buckets to be hashed into (--bucket)");
        if !self.hashes() {
            self.bucket = 0;
        }
        Ok(self)
    }
}
