//! Daily portfolios of the quantiles: orders that are filled or not, weights that drift, costs, and the figures.
//!
//! At each rebalancing the names of a quantile get equal weights. A name that cannot be traded keeps its weight, and what
//! remains of the capital is shared equally by the others. A position bought at the price of day `e` earns from that price to
//! the same price of day `e + 1`, so the day of the purchase and the day of a sale differ (T+1). Lots of 100 shares are not
//! modelled. The short leg is notional: it borrows freely, but opens no position at the lower limit and closes none at the
//! upper. Each leg is kept at one unit of capital; moving capital between the legs is not charged.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate};
use rayon::prelude::*;

use crate::backtest::cross::{Cross, Prices};
use crate::backtest::{Layers, LongShort, Params, PortfolioFigures, YearFigures};
use crate::job::Ctx;
use crate::market::{Gate, Market};
use crate::stats::{mean, std};

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Long,
    Short,
}

impl Side {
    fn can_enter(self, gate: Gate) -> bool {
        if self == Side::Long { gate.can_buy() } else { gate.can_sell() }
    }

    fn can_leave(self, gate: Gate) -> bool {
        if self == Side::Long { gate.can_sell() } else { gate.can_buy() }
    }
}

/// A book day by day: `[days]` from the first entry on.
#[derive(Default)]
struct Track {
    returns: Vec<f64>,
    turnover: Vec<f64>,
    cost: Vec<f64>,
    blocked: BTreeMap<&'static str, u64>,
}

/// Runs the books of all quantiles and of the short leg, and fills in wealth curves and the long-short portfolio. Gives the
/// orders that were not filled, by reason.
pub(super) fn run(
    crosses: &[Cross],
    market: &Market,
    prices: &Prices,
    params: &Params,
    layers: &mut Layers,
    ctx: &Ctx,
) -> (LongShort, BTreeMap<String, u64>) {
    let top = params.quantiles as u16;
    let has = |cross: &&Cross, q: u16| cross.quantiles.contains(&q);
    let Some(first) = crosses.iter().find(|c| has(c, top) && has(c, 1)).map(|c| c.entry) else {
        return (LongShort { total: figures(&[], 1.0), ..LongShort::default() }, BTreeMap::new());
    };
    let last_entry = crosses.last().map_or(first, |c| c.entry);
    let end = (last_entry + params.rebalance).min(market.dates().len() - 1);
    let span = first..end;

    let books: Vec<(u16, Side)> = (1..=top).map(|q| (q, Side::Long)).chain(std::iter::once((1, Side::Short))).collect();
    let mut tracks: Vec<Track> = ctx.install(|| {
        books.par_iter().map(|&(q, side)| simulate(crosses, q, side, span.clone(), prices, params)).collect()
    });
    let dates: Vec<NaiveDate> = span.map(|e| market.dates()[e + 1]).collect();

    let short = tracks.pop().unwrap_or_default();
    layers.dates = dates.clone();
    layers.wealth = tracks.iter().map(|track| wealth(&track.returns)).collect();
    let long = tracks.pop().unwrap_or_default();

    let both =
        |a: &[f64], b: &[f64], f: fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
    let gross = both(&long.returns, &short.returns, |l, s| l - s);
    let cost = both(&long.cost, &short.cost, |l, s| l + s);
    let net = both(&gross, &cost, |g, c| g - c);
    let per_year = f64::from(params.days_per_year);
    let mut by_year: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    dates.iter().zip(&net).for_each(|(date, r)| by_year.entry(date.year()).or_default().push(*r));
    let mut blocked = BTreeMap::new();
    for (leg, track) in [("long leg", &long), ("short leg", &short)] {
        track.blocked.iter().for_each(|(reason, n)| {
            blocked.insert(format!("{leg}: {reason}"), *n);
        });
    }
    let long_short = LongShort {
        turnover: both(&long.turnover, &short.turnover, |l, s| (l + s) / 2.0),
        total: figures(&net, per_year),
        by_year: by_year.into_iter().map(|(year, r)| YearFigures { year, figures: figures(&r, per_year) }).collect(),
        long: long.returns,
        short: short.returns.iter().map(|r| -r).collect(),
        dates,
        gross,
        net,
        cost,
    };
    (long_short, blocked)
}

fn simulate(
    crosses: &[Cross],
    quantile: u16,
    side: Side,
    span: std::ops::Range<usize>,
    prices: &Prices,
    params: &Params,
) -> Track {
    let mut track = Track::default();
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    let mut next = crosses.iter().skip_while(|c| c.entry < span.start).peekable();
    let mut due = span.start;
    for e in span.clone() {
        let cross = next.next_if(|c| c.entry == e);
        let (mut bought, mut sold) = (0.0, 0.0);
        // A day without values puts the rebalancing off to the next day that has some.
        if let Some(cross) = cross.filter(|_| e >= due) {
            due = e + params.rebalance;
            let members = cross.names.iter().zip(&cross.quantiles).filter(|(_, q)| **q == quantile).map(|(i, _)| *i);
            let target: Vec<u32> = members.collect();
            (bought, sold) = rebalance(&mut weights, &target, side, |i| prices.gate(e, i as usize), &mut track.blocked);
        }
        // Selling costs more than buying (stamp duty), and a short position is opened by a sale.
        let (buys, sells) = if side == Side::Long { (bought, sold) } else { (sold, bought) };
        track.cost.push((buys * params.open_bps + sells * params.close_bps) * 1e-4);
        track.turnover.push((bought + sold) / 2.0);
        track.returns.push(drift(&mut weights, |i| prices.held_return(i as usize, e)));
    }
    track
}

/// Moves a book towards equal weights of `target`; gives the weight that entered and the weight that left.
fn rebalance(
    weights: &mut BTreeMap<u32, f64>,
    target: &[u32],
    side: Side,
    gate: impl Fn(u32) -> Gate,
    blocked: &mut BTreeMap<&'static str, u64>,
) -> (f64, f64) {
    let mut block = |reason| *blocked.entry(reason).or_default() += 1;
    let mut after: BTreeMap<u32, f64> = BTreeMap::new();
    let mut open: Vec<u32> = Vec::with_capacity(target.len());
    for (&i, &weight) in weights.iter().filter(|(i, _)| target.binary_search(i).is_err()) {
        if !side.can_leave(gate(i)) {
            block("could not be left");
            after.insert(i, weight);
        }
    }
    for &i in target {
        match (gate(i), weights.get(&i)) {
            (Gate::Free, _) => open.push(i),
            (_, Some(&weight)) => {
                after.insert(i, weight);
            }
            (gate, None) if side.can_enter(gate) => open.push(i),
            (_, None) => block("could not be entered"),
        }
    }
    let stuck: f64 = after.values().sum();
    let share = (1.0 - stuck).max(0.0) / open.len() as f64;
    after.extend(open.into_iter().map(|i| (i, share)));

    let (mut entered, mut left) = (0.0, 0.0);
    for (i, weight) in &after {
        let change = weight - weights.get(i).unwrap_or(&0.0);
        if change > 0.0 { entered += change } else { left -= change }
    }
    left += weights.iter().filter(|(i, _)| !after.contains_key(i)).map(|(_, weight)| weight).sum::<f64>();
    *weights = after;
    (entered, left)
}

/// The return of a book over a day, whose weights then drift with the prices.
fn drift(weights: &mut BTreeMap<u32, f64>, one_day: impl Fn(u32) -> f64) -> f64 {
    let total: f64 = weights.iter().map(|(i, weight)| weight * one_day(*i)).sum();
    for (i, weight) in weights.iter_mut() {
        *weight *= (1.0 + one_day(*i)) / (1.0 + total);
    }
    total
}

fn wealth(returns: &[f64]) -> Vec<f64> {
    let step = |wealth: &mut f64, r: &f64| {
        *wealth *= 1.0 + r;
        Some(*wealth)
    };
    returns.iter().scan(1.0, step).collect()
}

/// Risk and return of a daily series.
pub(super) fn figures(returns: &[f64], per_year: f64) -> PortfolioFigures {
    if returns.is_empty() {
        let none = f64::NAN;
        return PortfolioFigures {
            annual_return: none,
            volatility: none,
            sharpe: none,
            max_drawdown: none,
            calmar: none,
            hit_rate: none,
        };
    }
    let n = returns.len() as f64;
    let curve = wealth(returns);
    let (mut peak, mut max_drawdown) = (1.0_f64, 0.0_f64);
    for &value in &curve {
        peak = peak.max(value);
        max_drawdown = max_drawdown.min(value / peak - 1.0);
    }
    let annual_return = curve[curve.len() - 1].powf(per_year / n) - 1.0;
    let deviation = std(returns);
    PortfolioFigures {
        annual_return,
        volatility: deviation * per_year.sqrt(),
        sharpe: mean(returns.iter().copied()) / deviation * per_year.sqrt(),
        max_drawdown,
        calmar: if max_drawdown < 0.0 { annual_return / -max_drawdown } else { f64::NAN },
        hit_rate: returns.iter().filter(|r| **r > 0.0).count() as f64 / n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_equal_those_by_hand() {
        let f = figures(&[0.1, -0.5, 0.2], 3.0);
        assert!((f.annual_return - (1.1 * 0.5 * 1.2 - 1.0)).abs() < 1e-15);
        assert!((f.max_drawdown + 0.5).abs() < 1e-15 && (f.hit_rate - 2.0 / 3.0).abs() < 1e-15);
        let deviation =
            (((0.1_f64 + 0.2 / 3.0).powi(2) + (-0.5_f64 + 0.2 / 3.0).powi(2) + (0.2_f64 + 0.2 / 3.0).powi(2)) / 2.0)
                .sqrt();
        assert!((f.volatility - deviation * 3.0_f64.sqrt()).abs() < 1e-15);
        assert!((f.calmar - f.annual_return / 0.5).abs() < 1e-15);
    }

    #[test]
    fn what_cannot_be_traded_keeps_its_weight_and_the_rest_is_shared() {
        let mut blocked = BTreeMap::new();
        let mut weights = BTreeMap::from([(1, 0.3), (2, 0.5), (3, 0.2)]);
        // 1 is locked down and cannot be sold, 2 is sold, 3 stays, 4 is locked up and cannot be bought, 5 is bought.
        let gate = |i| match i {
            1 => Gate::LockedDown,
            4 => Gate::LockedUp,
            _ => Gate::Free,
        };
        let (bought, sold) = rebalance(&mut weights, &[3, 4, 5], Side::Long, gate, &mut blocked);
        assert_eq!(weights, BTreeMap::from([(1, 0.3), (3, 0.35), (5, 0.35)]));
        assert!((bought - 0.5).abs() < 1e-15 && (sold - 0.5).abs() < 1e-15);
        assert_eq!(blocked, BTreeMap::from([("could not be entered", 1), ("could not be left", 1)]));
        // The short leg may open at the upper limit and close at the lower.
        let mut weights = BTreeMap::from([(1, 1.0)]);
        rebalance(&mut weights, &[4], Side::Short, gate, &mut blocked);
        assert_eq!(weights, BTreeMap::from([(4, 1.0)]));
    }

    #[test]
    fn weights_drift_with_prices() {
        let mut weights = BTreeMap::from([(1, 0.5), (2, 0.5)]);
        let total = drift(&mut weights, |i| if i == 1 { 0.2 } else { 0.0 });
        assert!((total - 0.1).abs() < 1e-15 && (weights[&1] - 0.6 / 1.1).abs() < 1e-15);
    }
}
