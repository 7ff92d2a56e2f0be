//! LSA rows for the whole corpus, without holding it in memory: count terms, decompose the weighed rows, project. Texts are cut once.
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
use crate::models::tfidf::project::{CountedCorpus, fit};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Lsa, Row, RowsWriter};
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
    let analyzer = Analyzer::new(&feature.tfidf, Some(reader.segmenter.clone()))?;
    let (model, counted) = fit_lsa(&reader, &analyzer)?;
    let params = SetParams::of_corpus(&reader).with("seed", ctx.seed());
    let writer = store.writer(&params.spec(feature, RowKind::Dense { dim: model.dim() }, model.fitted_until()))?;
    let rows = |part: usize, documents: &[ReadDocument]| {
        let weighed = counted.rows_of_part(part, documents, model.vectorizer(), &analyzer, &reader)?;
        Ok(project(documents, &weighed, &model, ctx))
    };
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

pub(crate) fn open(reader: &CorpusReader<'_>) -> Result<FittedLsa> {
    let analyzer = Analyzer::new(&reader.feature.tfidf, Some(reader.segmenter.clone()))?;
    Ok(FittedLsa { model: fit_lsa(reader, &analyzer)?.0, analyzer })
}

/// Counts terms, and decomposes the rows of the documents that count, which wait in memory or in a scratch file beside the corpus.
fn fit_lsa(reader: &CorpusReader<'_>, analyzer: &Analyzer) -> Result<(Lsa, CountedCorpus)> {
    let (vectorizer, counted) = fit(reader, analyzer)?;
    let mut rows = RowsWriter::new(vectorizer.width(), reader.inputs.clean.folder());
    counted.rows.for_each(&vectorizer, reader.ctx, |_, block| {
        (0..block.rows()).try_for_each(|i| rows.push(block.row(i)))?;
        Ok(reader.ctx.check()?)
    })?;
    Ok((Lsa::fit(vectorizer, &rows.finish()?, &reader.feature.lsa, reader.ctx)?, counted))
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

/// The points of a part's documents by their weighed rows, NaN for one that is not read.
fn project(documents: &[ReadDocument], weighed: &[Vec<(u32, f32)>], model: &Lsa, ctx: &Ctx) -> Rows {
    let mut data = vec![f32::NAN; documents.len() * model.dim()];
    ctx.install(|| {
        let points = data.par_chunks_mut(model.dim()).zip(documents.par_iter().zip(weighed));
        points.filter(|(_, (document, _))| document.text.is_some()).for_each(|(out, (_, row))| {
            let (indices, values): (Vec<u32>, Vec<f32>) = row.iter().copied().unzip();
            out.copy_from_slice(&model.point(Row { indices: &indices, values: &values }));
        });
    });
    Rows::dense(row_keys(documents), model.dim(), data)
}
