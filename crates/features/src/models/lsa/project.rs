//! LSA rows for the whole corpus in three passes, without holding it in memory: count terms, decompose the weighed rows, project.
//!
//! Terms, weights and dimensions all come from the documents until `fit_until`; later documents are projected on what was
//! known then.

use anyhow::Result;
use rayon::prelude::*;

use crate::extract::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish, row_keys, write_parts};
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs};
use crate::models::tfidf::project::{counts_in, fit};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Lsa, Row, RowsWriter, Vectorizer};
use inkstone_store::{RowKind, Rows, Store};

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::Components(|feature| feature.lsa.dim),
    explained_by: Explainer::Rows,
    opened: RowModel::Refit(|reader, _| Ok(Some(Box::new(open(reader)?)))),
    settings: &["tfidf", "fit_until", "lsa"],
    ..ModelEntry::of_texts(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    feature.tfidf.check()?;
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let FittedLsa { model, analyzer } = open(&reader)?;
    let params = SetParams::of_corpus(&reader).with("seed", ctx.seed());
    let writer = store.writer(&params.spec(feature, RowKind::Dense { dim: model.dim() }, model.fitted_until()))?;
    let rows = |documents: &[_]| Ok(project(documents, &model, &analyzer, ctx));
    let order = write_parts(&reader, &writer, true, &mut report, rows)?.order;
    report.fact("vocabulary", model.vectorizer().width());
    report.fact("explained_variance", model.explained_variance_ratio().iter().sum::<f64>());
    report.fact("fitted_until", model.fitted_until());
    let singular_values = Some(model.singular_values().to_vec());
    finish(writer, &order, &SetMeta { singular_values, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// The model, and the analyzer of its texts.
pub(crate) struct FittedLsa {
    model: Lsa,
    analyzer: Analyzer,
}

/// The first two passes.
pub(crate) fn open(reader: &CorpusReader<'_>) -> Result<FittedLsa> {
    let analyzer = Analyzer::new(&reader.feature.tfidf, Some(reader.segmenter.clone()))?;
    Ok(FittedLsa { model: decompose(fit(reader, &analyzer)?, reader, &analyzer)?, analyzer })
}

impl TextRows for FittedLsa {
    fn document_rows(&mut self, documents: &[ReadDocument], _: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let texts = documents.iter().map(|document| document.fields().unwrap_or_default());
        Ok(texts.flat_map(|fields| self.model.transform(&self.analyzer, fields)).collect())
    }

    fn document_parts(&self, document: &ReadDocument, _: &CorpusReader<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        let parts = self.model.parts(&self.analyzer, document.fields()?);
        Some(parts.into_iter().map(|(term, part)| (term.to_owned(), part)).collect())
    }
}

/// The second pass: the rows of the documents that count, which wait in memory or in a scratch file beside the corpus.
fn decompose(vectorizer: Vectorizer, reader: &CorpusReader<'_>, analyzer: &Analyzer) -> Result<Lsa> {
    let mut rows = RowsWriter::new(vectorizer.width(), reader.inputs.clean.folder());
    reader.for_each_part(|documents| {
        let row = |document: &ReadDocument| -> Option<(Vec<u32>, Vec<f32>)> {
            let fields = document.fields().filter(|_| counts_in(document, reader.feature))?;
            Some(vectorizer.transform(analyzer, fields).into_iter().unzip())
        };
        let weighed: Vec<(Vec<u32>, Vec<f32>)> = reader.ctx.install(|| documents.par_iter().filter_map(row).collect());
        weighed.iter().try_for_each(|(indices, values)| rows.push(Row { indices, values }))?;
        Ok(reader.ctx.check()?)
    })?;
    Lsa::fit(vectorizer, &rows.finish()?, &reader.feature.lsa, reader.ctx)
}

/// The third pass: the points of a part's documents, NaN for one that is not read.
fn project(documents: &[ReadDocument], model: &Lsa, analyzer: &Analyzer, ctx: &Ctx) -> Rows {
    let mut data = vec![f32::NAN; documents.len() * model.dim()];
    ctx.install(|| {
        data.par_chunks_mut(model.dim()).zip(documents).for_each(|(out, document)| {
            if let Some(fields) = document.fields() {
                out.copy_from_slice(&model.transform(analyzer, fields));
            }
        });
    });
    Rows::dense(row_keys(documents), model.dim(), data)
}
