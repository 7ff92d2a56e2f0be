//! Work that takes several fits: scores out of fold, and calibration on them.

use anyhow::{Context, Result};

use super::{Estimator, TrainingRows, fit_estimator};
use crate::calibration::{CalibrationForm, Calibrator};
use crate::design::{Design, FoldFeatures};
use crate::goal::Goal;
use crate::learner::EstimatorParams;
use crate::validation::Split;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

/// The scores `[rows, outputs]` that each row got from a model that was fitted without its fold; NaN for a row that no fold
/// tests. Call inside [`Ctx::install`].
pub fn out_of_fold(
    x: &impl FoldFeatures,
    goal: &Goal,
    rows: TrainingRows<'_>,
    splits: &[Split],
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    for (at, split) in splits.iter().enumerate() {
        let fold = || message!("第 {} 折（共 {} 折）", "fold {} of {}", at + 1, splits.len());
        let (trained, tested) = x.fold(split).with_context(fold)?;
        let model = fit_part(&trained, goal, rows, &split.train, params, ctx).with_context(fold)?;
        let k = model.outputs();
        scores.resize(x.count() * k, f64::NAN);
        for (&i, row) in split.test.iter().zip(model.scores(&tested).chunks(k)) {
            scores[i * k..][..k].copy_from_slice(row);
        }
        ctx.check()?;
    }
    Ok(scores)
}

/// Gives an estimator probabilities learned from scores out of fold ([`out_of_fold`]).
pub fn calibrate(
    estimator: &mut Estimator,
    goal: &Goal,
    scores: &[f64],
    weights: Option<&[f64]>,
    form: CalibrationForm,
) -> Result<()> {
    let k = estimator.outputs();
    ensure!(
        scores.len() == goal.rows() * k,
        "{1} 行、{k} 个输出，却有 {0} 个得分",
        "{} scores for {} rows and {k} outputs",
        scores.len(),
        goal.rows()
    );
    let scored: Vec<usize> = (0..goal.rows()).filter(|&i| !scores[i * k].is_nan()).collect();
    let inputs: Vec<Vec<f64>> = scored.iter().map(|&i| estimator.calibration_inputs(&scores[i * k..][..k])).collect();
    let weights: Option<Vec<f64>> = weights.map(|w| scored.iter().map(|&i| w[i]).collect());
    let mut calibrators = Vec::with_capacity(k);
    for c in 0..k {
        let so: Vec<bool> = match goal {
            Goal::Classes { class, .. } => {
                scored.iter().map(|&i| class[i] as usize == if k == 1 { 1 } else { c }).collect()
            }
            Goal::Labels { labels, .. } => {
                scored.iter().map(|&i| labels[i].binary_search(&(c as u32)).is_ok()).collect()
            }
            Goal::Values(_) => inkstone_base::bail!("数值没有概率可校准", "values have no probabilities to calibrate"),
        };
        let scores: Vec<f64> = inputs.iter().map(|row| row[c]).collect();
        let name = goal.names().get(if k == 1 { 1 } else { c }).cloned().unwrap_or_default();
        let found = Calibrator::fit(form, &scores, &so, weights.as_deref())
            .with_context(|| message!("类别 {name:?}", "class {name:?}"))?;
        calibrators.extend(found);
    }
    estimator.calibrators = calibrators;
    Ok(())
}

/// Fits an estimator on the rows of a training part.
pub(super) fn fit_part(
    trained: &Design,
    goal: &Goal,
    rows: TrainingRows<'_>,
    train: &[usize],
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<Estimator> {
    let weights: Option<Vec<f64>> = rows.weights.map(|w| train.iter().map(|&i| w[i]).collect());
    let order = rows.order.map(|order| order.select(train));
    let rows = TrainingRows { weights: weights.as_deref(), order: order.as_ref() };
    fit_estimator(trained, &goal.select(train), rows, params, ctx)
}
