//! Parameters of n-gram models.

use anyhow::{Result, ensure};

use super::count::MAX_ORDER;
use super::model::Smoothing;
use super::prune::Pruning;

params! {
    /// Parameters of an n-gram model.
    pub struct NgramParams {
        /// Words of the longest n-grams, 1 to 6.
        order: usize = 3, number("N", "feature.surprise.order");
        /// How probability is kept for what was not seen: kneser-ney, katz, jelinek-mercer, add-k (laplace) or mle.
        smoothing: Smoothing = Smoothing::KneserNey, choice();
        /// N-grams seen that often or less are left out: a limit for each length, the last for all longer ones.
        prune: Pruning = Pruning::default(), arg(skip);
        /// For add-k: added to every count.
        k: f64 = 1.0, number("K", "--weight");
        /// For jelinek-mercer without --held-out: the share of documents to fit its weights on.
        held_out_share: f64 = 0.05, number("SHARE", "--share");
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
