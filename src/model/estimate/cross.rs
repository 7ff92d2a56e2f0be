//! What takes several fits: scores out of fold, calibration on them, and the choice of a penalty.

use anyhow::{Context, Result, ensure};

use super::{Estimator, EstimatorParams, Goal, Guess, Method, fit_estimator};
use crate::job::Ctx;
use crate::model::calibration::{CalibrationForm, Calibrator};
use crate::model::sparse::Csr;
use crate::model::validation::{GridPoint, Split};

/// The scores `[rows, outputs]` that each row got from a model that was fitted without its fold; NaN for a row that no fold
/// tests. Progress is counted in folds.
pub fn out_of_fold(
    x: &Csr,
    goal: &Goal,
    weights: Option<&[f64]>,
    splits: &[Split],
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<Vec<f64>> {
    let mut scores = Vec::new();
    for (at, split) in splits.iter().enumerate() {
        let (model, tested) = fit_fold(x, goal, weights, split, params, ctx)
            .with_context(|| format!("fold {} of {}", at + 1, splits.len()))?;
        let k = model.outputs();
        scores.resize(x.rows() * k, f64::NAN);
        for (&i, row) in split.test.iter().zip(model.scores(&tested).chunks(k)) {
            scores[i * k..][..k].copy_from_slice(row);
        }
        ctx.advance(1)?;
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
    ensure!(scores.len() == goal.rows() * k, "{} scores for {} rows and {k} outputs", scores.len(), goal.rows());
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
            Goal::Values(_) => anyhow::bail!("values have no probabilities to calibrate"),
        };
        let of: Vec<f64> = inputs.iter().map(|row| row[c]).collect();
        let name = goal.names().get(if k == 1 { 1 } else { c }).cloned().unwrap_or_default();
        let found = Calibrator::fit(form, &of, &so, weights.as_deref()).with_context(|| format!("class {name:?}"))?;
        calibrators.extend(found);
    }
    estimator.calibrators = calibrators;
    Ok(())
}

/// What each strength of the penalty reaches out of fold. Progress is counted in folds.
pub fn search_penalty(
    x: &Csr,
    goal: &Goal,
    weights: Option<&[f64]>,
    splits: &[Split],
    params: &EstimatorParams,
    alphas: &[f64],
    ctx: &Ctx,
) -> Result<Vec<GridPoint>> {
    ensure!(
        params.method != Method::Boosted,
        "a grid of penalties is for linear models and naive Bayes, not for trees"
    );
    let mut points = Vec::with_capacity(alphas.len());
    for &alpha in alphas {
        let mut params = params.clone();
        params.linear.alpha = alpha;
        params.bayes.smoothing = alpha;
        let mut figures = Vec::with_capacity(splits.len());
        for (at, split) in splits.iter().enumerate() {
            let (model, tested) = fit_fold(x, goal, weights, split, &params, ctx)
                .with_context(|| format!("fold {} of {}, alpha = {alpha}", at + 1, splits.len()))?;
            let guess: Guess = model.guess(&tested);
            figures.push(guess.judge(&goal.of(&split.test)).figure());
            ctx.advance(1)?;
        }
        points.push(GridPoint::of(alpha, figures));
    }
    Ok(points)
}

/// The model of a fold, and the rows that it tests.
fn fit_fold(
    x: &Csr,
    goal: &Goal,
    weights: Option<&[f64]>,
    split: &Split,
    params: &EstimatorParams,
    ctx: &Ctx,
) -> Result<(Estimator, Csr)> {
    let train_weights: Option<Vec<f64>> = weights.map(|w| split.train.iter().map(|&i| w[i]).collect());
    let model =
        fit_estimator(&rows_of(x, &split.train), &goal.of(&split.train), train_weights.as_deref(), params, ctx)?;
    Ok((model, rows_of(x, &split.test)))
}

/// Some rows of a matrix, all its columns.
fn rows_of(x: &Csr, rows: &[usize]) -> Csr {
    let mut some = Csr::new(x.cols());
    rows.iter().for_each(|&i| some.push_row(x.row(i).iter()));
    some
}
