//! A walked text regression: fit the model of a fold on its training samples, score its test samples.

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use rayon::prelude::*;

use super::WalkForward;
use super::text::{FoldReport, LabelForm, Predictions, Sample, TextRegression};
use super::walk::{WalkStep, Walked, walk_folds};
use crate::calibration::CalibrationForm;
use crate::estimate::{Estimator, Goal, Method, calibrate, fit_estimator, out_of_fold};
use crate::metrics::{area_under_curve, r_squared, rank_correlation};
use crate::sparse::{Csr, Row};
use crate::validation::{FoldParams, FoldRows, FoldsBy, draw_folds};
use crate::vectorize::{Weighting, choose_terms, weigh, weigh_rows};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, quantile};

/// Terms shown at each end of a fold's weights.
const SHOWN_TERMS: usize = 20;

/// The model of one fold: the terms it chose, how it weighs them, and what it learned on them.
#[derive(Clone, Debug)]
pub struct TextModel {
    /// The last moment of the data that the model saw, texts and labels.
    pub fitted_until: NaiveDateTime,
    /// The token id of each column, ascending.
    pub terms: Vec<u32>,
    /// The weighting of counts.
    pub weighting: Weighting,
    /// The estimator that gives the score.
    pub estimator: Estimator,
}

impl TextModel {
    /// The score of a row of token counts.
    pub fn score(&self, counts: Row<'_>) -> f64 {
        self.of_scores(&self.scores(counts))
    }

    /// The scores that the estimator gives a row of token counts.
    fn scores(&self, counts: Row<'_>) -> Vec<f64> {
        let mut row = Csr::new(self.terms.len());
        let (columns, values) = self.features(counts);
        row.push_row(columns.into_iter().zip(values));
        self.estimator.scores(&row)
    }

    /// The probability of each of these classes from a row's scores; NaN for one that the model does not know, and for all where scores
    /// are margins.
    fn probabilities(&self, scores: &[f64], classes: &[String]) -> Vec<f64> {
        let known = self.estimator.guess_from(scores).probabilities.unwrap_or_default();
        let place = |class: &String| self.estimator.task.names().iter().position(|name| name == class);
        classes.iter().map(|class| place(class).and_then(|at| known.get(at).copied()).unwrap_or(f64::NAN)).collect()
    }

    /// The score without any word, and the contribution of each token id of a row, the largest first. They sum up to the score,
    /// or to what isotonic calibration turns into it.
    pub fn explain(&self, counts: Row<'_>) -> (f64, Vec<(u32, f64)>) {
        let (columns, values) = self.features(counts);
        let up = self.estimator.task.names().len().saturating_sub(1);
        let against = (up > 1).then_some(0);
        let (base, parts) = self.estimator.explain(Row { indices: &columns, values: &values }, up, against);
        (base, parts.into_iter().map(|(column, part)| (self.terms[column as usize], part)).collect())
    }

    /// The score of a row that the estimator gave these: the value, or the log-odds of the last class against the first.
    fn of_scores(&self, scores: &[f64]) -> f64 {
        match self.estimator.task.names().len() {
            0 => scores[0],
            classes => self.estimator.lead(scores, classes - 1, 0),
        }
    }

    /// The terms with the highest weights and those with the lowest; none where weights are not what a score is made of.
    fn shown_terms(&self) -> (Vec<(u32, f32)>, Vec<(u32, f32)>) {
        let Some(map) = self.estimator.linear() else { return (Vec::new(), Vec::new()) };
        let last = map.outputs - 1;
        let against = if last > 0 { Some(0) } else { None };
        let weight = |j: usize| map.weight(j as u32, last) - against.map_or(0.0, |k| map.weight(j as u32, k));
        let weights: Vec<f64> = (0..self.terms.len()).map(weight).collect();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let shown = |&j: &usize| (self.terms[j], weights[j] as f32);
        let top = order.iter().take_while(|&&j| weights[j] > 0.0).take(SHOWN_TERMS).map(shown).collect();
        let bottom = order.iter().rev().take_while(|&&j| weights[j] < 0.0).take(SHOWN_TERMS).map(shown).collect();
        (top, bottom)
    }

    fn features(&self, counts: Row<'_>) -> (Vec<u32>, Vec<f32>) {
        let column = |id: u32| self.terms.binary_search(&id).ok();
        let row = counts.iter().filter_map(|(id, count)| Some((column(id)? as u32, count)));
        weigh(&self.weighting, row.collect(), counts).into_iter().unzip()
    }
}

/// Fits and scores fold after fold. Row `i` of `counts` holds the token counts of sample `i`, in an id space of the
/// whole corpus: ids only name the words, and no fold learns from rows that it does not train on. `dates` is the
/// trading calendar. `titles` says which ids are words of titles, where they are counted apart; empty: none.
///
/// The report counts samples without a score by reason and carries the folds. Progress is counted in folds.
pub fn fit_predict(
    samples: &[Sample],
    counts: &Csr,
    titles: &[bool],
    dates: &[NaiveDate],
    walk: &WalkForward,
    params: &TextRegression,
    ctx: &Ctx,
) -> Result<(Predictions, Report)> {
    let data = Data { samples, counts, titles, params, walk, ctx };
    data.check()?;
    let mut score = vec![f32::NAN; samples.len()];
    let named = params.classes.with_probabilities();
    let mut probabilities = vec![f32::NAN; samples.len() * named.len()];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        ctx.install(|| {
            let Some(model) = data.fit(step, report)? else { return Ok(None) };
            for (&i, scores) in step.test.iter().zip(data.score(&model, &step.test, report)) {
                score[i] = model.of_scores(&scores) as f32;
                let found = if named.is_empty() { Vec::new() } else { model.probabilities(&scores, named) };
                let row = &mut probabilities[i * named.len()..][..named.len()];
                row.iter_mut().zip(found).for_each(|(place, p)| *place = p as f32);
            }
            Ok(Some(model))
        })
    })?;
    let Walked { fold, models, folds } = walked;
    Ok((Predictions { score, probabilities, fold, models, folds }, report))
}

/// The input of a walk.
struct Data<'a> {
    samples: &'a [Sample],
    counts: &'a Csr,
    titles: &'a [bool],
    params: &'a TextRegression,
    walk: &'a WalkForward,
    ctx: &'a Ctx,
}

impl Data<'_> {
    fn check(&self) -> Result<()> {
        let Data { samples, counts, params, .. } = *self;
        ensure!(
            samples.len() == counts.rows(),
            "{} samples, but {} rows of token counts: one row a sample is needed",
            samples.len(),
            counts.rows()
        );
        ensure!((0.0..0.5).contains(&params.winsor), "winsor = {} must be at least 0 and below 0.5", params.winsor);
        params.classes.check()
    }

    /// Fits the model of a fold on its training samples, and notes in `report` what it saw; `None` when those that are
    /// left are too few.
    fn fit(&self, step: &WalkStep, report: &mut FoldReport) -> Result<Option<TextModel>> {
        let Data { samples, counts, params, walk, ctx, .. } = *self;
        let labels: Vec<f64> = step.train.iter().map(|&i| samples[i].label).collect();
        report.missing = params.classes.missing(&labels);
        if params.classes.lacks_an_end(&report.missing) {
            return Ok(None);
        }
        let (train, goal) = goal(&step.train, &labels, params)?;
        report.middle = labels.len() - train.len();
        report.train_rows = train.len();
        if train.len() < walk.min_train_rows {
            return Ok(None);
        }

        let (terms, weighting) = choose_terms(counts, self.titles, &train, &params.tfidf, ctx)?;
        let x = weigh_rows(counts, &train, &terms, &weighting, ctx)?;

        let mut estimator = fit_estimator(&x, &goal, None, &params.estimator, ctx)?;
        if params.classes.calibrate != CalibrationForm::None && !estimator.task.names().is_empty() {
            self.calibrate(&mut estimator, &x, &goal, &train).context("calibration within the training window")?;
        }
        let model = TextModel { fitted_until: step.fitted_until, terms, weighting, estimator };
        let scores = model.estimator.scores(&x);
        let scores: Vec<f64> = scores.chunks(model.estimator.outputs()).map(|row| model.of_scores(row)).collect();
        report.in_sample = match &goal {
            Goal::Values(y) => r_squared(&scores, y),
            Goal::Classes { class, names } => {
                let up = names.len() as u32 - 1;
                let outer = scores.iter().zip(class).filter(|(_, c)| **c == 0 || **c == up);
                let (scores, up): (Vec<f64>, Vec<bool>) = outer.map(|(score, c)| (*score, *c == up)).unzip();
                area_under_curve(&scores, &up)
            }
            Goal::Labels { .. } => None,
        };
        report.convergence = model.estimator.worst_convergence();
        report.vocabulary = model.terms.len();
        (report.top, report.bottom) = model.shown_terms();
        Ok(Some(model))
    }

    /// Calibrates on scores out of fold; the folds are stretches of trading days, whose labels and groups are kept apart
    /// as those of the walk are.
    fn calibrate(&self, estimator: &mut Estimator, x: &Csr, goal: &Goal, train: &[usize]) -> Result<()> {
        let Data { samples, params, walk, ctx, .. } = *self;
        // Trading days stand for natural ones, so that the embargo counts them.
        let day = |index: usize| NaiveDateTime::default() + TimeDelta::days(index as i64);
        let rows = FoldRows {
            groups: train.iter().map(|&i| samples[i].group).collect(),
            spans: train.iter().map(|&i| (day(samples[i].date), day(samples[i].label_known))).collect(),
        };
        let folds = FoldParams {
            folds: params.classes.calibration_folds,
            by: FoldsBy::Time,
            embargo_days: u32::try_from(walk.embargo_days).unwrap_or(u32::MAX),
        };
        let splits = draw_folds(goal, &rows, &folds, ctx.seed())?;
        let scores = out_of_fold(x, goal, None, &splits, &params.estimator, ctx)?;
        calibrate(estimator, goal, &scores, None, params.classes.calibrate)
    }

    /// The estimator's scores of each test sample, with the figures noted in `report`.
    fn score(&self, model: &TextModel, test: &[usize], report: &mut FoldReport) -> Vec<Vec<f64>> {
        let scores: Vec<Vec<f64>> = test.par_iter().map(|&i| model.scores(self.counts.row(i))).collect();
        report.test_rows = test.len();
        let known = |&&i: &&usize| self.counts.row(i).indices.iter().any(|id| model.terms.binary_search(id).is_ok());
        report.unseen = test.len() - test.iter().filter(known).count();
        let labelled = test.iter().map(|&i| self.samples[i].label).zip(&scores).filter(|(label, _)| !label.is_nan());
        let (labels, of_labelled): (Vec<f64>, Vec<f64>) =
            labelled.map(|(label, scores)| (label, model.of_scores(scores))).unzip();
        report.out_of_sample = rank_correlation(&of_labelled, &labels);
        scores
    }
}

/// The samples that train, and their goals, from the labels of all admitted samples.
fn goal(admitted: &[usize], labels: &[f64], params: &TextRegression) -> Result<(Vec<usize>, Goal)> {
    let form = match params.estimator.method {
        Method::Ridge => Some(params.label.unwrap_or_default()),
        Method::Boosted => params.label,
        _ => None,
    };
    if let Some(form) = form {
        let values = match form {
            LabelForm::Raw => labels.to_vec(),
            LabelForm::Winsorised => {
                let mut sorted = labels.to_vec();
                sorted.sort_by(f64::total_cmp);
                let (low, high) = (quantile(&sorted, params.winsor), quantile(&sorted, 1.0 - params.winsor));
                labels.iter().map(|y| y.clamp(low, high)).collect()
            }
            LabelForm::Ranked => {
                let n = labels.len() as f64;
                average_ranks(labels).iter().map(|rank| (rank - 0.5) / n - 0.5).collect()
            }
        };
        return Ok((admitted.to_vec(), Goal::Values(values)));
    }
    let (train, class, names) = params.classes.classes(admitted, labels)?;
    Ok((train, Goal::Classes { class, names }))
}

#[cfg(test)]
mod tests;
