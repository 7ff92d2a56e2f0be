//! The inner loops of training: rows of f32 in lanes of sixteen, padded with zeros.
//!
//! They are compiled for wide vectors where they are called within [`crate::simd::wide`]. Every sum has one order, so results
//! are the same bits on every processor.

/// Values side by side in a vector register, or in two or four.
const WIDTH: usize = 16;

/// Sixteen values.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Lane([f32; WIDTH]);

/// A matrix whose rows are lanes.
#[derive(Clone, Debug)]
pub(super) struct Table {
    rows: usize,
    dim: usize,
    /// Lanes of a row.
    lanes: usize,
    values: Vec<Lane>,
}

impl Table {
    pub(super) fn zeros(rows: usize, dim: usize) -> Table {
        let lanes = dim.div_ceil(WIDTH);
        Table { rows, dim, lanes, values: vec![Lane::default(); rows * lanes] }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> &[Lane] {
        &self.values[row as usize * self.lanes..][..self.lanes]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, row: u32) -> &mut [Lane] {
        &mut self.values[row as usize * self.lanes..][..self.lanes]
    }

    /// Sets the values of a row.
    pub(super) fn set(&mut self, row: u32, values: impl IntoIterator<Item = f32>) {
        let lanes = self.row_mut(row).iter_mut().flat_map(|lane| &mut lane.0);
        lanes.zip(values).for_each(|(to, value)| *to = value);
    }

    /// The rows without padding, `[rows, dim]`.
    pub(super) fn values(&self) -> Vec<f32> {
        let rows = self.values.chunks_exact(self.lanes);
        rows.flat_map(|row| row.iter().flat_map(|lane| lane.0).take(self.dim)).collect()
    }
}

/// `to += x`
#[inline(always)]
pub(super) fn add(to: &mut [Lane], x: &[Lane]) {
    for (to, x) in to.iter_mut().zip(x) {
        for i in 0..WIDTH {
            to.0[i] += x.0[i];
        }
    }
}

/// `to += by x`
#[inline(always)]
pub(super) fn add_scaled(to: &mut [Lane], by: f32, x: &[Lane]) {
    for (to, x) in to.iter_mut().zip(x) {
        for i in 0..WIDTH {
            to.0[i] = x.0[i].mul_add(by, to.0[i]);
        }
    }
}

/// `to = by to`
#[inline(always)]
pub(super) fn scale(to: &mut [Lane], by: f32) {
    for to in to {
        for i in 0..WIDTH {
            to.0[i] *= by;
        }
    }
}

/// The product of two rows.
#[inline(always)]
pub(super) fn dot(a: &[Lane], b: &[Lane]) -> f32 {
    let mut sum = Lane::default();
    for (a, b) in a.iter().zip(b) {
        for i in 0..WIDTH {
            sum.0[i] = a.0[i].mul_add(b.0[i], sum.0[i]);
        }
    }
    let mut width = WIDTH / 2;
    while width > 0 {
        for i in 0..width {
            sum.0[i] += sum.0[i + width];
        }
        width /= 2;
    }
    sum.0[0]
}
