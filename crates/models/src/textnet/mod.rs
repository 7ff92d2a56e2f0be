//! Small networks that tell classes of texts apart: TextCNN and TextRNN.
//!
//! | kind | paper | features of a text |
//! |---|---|---|
//! | `textcnn` | Kim 2014 | for each width w and filter F, over all windows of w words: the largest relu(F x + b), or the mean |
//! | `textrnn` | LSTM (Hochreiter and Schmidhuber 1997) or GRU (Cho et al. 2014), layers of one or both directions (Graves and Schmidhuber 2005) | of each unit of the last layer: the largest state over the text, the mean, or the last |
//!
//! x are the vectors of the words, learned from chance or from given ones, which are tuned, kept, or both side by side. The probabilities of
//! the classes are the softmax of C f + c; where a text has any number of labels, that of each label is the sigmoid. In training, features
//! f are dropped by chance (`dropout`) and the others grow by as much. Words outside the vocabulary share one vector. Nothing is computed
//! beyond the end of a text, and a text has the same bits whatever it is computed beside.
//!
//! Networks are computed forward and backward here, without a library: see `neural::kernel`, `neural::recurrent` and `convolution`.

mod batches;
mod convolution;
mod file;
mod folds;
mod loss;
mod net;
mod params;
pub(crate) mod stack;
#[cfg(test)]
mod tests;
mod walk;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;

use super::checkpoint::Checkpoint;
use super::neural::EpochFigures;
use super::neural::fit::fit;
use super::neural::weights::{Weight, Weights};
use super::{Goal, WordVectors};
use batches::{TextBatches, TextPiece};
pub use folds::net_out_of_fold;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure};
use net::Net;
pub use params::{Cell, Channels, Pool, Reads, TextNetKind, TextNetParams};
pub use walk::{FoldNet, GivenVectors, NumberedTexts, TextNets, VectorsOfFold};

/// The weights by number.
const VECTORS: usize = 0;
const CLASSES: usize = 1;
const INNER: usize = 2;

/// Bound of the vectors of words that no given ones have, as Kim's.
const START: f32 = 0.25;

/// Meaning of the outputs of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetOutputs {
    /// One softmax: a text is of one class.
    Classes,
    /// A sigmoid each: a text has any number of labels.
    Labels,
}

pub struct TextNet {
    params: TextNetParams,
    words: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    names: Vec<String>,
    outputs: NetOutputs,
    weights: Weights,
    net: Net<f32>,
    epochs: Vec<EpochFigures>,
}

/// Why a text has its class: what each of its tokens gave to ln(p / p of the other), or of a label to ln(p / (1 - p)).
pub struct TextReasons {
    /// Number of the class or label.
    pub of: usize,
    /// Number of the class that it is held against; none of a label.
    pub against: Option<usize>,
    /// Gradient times vector, a value a token as far as the text was read.
    pub parts: Vec<f64>,
    pub score: f64,
}

/// Documents as numbers of words, and their classes or labels.
pub struct Examples {
    pub documents: Vec<Vec<u32>>,
    pub goal: Goal,
}

impl Examples {
    fn outputs(&self) -> Result<NetOutputs> {
        match &self.goal {
            Goal::Classes { names, .. } => {
                ensure!(
                    names.len() > 1,
                    "只有一个类别（{names:?}）：分类器需要两个以上",
                    "there is one class ({names:?}): a classifier needs two or more"
                );
                Ok(NetOutputs::Classes)
            }
            Goal::Labels { names, .. } => {
                ensure!(
                    !names.is_empty(),
                    "没有文档有标签：分类器需要一个以上",
                    "no document has a label: a classifier needs one or more"
                );
                Ok(NetOutputs::Labels)
            }
            Goal::Values(_) => bail!(
                "网络区分类别或标签：数值请用 ridge、boosted 或 mlp",
                "a network tells classes or labels apart: values are for ridge, boosted and mlp"
            ),
        }
    }
}

impl TextNet {
    /// Trains. `words` are numbered as in the documents, where the number after the last stands for unknown words; `vectors`
    /// are given ones to begin with.
    pub fn train(
        examples: &Examples,
        words: Vec<Box<str>>,
        vectors: Option<&WordVectors>,
        params: &TextNetParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<TextNet> {
        params.check()?;
        let outputs = examples.outputs()?;
        ensure!(
            params.channels == Channels::Tuned || vectors.is_some(),
            "--channels static 和 both 保留给定的词向量；请用 --pretrained 给出",
            "--channels static and both keep given word vectors; give them with --pretrained"
        );
        if let Some(vectors) = vectors {
            ensure!(
                vectors.dim() == params.dim,
                "预训练向量为 {} 维，而 --dim 为 {}：请去掉 --dim，或给出其他向量",
                "the pretrained vectors have {} values, and --dim says {}: leave out --dim, or give other vectors",
                vectors.dim(),
                params.dim
            );
        }
        let names = examples.goal.names().to_vec();
        let weights = start(&words, names.len(), vectors, params, ctx.seed());
        let batches = TextBatches::new(params, examples, outputs);
        let (weights, epochs) = fit(&batches, weights, &params.fit, checkpoint, ctx)?;
        Ok(TextNet::from_parts(params.clone(), words, (names, outputs), weights, epochs))
    }

    fn from_parts(
        params: TextNetParams,
        words: Vec<Box<str>>,
        (names, outputs): (Vec<String>, NetOutputs),
        weights: Weights,
        epochs: Vec<EpochFigures>,
    ) -> TextNet {
        let numbers = words.iter().cloned().zip(0..).collect();
        let net = Net::new(&params, &weights.values());
        TextNet { params, words, numbers, names, outputs, weights, net, epochs }
    }

    /// Names of the classes or labels, in the order of their probabilities.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if a text has any number of labels, false if it is of one class.
    pub fn has_labels(&self) -> bool {
        self.outputs == NetOutputs::Labels
    }

    /// Number of learned parameters.
    pub fn parameters(&self) -> usize {
        self.weights.count()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// The numbers of a text's tokens, as far as it is read.
    pub fn document(&self, tokens: &[&str]) -> Vec<u32> {
        let unknown = self.words.len() as u32;
        let number = |token: &&str| self.numbers.get(*token).copied().unwrap_or(unknown);
        tokens.iter().take(self.params.max_tokens).map(number).collect()
    }

    /// The probabilities of the classes or labels, `[documents, names]` row by row.
    pub fn probabilities(&self, documents: &[Vec<u32>]) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(documents.len() * self.names.len());
        for part in documents.chunks(batches::PIECE) {
            let piece = TextPiece::plain(&self.params, part.iter().map(Vec::as_slice));
            let pass = self.net.forward(&channels(&self.params, &self.weights.values()), &piece);
            for scores in pass.scores.chunks(self.names.len()) {
                all.extend(loss::probabilities(self.outputs, scores));
            }
        }
        Ok(all)
    }

    /// The contribution of each token of a text to a class or label (default: the likeliest); a class is held against the likeliest other.
    pub fn reasons(&self, document: &[u32], output: Option<usize>) -> Result<TextReasons> {
        let piece = TextPiece::plain(&self.params, std::iter::once(document));
        let pass = self.net.forward(&channels(&self.params, &self.weights.values()), &piece);
        let scores = &pass.scores;
        let best = |skip: Option<usize>| {
            let others = (0..scores.len()).filter(|c| Some(*c) != skip);
            others.max_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a))).unwrap_or(0)
        };
        let output = output.unwrap_or_else(|| best(None));
        let against = (self.outputs == NetOutputs::Classes).then(|| best(Some(output)));
        let mut by_scores = vec![0.0; scores.len()];
        by_scores[output] = 1.0;
        let mut score = scores[output];
        if let Some(against) = against {
            by_scores[against] = -1.0;
            score -= scores[against];
        }
        let back = self.net.backward(&pass, &piece, &by_scores, true);
        Ok(TextReasons { of: output, against, parts: self.net.parts(&pass, &back), score: f64::from(score) })
    }
}

/// The word vectors of each channel among the weights.
fn channels<'w, T>(params: &TextNetParams, values: &[&'w [T]]) -> Vec<&'w [T]> {
    match params.channels {
        Channels::Tuned | Channels::Static => vec![values[VECTORS]],
        Channels::Both => vec![values[VECTORS], values[values.len() - 1]],
    }
}

/// The weights that training begins with.
fn start(
    words: &[Box<str>],
    outputs: usize,
    vectors: Option<&WordVectors>,
    params: &TextNetParams,
    seed: u64,
) -> Weights {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut all = Vec::<Weight>::new();
    for (name, rows, dim) in params.shapes(words.len(), outputs) {
        let mut weight = match name {
            "vectors" => {
                let mut weight = Weight::uniform(name, rows, dim, START, &mut rng);
                for (word, row) in words.iter().zip(weight.values.chunks_mut(dim)) {
                    if let Some(given) = vectors.and_then(|vectors| vectors.vector(word)) {
                        row.copy_from_slice(given);
                    }
                }
                weight.fixed = params.channels == Channels::Static;
                weight
            }
            // Both channels begin with the same vectors.
            params::STATIC => {
                let mut kept = Weight::new(name, dim, all[VECTORS].values.clone());
                kept.fixed = true;
                kept
            }
            name if name.ends_with("bias") => {
                let mut bias = Weight::zeros(name, rows, dim);
                if params.kind == TextNetKind::TextRnn && params.cell == Cell::Lstm {
                    // The gate that forgets begins open (Jozefowicz, Zaremba and Sutskever 2015).
                    bias.values[params.hidden..2 * params.hidden].fill(1.0);
                }
                bias
            }
            name => Weight::glorot(name, rows, dim, &mut rng),
        };
        if !matches!(name, "vectors" | params::STATIC) {
            weight.decay = params.l2 as f32;
        }
        all.push(weight);
    }
    Weights::new(all)
}
