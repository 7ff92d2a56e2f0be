//! Rows become the price table: typed, checked, sorted by date and code, unique.
//!
//! Of a date and code that several sources give, the table has the row of the first source; rows that disagree with it are told.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use anyhow::Result;
use chrono::{Datelike, NaiveDate};
use polars_core::prelude::{DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PlSmallStr};
use rustc_hash::FxHashMap;

use crate::ingest::disagreement::PricesTwice;
use crate::ingest::mapped_row::MappedRow;
use crate::ingest::price_scan::{PriceFindings, PriceScan};
use crate::ingest::row::RowFault;
use crate::ingest::runs::{self, CODE_BYTES, PriceRow, Runs, SortedRows, VALUES, date_and_code, key_of};
use inkstone_base::code::Code;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_market::{PRICE_COLUMNS, dates_column, dates_of};
use inkstone_tables::corpus::texts_column;
use inkstone_tables::frames::{self, ParquetColumns};

/// Reason of a price below 0, which only a series that is adjusted by differences has.
pub(super) const BELOW_ZERO: &str = "price below zero";

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

/// Rows that a table may have: some twice what all securities of the mainland have had since 1990.
const MOST_ROWS: u64 = 50_000_000;

/// A price that was taken.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    New,
    /// An earlier source has a price of that date and code.
    Repeated,
    /// This source has one already: date and code.
    Twice(String),
}

/// All prices read so far, which wait on the disk. In memory are the days of each code, a bit a day.
pub(super) struct Prices {
    path: PathBuf,
    /// The table that the prices are appended to, its rows and its last date.
    earlier: Option<(ParquetColumns, usize, NaiveDate)>,
    most_rows: u64,
    sources: Vec<String>,
    /// Number of each code in `seen`.
    codes: FxHashMap<Code, usize>,
    /// Of each code, the days that each source gave.
    seen: Vec<Vec<(u64, Days)>>,
    rows: Runs,
    different: u64,
}

/// Days as bits of words of 64.
#[derive(Default)]
struct Days {
    first_word: i32,
    words: Vec<u64>,
}

impl Days {
    fn place(&self, day: i32) -> (i64, u64) {
        (i64::from(day.div_euclid(64)) - i64::from(self.first_word), 1 << day.rem_euclid(64))
    }

    fn has(&self, day: i32) -> bool {
        let (at, bit) = self.place(day);
        usize::try_from(at).ok().and_then(|at| self.words.get(at)).is_some_and(|word| word & bit != 0)
    }

    fn insert(&mut self, day: i32) {
        if self.words.is_empty() {
            self.first_word = day.div_euclid(64);
        }
        let (at, bit) = self.place(day);
        if at < 0 {
            self.words.splice(..0, vec![0; at.unsigned_abs() as usize]);
            self.first_word = day.div_euclid(64);
        }
        let at = at.max(0) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= bit;
    }
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
                let table = ParquetColumns::ours(&table)?;
                let dates = dates_of(&frames::frame(vec![table.column("date")?])?, "date")?;
                let rows = dates.len();
                dates.into_iter().flatten().max().map(|last| (table, rows, last))
            }
            None => None,
        };
        let rows = Runs::beside(&path);
        let (codes, sources, seen) = (FxHashMap::default(), Vec::new(), Vec::new());
        Ok(Prices { path, earlier, most_rows: MOST_ROWS, sources, codes, seen, rows, different: 0 })
    }

    /// Takes a price of a source. Fails with [`PastPrice`] where the price is not later than the earlier table.
    pub(super) fn take(&mut self, price: Price, source: &str) -> Result<Taken> {
        let Price { date, code, values } = price;
        if self.earlier.as_ref().is_some_and(|(_, _, last)| date <= *last) {
            return Err(PastPrice.into());
        }
        ensure!(
            code.as_str().len() <= CODE_BYTES,
            "代码 {code} 超过 {CODE_BYTES} 个字符",
            "the code {code} is longer than {CODE_BYTES} characters"
        );
        let number = match self.sources.iter().rposition(|known| known == source) {
            Some(number) => number as u64,
            None => {
                self.sources.push(source.to_owned());
                self.sources.len() as u64 - 1
            }
        };
        let (high, low) = runs::key(date, code.as_str());
        let next = self.seen.len();
        let at = *self.codes.entry(code.clone()).or_insert(next);
        if at == next {
            self.seen.push(Vec::new());
        }
        let (seen, day) = (&mut self.seen[at], date.num_days_from_ce());
        let mut taken = Taken::New;
        for (other, _) in seen.iter().filter(|(_, days)| days.has(day)) {
            match *other == number {
                true => return Ok(Taken::Twice(format!("{date} {code}"))),
                false => taken = Taken::Repeated,
            }
        }
        match seen.iter_mut().find(|(other, _)| *other == number) {
            Some((_, days)) => days.insert(day),
            None => {
                let mut days = Days::default();
                days.insert(day);
                seen.push((number, days));
            }
        }
        if taken == Taken::New {
            self.different += 1;
            ensure!(
                self.different <= self.most_rows,
                "行情表的不同日期与代码超过 {} 组，多于日行情应有的数量：请只提供研究所需证券与年份的日行情",
                "the price table has more than {} different dates and codes, which is more than daily prices have: give daily prices, of the securities and years that the study is about",
                self.most_rows
            );
        }
        let mut row: PriceRow = [high; 3 + VALUES];
        (row[1], row[2]) = (low, number);
        row[3..].iter_mut().zip(values).for_each(|(bits, value)| *bits = value.to_bits());
        self.rows.push(row)?;
        Ok(taken)
    }

    /// Writes the table. A thread of its own makes the groups of rows while the others before them are written.
    pub(super) fn write(&mut self, ctx: &Ctx) -> Result<WrittenPrices> {
        let runs = std::mem::replace(&mut self.rows, Runs::beside(&self.path));
        self.seen = Vec::new();
        let before = self.earlier.as_ref().map_or(0, |(_, rows, _)| *rows);
        // As many rows at a time as the writer of a whole frame takes.
        let all = before + self.different as usize;
        let groups = (all / frames::GROUP_ROWS).max(1);
        let height = all / groups;
        let mut rows = UniqueRows { rows: runs.sorted()?, ahead: None, twice: PricesTwice::default() };
        rows.ahead = rows.rows.next()?;
        let mut scan = PriceScan::default();
        let mut group = |i: usize| -> Result<DataFrame> {
            ctx.check()?;
            let (start, end) = (i * height, if i + 1 == groups { all } else { (i + 1) * height });
            let old_rows = end.min(before).saturating_sub(start);
            let new = frame(&rows.take(end - start - old_rows, &self.sources)?)?;
            let Some((table, _, _)) = self.earlier.as_ref().filter(|_| old_rows > 0) else {
                scan.add(&new)?;
                return Ok(new);
            };
            let mut both = table.rows(start, old_rows)?;
            both.vstack_mut(&new)?;
            both.rechunk_mut_par();
            scan.add(&both)?;
            Ok(both)
        };
        let first = group(0)?;
        disk::write_atomic(&self.path, |out| {
            disk::seal_parquet(out, |out| {
                let mut writer = frames::parquet_writer(out).set_parallel(true).batched(first.schema())?;
                let (sender, made) = sync_channel(1);
                std::thread::scope(|scope| {
                    scope.spawn(move || {
                        for i in 1..groups {
                            // Nobody takes a group once the writing has failed.
                            if sender.send(group(i)).is_err() {
                                break;
                            }
                        }
                    });
                    writer.write_batch(&first)?;
                    made.into_iter().try_for_each(|group| anyhow::Ok(writer.write_batch(&group?)?))
                })?;
                writer.finish()?;
                Ok(())
            })
        })?;
        let codes = self.codes.keys().map(|code| code.as_str().to_owned()).collect();
        Ok(WrittenPrices { codes, findings: scan.finish(), twice: rows.twice })
    }
}

/// A price table that was written.
pub(super) struct WrittenPrices {
    /// Codes of the rows that were taken.
    pub(super) codes: BTreeSet<String>,
    pub(super) findings: PriceFindings,
    pub(super) twice: PricesTwice,
}

/// The sorted rows, of each date and code the first.
struct UniqueRows {
    rows: SortedRows,
    ahead: Option<PriceRow>,
    twice: PricesTwice,
}

impl UniqueRows {
    fn take(&mut self, count: usize, sources: &[String]) -> Result<Vec<PriceRow>> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count
            && let Some(row) = self.ahead
        {
            taken.push(row);
            self.ahead = self.rows.next()?;
            while let Some(other) = self.ahead.filter(|other| key_of(other) == key_of(&row)) {
                self.twice.add(&row, &other, sources)?;
                self.ahead = self.rows.next()?;
            }
        }
        Ok(taken)
    }
}

fn frame(rows: &[PriceRow]) -> Result<DataFrame> {
    let keys: Vec<(NaiveDate, PlSmallStr)> =
        rows.iter().map(|row| date_and_code(key_of(row))).collect::<Result<_>>()?;
    let mut columns = vec![
        dates_column("date", keys.iter().map(|(date, _)| Some(*date)))?,
        texts_column("code", keys.iter().map(|(_, code)| Some(code.as_str()))),
    ];
    for (i, name) in (3..).zip(&PRICE_COLUMNS[2..]) {
        let value = |row: &PriceRow| Some(f64::from_bits(row[i])).filter(|value| !value.is_nan());
        columns.push(Float64Chunked::from_iter_options((*name).into(), rows.iter().map(value)).into_column());
    }
    frames::frame(columns)
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
                let price = price(day as i32, code as u32, f64::from(i as u32) / 8.0);
                assert_eq!(prices.take(price, "a").unwrap(), Taken::New);
            }
            if rows > 0 {
                let twice = prices.take(price(738_000, 600_000, 1.0), "a").unwrap();
                assert_eq!(twice, Taken::Twice("2021-07-29 600000.SH".into()));
            }
            prices.write(&Ctx::new(1, 0).unwrap()).unwrap();
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
                    prices.take(price(738_000 + day, 600_000 + code, f64::from(day)), "a").unwrap();
                }
                prices.write(&Ctx::new(1, 0).unwrap()).unwrap();
            };
            read("all", None, 0..first + second);
            read("first", None, 0..first);
            read("both", Some("first"), first..first + second);
            assert!(std::fs::read(path("all")).unwrap() == std::fs::read(path("both")).unwrap(), "{first} + {second}");
            let mut late = Prices::new(path("late"), Some(path("first"))).unwrap();
            let error = late.take(price(738_000 + first - 1, 1, 1.0), "a").unwrap_err();
            assert!(error.is::<PastPrice>(), "the day is there already");
        }
    }

    #[test]
    fn a_table_that_memory_may_not_hold_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut prices = Prices::new(dir.path().join("prices.parquet"), None).unwrap();
        prices.most_rows = 3;
        (0..3).for_each(|day| assert_eq!(prices.take(price(day, 1, 1.0), "a").unwrap(), Taken::New));
        assert!(matches!(prices.take(price(2, 1, 1.0), "a").unwrap(), Taken::Twice(_)), "a repetition takes no room");
        let refused = prices.take(price(3, 1, 1.0), "a").unwrap_err().to_string();
        assert!(
            refused.contains("more than 3 different dates and codes") && refused.contains("give daily prices"),
            "{refused}"
        );
    }

    #[test]
    fn the_first_source_of_a_date_and_code_counts_and_the_others_are_compared_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let mut prices = Prices::new(path.clone(), None).unwrap();
        let take = |prices: &mut Prices, day: i32, code: u32, close: f64, source: &str| {
            prices.take(price(738_000 + day, 600_000 + code, close), source).unwrap()
        };
        for (day, code) in (0..3).flat_map(|day| (0..4).map(move |code| (day, code))) {
            assert_eq!(take(&mut prices, day, code, 10.0, "first"), Taken::New);
        }
        // The second has a day more, and other prices of one code.
        for (day, code) in (0..4).rev().flat_map(|day| (0..4).map(move |code| (day, code))) {
            let close = if code == 2 { 10.0 + f64::from(day) } else { 10.001 };
            let expected = if day == 3 { Taken::New } else { Taken::Repeated };
            assert_eq!(take(&mut prices, day, code, close, "second"), expected);
        }
        assert!(matches!(take(&mut prices, 0, 2, 1.0, "second"), Taken::Twice(_)));
        let twice = prices.write(&Ctx::new(1, 0).unwrap()).unwrap();
        let table = frames::read_parquet(&path, None).unwrap();
        let closes: Vec<f64> = table.column("close").unwrap().f64().unwrap().iter().flatten().collect();
        assert_eq!(closes, [[10.0; 4], [10.0; 4], [10.0; 4], [10.001, 10.001, 13.0, 10.001]].concat());
        let facts = twice.twice.facts();
        assert_eq!((&facts["rows"], &facts["rows_that_differ"]), (&12.into(), &2.into()));
        assert_eq!(facts["fields_that_differ"], serde_json::json!({"close": 2}));
        assert_eq!(facts["largest"], "2021-07-31 600002.SH close: 10 (first), 12 (second)");
        assert_eq!(
            facts["first"],
            serde_json::json!([
                "2021-07-30 600002.SH close: 10 (first), 11 (second)",
                "2021-07-31 600002.SH close: 10 (first), 12 (second)",
            ])
        );
    }

    #[test]
    fn days_are_remembered_in_any_order() {
        let mut days = Days::default();
        let order = [738_000, 738_063, 737_000, 739_999, -70, 738_001];
        for (i, day) in order.iter().enumerate() {
            assert!(!days.has(*day));
            days.insert(*day);
            assert!(order[..=i].iter().all(|day| days.has(*day)) && !days.has(738_002) && !days.has(-71));
        }
    }
}
