//! Rows of a Parquet file, a slice at a time, every type as the text that a CSV would have held.
//!
//! A time with a zone is stored in UTC and is given with its `Z`, so that it is converted like any other.

use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{DateTime, Days, NaiveDate};
use polars_core::prelude::{AnyValue, Column, DataFrame, DataType, TimeUnit};
use polars_io::prelude::{ParquetReader, SerReader};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::ingest::reason;
use crate::ingest::row::{BATCH_BYTES, Cells, RowFault, SourceRow};
use inkstone_base::disk::Snapshot;
use inkstone_base::limits;
use inkstone_base::{ensure, message};
use inkstone_tables::frames::ForeignParquet;

/// Rows decoded at a time, at the most.
const SLICE: usize = 4096;
/// Bytes that the decoded rows take, as far as one row alone does not take more.
const SLICE_BYTES: u64 = 32 << 20;

pub(super) struct ParquetRows {
    file: ForeignParquet,
    size: u64,
    columns: Vec<String>,
    total: usize,
    given: usize,
    /// Rows that were decoded and not given.
    decoded: DataFrame,
    /// Bytes of text in each of them.
    sizes: Vec<usize>,
}

impl ParquetRows {
    pub(super) fn open(path: &Path) -> Result<ParquetRows> {
        let file = ForeignParquet::open(path)?;
        let head = |mut reader: ParquetReader<Cursor<Snapshot>>| {
            Ok((reader.num_rows()?, reader.schema()?.iter_names().map(ToString::to_string).collect()))
        };
        let (total, columns) = file.read(head)?;
        let size = std::fs::metadata(path)?.len();
        Ok(ParquetRows { file, size, columns, total, given: 0, decoded: DataFrame::empty(), sizes: Vec::new() })
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// Rows that were given, and all.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.given as u64, self.total as u64)
    }

    /// The next rows, as many as hold no more text than a batch may, but one at the least; empty at the end.
    pub(super) fn next_batch(&mut self, used: &[bool]) -> Result<Vec<SourceRow>> {
        if self.sizes.is_empty() {
            // Not both of them at once.
            self.decoded = DataFrame::empty();
            self.decoded = self.decode(used)?;
            self.sizes = sizes_of(&self.decoded).with_context(|| self.path())?;
        }
        if self.sizes.is_empty() {
            return Ok(Vec::new());
        }
        // One text in the file can be that of many rows, so the size of the file says nothing.
        let sums = self.sizes.iter().scan(0, |sum, &size| {
            *sum += if size <= limits::RECORD { size } else { 0 };
            Some(*sum)
        });
        let height = sums.take_while(|&sum| sum <= BATCH_BYTES).count().max(1);
        let short_enough: Vec<bool> = self.sizes.drain(..height).map(|size| size <= limits::RECORD).collect();
        let frame = self.decoded.head(Some(height));
        self.decoded = self.decoded.slice(height as i64, self.sizes.len());
        let texts: Vec<Option<Vec<Option<String>>>> = self
            .columns
            .par_iter()
            .zip(used)
            .map(|(name, used)| if *used { texts_of(frame.column(name)?, &short_enough).map(Some) } else { Ok(None) })
            .collect::<Result<_>>()
            .with_context(|| self.path())?;
        let row = |i: usize| -> SourceRow {
            let number = (self.given + i + 1) as u64;
            if short_enough[i] {
                let cells: Cells = texts.iter().map(|column| column.as_ref().and_then(|c| c[i].as_deref())).collect();
                return SourceRow { number, bytes: Vec::new(), cells: Ok(cells) };
            }
            let (column, text) = longest(&frame, i);
            let bytes = text.as_bytes()[..text.len().min(limits::RECORD_KEPT)].to_vec();
            SourceRow { number, bytes, cells: Err(RowFault::new(column, reason::RECORD_TOO_LONG, text)) }
        };
        let rows = (0..height).map(row).collect();
        self.given += height;
        Ok(rows)
    }

    fn path(&self) -> String {
        self.file.path().display().to_string()
    }

    /// Number of rows that can be decoded together; 0 at the end.
    fn height(&self, names: &[String]) -> Result<usize> {
        let mut height = SLICE.min(self.total - self.given);
        let used: FxHashSet<&str> = names.iter().map(String::as_str).collect();
        loop {
            let rows = self.given..self.given + height;
            let bytes = self.file.claims().bytes_of(rows, |name| used.contains(name));
            if height <= 1 {
                // The reader holds about five times as much on its way to the texts.
                let limit = limits::PAGES + self.size * 3 / 4;
                ensure!(
                    bytes <= limit,
                    "{}：第 {} 行所在的页解压后有 {} MB，上限为 {} MB（请减少每页或每组的行数）",
                    "{}: row {} lies in pages of {} MB when unpacked; {} MB are the most (write fewer rows a page or group)",
                    self.path(),
                    self.given + 1,
                    bytes >> 20,
                    limit >> 20
                );
                return Ok(height);
            }
            if bytes <= SLICE_BYTES {
                return Ok(height);
            }
            height /= 2;
        }
    }

    fn decode(&self, used: &[bool]) -> Result<DataFrame> {
        let names: Vec<String> =
            self.columns.iter().zip(used).filter(|(_, used)| **used).map(|(c, _)| c.clone()).collect();
        let height = self.height(&names)?;
        if height == 0 {
            return Ok(DataFrame::empty());
        }
        let slice = Some((self.given, height));
        self.file.read_frame(|reader| reader.with_columns(Some(names)).with_slice(slice).finish()).with_context(|| {
            message!("{} 从第 {} 行起无法继续读取", "{} cannot be read on from row {}", self.path(), self.given + 1)
        })
    }
}

/// Bytes of text in each row.
fn sizes_of(frame: &DataFrame) -> Result<Vec<usize>> {
    let mut sizes = vec![0; frame.height()];
    for column in frame.columns() {
        match column.dtype() {
            DataType::String => {
                let texts = column.str()?.iter();
                sizes.iter_mut().zip(texts).for_each(|(size, text)| *size += text.map_or(0, str::len));
            }
            DataType::Binary | DataType::List(_) => {
                for (i, size) in sizes.iter_mut().enumerate() {
                    *size += size_of_value(&column.get(i)?);
                }
            }
            _ => {}
        }
    }
    Ok(sizes)
}

fn size_of_value(value: &AnyValue) -> usize {
    match value {
        AnyValue::String(text) => text.len(),
        AnyValue::StringOwned(text) => text.len(),
        AnyValue::Binary(bytes) => bytes.len(),
        AnyValue::List(items) => items.iter().map(|item| 1 + size_of_value(&item)).sum(),
        _ => 0,
    }
}

/// The longest text of a row, with its column.
fn longest(frame: &DataFrame, row: usize) -> (&str, &str) {
    let texts = frame.columns().iter().filter_map(|column| {
        let text = column.str().ok()?.get(row)?;
        Some((column.name().as_str(), text))
    });
    texts.max_by_key(|(_, text)| text.len()).unwrap_or_default()
}

/// The texts of a column, but of those rows that are `whole` alone.
fn texts_of(column: &Column, short_enough: &[bool]) -> Result<Vec<Option<String>>> {
    Ok(match column.dtype() {
        DataType::String => {
            let texts = column.str()?.iter().zip(short_enough);
            texts.map(|(text, short_enough)| text.filter(|_| *short_enough).map(str::to_owned)).collect()
        }
        DataType::Date => {
            let days = column.cast(&DataType::Int32)?;
            days.i32()?.iter().map(|d| d.and_then(date_of).map(|d| d.to_string())).collect()
        }
        DataType::Datetime(unit, zone) => {
            let mark = if zone.is_some() { "Z" } else { "" };
            let time = |t: i64| match unit {
                TimeUnit::Milliseconds => DateTime::from_timestamp_millis(t),
                TimeUnit::Microseconds => DateTime::from_timestamp_micros(t),
                TimeUnit::Nanoseconds => Some(DateTime::from_timestamp_nanos(t)),
            };
            let text = |t: i64| time(t).map(|t| format!("{}{mark}", t.format("%Y-%m-%d %H:%M:%S%.f")));
            let ticks = column.to_physical_repr();
            ticks.i64()?.iter().map(|t| t.and_then(text)).collect()
        }
        _ => {
            let texts = (0..column.len()).zip(short_enough);
            texts
                .map(|(i, short_enough)| Ok(if *short_enough { text_of(&column.get(i)?) } else { None }))
                .collect::<Result<_>>()?
        }
    })
}

fn text_of(value: &AnyValue) -> Option<String> {
    match value {
        AnyValue::Null => None,
        AnyValue::String(text) => Some((*text).to_owned()),
        AnyValue::StringOwned(text) => Some(text.to_string()),
        AnyValue::Binary(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        AnyValue::List(items) => Some(items.iter().filter_map(|i| text_of(&i)).collect::<Vec<_>>().join(",")),
        // Shown, they would be rounded.
        AnyValue::Float32(value) => Some(format!("{value:?}")),
        AnyValue::Float64(value) => Some(format!("{value:?}")),
        other => Some(other.to_string()),
    }
}

fn date_of(days: i32) -> Option<NaiveDate> {
    let (origin, span) = (NaiveDate::default(), Days::new(days.unsigned_abs().into()));
    if days >= 0 { origin.checked_add_days(span) } else { origin.checked_sub_days(span) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tables::frames;
    use polars_core::prelude::{IntoColumn, IntoSeries, NamedFrom, Series, TimeZone};

    #[test]
    fn every_type_becomes_the_text_of_a_csv() {
        let micros = || Series::new("t".into(), [Some(1_709_276_400_500_000i64), None]);
        let as_time = |name: &str, unit: TimeUnit, zone: Option<TimeZone>| {
            let times = micros().i64().unwrap().clone().into_datetime(unit, zone);
            times.into_series().with_name(name.into()).into_column()
        };
        let mut frame = frames::frame(vec![
            Series::new("code".into(), [Some(609i64), None]).into_column(),
            Series::new("price".into(), [Some(4.25), None]).into_column(),
            Series::new("st".into(), [Some(true), None]).into_column(),
            Series::new("day".into(), [Some(19_783i32), None]).cast(&DataType::Date).unwrap().into_column(),
            as_time("local", TimeUnit::Microseconds, None),
            as_time("utc", TimeUnit::Microseconds, Some(TimeZone::UTC)),
        ])
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        frames::write_parquet(&path, &mut frame).unwrap();
        let mut rows = ParquetRows::open(&path).unwrap();
        let batch = rows.next_batch(&[true; 6]).unwrap();
        let texts = |i: usize| batch[i].cells.as_ref().unwrap().iter().collect::<Vec<_>>();
        let expected = ["609", "4.25", "true", "2024-03-01", "2024-03-01 07:00:00.500", "2024-03-01 07:00:00.500Z"];
        assert_eq!(texts(0), expected.map(Some));
        assert_eq!(texts(1), vec![None; 6]);
        assert!(rows.next_batch(&[true; 6]).unwrap().is_empty());
    }

    #[test]
    fn numbers_keep_all_of_their_digits() {
        let series = [
            Series::new("a".into(), [9_007_199_254_740_993i64, 9_007_199_254_740_992]),
            Series::new("b".into(), [u64::MAX, u64::MAX - 1]),
            Series::new("c".into(), [1_234_567.891_234_5, 1_234_567.891_234_6]),
            Series::new("d".into(), [1e3, 609.0]),
            Series::new("e".into(), [16_777_215.0f32, 0.1]),
            Series::new("f".into(), ["12345678901234567890123.45", "-0.05"]).cast(&DataType::Decimal(30, 2)).unwrap(),
        ];
        let columns = series.into_iter().map(IntoColumn::into_column).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        frames::write_parquet(&path, &mut frames::frame(columns).unwrap()).unwrap();
        let rows = ParquetRows::open(&path).unwrap().next_batch(&[true; 6]).unwrap();
        let texts = |i: usize| rows[i].cells.as_ref().unwrap().iter().flatten().collect::<Vec<_>>();
        let exact = ["9007199254740993", "18446744073709551615", "1234567.8912345", "1000.0", "16777215.0"];
        assert_eq!(texts(0), [exact.as_slice(), &["12345678901234567890123.45"]].concat());
        let exact = ["9007199254740992", "18446744073709551614", "1234567.8912346", "609.0", "0.1", "-0.05"];
        assert_eq!(texts(1), exact);
    }

    /// Kilobytes that are a hundred megabytes of cells.
    #[test]
    fn a_text_that_stands_for_many_rows_is_not_copied_for_all_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parquet");
        let [long, half] = [limits::RECORD + 1, limits::RECORD / 2].map(|length| "涨".repeat(length.div_ceil(3)));
        let texts: Vec<&str> = (0..30).map(|i| [half.as_str(), "短", long.as_str()][i % 3]).collect();
        let ids: Vec<u32> = (0..30).collect();
        let columns =
            vec![Series::new("id".into(), ids).into_column(), Series::new("content".into(), texts).into_column()];
        frames::write_parquet(&path, &mut frames::frame(columns).unwrap()).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);

        let mut rows = ParquetRows::open(&path).unwrap();
        let mut read = Vec::new();
        loop {
            let batch = rows.next_batch(&[true, true]).unwrap();
            if batch.is_empty() {
                break;
            }
            let held =
                |row: &SourceRow| row.cells.as_ref().map_or(0, |cells| cells.iter().flatten().map(str::len).sum());
            assert!(batch.iter().map(held).sum::<usize>() <= 2 * BATCH_BYTES);
            read.extend(batch);
        }
        assert!(read.iter().map(|row| row.number).eq(1..=30));
        for (i, row) in read.iter().enumerate() {
            match (&row.cells, i % 3) {
                (Ok(cells), 0 | 1) => {
                    assert_eq!(
                        (cells.get(0), cells.get(1).map(str::len)),
                        (Some(i.to_string().as_str()), Some([half.len(), 3][i % 3]))
                    );
                }
                (Err(fault), 2) => {
                    assert_eq!((fault.column.as_str(), fault.reason.as_str()), ("content", reason::RECORD_TOO_LONG));
                    assert_eq!(row.bytes, long.as_bytes()[..limits::RECORD_KEPT]);
                }
                _ => panic!("row {i}"),
            }
        }
    }
}
