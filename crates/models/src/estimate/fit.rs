//! The fit of an estimator to a goal.

use std::sync::Arc;

use anyhow::Result;

use super::method::refused;
use super::{Estimator, Task, TrainingRows};
use crate::design::Design;
use crate::goal::Goal;
use crate::learner::{EstimatorParams, FittedScorer, Link, Method, TrainingSet, class_weights};
use crate::linear::LinearMap;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Fits an estimator on rows. Its scores are not calibrated; [`super::calibrate`] does that. Call inside [`Ctx::install`].
pub fn fit_estimator(
    x: &Design,
    goal: &Goal,
    rows: TrainingRows<'_>,
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<Estimator> {
    ensure!(
        x.rows() == goal.rows(),
        "特征有 {} 行，而目标有 {} 个",
        "{} rows of features, but {} goals",
        x.rows(),
        goal.rows()
    );
    goal.check()?;
    ensure!(params.method.learns(goal.kind()), refused(params.method, goal.kind()));
    ensure!(x.cols() > 0, "没有可学习的特征", "there are no features to learn from");
    let weights = match goal {
        Goal::Classes { class, names } => class_weights(class, names.len(), rows.weights, params.class_weight),
        Goal::Labels { .. } | Goal::Values(_) => rows.weights.map(<[f64]>::to_vec),
    };
    let set = TrainingSet { x, goal, weights: weights.as_deref(), order: rows.order, params, ctx };
    let FittedScorer { link, scorer, convergence } = params.method.learner().fit(&set)?;
    let task = match goal {
        Goal::Values(_) => Task::Values,
        Goal::Classes { names, .. } => Task::Classes(names.clone()),
        Goal::Labels { names, .. } => Task::Labels(names.clone()),
    };
    Ok(Estimator { method: params.method, task, link, scorer, calibrators: Vec::new(), convergence })
}

impl Estimator {
    /// A softmax regression that was fitted elsewhere: weights `[columns, classes]` and an intercept a class.
    pub fn of_softmax(names: Vec<String>, weights: Vec<f64>, intercepts: Vec<f64>) -> Result<Estimator> {
        let outputs = names.len();
        ensure!(
            outputs > 1 && intercepts.len() == outputs && weights.len().is_multiple_of(outputs),
            "{} 个权重与 {} 个截距不是 {outputs} 个类别的",
            "{} weights and {} intercepts are none of {outputs} classes",
            weights.len(),
            intercepts.len()
        );
        let map = LinearMap { outputs, weights, intercepts };
        let (link, map) = if outputs == 2 { (Link::Odds, map.lead_of_second()) } else { (Link::Joint, map) };
        Ok(Estimator {
            method: Method::Logistic,
            task: Task::Classes(names),
            link,
            scorer: Arc::new(map),
            calibrators: Vec::new(),
            convergence: Vec::new(),
        })
    }
}
