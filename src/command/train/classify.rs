//! `train logistic`, `bayes`, `svm`, `boosted`, `mlp` and `ridge`.

use anyhow::{Result, ensure};

use super::{format, lines, open, trained_with_figures, vectorize};
use crate::cli::{Bayes, Boosted, Files, Learner, Logistic, Mlp, OnEncoder, Ridge, Svm};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::classify::{self, ClassifyParams};
use inkstone_features::standalone::{head, open_encoder};
use inkstone_models::{
    BayesParams, CalibrationForm, EstimatorParams, FoldParams, FoldsBy, LinearParams, Method, Preset,
};

/// Tolerance of support vector machines, as a share of the objective: the smallest duality gap that is reached in reasonable time.
const GAP: f64 = 1e-4;

pub(super) fn logistic(args: &Logistic, ctx: &Ctx) -> Result<Summary> {
    let (alpha, penalties) = inverse(&args.inverse.c)?;
    let estimator = EstimatorParams {
        method: Method::Logistic,
        linear: LinearParams { l1_ratio: args.l1_ratio, ..args.solver.linear(alpha) },
        class_weight: args.classes.class_weight,
        ..EstimatorParams::default()
    };
    run(&args.learner, Some(&args.encoder), estimator, penalties, args.classes.calibrate, ctx)
}

pub(super) fn bayes(args: &Bayes, ctx: &Ctx) -> Result<Summary> {
    let (smoothing, penalties) = several(&args.alpha);
    let estimator = EstimatorParams {
        method: Method::Bayes,
        bayes: BayesParams { form: args.form, smoothing },
        class_weight: args.classes.class_weight,
        ..EstimatorParams::default()
    };
    run(&args.learner, None, estimator, penalties, args.classes.calibrate, ctx)
}

pub(super) fn svm(args: &Svm, ctx: &Ctx) -> Result<Summary> {
    let (alpha, penalties) = inverse(&args.inverse.c)?;
    let estimator = EstimatorParams {
        method: Method::Svm,
        linear: LinearParams { tolerance: args.solver.tolerance.unwrap_or(GAP), ..args.solver.linear(alpha) },
        svm_loss: args.loss,
        class_weight: args.classes.class_weight,
        ..EstimatorParams::default()
    };
    run(&args.learner, Some(&args.encoder), estimator, penalties, args.classes.calibrate, ctx)
}

pub(super) fn boosted(args: &Boosted, ctx: &Ctx) -> Result<Summary> {
    let estimator = EstimatorParams {
        method: Method::Boosted,
        boosted: args.params.clone(),
        class_weight: args.classes.class_weight,
        ..EstimatorParams::default()
    };
    run(&args.learner, Some(&args.encoder), estimator, Vec::new(), args.classes.calibrate, ctx)
}

pub(super) fn mlp(args: &Mlp, ctx: &Ctx) -> Result<Summary> {
    let estimator = EstimatorParams {
        method: Method::Mlp,
        mlp: args.params.clone(),
        class_weight: args.classes.class_weight,
        ..EstimatorParams::default()
    };
    run(&args.learner, Some(&args.encoder), estimator, Vec::new(), args.classes.calibrate, ctx)
}

pub(super) fn ridge(args: &Ridge, ctx: &Ctx) -> Result<Summary> {
    let (alpha, penalties) = several(&args.alpha);
    let estimator =
        EstimatorParams { method: Method::Ridge, linear: args.solver.linear(alpha), ..EstimatorParams::default() };
    run(&args.learner, Some(&args.encoder), estimator, penalties, CalibrationForm::None, ctx)
}

fn run(
    args: &Learner,
    encoder: Option<&OnEncoder>,
    estimator: EstimatorParams,
    penalties: Vec<f64>,
    calibrate: CalibrationForm,
    ctx: &Ctx,
) -> Result<Summary> {
    let name = estimator.method.name();
    ensure!(
        args.embargo == 0 && args.label_days == 0 || args.cv_by == FoldsBy::Time,
        "--embargo and --label-days are for folds by time; add --cv-by time"
    );
    let drawn = args.cv.is_some() || args.cv_by != FoldsBy::Class;
    let folds = FoldParams {
        folds: args.cv.unwrap_or(FoldParams::default().folds),
        by: args.cv_by,
        embargo_days: args.embargo,
    };
    let params = ClassifyParams {
        learn: args.learn,
        vectorizer: vectorize::params(Preset::Tfidf, &args.terms)?,
        estimator,
        penalties,
        one_standard_error: args.one_se,
        calibrate,
        folds: drawn.then_some(folds),
        label_days: args.label_days,
    };
    let Files { corpus, output } = &args.files;
    if let Some(OnEncoder { model: Some(model), onnx }) = encoder {
        let format = format(&corpus.input, corpus);
        let mut lines = lines(&corpus.input, corpus)?;
        let encoder = open_encoder(model, &onnx.contextual(), format, output, ctx)?;
        let folder = disk::folder_of(output);
        let (head, report) = staged(ctx, "train", || head::train(&mut lines, &encoder, &params, folder, ctx))?;
        head.save(output)?;
        return Ok(trained_with_figures(name, output, report));
    }
    let (mut lines, cutter) = open(corpus)?;
    let (model, report) = staged(ctx, "train", || classify::train(&mut lines, &cutter, &params, ctx))?;
    model.save(output, cutter.spec())?;
    Ok(trained_with_figures(name, output, report))
}

/// The penalty that stands, and those to choose among when there are several.
fn several(values: &[f64]) -> (f64, Vec<f64>) {
    match values {
        [one] => (*one, Vec::new()),
        _ => (values.first().copied().unwrap_or(1.0), values.to_vec()),
    }
}

fn inverse(c: &[f64]) -> Result<(f64, Vec<f64>)> {
    ensure!(c.iter().all(|c| *c > 0.0 && c.is_finite()), "C must be a number above 0; {c:?}");
    Ok(several(&c.iter().map(|c| 1.0 / c).collect::<Vec<f64>>()))
}
