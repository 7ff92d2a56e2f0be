//! Feature sets on disk: rows computed once, kept by the content of what made them, found again by every later run.
//!
//! A set is a [`Header`] and batches; a batch holds the rows of one part of a corpus. Batches are written first, each
//! as a whole, the header last, so a set is finished or it is not there. A run that was stopped at any moment is
//! repeated with the same [`SetSpec`]: [`Writer::has`] tells which batches need no computing.
//!
//! Every block carries a checksum over its content and its address; what does not match is named by set, batch and
//! block, and never served. [`Store::verify`] reads everything, [`Store::repair`] drops what is damaged so that the next
//! run computes only that again, [`Store::compact`] gives back the space of what was overwritten or removed.
//!
//! Half a gigabyte of rows was seen to take 1.3 to 1.5 times its size on disk (1.4 when compacted), and reading or
//! writing any amount takes at most some 350 MB of memory. A small store takes about 20 MB more than it holds.
//!
//! Beside the feature store stands the [`Journal`], which is only ever added to.
//!
//! Useful for: rows that are costly to compute. Not for: tables that a person opens (those are Parquet files).
//! The database is sled; nothing outside this module knows it.

mod block;
mod check;
mod compact;
mod database;
mod journal;
mod layout;
mod read;
mod rows;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::data::Key;
use database::Database;
use layout::Address;

pub use block::{pack, unpack};
pub use check::Problem;
pub use compact::Compaction;
pub use journal::{Journal, Slot};
pub use layout::{BatchEntry, BatchRecord, Header, SetSpec, seal, unseal};
pub use read::Set;
pub use rows::{RowKind, Rows, Values};
pub use write::Writer;

/// A feature store in a folder. One process holds it at a time; threads may share it.
pub struct Store {
    database: Database,
}

/// How long a run waits for somebody who looks into the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// The size of a store and of what it holds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Stats {
    /// Finished sets.
    pub sets: u64,
    /// Rows of the finished sets.
    pub rows: u64,
    /// Bytes of their blocks.
    pub live_bytes: u64,
    /// Bytes of blocks that belong to no finished set: work under way, or what a removal left.
    pub other_bytes: u64,
    /// Bytes of the files on disk.
    pub file_bytes: u64,
}

impl Store {
    /// Opens the store in `path`, which is made when it does not exist.
    pub fn open(path: &Path) -> Result<Store> {
        Ok(Store { database: Database::open(path, Duration::ZERO)? })
    }

    /// The same for a run: somebody who only looks into the store, as the workbench does, has a few seconds to close it.
    pub fn open_for_run(path: &Path) -> Result<Store> {
        Ok(Store { database: Database::open(path, PATIENCE)? })
    }

    /// A writer of the set with this specification. Batches that an earlier run finished are still there.
    pub fn writer(&self, spec: &SetSpec) -> Result<Writer<'_>> {
        Writer::new(&self.database, spec)
    }

    /// The finished set of this id.
    pub fn set(&self, id: &Key) -> Result<Option<Set<'_>>> {
        Ok(self.header(id)?.map(|header| Set::new(&self.database, header)))
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

    /// Removes a set, finished or not, and says whether there was anything of it. The files shrink when the store is
    /// compacted.
    pub fn remove(&self, id: &Key) -> Result<bool> {
        // The header goes first: a kill on the way leaves blocks without a set, never a set without its blocks.
        let mut found = self.database.remove_all(vec![Address::Header { set: *id }.bytes()])?;
        for tag in [b'b', b'r'] {
            found += self.database.remove_prefix(&Address::prefix(tag, *id))?;
        }
        self.database.flush()?;
        Ok(found > 0)
    }

    /// How much the store holds. Reads the records of batches, not the blocks.
    pub fn stats(&self) -> Result<Stats> {
        let mut stats = Stats { file_bytes: self.database.file_bytes(), ..Stats::default() };
        for header in self.sets()? {
            stats.sets += 1;
            stats.rows += header.rows;
            let mut batches: Vec<_> = header.batches.iter().map(|b| (b.key, b.record.bytes)).collect();
            batches.sort_unstable();
            batches.dedup();
            stats.live_bytes += batches.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
        let mut all = 0;
        for entry in self.database.scan(b"b") {
            let (key, value) = entry?;
            all += read_record(&key, &value)?.bytes;
        }
        stats.other_bytes = all.saturating_sub(stats.live_bytes);
        Ok(stats)
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
