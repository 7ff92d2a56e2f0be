//! Sparse rows for the whole corpus in two passes, neither of which holds it: count terms, then weigh them. Rows of hashed
//! terms need no first pass, and depend on their text alone.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use super::reading::{Reading, key_of, read_part};
use super::{Feature, Inputs, VERSION, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, TermCounts, Vectorizer};
use inkstone_store::{RowKind, Rows, SetSpec, Store};
use inkstone_text::Segmenter;

/// Documents whose terms one thread counts before the counts are joined.
const CHUNK: usize = 256;

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    feature.tfidf.check()?;
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let analyzer = Analyzer::new(&feature.tfidf, Some(segmenter.clone()))?;
    let parts = inputs.clean.files()?.len();
    let model = match feature.tfidf.learns() {
        true => fit(feature, inputs, &segmenter, &analyzer, ctx)?,
        false => Vectorizer::hashing(&feature.tfidf)?,
    };
    let mut params = json!({"version": VERSION, "feature": feature, "segmenter": segmenter.key()});
    if feature.tfidf.learns() {
        params["corpus"] = json!(inputs.corpus);
    }
    let kind = RowKind::Sparse;
    let spec = SetSpec { name: feature.name.clone(), kind, params, fitted_until: model.fitted_until() };
    let writer = store.writer(&spec)?;
    let mut order = Vec::with_capacity(parts);
    for i in 0..parts {
        let readings = read_part(inputs, i, feature, &segmenter, ctx)?;
        let key = key_of(&readings);
        if !writer.has(key)? {
            writer.put(key, &weigh(&readings, &model, &analyzer, ctx))?;
        }
        order.push(key);
        report.rows_in += readings.len() as u64;
        let counted = if feature.tfidf.learns() { readings.len() as u64 / 2 } else { 0 };
        ctx.advance(readings.len() as u64 - counted)?;
    }
    report.rows_out = report.rows_in;
    report.fact("vocabulary", model.width());
    report.fact("fitted_until", model.fitted_until());
    let meta = json!({"columns": [], "vocabulary": model.terms()});
    Ok((finish(writer, &order, meta, &mut report)?, report))
}

/// Whether a document is among those that the model is fitted on.
pub(super) fn counts_in(reading: &Reading, feature: &Feature) -> bool {
    feature.fit_until.is_none_or(|day| reading.published_at.date() <= day)
}

/// The first pass.
pub(super) fn fit(
    feature: &Feature,
    inputs: &Inputs<'_>,
    segmenter: &Segmenter,
    analyzer: &Analyzer,
    ctx: &Ctx,
) -> Result<Vectorizer> {
    let mut counts = TermCounts::new(&feature.tfidf);
    for i in 0..inputs.clean.files()?.len() {
        let readings = read_part(inputs, i, feature, segmenter, ctx)?;
        for counted in count(&readings, feature, analyzer, ctx)? {
            counts.merge(&counted)?;
        }
        ctx.advance(readings.len() as u64 / 2)?;
    }
    ctx.install(|| Vectorizer::fit(&counts, &feature.tfidf))
}

/// The term counts of a part, chunk by chunk in order.
fn count(readings: &[Reading], feature: &Feature, analyzer: &Analyzer, ctx: &Ctx) -> Result<Vec<TermCounts>> {
    let counted = |chunk: &[Reading]| {
        let mut counts = TermCounts::new(&feature.tfidf);
        for reading in chunk {
            if let (Some(fields), true) = (reading.fields(), counts_in(reading, feature)) {
                counts.add(analyzer, fields, Some(reading.published_at))?;
            }
        }
        Ok(counts)
    };
    ctx.install(|| readings.par_chunks(CHUNK).map(counted).collect())
}

fn weigh(readings: &[Reading], model: &Vectorizer, analyzer: &Analyzer, ctx: &Ctx) -> Rows {
    let row = |reading: &Reading| model.transform(analyzer, reading.fields().unwrap_or_default());
    let weighed: Vec<Vec<(u32, f32)>> = ctx.install(|| readings.par_iter().map(row).collect());
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in weighed {
        indices.extend(row.iter().map(|e| e.0));
        values.extend(row.iter().map(|e| e.1));
        indptr.push(indices.len());
    }
    Rows::sparse(readings.iter().map(|r| r.key).collect(), indptr, indices, values)
}
