//! The trait of a model that computes the row of any text. A row is explained by the rows of parts of its text.

use anyhow::{Context, Result};

use super::entry::RowModel;
use super::reading::{CorpusReader, ReadDocument};
use super::{Feature, Inputs};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::message;

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

/// The row that the model of a feature gives a text that is no document of the corpus. A model without a file is fitted once more.
pub fn vector_of_text(feature: &Feature, inputs: &Inputs<'_>, text: &str, ctx: &Ctx) -> Result<Vec<f32>> {
    let no_model = || {
        message!(
            "特征 {:?} 的模型不能给出一段文本的向量",
            "the model of feature {:?} gives no vector of a text by itself",
            feature.name
        )
    };
    let (mut model, reader) = match feature.model.entry().opened {
        RowModel::Files(open) => {
            let (model, segmenter) = open(feature, inputs, ctx)?;
            (model, CorpusReader::with_segmenter(feature, inputs, segmenter, ctx)?)
        }
        RowModel::Refit(fit) => {
            let reader = CorpusReader::new(feature, inputs, ctx)?;
            (fit(&reader, (0, 0))?.with_context(no_model)?, reader)
        }
        RowModel::None => return Err(anyhow::Error::msg(no_model())),
    };
    let document = ReadDocument {
        key: Key::of(text.as_bytes()),
        // Behind an empty title.
        text: Some(format!("\n{text}")),
        ..ReadDocument::default()
    };
    model.document_rows(&[document], &reader)
}
