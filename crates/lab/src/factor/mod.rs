//! From scores of documents to a factor: one value per date and code, with the time at which it was known.
//!
//! A factor is an [`Expression`] over columns of features, prices and other factors. Documents fall on trading dates by
//! [`inkstone_market::Calendar::trade_date`]; a cell takes those of its look-back, weighs them by age and aggregates them. Then each
//! date's cross-section is winsorised, filled, neutralised and standardised, in this order, each step if asked for. No news is
//! NaN, never 0, unless it is filled. A processed value was scaled by all values of its date, so it counts as known when the last of
//! them was.
//!
//! Useful for: any number per document. Not for: pairing it with returns (that is `backtest`).

mod aggregate;
mod combine;
mod control;
mod evaluate;
mod events;
mod expression;
mod gate;
mod graph;
mod grid;
mod history;
mod params;
#[cfg(test)]
mod parity;
mod plan;
mod process;
mod rules;
mod signals;
mod table;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

pub use control::Control;
pub use expression::{DocumentField, DocumentNode, EventField, Expression, Function};
pub use gate::Within;
pub use graph::{GraphInputs, GraphTies};
pub use history::{Cause, History, HistoryFiles, RevisedValue, TableRun, revised_values, write_table};
pub use params::Params;
pub use plan::{Plan, Reading, check_feature_name};
pub(crate) use process::{NOTHING_LEFT, residuals};
pub use rules::{Aggregate, Decay, Fill, Gaps, LookbackUnit, Standardise, Winsorise};
pub use signals::{signals_from_frame, signals_to_frame};
pub use table::Factor;
pub use trace::{
    Contribution, ReadingTrace, TracedCell, TracedDate, TracedDay, TracedDocument, TracedName, TracedNeighbour,
};

#[cfg(test)]
pub(crate) use graph::{SPREAD, SpillOver};

use evaluate::{World, day_is_over, evaluate};
use grid::{DayGrid, seconds};
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_market::{CLOSE, CompanyEvent, Cutoff, Market};
use plan::DayNode;

/// Value of one document for one security in one reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Number of the code in the market.
    pub code: u32,
    /// Number of the trading date that the document belongs to.
    pub date: u32,
    /// Known-at time: the latest of the publication and of the data that the model was fitted on.
    pub known_at: NaiveDateTime,
    pub value: f64,
    pub weight: f64,
    /// True if the document is the first of its story and no repeat.
    pub first: bool,
    /// Number of the document in the corpus.
    pub document: u32,
    /// Number of the reading of the plan that took it, from 0 in the order of the expression.
    pub reading: u32,
}

impl Signal {
    /// A signal of the first document of a story in the first reading, with weight 1.
    #[cfg(test)]
    pub fn of(code: u32, date: u32, known_at: NaiveDateTime, value: f64) -> Signal {
        Signal { code, date, known_at, value, weight: 1.0, first: true, document: 0, reading: 0 }
    }
}

/// Inputs of a factor.
pub struct Inputs<'a> {
    /// Dates, codes, prices and dated facts.
    pub market: &'a Market,
    pub cutoff: Cutoff,
    /// The signals of all readings of the plan, in any order.
    pub signals: &'a [Signal],
    /// The plan's factors, in its order.
    pub factors: &'a [&'a Factor],
    pub graphs: GraphInputs<'a>,
    /// Events of tables; those of documents are signals.
    pub events: &'a [CompanyEvent],
}

/// Fails if the market lacks what a factor is neutralised by.
fn check_controls(params: &Params, market: &Market) -> Result<()> {
    let name = &params.name;
    if params.neutralise.contains(&Control::Industry) && market.industries().is_empty() {
        bail!(TooLittle(message!(
            "因子 {name:?}：neutralise 需要行业，但没有证券表给出行业；请添加 industry 列，或从 neutralise 去掉 industry",
            "factor {name:?}: neutralise needs industries, but no table of securities gives any; add the column industry to one, or take industry out of neutralise"
        )));
    }
    if params.neutralise.contains(&Control::Size) && !market.has_market_cap() {
        bail!(TooLittle(message!(
            "因子 {name:?}：neutralise 需要市值，但行情表没有 market_cap；请添加，或从 neutralise 去掉 size",
            "factor {name:?}: neutralise needs sizes, but the price table gives no market_cap; add it, or take size out of neutralise"
        )));
    }
    Ok(())
}

pub fn build(plan: &Plan, inputs: &Inputs<'_>, params: &Params, ctx: &Ctx) -> Result<(Factor, Report)> {
    params.validate()?;
    let market = inputs.market;
    check_controls(params, market)?;
    ensure!(
        inputs.factors.len() == plan.factors.len(),
        "因子 {:?} 由 {} 个因子组成，却给了 {} 个",
        "factor {:?} is made of {} factors; it was given {}",
        params.name,
        plan.factors.len(),
        inputs.factors.len()
    );
    for factor in inputs.factors {
        ensure!(
            factor.values.dates() == market.dates() && factor.values.codes() == market.codes(),
            "因子 {:?} 与本行情表的日期和代码不符；请重新计算",
            "factor {:?} is not on the dates and codes of this price table; build it anew",
            factor.name
        );
    }
    let mut report = Report::new("factor");
    let mut readings = Vec::with_capacity(plan.readings.len());
    for (number, reading) in plan.readings.iter().enumerate() {
        let signals = inputs.signals.iter().filter(|signal| signal.reading as usize == number);
        let of_tables = events::signals(reading, number, inputs, &mut report);
        readings.push(aggregate_documents(reading, signals.chain(&of_tables), market, &mut report, ctx)?);
    }
    report.rows_out = report.rows_in - report.dropped_rows();
    let (value, controls) = match &plan.value {
        DayNode::Documents(number) if plan.controls.is_empty() => (readings.swap_remove(*number), Vec::new()),
        value => {
            let (days, index_of) = ((market.calendar(), inputs.cutoff), |code: &str| market.index_of(code));
            let graphs = GraphTies::new(plan, days, index_of, inputs.signals, &inputs.graphs);
            let (cutoff, factors) = (inputs.cutoff, inputs.factors);
            let world = World { market, cutoff, readings: &readings, factors, graphs: &graphs };
            evaluate_all(value, &plan.controls, &world, ctx)
                .with_context(|| message!("因子 {:?}", "factor {:?}", params.name))?
        }
    };
    drop(readings);
    let mut factor = Factor::of_grid(&params.name, market, value);
    let notes = process_dates(&mut factor, &controls, inputs, params, ctx)?;

    let (cells, names, covered) = factor.counts();
    report.fact("cells", cells);
    report.fact("dates_with_values", covered);
    report.fact("mean_names_per_date", if covered > 0 { cells as f64 / covered as f64 } else { 0.0 });
    report.fact("names", names);
    for (note, n) in notes {
        report.fact(&note, n);
    }
    Ok((factor, report))
}

/// The value of a plan, and its controls with their names.
fn evaluate_all<'p>(
    value: &DayNode,
    controls: &'p [(String, DayNode)],
    world: &World<'_>,
    ctx: &Ctx,
) -> Result<(DayGrid, Vec<(&'p str, DayGrid)>)> {
    let control = |(text, node): &'p (String, DayNode)| Ok((text.as_str(), evaluate(node, world, ctx)?));
    Ok((evaluate(value, world, ctx)?, controls.iter().map(control).collect::<Result<_>>()?))
}

/// The days that come of a reading's documents; what of them does not count goes into the report by reason.
fn aggregate_documents<'a>(
    reading: &Reading,
    signals: impl Iterator<Item = &'a Signal>,
    market: &Market,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<DayGrid> {
    let (days, width) = (market.dates().len(), market.codes().len());
    let mut by_code: Vec<Vec<Signal>> = vec![Vec::new(); width];
    let is_gone = |signal: &Signal| {
        let (t, i) = (signal.date as usize, signal.code as usize);
        market.life(i).is_none_or(|(_, last)| t > last && !market.lives(t, i))
    };
    for signal in signals {
        report.rows_in += 1;
        if signal.code as usize >= width || signal.date as usize >= days {
            bail!(
                "有信号位于第 {} 日、第 {} 个代码，而市场只有 {days} 日、{width} 个代码",
                "a signal names date {} and code {}, but the market has {days} dates and {width} codes",
                signal.date,
                signal.code
            );
        }
        if !signal.value.is_finite() {
            report.drop_rows("no score", 1);
        } else if reading.first_only && !signal.first {
            report.drop_rows("repeat of an earlier document", 1);
        } else if is_gone(signal) {
            report.drop_rows("security without prices from then on", 1);
        } else {
            by_code[signal.code as usize].push(*signal);
        }
    }
    let columns: Vec<Vec<aggregate::DayValue>> = ctx.install(|| {
        let column = |(i, mut signals): (usize, Vec<Signal>)| {
            ctx.advance(1)?;
            Ok(aggregate::column(&mut signals, market, i, reading))
        };
        by_code.into_par_iter().enumerate().map(column).collect::<Result<_>>()
    })?;
    let mut grid = DayGrid::empty(market);
    for (i, column) in columns.into_iter().enumerate() {
        for cell in column {
            let place = cell.date * width + i;
            grid.values[place] = cell.value;
            grid.known[place] = table::seconds_up(cell.known_at);
            grid.documents[place] = cell.documents;
        }
    }
    Ok(grid)
}

/// Processes every date of a factor; gives what there was to note, counted.
fn process_dates(
    factor: &mut Factor,
    controls: &[(&str, DayGrid)],
    inputs: &Inputs<'_>,
    params: &Params,
    ctx: &Ctx,
) -> Result<BTreeMap<String, u64>> {
    let market = inputs.market;
    let days = market.dates().len();
    let controls: Vec<(&str, &DayGrid)> = controls.iter().map(|(name, grid)| (*name, grid)).collect();
    let processed: Vec<process::DateRow> = ctx.install(|| {
        let row = |t: usize| {
            ctx.check()?;
            Ok(process::row(factor.raw.row(t), t, market, params, &controls))
        };
        (0..days).into_par_iter().map(row).collect::<Result<_>>()
    })?;
    let by_size = params.neutralise.contains(&Control::Size);
    let mut notes: BTreeMap<String, u64> = BTreeMap::new();
    let mut others = vec![i64::MIN; days];
    for (t, row) in processed.into_iter().enumerate() {
        row.values.iter().for_each(|(i, value)| factor.values.set(t, *i, *value));
        let enters = |i: usize| !factor.values.at(t, i).is_nan();
        let of_controls = controls.iter().map(|(_, grid)| grid.latest(t, enters)).max();
        let of_size = by_size.then(|| seconds(market.dates()[t], CLOSE));
        let of_fill = row.filled.then(|| day_is_over(market, inputs.cutoff, t));
        others[t] = [of_controls, of_size, of_fill].into_iter().flatten().max().unwrap_or(i64::MIN);
        for (note, n) in row.notes {
            *notes.entry(note).or_default() += n;
        }
    }
    if params.looks_across() {
        (0..days).for_each(|t| factor.know_together(t, others[t]));
    }
    Ok(notes)
}
