//! Linear support vector machines by dual coordinate descent, as LIBLINEAR (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
//!
//! Minimises `alpha / 2 (|w|^2 + b^2) + sum s loss(t (xw + b))` with t = +-1 and loss `max(0, 1 - m)` (hinge) or its square;
//! the intercept is a weight like the others on a column of ones, as in scikit-learn's `LinearSVC`. alpha is 1/C. Rows are
//! visited in an order drawn from the seed, rows at their bound are passed over until the rest has settled.

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Convergence, Linear, LinearParams, SvmLoss};
use crate::design::Design;
use crate::goal::{Goal, GoalKind};
use crate::learner::{ALPHA, C, FittedScorer, Learner, Link, Setting, TrainingSet, rows_of};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

pub(crate) struct SvmLearner;

impl Learner for SvmLearner {
    fn name(&self) -> &'static str {
        "svm"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Classes, GoalKind::Labels]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["linear", "svm_loss"]
    }

    fn settings(&self) -> &'static [Setting] {
        &[C, ALPHA]
    }

    fn example_grid(&self) -> &'static str {
        "C = [0.1, 1.0, 10.0]"
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let TrainingSet { x, params, ctx, .. } = *set;
        let two = |up: &[bool], weights: Option<&[f64]>, problem: usize| {
            let seed = ctx.seed().wrapping_add(problem as u64);
            svm(x, up, weights, params.svm_loss, &params.linear, seed, ctx)
        };
        match set.goal {
            Goal::Classes { class, names } if names.len() == 2 => {
                Ok(FittedScorer::linear(Link::Margin, vec![two(&rows_of(class, 1), set.weights, 0)?]))
            }
            Goal::Classes { class, names } => {
                let against_rest = |c: usize| {
                    two(&rows_of(class, c), set.weights, c)
                        .with_context(|| message!("类别 {:?}", "class {:?}", names[c]))
                };
                let models = (0..names.len()).into_par_iter().map(against_rest).collect::<Result<_>>()?;
                Ok(FittedScorer::linear(Link::Margin, models))
            }
            Goal::Labels { labels, .. } => set.one_against_rest(labels, Link::Margin, two),
            Goal::Values(_) => Err(set.refused()),
        }
    }
}

/// Fits which rows of `x` are `up`. The gap between primal and dual objective, relative to the primal, ends below
/// [`LinearParams::tolerance`].
pub fn svm(
    x: &Design,
    up: &[bool],
    weights: Option<&[f64]>,
    loss: SvmLoss,
    params: &LinearParams,
    seed: u64,
    ctx: &Ctx,
) -> Result<Linear> {
    super::model::check(x, up.len(), weights, params)?;
    ensure!(
        up.contains(&true) && up.contains(&false),
        "支持向量机需要两类的行",
        "a support vector machine needs rows of both classes"
    );
    let n = x.rows();
    // In LIBLINEAR's scale: 1/2 |w|^2 + C sum s loss.
    let cost: Vec<f64> = (0..n).map(|i| weights.map_or(1.0, |s| s[i]) / params.alpha).collect();
    let (bound, softness): (Vec<f64>, Vec<f64>) = match loss {
        SvmLoss::Hinge => (cost.clone(), vec![0.0; n]),
        SvmLoss::SquaredHinge => (vec![f64::INFINITY; n], cost.iter().map(|c| 0.5 / c).collect()),
    };
    let sign: Vec<f64> = up.iter().map(|&up| if up { 1.0 } else { -1.0 }).collect();
    let square = |i: usize| x.row(i).iter().map(|(_, v)| v.powi(2)).sum::<f64>() + 1.0;
    let diagonal: Vec<f64> = (0..n).map(|i| square(i) + softness[i]).collect();

    let mut dual = vec![0.0; n];
    let mut w = vec![0.0; x.cols()];
    let mut b = 0.0;
    // A row of no weight costs nothing wherever it lies.
    let all: Vec<u32> = (0..n as u32).filter(|&i| cost[i as usize] > 0.0).collect();
    let mut active = all.clone();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut highest, mut lowest) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut shrink_goal = 0.1;
    let mut convergence = Convergence { gradient: 1.0, ..Convergence::default() };
    while convergence.iterations < params.max_iterations {
        ctx.check()?;
        convergence.iterations += 1;
        active.shuffle(&mut rng);
        let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut at = 0;
        while at < active.len() {
            let i = active[at] as usize;
            let row = x.row(i);
            let slope = sign[i] * (row.dot(&w) + b) - 1.0 + softness[i] * dual[i];
            let mut projected = slope;
            if dual[i] == 0.0 {
                if slope > highest {
                    active.swap_remove(at);
                    continue;
                }
                projected = slope.min(0.0);
            } else if dual[i] == bound[i] {
                if slope < lowest {
                    active.swap_remove(at);
                    continue;
                }
                projected = slope.max(0.0);
            }
            (top, bottom) = (top.max(projected), bottom.min(projected));
            if projected.abs() > 1e-12 {
                let next = (dual[i] - slope / diagonal[i]).clamp(0.0, bound[i]);
                let by = (next - dual[i]) * sign[i];
                dual[i] = next;
                row.add_to(by, &mut w);
                b += by;
            }
            at += 1;
        }
        if top - bottom <= shrink_goal {
            // Rows that were passed over are checked before the solver stops.
            let all_active = active.len() == all.len();
            convergence.gradient = gap(x, &sign, &cost, &softness, &dual, (&w, b), loss);
            if convergence.gradient <= params.tolerance {
                convergence.converged = true;
                break;
            }
            if all_active {
                shrink_goal *= 0.1;
            }
            active.clone_from(&all);
            (highest, lowest) = (f64::INFINITY, f64::NEG_INFINITY);
            continue;
        }
        highest = if top <= 0.0 { f64::INFINITY } else { top };
        lowest = if bottom >= 0.0 { f64::NEG_INFINITY } else { bottom };
    }
    Ok(Linear { weights: w, intercept: b, convergence })
}

/// Primal less dual objective, relative to the primal.
fn gap(
    x: &Design,
    sign: &[f64],
    cost: &[f64],
    softness: &[f64],
    dual: &[f64],
    (w, b): (&[f64], f64),
    loss: SvmLoss,
) -> f64 {
    let size = w.iter().map(|w| w * w).sum::<f64>() + b * b;
    let mut scores = vec![0.0; x.rows()];
    x.product(w, 1, &mut scores);
    let short = scores.into_iter().zip(sign).map(|(m, t)| (1.0 - t * (m + b)).max(0.0));
    let lost: f64 = match loss {
        SvmLoss::Hinge => short.zip(cost).map(|(short, c)| c * short).sum(),
        SvmLoss::SquaredHinge => short.zip(cost).map(|(short, c)| c * short * short).sum(),
    };
    let primal = 0.5 * size + lost;
    let held: f64 = dual.iter().zip(softness).map(|(a, q)| if *a > 0.0 { a - 0.5 * q * a * a } else { 0.0 }).sum();
    (primal - (held - 0.5 * size)) / primal.max(f64::MIN_POSITIVE)
}
