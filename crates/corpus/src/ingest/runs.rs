//! Rows of prices sorted on the disk: runs that fit into memory are sorted and written one behind the other, and merged to one stream.
//!
//! Memory is a run and a buffer for each run, whatever the number of rows. Rows of one date and code come in the order in which they were
//! pushed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{Datelike, NaiveDate};
use polars_core::prelude::PlSmallStr;

use inkstone_base::disk::Scratch;
use inkstone_base::language::Word;
use inkstone_market::PRICE_COLUMNS;

/// Columns behind date and code.
pub(super) const VALUES: usize = PRICE_COLUMNS.len() - 2;
/// Bytes of a code at the most.
pub(super) const CODE_BYTES: usize = 12;
/// Rows of a run, and rows of each run that are read at a time.
const RUN_ROWS: usize = 1 << 18;
const BUFFER_ROWS: usize = 1 << 11;

/// The bits of a value that is unknown.
const NO_VALUE: u64 = f64::NAN.to_bits();

/// Date above code, as two numbers that sort as the pair does; number of the source; the bits of the values.
pub(super) type PriceRow = [u64; 3 + VALUES];

/// Date and code of a row, in their order.
pub(super) fn key_of(row: &PriceRow) -> (u64, u64) {
    (row[0], row[1])
}

/// The two numbers of a date and a code of at most [`CODE_BYTES`] bytes.
pub(super) fn key(date: NaiveDate, code: &str) -> (u64, u64) {
    let mut bytes = [0; CODE_BYTES];
    bytes[..code.len()].copy_from_slice(code.as_bytes());
    let (front, back) = bytes.split_at(4);
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    // The sign is turned, so that days before the year 1 come first.
    let day = date.num_days_from_ce().cast_unsigned() ^ 1 << 31;
    (u64::from(day) << 32 | number(front), number(back))
}

/// Date and code of a key.
pub(super) fn date_and_code((high, low): (u64, u64)) -> Result<(NaiveDate, PlSmallStr)> {
    let date = NaiveDate::from_num_days_from_ce_opt(((high >> 32) as u32 ^ 1 << 31).cast_signed());
    let mut bytes = [0; CODE_BYTES];
    bytes[..4].copy_from_slice(&(high as u32).to_be_bytes());
    bytes[4..].copy_from_slice(&low.to_be_bytes());
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(CODE_BYTES);
    let code = std::str::from_utf8(&bytes[..end])
        .context(Word("行情表中有代码不是文本", "a code of the price table is no text"))?;
    Ok((
        date.context(Word("行情表中有日期超出日历", "a date of the price table is outside the calendar"))?,
        code.into(),
    ))
}

/// Rows that wait to be sorted.
pub(super) struct Runs {
    beside: PathBuf,
    scratch: Option<Scratch>,
    pending: Vec<PriceRow>,
    written: Vec<WrittenRun>,
    run_rows: usize,
}

/// A run on the disk: of each row the words of its key and source, and those of the columns that have values in the run.
struct WrittenRun {
    rows: u64,
    columns: Vec<usize>,
}

impl WrittenRun {
    fn of_rows(rows: &[PriceRow]) -> WrittenRun {
        let has_values = |column: &usize| *column < 3 || rows.iter().any(|row| row[*column] != NO_VALUE);
        WrittenRun { rows: rows.len() as u64, columns: (0..3 + VALUES).filter(has_values).collect() }
    }

    fn bytes(&self, rows: u64) -> u64 {
        rows * (self.columns.len() * size_of::<u64>()) as u64
    }
}

impl Runs {
    /// No rows; they will lie beside `path`.
    pub(super) fn beside(path: &Path) -> Runs {
        Runs { beside: path.to_owned(), scratch: None, pending: Vec::new(), written: Vec::new(), run_rows: RUN_ROWS }
    }

    pub(super) fn push(&mut self, row: PriceRow) -> Result<()> {
        self.pending.push(row);
        if self.pending.len() < self.run_rows { Ok(()) } else { self.spill() }
    }

    fn spill(&mut self) -> Result<()> {
        self.pending.sort_by_key(key_of);
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            none => none.insert(Scratch::beside(&self.beside)?),
        };
        let run = WrittenRun::of_rows(&self.pending);
        let words: Vec<u64> =
            self.pending.iter().flat_map(|row| run.columns.iter().map(|column| row[*column])).collect();
        scratch.write(bytemuck::cast_slice(&words))?;
        self.written.push(run);
        self.pending.clear();
        Ok(())
    }

    /// All rows by date and code.
    pub(super) fn sorted(mut self) -> Result<SortedRows> {
        if !self.pending.is_empty() {
            self.spill()?;
        }
        self.pending = Vec::new();
        let mut sorted = SortedRows { file: None, runs: Vec::new(), heads: BinaryHeap::new() };
        let Some(scratch) = self.scratch.take() else { return Ok(sorted) };
        sorted.file = Some(scratch.into_file()?);
        let mut start = 0;
        for (number, run) in self.written.into_iter().enumerate() {
            let end = start + run.bytes(run.rows);
            sorted.runs.push(SortedRun { left: run.rows, next: start, columns: run.columns, rows: Vec::new(), at: 0 });
            start = end;
            sorted.put_head(number)?;
        }
        Ok(sorted)
    }
}

/// A sorted run: the rows in memory, and those that are still on the disk, from byte `next` on.
struct SortedRun {
    left: u64,
    next: u64,
    columns: Vec<usize>,
    rows: Vec<PriceRow>,
    at: usize,
}

/// The rows of all runs, merged.
pub(super) struct SortedRows {
    file: Option<File>,
    runs: Vec<SortedRun>,
    /// Key of the next row of each run that has one. Of equal keys the earlier run comes first.
    heads: BinaryHeap<Reverse<((u64, u64), usize)>>,
}

impl SortedRows {
    pub(super) fn next(&mut self) -> Result<Option<PriceRow>> {
        let Some(Reverse((_, number))) = self.heads.pop() else { return Ok(None) };
        let run = &mut self.runs[number];
        let row = run.rows[run.at];
        run.at += 1;
        self.put_head(number)?;
        Ok(Some(row))
    }

    /// Notes the next row of a run, read from the disk if need be.
    fn put_head(&mut self, number: usize) -> Result<()> {
        let run = &mut self.runs[number];
        if run.at == run.rows.len() {
            let length = run.left.min(BUFFER_ROWS as u64);
            let mut words = vec![0u64; length as usize * run.columns.len()];
            if let Some(file) = &mut self.file {
                file.seek(SeekFrom::Start(run.next))?;
                file.read_exact(bytemuck::cast_slice_mut(&mut words))
                    .context(Word("无法读取临时文件", "cannot read a scratch file"))?;
            }
            run.rows.clear();
            run.rows.resize(length as usize, [NO_VALUE; 3 + VALUES]);
            for (row, words) in run.rows.iter_mut().zip(words.chunks(run.columns.len())) {
                run.columns.iter().zip(words).for_each(|(column, word)| row[*column] = *word);
            }
            run.at = 0;
            run.left -= length;
            run.next += size_of_val(words.as_slice()) as u64;
        }
        if let Some(row) = run.rows.get(run.at) {
            self.heads.push(Reverse((key_of(row), number)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_sort_as_dates_and_codes_do_and_give_them_back() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let mut pairs = vec![
            (day("2024-01-02"), "600001.SH"),
            (day("2024-01-02"), "0700.HK"),
            (day("-0004-01-02"), "600001.SH"),
            (day("2024-01-01"), "A"),
            (day("2024-01-01"), "AB"),
            (day("2024-01-01"), "ABCDEFGHIJKL"),
        ];
        for (date, code) in &pairs {
            assert_eq!(date_and_code(key(*date, code)).unwrap(), (*date, (*code).into()));
        }
        let mut by_key = pairs.clone();
        pairs.sort();
        by_key.sort_by_key(|(date, code)| key(*date, code));
        assert_eq!(by_key, pairs);
    }

    proptest! {
        #[test]
        fn merged_runs_are_the_stable_sort_of_all_rows(days in proptest::collection::vec(0u64..40, 0..200), run_rows in 1usize..50) {
            let dir = tempfile::tempdir().unwrap();
            let mut runs = Runs { run_rows, ..Runs::beside(&dir.path().join("prices")) };
            let row = |(i, day): (usize, &u64)| {
                let mut row = [0; 3 + VALUES];
                (row[0], row[1], row[2]) = (*day, 7, i as u64);
                row
            };
            let mut rows: Vec<PriceRow> = days.iter().enumerate().map(row).collect();
            rows.iter().try_for_each(|row| runs.push(*row)).unwrap();
            rows.sort_by_key(key_of);
            let mut sorted = runs.sorted().unwrap();
            let mut merged = Vec::new();
            while let Some(row) = sorted.next().unwrap() {
                merged.push(row);
            }
            prop_assert_eq!(merged, rows);
        }
    }
}
