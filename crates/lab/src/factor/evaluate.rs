//! Evaluation of a plan over the days of a market.
//!
//! Every number keeps the time at which it was known: that of a price at the close (of an opening price at 09:30), that of a look-back its
//! latest, that of a rank among the names of a date the latest of them all. A number that stands for "nothing was published"
//! (`fill`) is known when the day can bring no more.

use anyhow::Result;
use rayon::prelude::*;

use super::combine::combine;
use super::expression::Function;
use super::graph::{GraphTies, spread};
use super::grid::{DayGrid, seconds};
use super::plan::{DayNode, MarketField, RollingWindow};
use super::{Aggregate, Factor, LookbackUnit, aggregate, process};
use inkstone_base::job::Ctx;
use inkstone_market::{AUCTION, CLOSE, Cutoff, Market, OPEN, Price};

/// The inputs that nodes of a plan refer to.
pub(super) struct World<'a> {
    pub(super) market: &'a Market,
    pub(super) cutoff: Cutoff,
    /// Aggregated documents, by reading of the plan.
    pub(super) readings: &'a [DayGrid],
    pub(super) factors: &'a [&'a Factor],
    /// The graphs of the plan.
    pub(super) graphs: &'a GraphTies,
}

/// A number for all cells, or one for each.
enum Computed {
    Number(f64),
    Grid(DayGrid),
}

pub(super) fn evaluate(node: &DayNode, world: &World<'_>, ctx: &Ctx) -> Result<DayGrid> {
    Ok(match compute(node, world, ctx)? {
        Computed::Grid(grid) => grid,
        // A bare number is one for every name that traded, known when it is known that it did.
        Computed::Number(number) => world.filled(DayGrid::empty(world.market), number),
    })
}

fn compute(node: &DayNode, world: &World<'_>, ctx: &Ctx) -> Result<Computed> {
    ctx.check()?;
    let grid = |node: &DayNode| evaluate(node, world, ctx);
    Ok(Computed::Grid(match node {
        DayNode::Number(number) => return Ok(Computed::Number(*number)),
        DayNode::Documents(reading) => world.readings[*reading].clone(),
        DayNode::Market(field) => world.of_market(*field)?,
        DayNode::Factor(number) => world.of_factor(world.factors[*number]),
        DayNode::Binary(op, left, right) => match (compute(left, world, ctx)?, compute(right, world, ctx)?) {
            (Computed::Number(left), Computed::Number(right)) => return Ok(Computed::Number(op.apply(left, right))),
            (Computed::Grid(left), Computed::Number(right)) => left.map(|left| op.apply(left, right)),
            (Computed::Number(left), Computed::Grid(right)) => right.map(|right| op.apply(left, right)),
            (Computed::Grid(left), Computed::Grid(right)) => left.join(&right, |left, right| op.apply(left, right)),
        },
        DayNode::Single(function, inner) => grid(inner)?.map(|value| function.apply(value)),
        DayNode::Clip(inner, low, high) => grid(inner)?.map(|value| value.clamp(*low, *high)),
        DayNode::Rolling(aggregate, window, inner) => rolling(&grid(inner)?, *aggregate, *window, world, ctx)?,
        DayNode::Lag(days, inner) => lag(&grid(inner)?, *days, world.market),
        DayNode::Across(function, inner) => across(grid(inner)?, *function, ctx)?,
        DayNode::Residual(inner, on) => {
            let on: Vec<DayGrid> = on.iter().map(grid).collect::<Result<_>>()?;
            residual(grid(inner)?, &on, ctx)?
        }
        DayNode::Fill(number, inner) => world.filled(grid(inner)?, *number),
        DayNode::Combine(rule, numbers) => {
            combine(numbers.iter().map(grid).collect::<Result<_>>()?, *rule, world.market, ctx)?
        }
        DayNode::Spread(graph, inner) => spread(&grid(inner)?, &world.graphs.0[*graph], world.market, ctx)?,
    }))
}

impl World<'_> {
    fn of_market(&self, field: MarketField) -> Result<DayGrid> {
        let market = self.market;
        let price = |price| market.price(price);
        let (panel, time) = match field {
            MarketField::Open => (Some(price(Price::Open)?), OPEN),
            MarketField::Close => (Some(price(Price::Close)?), CLOSE),
            MarketField::Vwap => (Some(price(Price::Vwap)?), CLOSE),
            MarketField::Volume | MarketField::Cap => (None, CLOSE),
        };
        let mut grid = DayGrid::empty(market);
        for t in 0..grid.days() {
            let known = seconds(market.dates()[t], time);
            for i in 0..grid.width {
                let value = match (panel, field) {
                    (Some(panel), _) => panel.at(t, i),
                    (None, MarketField::Volume) => market.volume(t, i),
                    (None, _) => market.market_cap(t, i),
                };
                (grid.values[t * grid.width + i], grid.known[t * grid.width + i]) = (value, known);
            }
        }
        Ok(grid)
    }

    fn of_factor(&self, factor: &Factor) -> DayGrid {
        let mut grid = DayGrid::empty(self.market);
        for t in 0..grid.days() {
            for i in 0..grid.width {
                let cell = t * grid.width + i;
                grid.values[cell] = factor.values.at(t, i);
                if let Some(known_at) = factor.known_at(t, i) {
                    grid.known[cell] = known_at.and_utc().timestamp();
                    grid.documents[cell] = factor.documents(t, i);
                }
            }
        }
        grid
    }

    /// A number for the names that traded and have none.
    fn filled(&self, mut grid: DayGrid, number: f64) -> DayGrid {
        for t in 0..grid.days() {
            let known = day_is_over(self.market, self.cutoff, t);
            for i in 0..grid.width {
                let cell = t * grid.width + i;
                if grid.values[cell].is_nan() && self.market.traded(t, i) {
                    (grid.values[cell], grid.known[cell], grid.documents[cell]) = (number, known, 0);
                }
            }
        }
        grid
    }
}

/// The time from which nothing more can be published for a date, and it is known which names traded on it.
pub(super) fn day_is_over(market: &Market, cutoff: Cutoff, t: usize) -> i64 {
    let dates = market.dates();
    match cutoff {
        Cutoff::Close => seconds(dates[t], CLOSE),
        Cutoff::NextOpen => match dates.get(t + 1) {
            Some(next) => seconds(*next, AUCTION) - 1,
            None => seconds(dates[t].succ_opt().unwrap_or(dates[t]), AUCTION) - 1,
        },
    }
}

/// Aggregate of the days of a look-back that have a number, from the first to the last day of each name's life.
fn rolling(
    grid: &DayGrid,
    aggregate: Aggregate,
    window: RollingWindow,
    world: &World<'_>,
    ctx: &Ctx,
) -> Result<DayGrid> {
    let market = world.market;
    let dates = market.dates();
    let mut made = DayGrid::empty(market);
    let width = made.width;
    let rows: Vec<Vec<(f64, i64, u32)>> = ctx.install(|| {
        let row = |t: usize| {
            ctx.check()?;
            let age = |s: usize| match window.unit {
                LookbackUnit::Trading => t - s,
                LookbackUnit::Natural => (dates[t] - dates[s]).num_days() as usize,
            };
            let days: Vec<(usize, f64)> = (0..=t)
                .rev()
                .take_while(|&s| age(s) < window.days)
                .map(|s| (s, aggregate::weight_of_age(window.decay, age(s), window.days)))
                .collect();
            let mut seen = Vec::with_capacity(days.len());
            Ok((0..width)
                .map(|i| {
                    seen.clear();
                    let (mut known, mut documents) = (i64::MIN, 0);
                    if market.lives(t, i) {
                        for &(s, weight) in days.iter().rev() {
                            let cell = s * width + i;
                            if !grid.values[cell].is_nan() {
                                seen.push((grid.values[cell], weight));
                                (known, documents) = (known.max(grid.known[cell]), documents.max(grid.documents[cell]));
                            }
                        }
                    }
                    (aggregate::combine(aggregate, &seen), known, documents)
                })
                .collect())
        };
        (0..dates.len()).into_par_iter().map(row).collect::<Result<_>>()
    })?;
    for (cell, (value, known, documents)) in rows.into_iter().flatten().enumerate() {
        (made.values[cell], made.known[cell], made.documents[cell]) = (value, known, documents);
    }
    Ok(made)
}

fn lag(grid: &DayGrid, days: usize, market: &Market) -> DayGrid {
    let mut made = DayGrid::empty(market);
    let shift = days * grid.width;
    for cell in shift..grid.values.len() {
        if market.lives(cell / grid.width, cell % grid.width) {
            made.values[cell] = grid.values[cell - shift];
            (made.known[cell], made.documents[cell]) = (grid.known[cell - shift], grid.documents[cell - shift]);
        }
    }
    made
}

/// Each date's names set against one another.
fn across(mut grid: DayGrid, function: Function, ctx: &Ctx) -> Result<DayGrid> {
    by_date(&mut grid, ctx, |row, _| {
        let names: Vec<usize> = (0..row.len()).filter(|&i| row[i].is_finite()).collect();
        let mut x: Vec<f64> = names.iter().map(|&i| row[i]).collect();
        match function {
            Function::Rank => process::standardise(&mut x, super::Standardise::Rank),
            Function::Zscore => process::standardise(&mut x, super::Standardise::Zscore { ddof: 1 }),
            _ => {
                process::residuals(&mut x, &vec![None; names.len()], &[]);
            }
        }
        names.into_iter().zip(x).collect()
    })?;
    Ok(grid)
}

/// Residuals of least squares with an intercept over each date's names.
fn residual(mut grid: DayGrid, on: &[DayGrid], ctx: &Ctx) -> Result<DayGrid> {
    for other in on {
        grid = grid.join(other, |value, other| if other.is_finite() { value } else { f64::NAN });
    }
    by_date(&mut grid, ctx, |row, t| {
        let names: Vec<usize> = (0..row.len()).filter(|&i| row[i].is_finite()).collect();
        let mut x: Vec<f64> = names.iter().map(|&i| row[i]).collect();
        let on: Vec<Vec<f64>> = on.iter().map(|grid| names.iter().map(|&i| grid.row(t)[i]).collect()).collect();
        process::residuals(&mut x, &vec![None; names.len()], &on);
        names.into_iter().zip(x).collect()
    })?;
    Ok(grid)
}

/// Replaces the numbers of each date, which then are known when the last of them is.
fn by_date(grid: &mut DayGrid, ctx: &Ctx, replace: impl Fn(&[f64], usize) -> Vec<(usize, f64)> + Sync) -> Result<()> {
    let rows: Vec<Vec<(usize, f64)>> = ctx.install(|| {
        let row = |t: usize| {
            ctx.check()?;
            Ok(replace(grid.row(t), t))
        };
        (0..grid.days()).into_par_iter().map(row).collect::<Result<_>>()
    })?;
    for (t, row) in rows.into_iter().enumerate() {
        let latest = grid.latest(t, |_| true);
        let cells = t * grid.width..(t + 1) * grid.width;
        grid.values[cells.clone()].fill(f64::NAN);
        grid.known[cells].fill(latest);
        for (i, value) in row {
            grid.values[t * grid.width + i] = value;
        }
    }
    Ok(())
}
