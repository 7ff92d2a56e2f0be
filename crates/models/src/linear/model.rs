//! A linear score, and the end of its solver.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::LinearParams;
use crate::design::{Design, DesignRow};

use inkstone_base::ensure;

/// The end of a solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Products with the matrix that were needed; epochs of a network.
    pub iterations: usize,
    /// The gradient's length at the end, relative to that at the start; 0 of a network, which stops by held-out rows.
    pub gradient: f64,
    /// True if the tolerance was reached; of a network, if the loss on held-out rows had stopped to fall.
    pub converged: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight a column.
    pub weights: Vec<f64>,
    /// The score of a row of zeros.
    pub intercept: f64,
    pub convergence: Convergence,
}

impl Linear {
    /// The value for a row: ridge's estimate, or logistic's log-odds.
    pub fn score(&self, row: DesignRow<'_>) -> f64 {
        self.intercept + row.dot(&self.weights)
    }

    /// The values for all rows. Call inside `Ctx::install`.
    pub fn scores(&self, x: &Design) -> Vec<f64> {
        let mut scores = vec![0.0; x.rows()];
        x.product(&self.weights, 1, &mut scores);
        scores.iter_mut().for_each(|score| *score += self.intercept);
        scores
    }

    /// The contribution of each column of a row to its value, the largest first. The sum plus the intercept is [`Linear::score`].
    pub fn explain(&self, row: DesignRow<'_>) -> Vec<(u32, f64)> {
        let mut parts: Vec<(u32, f64)> = row.iter().map(|(j, value)| (j, value * self.weights[j as usize])).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts
    }
}

/// Checks the input of all solvers.
pub(super) fn check(x: &Design, targets: usize, weights: Option<&[f64]>, params: &LinearParams) -> Result<()> {
    ensure!(
        x.rows() == targets,
        "特征有 {} 行，而目标有 {targets} 个",
        "{} rows of features, but {targets} targets",
        x.rows()
    );
    ensure!(x.rows() > 0, "没有行，线性模型无法拟合", "a linear model cannot be fitted on no rows");
    ensure!(
        params.alpha > 0.0 && params.alpha.is_finite(),
        "alpha = {} 须为大于 0 的数",
        "alpha = {} must be a number above 0",
        params.alpha
    );
    if let Some(weights) = weights {
        ensure!(
            weights.len() == targets,
            "{targets} 行，却有 {} 个权重",
            "{} weights for {targets} rows",
            weights.len()
        );
        ensure!(
            weights.iter().all(|w| *w >= 0.0 && w.is_finite()),
            "行的权重须为非负数",
            "a row's weight must be a number, 0 or above"
        );
        ensure!(weights.iter().any(|w| *w > 0.0), "所有行的权重都为 0", "all rows have weight 0");
    }
    Ok(())
}
