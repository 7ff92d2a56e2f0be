//! A folder of rows apart from a store. Any number of processes fill it, without a database or a lock; a store takes its batches up
//! ([`Writer::take_from`](crate::Writer::take_from)).
//!
//! ```text
//! FOLDER/SET/BATCH-DIGEST.rows      the rows of a batch, as in a store: whole, or absent
//! FOLDER/SET/BATCH.note.json         what was noted of these rows
//! FOLDER/SET/BATCH.attempt-N        a process computes the batch, or was killed while it did
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::files::{RowFile, RowFiles};
use super::layout::{BatchRecord, SetSpec};
use super::{Rows, block};
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Room};
use inkstone_base::{ensure, message};

/// Attempts at a batch after which no process tries it again.
pub const ATTEMPTS: usize = 3;

/// A folder of rows apart from a store.
pub struct RowFolder {
    path: PathBuf,
    pub(super) files: RowFiles,
}

impl RowFolder {
    /// The folder at this path. Nothing is read or written.
    pub fn new(path: &Path) -> RowFolder {
        RowFolder { path: path.to_owned(), files: RowFiles::within(path) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder this program's own. Fails where it is somebody else's.
    pub fn own(&self) -> Result<()> {
        disk::own_folder(&self.path, Room::Rows)
    }

    /// The batches of a set that have files, by name; the files are not read.
    pub fn batches(&self, set: Key) -> Result<BTreeSet<Key>> {
        Ok(self.files.list_set(set)?.into_iter().map(|found| found.batch).collect())
    }

    /// True if the folder has a sound file of a batch. The whole file is read.
    pub fn has(&self, set: Key, batch: Key) -> Result<bool> {
        Ok(self.found(set, batch)?.iter().any(|found| self.files.examine(found).is_ok()))
    }

    /// The values of a batch of dense rows, row after row; none where there is no sound file of it.
    pub fn values(&self, set: Key, batch: Key, dim: usize) -> Result<Option<Vec<f32>>> {
        Ok(self.found(set, batch)?.iter().find_map(|found| self.files.values(found, dim).ok()))
    }

    /// The files of a batch, by digest. More than one is there where two processes computed different rows.
    pub(super) fn found(&self, set: Key, batch: Key) -> Result<Vec<RowFile>> {
        Ok(self.files.list_set(set)?.into_iter().filter(|found| found.batch == batch).collect())
    }

    /// Keeps the rows of a batch: on the disk as a whole, or not at all. Rows that are there already stay as they are.
    pub fn put(&self, spec: &SetSpec, batch: Key, rows: &Rows) -> Result<()> {
        let named = || {
            message!("无法保留特征集 {:?} 的第 {batch} 批", "cannot keep batch {batch} of feature set {:?}", spec.name)
        };
        rows.check().with_context(named)?;
        ensure!(
            rows.kind() == spec.kind,
            "{}：它的行为 {:?}，而不是 {:?}",
            "{}: its rows are {:?}, and not {:?}",
            named(),
            rows.kind(),
            spec.kind
        );
        let blocks = block::pack(rows).with_context(named)?;
        let (set, record) = (spec.id(), BatchRecord::new(rows, &blocks));
        let file = self.files.write(set, batch, &blocks, record.digest).with_context(named)?;
        self.files.sync(set, &[file])
    }

    /// Keeps a note on the rows of a batch, sealed: on the disk as a whole, or not at all.
    pub fn put_note(&self, set: Key, batch: Key, note: &impl Serialize) -> Result<()> {
        disk::write_json(&self.note_path(set, batch), note)
    }

    /// The note on the rows of a batch; none where there is no sound one.
    pub fn note<T: DeserializeOwned>(&self, set: Key, batch: Key) -> Result<Option<T>> {
        match disk::read_json(&self.note_path(set, batch)) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.is::<Damage>() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes that this process computes a batch; none if earlier processes began it [`ATTEMPTS`] times and all were killed.
    pub fn attempt(&self, set: Key, batch: Key) -> Result<Option<Attempt>> {
        for number in 1..=ATTEMPTS {
            let path = self.attempt_path(set, batch, number);
            disk::make_dir(disk::folder_of(&path))?;
            match File::options().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Some(Attempt { path })),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| message!("无法写入 {}", "cannot write {}", path.display()));
                }
            }
        }
        Ok(None)
    }

    /// Forgets the attempts at a batch.
    pub fn forget_attempts(&self, set: Key, batch: Key) -> Result<()> {
        (1..=ATTEMPTS).try_for_each(|number| disk::remove_if_there(&self.attempt_path(set, batch, number)))
    }

    fn note_path(&self, set: Key, batch: Key) -> PathBuf {
        self.path.join(set.hex()).join(format!("{batch}.note.json"))
    }

    fn attempt_path(&self, set: Key, batch: Key, number: usize) -> PathBuf {
        self.path.join(set.hex()).join(format!("{batch}.attempt-{number}"))
    }
}

/// A batch under way. Its note is removed when this is dropped, so it stays only where the process was killed.
pub struct Attempt {
    path: PathBuf,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // A note that stays counts as an attempt more, and nothing else.
        let _ = disk::remove_if_there(&self.path);
    }
}

/// The batches that a store took from a folder of rows, and the files that it refused.
#[derive(Debug, Default)]
pub struct TakenUp {
    /// Batches that were taken.
    pub batches: u64,
    /// Files that were not taken, with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{dense_rows, key, spec};
    use crate::{RowKind, Store};
    use inkstone_base::job::Ctx;

    #[test]
    fn a_store_takes_one_sound_file_of_each_batch_and_names_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RowFolder::new(&dir.path().join("rows"));
        folder.own().unwrap();
        let (spec, batches) = (spec("sum", RowKind::Dense { dim: 4 }), [0, 1, 2].map(|b| key("batch", b)));
        for (batch, rows) in
            [(0, dense_rows(0, 5, 4)), (0, dense_rows(1, 5, 4)), (1, dense_rows(2, 5, 4)), (2, dense_rows(3, 6, 4))]
        {
            folder.put(&spec, batches[batch], &rows).unwrap();
        }
        let wrong = RowKind::Dense { dim: 3 };
        assert!(
            folder
                .put(&spec, batches[0], &dense_rows(0, 5, 3))
                .unwrap_err()
                .to_string()
                .contains(&format!("{wrong:?}"))
        );
        let mut digests: Vec<Key> =
            folder.found(spec.id(), batches[0]).unwrap().iter().map(|found| found.digest).collect();
        assert_eq!((folder.batches(spec.id()).unwrap().len(), digests.len()), (3, 2));
        digests.sort();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let writer = store.writer(&spec).unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let wanted = batches.map(|batch| (batch, 5));
        let taken = writer.take_from(&folder, &wanted, &ctx).unwrap();
        assert_eq!(taken.batches, 2);
        let [(_, reason)] = &taken.refused[..] else { panic!("{taken:?}") };
        assert!(reason.contains("it has 6 rows, the part of the corpus 5"), "{reason}");
        assert_eq!(writer.record(batches[0]).unwrap().unwrap().digest, digests[0]);
        assert!(!writer.has(batches[2]).unwrap());
        // What is there is not taken again.
        assert_eq!(writer.take_from(&folder, &wanted[..2], &ctx).unwrap().batches, 0);
    }

    #[test]
    fn an_attempt_that_ends_leaves_nothing_and_three_that_do_not_are_enough() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, set, batch) = (RowFolder::new(dir.path()), key("set", 0), key("batch", 0));
        for _ in 0..2 * ATTEMPTS {
            assert!(folder.attempt(set, batch).unwrap().is_some());
        }
        for _ in 0..ATTEMPTS {
            std::mem::forget(folder.attempt(set, batch).unwrap().unwrap());
        }
        assert!(folder.attempt(set, batch).unwrap().is_none());
        folder.forget_attempts(set, batch).unwrap();
        assert!(folder.attempt(set, batch).unwrap().is_some());
    }
}
