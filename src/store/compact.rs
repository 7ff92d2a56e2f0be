//! Giving back the space of what was overwritten, removed or never finished.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Serialize;

use super::layout::{Address, Header, unseal};
use super::{Store, WAY_OUT, read_header};
use crate::data::Key;
use crate::job::Ctx;

/// Bytes copied between two flushes.
const FLUSH_BYTES: usize = 64 << 20;

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compaction {
    /// Bytes of the files before.
    pub before: u64,
    /// Bytes of the files after.
    pub after: u64,
    /// Names and ids of the finished sets that were kept.
    pub kept: Vec<(String, Key)>,
    /// Names and ids of the finished sets that were not wanted.
    pub dropped: Vec<(String, Key)>,
}

impl Store {
    /// Copies the finished sets that `keep` wants into fresh files and swaps those in; everything else is dropped,
    /// unfinished sets and blocks without an owner included. On an error or a kill the store stays as it was. Needs as
    /// much free space as the live data. Advances by one for each batch.
    pub fn compact(&mut self, keep: impl Fn(&Header) -> bool, ctx: &Ctx) -> Result<Compaction> {
        let mut report = Compaction { before: self.database.file_bytes()?, ..Compaction::default() };
        self.database.rewrite(|old, new| {
            for entry in old.scan(b"h") {
                let (key, value) = entry?;
                let header = read_header(&key, &value)?;
                let set = header.id();
                if !keep(&header) {
                    report.dropped.push((header.spec.name, set));
                    continue;
                }
                let batches: BTreeSet<Key> = header.batches.iter().map(|b| b.key).collect();
                let mut copied = 0;
                for batch in batches {
                    let record = Address::Batch { set, batch }.bytes();
                    let blocks = [[b"r".as_slice(), &record[1..]].concat(), record];
                    for prefix in &blocks {
                        for entry in old.scan(prefix) {
                            let (key, value) = entry?;
                            // Damage is told here, not carried into the files that replace the others.
                            unseal(&key, &value).with_context(|| {
                                format!("cannot compact: batch {batch} of feature set {set} {WAY_OUT}")
                            })?;
                            new.insert(&key, &value)?;
                            copied += value.len();
                        }
                    }
                    if copied >= FLUSH_BYTES {
                        new.flush()?;
                        copied = 0;
                    }
                    ctx.advance(1)?;
                }
                new.insert(&key, &value)?;
                report.kept.push((header.spec.name, set));
            }
            Ok(())
        })?;
        report.after = self.database.file_bytes()?;
        Ok(report)
    }
}
