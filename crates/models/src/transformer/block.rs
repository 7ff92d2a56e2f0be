//! A block of an encoder: attention over a text and a feed-forward layer.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::lstm::LSTM_WEIGHTS;
use super::sublayers::{AttentionPass, AttentionSublayer, FeedForwardPass, FeedForwardSublayer};
use crate::neural::kernel::{Real, tanh};
use inkstone_base::simd::wide;

/// The place of layer normalisation in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlace {
    /// After the sum, as BERT.
    After,
    /// Before attention and layer, as GPT-2.
    Before,
    /// Nowhere, as LSTMs.
    Nowhere,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Attention and a feed-forward layer.
    Transformer,
    /// An LSTM layer, of both directions where it is not causal; they share the width.
    Lstm,
}

/// The activation of the feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockActivation {
    /// x times the normal distribution function of x (Hendrycks and Gimpel 2016).
    Gelu,
    /// GELU approximated with tanh (Hendrycks and Gimpel 2016).
    GeluTanh,
    Relu,
}

/// Sizes and forms of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockShape {
    pub kind: BlockKind,
    pub width: usize,
    /// Heads of attention; 1 of an LSTM.
    pub heads: usize,
    /// Width of the feed-forward layer; 0 of an LSTM.
    pub between: usize,
    pub place: NormPlace,
    /// True if a token knows itself and the tokens before it alone, as GPT-2's.
    pub causal: bool,
    pub activation: BlockActivation,
    /// Added to variances.
    pub epsilon: f64,
}

/// The weights of a block, in this order; a layer is `[outputs, inputs]`, row by row. An LSTM has its weights in the first places, and the other
/// ones are empty.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum BlockWeights {
    Query,
    QueryBias,
    Key,
    KeyBias,
    Value,
    ValueBias,
    Output,
    OutputBias,
    FirstScale,
    FirstShift,
    Up,
    UpBias,
    Down,
    DownBias,
    SecondScale,
    SecondShift,
}

impl BlockWeights {
    /// Number of weights.
    pub const COUNT: usize = 16;
}

impl BlockShape {
    /// Rows and columns of each weight; biases, scales and shifts have one row.
    pub fn shapes(&self) -> [[usize; 2]; BlockWeights::COUNT] {
        let (width, between) = (self.width, self.between);
        if self.kind == BlockKind::Lstm {
            let units = self.units();
            let mut shapes = [[0, 0]; BlockWeights::COUNT];
            for direction in shapes[..LSTM_WEIGHTS * self.directions()].chunks_mut(LSTM_WEIGHTS) {
                direction.copy_from_slice(&[[4 * units, units], [4 * units, units], [1, 4 * units]]);
            }
            return shapes;
        }
        let (square, row) = ([width, width], [1, width]);
        [
            square,
            row,
            square,
            row,
            square,
            row,
            square,
            row,
            row,
            row,
            [between, width],
            [1, between],
            [width, between],
            row,
            row,
            row,
        ]
    }

    /// An LSTM layer, of both directions or of one.
    pub fn lstm(width: usize, both: bool) -> BlockShape {
        BlockShape {
            kind: BlockKind::Lstm,
            width,
            heads: 1,
            between: 0,
            place: NormPlace::Nowhere,
            causal: !both,
            activation: BlockActivation::Relu,
            epsilon: 0.0,
        }
    }

    /// Directions of an LSTM.
    pub(super) fn directions(&self) -> usize {
        if self.causal { 1 } else { 2 }
    }

    /// Units of a direction of an LSTM.
    pub(super) fn units(&self) -> usize {
        self.width / self.directions()
    }

    /// Numbers of each weight.
    pub fn sizes(&self) -> [usize; BlockWeights::COUNT] {
        self.shapes().map(|[rows, columns]| rows * columns)
    }
}

/// A block with its weights ready for products.
pub struct EncoderBlock<T> {
    attention: AttentionSublayer<T>,
    feed_forward: FeedForwardSublayer<T>,
}

/// The values of a forward pass that the backward pass reads.
pub struct ForwardPass<T> {
    attention: AttentionPass<T>,
    feed_forward: FeedForwardPass<T>,
}

/// A rate of dropout, and the source of its draws.
pub struct Dropping<'r> {
    pub rate: f64,
    pub rng: &'r mut ChaCha8Rng,
}

/// The gradients that a backward pass computes.
#[derive(Clone, Copy)]
pub struct WantedGradients {
    /// By the inputs; otherwise they are zeros.
    pub inputs: bool,
    /// By each weight, in the order of [`BlockWeights`]; those of a layer and its bias go together. The others are empty.
    pub weights: [bool; BlockWeights::COUNT],
}

impl WantedGradients {
    pub const ALL: WantedGradients = WantedGradients { inputs: true, weights: [true; BlockWeights::COUNT] };
}

impl<T: Real> EncoderBlock<T> {
    /// `weights` are those of [`BlockWeights`], in its order.
    pub fn new(shape: BlockShape, weights: &[&[T]]) -> EncoderBlock<T> {
        let (attention, feed_forward) = weights.split_at(AttentionSublayer::<T>::COUNT);
        EncoderBlock {
            attention: AttentionSublayer::new(shape, attention),
            feed_forward: FeedForwardSublayer::new(shape, feed_forward),
        }
    }

    /// The outputs `[tokens, width]` of inputs of that shape; `texts` are the tokens of each text. In training numbers are dropped.
    pub fn forward(
        &self,
        x: &[T],
        texts: &[Range<usize>],
        mut dropping: Option<&mut Dropping<'_>>,
    ) -> (Vec<T>, ForwardPass<T>) {
        let (x, attention) = self.attention.forward(x, texts, None, dropping.as_deref_mut());
        let (x, feed_forward) = self.feed_forward.forward(&x, dropping);
        (x, ForwardPass { attention, feed_forward })
    }

    /// Takes the gradient by the outputs; gives the gradient by the inputs, and the gradients by the weights.
    pub fn back(
        &self,
        passed: &ForwardPass<T>,
        texts: &[Range<usize>],
        by: &[T],
        wanted: &WantedGradients,
    ) -> (Vec<T>, Vec<Vec<T>>) {
        let (of_attention, of_layer) = wanted.weights.split_at(AttentionSublayer::<T>::COUNT);
        let (by, by_layer) = self.feed_forward.back(&passed.feed_forward, by, of_layer);
        let mut found = self.attention.back(&passed.attention, texts, None, &by, of_attention, wanted.inputs);
        found.weights.extend(by_layer);
        (found.inputs, found.weights)
    }
}

pub(super) fn add<T: Real>(to: &mut [T], values: &[T]) {
    to.iter_mut().zip(values).for_each(|(to, &value)| *to += value);
}

/// GELU approximated with tanh is x / 2 * (1 + tanh(SLOPE * (x + CUBE * x^3))); SLOPE is sqrt(2 / pi).
const SLOPE: f64 = 0.797_884_560_802_865_4;
const CUBE: f64 = 0.044_715;

pub(super) fn activate<T: Real>(values: &[T], activation: BlockActivation) -> Vec<T> {
    let mut out = values.to_vec();
    let (half, one, zero) = (T::from_f64(0.5), T::from_f64(1.0), T::default());
    let (root, slope, cube) = (T::from_f64(0.5_f64.sqrt()), T::from_f64(SLOPE), T::from_f64(CUBE));
    wide(
        #[inline(always)]
        || match activation {
            BlockActivation::Gelu => {
                for x in &mut out {
                    *x = half * *x * (one + (*x * root).erf());
                }
            }
            BlockActivation::GeluTanh => {
                for x in &mut out {
                    *x = half * *x * (one + tanh(slope * (*x + cube * *x * *x * *x)));
                }
            }
            BlockActivation::Relu => {
                for x in &mut out {
                    *x = if *x < zero { zero } else { *x };
                }
            }
        },
    );
    out
}

/// Makes the gradient by activated values that by the values before.
pub(super) fn through_activation<T: Real>(by: &mut [T], values: &[T], activation: BlockActivation) {
    let (half, one, zero) = (T::from_f64(0.5), T::from_f64(1.0), T::default());
    let (root, slope, cube) = (T::from_f64(0.5_f64.sqrt()), T::from_f64(SLOPE), T::from_f64(CUBE));
    let (density, three) = (T::from_f64(0.398_942_280_401_432_7), T::from_f64(3.0));
    wide(
        #[inline(always)]
        || match activation {
            BlockActivation::Gelu => {
                for (by, &x) in by.iter_mut().zip(values) {
                    let share = half * (one + (x * root).erf());
                    *by = *by * (share + x * density * (zero - half * x * x).exp());
                }
            }
            BlockActivation::GeluTanh => {
                for (by, &x) in by.iter_mut().zip(values) {
                    let t = tanh(slope * (x + cube * x * x * x));
                    let inner = slope * (one + three * cube * x * x);
                    *by = *by * half * (one + t + x * (one - t * t) * inner);
                }
            }
            BlockActivation::Relu => {
                for (by, &x) in by.iter_mut().zip(values) {
                    *by = if x < zero { zero } else { *by };
                }
            }
        },
    );
}
