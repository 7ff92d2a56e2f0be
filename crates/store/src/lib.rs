//! Feature sets on disk: rows computed once, kept by the content of what made them, found again by every later run.
//!
//! A set is a [`Header`] and batches; a batch holds the rows of one part of a corpus. Batches are written first, each
//! as a whole, the header last, so a set is finished or it is not there. A run that was stopped at any moment is
//! repeated with the same [`SetSpec`]: [`Writer::has`] tells which batches need no computing. Finished sets are read without a lock, while
//! others are written ([`Reader`]).
//!
//! Rows lie in files, one a batch (`files`), and so do headers (`headers`); which batches are done is in the database. Every block of
//! rows carries a checksum over its content and its address; what does not match is named by set, batch and block, and never served.
//! [`Store::verify`] reads everything, [`Store::repair`] makes a sound store of what is sound, so that the next run computes only the rest again,
//! [`Store::compact`] gives back the space of what was overwritten or removed, [`export`] and [`import`] take sets from one store
//! to another.
//!
//! A store takes 1.01 times the size of its rows on disk, and reading or writing it a batch in memory.
//!
//! Beside the feature store stands the [`Journal`], which is only ever added to.
//!
//! Useful for: rows that are costly to compute. Not for: tables that a person opens (those are Parquet files).
//! The database is sled; nothing outside this module knows it.

mod block;
mod check;
mod compact;
mod copy;
mod database;
mod files;
mod generations;
mod headers;
mod journal;
mod layout;
mod migrate;
mod portable;
mod read;
mod rows;
mod write;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use database::Database;
use generations::{FORMAT, Generations};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use layout::{batches_of, parse_batch_key};
use migrate::migrate;

pub use block::{pack, unpack};
pub use check::Problem;
pub use compact::Compaction;
pub use copy::copied;
pub use journal::{Journal, Slot};
pub use layout::{BatchEntry, BatchRecord, Header, SetSpec, seal, unseal};
pub use portable::{Carried, export, file_name, import};
pub use read::{Reader, Set, Stats};
pub use rows::{RowKind, Rows, Values};
pub use write::Writer;

/// A feature store in a folder, to be written. One process holds it at a time; threads may share it. Who only reads takes a [`Reader`].
pub struct Store {
    database: Database,
    reader: Reader,
    // Last, since it has the lock.
    generations: Generations,
}

/// How long to wait for somebody else to close the store.
const PATIENCE: Duration = Duration::from_secs(5);

impl Store {
    /// Opens the store in `path`, which is made when it does not exist. Whoever else has it open gets a few seconds to close it. A store of
    /// an older format is brought to this one.
    pub fn open(path: &Path) -> Result<Store> {
        Store::open_within(path, PATIENCE)
    }

    fn open_within(path: &Path, patience: Duration) -> Result<Store> {
        let mut generations = Generations::take(path, patience, false)?;
        let (mut database, reader) = (generations.database()?, Reader::new(path));
        if generations.format() < FORMAT {
            let mut problems = Vec::new();
            migrate(generations.format(), &database, &reader, &mut problems, &Ctx::new(1, 0)?)?;
            if let Some(problem) = problems.first() {
                bail!("{problem}: of the feature store {} this {WAY_OUT}", path.display());
            }
            let old = &database;
            let (new, ()) = generations.replace(|new| {
                old.scan(b"b").try_for_each(|entry| {
                    let (key, value) = entry?;
                    new.apply(vec![(key.to_vec(), value.to_vec())], Vec::new())
                })
            })?;
            database = new;
        }
        Ok(Store { database, reader, generations })
    }

    /// A writer of the set with this specification. Batches that an earlier run finished are still there.
    pub fn writer(&self, spec: &SetSpec) -> Result<Writer<'_>> {
        Writer::new(self, spec)
    }

    /// Removes a set, finished or not, and says whether there was anything of it.
    pub fn remove(&self, id: &Key) -> Result<bool> {
        // The header goes first, the files last: a kill on the way leaves files that nobody refers to, never a set without its rows.
        let was_finished = self.reader.headers.remove(*id)?;
        let records = self.database.scan_keys(&batches_of(*id)).collect::<Result<Vec<_>>>()?;
        let found = self.database.remove_all(records)?;
        self.database.flush()?;
        Ok(self.reader.files.remove_set(*id)? || was_finished || found > 0)
    }
}

/// A store is read like one that another process writes.
impl std::ops::Deref for Store {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

fn read_record(key: &[u8], value: &[u8]) -> Result<BatchRecord> {
    let name = || match parse_batch_key(key) {
        Some((set, batch)) => format!("the record of batch {batch} of feature set {set} {WAY_OUT}"),
        None => "a record of a batch under a key that is none".to_owned(),
    };
    let content = unseal(key, value).with_context(name)?;
    serde_json::from_slice(content).with_context(name)
}

/// What to do about damage; said wherever damage is met.
const WAY_OUT: &str =
    "is damaged (`inkstone store repair` drops what is damaged, and the next run computes that again)";
