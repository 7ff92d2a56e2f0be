//! Correlations of values with returns under any alignment.

use std::fmt;

use anyhow::Result;
use rayon::prelude::*;

use super::{AuditCase, AuditCheck, AuditVerdict, Audited, LEAST_DATES, LEAST_NAMES, Measured};
use crate::backtest::{self, IcSummary, summarise};
use crate::factor::Factor;
use crate::lint::Standing;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{ascending, complete, pearson, ranks_along, spearman};
use inkstone_market::{Market, Panel, Price};

/// Lags at which single days are looked at: from five days before the date to eleven after.
const LAGS: std::ops::RangeInclusive<i32> = -5..=11;

/// A trade by days from the value's date: bought and sold at these prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TradeWindow {
    pub buy: (i32, Price),
    pub sell: (i32, Price),
}

impl TradeWindow {
    pub(super) fn of(params: &backtest::Params) -> TradeWindow {
        let (delay, price) = (params.delay_days() as i32, params.traded_price());
        let held = params.horizons.first().copied().unwrap_or(1) as i32;
        TradeWindow { buy: (delay, price), sell: (delay + held, price) }
    }

    /// Windows that people use at a horizon, the honest ones first.
    pub(super) fn usual(horizon: usize, open: bool) -> Vec<TradeWindow> {
        let h = horizon as i32;
        let window = |from, bought, to, sold| TradeWindow { buy: (from, bought), sell: (to, sold) };
        let (o, c) = (Price::Open, Price::Close);
        let mut windows =
            vec![window(1, c, 1 + h, c), window(0, c, h, c), window(-1, c, h - 1, c), window(2, c, 2 + h, c)];
        if open {
            windows.extend([window(1, o, 1 + h, o), window(1, o, h, c), window(0, o, h, o), window(0, o, h - 1, c)]);
            windows.extend([window(2, o, 2 + h, o)]);
        }
        // Bought and sold at once is no trade.
        windows.retain(|window| window.sell != window.buy && window.sell.0 >= window.buy.0);
        windows
    }

    /// True if the return begins before the close of the value's own date.
    pub(super) fn begins_early(self) -> bool {
        self.buy.0 < 0 || self.buy == (0, Price::Open)
    }
}

impl fmt::Display for TradeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = |days: i32| if days == 0 { "t".to_owned() } else { format!("t{days:+}") };
        let ((from, bought), (to, sold)) = (self.buy, self.sell);
        write!(f, "{} {} → {} {}", bought.name(), day(from), sold.name(), day(to))
    }
}

/// Correlations by date, NaN where there is none.
pub(super) struct ByDate {
    pub ic: Vec<f64>,
    pub rank_ic: Vec<f64>,
}

impl ByDate {
    pub(super) fn summaries(&self, horizon: usize) -> (IcSummary, IcSummary) {
        (summarise(&self.ic, horizon), summarise(&self.rank_ic, horizon))
    }
}

/// Mean RankIC with the return of a single day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lag {
    /// Days from the value's date to that day; 0 is the date itself.
    pub days: i32,
    pub mean: f64,
    pub t: f64,
}

/// Values and daily returns as ranks among all names of their date.
pub(super) struct RankedDates {
    values: Vec<Vec<f64>>,
    /// Of the returns from the close before to the close of the date.
    returns: Vec<Vec<f64>>,
    counts: Vec<usize>,
}

/// Ranks of what is there.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    ranks_along(values, ascending(values.iter().copied()))
}

/// Pearson correlation of what both have; NaN below [`LEAST_NAMES`].
pub(super) fn correlate(x: &[f64], y: &[f64]) -> f64 {
    let (x, y) = complete(x, y);
    if x.len() < LEAST_NAMES { f64::NAN } else { pearson(&x, &y) }
}

impl RankedDates {
    pub(super) fn new(factor: &Factor, market: &Market, ctx: &Ctx) -> Result<RankedDates> {
        let close = market.price(Price::Close)?;
        let dates = market.dates().len();
        let of_date = |t: usize| {
            ctx.check()?;
            let row = factor.values.row(t);
            let day: Vec<f64> = match t.checked_sub(1) {
                Some(before) => close.row(t).iter().zip(close.row(before)).map(|(to, from)| to / from - 1.0).collect(),
                None => vec![f64::NAN; row.len()],
            };
            Ok((ranks(row), ranks(&day), row.iter().filter(|v| !v.is_nan()).count()))
        };
        let rows: Vec<(Vec<f64>, Vec<f64>, usize)> =
            ctx.install(|| (0..dates).into_par_iter().map(of_date).collect::<Result<_>>())?;
        let mut ranked = RankedDates { values: Vec::new(), returns: Vec::new(), counts: Vec::new() };
        for (values, returns, count) in rows {
            ranked.values.push(values);
            ranked.returns.push(returns);
            ranked.counts.push(count);
        }
        Ok(ranked)
    }

    pub(super) fn has_values(&self, t: usize) -> bool {
        self.counts[t] > 0
    }

    /// Number of names with a value.
    pub(super) fn count(&self, t: usize) -> usize {
        self.counts[t]
    }

    /// Ranks of the values of a date.
    pub(super) fn values(&self, t: usize) -> &[f64] {
        &self.values[t]
    }

    /// RankIC by date with the return of the day `lag` days later.
    pub(super) fn series(&self, lag: i32, ctx: &Ctx) -> Result<Vec<f64>> {
        let dates = self.values.len();
        let date = |t: usize| {
            ctx.check()?;
            let day = usize::try_from(t as i64 + i64::from(lag)).ok().filter(|day| *day < dates);
            Ok(match day.filter(|_| self.counts[t] >= LEAST_NAMES) {
                Some(day) => correlate(&self.values[t], &self.returns[day]),
                None => f64::NAN,
            })
        };
        ctx.install(|| (0..dates).into_par_iter().map(date).collect())
    }

    pub(super) fn lags(&self, ctx: &Ctx) -> Result<Vec<Lag>> {
        let lag = |days: i32| {
            let summary = summarise(&self.series(days, ctx)?, 1);
            Ok(Lag { days, mean: summary.mean, t: summary.t })
        };
        LAGS.map(lag).collect()
    }
}

/// Returns of all names from a date's window, NaN where there is no price.
pub(super) fn window_returns(market: &Market, window: TradeWindow, t: usize) -> Result<Option<Vec<f64>>> {
    let day = |days: i32| usize::try_from(t as i64 + i64::from(days)).ok().filter(|day| *day < market.dates().len());
    let (Some(from), Some(to)) = (day(window.buy.0), day(window.sell.0)) else { return Ok(None) };
    let (bought, sold): (&Panel, &Panel) = (market.price(window.buy.1)?, market.price(window.sell.1)?);
    Ok(Some(bought.row(from).iter().zip(sold.row(to)).map(|(from, to)| to / from - 1.0).collect()))
}

impl Audited<'_> {
    /// Correlations of the values with the returns of a window, whether or not they could be earned.
    pub(super) fn correlations(&self, window: TradeWindow) -> Result<ByDate> {
        let date = |t: usize| {
            self.ctx.check()?;
            if self.ranked.count(t) < LEAST_NAMES {
                return Ok((f64::NAN, f64::NAN));
            }
            let Some(returns) = window_returns(self.market, window, t)? else { return Ok((f64::NAN, f64::NAN)) };
            let (x, y) = complete(self.factor.values.row(t), &returns);
            Ok(if x.len() < LEAST_NAMES { (f64::NAN, f64::NAN) } else { (pearson(&x, &y), spearman(&x, &y)) })
        };
        let dates = self.market.dates().len();
        let pairs: Vec<(f64, f64)> =
            self.ctx.install(|| (0..dates).into_par_iter().map(date).collect::<Result<_>>())?;
        Ok(ByDate { ic: pairs.iter().map(|p| p.0).collect(), rank_ic: pairs.iter().map(|p| p.1).collect() })
    }

    /// Dates with names enough for a correlation.
    pub(super) fn ranked_dates(&self) -> usize {
        (0..self.market.dates().len()).filter(|&t| self.ranked.count(t) >= LEAST_NAMES).count()
    }

    /// The verdict of a check that needs more dates; none if there are enough.
    pub(super) fn too_few_dates(&self, check: AuditCheck) -> Option<AuditVerdict> {
        let dates = self.ranked_dates();
        let figures = [
            ("dates", Measured::Count(dates as u64)),
            ("least_names", Measured::Count(LEAST_NAMES as u64)),
            ("least_dates", Measured::Count(LEAST_DATES as u64)),
        ];
        (dates < LEAST_DATES).then(|| AuditVerdict::new(check, Standing::Skipped, AuditCase::TooFewDates, figures))
    }

    /// The lag of so many days.
    pub(super) fn lag(&self, days: i32) -> Lag {
        let nothing = Lag { days, mean: f64::NAN, t: f64::NAN };
        self.lags.iter().find(|lag| lag.days == days).copied().unwrap_or(nothing)
    }
}
