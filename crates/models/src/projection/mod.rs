//! Rows as points of the plane, to be looked at: along the two directions of greatest variance, or by t-SNE.
//!
//! Rows are `[rows, dim] f32`, row by row; what is given are points `[x, y]`. Directions come in the order of their variance and
//! their largest value is positive; a plane of t-SNE has neither scale nor axes that mean anything, only neighbourhoods.

mod pca;
#[cfg(test)]
mod tests;
mod tsne;

use anyhow::Result;
use rayon::prelude::*;

use super::Nearest;
use inkstone_base::job::Ctx;

pub use pca::pca;
pub(crate) use pca::{Axes, along};
pub use tsne::{Tsne, tsne};

/// Neighbours that a plane is measured by.
const NEIGHBOURS: usize = 10;
/// Rows whose neighbours are looked up at the most, to measure a plane.
const MEASURED: usize = 1000;

/// The share of each row's ten nearest neighbours by cosine that are among its ten nearest points, over a thousand rows at the
/// most, which are spread evenly.
pub fn neighbours_kept(nearest: &Nearest<'_>, points: &[[f64; 2]], ctx: &Ctx) -> Result<f64> {
    let k = NEIGHBOURS.min(points.len() - 1);
    let step = points.len().div_ceil(MEASURED);
    let measured: Vec<usize> = (0..points.len()).step_by(step).collect();
    let kept = |&row: &usize| -> Result<usize> {
        ctx.check()?;
        let among: Vec<usize> = neighbours(nearest, row, k).map(|(row, _)| row).collect();
        let distance = |other: usize| {
            let [dx, dy] = [0, 1].map(|axis| points[other][axis] - points[row][axis]);
            dx * dx + dy * dy
        };
        let mut others: Vec<(f64, usize)> =
            (0..points.len()).filter(|&other| other != row).map(|other| (distance(other), other)).collect();
        if k < others.len() {
            others.select_nth_unstable_by(k, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        Ok(others[..k].iter().filter(|(_, other)| among.contains(other)).count())
    };
    let kept: Vec<usize> = ctx.install(|| measured.par_iter().map(kept).collect::<Result<_>>())?;
    Ok(kept.iter().sum::<usize>() as f64 / (k * measured.len()) as f64)
}

/// The `k` rows that are nearest to a row, itself left out, and the distances of their ends when all have length 1.
fn neighbours(nearest: &Nearest<'_>, row: usize, k: usize) -> impl Iterator<Item = (usize, f32)> {
    let found = nearest.query(nearest.row(row), k + 1).into_iter().filter(move |other| other.row != row).take(k);
    found.map(|other| (other.row, (2.0 - 2.0 * other.similarity).max(0.0).sqrt()))
}
