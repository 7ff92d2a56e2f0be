//! Products of matrices and the functions of gates, for f32, and for f64 where gradients are checked.
//!
//! Each number of a product is summed in the order of the rows of the right matrix, fused and from 0, whatever the tiles: the bits do
//! not depend on what a row is computed beside, nor on the width of vectors.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

use rayon::prelude::*;

use super::entropy;
use inkstone_base::simd::wide;

/// Columns of a strip.
const LANES: usize = 16;
/// Rows of the left matrix in a tile: with two vectors of 256 bits each, the sums of six fit the registers.
const TILE: usize = 6;
/// Rows of the left matrix that a strip is multiplied by before the next one.
const BLOCK: usize = 8 * TILE;
/// Strips that a thread packs at once.
const STRIPS: usize = 64;

/// A number that networks compute in.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// self x by + plus, rounded once.
    fn fused(self, by: Self, plus: Self) -> Self;
    fn exp(self) -> Self;
    /// The error function.
    fn erf(self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn fused(self, by: f32, plus: f32) -> f32 {
        self.mul_add(by, plus)
    }

    #[inline(always)]
    fn exp(self) -> f32 {
        entropy::exp(self)
    }

    #[inline(always)]
    fn erf(self) -> f32 {
        entropy::erf(self)
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn fused(self, by: f64, plus: f64) -> f64 {
        self.mul_add(by, plus)
    }

    fn exp(self) -> f64 {
        f64::exp(self)
    }

    fn erf(self) -> f64 {
        statrs::function::erf::erf(self)
    }
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<T: Real>(x: T) -> T {
    let one = T::from_f64(1.0);
    one / (one + (T::default() - x).exp())
}

#[inline(always)]
pub(crate) fn tanh<T: Real>(x: T) -> T {
    let s = sigmoid(x + x);
    s + s - T::from_f64(1.0)
}

/// Replaces each value by the function of it.
pub(crate) fn apply<T: Real>(values: &mut [T], function: impl Fn(T) -> T) {
    wide(
        #[inline(always)]
        || values.iter_mut().for_each(|value| *value = function(*value)),
    );
}

/// Makes the gradient by values of tanh that by its arguments.
pub(crate) fn through_tanh<T: Real>(by: &mut [T], units: &[T]) {
    by.iter_mut().zip(units).for_each(|(by, &unit)| *by = *by * (T::from_f64(1.0) - unit * unit));
}

/// Adds `by` times `x` to `to`.
#[inline(always)]
pub(crate) fn add_scaled<T: Real>(to: &mut [T], x: &[T], by: T) {
    to.iter_mut().zip(x).for_each(|(to, &x)| *to = x.fused(by, *to));
}

/// The right matrix of a product, `[rows, columns]`, in strips of [`LANES`] columns, row by row; zeros beyond the last column.
pub(crate) struct Packed<T> {
    rows: usize,
    columns: usize,
    strips: Vec<T>,
}

impl<T: Real> Packed<T> {
    /// A matrix given by its rows.
    pub(crate) fn of_rows<'m>(rows: usize, columns: usize, row: impl Fn(usize) -> &'m [T] + Sync) -> Packed<T>
    where
        T: 'm,
    {
        let fill = |first: usize, strip: &mut [T]| {
            for (number, line) in strip.chunks_exact_mut(LANES).enumerate() {
                let values = &row(number)[first..columns.min(first + LANES)];
                line[..values.len()].copy_from_slice(values);
            }
        };
        Packed::filled(rows, columns, fill)
    }

    /// A matrix given by its columns.
    pub(crate) fn of_columns<'m>(rows: usize, columns: usize, column: impl Fn(usize) -> &'m [T] + Sync) -> Packed<T>
    where
        T: 'm,
    {
        let fill = |first: usize, strip: &mut [T]| {
            for lane in 0..LANES.min(columns - first) {
                let values = &column(first + lane)[..rows];
                strip.chunks_exact_mut(LANES).zip(values).for_each(|(line, &value)| line[lane] = value);
            }
        };
        Packed::filled(rows, columns, fill)
    }

    /// `fill` is given the first column of a strip, and the strip.
    fn filled(rows: usize, columns: usize, fill: impl Fn(usize, &mut [T]) + Sync) -> Packed<T> {
        let mut strips = vec![T::default(); columns.div_ceil(LANES) * rows * LANES];
        let parts = strips.par_chunks_mut((rows * LANES).max(1)).with_min_len(STRIPS).enumerate();
        parts.for_each(|(number, strip)| fill(number * LANES, strip));
        Packed { rows, columns, strips }
    }

    /// A matrix that lies row by row.
    pub(crate) fn of(matrix: &[T], columns: usize) -> Packed<T> {
        Packed::of_rows(matrix.len() / columns, columns, |row| &matrix[row * columns..])
    }

    /// The transpose of a matrix that lies row by row.
    pub(crate) fn transposed(matrix: &[T], columns: usize) -> Packed<T> {
        Packed::of_columns(columns, matrix.len() / columns, |row| &matrix[row * columns..])
    }
}

/// The left matrix of a product: row `i` begins at `values[at(i)]`, and its numbers are `step` apart.
pub(crate) struct Left<'a, T, F: Fn(usize) -> usize> {
    pub(crate) values: &'a [T],
    pub(crate) rows: usize,
    pub(crate) at: F,
    pub(crate) step: usize,
}

/// Adds the product of two matrices to `out`, whose rows are `next` numbers apart.
pub(crate) fn add_product<T: Real, F: Fn(usize) -> usize>(
    left: &Left<'_, T, F>,
    right: &Packed<T>,
    out: &mut [T],
    next: usize,
) {
    if left.rows == 0 || right.rows == 0 {
        return;
    }
    let inner = right.rows;
    let mut panels = vec![T::default(); BLOCK.min(left.rows.next_multiple_of(TILE)) * inner];
    wide(
        #[inline(always)]
        || {
            for first in (0..left.rows).step_by(BLOCK) {
                let end = left.rows.min(first + BLOCK);
                // A panel holds the rows of a tile, column by column. Rows of zeros fill it up: for tiles of fewer rows the compiler uses no vector
                // instructions.
                for begin in (first..end).step_by(TILE) {
                    let rows = TILE.min(end - begin);
                    let panel = &mut panels[(begin - first) * inner..][..TILE * inner];
                    if rows < TILE {
                        panel.fill(T::default());
                    }
                    for row in 0..rows {
                        let values = left.values[(left.at)(begin + row)..].iter().step_by(left.step);
                        panel[row..].iter_mut().step_by(TILE).zip(values).for_each(|(to, &value)| *to = value);
                    }
                }
                for (strip, lanes) in right.strips.chunks_exact(inner * LANES).zip((0..right.columns).step_by(LANES)) {
                    let width = LANES.min(right.columns - lanes);
                    for begin in (first..end).step_by(TILE) {
                        let rows = TILE.min(end - begin);
                        let panel = &panels[(begin - first) * inner..][..TILE * inner];
                        let out = &mut out[begin * next + lanes..];
                        tile(panel, strip, rows, out, next, width);
                    }
                }
            }
        },
    );
}

/// Adds the product of a panel and a strip to so many rows of `out`.
#[inline(always)]
fn tile<T: Real>(panel: &[T], strip: &[T], rows: usize, out: &mut [T], next: usize, width: usize) {
    let mut sums = [[T::default(); LANES]; TILE];
    for (left, right) in panel.as_chunks::<TILE>().0.iter().zip(strip.as_chunks::<LANES>().0) {
        for (sums, &left) in sums.iter_mut().zip(left) {
            sums.iter_mut().zip(right).for_each(|(sum, &right)| *sum = left.fused(right, *sum));
        }
    }
    for (row, sums) in sums.iter().enumerate().take(rows) {
        out[row * next..][..width].iter_mut().zip(sums).for_each(|(to, &sum)| *to += sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_shape_are_those_of_the_definition() {
        for (rows, inner, columns) in [(1, 1, 1), (5, 3, 17), (6, 20, 16), (13, 7, 40), (49, 2, 3), (100, 5, 33)] {
            let a: Vec<f32> = (0..rows * inner).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
            let b: Vec<f32> = (0..inner * columns).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
            let expected = |i: usize, j: usize| (0..inner).map(|p| a[i * inner + p] * b[p * columns + j]).sum::<f32>();
            let next = columns + 2;
            let mut out = vec![1.0; rows * next];
            let left = Left { values: &a, rows, at: |i| i * inner, step: 1 };
            add_product(&left, &Packed::of(&b, columns), &mut out, next);
            for (i, row) in out.chunks(next).enumerate() {
                assert!((0..columns).all(|j| row[j] == 1.0 + expected(i, j)) && row[columns..] == [1.0, 1.0]);
            }
            // The same by the transposes of both.
            let a_down: Vec<f32> = (0..inner * rows).map(|i| a[i % rows * inner + i / rows]).collect();
            let b_down: Vec<f32> = (0..inner * columns).map(|i| b[i % inner * columns + i / inner]).collect();
            let mut again = vec![1.0; rows * next];
            let left = Left { values: &a_down, rows, at: |i| i, step: rows };
            add_product(&left, &Packed::transposed(&b_down, inner), &mut again, next);
            assert_eq!(again, out);
        }
    }

    #[test]
    fn gates_are_those_of_the_definition_and_keep_what_is_no_number() {
        for i in -200..200 {
            let x = i as f32 / 8.0;
            let exact = f64::from(x);
            assert!((f64::from(sigmoid(x)) - 1.0 / (1.0 + (-exact).exp())).abs() < 2e-7, "{x}");
            assert!((f64::from(tanh(x)) - exact.tanh()).abs() < 4e-7, "{x}");
        }
        assert!(sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }
}
