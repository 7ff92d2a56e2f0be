//! Reading a finished feature set, one batch in memory at a time.

use anyhow::{Context, Result, ensure};

use super::database::Database;
use super::layout::{Address, BatchEntry, Header, SetSpec, unseal};
use super::{Rows, WAY_OUT, block};
use crate::data::Key;

/// A finished feature set.
pub struct Set<'s> {
    database: &'s Database,
    header: Header,
}

impl<'s> Set<'s> {
    pub(super) fn new(database: &'s Database, header: Header) -> Set<'s> {
        Set { database, header }
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
        read_rows(self.database, self.header.id(), &self.header.spec, entry)
    }
}

/// The rows of one batch of a set.
pub(super) fn read_rows(database: &Database, set: Key, spec: &SetSpec, entry: &BatchEntry) -> Result<Rows> {
    let name = || format!("batch {} of feature set {:?} ({set})", entry.key, spec.name);
    let mut rows = Rows::empty(spec.kind);
    let contents = read_batch(database, set, entry, |number, content| {
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

/// Gives the blocks of a batch to `each` in order, every one checked; then checks the digest of all.
pub(super) fn read_batch(
    database: &Database,
    set: Key,
    entry: &BatchEntry,
    mut each: impl FnMut(u32, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut digest = blake3::Hasher::new();
    for number in 0..entry.record.blocks {
        let key = Address::Block { set, batch: entry.key, number }.bytes();
        let sealed = database.get(&key)?.with_context(|| format!("block {number} is missing"))?;
        let content = unseal(&key, &sealed).with_context(|| format!("block {number}"))?;
        digest.update(&(content.len() as u64).to_le_bytes());
        digest.update(content);
        each(number, content).with_context(|| format!("block {number}"))?;
    }
    let digest = digest.finalize();
    ensure!(digest.as_bytes()[..16] == entry.record.digest.0, "its rows are not those that the set was finished with");
    Ok(())
}
