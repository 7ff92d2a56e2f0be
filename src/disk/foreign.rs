//! Files of others: read where a file that changes meanwhile, and a panic of a reader, are errors like any other.
//!
//! A mapped file that another program cuts short ends the process, and one that it writes to changes under the reader's hands. So only
//! files that this program wrote are mapped; of a file of others a [`Snapshot`] is taken.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use memmap2::Mmap;
use polars::prelude::{DataFrame, ParallelStrategy, ParquetReader, PolarsResult, SerReader};

use super::claims::Claims;
use super::{Damage, map_file, seal};
use crate::job::contained;

/// Bytes that a table may unpack to which is read as a whole, and bytes for each of its file's.
const TABLE: u64 = 1 << 30;
const TABLE_RATIO: u64 = 32;

/// Bytes of a file that are kept in memory; a longer file is copied to the disk.
const IN_MEMORY: u64 = 64 << 20;

/// The bytes that a file had when it was read. What others do to the file afterwards changes nothing of them. Clones share them.
#[derive(Clone)]
pub struct Snapshot(Arc<Bytes>);

enum Bytes {
    Memory(Vec<u8>),
    /// A file without a name, in the system's folder of temporary files.
    Copy(Mmap),
}

/// Takes the bytes of a file: into memory, or, of a long file, into a file without a name in the system's folder of temporary files.
pub fn snapshot(path: &Path) -> Result<Snapshot> {
    snapshot_within(path, IN_MEMORY)
}

fn snapshot_within(path: &Path, in_memory: u64) -> Result<Snapshot> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let cannot = || format!("cannot read {}", path.display());
    let length = file.metadata().with_context(cannot)?.len();
    if length <= in_memory {
        let mut bytes = Vec::with_capacity(length as usize);
        // A file that grows meanwhile ends where it ended.
        file.take(length).read_to_end(&mut bytes).with_context(cannot)?;
        return Ok(Snapshot(Arc::new(Bytes::Memory(bytes))));
    }
    let cannot = || {
        format!(
            "cannot copy {}, of {length} bytes, into the folder of temporary files {} (TMPDIR names another)",
            path.display(),
            std::env::temp_dir().display()
        )
    };
    let mut copy = tempfile::tempfile().with_context(cannot)?;
    std::io::copy(&mut file, &mut copy).and_then(|_| copy.rewind()).with_context(cannot)?;
    Ok(Snapshot(Arc::new(Bytes::Copy(map_file(&copy).with_context(cannot)?))))
}

impl Deref for Snapshot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Bytes::Memory(bytes) => bytes,
            Bytes::Copy(map) => map,
        }
    }
}

impl AsRef<[u8]> for Snapshot {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// A Parquet file of any origin.
pub struct ForeignParquet {
    path: PathBuf,
    bytes: Snapshot,
    claims: Claims,
}

impl ForeignParquet {
    /// Opens a file that can be what it claims, so that nobody takes the memory for one that cannot.
    pub fn open(path: &Path) -> Result<ForeignParquet> {
        let bytes = snapshot(path)?;
        let claims = Claims::of(&bytes).with_context(|| not_whole(path))?;
        Ok(ForeignParquet { path: path.to_owned(), bytes, claims })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads of it what `read` asks of a reader.
    pub fn read<T>(&self, read: impl FnOnce(ParquetReader<Cursor<Snapshot>>) -> PolarsResult<T>) -> Result<T> {
        // The reader panics at pages that are damaged; on this thread alone that can be caught.
        let reader = ParquetReader::new(Cursor::new(self.bytes.clone())).read_parallel(ParallelStrategy::None);
        let read = contained(|| read(reader)).map_err(|_| anyhow!("its pages are no sound ones"));
        read.and_then(|read| Ok(read?)).with_context(|| not_whole(&self.path))
    }

    /// The unpacked sizes that the file claims.
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
    if seal::find(&foreign.bytes).is_ok() {
        seal::check(&foreign.bytes).map_err(|flaw| Damage::new(path, flaw))?;
    }
    let used = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
    let (bytes, size) = (foreign.claims.bytes_of(0..usize::MAX, used), foreign.bytes.len() as u64);
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
    fn a_file_that_is_cut_short_or_written_over_while_it_is_read_is_read_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.parquet");
        let numbers: Vec<u32> = (0..200_000).map(|i| i * 7919 % 100_003).collect();
        let mut frame = disk::frame(vec![Series::new("volume".into(), numbers).into_column()]).unwrap();
        let mut bytes = Vec::new();
        disk::parquet_writer(&mut bytes).finish(&mut frame).unwrap();
        // From memory, and from a copy on the disk.
        for in_memory in [IN_MEMORY, 0] {
            std::fs::write(&path, &bytes).unwrap();
            let taken = snapshot_within(&path, in_memory).unwrap();
            assert_eq!(matches!(&*taken.0, Bytes::Memory(_)), in_memory > 0);
            // What is mapped ends the process here.
            File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            std::fs::write(&path, "other").unwrap();
            let foreign = ForeignParquet { path: path.clone(), claims: Claims::of(&taken).unwrap(), bytes: taken };
            assert!(foreign.read(|reader| reader.finish()).unwrap().equals_missing(&frame));
        }
        std::fs::write(&path, &bytes).unwrap();
        let foreign = ForeignParquet::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert!(foreign.read(|reader| reader.finish()).unwrap().equals_missing(&frame));
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
