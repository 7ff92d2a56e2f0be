//! Linear models on sparse rows: ridge regression and binary logistic regression with an L2 penalty.
//!
//! Objectives and intercept are scikit-learn's: ridge minimises `sum s (y - xw - b)^2 + alpha |w|^2` ([`ridge`]), logistic
//! minimises `sum s ln(1 + exp(-t (xw + b))) + alpha / 2 |w|^2` with t = +-1 and alpha = 1/C ([`logistic`]). The intercept b is never
//! penalised. Both are solved by conjugate gradients that touch the matrix through products alone, so cost grows with the
//! stored values; the same data gives the same bytes on any number of threads.

mod cg;
mod logistic;
mod ridge;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::sparse::{Csr, Row};

pub use logistic::logistic;
pub use ridge::ridge;

/// Parameters of the solvers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinearParams {
    /// Strength of the L2 penalty, above 0; for logistic 1/C. Default 1.
    pub alpha: f64,
    /// Relative size of the gradient at which the solver stops. Default 1e-8.
    pub tolerance: f64,
    /// Products with the matrix at the most. Default 2000.
    pub max_iterations: usize,
}

impl Default for LinearParams {
    fn default() -> LinearParams {
        LinearParams { alpha: 1.0, tolerance: 1e-8, max_iterations: 2000 }
    }
}

/// How a solver ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Products with the matrix that were needed.
    pub iterations: usize,
    /// The gradient's length at the end, relative to that at the start.
    pub gradient: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// A fitted linear model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight a column.
    pub weights: Vec<f64>,
    /// What a row of zeros gets.
    pub intercept: f64,
    /// How the solver ended.
    pub convergence: Convergence,
}

impl Linear {
    /// The value for a row: ridge's estimate, or logistic's log-odds.
    pub fn score(&self, row: Row<'_>) -> f64 {
        self.intercept + row.dot(&self.weights)
    }

    /// The values for all rows. Call inside `Ctx::install`.
    pub fn scores(&self, x: &Csr) -> Vec<f64> {
        let mut scores = x.dot(&self.weights);
        scores.iter_mut().for_each(|score| *score += self.intercept);
        scores
    }

    /// What each column of a row adds to its value, the largest first. The sum plus the intercept is [`Linear::score`].
    pub fn explain(&self, row: Row<'_>) -> Vec<(u32, f64)> {
        let mut parts: Vec<(u32, f64)> =
            row.iter().map(|(j, value)| (j, f64::from(value) * self.weights[j as usize])).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts
    }
}

/// What both solvers ask of their input.
fn check(x: &Csr, targets: usize, weights: Option<&[f64]>, params: &LinearParams) -> Result<()> {
    ensure!(x.rows() == targets, "{} rows of features, but {targets} targets", x.rows());
    ensure!(x.rows() > 0, "a linear model cannot be fitted on no rows");
    ensure!(params.alpha > 0.0 && params.alpha.is_finite(), "alpha = {} must be a number above 0", params.alpha);
    if let Some(weights) = weights {
        ensure!(weights.len() == targets, "{} weights for {targets} rows", weights.len());
        ensure!(weights.iter().all(|w| *w >= 0.0 && w.is_finite()), "a row's weight must be a number, 0 or above");
        ensure!(weights.iter().any(|w| *w > 0.0), "all rows have weight 0");
    }
    Ok(())
}
