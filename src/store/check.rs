//! Checking a whole store, and dropping what is damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use serde::Serialize;

use super::layout::{Address, BatchEntry};
use super::read::read_batch;
use super::{Store, block, read_header, read_record};
use crate::data::Key;
use crate::job::Ctx;

/// Something wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The set.
    pub set: Key,
    /// The batch, unless the header itself is damaged.
    pub batch: Option<Key>,
    /// What is wrong, block number included.
    pub what: String,
    /// Whether rows of a finished set are lost. Otherwise it only costs space.
    pub harmful: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feature set {}", self.set)?;
        if let Some(batch) = self.batch {
            write!(f, ", batch {batch}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Store {
    /// Reads everything and tells what is wrong. Batches of unfinished sets are checked as well, and are no problem by
    /// themselves; blocks that no batch owns are. Advances by one for each batch.
    pub fn verify(&self, ctx: &Ctx) -> Result<Vec<Problem>> {
        Ok(self.examine(ctx)?.problems)
    }

    /// Drops what [`Store::verify`] finds, and gives the list. A set that lost a batch is unfinished from then on; the
    /// next run computes that batch alone.
    pub fn repair(&self, ctx: &Ctx) -> Result<Vec<Problem>> {
        let found = self.examine(ctx)?;
        self.database.remove_all(found.doomed.into_iter().collect())?;
        self.database.flush()?;
        Ok(found.problems)
    }

    fn examine(&self, ctx: &Ctx) -> Result<Findings> {
        let mut found = Findings::default();
        let mut batches: BTreeMap<(Key, Key), BatchEntry> = BTreeMap::new();
        for entry in self.database.scan(b"b") {
            let (key, value) = entry?;
            match (Address::parse(&key), read_record(&key, &value)) {
                (Some(Address::Batch { set, batch }), Ok(record)) => {
                    batches.insert((set, batch), BatchEntry { key: batch, record });
                }
                (Some(Address::Batch { set, batch }), Err(error)) => {
                    found.add(
                        set,
                        Some(batch),
                        format!("its record {}", error.root_cause()),
                        false,
                        vec![key.to_vec()],
                    );
                }
                _ => {
                    found.doomed.insert(key.to_vec());
                }
            }
        }
        for (&(set, batch), entry) in &batches {
            let read = read_batch(&self.database, set, entry, |_, content| block::unpack(content).map(drop));
            if let Err(error) = read {
                let record = Address::Batch { set, batch }.bytes();
                found.add(set, Some(batch), format!("{error:#}"), false, vec![record]);
                found.damaged.insert((set, batch));
            }
            ctx.advance(1)?;
        }
        self.examine_headers(&mut found, &batches)?;
        self.examine_blocks(ctx, &mut found, &batches)?;
        Ok(found)
    }

    fn examine_headers(&self, found: &mut Findings, batches: &BTreeMap<(Key, Key), BatchEntry>) -> Result<()> {
        for entry in self.database.scan(b"h") {
            let (key, value) = entry?;
            let Some(Address::Header { set }) = Address::parse(&key) else {
                found.doomed.insert(key.to_vec());
                continue;
            };
            let header = match read_header(&key, &value) {
                Ok(header) => header,
                Err(error) => {
                    found.add(set, None, format!("its header {}", error.root_cause()), true, vec![key.to_vec()]);
                    continue;
                }
            };
            for entry in &header.batches {
                let kept = batches.get(&(set, entry.key)).filter(|_| !found.damaged.contains(&(set, entry.key)));
                let what = match kept {
                    Some(kept) if kept.record == entry.record => continue,
                    Some(_) => "the rows kept are not those that the set was finished with",
                    None => "a batch of the finished set is missing or damaged",
                };
                found.add(set, Some(entry.key), what.to_owned(), true, vec![key.to_vec()]);
            }
        }
        Ok(())
    }

    fn examine_blocks(
        &self,
        ctx: &Ctx,
        found: &mut Findings,
        batches: &BTreeMap<(Key, Key), BatchEntry>,
    ) -> Result<()> {
        let mut orphans: BTreeMap<(Key, Key), Vec<Vec<u8>>> = BTreeMap::new();
        for key in self.database.scan_keys(b"r") {
            let key = key?;
            ctx.check()?;
            let Some(Address::Block { set, batch, number }) = Address::parse(&key) else {
                found.doomed.insert(key);
                continue;
            };
            let owner = batches.get(&(set, batch)).filter(|_| !found.damaged.contains(&(set, batch)));
            if owner.is_none_or(|entry| number >= entry.record.blocks) {
                orphans.entry((set, batch)).or_default().push(key);
            }
        }
        for ((set, batch), keys) in orphans {
            let what = format!("{} blocks without a sound batch", keys.len());
            found.add(set, Some(batch), what, false, keys);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    damaged: BTreeSet<(Key, Key)>,
    /// Keys that a repair removes.
    doomed: BTreeSet<Vec<u8>>,
}

impl Findings {
    fn add(&mut self, set: Key, batch: Option<Key>, what: String, harmful: bool, doomed: Vec<Vec<u8>>) {
        self.problems.push(Problem { set, batch, what, harmful });
        self.doomed.extend(doomed);
    }
}
