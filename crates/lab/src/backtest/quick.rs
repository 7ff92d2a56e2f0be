//! The RankIC alone, for work that needs it hundreds of times: returns are ranked once, values once, and a draw only
//! merges them.
//!
//! The figures are those of [`crate::backtest::run`] at the first horizon, to the last bit. Names of a date that have
//! both a value and a return change with the values, so what is kept is their order; ranks among those present follow
//! by one pass.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use crate::backtest::cross::Prices;
use crate::backtest::preset::QuantileCut;
use crate::backtest::{Params, layers};
use crate::factor::Factor;
use inkstone_base::job::Ctx;
use inkstone_base::stats::pearson;
use inkstone_market::{Market, Tradability};

/// Marks a name whose value equals the value of the name before it in the order.
const TIED: u32 = 1 << 31;
/// The place of a name that is not there.
const ABSENT: u32 = u32::MAX;

impl Params {
    /// The moment at which the return of a value of date `t` begins; none where there is no day to trade on.
    pub(crate) fn trade_at(&self, market: &Market, t: usize) -> Option<NaiveDateTime> {
        self.entry(t, market.dates().len()).map(|entry| self.begins(market, entry))
    }
}

/// Numbers of names in ascending order of their number, those of equal ones marked.
type RankOrder = Vec<u32>;

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
                Some(entry) => ordered((0..width).map(|i| return_of(entry, i))),
                None => RankOrder::new(),
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
            Ok(ordered(factor.values.row(t).iter().enumerate().map(value)))
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

    /// RankIC by date when the values of the dates in `span` stand `shift` dates later, those at the end at the
    /// beginning. On one thread: draws run beside each other.
    pub fn shifted(&self, rows: &RankedValues, span: &Range<usize>, shift: usize) -> Vec<f64> {
        let mut scratch = RankScratch::new(self.market.codes().len());
        let n = span.len();
        let from = |t: usize| span.start + (t - span.start + n - shift % n) % n;
        span.clone().map(|t| self.rank_ic(rows, from(t), t, &mut scratch)).collect()
    }

    /// RankIC of the values of date `from` with the returns of date `to`.
    fn rank_ic(&self, rows: &RankedValues, from: usize, to: usize, scratch: &mut RankScratch) -> f64 {
        let (values, returns) = (&rows.orders[from], &self.days[to]);
        let RankScratch { places, x, y } = scratch;
        places.fill(ABSENT);
        values.iter().for_each(|name| places[(name & !TIED) as usize] = ABSENT - 1);
        let mut both = 0;
        for name in returns {
            let place = &mut places[(name & !TIED) as usize];
            if *place == ABSENT - 1 {
                *place = 0;
                both += 1;
            }
        }
        if both < self.params.names_needed() {
            return f64::NAN;
        }
        let mut next = 0;
        for place in places.iter_mut() {
            if *place == 0 {
                *place = next;
                next += 1;
            } else {
                *place = ABSENT;
            }
        }
        if self.params.rules().cut == QuantileCut::Values {
            let row = rows.factor.values.row(from);
            let values: Vec<f64> = (0..row.len()).filter(|&i| places[i] != ABSENT).map(|i| row[i]).collect();
            if layers::qcut(&values, self.params.quantiles).is_none() {
                return f64::NAN;
            }
        }
        ranks(values, places, both, x);
        ranks(returns, places, both, y);
        pearson(x, y)
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

/// Buffers for one date.
struct RankScratch {
    /// Place of each name among those that have a value and a return.
    places: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl RankScratch {
    fn new(width: usize) -> RankScratch {
        RankScratch { places: vec![ABSENT; width], x: Vec::new(), y: Vec::new() }
    }
}

/// The names with a number, in ascending order of it.
fn ordered(numbers: impl Iterator<Item = f64>) -> RankOrder {
    let mut there: Vec<(f64, u32)> = numbers.zip(0..).filter(|(v, _)| !v.is_nan()).collect();
    there.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let tied = |k: usize| if k > 0 && there[k].0 == there[k - 1].0 { TIED } else { 0 };
    (0..there.len()).map(|k| there[k].1 | tied(k)).collect()
}

/// Average ranks of the `n` names with a place, as [`inkstone_base::stats::average_ranks`] has them of these alone.
fn ranks(order: &[u32], places: &[u32], n: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(n, 0.0);
    let mut below = 0;
    for tied in order.chunk_by(|_, next| next & TIED != 0) {
        let there = || tied.iter().map(|name| places[(name & !TIED) as usize]).filter(|place| *place != ABSENT);
        let count = there().count();
        let rank = below as f64 + (count + 1) as f64 / 2.0;
        there().for_each(|place| out[place as usize] = rank);
        below += count;
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
        let of_moved = ranked.series(&ranked.rows(&moved, &ctx).unwrap(), &ctx).unwrap();
        let shifted = ranked.shifted(&rows, &(0..40), 3);
        for (a, b) in shifted.iter().zip(&of_moved) {
            assert!(a == b || (a.is_nan() && b.is_nan()));
        }
        let none = Factor::empty("none", &market);
        assert!(ranked.rows(&none, &ctx).unwrap().span().is_empty());
    }
}
