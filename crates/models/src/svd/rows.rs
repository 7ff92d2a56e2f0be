//! Sparse rows that are read many times, in order: in memory while they are few, in a scratch file when they are many.
//!
//! A row is its number of entries, its columns and its values, one after the other as 32-bit words, so that a pass over the
//! matrix reads one stream of 8 bytes an entry.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;

use crate::Row;
use inkstone_base::data::TooLittle;
use inkstone_base::disk::Scratch;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// Rows of a block: the unit in which passes are cancelled and random numbers are drawn.
pub(crate) const BLOCK: usize = 1024;

/// Bytes of rows that stay in memory.
const IN_MEMORY: usize = 512 << 20;

/// Takes in rows, one by one.
pub struct RowsWriter {
    words: Vec<u32>,
    /// Words that stay in memory.
    limit: usize,
    folder: PathBuf,
    scratch: Option<Scratch>,
    rows: SparseRows,
}

/// Sparse rows, ready to be read. The sums over all entries are kept, since variances need them.
pub struct SparseRows {
    words: RowWords,
    /// The offset of each block of [`BLOCK`] rows, and the end of the last, in words of 4 bytes.
    starts: Vec<usize>,
    count: usize,
    entries: u64,
    sums: Vec<f64>,
    squares: f64,
}

enum RowWords {
    Memory(Vec<u32>),
    File(Mmap),
}

impl RowsWriter {
    /// A writer of rows with `cols` columns; a scratch file, if need be, is made in `folder`.
    pub fn new(cols: usize, folder: &Path) -> RowsWriter {
        RowsWriter::with_limit(cols, folder, IN_MEMORY)
    }

    fn with_limit(cols: usize, folder: &Path, bytes: usize) -> RowsWriter {
        let rows = SparseRows {
            words: RowWords::Memory(Vec::new()),
            starts: Vec::new(),
            count: 0,
            entries: 0,
            sums: vec![0.0; cols],
            squares: 0.0,
        };
        RowsWriter { words: Vec::new(), limit: bytes / 4, folder: folder.to_owned(), scratch: None, rows }
    }

    /// Adds a row, whose columns lie below `cols`.
    pub fn push(&mut self, row: Row<'_>) -> Result<()> {
        let rows = &mut self.rows;
        if rows.count.is_multiple_of(BLOCK) {
            rows.starts.push(2 * rows.entries as usize + rows.count);
        }
        rows.count += 1;
        rows.entries += row.indices.len() as u64;
        for (column, value) in row.iter() {
            let value = f64::from(value);
            rows.sums[column as usize] += value;
            rows.squares += value * value;
        }
        self.words
            .push(u32::try_from(row.indices.len()).context(Word("有一行的条目过多", "a row has too many entries"))?);
        self.words.extend_from_slice(row.indices);
        self.words.extend_from_slice(bytemuck::cast_slice(row.values));
        if self.words.len() > self.limit { self.spill() } else { Ok(()) }
    }

    /// The rows, to be read.
    pub fn finish(mut self) -> Result<SparseRows> {
        if self.scratch.is_some() {
            self.spill()?;
        }
        let mut rows = self.rows;
        rows.starts.push(2 * rows.entries as usize + rows.count);
        rows.words = match self.scratch.map(Scratch::map).transpose()?.flatten() {
            Some(map) => RowWords::File(map),
            None => RowWords::Memory(self.words),
        };
        Ok(rows)
    }

    fn spill(&mut self) -> Result<()> {
        /// Words that are gathered before they are written.
        const GATHERED: usize = 1 << 16;
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Scratch::within(&self.folder)?),
        };
        scratch.write(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        self.words.shrink_to(GATHERED);
        self.limit = GATHERED;
        Ok(())
    }
}

impl SparseRows {
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn cols(&self) -> usize {
        self.sums.len()
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn blocks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of block `i`, in order.
    pub fn block(&self, i: usize) -> impl Iterator<Item = Row<'_>> {
        let words: &[u32] = match &self.words {
            RowWords::Memory(words) => words,
            RowWords::File(map) => bytemuck::cast_slice(map),
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
    pub fn variance(&self) -> f64 {
        let n = self.count as f64;
        self.squares / n - self.sums.iter().map(|sum| (sum / n).powi(2)).sum::<f64>()
    }

    /// Fails unless the rows can have `dim` dimensions; `rows` and `cols` name what they are.
    pub fn check(&self, dim: usize, rows: &str, cols: &str) -> Result<()> {
        let most = self.count.min(self.cols());
        ensure!(
            (1..=most).contains(&dim),
            TooLittle(message!(
                "不能从 {} {rows}、{} {cols}得到 {dim} 维：请选 1 到 {most} 的 --dim",
                "{dim} dimensions cannot be had of {} {rows} with {} {cols}: choose --dim from 1 to {most}",
                self.count,
                self.cols()
            ))
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(rows: &mut RowsWriter, entries: &[(u32, f32)]) {
        let (indices, values): (Vec<u32>, Vec<f32>) = entries.iter().copied().unzip();
        rows.push(Row { indices: &indices, values: &values }).unwrap();
    }

    fn write(limit: usize) -> SparseRows {
        let dir = tempfile::tempdir().unwrap();
        let mut rows = RowsWriter::with_limit(7, dir.path(), limit);
        for i in 0..3000u32 {
            let entries: Vec<(u32, f32)> = (0..i % 5).map(|j| (j + i % 3, (i * j) as f32)).collect();
            push(&mut rows, &entries);
        }
        rows.finish().unwrap()
    }

    #[test]
    fn rows_are_the_same_in_memory_and_in_the_scratch_file() {
        let (memory, file) = (write(1 << 30), write(100));
        assert!(matches!(memory.words, RowWords::Memory(_)) && matches!(file.words, RowWords::File(_)));
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
        let mut rows = RowsWriter::new(2, Path::new(""));
        push(&mut rows, &[(0, 1.0), (1, 4.0)]);
        push(&mut rows, &[(0, 3.0)]);
        // Column 0: 1 and 3, variance 1; column 1: 4 and 0, variance 4.
        assert_eq!(rows.finish().unwrap().variance(), 5.0);
    }
}
