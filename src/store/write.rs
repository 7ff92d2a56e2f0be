//! Writing a feature set: batches in any order and from any thread, then the header.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};

use super::block;
use super::database::{Database, FLUSH_BYTES};
use super::layout::{Address, BatchEntry, BatchRecord, Header, SetSpec, seal};
use super::read::read_rows;
use super::{RowKind, Rows, read_record};
use crate::data::Key;

/// A writer of one feature set. Threads may share it.
pub struct Writer<'s> {
    database: &'s Database,
    spec: SetSpec,
    set: Key,
    unflushed: AtomicU64,
    kept: AtomicU64,
}

impl<'s> Writer<'s> {
    pub(super) fn new(database: &'s Database, spec: &SetSpec) -> Result<Writer<'s>> {
        ensure!(
            spec.kind != RowKind::Dense { dim: 0 },
            "feature set {:?} would have rows without values: its dim is 0",
            spec.name
        );
        Ok(Writer {
            database,
            spec: spec.clone(),
            set: spec.id(),
            unflushed: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        })
    }

    /// The id of the set.
    pub fn id(&self) -> Key {
        self.set
    }

    /// Whether this batch is finished, by this run or an earlier one, and need not be computed.
    pub fn has(&self, batch: Key) -> Result<bool> {
        let there = self.record(batch)?.is_some();
        self.kept.fetch_add(u64::from(there), Ordering::Relaxed);
        Ok(there)
    }

    /// How many batches were asked for ([`Writer::has`], [`Writer::rows`]) and found.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Keeps the rows of a batch; whole, or after a kill not at all. `batch` is the content hash of the batch's text
    /// keys. Rows that were there under the same key are replaced, and a finished set whose rows change is unfinished
    /// from then on.
    pub fn put(&self, batch: Key, rows: &Rows) -> Result<()> {
        let name = || format!("cannot keep batch {batch} of feature set {:?}", self.spec.name);
        rows.check().with_context(name)?;
        ensure!(
            rows.kind() == self.spec.kind,
            "cannot keep batch {batch} of feature set {:?}: its rows are {:?}, those of the set {:?}",
            self.spec.name,
            rows.kind(),
            self.spec.kind
        );
        let blocks = block::pack(rows).with_context(name)?;
        let old = self.record(batch)?;
        let record = BatchRecord {
            rows: rows.len() as u64,
            blocks: blocks.len() as u32,
            bytes: blocks.iter().map(|b| b.len() as u64).sum(),
            digest: Key::of_parts(blocks.iter().map(Vec::as_slice)),
        };
        let address = |number| Address::Block { set: self.set, batch, number }.bytes();
        let mut writes = Vec::with_capacity(blocks.len() + 1);
        for (number, content) in (0..).zip(blocks) {
            let key = address(number);
            let value = seal(&key, &content);
            writes.push((key, value));
        }
        let key = Address::Batch { set: self.set, batch }.bytes();
        let value = seal(&key, &serde_json::to_vec(&record)?);
        writes.push((key, value));
        let mut removals = Vec::new();
        if let Some(old) = old.filter(|old| *old != record) {
            removals.extend((record.blocks..old.blocks).map(address));
            removals.push(Address::Header { set: self.set }.bytes());
        }
        self.database.apply(writes, removals).with_context(name)?;
        if self.unflushed.fetch_add(record.bytes, Ordering::Relaxed) + record.bytes >= FLUSH_BYTES {
            self.unflushed.store(0, Ordering::Relaxed);
            self.database.flush()?;
        }
        Ok(())
    }

    /// The rows of a batch that was kept, by this run or an earlier one.
    pub fn rows(&self, batch: Key) -> Result<Option<Rows>> {
        let Some(record) = self.record(batch)? else { return Ok(None) };
        self.kept.fetch_add(1, Ordering::Relaxed);
        let entry = BatchEntry { key: batch, record };
        Ok(Some(read_rows(self.database, self.set, &self.spec, &entry)?))
    }

    /// Lets go of a batch that is no longer needed; rows that lead to other rows need not stay.
    pub fn discard(&self, batch: Key) -> Result<()> {
        let Some(record) = self.record(batch)? else { return Ok(()) };
        let blocks = (0..record.blocks).map(|number| Address::Block { set: self.set, batch, number }.bytes());
        // The record goes first: a kill on the way leaves blocks that nobody refers to.
        self.database.remove_all(vec![Address::Batch { set: self.set, batch }.bytes()])?;
        self.database.remove_all(blocks.collect())?;
        Ok(())
    }

    /// Puts on disk what was kept so far, so that a kill cannot take it.
    pub fn flush(&self) -> Result<()> {
        self.unflushed.store(0, Ordering::Relaxed);
        self.database.flush()
    }

    /// Finishes the set: `order` names the batches of the corpus in order (a batch may come more than once), `meta` is
    /// kept in the header. The header is written when all batches are on disk.
    pub fn finish(self, order: &[Key], meta: serde_json::Value) -> Result<Header> {
        let name = &self.spec.name;
        let mut batches = Vec::with_capacity(order.len());
        for &key in order {
            let record = self.record(key)?;
            let record = record.with_context(|| format!("feature set {name:?} lacks batch {key}: it was never put"))?;
            batches.push(BatchEntry { key, record });
        }
        let rows = batches.iter().map(|b| b.record.rows).sum();
        let header = Header { spec: self.spec.clone(), batches, rows, meta };
        self.database.flush()?;
        let key = Address::Header { set: self.set }.bytes();
        let value = seal(&key, &serde_json::to_vec(&header)?);
        self.database.apply(vec![(key, value)], Vec::new())?;
        self.database.flush()?;
        self.unflushed.store(0, Ordering::Relaxed);
        Ok(header)
    }

    fn record(&self, batch: Key) -> Result<Option<BatchRecord>> {
        let key = Address::Batch { set: self.set, batch }.bytes();
        self.database.get(&key)?.map(|value| read_record(&key, &value)).transpose()
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // An interrupted run keeps what it has finished. A failure here loses only work that can be done again, and
        // the error that ended the run is the one to show.
        if self.unflushed.load(Ordering::Relaxed) > 0 {
            let _ = self.database.flush();
        }
    }
}
