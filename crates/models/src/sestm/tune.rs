//! Choosing the parameters on the later part of a training window, by the paper's loss.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{SestmParams, Topics};
use crate::sparse::Csr;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::{average_ranks, mean};
use inkstone_text::DfLimit;

defaults! {
    /// Values to choose from. Every combination is fitted on the earlier part of the training window and judged on the later
    /// one by the mean of `|p - rank / n|`, the ranks being those of the later part's own returns; the best, and of equals the
    /// first, is then fitted on the whole window.
    pub struct Tune {
        /// Numbers of words a side; empty: the plain value alone.
        words: Vec<usize> = Vec::new(),
        /// Values for both alphas, with `words = 0`; empty: the plain values alone.
        alpha: Vec<f64> = Vec::new(),
        /// Values of `kappa`; empty: the plain value alone.
        kappa: Vec<DfLimit> = Vec::new(),
        /// Values of `lambda`; empty: the plain value alone.
        lambda: Vec<f64> = Vec::new(),
        /// Share of the training documents, the latest, that judge.
        validation: f64 = 0.25,
    }
}

/// The result of one combination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SestmTrial {
    /// Words a side.
    pub words: usize,
    /// Distances from the base rate, without effect unless `words` is 0.
    pub alpha: (f64, f64),
    /// Documents a word must be in.
    pub kappa: DfLimit,
    /// Penalty.
    pub lambda: f64,
    /// Mean of `|p - rank / n|` over the judging documents; none when no model could be fitted.
    pub loss: Option<f64>,
}

impl Tune {
    /// True if there is anything to choose.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.alpha.is_empty() && self.kappa.is_empty() && self.lambda.is_empty()
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            0.0 < self.validation && self.validation < 1.0,
            "tune.validation = {} 不是比例；须大于 0 且小于 1",
            "tune.validation = {} is no share; it is above 0 and below 1",
            self.validation
        );
        let lambda = self.lambda.iter().find(|lambda| !(**lambda > 0.0 && lambda.is_finite()));
        ensure!(
            lambda.is_none(),
            "tune.lambda：{lambda:?} 须大于 0",
            "tune.lambda: {lambda:?} must be above 0",
            lambda = lambda.unwrap_or(&0.0)
        );
        let alpha = self.alpha.iter().find(|alpha| !(0.0..1.0).contains(*alpha));
        ensure!(
            alpha.is_none(),
            "tune.alpha：{alpha:?} 须不小于 0 且小于 1",
            "tune.alpha: {alpha:?} must be at least 0 and below 1",
            alpha = alpha.unwrap_or(&0.0)
        );
        ensure!(
            self.alpha.is_empty() || self.words.iter().all(|n| *n == 0),
            "tune.alpha 与 tune.words 不能同时写：词按距离或按个数保留",
            "tune.alpha and tune.words exclude each other: words are kept by distance or by number"
        );
        Ok(())
    }

    /// The combinations, in the order of the lists.
    fn combinations(&self, plain: &SestmParams) -> Vec<SestmParams> {
        fn or<T: Clone>(list: &[T], plain: T) -> Vec<T> {
            if list.is_empty() { vec![plain] } else { list.to_vec() }
        }
        let sizes: Vec<(usize, f64, f64)> = match self.alpha.as_slice() {
            [] => or(&self.words, plain.words).into_iter().map(|n| (n, plain.alpha_plus, plain.alpha_minus)).collect(),
            alphas => alphas.iter().map(|&alpha| (0, alpha, alpha)).collect(),
        };
        let mut all = Vec::new();
        for (words, alpha_plus, alpha_minus) in sizes {
            for kappa in or(&self.kappa, plain.kappa) {
                for lambda in or(&self.lambda, plain.lambda) {
                    all.push(SestmParams { words, alpha_plus, alpha_minus, kappa, lambda, tune: Tune::default() });
                }
            }
        }
        all
    }
}

/// Chooses parameters: each combination is fitted on the documents `early` and judged on `late` (rows of `counts`, with their
/// returns). Gives the plain parameters when there is nothing to choose.
pub(super) fn choose(
    counts: &Csr,
    early: (&[usize], &[f64]),
    late: (&[usize], &[f64]),
    params: &SestmParams,
    ctx: &Ctx,
) -> Result<(SestmParams, Vec<SestmTrial>)> {
    params.check()?;
    ensure!(
        early.0.len() >= 2 && late.0.len() >= 2,
        "训练文档中 {} 篇在评判部分之前、{} 篇在其中（tune.validation = {}）：太少，无法选参数；请延长训练窗口或去掉 tune",
        "of the training documents {} come before the judging part and {} are in it (tune.validation = {}): too few to choose parameters; lengthen the training window or remove tune",
        early.0.len(),
        late.0.len(),
        params.tune.validation
    );
    let ranks: Vec<f64> = average_ranks(late.1).into_iter().map(|rank| rank / late.1.len() as f64).collect();
    let mut best: Option<(f64, SestmParams)> = None;
    let (mut trials, mut failed) = (Vec::new(), None);
    for one in params.tune.combinations(params) {
        ctx.check()?;
        let loss = match Topics::fit(counts, early.0, early.1, &one, ctx) {
            Ok((topics, _)) => {
                let scores = ctx.install(|| topics.scores(counts, late.0));
                Some(mean(scores.iter().zip(&ranks).map(|(score, rank)| (score.p - rank).abs())))
            }
            // A combination that leaves no words loses; only if all of them do it is an error.
            Err(error) => {
                ctx.check()?;
                failed = Some(error);
                None
            }
        };
        trials.push(SestmTrial {
            words: one.words,
            alpha: (one.alpha_plus, one.alpha_minus),
            kappa: one.kappa,
            lambda: one.lambda,
            loss,
        });
        if let Some(loss) = loss.filter(|loss| best.as_ref().is_none_or(|(least, _)| loss < least)) {
            best = Some((loss, one));
        }
    }
    match (best, failed) {
        (Some((_, chosen)), _) => Ok((chosen, trials)),
        (None, Some(error)) => {
            Err(error).context(Word("tune 的任何组合都无法拟合", "no combination of tune could be fitted"))
        }
        (None, None) => Ok((params.clone(), trials)),
    }
}
