//! Frames to and from Parquet: with a seal ([`inkstone_base::disk`]) where the file is this program's own, behind checks where it is not.

mod claims;
mod columns;
mod foreign;
#[cfg(test)]
mod tests;

use std::io::{Cursor, Write};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use polars_core::prelude::{Column, DataFrame};
use polars_io::prelude::{ParquetReader, ParquetWriter, SerReader};

pub use claims::Claims;
pub use columns::ParquetColumns;
pub use foreign::{ForeignParquet, read_foreign_parquet};

use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::message;

/// Writes a frame as sealed Parquet (zstd), with the same bytes for the same frame.
pub fn write_parquet(path: &Path, frame: &mut DataFrame) -> Result<()> {
    disk::write_atomic(path, |out| {
        disk::seal_parquet(out, |out| {
            parquet_writer(out).finish(frame)?;
            Ok(())
        })
    })
}

/// Rows that a group of a Parquet file has at the least where there are so many.
pub const GROUP_ROWS: usize = 1 << 16;

/// A writer of Parquet (zstd) that makes the same bytes for the same frame.
pub fn parquet_writer<W: Write>(out: W) -> ParquetWriter<W> {
    ParquetWriter::new(out).set_parallel(false).with_row_group_size(Some(GROUP_ROWS))
}

/// Reads a Parquet file of ours, all columns or those named, if it is as it was written.
pub fn read_parquet(path: &Path, columns: Option<&[&str]>) -> Result<DataFrame> {
    let map = disk::sealed_bytes(path)?;
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let reader = ParquetReader::new(Cursor::new(map)).with_columns(columns);
    reader
        .finish()
        .with_context(|| message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display()))
}

/// Reads rows of a Parquet file of ours, all columns or those named, and no group of rows that has none of them.
pub fn read_parquet_rows(path: &Path, columns: Option<&[&str]>, rows: Range<usize>) -> Result<DataFrame> {
    let map = disk::sealed_bytes(path)?;
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let reader = ParquetReader::new(Cursor::new(map)).with_columns(columns).with_slice(Some((rows.start, rows.len())));
    reader
        .finish()
        .with_context(|| message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display()))
}

/// Names of the columns of a Parquet file of ours, by its footer alone.
pub fn columns_of_parquet(path: &Path) -> Result<Vec<String>> {
    let map = disk::sealed_footer(path)?;
    let schema = ParquetReader::new(Cursor::new(map)).schema();
    let schema = schema
        .with_context(|| message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display()))?;
    Ok(schema.iter_names().map(|name| name.to_string()).collect())
}

/// Reads all columns but those named of a Parquet file of ours.
pub fn read_parquet_without(path: &Path, left_out: &[&str]) -> Result<DataFrame> {
    let map = disk::sealed_bytes(path)?;
    let unreadable = || message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display());
    let mut reader = ParquetReader::new(Cursor::new(map));
    let schema = reader.schema().with_context(unreadable)?;
    let names = schema.iter_names().map(|name| name.to_string());
    let columns: Vec<String> = names.filter(|name| !left_out.contains(&name.as_str())).collect();
    reader.with_columns(Some(columns)).finish().with_context(unreadable)
}

/// Rows of a Parquet file of ours, by its footer alone.
pub fn rows_of_parquet(path: &Path) -> Result<usize> {
    let map = disk::sealed_footer(path)?;
    ParquetReader::new(Cursor::new(map))
        .num_rows()
        .with_context(|| message!("{} 不是可读的 Parquet 文件", "{} is not a readable Parquet file", path.display()))
}

/// A frame of columns that have the same length by construction.
pub fn frame(columns: Vec<Column>) -> Result<DataFrame> {
    DataFrame::new_infer_height(columns).context(Word("表中各列长度不同", "columns of a table differ in length"))
}
