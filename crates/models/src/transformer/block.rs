//! A block of an encoder: attention over a text and a feed-forward layer. The output of each is added to its input, and the sum (BERT) or the input (GPT-2)
//! is normalised.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::attention::{AttentionWeights, Heads, weights_of};
use super::dropout::Dropout;
use super::norm::{NormGradients, Normed, normalise};
use crate::neural::affine::Affine;
use crate::neural::kernel::{Real, tanh};
use inkstone_base::simd::wide;

/// The place of layer normalisation in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlace {
    /// After the sum, as BERT.
    After,
    /// Before attention and layer, as GPT-2.
    Before,
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
    pub width: usize,
    pub heads: usize,
    /// Width of the feed-forward layer.
    pub between: usize,
    pub place: NormPlace,
    /// True if a token attends to itself and the tokens before it alone, as GPT-2's.
    pub causal: bool,
    pub activation: BlockActivation,
    /// Added to variances.
    pub epsilon: f64,
}

/// The weights of a block, in this order; a layer is `[outputs, inputs]`, row by row.
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

    /// Numbers of each weight.
    pub fn sizes(&self) -> [usize; BlockWeights::COUNT] {
        self.shapes().map(|[rows, columns]| rows * columns)
    }
}

/// A block with its weights ready for products.
pub struct EncoderBlock<T> {
    shape: BlockShape,
    query: Affine<T>,
    key: Affine<T>,
    value: Affine<T>,
    output: Affine<T>,
    up: Affine<T>,
    down: Affine<T>,
    first: [Vec<T>; 2],
    second: [Vec<T>; 2],
}

/// The values of a forward pass that the backward pass reads, `[tokens, width]` each unless it says otherwise.
pub struct ForwardPass<T> {
    /// The inputs of attention: the inputs of the block, normalised if the block normalises before attention.
    read: Vec<T>,
    queries: Vec<T>,
    keys: Vec<T>,
    values: Vec<T>,
    weights: AttentionWeights<T>,
    taken: Vec<T>,
    first: Normed<T>,
    /// The inputs of the feed-forward layer.
    middle: Vec<T>,
    before_activation: Vec<T>,
    activated: Vec<T>,
    second: Normed<T>,
    dropped: BlockDropout<T>,
}

/// Dropout of the weights of attention, and of the outputs of attention and of the feed-forward layer before they are added.
struct BlockDropout<T> {
    weights: Dropout<T>,
    attention: Dropout<T>,
    layer: Dropout<T>,
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
        let layer = |weight: BlockWeights| Affine::of(weights[weight as usize], weights[weight as usize + 1]);
        let norm = |scale: BlockWeights| [0, 1].map(|next| weights[scale as usize + next].to_vec());
        EncoderBlock {
            shape,
            query: layer(BlockWeights::Query),
            key: layer(BlockWeights::Key),
            value: layer(BlockWeights::Value),
            output: layer(BlockWeights::Output),
            up: layer(BlockWeights::Up),
            down: layer(BlockWeights::Down),
            first: norm(BlockWeights::FirstScale),
            second: norm(BlockWeights::SecondScale),
        }
    }

    fn normed(&self, rows: &[T], [scale, shift]: &[Vec<T>; 2]) -> Normed<T> {
        normalise(rows, scale, shift, self.shape.epsilon)
    }

    /// The outputs `[tokens, width]` of inputs of that shape; `texts` are the tokens of each text. In training numbers are dropped.
    pub fn forward(
        &self,
        x: &[T],
        texts: &[Range<usize>],
        dropping: Option<&mut Dropping<'_>>,
    ) -> (Vec<T>, ForwardPass<T>) {
        let draw = |count: usize, dropping: &mut Option<&mut Dropping<'_>>| match dropping {
            Some(dropping) => Dropout::draw(count, dropping.rate, dropping.rng),
            None => Dropout::none(),
        };
        let mut dropping = dropping;
        let dropped = BlockDropout {
            weights: draw(weights_of(texts, self.shape.heads), &mut dropping),
            attention: draw(x.len(), &mut dropping),
            layer: draw(x.len(), &mut dropping),
        };
        let before = self.shape.place == NormPlace::Before;
        let early = before.then(|| self.normed(x, &self.first));
        let read = early.as_ref().map_or_else(|| x.to_vec(), |normed| normed.rows.clone());
        let (queries, keys, values) = (self.query.forward(&read), self.key.forward(&read), self.value.forward(&read));
        let (taken, weights) = self.heads(&queries, &keys, &values).forward(texts, &dropped.weights);
        let mut sum = self.output.forward(&taken);
        dropped.attention.apply(&mut sum);
        add(&mut sum, x);
        let (first, middle, second) = match early {
            Some(early) => {
                let second = self.normed(&sum, &self.second);
                (early, second.rows.clone(), Some(second))
            }
            None => {
                let normed = self.normed(&sum, &self.first);
                sum.clone_from(&normed.rows);
                let middle = normed.rows.clone();
                (normed, middle, None)
            }
        };
        let before_activation = self.up.forward(&middle);
        let activated = activate(&before_activation, self.shape.activation);
        let mut out = self.down.forward(&activated);
        dropped.layer.apply(&mut out);
        add(&mut out, &sum);
        let second = second.unwrap_or_else(|| self.normed(&out, &self.second));
        if !before {
            out.clone_from(&second.rows);
        }
        let passed = ForwardPass {
            read,
            queries,
            keys,
            values,
            weights,
            taken,
            first,
            middle,
            before_activation,
            activated,
            second,
            dropped,
        };
        (out, passed)
    }

    /// Takes the gradient by the outputs; gives the gradient by the inputs, and the gradients by the weights.
    pub fn back(
        &self,
        passed: &ForwardPass<T>,
        texts: &[Range<usize>],
        by: &[T],
        wanted: &WantedGradients,
    ) -> (Vec<T>, Vec<Vec<T>>) {
        let before = self.shape.place == NormPlace::Before;
        let is_wanted = |weight: BlockWeights| wanted.weights[weight as usize];
        let gradients = |weight: BlockWeights, layer: &Affine<T>, x: &[T], by: &[T]| {
            if is_wanted(weight) { layer.gradients(x, by) } else { [Vec::new(), Vec::new()] }
        };
        let second_back = |by: &[T]| passed.second.back(by, &self.second[0]);
        // The gradients by the second sum, and by the outputs of the feed-forward layer before dropout.
        let late = (!before).then(|| second_back(by));
        let mut by_out = late.as_ref().map_or(by, |late| &late.rows).to_vec();
        passed.dropped.layer.apply(&mut by_out);
        let down = gradients(BlockWeights::Down, &self.down, &passed.activated, &by_out);
        let mut by_layer = vec![T::default(); passed.activated.len()];
        self.down.add_back(&by_out, &mut by_layer);
        through_activation(&mut by_layer, &passed.before_activation, self.shape.activation);
        let up = gradients(BlockWeights::Up, &self.up, &passed.middle, &by_layer);
        let mut by_middle = vec![T::default(); by.len()];
        self.up.add_back(&by_layer, &mut by_middle);
        let (second, mut by_sum) = match late {
            Some(late) => {
                add(&mut by_middle, &late.rows);
                (late, by_middle)
            }
            None => {
                let second = second_back(&by_middle);
                let mut by_sum = second.rows.clone();
                add(&mut by_sum, by);
                (second, by_sum)
            }
        };
        let first_back = |by: &[T]| passed.first.back(by, &self.first[0]);
        let early = (!before).then(|| first_back(&by_sum));
        if let Some(early) = &early {
            by_sum.clone_from(&early.rows);
        }
        let mut by_attention = by_sum.clone();
        passed.dropped.attention.apply(&mut by_attention);
        let output = gradients(BlockWeights::Output, &self.output, &passed.taken, &by_attention);
        let mut by_taken = vec![T::default(); by.len()];
        self.output.add_back(&by_attention, &mut by_taken);
        let heads = self.heads(&passed.queries, &passed.keys, &passed.values);
        let by_heads = heads.back(texts, &passed.weights, &passed.dropped.weights, &by_taken);
        let mut by_read = vec![T::default(); by.len()];
        let mut layers = Vec::new();
        let read = [BlockWeights::Query, BlockWeights::Key, BlockWeights::Value];
        for ((weight, layer), by) in read.into_iter().zip([&self.query, &self.key, &self.value]).zip(&by_heads) {
            layers.extend(gradients(weight, layer, &passed.read, by));
            // The first norm of a block that normalises before attention needs this gradient, too.
            if wanted.inputs || before {
                layer.add_back(by, &mut by_read);
            }
        }
        let first = match early {
            Some(early) => {
                add(&mut by_read, &by_sum);
                early
            }
            None => {
                let first = first_back(&by_read);
                by_read.clone_from(&first.rows);
                add(&mut by_read, &by_sum);
                first
            }
        };
        let norm = |weight: BlockWeights, NormGradients { scale, shift, .. }: NormGradients<T>| {
            if is_wanted(weight) { [scale, shift] } else { [Vec::new(), Vec::new()] }
        };
        layers.extend(output);
        layers.extend(norm(BlockWeights::FirstScale, first));
        layers.extend(up);
        layers.extend(down);
        layers.extend(norm(BlockWeights::SecondScale, second));
        (by_read, layers)
    }

    fn heads<'a>(&self, queries: &'a [T], keys: &'a [T], values: &'a [T]) -> Heads<'a, T> {
        let BlockShape { width, heads, causal, .. } = self.shape;
        Heads { queries, keys, values, width, heads, causal }
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
