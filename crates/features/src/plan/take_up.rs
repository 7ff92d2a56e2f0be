//! A run of the project takes up the rows that workers left.

use anyhow::Result;

use super::Plan;
use crate::extract::set::{SetMeta, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_store::{RowFolder, Store};

/// Files that a report names.
const NAMED: usize = 10;

impl Plan {
    /// The folder in which workers left results of fits; none for a plan of parts, whose rows [`Plan::take_up`] takes.
    pub fn folder_of_fits(&self) -> Option<RowFolder> {
        self.fits.as_ref().map(|_| RowFolder::new(&self.rows))
    }

    /// Takes the rows of workers into the store. If no part is missing then, this finishes the set without opening the model and gives its id.
    pub fn take_up(&self, store: &Store, ctx: &Ctx) -> Result<(Option<Key>, Report)> {
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
        (report.rows_in, report.rows_out) = (documents, documents);
        let sources = self.parts.iter().filter_map(|part| Some((part.source?, part.key))).collect();
        let meta = SetMeta { sources, ..self.meta.clone() };
        let (set, report) = finish(writer, &order, &meta, report)?;
        Ok((Some(set), report))
    }
}
