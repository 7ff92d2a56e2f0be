//! Writing a feature set: batches in any order and from any thread, then the header.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::block;
use super::layout::{BatchEntry, BatchRecord, Header, SetSpec, batch_key, seal};
use super::read::read_rows;
use super::{RowKind, Rows, Store, read_record};
use crate::data::Key;

/// How long what is kept may wait for the disk: what a loss of power can cost. A kill of the process costs nothing.
const WAIT: Duration = Duration::from_secs(1);

/// Files that may wait for the disk; each is open meanwhile.
const FILES: usize = 64;

/// A writer of one feature set. Threads may share it.
pub struct Writer<'s> {
    store: &'s Store,
    waiting: Mutex<Waiting>,
    spec: SetSpec,
    set: Key,
    kept: AtomicU64,
}

/// Files of rows that are not on the disk yet, and since when the first of them is not.
struct Waiting {
    files: Vec<File>,
    since: Instant,
}

impl<'s> Writer<'s> {
    pub(super) fn new(store: &'s Store, spec: &SetSpec) -> Result<Writer<'s>> {
        ensure!(
            spec.kind != RowKind::Dense { dim: 0 },
            "feature set {:?} would have rows without values: its dim is 0",
            spec.name
        );
        let waiting = Mutex::new(Waiting { files: Vec::new(), since: Instant::now() });
        let writer = Writer { store, waiting, spec: spec.clone(), set: spec.id(), kept: AtomicU64::new(0) };
        writer.take_up()?;
        Ok(writer)
    }

    /// Takes up the batches whose files are there without the database knowing of them, as a kill leaves them.
    fn take_up(&self) -> Result<()> {
        for found in self.store.reader.files.list_set(self.set)? {
            if self.record(found.batch)?.is_none()
                && let Ok(record) = self.store.reader.files.examine(&found)
            {
                self.note(found.batch, &record, None)?;
            }
        }
        Ok(())
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
        let record = BatchRecord::of(rows, &blocks);
        // The rows are there before anything says so, and are not taken away while anything says it.
        let file = self.store.reader.files.write(self.set, batch, &blocks, record.digest).with_context(name)?;
        let replaced = old.filter(|old| old.digest != record.digest);
        self.note(batch, &record, replaced).with_context(name)?;
        let mut waiting = self.waiting();
        if waiting.files.is_empty() {
            waiting.since = Instant::now();
        }
        waiting.files.push(file);
        let full = waiting.files.len() >= FILES || waiting.since.elapsed() >= WAIT || replaced.is_some();
        drop(waiting);
        if full {
            self.flush()?;
        }
        replaced.map_or(Ok(()), |old| self.store.reader.files.remove(self.set, batch, old.digest))
    }

    /// Says in the database what the file of a batch has; a set whose rows are replaced is unfinished from then on.
    fn note(&self, batch: Key, record: &BatchRecord, replaced: Option<BatchRecord>) -> Result<()> {
        let key = batch_key(self.set, batch);
        let value = seal(&key, &serde_json::to_vec(record)?);
        if replaced.is_some() {
            self.store.reader.headers.remove(self.set)?;
        }
        self.store.database.apply(vec![(key, value)], Vec::new())
    }

    /// The rows of a batch that was kept, by this run or an earlier one.
    pub fn rows(&self, batch: Key) -> Result<Option<Rows>> {
        let Some(record) = self.record(batch)? else { return Ok(None) };
        self.kept.fetch_add(1, Ordering::Relaxed);
        let entry = BatchEntry { key: batch, record };
        Ok(Some(read_rows(&self.store.reader.files, self.set, &self.spec, &entry)?))
    }

    /// Lets go of a batch that is no longer needed; rows that lead to other rows need not stay.
    pub fn discard(&self, batch: Key) -> Result<()> {
        let Some(record) = self.record(batch)? else { return Ok(()) };
        self.store.database.remove_all(vec![batch_key(self.set, batch)])?;
        self.store.reader.files.remove(self.set, batch, record.digest)
    }

    /// Puts on disk what was kept so far, so that no loss of power can take it.
    pub fn flush(&self) -> Result<()> {
        let files = std::mem::take(&mut self.waiting().files);
        if !files.is_empty() {
            self.store.reader.files.sync(self.set, &files)?;
        }
        self.store.database.flush()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.flush()?;
        self.store.reader.headers.write(&header)?;
        Ok(header)
    }

    /// What is kept of a batch. A record whose file is gone or cut short counts for nothing.
    pub(super) fn record(&self, batch: Key) -> Result<Option<BatchRecord>> {
        let key = batch_key(self.set, batch);
        let record = self.store.database.get(&key)?.map(|value| read_record(&key, &value)).transpose()?;
        Ok(record.filter(|record| self.store.reader.files.has(self.set, batch, record)))
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // An interrupted run keeps what it has finished. A failure here loses only work that can be done again, and
        // the error that ended the run is the one to show.
        if !self.waiting().files.is_empty() {
            let _ = self.flush();
        }
    }
}
