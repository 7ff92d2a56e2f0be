//! A walked regression on stacked inputs: fit the model of a fold on its training samples, score its test samples.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

use super::text::{ChosenSettings, FoldReport, LabelForm, Predictions, Sample, TextRegression};
use super::walk::{WalkStep, Walked, step_of, walk_folds};
use super::{Fold, WalkForward};
use crate::calibration::CalibrationForm;
use crate::design::Design;
use crate::estimate::{Estimator, TrainingRows, calibrate, choose_point, fit_estimator, out_of_fold, search};
use crate::goal::{Goal, GoalKind};
use crate::learner::EstimatorParams;
use crate::metrics::{area_under_curve, r_squared, rank_correlation};
use crate::stacked::{FittedInputs, InputColumn, StackedRows, StackedSubset};
use crate::validation::{FoldParams, FoldRows, FoldsBy, Split, draw_folds};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::{average_ranks, quantile};

/// Terms shown at each end of a fold's weights.
const SHOWN_TERMS: usize = 20;

/// The model of one fold: the inputs as they were fitted, and what it learned on them.
#[derive(Clone, Debug)]
pub struct TextModel {
    /// The last moment of the data that the model saw, inputs and labels.
    pub fitted_until: NaiveDateTime,
    /// The estimator that gives the score.
    pub estimator: Estimator,
    inputs: FittedInputs,
}

/// The score of a row, or the probability of a class, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkedParts {
    pub value: f64,
    /// The value without any input.
    pub base: f64,
    /// The part of each column that has one, the largest first.
    pub parts: Vec<(InputColumn, f64)>,
    /// For a probability: its change by one unit of each of the estimator's scores.
    pub slopes: Option<Vec<f64>>,
}

impl TextModel {
    /// The token ids of the terms that the fold chose, ascending.
    pub fn terms(&self) -> &[u32] {
        &self.inputs.terms
    }

    /// The probability of each of these classes from a row's scores; NaN for one that the model does not know, and for all where scores
    /// are margins.
    fn probabilities(&self, scores: &[f64], classes: &[String]) -> Vec<f64> {
        let known = self.estimator.guess_from(scores).probabilities.unwrap_or_default();
        let place = |class: &String| self.estimator.task.names().iter().position(|name| name == class);
        classes.iter().map(|class| place(class).and_then(|at| known.get(at).copied()).unwrap_or(f64::NAN)).collect()
    }

    /// The score of a row. `rows` has the inputs that the model was fitted on; call inside `Ctx::install`.
    pub fn score(&self, rows: &StackedRows<'_>, row: usize) -> Result<f64> {
        Ok(self.scores(&rows.design(&self.inputs, &[row])?)[0])
    }

    /// The probability of a class for a row; NaN for a class that the model does not know, and where scores are margins.
    pub fn probability(&self, rows: &StackedRows<'_>, row: usize, class: &str) -> Result<f64> {
        let x = rows.design(&self.inputs, &[row])?;
        let place = self.estimator.task.names().iter().position(|name| name == class);
        Ok(place.and_then(|of| self.estimator.probability(&self.estimator.scores(&x), of)).unwrap_or(f64::NAN))
    }

    /// Takes the score of a row apart, or the probability of a class; none for a class that the model does not know, and where scores are
    /// margins. Base and parts sum up to the value, or to what isotonic calibration turns into it.
    pub fn explain(&self, rows: &StackedRows<'_>, row: usize, class: Option<&str>) -> Result<Option<WalkedParts>> {
        let x = rows.design(&self.inputs, &[row])?;
        let names = self.estimator.task.names();
        let (value, base, parts, slopes) = match class {
            None => {
                let up = names.len().saturating_sub(1);
                let (base, parts) = self.estimator.explain(x.row(0), up, (up > 1).then_some(0));
                (self.scores(&x)[0], base, parts, None)
            }
            Some(class) => {
                let Some(of) = names.iter().position(|name| name == class) else { return Ok(None) };
                let Some(found) = self.estimator.explain_probability(x.row(0), of) else { return Ok(None) };
                let value = self.estimator.probability(&self.estimator.scores(&x), of).unwrap_or(f64::NAN);
                (value, found.base, found.parts, Some(found.slopes))
            }
        };
        let parts = parts.into_iter().map(|(column, part)| (self.inputs.column(column), part)).collect();
        Ok(Some(WalkedParts { value, base, parts, slopes }))
    }

    /// The sum of a row's scores, each times its slope.
    pub fn sloped(&self, rows: &StackedRows<'_>, row: usize, slopes: &[f64]) -> Result<f64> {
        let scores = self.estimator.scores(&rows.design(&self.inputs, &[row])?);
        Ok(scores.iter().zip(slopes).map(|(score, slope)| score * slope).sum())
    }

    /// The score of each row.
    fn scores(&self, x: &Design) -> Vec<f64> {
        self.estimator.scores(x).chunks(self.estimator.outputs()).map(|scores| self.score_of(scores)).collect()
    }

    /// The score of a row that the estimator gave these: the value, or the log-odds of the last class against the first.
    fn score_of(&self, scores: &[f64]) -> f64 {
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
        let weights: Vec<f64> = (0..self.terms().len()).map(weight).collect();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
        let shown = |&j: &usize| (self.terms()[j], weights[j] as f32);
        let top = order.iter().take_while(|&&j| weights[j] > 0.0).take(SHOWN_TERMS).map(shown).collect();
        let bottom = order.iter().rev().take_while(|&&j| weights[j] < 0.0).take(SHOWN_TERMS).map(shown).collect();
        (top, bottom)
    }
}

/// Fits and scores fold after fold. Row `i` of each input is that of sample `i`. Token ids are of the whole corpus: they only name the
/// words, and no fold learns from rows that it does not train on. `dates` is the trading calendar.
///
/// The report counts samples without a score by reason and carries the folds. Progress is counted in folds.
pub fn fit_predict(
    samples: &[Sample],
    rows: &StackedRows<'_>,
    dates: &[NaiveDate],
    walk: &WalkForward,
    params: &TextRegression,
    ctx: &Ctx,
) -> Result<(Predictions, Report)> {
    let data = Data { samples, rows, params, walk, ctx };
    data.check()?;
    let mut score = vec![f32::NAN; samples.len()];
    let named = params.classes.with_probabilities();
    let mut probabilities = vec![f32::NAN; samples.len() * named.len()];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        ctx.install(|| {
            let Some(model) = data.fit(step, report)? else { return Ok(None) };
            let scores = data.score(&model, &step.test, report)?;
            for (&i, scores) in step.test.iter().zip(scores.chunks(model.estimator.outputs())) {
                score[i] = model.score_of(scores) as f32;
                let found = if named.is_empty() { Vec::new() } else { model.probabilities(scores, named) };
                let row = &mut probabilities[i * named.len()..][..named.len()];
                row.iter_mut().zip(found).for_each(|(place, p)| *place = p as f32);
            }
            Ok(Some(model))
        })
    })?;
    let Walked { fold, models, folds } = walked;
    Ok((Predictions { score, probabilities, fold, models, folds }, report))
}

/// The model of one fold, fitted as [`fit_predict`] fits it; `None` where too few samples are left.
pub fn fit_fold(
    samples: &[Sample],
    rows: &StackedRows<'_>,
    dates: &[NaiveDate],
    walk: &WalkForward,
    fold: &Fold,
    params: &TextRegression,
    ctx: &Ctx,
) -> Result<Option<TextModel>> {
    let data = Data { samples, rows, params, walk, ctx };
    data.check()?;
    let Some(step) = step_of(samples, dates, walk, fold) else { return Ok(None) };
    ctx.install(|| data.fit(&step, &mut FoldReport::default()))
}

/// The input of a walk.
struct Data<'a> {
    samples: &'a [Sample],
    rows: &'a StackedRows<'a>,
    params: &'a TextRegression,
    walk: &'a WalkForward,
    ctx: &'a Ctx,
}

impl Data<'_> {
    fn check(&self) -> Result<()> {
        let Data { samples, rows, params, .. } = *self;
        rows.check(samples.len())?;
        ensure!(
            (0.0..0.5).contains(&params.winsor),
            "winsor = {} 须不小于 0 且小于 0.5",
            "winsor = {} must be at least 0 and below 0.5",
            params.winsor
        );
        params.classes.check()
    }

    /// Fits the model of a fold on its training samples, and notes in `report` what it saw; `None` when those that are
    /// left are too few.
    fn fit(&self, step: &WalkStep, report: &mut FoldReport) -> Result<Option<TextModel>> {
        let Data { samples, params, walk, ctx, .. } = *self;
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

        let mut settings = params.estimator.clone();
        if !params.search.is_off() {
            let chosen = self
                .search(&goal, &train)
                .context(Word("训练窗口内的搜索", "the search within the training window"))?;
            settings = settings.with_settings(&chosen.settings)?;
            report.search = Some(chosen);
        }
        let inputs = self.rows.fit(&train)?;
        let x = self.rows.design(&inputs, &train)?;

        let order = self.order(&train, params.label_lead);
        let rows = TrainingRows { order: Some(&order), ..TrainingRows::default() };
        let mut estimator = fit_estimator(&x, &goal, rows, &settings, ctx)?;
        if params.classes.calibrate != CalibrationForm::None && !estimator.task.names().is_empty() {
            self.calibrate(&mut estimator, &x, &goal, &train, &settings)
                .context(Word("训练窗口内的校准", "calibration within the training window"))?;
        }
        let model = TextModel { fitted_until: step.fitted_until, inputs, estimator };
        let scores = model.scores(&x);
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
        report.vocabulary = model.terms().len();
        (report.top, report.bottom) = model.shown_terms();
        Ok(Some(model))
    }

    /// Folds within the training samples: stretches of trading days. Labels and groups are kept apart as those of the walk are.
    fn splits(&self, goal: &Goal, train: &[usize], folds: usize, lead: usize) -> Result<Vec<Split>> {
        let Data { walk, ctx, .. } = *self;
        let folds =
            FoldParams { folds, by: FoldsBy::Time, embargo_days: u32::try_from(walk.embargo_days).unwrap_or(u32::MAX) };
        draw_folds(goal, &self.order(train, lead), &folds, ctx.seed())
    }

    /// Groups and times of the training samples, whose labels begin `lead` days before their texts. Trading days stand for natural ones,
    /// so that an embargo counts them.
    fn order(&self, train: &[usize], lead: usize) -> FoldRows {
        let day = |index: usize| NaiveDateTime::default() + TimeDelta::days(index as i64);
        let span = |&i: &usize| (day(self.samples[i].date.saturating_sub(lead)), day(self.samples[i].label_known));
        FoldRows {
            groups: train.iter().map(|&i| self.samples[i].group).collect(),
            spans: train.iter().map(span).collect(),
        }
    }

    /// Tries the settings of a search on folds of the training samples, for each of which the inputs are fitted anew.
    fn search(&self, goal: &Goal, train: &[usize]) -> Result<ChosenSettings> {
        let Data { params, ctx, .. } = *self;
        let wanted = &params.search;
        let splits = self.splits(goal, train, wanted.folds, params.label_lead)?;
        let rows = StackedSubset { stack: self.rows, rows: train };
        let order = self.order(train, params.label_lead);
        let training = TrainingRows { order: Some(&order), ..TrainingRows::default() };
        let mut points = search(&rows, goal, training, &splits, &params.estimator, wanted, ctx)?;
        let best = choose_point(&points, wanted.one_standard_error).context(Word(
            "没有一组设置在任何一折有结果：请减少折数或换一个指标",
            "no combination of settings has a figure in any fold: use fewer folds or another measure",
        ))?;
        let tried = points.len();
        Ok(ChosenSettings::new(points.swap_remove(best), wanted.measure_of(goal)?, tried))
    }

    /// Calibrates on scores out of fold.
    fn calibrate(
        &self,
        estimator: &mut Estimator,
        x: &Design,
        goal: &Goal,
        train: &[usize],
        settings: &EstimatorParams,
    ) -> Result<()> {
        let Data { params, ctx, .. } = *self;
        let splits = self.splits(goal, train, params.classes.calibration_folds, 0)?;
        let order = self.order(train, params.label_lead);
        let rows = TrainingRows { order: Some(&order), ..TrainingRows::default() };
        let scores = out_of_fold(x, goal, rows, &splits, settings, ctx)?;
        calibrate(estimator, goal, &scores, None, params.classes.calibrate)
    }

    /// The estimator's scores of the test samples, `[samples, outputs]`, with their figures noted in `report`.
    fn score(&self, model: &TextModel, test: &[usize], report: &mut FoldReport) -> Result<Vec<f64>> {
        let x = self.rows.design(&model.inputs, test)?;
        let scores = model.estimator.scores(&x);
        report.test_rows = test.len();
        report.unseen = (0..test.len()).filter(|&at| !x.has_value(at)).count();
        let rows = scores.chunks(model.estimator.outputs());
        let labelled = test.iter().map(|&i| self.samples[i].label).zip(rows).filter(|(label, _)| !label.is_nan());
        let (labels, found): (Vec<f64>, Vec<f64>) =
            labelled.map(|(label, scores)| (label, model.score_of(scores))).unzip();
        report.out_of_sample = rank_correlation(&found, &labels);
        Ok(scores)
    }
}

/// The samples that train, and their goals, from the labels of all admitted samples.
fn goal(admitted: &[usize], labels: &[f64], params: &TextRegression) -> Result<(Vec<usize>, Goal)> {
    let method = params.estimator.method;
    let form = match (method.learns(GoalKind::Values), method.learns(GoalKind::Classes)) {
        (true, false) => Some(params.label.unwrap_or_default()),
        (true, true) => params.label,
        (false, _) => None,
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
