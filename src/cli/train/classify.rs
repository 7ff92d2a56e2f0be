//! Flags of `train logistic`, `bayes`, `svm`, `boosted`, `mlp` and `ridge`: what they share, and what each has of its own.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Command, Id};

use super::{Files, Terms};
use crate::cli::Onnx;
use crate::config::bounds::flag;
use inkstone_features::standalone::classify::Learn;
use inkstone_models::{
    BayesForm, BayesParams, BoostParams, CalibrationForm, ClassWeight, FoldParams, FoldsBy, LinearParams, MlpParams,
    SvmLoss,
};

/// Flags that all of them take. They read JSON lines with "label", "labels" or "value"; "time" and "group" if there are.
#[derive(Clone, Debug, Args)]
pub struct Learner {
    #[command(flatten)]
    pub files: Files,
    /// Target: label (one class), labels (any number; parts of a label between | count as such) or value.
    /// Default: the first of labels, label, value that a line has.
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    #[command(flatten)]
    pub terms: Terms,
    /// Folds of cross-validation, for its figures and for what is chosen by it; default 5 when something is.
    #[arg(help_heading = "Cross-validation", long, value_name = "K", value_parser = flag::<usize>("experiment.folds"))]
    pub cv: Option<usize>,
    /// Folds are drawn by class, by group (never split) or by time (purged). No fold splits a group.
    #[arg(help_heading = "Cross-validation", long, value_name = "BY", value_enum, default_value_t)]
    pub cv_by: FoldsBy,
    /// By time: natural days after a test fold in which no training document may begin.
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = FoldParams::default().embargo_days, value_parser = flag::<u32>("experiment.embargo_days"))]
    pub embargo: u32,
    /// By time: natural days from a document to the moment its label is known.
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = 0, value_parser = flag::<u32>("experiment.label_days"))]
    pub label_days: u32,
    /// Of several penalties take the strongest within one standard error of the best.
    #[arg(help_heading = "Cross-validation", long)]
    pub one_se: bool,
}

/// Flags of a head: a model on the vectors of another. Those of contextual models say how that other reads texts.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("contextual").multiple(true).args(contextual_flags()).requires("model")))]
pub struct OnEncoder {
    /// Fit on the vectors that this model gives the texts, not on their terms: the folder or .onnx file of a contextual model, or any model
    /// file with dense rows, such as lsa or word2vec. The output is a head, which names this model and needs it later.
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
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub class_weight: ClassWeight,
    /// How scores become probabilities, learned out of fold: none, sigmoid or isotonic.
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub calibrate: CalibrationForm,
}

/// Flags of solvers that go step by step.
#[derive(Clone, Debug, Args)]
pub struct Solver {
    /// Where the solver stops: size of the gradient, relative to the start (support vectors: the gap of the objectives).
    #[arg(long = "tol", value_name = "T", value_parser = flag::<f64>("feature.linear.tolerance"))]
    pub tolerance: Option<f64>,
    /// Steps at the most.
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
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub form: BayesForm,
    /// Added to each count; of several the best is chosen by cross-validation.
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
    #[arg(long, value_name = "A,A", value_delimiter = ',', default_values_t = [LinearParams::default().alpha], value_parser = flag::<f64>("feature.linear.alpha"))]
    pub alpha: Vec<f64>,
}
