//! Ridge regression by conjugate gradients on the centred normal equations; the centring is never carried out on the
//! matrix, but enters each product as a correction of rank one. With dense columns the solver is preconditioned by their Cholesky
//! factor, and where there are no others it ends after a few steps.

use anyhow::Result;

use super::cg::{self, dot};
use super::precondition::{DenseFactor, Preconditioner, squares};
use super::{Convergence, Linear, LinearParams};
use crate::design::{Design, TwoWay};
use crate::goal::{Goal, GoalKind};
use crate::learner::{ALPHA, FittedScorer, Learner, Link, Setting, TrainingSet};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

pub(crate) struct RidgeLearner;

impl Learner for RidgeLearner {
    fn name(&self) -> &'static str {
        "ridge"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Values]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["linear"]
    }

    fn settings(&self) -> &'static [Setting] {
        &[ALPHA]
    }

    fn example_grid(&self) -> &'static str {
        "alpha = [1.0, 10.0]"
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let Goal::Values(values) = set.goal else { return Err(set.refused()) };
        let model = ridge(set.x, values, set.weights, &set.params.linear, set.ctx)?;
        Ok(FittedScorer::linear(Link::Value, vec![model]))
    }
}

/// Fits `y` on the rows of `x`, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn ridge(x: &Design, y: &[f64], weights: Option<&[f64]>, params: &LinearParams, ctx: &Ctx) -> Result<Linear> {
    super::model::check(x, y.len(), weights, params)?;
    ensure!(
        y.iter().all(|v| v.is_finite()),
        "岭回归的每一行都须有有限的目标值；请去掉其他行",
        "ridge regression needs a finite target in each row; leave the others out"
    );
    let two = TwoWay::new(x);
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total: f64 = s.iter().sum();
    let y_mean = dot(s, y) / total;
    let mut means = vec![0.0; x.cols()];
    two.transposed_product(s, 1, &mut means);
    means.iter_mut().for_each(|m| *m /= total);

    let target: Vec<f64> = y.iter().zip(s).map(|(y, s)| s * (y - y_mean)).collect();
    let mut b = vec![0.0; x.cols()];
    two.transposed_product(&target, 1, &mut b);
    let factor = DenseFactor::new(x, s, Some(&means), params.alpha, ctx)?;
    let mut diagonal = squares(&two, s, 1, factor.is_some());
    for (d, mean) in diagonal.iter_mut().zip(&means) {
        *d = (*d - total * mean * mean).max(0.0) + params.alpha;
    }
    let preconditioner = Preconditioner { k: 1, diagonal, dense: factor.as_ref().map(|factor| (factor, vec![1.0])) };

    let mut fitted = vec![0.0; x.rows()];
    let apply = |v: &[f64], out: &mut [f64]| {
        ctx.check()?;
        let shift = dot(&means, v);
        let sum = two.weighed_sum(v, |i, product| s[i] * (product - shift), &mut fitted, out);
        for ((out, v), m) in out.iter_mut().zip(v).zip(&means) {
            *out += params.alpha * v - sum * m;
        }
        Ok(())
    };
    let condition = |r: &[f64], z: &mut [f64]| preconditioner.apply(r, z);
    let (weights, iterations, gradient) = cg::solve(apply, condition, &b, params.tolerance, params.max_iterations)?;
    let intercept = y_mean - dot(&means, &weights);
    let convergence = Convergence { iterations, gradient, converged: gradient <= params.tolerance };
    Ok(Linear { weights, intercept, convergence })
}
