//! Columns of a Parquet file, read one at a time, so that a large table is never in memory as a whole.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;
use polars_core::prelude::{Column, DataFrame, PolarsResult};
use polars_io::mmap::MmapBytesReader;
use polars_io::prelude::{ParquetReader, SerReader};

use super::GROUP_ROWS;
use super::foreign::ForeignParquet;
use inkstone_base::disk::{self, map_file};
use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};

/// Rows that are read at once at the most, where groups of rows are no larger.
const PIECE_ROWS: usize = 4 * GROUP_ROWS;

/// A Parquet file whose columns are read one at a time.
pub struct ParquetColumns {
    path: PathBuf,
    source: ColumnSource,
    names: Vec<String>,
}

enum ColumnSource {
    /// Mapped for each read, so that pages that were read do not stay in memory.
    Ours(File),
    Foreign(ForeignParquet),
}

impl ParquetColumns {
    /// Opens a file of ours, if it is as it was written.
    pub fn ours(path: &Path) -> Result<ParquetColumns> {
        ParquetColumns::new(path, ColumnSource::Ours(disk::sealed_file(path)?))
    }

    /// Opens a file of any origin, as [`super::read_foreign_parquet`] does.
    pub fn foreign(path: &Path) -> Result<ParquetColumns> {
        let foreign = ForeignParquet::open(path)?;
        foreign.check_table(|_| true)?;
        ParquetColumns::new(path, ColumnSource::Foreign(foreign))
    }

    fn new(path: &Path, source: ColumnSource) -> Result<ParquetColumns> {
        let mut columns = ParquetColumns { path: path.to_owned(), source, names: Vec::new() };
        let schema = match &columns.source {
            ColumnSource::Ours(file) => columns.reader(file)?.schema().with_context(|| unreadable(path))?,
            ColumnSource::Foreign(foreign) => foreign.read(|mut reader| reader.schema())?,
        };
        columns.names = schema.iter_names().map(|name| name.to_string()).collect();
        Ok(columns)
    }

    fn reader(&self, file: &File) -> Result<ParquetReader<Cursor<Mmap>>> {
        Ok(ParquetReader::new(Cursor::new(map_file(file).with_context(|| unreadable(&self.path))?)))
    }

    /// Names of the columns, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads a column.
    pub fn column(&self, name: &str) -> Result<Column> {
        self.column_of_rows(name, None)
    }

    /// Reads some rows of a column.
    pub fn rows_of_column(&self, name: &str, rows: Range<usize>) -> Result<Column> {
        self.column_of_rows(name, Some(rows))
    }

    /// Reads all columns of some rows; fewer rows, or none, where the table ends.
    pub fn rows(&self, start: usize, count: usize) -> Result<DataFrame> {
        self.cut(None, Some(start..start + count))
    }

    /// Rows of some columns, in the order of the table.
    pub fn rows_of(&self, columns: &[&str], start: usize, count: usize) -> Result<DataFrame> {
        self.cut(Some(columns.iter().map(|&name| name.to_owned()).collect()), Some(start..start + count))
    }

    /// All rows, cut between groups of rows into pieces that are read one after another.
    pub fn pieces(&self) -> Result<Vec<Range<usize>>> {
        let groups = match &self.source {
            ColumnSource::Ours(file) => rows_of_groups(self.reader(file)?).with_context(|| unreadable(&self.path))?,
            ColumnSource::Foreign(foreign) => foreign.read(rows_of_groups)?,
        };
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for rows in groups {
            match pieces.last_mut() {
                Some(piece) if piece.len() + rows <= PIECE_ROWS => piece.end += rows,
                _ => pieces.push(start..start + rows),
            }
            start += rows;
        }
        Ok(pieces)
    }

    fn column_of_rows(&self, name: &str, rows: Option<Range<usize>>) -> Result<Column> {
        let column = self.cut(Some(vec![name.to_owned()]), rows)?.into_columns().pop();
        ensure!(column.is_some(), "{} 没有列 {name:?}", "{} has no column {name:?}", self.path.display());
        column.context(Word("应已读取列", "a column was read"))
    }

    fn cut(&self, columns: Option<Vec<String>>, rows: Option<Range<usize>>) -> Result<DataFrame> {
        let slice = rows.map(|rows| (rows.start, rows.len()));
        match &self.source {
            ColumnSource::Ours(file) => {
                let reader = self.reader(file)?.with_columns(columns).with_slice(slice);
                reader.finish().with_context(|| unreadable(&self.path))
            }
            ColumnSource::Foreign(foreign) => {
                foreign.read_frame(|reader| reader.with_columns(columns).with_slice(slice).finish())
            }
        }
    }
}

fn rows_of_groups(mut reader: ParquetReader<impl MmapBytesReader>) -> PolarsResult<Vec<usize>> {
    Ok(reader.get_metadata()?.row_groups.iter().map(|group| group.num_rows()).collect())
}

fn unreadable(path: &Path) -> Message {
    message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display())
}
