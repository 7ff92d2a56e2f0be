//! The RankIC alone, for work that needs it hundreds of times: returns are ranked once, values once, and a draw only
//! correlates them.
//!
//! [`Ranked::series`] is that of [`crate::backtest::run`] at the first horizon, to the last bit.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use crate::backtest::cross::Prices;
use crate::backtest::preset::QuantileCut;
use crate::backtest::rank_order::{RankOrder, RankScratch, shared_correlation};
use crate::backtest::{Params, layers};
use crate::factor::Factor;
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{Market, Tradability};

impl Params {
    /// The moment at which the return of a value of date `t` begins; none where there is no day to trade on.
    pub(crate) fn trade_at(&self, market: &Market, t: usize) -> Option<NaiveDateTime> {
        self.entry(t, market.dates().len()).map(|entry| self.begins(market, entry))
    }
}

/// The returns of a market at the first horizon, ranked by date.
pub struct Ranked<'a> {
    market: &'a Market,
    params: Params,
    /// By the factor's date; none where nothing can be bought.
    days: Vec<RankOrder>,
}

/// The values of a factor, ranked by date.
pub struct RankedValues<'a> {
    factor: &'a Factor,
    orders: Vec<RankOrder>,
}

impl<'a> Ranked<'a> {
    /// Ranks the returns that values of each date are paired with. `factor` is the one under test: the preset of
    /// alphalens leaves out returns by the dates that it has.
    pub fn new(factor: &Factor, market: &'a Market, params: &Params, ctx: &Ctx) -> Result<Ranked<'a>> {
        params.validate()?;
        let tradability = Tradability::new(market, params.traded_price(), &params.limits)?;
        let prices = Prices::new(factor, market, &tradability, params)?;
        let return_of = |entry: usize, i: usize| {
            let forward = |&horizon: &usize| prices.forward(i, entry, horizon);
            match prices.gate(entry, i).can_buy() && prices.benchmark != Some(i) {
                true if params.rules().whole_rows => {
                    let returns: Vec<f64> = params.horizons.iter().map(forward).collect();
                    if returns.iter().any(|r| r.is_nan()) { f64::NAN } else { returns[0] }
                }
                true => forward(&params.horizons[0]),
                false => f64::NAN,
            }
        };
        let (dates, width) = (market.dates().len(), market.codes().len());
        let day = |t: usize| {
            ctx.check()?;
            Ok(match params.entry(t, dates) {
                Some(entry) => RankOrder::new((0..width).map(|i| return_of(entry, i))),
                None => RankOrder::new(std::iter::empty()),
            })
        };
        let days = ctx.install(|| (0..dates).into_par_iter().map(day).collect::<Result<_>>())?;
        Ok(Ranked { market, params: params.clone(), days })
    }

    /// The values that a backtest would use: those that were known in time, or all if look-ahead is allowed.
    pub fn rows<'f>(&self, factor: &'f Factor, ctx: &Ctx) -> Result<RankedValues<'f>> {
        self.rows_where(factor, self.params.uses_late_values(), ctx)
    }

    /// All values, also those that were known too late.
    pub(crate) fn all_rows<'f>(&self, factor: &'f Factor, ctx: &Ctx) -> Result<RankedValues<'f>> {
        self.rows_where(factor, true, ctx)
    }

    fn rows_where<'f>(&self, factor: &'f Factor, late: bool, ctx: &Ctx) -> Result<RankedValues<'f>> {
        factor.check_axes(self.market)?;
        let row = |t: usize| {
            ctx.check()?;
            let begins = self.params.trade_at(self.market, t);
            let in_time = |i: usize| late || factor.known_at(t, i).zip(begins).is_some_and(|(known, at)| known < at);
            let value = |(i, &v): (usize, &f64)| if !v.is_nan() && in_time(i) { v } else { f64::NAN };
            Ok(RankOrder::new(factor.values.row(t).iter().enumerate().map(value)))
        };
        let orders = ctx.install(|| (0..self.market.dates().len()).into_par_iter().map(row).collect::<Result<_>>())?;
        Ok(RankedValues { factor, orders })
    }

    /// RankIC by date, NaN where there is none.
    pub fn series(&self, rows: &RankedValues, ctx: &Ctx) -> Result<Vec<f64>> {
        let date = |scratch: &mut RankScratch, t: usize| {
            ctx.check()?;
            Ok(self.rank_ic(rows, t, t, scratch))
        };
        let new = || RankScratch::new(self.market.codes().len());
        ctx.install(|| (0..self.days.len()).into_par_iter().map_init(new, date).collect())
    }

    /// RankIC of the values of date `from` with the returns of date `to`.
    fn rank_ic(&self, rows: &RankedValues, from: usize, to: usize, scratch: &mut RankScratch) -> f64 {
        let rank_ic = scratch.rank_ic(&rows.orders[from], &self.days[to], self.params.names_needed());
        let is_shared = |i: &usize| scratch.is_shared(*i);
        if rank_ic.is_nan() || self.can_be_cut(rows.factor, from, is_shared) { rank_ic } else { f64::NAN }
    }

    /// False where the preset of alphalens leaves a date out, because its quantiles have no distinct edges.
    fn can_be_cut(&self, factor: &Factor, t: usize, counts: impl Fn(&usize) -> bool) -> bool {
        if self.params.rules().cut != QuantileCut::Values {
            return true;
        }
        let row = factor.values.row(t);
        let values: Vec<f64> = (0..row.len()).filter(counts).map(|i| row[i]).collect();
        layers::qcut(&values, self.params.quantiles).is_some()
    }

    /// Ranks of the values and of the returns of these dates, for draws that move values to other dates.
    pub fn placements(&self, rows: &RankedValues, span: Range<usize>, ctx: &Ctx) -> Result<Placements> {
        let width = self.market.codes().len();
        let centred = |order: &RankOrder| {
            ctx.check()?;
            Ok(order.centred(width))
        };
        let value_row = |t: usize| {
            let has_value = |i: &usize| !rows.factor.values.at(t, *i).is_nan();
            let is_used = !rows.orders[t].is_empty() && self.can_be_cut(rows.factor, t, has_value);
            if is_used { centred(&rows.orders[t]) } else { Ok(Vec::new()) }
        };
        ctx.install(|| {
            Ok(Placements {
                values: span.clone().into_par_iter().map(value_row).collect::<Result<_>>()?,
                returns: self.days[span].par_iter().map(centred).collect::<Result<_>>()?,
                needed: self.params.names_needed(),
            })
        })
    }
}

/// Ranks of values and of returns of the same dates, by which values are moved to other dates.
pub struct Placements {
    /// Empty for a date that has no RankIC.
    values: Vec<Vec<f32>>,
    returns: Vec<Vec<f32>>,
    needed: usize,
}

impl Placements {
    /// Mean RankIC when the values of all dates stand `shift` dates later, those at the end at the beginning. Ranks are those among all
    /// names with a value, and all with a return, of their dates.
    pub fn mean_rank_ic(&self, shift: usize) -> f64 {
        let n = self.values.len();
        let rank_ic = |t: usize| {
            let values = &self.values[(t + n - shift % n) % n];
            if values.is_empty() { f64::NAN } else { shared_correlation(values, &self.returns[t], self.needed) }
        };
        mean((0..n).map(rank_ic))
    }
}

impl RankedValues<'_> {
    /// From the first to the last date with a value; empty without any.
    pub fn span(&self) -> Range<usize> {
        let there = |order: &RankOrder| !order.is_empty();
        let first = self.orders.iter().position(there).unwrap_or(0);
        first..self.orders.iter().rposition(there).map_or(first, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use chrono::Days;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::backtest::{Preset, run};
    use inkstone_market::Price;

    /// A market with suspensions, locks and a delisting, and a factor with ties, gaps and values known too late.
    fn world() -> (Market, Factor) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut prices = "date,code,open,close,volume\n".to_owned();
        let day = |t: u64| chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t);
        let mut last = [10.0f64; 30];
        for t in 0..40 {
            for (i, last) in last.iter_mut().enumerate().filter(|(i, _)| *i != 7 || t < 25) {
                let mut price = || {
                    *last *= 1.0 + (rng.random_range(0..9) as f64 - 4.0) / 50.0 + if i == 3 { 0.05 } else { 0.0 };
                    *last
                };
                let (open, close) = (price(), price());
                let volume = u8::from(!(t as usize * 31 + i).is_multiple_of(17));
                prices += &format!("{},6000{:02}.SH,{open},{close},{volume}\n", day(t), i + 1);
            }
        }
        let market = Market::of_text(&prices, &[]).unwrap();
        let mut factor = Factor::empty("f", &market);
        for t in (0..40).filter(|t| t % 9 != 5) {
            for i in (0..30).filter(|i| (t + i) % 4 != 0) {
                let late = (t * i) % 23 == 1;
                let known =
                    market.dates()[t + usize::from(late && t < 39)].and_hms_opt(if late { 9 } else { 14 }, 20, 0);
                factor.put(t, i, f64::from(rng.random_range(-4i32..5)) / 4.0, known.unwrap(), 1);
            }
        }
        (market, factor)
    }

    #[test]
    fn every_rank_ic_is_that_of_the_backtest_to_the_last_bit() {
        let (market, factor) = world();
        let ctx = Ctx::new(2, 1).unwrap();
        let base = Params { max_loss: 1.0, max_refused: 1.0, quantiles: 2, horizons: vec![2, 1], ..Params::default() };
        let cases = [
            base.clone(),
            Params { delay: Some(2), price: Some(Price::Close), ..base.clone() },
            Params { allow_lookahead: true, delay: Some(0), ..base.clone() },
            Params { allow_lookahead: true, delay: Some(-1), ..base.clone() },
            Params { preset: Preset::Qlib, ..base.clone() },
            Params { preset: Preset::Alphalens, ..base },
        ];
        for params in cases {
            let ranked = Ranked::new(&factor, &market, &params, &ctx).unwrap();
            let rows = ranked.rows(&factor, &ctx).unwrap();
            let series = ranked.series(&rows, &ctx).unwrap();
            let (outcome, _) = run(&factor, &market, &params, &ctx).unwrap();
            let known = &outcome.ic[0];
            assert!(known.dates.len() > 20);
            let mut expected = vec![f64::NAN; market.dates().len()];
            for (date, rank_ic) in known.dates.iter().zip(&known.rank_ic) {
                expected[market.calendar().index_of(*date).unwrap()] = *rank_ic;
            }
            let bits = |x: &[f64]| x.iter().map(|v| if v.is_nan() { 0 } else { v.to_bits() }).collect::<Vec<_>>();
            assert_eq!(bits(&series), bits(&expected), "{params:?}");
        }
    }

    #[test]
    fn shifted_values_meet_the_returns_of_their_new_date() {
        let (market, factor) = world();
        let ctx = Ctx::new(1, 1).unwrap();
        let params = Params { max_loss: 1.0, max_refused: 1.0, allow_lookahead: true, ..Params::default() };
        let ranked = Ranked::new(&factor, &market, &params, &ctx).unwrap();
        let rows = ranked.rows(&factor, &ctx).unwrap();
        assert_eq!(rows.span(), 0..40);
        let mut moved = Factor::empty("moved", &market);
        for t in 0..40 {
            for i in 0..30 {
                if let Some(known_at) = factor.known_at(t, i) {
                    moved.put((t + 3) % 40, i, factor.values.at(t, i), known_at, 1);
                }
            }
        }
        let of_moved = mean(ranked.series(&ranked.rows(&moved, &ctx).unwrap(), &ctx).unwrap().into_iter());
        let shifted = ranked.placements(&rows, 0..40, &ctx).unwrap().mean_rank_ic(3);
        // Ranks differ by the names that have a value or a return alone.
        assert!((shifted - of_moved).abs() < 0.01, "{shifted} {of_moved}");
        let none = Factor::empty("none", &market);
        assert!(ranked.rows(&none, &ctx).unwrap().span().is_empty());
    }
}
