//! Information coefficients by date, and how they fade with the days after the trade.

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::{Cross, Prices};
use crate::backtest::rank_order::{RankOrder, RankScratch};
use crate::backtest::{IcDecay, IcSeries, Params};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{ascending, complete, mean, pearson, ranks_along};
use inkstone_market::Market;

/// One series per horizon. A date with fewer names than needed has no entry.
pub(super) fn series(crosses: &[Cross], market: &Market, params: &Params, ctx: &Ctx) -> Result<Vec<IcSeries>> {
    let at_horizon = |&horizon: &usize| {
        let date = |cross: &Cross| {
            ctx.check()?;
            let returns = &cross.returns[horizon];
            let (values, there) = complete(&cross.values, returns);
            let enough = values.len() >= params.names_needed();
            let rank_ic = || {
                let value_ranks = cross.ranks(|k| !returns[k].is_nan());
                let return_ranks = ranks_along(returns, ascending(returns.iter().copied()));
                let (x, y) = complete(&value_ranks, &return_ranks);
                pearson(&x, &y)
            };
            Ok(enough.then(|| (cross.t, values.len(), pearson(&values, &there), rank_ic())))
        };
        let dates: Vec<Option<(usize, usize, f64, f64)>> =
            ctx.install(|| crosses.par_iter().map(date).collect::<Result<_>>())?;
        let mut series = IcSeries { horizon, ..IcSeries::default() };
        for (t, names, ic, rank_ic) in dates.into_iter().flatten() {
            series.dates.push(market.dates()[t]);
            series.names.push(names as u32);
            series.ic.push(ic);
            series.rank_ic.push(rank_ic);
        }
        series.ic_summary = summarise(&series.ic, horizon);
        series.rank_ic_summary = summarise(&series.rank_ic, horizon);
        Ok(series)
    };
    params.horizons.iter().map(at_horizon).collect()
}

/// Days after the entry up to which the IC decay is followed: a month of trading days.
const DECAY_LAGS: usize = 20;

/// Mean RankIC of single days after the entry, for the names that could be bought.
pub(super) fn decay(
    crosses: &[Cross],
    prices: &Prices,
    market: &Market,
    params: &Params,
    ctx: &Ctx,
) -> Result<IcDecay> {
    let lags: Vec<usize> = (1..=DECAY_LAGS).collect();
    let (days, width) = (market.dates().len(), market.codes().len());
    // Each day's returns are sorted once, for all dates whose values they follow.
    let day = |t: usize| {
        ctx.check()?;
        Ok(RankOrder::new((0..width).map(|i| if t == 0 { f64::NAN } else { prices.simple_return(i, t - 1, t) })))
    };
    let days: Vec<RankOrder> = ctx.install(|| (0..days).into_par_iter().map(day).collect::<Result<_>>())?;
    let date = |scratch: &mut RankScratch, cross: &Cross| {
        ctx.check()?;
        let bought = cross.order.iter().map(|&k| k as usize).filter(|&k| cross.has_return(k));
        let values = RankOrder::of_sorted(bought.map(|k| (cross.values[k], cross.names[k])));
        let rank_ic = |&lag: &usize| match days.get(cross.entry + lag) {
            Some(returns) => scratch.rank_ic(&values, returns, params.names_needed()),
            None => f64::NAN,
        };
        Ok(lags.iter().map(rank_ic).collect::<Vec<f64>>())
    };
    let new = || RankScratch::new(width);
    let dates: Vec<Vec<f64>> = ctx.install(|| crosses.par_iter().map_init(new, date).collect::<Result<_>>())?;
    let rank_ic: Vec<f64> = (0..lags.len()).map(|l| mean(dates.iter().map(|row| row[l]))).collect();
    let half_life = half_life(&rank_ic);
    Ok(IcDecay { lags, rank_ic, half_life })
}

/// Lag at which the series first falls to half of its first value, linear between lags.
fn half_life(rank_ic: &[f64]) -> f64 {
    let Some(&first) = rank_ic.first() else { return f64::NAN };
    let relative = |k: usize| rank_ic[k] / first;
    let fallen = (1..rank_ic.len()).find(|&k| relative(k) <= 0.5);
    fallen.map_or(f64::NAN, |k| {
        let (above, below) = (relative(k - 1), relative(k));
        k as f64 + (above - 0.5) / (above - below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_life_lies_between_lags_and_may_not_exist() {
        assert!((half_life(&[0.08, 0.06, 0.02]) - 2.5).abs() < 1e-12);
        assert!((half_life(&[-0.08, -0.04]) - 2.0).abs() < 1e-12);
        assert!(half_life(&[0.08, 0.07]).is_nan() && half_life(&[]).is_nan());
    }
}
