//! Rows of f32 in groups of 16, which are the width of the widest vectors: a row ends with zeros up to a whole group, and
//! stays so under every update.

use std::ops::Range;

use crate::random::Random;

/// Values in a group.
pub(super) const WIDTH: usize = 16;

/// A group of values, on a line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct Lane(pub(super) [f32; WIDTH]);

impl Lane {
    /// `self + by * other`.
    #[inline(always)]
    pub(super) fn plus(self, by: f32, other: Lane) -> Lane {
        let mut sum = self.0;
        for i in 0..WIDTH {
            sum[i] = other.0[i].mul_add(by, sum[i]);
        }
        Lane(sum)
    }

    /// `self + a * b`, value by value.
    #[inline(always)]
    pub(super) fn plus_product(self, a: Lane, b: Lane) -> Lane {
        let mut sum = self.0;
        for i in 0..WIDTH {
            sum[i] = a.0[i].mul_add(b.0[i], sum[i]);
        }
        Lane(sum)
    }

    /// The sum of its values.
    #[inline(always)]
    pub(super) fn sum(self) -> f32 {
        let mut half = [0.0; WIDTH / 2];
        for i in 0..8 {
            half[i] = self.0[i] + self.0[i + 8];
        }
        let mut quarter = [0.0; WIDTH / 4];
        for i in 0..4 {
            quarter[i] = half[i] + half[i + 4];
        }
        (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
    }
}

/// `[rows, dim]`, each row `lanes` groups long.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LaneMatrix {
    values: Vec<Lane>,
    dim: usize,
    lanes: usize,
}

impl LaneMatrix {
    pub(super) fn zeros(rows: usize, dim: usize) -> LaneMatrix {
        let lanes = dim.div_ceil(WIDTH);
        LaneMatrix { values: vec![Lane::default(); rows * lanes], dim, lanes }
    }

    /// Uniform between -1/2 and 1/2, divided by `dim`: how the C tool begins.
    pub(super) fn random(rows: usize, dim: usize, random: &mut Random) -> LaneMatrix {
        let mut matrix = LaneMatrix::zeros(rows, dim);
        for row in matrix.values.chunks_mut(matrix.lanes) {
            row.iter_mut().flat_map(|lane| &mut lane.0).take(dim).for_each(|v| *v = (random.unit() - 0.5) / dim as f32);
        }
        matrix
    }

    /// Lays out `[rows, dim]` values, given row by row.
    pub(super) fn from_values(values: &[f32], dim: usize) -> LaneMatrix {
        let mut matrix = LaneMatrix::zeros(values.len() / dim, dim);
        for (row, values) in matrix.values.chunks_mut(matrix.lanes).zip(values.chunks(dim)) {
            row.iter_mut().flat_map(|lane| &mut lane.0).zip(values).for_each(|(to, from)| *to = *from);
        }
        matrix
    }

    /// `[rows, dim]`, row by row.
    pub(super) fn to_values(&self) -> Vec<f32> {
        self.values_of(0..self.rows() as u32)
    }

    pub(super) fn values_of(&self, rows: Range<u32>) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows.len() * self.dim);
        rows.for_each(|row| values.extend(self.row(row).iter().flat_map(|lane| lane.0).take(self.dim)));
        values
    }

    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.lanes
    }

    /// Groups in a row.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    #[inline(always)]
    pub(super) fn row(&self, row: u32) -> &[Lane] {
        &self.values[row as usize * self.lanes..][..self.lanes]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, row: u32) -> &mut [Lane] {
        &mut self.values[row as usize * self.lanes..][..self.lanes]
    }

    pub(super) fn is_finite(&self) -> bool {
        self.values.iter().flat_map(|lane| &lane.0).all(|value| value.is_finite())
    }
}
