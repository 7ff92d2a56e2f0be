//! From scores of documents to a factor: one value per date and code, with the time at which it was known.
//!
//! Documents fall on trading dates by [`crate::market::Calendar::trade_date`]. A cell takes the documents of its look-back,
//! weighs them by age and aggregates them; then each date's cross-section is winsorised, neutralised and standardised, in
//! this order. No news is NaN, never 0. A processed value was scaled by all values of its date, so it counts as known when the
//! last of them was.
//!
//! Useful for: any number per document. Not for: prices, which only the backtest pairs with a factor.

mod aggregate;
mod params;
#[cfg(test)]
mod parity;
mod process;
mod signals;
mod table;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use chrono::NaiveDateTime;
use rayon::prelude::*;

pub use params::{Aggregate, Control, Decay, LookbackUnit, Params, Standardise, Winsorise};
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
    if params.looks_across() {
        (0..days).for_each(|t| factor.know_together(t));
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn market() -> Market {
        let mut prices = "date,code,close,market_cap\n".to_owned();
        for day in ["02", "03", "04"] {
            for i in 1..=6 {
                prices += &format!("2024-01-{day},00000{i}.SZ,10,{}\n", f64::from(i) * 1e9);
            }
        }
        Market::of_text(&prices, &[]).unwrap()
    }

    fn signals(market: &Market) -> Vec<Signal> {
        let at = |date: usize, hour| market.dates()[date].and_hms_opt(hour, 30, 0).unwrap();
        (0..6u32)
            .flat_map(|code| (0..2u32).map(move |k| (code, k)))
            .map(|(code, k)| Signal {
                code,
                date: k,
                known_at: at(k as usize, 10 + code % 3),
                value: f64::from(code * code) - f64::from(k) / 3.0,
                first: k == 0 || code != 5,
            })
            .collect()
    }

    #[test]
    fn a_factor_is_the_same_for_any_order_of_documents_and_number_of_threads() {
        let market = market();
        let mut signals = signals(&market);
        let params = Params { neutralise: vec![Control::Size], ..Params::default() };
        let table = |signals: &[Signal], threads| {
            let ctx = Ctx::new(threads, 1).unwrap();
            let (factor, report) = build(signals, &market, &params, &ctx).unwrap();
            assert_eq!((report.rows_in, report.rows_out), (12, 11));
            assert_eq!(report.dropped["repeat of an earlier document"], 1);
            factor.to_frame().unwrap()
        };
        let first = table(&signals, 1);
        signals.reverse();
        assert!(first.equals_missing(&table(&signals, 2)));
        let (read, report) = Factor::from_frame(&first, "factor", &market).unwrap();
        assert_eq!(report.rows_in, report.rows_out);
        assert!(first.equals_missing(&read.to_frame().unwrap()), "the table reads back as it was");
    }

    #[test]
    fn a_value_scaled_by_its_cross_section_is_known_when_the_last_of_it_is() {
        let market = market();
        let signals = signals(&market);
        let latest = market.dates()[0].and_hms_opt(12, 30, 0);
        let known = |params: &Params| {
            let (factor, _) = build(&signals, &market, params, &Ctx::new(1, 1).unwrap()).unwrap();
            (0..6).map(|i| factor.known_at(0, i)).collect::<Vec<_>>()
        };
        assert_eq!(known(&Params::default()), [latest; 6]);
        let alone = Params { winsorise: Winsorise::None, standardise: Standardise::None, ..Params::default() };
        let own = |i: u32| market.dates()[0].and_hms_opt(10 + i % 3, 30, 0);
        assert_eq!(known(&alone), (0..6).map(own).collect::<Vec<_>>(), "nothing of another name went in");
    }

    #[test]
    fn no_news_is_nan_and_a_table_of_strangers_is_refused() {
        let market = market();
        let ctx = Ctx::new(1, 1).unwrap();
        let one = [signals(&market)[3]];
        let (factor, report) = build(&one, &market, &Params { lookback: 1, ..Params::default() }, &ctx).unwrap();
        assert_eq!(factor.raw.row(0).iter().filter(|v| !v.is_nan()).count(), 0);
        assert_eq!(factor.raw.at(1, 1), one[0].value);
        assert_eq!(factor.known_at(1, 1), Some(one[0].known_at));
        assert_eq!(factor.known_at(1, 2), None);
        assert!(factor.values.at(1, 1).is_nan(), "one name is no cross-section");
        assert_eq!(report.facts["values_on_dates_with_too_few_names"], 1);
        let strangers = crate::disk::frame(vec![
            polars::prelude::Column::new("date".into(), ["2024-01-02"]),
            polars::prelude::Column::new("code".into(), ["AAPL"]),
            polars::prelude::Column::new("value".into(), [1.0]),
        ])
        .unwrap();
        let error = Factor::from_frame(&strangers, "f", &market).unwrap_err().to_string();
        assert!(error.contains("AAPL") && error.contains("000001.SZ"), "{error}");
    }
}
