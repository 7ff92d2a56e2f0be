//! Encoders of sentences that learn from what stands beside a sentence, or from labelled pairs.
//!
//! | method | paper | encoders | what is learned |
//! |---|---|---|---|
//! | `quick-thoughts` | Logeswaran and Lee 2018 | f and g, GRUs of both directions, last states | f(a) · g(b) of the true neighbour b of a is the largest among the neighbours of other sentences (softmax); both f and g make the row |
//! | `skip-thoughts` | Kiros and others 2015 | a GRU of both directions, last states | one GRU writes the sentence before, another GRU the sentence behind: cross-entropy of the words |
//! | `infersent` | Conneau and others 2017 | an LSTM of both directions, largest states | a softmax layer on u, v, abs(u - v) and u v tells the class of a pair |
//!
//! All encoders read one table of word vectors. The decoders of skip-thoughts begin with zeros and read the sentence's row beside the
//! vector of each word before; they share one output layer, as in the paper. Words outside the vocabulary share one vector.

mod batches;
mod file;
mod net;
#[cfg(test)]
mod tests;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::neural::fit::fit;
use super::neural::weights::{Weight, Weights};
use super::neural::{EpochFigures, FitParams};
use super::textnet::{Cell, Pool, Reads, TextNetKind, TextNetParams};
use batches::SentenceBatches;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use net::SentenceNet;

/// The word vectors among the weights.
const VECTORS: usize = 0;
/// Bound of the word vectors that training begins with.
const START: f32 = 0.1;
/// Sentences that are encoded at once.
const PIECE: usize = 16;

/// Names of the weights of each direction of the encoders, and of the decoders.
const ENCODERS: [[&str; 3]; 4] = [
    ["forward_words", "forward_state", "forward_bias"],
    ["backward_words", "backward_state", "backward_bias"],
    ["other_forward_words", "other_forward_state", "other_forward_bias"],
    ["other_backward_words", "other_backward_state", "other_backward_bias"],
];
const DECODERS: [[&str; 3]; 2] =
    [["before_words", "before_state", "before_bias"], ["behind_words", "behind_state", "behind_bias"]];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SentenceMethod {
    /// Two encoders tell the true neighbour of a sentence from others.
    #[default]
    QuickThoughts,
    /// Two decoders write the sentences before and behind.
    SkipThoughts,
    /// A classifier tells the label of a pair.
    #[serde(rename = "infersent")]
    #[cfg_attr(feature = "clap", value(name = "infersent"))]
    InferSent,
}

params! {
    /// Parameters of an encoder of sentences.
    pub struct SentenceParams {
        /// Method of learning: quick-thoughts, skip-thoughts (neighbours of sentences) or infersent (pairs with a label).
        ///
        /// 学习方法：quick-thoughts、skip-thoughts（句子的相邻句）或 infersent（带标签的句对）。
        method: SentenceMethod = SentenceMethod::QuickThoughts, choice();
        /// Values of a word vector.
        ///
        /// 词向量的维数。
        dim: usize = 100, number("N", "feature.textnet.dim");
        /// Units of each direction of an encoder. A row has two such, with quick-thoughts four.
        ///
        /// 编码器每个方向的单元数；一行为其二倍，quick-thoughts 为四倍。
        hidden: usize = 100, number("N", "feature.textnet.hidden");
        /// Tokens read of a sentence at the most, the first ones.
        ///
        /// 一句最多读取的词元数，取句首。
        max_tokens: usize = 64, number("N", "feature.textnet.max_tokens");
        /// For quick-thoughts: number of pairs among whose sentences the encoder must find the true neighbour.
        ///
        /// quick-thoughts：同场竞争的句对数；须从其他句对中认出真正的相邻句。
        candidates: usize = 64, number("N", "feature.textnet.fit.batch");
        /// Training. Held-out documents are evenly spread over the text.
        fit: FitParams = FitParams::default(), command(flatten);
    }
}

impl SentenceParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(self.dim > 0, "--dim 0 没有词向量；请写 1 或更大", "--dim 0 leaves no word vector; give 1 or more");
        ensure!(self.hidden > 0, "--hidden 0 没有特征；请写 1 或更大", "--hidden 0 leaves no features; give 1 or more");
        ensure!(
            self.max_tokens > 0,
            "--max-tokens 0 没有文本；请写 1 或更大",
            "--max-tokens 0 leaves no text; give 1 or more"
        );
        ensure!(
            self.candidates > 1,
            "--candidates {} 没有竞争者；请写 2 或更大",
            "--candidates {} leaves nothing to tell a neighbour from; give 2 or more",
            self.candidates
        );
        self.fit.check()
    }

    /// The layers of an encoder.
    fn layers(&self) -> TextNetParams {
        let (cell, pool) = match self.method {
            SentenceMethod::InferSent => (Cell::Lstm, Pool::Max),
            _ => (Cell::Gru, Pool::Last),
        };
        TextNetParams {
            kind: TextNetKind::TextRnn,
            dim: self.dim,
            hidden: self.hidden,
            cell,
            pool,
            layers: vec![Reads::Both],
            ..TextNetParams::default()
        }
    }

    fn encoders(&self) -> usize {
        if self.method == SentenceMethod::QuickThoughts { 2 } else { 1 }
    }

    /// Values that one encoder gives a sentence.
    fn features(&self) -> usize {
        2 * self.hidden
    }

    /// Values of a sentence's row.
    pub fn row(&self) -> usize {
        self.encoders() * self.features()
    }

    /// Names and shapes of the weights; `classes` are those of pairs.
    fn shapes(&self, words: usize, classes: usize) -> Vec<(&'static str, usize, usize)> {
        let (h, f) = (self.hidden, self.features());
        let gates = if self.method == SentenceMethod::InferSent { 4 } else { 3 };
        let layer = |[words, state, bias]: [&'static str; 3], inputs: usize| {
            [(words, gates * h, inputs), (state, gates * h, h), (bias, 1, 4 * h)]
        };
        let mut shapes = vec![("vectors", words + 1, self.dim)];
        shapes.extend(ENCODERS.into_iter().take(2 * self.encoders()).flat_map(|names| layer(names, self.dim)));
        match self.method {
            SentenceMethod::QuickThoughts => {}
            SentenceMethod::SkipThoughts => {
                shapes.extend(DECODERS.into_iter().flat_map(|names| layer(names, self.dim + f)));
                // All words, the unknown one, and the end of a sentence.
                shapes.push(("output", words + 2, h + 1));
            }
            SentenceMethod::InferSent => shapes.push(("classes", classes, 4 * f + 1)),
        }
        shapes
    }
}

/// Sentences, and the pairs of them that an encoder learns from.
#[derive(Clone, Debug, Default)]
pub struct SentencePairs {
    /// Numbers of words, none of them empty.
    pub sentences: Vec<Vec<u32>>,
    /// Pairs of sentences by number. In a pair of neighbours the first sentence stands before the second; a sentence has at most one neighbour on each side.
    pub pairs: Vec<[u32; 2]>,
    /// Number of the document of each pair.
    pub documents: Vec<u32>,
    /// Class of each pair; empty for neighbours.
    pub classes: Vec<u32>,
    /// Names of the classes.
    pub names: Vec<String>,
}

/// A trained encoder of sentences.
pub struct SentenceEncoder {
    params: SentenceParams,
    words: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    names: Vec<String>,
    weights: Weights,
    net: SentenceNet<f32>,
    epochs: Vec<EpochFigures>,
}

impl SentenceEncoder {
    pub const KIND: &'static str = "sentences";

    /// Trains. `words` are numbered as in the sentences, where the number after the last stands for unknown words.
    pub fn train(
        examples: &SentencePairs,
        words: Vec<Box<str>>,
        params: &SentenceParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<SentenceEncoder> {
        params.check()?;
        ensure!(
            params.method != SentenceMethod::InferSent || examples.names.len() > 1,
            "句对只有一种标签（{:?}）：infersent 需要两种以上",
            "the pairs have one label ({:?}): infersent needs two or more",
            examples.names
        );
        let batches = SentenceBatches::new(params, examples, words.len());
        ensure!(
            batches.trains_on() > 1,
            "{} 个句对太少，学不了：请给更多文档",
            "{} pairs of sentences are too few to learn from: give more documents",
            examples.pairs.len()
        );
        let weights = start(params, words.len(), examples.names.len(), ctx.seed());
        let (weights, epochs) = fit(&batches, weights, &params.fit, checkpoint, ctx)?;
        Ok(SentenceEncoder::from_parts(params.clone(), words, examples.names.clone(), weights, epochs))
    }

    fn from_parts(
        params: SentenceParams,
        words: Vec<Box<str>>,
        names: Vec<String>,
        weights: Weights,
        epochs: Vec<EpochFigures>,
    ) -> SentenceEncoder {
        let numbers = words.iter().cloned().zip(0..).collect();
        let net = SentenceNet::new(&params, &weights.values());
        SentenceEncoder { params, words, numbers, names, weights, net, epochs }
    }

    pub fn params(&self) -> &SentenceParams {
        &self.params
    }

    /// Values of a row.
    pub fn dim(&self) -> usize {
        self.params.row()
    }

    /// Number of learned parameters.
    pub fn parameters(&self) -> usize {
        self.weights.count()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// The words that it knows, and their vectors `[words, dim]` row by row.
    pub fn word_vectors(&self) -> (&[Box<str>], &[f32]) {
        (&self.words, &self.weights.all[VECTORS].values[..self.words.len() * self.params.dim])
    }

    /// True if the word is in the vocabulary.
    pub fn knows(&self, word: &str) -> bool {
        self.numbers.contains_key(word)
    }

    /// The numbers of a text's tokens, as far as it is read.
    pub fn sentence(&self, tokens: &[&str]) -> Vec<u32> {
        let unknown = self.words.len() as u32;
        let number = |token: &&str| self.numbers.get(*token).copied().unwrap_or(unknown);
        tokens.iter().take(self.params.max_tokens).map(number).collect()
    }

    /// The rows of texts, `[texts, dim]`; zeros for a text without tokens.
    pub fn rows(&self, texts: &[Vec<u32>]) -> Vec<f32> {
        let (features, row) = (self.params.features(), self.dim());
        let mut rows = vec![0.0; texts.len() * row];
        let read: Vec<usize> = (0..texts.len()).filter(|&text| !texts[text].is_empty()).collect();
        for part in read.chunks(PIECE) {
            let encoded = self.net.encode(&self.weights.all[VECTORS].values, part.iter().map(|&text| &texts[text][..]));
            for (encoder, values) in encoded.features.iter().enumerate() {
                for (&text, values) in part.iter().zip(values.chunks(features)) {
                    rows[text * row + encoder * features..][..features].copy_from_slice(values);
                }
            }
        }
        rows
    }

    /// A component of a text's row, and the contribution of each token to first order: gradient times vector.
    pub fn reasons(&self, text: &[u32], component: usize) -> (f64, Vec<f64>) {
        if text.is_empty() {
            return (0.0, Vec::new());
        }
        let (vectors, features) = (&self.weights.all[VECTORS].values, self.params.features());
        let encoded = self.net.encode(vectors, std::iter::once(text));
        let mut by = vec![vec![0.0; features]; self.params.encoders()];
        by[component / features][component % features] = 1.0;
        let score = f64::from(encoded.features[component / features][component % features]);
        let parts = self.net.parts(&encoded, &by);
        (score, parts)
    }
}

/// The weights that training begins with.
fn start(params: &SentenceParams, words: usize, classes: usize, seed: u64) -> Weights {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weight = |(name, rows, dim): (&'static str, usize, usize)| match name {
        "vectors" => Weight::uniform(name, rows, dim, START, &mut rng),
        name if name.ends_with("bias") => {
            let mut bias = Weight::zeros(name, rows, dim);
            if params.method == SentenceMethod::InferSent {
                // The gate that forgets begins open (Jozefowicz, Zaremba and Sutskever 2015).
                bias.values[params.hidden..2 * params.hidden].fill(1.0);
            }
            bias
        }
        name => Weight::glorot(name, rows, dim, &mut rng),
    };
    Weights::of_adamw(params.shapes(words, classes).into_iter().map(weight).collect())
}
