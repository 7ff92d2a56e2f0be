//! Targets of the scores, and the loss of scores. Scores are few, and computed with in f64.

use anyhow::Result;

use crate::linear::{log_sum_exp, to_probabilities};
use crate::neural::kernel::Real;
use inkstone_base::ensure;
use inkstone_base::stats::mean;

/// The goal of a perceptron.
pub(crate) enum MlpGoal<'a> {
    Values(&'a [f64]),
    /// The class of each row; of two classes there is one score, the log-odds of the second.
    Classes {
        class: &'a [u32],
        classes: usize,
    },
    /// The labels of each row, ascending. The loss of a label counts `weights[label][0]` times where a row lacks it, `[1]` times where a row
    /// has it.
    Labels {
        labels: &'a [Vec<u32>],
        weights: Vec<[f64; 2]>,
    },
}

impl MlpGoal<'_> {
    pub(super) fn outputs(&self) -> usize {
        match self {
            MlpGoal::Values(_) | MlpGoal::Classes { classes: 2, .. } => 1,
            MlpGoal::Classes { classes, .. } => *classes,
            MlpGoal::Labels { weights, .. } => weights.len(),
        }
    }
}

pub(super) struct Targets<'a> {
    goal: &'a MlpGoal<'a>,
    /// Mean and deviation of values that train, which scores are standardised by.
    scale: (f64, f64),
    /// The weight of each row, on average 1 over those that train; none: 1.
    weights: Option<Vec<f64>>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(goal: &'a MlpGoal<'a>, weights: Option<&[f64]>, train: &[usize]) -> Result<Targets<'a>> {
        let mut scale = (0.0, 1.0);
        if let MlpGoal::Values(values) = goal {
            let center = mean(train.iter().map(|&i| values[i]));
            let deviation = mean(train.iter().map(|&i| (values[i] - center).powi(2))).sqrt();
            scale = (center, if deviation > 0.0 { deviation } else { 1.0 });
        }
        let weights = match weights {
            None => None,
            Some(weights) => {
                ensure!(
                    weights.iter().all(|w| *w >= 0.0 && w.is_finite()),
                    "行的权重须为非负数",
                    "a row's weight must be a number, 0 or above"
                );
                let level = mean(train.iter().map(|&i| weights[i]));
                ensure!(level > 0.0, "所有行的权重都为 0", "all rows have weight 0");
                Some(weights.iter().map(|weight| weight / level).collect())
            }
        };
        Ok(Targets { goal, scale, weights })
    }

    /// Mean and deviation by which scores become values; none where the goal is not values.
    pub(super) fn scale(&self) -> Option<(f64, f64)> {
        matches!(self.goal, MlpGoal::Values(_)).then_some(self.scale)
    }

    /// The loss of a row. Its gradient by the scores goes to `by_scores`.
    pub(super) fn loss<T: Real>(&self, i: usize, scores: &[T], by_scores: &mut [T]) -> f64 {
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let mut put = |at: usize, gradient: f64| by_scores[at] = T::from_f64(weight * gradient);
        let loss = match self.goal {
            MlpGoal::Values(values) => {
                let (center, deviation) = self.scale;
                let off = scores[0].to_f64() - (values[i] - center) / deviation;
                put(0, off);
                0.5 * off * off
            }
            MlpGoal::Classes { class, classes: 2 } => {
                let (loss, gradient) = log_loss(scores[0].to_f64(), class[i] == 1);
                put(0, gradient);
                loss
            }
            MlpGoal::Classes { class, .. } => {
                let right = class[i] as usize;
                let mut p: Vec<f64> = scores.iter().map(|score| score.to_f64()).collect();
                let loss = log_sum_exp(p.iter().copied()) - p[right];
                to_probabilities(&mut p);
                p[right] -= 1.0;
                (0..).zip(p).for_each(|(at, gradient)| put(at, gradient));
                loss
            }
            MlpGoal::Labels { labels, weights } => {
                let one = |(label, (score, weights)): (usize, (&T, &[f64; 2]))| {
                    let has = labels[i].binary_search(&(label as u32)).is_ok();
                    let (loss, gradient) = log_loss(score.to_f64(), has);
                    let weight = weights[usize::from(has)];
                    put(label, weight * gradient);
                    weight * loss
                };
                scores.iter().zip(weights).enumerate().map(one).sum()
            }
        };
        weight * loss
    }
}

/// The cross-entropy of the sigmoid of a score, in nats, and its derivative.
fn log_loss(score: f64, up: bool) -> (f64, f64) {
    let toward = if up { -score } else { score };
    let loss = toward.max(0.0) + (-toward.abs()).exp().ln_1p();
    (loss, 1.0 / (1.0 + (-score).exp()) - f64::from(u8::from(up)))
}
