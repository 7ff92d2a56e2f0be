//! From scores of documents to a factor: one value per date and code, with the time at which it was known.
//!
//! Documents fall on trading dates by [`crate::market::Calendar::trade_date`]. A cell takes the documents of its look-back,
//! weighs them by age and aggregates them; then each date's cross-section is winsorised, neutralised and standardised, in
//! this order. No news is NaN, never 0.
//!
//! Useful for: any number per document. Not for: prices, which only the backtest pairs with a factor.

mod aggregate;
mod params;
mod process;
mod signals;
mod table;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use chrono::NaiveDateTime;
use rayon::prelude::*;

pub use params::{Aggregate, Control, Decay, LookbackUnit, Params, Standardise, Winsorise};
pub use process::average_ranks;
pub(crate) use process::quantile;
pub use signals::{Selection, signals};
pub use table::Factor;

use crate::data::Report;
use crate::job::Ctx;
use crate::market::{Market, Panel};

/// What one document says about one security.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Number of the code in the market.
    pub code: u32,
    /// Number of the trading date that the document belongs to.
    pub date: u32,
    /// When the value was known: the latest of the publication and of the data that its model was fitted on.
    pub known_at: NaiveDateTime,
    /// The value.
    pub value: f64,
    /// Whether the document is the first of its story and no repeat.
    pub first: bool,
}

/// Builds a factor of the signals, which may come in any order.
pub fn build(signals: &[Signal], market: &Market, params: &Params, ctx: &Ctx) -> Result<(Factor, Report)> {
    params.validate()?;
    let mut report = Report::new("factor");
    report.rows_in = signals.len() as u64;
    let (days, width) = (market.dates().len(), market.codes().len());

    let mut by_code: Vec<Vec<Signal>> = vec![Vec::new(); width];
    for signal in signals {
        if signal.code as usize >= width || signal.date as usize >= days {
            bail!(
                "a signal names date {} and code {}, but the market has {days} dates and {width} codes",
                signal.date,
                signal.code
            );
        }
        if !signal.value.is_finite() {
            report.drop_rows("no score", 1);
        } else if params.first_only && !signal.first {
            report.drop_rows("repeat of an earlier document", 1);
        } else if market.life(signal.code as usize).is_none_or(|(_, last)| (signal.date as usize) > last) {
            report.drop_rows("security without prices from then on", 1);
        } else {
            by_code[signal.code as usize].push(*signal);
        }
    }
    report.rows_out = report.rows_in - report.dropped_rows();

    let mut factor = Factor::empty(&params.name, market);
    let columns: Vec<Vec<aggregate::Cell>> = ctx.install(|| {
        let column = |(i, mut signals): (usize, Vec<Signal>)| {
            ctx.advance(1)?;
            Ok(aggregate::column(&mut signals, market, i, params))
        };
        by_code.into_par_iter().enumerate().map(column).collect::<Result<_>>()
    })?;
    for (i, column) in columns.into_iter().enumerate() {
        for cell in column {
            factor.put(cell.date, i, cell.value, cell.known_at, cell.documents);
        }
    }

    let processed: Vec<process::Row> = ctx.install(|| {
        let row = |t: usize| {
            ctx.check()?;
            Ok(process::row(factor.raw.row(t), t, market, params))
        };
        (0..days).into_par_iter().map(row).collect::<Result<_>>()
    })?;
    let mut notes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut values = Panel::empty(market.dates().clone(), market.codes().clone());
    for (t, row) in processed.into_iter().enumerate() {
        values.row_mut(t).copy_from_slice(&row.values);
        for (note, n) in row.notes {
            *notes.entry(note).or_default() += n;
        }
    }
    factor.values = values;

    let (cells, names, covered) = factor.counts();
    report.fact("cells", cells);
    report.fact("dates_with_values", covered);
    report.fact("mean_names_per_date", if covered > 0 { cells as f64 / covered as f64 } else { 0.0 });
    report.fact("names", names);
    for (note, n) in notes {
        report.fact(note, n);
    }
    Ok((factor, report))
}
