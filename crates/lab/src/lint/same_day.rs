//! The predictive power of the same day against that of the trade.
//!
//! The same day is the return from the close before a value's date to the close of that date, during which its texts
//! came out: nobody could earn it. The number is the absolute mean RankIC with that return less the absolute mean
//! RankIC of the trade, over the dates that have both. A wide gap means that texts report moves that had happened: no
//! leak, but whoever lets dates slip by a day will find it. It warns above `same_day_gap` where the bootstrap does not
//! call it chance. It fails only where the factor under test is itself aligned so: its returns begin before the close
//! of the value's own date, and some of its values were not known by then. The trade is then taken a day later for
//! comparison.

use anyhow::Result;

use crate::backtest::{self, Preset, Ranked};
use crate::lint::power::{Mean, Power, alignment};
use crate::lint::{Check, Params, Standing, Subject, Verdict};
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{CLOSE, Price};

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let itself = is_same_day(subject);
    let same_day = backtest::Params {
        preset: Preset::Default,
        delay: Some(-1),
        price: Some(Price::Close),
        horizons: vec![1],
        ..subject.backtest.clone()
    };
    let same_day = Ranked::new(subject.factor, subject.market, &same_day, ctx)?;
    let (same, later, traded) = match itself {
        false => (same_day.series(&power.rows, ctx)?, power.series.clone(), subject.backtest.clone()),
        true => {
            let traded = backtest::Params { delay: Some(1), allow_lookahead: false, ..subject.backtest.clone() };
            let ranked = Ranked::new(subject.factor, subject.market, &traded, ctx)?;
            let rows = ranked.rows(subject.factor, ctx)?;
            (same_day.series(&rows, ctx)?, ranked.series(&rows, ctx)?, traded)
        }
    };
    let both = |(a, b): (&f64, &f64)| if a.is_nan() || b.is_nan() { (f64::NAN, f64::NAN) } else { (*a, *b) };
    let pairs: Vec<(f64, f64)> = same.iter().zip(&later).map(both).collect();
    let (of_same, of_trade) = (mean(pairs.iter().map(|p| p.0)), mean(pairs.iter().map(|p| p.1)));
    let gaps: Vec<f64> = pairs.iter().map(|(a, b)| a * of_same.signum() - b * of_trade.signum()).collect();
    let gap = Mean::of(&gaps, power.overlap, params, ctx)?;

    let (zh, en) = alignment(&traded);
    let figures = |verdict: Verdict| {
        verdict
            .with("rank_ic_same_day", of_same)
            .with("rank_ic_trade", of_trade)
            .with("ratio", of_same.abs() / of_trade.abs())
            .with("dates", gap.n)
            .with("p", gap.p)
            .with("low", gap.interval.low)
            .with("high", gap.interval.high)
            .with("aligned_at_same_day", itself)
    };
    if gap.n < 2 && !itself {
        let finding = (
            "没有同时算得出当日与交易 RankIC 的日期，无法比较；先看回测的拒绝与样本数。".into(),
            "No dates have a RankIC of the same day and of the trade, so they cannot be compared; look at the \
             refusals and counts of the backtest first."
                .into(),
        );
        return Ok(figures(Verdict::skipped(Check::SameDayGap, finding)));
    }
    let wide = gap.mean > params.same_day_gap && gap.p <= params.alpha();
    let standing = match () {
        () if itself => Standing::Failed,
        () if wide => Standing::Warned,
        () => Standing::Passed,
    };
    let figure = (
        format!(
            "RankIC 与当日收益（前收至当收）为 {of_same:+.4}，与可交易收益（{zh}）为 {of_trade:+.4}，差距 {:+.4}（p = {:.3}）",
            gap.mean, gap.p
        ),
        format!(
            "The RankIC with the return of the same day (close before to close) is {of_same:+.4}, with that of the \
             trade ({en}) {of_trade:+.4}: a gap of {:+.4} (p = {:.3})",
            gap.mean, gap.p
        ),
    );
    let meaning = match standing {
        Standing::Failed => (
            "。被测因子本身就按当日对齐：收益开始时部分文本尚未发布，其结果不可信。请设 delay = 1。",
            ". The factor under test is itself aligned at the same day, with returns that had begun before its texts \
             were there: its figures mean nothing. Set [backtest] delay = 1.",
        ),
        Standing::Warned => (
            "。文本大多在报道已经发生的涨跌：这不是泄漏，但日期一旦错位一天便会凭空得到这么大的预测力。\
             请以可交易的数字为准，并核对 [market] cutoff 与 delay。",
            ". The texts mostly report moves that have happened. This is no leak, but dates that slip by a day would \
             make that much of nothing: go by the figure of the trade, and keep [market] cutoff and delay as they are.",
        ),
        _ => ("，不足为虑。", ", which is no cause for concern."),
    };
    let finding = (figure.0 + meaning.0, figure.1 + meaning.1);
    Ok(figures(Verdict::of(Check::SameDayGap, standing, gap.mean, Some(params.same_day_gap), finding)))
}

/// Whether returns begin before the close of the value's own date, and values were not known by then.
fn is_same_day(subject: &Subject<'_>) -> bool {
    let (factor, market) = (subject.factor, subject.market);
    (0..market.dates().len()).any(|t| {
        let close = market.dates()[t].and_time(CLOSE);
        let begins = subject.backtest.trade_at(market, t).filter(|begins| *begins < close);
        begins.is_some_and(|begins| {
            let late = |i: &usize| factor.known_at(t, *i).is_none_or(|known| known >= begins);
            (0..market.codes().len()).filter(|&i| !factor.values.at(t, i).is_nan()).any(|i| late(&i))
        })
    })
}
