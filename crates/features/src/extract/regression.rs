//! A score for each document by a walk-forward text regression: words in, the return that followed out.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveTime};
use rustc_hash::FxHashMap;
use serde_json::json;

use super::counts::{Numbers, analyzer, terms_of};
use super::reading::Reading;
use super::samples::Sampled;
use super::{Feature, Inputs, VERSION, finish};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Csr, Sample, SpilledCsr, TextRegression, WalkForward, fit_predict};
use inkstone_store::{RowKind, SetSpec, Store};
use inkstone_text::Segmenter;

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
    let params = params(feature)?;
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
    Ok((finish(writer, &order, meta, &mut report)?, report))
}

/// What each word of a document gave to its score.
pub(super) struct Refitted {
    pub(super) score: f64,
    pub(super) intercept: f64,
    /// Words and what they gave, the largest first.
    pub(super) parts: Vec<(String, f64)>,
    /// First and last day that the fold tests.
    pub(super) test: (NaiveDate, NaiveDate),
}

/// Fits the fold that scored the document in this part and row once more, on the same samples, and asks it why. None where no fold
/// scored the document. Reads the corpus once.
pub(super) fn refit(
    feature: &Feature,
    inputs: &Inputs<'_>,
    place: (usize, usize),
    ctx: &Ctx,
) -> Result<Option<Refitted>> {
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let dates = inputs.market(feature)?.dates();
    let table = read_table(feature, inputs, &segmenter, &mut Report::new(&feature.name), ctx)?;
    let Some(number) = table.sampled.number_of(place) else { return Ok(None) };
    let all = &table.sampled.samples;
    let folds = feature.walk_forward.folds(dates.len())?;
    // Where test windows overlap, the newest model that could be fitted gave the score.
    for fold in folds.iter().rev().filter(|fold| fold.test.contains(&all[number].date)) {
        let (start, end) = (fold.train.start, fold.test.end);
        let kept: Vec<usize> = (0..all.len()).filter(|&i| (start..end).contains(&all[i].date)).collect();
        let moved = |&i: &usize| {
            let mut sample =
                Sample { date: all[i].date - start, label_known: all[i].label_known - start, ..all[i].clone() };
            if fold.test.contains(&all[i].date) {
                // When what is tested was known is not asked, and may lie behind the days that are left.
                sample.known_at = sample.known_at.min(dates[all[i].date].and_time(NaiveTime::MIN));
            }
            sample
        };
        let samples: Vec<Sample> = kept.iter().map(moved).collect();
        let mut counts = Csr::new(table.counts.cols());
        kept.iter().for_each(|&i| counts.push_row(table.counts.row(i).iter()));
        let walk = WalkForward {
            train_days: fold.train.len(),
            test_days: fold.test.len(),
            step_days: 0,
            ..feature.walk_forward.clone()
        };
        let params = params(feature)?;
        let (found, _) = fit_predict(&samples, &counts, &table.titles, &dates[start..end], &walk, &params, ctx)?;
        if let Some(Some(model)) = found.models.first() {
            let row = table.counts.row(number);
            let (intercept, parts) = model.explain(row);
            let names = table.words_by_id();
            let parts = parts.into_iter().map(|(id, part)| (names[id as usize].to_owned(), part)).collect();
            let test = (dates[fold.test.start], dates[fold.test.end - 1]);
            return Ok(Some(Refitted { score: model.score(row), intercept, parts, test }));
        }
    }
    Ok(None)
}

/// The regression of a feature.
fn params(feature: &Feature) -> Result<TextRegression> {
    Ok(TextRegression {
        estimator: feature.estimator().context("the feature's model does not learn from returns")?,
        classes: feature.classes.clone(),
        label: feature.label_form,
        tfidf: feature.tfidf.clone(),
        ..TextRegression::default()
    })
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
    let (mut counts, mut numbers) = (SpilledCsr::within(inputs.clean.folder())?, Numbers::default());
    let keep = |terms: Vec<(String, bool)>| counts.push_counts(&mut numbers.of(terms));
    let sampled = Sampled::read(feature, inputs, segmenter, cut, keep, report, ctx)?;
    let Numbers { words, titles } = numbers;
    Ok(Table { sampled, counts: counts.finish()?, words, titles })
}
