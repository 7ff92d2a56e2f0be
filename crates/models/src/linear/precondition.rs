//! Preconditioners of conjugate gradients: the diagonal, and for dense columns the Cholesky factor of their products.
//!
//! With the factor a few steps solve what would take hundreds, since columns of vectors are correlated. It is that of a matrix near
//! the one to be solved, and need not be exact: the solver's own products are.

use anyhow::Result;
use rayon::prelude::*;

use crate::design::{Design, TwoWay, dot_wide};
use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Dense columns up to which the factor is made; it takes `columns^2` numbers and `columns^3 / 6` products.
const MOST_COLUMNS: usize = 4096;

/// Columns that are factored at once.
const BLOCK: usize = 64;

/// The factor for the dense columns of a design.
pub(super) struct DenseFactor {
    /// The first dense column.
    first: usize,
    dim: usize,
    /// Lower triangle, `[dim, dim]`.
    lower: Vec<f64>,
}

impl DenseFactor {
    /// Factors the products of the dense columns by row weights `s`, less `total` times those of `means` where they are given, plus
    /// `alpha` on the diagonal. `None` where there are no dense columns, or too many.
    pub(super) fn new(
        x: &Design,
        s: &[f64],
        means: Option<&[f64]>,
        alpha: f64,
        ctx: &Ctx,
    ) -> Result<Option<DenseFactor>> {
        let Some(view) = x.dense().filter(|view| view.dim() <= MOST_COLUMNS) else { return Ok(None) };
        let dim = view.dim();
        let first = x.cols() - dim;
        let mut gram = view.gram(s, ctx)?;
        if let Some(means) = means {
            let (total, means): (f64, _) = (s.iter().sum(), &means[first..]);
            for i in 0..dim {
                for j in i..dim {
                    gram[i * dim + j] -= total * means[i] * means[j];
                }
            }
        }
        // The products were rounded; what is added keeps the matrix positive definite.
        let largest = (0..dim).map(|i| gram[i * dim + i]).fold(0.0, f64::max);
        let mut added = alpha + 1e-7 * largest;
        loop {
            let mut lower = vec![0.0; dim * dim];
            for i in 0..dim {
                for j in 0..=i {
                    lower[i * dim + j] = gram[j * dim + i];
                }
                lower[i * dim + i] += added;
            }
            ctx.check()?;
            if cholesky(&mut lower, dim) {
                return Ok(Some(DenseFactor { first, dim, lower }));
            }
            added *= 10.0;
            if !added.is_finite() {
                return Ok(None);
            }
        }
    }

    /// Solves for the dense columns of output `c` of `k`, from `residual` into `z`, both `[columns, k]`.
    fn solve(&self, residual: &[f64], z: &mut [f64], c: usize, k: usize) {
        let (dim, lower) = (self.dim, &self.lower);
        let at = |j: usize| (self.first + j) * k + c;
        let mut found: Vec<f64> = (0..dim).map(|j| residual[at(j)]).collect();
        wide(
            #[inline(always)]
            || {
                for i in 0..dim {
                    let row = &lower[i * dim..][..=i];
                    found[i] = (found[i] - dot_wide(&row[..i], &found[..i])) / row[i];
                }
                for i in (0..dim).rev() {
                    let row = &lower[i * dim..][..=i];
                    found[i] /= row[i];
                    let by = found[i];
                    for (found, l) in found[..i].iter_mut().zip(row) {
                        *found = (-l).mul_add(by, *found);
                    }
                }
            },
        );
        (0..dim).for_each(|j| z[at(j)] = found[j]);
    }
}

/// The preconditioner of one system of unknowns `[columns, k]`, then what else there is.
pub(super) struct Preconditioner<'a> {
    pub(super) k: usize,
    /// One number an unknown; those of factored columns are not used.
    pub(super) diagonal: Vec<f64>,
    /// The factor, and for each output the number that its matrix is to be multiplied by.
    pub(super) dense: Option<(&'a DenseFactor, Vec<f64>)>,
}

impl Preconditioner<'_> {
    pub(super) fn apply(&self, residual: &[f64], z: &mut [f64]) {
        for ((z, r), d) in z.iter_mut().zip(residual).zip(&self.diagonal) {
            *z = r / d;
        }
        let Some((factor, scales)) = &self.dense else { return };
        for (c, scale) in scales.iter().enumerate() {
            factor.solve(residual, z, c, self.k);
            let of_output = z[factor.first * self.k + c..].iter_mut().step_by(self.k).take(factor.dim);
            of_output.for_each(|z| *z /= scale);
        }
    }
}

/// The squares of columns by row weights `by`, `[rows, k]`, as the diagonal needs them: `[columns, k]`, 1 for factored columns.
pub(super) fn squares(two: &TwoWay<'_>, by: &[f64], k: usize, factored: bool) -> Vec<f64> {
    let mut squares = two.sparse_squares(by, k);
    let sparse = squares.len();
    squares.resize(two.x.cols() * k, 1.0);
    if let Some(view) = two.x.dense().filter(|_| !factored) {
        view.squares(by, k, &mut squares[sparse..]);
    }
    squares
}

/// Factors a symmetric matrix of which the lower triangle is given, in its place; false if it is not positive definite.
fn cholesky(a: &mut [f64], dim: usize) -> bool {
    for start in (0..dim).step_by(BLOCK) {
        let end = dim.min(start + BLOCK);
        // The rows of the block as far as they are done, for all rows from here on.
        let done = a[start * dim..end * dim].to_vec();
        a[start * dim..].par_chunks_mut(dim).for_each(|row| {
            wide(
                #[inline(always)]
                || {
                    let (left, right) = row.split_at_mut(start);
                    for (j, value) in right[..end - start].iter_mut().enumerate() {
                        *value -= dot_wide(left, &done[j * dim..][..start]);
                    }
                },
            );
        });
        for i in start..end {
            for j in start..=i {
                let sum: f64 = (start..j).map(|t| a[i * dim + t] * a[j * dim + t]).sum();
                let rest = a[i * dim + j] - sum;
                a[i * dim + j] = if i > j {
                    rest / a[j * dim + j]
                } else if rest > 0.0 {
                    rest.sqrt()
                } else {
                    return false;
                };
            }
        }
        let block = a[start * dim..end * dim].to_vec();
        a[end * dim..].par_chunks_mut(dim).for_each(|row| {
            for j in start..end {
                let of_block = &block[(j - start) * dim..][..dim];
                let sum: f64 = (start..j).map(|t| row[t] * of_block[t]).sum();
                row[j] = (row[j] - sum) / of_block[j];
            }
        });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_times_its_transpose_is_the_matrix() {
        for dim in [1, 5, 64, 150] {
            let value = |i: usize, j: usize| if i == j { 3.0 + i as f64 } else { 1.0 / (1.0 + (i + j) as f64) };
            let mut lower: Vec<f64> =
                (0..dim * dim).map(|at| if at % dim <= at / dim { value(at / dim, at % dim) } else { 0.0 }).collect();
            assert!(cholesky(&mut lower, dim));
            for (i, j) in (0..dim).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let product: f64 = (0..=j).map(|t| lower[i * dim + t] * lower[j * dim + t]).sum();
                assert!((product - value(i, j)).abs() < 1e-12 * dim as f64, "{dim}: {i} {j}");
            }
            let factor = DenseFactor { first: 0, dim, lower };
            let truth: Vec<f64> = (0..dim).map(|i| (i % 7) as f64 - 3.0).collect();
            let residual: Vec<f64> = (0..dim).map(|i| (0..dim).map(|j| value(i, j) * truth[j]).sum()).collect();
            let mut found = vec![0.0; dim];
            factor.solve(&residual, &mut found, 0, 1);
            assert!(crate::reference::farthest(&found, &truth) < 1e-10, "{dim}");
        }
        assert!(!cholesky(&mut [1.0, 0.0, 2.0, 1.0], 2));
    }
}
