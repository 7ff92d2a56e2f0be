//! Neural language models: NNLM, LBL and RNNLM.
//!
//! | kind | paper | features of a context |
//! |---|---|---|
//! | `nnlm` | Bengio, Ducharme, Vincent and Jauvin 2003 | tanh(d + H x), and x itself with direct connections; x: the vectors of the n - 1 words before |
//! | `lbl` | Mnih and Hinton 2007 | the sum of C_i x_i, plus a bias: a guess at the vector of the next word |
//! | `rnnlm` | Mikolov, Karafiát, Burget, Černocký and Khudanpur 2010 | h = sigmoid(vector of the word before + W h of the step before) |
//!
//! Instead of the softmax, LBL can have a binary tree of words (`tree`: Mnih and Hinton 2009).
//!
//! The probability of a word is a softmax of features · its row of the output + its bias over all words; LBL's rows are the
//! word vectors themselves. Words are numbered by frequency; after the last stand `</s>`, which ends a document and is also
//! what stands before its first word, and `<unk>` for all words outside the vocabulary. Documents know nothing of each other.
//!
//! The bias of a word begins at the logarithm of its share, so that training begins at the unigram model.

mod batches;
mod file;
mod net;
mod sample;
mod score;
#[cfg(test)]
mod tests;
mod tree;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::fit::{EpochFigures, FitParams, fit};
use super::sampled::Sampler;
use super::weights::{Weight, Weights};
use crate::checkpoint::Checkpoint;
use batches::LanguageNet;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
pub use score::LanguageScorer;
pub use tree::WordTree;

/// The weights by number.
const WORDS: usize = 0;
const OUTPUT: usize = 1;
const INNER: usize = 2;
const BIAS: usize = 3;

/// Bound of the vectors that training begins with.
const START: f32 = 0.1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum LanguageKind {
    /// Bengio's: a hidden layer over the words before.
    #[default]
    Nnlm,
    /// The log-bilinear model: no hidden layer.
    Lbl,
    /// The recurrent model.
    Rnnlm,
}

impl LanguageKind {
    pub const ALL: [LanguageKind; 3] = [LanguageKind::Nnlm, LanguageKind::Lbl, LanguageKind::Rnnlm];

    /// The name in `train` and in model files.
    pub fn name(self) -> &'static str {
        match self {
            LanguageKind::Nnlm => "nnlm",
            LanguageKind::Lbl => "lbl",
            LanguageKind::Rnnlm => "rnnlm",
        }
    }
}

defaults! {
    /// Parameters of a neural language model.
    pub struct LanguageParams {
        kind: LanguageKind = LanguageKind::Nnlm,
        /// Words of an n-gram, the predicted one among them; without effect on `rnnlm`.
        order: usize = 4,
        /// Values of a word vector; those of `rnnlm` have `hidden`.
        dim: usize = 60,
        /// Units of the hidden layer; `lbl` has none.
        hidden: usize = 50,
        /// For `nnlm`: whether the word vectors also act on the output directly.
        direct: bool = false,
        /// For `rnnlm`: steps that gradients go back.
        bptt: usize = 10,
        /// Words drawn by their share that each prediction is trained against (importance sampling); 0 (default): all words.
        /// Perplexities are always those against all words.
        samples: usize = 0,
        /// For `lbl`: true if a binary tree of words stands in the place of the softmax.
        tree: bool = false,
        fit: FitParams = FitParams::default(),
    }
}

impl LanguageParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!((2..=20).contains(&self.order), "--order {} 须为 2 到 20", "--order {} must be 2 to 20", self.order);
        ensure!(self.dim > 0, "--dim 0 没有词向量；请写 1 或更大", "--dim 0 leaves no word vector; give 1 or more");
        ensure!(
            self.hidden > 0,
            "--hidden 0 没有隐藏层；请写 1 或更大",
            "--hidden 0 leaves no hidden layer; give 1 or more"
        );
        ensure!(self.bptt > 0, "--bptt 0 不训练；请写 1 或更大", "--bptt 0 trains nothing; give 1 or more");
        ensure!(
            !self.direct || self.kind == LanguageKind::Nnlm,
            "只有 nnlm 有 --direct 连接",
            "only nnlm has --direct connections"
        );
        ensure!(
            !self.tree || (self.kind == LanguageKind::Lbl && self.samples == 0),
            "词树用于 lbl，且不与 --samples 并用：每次预测只算一条路径",
            "a tree of words is for lbl, without --samples: a prediction costs one path"
        );
        self.fit.check()
    }

    /// Values of a word vector.
    pub fn vector_dim(&self) -> usize {
        if self.kind == LanguageKind::Rnnlm { self.hidden } else { self.dim }
    }

    /// Words that a prediction sees directly.
    fn context(&self) -> usize {
        if self.kind == LanguageKind::Rnnlm { 1 } else { self.order - 1 }
    }

    /// Values of the features.
    fn features(&self) -> usize {
        let inputs = self.context() * self.dim;
        match self.kind {
            LanguageKind::Nnlm => self.hidden + if self.direct { inputs } else { 0 },
            LanguageKind::Lbl => self.dim,
            LanguageKind::Rnnlm => self.hidden,
        }
    }

    /// Names and shapes of the weights.
    fn shapes(&self, classes: usize) -> Vec<(&'static str, usize, usize)> {
        let (m, h, inputs) = (self.dim, self.hidden, self.context() * self.dim);
        match self.kind {
            LanguageKind::Nnlm => vec![
                ("vectors", classes, m),
                ("output", classes, self.features() + 1),
                ("hidden", h, inputs),
                ("hidden_bias", 1, h),
            ],
            LanguageKind::Lbl => {
                // A tree has a vector and a bias at each inner node.
                let (rows, dim) = if self.tree { (classes - 1, m + 1) } else { (classes, 1) };
                vec![("vectors", classes, m), ("output", rows, dim), ("positions", m, inputs), ("guess_bias", 1, m)]
            }
            LanguageKind::Rnnlm => {
                vec![("vectors", classes, h), ("output", classes, h + 1), ("recurrent", h, h)]
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct LanguageWords {
    /// The most frequent first; the two marks are not among them.
    pub words: Vec<Box<str>>,
    /// Occurrences of each word, then of `</s>` and of `<unk>`.
    pub counts: Vec<u64>,
    numbers: FxHashMap<Box<str>, u32>,
}

impl LanguageWords {
    /// Numbers the words; counts are those of the words, of `</s>` and of `<unk>`.
    pub fn new(words: Vec<Box<str>>, counts: Vec<u64>) -> Result<LanguageWords> {
        ensure!(
            counts.len() == words.len() + 2,
            "{1} 个词与两个标记，却有 {0} 个计数",
            "{} counts of {} words and two marks",
            counts.len(),
            words.len()
        );
        let numbers = words.iter().cloned().zip(0..).collect();
        Ok(LanguageWords { words, counts, numbers })
    }

    /// Words and both marks.
    pub fn classes(&self) -> usize {
        self.counts.len()
    }

    /// The number of `</s>`.
    pub fn end(&self) -> u32 {
        self.words.len() as u32
    }

    /// The number of `<unk>`.
    pub fn unknown(&self) -> u32 {
        self.words.len() as u32 + 1
    }

    /// The numbers of a document, `</s>` at its end.
    pub fn document<'t>(&self, words: impl IntoIterator<Item = &'t str>) -> Vec<u32> {
        let number = |word: &str| self.numbers.get(word).copied().unwrap_or(self.unknown());
        words.into_iter().map(number).chain([self.end()]).collect()
    }
}

pub struct NeuralLanguage {
    params: LanguageParams,
    words: LanguageWords,
    /// The tree over all words and marks, if it has one.
    tree: Option<WordTree>,
    weights: Weights,
    epochs: Vec<EpochFigures>,
}

impl NeuralLanguage {
    /// Trains on a stream of numbers, documents that each end with `</s>`. A `tree` over the words and both marks is given where the
    /// parameters ask for one.
    pub fn train(
        stream: &[u32],
        words: LanguageWords,
        tree: Option<WordTree>,
        params: &LanguageParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<NeuralLanguage> {
        params.check()?;
        ensure!(
            params.tree == tree.is_some() && tree.as_ref().is_none_or(|tree| tree.order().len() == words.classes()),
            "词树与词表不符",
            "the tree of words does not fit the vocabulary"
        );
        let weights = start(&words, params, ctx.seed());
        let (trained, held_out) = split(stream, words.end(), params.fit.held_out_share);
        ensure!(!trained.is_empty(), "没有可训练的文本", "there is no text to train on");
        // A word that is not in the vocabulary can still be what a prediction is trained against.
        let sampler = (params.samples > 0).then(|| Sampler::new(&words.counts));
        let (end, classes) = (words.end(), words.classes());
        let net = LanguageNet { params, end, classes, trained, held_out, sampler, tree: tree.as_ref() };
        let (weights, epochs) = fit(&net, weights, &params.fit, checkpoint, ctx)?;
        Ok(NeuralLanguage { params: params.clone(), words, tree, weights, epochs })
    }

    pub fn params(&self) -> &LanguageParams {
        &self.params
    }

    pub fn words(&self) -> &LanguageWords {
        &self.words
    }

    /// Number of learned parameters; for `nnlm` with direct connections Bengio's |V|(1 + nm + h) + h(1 + (n-1)m), his n
    /// being the words before and the predicted one.
    pub fn parameters(&self) -> usize {
        self.weights.count()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// The vectors of the words, `[words, dim]` row by row; those of the marks are left out.
    pub fn vectors(&self) -> &[f32] {
        let dim = self.params.vector_dim();
        &self.weights.all[WORDS].values[..self.words.words.len() * dim]
    }
}

/// The documents that are trained on, and the last ones, which are held out.
fn split(stream: &[u32], end: u32, share: f64) -> (&[u32], &[u32]) {
    let documents = stream.iter().filter(|&&word| word == end).count();
    let mut left = documents - (documents as f64 * share) as usize;
    let place = stream.iter().position(|&word| {
        left -= usize::from(word == end);
        left == 0
    });
    stream.split_at(place.map_or(stream.len(), |place| place + 1))
}

/// The weights that training begins with.
fn start(words: &LanguageWords, params: &LanguageParams, seed: u64) -> Weights {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let classes = words.classes();
    let all: f64 = words.counts.iter().map(|&count| count as f64 + 1.0).sum();
    let weight = |(number, (name, rows, dim)): (usize, (&'static str, usize, usize))| match number {
        WORDS => Weight::uniform(name, rows, dim, START, &mut rng),
        OUTPUT => {
            let mut output = Weight::uniform(name, rows, dim, START / (dim as f32).sqrt(), &mut rng);
            if params.tree {
                return output;
            }
            let shares = words.counts.iter().map(|&count| ((count as f64 + 1.0) / all).ln() as f32);
            output.values.chunks_mut(dim).zip(shares).for_each(|(row, share)| row[dim - 1] = share);
            output
        }
        INNER => Weight::glorot(name, rows, dim, &mut rng),
        _ => Weight::zeros(name, rows, dim),
    };
    Weights::new(params.shapes(classes).into_iter().enumerate().map(weight).collect())
}
