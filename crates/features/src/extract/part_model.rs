//! Models whose rows of a part of the corpus depend on that part alone, so that any process can compute any part.

use anyhow::Result;
use serde_json::Value;

use super::reading::{CorpusReader, ReadDocument};
use super::set::{SetMeta, finish, write_parts};
use super::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_store::{Rows, SetSpec, Store};

/// Opens the model of a feature.
pub(crate) type OpenPartModel = for<'a> fn(&'a Feature, &'a Inputs<'a>, &'a Ctx) -> Result<PartModel<'a>>;

/// A model that is ready for the parts of a corpus.
pub(crate) struct PartModel<'a> {
    pub(crate) reader: CorpusReader<'a>,
    /// The set that the rows belong to.
    pub(crate) spec: SetSpec,
    /// The metadata of the set.
    pub(crate) meta: SetMeta,
    /// Facts for the report on the feature.
    pub(crate) facts: Vec<(&'static str, Value)>,
    /// Tokens that the model reads of a document at most; none without a limit.
    pub(crate) limit: Option<usize>,
    pub(crate) rows: Box<dyn RowsOfPart + 'a>,
}

/// Gives the documents of a part their rows.
pub(crate) trait RowsOfPart {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows>;
}

impl PartModel<'_> {
    /// The rows of some documents of a part.
    pub(crate) fn rows(&mut self, documents: &[ReadDocument]) -> Result<Rows> {
        self.rows.rows(documents, &self.reader)
    }

    /// Computes the rows of the whole corpus.
    pub(crate) fn run(self, store: &Store) -> Result<(Key, Report)> {
        let PartModel { reader, spec, meta, facts, mut rows, .. } = self;
        let mut report = Report::new(&reader.feature.name);
        let writer = store.writer(&spec)?;
        let written = write_parts(&reader, &writer, false, &mut report, |_, documents| rows.rows(documents, &reader))?;
        facts.into_iter().for_each(|(name, fact)| report.fact(name, fact));
        report.fact("kept_from_before", written.kept);
        let meta = SetMeta { sources: written.sources, ..meta };
        finish(writer, &written.order, &meta, report)
    }
}
