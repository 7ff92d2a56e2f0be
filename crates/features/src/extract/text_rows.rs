//! The trait of a model that computes the row of any text. A row is explained by the rows of parts of its text.

use anyhow::Result;

use super::Feature;
use super::reading::{CorpusReader, ReadDocument};

/// Stands for a word that is not in the text, among the parts of a row.
pub(crate) const NOWHERE: &str = "";

/// A model that gives texts the rows of a feature.
pub(crate) trait TextRows {
    /// The names of the columns.
    fn column_names(&self, feature: &Feature) -> Vec<String> {
        feature.columns()
    }

    /// The rows of documents `[documents, columns]`.
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>>;

    /// The part of each different word, or of each token in the order of the text, in the document's row, [`NOWHERE`] for what no word
    /// gives; none where the row is no sum over words.
    fn document_parts(&self, _document: &ReadDocument, _reader: &CorpusReader<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        None
    }
}
