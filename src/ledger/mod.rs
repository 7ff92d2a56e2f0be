//! The research ledger: every backtest that ran, and what a result is worth after so many looks.

use serde::{Deserialize, Serialize};

/// What a result is worth, given everything that was tried on the same market.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Looks {
    /// Different things that were tried (factor, parameters and data), this one included.
    pub trials: u64,
    /// Backtests that ran, repetitions included.
    pub runs: u64,
    /// Entries that were deleted; they count among the trials.
    pub deleted: u64,
    /// Sharpe ratio of the long-short portfolio after costs, annual.
    pub sharpe: f64,
    /// Sharpe ratio, annual, that the best of so many trials without skill is expected to have.
    pub expected_best: f64,
    /// Probability that the true Sharpe ratio exceeds 0, not deflated (Bailey and López de Prado 2012).
    pub probabilistic_sharpe: f64,
    /// Deflated Sharpe ratio: probability that it exceeds what luck gives the best of the trials (2014).
    pub deflated_sharpe: f64,
    /// Probability of backtest overfitting by combinatorially symmetric cross-validation; NaN with fewer than two trials.
    pub overfitting: f64,
    /// Two-sided p of the RankIC at the first horizon.
    pub p: f64,
    /// The same after Benjamini and Hochberg over all trials.
    pub q: f64,
}
