//! A decoder: embeddings of tokens and places, and blocks that attend to the tokens before and to all that an encoder has read.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::{DecoderWeights, Seq2SeqShape};
use crate::neural::kernel::Real;
use crate::transformer::block::{BlockShape, BlockWeights, Dropping, add};
use crate::transformer::encoder::{EmbeddingWeights, Encoder, EncoderInput, EncoderPass, EncoderShape, TrainedPart};
use crate::transformer::sublayers::{AttentionPass, AttentionSublayer, FeedForwardPass, FeedForwardSublayer, Memory};

/// A block, with its weights ready for products.
struct DecoderBlock<T> {
    attention: AttentionSublayer<T>,
    cross: AttentionSublayer<T>,
    feed_forward: FeedForwardSublayer<T>,
}

struct BlockPass<T> {
    attention: AttentionPass<T>,
    cross: AttentionPass<T>,
    feed_forward: FeedForwardPass<T>,
}

/// A decoder with its weights ready for products.
pub(super) struct Decoder<'w, T> {
    /// An encoder without layers.
    embeddings: Encoder<'w, T>,
    blocks: Vec<DecoderBlock<T>>,
}

/// The values of a forward pass that the backward pass reads.
pub(super) struct DecoderPass<T> {
    embedded: EncoderPass<T>,
    blocks: Vec<BlockPass<T>>,
}

/// The gradients of a decoder.
pub(super) struct DecoderGradients<T> {
    /// By the rows that the encoder gave.
    pub(super) memory: Vec<T>,
    /// By the weights of the decoder, in their order.
    pub(super) weights: Vec<Vec<T>>,
}

impl<T: Real> DecoderBlock<T> {
    const FIRST: usize = AttentionSublayer::<T>::COUNT;
    const SECOND: usize = Self::FIRST + AttentionSublayer::<T>::COUNT;

    fn new(shape: BlockShape, weights: &[&[T]]) -> DecoderBlock<T> {
        DecoderBlock {
            attention: AttentionSublayer::new(shape, &weights[..Self::FIRST]),
            cross: AttentionSublayer::new(shape, &weights[Self::FIRST..Self::SECOND]),
            feed_forward: FeedForwardSublayer::new(shape, &weights[Self::SECOND..]),
        }
    }

    fn forward(
        &self,
        x: &[T],
        texts: &[Range<usize>],
        memory: Memory<'_, T>,
        dropping: &mut Dropping<'_>,
    ) -> (Vec<T>, BlockPass<T>) {
        let (x, attention) = self.attention.forward(x, texts, None, Some(dropping));
        let (x, cross) = self.cross.forward(&x, texts, Some(memory), Some(dropping));
        let (x, feed_forward) = self.feed_forward.forward(&x, Some(dropping));
        (x, BlockPass { attention, cross, feed_forward })
    }

    /// The gradient by the inputs, that by the memory, and those by the weights.
    fn back(
        &self,
        passed: &BlockPass<T>,
        texts: &[Range<usize>],
        memory: Memory<'_, T>,
        by: &[T],
    ) -> (Vec<T>, Vec<T>, Vec<Vec<T>>) {
        let wanted = [true; AttentionSublayer::<f32>::COUNT];
        let (by, by_layer) = self.feed_forward.back(&passed.feed_forward, by, &wanted);
        let cross = self.cross.back(&passed.cross, texts, Some(memory), &by, &wanted, true);
        let own = self.attention.back(&passed.attention, texts, None, &cross.inputs, &wanted, true);
        let weights = own.weights.into_iter().chain(cross.weights).chain(by_layer).collect();
        (own.inputs, cross.memory, weights)
    }
}

impl<'w, T: Real> Decoder<'w, T> {
    /// `values` are those of the decoder, `tokens` is the table of tokens.
    pub(super) fn new(shape: &Seq2SeqShape, values: &[&'w [T]], tokens: &'w [T]) -> Decoder<'w, T> {
        let embeddings = EncoderShape { layers: 0, blocks: 0, ..shape.encoder };
        let (around, of_blocks) = values.split_at(DecoderWeights::COUNT);
        let mut all: Vec<&'w [T]> = vec![&[]; EmbeddingWeights::COUNT];
        all[EmbeddingWeights::Tokens as usize] = tokens;
        DecoderWeights::EMBEDDINGS.into_iter().zip(around).for_each(|(weight, values)| all[weight as usize] = values);
        Decoder {
            embeddings: Encoder::new(embeddings, &all, 0..0, |_| None),
            blocks: of_blocks.chunks(shape.of_block()).map(|values| DecoderBlock::new(shape.block, values)).collect(),
        }
    }

    /// The vectors that the head reads, `[tokens, width]`. Numbers are dropped at this rate.
    pub(super) fn forward(
        &self,
        input: EncoderInput<'_>,
        memory: Memory<'_, T>,
        rate: f64,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<T>, DecoderPass<T>) {
        let (mut x, embedded) = self.embeddings.forward(input, None, rate, rng);
        let mut dropping = Dropping { rate, rng };
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let (next, passed) = block.forward(&x, input.texts, memory, &mut dropping);
            blocks.push(passed);
            x = next;
        }
        (x, DecoderPass { embedded, blocks })
    }

    /// Takes the gradient by the vectors that the head reads. `tokens` takes the gradient by the table of tokens, row by row.
    pub(super) fn back(
        &self,
        passed: &DecoderPass<T>,
        input: EncoderInput<'_>,
        memory: Memory<'_, T>,
        mut by: Vec<T>,
        tokens: impl FnMut(u32, &[T]),
    ) -> DecoderGradients<T> {
        let mut by_memory = vec![T::default(); memory.rows.len()];
        let mut of_blocks = Vec::with_capacity(self.blocks.len());
        for (block, passed) in self.blocks.iter().zip(&passed.blocks).rev() {
            let (by_inputs, by_rows, weights) = block.back(passed, input.texts, memory, &by);
            add(&mut by_memory, &by_rows);
            of_blocks.push(weights);
            by = by_inputs;
        }
        let part = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let mut around = self.embeddings.back(&passed.embedded, input, by, &part, tokens);
        let around = DecoderWeights::EMBEDDINGS.map(|weight| std::mem::take(&mut around[weight as usize]));
        let weights = around.into_iter().chain(of_blocks.into_iter().rev().flatten()).collect();
        DecoderGradients { memory: by_memory, weights }
    }
}
