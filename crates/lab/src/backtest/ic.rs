//! Information coefficients by date, and how they fade with the days after the trade.

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::{Cross, Prices};
use crate::backtest::{IcDecay, IcSeries, Params};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, complete, mean, pearson, spearman};
use inkstone_market::Market;

/// One series per horizon. A date with fewer names than needed has no entry.
pub(super) fn series(crosses: &[Cross], market: &Market, params: &Params, ctx: &Ctx) -> Result<Vec<IcSeries>> {
    let at_horizon = |&horizon: &usize| {
        let date = |cross: &Cross| {
            ctx.check()?;
            let (values, returns) = complete(&cross.values, &cross.returns[horizon]);
            let enough = values.len() >= params.names_needed();
            Ok(enough.then(|| (cross.t, values.len(), pearson(&values, &returns), spearman(&values, &returns))))
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
pub(super) fn decay(crosses: &[Cross], prices: &Prices, params: &Params, ctx: &Ctx) -> Result<IcDecay> {
    let lags: Vec<usize> = (1..=DECAY_LAGS).collect();
    let date = |cross: &Cross| {
        ctx.check()?;
        let bought: Vec<usize> = (0..cross.names.len()).filter(|&k| cross.has_return(k)).collect();
        let values: Vec<f64> = bought.iter().map(|&k| cross.values[k]).collect();
        // Nearly always every name has a return, and the ranks of the values are the same for all lags.
        let ranks = average_ranks(&values);
        let rank_ic = |&lag: &usize| {
            let one_day =
                |&k: &usize| prices.simple_return(cross.names[k] as usize, cross.entry + lag - 1, cross.entry + lag);
            let returns: Vec<f64> = bought.iter().map(one_day).collect();
            if returns.len() >= params.names_needed() && returns.iter().all(|r| !r.is_nan()) {
                return pearson(&ranks, &average_ranks(&returns));
            }
            let (values, returns) = complete(&values, &returns);
            if values.len() < params.names_needed() { f64::NAN } else { spearman(&values, &returns) }
        };
        Ok(lags.iter().map(rank_ic).collect::<Vec<f64>>())
    };
    let dates: Vec<Vec<f64>> = ctx.install(|| crosses.par_iter().map(date).collect::<Result<_>>())?;
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
