//! A journal: numbered records that are only ever added, each with an attachment that may be dropped later.
//!
//! | key | value |
//! |---|---|
//! | `j` number | the record; the number is big-endian, from 1, without gaps |
//! | `a` number | its attachment, if it has one that was not dropped |
//! | `l` | number (`u64`, big-endian) and hash of the last record; written in one step with it |
//!
//! Values lie in the envelope of `layout`. A record is on disk when [`Journal::append`] returns; after a kill, all of a step is there or
//! none. Useful for: what must not be lost and cannot be computed again. Not for: more than some thousand records, since whoever
//! checks a journal reads all of it.

use std::fs::{File, TryLockError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::database::{ENDING, is_held};
use super::layout::{seal, unseal};
use crate::data::Key;
use crate::disk;

/// Bytes that the database keeps in memory.
const CACHE_BYTES: u64 = 4 << 20;
/// Time between two looks at whether another run has closed the journal.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LAST: &[u8] = b"l";

/// A journal in a folder. One process holds it at a time.
pub struct Journal {
    root: PathBuf,
    db: sled::Db,
    // Held for as long as the database is open, so it stands after it; the system drops it with the process, however that ends.
    _lock: File,
}

/// What a journal has under a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// As it was written.
    Whole(Vec<u8>),
    /// Something else, and what is wrong with it.
    Damaged(String),
    /// Nothing.
    Absent,
}

impl Journal {
    /// Opens the journal in a folder, which is made when it does not exist. Another run may hold it; `patience` says how long to wait
    /// until that has ended.
    pub fn open(root: &Path, patience: Duration) -> Result<Journal> {
        disk::make_dir(root)?;
        let lock = lock(root, patience)?;
        let config = sled::Config::new().path(root.join("db")).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let began = Instant::now();
        let open = || loop {
            match config.open() {
                // The lock is held, so these are the files of a database of this process that was closed a moment ago.
                Err(sled::Error::Io(error)) if is_held(&error) && began.elapsed() < ENDING => {
                    std::thread::sleep(LOOK_EVERY);
                }
                opened => return opened,
            }
        };
        Ok(Journal { root: root.to_owned(), db: guard(root, open)?, _lock: lock })
    }

    /// Number and hash of the last record; 0 and the zero key of an empty journal. The hash is none where the note of it is lost.
    pub fn last(&self) -> Result<(u64, Option<Key>)> {
        let seen = guard(&self.root, || Ok(self.db.scan_prefix(b"j").next_back().transpose()?.map(|(key, _)| key)))?;
        let seen = seen.and_then(|key| Some(u64::from_be_bytes(key.get(1..)?.try_into().ok()?))).unwrap_or(0);
        match self.slot(LAST)? {
            Slot::Whole(note) if note.len() == 24 => {
                let (number, hash) = note.split_at(8);
                let noted = u64::from_be_bytes(number.try_into().unwrap_or_default());
                let hash = Key(hash.try_into().unwrap_or_default());
                Ok((noted.max(seen), (noted >= seen).then_some(hash)))
            }
            Slot::Absent if seen == 0 => Ok((0, Some(Key::default()))),
            _ => Ok((seen, None)),
        }
    }

    /// The record of a number.
    pub fn record(&self, number: u64) -> Result<Slot> {
        self.slot(&address(b'j', number))
    }

    /// The attachment of a record.
    pub fn attachment(&self, number: u64) -> Result<Slot> {
        self.slot(&address(b'a', number))
    }

    /// Adds a record and gives its number; in the same step the attachments of the records in `drop` go. The bytes of what was dropped
    /// stay in the files until the database uses their place again.
    pub fn append(&mut self, record: &[u8], attachment: Option<&[u8]>, drop: &[u64]) -> Result<u64> {
        let number = self.last()?.0 + 1;
        let mut batch = sled::Batch::default();
        let mut put = |key: &[u8], content: &[u8]| batch.insert(key, seal(key, content));
        put(&address(b'j', number), record);
        if let Some(attachment) = attachment {
            put(&address(b'a', number), attachment);
        }
        put(LAST, &[number.to_be_bytes().as_slice(), &Key::of(record).0].concat());
        drop.iter().for_each(|&number| batch.remove(&address(b'a', number)));
        guard(&self.root, || {
            self.db.apply_batch(batch)?;
            self.db.flush()
        })?;
        Ok(number)
    }

    fn slot(&self, key: &[u8]) -> Result<Slot> {
        let Some(value) = guard(&self.root, || self.db.get(key))? else { return Ok(Slot::Absent) };
        Ok(match unseal(key, &value) {
            Ok(content) => Slot::Whole(content.to_vec()),
            Err(error) => Slot::Damaged(error.to_string()),
        })
    }

    /// Puts other bytes under a number, or none, as somebody with a tool for sled would.
    #[cfg(test)]
    pub(crate) fn tamper(&self, kind: u8, number: u64, content: Option<&[u8]>) {
        let key = if kind == b'l' { LAST.to_vec() } else { address(kind, number).to_vec() };
        match content {
            Some(content) => self.db.insert(&key, seal(&key, content)).unwrap(),
            None => self.db.remove(&key).unwrap(),
        };
        self.db.flush().unwrap();
    }
}

fn address(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Runs a step of the database and explains its failure; it panics where it meets damage that it did not expect.
fn guard<T>(root: &Path, work: impl FnOnce() -> sled::Result<T>) -> Result<T> {
    let name = root.display();
    let damaged =
        || format!("the journal {name} is damaged: put back a copy of that folder, or move it away to begin a new one");
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(sled::Error::Io(error))) => {
            Err(error).with_context(|| format!("the journal {name} cannot read or write its files (disk full?)"))
        }
        Ok(Err(error)) => Err(anyhow!(error).context(damaged())),
        Err(_) => Err(anyhow!("the database stopped within itself").context(damaged())),
    }
}

fn lock(root: &Path, patience: Duration) -> Result<File> {
    let path = root.join("lock");
    let cannot = || format!("cannot open {}", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(&path).with_context(cannot)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => bail!(
                "the journal {} has been in use by another run for more than {} s; try again when that has ended",
                root.display(),
                patience.as_secs()
            ),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn records_stay_in_order_and_attachments_can_be_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        assert_eq!(journal.last().unwrap(), (0, Some(Key::default())));
        assert_eq!(journal.append("一".as_bytes(), Some(b"a"), &[]).unwrap(), 1);
        assert_eq!(journal.append("二".as_bytes(), Some(b"b"), &[]).unwrap(), 2);
        drop(journal);
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        assert_eq!(journal.append("三".as_bytes(), None, &[1]).unwrap(), 3);
        assert_eq!(journal.last().unwrap(), (3, Some(Key::of("三".as_bytes()))));
        assert_eq!(journal.record(1).unwrap(), Slot::Whole("一".into()));
        assert_eq!(
            [1, 2, 3].map(|n| journal.attachment(n).unwrap()),
            [Slot::Absent, Slot::Whole(b"b".into()), Slot::Absent]
        );
    }

    #[test]
    fn a_record_or_a_note_that_is_gone_leaves_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        journal.append(b"one", None, &[]).unwrap();
        journal.append(b"two", None, &[]).unwrap();
        journal.tamper(b'j', 2, None);
        assert_eq!(journal.last().unwrap(), (2, Some(Key::of(b"two"))), "the note remembers it");
        assert_eq!(journal.append(b"three", None, &[]).unwrap(), 3, "its number is not given again");
        journal.tamper(b'l', 0, None);
        assert_eq!(journal.last().unwrap(), (3, None));
        journal.db.insert(address(b'j', 1), b"IKS1????one".as_slice()).unwrap();
        assert_eq!(journal.record(1).unwrap(), Slot::Damaged("does not match its checksum".into()));
    }

    #[test]
    fn the_second_to_open_it_waits_a_while_and_then_says_why_not() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(dir.path(), SHORT).unwrap();
        let refused = match Journal::open(dir.path(), SHORT) {
            Ok(_) => panic!("two have it at once"),
            Err(error) => format!("{error:#}"),
        };
        assert!(refused.contains("in use by another run"), "{refused}");
        let path = dir.path().to_owned();
        let second = std::thread::spawn(move || Journal::open(&path, Duration::from_secs(10)).map(drop));
        std::thread::sleep(SHORT);
        drop(journal);
        second.join().unwrap().unwrap();
    }
}
