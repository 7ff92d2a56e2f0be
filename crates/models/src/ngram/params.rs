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
    /// For `add-k`: what is added to every count, above 0. Default: 1, Laplace's rule.
    pub k: f64,
    /// For `jelinek-mercer` without a held-out file: the share of documents, evenly spread over the text, that weights are fitted on and
    /// nothing is counted on. Default: 0.05.
    pub held_out_share: f64,
}

impl Default for NgramParams {
    fn default() -> NgramParams {
        NgramParams {
            order: 3,
            smoothing: Smoothing::KneserNey,
            prune: Pruning::default(),
            k: 1.0,
            held_out_share: 0.05,
        }
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
        ensure!(
            self.k > 0.0 && self.k.is_finite(),
            "--k {} cannot be added to counts: it is above 0 (maximum likelihood is --smoothing mle)",
            self.k
        );
        ensure!(
            self.held_out_share > 0.0 && self.held_out_share <= 0.5,
            "--held-out-share {} leaves nothing to fit weights on, or too little to count on: it is above 0 and at most 0.5",
            self.held_out_share
        );
        Ok(())
    }
}
