//! The folder of a store: which of its databases is in use, and by whom.
//!
//! It holds `lock`, `current` (the format, and the name of the folder in use, for example `db-000001`), that folder, and `rows` (see
//! `files`). Compaction and repair fill a new folder and then replace `current`, which is one rename; a folder that `current` does not
//! name is a leftover and is removed when the store is next opened.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tempfile::TempDir;
use walkdir::WalkDir;

use super::database::{Database, Says};
use inkstone_base::disk;
use inkstone_base::lock::{self, Lock, Taken, take_within};

/// The format that this version writes. 0 had rows and headers in the database, and does not say so in `current`; 1 had the headers there.
pub(super) const FORMAT: u32 = 2;

/// A store's folder, held for as long as this lives.
pub(super) struct Generations {
    root: PathBuf,
    current: Current,
    // The system drops it with the process, however that ends.
    _lock: Lock,
}

#[derive(Clone, Copy)]
struct Current {
    format: u32,
    generation: u32,
}

impl Generations {
    /// Takes a store's folder, which is made when it does not exist; `patience` says how long to wait for somebody else to close it.
    /// Who repairs takes it also when nothing says which database is in use.
    pub(super) fn take(root: &Path, patience: Duration, repairs: bool) -> Result<Generations> {
        disk::make_dir(root)?;
        let lock = match take_within(&root.join("lock"), "", patience)? {
            Taken::Ours(lock) => lock,
            Taken::Theirs(holder) => bail!(
                "the feature store {} is in use by another run ({}); wait until it has ended, or give this run a project of its own",
                root.display(),
                holder.in_words()
            ),
        };
        if is_new(root)? {
            write_current(root, Current { format: FORMAT, generation: 1 })?;
        }
        let current = read_current(root)?;
        ensure!(current.is_some() || repairs, unsure(root));
        let sure = current.is_some();
        let current = current.map_or_else(|| guess(root), Ok)?;
        let generations = Generations { root: root.to_owned(), current, _lock: lock };
        if sure {
            generations.remove_leftovers()?;
        }
        Ok(generations)
    }

    /// The format of what is there.
    pub(super) fn format(&self) -> u32 {
        self.current.format
    }

    /// Opens the database in use.
    pub(super) fn database(&self) -> Result<Database> {
        self.open(self.current.generation)
    }

    /// Replaces the database by a new one that `fill` writes. Until the last step, and on any error, the old one stays.
    pub(super) fn replace<T>(&mut self, fill: impl FnOnce(&Database) -> Result<T>) -> Result<(Database, T)> {
        let next = Current { format: FORMAT, generation: self.current.generation + 1 };
        let folder = folder(&self.root, next.generation);
        let filled = self.open(next.generation).and_then(|new| {
            let told = fill(&new)?;
            new.flush()?;
            Ok((new, told))
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
        let current = folder(&self.root, self.current.generation);
        for path in databases(&self.root)?.into_iter().filter(|path| *path != current) {
            std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove the leftover {}", path.display()))?;
        }
        Ok(())
    }
}

/// Opens a copy of the database in use, which lies in a folder of temporary files: opening a database writes in its folder. Nobody may
/// write the store meanwhile; `patience` says how long to wait for somebody who does.
pub(super) fn copied_database(root: &Path, patience: Duration) -> Result<(TempDir, Database)> {
    let current = read_current(root)?.with_context(|| unsure(root))?;
    let _still = lock::reading(&root.join("lock"), patience).map_err(|holder| {
        let holder = holder.in_words();
        anyhow!("the feature store {} is in use by another run ({holder}); wait until it has ended", root.display())
    })?;
    let copy = tempfile::tempdir().context("cannot make a temporary folder (TMPDIR names another place)")?;
    let from = folder(root, current.generation);
    for entry in WalkDir::new(&from).min_depth(1) {
        let entry = entry.with_context(|| format!("cannot list {}", from.display()))?;
        let to = copy.path().join(entry.path().strip_prefix(&from)?);
        let copied = match entry.file_type().is_dir() {
            true => std::fs::create_dir(&to),
            // Without its permissions, which may forbid to write.
            false => std::fs::read(entry.path()).and_then(|bytes| std::fs::write(&to, bytes)),
        };
        copied.with_context(|| format!("cannot copy {} to {}", entry.path().display(), to.display()))?;
    }
    let database = open(root, copy.path())?;
    Ok((copy, database))
}

fn open(root: &Path, folder: &Path) -> Result<Database> {
    let says = Says {
        whose: format!("the feature store {}", root.display()),
        way_out: "`inkstone store repair` makes a new one of the rows that are sound, and the next run computes the rest again",
    };
    Database::open(folder, says)
}

fn folder(root: &Path, generation: u32) -> PathBuf {
    root.join(format!("db-{generation:06}"))
}

/// The format of the store in a folder; none where there is no store yet. Takes and changes nothing.
pub(super) fn format_of(root: &Path) -> Result<Option<u32>> {
    if !root.exists() || is_new(root)? {
        return Ok(None);
    }
    Ok(Some(read_current(root)?.with_context(|| unsure(root))?.format))
}

/// Whether nothing was ever written in a folder. `current` is written before the first database is made, so a database without it is not a
/// new store.
fn is_new(root: &Path) -> Result<bool> {
    Ok(!root.join("current").exists() && databases(root)?.is_empty())
}

fn unsure(root: &Path) -> String {
    format!(
        "{} does not say which database is in use; `inkstone store repair` makes a new one of the rows that are sound",
        root.join("current").display()
    )
}

/// What `current` says, if it says anything.
fn read_current(root: &Path) -> Result<Option<Current>> {
    let path = root.join("current");
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&text);
    let (format, name) = match text.strip_prefix("format ").and_then(|rest| rest.split_once('\n')) {
        Some((format, name)) => (format.parse().ok(), name),
        None => (Some(0), text.as_ref()),
    };
    if let Some(format) = format {
        ensure!(
            format <= FORMAT,
            "the feature store {} is of format {format}, and this version reads up to {FORMAT}: use the version of inkstone that \
             wrote it, or remove that folder: features are computed again from the corpus",
            root.display()
        );
    }
    let generation = number(name.trim());
    Ok(format.zip(generation).map(|(format, generation)| Current { format, generation }))
}

/// What a store without `current` seems to be: its latest database, and rows of their own since format 1. Of the headers that format 1
/// had in its database there is none when it is one of format 2.
fn guess(root: &Path) -> Result<Current> {
    let names = databases(root)?;
    let numbers = names.iter().filter_map(|path| number(path.file_name()?.to_str()?));
    let format = u32::from(root.join("rows").exists());
    Ok(Current { format, generation: numbers.max().unwrap_or(0) })
}

fn number(name: &str) -> Option<u32> {
    name.strip_prefix("db-")?.parse().ok().filter(|number| *number < u32::MAX)
}

fn write_current(root: &Path, current: Current) -> Result<()> {
    let Current { format, generation } = current;
    disk::write_atomic(&root.join("current"), |out| Ok(write!(out, "format {format}\ndb-{generation:06}\n")?))
}

fn databases(root: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", root.display());
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
