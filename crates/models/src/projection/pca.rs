//! Principal components: the two directions along which centred rows vary most (Pearson 1901; scikit-learn's `PCA`).

use anyhow::{Result, ensure};
use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Rows that one task adds up; the same for any number of threads.
const TASK: usize = 512;
/// Tasks between two sums.
const TASKS: usize = 16;

/// The rows along the two directions of greatest variance, and the share of the variance of each direction.
pub fn pca(rows: &[f32], dim: usize, ctx: &Ctx) -> Result<(Vec<[f64; 2]>, [f64; 2])> {
    ensure!(dim > 1, "vectors of one value lie on a line: there is no plane to show");
    let n = (rows.len() / dim) as f64;
    let mut mean = summed(rows, dim, dim, ctx, |row, sums| {
        sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += f64::from(v));
    })?;
    mean.iter_mut().for_each(|v| *v /= n);
    let squares = summed(rows, dim, dim * dim, ctx, |row, sums| products(row, &mean, sums))?;
    let covariance = DMatrix::from_fn(dim, dim, |i, j| squares[i.min(j) * dim + i.max(j)] / n);
    let total = covariance.trace();
    ensure!(total > 0.0, "all words have the same vector: there is nothing to tell apart");
    ctx.check()?;
    let SymmetricEigen { eigenvectors, eigenvalues } = covariance.symmetric_eigen();
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&a, &b| eigenvalues[b].total_cmp(&eigenvalues[a]));
    let directions = [order[0], order[1]].map(|place| {
        let direction: Vec<f64> = eigenvectors.column(place).iter().copied().collect();
        let largest = direction.iter().fold(0.0f64, |most, &v| if v.abs() > most.abs() { v } else { most });
        direction.into_iter().map(|v| v * largest.signum()).collect::<Vec<f64>>()
    });
    let along = |row: &[f32], direction: &[f64]| {
        row.iter().zip(&mean).zip(direction).map(|((&v, mean), d)| (f64::from(v) - mean) * d).sum::<f64>()
    };
    let points = rows.chunks(dim).map(|row| [0, 1].map(|axis: usize| along(row, &directions[axis]))).collect();
    Ok((points, [order[0], order[1]].map(|place| eigenvalues[place].max(0.0) / total)))
}

/// The upper triangle of the product of a centred row with itself.
#[inline(always)]
fn products(row: &[f32], mean: &[f64], sums: &mut [f64]) {
    let dim = row.len();
    for (i, (&v, &centre)) in row.iter().zip(mean).enumerate() {
        let v = f64::from(v) - centre;
        let sums = &mut sums[i * dim + i..(i + 1) * dim];
        sums.iter_mut().zip(&row[i..]).zip(&mean[i..]).for_each(|((sum, &w), &m)| *sum += v * (f64::from(w) - m));
    }
}

/// The sum over all rows of what `add` adds for each, `[width]`.
fn summed(
    rows: &[f32],
    dim: usize,
    width: usize,
    ctx: &Ctx,
    add: impl Fn(&[f32], &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let mut sums = vec![0.0; width];
    let task = |rows: &[f32]| {
        let mut sums = vec![0.0; width];
        wide(
            #[inline(always)]
            || rows.chunks(dim).for_each(|row| add(row, &mut sums)),
        );
        sums
    };
    for round in rows.chunks(TASKS * TASK * dim) {
        ctx.check()?;
        let parts: Vec<Vec<f64>> = ctx.install(|| round.par_chunks(TASK * dim).map(task).collect());
        parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v));
    }
    Ok(sums)
}
