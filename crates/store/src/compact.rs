//! Giving back the space of what was overwritten, removed or never finished.

use anyhow::Result;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Store;
use super::layout::{Header, batch_key, seal};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compaction {
    pub before: u64,
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
        let mut report = Compaction { before: self.file_bytes(), ..Compaction::default() };
        let files = self.files.list()?;
        let mut wanted = FxHashSet::default();
        let (reader, kept) = (&self.reader, &mut report);
        let (database, ()) = self.generations.replace(|new| {
            for header in reader.sets()? {
                let set = header.id();
                ctx.check()?;
                if !keep(&header) {
                    kept.dropped.push((header.spec.name, set));
                    continue;
                }
                for batch in &header.batches {
                    if wanted.insert((set, batch.key, batch.record.digest)) {
                        let key = batch_key(set, batch.key);
                        let value = seal(&key, &serde_json::to_vec(&batch.record)?);
                        new.apply(vec![(key, value)], Vec::new())?;
                    }
                }
                kept.kept.push((header.spec.name, set));
            }
            Ok(())
        })?;
        self.database = database;
        report.dropped.iter().try_for_each(|(_, set)| self.reader.headers.remove(*set).map(drop))?;
        for file in files.iter().filter(|f| !wanted.contains(&(f.set, f.batch, f.digest))) {
            inkstone_base::disk::remove_if_there(&file.path)?;
            ctx.advance(1)?;
        }
        self.files.tidy();
        report.after = self.file_bytes();
        Ok(report)
    }
}
