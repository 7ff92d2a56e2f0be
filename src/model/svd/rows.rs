//! Sparse rows that are read many times, in order: in memory while they are few, in a scratch file when they are many.
//!
//! A row is its number of entries, its columns and its values, one after the other as 32-bit words, so that a pass over the
//! matrix reads one stream of 8 bytes an entry. The scratch file has no name, lies where temporary files lie (`TMPDIR`),
//! and is gone when the rows are dropped, also after a kill.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;

use crate::disk;
use crate::model::Row;

/// Rows of a block: the unit in which passes are cancelled and random numbers are drawn.
pub(crate) const BLOCK: usize = 1024;

/// Bytes of rows that stay in memory.
const IN_MEMORY: usize = 512 << 20;

/// Takes in rows, one by one.
pub(crate) struct RowsWriter {
    words: Vec<u32>,
    /// Words that stay in memory.
    limit: usize,
    file: Option<BufWriter<File>>,
    rows: SparseRows,
}

/// Sparse rows, ready to be read. The sums over all entries are kept, since variances need them.
pub(crate) struct SparseRows {
    words: Words,
    /// Where each block of [`BLOCK`] rows begins, and where the last one ends, in words.
    starts: Vec<usize>,
    count: usize,
    entries: u64,
    sums: Vec<f64>,
    squares: f64,
}

enum Words {
    Memory(Vec<u32>),
    /// None: an empty file cannot be mapped.
    File(Mmap),
}

impl RowsWriter {
    /// A writer of rows with at least `cols` columns.
    pub(crate) fn new(cols: usize) -> RowsWriter {
        RowsWriter::with_limit(cols, IN_MEMORY)
    }

    fn with_limit(cols: usize, bytes: usize) -> RowsWriter {
        let rows = SparseRows {
            words: Words::Memory(Vec::new()),
            starts: Vec::new(),
            count: 0,
            entries: 0,
            sums: vec![0.0; cols],
            squares: 0.0,
        };
        RowsWriter { words: Vec::new(), limit: bytes / 4, file: None, rows }
    }

    /// Adds a row, whose columns lie below `cols`.
    pub(crate) fn push(&mut self, entries: &[(u32, f32)]) -> Result<()> {
        let rows = &mut self.rows;
        if rows.count.is_multiple_of(BLOCK) {
            rows.starts.push(2 * rows.entries as usize + rows.count);
        }
        rows.count += 1;
        rows.entries += entries.len() as u64;
        for &(column, value) in entries {
            let value = f64::from(value);
            rows.sums[column as usize] += value;
            rows.squares += value * value;
        }
        self.words.push(u32::try_from(entries.len()).context("a row has too many entries")?);
        self.words.extend(entries.iter().map(|e| e.0));
        self.words.extend(entries.iter().map(|e| e.1.to_bits()));
        if self.words.len() > self.limit { self.spill() } else { Ok(()) }
    }

    /// The rows, to be read.
    pub(crate) fn finish(mut self) -> Result<SparseRows> {
        if self.file.is_some() {
            self.spill()?;
        }
        let mut rows = self.rows;
        rows.starts.push(2 * rows.entries as usize + rows.count);
        rows.words = match self.file {
            None => Words::Memory(self.words),
            Some(file) => {
                let file = file.into_inner().map_err(|error| error.into_error()).with_context(cannot_write)?;
                Words::File(disk::map_file(&file).context("cannot map the scratch file of sparse rows")?)
            }
        };
        Ok(rows)
    }

    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(tempfile::tempfile().with_context(cannot_write)?)),
        };
        file.write_all(bytemuck::cast_slice(&self.words)).with_context(cannot_write)?;
        self.words.clear();
        // What follows goes through a small buffer.
        self.words.shrink_to(1 << 18);
        self.limit = 1 << 18;
        Ok(())
    }
}

fn cannot_write() -> String {
    format!(
        "cannot keep sparse rows in a scratch file in {} (set TMPDIR to a folder with more room)",
        std::env::temp_dir().display()
    )
}

impl SparseRows {
    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Number of columns.
    pub(crate) fn cols(&self) -> usize {
        self.sums.len()
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of block `i`, in order.
    pub(crate) fn block(&self, i: usize) -> impl Iterator<Item = Row<'_>> {
        let words: &[u32] = match &self.words {
            Words::Memory(words) => words,
            Words::File(map) => bytemuck::cast_slice(map),
        };
        let mut rest = &words[self.starts[i]..self.starts[i + 1]];
        std::iter::from_fn(move || {
            let (&length, more) = rest.split_first()?;
            let (indices, more) = more.split_at(length as usize);
            let (values, more) = more.split_at(length as usize);
            rest = more;
            Some(Row { indices, values: bytemuck::cast_slice(values) })
        })
    }

    /// The sum over all columns of each one's variance over the rows (ddof 0).
    pub(crate) fn variance(&self) -> f64 {
        let n = self.count as f64;
        self.squares / n - self.sums.iter().map(|sum| (sum / n).powi(2)).sum::<f64>()
    }

    /// Fails unless the rows can have `dim` dimensions; `rows` and `cols` name what they are.
    pub(crate) fn check(&self, dim: usize, rows: &str, cols: &str) -> Result<()> {
        let most = self.count.min(self.cols());
        ensure!(
            (1..=most).contains(&dim),
            "{dim} dimensions cannot be had of {} {rows} with {} {cols}: choose --dim from 1 to {most}",
            self.count,
            self.cols()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(limit: usize) -> SparseRows {
        let mut rows = RowsWriter::with_limit(7, limit);
        for i in 0..3000u32 {
            let entries: Vec<(u32, f32)> = (0..i % 5).map(|j| (j + i % 3, (i * j) as f32)).collect();
            rows.push(&entries).unwrap();
        }
        rows.finish().unwrap()
    }

    #[test]
    fn rows_are_the_same_in_memory_and_in_the_scratch_file() {
        let (memory, file) = (write(1 << 30), write(100));
        assert!(matches!(memory.words, Words::Memory(_)) && matches!(file.words, Words::File(_)));
        assert_eq!((memory.blocks(), file.blocks(), memory.count(), memory.entries()), (3, 3, 3000, 6000));
        let mut seen = 0;
        for i in 0..3 {
            for (a, b) in memory.block(i).zip(file.block(i)) {
                assert_eq!(a, b);
                assert_eq!(a.indices.len() as u32, seen % 5);
                seen += 1;
            }
        }
        assert_eq!(seen, 3000);
        assert_eq!(memory.variance(), file.variance());
    }

    #[test]
    fn the_variance_is_that_of_the_columns() {
        let mut rows = RowsWriter::new(2);
        rows.push(&[(0, 1.0), (1, 4.0)]).unwrap();
        rows.push(&[(0, 3.0)]).unwrap();
        // Column 0: 1 and 3, variance 1; column 1: 4 and 0, variance 4.
        assert_eq!(rows.finish().unwrap().variance(), 5.0);
    }
}
