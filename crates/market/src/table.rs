//! Tables of daily values from anywhere: a Parquet or delimited file, its columns found under the names in use.
//!
//! Everything of a delimited file is read as text first, so that `000001` never becomes the number 1.

use std::hash::Hash;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{Column, DataFrame, DataType, IntoColumn, StringChunkedBuilder};
use rustc_hash::FxHashMap;

use crate::dates_of;
use inkstone_base::code::Code;
use inkstone_base::language::Message;
use inkstone_base::{disk, limits};
use inkstone_base::{ensure, message};
use inkstone_tables::corpus::times_of;
use inkstone_tables::frames::{self, ParquetColumns};

/// Names under which the date column is known.
pub const DATE_NAMES: [&str; 6] = ["date", "datetime", "trade_date", "day", "time", "日期"];
/// Names under which the code column is known.
pub const CODE_NAMES: [&str; 8] =
    ["code", "asset", "instrument", "ticker", "symbol", "ts_code", "order_book_id", "代码"];

/// A table whose columns are found by name and read when they are asked for.
pub enum DailyTable {
    /// A delimited file, or a frame.
    Whole(DataFrame),
    Parquet(ParquetColumns),
}

impl DailyTable {
    /// Opens a Parquet (`.parquet`) or delimited file (`.tsv` by tabs, anything else by commas; UTF-8).
    pub fn open(path: &Path) -> Result<DailyTable> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        if extension == "parquet" {
            return Ok(DailyTable::Parquet(ParquetColumns::foreign(path)?));
        }
        let separator = if extension == "tsv" { b'\t' } else { b',' };
        let frame = read_delimited(&disk::snapshot(path)?, separator).with_context(|| {
            message!(
                "{} 不是可读的表（带表头的 UTF-8 文本，或 Parquet）",
                "{} is not a readable table (UTF-8 text with a header line, or Parquet)",
                path.display()
            )
        })?;
        Ok(DailyTable::Whole(frame))
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            DailyTable::Whole(frame) => frame.get_column_names().into_iter().map(|name| name.as_str()).collect(),
            DailyTable::Parquet(columns) => columns.names().iter().map(String::as_str).collect(),
        }
    }

    /// The name of the first column that bears one of the names, upper or lower case.
    pub fn name_among(&self, names: &[&str]) -> Option<&str> {
        let bears = |name: &str, column: &str| column.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name);
        let there = self.names();
        names.iter().find_map(|name| there.iter().find(|column| bears(name, column))).copied()
    }

    /// The first column that bears one of the names, upper or lower case.
    pub fn find(&self, names: &[&str]) -> Result<Option<Column>> {
        let Some(found) = self.name_among(names) else { return Ok(None) };
        match self {
            DailyTable::Whole(frame) => Ok(Some(frame.column(found)?.clone())),
            DailyTable::Parquet(columns) => columns.column(found).map(Some),
        }
    }

    /// The column of [`DailyTable::find`], or an error that lists what there is.
    pub fn require(&self, names: &[&str]) -> Result<Column> {
        self.find(names)?.with_context(|| self.lacks(names))
    }

    /// The name of [`DailyTable::name_among`], or an error that lists what there is.
    pub fn require_name(&self, names: &[&str]) -> Result<&str> {
        self.name_among(names).with_context(|| self.lacks(names))
    }

    fn lacks(&self, names: &[&str]) -> Message {
        message!(
            "没有名为 {} 的列；现有列：{:?}",
            "no column is named {}; the columns are {:?}",
            names.join(" or "),
            self.names()
        )
    }
}

impl DailyTable {
    /// The dates of the rows.
    pub fn dates(&self) -> Result<RepeatedValues<NaiveDate>> {
        self.repeated(&DATE_NAMES, dates_behind)
    }

    /// The codes of the rows.
    pub fn codes(&self) -> Result<RepeatedValues<Code>> {
        self.repeated(&CODE_NAMES, codes_behind)
    }

    /// Calls `each` with the row and the number of each row of the first column that bears one of the names, NaN where it is empty; false if no
    /// column does.
    pub fn each_number(&self, names: &[&str], mut each: impl FnMut(usize, f64)) -> Result<bool> {
        self.in_pieces(names, |start, piece| numbers_behind(piece, start, |row, number| each(start + row, number)))
    }

    fn repeated<T: Clone + Eq + Hash>(
        &self,
        names: &[&str],
        read: impl Fn(&Column, usize) -> Result<RepeatedValues<T>>,
    ) -> Result<RepeatedValues<T>> {
        let mut all = RepeatedValues { distinct: Vec::new(), rows: Vec::new() };
        let mut known: FxHashMap<T, u32> = FxHashMap::default();
        let is_there = self.in_pieces(names, |start, piece| {
            let piece = read(piece, start)?;
            let numbers: Vec<u32> = piece
                .distinct
                .into_iter()
                .map(|value| {
                    *known.entry(value).or_insert_with_key(|value| {
                        all.distinct.push(value.clone());
                        (all.distinct.len() - 1) as u32
                    })
                })
                .collect();
            all.rows.extend(piece.rows.into_iter().map(|row| numbers[row as usize]));
            Ok(())
        })?;
        if !is_there {
            return Err(self.lacks(names).into());
        }
        Ok(all)
    }

    /// Calls `each` with pieces of the column of [`DailyTable::find`] and the rows before them, so that a long column is never in memory as a
    /// whole; false if there is no such column.
    fn in_pieces(&self, names: &[&str], mut each: impl FnMut(usize, &Column) -> Result<()>) -> Result<bool> {
        let Some(name) = self.name_among(names) else { return Ok(false) };
        match self {
            DailyTable::Whole(frame) => each(0, frame.column(name)?)?,
            DailyTable::Parquet(columns) => {
                for rows in columns.pieces()? {
                    each(rows.start, &columns.rows_of_column(name, rows.clone())?)?;
                }
            }
        }
        Ok(true)
    }
}

/// Values of a column that repeats a few: each is parsed and kept once.
pub struct RepeatedValues<T> {
    pub distinct: Vec<T>,
    /// Number of each row's value among them.
    pub rows: Vec<u32>,
}

impl<T> RepeatedValues<T> {
    /// The value of a row.
    pub fn at(&self, row: usize) -> &T {
        &self.distinct[self.rows[row] as usize]
    }
}

/// The columns of a delimited text, all as text, null where a field is empty. A row may be shorter than the header.
pub(crate) fn read_delimited(bytes: &[u8], separator: u8) -> Result<DataFrame> {
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(bytes);
    let names = reader.headers()?.clone();
    ensure!(!names.is_empty(), "它是空的", "it is empty");
    ensure!(
        names.len() <= limits::COLUMNS,
        "它有 {} 列；最多读取 {} 列",
        "it has {} columns; at most {} are read",
        names.len(),
        limits::COLUMNS
    );
    let mut columns: Vec<StringChunkedBuilder> = Vec::with_capacity(names.len());
    for (number, name) in names.iter().enumerate() {
        // The first of several columns of one name is found under it.
        let earlier = names.iter().take(number).filter(|earlier| *earlier == name).count();
        let name = if earlier == 0 { name.to_owned() } else { format!("{name}_duplicated_{}", earlier - 1) };
        columns.push(StringChunkedBuilder::new(name.into(), 0));
    }
    let (mut row, mut record) = (0_u64, csv::StringRecord::new());
    while reader.read_record(&mut record)? {
        row += 1;
        ensure!(
            record.len() <= names.len(),
            "第 {row} 行有 {} 个字段，而表头有 {} 个：是否有文本含逗号而未加引号？",
            "row {row} has {} fields, and the header has {}: is a comma in a text that is not quoted?",
            record.len(),
            names.len()
        );
        for (field, column) in columns.iter_mut().enumerate() {
            column.append_option(record.get(field).filter(|text| !text.is_empty()));
        }
    }
    frames::frame(columns.into_iter().map(|column| column.finish().into_column()).collect())
}

/// Numbers of a column, NaN for null and empty; a text that is no number is an error with its row.
pub fn numbers(column: &Column) -> Result<Vec<f64>> {
    let mut numbers = Vec::with_capacity(column.len());
    numbers_behind(column, 0, |_, number| numbers.push(number))?;
    Ok(numbers)
}

/// Calls `each` with the row and the number of each row, as [`numbers`] has them. Errors count `before` rows before the first.
fn numbers_behind(column: &Column, before: usize, mut each: impl FnMut(usize, f64)) -> Result<()> {
    if column.dtype() != &DataType::String {
        let column = column
            .cast(&DataType::Float64)
            .with_context(|| message!("列 {} 不是数值", "column {} is not numeric", column.name()))?;
        column.f64()?.iter().enumerate().for_each(|(row, number)| each(row, number.unwrap_or(f64::NAN)));
        return Ok(());
    }
    for (row, text) in column.str()?.iter().enumerate() {
        let text = text.unwrap_or_default().trim();
        let number = match text {
            "" | "nan" | "NaN" | "NA" | "null" | "None" | "--" => f64::NAN,
            _ => text.parse().with_context(|| {
                message!(
                    "列 {1} 第 {0} 行：{text:?} 不是数字",
                    "row {} of column {}: {text:?} is not a number",
                    before + row + 1,
                    column.name()
                )
            })?,
        };
        each(row, number);
    }
    Ok(())
}

/// Dates of a column: dates, times, `2024-01-02`, `2024/1/2`, `20240102` as text or number.
pub fn dates(column: &Column) -> Result<RepeatedValues<NaiveDate>> {
    dates_behind(column, 0)
}

fn dates_behind(column: &Column, before: usize) -> Result<RepeatedValues<NaiveDate>> {
    let missing = |row: usize| {
        message!("列 {1} 第 {0} 行没有日期", "row {} of column {} has no date", before + row + 1, column.name())
    };
    if matches!(column.dtype(), DataType::Date | DataType::Datetime(..)) {
        let frame = frames::frame(vec![column.clone()])?;
        let days = dates_of(&frame, column.name())?;
        return repeated(days.into_iter(), missing, |_, date| Ok(date));
    }
    let formats = ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y.%m.%d"];
    repeated_texts(column, missing, |row, text| {
        let day = text.split([' ', 'T']).next().unwrap_or(text);
        let date = formats.iter().find_map(|format| NaiveDate::parse_from_str(day, format).ok());
        date.with_context(|| {
            message!(
                "列 {1} 第 {0} 行：{text:?} 不是日期",
                "row {} of column {}: {text:?} is not a date",
                before + row + 1,
                column.name()
            )
        })
    })
}

/// Times of a column, `None` for null; text as `2024-01-02 15:00:00`, with `T` or a fraction of a second too.
pub fn times(column: &Column) -> Result<Vec<Option<NaiveDateTime>>> {
    if column.dtype() != &DataType::String {
        return times_of(&frames::frame(vec![column.clone()])?, column.name());
    }
    let parse = |(row, text): (usize, Option<&str>)| {
        let text = text.unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(None);
        }
        ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .map(Some)
            .with_context(|| {
                message!(
                    "列 {1} 第 {0} 行：{text:?} 不是时间",
                    "row {} of column {}: {text:?} is not a time",
                    row + 1,
                    column.name()
                )
            })
    };
    column.str()?.iter().enumerate().map(parse).collect()
}

/// Codes of a column in canonical form, whichever style they are written in; a ticker of another market stays as it is.
pub fn codes(column: &Column) -> Result<RepeatedValues<Code>> {
    codes_behind(column, 0)
}

fn codes_behind(column: &Column, before: usize) -> Result<RepeatedValues<Code>> {
    let empty =
        |row: usize| message!("列 {1} 第 {0} 行为空", "row {} of column {} is empty", before + row + 1, column.name());
    repeated_texts(column, empty, |row, text| {
        ensure!(!text.is_empty(), empty(row));
        Ok(Code::parse(text).unwrap_or_else(|| Code::canonical(text)))
    })
}

/// The values of a column's texts, without the blanks around them.
fn repeated_texts<T>(
    column: &Column,
    missing: impl Fn(usize) -> Message,
    parse: impl Fn(usize, &str) -> Result<T>,
) -> Result<RepeatedValues<T>> {
    let texts = column.cast(&DataType::String)?;
    repeated(texts.str()?.iter().map(|text| text.map(str::trim)), missing, parse)
}

/// The values of these keys, `parse`d once each; a missing key is an error.
fn repeated<K: Copy + Eq + Hash, T>(
    keys: impl Iterator<Item = Option<K>>,
    missing: impl Fn(usize) -> Message,
    parse: impl Fn(usize, K) -> Result<T>,
) -> Result<RepeatedValues<T>> {
    let mut known: FxHashMap<K, u32> = FxHashMap::default();
    let mut values = RepeatedValues { distinct: Vec::new(), rows: Vec::with_capacity(keys.size_hint().0) };
    let mut before: Option<(K, u32)> = None;
    for (row, key) in keys.enumerate() {
        let key = key.with_context(|| missing(row))?;
        let number = match before {
            Some((same, number)) if same == key => number,
            _ => match known.get(&key) {
                Some(&number) => number,
                None => {
                    values.distinct.push(parse(row, key)?);
                    let number = u32::try_from(values.distinct.len() - 1)?;
                    known.insert(key, number);
                    number
                }
            },
        };
        before = Some((key, number));
        values.rows.push(number);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(frame: &DataFrame, name: &str) -> Vec<Option<String>> {
        frame.column(name).unwrap().str().unwrap().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_delimited_text_is_read_as_text_with_null_for_what_is_empty() {
        let frame = read_delimited(
            "\u{feff}code,name,note,name\r\n000001,\"平安, 银行\",\"\"\r\n\r\n600001,,x,y\n".as_bytes(),
            b',',
        );
        let frame = frame.unwrap();
        assert_eq!(frame.get_column_names(), ["code", "name", "note", "name_duplicated_0"]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(texts(&frame, "code"), [some("000001"), some("600001")]);
        assert_eq!(texts(&frame, "name"), [some("平安, 银行"), None]);
        assert_eq!(texts(&frame, "note"), [None, some("x")]);
        assert_eq!(texts(&frame, "name_duplicated_0"), [None, some("y")], "a row may be short");
        assert_eq!(read_delimited(b"a\tb\n1\t2,3\n", b'\t').unwrap().shape(), (1, 2));
    }

    #[test]
    fn a_table_in_pieces_has_the_dates_and_codes_of_the_table_as_a_whole() {
        let rows = 300_000_u32;
        let codes = (0..rows).map(|row| format!("{:06}.SZ", row * 79 % 5003));
        let dates = (0..rows).map(|row| format!("2024-01-{:02}", 1 + row / 10_000));
        let table = |dates: Vec<String>| {
            let columns = [("code", codes.clone().collect::<Vec<_>>()), ("date", dates)];
            frames::frame(columns.map(|(name, texts)| Column::new(name.into(), texts)).to_vec()).unwrap()
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        let mut frame = table(dates.clone().collect());
        frames::write_parquet(&path, &mut frame).unwrap();
        let [pieces, whole] = [DailyTable::open(&path).unwrap(), DailyTable::Whole(frame)];
        let values = |table: &DailyTable| {
            let (dates, codes) = (table.dates().unwrap(), table.codes().unwrap());
            (dates.distinct, dates.rows, codes.distinct, codes.rows)
        };
        assert_eq!(values(&pieces), values(&whole));
        // A row is counted from the first row of the table.
        let wrong = dates.enumerate().map(|(row, date)| if row == 290_000 { "soon".to_owned() } else { date });
        frames::write_parquet(&path, &mut table(wrong.collect())).unwrap();
        let error = format!("{:#}", DailyTable::open(&path).unwrap().dates().err().unwrap());
        assert!(error.contains("row 290001 of column date: \"soon\" is not a date"), "{error}");
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_row() {
        for (text, reason) in [
            (&b""[..], "it is empty"),
            (b"date,close\n2024-01-02,1,200.5\n", "row 1 has 3 fields, and the header has 2"),
            (b"date,close\n2024-01-02,1\n2024-01-03,\xff\n", "invalid UTF-8"),
        ] {
            let error = format!("{:#}", read_delimited(text, b',').unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
        let wide = vec!["x"; limits::COLUMNS + 1].join(",");
        assert!(read_delimited(wide.as_bytes(), b',').unwrap_err().to_string().contains("at most 10000"));
    }
}
