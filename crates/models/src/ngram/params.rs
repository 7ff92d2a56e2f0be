//! Parameters of n-gram models.

use anyhow::Result;

use super::count::MAX_ORDER;
use super::model::Smoothing;
use super::prune::Pruning;

use inkstone_base::ensure;

params! {
    /// Parameters of an n-gram model.
    pub struct NgramParams {
        /// Words of the longest n-grams, 1 to 6.
        ///
        /// 最长的 n 元组的词数，1 至 6。
        order: usize = 3, number("N", "feature.surprise.order");
        /// How probability is kept for what was not seen: kneser-ney, katz, jelinek-mercer, add-k (laplace) or mle.
        ///
        /// 为未见过的词保留概率的方法：kneser-ney、katz、jelinek-mercer、add-k 或 mle。
        smoothing: Smoothing = Smoothing::KneserNey, choice();
        /// N-grams seen that often or less are left out: a limit for each length, the last for all longer ones.
        prune: Pruning = Pruning::default(), arg(skip);
        /// For add-k: added to every count.
        ///
        /// 用于 add-k：加到每个计数上的数。
        k: f64 = 1.0, number("K", "--weight");
        /// For jelinek-mercer without --held-out: the share of documents to fit its weights on.
        ///
        /// 用于未给 --held-out 的 jelinek-mercer：拟合其权重的文档占比。
        held_out_share: f64 = 0.05, number("SHARE", "--share");
    }
}

impl NgramParams {
    /// Fails, naming the setting, where a model cannot be made with these.
    pub fn check(&self) -> Result<()> {
        ensure!(
            (1..=MAX_ORDER).contains(&self.order),
            "不能训练 {} 阶模型：--order 为 1 到 {MAX_ORDER}",
            "a model of order {} cannot be made: --order takes 1 to {MAX_ORDER}",
            self.order
        );
        self.prune.limits(self.order)?;
        ensure!(
            self.k > 0.0 && self.k.is_finite(),
            "--k {} 不能加到计数上：须大于 0（最大似然为 --smoothing mle）",
            "--k {} cannot be added to counts: it is above 0 (maximum likelihood is --smoothing mle)",
            self.k
        );
        ensure!(
            self.held_out_share > 0.0 && self.held_out_share <= 0.5,
            "--held-out-share {} 使拟合权重或计数的文本不足：须大于 0 且不超过 0.5",
            "--held-out-share {} leaves nothing to fit weights on, or too little to count on: it is above 0 and at most 0.5",
            self.held_out_share
        );
        Ok(())
    }
}
