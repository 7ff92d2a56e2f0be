//! Predicted values against true ones.

use serde::{Deserialize, Serialize};

use inkstone_base::stats::{mean, pearson, spearman};

/// A report on predicted values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueReport {
    pub documents: u64,
    pub mse: f64,
    pub mae: f64,
    /// Share of the variance that is explained; below 0 when worse than the mean, `None` when the truth does not vary.
    pub r2: Option<f64>,
    pub pearson: Option<f64>,
    pub spearman: Option<f64>,
}

impl ValueReport {
    /// Compares fitted with true values.
    pub fn new(truth: &[f64], fitted: &[f64]) -> ValueReport {
        let pearson = pearson(fitted, truth);
        ValueReport {
            documents: truth.len() as u64,
            mse: mean(truth.iter().zip(fitted).map(|(y, f)| (y - f).powi(2))),
            mae: mean(truth.iter().zip(fitted).map(|(y, f)| (y - f).abs())),
            r2: r_squared(fitted, truth),
            pearson: (!pearson.is_nan()).then_some(pearson),
            spearman: rank_correlation(fitted, truth),
        }
    }
}

/// The share of the variance of `y` that `fitted` explains; below 0 when it does worse than the mean.
pub(crate) fn r_squared(fitted: &[f64], y: &[f64]) -> Option<f64> {
    let mean = mean(y.iter().copied());
    let all: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let left: f64 = fitted.iter().zip(y).map(|(f, y)| (y - f).powi(2)).sum();
    (all > 0.0).then(|| 1.0 - left / all)
}

pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let correlation = spearman(a, b);
    (!correlation.is_nan()).then_some(correlation)
}
