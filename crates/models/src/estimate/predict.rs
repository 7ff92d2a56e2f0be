//! From scores to what is called: log-odds, probabilities, classes, and the parts of a score.

use serde::Serialize;

use super::{Estimator, Task};
use crate::calibration::Calibrator;
use crate::design::{Design, DesignRow};
use crate::goal::Goal;
use crate::learner::Link;
use crate::linear::{log_sum_exp, to_probabilities};
use crate::metrics::{ClassReport, LabelReport, ProbabilityReport, ValueReport, largest};

/// The least probability, and the least distance from 1, that calibrated log-odds are taken of: steps can say 0 and 1.
const LEAST: f64 = 1e-6;

/// The predictions for rows. Columns are classes or labels in the order of their names, or the one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// `[rows, columns]`: log-odds of each class or label against all else; a support vector machine without calibration
    /// gives margins; the value where values are estimated.
    pub log_odds: Vec<f64>,
    /// `[rows, columns]`; none for values and for margins.
    pub probabilities: Option<Vec<f64>>,
    /// By row, ascending: the class, or the labels more likely than not; empty for values.
    pub called: Vec<Vec<u32>>,
    pub columns: usize,
}

/// The figures of predictions, by kind of goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    /// Figures of predicted classes.
    Classes {
        /// The predicted classes.
        #[serde(flatten)]
        report: ClassReport,
        /// The figures of the probabilities; none where there are no probabilities, or a class that the model does not know.
        probabilities: Option<ProbabilityReport>,
    },
    /// Figures of predicted label sets.
    Labels(LabelReport),
    /// Figures of estimated values.
    Values(ValueReport),
}

impl Judgement {
    /// The figure that stands for all, higher being better: accuracy, micro F1, minus the mean squared error.
    pub fn figure(&self) -> f64 {
        match self {
            Judgement::Classes { report, .. } => report.accuracy,
            Judgement::Labels(report) => report.micro_average.f1,
            Judgement::Values(report) => -report.mse,
        }
    }
}

impl Estimator {
    /// The scores of rows, `[rows, outputs]`, before calibration. Call inside `Ctx::install`.
    pub fn scores(&self, x: &Design) -> Vec<f64> {
        self.scorer.scores(x)
    }

    /// The predictions for rows. Call inside `Ctx::install`.
    pub fn guess(&self, x: &Design) -> Guess {
        self.guess_from(&self.scores(x))
    }

    /// The predictions from scores of [`Estimator::scores`].
    pub fn guess_from(&self, scores: &[f64]) -> Guess {
        let k = self.outputs();
        let columns = match &self.task {
            Task::Classes(names) | Task::Labels(names) => names.len(),
            Task::Values => 1,
        };
        let mut log_odds = Vec::with_capacity(scores.len() / k * columns);
        let mut probabilities = Vec::new();
        for row in scores.chunks(k) {
            match (&self.task, self.is_calibrated()) {
                (Task::Values, _) => log_odds.extend_from_slice(row),
                (_, true) => {
                    let p = self.calibrated(row, columns);
                    log_odds.extend(p.iter().map(|p| {
                        let p = p.clamp(LEAST, 1.0 - LEAST);
                        (p / (1.0 - p)).ln()
                    }));
                    probabilities.extend(p);
                }
                (_, false) => self.raw(row, &mut log_odds, &mut probabilities),
            }
        }
        let called = match &self.task {
            Task::Values => Vec::new(),
            Task::Classes(_) => log_odds.chunks(columns).map(|row| vec![largest(row) as u32]).collect(),
            Task::Labels(_) => {
                let likely = |row: &[f64]| (0..).zip(row).filter(|(_, z)| **z > 0.0).map(|(c, _)| c).collect();
                log_odds.chunks(columns).map(likely).collect()
            }
        };
        Guess { log_odds, probabilities: (!probabilities.is_empty()).then_some(probabilities), called, columns }
    }

    pub(super) fn raw(&self, row: &[f64], log_odds: &mut Vec<f64>, probabilities: &mut Vec<f64>) {
        let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
        match (&self.task, row) {
            (Task::Classes(_), &[z]) => {
                log_odds.extend([-z, z]);
                if self.link == Link::Odds {
                    probabilities.extend([sigmoid(-z), sigmoid(z)]);
                }
            }
            (_, row) if self.link == Link::Joint => {
                let rest = |c: usize| row.iter().enumerate().filter(move |(l, _)| *l != c).map(|(_, z)| *z);
                log_odds.extend((0..row.len()).map(|c| row[c] - log_sum_exp(rest(c))));
                let mut p = row.to_vec();
                to_probabilities(&mut p);
                probabilities.extend(p);
            }
            (_, row) => {
                log_odds.extend_from_slice(row);
                if self.link == Link::Odds {
                    probabilities.extend(row.iter().map(|&z| sigmoid(z)));
                }
            }
        }
    }

    /// Calibrated probabilities of a row; those of classes sum to 1.
    fn calibrated(&self, row: &[f64], columns: usize) -> Vec<f64> {
        let inputs = self.calibration_inputs(row);
        let mut p: Vec<f64> = self.calibrators.iter().zip(&inputs).map(|(by, z)| by.probability(*z)).collect();
        if let ([second], Task::Classes(_)) = (&p[..], &self.task) {
            return vec![1.0 - second, *second];
        }
        if matches!(self.task, Task::Classes(_)) {
            let sum: f64 = p.iter().sum();
            // No class was thought possible: then each is as likely as any other.
            p.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { 1.0 / columns as f64 });
        }
        p
    }

    /// The input of a row's calibrators: log-odds against all else, or margins.
    pub(super) fn calibration_inputs(&self, row: &[f64]) -> Vec<f64> {
        if self.link != Link::Joint {
            return row.to_vec();
        }
        let rest = |c: usize| row.iter().enumerate().filter(move |(l, _)| *l != c).map(|(_, z)| *z);
        (0..row.len()).map(|c| row[c] - log_sum_exp(rest(c))).collect()
    }

    /// The log-odds of class `of` against class `against`, from a row's scores: margins' difference where there are no
    /// probabilities.
    pub fn lead(&self, scores: &[f64], of: usize, against: usize) -> f64 {
        if self.is_calibrated() {
            let p = self.calibrated(scores, self.task.names().len());
            let least = |c: usize| p[c].clamp(LEAST, 1.0 - LEAST);
            return (least(of) / least(against)).ln();
        }
        match scores {
            &[z] => {
                if of == 1 {
                    z
                } else {
                    -z
                }
            }
            _ => scores[of] - scores[against],
        }
    }

    /// The contribution of each column to the score of class or label `of`, or to its lead over class `against`; the first number is
    /// what is there without any column. Where classes share one softmax, only a lead over another is a sum of parts.
    ///
    /// A sigmoid on one score keeps the sum a sum, so its parts are those of the calibrated log-odds; other calibrations are
    /// not taken apart, and the parts are those of the score below.
    pub fn explain(&self, row: DesignRow<'_>, of: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>) {
        // Two classes have one score, the score of the second.
        let (output, sign) = match (&self.task, self.outputs()) {
            (Task::Classes(_), 1) => (0, if of == 1 { 1.0 } else { -1.0 }),
            _ => (of, 1.0),
        };
        let against = against.filter(|_| self.outputs() > 1);
        let (base, mut parts) = self.scorer.explain(row, output, against);
        let (scale, offset) = match self.calibrators.get(output) {
            Some(Calibrator::Sigmoid { slope, offset }) if self.explains_calibrated() => (-slope, -offset),
            _ => (1.0, 0.0),
        };
        parts.iter_mut().for_each(|(_, part)| *part *= sign * scale);
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        (sign * (scale * base + offset), parts)
    }

    /// True if [`Estimator::explain`] takes the calibrated log-odds apart.
    pub fn explains_calibrated(&self) -> bool {
        let sigmoid = self.calibrators.iter().all(|by| matches!(by, Calibrator::Sigmoid { .. }));
        self.is_calibrated() && sigmoid && (self.outputs() == 1 || matches!(self.task, Task::Labels(_)))
    }
}

impl Guess {
    /// Judges the guesses. `goal` may have more names than the estimator knows, after its own: classes that it never saw.
    pub fn judge(&self, goal: &Goal) -> Judgement {
        match goal {
            Goal::Values(values) => Judgement::Values(ValueReport::new(values, &self.log_odds)),
            Goal::Labels { labels, names } => Judgement::Labels(LabelReport::new(labels, &self.called, names)),
            Goal::Classes { class, names } => {
                let called: Vec<u32> = self.called.iter().map(|row| row[0]).collect();
                let known = class.iter().all(|&c| (c as usize) < self.columns);
                let p = self.probabilities.as_ref().filter(|_| known);
                Judgement::Classes {
                    report: ClassReport::new(class, &called, names),
                    probabilities: p.map(|p| ProbabilityReport::new(class, p, self.columns)),
                }
            }
        }
    }
}
