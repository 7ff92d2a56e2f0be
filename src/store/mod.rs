//! Feature sets on disk: rows computed once, kept by the content of what made them, found again by every later run.
//!
//! A set is a [`Header`] and batches; a batch holds the rows of one part of a corpus. Batches are written first, each
//! as a whole, the header last, so a set is finished or it is not there. A run that was stopped at any moment is
//! repeated with the same [`SetSpec`]: [`Writer::has`] tells which batches need no computing.
//!
//! Rows lie in files, one a batch (`files`); what is finished, and of which batches, is in the database. Every block of rows carries a
//! checksum over its content and its address; what does not match is named by set, batch and block, and never served. [`Store::verify`]
//! reads everything, [`Store::repair`] makes a sound store of what is sound, so that the next run computes only the rest again,
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
use rustc_hash::FxHashMap;

use crate::data::Key;
use crate::job::Ctx;
use database::Database;
use files::RowFiles;
use generations::{FORMAT, Generations};
use layout::Address;

pub use block::{pack, unpack};
pub use check::Problem;
pub use compact::Compaction;
pub use journal::{Journal, Slot};
pub use layout::{BatchEntry, BatchRecord, Header, SetSpec, seal, unseal};
pub use portable::{Carried, export, file_name, import};
pub use read::Set;
pub use rows::{RowKind, Rows, Values};
pub use write::Writer;

/// A feature store in a folder. One process holds it at a time; threads may share it.
pub struct Store {
    database: Database,
    files: RowFiles,
    // Last, since it has the lock.
    generations: Generations,
}

/// How long to wait for somebody else to close the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// The size of a store and of what it holds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Stats {
    /// Finished sets.
    pub sets: u64,
    /// Rows of the finished sets.
    pub rows: u64,
    /// Bytes of their rows.
    pub live_bytes: u64,
    /// Bytes of files of rows that belong to no finished set: work under way, or what a kill left.
    pub other_bytes: u64,
    /// Bytes of the files on disk.
    pub file_bytes: u64,
}

impl Store {
    /// Opens the store in `path`, which is made when it does not exist. Whoever else has it open gets a few seconds to close it. A store of
    /// an older format is brought to this one.
    pub fn open(path: &Path) -> Result<Store> {
        Store::open_within(path, PATIENCE)
    }

    fn open_within(path: &Path, patience: Duration) -> Result<Store> {
        let mut generations = Generations::take(path, patience, false)?;
        let (mut database, files) = (generations.database()?, RowFiles::new(path));
        if generations.format() < FORMAT {
            let mut problems = Vec::new();
            migrate::rows(&database, &files, &mut problems, &Ctx::new(1, 0)?)?;
            if let Some(problem) = problems.first() {
                bail!("{problem}: of the feature store {} this {WAY_OUT}", path.display());
            }
            let old = &database;
            let (new, ()) = generations.replace(|new| {
                [b"b", b"h"].into_iter().flat_map(|kind| old.scan(kind)).try_for_each(|entry| {
                    let (key, value) = entry?;
                    new.apply(vec![(key.to_vec(), value.to_vec())], Vec::new())
                })
            })?;
            database = new;
        }
        Ok(Store { database, files, generations })
    }

    /// A writer of the set with this specification. Batches that an earlier run finished are still there.
    pub fn writer(&self, spec: &SetSpec) -> Result<Writer<'_>> {
        Writer::new(self, spec)
    }

    /// The finished set of this id.
    pub fn set(&self, id: &Key) -> Result<Option<Set<'_>>> {
        Ok(self.header(id)?.map(|header| Set::new(self, header)))
    }

    /// The finished set of this name or id; the error says which there are.
    pub fn find(&self, name: &str) -> Result<Header> {
        let sets = self.sets()?;
        let of_name: Vec<&Header> = sets.iter().filter(|header| header.spec.name == name).collect();
        let found = sets.iter().find(|header| header.id().hex() == name);
        match (found, of_name.as_slice()) {
            (Some(header), _) => Ok(header.clone()),
            (None, [header]) => Ok((*header).clone()),
            (None, []) => {
                let names: Vec<&str> = sets.iter().map(|header| header.spec.name.as_str()).collect();
                bail!("the store has no finished set {name:?}; there are: {}", names.join(", "))
            }
            (None, several) => {
                let ids: Vec<String> = several.iter().map(|header| header.id().hex()).collect();
                bail!("the store has {} sets {name:?}; say which by its id: {}", several.len(), ids.join(", "))
            }
        }
    }

    /// The headers of all finished sets, by name, then id.
    pub fn sets(&self) -> Result<Vec<Header>> {
        let mut headers = Vec::new();
        for entry in self.database.scan(b"h") {
            let (key, value) = entry?;
            headers.push(read_header(&key, &value)?);
        }
        headers.sort_by_cached_key(|h| (h.spec.name.clone(), h.id()));
        Ok(headers)
    }

    /// Removes a set, finished or not, and says whether there was anything of it.
    pub fn remove(&self, id: &Key) -> Result<bool> {
        // The header goes first, the files last: a kill on the way leaves files that nobody refers to, never a set without its rows.
        let mut found = self.database.remove_all(vec![Address::Header { set: *id }.bytes()])?;
        let batches = self.database.scan_keys(&Address::batches_of(*id)).collect::<Result<Vec<_>>>()?;
        found += self.database.remove_all(batches)?;
        self.database.flush()?;
        Ok(self.files.remove_set(*id)? || found > 0)
    }

    /// How much the store holds. Reads no rows.
    pub fn stats(&self) -> Result<Stats> {
        let files = self.files.list()?;
        let mut others: FxHashMap<_, u64> = files.iter().map(|f| ((f.set, f.batch, f.digest), f.bytes)).collect();
        let mut stats = Stats { file_bytes: self.file_bytes()?, ..Stats::default() };
        for header in self.sets()? {
            let set = header.id();
            stats.sets += 1;
            stats.rows += header.rows;
            for batch in &header.batches {
                // A batch may come more than once, and is there once.
                if others.remove(&(set, batch.key, batch.record.digest)).is_some() {
                    stats.live_bytes += batch.record.bytes;
                }
            }
        }
        stats.other_bytes = others.values().sum();
        Ok(stats)
    }

    fn file_bytes(&self) -> Result<u64> {
        Ok(self.database.file_bytes() + self.files.list()?.iter().map(|found| found.bytes).sum::<u64>())
    }

    fn header(&self, id: &Key) -> Result<Option<Header>> {
        let key = Address::Header { set: *id }.bytes();
        self.database.get(&key)?.map(|value| read_header(&key, &value)).transpose()
    }
}

fn read_header(key: &[u8], value: &[u8]) -> Result<Header> {
    let name = || match Address::parse(key) {
        Some(Address::Header { set }) => format!("the header of feature set {set} {WAY_OUT}"),
        _ => "a header under a key that is none".to_owned(),
    };
    let content = unseal(key, value).with_context(name)?;
    serde_json::from_slice(content).with_context(name)
}

fn read_record(key: &[u8], value: &[u8]) -> Result<BatchRecord> {
    let name = || match Address::parse(key) {
        Some(Address::Batch { set, batch }) => format!("the record of batch {batch} of feature set {set} {WAY_OUT}"),
        _ => "a record of a batch under a key that is none".to_owned(),
    };
    let content = unseal(key, value).with_context(name)?;
    serde_json::from_slice(content).with_context(name)
}

/// What to do about damage; said wherever damage is met.
const WAY_OUT: &str =
    "is damaged (`inkstone store repair` drops what is damaged, and the next run computes that again)";
