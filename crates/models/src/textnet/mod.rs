//! Small networks that tell classes of texts apart: TextCNN and TextRNN.
//!
//! | kind | paper | features of a text |
//! |---|---|---|
//! | `textcnn` | Kim 2014 | for each width w and filter F: the largest over all windows of w words of relu(F x + b) |
//! | `textrnn` | bidirectional LSTM (Hochreiter and Schmidhuber 1997; Graves and Schmidhuber 2005) | the states of both directions: the largest of each unit over the text, or the last |
//!
//! x are the vectors of the words, learned from chance or from given ones. The probabilities of the classes are the softmax of C f + c;
//! in training, features f are dropped by chance (`dropout`) and the others grow by as much. Words outside the vocabulary share one
//! vector. What stands beyond the end of a text has no influence, whatever it is computed beside.

mod batches;
mod file;
mod layers;
#[cfg(test)]
mod tests;
mod walk;

use anyhow::{Result, ensure};
use candle_core::{Tensor, Var};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::WordVectors;
use super::checkpoint::Checkpoint;
use super::neural::fit::fit;
use super::neural::weights::{Leaves, Weight, Weights};
use super::neural::{EpochFigures, FitParams};
use batches::{TextBatches, TextPiece};
use inkstone_base::job::Ctx;
pub use walk::{NetFold, NetWalk, NumberedTexts, net_walk};

/// The weights by number.
const VECTORS: usize = 0;
const CLASSES: usize = 1;
const INNER: usize = 2;

/// Bound of the vectors of words that no given ones have, as Kim's.
const START: f32 = 0.25;
/// Names of the filters of each width, as many as there can be.
const FILTERS: [&str; 6] = ["filters1", "filters2", "filters3", "filters4", "filters5", "filters6"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextNetKind {
    /// Filters over windows of words.
    #[default]
    TextCnn,
    /// A bidirectional LSTM.
    TextRnn,
}

impl TextNetKind {
    pub const ALL: [TextNetKind; 2] = [TextNetKind::TextCnn, TextNetKind::TextRnn];

    /// The name in `train` and in model files.
    pub fn name(self) -> &'static str {
        match self {
            TextNetKind::TextCnn => "textcnn",
            TextNetKind::TextRnn => "textrnn",
        }
    }
}

/// The part of the LSTM's states that becomes features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// The largest value of each unit over the text.
    #[default]
    Max,
    /// The last state of each direction.
    Last,
}

defaults! {
    /// Parameters of a classifier of texts.
    pub struct TextNetParams {
        kind: TextNetKind = TextNetKind::TextCnn,
        /// Values of a word vector.
        dim: usize = 100,
        /// For `textcnn`: words of a window, one for each kind of filter.
        widths: Vec<usize> = vec![3, 4, 5],
        /// For `textcnn`: filters of each width.
        maps: usize = 100,
        /// For `textrnn`: units of each direction.
        hidden: usize = 100,
        /// For `textrnn`: what becomes features.
        pool: Pool = Pool::Max,
        /// Share of the features that is dropped in training.
        dropout: f64 = 0.5,
        /// Tokens read of a text at the most, the first ones.
        max_tokens: usize = 256,
        /// True if word vectors stay as they were given.
        fixed: bool = false,
        /// Training. The held-out documents are evenly spread over the text.
        fit: FitParams = FitParams { epochs: 10, batch: 50, held_out_share: 0.1, ..FitParams::default() },
    }
}

impl TextNetParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(self.dim > 0, "--dim 0 leaves no word vector; give 1 or more");
        let widths = &self.widths;
        ensure!(
            (1..=FILTERS.len()).contains(&widths.len()) && widths.iter().all(|width| (1..=20).contains(width)),
            "--widths {widths:?} must be one to {} numbers from 1 to 20",
            FILTERS.len()
        );
        ensure!(self.maps > 0 && self.hidden > 0, "--maps 0 and --hidden 0 leave no features; give 1 or more");
        ensure!((0.0..1.0).contains(&self.dropout), "--dropout {} must be 0 or more and below 1", self.dropout);
        ensure!(self.max_tokens > 0, "--max-tokens 0 leaves no text; give 1 or more");
        self.fit.check()
    }

    fn features(&self) -> usize {
        match self.kind {
            TextNetKind::TextCnn => self.widths.len() * self.maps,
            TextNetKind::TextRnn => 2 * self.hidden,
        }
    }

    /// Tokens that a text is lengthened to, so that each filter has a window.
    fn least(&self) -> usize {
        match self.kind {
            TextNetKind::TextCnn => self.widths.iter().copied().max().unwrap_or(1),
            TextNetKind::TextRnn => 1,
        }
    }

    /// Names and shapes of the weights.
    fn shapes(&self, words: usize, classes: usize) -> Vec<(&'static str, usize, usize)> {
        let (m, h) = (self.dim, self.hidden);
        let mut shapes = vec![("vectors", words + 1, m), ("classes", classes, self.features() + 1)];
        match self.kind {
            TextNetKind::TextCnn => {
                shapes.extend(self.widths.iter().zip(FILTERS).map(|(width, name)| (name, self.maps, width * m)));
                shapes.push(("filter_bias", self.widths.len(), self.maps));
            }
            TextNetKind::TextRnn => shapes.extend([
                ("forward_words", 4 * h, m),
                ("forward_state", 4 * h, h),
                ("forward_bias", 1, 4 * h),
                ("backward_words", 4 * h, m),
                ("backward_state", 4 * h, h),
                ("backward_bias", 1, 4 * h),
            ]),
        }
        shapes
    }
}

pub struct TextNet {
    params: TextNetParams,
    words: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    classes: Vec<String>,
    weights: Weights,
    leaves: Leaves,
    epochs: Vec<EpochFigures>,
}

/// Why a text has its class: the class, the best other one, what each of its tokens gave to ln(p / p of the other), and that.
pub struct TextReasons {
    /// Number of the class.
    pub of: usize,
    /// Number of the class that it is held against.
    pub against: usize,
    /// Gradient times vector, a value a token as far as the text was read.
    pub parts: Vec<f64>,
    /// ln(p(of) / p(against)).
    pub score: f64,
}

/// Documents as numbers of words, and their classes.
pub struct Examples {
    pub documents: Vec<Vec<u32>>,
    pub class: Vec<u32>,
}

impl TextNet {
    /// Trains. `words` are numbered as in the documents, where the number after the last stands for unknown words; `vectors`
    /// are given ones to begin with.
    pub fn train(
        examples: &Examples,
        words: Vec<Box<str>>,
        classes: Vec<String>,
        vectors: Option<&WordVectors>,
        params: &TextNetParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<TextNet> {
        params.check()?;
        ensure!(classes.len() > 1, "there is one class ({classes:?}): a classifier needs two or more");
        ensure!(!params.fixed || vectors.is_some(), "--static keeps given word vectors; give them with --pretrained");
        if let Some(vectors) = vectors {
            ensure!(
                vectors.dim() == params.dim,
                "the pretrained vectors have {} values, and --dim says {}: leave out --dim, or give other vectors",
                vectors.dim(),
                params.dim
            );
        }
        let weights = start(&words, classes.len(), vectors, params, ctx.seed());
        let batches = TextBatches::new(params, examples);
        let (weights, epochs) = fit(&batches, weights, &params.fit, checkpoint, ctx)?;
        TextNet::from_parts(params.clone(), words, classes, weights, epochs)
    }

    fn from_parts(
        params: TextNetParams,
        words: Vec<Box<str>>,
        classes: Vec<String>,
        weights: Weights,
        epochs: Vec<EpochFigures>,
    ) -> Result<TextNet> {
        let numbers = words.iter().cloned().zip(0..).collect();
        let leaves = weights.constants()?;
        Ok(TextNet { params, words, numbers, classes, weights, leaves, epochs })
    }

    /// Names of the classes, in the order of their probabilities.
    pub fn classes(&self) -> &[String] {
        &self.classes
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

    /// The probabilities of the classes, `[documents, classes]` row by row.
    pub fn probabilities(&self, documents: &[Vec<u32>]) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(documents.len() * self.classes.len());
        for part in documents.chunks(batches::PIECE) {
            let piece = TextPiece::plain(&self.params, part.iter().map(Vec::as_slice));
            let scores = layers::scores(&self.params, &self.leaves, &piece, &layers::embed(&self.leaves, &piece)?)?;
            for row in scores.to_vec2::<f32>()? {
                let log_sum = f64::from(super::neural::entropy::log_sum(&row));
                all.extend(row.into_iter().map(|score| (f64::from(score) - log_sum).exp()));
            }
        }
        Ok(all)
    }

    /// The contribution of each token of a text to a class (default: the likeliest), held against the likeliest other one.
    pub fn reasons(&self, document: &[u32], of: Option<usize>) -> Result<TextReasons> {
        let piece = TextPiece::plain(&self.params, std::iter::once(document));
        let x = Var::from_tensor(&layers::embed(&self.leaves, &piece)?)?;
        let scores = layers::scores(&self.params, &self.leaves, &piece, &x)?.squeeze(0)?;
        let values = scores.to_vec1::<f32>()?;
        let best = |skip: Option<usize>| {
            let others = (0..values.len()).filter(|c| Some(*c) != skip);
            others.max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a))).unwrap_or(0)
        };
        let of = of.unwrap_or_else(|| best(None));
        let against = best(Some(of));
        let score = (scores.get(of)? - scores.get(against)?)?;
        let gradients = score.backward()?;
        let parts = match gradients.get(&x) {
            Some(gradient) => (gradient * x.as_tensor())?.sum(2)?.squeeze(0)?.to_vec1::<f32>()?,
            None => vec![0.0; document.len()],
        };
        let parts = parts.into_iter().take(document.len()).map(f64::from).collect();
        Ok(TextReasons { of, against, parts, score: f64::from(score.to_scalar::<f32>()?) })
    }
}

/// The weights that training begins with.
fn start(
    words: &[Box<str>],
    classes: usize,
    vectors: Option<&WordVectors>,
    params: &TextNetParams,
    seed: u64,
) -> Weights {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weight = |(number, (name, rows, dim)): (usize, (&'static str, usize, usize))| {
        if number == VECTORS {
            let mut weight = Weight::uniform(name, rows, dim, START, &mut rng);
            for (word, row) in words.iter().zip(weight.values.chunks_mut(dim)) {
                if let Some(given) = vectors.and_then(|vectors| vectors.vector(word)) {
                    row.copy_from_slice(given);
                }
            }
            weight.fixed = params.fixed;
            return weight;
        }
        if name.ends_with("bias") {
            let mut bias = Weight::zeros(name, rows, dim);
            if params.kind == TextNetKind::TextRnn {
                // The gate that forgets begins open (Jozefowicz, Zaremba and Sutskever 2015).
                bias.values[params.hidden..2 * params.hidden].fill(1.0);
            }
            return bias;
        }
        Weight::glorot(name, rows, dim, &mut rng)
    };
    Weights::new(params.shapes(words.len(), classes).into_iter().enumerate().map(weight).collect())
}

/// A tensor cut along its first dimension. Halves of halves: candle's gradient of a part is as large as the whole.
fn steps(x: &Tensor, out: &mut Vec<Tensor>) -> Result<()> {
    let n = x.dim(0)?;
    if n == 1 {
        out.push(x.squeeze(0)?);
        return Ok(());
    }
    steps(&x.narrow(0, 0, n / 2)?, out)?;
    steps(&x.narrow(0, n / 2, n - n / 2)?, out)
}
