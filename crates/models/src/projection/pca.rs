//! Principal components: the directions along which centred rows vary most (Pearson 1901; scikit-learn's `PCA`).

use anyhow::Result;
use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Rows that one task adds up; the same for any number of threads.
const TASK: usize = 512;
/// Tasks between two sums.
const TASKS: usize = 16;

/// The directions along which rows vary most.
pub(crate) struct Axes {
    /// The mean of the rows, `[dim]`.
    pub(crate) mean: Vec<f64>,
    /// The directions by their variance, `[count][dim]`, of length 1; the largest value of each is positive.
    pub(crate) directions: Vec<Vec<f64>>,
    /// The share of the variance of each direction.
    pub(crate) shares: Vec<f64>,
}

impl Axes {
    /// The first `count` directions of rows `[rows, dim]`.
    pub(crate) fn new(rows: &[f32], dim: usize, count: usize, ctx: &Ctx) -> Result<Axes> {
        let n = (rows.len() / dim) as f64;
        let mut mean = summed(rows, dim, dim, ctx, |row, sums| {
            sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += f64::from(v));
        })?;
        mean.iter_mut().for_each(|v| *v /= n);
        let squares = summed(rows, dim, dim * dim, ctx, |row, sums| products(row, &mean, sums))?;
        let covariance = DMatrix::from_fn(dim, dim, |i, j| squares[i.min(j) * dim + i.max(j)] / n);
        let total = covariance.trace();
        ensure!(
            total > 0.0,
            "所有向量都相同：没有可区分的",
            "all have the same vector: there is nothing to tell apart"
        );
        ctx.check()?;
        let SymmetricEigen { eigenvectors, eigenvalues } = covariance.symmetric_eigen();
        let mut order: Vec<usize> = (0..dim).collect();
        order.sort_by(|&a, &b| eigenvalues[b].total_cmp(&eigenvalues[a]));
        order.truncate(count);
        let direction = |&place: &usize| {
            let direction: Vec<f64> = eigenvectors.column(place).iter().copied().collect();
            let largest = direction.iter().fold(0.0f64, |most, &v| if v.abs() > most.abs() { v } else { most });
            direction.into_iter().map(|v| v * largest.signum()).collect::<Vec<f64>>()
        };
        let directions = order.iter().map(direction).collect();
        let shares = order.iter().map(|&place| eigenvalues[place].max(0.0) / total).collect();
        Ok(Axes { mean, directions, shares })
    }
}

/// The place of a row along a direction, given the mean of the rows.
pub(crate) fn along(row: &[f32], mean: &[f64], direction: &[f64]) -> f64 {
    row.iter().zip(mean).zip(direction).map(|((&v, mean), d)| (f64::from(v) - mean) * d).sum()
}

/// The rows along the two directions of greatest variance, and the share of the variance of each direction.
pub fn pca(rows: &[f32], dim: usize, ctx: &Ctx) -> Result<(Vec<[f64; 2]>, [f64; 2])> {
    ensure!(dim > 1, "一维向量在一条线上：不能成图", "vectors of one value lie on a line: there is no plane to show");
    let Axes { mean, directions, shares } = Axes::new(rows, dim, 2, ctx)?;
    let points = rows.chunks(dim).map(|row| [0, 1].map(|axis: usize| along(row, &mean, &directions[axis]))).collect();
    Ok((points, [shares[0], shares[1]]))
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
