//! SESTM: the tone of a text learned from the returns around it, by screening words, estimating two topics and a penalised
//! likelihood for each text (Ke, Kelly and Xiu, "Predicting Returns with Text Data", 2019).
//!
//! 1. **Screening.** `f_j` is the share of the documents with word `j` whose return is above 0. Words stay that are in at least
//!    `kappa` documents and whose `f_j` lies `alpha_plus` above or `alpha_minus` below the base rate. The paper centres on 1/2;
//!    here the centre is the sample's own share of returns above 0 (its `pi`), so that a rising market does not make every
//!    word positive. Instead of the two alphas one may give the number of words that each side keeps, which is how the
//!    paper sets them.
//! 2. **Topics.** With `d_ij` the counts of the screened words in document `i`, `s_i` their sum, and `p_i = rank(y_i) / n` (average
//!    ranks), the columns `h_i = d_i / s_i` are regressed on `W_i = (p_i, 1 - p_i)'`: `O = H W' (W W')^-1 [words, 2]`, negative entries
//!    set to 0 and each column scaled to sum 1. Documents without a screened word have no `h_i` but count in the ranks.
//! 3. **Scoring.** `p = argmax s^-1 sum_j d_j log(p O+_j + (1 - p) O-_j) + lambda log(p (1 - p))`, concave in `p`, solved to 1e-10.
//!    The penalty draws `p` to 1/2, where a text without screened words stays.
//!
//! The score is `p - 1/2`: 0 says nothing, and sums over documents mean something. Not for: choosing the returns, or knowing
//! when they were known (that is `walk_forward` and `extract`).

mod explain;
mod fit;
mod named;
mod score;
mod screen;
mod tune;
mod walk;

#[cfg(test)]
pub(super) mod tests;

use anyhow::Result;

pub use fit::{SestmFit, Topics};
pub use named::{Returns, Sestm, SestmWord};
pub use score::SestmScore;
pub use tune::{SestmTrial, Tune};
pub use walk::{SestmFold, SestmWalk, sestm_walk};

use inkstone_text::DfLimit;

use inkstone_base::ensure;

defaults! {
    pub struct SestmParams {
        /// Words that each side keeps, those farthest from the base rate; more where several tie for the last place. 0: by
        /// `alpha_plus` and `alpha_minus`.
        words: usize = 100,
        /// For `words = 0`: how far above the base rate a word's share of documents with a positive return must be.
        alpha_plus: f64 = 0.05,
        /// For `words = 0`: how far below the base rate.
        alpha_minus: f64 = 0.05,
        /// Documents of the training window that a word must be in: a whole number counts them, a number with a point is their
        /// share.
        kappa: DfLimit = DfLimit::Share(0.01),
        /// Strength of the penalty `log(p (1 - p))`, above 0.
        lambda: f64 = 1.0,
        /// Values to choose from on a part of the training window.
        tune: Tune = Tune::default(),
    }
}

impl SestmParams {
    /// Complains about values that make no sense.
    pub fn check(&self) -> Result<()> {
        for (name, alpha) in [("alpha_plus", self.alpha_plus), ("alpha_minus", self.alpha_minus)] {
            ensure!(
                (0.0..1.0).contains(&alpha),
                "{name} = {alpha} 不是比例之差；须不小于 0 且小于 1（通常为 0.05）",
                "{name} = {alpha} is no distance between shares; it is at least 0 and below 1 (0.05 is usual)"
            );
        }
        ensure!(
            self.lambda > 0.0 && self.lambda.is_finite(),
            "lambda = {} 须大于 0：没有惩罚，词都偏向一边的文本没有最优得分",
            "lambda = {} must be above 0: without the penalty a text whose words all lean one way has no best score",
            self.lambda
        );
        self.tune.check()
    }
}
