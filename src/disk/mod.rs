//! Files that are whole or absent: temporary name, fsync, rename. And the one way frames go to and come from Parquet, values to
//! and from JSON: with a seal, by which damage and other formats are seen before anything is served.

mod claims;
mod flaw;
mod foreign;
mod formulas;
mod json;
mod map;
mod names;
mod pending;
mod seal;

use std::fs::File;
use std::io::{BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use memmap2::Mmap;
use polars::prelude::{Column, DataFrame, ParquetReader, ParquetWriter, SerReader};

pub use claims::PAGE as PARQUET_PAGE;
pub use flaw::{Damage, Flaw};
pub use foreign::{ForeignParquet, read_foreign_parquet};
pub use formulas::Formulas;
pub(crate) use json::content_of_json;
#[cfg(test)]
pub(crate) use json::write_json_of;
pub use json::{read_json, read_unsealed_json, write_json};
pub use map::{map, map_file, numbers};
pub(crate) use names::no_file_name;
pub use pending::{Pending, Scratch};
pub(crate) use pending::{make_readable, sync_folder};

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

/// Writes a frame as sealed Parquet (zstd), with the same bytes for the same frame.
pub fn write_parquet(path: &Path, frame: &mut DataFrame) -> Result<()> {
    write_atomic(path, |out| {
        seal_parquet(out, |out| {
            parquet_writer(out).finish(frame)?;
            Ok(())
        })
    })
}

/// Seals the Parquet file that `write` writes, which is all that `out` holds.
pub fn seal_parquet(out: &mut BufWriter<File>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    seal::seal(out, write)
}

/// A writer of Parquet (zstd) that makes the same bytes for the same frame.
pub fn parquet_writer<W: Write>(out: W) -> ParquetWriter<W> {
    ParquetWriter::new(out).set_parallel(false).with_row_group_size(Some(1 << 16))
}

/// Reads a Parquet file of ours, all columns or those named, if it is as it was written.
pub fn read_parquet(path: &Path, columns: Option<&[&str]>) -> Result<DataFrame> {
    let map = checked(path, seal::check)?;
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let reader = ParquetReader::new(Cursor::new(map)).with_columns(columns);
    reader.finish().with_context(|| format!("{} is not a readable Parquet file", path.display()))
}

/// Rows of a Parquet file of ours, by its footer alone.
pub fn rows_of_parquet(path: &Path) -> Result<usize> {
    let map = checked(path, seal::find)?;
    ParquetReader::new(Cursor::new(map))
        .num_rows()
        .with_context(|| format!("{} is not a readable Parquet file", path.display()))
}

/// The key of a file, if all of it is as it was written: that of its seal, or of its bytes where files of its kind have none.
pub fn check(path: &Path) -> Result<Key> {
    let file = open(path)?;
    match extension(path) {
        Some("parquet") => check_with(path, &file, |bytes| seal::check(bytes).map(|seal| seal.content)),
        Some("json") => check_with(path, &file, json::check),
        _ => hash_file(path),
    }
}

/// What is wrong with a file, which should have this key where one is given.
pub fn damage_of(path: &Path, key: Option<Key>) -> Result<Option<Damage>> {
    match check(path) {
        Ok(found) if key.is_none_or(|key| key == found) => Ok(None),
        Ok(_) => {
            // Files without a seal tell no more than that they are others.
            let sealed = ["parquet", "json"].map(Some).contains(&extension(path));
            Ok(Some(Damage::new(path, if sealed { Flaw::Exchanged } else { Flaw::Altered })))
        }
        Err(error) => error.downcast().map(Some),
    }
}

/// The key that [`check`] gives of a file that has just been written, of whose pages nothing is read.
pub fn key_of(path: &Path) -> Result<Key> {
    match extension(path) {
        Some("parquet") => check_with(path, &open(path)?, |bytes| seal::find(bytes).map(|seal| seal.content)),
        _ => check(path),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn open(path: &Path) -> Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(Damage::new(path, Flaw::Missing)),
        opened => opened.with_context(|| format!("cannot open {}", path.display())),
    }
}

/// The bytes of a file that passes a check. (polars would map the file itself, and panics where it cannot.)
fn checked<T>(path: &Path, check: impl FnOnce(&[u8]) -> Result<T, Flaw>) -> Result<Mmap> {
    let map = map_file(&open(path)?).with_context(|| format!("cannot read {}", path.display()))?;
    check(&map).map_err(|flaw| Damage::new(path, flaw))?;
    Ok(map)
}

fn check_with<T>(path: &Path, file: &File, check: impl FnOnce(&[u8]) -> Result<T, Flaw>) -> Result<T> {
    let map = map_file(file).with_context(|| format!("cannot read {}", path.display()))?;
    check(&map).map_err(|flaw| Damage::new(path, flaw).into())
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
    Ok(Key::cut(hasher.finalize()))
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
