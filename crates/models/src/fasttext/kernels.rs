//! The inner loops of training: rows of f32, padded with zeros to whole vector registers.
//!
//! They are compiled for wide vectors where they are called within [`inkstone_base::simd::wide`]. Every sum has one order, so results
//! are the same bits on every processor.

use anyhow::Result;

use inkstone_base::ensure;

/// Rows are multiples of this many values.
const WIDTH: usize = 16;

/// A matrix with padded rows.
#[derive(Clone, Debug)]
pub(super) struct WeightTable {
    rows: usize,
    dim: usize,
    /// Values of a padded row.
    stride: usize,
    values: Vec<f32>,
}

impl WeightTable {
    pub(super) fn zeros(rows: usize, dim: usize) -> WeightTable {
        let stride = dim.next_multiple_of(WIDTH);
        WeightTable { rows, dim, stride, values: vec![0.0; rows * stride] }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// A padded row.
    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> &[f32] {
        &self.values[row as usize * self.stride..][..self.stride]
    }

    /// A padded row, whose padding stays zero.
    #[inline(always)]
    pub(super) fn row_mut(&mut self, row: u32) -> &mut [f32] {
        &mut self.values[row as usize * self.stride..][..self.stride]
    }

    /// Sets the values of a row.
    pub(super) fn set(&mut self, row: u32, values: impl IntoIterator<Item = f32>) {
        let dim = self.dim;
        self.row_mut(row)[..dim].iter_mut().zip(values).for_each(|(to, value)| *to = value);
    }

    /// Takes up rows without padding, `[rows, dim]`.
    pub(super) fn fill(&mut self, values: &[f32]) -> Result<()> {
        ensure!(values.len() == self.rows * self.dim, "检查点的大小不同", "the checkpoint is of another size");
        let rows = self.values.chunks_exact_mut(self.stride).zip(values.chunks_exact(self.dim));
        rows.for_each(|(row, values)| row[..values.len()].copy_from_slice(values));
        Ok(())
    }

    /// The rows without padding, `[rows, dim]`.
    pub(super) fn values(&self) -> Vec<f32> {
        self.values.chunks_exact(self.stride).flat_map(|row| &row[..self.dim]).copied().collect()
    }
}

/// `to += x`
#[inline(always)]
pub(super) fn add(to: &mut [f32], x: &[f32]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += x;
    }
}

/// `to += by x`
#[inline(always)]
pub(super) fn add_scaled(to: &mut [f32], by: f32, x: &[f32]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to = x.mul_add(by, *to);
    }
}

/// `grad += by row`, then `row += by hidden`: a step of an output and what it gives back.
#[inline(always)]
pub(super) fn exchange(grad: &mut [f32], row: &mut [f32], by: f32, hidden: &[f32]) {
    for ((grad, row), hidden) in grad.iter_mut().zip(row).zip(hidden) {
        *grad = row.mul_add(by, *grad);
        *row = hidden.mul_add(by, *row);
    }
}

/// `to = by to`
#[inline(always)]
pub(super) fn scale(to: &mut [f32], by: f32) {
    for to in to {
        *to *= by;
    }
}

/// The product of two padded rows.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; WIDTH];
    for (a, b) in a.as_chunks::<WIDTH>().0.iter().zip(b.as_chunks::<WIDTH>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = a.mul_add(*b, *sum);
        }
    }
    // Unless it is told to forget where the sums come from, the compiler adds them in pairs all along the way.
    let sums = std::hint::black_box(sums);
    let eight: [f32; 8] = std::array::from_fn(|i| sums[i] + sums[i + 8]);
    let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
