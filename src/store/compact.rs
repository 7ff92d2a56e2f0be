//! Giving back the space of what was overwritten, removed or never finished.

use anyhow::Result;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::layout::{Address, Header, seal};
use super::{Store, read_header};
use crate::data::Key;
use crate::job::Ctx;

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
    /// Keeps the finished sets that `keep` wants and drops everything else, unfinished sets and files that nobody refers to included: what
    /// is kept goes into a fresh database, then the files of the rest are removed. On an error the store stays as it was, after a kill it
    /// is the old or the new one. Rows are not moved, so it needs hardly any space. Advances by one for each file.
    pub fn compact(&mut self, keep: impl Fn(&Header) -> bool, ctx: &Ctx) -> Result<Compaction> {
        let mut report = Compaction { before: self.file_bytes()?, ..Compaction::default() };
        let files = self.files.list()?;
        let mut wanted = FxHashSet::default();
        let (old, kept) = (&self.database, &mut report);
        let (database, ()) = self.generations.replace(|new| {
            for entry in old.scan(b"h") {
                let (key, value) = entry?;
                let header = read_header(&key, &value)?;
                let set = header.id();
                ctx.check()?;
                if !keep(&header) {
                    kept.dropped.push((header.spec.name, set));
                    continue;
                }
                for batch in &header.batches {
                    if wanted.insert((set, batch.key, batch.record.digest)) {
                        let key = Address::Batch { set, batch: batch.key }.bytes();
                        let value = seal(&key, &serde_json::to_vec(&batch.record)?);
                        new.apply(vec![(key, value)], Vec::new())?;
                    }
                }
                new.apply(vec![(key.to_vec(), value.to_vec())], Vec::new())?;
                kept.kept.push((header.spec.name, set));
            }
            Ok(())
        })?;
        self.database = database;
        for file in files.iter().filter(|f| !wanted.contains(&(f.set, f.batch, f.digest))) {
            crate::disk::remove_if_there(&file.path)?;
            ctx.advance(1)?;
        }
        self.files.tidy();
        report.after = self.file_bytes()?;
        Ok(report)
    }
}
