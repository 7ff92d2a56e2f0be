//! Columns of a Parquet file, read one at a time, so that a large table is never in memory as a whole.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;
use polars_core::prelude::{Column, DataFrame};
use polars_io::prelude::{ParquetReader, SerReader};

use super::foreign::ForeignParquet;
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};

/// A Parquet file whose columns are read one at a time.
pub struct ParquetColumns {
    path: PathBuf,
    source: ColumnSource,
    names: Vec<String>,
}

enum ColumnSource {
    Ours(Mmap),
    Foreign(ForeignParquet),
}

impl ParquetColumns {
    /// Opens a file of ours, if it is as it was written.
    pub fn ours(path: &Path) -> Result<ParquetColumns> {
        ParquetColumns::new(path, ColumnSource::Ours(disk::sealed_bytes(path)?))
    }

    /// Opens a file of any origin, as [`super::read_foreign_parquet`] does.
    pub fn foreign(path: &Path) -> Result<ParquetColumns> {
        let foreign = ForeignParquet::open(path)?;
        foreign.check_table(|_| true)?;
        ParquetColumns::new(path, ColumnSource::Foreign(foreign))
    }

    fn new(path: &Path, source: ColumnSource) -> Result<ParquetColumns> {
        let schema = match &source {
            ColumnSource::Ours(map) => {
                ParquetReader::new(Cursor::new(&map[..])).schema().with_context(|| unreadable(path))?
            }
            ColumnSource::Foreign(foreign) => foreign.read(|mut reader| reader.schema())?,
        };
        let names = schema.iter_names().map(|name| name.to_string()).collect();
        Ok(ParquetColumns { path: path.to_owned(), source, names })
    }

    /// Names of the columns, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads a column.
    pub fn column(&self, name: &str) -> Result<Column> {
        let wanted = Some(vec![name.to_owned()]);
        let frame = match &self.source {
            ColumnSource::Ours(map) => {
                let reader = ParquetReader::new(Cursor::new(&map[..])).with_columns(wanted);
                reader.finish().with_context(|| unreadable(&self.path))?
            }
            ColumnSource::Foreign(foreign) => foreign.read(|reader| reader.with_columns(wanted).finish())?,
        };
        let column = frame.into_columns().pop();
        ensure!(column.is_some(), "{} 没有列 {name:?}", "{} has no column {name:?}", self.path.display());
        column.context(Word("应已读取列", "a column was read"))
    }
}

impl ParquetColumns {
    /// Reads all columns of some rows; fewer rows, or none, where the table ends.
    pub fn rows(&self, start: usize, count: usize) -> Result<DataFrame> {
        self.cut(None, start, count)
    }

    /// Rows of some columns, in the order of the table.
    pub fn rows_of(&self, columns: &[&str], start: usize, count: usize) -> Result<DataFrame> {
        self.cut(Some(columns.iter().map(|&name| name.to_owned()).collect()), start, count)
    }

    fn cut(&self, columns: Option<Vec<String>>, start: usize, count: usize) -> Result<DataFrame> {
        let slice = Some((start, count));
        match &self.source {
            ColumnSource::Ours(map) => {
                let reader = ParquetReader::new(Cursor::new(&map[..])).with_columns(columns).with_slice(slice);
                reader.finish().with_context(|| unreadable(&self.path))
            }
            ColumnSource::Foreign(foreign) => {
                foreign.read(|reader| reader.with_columns(columns).with_slice(slice).finish())
            }
        }
    }
}

fn unreadable(path: &Path) -> Message {
    message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display())
}
