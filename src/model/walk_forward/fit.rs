//! The walk itself: admit the training samples of a fold, fit its model, score its test samples.

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::measure::{area_under_curve, r_squared, rank_correlation};
use super::text::{FoldReport, LabelForm, Predictions, Sample, Target, TextRegression};
use super::{Fold, WalkForward};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::linear::{Linear, logistic, ridge};
use crate::model::sparse::{Csr, Row};
use crate::model::vectorize::Weighting;
use crate::stats::{average_ranks, quantile};
use crate::text::Frequency;

/// Terms shown at each end of a fold's weights.
const SHOWN_TERMS: usize = 20;

/// Rows weighed between two looks at whether to stop.
const ROWS_PER_CHECK: usize = 1024;

/// When a day's label is known: at the close of trading, Shanghai time.
const CLOSE: NaiveTime = NaiveTime::from_hms_opt(15, 0, 0).expect("15:00:00 is a time of day");

/// The model of one fold: the terms it chose, how it weighs them, and their linear weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TextModel {
    /// The last moment of the data that the model saw, texts and labels.
    pub fitted_until: NaiveDateTime,
    /// The token id of each column, ascending.
    pub terms: Vec<u32>,
    /// What a count weighs.
    pub weighting: Weighting,
    /// The weight of each column.
    pub linear: Linear,
}

impl TextModel {
    /// The score of a row of token counts.
    pub fn score(&self, counts: Row<'_>) -> f64 {
        let (columns, values) = self.features(counts);
        self.linear.score(Row { indices: &columns, values: &values })
    }

    /// What each token id of a row adds to its score, the largest first.
    pub fn explain(&self, counts: Row<'_>) -> Vec<(u32, f64)> {
        let (columns, values) = self.features(counts);
        let parts = self.linear.explain(Row { indices: &columns, values: &values });
        parts.into_iter().map(|(column, part)| (self.terms[column as usize], part)).collect()
    }

    fn features(&self, counts: Row<'_>) -> (Vec<u32>, Vec<f32>) {
        let column = |id: u32| self.terms.binary_search(&id).ok();
        let row = counts.iter().filter_map(|(id, count)| Some((column(id)? as u32, count)));
        weigh(&self.weighting, row.collect(), counts).into_iter().unzip()
    }
}

/// Fits and scores fold after fold. Row `i` of `counts` holds the token counts of sample `i`, in an id space of the
/// whole corpus: ids only name the words, and no fold learns from rows that it does not train on. `dates` is the
/// trading calendar.
///
/// The report counts samples without a score by reason and carries the folds. Progress is counted in folds.
pub fn fit_predict(
    samples: &[Sample],
    counts: &Csr,
    dates: &[NaiveDate],
    walk: &WalkForward,
    params: &TextRegression,
    ctx: &Ctx,
) -> Result<(Predictions, Report)> {
    let data = Data { samples, counts, dates, walk, params, ctx };
    data.check()?;
    let folds = walk.folds(dates.len())?;
    let mut predictions = Predictions {
        score: vec![f32::NAN; samples.len()],
        fold: vec![-1; samples.len()],
        models: Vec::with_capacity(folds.len()),
        folds: Vec::with_capacity(folds.len()),
    };
    let mut passed_over = vec![false; samples.len()];
    for (k, fold) in folds.iter().enumerate() {
        let test: Vec<usize> = (0..samples.len()).filter(|&i| fold.test.contains(&samples[i].date)).collect();
        let (admitted, mut report) = data.admit(fold, &test);
        let model = ctx
            .install(|| data.fit(admitted, &mut report))
            .with_context(|| format!("fold {} (trained {} to {})", k + 1, report.train.0, report.train.1))?;
        match &model {
            None => test.iter().for_each(|&i| passed_over[i] = true),
            Some(model) => {
                let scores = ctx.install(|| data.score(model, &test, &mut report));
                for (&i, score) in test.iter().zip(scores) {
                    predictions.score[i] = score as f32;
                    predictions.fold[i] = k as i32;
                }
            }
        }
        predictions.models.push(model);
        predictions.folds.push(report);
        ctx.advance(1)?;
    }
    let report = report_of(samples, &folds, &predictions, &passed_over);
    Ok((predictions, report))
}

/// What a walk works on.
struct Data<'a> {
    samples: &'a [Sample],
    counts: &'a Csr,
    dates: &'a [NaiveDate],
    walk: &'a WalkForward,
    params: &'a TextRegression,
    ctx: &'a Ctx,
}

impl Data<'_> {
    fn check(&self) -> Result<()> {
        let Data { samples, counts, dates, params, .. } = *self;
        ensure!(
            samples.len() == counts.rows(),
            "{} samples, but {} rows of token counts: one row a sample is needed",
            samples.len(),
            counts.rows()
        );
        ensure!(dates.is_sorted_by(|a, b| a < b), "the trading calendar must ascend without repeats");
        ensure!((0.0..0.5).contains(&params.winsor), "winsor = {} must be at least 0 and below 0.5", params.winsor);
        ensure!(params.tail > 0.0 && params.tail <= 0.5, "tail = {} must be above 0 and at most 0.5", params.tail);
        for (i, sample) in samples.iter().enumerate() {
            let traded = dates.get(sample.date).with_context(|| {
                format!("sample {i} is traded on day {}, but the calendar has {} days", sample.date, dates.len())
            })?;
            // A text of the night before may count for a day whose close it follows, never for one before that.
            let latest = dates.get(sample.date + 1).unwrap_or(traded);
            ensure!(
                sample.known_at.date() <= *latest,
                "sample {i} is traded on {traded}, before it was known ({}): its trading day is wrong",
                sample.known_at
            );
            ensure!(
                sample.label.is_nan() || (sample.label.is_finite() && sample.label_known >= sample.date),
                "sample {i} of {traded} has the label {} known on day {} of the calendar, before its own day {}",
                sample.label,
                sample.label_known,
                sample.date
            );
        }
        Ok(())
    }

    /// The samples that may train, in the order given, and a report that counts the others of the window.
    fn admit(&self, fold: &Fold, test: &[usize]) -> (Vec<usize>, FoldReport) {
        let Data { samples, dates, walk, .. } = *self;
        let tested: FxHashSet<u64> = test.iter().map(|&i| samples[i].group).collect();
        let mut report = FoldReport {
            train: (dates[fold.train.start], dates[fold.train.end - 1]),
            test: (dates[fold.test.start], dates[fold.test.end - 1]),
            ..FoldReport::default()
        };
        let mut train = Vec::new();
        for (i, sample) in samples.iter().enumerate().filter(|(_, s)| fold.train.contains(&s.date)) {
            if sample.label.is_nan() {
                report.unlabelled += 1;
            } else if sample.label_known + walk.embargo_days >= fold.test.start {
                report.purged += 1;
            } else if tested.contains(&sample.group) {
                report.grouped += 1;
            } else {
                train.push(i);
            }
        }
        (train, report)
    }

    /// Fits the model of a fold on what the admitted samples hold, and notes in `report` what it saw; `None` when they
    /// are too few.
    fn fit(&self, admitted: Vec<usize>, report: &mut FoldReport) -> Result<Option<TextModel>> {
        let Data { samples, counts, dates, walk, params, ctx } = *self;
        // The cuts of the labels are drawn from the middle samples too, so these count for what the model saw.
        let seen = |&i: &usize| samples[i].known_at.max(dates[samples[i].label_known].and_time(CLOSE));
        let until = admitted.iter().map(seen).max();
        let Some(fitted_until) = until.filter(|_| admitted.len() >= walk.min_train_rows) else {
            report.train_rows = admitted.len();
            return Ok(None);
        };
        let labels: Vec<f64> = admitted.iter().map(|&i| samples[i].label).collect();
        let (train, goal) = goal(admitted, &labels, params)?;
        report.middle = labels.len() - train.len();
        report.train_rows = train.len();
        if train.len() < walk.min_train_rows {
            return Ok(None);
        }

        let (terms, weighting) = self.choose_terms(&train)?;
        let mut columns = vec![u32::MAX; counts.cols()];
        for (column, &id) in terms.iter().enumerate() {
            columns[id as usize] = column as u32;
        }
        let mut x = Csr::new(terms.len());
        for rows in train.chunks(ROWS_PER_CHECK) {
            ctx.check()?;
            for &i in rows {
                let kept = counts.row(i).iter().map(|(id, count)| (columns[id as usize], count));
                x.push_row(weigh(&weighting, kept.filter(|(column, _)| *column != u32::MAX).collect(), counts.row(i)));
            }
        }

        let linear = match &goal {
            Goal::Value(y) => ridge(&x, y, None, &params.linear, ctx)?,
            Goal::Up(up) => logistic(&x, up, None, &params.linear, ctx)?,
        };
        let scores = linear.scores(&x);
        report.in_sample = match &goal {
            Goal::Value(y) => r_squared(&scores, y),
            Goal::Up(up) => area_under_curve(&scores, up),
        };
        report.fitted_until = Some(fitted_until);
        report.convergence = linear.convergence;
        report.vocabulary = terms.len();
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by(|&a, &b| linear.weights[b].total_cmp(&linear.weights[a]).then(a.cmp(&b)));
        let shown = |&j: &usize| (terms[j], linear.weights[j] as f32);
        report.top = order.iter().take_while(|&&j| linear.weights[j] > 0.0).take(SHOWN_TERMS).map(shown).collect();
        report.bottom =
            order.iter().rev().take_while(|&&j| linear.weights[j] < 0.0).take(SHOWN_TERMS).map(shown).collect();
        Ok(Some(TextModel { fitted_until, terms, weighting, linear }))
    }

    /// The token ids that become columns, and the weighting, from the training rows alone.
    fn choose_terms(&self, train: &[usize]) -> Result<(Vec<u32>, Weighting)> {
        let Data { counts, params, ctx, .. } = *self;
        let mut terms = vec![Frequency::default(); counts.cols()];
        // Of equally frequent terms the earlier in the training rows is kept. The ids cannot decide that: they may have
        // been given in an order that depends on later texts.
        let mut first = vec![u32::MAX; counts.cols()];
        for (at, &i) in train.iter().enumerate() {
            if at % ROWS_PER_CHECK == 0 {
                ctx.check()?;
            }
            for (id, count) in counts.row(i).iter() {
                let term = &mut terms[id as usize];
                term.documents += 1;
                term.count += count as u64;
                first[id as usize] = first[id as usize].min(at as u32);
            }
        }
        let documents = train.len() as u64;
        let kept = params.tfidf.vocabulary().select(documents, &terms, |id| first[id])?;
        let length = terms.iter().map(|term| term.count).sum();
        let df = kept.iter().map(|&id| terms[id as usize].documents);
        let weighting = params.tfidf.weighting(documents, length, df);
        Ok((kept, weighting))
    }

    /// The scores of the test samples, with their figures noted in `report`.
    fn score(&self, model: &TextModel, test: &[usize], report: &mut FoldReport) -> Vec<f64> {
        let scores: Vec<f64> = test.par_iter().map(|&i| model.score(self.counts.row(i))).collect();
        report.test_rows = test.len();
        let known = |&&i: &&usize| self.counts.row(i).indices.iter().any(|id| model.terms.binary_search(id).is_ok());
        report.unseen = test.len() - test.iter().filter(known).count();
        let labelled = test.iter().map(|&i| self.samples[i].label).zip(&scores).filter(|(label, _)| !label.is_nan());
        let (labels, of_labelled): (Vec<f64>, Vec<f64>) = labelled.unzip();
        report.out_of_sample = rank_correlation(&of_labelled, &labels);
        scores
    }
}

/// What the solver is asked to meet.
enum Goal {
    Value(Vec<f64>),
    Up(Vec<bool>),
}

/// The samples that train, and their goals, from the labels of all admitted samples.
fn goal(admitted: Vec<usize>, labels: &[f64], params: &TextRegression) -> Result<(Vec<usize>, Goal)> {
    let mut sorted = labels.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (params.target, params.label) {
        (Target::Ridge, LabelForm::Raw) => Ok((admitted, Goal::Value(labels.to_vec()))),
        (Target::Ridge, LabelForm::Winsorised) => {
            let (low, high) = (quantile(&sorted, params.winsor), quantile(&sorted, 1.0 - params.winsor));
            Ok((admitted, Goal::Value(labels.iter().map(|y| y.clamp(low, high)).collect())))
        }
        (Target::Ridge, LabelForm::Ranked) => {
            let n = labels.len() as f64;
            Ok((admitted, Goal::Value(average_ranks(labels).iter().map(|rank| (rank - 0.5) / n - 0.5).collect())))
        }
        (Target::Logistic, _) => {
            let (low, high) = (quantile(&sorted, params.tail), quantile(&sorted, 1.0 - params.tail));
            ensure!(
                low < high,
                "the lower and the upper {} of the training labels meet at {low}: the labels take too few values for \
                 tail = {}",
                params.tail,
                params.tail
            );
            let outer = admitted.into_iter().zip(labels).filter(|(_, y)| **y <= low || **y >= high);
            let (train, up) = outer.map(|(i, y)| (i, *y >= high)).unzip();
            Ok((train, Goal::Up(up)))
        }
    }
}

/// Weighs the kept counts of a row whose length is that of all its `counts`.
fn weigh(weighting: &Weighting, mut kept: Vec<(u32, f32)>, counts: Row<'_>) -> Vec<(u32, f32)> {
    weighting.apply(&mut kept, counts.values.iter().map(|&c| f64::from(c)).sum());
    kept
}

fn report_of(samples: &[Sample], folds: &[Fold], predictions: &Predictions, passed_over: &[bool]) -> Report {
    let mut report = Report::new("model");
    report.rows_in = samples.len() as u64;
    report.rows_out = predictions.fold.iter().filter(|fold| **fold >= 0).count() as u64;
    let first = folds.first().map_or(usize::MAX, |fold| fold.test.start);
    for (i, sample) in samples.iter().enumerate().filter(|(i, _)| predictions.fold[*i] < 0) {
        let reason = match (sample.date < first, passed_over[i]) {
            (true, _) => "before the first test window",
            (false, true) => "too few training samples (min_train_rows)",
            (false, false) => "between test windows",
        };
        report.drop_rows(reason, 1);
    }
    report.fact("folds", &predictions.folds);
    report
}

#[cfg(test)]
mod tests;
