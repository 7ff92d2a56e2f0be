//! TF-IDF rows for the whole corpus in two passes, neither of which holds it: count words, then weigh them.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use super::reading::{Reading, key_of, read_part};
use super::{Feature, Inputs, VERSION};
use crate::data::{Key, Report};
use crate::job::Ctx;
use crate::model::Tfidf;
use crate::store::{RowKind, Rows, SetSpec, Store};
use crate::text::{Counter, Segmenter};

/// Documents whose words one thread counts before the counts are joined.
const CHUNK: usize = 256;

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let parts = inputs.clean.files()?.len();
    let mut counts = Counter::default();
    for i in 0..parts {
        let readings = read_part(inputs.clean, inputs.links, i, feature, &segmenter, ctx)?;
        for counted in count(&readings, feature, &segmenter, ctx) {
            counts.merge(counted);
        }
        ctx.advance(readings.len() as u64 / 2)?;
    }
    let tfidf = Tfidf::fit(&counts, &feature.tfidf)?;
    let spec = SetSpec {
        name: feature.name.clone(),
        kind: RowKind::Sparse,
        params: json!({"version": VERSION, "feature": feature, "segmenter": segmenter.key(), "corpus": inputs.corpus}),
        fitted_until: tfidf.fitted_until(),
    };
    let writer = store.writer(&spec)?;
    let mut order = Vec::with_capacity(parts);
    for i in 0..parts {
        let readings = read_part(inputs.clean, inputs.links, i, feature, &segmenter, ctx)?;
        let key = key_of(&readings);
        if !writer.has(key)? {
            writer.put(key, &weigh(&readings, &tfidf, &segmenter, ctx))?;
        }
        order.push(key);
        report.rows_in += readings.len() as u64;
        ctx.advance(readings.len() as u64 - readings.len() as u64 / 2)?;
    }
    report.rows_out = report.rows_in;
    report.fact("vocabulary", tfidf.words().len());
    report.fact("fitted_until", tfidf.fitted_until());
    let meta = json!({"columns": [], "vocabulary": tfidf.words()});
    Ok((writer.finish(&order, meta)?.id(), report))
}

/// The word counts of a part, chunk by chunk in order.
fn count(readings: &[Reading], feature: &Feature, segmenter: &Segmenter, ctx: &Ctx) -> Vec<Counter> {
    let counted = |chunk: &[Reading]| {
        let mut counts = Counter::default();
        for reading in chunk {
            let in_time = feature.fit_until.is_none_or(|day| reading.published_at.date() <= day);
            if let (Some(text), true) = (&reading.text, in_time) {
                let terms = segmenter.terms(text);
                counts.add(terms, Some(reading.published_at));
            }
        }
        counts
    };
    ctx.install(|| readings.par_chunks(CHUNK).map(counted).collect())
}

fn weigh(readings: &[Reading], tfidf: &Tfidf, segmenter: &Segmenter, ctx: &Ctx) -> Rows {
    let row = |reading: &Reading| {
        let terms = segmenter.terms(reading.text.as_deref().unwrap_or_default());
        tfidf.transform(&terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    };
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
