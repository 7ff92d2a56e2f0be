//! Writing a feature set: batches in any order and from any thread, then the header.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use super::block;
use super::files::RowFile;
use super::folder::{RowFolder, TakenUp};
use super::layout::{BatchEntry, BatchRecord, Header, SetSpec, batch_key, seal};
use super::read::read_rows;
use super::{RowKind, Rows, Store, read_record};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

/// Time that a batch may wait for the disk, which a loss of power can cost. A kill of the process costs nothing.
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
    /// Batches with the digests of their rows whose files are as they were written: those of the finished set, those that this writer
    /// wrote, and those that it read.
    sound: FxHashSet<(Key, Key)>,
}

impl<'s> Writer<'s> {
    pub(super) fn new(store: &'s Store, spec: &SetSpec) -> Result<Writer<'s>> {
        ensure!(
            spec.kind != RowKind::Dense { dim: 0 },
            "特征集 {:?} 的行没有值：它的 dim 为 0",
            "feature set {:?} would have rows without values: its dim is 0",
            spec.name
        );
        let set = spec.id();
        let waiting = Mutex::new(Waiting { files: Vec::new(), since: Instant::now(), sound: FxHashSet::default() });
        let writer = Writer { store, waiting, spec: spec.clone(), set, kept: AtomicU64::new(0) };
        // All rows of a finished set are on the disk.
        let batches = writer.finished().into_iter().flat_map(|header| header.batches);
        writer.waiting().sound.extend(batches.map(|batch| (batch.key, batch.record.digest)));
        writer.take_up()?;
        Ok(writer)
    }

    /// Writes the records of batches whose files are there without a record, as a kill leaves them.
    fn take_up(&self) -> Result<()> {
        for found in self.store.reader.files.list_set(self.set)? {
            if self.noted(found.batch)?.is_none()
                && let Ok(record) = self.store.reader.files.examine(&found)
                && let Ok(file) = File::open(&found.path)
            {
                self.keep(found.batch, &record, file, || self.note(found.batch, &record))?;
            }
        }
        Ok(())
    }

    /// Takes batches from a folder that other processes fill, where they are not there yet; `wanted` has the number of rows of each batch.
    /// A file that is damaged, or not of this set, is named and passed over. Of several sound files of a batch the one with the smallest digest is
    /// taken.
    pub fn take_from(&self, folder: &RowFolder, wanted: &[(Key, u64)], ctx: &Ctx) -> Result<TakenUp> {
        let mut files: FxHashMap<Key, Vec<RowFile>> = FxHashMap::default();
        for found in folder.files.list_set(self.set)? {
            files.entry(found.batch).or_default().push(found);
        }
        let mut taken = TakenUp::default();
        for &(batch, rows) in wanted {
            ctx.check()?;
            let Some(found) = files.remove(&batch) else { continue };
            if self.record(batch)?.is_some() {
                continue;
            }
            for found in found {
                match self.store.reader.files.copy_in(&found, self.spec.kind, rows)? {
                    Ok((record, file)) => {
                        self.keep(batch, &record, file, || self.note(batch, &record))?;
                        taken.batches += 1;
                        break;
                    }
                    Err(error) => taken.refused.push((found.path, format!("{error:#}"))),
                }
            }
        }
        Ok(taken)
    }

    pub fn id(&self) -> Key {
        self.set
    }

    /// The header of an earlier run that finished the set.
    pub fn finished(&self) -> Option<Header> {
        // A header that is damaged tells nothing.
        self.store.reader.headers.read(self.set).ok().flatten()
    }

    /// True if this batch is finished, by this run or an earlier one, and need not be computed.
    pub fn has(&self, batch: Key) -> Result<bool> {
        let there = self.record(batch)?.is_some();
        self.kept.fetch_add(u64::from(there), Ordering::Relaxed);
        Ok(there)
    }

    /// Number of batches that [`Writer::has`] and [`Writer::rows`] were asked for and found.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Keeps the rows of a batch; whole, or after a kill not at all. `batch` is the content hash of the batch's text
    /// keys. Rows that were there under the same key are replaced, and a finished set whose rows change is unfinished
    /// from then on.
    pub fn put(&self, batch: Key, rows: &Rows) -> Result<()> {
        let name = || {
            message!(
                "无法保留特征集 {:?} 的第 {batch} 批",
                "cannot keep batch {batch} of feature set {:?}",
                self.spec.name
            )
        };
        rows.check().with_context(name)?;
        ensure!(
            rows.kind() == self.spec.kind,
            "无法保留特征集 {:?} 的第 {batch} 批：它的行为 {:?}，而特征集的为 {:?}",
            "cannot keep batch {batch} of feature set {:?}: its rows are {:?}, those of the set {:?}",
            self.spec.name,
            rows.kind(),
            self.spec.kind
        );
        let blocks = block::pack(rows).with_context(name)?;
        let old = self.record(batch)?;
        let record = BatchRecord::new(rows, &blocks);
        // The rows are written before the record that names them, and removed only after that record.
        let file = self.store.reader.files.write(self.set, batch, &blocks, record.digest).with_context(name)?;
        let replaced = old.filter(|old| old.digest != record.digest);
        self.keep(batch, &record, file, || {
            if replaced.is_some() {
                // A set whose rows are replaced is unfinished from then on.
                self.store.reader.headers.remove(self.set)?;
            }
            self.note(batch, &record)
        })
        .with_context(name)?;
        let Some(old) = replaced else { return Ok(()) };
        self.flush()?;
        self.store.reader.files.remove(self.set, batch, old.digest)
    }

    /// Lets the file of a batch wait for the disk, and notes the batch. No flush may come in between: the note would be on the disk before
    /// the rows.
    fn keep(&self, batch: Key, record: &BatchRecord, file: File, note: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut waiting = self.waiting();
        if waiting.files.is_empty() {
            waiting.since = Instant::now();
        }
        waiting.files.push(file);
        waiting.sound.insert((batch, record.digest));
        note()?;
        let full = waiting.files.len() >= FILES || waiting.since.elapsed() >= WAIT;
        drop(waiting);
        if full { self.flush() } else { Ok(()) }
    }

    /// Writes the record of a batch to the database.
    fn note(&self, batch: Key, record: &BatchRecord) -> Result<()> {
        let key = batch_key(self.set, batch);
        let value = seal(&key, &serde_json::to_vec(record)?);
        self.store.database.apply(vec![(key, value)], Vec::new())
    }

    /// The rows of a batch that was kept, by this run or an earlier one.
    pub fn rows(&self, batch: Key) -> Result<Option<Rows>> {
        let Some(record) = self.record(batch)? else { return Ok(None) };
        self.kept.fetch_add(1, Ordering::Relaxed);
        let entry = BatchEntry { key: batch, record };
        Ok(Some(read_rows(&self.store.reader.files, self.set, &self.spec, &entry)?))
    }

    /// Removes a batch that is no longer needed, such as intermediate rows.
    pub fn discard(&self, batch: Key) -> Result<()> {
        let Some(record) = self.record(batch)? else { return Ok(()) };
        self.store.database.remove_all(vec![batch_key(self.set, batch)])?;
        self.store.reader.files.remove(self.set, batch, record.digest)
    }

    /// Brings all batches so far to the disk, so that no loss of power can take them.
    pub fn flush(&self) -> Result<()> {
        // Most of it while others go on; then what came meanwhile, together with the notes of it.
        let files = std::mem::take(&mut self.waiting().files);
        self.sync(files)?;
        let mut waiting = self.waiting();
        let files = std::mem::take(&mut waiting.files);
        self.sync(files)?;
        self.store.database.flush()
    }

    fn sync(&self, files: Vec<File>) -> Result<()> {
        if files.is_empty() { Ok(()) } else { self.store.reader.files.sync(self.set, &files) }
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
            let record = record.with_context(|| {
                message!(
                    "特征集 {name:?} 缺少第 {key} 批：它未曾写入",
                    "feature set {name:?} lacks batch {key}: it was never put"
                )
            })?;
            batches.push(BatchEntry { key, record });
        }
        let rows = batches.iter().map(|b| b.record.rows).sum();
        let header = Header { spec: self.spec.clone(), batches, rows, meta };
        self.flush()?;
        self.store.reader.headers.write(&header)?;
        Ok(header)
    }

    /// The record of a batch, if the file of its rows is as it was written: after a loss of power the one can be there without the other.
    pub(super) fn record(&self, batch: Key) -> Result<Option<BatchRecord>> {
        let Some(record) = self.noted(batch)? else { return Ok(None) };
        if self.waiting().sound.contains(&(batch, record.digest)) {
            return Ok(Some(record));
        }
        let Some(file) = self.store.reader.files.sound(self.set, batch, &record) else { return Ok(None) };
        // Data of a stopped writer may not be on the disk yet.
        self.keep(batch, &record, file, || Ok(()))?;
        Ok(Some(record))
    }

    /// The record of a batch whose file is there with the right length.
    fn noted(&self, batch: Key) -> Result<Option<BatchRecord>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{dense_rows, key, read_all, spec};

    #[test]
    fn a_note_of_a_batch_counts_only_with_the_rows_that_it_is_of() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let spec = spec("sum", RowKind::Dense { dim: 8 });
        let batches: Vec<Key> = (0..3).map(|b| key("batch", b)).collect();
        let rows = |b: usize| dense_rows(b, 50, 8);
        let writer = store.writer(&spec).unwrap();
        (0..3).for_each(|b| writer.put(batches[b], &rows(b)).unwrap());
        drop(writer);
        // A loss of power leaves the note and a file of the right length, without its content.
        let files = store.files.list_set(spec.id()).unwrap();
        let lost = files.iter().find(|found| found.batch == batches[1]).unwrap();
        let mut bytes = std::fs::read(&lost.path).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(0);
        std::fs::write(&lost.path, bytes).unwrap();
        let writer = store.writer(&spec).unwrap();
        assert_eq!([0, 1, 2].map(|b| writer.has(batches[b]).unwrap()), [true, false, true]);
        assert!(writer.rows(batches[1]).unwrap().is_none());
        // Data of an earlier writer may not be on the disk yet; it is flushed before the set counts as finished.
        assert_eq!(writer.waiting().files.len(), 2);
        writer.put(batches[1], &rows(1)).unwrap();
        writer.finish(&batches, serde_json::Value::Null).unwrap();
        assert!(read_all(&store, &spec.id()).into_iter().eq((0..3).map(rows)));
        // The rows of a finished set are on the disk, and none is read again.
        let writer = store.writer(&spec).unwrap();
        assert!(batches.iter().all(|batch| writer.has(*batch).unwrap()) && writer.waiting().files.is_empty());
    }
}
