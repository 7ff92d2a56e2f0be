//! The names of all dates of a backtest as a table, sorted by date, then code: `date, code, value, raw, known_at, documents, quantile,
//! entry, blocked, left_out`, and a return for each horizon (`return_5`).
//!
//! Whoever looks at one date reads that date alone, and needs no prices.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};
use rayon::prelude::*;

use crate::backtest::{DateNames, Dates, Params};
use crate::factor::{Factor, TracedDay};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_base::stats::mean;
use inkstone_market::{Market, dates_column, dates_of};
use inkstone_tables::corpus::{texts_of, times_column, times_of};
use inkstone_tables::frames;

/// A table of names.
#[derive(Clone, Debug)]
pub struct NamesTable {
    rows: NamesRows,
    /// Dates with a value, ascending, and the first row of each; behind them the number of all rows.
    dates: Vec<NaiveDate>,
    starts: Vec<usize>,
    horizons: Vec<usize>,
}

/// Where the rows are.
#[derive(Clone, Debug)]
enum NamesRows {
    File(PathBuf),
    Frame(DataFrame),
}

impl NamesRows {
    /// These rows of the named columns; of all where none are named.
    fn read(&self, columns: Option<&[&str]>, rows: Option<Range<usize>>) -> Result<DataFrame> {
        match (self, rows) {
            (NamesRows::File(path), None) => frames::read_parquet(path, columns),
            (NamesRows::File(path), Some(rows)) => frames::read_parquet_rows(path, columns, rows),
            (NamesRows::Frame(frame), None) => Ok(frame.clone()),
            (NamesRows::Frame(frame), Some(rows)) => Ok(frame.slice(i64::try_from(rows.start)?, rows.len())),
        }
    }
}

/// The names of one date.
#[derive(Clone, Debug, PartialEq)]
pub struct NamesOfDate {
    /// The day on which they are traded; none where the calendar ends before.
    pub entry: Option<NaiveDate>,
    /// Reason for which the date has no quantiles; none if it has.
    pub left_out: Option<String>,
    pub names: Vec<NameOfDate>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NameOfDate {
    pub code: String,
    pub value: f64,
    /// The value before processing; NaN where processing filled it in.
    pub raw: f64,
    pub known_at: Option<NaiveDateTime>,
    /// Quantile from 1 (lowest); 0 for none.
    pub quantile: u16,
    /// Return at each horizon; NaN if the name could not be bought or has no later price.
    pub returns: Vec<f64>,
    /// Reason for which the value was not used, or could not be traded on; none if it could.
    pub blocked: Option<String>,
}

/// The names of a date with their quantiles, from 1 (lowest); 0 for none.
pub(crate) struct LayersOfDate {
    pub(crate) date: NaiveDate,
    pub(crate) codes: Vec<String>,
    pub(crate) values: Vec<f64>,
    pub(crate) layers: Vec<u16>,
}

fn column_of(horizon: usize) -> String {
    format!("return_{horizon}")
}

/// The names of all dates as a table. `documents` counts the documents of a date (by its number) about a code (by its number).
pub fn names_frame(
    factor: &Factor,
    market: &Market,
    params: &Params,
    documents: impl Fn(usize, usize) -> u32,
    ctx: &Ctx,
) -> Result<DataFrame> {
    let tradability = params.tradability(market)?;
    let dates = Dates::new(factor, market, &tradability, params)?;
    let on = |t: usize| -> Result<DateNames> {
        ctx.check()?;
        Ok(dates.on(t))
    };
    let days: Vec<DateNames> =
        ctx.install(|| (0..market.dates().len()).into_par_iter().map(on).collect::<Result<_>>())?;
    let rows = || days.iter().enumerate().flat_map(|(t, day)| day.names.iter().map(move |name| (t, day, name)));
    let some = |value: f64| (!value.is_nan()).then_some(value);
    let number = |name: &str, values: Vec<Option<f64>>| Series::new(name.into(), values).into_column();
    let text = |name: &str, values: Vec<Option<&str>>| Series::new(name.into(), values).into_column();
    let codes = rows().map(|(_, _, name)| Some(market.codes()[name.code].as_str()));
    let counts: Vec<u32> = rows().map(|(t, _, name)| documents(t, name.code)).collect();
    let quantiles: Vec<u32> = rows().map(|(_, _, name)| u32::from(name.quantile)).collect();
    let mut columns: Vec<Column> = vec![
        dates_column("date", rows().map(|(t, ..)| Some(market.dates()[t])))?,
        text("code", codes.collect()),
        number("value", rows().map(|(t, _, name)| some(factor.values.at(t, name.code))).collect()),
        number("raw", rows().map(|(t, _, name)| some(factor.raw.at(t, name.code))).collect()),
        times_column("known_at", rows().map(|(t, _, name)| factor.known_at(t, name.code)))?,
        Series::new("documents".into(), counts).into_column(),
        Series::new("quantile".into(), quantiles).into_column(),
        dates_column("entry", rows().map(|(_, day, _)| day.entry))?,
        text("blocked", rows().map(|(_, _, name)| name.blocked).collect()),
        text("left_out", rows().map(|(_, day, _)| day.left_out).collect()),
    ];
    for (k, horizon) in params.horizons.iter().enumerate() {
        columns.push(number(&column_of(*horizon), rows().map(|(_, _, name)| some(name.returns[k])).collect()));
    }
    frames::frame(columns)
}

impl NamesTable {
    /// Opens a table that was written for these horizons; none if it has others.
    pub fn open(path: &Path, horizons: &[usize]) -> Result<Option<NamesTable>> {
        let names = frames::columns_of_parquet(path)?;
        if !horizons.iter().all(|horizon| names.contains(&column_of(*horizon))) {
            return Ok(None);
        }
        NamesTable::new(NamesRows::File(path.to_owned()), horizons).map(Some)
    }

    /// The table of [`names_frame`], for these horizons.
    pub fn of_frame(frame: DataFrame, horizons: &[usize]) -> Result<NamesTable> {
        NamesTable::new(NamesRows::Frame(frame), horizons)
    }

    fn new(rows: NamesRows, horizons: &[usize]) -> Result<NamesTable> {
        let frame = rows.read(Some(&["date"]), None)?;
        let (mut dates, mut starts): (Vec<NaiveDate>, Vec<usize>) = (Vec::new(), Vec::new());
        for (row, date) in dates_of(&frame, "date")?.into_iter().enumerate() {
            let date = date.with_context(|| {
                message!("个股表第 {} 行没有日期", "row {} of the table of names has no date", row + 1)
            })?;
            if dates.last() != Some(&date) {
                dates.push(date);
                starts.push(row);
            }
        }
        starts.push(frame.height());
        Ok(NamesTable { rows, dates, starts, horizons: horizons.to_vec() })
    }

    /// Dates on which there is a value, ascending.
    pub fn dates(&self) -> &[NaiveDate] {
        &self.dates
    }

    fn returns(&self, frame: &DataFrame) -> Result<Vec<Vec<f64>>> {
        self.horizons.iter().map(|horizon| numbers_of(frame, &column_of(*horizon))).collect()
    }

    /// The names of a date; `None` where there is no value on it.
    pub fn on(&self, date: NaiveDate) -> Result<Option<NamesOfDate>> {
        let Ok(at) = self.dates.binary_search(&date) else { return Ok(None) };
        let frame = self.rows.read(None, Some(self.starts[at]..self.starts[at + 1]))?;
        let text = |name: &str| texts_of(&frame, name);
        let [codes, blocked, left_out] = [text("code")?, text("blocked")?, text("left_out")?];
        let [values, raw] = [numbers_of(&frame, "value")?, numbers_of(&frame, "raw")?];
        let known = times_of(&frame, "known_at")?;
        let quantiles = frame.column("quantile")?.u32()?.clone();
        let returns = self.returns(&frame)?;
        let name = |row: usize| NameOfDate {
            code: codes.get(row).unwrap_or_default().to_owned(),
            value: values[row],
            raw: raw[row],
            known_at: known[row],
            quantile: quantiles.get(row).and_then(|quantile| u16::try_from(quantile).ok()).unwrap_or(0),
            returns: returns.iter().map(|column| column[row]).collect(),
            blocked: blocked.get(row).map(str::to_owned),
        };
        Ok(Some(NamesOfDate {
            entry: dates_of(&frame, "entry")?.first().copied().flatten(),
            left_out: left_out.get(0).map(str::to_owned),
            names: (0..frame.height()).map(name).collect(),
        }))
    }

    /// Codes, values and quantiles of the dates of a span, its ends included.
    pub(crate) fn layers_of(&self, first: NaiveDate, last: NaiveDate) -> Result<Vec<LayersOfDate>> {
        let dates = self.dates.partition_point(|date| *date < first)..self.dates.partition_point(|date| *date <= last);
        if dates.is_empty() {
            return Ok(Vec::new());
        }
        let start = self.starts[dates.start];
        let frame = self.rows.read(Some(&["code", "value", "quantile"]), Some(start..self.starts[dates.end]))?;
        let (codes, values) = (texts_of(&frame, "code")?, numbers_of(&frame, "value")?);
        let quantiles = frame.column("quantile")?.u32()?.clone();
        let day = |at: usize| {
            let rows = self.starts[at] - start..self.starts[at + 1] - start;
            let layer = |row| quantiles.get(row).and_then(|quantile| u16::try_from(quantile).ok()).unwrap_or(0);
            LayersOfDate {
                date: self.dates[at],
                codes: rows.clone().map(|row| codes.get(row).unwrap_or_default().to_owned()).collect(),
                values: values[rows.clone()].to_vec(),
                layers: rows.map(layer).collect(),
            }
        };
        Ok(dates.map(day).collect())
    }

    /// The dates on which a quantile has names, ascending, with what these have in common.
    pub fn days(&self, quantile: u16, ctx: &Ctx) -> Result<Vec<TracedDay>> {
        let returns: Vec<String> = self.horizons.iter().map(|horizon| column_of(*horizon)).collect();
        let wanted: Vec<&str> =
            ["value", "documents", "quantile"].into_iter().chain(returns.iter().map(String::as_str)).collect();
        let frame = self.rows.read(Some(&wanted), None)?;
        let values = numbers_of(&frame, "value")?;
        let (documents, quantiles) =
            (frame.column("documents")?.u32()?.clone(), frame.column("quantile")?.u32()?.clone());
        let returns = self.returns(&frame)?;
        let mut days = Vec::new();
        for (at, date) in self.dates.iter().enumerate() {
            ctx.check()?;
            let rows: Vec<usize> = (self.starts[at]..self.starts[at + 1])
                .filter(|row| quantiles.get(*row) == Some(u32::from(quantile)))
                .collect();
            if rows.is_empty() {
                continue;
            }
            let earned = |h: usize| rows.iter().map(|row| returns[h][*row]).filter(|r| !r.is_nan()).collect::<Vec<_>>();
            let horizons = 0..self.horizons.len();
            days.push(TracedDay {
                date: *date,
                names: rows.len(),
                value: mean(rows.iter().map(|row| values[*row])),
                returns: horizons.clone().map(|h| mean(earned(h).into_iter())).collect(),
                hits: horizons.map(|h| mean(earned(h).into_iter().map(|r| f64::from(u8::from(r > 0.0))))).collect(),
                documents: rows.iter().filter_map(|row| documents.get(*row)).map(|n| n as usize).sum(),
            });
        }
        Ok(days)
    }
}

/// Numbers of a column, NaN for null.
fn numbers_of(frame: &DataFrame, name: &str) -> Result<Vec<f64>> {
    let column = frame.column(name)?.f64()?;
    Ok(column.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
