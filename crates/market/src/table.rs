//! Tables of daily values from anywhere: a Parquet or delimited file, its columns found under the names in use.
//!
//! Everything of a delimited file is read as text first, so that `000001` never becomes the number 1.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{Column, DataFrame, DataType, IntoColumn, StringChunkedBuilder};
use rustc_hash::FxHashMap;

use crate::dates_of;
use inkstone_base::code::Code;
use inkstone_base::{disk, limits};
use inkstone_tables::corpus::times_of;
use inkstone_tables::frames;

/// Names under which the date column is known.
pub const DATE_NAMES: [&str; 6] = ["date", "datetime", "trade_date", "day", "time", "日期"];
/// Names under which the code column is known.
pub const CODE_NAMES: [&str; 8] =
    ["code", "asset", "instrument", "ticker", "symbol", "ts_code", "order_book_id", "代码"];

/// Reads a Parquet (`.parquet`) or delimited file (`.tsv` by tabs, anything else by commas; UTF-8).
pub fn read_table(path: &Path) -> Result<DataFrame> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if extension == "parquet" {
        return frames::read_foreign_parquet(path, None);
    }
    let separator = if extension == "tsv" { b'\t' } else { b',' };
    read_delimited(&disk::snapshot(path)?, separator).with_context(|| {
        format!("{} is not a readable table (UTF-8 text with a header line, or Parquet)", path.display())
    })
}

/// The columns of a delimited text, all as text, null where a field is empty. A row may be shorter than the header.
pub(crate) fn read_delimited(bytes: &[u8], separator: u8) -> Result<DataFrame> {
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(bytes);
    let names = reader.headers()?.clone();
    ensure!(!names.is_empty(), "it is empty");
    ensure!(names.len() <= limits::COLUMNS, "it has {} columns; at most {} are read", names.len(), limits::COLUMNS);
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

/// The first column that bears one of the names, upper or lower case.
pub fn find<'a>(frame: &'a DataFrame, names: &[&str]) -> Option<&'a Column> {
    names.iter().find_map(|name| {
        frame.columns().iter().find(|c| c.name().trim_start_matches('\u{feff}').eq_ignore_ascii_case(name))
    })
}

/// The column of [`find`], or an error that lists what there is.
pub fn require<'a>(frame: &'a DataFrame, names: &[&str]) -> Result<&'a Column> {
    find(frame, names).with_context(|| {
        format!("no column is named {}; the columns are {:?}", names.join(" or "), frame.get_column_names())
    })
}

/// Numbers of a column, NaN for null and empty; a text that is no number is an error with its row.
pub fn numbers(column: &Column) -> Result<Vec<f64>> {
    if column.dtype() != &DataType::String {
        let column =
            column.cast(&DataType::Float64).with_context(|| format!("column {} is not numeric", column.name()))?;
        return Ok(column.f64()?.iter().map(|v| v.unwrap_or(f64::NAN)).collect());
    }
    let parse = |(row, text): (usize, Option<&str>)| {
        let text = text.unwrap_or_default().trim();
        if matches!(text, "" | "nan" | "NaN" | "NA" | "null" | "None" | "--") {
            return Ok(f64::NAN);
        }
        let bad = || format!("row {} of column {}: {text:?} is not a number", row + 1, column.name());
        text.parse().with_context(bad)
    };
    column.str()?.iter().enumerate().map(parse).collect()
}

/// Dates of a column: dates, times, `2024-01-02`, `2024/1/2`, `20240102` as text or number.
pub fn dates(column: &Column) -> Result<Vec<NaiveDate>> {
    let missing = |row: usize| format!("row {} of column {} has no date", row + 1, column.name());
    if matches!(column.dtype(), DataType::Date | DataType::Datetime(..)) {
        let frame = frames::frame(vec![column.clone()])?;
        let days = dates_of(&frame, column.name())?;
        return days.into_iter().enumerate().map(|(row, d)| d.with_context(|| missing(row))).collect();
    }
    let formats = ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y.%m.%d"];
    each_text_once(column, missing, |row, text| {
        let day = text.split([' ', 'T']).next().unwrap_or(text);
        let date = formats.iter().find_map(|format| NaiveDate::parse_from_str(day, format).ok());
        date.with_context(|| format!("row {} of column {}: {text:?} is not a date", row + 1, column.name()))
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
            .with_context(|| format!("row {} of column {}: {text:?} is not a time", row + 1, column.name()))
    };
    column.str()?.iter().enumerate().map(parse).collect()
}

/// Codes of a column in canonical form, whichever style they are written in; a ticker of another market stays as it is.
pub fn codes(column: &Column) -> Result<Vec<Code>> {
    let empty = |row: usize| format!("row {} of column {} is empty", row + 1, column.name());
    each_text_once(column, empty, |row, text| {
        ensure!(!text.is_empty(), empty(row));
        Ok(Code::parse(text).unwrap_or_else(|| Code::canonical(text)))
    })
}

/// The values of a column's texts, without the blanks around them. Dates and codes repeat, so each text is parsed once.
fn each_text_once<T: Clone>(
    column: &Column,
    missing: impl Fn(usize) -> String,
    parse: impl Fn(usize, &str) -> Result<T>,
) -> Result<Vec<T>> {
    let texts = column.cast(&DataType::String)?;
    let mut known: FxHashMap<&str, T> = FxHashMap::default();
    let mut values = Vec::with_capacity(texts.len());
    for (row, text) in texts.str()?.iter().enumerate() {
        let text = text.with_context(|| missing(row))?.trim();
        let value = match known.get(text) {
            Some(value) => value.clone(),
            None => known.entry(text).or_insert(parse(row, text)?).clone(),
        };
        values.push(value);
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
