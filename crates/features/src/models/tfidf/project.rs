//! Sparse rows for the whole corpus, without holding it in memory: terms are cut and counted once, and the counts wait in a scratch file
//! until they are weighed. Rows of hashed terms need no counts of others, and depend on their text alone.

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::json;

use super::counted::{JoinedCounts, ThreadCounts, TrainedRows};
use super::spill::DocumentName;
use crate::extract::entry::ModelEntry;
use crate::extract::part_model::{PartModel, RowsOfPart};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish, row_keys, write_parts};
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{Analyzer, Csr, Vectorizer};
use inkstone_store::{RowKind, Rows, Store};

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
    let (model, counted) = fit(&reader, &analyzer)?;
    let spec = SetParams::of_corpus(&reader).spec(feature, RowKind::Sparse, model.fitted_until());
    let writer = store.writer(&spec)?;
    let rows = |part: usize, documents: &[ReadDocument]| {
        let weighed = counted.rows_of_part(part, documents, &model, &analyzer, &reader)?;
        Ok(sparse_rows(documents, weighed))
    };
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
        let row = |document: &ReadDocument| weigh(document, &self.model, &self.analyzer);
        Ok(sparse_rows(documents, reader.ctx.install(|| documents.par_iter().map(row).collect())))
    }
}

/// True if the model is fitted on the document.
fn counts_in(document: &ReadDocument, feature: &Feature) -> bool {
    document.text.is_some() && feature.fit_until.is_none_or(|day| document.published_at.date() <= day)
}

/// Counts the terms of the documents that count, part after part, and fits the vectorizer.
pub(crate) fn fit(reader: &CorpusReader<'_>, analyzer: &Analyzer) -> Result<(Vectorizer, CountedCorpus)> {
    let (feature, ctx) = (reader.feature, reader.ctx);
    let scratch = Some(reader.inputs.clean.folder());
    let threads = (0..ctx.threads()).map(|_| ThreadCounts::new(&feature.tfidf, None, scratch));
    let mut threads = threads.collect::<Result<Vec<_>>>()?;
    let shares = threads.len() as u64;
    let mut block = 0;
    reader.for_each_part(|documents| {
        let count = |(number, (thread, share)): (usize, (&mut ThreadCounts<'_>, &[ReadDocument]))| -> Result<()> {
            for document in share.iter().filter(|document| counts_in(document, feature)) {
                let fields = document.fields().unwrap_or_default();
                thread.add(analyzer, fields, Some(document.published_at), DocumentName::Number(0))?;
            }
            thread.end_block(block + number as u64)
        };
        let share = documents.len().div_ceil(threads.len()).max(1);
        ctx.install(|| threads.par_iter_mut().zip(documents.par_chunks(share)).enumerate().try_for_each(count))?;
        block += shares;
        Ok(ctx.advance(documents.len() as u64 / 2)?)
    })?;
    let (model, rows) = JoinedCounts::new(threads, &feature.tfidf)?.fit(&feature.tfidf, ctx)?;
    Ok((model, CountedCorpus { rows, shares }))
}

/// The counts of the documents that a vectorizer was fitted on.
pub(crate) struct CountedCorpus {
    pub(crate) rows: TrainedRows,
    /// Blocks of each part.
    shares: u64,
}

impl CountedCorpus {
    /// The weights of each document of a part by column. A document that the model was not fitted on is cut for it.
    pub(crate) fn rows_of_part(
        &self,
        part: usize,
        documents: &[ReadDocument],
        model: &Vectorizer,
        analyzer: &Analyzer,
        reader: &CorpusReader<'_>,
    ) -> Result<Vec<Vec<(u32, f32)>>> {
        let first = part as u64 * self.shares;
        let counted = self.rows.rows_of(first..first + self.shares, model, reader.ctx)?;
        let mut counted = counted.iter().flat_map(|rows: &Csr| (0..rows.rows()).map(|i| rows.row(i)));
        let counted = documents.iter().map(|document| match counts_in(document, reader.feature) {
            true => counted.next().map(Some).context(Word("临时文件不完整", "a scratch file is cut short")),
            false => Ok(None),
        });
        let counted = counted.collect::<Result<Vec<_>>>()?;
        let row = |(document, counted): (&ReadDocument, Option<inkstone_models::Row<'_>>)| match counted {
            Some(row) => row.iter().collect(),
            None => weigh(document, model, analyzer),
        };
        Ok(reader.ctx.install(|| documents.par_iter().zip(counted).map(row).collect()))
    }
}

/// The weights of a document's terms by column; none of a document that is not read.
fn weigh(document: &ReadDocument, model: &Vectorizer, analyzer: &Analyzer) -> Vec<(u32, f32)> {
    document.fields().map_or_else(Vec::new, |fields| model.transform(analyzer, fields))
}

fn sparse_rows(documents: &[ReadDocument], weighed: Vec<Vec<(u32, f32)>>) -> Rows {
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in weighed {
        indices.extend(row.iter().map(|e| e.0));
        values.extend(row.iter().map(|e| e.1));
        indptr.push(indices.len());
    }
    Rows::sparse(row_keys(documents), indptr, indices, values)
}
