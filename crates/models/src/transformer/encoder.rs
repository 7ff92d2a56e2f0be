//! An encoder: embeddings of tokens, places and segments, and blocks over them; forward and backward.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::block::{BlockShape, BlockWeights, Dropping, EncoderBlock, ForwardPass, NormPlace, WantedGradients};
use super::dropout::Dropout;
use super::norm::{NormGradients, Normed, normalise};
use crate::neural::kernel::Real;

/// Sizes and forms of an encoder.
#[derive(Clone, Copy, Debug)]
pub struct EncoderShape {
    /// Rows of the table of tokens.
    pub vocabulary: usize,
    /// Rows of the table of places.
    pub places: usize,
    /// The row of that table for the first token of a text: 0, of RoBERTa 2.
    pub first_place: usize,
    /// Rows of the table of segments, of which texts have the first; 0 where there is no such table.
    pub segments: usize,
    pub layers: usize,
    pub block: BlockShape,
}

/// The weights of the embeddings, in this order; those of the blocks follow.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum EmbeddingWeights {
    Tokens,
    Places,
    Segments,
    Scale,
    Shift,
}

impl EmbeddingWeights {
    pub(super) const COUNT: usize = 5;
}

impl EncoderShape {
    /// Number of weights.
    pub(super) fn weights(&self) -> usize {
        EmbeddingWeights::COUNT + self.layers * BlockWeights::COUNT
    }

    /// The number of a block's weight.
    pub(super) fn of_block(layer: usize, weight: BlockWeights) -> usize {
        EmbeddingWeights::COUNT + layer * BlockWeights::COUNT + weight as usize
    }

    /// Rows and columns of each weight; biases, scales and shifts have one row.
    pub(super) fn shapes(&self) -> Vec<[usize; 2]> {
        let width = self.block.width;
        let embeddings =
            [[self.vocabulary, width], [self.places, width], [self.segments, width], [1, width], [1, width]];
        embeddings.into_iter().chain(std::iter::repeat_n(self.block.shapes(), self.layers).flatten()).collect()
    }
}

/// The part of an encoder whose gradients are wanted: the blocks from one on, and the embeddings below all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrainedPart {
    /// Gradients go back to this block; all blocks below it are read as they are.
    pub(super) from_block: usize,
    pub(super) embeddings: bool,
    /// By number, whether a weight of a block is trained.
    pub(super) of_block: [bool; BlockWeights::COUNT],
}

/// An encoder with its weights ready for products.
pub(super) struct Encoder<'w, T> {
    shape: EncoderShape,
    values: Vec<&'w [T]>,
    /// The number of the first block that is ready.
    first: usize,
    blocks: Vec<EncoderBlock<T>>,
}

/// Tokens of some texts, one text after the other.
#[derive(Clone, Copy)]
pub(super) struct EncoderInput<'a> {
    pub(super) tokens: &'a [u32],
    /// The place of each text among the tokens.
    pub(super) texts: &'a [Range<usize>],
}

/// The values of a forward pass that the backward pass reads.
pub(super) struct EncoderPass<T> {
    embedded: Option<(Normed<T>, Dropout<T>)>,
    /// Of the blocks from the first trained one on.
    blocks: Vec<ForwardPass<T>>,
}

impl<'w, T: Real> Encoder<'w, T> {
    /// `values` are those of [`EmbeddingWeights`] and, block by block, of [`BlockWeights`]; more may follow. Only these blocks are made ready.
    /// `adapted` gives the values of a weight of a block, by its number, where they are not those of `values`.
    pub(super) fn new(
        shape: EncoderShape,
        values: &[&'w [T]],
        blocks: Range<usize>,
        adapted: impl Fn(usize) -> Option<Vec<T>>,
    ) -> Encoder<'w, T> {
        let block = |layer: usize| {
            let numbers = EncoderShape::of_block(layer, BlockWeights::Query)
                ..EncoderShape::of_block(layer + 1, BlockWeights::Query);
            let adapted: Vec<Option<Vec<T>>> = numbers.clone().map(&adapted).collect();
            let weights = numbers.zip(&adapted).map(|(number, adapted)| adapted.as_deref().unwrap_or(values[number]));
            EncoderBlock::new(shape.block, &weights.collect::<Vec<&[T]>>())
        };
        let first = blocks.start;
        Encoder { shape, values: values.to_vec(), first, blocks: blocks.map(block).collect() }
    }

    fn table(&self, weight: EmbeddingWeights, row: usize) -> &'w [T] {
        &self.values[weight as usize][row * self.shape.block.width..][..self.shape.block.width]
    }

    /// The sums of the vectors of token, place and segment, `[tokens, width]`.
    fn sums(&self, input: EncoderInput<'_>) -> Vec<T> {
        let mut sums = Vec::with_capacity(input.tokens.len() * self.shape.block.width);
        for text in input.texts {
            for (place, &token) in input.tokens[text.clone()].iter().enumerate() {
                let begin = sums.len();
                sums.extend_from_slice(self.table(EmbeddingWeights::Tokens, token as usize));
                super::block::add(
                    &mut sums[begin..],
                    self.table(EmbeddingWeights::Places, self.shape.first_place + place),
                );
                if self.shape.segments > 0 {
                    super::block::add(&mut sums[begin..], self.table(EmbeddingWeights::Segments, 0));
                }
            }
        }
        sums
    }

    fn embedded(&self, input: EncoderInput<'_>) -> Normed<T> {
        let [scale, shift] =
            [EmbeddingWeights::Scale, EmbeddingWeights::Shift].map(|weight| self.values[weight as usize]);
        normalise(&self.sums(input), scale, shift, self.shape.block.epsilon)
    }

    /// The vectors of the tokens behind the embeddings, `[tokens, width]`.
    pub(super) fn embed(&self, input: EncoderInput<'_>) -> Vec<T> {
        self.embedded(input).rows
    }

    /// The vectors of the tokens behind the blocks that are ready, from the vectors before these.
    pub(super) fn run(&self, mut x: Vec<T>, texts: &[Range<usize>]) -> Vec<T> {
        for block in &self.blocks {
            x = block.forward(&x, texts, None).0;
        }
        x
    }

    /// The vectors of the tokens behind all blocks, in training; `states` are those before the blocks that are ready, where these are not
    /// all.
    pub(super) fn forward(
        &self,
        input: EncoderInput<'_>,
        states: Option<&[T]>,
        rate: f64,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<T>, EncoderPass<T>) {
        let mut dropping = Dropping { rate, rng };
        let mut embedded = None;
        let mut x = match states {
            Some(states) => states.to_vec(),
            None => {
                let normed = self.embedded(input);
                let mut x = normed.rows.clone();
                let dropped = Dropout::draw(x.len(), rate, dropping.rng);
                dropped.apply(&mut x);
                embedded = Some((normed, dropped));
                x
            }
        };
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let (next, passed) = block.forward(&x, input.texts, Some(&mut dropping));
            blocks.push(passed);
            x = next;
        }
        (x, EncoderPass { embedded, blocks })
    }

    /// Takes the gradient by the vectors behind all blocks. Gives the gradients by weight, in the order of the weights; those that are not
    /// wanted are empty. `tokens` takes the gradient by the table of tokens, row by row: the token, and the gradient by its vector.
    pub(super) fn back(
        &self,
        passed: &EncoderPass<T>,
        input: EncoderInput<'_>,
        by: Vec<T>,
        part: &TrainedPart,
        mut tokens: impl FnMut(u32, &[T]),
    ) -> Vec<Vec<T>> {
        let mut gradients = vec![Vec::new(); self.shape.weights()];
        let mut by = by;
        for (at, (block, passed)) in self.blocks.iter().zip(&passed.blocks).enumerate().rev() {
            let layer = self.first + at;
            if layer < part.from_block {
                break;
            }
            let inputs = part.embeddings || layer > part.from_block;
            let wanted = WantedGradients { inputs, weights: part.of_block };
            let (by_inputs, by_weights) = block.back(passed, input.texts, &by, &wanted);
            let begin = EncoderShape::of_block(layer, BlockWeights::Query);
            gradients[begin..begin + BlockWeights::COUNT].iter_mut().zip(by_weights).for_each(|(to, by)| *to = by);
            by = by_inputs;
        }
        let (true, Some((normed, dropped))) = (part.embeddings, &passed.embedded) else { return gradients };
        dropped.apply(&mut by);
        let NormGradients { rows, scale, shift } = normed.back(&by, self.values[EmbeddingWeights::Scale as usize]);
        let width = self.shape.block.width;
        let mut places = vec![T::default(); self.shape.places * width];
        let mut segments = vec![T::default(); self.shape.segments * width];
        for text in input.texts {
            for (place, at) in text.clone().enumerate() {
                let by = &rows[at * width..][..width];
                tokens(input.tokens[at], by);
                super::block::add(&mut places[(self.shape.first_place + place) * width..][..width], by);
                if self.shape.segments > 0 {
                    super::block::add(&mut segments[..width], by);
                }
            }
        }
        let found = [
            (EmbeddingWeights::Places, places),
            (EmbeddingWeights::Segments, segments),
            (EmbeddingWeights::Scale, scale),
            (EmbeddingWeights::Shift, shift),
        ];
        found.into_iter().for_each(|(weight, gradient)| gradients[weight as usize] = gradient);
        gradients
    }
}

/// Fails for blocks that normalise before attention: their encoders have a last norm, which is not known here.
pub(super) fn check(shape: &EncoderShape) -> anyhow::Result<()> {
    anyhow::ensure!(shape.block.place == NormPlace::After, "only encoders that normalise after the sums are trained");
    anyhow::ensure!(
        shape.block.width.is_multiple_of(shape.block.heads),
        "a width of {} cannot be shared by {} heads: give a multiple",
        shape.block.width,
        shape.block.heads
    );
    Ok(())
}
