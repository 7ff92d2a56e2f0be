//! Products of a standardised view with vectors, in blocks of rows that are the same whatever the number of threads.
//!
//! The scaling is not carried out on the rows: with X the values, missing ones replaced by the mean m, and s the deviations, the
//! product with w is `X (w/s) - m (w/s)`, that of the transpose with b is `(X'b - m sum b) / s`. Values are 32-bit, all sums 64-bit.

use rayon::prelude::*;

use super::dense::{DenseView, Scaling};
use inkstone_base::simd::wide;

/// Rows of a task; sums over rows are taken within a block, then block by block.
pub(super) const ROWS_PER_BLOCK: usize = 1024;

/// Sums that a row's product is taken in, so that they are computed side by side.
const LANES: usize = 32;

/// Rows that are added to a sum at once.
const TOGETHER: usize = 4;

impl DenseView {
    /// Adds the product with weights `[dim, k]` to `out`, `[rows, k]`.
    pub(super) fn add_product(&self, weights: &[f64], k: usize, out: &mut [f64]) {
        let (dim, scaling) = (self.dim(), &*self.scaling);
        // By output, so that each is a product of two stretches of memory.
        let scaled: Vec<Vec<f64>> =
            (0..k).map(|c| (0..dim).map(|j| weights[j * k + c] * scaling.factors[j]).collect()).collect();
        let shifts: Vec<f64> =
            scaled.iter().map(|w| w.iter().zip(&scaling.means).map(|(w, mean)| w * f64::from(*mean)).sum()).collect();
        let data = self.source.data();
        out.par_chunks_mut(ROWS_PER_BLOCK * k).zip(self.rows.par_chunks(ROWS_PER_BLOCK)).for_each(|(out, rows)| {
            wide(
                #[inline(always)]
                || {
                    for (out, &row) in out.chunks_mut(k).zip(rows) {
                        let row = &data[row * dim..][..dim];
                        for c in 0..k {
                            out[c] += dot(row, &scaling.means, &scaled[c]) - shifts[c];
                        }
                    }
                },
            );
        });
    }

    /// The product of the transpose with `by`, `[rows, k]`, into `out`, `[dim, k]`.
    pub(super) fn transposed_product(&self, by: &[f64], k: usize, out: &mut [f64]) {
        let (dim, scaling) = (self.dim(), &*self.scaling);
        let data = self.source.data();
        let part = |(rows, by): (&[usize], &[f64])| {
            let mut sums = vec![0.0; dim * k];
            wide(
                #[inline(always)]
                || {
                    for (rows, by) in rows.chunks(TOGETHER).zip(by.chunks(TOGETHER * k)) {
                        for (c, sums) in sums.chunks_mut(dim).enumerate() {
                            add_rows(data, dim, rows, &scaling.means, |at| by[at * k + c], sums);
                        }
                    }
                },
            );
            sums
        };
        let blocks = self.rows.par_chunks(ROWS_PER_BLOCK).zip(by.par_chunks(ROWS_PER_BLOCK * k));
        let parts: Vec<Vec<f64>> = blocks.map(part).collect();
        out.fill(0.0);
        for c in 0..k {
            let total: f64 = by[c..].iter().step_by(k).sum();
            for j in 0..dim {
                let sum: f64 = parts.iter().map(|part| part[c * dim + j]).sum();
                out[j * k + c] = (sum - f64::from(scaling.means[j]) * total) * scaling.factors[j];
            }
        }
    }

    /// The sums over rows of `by` times the squared value, `[dim, k]`.
    pub(crate) fn squares(&self, by: &[f64], k: usize, out: &mut [f64]) {
        let (dim, scaling) = (self.dim(), &*self.scaling);
        let data = self.source.data();
        let part = |(rows, by): (&[usize], &[f64])| {
            let mut sums = vec![0.0; dim * k];
            wide(
                #[inline(always)]
                || {
                    for (&row, by) in rows.iter().zip(by.chunks(k)) {
                        let row = &data[row * dim..][..dim];
                        for (sums, by) in sums.chunks_mut(dim).zip(by) {
                            for ((sum, value), mean) in sums.iter_mut().zip(row).zip(&scaling.means) {
                                let off = f64::from(there(*value, *mean)) - f64::from(*mean);
                                *sum = (off * off).mul_add(*by, *sum);
                            }
                        }
                    }
                },
            );
            sums
        };
        let blocks = self.rows.par_chunks(ROWS_PER_BLOCK).zip(by.par_chunks(ROWS_PER_BLOCK * k));
        let parts: Vec<Vec<f64>> = blocks.map(part).collect();
        for c in 0..k {
            for j in 0..dim {
                let sum: f64 = parts.iter().map(|part| part[c * dim + j]).sum();
                out[j * k + c] = sum * scaling.factors[j] * scaling.factors[j];
            }
        }
    }
}

/// A value, or the mean where it is missing.
#[inline(always)]
pub(super) fn there(value: f32, mean: f32) -> f32 {
    if value.abs() < f32::INFINITY { value } else { mean }
}

/// A value after scaling.
#[inline(always)]
pub(super) fn scaled(value: f32, mean: f32, factor: f64) -> f64 {
    (f64::from(there(value, mean)) - f64::from(mean)) * factor
}

/// The product of a row with weights.
#[inline(always)]
fn dot(row: &[f32], means: &[f32], weights: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (means, mean_rest) = means.as_chunks::<LANES>();
    let (weights, weight_rest) = weights.as_chunks::<LANES>();
    for ((row, means), weights) in rows.iter().zip(means).zip(weights) {
        for l in 0..LANES {
            sums[l] = f64::from(there(row[l], means[l])).mul_add(weights[l], sums[l]);
        }
    }
    for (l, ((value, mean), weight)) in row_rest.iter().zip(mean_rest).zip(weight_rest).enumerate() {
        sums[l] = f64::from(there(*value, *mean)).mul_add(*weight, sums[l]);
    }
    total(sums)
}

/// The product of a row after scaling with weights.
pub(super) fn scaled_dot(row: &[f32], scaling: &Scaling, weights: &[f64]) -> f64 {
    wide(
        #[inline(always)]
        || {
            let mut sums = [0.0f64; LANES];
            let of_chunks = row.chunks(LANES).zip(weights.chunks(LANES));
            let scales = scaling.means.chunks(LANES).zip(scaling.factors.chunks(LANES));
            for ((row, weights), (means, factors)) in of_chunks.zip(scales) {
                let scaled = row.iter().zip(means).zip(factors).map(|((v, m), f)| scaled(*v, *m, *f));
                for ((sum, value), weight) in sums.iter_mut().zip(scaled).zip(weights) {
                    *sum = value.mul_add(*weight, *sum);
                }
            }
            total(sums)
        },
    )
}

/// Adds a row after scaling, times a factor, to a sum of columns.
pub(super) fn add_scaled(row: &[f32], scaling: &Scaling, by: f64, sums: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            let scaled = row.iter().zip(&scaling.means).zip(&scaling.factors).map(|((v, m), f)| scaled(*v, *m, *f));
            sums.iter_mut().zip(scaled).for_each(|(sum, value)| *sum = value.mul_add(by, *sum));
        },
    );
}

/// The sum of lanes, in halves.
#[inline(always)]
pub(super) fn total(mut sums: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            sums[l] += sums[l + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The product of two vectors.
#[inline(always)]
pub(crate) fn dot_wide(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] = a[l].mul_add(b[l], sums[l]);
        }
    }
    for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[l] = a.mul_add(*b, sums[l]);
    }
    total(sums)
}

/// Adds up to [`TOGETHER`] rows, each times its factor, to a sum of columns.
#[inline(always)]
fn add_rows(data: &[f32], dim: usize, rows: &[usize], means: &[f32], by: impl Fn(usize) -> f64, sums: &mut [f64]) {
    let row = |at: usize| &data[rows[at] * dim..][..dim];
    if rows.len() == TOGETHER {
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let by = [by(0), by(1), by(2), by(3)];
        let means = &means[..dim];
        let sums = &mut sums[..dim];
        for j in 0..dim {
            let mut sum = sums[j];
            sum = f64::from(there(a[j], means[j])).mul_add(by[0], sum);
            sum = f64::from(there(b[j], means[j])).mul_add(by[1], sum);
            sum = f64::from(there(c[j], means[j])).mul_add(by[2], sum);
            sum = f64::from(there(d[j], means[j])).mul_add(by[3], sum);
            sums[j] = sum;
        }
    } else {
        for at in 0..rows.len() {
            let by = by(at);
            for ((sum, value), mean) in sums.iter_mut().zip(row(at)).zip(means) {
                *sum = f64::from(there(*value, *mean)).mul_add(by, *sum);
            }
        }
    }
}

/// Sums and numbers of the finite values of each column, `[2, dim]`.
#[inline(always)]
pub(super) fn sums(data: &[f32], dim: usize, rows: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; 2 * dim];
    let (sums, counts) = out.split_at_mut(dim);
    for &row in rows {
        let row = &data[row * dim..][..dim];
        for ((sum, count), value) in sums.iter_mut().zip(counts.iter_mut()).zip(row) {
            let finite = value.abs() < f32::INFINITY;
            *sum += f64::from(if finite { *value } else { 0.0 });
            *count += if finite { 1.0 } else { 0.0 };
        }
    }
    out
}

/// Sums of the distances of finite values from the mean of their column, and of their squares, `[2, dim]`.
#[inline(always)]
pub(super) fn deviations(data: &[f32], dim: usize, rows: &[usize], means: &[f32]) -> Vec<f64> {
    let mut out = vec![0.0; 2 * dim];
    let (offs, squares) = out.split_at_mut(dim);
    for &row in rows {
        let row = &data[row * dim..][..dim];
        for (((sum, square), value), mean) in offs.iter_mut().zip(squares.iter_mut()).zip(row).zip(means) {
            let off = f64::from(there(*value, *mean)) - f64::from(*mean);
            *sum += off;
            *square = off.mul_add(off, *square);
        }
    }
    out
}
