//! Tables of daily values from anywhere: a Parquet or delimited file, its columns found under the names in use.
//!
//! Everything of a delimited file is read as text first, so that `000001` never becomes the number 1.

use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result, bail};
use chrono::{NaiveDate, NaiveDateTime};
use polars::prelude::{Column, CsvReadOptions, DataFrame, DataType, SerReader};

use crate::dates_of;
use inkstone_base::code::Code;
use inkstone_base::disk;
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
    CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .map_parse_options(|o| o.with_separator(separator))
        .into_reader_with_file_handle(Cursor::new(disk::snapshot(path)?))
        .finish()
        .with_context(|| {
            format!("{} is not a readable table (UTF-8 text with a header line, or Parquet)", path.display())
        })
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
    let texts = column.cast(&DataType::String)?;
    let parse = |(row, text): (usize, Option<&str>)| {
        let text = text.with_context(|| missing(row))?.trim();
        let day = text.split([' ', 'T']).next().unwrap_or(text);
        ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y.%m.%d"]
            .iter()
            .find_map(|format| NaiveDate::parse_from_str(day, format).ok())
            .with_context(|| format!("row {} of column {}: {text:?} is not a date", row + 1, column.name()))
    };
    texts.str()?.iter().enumerate().map(parse).collect()
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
    let texts = texts(column)?;
    Ok(texts.iter().map(|text| Code::parse(text).unwrap_or_else(|| Code::canonical(text))).collect())
}

/// Texts of a column; an absent one is an error with its row.
fn texts(column: &Column) -> Result<Vec<String>> {
    let column = column.cast(&DataType::String)?;
    let mut out = Vec::with_capacity(column.len());
    for (row, text) in column.str()?.iter().enumerate() {
        match text.map(str::trim).filter(|t| !t.is_empty()) {
            Some(text) => out.push(text.to_owned()),
            None => bail!("row {} of column {} is empty", row + 1, column.name()),
        }
    }
    Ok(out)
}
