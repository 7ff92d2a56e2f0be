//! A run of the project takes up the rows that workers left.

use anyhow::Result;

use super::Plan;
use crate::extract::set::finish;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_store::{RowFolder, Store};

/// Files that a report names.
const NAMED: usize = 10;

impl Plan {
    /// Takes the rows of workers into the store. If no part is missing then, the set is finished, without opening the model; if parts are
    /// missing, it gives none, and the feature computes them.
    pub fn take_up(&self, store: &Store, ctx: &Ctx) -> Result<(Option<(Key, Report)>, Report)> {
        let writer = store.writer(&self.spec)?;
        let wanted: Vec<(Key, u64)> = self.parts.iter().map(|part| (part.key, part.documents)).collect();
        let taken = writer.take_from(&RowFolder::new(&self.rows), &wanted, ctx)?;
        let mut report = Report::new(&self.feature.name);
        report.fact("taken_parts", taken.batches);
        if !taken.refused.is_empty() {
            let named = taken.refused.iter().take(NAMED).map(|(path, reason)| format!("{}: {reason}", path.display()));
            report.fact("refused_files", taken.refused.len());
            report.fact("refused", named.collect::<Vec<_>>());
        }
        let order: Vec<Key> = self.parts.iter().map(|part| part.key).collect();
        for &key in &order {
            if !writer.has(key)? {
                return Ok((None, report));
            }
        }
        let documents = self.parts.iter().map(|part| part.documents).sum();
        ctx.advance(documents)?;
        let mut whole = report.clone();
        (whole.rows_in, whole.rows_out) = (documents, documents);
        Ok((Some(finish(writer, &order, &self.meta, whole)?), report))
    }
}
