//! Daily books: the quantiles, the two legs and the portfolio of both, all names by their value, the best names; with costs,
//! figures, and what they are compared with.
//!
//! At each rebalancing the names of a quantile get equal weights, or weights by capitalisation. A name that cannot be traded
//! keeps its weight, and what remains of the capital is shared by the others. A position bought at the price of day `e`
//! earns from that price to the same price of day `e + 1`, so the day of the purchase and the day of a sale differ (T+1). The
//! short leg is notional: it borrows freely, but opens no position at the lower limit and closes none at the upper.
//! Each leg is kept at one unit of capital; moving capital between the legs is not charged.
//!
//! A holding that is delisted keeps its last price, takes the return that is assumed of it once, and is cash from the next
//! rebalancing on. With a capital in CNY orders are rounded down to lots; the capital grows with the returns before costs.

mod book;
mod capacity;
mod figures;
mod lots;
mod orders;
#[cfg(test)]
mod parity;
mod topk;

use std::collections::BTreeMap;

use chrono::NaiveDate;
use rayon::prelude::*;

use self::book::{Content, Floor, Track};
pub(crate) use self::figures::figures;
use self::figures::{by_year, wealth};
use self::orders::Side;
use crate::backtest::cross::{Cross, Prices};
use crate::backtest::params::{NO_BENCHMARK, UNIVERSE};
use crate::backtest::{Benchmark, Capacity, Execution, Layers, LongShort, Params, Portfolio};
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{Gate, Market};

/// Results of all books.
pub(super) struct Books {
    pub long_short: LongShort,
    pub portfolios: Vec<Portfolio>,
    pub benchmark: Option<Benchmark>,
    pub capacity: Capacity,
    pub execution: Execution,
    /// Orders that were not filled, by book and reason.
    pub untradable: BTreeMap<String, u64>,
}

/// Runs all books, and fills in the wealth curves of the layers.
pub(super) fn run(
    crosses: &[Cross],
    market: &Market,
    prices: &Prices,
    params: &Params,
    layers: &mut Layers,
    ctx: &Ctx,
) -> Books {
    let top = params.quantiles as u16;
    let has = |cross: &&Cross, q: u16| cross.quantiles.contains(&q);
    let first = crosses.iter().find(|c| has(c, top) && has(c, 1)).map(|c| c.entry);
    // Without a date that has both ends there is no day to hold anything on.
    let span = first.map_or(0..0, |first| {
        let last_entry = crosses.last().map_or(first, |c| c.entry);
        first..(last_entry + params.rebalance).min(market.dates().len() - 1)
    });
    let dates: Vec<NaiveDate> = span.clone().map(|e| market.dates()[e + 1]).collect();
    let floor = Floor { crosses, market, prices, params, span };

    let mut plan = vec![(Content::Quantile(1), Side::Short)];
    plan.extend((1..=top).map(|q| (Content::Quantile(q), Side::Long)));
    plan.push((Content::Factor, Side::Long));
    plan.extend((params.top > 0).then_some((Content::Top, Side::Long)));
    let tracks: Vec<Track> =
        ctx.install(|| plan.par_iter().map(|&(content, side)| floor.simulate(content, side)).collect());
    let quantiles = &tracks[1..=params.quantiles];
    let (short, long, weighted) = (&tracks[0], &quantiles[params.quantiles - 1], &tracks[params.quantiles + 1]);

    layers.dates.clone_from(&dates);
    layers.wealth = quantiles.iter().map(|track| wealth(&track.returns)).collect();
    let long_short = long_short(&dates, long, short, params);
    let benchmark = benchmark(&floor, &dates, ctx);
    let assemble = |name: &str, track: &Track, side: Side, exposure: f64| {
        let sign = if side == Side::Short { -1.0 } else { 1.0 };
        let gross = track.returns.iter().map(|r| sign * r).collect();
        portfolio(name, &dates, gross, track, benchmark.as_ref().map(|b| (b, exposure)), params)
    };
    let mut portfolios = vec![
        assemble("long", long, Side::Long, 1.0),
        assemble("short", short, Side::Short, -1.0),
        assemble("factor_weighted", weighted, Side::Long, 0.0),
    ];
    let mut untradable = BTreeMap::new();
    let mut note = |book: &str, track: &Track| {
        track.blocked.0.iter().for_each(|(reason, n)| {
            untradable.insert(format!("{book}: {reason}"), *n);
        });
    };
    note("long leg", long);
    note("short leg", short);
    if let Some(track) = tracks.get(params.quantiles + 2) {
        let name = format!("top_{}", params.top);
        portfolios.push(assemble(&name, track, Side::Long, 1.0));
        note(&name, track);
    }
    Books {
        capacity: capacity::capacity([&long.room, &short.room], params),
        execution: execution([long, short], params),
        long_short,
        portfolios,
        benchmark,
        untradable,
    }
}

fn long_short(dates: &[NaiveDate], long: &Track, short: &Track, params: &Params) -> LongShort {
    let both =
        |a: &[f64], b: &[f64], f: fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
    let gross = both(&long.returns, &short.returns, |l, s| l - s);
    let cost = both(&long.cost, &short.cost, |l, s| l + s);
    let net = both(&gross, &cost, |g, c| g - c);
    LongShort {
        turnover: both(&long.turnover, &short.turnover, |l, s| (l + s) / 2.0),
        total: figures(&net, params),
        by_year: by_year(dates, &net, params),
        long: long.returns.clone(),
        short: short.returns.iter().map(|r| -r).collect(),
        dates: dates.to_vec(),
        gross,
        net,
        cost,
    }
}

/// A book with its figures; its excess is what it earned beyond `exposure` times the benchmark, none for an exposure of 0.
fn portfolio(
    name: &str,
    dates: &[NaiveDate],
    gross: Vec<f64>,
    track: &Track,
    benchmark: Option<(&Benchmark, f64)>,
    params: &Params,
) -> Portfolio {
    let net: Vec<f64> = gross.iter().zip(&track.cost).map(|(gross, cost)| gross - cost).collect();
    let excess: Option<Vec<f64>> = benchmark
        .filter(|(_, exposure)| *exposure != 0.0)
        .map(|(benchmark, exposure)| net.iter().zip(&benchmark.returns).map(|(r, b)| r - exposure * b).collect());
    Portfolio {
        name: name.to_owned(),
        dates: dates.to_vec(),
        total: figures(&net, params),
        by_year: by_year(dates, &net, params),
        excess_total: excess.as_ref().map(|excess| figures(excess, params)),
        excess: excess.unwrap_or_default(),
        turnover: track.turnover.clone(),
        gross,
        net,
    }
}

/// The benchmark over the days of the books.
fn benchmark(floor: &Floor, dates: &[NaiveDate], ctx: &Ctx) -> Option<Benchmark> {
    let Floor { market, prices, params, span, .. } = floor;
    let (name, returns) = match prices.benchmark {
        Some(i) => {
            (market.codes()[i].to_string(), span.clone().map(|e| prices.held_return(i, e)).collect::<Vec<f64>>())
        }
        None if params.benchmark == NO_BENCHMARK => return None,
        None => {
            let day = |e: usize| {
                let traded = (0..market.codes().len()).filter(|&i| prices.gate(e, i) != Gate::Shut);
                mean(traded.map(|i| prices.held_return(i, e)))
            };
            (UNIVERSE.to_owned(), ctx.install(|| span.clone().into_par_iter().map(day).collect()))
        }
    };
    Some(Benchmark { name, dates: dates.to_vec(), total: figures(&returns, params), returns })
}

/// Orders of both legs, and how many were filled.
fn execution(legs: [&Track; 2], params: &Params) -> Execution {
    let sum = |count: fn(&Track) -> u64| legs.iter().map(|track| count(track)).sum::<u64>();
    let filled = sum(|track| track.filled);
    Execution {
        orders: filled + sum(|track| track.blocked.0.values().sum()),
        filled,
        delisted: sum(|track| track.delisted),
        delisting_return: params.delisting_return,
        capital: (params.capital > 0.0).then_some(params.capital),
        idle: mean(legs.iter().flat_map(|track| track.idle.iter().copied())),
    }
}
