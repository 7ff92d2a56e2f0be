//! Returns close to close of the names with events, and of the benchmark over the same days.
//!
//! A day on which a name did not trade has no return; its return on resumption runs from its last close and so spans several
//! days, which the benchmark's return spans too.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::around::no_benchmark;
use super::params::{Model, Params};
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{Market, Panel, Price};

/// Names whose closes are read together, so that a row of the panel is read once.
const BLOCK: usize = 64;

/// Row of a code that has none.
const NONE: u32 = u32::MAX;

pub(super) struct Returns {
    days: usize,
    /// Row of each code of the market.
    rows: Vec<u32>,
    /// `[rows, days]`; NaN where the name did not trade or never had before.
    returns: Vec<f64>,
    /// The day from whose close the return runs, `[rows, days]`.
    since: Vec<u32>,
    /// Worth of the benchmark by day.
    level: Vec<f64>,
    /// Return of the benchmark since the day before, by day.
    moves: Vec<f64>,
}

/// The returns of one name, by day.
#[derive(Clone, Copy)]
pub(super) struct NameReturns<'a> {
    returns: &'a [f64],
    since: &'a [u32],
    level: &'a [f64],
    moves: &'a [f64],
}

/// A return that ended on some day.
#[derive(Clone, Copy)]
pub(super) struct Return {
    /// Return of the name.
    pub own: f64,
    /// Return of the benchmark over the same days.
    pub market: f64,
    /// Number of trading days from close to close.
    pub days: f64,
}

impl Returns {
    /// The returns of these codes, which ascend, with the benchmark of the parameters.
    pub(super) fn new(market: &Market, codes: &[u32], params: &Params, ctx: &Ctx) -> Result<Returns> {
        let close = market.price(Price::Close)?;
        let days = market.dates().len();
        let level = match (&params.benchmark, params.model) {
            // The benchmark is not asked for, and must not make a day go missing.
            (_, Model::MeanAdjusted) => vec![1.0; days],
            (Some(code), _) => {
                let i = market.index_of(code).with_context(|| no_benchmark(code))?;
                (0..days).map(|t| if market.traded(t, i) { close.at(t, i) } else { f64::NAN }).collect()
            }
            (None, _) => all_names(market, close, ctx)?,
        };
        Returns::against(market, codes, level, ctx)
    }

    /// The returns of these codes, which ascend, beside a benchmark of this worth by day.
    pub(super) fn against(market: &Market, codes: &[u32], level: Vec<f64>, ctx: &Ctx) -> Result<Returns> {
        let close = market.price(Price::Close)?;
        let days = market.dates().len();
        let mut rows = vec![NONE; market.codes().len()];
        codes.iter().zip(0..).for_each(|(&code, row)| rows[code as usize] = row);

        let mut returns = vec![f64::NAN; codes.len() * days];
        let mut since = vec![0; codes.len() * days];
        let blocks = codes.par_chunks(BLOCK).zip(returns.par_chunks_mut(BLOCK * days));
        let blocks = blocks.zip(since.par_chunks_mut(BLOCK * days));
        ctx.install(|| {
            blocks.try_for_each(|((codes, returns), since)| {
                ctx.check()?;
                let mut before: Vec<Option<(u32, f64)>> = vec![None; codes.len()];
                for t in 0..days {
                    for (row, &code) in codes.iter().enumerate() {
                        if !market.traded(t, code as usize) {
                            continue;
                        }
                        let price = close.at(t, code as usize);
                        if let Some((day, last)) = before[row].replace((t as u32, price)) {
                            returns[row * days + t] = price / last - 1.0;
                            since[row * days + t] = day;
                        }
                    }
                }
                anyhow::Ok(())
            })
        })?;
        let moves = (0..days).map(|t| if t == 0 { f64::NAN } else { level[t] / level[t - 1] - 1.0 }).collect();
        Ok(Returns { days, rows, returns, since, level, moves })
    }

    pub(super) fn days(&self) -> usize {
        self.days
    }

    /// The returns of a code among those asked for.
    pub(super) fn name(&self, code: u32) -> NameReturns<'_> {
        let row = self.rows[code as usize] as usize;
        let days = row * self.days..(row + 1) * self.days;
        let Returns { returns, since, level, moves, .. } = self;
        NameReturns { returns: &returns[days.clone()], since: &since[days], level, moves }
    }
}

/// Level of an equal-weighted index of all names, by day. Its return of a day is the mean over the names that traded that day and the
/// day before: the first return of a name that resumes trading covers many days and is left out.
fn all_names(market: &Market, close: &Panel, ctx: &Ctx) -> Result<Vec<f64>> {
    let one_day = |t: usize| {
        ctx.check()?;
        let both = |i: &usize| market.traded(t - 1, *i) && market.traded(t, *i);
        let names = (0..market.codes().len()).filter(both);
        anyhow::Ok(mean(names.map(|i| close.at(t, i) / close.at(t - 1, i) - 1.0)))
    };
    let days = market.dates().len();
    let moves: Vec<f64> = ctx.install(|| (1..days).into_par_iter().map(one_day).collect::<Result<_>>())?;
    let mut level = vec![1.0];
    for (t, by) in moves.into_iter().enumerate() {
        level.push(if by.is_nan() { level[t] } else { level[t] * (1.0 + by) });
    }
    Ok(level)
}

impl NameReturns<'_> {
    /// The return that ended on a day.
    #[inline]
    pub(super) fn at(&self, t: usize) -> Option<Return> {
        let own = self.returns[t];
        if own.is_nan() {
            return None;
        }
        let since = self.since[t] as usize;
        let market = if since + 1 == t { self.moves[t] } else { self.level[t] / self.level[since] - 1.0 };
        (!market.is_nan()).then_some(Return { own, market, days: (t - since) as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market() -> Market {
        let closes = [("02", "10,10,5"), ("03", "11,9,"), ("04", "12.1,9.9,"), ("05", "12.1,9.9,6")];
        let mut text = "date,code,close\n".to_owned();
        for (day, row) in closes {
            for (i, close) in row.split(',').enumerate() {
                text += &format!("2024-01-{day},60000{}.SH,{close}\n", i + 1);
            }
        }
        Market::of_text(&text, &[]).unwrap()
    }

    #[test]
    fn the_return_on_resumption_runs_from_the_last_close_as_the_benchmark_does() {
        let ctx = Ctx::new(2, 1).unwrap();
        let returns = Returns::new(&market(), &[0, 2], &Params::default(), &ctx).unwrap();
        let name = returns.name(2);
        assert!(name.at(0).is_none() && name.at(1).is_none() && name.at(2).is_none());
        let back = name.at(3).unwrap();
        assert!((back.own - 0.2).abs() < 1e-15);
        assert_eq!(back.days, 3.0);
        // The two others moved by the mean of 10 and -10 %, then of 10 and 10 %, then not; the third is not in the mean.
        assert!((back.market - 0.1).abs() < 1e-15, "{}", back.market);
        assert_eq!(returns.name(0).at(2).unwrap().days, 1.0);
    }

    #[test]
    fn a_benchmark_may_be_a_code_and_must_be_there() {
        let ctx = Ctx::new(1, 1).unwrap();
        let against = |code: &str| {
            let params = Params { benchmark: Some(code.into()), ..Params::default() };
            Returns::new(&market(), &[0], &params, &ctx)
        };
        let day = against("600002.SH").unwrap().name(0).at(1).unwrap();
        assert!((day.market + 0.1).abs() < 1e-15);
        // A benchmark that did not trade leaves the day without an abnormal return.
        assert!(against("600003.SH").unwrap().name(0).at(1).is_none());
        assert!(against("000300.SH").err().unwrap().to_string().contains("[events] benchmark"));
    }
}
