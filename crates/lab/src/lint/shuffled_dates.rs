//! What remains of the RankIC when each code's values are moved to other dates of the code.
//!
//! All values are moved by the same number of trading days, those that fall off the end coming round to the beginning:
//! so values keep their autocorrelation and what names have in common on a day, and only their tie to the date is cut.
//! By at least 20 trading days (a quarter of the dates if that is less), as a factor with a look-back hardly changes
//! from one day to the next. Each way to move them is drawn at most once.
//!
//! The number is the absolute mean RankIC of the draws as a share of the one found. News of the day leaves nothing; a
//! trait of the names (size, survival, an industry that went well) leaves all of it, as its values stand on every date.
//! More than `max_share` fails; less, with p above 1 - `confidence`, warns: other dates do as well as the right ones.

use anyhow::Result;
use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::lint::power::{Power, share_as_far};
use crate::lint::{Check, Params, Standing, Verdict, nothing_to_break};
use inkstone_base::bootstrap::interval;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, std};

/// Trading days that values are moved by at the least.
const FAR: usize = 20;

pub(super) fn check(power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::ShuffledDates, power));
    }
    let span = power.rows.span();
    let far = FAR.min(span.len() / 4).max(1);
    let ways = (span.len() + 1).saturating_sub(2 * far);
    if ways < 2 {
        let finding = (
            format!("因子只覆盖 {} 个交易日，没有足够的日期可移；更长的样本才能判断。", span.len()),
            format!(
                "The factor covers {} trading days, too few to move its values; only a longer sample can tell.",
                span.len()
            ),
        );
        return Ok(Verdict::skipped(Check::ShuffledDates, finding));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
    let mut shifts: Vec<usize> =
        sample(&mut rng, ways, params.date_draws.min(ways)).into_iter().map(|way| far + way).collect();
    shifts.sort_unstable();
    let one = |&shift: &usize| {
        ctx.check()?;
        Ok(mean(power.ranked.shifted(&power.rows, &span, shift).into_iter()))
    };
    let draws: Vec<f64> = ctx.install(|| shifts.par_iter().map(one).collect::<Result<_>>())?;
    let draws: Vec<f64> = draws.into_iter().filter(|draw| !draw.is_nan()).collect();
    let (found, moved) = (power.mean.mean, mean(draws.iter().copied()));
    let (share, p) = (moved.abs() / found.abs(), share_as_far(&draws, found));
    let bounds = interval(draws.iter().copied(), params.confidence);

    let standing = match () {
        () if share.is_nan() => Standing::Skipped,
        () if share > params.max_share => Standing::Failed,
        () if p > params.alpha() => Standing::Warned,
        () => Standing::Passed,
    };
    let n = draws.len();
    let figure = (
        format!(
            "把各代码的值移到其他日期（{n} 次），RankIC 均值从 {found:+.4} 变为 {moved:+.4}，剩 {:.0} %（p = {p:.3}）",
            100.0 * share
        ),
        format!(
            "With each code's values moved to other dates ({n} draws), the mean RankIC goes from {found:+.4} to \
             {moved:+.4}: {:.0} % remains (p = {p:.3})",
            100.0 * share
        ),
    );
    let meaning = match standing {
        Standing::Failed => (
            "。因子主要是股票的固定特征（市值、行业、幸存等），而非当日消息；请先做中性化（neutralise），\
             或减去各代码过去的均值再看。",
            ". The factor is mostly a fixed trait of the names (size, industry, survival), not news of the day: \
             neutralise it, or take off each code's own past mean, and look again.",
        ),
        Standing::Warned => (
            "。换成别的日期也能得到同样大的 RankIC，当日消息的作用未得到证明；请用更长的样本或更短的回看期再看。",
            ". Other dates do as well as the right ones now and then, so that news of the day is not shown to matter: \
             look again with a longer sample or a shorter look-back.",
        ),
        _ => ("，预测力确实来自当日的消息。", ", so the predictive power is that of the day's news."),
    };
    let finding = (figure.0 + meaning.0, figure.1 + meaning.1);
    Ok(Verdict::of(Check::ShuffledDates, standing, share, Some(params.max_share), finding)
        .with("rank_ic", found)
        .with("rank_ic_moved", moved)
        .with("std_moved", std(&draws))
        .with("low", bounds.low)
        .with("high", bounds.high)
        .with("p", p)
        .with("draws", n))
}
