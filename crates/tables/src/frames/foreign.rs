//! Parquet files of any origin: impossible claims of a file, and panics of the reader, become errors.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use polars_core::prelude::{DataFrame, PolarsResult};
use polars_io::prelude::{ParallelStrategy, ParquetReader, SerReader};

use super::claims::Claims;
use inkstone_base::disk::{self, Snapshot, snapshot};
use inkstone_base::job::contained;
use inkstone_base::language::Message;
use inkstone_base::{ensure, error, message};

/// Bytes that a table may unpack to, and further bytes for each byte of its file.
const TABLE: u64 = 1 << 30;
const TABLE_RATIO: u64 = 32;

/// A Parquet file of any origin.
pub struct ForeignParquet {
    path: PathBuf,
    bytes: Snapshot,
    claims: Claims,
}

impl ForeignParquet {
    /// Opens a file whose claims of its size are possible, so that no memory is taken for impossible ones.
    pub fn open(path: &Path) -> Result<ForeignParquet> {
        let bytes = snapshot(path)?;
        let claims = Claims::read(&bytes).with_context(|| not_whole(path))?;
        Ok(ForeignParquet { path: path.to_owned(), bytes, claims })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a frame with `read`. Columns of different lengths are an error: the reader puts them into a frame unchecked.
    pub fn read_frame(
        &self,
        read: impl FnOnce(ParquetReader<Cursor<Snapshot>>) -> PolarsResult<DataFrame>,
    ) -> Result<DataFrame> {
        let frame = self.read(read)?;
        let equal = frame.columns().iter().all(|column| column.len() == frame.height());
        let different = || error!("各列的行数不同", "its columns differ in their numbers of rows");
        if equal { Ok(frame) } else { Err(different()).with_context(|| not_whole(&self.path)) }
    }

    /// Reads the file with `read`; for a table, see [`ForeignParquet::read_frame`].
    pub fn read<T>(&self, read: impl FnOnce(ParquetReader<Cursor<Snapshot>>) -> PolarsResult<T>) -> Result<T> {
        // The reader panics at pages that are damaged; on this thread alone that can be caught.
        let reader = ParquetReader::new(Cursor::new(self.bytes.clone())).read_parallel(ParallelStrategy::None);
        let read = contained(|| read(reader)).map_err(|_| error!("它的页不完好", "its pages are no sound ones"));
        read.and_then(|read| Ok(read?)).with_context(|| not_whole(&self.path))
    }

    /// Fails where a seal is broken, or where the columns that are used claim more memory than a table may take.
    pub(super) fn check_table(&self, used: impl Fn(&str) -> bool) -> Result<()> {
        disk::check_if_sealed(&self.path, &self.bytes)?;
        let (bytes, size) = (self.claims.bytes_of(0..usize::MAX, used), self.bytes.len() as u64);
        ensure!(
            bytes <= TABLE + TABLE_RATIO * size,
            "{} 声称解压后有 {bytes} 字节，对其 {size} 的大小来说太多",
            "{} claims to unpack to {bytes} bytes, which is too much for its {size}",
            self.path.display()
        );
        Ok(())
    }

    /// The unpacked sizes that the file claims.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

fn not_whole(path: &Path) -> Message {
    let path = path.display();
    message!(
        "{path} 不是完整的 Parquet 文件（复制时中断、已损坏，或是另一种格式？）",
        "{path} is not a whole Parquet file (cut short while it was copied, damaged, or another format?)"
    )
}

/// Reads a Parquet file of any origin, all columns or those named. The seal of a file of ours is checked.
pub fn read_foreign_parquet(path: &Path, columns: Option<&[&str]>) -> Result<DataFrame> {
    let foreign = ForeignParquet::open(path)?;
    foreign.check_table(|name| columns.is_none_or(|columns| columns.contains(&name)))?;
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    foreign.read_frame(|reader| reader.with_columns(columns).finish())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use polars_core::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::frames;

    #[test]
    fn a_file_that_is_cut_short_or_written_over_while_it_is_read_is_read_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let numbers: Vec<u32> = (0..200_000).map(|i| i * 7919 % 100_003).collect();
        let mut frame = frames::frame(vec![Series::new("volume".into(), numbers).into_column()]).unwrap();
        let mut bytes = Vec::new();
        frames::parquet_writer(&mut bytes).finish(&mut frame).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let foreign = ForeignParquet::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert!(foreign.read_frame(|reader| reader.finish()).unwrap().equals_missing(&frame));
    }

    #[test]
    fn a_file_damaged_anywhere_is_read_as_it_is_or_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let texts: Vec<String> = (0..2000).map(|i| format!("{:06}", i % 40)).collect();
        let prices: Vec<f64> = (0..2000).map(|i| f64::from(i) / 7.0).collect();
        let columns =
            vec![Series::new("code".into(), texts).into_column(), Series::new("close".into(), prices).into_column()];
        let mut bytes = Vec::new();
        frames::parquet_writer(&mut bytes).finish(&mut frames::frame(columns).unwrap()).unwrap();
        let mut refused = 0;
        for at in (0..bytes.len()).step_by(bytes.len() / 300) {
            for damage in [0x00, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= damage;
                damaged.iter_mut().skip(at).take(usize::from(damage) / 60).for_each(|byte| *byte ^= damage);
                std::fs::write(&path, &damaged).unwrap();
                match read_foreign_parquet(&path, None) {
                    Ok(frame) => assert_eq!(frame.height(), 2000),
                    Err(error) => {
                        refused += 1;
                        let error = format!("{error:#}");
                        assert!(damage > 0 && error.contains("prices.parquet is not a whole Parquet file"), "{error}");
                    }
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
