//! An encoder: embeddings of tokens, places and segments, and blocks over them; forward and backward.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::block::{
    BlockKind, BlockShape, BlockWeights, Dropping, EncoderBlock, ForwardPass, NormPlace, WantedGradients, add,
};
use super::dropout::Dropout;
use super::lstm::{LstmBlock, LstmPass};
use super::norm::{NormGradients, Normed, normalise};
use crate::neural::affine::Affine;
use crate::neural::kernel::Real;

/// Added to the number of a token of the second segment of an input, such as the second text of a pair.
pub const SECOND: u32 = 1 << 30;
/// Added to the number of a token that continues the word of the token before.
pub const CONTINUES: u32 = 1 << 31;
/// Added to the number of a token of a company's name.
pub const NAMED: u32 = 1 << 29;
/// Added to the number of a token of a name that took the place of another.
pub const REPLACED: u32 = 1 << 28;

/// Added to the number of a token that begins a sentence.
pub const BEGINS: u32 = 1 << 27;

/// The number of a token in the table of tokens.
pub fn token_number(token: u32) -> u32 {
    token & !(SECOND | CONTINUES | NAMED | REPLACED | BEGINS)
}

/// Sizes and forms of an encoder.
#[derive(Clone, Copy, Debug)]
pub struct EncoderShape {
    /// Rows of the table of tokens.
    pub vocabulary: usize,
    /// Places of a text at most: rows of the table of places, which LSTMs have not.
    pub places: usize,
    /// The row of that table for the first token of a text: 0, of RoBERTa 2.
    pub first_place: usize,
    /// Rows of the table of segments; 0 where there is no such table. All tokens are of the first segment, but those with [`SECOND`].
    pub segments: usize,
    /// Width of the tables where a dense layer brings their vectors to the width of the blocks (ALBERT); none: they have that width.
    pub factor: Option<usize>,
    pub layers: usize,
    /// Blocks with weights of their own: as many as layers, or fewer, each of which is several layers in a row (ALBERT).
    pub blocks: usize,
    pub block: BlockShape,
}

/// The weights around the blocks, in this order; those of the blocks follow.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum EmbeddingWeights {
    Tokens,
    Places,
    Segments,
    /// Scale and shift of the norm of the embeddings, or of the last block's outputs where blocks normalise before attention.
    Scale,
    Shift,
    /// The dense layer behind factorised tables.
    Widen,
    WidenBias,
}

impl EmbeddingWeights {
    pub(super) const COUNT: usize = 7;
    pub(super) const NORM: [EmbeddingWeights; 2] = [EmbeddingWeights::Scale, EmbeddingWeights::Shift];
    const WIDEN: [EmbeddingWeights; 2] = [EmbeddingWeights::Widen, EmbeddingWeights::WidenBias];
}

impl EncoderShape {
    /// Number of weights.
    pub(super) fn weights(&self) -> usize {
        EmbeddingWeights::COUNT + self.blocks * BlockWeights::COUNT
    }

    /// The number of a block's weight.
    pub(super) fn of_block(block: usize, weight: BlockWeights) -> usize {
        EmbeddingWeights::COUNT + block * BlockWeights::COUNT + weight as usize
    }

    /// The block of a layer.
    pub(super) fn block_of(&self, layer: usize) -> usize {
        layer * self.blocks / self.layers.max(1)
    }

    /// Width of the tables.
    pub(super) fn embedded(&self) -> usize {
        let units = if self.block.kind == BlockKind::Lstm { self.block.units() } else { self.block.width };
        self.factor.unwrap_or(units)
    }

    /// Rows and columns of each weight; biases, scales and shifts have one row.
    pub(super) fn shapes(&self) -> Vec<[usize; 2]> {
        let (width, narrow) = (self.block.width, self.embedded());
        let [widen, bias] =
            if self.factor.is_some() { [[width, narrow], [1, width]] } else { [[0, narrow], [0, width]] };
        let is_lstm = self.block.kind == BlockKind::Lstm;
        let places = if is_lstm { 0 } else { self.places };
        let [tokens, places, segments] = [self.vocabulary, places, self.segments].map(|rows| [rows, narrow]);
        let norm = [usize::from(self.block.place != NormPlace::Nowhere), narrow];
        let around = [tokens, places, segments, norm, norm, widen, bias];
        around.into_iter().chain(std::iter::repeat_n(self.block.shapes(), self.blocks).flatten()).collect()
    }
}

/// The part of an encoder whose gradients are wanted: the blocks from one layer on, and the embeddings below all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrainedPart {
    /// Gradients go back to this layer; all layers below it are read as they are.
    pub(super) from_layer: usize,
    pub(super) embeddings: bool,
    /// By number, whether a weight of a block is trained.
    pub(super) of_block: [bool; BlockWeights::COUNT],
}

/// An encoder with its weights ready for products.
pub(super) struct Encoder<'w, T> {
    shape: EncoderShape,
    values: Vec<&'w [T]>,
    /// The layers that are ready.
    layers: Range<usize>,
    /// Their blocks.
    blocks: Vec<Block<T>>,
    widen: Option<Affine<T>>,
}

/// A block of any kind.
enum Block<T> {
    Transformer(Box<EncoderBlock<T>>),
    Lstm(LstmBlock<T>),
}

enum BlockPass<T> {
    Transformer(Box<ForwardPass<T>>),
    Lstm(LstmPass<T>),
}

impl<T: Real> Block<T> {
    fn forward(&self, x: &[T], texts: &[Range<usize>], dropping: Option<&mut Dropping<'_>>) -> (Vec<T>, BlockPass<T>) {
        match self {
            Block::Transformer(block) => {
                let (x, passed) = block.forward(x, texts, dropping);
                (x, BlockPass::Transformer(Box::new(passed)))
            }
            Block::Lstm(block) => {
                let (x, passed) = block.forward(x, texts, dropping);
                (x, BlockPass::Lstm(passed))
            }
        }
    }

    /// The gradients by the inputs and by the weights.
    fn back(
        &self,
        passed: &BlockPass<T>,
        texts: &[Range<usize>],
        by: &[T],
        wanted: &WantedGradients,
    ) -> (Vec<T>, Vec<Vec<T>>) {
        match (self, passed) {
            (Block::Transformer(block), BlockPass::Transformer(passed)) => block.back(passed, texts, by, wanted),
            (Block::Lstm(block), BlockPass::Lstm(passed)) => block.back(passed, texts, by),
            _ => unreachable!("a pass is gone back by the block that made it"),
        }
    }
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
    embedded: Option<EmbeddedPass<T>>,
    /// Of the layers from the first trained one on.
    layers: Vec<BlockPass<T>>,
    last: Option<Normed<T>>,
}

struct EmbeddedPass<T> {
    normed: Option<Normed<T>>,
    dropped: Dropout<T>,
    /// The inputs of the dense layer behind factorised tables.
    narrow: Vec<T>,
}

impl<'w, T: Real> Encoder<'w, T> {
    /// `values` are those of [`EmbeddingWeights`] and, block by block, of [`BlockWeights`]; more may follow. Only these layers are made ready.
    /// `adapted` gives the values of a weight of a block, by its number, where they are not those of `values`.
    pub(super) fn new(
        shape: EncoderShape,
        values: &[&'w [T]],
        layers: Range<usize>,
        adapted: impl Fn(usize) -> Option<Vec<T>>,
    ) -> Encoder<'w, T> {
        let block = |block: usize| {
            let numbers = EncoderShape::of_block(block, BlockWeights::Query)
                ..EncoderShape::of_block(block + 1, BlockWeights::Query);
            let adapted: Vec<Option<Vec<T>>> = numbers.clone().map(&adapted).collect();
            let weights = numbers.zip(&adapted).map(|(number, adapted)| adapted.as_deref().unwrap_or(values[number]));
            let weights: Vec<&[T]> = weights.collect();
            match shape.block.kind {
                BlockKind::Transformer => Block::Transformer(Box::new(EncoderBlock::new(shape.block, &weights))),
                BlockKind::Lstm => Block::Lstm(LstmBlock::new(shape.block, &weights, block == 0)),
            }
        };
        let blocks = match layers.is_empty() {
            true => Vec::new(),
            false => (shape.block_of(layers.start)..=shape.block_of(layers.end - 1)).map(block).collect(),
        };
        let widen = shape.factor.map(|_| {
            let [weights, bias] = EmbeddingWeights::WIDEN.map(|weight| values[weight as usize]);
            Affine::of(weights, bias)
        });
        Encoder { shape, values: values.to_vec(), layers, blocks, widen }
    }

    /// The layers that are ready, from the first to the last.
    fn ready(&self) -> impl DoubleEndedIterator<Item = (usize, &Block<T>)> + ExactSizeIterator {
        let first = self.shape.block_of(self.layers.start);
        self.layers.clone().map(move |layer| (layer, &self.blocks[self.shape.block_of(layer) - first]))
    }

    fn table(&self, weight: EmbeddingWeights, row: usize) -> &'w [T] {
        let width = self.shape.embedded();
        &self.values[weight as usize][row * width..][..width]
    }

    fn has_places(&self) -> bool {
        !self.values[EmbeddingWeights::Places as usize].is_empty()
    }

    /// The row of the table of segments.
    fn segment_of(&self, token: u32) -> usize {
        usize::from(token & SECOND != 0).min(self.shape.segments - 1)
    }

    fn normed(&self, rows: &[T]) -> Normed<T> {
        let [scale, shift] = EmbeddingWeights::NORM.map(|weight| self.values[weight as usize]);
        normalise(rows, scale, shift, self.shape.block.epsilon)
    }

    /// The sums of the vectors of token, place and segment, `[tokens, width of the tables]`.
    fn sums(&self, input: EncoderInput<'_>) -> Vec<T> {
        let mut sums = Vec::with_capacity(input.tokens.len() * self.shape.embedded());
        for text in input.texts {
            for (place, &token) in input.tokens[text.clone()].iter().enumerate() {
                let begin = sums.len();
                sums.extend_from_slice(self.table(EmbeddingWeights::Tokens, token_number(token) as usize));
                if self.has_places() {
                    add(&mut sums[begin..], self.table(EmbeddingWeights::Places, self.shape.first_place + place));
                }
                if self.shape.segments > 0 {
                    add(&mut sums[begin..], self.table(EmbeddingWeights::Segments, self.segment_of(token)));
                }
            }
        }
        sums
    }

    /// The vectors of the tokens before the first layer, `[tokens, width]`. In training numbers are dropped.
    fn embedded(&self, input: EncoderInput<'_>, dropping: Option<&mut Dropping<'_>>) -> (Vec<T>, EmbeddedPass<T>) {
        let sums = self.sums(input);
        let normed = (self.shape.block.place == NormPlace::After).then(|| self.normed(&sums));
        let mut narrow = normed.as_ref().map_or(sums, |normed| normed.rows.clone());
        let width = self.shape.embedded();
        let dropped = match dropping {
            Some(Dropping { rate, rng }) if self.shape.block.kind == BlockKind::Lstm => {
                Dropout::draw_shared(input.texts, width, *rate, rng)
            }
            Some(dropping) => Dropout::draw(narrow.len(), dropping.rate, dropping.rng),
            None => Dropout::none(),
        };
        dropped.apply(&mut narrow);
        // Both directions of an LSTM read the same vectors.
        let twice = || narrow.chunks_exact(width).flat_map(|row| [row, row]).flatten().copied().collect();
        let x = match &self.widen {
            Some(widen) => widen.forward(&narrow),
            None if width < self.shape.block.width => twice(),
            None => narrow.clone(),
        };
        (x, EmbeddedPass { normed, dropped, narrow })
    }

    /// The vectors of the tokens before the first layer, `[tokens, width]`.
    pub(super) fn embed(&self, input: EncoderInput<'_>) -> Vec<T> {
        self.embedded(input, None).0
    }

    /// The vectors of the tokens behind the layers that are ready, from the vectors before these.
    pub(super) fn run(&self, mut x: Vec<T>, texts: &[Range<usize>]) -> Vec<T> {
        for (_, block) in self.ready() {
            x = block.forward(&x, texts, None).0;
        }
        x
    }

    /// The vectors that heads read, from those behind all layers.
    pub(super) fn finish(&self, x: Vec<T>) -> Vec<T> {
        match self.shape.block.place {
            NormPlace::Before => self.normed(&x).rows,
            NormPlace::After | NormPlace::Nowhere => x,
        }
    }

    /// The vectors that heads read, in training; `states` are those before the layers that are ready, where these are not all.
    pub(super) fn forward(
        &self,
        input: EncoderInput<'_>,
        states: Option<&[T]>,
        rate: f64,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<T>, EncoderPass<T>) {
        let mut dropping = Dropping { rate, rng };
        let (mut x, embedded) = match states {
            Some(states) => (states.to_vec(), None),
            None => {
                let (x, passed) = self.embedded(input, Some(&mut dropping));
                (x, Some(passed))
            }
        };
        let mut layers = Vec::with_capacity(self.layers.len());
        for (_, block) in self.ready() {
            let (next, passed) = block.forward(&x, input.texts, Some(&mut dropping));
            layers.push(passed);
            x = next;
        }
        let last = (self.shape.block.place == NormPlace::Before).then(|| self.normed(&x));
        if let Some(last) = &last {
            x.clone_from(&last.rows);
        }
        (x, EncoderPass { embedded, layers, last })
    }

    /// Takes the gradient by the vectors that heads read. Gives the gradients by weight, in the order of the weights; those that are not
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
        let scale = self.values[EmbeddingWeights::Scale as usize];
        if let Some(last) = &passed.last {
            let NormGradients { rows, scale, shift } = last.back(&by, scale);
            by = rows;
            EmbeddingWeights::NORM.into_iter().zip([scale, shift]).for_each(|(to, by)| gradients[to as usize] = by);
        }
        for ((layer, block), passed) in self.ready().zip(&passed.layers).rev() {
            if layer < part.from_layer {
                break;
            }
            let inputs = part.embeddings || layer > part.from_layer;
            let wanted = WantedGradients { inputs, weights: part.of_block };
            let (by_inputs, by_weights) = block.back(passed, input.texts, &by, &wanted);
            let begin = EncoderShape::of_block(self.shape.block_of(layer), BlockWeights::Query);
            // A block that is several layers has the sum of their gradients.
            for (to, by) in gradients[begin..begin + BlockWeights::COUNT].iter_mut().zip(by_weights) {
                if to.is_empty() {
                    *to = by;
                } else {
                    add(to, &by);
                }
            }
            by = by_inputs;
        }
        let (true, Some(EmbeddedPass { normed, dropped, narrow })) = (part.embeddings, &passed.embedded) else {
            return gradients;
        };
        if let Some(widen) = &self.widen {
            let by_widen = widen.gradients(narrow, &by);
            EmbeddingWeights::WIDEN.into_iter().zip(by_widen).for_each(|(to, by)| gradients[to as usize] = by);
            let mut by_narrow = vec![T::default(); narrow.len()];
            widen.add_back(&by, &mut by_narrow);
            by = by_narrow;
        } else if self.shape.embedded() < self.shape.block.width {
            let sum = |row: &[T]| {
                let (ahead, back) = row.split_at(row.len() / 2);
                ahead.iter().zip(back).map(|(&ahead, &back)| ahead + back).collect::<Vec<T>>()
            };
            by = by.chunks_exact(self.shape.block.width).flat_map(sum).collect();
        }
        dropped.apply(&mut by);
        if let Some(normed) = normed {
            let NormGradients { rows, scale, shift } = normed.back(&by, scale);
            by = rows;
            EmbeddingWeights::NORM.into_iter().zip([scale, shift]).for_each(|(to, by)| gradients[to as usize] = by);
        }
        let width = self.shape.embedded();
        let mut places = vec![T::default(); self.values[EmbeddingWeights::Places as usize].len()];
        let mut segments = vec![T::default(); self.shape.segments * width];
        for text in input.texts {
            for (place, at) in text.clone().enumerate() {
                let by = &by[at * width..][..width];
                tokens(token_number(input.tokens[at]), by);
                if self.has_places() {
                    add(&mut places[(self.shape.first_place + place) * width..][..width], by);
                }
                if self.shape.segments > 0 {
                    add(&mut segments[self.segment_of(input.tokens[at]) * width..][..width], by);
                }
            }
        }
        gradients[EmbeddingWeights::Places as usize] = places;
        gradients[EmbeddingWeights::Segments as usize] = segments;
        gradients
    }
}

/// Fails for sizes that do not fit each other.
pub(super) fn check(shape: &EncoderShape) -> anyhow::Result<()> {
    inkstone_base::ensure!(
        shape.block.width.is_multiple_of(shape.block.heads),
        "宽度 {} 不能由 {} 个头均分：请给出倍数",
        "a width of {} cannot be shared by {} heads: give a multiple",
        shape.block.width,
        shape.block.heads
    );
    inkstone_base::ensure!(
        shape.block.kind == BlockKind::Transformer || shape.block.width.is_multiple_of(shape.block.directions()),
        "宽度 {} 不能由两个方向均分：请给偶数",
        "a width of {} cannot be shared by two directions: give an even number",
        shape.block.width
    );
    Ok(())
}
