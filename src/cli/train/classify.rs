//! Flags of `train logistic`, `bayes`, `svm`, `boosted` and `ridge`: what they share, and what each has of its own.

use std::path::PathBuf;

use clap::Args;

use super::Terms;
use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_features::standalone::classify::Learn;
use inkstone_models::{BayesForm, CalibrationForm, ClassWeight, FoldsBy, SvmLoss};

/// Flags that all of them take.
#[derive(Clone, Debug, Args)]
pub struct Learner {
    /// What it is fitted on: JSON lines with "label", "labels" or "value"; "time" and "group" if there are.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What is learned: label (one class), labels (any number; parts of a label between | count as such) or value.
    /// Default: the first of labels, label, value that a line has.
    #[arg(long, value_name = "FIELD")]
    pub learn: Option<Learn>,
    /// How text becomes rows.
    #[command(flatten)]
    pub terms: Terms,
    /// Folds of cross-validation, for its figures and for what is chosen by it; default 5 when something is.
    #[arg(help_heading = "Cross-validation", long, value_name = "K", value_parser = flag::<usize>("experiment.folds"))]
    pub cv: Option<usize>,
    /// What folds are drawn by: class, group (never split) or time (purged). Groups are kept whole by all of them.
    #[arg(help_heading = "Cross-validation", long, value_name = "BY", default_value = "class")]
    pub cv_by: FoldsBy,
    /// By time: natural days after a test fold in which no training document may begin.
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = 0, value_parser = flag::<u32>("experiment.embargo_days"))]
    pub embargo: u32,
    /// By time: natural days from a document to the moment its label is known.
    #[arg(help_heading = "Cross-validation", long, value_name = "DAYS", default_value_t = 0, value_parser = flag::<u32>("experiment.label_days"))]
    pub label_days: u32,
    /// Of several penalties take the strongest within one standard error of the best.
    #[arg(help_heading = "Cross-validation", long)]
    pub one_se: bool,
}

/// Flags of models that tell classes apart.
#[derive(Clone, Debug, Args)]
pub struct Classes {
    /// What a class counts for: none (as many as its documents) or balanced.
    #[arg(long, value_name = "FORM", default_value = "none")]
    pub class_weight: ClassWeight,
    /// How scores become probabilities, learned out of fold: none, sigmoid or isotonic.
    #[arg(long, value_name = "FORM", default_value = "none")]
    pub calibrate: CalibrationForm,
}

/// Flags of solvers that go step by step.
#[derive(Clone, Debug, Args)]
pub struct Solver {
    /// Where the solver stops: size of the gradient, relative to the start (support vectors: the gap of the objectives).
    #[arg(long = "tol", value_name = "T", value_parser = flag::<f64>("feature.linear.tolerance"))]
    pub tolerance: Option<f64>,
    /// Steps at the most.
    #[arg(long = "max-iter", value_name = "N", default_value_t = 2000, value_parser = flag::<usize>("feature.linear.max_iterations"))]
    pub max_iterations: usize,
}

/// Flags of `train logistic`.
#[derive(Debug, Args)]
pub struct Logistic {
    /// What all of them take.
    #[command(flatten)]
    pub learner: Learner,
    /// How classes are weighed and calibrated.
    #[command(flatten)]
    pub classes: Classes,
    /// When the solver stops.
    #[command(flatten)]
    pub solver: Solver,
    /// Inverse strength of the penalty; of several the best is chosen by cross-validation.
    #[arg(short = 'C', long = "C", value_name = "C,C", value_delimiter = ',', default_value = "1.0", value_parser = flag::<f64>("feature.linear.alpha"))]
    pub c: Vec<f64>,
    /// Share of the L1 part in the penalty.
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = flag::<f64>("feature.linear.l1_ratio"))]
    pub l1_ratio: f64,
}

/// Flags of `train bayes`.
#[derive(Debug, Args)]
pub struct Bayes {
    /// What all of them take.
    #[command(flatten)]
    pub learner: Learner,
    /// How classes are weighed and calibrated.
    #[command(flatten)]
    pub classes: Classes,
    /// multinomial, or complement for classes of unlike size.
    #[arg(long, value_name = "FORM", default_value = "multinomial")]
    pub form: BayesForm,
    /// Added to each count; of several the best is chosen by cross-validation.
    #[arg(long, value_name = "A,A", value_delimiter = ',', default_value = "1.0", value_parser = flag::<f64>("feature.bayes.smoothing"))]
    pub alpha: Vec<f64>,
}

/// Flags of `train svm`.
#[derive(Debug, Args)]
pub struct Svm {
    /// What all of them take.
    #[command(flatten)]
    pub learner: Learner,
    /// How classes are weighed and calibrated.
    #[command(flatten)]
    pub classes: Classes,
    /// When the solver stops.
    #[command(flatten)]
    pub solver: Solver,
    /// Inverse strength of the penalty; of several the best is chosen by cross-validation.
    #[arg(short = 'C', long = "C", value_name = "C,C", value_delimiter = ',', default_value = "1.0", value_parser = flag::<f64>("feature.linear.alpha"))]
    pub c: Vec<f64>,
    /// What a document on the wrong side costs: squared-hinge or hinge.
    #[arg(long, value_name = "LOSS", default_value = "squared-hinge")]
    pub loss: SvmLoss,
}

/// Flags of `train boosted`.
#[derive(Debug, Args)]
pub struct Boosted {
    /// What all of them take.
    #[command(flatten)]
    pub learner: Learner,
    /// How classes are weighed and calibrated.
    #[command(flatten)]
    pub classes: Classes,
    /// Rounds: trees, or trees a class.
    #[arg(long, value_name = "N", visible_alias = "n-estimators", default_value_t = 200, value_parser = flag::<usize>("feature.boosted.trees"))]
    pub trees: usize,
    /// What of each tree's finding is taken.
    #[arg(long, value_name = "R", default_value_t = 0.1, value_parser = flag::<f64>("feature.boosted.learning_rate"))]
    pub learning_rate: f64,
    /// Splits from root to leaf at the most.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = flag::<usize>("feature.boosted.max_depth"))]
    pub max_depth: usize,
    /// Sum of second derivatives that a leaf needs.
    #[arg(long, value_name = "W", visible_alias = "min-child-weight", default_value_t = 1.0, value_parser = flag::<f64>("feature.boosted.min_leaf_weight"))]
    pub min_leaf_weight: f64,
    /// L2 penalty on the leaves.
    #[arg(long, value_name = "L", default_value_t = 1.0, value_parser = flag::<f64>("feature.boosted.l2"))]
    pub l2: f64,
    /// Terms that trees may use, those that tell most of the goal; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = flag::<usize>("feature.boosted.max_features"))]
    pub tree_features: usize,
    /// Memory for these terms at the most, in MB.
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = flag::<usize>("feature.boosted.memory_mb"))]
    pub memory_mb: usize,
}

/// Flags of `train ridge`.
#[derive(Debug, Args)]
pub struct Ridge {
    /// What all of them take.
    #[command(flatten)]
    pub learner: Learner,
    /// When the solver stops.
    #[command(flatten)]
    pub solver: Solver,
    /// Strength of the penalty; of several the best is chosen by cross-validation.
    #[arg(long, value_name = "A,A", value_delimiter = ',', default_value = "1.0", value_parser = flag::<f64>("feature.linear.alpha"))]
    pub alpha: Vec<f64>,
}
