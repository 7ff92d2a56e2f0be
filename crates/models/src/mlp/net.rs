//! From rows to scores, and back to gradients.

use super::MlpShape;
use crate::design::Design;
use crate::neural::kernel::{Left, Packed, Real, add_product, add_scaled};
use crate::sparse::Row;
use inkstone_base::simd::wide;

/// Rows that are computed at once.
pub(super) struct PieceRows<'x, T> {
    sparse: Vec<Row<'x>>,
    /// `[rows, dense columns]`, after scaling.
    dense: Vec<T>,
}

impl<'x, T: Real> PieceRows<'x, T> {
    pub(super) fn new(x: &'x Design, rows: impl ExactSizeIterator<Item = usize>) -> PieceRows<'x, T> {
        let columns = x.dense_cols();
        let (mut sparse, mut dense) = (Vec::with_capacity(rows.len()), vec![T::default(); rows.len() * columns]);
        wide(
            #[inline(always)]
            || {
                for (at, i) in rows.enumerate() {
                    let row = x.row(i);
                    sparse.push(row.sparse());
                    row.write_dense(&mut dense[at * columns..(at + 1) * columns], T::from_f64);
                }
            },
        );
        PieceRows { sparse, dense }
    }

    fn len(&self) -> usize {
        self.sparse.len()
    }
}

/// A layer, ready to be used.
struct NetLayer<T> {
    inputs: usize,
    outputs: usize,
    bias: Vec<T>,
    /// Weights `[inputs, outputs]`.
    up: Packed<T>,
    /// Their transpose; none of the first layer, below which nothing is learned.
    down: Option<Packed<T>>,
}

/// All layers; the weights of sparse columns are given with each call, for there may be many.
pub(super) struct Net<T> {
    layers: Vec<NetLayer<T>>,
}

/// Values of a network on some rows, which the way back reads.
pub(super) struct NetPass<T> {
    /// By hidden layer its units after dropout, `[rows, units]`.
    hidden: Vec<Vec<T>>,
    /// `[rows, outputs]`.
    pub(super) scores: Vec<T>,
}

impl<T: Real> Net<T> {
    /// `weights` are in the order of [`MlpShape::weights`].
    pub(super) fn new(shape: &MlpShape, weights: &[&[T]]) -> Net<T> {
        let layer = |(number, ((inputs, outputs), weights)): (usize, ((usize, usize), &[&[T]]))| NetLayer {
            inputs,
            outputs,
            bias: weights[1].to_vec(),
            up: Packed::of(weights[0], outputs),
            down: (number > 0).then(|| Packed::transposed(weights[0], outputs)),
        };
        Net { layers: shape.layers().zip(weights[1..].chunks(2)).enumerate().map(layer).collect() }
    }

    /// Computes the scores of rows. `dropout` has a factor for each row and unit, `[rows, units]` layer after layer; none: all 1.
    pub(super) fn forward(&self, sparse: &[T], rows: &PieceRows<'_, T>, dropout: &[f32]) -> NetPass<T> {
        let mut hidden: Vec<Vec<T>> = Vec::with_capacity(self.layers.len() - 1);
        let mut factors = dropout;
        for (number, layer) in self.layers.iter().enumerate() {
            let below = hidden.last().unwrap_or(&rows.dense);
            let mut out = layer.bias.repeat(rows.len());
            if number == 0 {
                add_sparse(sparse, &rows.sparse, &mut out, layer.outputs);
            }
            let left = Left { values: below, rows: rows.len(), at: |i| i * layer.inputs, step: 1 };
            add_product(&left, &layer.up, &mut out, layer.outputs);
            if number + 1 < self.layers.len() {
                // NaN stays NaN, so that a training that diverged is seen.
                out.iter_mut().filter(|z| **z < T::default()).for_each(|z| *z = T::default());
                factors = scale(&mut out, factors);
            }
            hidden.push(out);
        }
        let scores = hidden.pop().unwrap_or_default();
        NetPass { hidden, scores }
    }

    /// The gradients by weight, in the order of [`MlpShape::weights`], from that by the scores; of sparse columns by those that have a place
    /// among `touched` ones.
    pub(super) fn backward(
        &self,
        rows: &PieceRows<'_, T>,
        pass: &NetPass<T>,
        dropout: &[f32],
        by_scores: Vec<T>,
        places: &[u32],
        touched: usize,
    ) -> Vec<Vec<T>> {
        let (mut by, mut factors) = (by_scores, dropout);
        // From the scores down: the order is turned round at the end.
        let mut gradients = Vec::with_capacity(2 * self.layers.len() + 1);
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let below = if number == 0 { &rows.dense } else { &pass.hidden[number - 1] };
            let mut by_weights = vec![T::default(); layer.inputs * layer.outputs];
            let left = Left { values: below, rows: layer.inputs, at: |i| i, step: layer.inputs };
            add_product(&left, &Packed::of(&by, layer.outputs), &mut by_weights, layer.outputs);
            let mut by_bias = vec![T::default(); layer.outputs];
            by.chunks(layer.outputs).for_each(|row| by_bias.iter_mut().zip(row).for_each(|(sum, &by)| *sum += by));
            gradients.extend([by_bias, by_weights]);
            if let Some(down) = &layer.down {
                let mut lower = vec![T::default(); below.len()];
                let left = Left { values: &by, rows: rows.len(), at: |i| i * layer.outputs, step: 1 };
                add_product(&left, down, &mut lower, layer.inputs);
                let resting = lower.iter_mut().zip(below).filter(|(_, unit)| **unit <= T::default());
                resting.for_each(|(by, _)| *by = T::default());
                let first = factors.len().saturating_sub(lower.len());
                scale(&mut lower, &factors[first..]);
                factors = &factors[..first];
                by = lower;
            }
        }
        let first = self.layers[0].outputs;
        let mut by_sparse = vec![T::default(); touched * first];
        wide(
            #[inline(always)]
            || {
                for (row, by) in rows.sparse.iter().zip(by.chunks(first)) {
                    for (column, value) in row.iter() {
                        let place = places[column as usize] as usize;
                        add_scaled(&mut by_sparse[place * first..][..first], by, T::from_f64(f64::from(value)));
                    }
                }
            },
        );
        gradients.push(by_sparse);
        gradients.reverse();
        gradients
    }
}

/// Adds the product of sparse rows with weights `[columns, width]` to `out`, `[rows, width]`.
fn add_sparse<T: Real>(weights: &[T], rows: &[Row<'_>], out: &mut [T], width: usize) {
    wide(
        #[inline(always)]
        || {
            for (row, out) in rows.iter().zip(out.chunks_mut(width)) {
                for (column, value) in row.iter() {
                    add_scaled(out, &weights[column as usize * width..][..width], T::from_f64(f64::from(value)));
                }
            }
        },
    );
}

/// Multiplies values by their factors, and gives the factors that are left; without factors, values stay as they are.
fn scale<'f, T: Real>(values: &mut [T], factors: &'f [f32]) -> &'f [f32] {
    if factors.is_empty() {
        return factors;
    }
    let (here, rest) = factors.split_at(values.len());
    values.iter_mut().zip(here).for_each(|(value, &factor)| *value = *value * T::from_f64(f64::from(factor)));
    rest
}
