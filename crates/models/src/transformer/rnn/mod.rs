//! A recurrent encoder that reads a text from both sides, and a recurrent decoder that writes another one, token by token, and looks back at
//! the encoder's vectors (Sutskever and others 2014; Bahdanau and others 2015; Luong and others 2015).
//!
//! With E the table of tokens, which the outputs share, M the encoder's vectors of the source (of both directions side by side), l the last
//! state of each direction, s the decoder's states and y the vector of the token before:
//!
//! | part | value |
//! |---|---|
//! | beginning | s_0 = tanh(B l + b), which an LSTM's cell begins with, too |
//! | score of source token j | additive: v tanh(Q s_t-1 + K M_j); general: s_t-1 K M_j; dot: s_t-1 M_j |
//! | context | c_t = sum of softmax(scores)_j M_j; without attention c_t = l |
//! | state | s_t = cell([y_t-1; c_t], s_t-1) |
//! | words | softmax(E tanh(R [s_t; c_t; y_t-1] + r) + w) |

mod attention;
mod decoder;
mod folder;
mod net;
#[cfg(test)]
mod tests;
mod writing;

use std::ops::Range;

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub use folder::RnnFolder;
pub use writing::Aligned;

use self::net::RnnNet;
use super::batches::TextBatches;
use super::params::{TrainedLayers, TransformerParams};
use super::seq2seq::SMALLER;
use super::train::{Goals, TokenTexts, TrainingTexts, begin, check_memory, weights_of};
use crate::checkpoint::Checkpoint;
use crate::neural::EpochFigures;
use crate::neural::fit::fit;
use crate::neural::weights::Weights;
use crate::textnet::Cell;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::memory;

/// Tokens of a piece of a batch, about: more texts share a step of the decoder than in the pieces of transformers.
const PIECE: usize = 1024;
/// Half the range of the vectors of tokens at the beginning, which are also the outputs' weights.
const TABLE: f32 = 0.1;

/// The score by which a decoder chooses what it looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum AttentionScore {
    /// A layer of tanh over the state and the source (Bahdanau and others 2015).
    #[default]
    Additive,
    /// The product of the state, a matrix and the source (Luong and others 2015).
    General,
    /// The product of the state and the source.
    Dot,
    /// No attention: the last states of the encoder stand for the source (Cho and others 2014).
    None,
}

/// Sizes of a recurrent encoder and its decoder.
#[derive(Clone, Copy, Debug)]
pub struct RnnShape {
    pub cell: Cell,
    pub score: AttentionScore,
    /// Rows of the table of tokens.
    pub vocabulary: usize,
    /// Values of a token's vector and of a state; each direction of the encoder has half of them.
    pub width: usize,
    /// Tokens of a text at most, special tokens included.
    pub places: usize,
    /// The tokens that begin and end what is written.
    pub ends: [u32; 2],
}

/// The weights, by number.
#[derive(Clone, Copy)]
enum RnnWeights {
    Tokens,
    /// Weights of the direction from the first token on: from the inputs, from the state, their bias.
    Forward,
    ForwardState,
    ForwardBias,
    Backward,
    BackwardState,
    BackwardBias,
    Begin,
    BeginBias,
    Cell,
    CellState,
    CellBias,
    Read,
    ReadBias,
    WordBias,
    /// K, Q and v of the attention; empty where its score has none.
    Keys,
    Queries,
    Score,
}

impl RnnWeights {
    const COUNT: usize = RnnWeights::Score as usize + 1;
    /// Biases of cells, whose second quarter keeps what an LSTM has.
    const CELL_BIASES: [usize; 3] =
        [RnnWeights::ForwardBias as usize, RnnWeights::BackwardBias as usize, RnnWeights::CellBias as usize];
}

impl RnnShape {
    fn check(&self) -> Result<()> {
        ensure!(
            self.width > 0 && self.width.is_multiple_of(2),
            "宽度 {} 不能由编码器的两个方向均分：请给偶数（--hidden）",
            "a width of {} cannot be shared by the two directions of the encoder: give an even number (--hidden)",
            self.width
        );
        ensure!(
            self.ends.iter().all(|end| (*end as usize) < self.vocabulary),
            "起止词元 {:?} 超出 {} 个词元",
            "the tokens {:?} that begin and end a text are beyond its {} tokens",
            self.ends,
            self.vocabulary
        );
        Ok(())
    }

    /// Rows and columns of each weight; biases have one row.
    fn shapes(&self) -> [[usize; 2]; RnnWeights::COUNT] {
        let (width, half) = (self.width, self.width / 2);
        let gates = if self.cell == Cell::Lstm { 4 } else { 3 };
        let direction = [[gates * half, width], [gates * half, half], [1, 4 * half]];
        let [none, square] = [[0, 0], [width, width]];
        let [keys, queries, score] = match self.score {
            AttentionScore::Additive => [square, square, [1, width]],
            AttentionScore::General => [square, none, none],
            AttentionScore::Dot | AttentionScore::None => [none; 3],
        };
        let [[a, b, c], [d, e, f]] = [direction; 2];
        [
            [self.vocabulary, width],
            a,
            b,
            c,
            d,
            e,
            f,
            square,
            [1, width],
            [gates * width, 2 * width],
            [gates * width, width],
            [1, 4 * width],
            [width, 3 * width],
            [1, width],
            [1, self.vocabulary],
            keys,
            queries,
            score,
        ]
    }
}

/// A recurrent encoder and its decoder.
pub struct RnnSeq2Seq {
    pub shape: RnnShape,
    weights: Weights,
    epochs: Vec<EpochFigures>,
}

impl RnnSeq2Seq {
    /// A model of random weights.
    pub fn random(shape: RnnShape, seed: u64) -> Result<RnnSeq2Seq> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values = shape.shapes().into_iter().enumerate().map(|(number, size)| {
            if number == RnnWeights::Tokens as usize {
                return (0..size[0] * size[1]).map(|_| rng.random_range(-TABLE..TABLE)).collect();
            }
            // The vector of the scores has one row, but is no bias.
            let is_score = number == RnnWeights::Score as usize;
            let size = if is_score { [size[1], size[0]] } else { size };
            let mut values = begin(size, false, false, &mut rng);
            if shape.cell == Cell::Lstm && RnnWeights::CELL_BIASES.contains(&number) {
                // A cell begins by keeping what it has (Jozefowicz and others 2015).
                let units = values.len() / 4;
                values[units..2 * units].fill(1.0);
            }
            values
        });
        RnnSeq2Seq::of_values(shape, values.collect())
    }

    /// A model of these weights, in their order.
    pub fn of_values(shape: RnnShape, values: Vec<Vec<f32>>) -> Result<RnnSeq2Seq> {
        shape.check()?;
        Ok(RnnSeq2Seq { shape, weights: weights_of(values, &shape.shapes())?, epochs: Vec::new() })
    }

    /// The values of each weight.
    pub fn values(&self) -> Vec<&[f32]> {
        self.weights.values()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// Trains on texts in their order of time; the last ones are held out. The decoder learns to write the second part of each text, whose tokens
    /// are [`SECOND`](super::SECOND), from the first; both have their special tokens. `forced` is the share of tokens in the last epoch that
    /// are written behind the right token before; the others are written behind the token that the model finds likeliest (scheduled sampling,
    /// Bengio and others 2015). The share falls evenly from 1 in the first epoch.
    pub fn train(
        mut self,
        texts: TokenTexts<'_>,
        places: &[Range<usize>],
        forced: f64,
        params: &TransformerParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<RnnSeq2Seq> {
        params.check()?;
        ensure!(
            (0.0..=1.0).contains(&forced),
            "--teacher-forcing {forced} 须在 0 到 1 之间",
            "--teacher-forcing {forced} must lie between 0 and 1"
        );
        ensure!(
            params.train == TrainedLayers::All && params.discriminative == 1.0 && !params.gradual,
            "编码器与解码器整体以同一学习率训练：请去掉 --train、--discriminative 和 --gradual",
            "an encoder with its decoder is trained as a whole, at one rate: leave --train, --discriminative and --gradual out"
        );
        for weight in &mut self.weights.all {
            weight.shrink = if weight.values.len() > weight.dim { params.weight_decay as f32 } else { 0.0 };
            weight.dense = true;
        }
        check_memory(&self.weights, SMALLER, ctx.install(rayon::current_num_threads) as u64, memory::free_mb())?;
        let texts = TrainingTexts { texts, places, goals: Goals::Summaries };
        let net = RnnNet::new(self.shape, TextBatches::new(&texts, params)?.in_pieces_of(PIECE), forced);
        let (weights, epochs) = fit(&net, self.weights, &params.fit(), checkpoint, ctx)?;
        let values = weights.all.into_iter().map(|weight| weight.values).collect();
        Ok(RnnSeq2Seq { epochs, ..RnnSeq2Seq::of_values(self.shape, values)? })
    }
}
