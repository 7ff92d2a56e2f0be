//! The columns that trees get, and their values in bins.
//!
//! A column counts by the share of its variance that the classes explain (the correlation ratio, in the order of scikit-learn's
//! `f_classif`), or by its squared correlation with the value (`f_regression`).

use anyhow::{Result, ensure};
use forust_ml::data::JaggedMatrix;
use rayon::prelude::*;

use super::BoostParams;
use super::grow::BoostGoal;
use crate::design::TwoWay;

/// Bins of a column: quantiles of the values that are there.
const BINS: usize = 64;

/// The columns to use, ascending.
pub(super) fn choose(
    two: &TwoWay<'_>,
    goal: &BoostGoal<'_>,
    weights: &[f64],
    params: &BoostParams,
) -> Result<Vec<u32>> {
    let rows = two.x.rows();
    let of_sparse = |j: usize| {
        let column = two.transposed.row(j);
        merit(column.iter().map(|(i, v)| (i as usize, f64::from(v))), goal, weights)
    };
    let mut merits: Vec<f64> = (0..two.transposed.rows()).into_par_iter().map(of_sparse).collect();
    let dense: Vec<u32> = (two.transposed.rows() as u32..two.x.cols() as u32).collect();
    merits.extend(two.x.dense_columns(&dense, |_, values| merit(values.iter().copied().enumerate(), goal, weights)));
    // A column that does not vary tells nothing.
    let mut columns: Vec<u32> = (0..merits.len() as u32).filter(|&j| merits[j as usize] > 0.0).collect();
    ensure!(!columns.is_empty(), "no column tells anything of the goal: there is nothing that trees could split on");
    if params.max_features > 0 && columns.len() > params.max_features {
        columns.sort_by(|&a, &b| merits[b as usize].total_cmp(&merits[a as usize]).then(a.cmp(&b)));
        columns.truncate(params.max_features);
        columns.sort_unstable();
    }
    // A histogram for each node of a level, beside the binned cells themselves.
    let nodes = 1usize << params.max_depth.min(16);
    let bytes = 2 * rows * columns.len() + nodes * columns.len() * BINS * 8;
    let needed = bytes.div_ceil(1 << 20);
    ensure!(
        needed <= params.memory_mb,
        "boosted trees on {rows} rows and {} columns would take about {needed} MB, more than memory_mb = {}: lower \
         max_features (now {}), lower max_depth, or raise memory_mb",
        columns.len(),
        params.memory_mb,
        params.max_features
    );
    Ok(columns)
}

/// The merit of a column, given its rows and values.
fn merit(column: impl Iterator<Item = (usize, f64)> + Clone, goal: &BoostGoal<'_>, weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let sum = |f: &dyn Fn(usize, f64) -> f64| -> f64 { column.clone().map(|(i, v)| weights[i] * f(i, v)).sum() };
    let mean = sum(&|_, v| v) / total;
    let squares = sum(&|_, v| v * v) - total * mean * mean;
    if squares <= 1e-12 * total * mean * mean {
        return 0.0;
    }
    match goal {
        BoostGoal::Value(y) => {
            let y_mean = y.iter().zip(weights).map(|(y, s)| s * y).sum::<f64>() / total;
            let y_squares: f64 = y.iter().zip(weights).map(|(y, s)| s * (y - y_mean).powi(2)).sum();
            let together = sum(&|i, v| v * (y[i] - y_mean));
            if y_squares > 0.0 { together * together / (squares * y_squares) } else { 0.0 }
        }
        BoostGoal::Class { class, classes } => {
            let (mut sums, mut sizes) = (vec![0.0; *classes], vec![0.0; *classes]);
            class.iter().zip(weights).for_each(|(&c, s)| sizes[c as usize] += s);
            column.for_each(|(i, v)| sums[class[i] as usize] += weights[i] * v);
            let between = sums.iter().zip(&sizes).filter(|(_, n)| **n > 0.0);
            between.map(|(sum, n)| n * (sum / n - mean).powi(2)).sum::<f64>() / squares
        }
    }
}

/// Columns in bins, `[columns, rows]`: 0 is "not there", then by quantile. A value's bin is the number of cuts at or below it.
pub(super) struct Binned {
    pub(super) bins: Vec<u16>,
    pub(super) cuts: JaggedMatrix<f64>,
}

pub(super) fn bin(two: &TwoWay<'_>, columns: &[u32]) -> Binned {
    let rows = two.x.rows();
    let sparse = two.transposed.rows() as u32;
    let mut bins = vec![0u16; rows * columns.len()];
    let (of_sparse, of_dense) = columns.split_at(columns.partition_point(|&j| j < sparse));
    let (sparse_bins, dense_bins) = bins.split_at_mut(rows * of_sparse.len());
    let mut cuts: Vec<Vec<f64>> = of_sparse
        .par_iter()
        .map(|&j| cuts(two.transposed.row(j as usize).values.iter().map(|&v| f64::from(v)).collect()))
        .collect();
    sparse_bins.par_chunks_mut(rows.max(1)).zip(of_sparse).zip(&cuts).for_each(|((out, &j), cuts)| {
        for (i, v) in two.transposed.row(j as usize).iter() {
            out[i as usize] = bin_of(f64::from(v), cuts);
        }
    });
    let binned = two.x.dense_columns(of_dense, |_, values| {
        let cuts = self::cuts(values.to_vec());
        let bins: Vec<u16> = values.iter().map(|v| bin_of(*v, &cuts)).collect();
        (cuts, bins)
    });
    for ((of_column, found), out) in binned.into_iter().zip(dense_bins.chunks_mut(rows.max(1))) {
        out.copy_from_slice(&found);
        cuts.push(of_column);
    }
    Binned { bins, cuts: JaggedMatrix::from_vecs(&cuts) }
}

/// The borders of a column's bins, from its values; 0 is not there.
fn cuts(mut values: Vec<f64>) -> Vec<f64> {
    values.retain(|v| *v != 0.0);
    values.sort_unstable_by(f64::total_cmp);
    let distinct = values.chunk_by(|a, b| a == b).count();
    let mut cuts = if distinct <= BINS {
        values
    } else {
        (0..BINS).map(|b| values[b * values.len() / BINS]).collect::<Vec<f64>>()
    };
    cuts.dedup();
    cuts.push(f64::MAX);
    cuts
}

fn bin_of(value: f64, cuts: &[f64]) -> u16 {
    if value == 0.0 { 0 } else { cuts.partition_point(|cut| *cut <= value) as u16 }
}
