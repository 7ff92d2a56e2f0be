//! Models whose rows of a part of the corpus depend on that part alone, so that any process can compute any part.

use anyhow::Result;
use serde_json::Value;

use super::reading::{CorpusReader, ReadDocument};
use super::set::SetMeta;
use super::{Feature, Inputs};
use inkstone_base::job::Ctx;
use inkstone_store::{Rows, SetSpec};

/// Opens the model of a feature.
pub(crate) type OpenPartModel = for<'a> fn(&'a Feature, &'a Inputs<'a>, &'a Ctx) -> Result<PartModel<'a>>;

/// A model that is ready for the parts of a corpus.
pub(crate) struct PartModel<'a> {
    pub(crate) reader: CorpusReader<'a>,
    /// The set that the rows belong to.
    pub(crate) spec: SetSpec,
    /// What the header of the set notes beside the rows.
    pub(crate) meta: SetMeta,
    /// Facts for the report on the feature.
    pub(crate) facts: Vec<(&'static str, Value)>,
    pub(crate) rows: Box<dyn RowsOfPart + 'a>,
}

/// Gives the documents of a part their rows.
pub(crate) trait RowsOfPart {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows>;

    /// Characters of a document that the model reads at most, as far as its cost goes; none without a limit.
    fn limit(&self) -> Option<usize> {
        None
    }
}

impl PartModel<'_> {
    /// The rows of some documents of a part.
    pub(crate) fn rows(&mut self, documents: &[ReadDocument]) -> Result<Rows> {
        self.rows.rows(documents, &self.reader)
    }
}
