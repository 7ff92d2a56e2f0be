//! A layer W x + b, forward and backward; the scores of many words are one.

use super::kernel::{Left, Packed, Real, add_product};

/// Outputs that a gradient by the inputs is summed over at once.
const OUTPUTS: usize = 512;

/// The weights of a layer, ready to be used.
pub(crate) struct Affine<T> {
    inputs: usize,
    bias: Vec<T>,
    up: Packed<T>,
    /// By [`OUTPUTS`] of the outputs.
    down: Vec<Packed<T>>,
}

impl<T: Real> Affine<T> {
    /// `row` gives the weights of an output, of which the first `inputs` are read, and its bias.
    pub(crate) fn new<'w>(inputs: usize, outputs: usize, row: impl Fn(usize) -> (&'w [T], T) + Sync) -> Affine<T>
    where
        T: 'w,
    {
        let up = Packed::of_columns(inputs, outputs, |output| row(output).0);
        let block =
            |first: usize| Packed::of_rows(OUTPUTS.min(outputs - first), inputs, |output| row(first + output).0);
        let down = (0..outputs).step_by(OUTPUTS).map(block).collect();
        Affine { inputs, bias: (0..outputs).map(|output| row(output).1).collect(), up, down }
    }

    /// A layer of weights `[outputs, inputs]` row by row.
    pub(crate) fn of(weights: &[T], bias: &[T]) -> Affine<T> {
        let inputs = weights.len() / bias.len();
        Affine::new(inputs, bias.len(), |output| (&weights[output * inputs..], bias[output]))
    }

    /// A layer of weights `[outputs, inputs + 1]` row by row, the bias last.
    pub(crate) fn with_bias(weights: &[T], inputs: usize) -> Affine<T> {
        let row = |output: usize| &weights[output * (inputs + 1)..][..inputs + 1];
        Affine::new(inputs, weights.len() / (inputs + 1), |output| (row(output), row(output)[inputs]))
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The outputs of rows `[rows, inputs]`, `[rows, outputs]`.
    pub(crate) fn forward(&self, x: &[T]) -> Vec<T> {
        let mut out = self.bias.repeat(x.len() / self.inputs);
        self.add(x, &mut out);
        out
    }

    /// Adds W x to the outputs of rows.
    pub(crate) fn add(&self, x: &[T], out: &mut [T]) {
        let left = Left { values: x, rows: x.len() / self.inputs, at: |i| i * self.inputs, step: 1 };
        add_product(&left, &self.up, out, self.outputs());
    }

    /// Adds the gradient by the inputs, `[rows, inputs]`, of that by the outputs.
    pub(crate) fn add_back(&self, by: &[T], to: &mut [T]) {
        let outputs = self.outputs();
        for (block, down) in self.down.iter().enumerate() {
            let left = Left { values: by, rows: by.len() / outputs, at: |i| i * outputs + block * OUTPUTS, step: 1 };
            add_product(&left, down, to, self.inputs);
        }
    }

    /// Adds the gradient by the weights to the first columns of `to`, whose rows are `next` numbers apart.
    pub(crate) fn add_by_weights(&self, x: &[T], by: &[T], to: &mut [T], next: usize) {
        let left = Left { values: by, rows: self.outputs(), at: |i| i, step: self.outputs() };
        add_product(&left, &Packed::of(x, self.inputs), to, next);
    }

    /// The gradient by the bias.
    pub(crate) fn by_bias(&self, by: &[T]) -> Vec<T> {
        let mut sums = vec![T::default(); self.outputs()];
        by.chunks(self.outputs()).for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, &by)| *sum += by));
        sums
    }

    /// The gradients by weights `[outputs, inputs]` and by the bias.
    pub(crate) fn gradients(&self, x: &[T], by: &[T]) -> [Vec<T>; 2] {
        let mut weights = vec![T::default(); self.outputs() * self.inputs];
        self.add_by_weights(x, by, &mut weights, self.inputs);
        [weights, self.by_bias(by)]
    }

    /// The gradient by weights `[outputs, inputs + 1]`, the bias last.
    pub(crate) fn gradient_with_bias(&self, x: &[T], by: &[T]) -> Vec<T> {
        let next = self.inputs + 1;
        let mut weights = vec![T::default(); self.outputs() * next];
        self.add_by_weights(x, by, &mut weights, next);
        let bias = weights.iter_mut().skip(self.inputs).step_by(next);
        bias.zip(self.by_bias(by)).for_each(|(to, by)| *to = by);
        weights
    }
}

/// Side by side the rows of a table `[numbers, dim]`.
pub(crate) fn gather<T: Real>(table: &[T], dim: usize, numbers: &[u32]) -> Vec<T> {
    numbers.iter().flat_map(|&number| &table[number as usize * dim..][..dim]).copied().collect()
}
