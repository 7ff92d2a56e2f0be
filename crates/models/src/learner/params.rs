//! The settings of all methods by which an estimator learns.

use serde::{Deserialize, Serialize};

use crate::bayes::BayesParams;
use crate::boost::BoostParams;
use crate::linear::{LinearParams, SvmLoss};
use crate::mlp::MlpParams;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Ridge regression on a value.
    Ridge,
    /// Logistic regression, with an elastic net if `l1_ratio` is above 0.
    #[default]
    Logistic,
    /// Naive Bayes.
    Bayes,
    /// A linear support vector machine, one against the rest.
    Svm,
    /// Gradient-boosted trees.
    Boosted,
    /// A multi-layer perceptron.
    Mlp,
}

/// The weight of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ClassWeight {
    /// Each row weighs the same.
    #[default]
    None,
    /// Each class weighs the same: a row weighs `rows / (classes x rows of its class)`.
    Balanced,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EstimatorParams {
    /// `ridge`, `logistic` (default), `bayes`, `svm`, `boosted` or `mlp`.
    pub method: Method,
    /// Penalty and solver of `ridge`, `logistic` and `svm`.
    pub linear: LinearParams,
    /// The cost for `svm` of a row on the wrong side: `squared-hinge` (default) or `hinge`.
    pub svm_loss: SvmLoss,
    pub bayes: BayesParams,
    pub boosted: BoostParams,
    pub mlp: MlpParams,
    /// `none` (default) or `balanced`.
    pub class_weight: ClassWeight,
}
