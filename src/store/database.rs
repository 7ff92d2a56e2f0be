//! The database under the store: one sled tree in a numbered folder, one lock for the whole, one pointer to the folder
//! in use.
//!
//! A store's folder holds `lock`, `current` (the name of the folder in use, for example `db-000001`) and that folder.
//! Compaction fills a new folder and then replaces `current`, which is one rename; a folder that `current` does not name
//! is a leftover and is removed when the store is next opened.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::disk;

/// Bytes written between two flushes by whoever writes much: what a loss of power can cost. A kill of the process costs
/// less, because the database hands its buffers to the system as they fill.
pub(super) const FLUSH_BYTES: u64 = 32 << 20;

/// Bytes of pages that the database keeps in memory. It keeps 256 pages at least, of up to 16 blocks each.
const CACHE_BYTES: u64 = 16 << 20;

/// Look-ups added to each access. The database drops pages from memory only after some 16,000 look-ups, which at one a
/// block would be half a gigabyte; a further look-up costs about a microsecond.
const EXTRA_LOOKUPS: usize = 3;

/// Bytes that must be free on the disk besides what is written. The database buffers in memory and waits for ever for a buffer that a
/// full disk did not take; it is therefore never given what may not fit.
#[cfg(unix)]
const RESERVE_BYTES: u64 = 4 << 20;

/// Entries that one step of a removal takes away; each step is whole or absent.
const REMOVE_STEP: usize = 4096;

/// How long a database that was closed may take to give back its files.
pub(super) const ENDING: Duration = Duration::from_secs(5);

/// Time between two looks at whether somebody else has closed the store.
const LOOK_EVERY: Duration = Duration::from_millis(10);

type Entry = (sled::IVec, sled::IVec);

pub(super) struct Database {
    root: PathBuf,
    generation: u32,
    db: sled::Db,
    // Held for as long as the database is open; the system drops it with the process, however that ends.
    _lock: File,
}

impl Database {
    /// Opens the store in a folder; `patience` says how long to wait for somebody else to close it.
    pub(super) fn open(root: &Path, patience: Duration) -> Result<Database> {
        disk::make_dir(root)?;
        let lock = lock(root, patience)?;
        let generation = read_current(root)?;
        remove_leftovers(root, generation)?;
        let db = open_generation(root, generation)?;
        Ok(Database { root: root.to_owned(), generation, db, _lock: lock })
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>> {
        self.guard(|| {
            look_up(&self.db, key)?;
            self.db.get(key)
        })
    }

    /// Writes some entries and removes others in one step: after a kill, all of it is there or none.
    pub(super) fn apply(&self, writes: Vec<(Vec<u8>, Vec<u8>)>, removals: Vec<Vec<u8>>) -> Result<()> {
        let mut batch = sled::Batch::default();
        for key in removals {
            batch.remove(key);
        }
        let mut keys = Vec::with_capacity(writes.len());
        ensure_room(&self.root, writes.iter().map(|(key, value)| key.len() + value.len()).sum())?;
        for (key, value) in writes {
            batch.insert(key.as_slice(), value);
            keys.push(key);
        }
        self.guard(|| {
            self.db.apply_batch(batch)?;
            keys.iter().try_for_each(|key| look_up(&self.db, key))
        })
    }

    pub(super) fn remove_all(&self, keys: Vec<Vec<u8>>) -> Result<usize> {
        let mut found = 0;
        for step in keys.chunks(REMOVE_STEP) {
            for key in step {
                found += usize::from(self.guard(|| self.db.contains_key(key))?);
            }
            self.apply(Vec::new(), step.to_vec())?;
        }
        Ok(found)
    }

    pub(super) fn remove_prefix(&self, prefix: &[u8]) -> Result<usize> {
        let keys = self.scan_keys(prefix).collect::<Result<Vec<_>>>()?;
        self.remove_all(keys)
    }

    /// The entries whose keys begin with `prefix`, in the order of the keys.
    pub(super) fn scan(&self, prefix: &[u8]) -> impl Iterator<Item = Result<Entry>> + '_ {
        let mut entries = self.db.scan_prefix(prefix);
        std::iter::from_fn(move || {
            let next = self.guard(|| {
                let entry = entries.next().transpose()?;
                if let Some((key, _)) = &entry {
                    look_up(&self.db, key)?;
                }
                Ok(entry)
            });
            next.transpose()
        })
    }

    pub(super) fn scan_keys(&self, prefix: &[u8]) -> impl Iterator<Item = Result<Vec<u8>>> + '_ {
        self.scan(prefix).map(|entry| Ok(entry?.0.to_vec()))
    }

    /// Waits until everything written so far is on disk.
    pub(super) fn flush(&self) -> Result<()> {
        self.guard(|| self.db.flush())?;
        Ok(())
    }

    pub(super) fn file_bytes(&self) -> u64 {
        let mut bytes = 0;
        for entry in walkdir::WalkDir::new(generation_folder(&self.root, self.generation)) {
            // The database removes files of its own accord, so one may be gone when its turn comes.
            bytes += entry.ok().and_then(|e| e.metadata().ok()).filter(|m| m.is_file()).map_or(0, |m| m.len());
        }
        bytes
    }

    /// Replaces the database by a new one that `fill` writes. Until the last step, and on any error, the old one stays.
    pub(super) fn rewrite(&mut self, fill: impl FnOnce(&Database, &NewDatabase) -> Result<()>) -> Result<()> {
        let generation = self.generation + 1;
        let folder = generation_folder(&self.root, generation);
        let new = NewDatabase { db: open_generation(&self.root, generation)?, root: &self.root };
        let filled = fill(self, &new).and_then(|()| guard(&self.root, || new.db.flush()).map(drop));
        let db = new.db;
        if let Err(error) = filled {
            drop(db);
            let _ = std::fs::remove_dir_all(&folder);
            return Err(error);
        }
        write_current(&self.root, generation)?;
        let old = generation_folder(&self.root, self.generation);
        (self.db, self.generation) = (db, generation);
        // The new one is in use already. If the old one stays, it is a leftover for the next opening.
        let _ = std::fs::remove_dir_all(&old);
        Ok(())
    }

    fn guard<T>(&self, work: impl FnOnce() -> sled::Result<T>) -> Result<T> {
        guard(&self.root, work)
    }
}

/// A database being filled to replace another.
pub(super) struct NewDatabase<'a> {
    root: &'a Path,
    db: sled::Db,
}

impl NewDatabase<'_> {
    /// Writes an entry. Entries that come in the order of their keys take the least space.
    pub(super) fn insert(&self, key: &[u8], value: sled::IVec) -> Result<()> {
        guard(self.root, || {
            self.db.insert(key, value)?;
            look_up(&self.db, key)
        })
    }

    pub(super) fn flush(&self) -> Result<()> {
        guard(self.root, || self.db.flush()).map(drop)
    }
}

fn look_up(db: &sled::Db, key: &[u8]) -> sled::Result<()> {
    (0..EXTRA_LOOKUPS).try_for_each(|_| db.contains_key(key).map(drop))
}

/// Fails where so many bytes may not fit on the disk of a store.
#[cfg(unix)]
fn ensure_room(root: &Path, bytes: usize) -> Result<()> {
    // A file system that does not tell is trusted.
    let Ok(disk) = rustix::fs::statvfs(root) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    // What is written lies beside what it replaces until the database has tidied up.
    let needed = RESERVE_BYTES + 2 * bytes as u64;
    let kilobytes = |bytes: u64| bytes.div_ceil(1000);
    ensure!(
        free >= needed,
        "there is no room for the feature store {}: {} kB are free on its disk, and the next step needs {} kB",
        root.display(),
        kilobytes(free),
        kilobytes(needed)
    );
    Ok(())
}

#[cfg(not(unix))]
fn ensure_room(_: &Path, _: usize) -> Result<()> {
    Ok(())
}

/// Runs a step of the database and explains its failure. The database panics where it meets damage that it did not
/// expect; that is a failure like any other here.
fn guard<T>(root: &Path, work: impl FnOnce() -> sled::Result<T>) -> Result<T> {
    let name = root.display();
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(sled::Error::Io(error))) if is_held(&error) => Err(error)
            .with_context(|| format!("the feature store {name} is in use by another run; wait until it has ended")),
        Ok(Err(sled::Error::Io(error))) => {
            Err(error).with_context(|| format!("the feature store {name} cannot read or write its files (disk full?)"))
        }
        Ok(Err(error)) => Err(anyhow!(error).context(damaged(root))),
        Err(_) => Err(anyhow!("the database stopped within itself").context(damaged(root))),
    }
}

fn damaged(root: &Path) -> String {
    format!(
        "the database of the feature store {} is damaged; repair the store, or remove that folder: features are computed \
         again from the corpus",
        root.display()
    )
}

fn open_generation(root: &Path, generation: u32) -> Result<sled::Db> {
    let folder = generation_folder(root, generation);
    // No flushing by the clock: the writer flushes by bytes, which bounds what a kill can lose.
    let config = sled::Config::new().path(&folder).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    // The database waits for ever for threads that the system does not give it.
    let thread = std::thread::Builder::new().name("store".to_owned()).spawn(|| ());
    thread.context("cannot start the threads of the feature store")?;
    let began = Instant::now();
    let open = || loop {
        match config.open() {
            // The store's own lock is held, so nobody else has these files: they are those of a database of this process that was
            // closed a moment ago and still ends its work, or of a child that begins.
            Err(sled::Error::Io(error)) if is_held(&error) && began.elapsed() < ENDING => {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    };
    guard(root, open).with_context(|| format!("cannot open {}", folder.display()))
}

pub(super) fn is_held(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

fn lock(root: &Path, patience: Duration) -> Result<File> {
    let path = root.join("lock");
    let cannot = || format!("cannot open {}", path.display());
    let mut file =
        File::options().create(true).truncate(false).read(true).write(true).open(&path).with_context(cannot)?;
    let began = Instant::now();
    let locked = loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            locked => break locked,
        }
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            bail!(
                "the feature store {} is in use by another run (process {}); wait until it has ended, or give this \
                 run a project of its own",
                root.display(),
                if holder.trim().is_empty() { "unknown" } else { holder.trim() }
            );
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    // The number is only for the message above, so a failure to write it is none of the store.
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

fn generation_folder(root: &Path, generation: u32) -> PathBuf {
    root.join(format!("db-{generation:06}"))
}

/// The number of the database in use; a new store begins with 1.
fn read_current(root: &Path) -> Result<u32> {
    let path = root.join("current");
    let lost = || {
        format!(
            "{} does not say which database is in use; write the name of the db- folder beside it into it, or remove \
             the store: features are computed again from the corpus",
            path.display()
        )
    };
    if !path.exists() {
        // Written before the first database is made, so a database without it is not a new store.
        ensure!(databases(root)?.is_empty(), lost());
        write_current(root, 1)?;
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.trim().strip_prefix("db-").and_then(|n| n.parse().ok()).with_context(lost)
}

fn write_current(root: &Path, generation: u32) -> Result<()> {
    disk::write_atomic(&root.join("current"), |out| Ok(writeln!(out, "db-{generation:06}")?))
}

fn remove_leftovers(root: &Path, generation: u32) -> Result<()> {
    disk::sweep(root)?;
    let current = generation_folder(root, generation);
    for path in databases(root)?.into_iter().filter(|path| *path != current) {
        std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove the leftover {}", path.display()))?;
    }
    Ok(())
}

fn databases(root: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", root.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("db-")) {
            found.push(path);
        }
    }
    Ok(found)
}
