//! Files that are whole or absent: temporary name, fsync, rename. Parquet and JSON carry a seal, by which damage and other formats are seen
//! before anything is served.

mod exchange;
mod flaw;
mod formulas;
mod json;
mod map;
mod names;
mod owned;
mod pending;
mod seal;
mod snapshot;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;

pub use exchange::exchange;
pub use flaw::{Damage, Flaw};
pub use formulas::Formulas;
pub use json::{content_of_json, read_json, read_json_if_whole, read_unsealed_json, write_json, write_json_of};
pub use map::{map, map_file, numbers};
pub use names::no_file_name;
pub use owned::{MARKER, NotOurs, Room, is_ours, marked_for, own_folder, write_marker};
pub(crate) use pending::is_at;
pub use pending::{Pending, Scratch};
pub use pending::{open_plain, sweep_file, sync_folder, temporary};
pub use snapshot::{Snapshot, snapshot};

use crate::data::Key;
use crate::language::Word;
use crate::{bail, message};

/// Format of the tables and JSON files that this program writes for itself. It stands in their seals, and files of another format are not
/// read.
pub const FORMAT: u32 = 1;

/// Writes a file through `write` so that a reader sees either the old content or all of the new one.
///
/// Folders on the way are made. On an error, and on a kill at any moment, `path` is as it was before.
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut pending = Pending::create(path)?;
    write(pending.out()).with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
    pending.finish()
}

/// Makes a folder and those above it. The error names the folder and the way out.
pub fn make_dir(path: &Path) -> Result<()> {
    pending::make_folders(path).with_context(|| {
        message!(
            "无法创建文件夹 {}（检查权限，或另选一处）",
            "cannot make the folder {} (check its permissions, or choose another)",
            path.display()
        )
    })
}

/// Removes leftovers of interrupted writes from a folder of ours and from all below it.
pub fn sweep(folder: &Path) -> Result<()> {
    sweep_to(folder, usize::MAX)
}

/// Removes leftovers of interrupted writes from a folder of ours, and none from folders in it.
pub fn sweep_top(folder: &Path) -> Result<()> {
    sweep_to(folder, 1)
}

fn sweep_to(folder: &Path, depth: usize) -> Result<()> {
    for entry in walkdir::WalkDir::new(folder).max_depth(depth).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_file() && is_temporary(&entry.file_name().to_string_lossy()) {
            // Its writer may have renamed it meanwhile.
            remove_if_there(entry.path())
                .context(Word("中断的运行留下的文件没有清除", "a leftover of an interrupted run stays"))?;
        }
    }
    Ok(())
}

/// True if a name is one that [`Pending`] gives to a file while it is written: `.tmp-` and 32 hexadecimal digits, or `.tmp-` and
/// the six letters and digits that the crate tempfile draws.
pub(crate) fn is_temporary(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(".tmp-") else { return false };
    Key::is_hex(rest) || rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Seals the Parquet file that `write` writes, which is all that `out` holds.
pub fn seal_parquet(out: &mut BufWriter<File>, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    seal::seal(out, write)
}

/// The key of a file that is as it was written, of which every byte is read: the key in the seal of a Parquet or JSON file, the hash of any
/// other file.
pub fn check(path: &Path) -> Result<Key> {
    let file = open(path)?;
    match extension(path) {
        Some("parquet") => check_with(path, &file, |bytes| seal::check(bytes).map(|seal| seal.content)),
        Some("json") => check_with(path, &file, json::check),
        _ => hash_file(path),
    }
}

/// The flaw of a file, if it has one. A file with another key than `key` is one too.
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

/// The key of a file, by which ingest's log, the notes beside parts and the project's state know it. Like [`check`], but the pages of a
/// Parquet file are not read: for a file that was just written.
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
        opened => opened.with_context(|| message!("无法打开 {}", "cannot open {}", path.display())),
    }
}

/// The bytes of a Parquet file of ours that is as it was written.
pub fn sealed_bytes(path: &Path) -> Result<Mmap> {
    checked(path, seal::check)
}

/// A Parquet file of ours that is as it was written, for readers that map it piece by piece.
pub fn sealed_file(path: &Path) -> Result<File> {
    let file = open(path)?;
    check_with(path, &file, seal::check)?;
    Ok(file)
}

/// The bytes of a Parquet file of ours whose footer is as it was written; its pages are not read.
pub fn sealed_footer(path: &Path) -> Result<Mmap> {
    checked(path, seal::find)
}

/// Fails where the bytes of a Parquet file have a seal and are not as they were written.
pub fn check_if_sealed(path: &Path, bytes: &[u8]) -> Result<()> {
    if seal::find(bytes).is_ok() {
        seal::check(bytes).map_err(|flaw| Damage::new(path, flaw))?;
    }
    Ok(())
}

/// The bytes of a file that passes a check. (polars would map the file itself, and panics where it cannot.)
fn checked<T>(path: &Path, check: impl FnOnce(&[u8]) -> Result<T, Flaw>) -> Result<Mmap> {
    let map = map_file(&open(path)?).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    check(&map).map_err(|flaw| Damage::new(path, flaw))?;
    Ok(map)
}

fn check_with<T>(path: &Path, file: &File, check: impl FnOnce(&[u8]) -> Result<T, Flaw>) -> Result<T> {
    let map = map_file(file).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    check(&map).map_err(|flaw| Damage::new(path, flaw).into())
}

/// Removes a file, if it is there.
pub fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| message!("无法删除 {}", "cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The content hash of a file, read in pieces.
pub fn hash_file(path: &Path) -> Result<Key> {
    let mut file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    hash_reader(&mut file).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))
}

/// BLAKE3 of a file, 64 hexadecimal digits, as `b3sum` prints it.
pub fn hash_file_in_full(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    hasher.update_reader(file).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
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
    let entries =
        std::fs::read_dir(folder).with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?.path();
        if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
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
    fn sweeping_removes_only_names_that_this_program_gives() {
        let dir = tempfile::tempdir().unwrap();
        let drawn = tempfile::Builder::new().prefix(".tmp-").tempfile_in(dir.path()).unwrap().keep().unwrap().1;
        let drawn = drawn.file_name().unwrap().to_string_lossy().into_owned();
        let named = format!(".tmp-{}", Key::of(b"table").hex());
        let theirs = [".tmp-mine", ".tmp-", ".tmp-0123456", ".tmp-abc.de", "part-1.parquet", &named[1..]];
        for folder in [dir.path().to_owned(), dir.path().join("below")] {
            std::fs::create_dir_all(&folder).unwrap();
            theirs.iter().for_each(|name| std::fs::write(folder.join(name), "mine").unwrap());
            std::fs::write(folder.join(&named), "half").unwrap();
        }
        std::fs::create_dir(dir.path().join(".tmp-abcdef")).unwrap();
        sweep_top(dir.path()).unwrap();
        assert!(!dir.path().join(&named).exists() && !dir.path().join(&drawn).exists());
        assert!(dir.path().join("below").join(&named).exists());
        sweep(dir.path()).unwrap();
        assert!(!dir.path().join("below").join(&named).exists());
        for folder in [dir.path().to_owned(), dir.path().join("below")] {
            assert!(theirs.iter().all(|name| folder.join(name).exists()), "{}", folder.display());
        }
        assert!(dir.path().join(".tmp-abcdef").exists());
    }
}
