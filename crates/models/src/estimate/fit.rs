//! Fitting each model to each kind of goal.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::{ClassWeight, Estimator, EstimatorParams, Goal, Link, Method, Scorer, Task, TrainingRows};
use crate::bayes::naive_bayes;
use crate::boost::{BoostGoal, grow};
use crate::design::Design;
use crate::linear::{Convergence, Linear, LinearMap, elastic_net, logistic, ridge, softmax, svm};
use crate::mlp::{Mlp, MlpGoal};
use crate::validation::{FoldRows, hold_out};
use inkstone_base::job::Ctx;

/// Fits an estimator on rows. Its scores are not calibrated; [`super::calibrate`] does that. Call inside [`Ctx::install`].
pub fn fit_estimator(
    x: &Design,
    goal: &Goal,
    rows: TrainingRows<'_>,
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<Estimator> {
    ensure!(x.rows() == goal.rows(), "{} rows of features, but {} goals", x.rows(), goal.rows());
    goal.check()?;
    ensure!(x.cols() > 0, "there are no features to learn from");
    let (fitter, weights) = (Fitter { x, goal, rows, params, ctx }, rows.weights);
    let (link, scorer, convergence, task) = match goal {
        Goal::Values(values) => {
            let (scorer, convergence) = fitter.values(values, weights)?;
            (Link::Value, scorer, convergence, Task::Values)
        }
        Goal::Classes { class, names } => {
            let weights = class_weights(class, names.len(), weights, params.class_weight);
            let (link, scorer, convergence) = fitter.classes(class, names, weights.as_deref())?;
            (link, scorer, convergence, Task::Classes(names.clone()))
        }
        Goal::Labels { labels, names } => {
            let (link, scorer, convergence) = fitter.labels(labels, names, weights)?;
            (link, scorer, convergence, Task::Labels(names.clone()))
        }
    };
    Ok(Estimator { method: params.method, task, link, scorer, calibrators: Vec::new(), convergence })
}

impl Estimator {
    /// A softmax regression that was fitted elsewhere: weights `[columns, classes]` and an intercept a class.
    pub fn of_softmax(names: Vec<String>, weights: Vec<f64>, intercepts: Vec<f64>) -> Result<Estimator> {
        let outputs = names.len();
        ensure!(
            outputs > 1 && intercepts.len() == outputs && weights.len().is_multiple_of(outputs),
            "{} weights and {} intercepts are none of {outputs} classes",
            weights.len(),
            intercepts.len()
        );
        let map = LinearMap { outputs, weights, intercepts };
        let (link, map) = if outputs == 2 { (Link::Odds, lead_of_second(&map)) } else { (Link::Joint, map) };
        Ok(Estimator {
            method: Method::Logistic,
            task: Task::Classes(names),
            link,
            scorer: Scorer::Linear(map),
            calibrators: Vec::new(),
            convergence: Vec::new(),
        })
    }
}

struct Fitter<'a> {
    x: &'a Design,
    goal: &'a Goal,
    rows: TrainingRows<'a>,
    params: &'a EstimatorParams,
    ctx: &'a Ctx,
}

impl Fitter<'_> {
    fn values(&self, values: &[f64], weights: Option<&[f64]>) -> Result<(Scorer, Vec<Convergence>)> {
        let Fitter { x, params, ctx, .. } = *self;
        match params.method {
            Method::Ridge => {
                let model = ridge(x, values, weights, &params.linear, ctx)?;
                Ok((Scorer::Linear(LinearMap::from_models(std::slice::from_ref(&model))), vec![model.convergence]))
            }
            Method::Boosted => {
                let trees = grow(x, &BoostGoal::Value(values), weights, &params.boosted, ctx)?;
                Ok((Scorer::Trees(Arc::new(trees)), Vec::new()))
            }
            Method::Mlp => self.network(&MlpGoal::Values(values), weights),
            method => bail!("{} learns classes, not values; ridge, boosted and mlp learn values", method.name()),
        }
    }

    fn classes(
        &self,
        class: &[u32],
        names: &[String],
        weights: Option<&[f64]>,
    ) -> Result<(Link, Scorer, Vec<Convergence>)> {
        let Fitter { x, params, ctx, .. } = *self;
        let k = names.len();
        let second = || class.iter().map(|&c| c == 1).collect::<Vec<bool>>();
        Ok(match params.method {
            Method::Logistic if params.linear.l1_ratio > 0.0 => {
                let (map, convergence) = elastic_net(x, class, k, weights, &params.linear, ctx)?;
                (if k == 2 { Link::Odds } else { Link::Joint }, Scorer::Linear(map), vec![convergence])
            }
            Method::Logistic if k == 2 => one(Link::Odds, logistic(x, &second(), weights, &params.linear, ctx)?),
            Method::Logistic => {
                let (map, convergence) = softmax(x, class, k, weights, &params.linear, ctx)?;
                (Link::Joint, Scorer::Linear(map), vec![convergence])
            }
            Method::Bayes => {
                let map = naive_bayes(x, class, k, weights, &params.bayes)?;
                if k == 2 {
                    (Link::Odds, Scorer::Linear(lead_of_second(&map)), Vec::new())
                } else {
                    (Link::Joint, Scorer::Linear(map), Vec::new())
                }
            }
            Method::Svm if k == 2 => one(Link::Margin, self.svm(&second(), weights, 0)?),
            Method::Svm => {
                let against_rest = |c: usize| {
                    let up: Vec<bool> = class.iter().map(|&of| of as usize == c).collect();
                    self.svm(&up, weights, c).with_context(|| format!("class {:?}", names[c]))
                };
                several(Link::Margin, (0..k).into_par_iter().map(against_rest).collect::<Result<_>>()?)
            }
            Method::Boosted => {
                let trees = grow(x, &BoostGoal::Class { class, classes: k }, weights, &params.boosted, ctx)?;
                (if k == 2 { Link::Odds } else { Link::Joint }, Scorer::Trees(Arc::new(trees)), Vec::new())
            }
            Method::Mlp => {
                let (network, convergence) = self.network(&MlpGoal::Classes { class, classes: k }, weights)?;
                (if k == 2 { Link::Odds } else { Link::Joint }, network, convergence)
            }
            Method::Ridge => bail!("ridge learns values, not classes; choose logistic, bayes, svm, boosted or mlp"),
        })
    }

    /// Each label against all rows without it; a network learns all of them at once.
    fn labels(
        &self,
        labels: &[Vec<u32>],
        names: &[String],
        weights: Option<&[f64]>,
    ) -> Result<(Link, Scorer, Vec<Convergence>)> {
        let Fitter { x, params, ctx, .. } = *self;
        if params.method == Method::Mlp {
            let weights_of = |up: usize| match params.class_weight {
                ClassWeight::None => [1.0, 1.0],
                ClassWeight::Balanced => [labels.len() - up, up].map(|n| labels.len() as f64 / (2.0 * n.max(1) as f64)),
            };
            let label_weights = self.goal.sizes().into_iter().map(weights_of).collect();
            let (network, convergence) = self.network(&MlpGoal::Labels { labels, weights: label_weights }, weights)?;
            return Ok((Link::Odds, network, convergence));
        }
        let has = |c: usize| labels.iter().map(|row| row.binary_search(&(c as u32)).is_ok()).collect::<Vec<bool>>();
        let linear = |c: usize| -> Result<Linear> {
            let up = has(c);
            let of_two: Vec<u32> = up.iter().map(|&up| u32::from(up)).collect();
            let n = up.iter().filter(|up| **up).count();
            if n == 0 || n == up.len() {
                return Ok(constant(n, up.len(), x.cols()));
            }
            let weights = class_weights(&of_two, 2, weights, params.class_weight);
            let weights = weights.as_deref();
            match params.method {
                Method::Logistic if params.linear.l1_ratio > 0.0 => {
                    let (map, convergence) = elastic_net(x, &of_two, 2, weights, &params.linear, ctx)?;
                    Ok(Linear { weights: map.weights, intercept: map.intercepts[0], convergence })
                }
                Method::Logistic => logistic(x, &up, weights, &params.linear, ctx),
                Method::Bayes => {
                    let map = lead_of_second(&naive_bayes(x, &of_two, 2, weights, &params.bayes)?);
                    let convergence = Convergence { converged: true, ..Convergence::default() };
                    Ok(Linear { weights: map.weights, intercept: map.intercepts[0], convergence })
                }
                Method::Svm => self.svm(&up, weights, c),
                Method::Ridge | Method::Boosted | Method::Mlp => {
                    bail!("{} does not learn sets of labels; choose logistic, bayes, svm or mlp", params.method.name())
                }
            }
        };
        let named = |c: usize| linear(c).with_context(|| format!("label {:?}", names[c]));
        let models = (0..names.len()).into_par_iter().map(named).collect::<Result<_>>()?;
        let link = if params.method == Method::Svm { Link::Margin } else { Link::Odds };
        Ok(several(link, models))
    }

    fn network(&self, goal: &MlpGoal<'_>, weights: Option<&[f64]>) -> Result<(Scorer, Vec<Convergence>)> {
        let nothing_known = FoldRows::default();
        let split = hold_out(self.goal, self.rows.order.unwrap_or(&nothing_known), self.ctx.seed())?;
        let (network, convergence) = Mlp::fit(self.x, goal, weights, &split, &self.params.mlp, self.ctx)?;
        Ok((Scorer::Network(network), vec![convergence]))
    }

    fn svm(&self, up: &[bool], weights: Option<&[f64]>, problem: usize) -> Result<Linear> {
        let seed = self.ctx.seed().wrapping_add(problem as u64);
        svm(self.x, up, weights, self.params.svm_loss, &self.params.linear, seed, self.ctx)
    }
}

fn one(link: Link, model: Linear) -> (Link, Scorer, Vec<Convergence>) {
    several(link, vec![model])
}

fn several(link: Link, models: Vec<Linear>) -> (Link, Scorer, Vec<Convergence>) {
    let convergence = models.iter().map(|model| model.convergence).collect();
    (link, Scorer::Linear(LinearMap::from_models(&models)), convergence)
}

/// The log-odds of the second of two classes from the joint scores of both.
fn lead_of_second(map: &LinearMap) -> LinearMap {
    let lead = |pair: &[f64]| pair[1] - pair[0];
    LinearMap {
        outputs: 1,
        weights: map.weights.chunks(2).map(lead).collect(),
        intercepts: vec![lead(&map.intercepts)],
    }
}

/// The model of a label that all rows or none have: its frequency, half a row added to each side.
fn constant(n: usize, rows: usize, columns: usize) -> Linear {
    let intercept = ((n as f64 + 0.5) / ((rows - n) as f64 + 0.5)).ln();
    let convergence = Convergence { converged: true, ..Convergence::default() };
    Linear { weights: vec![0.0; columns], intercept, convergence }
}

/// The rows' weights with the classes balanced, if that is wanted.
fn class_weights(class: &[u32], classes: usize, weights: Option<&[f64]>, form: ClassWeight) -> Option<Vec<f64>> {
    if form == ClassWeight::None {
        return weights.map(<[f64]>::to_vec);
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut sizes = vec![0.0; classes];
    class.iter().enumerate().for_each(|(i, &c)| sizes[c as usize] += weight(i));
    let total: f64 = sizes.iter().sum();
    let balanced = |(i, &c): (usize, &u32)| weight(i) * total / (classes as f64 * sizes[c as usize]);
    Some(class.iter().enumerate().map(balanced).collect())
}
