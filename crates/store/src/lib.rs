//! The feature store: rows of features on disk, computed once and found again by every later run.
//!
//! A set is a [`Header`] and batches; a batch holds the rows of one part of a corpus. Batches are written first, each
//! as a whole, the header last, so a set is finished or absent. A run that was stopped at any moment is
//! repeated with the same [`SetSpec`]: [`Writer::has`] is true for batches that need no computing. Finished sets are read without a lock,
//! while others are written ([`Reader`]).
//!
//! Rows lie in files, one a batch (`files`), and so do headers (`headers`); the list of finished batches is in the database. Every block
//! of rows carries a checksum over its content and its address; a block that does not match is named by set, batch and number, and never
//! served. [`Store::verify`] reads everything, [`Store::repair`] keeps the sound batches, so that the next run computes only the others,
//! [`Store::compact`] gives back the space of replaced and removed rows, [`export`] and [`import`] take sets from one store to another.
//!
//! A store takes 1.01 times the size of its rows on disk. Reading and writing keep one batch in memory.
//!
//! The crate also has the [`Journal`], to which records are only added; the research ledger lies in one.
//!
//! Useful for: rows that are costly to compute. Not for: tables that a person opens (those are Parquet files).
//! The database is sled, and no other crate uses it.
//!
//! ```
//! use inkstone_base::data::Key;
//! use inkstone_store::{Reader, RowKind, Rows, SetSpec, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let params = serde_json::json!({"lexicon": "v1"});
//! let spec = SetSpec { name: "tone".into(), kind: RowKind::Dense { dim: 2 }, params, fitted_until: None };
//! let (part, text) = (Key::of(b"part 0"), Key::of("公司净利润大幅增长".as_bytes()));
//! let store = Store::open(folder.path())?;
//! let writer = store.writer(&spec)?;
//! writer.put(part, &Rows::dense(vec![text], 2, vec![0.5, 1.0]))?;
//! writer.finish(&[part], serde_json::Value::Null)?;
//!
//! let header = Reader::open(folder.path())?.find("tone")?;
//! assert_eq!((header.id(), header.rows), (spec.id(), 1));
//! # anyhow::Ok(())
//! ```

mod block;
mod check;
mod compact;
mod copy;
mod database;
mod files;
mod folder;
mod generations;
mod headers;
mod journal;
mod layout;
mod portable;
mod read;
mod rows;
mod write;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use database::Database;
use generations::Generations;
use inkstone_base::data::Key;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use layout::{batches_of, parse_batch_key};

pub use block::{pack, unpack};
pub use check::Problem;
pub use compact::Compaction;
pub use copy::copied;
pub use database::is_fault;
pub use folder::{ATTEMPTS, Attempt, RowFolder, TakenUp};
pub use journal::{Journal, Slot};
pub use layout::{BatchEntry, BatchRecord, Header, SetSpec, seal, unseal};
pub use portable::{SetFile, export, file_name, import};
pub use read::{Reader, Set, Stats};
pub use rows::{RowKind, Rows, Values};
pub use write::Writer;

/// A feature store in a folder, open for writing. One process has it open at a time; threads may share it. To read, take a [`Reader`].
pub struct Store {
    database: Database,
    reader: Reader,
    // Last, since it has the lock.
    generations: Generations,
}

/// Time to wait for another process to close the store.
const PATIENCE: Duration = Duration::from_secs(5);

impl Store {
    /// Opens the store in `path`, which is made when it does not exist, and waits a few seconds while another process has it open. Fails
    /// for a store of another format.
    pub fn open(path: &Path) -> Result<Store> {
        Store::open_within(path, PATIENCE)
    }

    fn open_within(path: &Path, patience: Duration) -> Result<Store> {
        let generations = Generations::take(path, patience, false)?;
        Ok(Store { database: generations.database()?, reader: Reader::new(path), generations })
    }

    /// A writer of the set with this specification. Batches that an earlier run finished are still there.
    pub fn writer(&self, spec: &SetSpec) -> Result<Writer<'_>> {
        Writer::new(self, spec)
    }

    /// Gives a finished set another name. Its id and its rows stay.
    pub fn rename(&self, id: &Key, name: &str) -> Result<()> {
        let Some(mut header) = self.reader.headers.read(*id)? else { return Ok(()) };
        header.spec.name = name.to_owned();
        self.reader.headers.write(&header)
    }

    /// Removes a set, finished or not. True if there was anything of it.
    pub fn remove(&self, id: &Key) -> Result<bool> {
        // The header goes first, the files last: a kill on the way leaves files that nobody refers to, never a set without its rows.
        let was_finished = self.reader.headers.remove(*id)?;
        let records = self.database.scan_keys(&batches_of(*id)).collect::<Result<Vec<_>>>()?;
        let found = self.database.remove_all(records)?;
        self.database.flush()?;
        Ok(self.reader.files.remove_set(*id)? || was_finished || found > 0)
    }
}

/// An open store can be read as well.
impl std::ops::Deref for Store {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

fn read_record(key: &[u8], value: &[u8]) -> Result<BatchRecord> {
    let name = || match parse_batch_key(key) {
        Some((set, batch)) => message!(
            "特征集 {set} 第 {batch} 批的记录{WAY_OUT}",
            "the record of batch {batch} of feature set {set} {WAY_OUT}"
        ),
        None => Message::from(Word("有批次记录的键无效", "a record of a batch under a key that is none")),
    };
    let content = unseal(key, value).with_context(name)?;
    serde_json::from_slice(content).with_context(name)
}

/// The end of every error about damage.
const WAY_OUT: Word = Word(
    "已损坏（`inkstone store repair` 去掉损坏的部分，下次运行重新计算）",
    "is damaged (`inkstone store repair` drops what is damaged, and the next run computes that again)",
);
