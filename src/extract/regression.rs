//! A score for each document by a walk-forward text regression: words in, the return that followed out.

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde_json::json;

use super::counts::{Numbers, analyzer, terms_of};
use super::reading::Reading;
use super::samples::Sampled;
use super::{Feature, Inputs, VERSION};
use crate::data::{Key, Report};
use crate::job::Ctx;
use crate::model::{Csr, TextRegression, fit_predict};
use crate::store::{RowKind, SetSpec, Store};
use crate::text::Segmenter;

/// Samples and their word counts.
pub(super) struct Table {
    pub(super) sampled: Sampled,
    /// Word counts, one row a sample.
    pub(super) counts: Csr,
    /// A number for each word. Mere numbers: which words count is decided on each training window.
    pub(super) words: FxHashMap<String, u32>,
    /// Whether each number is of a word of titles, where they are counted apart.
    titles: Vec<bool>,
}

impl Table {
    /// The word of each number.
    pub(super) fn words_by_id(&self) -> Vec<&str> {
        let mut words = vec![""; self.words.len()];
        self.words.iter().for_each(|(word, &id)| words[id as usize] = word);
        words
    }
}

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let market = inputs.market(feature)?;
    let table = read_table(feature, inputs, &segmenter, &mut report, ctx)?;
    let dates = market.dates();
    let params = TextRegression {
        estimator: feature.estimator().context("the feature's model does not learn from returns")?,
        classes: feature.classes.clone(),
        label: feature.label_form,
        tfidf: feature.tfidf.clone(),
        ..TextRegression::default()
    };
    let walk = &feature.walk_forward;
    let folds = walk.folds(dates.len())?.len() as u64;
    let mut predictions = None;
    ctx.stage(&format!("fit {}", feature.name), "folds", Some(folds), || {
        let (found, report) =
            fit_predict(&table.sampled.samples, &table.counts, &table.titles, dates, walk, &params, ctx)?;
        predictions = Some(found);
        Ok(report)
    })?;
    let predictions = predictions.context("a finished fit has predictions")?;

    let spec = SetSpec {
        name: feature.name.clone(),
        kind: RowKind::Dense { dim: 1 },
        params: json!({
            "version": VERSION, "feature": feature, "segmenter": segmenter.key(), "corpus": inputs.corpus,
            "prices": inputs.prices, "cutoff": inputs.cutoff,
        }),
        fitted_until: None,
    };
    let writer = store.writer(&spec)?;
    let order = table.sampled.write(&writer, 1, |i| predictions.score.get(i..=i))?;
    let scored = predictions.score.iter().filter(|s| !s.is_nan()).count() as u64;
    report.rows_out = scored;
    report.drop_rows("before the first test window", table.sampled.samples.len() as u64 - scored);
    report.fact("words", table.words.len());
    report.fact("folds", &predictions.folds);
    let meta = json!({"columns": feature.columns(), "folds": predictions.folds});
    Ok((writer.finish(&order, meta)?.id(), report))
}

/// Reads the corpus into samples with their labels, and word counts.
pub(super) fn read_table(
    feature: &Feature,
    inputs: &Inputs<'_>,
    segmenter: &Segmenter,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<Table> {
    let analyzer = analyzer(feature, segmenter)?;
    let cut = |reading: &Reading| terms_of(reading, feature, &analyzer);
    let (mut counts, mut numbers) = (Csr::default(), Numbers::default());
    let keep = |terms: Vec<(String, bool)>| {
        counts.push_counts(&mut numbers.of(terms));
        Ok(())
    };
    let sampled = Sampled::read(feature, inputs, segmenter, cut, keep, report, ctx)?;
    let Numbers { words, titles } = numbers;
    Ok(Table { sampled, counts, words, titles })
}
