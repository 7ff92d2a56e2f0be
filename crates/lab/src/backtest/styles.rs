//! Plain styles beside a factor: how much of it they explain, and what is left of it after them.
//!
//! Styles are computed from prices up to the close of the factor's date. `size`: logarithm of the capitalisation. `momentum`: return over
//! 20 trading days. `reversal`: return over 5 trading days, turned round. `volatility`: standard deviation of 20 daily returns.
//! `traded_value`: logarithm of the mean value traded a day over 20 days. `turnover`: that mean over the capitalisation. A style for which
//! the price table has no column is left out.
//!
//! All is done in ranks of each date. What is left is the residual of an OLS regression of the factor's ranks on those of the styles and,
//! where securities have industries, on industries; names without one of the styles take no part, and in neither RankIC.

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::Cross;
use crate::backtest::{IndustryExposure, Params, StyleExposure, Styles};
use crate::factor::{NOTHING_LEFT, residuals};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{ascending, average_ranks, mean, pearson, ranks_along};
use inkstone_market::{Market, Panel, Price};

/// Trading days of `momentum`, `volatility` and `traded_value`.
const MONTH: usize = 20;
/// Trading days of `reversal`.
const WEEK: usize = 5;
/// Daily returns that a volatility needs.
const NEEDED: u32 = 10;

/// A style with its value for each name of a cross, NaN where there is none.
type StyleColumn = (&'static str, Vec<f64>);

/// Figures of one date.
struct StyleDay {
    /// Rank correlation, and mean rank of the bottom and of the top layer, by style.
    styles: Vec<[f64; 3]>,
    rank_ic: f64,
    residual: f64,
    /// Share of all names and of the top layer, by industry.
    industries: Vec<(f64, f64)>,
}

/// Exposures of the factor on all dates, and its RankIC at the first horizon with and without them. None without dates.
pub(super) fn styles(crosses: &[Cross], market: &Market, params: &Params, ctx: &Ctx) -> Result<Option<Styles>> {
    let close = market.price(Price::Close)?;
    let horizon = params.horizons[0];
    let date = |cross: &Cross| {
        ctx.check()?;
        Ok(day(cross, &columns(cross, market, close), market, horizon, params))
    };
    let days: Vec<StyleDay> = ctx.install(|| crosses.par_iter().map(date).collect::<Result<_>>())?;
    let Some(cross) = crosses.first() else { return Ok(None) };
    let names: Vec<&str> = columns(cross, market, close).iter().map(|(name, _)| *name).collect();
    let mean_of = |figure: &dyn Fn(&StyleDay) -> f64| mean(days.iter().map(figure));
    let style = |(k, name): (usize, &&str)| StyleExposure {
        name: (*name).to_owned(),
        correlation: mean_of(&|day| day.styles[k][0]),
        bottom: mean_of(&|day| day.styles[k][1]),
        top: mean_of(&|day| day.styles[k][2]),
    };
    let industry = |(k, name): (usize, &String)| IndustryExposure {
        name: name.clone(),
        share: mean_of(&|day| day.industries[k].0),
        top: mean_of(&|day| day.industries[k].1),
    };
    let series = |figure: fn(&StyleDay) -> f64| days.iter().map(figure).collect::<Vec<f64>>();
    Ok(Some(Styles {
        styles: names.iter().enumerate().map(style).collect(),
        industries: market.industries().iter().enumerate().map(industry).collect(),
        rank_ic: summarise(&series(|day| day.rank_ic), horizon),
        residual: summarise(&series(|day| day.residual), horizon),
    }))
}

/// The styles of the names of a cross that the market has columns for.
fn columns(cross: &Cross, market: &Market, close: &Panel) -> Vec<StyleColumn> {
    let t = cross.t;
    let since = |days: usize, i: usize| match t.checked_sub(days) {
        Some(from) => close.at(t, i) / close.at(from, i) - 1.0,
        None => f64::NAN,
    };
    let column = |style: &dyn Fn(usize) -> f64| cross.names.iter().map(|&i| style(i as usize)).collect::<Vec<f64>>();
    let mut columns = vec![
        ("momentum", column(&|i| since(MONTH, i))),
        ("reversal", column(&|i| -since(WEEK, i))),
        ("volatility", volatility(cross, close)),
    ];
    if market.has_volume() {
        let traded = traded_value(cross, market, close);
        if market.has_market_cap() {
            let caps = cross.names.iter().map(|&i| market.market_cap(t, i as usize));
            columns.push(("turnover", traded.iter().zip(caps).map(|(traded, cap)| traded / cap).collect()));
        }
        columns.push(("traded_value", traded.iter().map(|traded| traded.ln()).collect()));
    }
    if market.has_market_cap() {
        columns.push(("size", column(&|i| market.market_cap(t, i).ln())));
    }
    columns
}

fn volatility(cross: &Cross, close: &Panel) -> Vec<f64> {
    if cross.t < MONTH {
        return vec![f64::NAN; cross.names.len()];
    }
    let mut sums = vec![(0u32, 0.0, 0.0); cross.names.len()];
    for t in cross.t + 1 - MONTH..=cross.t {
        let (today, before) = (close.row(t), close.row(t - 1));
        for ((n, sum, squares), &i) in sums.iter_mut().zip(&cross.names) {
            let r = today[i as usize] / before[i as usize] - 1.0;
            if !r.is_nan() {
                *n += 1;
                *sum += r;
                *squares += r * r;
            }
        }
    }
    let deviation = |(n, sum, squares): (u32, f64, f64)| {
        let count = f64::from(n);
        if n < NEEDED { f64::NAN } else { ((squares - sum * sum / count) / (count - 1.0)).max(0.0).sqrt() }
    };
    sums.into_iter().map(deviation).collect()
}

/// Mean value traded a day in CNY; NaN where nothing is known or nothing was traded.
fn traded_value(cross: &Cross, market: &Market, close: &Panel) -> Vec<f64> {
    let mut sums = vec![(0u32, 0.0); cross.names.len()];
    for t in (cross.t + 1).saturating_sub(MONTH)..=cross.t {
        for ((n, sum), &i) in sums.iter_mut().zip(&cross.names) {
            let value = market.traded_value(t, i as usize, close.at(t, i as usize));
            if !value.is_nan() {
                *n += 1;
                *sum += value;
            }
        }
    }
    sums.into_iter().map(|(n, sum)| if sum > 0.0 { sum / f64::from(n) } else { f64::NAN }).collect()
}

fn day(cross: &Cross, columns: &[StyleColumn], market: &Market, horizon: usize, params: &Params) -> StyleDay {
    let needed = params.names_needed();
    let orders: Vec<Vec<u32>> = columns.iter().map(|(_, style)| ascending(style.iter().copied())).collect();
    let exposure = |((_, style), order): (&StyleColumn, &Vec<u32>)| {
        let there: Vec<usize> = (0..style.len()).filter(|&k| !style[k].is_nan()).collect();
        if there.len() < needed {
            return [f64::NAN; 3];
        }
        let at = |ranks: Vec<f64>| there.iter().map(|&k| ranks[k]).collect::<Vec<f64>>();
        let values = at(cross.ranks(|k| !style[k].is_nan()));
        let ranks = at(ranks_along(style, order.iter().copied()));
        // From -1/2 to 1/2, so that dates with few and with many names count alike.
        let relative = |rank: f64| rank / (there.len() + 1) as f64 - 0.5;
        let layer = |layer: usize| {
            let of_layer = there.iter().zip(&ranks).filter(|(k, _)| usize::from(cross.quantiles[**k]) == layer);
            mean(of_layer.map(|(_, rank)| relative(*rank)))
        };
        [pearson(&values, &ranks), layer(1), layer(params.quantiles)]
    };
    let returns = &cross.returns[horizon];
    let is_whole = |k: &usize| !returns[*k].is_nan() && columns.iter().all(|(_, style)| !style[*k].is_nan());
    let complete: Vec<usize> = (0..cross.names.len()).filter(is_whole).collect();
    let (mut rank_ic, mut residual) = (f64::NAN, f64::NAN);
    if complete.len() >= needed.max(columns.len() + 2) {
        let mut is_whole = vec![false; cross.names.len()];
        complete.iter().for_each(|&k| is_whole[k] = true);
        // Sorted once, ranked among some.
        let ranks = |column: &[f64], order: &[u32]| {
            let ranks = ranks_along(column, order.iter().copied().filter(|&k| is_whole[k as usize]));
            complete.iter().map(|&k| ranks[k]).collect::<Vec<f64>>()
        };
        let mut values = ranks(&cross.values, &cross.order);
        let returns = average_ranks(&complete.iter().map(|&k| returns[k]).collect::<Vec<f64>>());
        rank_ic = pearson(&values, &returns);
        let groups: Vec<Option<u32>> =
            complete.iter().map(|&k| market.industry(cross.t, cross.names[k] as usize)).collect();
        let on: Vec<Vec<f64>> = columns.iter().zip(&orders).map(|((_, style), order)| ranks(style, order)).collect();
        if residuals(&mut values, &groups, &on) > NOTHING_LEFT {
            residual = pearson(&average_ranks(&values), &returns);
        }
    }
    StyleDay {
        styles: columns.iter().zip(&orders).map(exposure).collect(),
        rank_ic,
        residual,
        industries: shares(cross, market, params),
    }
}

/// Shares of all names, and of those of the top layer, by industry.
fn shares(cross: &Cross, market: &Market, params: &Params) -> Vec<(f64, f64)> {
    let mut counts = vec![(0.0, 0.0); market.industries().len()];
    let (mut all, mut top) = (0.0, 0.0);
    for (&i, &layer) in cross.names.iter().zip(&cross.quantiles) {
        let Some(industry) = market.industry(cross.t, i as usize) else { continue };
        let is_top = if usize::from(layer) == params.quantiles { 1.0 } else { 0.0 };
        let (of_all, of_top) = &mut counts[industry as usize];
        (*of_all, *of_top, all, top) = (*of_all + 1.0, *of_top + is_top, all + 1.0, top + is_top);
    }
    counts.into_iter().map(|(of_all, of_top)| (of_all / all, of_top / top)).collect()
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDate};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::backtest;
    use crate::factor::Factor;
    use inkstone_market::CLOSE;

    /// 60 days of 40 names, and a factor that `value` makes of the return over the last five days and of the next day's.
    fn tested(value: impl Fn(f64, f64) -> f64) -> Styles {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (days, names) = (60, 40);
        let mut prices = "date,code,open,close,volume\n".to_owned();
        let mut closes = vec![vec![10.0]; names];
        for series in &mut closes {
            (1..days).for_each(|t| series.push(series[t - 1] * (1.0 + rng.random_range(-0.05..0.05))));
        }
        let date = |t: usize| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t as u64);
        for t in 0..days {
            for (i, series) in closes.iter().enumerate() {
                prices +=
                    &format!("{},{:06}.SH,{},{},{}\n", date(t), 600_000 + i, series[t], series[t], 1000 * (i + 1));
            }
        }
        let market = Market::of_text(&prices, &[]).unwrap();
        let mut factor = Factor::empty("f", &market);
        for t in 20..days - 2 {
            for (i, series) in closes.iter().enumerate() {
                let value = value(series[t] / series[t - 5] - 1.0, series[t + 2] / series[t + 1] - 1.0);
                factor.put(t, i, value, date(t).and_time(CLOSE), 1);
            }
        }
        let params = Params { limits: Vec::new(), min_listed_days: 0, ..Params::default() };
        backtest::run(&factor, &market, &params, &Ctx::new(2, 1).unwrap()).unwrap().0.styles.unwrap()
    }

    fn exposure<'s>(styles: &'s Styles, name: &str) -> &'s StyleExposure {
        styles.styles.iter().find(|style| style.name == name).unwrap()
    }

    #[test]
    fn a_factor_that_is_a_style_leaves_nothing() {
        let styles = tested(|before, _| -before);
        let reversal = exposure(&styles, "reversal");
        assert!((reversal.correlation - 1.0).abs() < 1e-12 && reversal.top > 0.3 && reversal.bottom < -0.3);
        assert!(exposure(&styles, "momentum").correlation < -0.2, "five of the twenty days are the same");
        assert!(exposure(&styles, "traded_value").correlation.abs() < 0.1);
        assert!(styles.styles.iter().all(|style| style.name != "size"), "there is no capitalisation");
        assert_eq!(styles.residual.n, 0, "rounding has no RankIC");
    }

    #[test]
    fn what_styles_do_not_explain_stays() {
        let styles = tested(|before, next| 3.0 * next - before);
        assert!(styles.residual.mean > styles.rank_ic.mean && styles.residual.mean > 0.9, "{:?}", styles.residual);
        assert_eq!(styles.residual.n, styles.rank_ic.n);
    }
}
