//! A journal: numbered records that are only ever added, each with an attachment that may be dropped later. Kept twice.
//!
//! | key | value |
//! |---|---|
//! | `j` number | the record; the number is big-endian, from 1, without gaps |
//! | `a` number | its attachment, if it has one that was not dropped |
//! | `l` | number (`u64`, big-endian) and hash of the last record; written in one step with it |
//!
//! Values lie in the envelope of `layout`. A record is on disk when [`Journal::append`] returns; after a kill, all of a step is there or
//! none. The same records stand in a plain file beside the database (`copy`): what is damaged in one comes back from the other when the
//! journal is opened, so that only what is damaged in both is lost. A database that cannot be read is put aside as `db.damaged`.
//!
//! Useful for: what must not be lost and cannot be computed again. Not for: more than some thousand records, since whoever checks a
//! journal reads all of it, and so does whoever opens it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::copy::Copy;
use super::database::{Database, Says};
use super::layout::{seal, unseal};
use crate::data::Key;
use crate::disk;
use crate::lock::{Lock, Taken, take_within};

const LAST: &[u8] = b"l";

/// A journal in a folder. One process holds it at a time; where nobody may write, any number read its copy.
pub struct Journal {
    root: PathBuf,
    /// None where the folder may only be read.
    db: Option<Database>,
    copy: Copy,
    // Held for as long as the database is open, so it stands after it; the system drops it with the process, however that ends.
    _lock: Option<Lock>,
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
    /// until that has ended. In a folder that may only be read, what its copy has is read.
    pub fn open(root: &Path, patience: Duration) -> Result<Journal> {
        let lock = match disk::make_dir(root).and_then(|()| take_within(&root.join("lock"), "", patience)) {
            Err(error) if forbids_writing(&error) => {
                let copy = Copy::open(root)?;
                // Nothing to read, or an older version's: then it matters that nothing can be written.
                return if copy.is_empty() { Err(error) } else { Ok(Journal::of(root, None, copy, None)) };
            }
            Err(error) => return Err(error),
            Ok(Taken::Ours(lock)) => lock,
            Ok(Taken::Theirs(holder)) => bail!(
                "the journal {} has been in use by another run ({}) for more than {} s; try again when that has ended",
                root.display(),
                holder.in_words(),
                patience.as_secs()
            ),
        };
        disk::sweep(root)?;
        let copy = Copy::open(root)?;
        let path = root.join("db");
        let mut journal = match database(root).and_then(|db| db.last(b"").map(|_| db)) {
            Ok(db) => Journal::of(root, Some(db), copy, Some(lock)),
            Err(error) if copy.is_empty() => return Err(error),
            Err(_) => Journal::of(root, Some(anew(root, &path, None)?), copy, Some(lock)),
        };
        if journal.heal().is_err() {
            // Some of its pages can be read and some cannot: what can be goes to the copy, and all to a new database.
            let Journal { db, copy, _lock, .. } = journal;
            let db = anew(root, &path, db.map(|db| (db, &copy)))?;
            journal = Journal::of(root, Some(db), Copy::open(root)?, _lock);
            journal.heal()?;
        }
        Ok(journal)
    }

    fn of(root: &Path, db: Option<Database>, copy: Copy, lock: Option<Lock>) -> Journal {
        Journal { root: root.to_owned(), db, copy, _lock: lock }
    }

    /// The database to write to.
    fn db(&self) -> Result<&Database> {
        self.db.as_ref().with_context(|| format!("the journal {} may only be read here", self.root.display()))
    }

    /// The highest number of a record that there is.
    fn seen(&self) -> Result<u64> {
        let Some(db) = &self.db else { return Ok(self.copy.last()) };
        Ok(db.last(b"j")?.and_then(|(key, _)| number_of(key.get(1..)?)).unwrap_or(0))
    }

    /// Brings database and copy to the same: what either lacks or has damaged comes from the other.
    fn heal(&mut self) -> Result<()> {
        let noted = match self.slot(LAST)? {
            Slot::Whole(note) if note.len() == 24 => number_of(&note[..8]),
            _ => None,
        };
        let seen = self.seen()?;
        let last = seen.max(self.copy.last());
        let (mut to_database, mut dropped, mut to_copy) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=last {
            for kind in *b"ja" {
                let key = address(kind, number);
                match (self.slot(&key)?, self.copy.get(&key)) {
                    (Slot::Absent, None) => {}
                    _ if kind == b'a' && self.copy.has_dropped(number) => dropped.push(key.to_vec()),
                    (Slot::Whole(_), Some(_)) | (Slot::Damaged(_), None) => {}
                    (Slot::Whole(content), None) => to_copy.push((key, content)),
                    (Slot::Damaged(_) | Slot::Absent, Some(content)) => {
                        to_database.push((key.to_vec(), seal(&key, content)));
                    }
                }
            }
        }
        if !to_copy.is_empty() {
            self.copy.add(&to_copy, &[])?;
        }
        // A note that was taken away from a database that is whole otherwise stays away, so that it is noticed.
        let behind = noted.map_or(seen == 0, |noted| noted < self.copy.last());
        if let Some(record) = self.copy.get(&address(b'j', last)).filter(|_| behind) {
            to_database.push((LAST.to_vec(), seal(LAST, &note(last, record))));
        }
        if !to_database.is_empty() || !dropped.is_empty() {
            self.db()?.apply(to_database, dropped)?;
            self.db()?.flush()?;
        }
        Ok(())
    }

    /// Number and hash of the last record; 0 and the zero key of an empty journal. The hash is none where the note of it is lost.
    pub fn last(&self) -> Result<(u64, Option<Key>)> {
        let seen = self.seen()?;
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
        self.db()?;
        let number = self.last()?.0 + 1;
        let (own, its) = (address(b'j', number), address(b'a', number));
        let mut entries = vec![(own, record.to_vec())];
        entries.extend(attachment.map(|attachment| (its, attachment.to_vec())));
        self.copy.add(&entries, drop)?;
        let mut writes: Vec<_> = entries.iter().map(|(key, content)| (key.to_vec(), seal(key, content))).collect();
        writes.push((LAST.to_vec(), seal(LAST, &note(number, record))));
        self.db()?.apply(writes, drop.iter().map(|&number| address(b'a', number).to_vec()).collect())?;
        self.db()?.flush()?;
        Ok(number)
    }

    fn slot(&self, key: &[u8]) -> Result<Slot> {
        let Some(db) = &self.db else { return Ok(self.in_copy(key)) };
        let Some(value) = db.get(key)? else { return Ok(Slot::Absent) };
        Ok(match unseal(key, &value) {
            Ok(content) => Slot::Whole(content.to_vec()),
            Err(error) => Slot::Damaged(error.to_string()),
        })
    }

    /// What the copy has; it needs no note of the last record, as it ends with it.
    fn in_copy(&self, key: &[u8]) -> Slot {
        let last = self.copy.last();
        let of = |key: &[u8]| Some(self.copy.get(key.try_into().ok()?)?.clone());
        let content = if key == LAST { of(&address(b'j', last)).map(|record| note(last, &record)) } else { of(key) };
        content.map_or(Slot::Absent, Slot::Whole)
    }

    /// Puts other bytes under a number, or none, as somebody with a tool for sled would who knows of the copy.
    #[cfg(test)]
    pub(crate) fn tamper(&mut self, kind: u8, number: u64, content: Option<&[u8]>) {
        let key = if kind == b'l' { LAST.to_vec() } else { address(kind, number).to_vec() };
        match content {
            Some(content) => self.db().unwrap().apply(vec![(key.clone(), seal(&key, content))], Vec::new()).unwrap(),
            None => {
                self.db().unwrap().apply(Vec::new(), vec![key.clone()]).unwrap();
                self.copy.forget(&key);
            }
        }
        self.db().unwrap().flush().unwrap();
    }
}

/// Whether the system lets nobody write there.
fn forbids_writing(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    matches!(kind, Some(PermissionDenied | ReadOnlyFilesystem))
}

fn database(root: &Path) -> Result<Database> {
    let says = Says {
        whose: format!("the journal {}", root.display()),
        way_out: "put back a copy of that folder, or move it away to begin a new one",
    };
    Database::open(&root.join("db"), says)
}

/// Puts a damaged database aside and begins another; what can be read of it goes to the copy first.
fn anew(root: &Path, path: &PathBuf, old: Option<(Database, &Copy)>) -> Result<Database> {
    if let Some((old, copy)) = old {
        let slot = |key: &[u8]| {
            let value = old.get(key).ok().flatten()?;
            unseal(key, &value).map(<[u8]>::to_vec).ok()
        };
        let seen = old.last(b"j").ok().flatten().and_then(|(key, _)| number_of(key.get(1..)?)).unwrap_or(0);
        let keys = (1..=seen.max(copy.last())).flat_map(|number| b"ja".map(|kind| address(kind, number)));
        let lacking = keys.filter(|key| copy.get(key).is_none());
        let whole: Vec<_> = lacking.filter_map(|key| Some((key, slot(&key)?))).collect();
        Copy::open(root)?.add(&whole, &[])?;
    }
    let aside = root.join("db.damaged");
    let _ = std::fs::remove_dir_all(&aside);
    std::fs::rename(path, &aside).with_context(|| format!("cannot put {} aside", path.display()))?;
    database(root)
}

fn address(kind: u8, number: u64) -> [u8; 9] {
    let mut key = [kind; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn number_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// The note of the last record.
fn note(number: u64, record: &[u8]) -> Vec<u8> {
    [number.to_be_bytes().as_slice(), &Key::of(record).0].concat()
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
        journal.db().unwrap().apply(vec![(address(b'j', 1).to_vec(), b"IKS1????one".to_vec())], Vec::new()).unwrap();
        assert_eq!(journal.record(1).unwrap(), Slot::Damaged("does not match its checksum".into()));
        drop(journal);
        let journal = Journal::open(dir.path(), SHORT).unwrap();
        assert_eq!(journal.record(1).unwrap(), Slot::Whole(b"one".to_vec()), "it came back from the copy");
        assert_eq!(journal.record(2).unwrap(), Slot::Absent);
    }

    #[test]
    fn the_second_to_open_it_waits_a_while_and_then_says_why_not() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(dir.path(), SHORT).unwrap();
        let refused = match Journal::open(dir.path(), SHORT) {
            Ok(_) => panic!("two have it at once"),
            Err(error) => format!("{error:#}"),
        };
        assert!(refused.contains(&format!("in use by another run (process {} on ", std::process::id())), "{refused}");
        let path = dir.path().to_owned();
        let second = std::thread::spawn(move || Journal::open(&path, Duration::from_secs(10)).map(drop));
        std::thread::sleep(SHORT);
        drop(journal);
        second.join().unwrap().unwrap();
    }
}
