//! The database under the store and under journals: one sled tree in a folder.
//!
//! sled panics where it meets damage that it did not expect. Here that becomes an error, which says what to do.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use walkdir::WalkDir;

use inkstone_base::disk;
use inkstone_base::job::{contained, panic_text};
use inkstone_base::language::{Message, Word};
use inkstone_base::{ensure, message};

/// The file of a database that has all but long values.
pub(super) const LOG: &str = "db";

/// Bytes of pages that the database keeps in memory: its entries are small.
const CACHE_BYTES: u64 = 8 << 20;

/// Bytes that must be free on the disk beside the bytes of a step. sled waits for ever for a buffer that a full disk did not take, so it is
/// never given a step that may not fit.
#[cfg(unix)]
const RESERVE_BYTES: u64 = 4 << 20;

/// Entries that one step of a removal removes; after a kill, a step is done or not begun.
const REMOVE_STEP: usize = 4096;

/// Time that a closed database may take to release its files.
const ENDING: Duration = Duration::from_secs(5);

/// Time of a step before the first flush, which wakes it if a write has failed.
const FIRST_FLUSH: Duration = Duration::from_millis(500);

/// Time between two tries to open a database.
const LOOK_EVERY: Duration = Duration::from_millis(10);

type KeyValue = (sled::IVec, sled::IVec);

/// An open database. Its owner holds a lock while it is open.
pub(super) struct Database {
    folder: PathBuf,
    owner: Owner,
    /// None only while it is dropped.
    db: Option<sled::Db>,
    /// Files of long values that are on the disk; none of them is written twice.
    synced: Mutex<BTreeSet<OsString>>,
    /// True once a step has failed. After a write that failed the next one waits for ever.
    has_failed: AtomicBool,
}

/// The owner of a database, as errors name it.
#[derive(Clone)]
pub(super) struct Owner {
    /// `the feature store DIR`.
    pub(super) name: Message,
    /// Way out if the database is damaged: `put back a copy`.
    pub(super) way_out: Word,
}

/// The bytes of a database are not those that were written. Travels inside [`anyhow::Error`]; what the machine lacks (room, memory,
/// files, threads, permissions) is another error, and so is a disk that cannot be read ([`Unreadable`]).
#[derive(Debug)]
pub(super) struct Damaged(Message);

/// The disk failed to give the bytes of a database, which was not opened. Travels inside [`anyhow::Error`].
#[derive(Debug)]
pub(super) struct Unreadable(Message);

/// True if the store caused the error: its database is damaged, or its disk fails.
pub fn is_fault(error: &anyhow::Error) -> bool {
    error.is::<Damaged>() || error.is::<Unreadable>() || error.chain().any(|cause| cause.is::<sled::Error>())
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Database {
    pub(super) fn open(folder: &Path, owner: Owner) -> Result<Database> {
        // No flushing by the clock: writers flush.
        let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        // The database waits for ever for threads that the system does not give it.
        let thread = std::thread::Builder::new().name("database".to_owned()).spawn(|| ());
        thread.with_context(|| message!("无法启动 {} 的线程", "cannot start the threads of {}", owner.name))?;
        #[cfg(unix)]
        ensure_readable(folder, &owner)?;
        remove_torn(folder).with_context(|| message!("无法整理 {}", "cannot tidy up {}", folder.display()))?;
        let began = Instant::now();
        let open = || loop {
            match config.open() {
                // The lock of the owner is held, so the files are open in a database of this process that was closed a moment ago and
                // still ends its work, or in a child process that begins.
                Err(sled::Error::Io(error)) if is_held(&error) && began.elapsed() < ENDING => {
                    std::thread::sleep(LOOK_EVERY);
                }
                opened => return opened,
            }
        };
        let is_new = !folder.join(LOG).exists();
        let db = guard(&owner, open).with_context(|| message!("无法打开 {}", "cannot open {}", folder.display()))?;
        if is_new {
            disk::sync_folder(folder)?;
            disk::sync_folder(disk::folder_of(folder))?;
        }
        Ok(Database {
            folder: folder.to_owned(),
            owner,
            db: Some(db),
            synced: Mutex::default(),
            has_failed: AtomicBool::new(false),
        })
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>> {
        self.guard(|db| db.get(key))
    }

    /// Writes some entries and removes others in one step: after a kill, all of it is there or none.
    pub(super) fn apply(&self, writes: Vec<(Vec<u8>, Vec<u8>)>, removals: Vec<Vec<u8>>) -> Result<()> {
        self.ensure_room(writes.iter().map(|(key, value)| key.len() + value.len()).sum())?;
        let mut batch = sled::Batch::default();
        for key in removals {
            batch.remove(key);
        }
        for (key, value) in writes {
            batch.insert(key, value);
        }
        self.guard(|db| awake(db, move || db.apply_batch(batch)))
    }

    /// Fails where so many bytes may not fit on its disk.
    #[cfg(unix)]
    fn ensure_room(&self, bytes: usize) -> Result<()> {
        // A file system that does not tell is trusted.
        let Ok(disk) = rustix::fs::statvfs(&self.folder) else { return Ok(()) };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        // New values lie beside those that they replace until the database has tidied up.
        let needed = RESERVE_BYTES + 2 * bytes as u64;
        let kilobytes = |bytes: u64| bytes.div_ceil(1000);
        ensure!(
            free >= needed,
            "{} 的空间不足：磁盘剩余 {} kB，下一步需要 {} kB",
            "there is no room for {}: {} kB are free on its disk, and the next step needs {} kB",
            self.owner.name,
            kilobytes(free),
            kilobytes(needed)
        );
        Ok(())
    }

    #[cfg(not(unix))]
    fn ensure_room(&self, _: usize) -> Result<()> {
        Ok(())
    }

    pub(super) fn remove_all(&self, keys: Vec<Vec<u8>>) -> Result<usize> {
        let mut found = 0;
        for step in keys.chunks(REMOVE_STEP) {
            for key in step {
                found += usize::from(self.guard(|db| db.contains_key(key))?);
            }
            self.apply(Vec::new(), step.to_vec())?;
        }
        Ok(found)
    }

    /// The entries whose keys begin with `prefix`, in the order of the keys. Ends after an error.
    pub(super) fn scan(&self, prefix: &[u8]) -> impl Iterator<Item = Result<KeyValue>> + '_ {
        let mut entries = self.db.as_ref().map(|db| db.scan_prefix(prefix));
        std::iter::from_fn(move || {
            let step = guard(&self.owner, || entries.as_mut().and_then(Iterator::next).transpose()).transpose();
            if matches!(step, Some(Err(_))) {
                entries = None;
            }
            step
        })
    }

    pub(super) fn scan_keys(&self, prefix: &[u8]) -> impl Iterator<Item = Result<Vec<u8>>> + '_ {
        self.scan(prefix).map(|entry| Ok(entry?.0.to_vec()))
    }

    /// The last entry whose key begins with `prefix`.
    pub(super) fn last(&self, prefix: &[u8]) -> Result<Option<KeyValue>> {
        self.guard(|db| db.scan_prefix(prefix).next_back().transpose())
    }

    /// Waits until everything written so far is on disk.
    pub(super) fn flush(&self) -> Result<()> {
        self.guard(|db| awake(db, || db.flush()))?;
        // The database leaves to the system when its files reach the disk.
        let sync = || {
            let blobs = self.folder.join("blobs");
            let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
            let before = synced.len();
            for blob in std::fs::read_dir(&blobs)? {
                let name = blob?.file_name();
                if synced.contains(&name) {
                    continue;
                }
                match File::open(blobs.join(&name)) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    file => file?.sync_all()?,
                }
                synced.insert(name);
            }
            if synced.len() > before {
                File::open(&blobs)?.sync_all()?;
            }
            File::open(self.folder.join(LOG))?.sync_all()
        };
        sync().with_context(|| {
            message!(
                "{} 无法把文件写入磁盘（磁盘满了？）",
                "{} cannot bring its files to the disk (disk full?)",
                self.owner.name
            )
        })
    }

    fn guard<T>(&self, work: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        let db = self.db.as_ref().context(Word("数据库已关闭", "the database was closed"))?;
        ensure!(
            !self.has_failed.load(Ordering::Relaxed),
            "{} 的数据库在先前一步出错；请重新启动程序",
            "the database of {} failed at an earlier step; start the program again",
            self.owner.name
        );
        let result = guard(&self.owner, || work(db));
        self.has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Writes what a failed step left, so that closing the database does not wait for it.
        let _ = self.guard(|db| awake(db, || db.flush()));
        // Damage that shows only now is told when the database is next opened.
        let db = self.db.take();
        if !self.has_failed.load(Ordering::Relaxed) {
            let _ = contained(|| drop(db));
            return;
        }
        // Closing writes once more, and may wait for ever. Without a thread for that, the database stays open until the process ends.
        let db = ManuallyDrop::new(db);
        let close = move || drop(contained(|| drop(ManuallyDrop::into_inner(db))));
        let _ = std::thread::Builder::new().name("close database".to_owned()).spawn(close);
    }
}

/// Runs a step that waits for a write. sled 0.34 notes a write that failed, but does not always wake who waits for it: the next flush does,
/// so one is asked for now and then while the step lasts.
fn awake<T: Send>(db: &sled::Db, step: impl FnOnce() -> sled::Result<T> + Send) -> sled::Result<T> {
    std::thread::scope(|scope| {
        let (ended, is_ended) = mpsc::channel::<()>();
        let step = move || {
            let _ended = ended;
            contained(step)
        };
        let step = std::thread::Builder::new().name("database step".to_owned()).spawn_scoped(scope, step);
        // An error that is neither damage nor another run.
        let step = step.map_err(|error| io::Error::new(ErrorKind::OutOfMemory, format!("no thread: {error}")))?;
        // A flush waits as well as long as no write has failed, so each is asked for later than the one before it.
        let mut patience = FIRST_FLUSH;
        while is_ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let flush = || drop(contained(|| db.flush()));
            let _ = std::thread::Builder::new().name("database flush".to_owned()).spawn_scoped(scope, flush);
            patience *= 2;
        }
        step.join().flatten().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads all files of a database but those of long values. sled takes a read error while it opens for the end of its log, and overwrites
/// what follows; so no database is given to sled that the disk does not give in full.
#[cfg(unix)]
fn ensure_readable(folder: &Path, owner: &Owner) -> Result<()> {
    let read = || -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if !path.is_dir() {
                io::copy(&mut File::open(path)?, &mut io::sink())?;
            }
        }
        Ok(())
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
            let Owner { name, way_out } = owner;
            Err(error).context(Unreadable(message!("无法从磁盘读取 {name} 的数据库，什么也没有改动；请再试一次。若仍失败：{way_out}", "the disk could not be read for the database of {name}, and nothing was changed; try again. If that fails too: {way_out}"
            )))
        }
        read => read.with_context(|| message!("无法读取 {}", "cannot read {}", folder.display())),
    }
}

/// Copies the files of a database into a folder, without their permissions, which may forbid to write.
pub(super) fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in WalkDir::new(from).min_depth(1) {
        let entry = entry?;
        let to = to.join(entry.path().strip_prefix(from).map_err(io::Error::other)?);
        match entry.file_type().is_dir() {
            true => std::fs::create_dir(to)?,
            false => drop(io::copy(&mut File::open(entry.path())?, &mut File::create_new(to)?)?),
        }
    }
    Ok(())
}

/// Removes files that a kill during an opening left half-written, which sled takes for damage. Nothing is lost with them: settings are
/// written in place and always the same, and a snapshot is used only under its final name.
fn remove_torn(folder: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let torn = match path.file_name().and_then(|name| name.to_str()) {
            Some("conf") => !ends_with_checksum(&std::fs::read(&path)?),
            Some(name) => name.starts_with("snap.") && name.ends_with(".generating"),
            None => false,
        };
        if torn {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// True if bytes end with the CRC32 of those before it, little-endian.
fn ends_with_checksum(bytes: &[u8]) -> bool {
    bytes.split_last_chunk().is_some_and(|(content, sum)| crc32fast::hash(content) == u32::from_le_bytes(*sum))
}

/// Runs a step of the database and explains its failure.
fn guard<T>(owner: &Owner, work: impl FnOnce() -> sled::Result<T>) -> Result<T> {
    let damaged =
        || Damaged(message!("{} 的数据库已损坏；{}", "the database of {} is damaged; {}", owner.name, owner.way_out));
    match contained(work) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(sled::Error::Io(error))) if is_held(&error) => Err(error).with_context(|| {
            message!(
                "{} 正被另一个运行使用；请等它结束",
                "{} is in use by another run; wait until it has ended",
                owner.name
            )
        }),
        Ok(Err(sled::Error::Io(error))) if !is_damage(&error) => Err(error).with_context(|| {
            message!("{} 无法读写其文件（磁盘满了？）", "{} cannot read or write its files (disk full?)", owner.name)
        }),
        Ok(Err(error)) => Err(anyhow!(error).context(damaged())),
        Err(panic) => {
            let text = panic_text(panic.as_ref()).to_owned();
            match refused_by_system(&text) {
                true => Err(anyhow!(text).context(message!(
                    "{} 无法读写其文件",
                    "{} cannot read or write its files",
                    owner.name
                ))),
                false => Err(anyhow!(text).context(damaged())),
            }
        }
    }
}

fn is_held(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

/// True if an I/O error is damage: a file that is gone or ends too early, or an offset that cannot be. Other errors are the machine's.
fn is_damage(error: &io::Error) -> bool {
    use ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | NotFound | InvalidInput | InvalidData)
        || error.kind() == ErrorKind::Other && error.raw_os_error().is_none()
}

/// True if the text of a panic has the debug form of an [`io::Error`] that is no damage: sled panics where it did not expect an error of
/// the system.
fn refused_by_system(panic: &str) -> bool {
    let number = panic.split_once("Os { code: ").and_then(|(_, rest)| rest.split_once(',')?.0.parse().ok());
    number.is_some_and(|number| !is_damage(&io::Error::from_raw_os_error(number)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_no_damage() {
        let owner = || Owner { name: Message::same("the journal x"), way_out: Word("", "put back a copy") };
        let failed = |error: &dyn Fn() -> sled::Result<()>| guard(&owner(), error).unwrap_err();
        // No room, no files, no memory, no permission, a disk that fails, a disk that may only be read.
        for number in [28, 24, 12, 13, 5, 30, 122] {
            let error = || io::Error::from_raw_os_error(number);
            for failed in [failed(&|| Err(sled::Error::Io(error()))), failed(&|| panic!("{:?}", error()))] {
                assert!(!failed.is::<Damaged>(), "{failed:#}");
                assert!(format!("{failed:#}").contains("cannot read or write its files"), "{failed:#}");
            }
        }
        let short = || io::Error::from(ErrorKind::UnexpectedEof);
        for failed in [
            failed(&|| Err(sled::Error::Io(short()))),
            failed(&|| Err(sled::Error::Corruption { at: None, bt: () })),
            failed(&|| panic!("called unwrap on a None")),
            failed(&|| panic!("{:?}", io::Error::from_raw_os_error(22))),
        ] {
            assert!(failed.is::<Damaged>(), "{failed:#}");
            assert!(format!("{failed:#}").contains("is damaged; put back a copy"), "{failed:#}");
        }
    }
}
