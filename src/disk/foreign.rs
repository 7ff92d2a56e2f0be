//! Parquet files of others: looked over before they are believed, and read where a panic of the reader is an error like any other.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use polars::prelude::{DataFrame, ParallelStrategy, ParquetReader, PolarsResult, SerReader};

use super::claims::Claims;
use super::{check_with, seal};
use crate::job::contained;

/// Bytes that a table may unpack to which is read as a whole, and bytes for each of its file's.
const TABLE: u64 = 1 << 30;
const TABLE_RATIO: u64 = 32;

/// A Parquet file of any origin.
pub struct ForeignParquet {
    path: PathBuf,
    file: File,
    claims: Claims,
}

impl ForeignParquet {
    /// Opens a file that can be what it claims, so that nobody takes the memory for one that cannot.
    pub fn open(path: &Path) -> Result<ForeignParquet> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let map = super::map_file(&file).with_context(|| format!("cannot read {}", path.display()))?;
        let claims = Claims::of(&map).with_context(|| not_whole(path))?;
        Ok(ForeignParquet { path: path.to_owned(), file, claims })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads of it what `read` asks of a reader.
    pub fn read<T>(&self, read: impl FnOnce(ParquetReader<File>) -> PolarsResult<T>) -> Result<T> {
        let file = self.file.try_clone().with_context(|| format!("cannot open {}", self.path.display()))?;
        // The reader panics at pages that are damaged; on this thread alone that can be caught.
        let reader = ParquetReader::new(file).read_parallel(ParallelStrategy::None);
        let read = contained(|| read(reader)).map_err(|_| anyhow!("its pages are no sound ones"));
        read.and_then(|read| Ok(read?)).with_context(|| not_whole(&self.path))
    }

    /// What the file claims to unpack to.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
}

fn not_whole(path: &Path) -> String {
    let path = path.display();
    format!("{path} is not a whole Parquet file (cut short while it was copied, damaged, or another format?)")
}

/// Reads a Parquet file of any origin, all columns or those named. Where it has a seal of ours, that counts.
pub fn read_foreign_parquet(path: &Path, columns: Option<&[&str]>) -> Result<DataFrame> {
    let foreign = ForeignParquet::open(path)?;
    check_with(path, &foreign.file, |bytes| match seal::find(bytes) {
        Ok(_) => seal::check(bytes).map(drop),
        Err(_) => Ok(()),
    })?;
    let used = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
    let (bytes, size) = (foreign.claims.bytes_of(0..usize::MAX, used), foreign.file.metadata()?.len());
    ensure!(
        bytes <= TABLE + TABLE_RATIO * size,
        "{} claims to unpack to {bytes} bytes, which is too much for its {size}",
        path.display()
    );
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    foreign.read(|reader| reader.with_columns(columns).finish())
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use crate::disk;

    #[test]
    fn a_file_damaged_anywhere_is_read_as_it_is_or_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let texts: Vec<String> = (0..2000).map(|i| format!("{:06}", i % 40)).collect();
        let prices: Vec<f64> = (0..2000).map(|i| f64::from(i) / 7.0).collect();
        let columns =
            vec![Series::new("code".into(), texts).into_column(), Series::new("close".into(), prices).into_column()];
        let mut bytes = Vec::new();
        disk::parquet_writer(&mut bytes).finish(&mut disk::frame(columns).unwrap()).unwrap();
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
                        let said = format!("{error:#}");
                        assert!(damage > 0 && said.contains("prices.parquet is not a whole Parquet file"), "{said}");
                    }
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
