//! A score for each document by a walk-forward text regression: words in, the return that followed out.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveTime};
use rustc_hash::FxHashMap;

use super::counts::{TermNumbers, analyzer, terms_of};
use super::reading::{CorpusReader, ReadDocument};
use super::samples::{SampledCorpus, fit_folds};
use super::set::{SetMeta, SetParams, finish};
use super::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::{Csr, Sample, SpilledCsr, TextRegression, WalkForward, fit_predict};
use inkstone_store::Store;

/// Samples and their word counts.
pub(super) struct CountedSamples {
    pub(super) sampled: SampledCorpus,
    /// Word counts, one row a sample.
    pub(super) counts: Csr,
    /// The column of each word. Each training window decides which words count.
    pub(super) words: FxHashMap<String, u32>,
    /// By column, true for a word of titles, where words of titles are counted apart.
    titles: Vec<bool>,
}

impl CountedSamples {
    /// Reads the corpus into samples with their labels, and word counts.
    pub(super) fn read(reader: &CorpusReader<'_>, report: &mut Report) -> Result<CountedSamples> {
        let analyzer = analyzer(reader.feature, &reader.segmenter)?;
        let cut = |document: &ReadDocument| terms_of(document, reader.feature, &analyzer);
        let folder = reader.inputs.clean.folder();
        let (mut counts, mut numbers) = (SpilledCsr::within(folder)?, TermNumbers::default());
        let keep = |terms: Vec<(String, bool)>| counts.push_counts(&mut numbers.number(terms));
        let sampled = SampledCorpus::read(reader, cut, keep, report)?;
        let TermNumbers { words, titles } = numbers;
        Ok(CountedSamples { sampled, counts: counts.finish()?, words, titles })
    }

    /// The word of each column.
    pub(super) fn words_by_id(&self) -> Vec<&str> {
        let mut words = vec![""; self.words.len()];
        self.words.iter().for_each(|(word, &id)| words[id as usize] = word);
        words
    }
}

pub(super) fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let CountedSamples { sampled, counts, words, titles } = CountedSamples::read(&reader, &mut report)?;
    let regression = regression_of(feature)?;
    let predictions = fit_folds(feature, inputs, ctx, |dates| {
        fit_predict(&sampled.samples, &counts, &titles, dates, &feature.walk_forward, &regression, ctx)
    })?;
    let row = |i| predictions.score.get(i..=i).filter(|score| !score[0].is_nan());
    let (writer, order) = sampled.write(feature, SetParams::of_returns(&reader), None, row, store, &mut report, ctx)?;
    report.fact("words", words.len());
    report.fact("folds", &predictions.folds);
    let folds = Some(predictions.folds);
    finish(writer, &order, &SetMeta { folds, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// The score of a document, taken apart by words.
pub(super) struct Refitted {
    pub(super) score: f64,
    pub(super) intercept: f64,
    /// Words and their parts of the score, the largest first.
    pub(super) parts: Vec<(String, f64)>,
    /// First and last day that the fold tests.
    pub(super) test: (NaiveDate, NaiveDate),
}

/// Fits the fold that scored the document in this part and row once more, on the same samples, and takes its score apart. None where no
/// fold scored the document. Reads the corpus once.
pub(super) fn refit(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Refitted>> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let dates = inputs.market(feature)?.dates();
    let table = CountedSamples::read(reader, &mut Report::new(&feature.name))?;
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
                // The time at which a tested sample was known is not used, and may lie behind the days that are left.
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
        let regression = regression_of(feature)?;
        let (found, _) = fit_predict(&samples, &counts, &table.titles, &dates[start..end], &walk, &regression, ctx)?;
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

fn regression_of(feature: &Feature) -> Result<TextRegression> {
    Ok(TextRegression {
        estimator: feature.estimator().context("the feature's model does not learn from returns")?,
        classes: feature.classes.clone(),
        label: feature.label_form,
        tfidf: feature.tfidf.clone(),
        ..TextRegression::default()
    })
}
