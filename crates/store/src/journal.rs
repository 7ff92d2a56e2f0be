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
//! journal is opened, so that only what is damaged in both is lost. A damaged database is put aside as `db.damaged-1`, the next one as
//! `db.damaged-2`; where the machine lacks something (room, memory, files, threads), nothing is put aside and the error says what.
//!
//! [`Journal::read`] writes nothing in the folder: it copies the files into a temporary folder and reads the copies.
//!
//! Useful for: records that cannot be computed again. Not for: more than some thousand records, since all of a journal is read when it is
//! opened or checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

use super::copy::{Copy, NAME as COPY};
use super::database::{self, Damaged, Database, Owner};
use super::layout::{seal, unseal};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::lock::{self, Attempt, Holder, Lock, take_within};
use inkstone_base::{bail, ensure, message};

/// The folder of the database.
const DB: &str = "db";
const LAST: &[u8] = b"l";

/// A journal in a folder. One process at a time has it open for writing; any number read it while none does.
pub struct Journal {
    /// Path of the folder, for errors.
    root: PathBuf,
    db: Database,
    copy: Copy,
    // Needed for as long as the database is open, so it stands after it.
    hold: Hold,
}

/// The right to the files of an open journal.
enum Hold {
    /// A lock, which the system releases when the process ends.
    Lock { _lock: Lock },
    /// The files are copies of our own, in a folder that goes with them.
    Copies { _folder: TempDir },
}

/// Content of a journal under a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The bytes as they were written.
    Whole(Vec<u8>),
    /// Other bytes, and their flaw.
    Damaged(Message),
    Absent,
}

impl Journal {
    /// Opens the journal in a folder to be written; the folder is made when it does not exist. Another run may hold it; `patience` says
    /// how long to wait until that has ended.
    pub fn open(root: &Path, patience: Duration) -> Result<Journal> {
        let lock = match take_within(&root.join("lock"), "", patience)? {
            Attempt::Ours(lock) => lock,
            Attempt::Theirs(holder) => bail!(in_use(root, &holder, patience)),
        };
        disk::sweep_file(&root.join(COPY))?;
        Journal::within(root, root, Hold::Lock { _lock: lock })
    }

    /// Opens the journal in a folder to be read. Nothing is made, changed or removed there, and what is damaged in one of the two copies
    /// is read from the other all the same. A folder without a journal reads as an empty one.
    pub fn read(root: &Path, patience: Duration) -> Result<Journal> {
        let log = root.join(DB).join(database::LOG);
        // A database that was closed a moment ago may still end its work: it has a lock of its own.
        let at_rest = |path: &Path| lock::reading(path, patience).map_err(|by| anyhow!(in_use(root, &by, patience)));
        let (_lock, _log) = (at_rest(&root.join("lock"))?, at_rest(&log)?);
        // The format is looked at first: an error is to name this folder.
        Copy::open(root)?;
        let copies = copies_of(root).with_context(|| {
            message!(
                "无法把日志库 {} 复制到临时文件夹 {} 以供读取（TMPDIR 可指定另一处）",
                "cannot copy the journal {} to read it into the folder of temporary files {} (TMPDIR names another)",
                root.display(),
                std::env::temp_dir().display()
            )
        })?;
        let folder = copies.path().to_owned();
        Journal::within(root, &folder, Hold::Copies { _folder: copies })
    }

    /// True if there is a journal in a folder.
    pub fn is_in(root: &Path) -> bool {
        root.join(COPY).is_file() || root.join(DB).join(database::LOG).is_file()
    }

    /// Opens the files in a folder that no other process has open.
    fn within(root: &Path, folder: &Path, hold: Hold) -> Result<Journal> {
        let copy = Copy::open(folder)?;
        let db = match database(root, folder).and_then(|db| db.last(b"").map(|_| db)) {
            Err(error) if error.is::<Damaged>() && !copy.is_empty() => anew(root, folder, None)?,
            opened => opened?,
        };
        let mut journal = Journal { root: root.to_owned(), db, copy, hold };
        match journal.heal() {
            Err(error) if error.is::<Damaged>() => {}
            healed => return healed.map(|()| journal),
        }
        // Some of its pages can be read and some cannot: what can be goes to the copy, and all to a new database.
        let Journal { db, copy, hold, .. } = journal;
        let db = anew(root, folder, Some((db, &copy)))?;
        let mut journal = Journal { root: root.to_owned(), db, copy: Copy::open(folder)?, hold };
        journal.heal()?;
        Ok(journal)
    }

    /// The highest number of a record that there is.
    fn seen(&self) -> Result<u64> {
        Ok(self.db.last(b"j")?.and_then(|(key, _)| number_of(key.get(1..)?)).unwrap_or(0))
    }

    /// Brings database and copy to the same: what either lacks or has damaged comes from the other.
    fn heal(&mut self) -> Result<()> {
        let noted = match self.slot(LAST)? {
            Slot::Whole(note) if note.len() == 24 => number_of(&note[..8]),
            _ => None,
        };
        let seen = self.seen()?;
        let last = seen.max(self.copy.last());
        self.copy.end_at(last)?;
        let (mut to_database, mut dropped, mut to_copy) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=last {
            for kind in *b"aj" {
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
            self.db.apply(to_database, dropped)?;
            self.db.flush()?;
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

    pub fn record(&self, number: u64) -> Result<Slot> {
        self.slot(&address(b'j', number))
    }

    pub fn attachment(&self, number: u64) -> Result<Slot> {
        self.slot(&address(b'a', number))
    }

    /// Adds a record and gives its number; in the same step the attachments of the records in `drop` go. The bytes of what was dropped
    /// stay in the files until the database uses their place again.
    pub fn append(&mut self, record: &[u8], attachment: Option<&[u8]>, drop: &[u64]) -> Result<u64> {
        ensure!(
            matches!(self.hold, Hold::Lock { .. }),
            "日志库 {} 是以只读方式打开的",
            "the journal {} was opened to be read",
            self.root.display()
        );
        let number = self.last()?.0 + 1;
        let attachment = attachment.map(|attachment| (address(b'a', number), attachment.to_vec()));
        let mut entries: Vec<_> = attachment.into_iter().collect();
        entries.push((address(b'j', number), record.to_vec()));
        self.copy.add(&entries, drop)?;
        let mut writes: Vec<_> = entries.iter().map(|(key, content)| (key.to_vec(), seal(key, content))).collect();
        writes.push((LAST.to_vec(), seal(LAST, &note(number, record))));
        self.db.apply(writes, drop.iter().map(|&number| address(b'a', number).to_vec()).collect())?;
        self.db.flush()?;
        Ok(number)
    }

    fn slot(&self, key: &[u8]) -> Result<Slot> {
        let Some(value) = self.db.get(key)? else { return Ok(Slot::Absent) };
        Ok(match unseal(key, &value) {
            Ok(content) => Slot::Whole(content.to_vec()),
            Err(error) => Slot::Damaged(Message::of_error(&error)),
        })
    }

    /// Replaces or removes the bytes under a number, in both copies, for tests.
    #[doc(hidden)]
    pub fn tamper(&mut self, kind: u8, number: u64, content: Option<&[u8]>) {
        let key = if kind == b'l' { LAST.to_vec() } else { address(kind, number).to_vec() };
        match content {
            Some(content) => self.db.apply(vec![(key.clone(), seal(&key, content))], Vec::new()).unwrap(),
            None => {
                self.db.apply(Vec::new(), vec![key.clone()]).unwrap();
                self.copy.forget(&key);
            }
        }
        self.db.flush().unwrap();
    }
}

fn in_use(root: &Path, holder: &Holder, patience: Duration) -> Message {
    message!(
        "日志库 {} 被另一个运行（{}）占用已超过 {} 秒；请等它结束后再试",
        "the journal {} has been in use by another run ({}) for more than {} s; try again when that has ended",
        root.display(),
        holder.in_words(),
        patience.as_secs()
    )
}

/// Copies the files of a journal, as far as they are there, into a folder that goes when it is dropped.
fn copies_of(root: &Path) -> io::Result<TempDir> {
    let copies = tempfile::Builder::new().prefix("inkstone-").tempdir()?;
    match fs::read(root.join(COPY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        bytes => fs::write(copies.path().join(COPY), bytes?)?,
    }
    let database = copies.path().join(DB);
    if root.join(DB).exists() {
        fs::create_dir(&database)?;
        database::copy_files(&root.join(DB), &database)?;
    }
    Ok(copies)
}

fn database(root: &Path, folder: &Path) -> Result<Database> {
    let owner = Owner {
        name: message!("日志库 {}", "the journal {}", root.display()),
        way_out: Word(
            "请放回该文件夹的副本，或移走它以重新开始",
            "put back a copy of that folder, or move it away to begin a new one",
        ),
    };
    Database::open(&folder.join(DB), owner)
}

/// Puts a damaged database aside and begins another; what can be read of it goes to the copy first.
fn anew(root: &Path, folder: &Path, old: Option<(Database, &Copy)>) -> Result<Database> {
    if let Some((old, copy)) = old {
        let slot = |key: &[u8]| {
            let value = old.get(key).ok().flatten()?;
            unseal(key, &value).map(<[u8]>::to_vec).ok()
        };
        let seen = old.last(b"j").ok().flatten().and_then(|(key, _)| number_of(key.get(1..)?)).unwrap_or(0);
        let keys = (1..=seen.max(copy.last())).flat_map(|number| b"aj".map(|kind| address(kind, number)));
        let lacking = keys.filter(|key| copy.get(key).is_none());
        let sound: Vec<_> = lacking.filter_map(|key| Some((key, slot(&key)?))).collect();
        Copy::open(folder)?.add(&sound, &[])?;
    }
    let free = |path: &PathBuf| path.symlink_metadata().is_err();
    let aside = (1u32..).map(|number| folder.join(format!("{DB}.damaged-{number}"))).find(free);
    let (path, aside) = (
        folder.join(DB),
        aside.context(Word("没有名称可用于损坏的数据库", "there is no name left for a damaged database"))?,
    );
    fs::rename(&path, &aside).with_context(|| message!("无法把 {} 移到一旁", "cannot put {} aside", path.display()))?;
    disk::sync_folder(folder)?;
    database(root, folder)
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
        journal.db.apply(vec![(address(b'j', 1).to_vec(), b"IKS1????one".to_vec())], Vec::new()).unwrap();
        assert_eq!(
            journal.record(1).unwrap(),
            Slot::Damaged(Word("与其校验和不符", "does not match its checksum").into())
        );
        drop(journal);
        let journal = Journal::open(dir.path(), SHORT).unwrap();
        assert_eq!(journal.record(1).unwrap(), Slot::Whole(b"one".to_vec()), "it came back from the copy");
        assert_eq!(journal.record(2).unwrap(), Slot::Absent);
    }

    #[test]
    fn a_kill_in_the_middle_of_a_write_leaves_no_record_without_its_attachment() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        journal.append(b"one", Some(b"first"), &[]).unwrap();
        drop(journal);
        let journal_before = copies_of(dir.path()).unwrap();
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        journal.append(b"two", Some(b"second"), &[]).unwrap();
        drop(journal);
        let copy_before = fs::read(journal_before.path().join(COPY)).unwrap();
        let copy_after = fs::read(dir.path().join(COPY)).unwrap();
        let (mut without_second, mut with_second) = (0, 0);
        // A kill leaves the database as it was, and the first bytes of the second record in the copy.
        for end in copy_before.len()..=copy_after.len() {
            let killed = copies_of(journal_before.path()).unwrap();
            fs::write(killed.path().join(COPY), &copy_after[..end]).unwrap();
            let mut journal = Journal::open(killed.path(), SHORT).unwrap();
            let last = journal.last().unwrap();
            if last.0 == 1 {
                assert_eq!(last.1, Some(Key::of(b"one")), "{end}");
                without_second += 1;
            } else {
                assert_eq!(journal.attachment(2).unwrap(), Slot::Whole(b"second".to_vec()), "{end}");
                with_second += 1;
            }
            // The next record has no attachment, and does not get the one that the kill left.
            let next = journal.append(b"next", None, &[]).unwrap();
            drop(journal);
            let journal = Journal::open(killed.path(), SHORT).unwrap();
            assert_eq!(journal.last().unwrap(), (next, Some(Key::of(b"next"))), "{end}");
            assert_eq!(journal.attachment(next).unwrap(), Slot::Absent, "{end}");
        }
        assert!(without_second > 20 && with_second > 0, "{without_second} {with_second}");
    }

    /// Every file below a folder with its bytes, and when each folder was changed.
    fn all_of(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>, std::time::SystemTime)> {
        let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
        let look = |entry: walkdir::DirEntry| {
            let bytes = entry.file_type().is_file().then(|| fs::read(entry.path()).unwrap());
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.into_path(), bytes, changed)
        };
        entries.map(look).collect()
    }

    #[test]
    fn reading_makes_changes_and_removes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("journal");
        let mut journal = Journal::open(&root, SHORT).unwrap();
        let long = vec![7; 100_000];
        journal.append(b"one", Some(&long), &[]).unwrap();
        journal.append(b"two", None, &[]).unwrap();
        drop(journal);
        // Files of others that look like leftovers, and damage that a writer would mend.
        fs::create_dir(root.join("mine")).unwrap();
        for name in [".tmp-mine", "mine/.tmp-abcdef", "mine/.tmp-0123456789abcdef0123456789abcdef"] {
            fs::write(root.join(name), "mine").unwrap();
        }
        let copy = fs::read(root.join(COPY)).unwrap();
        let read_all = |root: &Path| {
            let mut journal = Journal::read(root, SHORT).unwrap();
            assert_eq!(journal.last().unwrap(), (2, Some(Key::of(b"two"))));
            assert_eq!(journal.attachment(1).unwrap(), Slot::Whole(long.clone()));
            let refused = journal.append(b"three", None, &[]).unwrap_err().to_string();
            assert!(refused.contains("was opened to be read"), "{refused}");
        };
        for damaged in [copy.as_slice(), &copy[..copy.len() / 2], b""] {
            fs::write(root.join(COPY), damaged).unwrap();
            let before = all_of(&root);
            read_all(&root);
            assert!(all_of(&root) == before);
        }
        fs::write(root.join(COPY), &copy).unwrap();
        fs::write(root.join("db/db"), vec![0xff; 1 << 19]).unwrap();
        let before = all_of(&root);
        read_all(&root);
        assert!(all_of(&root) == before);
        // A folder that is no journal's stays what it is.
        let other = root.join("mine");
        assert!(!Journal::is_in(&other) && Journal::is_in(&root));
        assert_eq!(Journal::read(&other, SHORT).unwrap().last().unwrap(), (0, Some(Key::default())));
        assert_eq!(Journal::read(&other.join("gone"), SHORT).unwrap().last().unwrap().0, 0);
        assert!(all_of(&root) == before);
    }

    #[test]
    fn readers_read_at_once_and_wait_for_a_writer() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), SHORT).unwrap();
        journal.append(b"one", None, &[]).unwrap();
        let refused = Journal::read(dir.path(), SHORT).err().unwrap().to_string();
        assert!(refused.contains("in use by another run (process "), "{refused}");
        drop(journal);
        let readers = [(); 2].map(|()| Journal::read(dir.path(), SHORT).unwrap());
        assert!(readers.iter().all(|journal| journal.record(1).unwrap() == Slot::Whole(b"one".to_vec())));
        assert_eq!(Journal::open(dir.path(), SHORT).unwrap().append(b"two", None, &[]).unwrap(), 2);
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
