//! The predictive power for the return of the same day, compared with the return that can be traded.
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
use crate::lint::finding::SameDayGap;
use crate::lint::power::{Mean, Power, paired, trade};
use crate::lint::{Check, Finding, Params, Standing, Subject, Verdict};
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
    let pairs = paired(&same, &later);
    let (of_same, of_trade) = (mean(pairs.iter().map(|p| p.0)), mean(pairs.iter().map(|p| p.1)));
    let gaps: Vec<f64> = pairs.iter().map(|(a, b)| a * of_same.signum() - b * of_trade.signum()).collect();
    let gap = Mean::new(&gaps, power.overlap, params, ctx)?;
    let finding = SameDayGap {
        rank_ic_same_day: of_same,
        rank_ic_trade: of_trade,
        ratio: of_same.abs() / of_trade.abs(),
        dates: gap.n,
        p: gap.p,
        low: gap.interval.low,
        high: gap.interval.high,
        aligned_at_same_day: itself,
        context: trade(&traded),
    };
    if gap.n < 2 && !itself {
        return Ok(Verdict::skipped(Check::SameDayGap, Finding::NoSameDay(finding)));
    }
    let wide = gap.mean > params.same_day_gap && gap.p <= params.alpha();
    let standing = match () {
        () if itself => Standing::Failed,
        () if wide => Standing::Warned,
        () => Standing::Passed,
    };
    let limit = Some(params.same_day_gap);
    Ok(Verdict::new(Check::SameDayGap, standing, gap.mean, limit, Finding::SameDayGap(finding)))
}

/// True if returns begin before the close of the value's own date, and values were not known by then.
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
