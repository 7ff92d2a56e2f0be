//! `train logistic`, `bayes`, `svm`, `boosted`, `mlp` and `ridge`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgGroup, Args, Command, Id};

use super::{Files, Terms, format, lines, open, trained_with_figures, vectorize};
use crate::cli::Onnx;
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::estimators;
use inkstone_features::models::estimators::{ClassifyParams, Learn};
use inkstone_features::models::{head, open_encoder};
use inkstone_models::{
    BayesForm, BayesParams, BoostParams, CalibrationForm, ClassWeight, EstimatorParams, FoldParams, FoldsBy,
    LinearParams, Method, MlpParams, Preset, SvmLoss,
};

/// Flags that all of them take. They read JSON lines with "label", "labels" or "value"; "time" and "group" if there are.
#[derive(Clone, Debug, Args)]
pub struct Learner {
    #[command(flatten)]
    pub files: Files,
    /// Target: label (one class), labels (any number; parts of a label between | count as such) or value.
    /// Default: the first of labels, label, value that a line has.
    ///
    /// 学习目标：label（一个类别）、labels（任意个；标签以 | 分隔的各部分即是）或 value。默认：各行所有的 labels、label、value 中的第一个。
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    #[command(flatten)]
    pub terms: Terms,
    /// Folds of cross-validation, for its figures and for what is chosen by it; default 5 when something is.
    ///
    /// 交叉验证的折数，用于评估与选取；需要选取时默认 5。
    #[arg(help_heading = "Cross-validation", long, value_name = "K", value_parser = flag::<usize>("experiment.folds"))]
    pub cv: Option<usize>,
    /// Folds are drawn by class, by group (never split) or by time (purged). No fold splits a group.
    ///
    /// 分折方式：按类别、按组（组不拆开）或按时间（去除重叠）。任何方式都不拆开一组。
    #[arg(help_heading = "Cross-validation", long, value_name = "BY", value_enum, default_value_t)]
    pub cv_by: FoldsBy,
    /// By time: natural days after a test fold in which no training document may begin.
    ///
    /// 按时间分折：测试折之后多少自然日内的文档不参与训练。
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = FoldParams::default().embargo_days, value_parser = flag::<u32>("experiment.embargo_days"))]
    pub embargo: u32,
    /// By time: natural days from a document to the moment its label is known.
    ///
    /// 按时间分折：文档的标签多少自然日后才可知。
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = 0, value_parser = flag::<u32>("experiment.label_days"))]
    pub label_days: u32,
    /// Of several penalties take the strongest within one standard error of the best.
    ///
    /// 在几个惩罚系数中，取最优值一个标准误之内最强的。
    #[arg(help_heading = "Cross-validation", long)]
    pub one_se: bool,
}

/// Flags of a head: a model on the vectors of another. Those of contextual models say how that other reads texts.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("contextual").multiple(true).args(contextual_flags()).requires("model")))]
pub struct OnEncoder {
    /// Fit on the vectors that this model gives the texts, not on their terms: the folder or .onnx file of a contextual model, or any model
    /// file with dense rows, such as lsa or word2vec. The output is a head, which names this model and needs it later.
    ///
    /// 在该模型给文本的向量上拟合，而不用文本的词项：上下文模型的文件夹或 .onnx 文件，或任何给出稠密行的模型文件，如 lsa、word2vec。输出为分类头，记下该模型，以后仍需要它。
    #[arg(short, long, value_name = "MODEL", conflicts_with_all = ["Terms", "WordCut", "mode"])]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub onnx: Onnx,
}

fn contextual_flags() -> Vec<Id> {
    Onnx::augment_args(Command::new("")).get_arguments().map(|flag| flag.get_id().clone()).collect()
}

/// Flags of models that tell classes apart.
#[derive(Clone, Debug, Args)]
pub struct Classes {
    /// Weight of a class: none (its number of documents) or balanced.
    ///
    /// 类别权重：none（按文档数）或 balanced（平衡）。
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub class_weight: ClassWeight,
    /// How scores become probabilities, learned out of fold: none, sigmoid or isotonic.
    ///
    /// 得分如何变为概率，在折外学得：none、sigmoid 或 isotonic。
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub calibrate: CalibrationForm,
}

/// Flags of solvers that go step by step.
#[derive(Clone, Debug, Args)]
pub struct Solver {
    /// Where the solver stops: size of the gradient, relative to the start (support vectors: the gap of the objectives).
    ///
    /// 求解器停止的标准：梯度相对开始时的大小（支持向量机为目标之差）。
    #[arg(long = "tol", value_name = "T", value_parser = flag::<f64>("feature.linear.tolerance"))]
    pub tolerance: Option<f64>,
    /// Steps at the most.
    ///
    /// 最多的步数。
    #[arg(long = "max-iter", value_name = "N", default_value_t = LinearParams::default().max_iterations, value_parser = flag::<usize>("feature.linear.max_iterations"))]
    pub max_iterations: usize,
}

impl Solver {
    pub fn linear(&self, alpha: f64) -> LinearParams {
        let default = LinearParams::default();
        let tolerance = self.tolerance.unwrap_or(default.tolerance);
        LinearParams { alpha, tolerance, max_iterations: self.max_iterations, ..default }
    }
}

#[derive(Clone, Debug, Args)]
pub struct Inverse {
    /// Inverse strength of the penalty; of several the best is chosen by cross-validation.
    ///
    /// 惩罚强度的倒数；给出几个时由交叉验证选取。
    #[arg(short = 'C', long = "C", value_name = "C,C", value_delimiter = ',', default_values_t = [LinearParams::default().alpha], value_parser = flag::<f64>("feature.linear.alpha"))]
    pub c: Vec<f64>,
}

/// Flags of `train logistic`.
#[derive(Debug, Args)]
pub struct Logistic {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub encoder: Box<OnEncoder>,
    #[command(flatten)]
    pub classes: Classes,
    #[command(flatten)]
    pub solver: Solver,
    #[command(flatten)]
    pub inverse: Inverse,
    /// Share of the L1 part in the penalty.
    ///
    /// 惩罚中 L1 的占比。
    #[arg(long, value_name = "R", default_value_t = LinearParams::default().l1_ratio, value_parser = flag::<f64>("feature.linear.l1_ratio"))]
    pub l1_ratio: f64,
}

/// Flags of `train bayes`.
#[derive(Debug, Args)]
pub struct Bayes {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub classes: Classes,
    /// multinomial, or complement for classes of unlike size.
    ///
    /// multinomial（多项式），或 complement（补集，适合大小悬殊的类别）。
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub form: BayesForm,
    /// Added to each count; of several the best is chosen by cross-validation.
    ///
    /// 加到各计数上的平滑；给出几个时由交叉验证选取。
    #[arg(long, value_name = "A,A", value_delimiter = ',', default_values_t = [BayesParams::default().smoothing], value_parser = flag::<f64>("feature.bayes.smoothing"))]
    pub alpha: Vec<f64>,
}

/// Flags of `train svm`.
#[derive(Debug, Args)]
pub struct Svm {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub encoder: Box<OnEncoder>,
    #[command(flatten)]
    pub classes: Classes,
    #[command(flatten)]
    pub solver: Solver,
    #[command(flatten)]
    pub inverse: Inverse,
    /// Loss of a document on the wrong side: squared-hinge or hinge.
    ///
    /// 文档落在错误一侧的损失：squared-hinge 或 hinge。
    #[arg(long, value_name = "LOSS", value_enum, default_value_t)]
    pub loss: SvmLoss,
}

/// Flags of `train boosted`.
#[derive(Debug, Args)]
pub struct Boosted {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub encoder: Box<OnEncoder>,
    #[command(flatten)]
    pub classes: Classes,
    #[command(flatten)]
    pub params: BoostParams,
}

/// Flags of `train mlp`.
#[derive(Debug, Args)]
pub struct Mlp {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub encoder: Box<OnEncoder>,
    #[command(flatten)]
    pub classes: Classes,
    #[command(flatten)]
    pub params: MlpParams,
}

/// Flags of `train ridge`.
#[derive(Debug, Args)]
pub struct Ridge {
    #[command(flatten)]
    pub learner: Learner,
    #[command(flatten)]
    pub encoder: Box<OnEncoder>,
    #[command(flatten)]
    pub solver: Solver,
    /// Strength of the penalty; of several the best is chosen by cross-validation.
    ///
    /// 惩罚的强度；给出几个时由交叉验证选取。
    #[arg(long, value_name = "A,A", value_delimiter = ',', default_values_t = [LinearParams::default().alpha], value_parser = flag::<f64>("feature.linear.alpha"))]
    pub alpha: Vec<f64>,
}

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
        "--embargo 与 --label-days 用于按时间分折；请加 --cv-by time",
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
    let (model, report) = staged(ctx, "train", || estimators::train(&mut lines, &cutter, &params, ctx))?;
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
    ensure!(
        c.iter().all(|c| *c > 0.0 && c.is_finite()),
        "C 须为大于 0 的数；{c:?}",
        "C must be a number above 0; {c:?}"
    );
    Ok(several(&c.iter().map(|c| 1.0 / c).collect::<Vec<f64>>()))
}
