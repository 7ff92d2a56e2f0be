//! The sub-layers of a block: attention, and a feed-forward layer. The output of each is added to its input, and the sum (BERT) or the input
//! (GPT-2) is normalised.

use std::ops::Range;

use super::attention::{AttentionTexts, AttentionWeights, Heads};
use super::block::{BlockShape, Dropping, NormPlace, activate, add, through_activation};
use super::dropout::Dropout;
use super::norm::{NormGradients, Normed, normalise};
use crate::neural::affine::Affine;
use crate::neural::kernel::Real;

/// Other texts that tokens attend to: those that an encoder has read (Vaswani and others 2017, encoder-decoder attention).
#[derive(Clone, Copy)]
pub(super) struct Memory<'m, T> {
    /// `[tokens, width]`.
    pub(super) rows: &'m [T],
    /// The tokens of each text.
    pub(super) texts: &'m [Range<usize>],
}

/// Attention, with its weights ready for products.
pub(super) struct AttentionSublayer<T> {
    shape: BlockShape,
    query: Affine<T>,
    key: Affine<T>,
    value: Affine<T>,
    output: Affine<T>,
    norm: [Vec<T>; 2],
}

/// The values of a forward pass that the backward pass reads, `[tokens, width]` each unless it says otherwise.
pub(super) struct AttentionPass<T> {
    /// The inputs, normalised if they are normalised before attention.
    read: Vec<T>,
    queries: Vec<T>,
    keys: Vec<T>,
    values: Vec<T>,
    weights: AttentionWeights<T>,
    taken: Vec<T>,
    normed: Normed<T>,
    /// Of the weights of attention, and of its outputs.
    dropped: [Dropout<T>; 2],
}

/// The gradients of attention.
pub(super) struct AttentionGradients<T> {
    pub(super) inputs: Vec<T>,
    /// By the rows of the memory; empty where tokens attend to their own text.
    pub(super) memory: Vec<T>,
    pub(super) weights: Vec<Vec<T>>,
}

/// Dropout of so many numbers in training.
fn drawn<T: Real>(count: usize, dropping: Option<&mut Dropping<'_>>) -> Dropout<T> {
    match dropping {
        Some(dropping) => Dropout::draw(count, dropping.rate, dropping.rng),
        None => Dropout::none(),
    }
}

/// The gradients by a layer and its bias; empty where they are not wanted.
fn layer_gradients<T: Real>(wanted: bool, layer: &Affine<T>, x: &[T], by: &[T]) -> [Vec<T>; 2] {
    if wanted { layer.gradients(x, by) } else { [Vec::new(), Vec::new()] }
}

fn norm_gradients<T>(wanted: bool, NormGradients { scale, shift, .. }: NormGradients<T>) -> [Vec<T>; 2] {
    if wanted { [scale, shift] } else { [Vec::new(), Vec::new()] }
}

impl<T: Real> AttentionSublayer<T> {
    /// Number of weights: queries, keys, values, outputs and the norm, each with a bias or a shift.
    pub(super) const COUNT: usize = 10;

    pub(super) fn new(shape: BlockShape, weights: &[&[T]]) -> AttentionSublayer<T> {
        let layer = |number: usize| Affine::of(weights[2 * number], weights[2 * number + 1]);
        let norm = [8, 9].map(|number| weights[number].to_vec());
        AttentionSublayer { shape, query: layer(0), key: layer(1), value: layer(2), output: layer(3), norm }
    }

    fn normed(&self, rows: &[T]) -> Normed<T> {
        let [scale, shift] = &self.norm;
        normalise(rows, scale, shift, self.shape.epsilon)
    }

    fn heads<'a>(
        &self,
        queries: &'a [T],
        keys: &'a [T],
        values: &'a [T],
        texts: &'a [Range<usize>],
        memory: Option<Memory<'a, T>>,
    ) -> Heads<'a, T> {
        let BlockShape { width, heads, causal, .. } = self.shape;
        // All that an encoder has read stands before the first written token.
        let texts = AttentionTexts { from: texts, to: memory.map_or(texts, |memory| memory.texts) };
        Heads { queries, keys, values, width, heads, causal: causal && memory.is_none(), texts }
    }

    /// The outputs `[tokens, width]` of inputs of that shape; `texts` are the tokens of each text, which attends to itself, or to the text with
    /// its number in the memory.
    pub(super) fn forward(
        &self,
        x: &[T],
        texts: &[Range<usize>],
        memory: Option<Memory<'_, T>>,
        mut dropping: Option<&mut Dropping<'_>>,
    ) -> (Vec<T>, AttentionPass<T>) {
        let before = self.shape.place == NormPlace::Before;
        let early = before.then(|| self.normed(x));
        let read = early.as_ref().map_or_else(|| x.to_vec(), |normed| normed.rows.clone());
        let attended = memory.map_or(read.as_slice(), |memory| memory.rows);
        let (queries, keys, values) =
            (self.query.forward(&read), self.key.forward(attended), self.value.forward(attended));
        let heads = self.heads(&queries, &keys, &values, texts, memory);
        let dropped = [drawn(heads.weights(), dropping.as_deref_mut()), drawn(x.len(), dropping)];
        let (taken, weights) = heads.forward(&dropped[0]);
        let mut out = self.output.forward(&taken);
        dropped[1].apply(&mut out);
        add(&mut out, x);
        let normed = early.unwrap_or_else(|| self.normed(&out));
        if !before {
            out.clone_from(&normed.rows);
        }
        (out, AttentionPass { read, queries, keys, values, weights, taken, normed, dropped })
    }

    /// Takes the gradient by the outputs. `wanted` says of each weight whether its gradient is, and `inputs` whether those by the inputs and the
    /// memory are.
    pub(super) fn back(
        &self,
        passed: &AttentionPass<T>,
        texts: &[Range<usize>],
        memory: Option<Memory<'_, T>>,
        by: &[T],
        wanted: &[bool],
        inputs: bool,
    ) -> AttentionGradients<T> {
        let before = self.shape.place == NormPlace::Before;
        let late = (!before).then(|| passed.normed.back(by, &self.norm[0]));
        let by_sum = late.as_ref().map_or(by, |late| &late.rows);
        let mut by_attention = by_sum.to_vec();
        passed.dropped[1].apply(&mut by_attention);
        let output = layer_gradients(wanted[6], &self.output, &passed.taken, &by_attention);
        let mut by_taken = vec![T::default(); by.len()];
        self.output.add_back(&by_attention, &mut by_taken);
        let heads = self.heads(&passed.queries, &passed.keys, &passed.values, texts, memory);
        let [by_queries, by_keys, by_values] = heads.back(&passed.weights, &passed.dropped[0], &by_taken);
        let attended = memory.map_or(passed.read.as_slice(), |memory| memory.rows);
        let mut weights = Vec::with_capacity(Self::COUNT);
        weights.extend(layer_gradients(wanted[0], &self.query, &passed.read, &by_queries));
        weights.extend(layer_gradients(wanted[2], &self.key, attended, &by_keys));
        weights.extend(layer_gradients(wanted[4], &self.value, attended, &by_values));
        let (mut by_read, mut by_memory) = (vec![T::default(); by.len()], Vec::new());
        // A norm before attention needs this gradient, too.
        if inputs || before {
            self.query.add_back(&by_queries, &mut by_read);
            by_memory.resize(memory.map_or(0, |memory| memory.rows.len()), T::default());
            let to = if memory.is_some() { &mut by_memory } else { &mut by_read };
            self.key.add_back(&by_keys, to);
            self.value.add_back(&by_values, to);
        }
        let norm = late.unwrap_or_else(|| {
            let early = passed.normed.back(&by_read, &self.norm[0]);
            by_read.clone_from(&early.rows);
            early
        });
        add(&mut by_read, if before { by } else { &norm.rows });
        weights.extend(output);
        weights.extend(norm_gradients(wanted[8], norm));
        AttentionGradients { inputs: by_read, memory: by_memory, weights }
    }
}

/// A feed-forward layer of one hidden layer, with its weights ready for products.
pub(super) struct FeedForwardSublayer<T> {
    shape: BlockShape,
    up: Affine<T>,
    down: Affine<T>,
    norm: [Vec<T>; 2],
}

/// The values of a forward pass that the backward pass reads.
pub(super) struct FeedForwardPass<T> {
    /// The inputs, normalised if they are normalised before the layer, `[tokens, width]`.
    read: Vec<T>,
    before_activation: Vec<T>,
    activated: Vec<T>,
    normed: Normed<T>,
    dropped: Dropout<T>,
}

impl<T: Real> FeedForwardSublayer<T> {
    /// `weights` are the two layers and the norm, each with a bias or a shift.
    pub(super) fn new(shape: BlockShape, weights: &[&[T]]) -> FeedForwardSublayer<T> {
        let layer = |number: usize| Affine::of(weights[2 * number], weights[2 * number + 1]);
        let norm = [4, 5].map(|number| weights[number].to_vec());
        FeedForwardSublayer { shape, up: layer(0), down: layer(1), norm }
    }

    fn normed(&self, rows: &[T]) -> Normed<T> {
        let [scale, shift] = &self.norm;
        normalise(rows, scale, shift, self.shape.epsilon)
    }

    /// The outputs `[tokens, width]` of inputs of that shape.
    pub(super) fn forward(&self, x: &[T], dropping: Option<&mut Dropping<'_>>) -> (Vec<T>, FeedForwardPass<T>) {
        let before = self.shape.place == NormPlace::Before;
        let dropped = drawn(x.len(), dropping);
        let early = before.then(|| self.normed(x));
        let read = early.as_ref().map_or_else(|| x.to_vec(), |normed| normed.rows.clone());
        let before_activation = self.up.forward(&read);
        let activated = activate(&before_activation, self.shape.activation);
        let mut out = self.down.forward(&activated);
        dropped.apply(&mut out);
        add(&mut out, x);
        let normed = early.unwrap_or_else(|| self.normed(&out));
        if !before {
            out.clone_from(&normed.rows);
        }
        (out, FeedForwardPass { read, before_activation, activated, normed, dropped })
    }

    /// Takes the gradient by the outputs; gives the gradient by the inputs, and those by the weights that are wanted.
    pub(super) fn back(&self, passed: &FeedForwardPass<T>, by: &[T], wanted: &[bool]) -> (Vec<T>, Vec<Vec<T>>) {
        let before = self.shape.place == NormPlace::Before;
        let late = (!before).then(|| passed.normed.back(by, &self.norm[0]));
        let mut by_out = late.as_ref().map_or(by, |late| &late.rows).to_vec();
        passed.dropped.apply(&mut by_out);
        let down = layer_gradients(wanted[2], &self.down, &passed.activated, &by_out);
        let mut by_layer = vec![T::default(); passed.activated.len()];
        self.down.add_back(&by_out, &mut by_layer);
        through_activation(&mut by_layer, &passed.before_activation, self.shape.activation);
        let up = layer_gradients(wanted[0], &self.up, &passed.read, &by_layer);
        let mut by_read = vec![T::default(); by.len()];
        self.up.add_back(&by_layer, &mut by_read);
        let norm = late.unwrap_or_else(|| {
            let early = passed.normed.back(&by_read, &self.norm[0]);
            by_read.clone_from(&early.rows);
            early
        });
        add(&mut by_read, if before { by } else { &norm.rows });
        let weights = [up, down, norm_gradients(wanted[4], norm)].into_iter().flatten().collect();
        (by_read, weights)
    }
}
