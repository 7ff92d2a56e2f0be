//! Goals of boosting: base scores, and the first and second derivatives of the loss in each score.
//!
//! The losses of XGBoost: squared loss for values, log loss for two classes, softmax for more, whose second derivative is taken twice.

use anyhow::Result;
use rayon::prelude::*;

use crate::linear::to_probabilities;

use inkstone_base::ensure;

/// The least second derivative of a log loss, so that rows which are called rightly still count.
const LEAST_HESSIAN: f64 = 1e-16;
/// Rows that one task takes at the least.
const ROWS_PER_TASK: usize = 1024;

/// The goal of boosting.
pub(crate) enum BoostGoal<'a> {
    Value(&'a [f64]),
    /// One of the classes; of two there is one score, the log-odds of the second.
    Class {
        /// By row.
        class: &'a [u32],
        classes: usize,
    },
}

/// First and second derivative of the loss of a row in one score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Derivatives {
    pub(super) gradient: f32,
    pub(super) hessian: f32,
}

impl BoostGoal<'_> {
    /// The scores before the first tree: the mean, or the classes' log-frequencies.
    pub(super) fn base_scores(&self, weights: &[f64]) -> Result<Vec<f64>> {
        let total: f64 = weights.iter().sum();
        ensure!(total > 0.0, "所有行的权重都为 0", "all rows have weight 0");
        match self {
            BoostGoal::Value(y) => {
                ensure!(
                    y.iter().all(|v| v.is_finite()),
                    "树的每一行都须有有限的目标值；请去掉其他行",
                    "trees need a finite target in each row; leave the others out"
                );
                Ok(vec![y.iter().zip(weights).map(|(y, s)| s * y).sum::<f64>() / total])
            }
            BoostGoal::Class { class, classes } => {
                let mut sizes = vec![0.0; *classes];
                class.iter().zip(weights).for_each(|(&c, s)| sizes[c as usize] += s);
                ensure!(
                    *classes > 1 && sizes.iter().all(|n| *n > 0.0),
                    "树须有两个以上类别的行，且每类都有",
                    "trees need rows of two classes or more, and of each"
                );
                Ok(match sizes[..] {
                    [first, second] => vec![(second / first).ln()],
                    _ => sizes.iter().map(|n| (n / total).ln()).collect(),
                })
            }
        }
    }

    /// The highest second derivative of a row of weight 1.
    pub(super) fn highest_hessian(&self) -> f64 {
        match self {
            BoostGoal::Value(_) => 1.0,
            BoostGoal::Class { classes: 2, .. } => 0.25,
            BoostGoal::Class { .. } => 0.5,
        }
    }

    /// The derivatives at these scores, both `[rows, outputs]`. Call inside `Ctx::install`.
    pub(super) fn derivatives(&self, scores: &[f64], weights: &[f64], outputs: usize, into: &mut [Derivatives]) {
        let rows = into.par_chunks_mut(outputs).zip(scores.par_chunks(outputs)).zip(weights).enumerate();
        rows.with_min_len(ROWS_PER_TASK).for_each_init(
            || vec![0.0; outputs],
            |p, (i, ((into, scores), &weight))| match self {
                BoostGoal::Value(y) => {
                    into[0] = Derivatives { gradient: (weight * (scores[0] - y[i])) as f32, hessian: weight as f32 };
                }
                BoostGoal::Class { class, .. } if outputs == 1 => {
                    let p = 1.0 / (1.0 + (-scores[0]).exp());
                    into[0] = log_loss(p, class[i] == 1, weight, 1.0);
                }
                BoostGoal::Class { class, .. } => {
                    p.copy_from_slice(scores);
                    to_probabilities(p);
                    for (c, (into, p)) in into.iter_mut().zip(p).enumerate() {
                        *into = log_loss(*p, class[i] as usize == c, weight, 2.0);
                    }
                }
            },
        );
    }
}

fn log_loss(p: f64, is_class: bool, weight: f64, hessians: f64) -> Derivatives {
    Derivatives {
        gradient: (weight * (p - f64::from(u8::from(is_class)))) as f32,
        hessian: (weight * (hessians * p * (1.0 - p)).max(LEAST_HESSIAN)) as f32,
    }
}
