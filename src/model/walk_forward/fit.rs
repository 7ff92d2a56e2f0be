//! A walked text regression: fit the model of a fold on its training samples, score its test samples.

use anyhow::{Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::WalkForward;
use super::text::{FoldReport, LabelForm, Predictions, Sample, Target, TextRegression};
use super::walk::{Step, Walked, walk_folds};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::linear::{Linear, logistic, ridge};
use crate::model::metrics::{area_under_curve, r_squared, rank_correlation};
use crate::model::sparse::{Csr, Row};
use crate::model::vectorize::Weighting;
use crate::stats::{average_ranks, quantile};
use crate::text::Frequency;

/// Terms shown at each end of a fold's weights.
const SHOWN_TERMS: usize = 20;

/// Rows weighed between two looks at whether to stop.
const ROWS_PER_CHECK: usize = 1024;

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
    let data = Data { samples, counts, params, walk, ctx };
    data.check()?;
    let mut score = vec![f32::NAN; samples.len()];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        ctx.install(|| {
            let Some(model) = data.fit(step, report)? else { return Ok(None) };
            for (&i, found) in step.test.iter().zip(data.score(&model, &step.test, report)) {
                score[i] = found as f32;
            }
            Ok(Some(model))
        })
    })?;
    let Walked { fold, models, folds } = walked;
    Ok((Predictions { score, fold, models, folds }, report))
}

/// What a walk works on.
struct Data<'a> {
    samples: &'a [Sample],
    counts: &'a Csr,
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
        ensure!(params.tail > 0.0 && params.tail <= 0.5, "tail = {} must be above 0 and at most 0.5", params.tail);
        Ok(())
    }

    /// Fits the model of a fold on its training samples, and notes in `report` what it saw; `None` when those that are
    /// left are too few.
    fn fit(&self, step: &Step, report: &mut FoldReport) -> Result<Option<TextModel>> {
        let Data { samples, counts, params, walk, ctx } = *self;
        let labels: Vec<f64> = step.train.iter().map(|&i| samples[i].label).collect();
        let (train, goal) = goal(&step.train, &labels, params)?;
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
        report.convergence = linear.convergence;
        report.vocabulary = terms.len();
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by(|&a, &b| linear.weights[b].total_cmp(&linear.weights[a]).then(a.cmp(&b)));
        let shown = |&j: &usize| (terms[j], linear.weights[j] as f32);
        report.top = order.iter().take_while(|&&j| linear.weights[j] > 0.0).take(SHOWN_TERMS).map(shown).collect();
        report.bottom =
            order.iter().rev().take_while(|&&j| linear.weights[j] < 0.0).take(SHOWN_TERMS).map(shown).collect();
        Ok(Some(TextModel { fitted_until: step.fitted_until, terms, weighting, linear }))
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
fn goal(admitted: &[usize], labels: &[f64], params: &TextRegression) -> Result<(Vec<usize>, Goal)> {
    let mut sorted = labels.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (params.target, params.label) {
        (Target::Ridge, LabelForm::Raw) => Ok((admitted.to_vec(), Goal::Value(labels.to_vec()))),
        (Target::Ridge, LabelForm::Winsorised) => {
            let (low, high) = (quantile(&sorted, params.winsor), quantile(&sorted, 1.0 - params.winsor));
            Ok((admitted.to_vec(), Goal::Value(labels.iter().map(|y| y.clamp(low, high)).collect())))
        }
        (Target::Ridge, LabelForm::Ranked) => {
            let n = labels.len() as f64;
            let ranks = average_ranks(labels);
            Ok((admitted.to_vec(), Goal::Value(ranks.iter().map(|rank| (rank - 0.5) / n - 0.5).collect())))
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
            let outer = admitted.iter().copied().zip(labels).filter(|(_, y)| **y <= low || **y >= high);
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

#[cfg(test)]
mod tests;
