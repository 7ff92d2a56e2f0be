//! Reading a finished feature set, one batch in memory at a time.

use anyhow::{Context, Result, ensure};

use super::layout::{BatchEntry, Header, SetSpec};
use super::{Rows, Store, WAY_OUT, block};
use crate::data::Key;

/// A finished feature set.
pub struct Set<'s> {
    store: &'s Store,
    header: Header,
}

impl<'s> Set<'s> {
    pub(super) fn new(store: &'s Store, header: Header) -> Set<'s> {
        Set { store, header }
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The batches in the order of the corpus, each read when it is asked for.
    pub fn batches(&self) -> impl Iterator<Item = Result<Rows>> + '_ {
        self.header.batches.iter().map(|entry| self.read(entry))
    }

    /// One batch; `None` when the set has none of this key.
    pub fn batch(&self, key: &Key) -> Result<Option<Rows>> {
        let entry = self.header.batches.iter().find(|b| b.key == *key);
        entry.map(|entry| self.read(entry)).transpose()
    }

    fn read(&self, entry: &BatchEntry) -> Result<Rows> {
        read_rows(self.store, self.header.id(), &self.header.spec, entry)
    }
}

/// The rows of one batch of a set.
pub(super) fn read_rows(store: &Store, set: Key, spec: &SetSpec, entry: &BatchEntry) -> Result<Rows> {
    let name = || format!("batch {} of feature set {:?} ({set})", entry.key, spec.name);
    let mut rows = Rows::empty(spec.kind);
    let contents = store.files.read(set, entry, |number, content| {
        let (first, more) = block::unpack(content)?;
        ensure!(first == rows.len(), "block {number} begins with row {first}, not {}", rows.len());
        rows.append(more)
    });
    contents.with_context(|| format!("{} {WAY_OUT}", name()))?;
    ensure!(
        rows.len() as u64 == entry.record.rows,
        "{} {WAY_OUT}: it has {} rows and not {}",
        name(),
        rows.len(),
        entry.record.rows
    );
    Ok(rows)
}
