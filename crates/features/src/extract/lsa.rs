//! LSA rows for the whole corpus in three passes, none of which holds it: count terms, decompose the weighed rows, project.
//!
//! Terms, weights and dimensions all come from the documents until `fit_until`; later documents are projected on what was
//! known then.

use anyhow::Result;
use rayon::prelude::*;
use serde_json::json;

use super::reading::{Reading, key_of, read_part};
use super::tfidf::{counts_in, fit};
use super::{Feature, Inputs, VERSION, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Lsa, Row, RowsWriter, Vectorizer};
use inkstone_store::{RowKind, Rows, SetSpec, Store};
use inkstone_text::Segmenter;

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    feature.tfidf.check()?;
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let analyzer = Analyzer::new(&feature.tfidf, Some(segmenter.clone()))?;
    let vectorizer = fit(feature, inputs, &segmenter, &analyzer, ctx)?;
    let model = decompose(vectorizer, feature, inputs, &segmenter, &analyzer, ctx)?;
    let spec = SetSpec {
        name: feature.name.clone(),
        kind: RowKind::Dense { dim: model.dim() },
        params: json!({
            "version": VERSION, "feature": feature, "segmenter": segmenter.key(), "corpus": inputs.corpus, "seed": ctx.seed(),
        }),
        fitted_until: model.fitted_until(),
    };
    let writer = store.writer(&spec)?;
    let mut order = Vec::new();
    for i in 0..inputs.clean.files()?.len() {
        let readings = read_part(inputs, i, feature, &segmenter, ctx)?;
        let key = key_of(&readings);
        if !writer.has(key)? {
            writer.put(key, &project(&readings, &model, &analyzer, ctx))?;
        }
        order.push(key);
        report.rows_in += readings.len() as u64;
        ctx.advance(readings.len() as u64 - readings.len() as u64 / 2)?;
    }
    report.rows_out = report.rows_in;
    report.fact("vocabulary", model.vectorizer().width());
    report.fact("explained_variance", model.explained_variance_ratio().iter().sum::<f64>());
    report.fact("fitted_until", model.fitted_until());
    let meta = json!({"columns": feature.columns(), "singular_values": model.singular_values()});
    Ok((finish(writer, &order, meta, &mut report)?, report))
}

/// The second pass: the rows of the documents that count, which wait in memory or in a scratch file beside the corpus.
fn decompose(
    vectorizer: Vectorizer,
    feature: &Feature,
    inputs: &Inputs<'_>,
    segmenter: &Segmenter,
    analyzer: &Analyzer,
    ctx: &Ctx,
) -> Result<Lsa> {
    let mut rows = RowsWriter::new(vectorizer.width(), inputs.clean.folder());
    for i in 0..inputs.clean.files()?.len() {
        let readings = read_part(inputs, i, feature, segmenter, ctx)?;
        let row = |reading: &Reading| -> Option<(Vec<u32>, Vec<f32>)> {
            let fields = reading.fields().filter(|_| counts_in(reading, feature))?;
            Some(vectorizer.transform(analyzer, fields).into_iter().unzip())
        };
        let weighed: Vec<(Vec<u32>, Vec<f32>)> = ctx.install(|| readings.par_iter().filter_map(row).collect());
        weighed.iter().try_for_each(|(indices, values)| rows.push(Row { indices, values }))?;
        ctx.check()?;
    }
    Lsa::fit(vectorizer, &rows.finish()?, &feature.lsa, ctx)
}

/// The third pass: the points of a part's documents, NaN for one that is not read.
fn project(readings: &[Reading], model: &Lsa, analyzer: &Analyzer, ctx: &Ctx) -> Rows {
    let mut data = vec![f32::NAN; readings.len() * model.dim()];
    ctx.install(|| {
        data.par_chunks_mut(model.dim()).zip(readings).for_each(|(out, reading)| {
            if let Some(fields) = reading.fields() {
                out.copy_from_slice(&model.transform(analyzer, fields));
            }
        });
    });
    Rows::dense(readings.iter().map(|r| r.key).collect(), model.dim(), data)
}
