//! The folder of a store: which of its databases is in use, and by whom.
//!
//! It holds `lock`, `current` (the format, and the name of the folder in use, for example `db-000001`), that folder, and `rows` (see
//! `files`). Compaction and repair fill a new folder and then replace `current`, which is one rename; a folder that `current` does not
//! name is a leftover and is removed when the store is next opened.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::database::{Database, Owner, copy_files};
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::lock::{self, Attempt, Lock, take_within};
use inkstone_base::{bail, ensure, error, message};

/// Format of the stores that this version writes and reads.
const FORMAT: u32 = 3;

/// A store's folder, held for as long as this lives.
pub(super) struct Generations {
    root: PathBuf,
    /// Number of the database in use.
    current: u32,
    // The system drops it with the process, however that ends.
    _lock: Lock,
}

impl Generations {
    /// Locks a store's folder, which is made when it does not exist. Waits at most `patience` for another process to close it. With `repairs`,
    /// takes it also when `current` names no database.
    pub(super) fn take(root: &Path, patience: Duration, repairs: bool) -> Result<Generations> {
        disk::make_dir(root)?;
        let lock = match take_within(&root.join("lock"), "", patience)? {
            Attempt::Ours(lock) => lock,
            Attempt::Theirs(holder) => bail!(
                "特征库 {} 正被另一个运行使用（{}）；请等它结束，或让本次运行使用自己的项目",
                "the feature store {} is in use by another run ({}); wait until it has ended, or give this run a project of its own",
                root.display(),
                holder.in_words()
            ),
        };
        if is_new(root)? {
            write_current(root, 1)?;
        }
        let current = read_current(root)?;
        ensure!(current.is_some() || repairs, unsure(root));
        let sure = current.is_some();
        let current = current.map_or_else(|| latest(root), Ok)?;
        let generations = Generations { root: root.to_owned(), current, _lock: lock };
        if sure {
            generations.remove_leftovers()?;
        }
        Ok(generations)
    }

    /// Opens the database in use.
    pub(super) fn database(&self) -> Result<Database> {
        self.open(self.current)
    }

    /// Replaces the database by a new one that `fill` writes. Until the last step, and after any error, the old one stays in use.
    pub(super) fn replace<T>(&mut self, fill: impl FnOnce(&Database) -> Result<T>) -> Result<(Database, T)> {
        let next = self.current + 1;
        let folder = folder(&self.root, next);
        let filled = self.open(next).and_then(|new| {
            let result = fill(&new)?;
            new.flush()?;
            Ok((new, result))
        });
        let filled = filled.inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))?;
        write_current(&self.root, next)?;
        self.current = next;
        // The new one is in use already. If the old one stays, it is a leftover for the next opening.
        let _ = self.remove_leftovers();
        Ok(filled)
    }

    fn open(&self, generation: u32) -> Result<Database> {
        open(&self.root, &folder(&self.root, generation))
    }

    fn remove_leftovers(&self) -> Result<()> {
        disk::sweep_file(&self.root.join("current"))?;
        disk::sweep(&self.root.join("rows"))?;
        let current = folder(&self.root, self.current);
        for path in databases(&self.root)?.into_iter().filter(|path| *path != current) {
            std::fs::remove_dir_all(&path)
                .with_context(|| message!("无法清除残留的 {}", "cannot remove the leftover {}", path.display()))?;
        }
        Ok(())
    }
}

/// Opens a copy of the database in use, in a temporary folder: sled writes in the folder of a database that it opens. Waits at most
/// `patience` for another process that writes the store.
pub(super) fn copied_database(root: &Path, patience: Duration) -> Result<(TempDir, Database)> {
    let current = read_current(root)?.with_context(|| unsure(root))?;
    let _still = lock::reading(&root.join("lock"), patience).map_err(|holder| {
        let holder = holder.in_words();
        error!(
            "特征库 {} 正被另一个运行使用（{holder}）；请等它结束",
            "the feature store {} is in use by another run ({holder}); wait until it has ended",
            root.display()
        )
    })?;
    let copy = tempfile::tempdir().context(Word(
        "无法创建临时文件夹（TMPDIR 可指定另一处）",
        "cannot make a temporary folder (TMPDIR names another place)",
    ))?;
    let folder = folder(root, current);
    // A loss of power may come between `current` and the folder that it names.
    if folder.exists() {
        copy_files(&folder, copy.path()).with_context(|| {
            message!("无法把 {} 复制到 {}", "cannot copy {} to {}", folder.display(), copy.path().display())
        })?;
    }
    let database = open(root, copy.path())?;
    Ok((copy, database))
}

fn open(root: &Path, folder: &Path) -> Result<Database> {
    let owner = Owner {
        name: message!("特征库 {}", "the feature store {}", root.display()),
        way_out: Word(
            "`inkstone store repair` 用完好的行重建，下次运行补算其余",
            "`inkstone store repair` makes a new one of the rows that are sound, and the next run computes the rest again",
        ),
    };
    Database::open(folder, owner)
}

fn folder(root: &Path, generation: u32) -> PathBuf {
    root.join(format!("db-{generation:06}"))
}

/// True if there is a store in a folder. Fails for a store of another format. Takes no lock and changes nothing.
pub(super) fn is_there(root: &Path) -> Result<bool> {
    if !root.exists() || is_new(root)? {
        return Ok(false);
    }
    read_current(root)?.with_context(|| unsure(root)).map(|_| true)
}

/// True if nothing was ever written in a folder. `current` is written before the first database is made, so a folder with a database and
/// no `current` is not a new store.
fn is_new(root: &Path) -> Result<bool> {
    Ok(!root.join("current").exists() && databases(root)?.is_empty())
}

fn unsure(root: &Path) -> Message {
    message!(
        "{} 没有说明正在使用哪个数据库；`inkstone store repair` 用完好的行重建",
        "{} does not say which database is in use; `inkstone store repair` makes a new one of the rows that are sound",
        root.join("current").display()
    )
}

/// Number of the database that `current` names, if it names one. Fails for a store of another format.
fn read_current(root: &Path) -> Result<Option<u32>> {
    let path = root.join("current");
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&text);
    let parts = text.strip_prefix("format ").and_then(|rest| rest.split_once('\n'));
    let Some((Ok(format), name)) = parts.map(|(format, name)| (format.parse::<u32>(), name)) else { return Ok(None) };
    ensure!(
        format == FORMAT,
        "特征库 {} 的格式为 {format}，本版本读取格式 {FORMAT}：请用写它的 inkstone 版本，或删除该文件夹：`inkstone run` 会从语料重新计算特征",
        "the feature store {} is of format {format}, and this version reads format {FORMAT}: use the version of inkstone that wrote it, or remove that folder: `inkstone run` computes the features again from the corpus",
        root.display()
    );
    Ok(number(name.trim()))
}

/// Number of the latest database of a store; 0 where there is none.
fn latest(root: &Path) -> Result<u32> {
    let names = databases(root)?;
    let numbers = names.iter().filter_map(|path| number(path.file_name()?.to_str()?));
    Ok(numbers.max().unwrap_or(0))
}

fn number(name: &str) -> Option<u32> {
    name.strip_prefix("db-")?.parse().ok().filter(|number| *number < u32::MAX)
}

fn write_current(root: &Path, generation: u32) -> Result<()> {
    disk::write_atomic(&root.join("current"), |out| Ok(write!(out, "format {FORMAT}\ndb-{generation:06}\n")?))
}

fn databases(root: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || message!("无法列出 {}", "cannot list {}", root.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let number = path.file_name().and_then(|name| number(name.to_str()?));
        if number.is_some_and(|number| path == folder(root, number)) {
            found.push(path);
        }
    }
    Ok(found)
}
