//! Pairing each date's values with the returns that follow, after refusing what was not known in time.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;

use crate::backtest::{ByHorizon, Params, Refusal, Weights, layers};
use crate::factor::Factor;
use inkstone_base::bail;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{ascending, mean, ranks_along, std};
use inkstone_market::{Gate, Market, Panel, Tradability};

/// The reason for which a value is refused.
const LATE: &str = "not known before the return begins";

/// Examples of refused values that are kept.
const EXAMPLES: usize = 5;

/// The values of one date that were known in time, with their returns. All lists run over the same names.
pub(super) struct Cross {
    /// Number of the factor's date.
    pub t: usize,
    /// Number of the date of the trade.
    pub entry: usize,
    /// Numbers of the codes, ascending.
    pub names: Vec<u32>,
    pub values: Vec<f64>,
    /// Places of the names by ascending value.
    pub order: Vec<u32>,
    /// Quantile from 1 (lowest), 0 for none.
    pub quantiles: Vec<u16>,
    /// Return of each name; NaN where there is none or the name could not be bought.
    pub returns: ByHorizon<Vec<f64>>,
}

impl Cross {
    /// True if a name has a return at any horizon.
    pub(super) fn has_return(&self, k: usize) -> bool {
        self.returns.values().any(|returns| !returns[k].is_nan())
    }

    /// Ranks of the values among the names that `counts` lets in, by place; NaN for all others.
    pub(super) fn ranks(&self, counts: impl Fn(usize) -> bool) -> Vec<f64> {
        ranks_along(&self.values, self.order.iter().copied().filter(|&k| counts(k as usize)))
    }

    /// Weight of a name within its layer before the weights are made to sum to 1; NaN where it is not known.
    pub(super) fn weight(&self, k: usize, market: &Market, params: &Params) -> f64 {
        match params.weights {
            Weights::Equal => 1.0,
            Weights::Cap => market.market_cap(self.t, self.names[k] as usize),
        }
    }

    /// The cross of some of the names, without their order and quantiles.
    pub(super) fn part(&self, places: &[usize]) -> Cross {
        let some = |column: &[f64]| places.iter().map(|&k| column[k]).collect::<Vec<f64>>();
        Cross {
            t: self.t,
            entry: self.entry,
            names: places.iter().map(|&k| self.names[k]).collect(),
            values: some(&self.values),
            order: Vec::new(),
            quantiles: Vec::new(),
            returns: self.returns.map(|returns| some(returns)),
        }
    }
}

/// Prices as a backtest sees them.
pub(super) struct Prices<'a> {
    market: &'a Market,
    tradability: &'a Tradability,
    /// Number of the code that is the benchmark and no name to be traded.
    pub benchmark: Option<usize>,
    /// Prices from which returns are made.
    returns: &'a Panel,
    /// True if gates are looked at.
    gated: bool,
    /// Bounds of the returns of each code; empty without bounds.
    bounds: ByHorizon<Vec<(f64, f64)>>,
}

/// Counts of values by what became of them.
#[derive(Default)]
pub(super) struct ValueCounts {
    pub values: u64,
    pub late: u64,
    /// Values that were known in time.
    pub in_time: u64,
    /// Values of the dates before the first value that was known in time: their model was fitted later. No other count has them.
    pub before_first: u64,
    pub examples: Vec<(NaiveDate, String, NaiveDateTime, NaiveDateTime)>,
    pub dropped: BTreeMap<&'static str, u64>,
    pub blocked: BTreeMap<&'static str, u64>,
    /// Returns by horizon, and those among them that end on a day without a price.
    pub ends: BTreeMap<usize, (u64, u64)>,
}

impl ValueCounts {
    fn merge(&mut self, other: ValueCounts) {
        self.values += other.values;
        self.late += other.late;
        self.in_time += other.in_time;
        self.before_first += other.before_first;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        other.dropped.into_iter().for_each(|(reason, n)| *self.dropped.entry(reason).or_default() += n);
        other.blocked.into_iter().for_each(|(reason, n)| *self.blocked.entry(reason).or_default() += n);
        for (horizon, (returns, stale)) in other.ends {
            let mine = self.ends.entry(horizon).or_default();
            (mine.0, mine.1) = (mine.0 + returns, mine.1 + stale);
        }
    }

    /// Moves the values that were known too late from all other counts to `before_first`.
    fn set_aside_late(&mut self) {
        self.dropped.remove(LATE);
        self.examples.clear();
        self.before_first = std::mem::take(&mut self.late);
        self.values -= self.before_first;
    }

    /// Fails when the alignment itself is wrong: too many values were known too late.
    pub(super) fn check_alignment(&self, params: &Params) -> Result<()> {
        if params.uses_late_values() || self.late as f64 <= params.max_refused * self.values as f64 {
            return Ok(());
        }
        let (date, code, known, begins) = &self.examples[0];
        bail!(
            "{1} 个值中有 {0} 个（{2:.1} %）在所配收益开始之前尚不可知，超过上限 {3:.1} %（[backtest] max_refused）：{code} 在 {date} 的值于 {known} 才可知，其收益始于 {begins}（delay = {4}，price = {5}）。一日的值在收盘时可知：请晚一些交易（[backtest] delay = 1），或有意查看泄露的影响（[backtest] allow_lookahead = true）",
            "{} of {} values ({:.1} %) were not known before the return they are paired with began, more than the limit of {:.1} % ([backtest] max_refused): the value of {code} on {date} was known at {known}, its return begins at {begins} (delay = {}, price = {}). Values of a date are known by its close: trade later ([backtest] delay = 1), or look at the effect of the leak on purpose ([backtest] allow_lookahead = true)",
            self.late,
            self.values,
            100.0 * self.late as f64 / self.values as f64,
            100.0 * params.max_refused,
            params.delay_days(),
            params.traded_price().name()
        );
    }

    /// The refusals, unless look-ahead was allowed.
    pub(super) fn refusal(&self, params: &Params) -> Refusal {
        if params.uses_late_values() {
            return Refusal::default();
        }
        Refusal { values: self.late, examples: self.examples.clone() }
    }
}

impl<'a> Prices<'a> {
    pub(super) fn new(
        factor: &Factor,
        market: &'a Market,
        tradability: &'a Tradability,
        params: &Params,
    ) -> Result<Prices<'a>> {
        let rules = params.rules();
        let returns = if rules.fills_prices { tradability.marks() } else { market.price(params.traded_price())? };
        let benchmark = params.check(market)?;
        let mut prices =
            Prices { market, tradability, benchmark, returns, gated: rules.gated, bounds: ByHorizon::default() };
        if let Some(outlier) = rules.outlier {
            let bounds = |&horizon: &usize| (horizon, prices.outlier_bounds(factor, params, horizon, outlier));
            prices.bounds = params.horizons.iter().map(bounds).collect();
        }
        Ok(prices)
    }

    /// Simple return of name `i` from date `from` to date `to`; NaN when there is no price at either end.
    pub(super) fn simple_return(&self, i: usize, from: usize, to: usize) -> f64 {
        if to >= self.returns.dates().len() {
            return f64::NAN;
        }
        self.returns.at(to, i) / self.returns.at(from, i) - 1.0
    }

    /// Return of a held name from date `e` to the next, at what it was worth on either.
    pub(super) fn held_return(&self, i: usize, e: usize) -> f64 {
        let (before, after) = (self.mark(e, i), self.mark(e + 1, i));
        // Nothing is left of a share whose delisting cost all.
        if before == 0.0 { 0.0 } else { after / before - 1.0 }
    }

    /// Value of a held share.
    pub(super) fn mark(&self, e: usize, i: usize) -> f64 {
        self.tradability.marks().at(e, i)
    }

    /// True if a name is delisted on a date; never without gates, which hold its last price.
    pub(super) fn delisted(&self, e: usize, i: usize) -> bool {
        self.gated && self.market.delisted(i).is_some_and(|gone| gone <= e)
    }

    /// The gate of a name; without gates, anything that has a price can be traded.
    pub(super) fn gate(&self, t: usize, i: usize) -> Gate {
        match self.gated {
            true => self.tradability.gate(t, i),
            false if self.returns.at(t, i).is_nan() => Gate::Shut,
            false => Gate::Free,
        }
    }

    /// Bounds of the returns of each name: `outlier` standard deviations around its mean.
    fn outlier_bounds(&self, factor: &Factor, params: &Params, horizon: usize, outlier: f64) -> Vec<(f64, f64)> {
        let days = self.returns.dates().len();
        let dates: Vec<usize> = (0..days).filter(|&t| factor.values.row(t).iter().any(|v| !v.is_nan())).collect();
        let bound = |i: usize| {
            let series: Vec<f64> = dates
                .iter()
                .filter_map(|&t| params.entry(t, days))
                .map(|entry| self.simple_return(i, entry, entry + horizon))
                .collect();
            let (centre, spread) = (mean(series.iter().copied()), outlier * std(&series));
            if spread.is_nan() { (f64::NEG_INFINITY, f64::INFINITY) } else { (centre - spread, centre + spread) }
        };
        (0..self.returns.codes().len()).map(bound).collect()
    }

    /// Return of a name that is bought on date `entry` and held for `horizon` days; NaN if it is out of bounds.
    pub(super) fn forward(&self, i: usize, entry: usize, horizon: usize) -> f64 {
        let value = self.simple_return(i, entry, entry + horizon);
        match self.bounds.get(horizon).map(|bounds| bounds[i]) {
            Some((low, high)) if value < low || value > high => f64::NAN,
            _ => value,
        }
    }
}

/// The crosses of all dates that have one, ascending, and the counts of values.
pub(super) fn pair(
    factor: &Factor,
    market: &Market,
    prices: &Prices,
    params: &Params,
    ctx: &Ctx,
) -> Result<(Vec<Cross>, ValueCounts)> {
    let days = market.dates().len();
    let paired: Vec<(Option<Cross>, ValueCounts)> = ctx.install(|| {
        let date = |t: usize| {
            ctx.advance(1)?;
            Ok(pair_date(factor, market, prices, params, t))
        };
        (0..days).into_par_iter().map(date).collect::<Result<_>>()
    })?;
    let mut crosses = Vec::new();
    let mut tally = ValueCounts::default();
    // Where no value at all was known in time, the alignment is wrong.
    let first = paired.iter().position(|(_, part)| part.in_time > 0).filter(|_| !params.uses_late_values());
    for (t, (cross, mut part)) in paired.into_iter().enumerate() {
        if first.is_some_and(|first| t < first) {
            part.set_aside_late();
        }
        crosses.extend(cross);
        tally.merge(part);
    }
    Ok((crosses, tally))
}

/// Reason for which a name cannot be bought; none if it can.
pub(super) fn blocked(gate: Gate) -> Option<&'static str> {
    match gate {
        Gate::Shut => Some("not traded on the day of entry"),
        Gate::LockedUp => Some("locked at the upper limit on the day of entry"),
        Gate::OnePriceUp => Some("one price all day, the upper limit, on the day of entry"),
        Gate::New => Some("listed for too few days on the day of entry"),
        Gate::Free | Gate::LockedDown | Gate::OnePriceDown => None,
    }
}

/// The cross of date `t`, if it has one, and the counts of its values.
pub(super) fn pair_date(
    factor: &Factor,
    market: &Market,
    prices: &Prices,
    params: &Params,
    t: usize,
) -> (Option<Cross>, ValueCounts) {
    let mut tally = ValueCounts::default();
    let row = factor.values.row(t);
    let there = row.iter().filter(|v| !v.is_nan()).count() as u64;
    tally.values = there;
    if there == 0 {
        return (None, tally);
    }
    let Some(entry) = params.entry(t, market.dates().len()) else {
        tally.dropped.insert("no trading day to enter on", there);
        return (None, tally);
    };
    let begins = params.begins(market, entry);
    let returns = params.horizons.iter().map(|&horizon| (horizon, Vec::new())).collect();
    let mut cross = Cross { t, entry, names: vec![], values: vec![], order: vec![], quantiles: vec![], returns };
    let mut unused = 0;
    let mut ends = vec![(0, 0); params.horizons.len()];
    let mut returns = vec![f64::NAN; params.horizons.len()];
    let drop = |tally: &mut ValueCounts, reason| *tally.dropped.entry(reason).or_default() += 1;
    for (i, &value) in row.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
        if prices.benchmark == Some(i) {
            drop(&mut tally, "value of the benchmark");
            continue;
        }
        let known_at = factor.known_at(t, i);
        if known_at.is_none_or(|known_at| known_at >= begins) {
            tally.late += 1;
            if tally.examples.len() < EXAMPLES {
                let code = market.codes()[i].to_string();
                tally.examples.push((market.dates()[t], code, known_at.unwrap_or(begins), begins));
            }
            if !params.uses_late_values() {
                drop(&mut tally, LATE);
                continue;
            }
        } else {
            tally.in_time += 1;
        }
        let gate = prices.gate(entry, i);
        for (r, &horizon) in returns.iter_mut().zip(&params.horizons) {
            *r = if gate.can_buy() { prices.forward(i, entry, horizon) } else { f64::NAN };
        }
        let whole_rows = params.rules().whole_rows;
        let lost = match whole_rows {
            true => returns.iter().any(|r| r.is_nan()),
            false => returns.iter().all(|r| r.is_nan()),
        };
        if lost {
            let blocked = blocked(gate);
            if let Some(blocked) = blocked {
                *tally.blocked.entry(blocked).or_default() += 1;
            }
            drop(&mut tally, blocked.unwrap_or("no later price at a horizon"));
            if whole_rows {
                continue;
            }
            unused += 1;
        }
        for ((ends, &horizon), _) in ends.iter_mut().zip(&params.horizons).zip(&returns).filter(|(_, r)| !r.is_nan()) {
            *ends = (ends.0 + 1, ends.1 + u64::from(prices.gate(entry + horizon, i) == Gate::Shut));
        }
        cross.names.push(i as u32);
        cross.values.push(value);
        cross.returns.values_mut().zip(&returns).for_each(|(column, &r)| column.push(r));
    }
    let with_returns = params.horizons.iter().copied().zip(ends).filter(|(_, (returns, _))| *returns > 0);
    tally.ends = with_returns.collect();
    let usable = cross.names.len() - unused;
    if usable == 0 {
        return (None, tally);
    }
    if usable < params.names_needed() {
        tally.dropped.insert("date with too few names", usable as u64);
        return (None, tally);
    }
    cross.order = ascending(cross.values.iter().copied());
    match layers::assign(&cross, market, params) {
        Some(quantiles) => cross.quantiles = quantiles,
        None => {
            tally.dropped.insert("date whose quantiles have no distinct edges", usable as u64);
            return (None, tally);
        }
    }
    (Some(cross), tally)
}
