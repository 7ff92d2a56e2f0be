//! Layer normalisation (Ba, Kiros and Hinton 2016), and sums in the order that all texts share.

use crate::neural::kernel::Real;
use inkstone_base::simd::wide;

/// Rows scaled to mean 0 and variance 1, then by `scale` and `shift` for each column.
pub(super) struct Normed<T> {
    pub(super) rows: Vec<T>,
    /// The rows before scale and shift, and 1 / standard deviation of each.
    unit: Vec<T>,
    inverse: Vec<T>,
}

/// Gradients by the rows that were normalised, by scale and by shift.
pub(super) struct NormGradients<T> {
    pub(super) rows: Vec<T>,
    pub(super) scale: Vec<T>,
    pub(super) shift: Vec<T>,
}

/// Normalises rows; `epsilon` is added to their variance.
pub(super) fn normalise<T: Real>(rows: &[T], scale: &[T], shift: &[T], epsilon: f64) -> Normed<T> {
    let width = scale.len();
    let share = T::from_f64(1.0 / width as f64);
    let epsilon = T::from_f64(epsilon);
    let mut normed = Normed { rows: rows.to_vec(), unit: rows.to_vec(), inverse: Vec::new() };
    let outputs = normed.rows.chunks_exact_mut(width).zip(normed.unit.chunks_exact_mut(width));
    wide(
        #[inline(always)]
        || {
            for (out, unit) in outputs {
                let mean = sum(unit) * share;
                for value in unit.iter_mut() {
                    *value = *value - mean;
                }
                let variance = dot(unit, unit) * share;
                let inverse = T::from_f64(1.0 / (variance + epsilon).to_f64().sqrt());
                for (((out, unit), &scale), &shift) in out.iter_mut().zip(unit).zip(scale).zip(shift) {
                    *unit = *unit * inverse;
                    *out = unit.fused(scale, shift);
                }
                normed.inverse.push(inverse);
            }
        },
    );
    normed
}

impl<T: Real> Normed<T> {
    /// The gradients for that by the normalised rows.
    pub(super) fn back(&self, by: &[T], scale: &[T]) -> NormGradients<T> {
        let width = scale.len();
        let share = T::from_f64(1.0 / width as f64);
        let zeros = || vec![T::default(); width];
        let mut found = NormGradients { rows: by.to_vec(), scale: zeros(), shift: zeros() };
        let rows = found.rows.chunks_exact_mut(width).zip(self.unit.chunks_exact(width)).zip(&self.inverse);
        wide(
            #[inline(always)]
            || {
                for ((row, unit), &inverse) in rows {
                    for ((by, &unit), (to_scale, to_shift)) in
                        row.iter().zip(unit).zip(found.scale.iter_mut().zip(&mut found.shift))
                    {
                        *to_scale = by.fused(unit, *to_scale);
                        *to_shift += *by;
                    }
                    for (by, &scale) in row.iter_mut().zip(scale) {
                        *by = *by * scale;
                    }
                    let mean = sum(row) * share;
                    let along = dot(row, unit) * share;
                    for (by, &unit) in row.iter_mut().zip(unit) {
                        *by = inverse * (*by - mean - unit * along);
                    }
                }
            },
        );
        found
    }
}

/// Number of partial sums.
const LANES: usize = 16;

/// The sum of numbers: of every sixteenth first, then of these sums in order.
#[inline(always)]
pub(super) fn sum<T: Real>(values: &[T]) -> T {
    let mut sums = [T::default(); LANES];
    let (lines, rest) = values.as_chunks::<LANES>();
    for line in lines {
        for (sum, &value) in sums.iter_mut().zip(line) {
            *sum += value;
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum += value;
    }
    sums.into_iter().fold(T::default(), |all, sum| all + sum)
}

/// The sum of the products of numbers in the same places, in the order of [`sum`].
#[inline(always)]
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::default(); LANES];
    let ((lines, rest), (others, last)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (line, other) in lines.iter().zip(others) {
        for ((sum, &a), &b) in sums.iter_mut().zip(line).zip(other) {
            *sum = a.fused(b, *sum);
        }
    }
    for ((sum, &a), &b) in sums.iter_mut().zip(rest).zip(last) {
        *sum = a.fused(b, *sum);
    }
    sums.into_iter().fold(T::default(), |all, sum| all + sum)
}
