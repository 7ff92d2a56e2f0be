//! What an n-gram model is made with.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::count::MAX_ORDER;
use super::model::Smoothing;
use super::prune::Pruning;

/// What determines a model, besides its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NgramParams {
    /// Words of the longest n-grams, 1 to 6. Default: 3.
    pub order: usize,
    /// How probability is kept for what was not seen. Default: `kneser-ney`.
    pub smoothing: Smoothing,
    /// N-grams seen that often or less are left out: a limit for each length, the last for all longer ones. Default: none.
    pub prune: Pruning,
}

impl Default for NgramParams {
    fn default() -> NgramParams {
        NgramParams { order: 3, smoothing: Smoothing::KneserNey, prune: Pruning::default() }
    }
}

impl NgramParams {
    /// Fails, naming the setting, where a model cannot be made with these.
    pub fn check(&self) -> Result<()> {
        ensure!(
            (1..=MAX_ORDER).contains(&self.order),
            "a model of order {} cannot be made: --order takes 1 to {MAX_ORDER}",
            self.order
        );
        self.prune.limits(self.order)?;
        Ok(())
    }
}
