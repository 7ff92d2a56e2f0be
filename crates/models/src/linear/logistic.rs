//! Binary logistic regression by Newton's method.

use anyhow::Result;

use super::newton::{MarginLoss, minimise};
use super::{Linear, LinearParams, elastic_net, softmax};
use crate::design::Design;
use crate::goal::{Goal, GoalKind};
use crate::learner::{ALPHA, C, FittedScorer, Learner, Link, Setting, TrainingSet, rows_of};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

pub(crate) struct LogisticLearner;

impl Learner for LogisticLearner {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Classes, GoalKind::Labels]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["linear"]
    }

    fn settings(&self) -> &'static [Setting] {
        const SETTINGS: &[Setting] =
            &[C, ALPHA, Setting::number("l1_ratio", true, |params| &mut params.linear.l1_ratio)];
        SETTINGS
    }

    fn example_grid(&self) -> &'static str {
        "C = [0.1, 1.0, 10.0]"
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let TrainingSet { x, params, ctx, .. } = *set;
        let penalty = &params.linear;
        let two = |up: &[bool], weights: Option<&[f64]>| {
            if penalty.l1_ratio == 0.0 {
                return logistic(x, up, weights, penalty, ctx);
            }
            let class: Vec<u32> = up.iter().map(|&up| u32::from(up)).collect();
            let (map, convergence) = elastic_net(x, &class, 2, weights, penalty, ctx)?;
            Ok(Linear { intercept: map.intercept(0), weights: map.weights, convergence })
        };
        match set.goal {
            Goal::Classes { class, names } if names.len() == 2 => {
                Ok(FittedScorer::linear(Link::Odds, vec![two(&rows_of(class, 1), set.weights)?]))
            }
            Goal::Classes { class, names } => {
                let (map, convergence) = if penalty.l1_ratio == 0.0 {
                    softmax(x, class, names.len(), set.weights, penalty, ctx)?
                } else {
                    elastic_net(x, class, names.len(), set.weights, penalty, ctx)?
                };
                Ok(FittedScorer::new(Link::Joint, map, vec![convergence]))
            }
            Goal::Labels { labels, .. } => set.one_against_rest(labels, Link::Odds, |up, weights, _| two(up, weights)),
            Goal::Values(_) => Err(set.refused()),
        }
    }
}

/// Fits which rows of `x` are `up`, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn logistic(x: &Design, up: &[bool], weights: Option<&[f64]>, params: &LinearParams, ctx: &Ctx) -> Result<Linear> {
    super::model::check(x, up.len(), weights, params)?;
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total: f64 = s.iter().sum();
    let ups: f64 = s.iter().zip(up).filter(|(_, up)| **up).map(|(s, _)| s).sum();
    ensure!(
        ups > 0.0 && ups < total,
        "逻辑回归需要两类的行；{total} 行中上涨的有 {ups} 行",
        "logistic regression needs rows of both classes; {ups} of {total} are up"
    );
    // The start is the model that knows the base rate alone.
    let start = (ups / (total - ups)).ln();
    let (map, convergence) = minimise(x, s, &[start], &LogLoss { up, s }, params, ctx)?;
    Ok(Linear { intercept: map.intercept(0), weights: map.weights, convergence })
}

struct LogLoss<'a> {
    up: &'a [bool],
    s: &'a [f64],
}

impl MarginLoss for LogLoss<'_> {
    fn value(&self, margins: &[f64]) -> f64 {
        let loss = |i: usize| {
            let against = if self.up[i] { -margins[i] } else { margins[i] };
            // ln(1 + e^a) without overflow.
            self.s[i] * (against.max(0.0) + (-against.abs()).exp().ln_1p())
        };
        (0..margins.len()).map(loss).sum()
    }

    fn probabilities(&self, margins: &[f64]) -> Vec<f64> {
        margins.iter().map(|&z| 1.0 / (1.0 + (-z).exp())).collect()
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        (0..p.len()).map(|i| self.s[i] * (p[i] - f64::from(u8::from(self.up[i])))).collect()
    }

    fn curve(&self, p: &[f64], u: &mut [f64]) {
        u.iter_mut().zip(p).zip(self.s).for_each(|((u, p), s)| *u *= s * p * (1.0 - p));
    }
}
