//! Rows become the price table: typed, checked, sorted by date and code, unique.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use chrono::{Datelike, NaiveDate};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};

use crate::ingest::mapped_row::MappedRow;
use crate::ingest::row::RowFault;
use inkstone_base::code::Code;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Scratch};
use inkstone_market::{PRICE_COLUMNS, dates_column, dates_of};
use inkstone_tables::corpus::texts_column;
use inkstone_tables::frames;

/// Reason of a price below 0, which only a series that is adjusted by differences has.
pub(super) const BELOW_ZERO: &str = "price below zero";

/// Names that a change of the unit of volumes is seen in at the least, and the factor by which their median then changes in a day.
const BREAK_NAMES: usize = 20;
const BREAK_FACTOR: f64 = 30.0;

/// Columns behind date and code.
const VALUES: usize = PRICE_COLUMNS.len() - 2;

/// One row: prices in CNY, NaN where unknown, in the order of [`PRICE_COLUMNS`].
pub(super) struct Price {
    date: NaiveDate,
    code: Code,
    values: [f64; VALUES],
}

pub(super) fn price(fields: &MappedRow<'_>) -> Result<Price, RowFault> {
    let moment = fields.time("date")?.ok_or_else(|| fields.fault("date", "no date", ""))?;
    if fields.is_sealed(moment.time.date()) {
        return Err(RowFault::sealed());
    }
    let text = fields.value("code").ok_or_else(|| fields.fault("code", "no code", ""))?;
    let code = Code::parse(&text).ok_or_else(|| fields.fault("code", "not a security code", &text))?;
    let mut values = [f64::NAN; VALUES];
    for (value, field) in values.iter_mut().zip(&PRICE_COLUMNS[2..]) {
        *value = fields.number(field)?.unwrap_or(f64::NAN);
    }
    let [open, high, low, close, vwap, volume, amount, market_cap, up_limit, down_limit] = &mut values;
    // Vendors write a suspended day as zeros; a zero price of a day with trading is wrong.
    let traded = volume.is_nan() && *close != 0.0 || *volume > 0.0;
    let prices = [("open", open), ("high", high), ("low", low), ("close", close), ("vwap", vwap)];
    for (field, value) in prices.into_iter().chain([("up_limit", up_limit), ("down_limit", down_limit)]) {
        if *value == 0.0 && !traded {
            *value = f64::NAN;
        } else if *value < 0.0 {
            return Err(fields.fault(field, BELOW_ZERO, &value.to_string()));
        } else if *value == 0.0 {
            return Err(fields.fault(field, "price not positive", &value.to_string()));
        }
    }
    for (field, value) in [("volume", volume), ("amount", amount), ("market_cap", market_cap)] {
        if *value < 0.0 {
            return Err(fields.fault(field, "negative amount", &value.to_string()));
        }
    }
    let (high, low) = (values[1], values[2]);
    if high < low {
        return Err(fields.fault("high", "high below low", &format!("{high} < {low}")));
    }
    Ok(Price { date: moment.time.date(), code, values })
}

/// Rows that a table may have: some twice what all securities of the mainland have had since 1990. Up to there it takes a gigabyte of
/// memory at the most.
const MOST_ROWS: usize = 50_000_000;

/// A row as it waits on the disk: its key, and the bits of its values.
type PriceRow = [u64; 1 + VALUES];

/// All prices read so far. In memory are the keys alone, date above code, by which a second price of a day is noticed.
pub(super) struct Prices {
    path: PathBuf,
    /// The table that the prices are appended to, and its last date.
    earlier: Option<(PathBuf, NaiveDate)>,
    most_rows: usize,
    codes: FxHashMap<Code, u32>,
    keys: FxHashSet<u64>,
    rows: Option<Scratch>,
}

/// Prices that are not later than all of the table that they were to be appended to: that has to be read anew.
#[derive(Debug)]
pub(super) struct PastPrice;

impl fmt::Display for PastPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a price of a day that the price table has already")
    }
}

impl Error for PastPrice {}

impl Prices {
    /// An empty table, which will be written to `path`, behind the rows of an `earlier` one; its rows wait beside that.
    pub(super) fn new(path: PathBuf, earlier: Option<PathBuf>) -> Result<Prices> {
        let earlier = match earlier {
            Some(table) => {
                let dates = dates_of(&frames::read_parquet(&table, Some(&["date"]))?, "date")?;
                dates.into_iter().flatten().max().map(|last| (table, last))
            }
            None => None,
        };
        let (codes, keys) = (FxHashMap::default(), FxHashSet::default());
        Ok(Prices { path, earlier, most_rows: MOST_ROWS, codes, keys, rows: None })
    }

    /// Takes a price; gives its date and code back when that code has one of that date already. Fails with [`PastPrice`] where the price is
    /// not later than the earlier table.
    pub(super) fn take(&mut self, price: Price) -> Result<Option<String>> {
        if self.earlier.as_ref().is_some_and(|(_, last)| price.date <= *last) {
            return Err(PastPrice.into());
        }
        let next = self.codes.len() as u32;
        let code = *self.codes.entry(price.code.clone()).or_insert(next);
        let key = u64::from(ordered(price.date)) << 32 | u64::from(code);
        if !self.keys.insert(key) {
            return Ok(Some(format!("{} {}", price.date, price.code)));
        }
        ensure!(
            self.keys.len() <= self.most_rows,
            "the price table has more than {} different dates and codes, which is more than daily prices have: give daily prices, of the \
             securities and years that the study is about",
            self.most_rows
        );
        let mut row: PriceRow = [key; 1 + VALUES];
        row[1..].iter_mut().zip(price.values).for_each(|(bits, value)| *bits = value.to_bits());
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(Scratch::beside(&self.path)?),
        };
        rows.write(bytemuck::cast_slice(&row))?;
        Ok(None)
    }

    /// Writes the table; gives the key of its codes.
    pub(super) fn write(&mut self) -> Result<Key> {
        self.keys = FxHashSet::default();
        let (rows, mut codes) = (self.rows.take(), Vec::from_iter(self.codes.drain()));
        codes.sort();
        let mut rank = vec![0u32; codes.len()];
        codes.iter().enumerate().for_each(|(i, (_, number))| rank[*number as usize] = i as u32);
        let codes: Vec<Code> = codes.into_iter().map(|(code, _)| code).collect();
        let map = rows.map(Scratch::map).transpose()?.flatten();
        let rows: &[PriceRow] = disk::numbers(map.as_ref());
        let by_rank = |key: u64| key >> 32 << 32 | u64::from(rank[key as u32 as usize]);
        let mut order: Vec<(u64, u32)> = (0..).zip(rows).map(|(i, row)| (by_rank(row[0]), i)).collect();
        order.par_sort_unstable();
        let earlier = self.earlier.as_ref().map(|(table, _)| frames::read_parquet(table, None)).transpose()?;
        let before = earlier.as_ref().map_or(0, DataFrame::height);
        // As many rows at a time as the writer of a whole frame takes.
        let all = before + order.len();
        let groups = (all / frames::GROUP_ROWS).max(1);
        let height = all / groups;
        let group = |i: usize| -> Result<DataFrame> {
            let (start, end) = (i * height, if i + 1 == groups { all } else { (i + 1) * height });
            let old = earlier.as_ref().map(|table| table.slice(start as i64, end.min(before).saturating_sub(start)));
            let new = frame(&order[start.saturating_sub(before)..end.saturating_sub(before)], rows, &codes)?;
            Ok(match old.filter(|old| old.height() > 0) {
                Some(mut both) => {
                    both.vstack_mut(&new)?;
                    both.rechunk_mut_par();
                    both
                }
                None => new,
            })
        };
        disk::write_atomic(&self.path, |out| {
            disk::seal_parquet(out, |out| {
                let first = group(0)?;
                let mut writer = frames::parquet_writer(out).set_parallel(true).batched(first.schema())?;
                writer.write_batch(&first)?;
                (1..groups).try_for_each(|i| anyhow::Ok(writer.write_batch(&group(i)?)?))?;
                writer.finish()?;
                Ok(())
            })
        })?;
        let mut all: BTreeSet<&str> = codes.iter().map(Code::as_str).collect();
        if let Some(earlier) = &earlier {
            all.extend(earlier.column("code")?.str()?.iter().flatten().collect::<FxHashSet<&str>>());
        }
        Ok(Key::of_json(&all))
    }
}

/// A date as a number that grows with it.
fn ordered(date: NaiveDate) -> u32 {
    date.num_days_from_ce().cast_unsigned() ^ 1 << 31
}

fn date_of(key: u64) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(((key >> 32) as u32 ^ 1 << 31).cast_signed())
}

/// The rows of keys by rank, in that order.
fn frame(order: &[(u64, u32)], rows: &[PriceRow], codes: &[Code]) -> Result<DataFrame> {
    let names = order.iter().map(|(key, _)| Some(codes[*key as u32 as usize].as_str()));
    let dates = order.iter().map(|(key, _)| date_of(*key));
    let mut columns = vec![dates_column("date", dates)?, texts_column("code", names)];
    for (i, name) in (1..).zip(&PRICE_COLUMNS[2..]) {
        let value = |row: &u32| Some(f64::from_bits(rows[*row as usize][i])).filter(|value| !value.is_nan());
        let values: Vec<Option<f64>> = order.iter().map(|(_, row)| value(row)).collect();
        columns.push(Series::new((*name).into(), values).into_column());
    }
    frames::frame(columns)
}

/// Dates on which the volumes of all names change their unit, each with the median of the volumes over those of the day before. The table
/// has `date`, `code` and `volume`, sorted by date.
pub(super) fn volume_breaks(table: &DataFrame) -> Result<Vec<(NaiveDate, f64)>> {
    let dates = dates_of(table, "date")?;
    let (codes, volumes) = (table.column("code")?.str()?, table.column("volume")?.f64()?);
    let mut last: FxHashMap<&str, f64> = FxHashMap::default();
    let mut breaks = Vec::new();
    let mut start = 0;
    while start < dates.len() {
        let end = start + dates[start..].iter().take_while(|date| **date == dates[start]).count();
        let traded =
            || (start..end).filter_map(|i| Some((codes.get(i)?, volumes.get(i).filter(|volume| *volume > 0.0)?)));
        let mut changes: Vec<f64> = traded().filter_map(|(code, volume)| Some(volume / last.get(code)?)).collect();
        if changes.len() >= BREAK_NAMES {
            changes.sort_unstable_by(f64::total_cmp);
            let median = changes[changes.len() / 2];
            if !(1.0 / BREAK_FACTOR..=BREAK_FACTOR).contains(&median) {
                breaks.extend(dates[start].map(|date| (date, median)));
            }
        }
        last.extend(traded());
        start = end;
    }
    Ok(breaks)
}

/// Comparison of the dates of the prices with the dates of the documents.
///
/// A weekday without prices on which documents were published is a holiday or a hole in the prices; a date with far
/// fewer codes than is usual is a hole for most of them.
pub(super) fn calendar_facts(by_date: &BTreeMap<NaiveDate, u64>, documents: &BTreeMap<NaiveDate, u64>) -> Value {
    let (Some(first), Some(last)) = (by_date.keys().next(), by_date.keys().next_back()) else { return Value::Null };
    let mut counts: Vec<u64> = by_date.values().copied().collect();
    counts.sort_unstable();
    let median = counts[counts.len() / 2];
    let thin: Vec<String> =
        by_date.iter().filter(|(_, n)| **n * 10 < median).map(|(d, n)| format!("{d} ({n} codes)")).collect();
    let holes: BTreeSet<&NaiveDate> = documents
        .keys()
        .filter(|d| *d > first && *d < last && d.weekday().num_days_from_monday() < 5 && !by_date.contains_key(d))
        .collect();
    let outside: u64 = documents.iter().filter(|(d, _)| *d < first || *d > last).map(|(_, n)| n).sum();
    json!({
        "first": first,
        "last": last,
        "dates": by_date.len(),
        "codes_per_date_median": median,
        "dates_with_few_codes": thin.len(),
        "dates_with_few_codes_first": thin.iter().take(5).collect::<Vec<_>>(),
        "weekdays_with_documents_without_prices": holes.len(),
        "weekdays_with_documents_without_prices_first": holes.iter().take(5).collect::<Vec<_>>(),
        "documents_outside_the_price_dates": outside,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(day: i32, code: u32, close: f64) -> Price {
        let date = NaiveDate::from_num_days_from_ce_opt(day).unwrap();
        let mut values = [f64::NAN; VALUES];
        (values[3], values[5]) = (close, f64::from(day));
        Price { date, code: Code::parse(&format!("{code:06}")).unwrap(), values }
    }

    #[test]
    fn rows_that_wait_on_the_disk_make_the_same_bytes_as_a_frame_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("prices.parquet"), dir.path().join("other.parquet"));
        for rows in [0, 1, 65_535, 65_536, 131_071, 131_072, 200_003] {
            let mut prices = Prices::new(path.clone(), None).unwrap();
            let codes = 53;
            // Code after code, the later dates first: sorting has all to do.
            for i in (0..rows).rev() {
                let (code, day) = (600_000 + i % codes, 738_000 + i / codes);
                assert_eq!(prices.take(price(day as i32, code as u32, f64::from(i as u32) / 8.0)).unwrap(), None);
            }
            if rows > 0 {
                let twice = prices.take(price(738_000, 600_000, 1.0)).unwrap();
                assert_eq!(twice.as_deref(), Some("2021-07-29 600000.SH"));
            }
            prices.write().unwrap();
            let mut frame = frames::read_parquet(&path, None).unwrap();
            assert_eq!(frame.height(), rows);
            let first: Vec<f64> = frame.column("close").unwrap().f64().unwrap().iter().flatten().take(2).collect();
            assert!(rows < 2 || first == [0.0, 0.125], "{first:?}");
            frame.rechunk_mut_par();
            frames::write_parquet(&other, &mut frame).unwrap();
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&other).unwrap(), "{rows} rows");
        }
    }

    #[test]
    fn rows_that_are_appended_make_the_same_bytes_as_all_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // 100 codes a day; the second number of days is appended to the first.
        for (first, second) in [(3, 2), (655, 1), (656, 656), (1400, 3)] {
            let read = |name: &str, earlier: Option<&str>, days: std::ops::Range<i32>| {
                let mut prices = Prices::new(path(name), earlier.map(path)).unwrap();
                for (day, code) in days.flat_map(|day| (0..100).rev().map(move |code| (day, code))) {
                    prices.take(price(738_000 + day, 600_000 + code, f64::from(day))).unwrap();
                }
                prices.write().unwrap();
            };
            read("all", None, 0..first + second);
            read("first", None, 0..first);
            read("both", Some("first"), first..first + second);
            assert!(std::fs::read(path("all")).unwrap() == std::fs::read(path("both")).unwrap(), "{first} + {second}");
            let mut late = Prices::new(path("late"), Some(path("first"))).unwrap();
            let error = late.take(price(738_000 + first - 1, 1, 1.0)).unwrap_err();
            assert!(error.is::<PastPrice>(), "the day is there already");
        }
    }

    #[test]
    fn a_table_that_memory_may_not_hold_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut prices = Prices::new(dir.path().join("prices.parquet"), None).unwrap();
        prices.most_rows = 3;
        (0..3).for_each(|day| assert_eq!(prices.take(price(day, 1, 1.0)).unwrap(), None));
        assert!(prices.take(price(2, 1, 1.0)).unwrap().is_some(), "a repetition takes no room");
        let refused = prices.take(price(3, 1, 1.0)).unwrap_err().to_string();
        assert!(
            refused.contains("more than 3 different dates and codes") && refused.contains("give daily prices"),
            "{refused}"
        );
    }

    #[test]
    fn a_day_from_which_on_volumes_have_another_unit_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let mut prices = Prices::new(path.clone(), None).unwrap();
        for day in 0..6 {
            for code in 0..25 {
                let mut row = price(738_000 + day, 600_000 + code, 1.0);
                let shares = f64::from(1000 + 10 * code as i32 + day);
                row.values[5] = if day < 3 { shares / 100.0 } else { shares };
                // A name that stood still for a day is compared with the day before that.
                if (day, code) != (2, 7) {
                    prices.take(row).unwrap();
                }
            }
        }
        prices.write().unwrap();
        let table = frames::read_parquet(&path, Some(&["date", "code", "volume"])).unwrap();
        let breaks = volume_breaks(&table).unwrap();
        assert_eq!(breaks.len(), 1);
        assert!(
            (breaks[0].1 - 100.0).abs() < 1.0 && breaks[0].0 == NaiveDate::from_num_days_from_ce_opt(738_003).unwrap()
        );
    }

    #[test]
    fn holes_and_thin_dates_are_told() {
        let day = |s: &str| s.parse::<NaiveDate>().unwrap();
        let prices = [("2024-03-01", 50), ("2024-03-04", 1), ("2024-03-06", 50), ("2024-03-07", 49)];
        let documents = [("2024-02-01", 2), ("2024-03-03", 5), ("2024-03-05", 3), ("2024-03-06", 1)];
        let map = |rows: &[(&str, u64)]| rows.iter().map(|(d, n)| (day(d), *n)).collect::<BTreeMap<_, _>>();
        let facts = calendar_facts(&map(&prices), &map(&documents));
        assert_eq!(facts["dates_with_few_codes_first"], json!(["2024-03-04 (1 codes)"]));
        assert_eq!(facts["weekdays_with_documents_without_prices_first"], json!(["2024-03-05"]));
        assert_eq!(facts["documents_outside_the_price_dates"], json!(2));
    }
}
