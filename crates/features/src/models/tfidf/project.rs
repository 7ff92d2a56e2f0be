//! Sparse rows for the whole corpus in two passes, without holding it in memory: count terms, then weigh them. Rows of hashed
//! terms need no first pass, and depend on their text alone.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use crate::extract::entry::ModelEntry;
use crate::extract::part_model::{PartModel, RowsOfPart};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish, row_keys, write_parts};
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, TermCounts, Vectorizer};
use inkstone_store::{RowKind, Rows, Store};

/// Documents whose terms one thread counts before the counts are joined.
const CHUNK: usize = 256;

pub(crate) const ENTRY: ModelEntry =
    ModelEntry { part_model: Some(part_model), settings: &["tfidf", "fit_until"], ..ModelEntry::of_texts(run) };

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    feature.tfidf.check()?;
    if !feature.tfidf.learns() {
        return part_model(feature, inputs, ctx)?.run(store);
    }
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let analyzer = Analyzer::new(&feature.tfidf, Some(reader.segmenter.clone()))?;
    let model = fit(&reader, &analyzer)?;
    let spec = SetParams::of_corpus(&reader).spec(feature, RowKind::Sparse, model.fitted_until());
    let writer = store.writer(&spec)?;
    let rows = |documents: &[_]| Ok(weigh(documents, &model, &analyzer, ctx));
    let order = write_parts(&reader, &writer, true, &mut report, rows)?.order;
    report.fact("vocabulary", model.width());
    report.fact("fitted_until", model.fitted_until());
    let meta = SetMeta { vocabulary: Some(model.terms().to_vec()), ..SetMeta::default() };
    finish(writer, &order, &meta, report)
}

/// Hashed words, which are weighed without the corpus.
fn part_model<'a>(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<PartModel<'a>> {
    feature.tfidf.check()?;
    ensure!(
        !feature.tfidf.learns(),
        "特征 {:?} 在全部各份的文档上拟合，不能分开计算：请交给 `inkstone run`",
        "feature {:?} is fitted on the documents of all parts, so its parts cannot be computed apart: leave it to `inkstone run`",
        feature.name
    );
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let rows = HashedRows {
        analyzer: Analyzer::new(&feature.tfidf, Some(reader.segmenter.clone()))?,
        model: Vectorizer::hashing(&feature.tfidf)?,
    };
    let spec = SetParams::of_words(&reader).spec(feature, RowKind::Sparse, None);
    let meta = SetMeta { vocabulary: Some(rows.model.terms().to_vec()), ..SetMeta::default() };
    let facts = vec![("vocabulary", json!(rows.model.width())), ("fitted_until", json!(rows.model.fitted_until()))];
    Ok(PartModel { reader, spec, meta, facts, limit: None, rows: Box::new(rows) })
}

struct HashedRows {
    model: Vectorizer,
    analyzer: Analyzer,
}

impl RowsOfPart for HashedRows {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows> {
        Ok(weigh(documents, &self.model, &self.analyzer, reader.ctx))
    }
}

/// True if the model is fitted on the document.
pub(crate) fn counts_in(document: &ReadDocument, feature: &Feature) -> bool {
    feature.fit_until.is_none_or(|day| document.published_at.date() <= day)
}

/// The first pass: counts terms and fits the vectorizer.
pub(crate) fn fit(reader: &CorpusReader<'_>, analyzer: &Analyzer) -> Result<Vectorizer> {
    let (params, ctx) = (&reader.feature.tfidf, reader.ctx);
    let mut counts = TermCounts::new(params);
    reader.for_each_part(|documents| {
        for counted in count(documents, reader.feature, analyzer, ctx)? {
            counts.merge(&counted)?;
        }
        Ok(ctx.advance(documents.len() as u64 / 2)?)
    })?;
    ctx.install(|| Vectorizer::fit(&counts, params))
}

/// The term counts of a part, chunk by chunk in order.
fn count(documents: &[ReadDocument], feature: &Feature, analyzer: &Analyzer, ctx: &Ctx) -> Result<Vec<TermCounts>> {
    let counted = |chunk: &[ReadDocument]| {
        let mut counts = TermCounts::new(&feature.tfidf);
        for document in chunk {
            if let (Some(fields), true) = (document.fields(), counts_in(document, feature)) {
                counts.add(analyzer, fields, Some(document.published_at))?;
            }
        }
        Ok(counts)
    };
    ctx.install(|| documents.par_chunks(CHUNK).map(counted).collect())
}

fn weigh(documents: &[ReadDocument], model: &Vectorizer, analyzer: &Analyzer, ctx: &Ctx) -> Rows {
    let row = |document: &ReadDocument| model.transform(analyzer, document.fields().unwrap_or_default());
    let weighed: Vec<Vec<(u32, f32)>> = ctx.install(|| documents.par_iter().map(row).collect());
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in weighed {
        indices.extend(row.iter().map(|e| e.0));
        values.extend(row.iter().map(|e| e.1));
        indptr.push(indices.len());
    }
    Rows::sparse(row_keys(documents), indptr, indices, values)
}
