//! The columns that trees are grown on, and the choice of those that tell most of the goal.
//!
//! A column counts by the share of its variance that the classes explain (the correlation ratio, in the order of scikit-learn's
//! `f_classif`), or by its squared correlation with the value (`f_regression`). A value that is not there counts as 0.

use anyhow::Result;
use rayon::prelude::*;

use super::BoostParams;
use super::goal::BoostGoal;
use crate::design::{ColumnReader, TwoWay};

use inkstone_base::ensure;

/// Features by column.
pub(crate) trait BoostColumns: Sync {
    fn rows(&self) -> usize;

    /// The number of columns.
    fn len(&self) -> usize;

    /// Adds the values of column `j` that are there to `column`, which is empty.
    fn read(&self, j: usize, column: &mut FilledColumn);
}

/// The values of a column that are there: rows, ascending, and as many finite values.
#[derive(Debug, Default)]
pub(crate) struct FilledColumn {
    pub(crate) rows: Vec<u32>,
    pub(crate) values: Vec<f32>,
    reader: ColumnReader,
}

impl FilledColumn {
    /// Takes the values of column `j` of `x`.
    pub(super) fn fill(&mut self, x: &impl BoostColumns, j: usize) {
        self.rows.clear();
        self.values.clear();
        x.read(j, self);
    }

    fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        self.rows.iter().zip(&self.values).map(|(&i, &v)| (i as usize, f64::from(v)))
    }
}

/// A value of 0 is not there: in the sparse part as sparse input is to XGBoost, in the dense part a missing value, which counts as the mean.
impl BoostColumns for TwoWay<'_> {
    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn len(&self) -> usize {
        self.x.cols()
    }

    fn read(&self, j: usize, column: &mut FilledColumn) {
        let FilledColumn { rows, values, reader } = column;
        match (j.checked_sub(self.transposed.rows()), self.x.dense()) {
            (Some(j), Some(view)) => {
                for (i, &value) in (0..).zip(reader.dense(view, j)).filter(|(_, value)| **value != 0.0) {
                    rows.push(i);
                    values.push(value as f32);
                }
            }
            _ => {
                for (i, value) in self.transposed.row(j).iter().filter(|(_, value)| *value != 0.0) {
                    rows.push(i);
                    values.push(value);
                }
            }
        }
    }
}

/// A column that trees may use.
pub(super) struct Chosen {
    pub(super) column: u32,
    /// Number of rows that have a value of the column.
    pub(super) values: usize,
}

/// Chooses at most `max_features` columns, ascending. Left out are those that do not vary, and those with so few rows that no
/// leaf of `min_leaf_weight` could be made of them.
pub(super) fn choose(
    x: &impl BoostColumns,
    goal: &BoostGoal<'_>,
    weights: &[f64],
    params: &BoostParams,
) -> Result<Vec<Chosen>> {
    struct ColumnCandidate {
        chosen: Chosen,
        merit: f64,
        leaf_weight: f64,
    }
    let merit = Merit::new(goal, weights);
    let candidate = |column: &mut FilledColumn, j: usize| {
        column.fill(x, j);
        let weight: f64 = column.rows.iter().map(|&i| weights[i as usize]).sum();
        ColumnCandidate {
            chosen: Chosen { column: j as u32, values: column.rows.len() },
            merit: merit.merit(column),
            // With room for rounding.
            leaf_weight: weight * goal.highest_hessian() * (1.0 + 1e-6),
        }
    };
    let mut candidates: Vec<ColumnCandidate> =
        (0..x.len()).into_par_iter().map_init(FilledColumn::default, candidate).filter(|c| c.merit > 0.0).collect();
    ensure!(
        !candidates.is_empty(),
        "没有一列与目标有关：树无从划分",
        "no column tells anything of the goal: there is nothing that trees could split on"
    );
    candidates.retain(|candidate| candidate.leaf_weight >= params.min_leaf_weight);
    if params.max_features > 0 && candidates.len() > params.max_features {
        candidates.sort_by(|a, b| b.merit.total_cmp(&a.merit).then(a.chosen.column.cmp(&b.chosen.column)));
        candidates.truncate(params.max_features);
        candidates.sort_unstable_by_key(|candidate| candidate.chosen.column);
    }
    Ok(candidates.into_iter().map(|candidate| candidate.chosen).collect())
}

/// How much columns tell of a goal.
struct Merit<'a> {
    goal: &'a BoostGoal<'a>,
    weights: &'a [f64],
    /// The sum of the weights.
    total: f64,
    /// Weighted mean of values, and the sum of squares about it.
    y_mean: f64,
    y_squares: f64,
    /// The weight of each class.
    sizes: Vec<f64>,
}

impl<'a> Merit<'a> {
    fn new(goal: &'a BoostGoal<'a>, weights: &'a [f64]) -> Merit<'a> {
        let total: f64 = weights.iter().sum();
        let mut merit = Merit { goal, weights, total, y_mean: 0.0, y_squares: 0.0, sizes: Vec::new() };
        match goal {
            BoostGoal::Value(y) => {
                merit.y_mean = y.iter().zip(weights).map(|(y, s)| s * y).sum::<f64>() / total;
                merit.y_squares = y.iter().zip(weights).map(|(y, s)| s * (y - merit.y_mean).powi(2)).sum();
            }
            BoostGoal::Class { class, classes } => {
                merit.sizes = vec![0.0; *classes];
                class.iter().zip(weights).for_each(|(&c, s)| merit.sizes[c as usize] += s);
            }
        }
        merit
    }

    /// 0 where the column does not vary.
    fn merit(&self, column: &FilledColumn) -> f64 {
        let Merit { weights, total, .. } = *self;
        let sum = |f: &dyn Fn(usize, f64) -> f64| -> f64 { column.iter().map(|(i, v)| weights[i] * f(i, v)).sum() };
        let mean = sum(&|_, v| v) / total;
        let squares = sum(&|_, v| v * v) - total * mean * mean;
        if squares <= 1e-12 * total * mean * mean {
            return 0.0;
        }
        match self.goal {
            BoostGoal::Value(_) if self.y_squares <= 0.0 => 0.0,
            BoostGoal::Value(y) => {
                let together = sum(&|i, v| v * (y[i] - self.y_mean));
                together * together / (squares * self.y_squares)
            }
            BoostGoal::Class { class, classes } => {
                let mut sums = vec![0.0; *classes];
                column.iter().for_each(|(i, v)| sums[class[i] as usize] += weights[i] * v);
                let between = sums.iter().zip(&self.sizes).filter(|(_, n)| **n > 0.0);
                between.map(|(sum, n)| n * (sum / n - mean).powi(2)).sum::<f64>() / squares
            }
        }
    }
}
