//! An encoder that reads a text and a decoder that writes another one, token by token (Vaswani and others 2017; BART, Lewis and others 2020).

mod decoder;
mod folder;
mod net;
mod noising;

use std::ops::Range;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use folder::Seq2SeqFolder;
pub use noising::{Noise, Noising};

use self::net::Seq2SeqNet;
use super::batches::TextBatches;
use super::block::{BlockShape, BlockWeights};
use super::encoder::{EmbeddingWeights, EncoderShape};
use super::params::{TrainedLayers, TransformerParams};
use super::train::{Goals, TokenTexts, TrainingTexts, begin, check_memory, weights_of};
use crate::checkpoint::Checkpoint;
use crate::neural::EpochFigures;
use crate::neural::fit::fit;
use crate::neural::weights::Weights;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::memory;

/// Sizes of an encoder and of its decoder, which read the same table of tokens and have as many places.
#[derive(Clone, Copy, Debug)]
pub struct Seq2SeqShape {
    pub encoder: EncoderShape,
    /// Layers of the decoder.
    pub layers: usize,
    /// The decoder's blocks, which are causal.
    pub block: BlockShape,
    /// The token that a decoder begins with.
    pub start: u32,
}

/// The weights around the decoder's blocks, behind those of the encoder.
struct DecoderWeights;

impl DecoderWeights {
    const EMBEDDINGS: [EmbeddingWeights; 3] =
        [EmbeddingWeights::Places, EmbeddingWeights::Scale, EmbeddingWeights::Shift];
    const COUNT: usize = Self::EMBEDDINGS.len();
    /// Weights of attention to the text that was read: as those of attention in [`BlockWeights`], up to and with the norm.
    const CROSS: usize = BlockWeights::Up as usize;
}

/// Rows of BART's tables of places before that of the first token.
const FIRST_PLACE: usize = 2;

impl Seq2SeqShape {
    /// The shape of a BART whose texts have so many tokens at most, with as many layers on both sides; `block` is a block of its encoder.
    pub fn bart(vocabulary: usize, tokens: usize, layers: usize, block: BlockShape, start: u32) -> Seq2SeqShape {
        let block = BlockShape { epsilon: 1e-5, ..block };
        let encoder = EncoderShape {
            vocabulary,
            places: tokens + FIRST_PLACE,
            first_place: FIRST_PLACE,
            segments: 0,
            factor: None,
            layers,
            blocks: layers,
            block,
        };
        Seq2SeqShape { encoder, layers, block: BlockShape { causal: true, ..block }, start }
    }

    /// Number of weights of a block of the decoder: attention, attention to the text that was read, the feed-forward layer.
    fn of_block(&self) -> usize {
        BlockWeights::COUNT + DecoderWeights::CROSS
    }

    /// Rows and columns of each weight; biases, scales and shifts have one row.
    fn shapes(&self) -> Vec<[usize; 2]> {
        let encoder = self.encoder.shapes();
        let around = DecoderWeights::EMBEDDINGS.map(|weight| encoder[weight as usize]);
        let block = self.block.shapes();
        let (attention, feed_forward) = block.split_at(DecoderWeights::CROSS);
        let block = [attention, attention, feed_forward].concat();
        encoder.into_iter().chain(around).chain(std::iter::repeat_n(block, self.layers).flatten()).collect()
    }

    /// True for a weight of a norm that begins at 1.
    fn is_scale(&self, number: usize) -> bool {
        let scales = [BlockWeights::FirstScale as usize, BlockWeights::SecondScale as usize];
        let encoder = self.encoder.weights();
        let Some(behind) = number.checked_sub(encoder) else {
            let in_block = number.checked_sub(EmbeddingWeights::COUNT).map(|number| number % BlockWeights::COUNT);
            return number == EmbeddingWeights::Scale as usize || in_block.is_some_and(|n| scales.contains(&n));
        };
        let in_block = behind.checked_sub(DecoderWeights::COUNT).map(|number| number % self.of_block());
        let crossed = [scales[0], scales[0] + DecoderWeights::CROSS, scales[1] + DecoderWeights::CROSS];
        behind == 1 || in_block.is_some_and(|number| crossed.contains(&number))
    }
}

/// The way out where memory does not suffice.
pub(super) const SMALLER: Word =
    Word("请减少线程（--threads），或用更小的基础模型", "give fewer threads (--threads), or take a smaller base");

/// An encoder and its decoder.
pub struct Seq2Seq {
    pub shape: Seq2SeqShape,
    weights: Weights,
    epochs: Vec<EpochFigures>,
}

impl Seq2Seq {
    /// A model of random weights.
    pub fn random(shape: Seq2SeqShape, seed: u64) -> Result<Seq2Seq> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let places = shape.encoder.weights();
        let values = shape.shapes().into_iter().enumerate().map(|(number, size)| {
            let is_table = number <= EmbeddingWeights::Places as usize || number == places;
            begin(size, shape.is_scale(number), is_table, &mut rng)
        });
        Seq2Seq::of_values(shape, values.collect())
    }

    /// A model of these weights: those of the encoder, then those of the decoder.
    pub fn of_values(shape: Seq2SeqShape, values: Vec<Vec<f32>>) -> Result<Seq2Seq> {
        super::encoder::check(&shape.encoder)?;
        Ok(Seq2Seq { shape, weights: weights_of(values, &shape.shapes())?, epochs: Vec::new() })
    }

    /// The values of each weight.
    pub fn values(&self) -> Vec<&[f32]> {
        self.weights.values()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// Trains on texts in their order of time; the last ones are held out. With `noising`, texts are restored that it has damaged. Without, the
    /// decoder learns to write the second part of each text, whose tokens are [`SECOND`](super::SECOND), from the first; both have their special
    /// tokens.
    pub fn train(
        mut self,
        texts: TokenTexts<'_>,
        places: &[Range<usize>],
        noising: Option<&Noising>,
        params: &TransformerParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<Seq2Seq> {
        params.check()?;
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
        // With this goal, batches mask no words.
        let texts = TrainingTexts { texts, places, goals: Goals::Summaries };
        let net = Seq2SeqNet { shape: self.shape, batches: TextBatches::new(&texts, params)?, noising };
        let (weights, epochs) = fit(&net, self.weights, &params.fit(), checkpoint, ctx)?;
        let trained = Seq2Seq::of_values(self.shape, weights.all.into_iter().map(|weight| weight.values).collect())?;
        Ok(Seq2Seq { epochs, ..trained })
    }
}

#[cfg(test)]
mod tests;
