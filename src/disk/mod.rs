//! Files that are whole or absent: temporary name, fsync, rename. And the one way frames go to and come from Parquet.

mod map;
mod pending;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use polars::prelude::{Column, DataFrame, ParquetReader, ParquetWriter, SerReader};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use map::{map, map_file, numbers};
pub(crate) use pending::make_readable;
pub use pending::{Pending, Scratch};

use crate::data::Key;

/// Writes a file through `write` so that a reader sees either the old content or all of the new one.
///
/// Folders on the way are made. On an error, and on a kill at any moment, `path` is as it was before.
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut pending = Pending::create(path)?;
    write(pending.out()).with_context(|| format!("cannot write {}", path.display()))?;
    pending.finish()
}

/// Makes a folder and those above it; the error names the folder and the way out.
pub fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| {
        format!("cannot make the folder {} (check its permissions, or choose another)", path.display())
    })
}

/// Removes leftovers of interrupted writes below `folder`.
pub fn sweep(folder: &Path) -> Result<()> {
    for entry in walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_file() && entry.file_name().to_string_lossy().starts_with(".tmp-") {
            // Whoever wrote it may have put it in its place meanwhile.
            remove_if_there(entry.path()).context("a leftover of an interrupted run stays")?;
        }
    }
    Ok(())
}

/// Writes a value as indented JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomic(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")?;
        Ok(())
    })
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not what this version writes", path.display()))
}

/// Writes a frame as Parquet (zstd), with the same bytes for the same frame.
pub fn write_parquet(path: &Path, frame: &mut DataFrame) -> Result<()> {
    write_atomic(path, |out| {
        parquet_writer(out).finish(frame)?;
        Ok(())
    })
}

/// A writer of Parquet (zstd) that makes the same bytes for the same frame.
pub fn parquet_writer<W: Write>(out: W) -> ParquetWriter<W> {
    ParquetWriter::new(out).set_parallel(false).with_row_group_size(Some(1 << 16))
}

/// Reads a Parquet file, all columns or those named.
pub fn read_parquet(path: &Path, columns: Option<&[&str]>) -> Result<DataFrame> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let columns = columns.map(|names| names.iter().map(|&n| n.to_owned()).collect());
    ParquetReader::new(file)
        .with_columns(columns)
        .finish()
        .with_context(|| format!("{} is not a readable Parquet file (cut short, or another format?)", path.display()))
}

/// A frame of columns that have the same length by construction.
pub fn frame(columns: Vec<Column>) -> Result<DataFrame> {
    DataFrame::new_infer_height(columns).context("columns of a table differ in length")
}

/// Removes a file; one that is not there is as good as removed.
pub fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The content hash of a file, read in pieces.
pub fn hash_file(path: &Path) -> Result<Key> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    hash_reader(&mut file).with_context(|| format!("cannot read {}", path.display()))
}

/// BLAKE3 of a file, 64 hexadecimal digits, as `b3sum` prints it.
pub fn hash_file_in_full(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    hasher.update_reader(file).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The content hash of everything a reader gives.
pub fn hash_reader(reader: &mut impl Read) -> Result<Key> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(reader)?;
    let mut key = [0u8; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Ok(Key(key))
}

/// The files of a folder with this extension, sorted by name; none when the folder is absent.
pub fn files_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_leftovers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.txt");
        write_atomic(&path, |out| Ok(out.write_all(b"old")?)).unwrap();
        write_atomic(&path, |out| {
            out.write_all(b"new")?;
            anyhow::bail!("no more room")
        })
        .unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn sweeping_removes_only_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".tmp-abc"), "half").unwrap();
        std::fs::write(dir.path().join("part-1.parquet"), "whole").unwrap();
        sweep(dir.path()).unwrap();
        assert_eq!(files_in(dir.path(), "parquet").unwrap().len(), 1);
        assert!(!dir.path().join(".tmp-abc").exists());
    }
}
