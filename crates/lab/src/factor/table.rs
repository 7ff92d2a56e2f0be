//! A factor and its table: `date, code, value, raw, documents, known_at`, sorted by date, then code.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::{DateTime, NaiveDateTime};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

use super::grid::DayGrid;
use inkstone_base::code::Code;
use inkstone_base::data::Report;
use inkstone_base::{bail, ensure, message};
use inkstone_market::table::{CODE_NAMES, DATE_NAMES, DailyTable, times};
use inkstone_market::{CLOSE, Market, Panel, dates_column};
use inkstone_tables::corpus::times_column;
use inkstone_tables::frames;

/// Values by date and code on a market's axes, each with the time at which it was known.
#[derive(Clone, Debug)]
pub struct Factor {
    pub name: String,
    /// Processed values, which the backtest uses; NaN where there is none.
    pub values: Panel,
    /// Values as aggregated, before processing; NaN too where processing filled a value in.
    pub raw: Panel,
    /// Seconds since 1970 of the Shanghai wall clock, `[dates, codes]`; meaningless where there is no value.
    known_at: Vec<i64>,
    documents: Vec<u32>,
}

impl Factor {
    /// A factor without values on the axes of the market.
    pub fn empty(name: &str, market: &Market) -> Factor {
        let panel = Panel::empty(market.dates().clone(), market.codes().clone());
        let cells = market.dates().len() * market.codes().len();
        Factor {
            name: name.to_owned(),
            values: panel.clone(),
            raw: panel,
            known_at: vec![0; cells],
            documents: vec![0; cells],
        }
    }

    /// Fails if the factor is not on the axes of the market.
    pub(crate) fn check_axes(&self, market: &Market) -> Result<()> {
        ensure!(
            self.values.dates() == market.dates() && self.values.codes() == market.codes(),
            "因子 {:?} 与本行情表的日期和代码不符；请重新计算或读取",
            "factor {:?} is not on the dates and codes of this price table; build or read it anew",
            self.name
        );
        Ok(())
    }

    /// Sets the raw and the processed value of a cell.
    pub fn put(&mut self, t: usize, i: usize, value: f64, known_at: NaiveDateTime, documents: u32) {
        self.raw.set(t, i, value);
        self.values.set(t, i, value);
        let cell = t * self.raw.codes().len() + i;
        self.known_at[cell] = seconds_up(known_at);
        self.documents[cell] = documents;
    }

    /// A factor of what was computed, without processed values.
    pub(super) fn of_grid(name: &str, market: &Market, grid: DayGrid) -> Factor {
        let (dates, codes) = (market.dates().clone(), market.codes().clone());
        let (raw, values) = (Panel::from_values(dates.clone(), codes.clone(), grid.values), Panel::empty(dates, codes));
        Factor { name: name.to_owned(), values, raw, known_at: grid.known, documents: grid.documents }
    }

    /// Raises the time of all processed values of a date to the latest among them and `others`: each was scaled by all the others.
    pub(super) fn know_together(&mut self, t: usize, others: i64) {
        let width = self.raw.codes().len();
        let cells = t * width..(t + 1) * width;
        let processed = |cell: &usize| !self.values.at(t, cell % width).is_nan();
        let own = |cell: &usize| !self.raw.at(t, cell % width).is_nan();
        let latest = cells.clone().filter(processed).filter(own).map(|cell| self.known_at[cell]).max();
        let latest = latest.map_or(others, |latest| latest.max(others));
        for cell in cells.filter(processed).collect::<Vec<_>>() {
            self.known_at[cell] = latest;
        }
    }

    fn is_empty_at(&self, t: usize, i: usize) -> bool {
        self.raw.at(t, i).is_nan() && self.values.at(t, i).is_nan()
    }

    /// Known-at time of a cell, to the second; `None` without a value.
    pub fn known_at(&self, t: usize, i: usize) -> Option<NaiveDateTime> {
        if self.is_empty_at(t, i) {
            return None;
        }
        DateTime::from_timestamp(self.known_at[t * self.raw.codes().len() + i], 0).map(|time| time.naive_utc())
    }

    /// Documents that went into a cell; 0 also where the factor came as a table without counts.
    pub fn documents(&self, t: usize, i: usize) -> u32 {
        self.documents[t * self.raw.codes().len() + i]
    }

    /// Values, names with a value, and dates with a value.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let width = self.values.codes().len();
        let mut seen = vec![false; width];
        let (mut cells, mut covered) = (0, 0);
        for t in 0..self.values.dates().len() {
            let before = cells;
            for (seen, _) in seen.iter_mut().zip(self.values.row(t)).filter(|(_, v)| !v.is_nan()) {
                *seen = true;
                cells += 1;
            }
            covered += usize::from(cells > before);
        }
        (cells, seen.iter().filter(|s| **s).count(), covered)
    }

    /// The factor as a long table, one row per value; `value` is null where processing left none, `raw` where it filled one in.
    pub fn to_frame(&self) -> Result<DataFrame> {
        let (days, width) = (self.raw.dates().len(), self.raw.codes().len());
        let cells: Vec<(usize, usize)> =
            (0..days).flat_map(|t| (0..width).map(move |i| (t, i))).filter(|&(t, i)| !self.is_empty_at(t, i)).collect();
        let codes: Vec<&str> = cells.iter().map(|&(_, i)| self.raw.codes()[i].as_str()).collect();
        let some = |v: f64| (!v.is_nan()).then_some(v);
        let values: Vec<Option<f64>> = cells.iter().map(|&(t, i)| some(self.values.at(t, i))).collect();
        let raw: Vec<Option<f64>> = cells.iter().map(|&(t, i)| some(self.raw.at(t, i))).collect();
        let documents: Vec<u32> = cells.iter().map(|&(t, i)| self.documents(t, i)).collect();
        frames::frame(vec![
            dates_column("date", cells.iter().map(|&(t, _)| Some(self.raw.dates()[t])))?,
            Series::new("code".into(), codes).into_column(),
            Series::new("value".into(), values).into_column(),
            Series::new("raw".into(), raw).into_column(),
            Series::new("documents".into(), documents).into_column(),
            times_column("known_at", cells.iter().map(|&(t, i)| self.known_at(t, i)))?,
        ])
    }

    /// A factor of anybody's long table: a date, a code and a column `value` (or `factor`, `score`, the factor's name, or the
    /// only other column). Rows that the market has no date or code for are counted and left out.
    ///
    /// Without a column `known_at` a value counts as known at 15:00:00 of its date: after that day's close, before any later
    /// price. A date that stands for "traded on this day" must be given its `known_at`.
    pub fn from_table(table: &DailyTable, name: &str, market: &Market) -> Result<(Factor, Report)> {
        let named = table.name_among(&["value", "factor", "score", name]);
        let value_name = match named {
            Some(name) => name,
            None => {
                let known = [table.require_name(&DATE_NAMES)?, table.require_name(&CODE_NAMES)?, "known_at"];
                let rest: Vec<&str> = table.names().into_iter().filter(|name| !known.contains(name)).collect();
                let [only] = rest[..] else {
                    bail!(
                        "哪一列是因子？请命名为 \"value\"；现有列：{:?}",
                        "which column is the factor? name it \"value\"; the columns are {:?}",
                        table.names()
                    );
                };
                only
            }
        };
        let (row_dates, row_codes) = (table.dates()?, table.codes()?);
        let numbers_of = |name: &str| -> Result<Option<Vec<f64>>> {
            let mut numbers = Vec::with_capacity(row_dates.rows.len());
            Ok(table.each_number(&[name], |_, number| numbers.push(number))?.then_some(numbers))
        };
        let values = numbers_of(value_name)?.unwrap_or_default();
        let (raw, documents) = (numbers_of("raw")?, numbers_of("documents")?);
        let known = table.find(&["known_at"])?.map(|column| times(&column)).transpose()?;
        let places: Vec<Option<usize>> = row_codes.distinct.iter().map(|code| market.index_of(code.as_str())).collect();
        let days: Vec<Option<usize>> =
            row_dates.distinct.iter().map(|date| market.calendar().index_of(*date)).collect();

        let mut report = Report::new("factor");
        report.rows_in = values.len() as u64;
        let mut factor = Factor::empty(name, market);
        let (mut without_value, mut without_code, mut without_date) = (0, 0, 0);
        for row in 0..values.len() {
            let raw = raw.as_ref().map_or(values[row], |raw| raw[row]);
            if raw.is_nan() && values[row].is_nan() {
                without_value += 1;
                continue;
            }
            let Some(i) = places[row_codes.rows[row] as usize] else {
                without_code += 1;
                continue;
            };
            let Some(t) = days[row_dates.rows[row] as usize] else {
                without_date += 1;
                continue;
            };
            let (code, date) = (row_codes.at(row), *row_dates.at(row));
            if !factor.is_empty_at(t, i) {
                bail!(
                    "{code} 在 {date} 有两个值；每个日期与代码只留一个",
                    "{code} has two values on {date}; keep one per date and code"
                );
            }
            let known_at = known.as_ref().and_then(|known| known[row]).unwrap_or(date.and_time(CLOSE));
            factor.put(t, i, raw, known_at, documents.as_ref().map_or(0, |documents| documents[row] as u32));
            factor.values.set(t, i, values[row]);
            report.rows_out += 1;
        }
        let reasons = ["no value", "code not in the price table", "date not in the price table"];
        for (reason, rows) in reasons.into_iter().zip([without_value, without_code, without_date]) {
            if rows > 0 {
                report.drop_rows(reason, rows);
            }
        }
        if row_codes.rows.is_empty() {
            bail!(
                "它没有行，没有可检验的：没有文档给它值（学习型特征：训练样本太少，见 walk_forward.min_train_rows）",
                "it has no rows, so there is nothing to test: no document gave it a value (of a learned feature: too few training samples, see walk_forward.min_train_rows)"
            );
        }
        if report.rows_out == 0 {
            bail!(
                "因子没有一行与行情表对得上（{:?}）：因子的代码如 {:?}，行情的如 {:?}；请用同一种代码与日期写法",
                "no row of the factor meets the price table ({:?}): the factor has codes like {:?}, the prices like {:?}; write codes and dates in one style",
                report.dropped,
                row_codes.distinct.first().map(Code::as_str),
                market.codes().first().map(|c| c.as_str())
            );
        }
        report.fact("known_at", if known.is_some() { "given" } else { "taken as 15:00:00 of the date" });
        Ok((factor, report))
    }

    /// Reads [`Factor::from_table`]'s table from a Parquet or delimited file; the name is the file's.
    pub fn read(path: &Path, market: &Market) -> Result<(Factor, Report)> {
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or("factor");
        Factor::from_table(&DailyTable::open(path)?, name, market)
            .with_context(|| message!("因子表 {}", "the factor table {}", path.display()))
    }
}

/// Whole seconds, rounded up: a fraction of a second may not make a value known earlier.
pub(super) fn seconds_up(time: NaiveDateTime) -> i64 {
    let time = time.and_utc();
    time.timestamp() + i64::from(time.timestamp_subsec_nanos() > 0)
}
