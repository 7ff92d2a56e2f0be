//! One estimator for all models that learn a goal from rows of features: classes, sets of labels, or values.
//!
//! Ridge, logistic regression (elastic net), naive Bayes, linear support vector machines, boosted trees and multi-layer perceptrons give
//! scores `[rows, outputs]`; what a score means is its [`Link`]. Two classes have one score, the log-odds (or margin) of the second.
//! Label sets have one for each label, of itself against all else. `cross` has what needs several fits: calibration and scores out of
//! fold; `search` chooses among settings.

mod cross;
mod fit;
mod method;
mod predict;
mod probability;
mod search;
mod store;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use cross::{calibrate, out_of_fold};
pub use fit::fit_estimator;
pub use predict::{Guess, Judgement};
pub use probability::ProbabilityParts;
pub use search::{Measure, Search, SearchPoint, choose_point, search};

use super::calibration::Calibrator;
use super::learner::{Link, Method, Scorer};
use super::linear::{Convergence, LinearMap};
use super::validation::FoldRows;

/// The target of an estimator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One of these classes.
    Classes(Vec<String>),
    /// Any of these labels.
    Labels(Vec<String>),
    Values,
}

impl Task {
    /// Names of classes or labels; none for values.
    pub fn names(&self) -> &[String] {
        match self {
            Task::Classes(names) | Task::Labels(names) => names,
            Task::Values => &[],
        }
    }
}

/// The rows of a fit beside their features and goals.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainingRows<'a> {
    /// One a row, none negative; none: each row counts alike.
    pub weights: Option<&'a [f64]>,
    /// Groups and times of the rows: `mlp` holds out the last of them to see when to stop.
    pub order: Option<&'a FoldRows>,
}

#[derive(Clone, Debug)]
pub struct Estimator {
    pub method: Method,
    pub task: Task,
    pub link: Link,
    pub(crate) scorer: Arc<dyn Scorer>,
    /// One an output, when calibrated.
    pub(crate) calibrators: Vec<Calibrator>,
    /// The end of the solver of each problem.
    pub convergence: Vec<Convergence>,
}

impl Estimator {
    pub fn outputs(&self) -> usize {
        self.scorer.outputs()
    }

    /// True if its probabilities are calibrated.
    pub fn is_calibrated(&self) -> bool {
        !self.calibrators.is_empty()
    }

    /// The end of the least exact solver; converged where nothing was to be solved step by step.
    pub fn worst_convergence(&self) -> Convergence {
        let exact = Convergence { converged: true, ..Convergence::default() };
        let worse = |a: Convergence, b: &Convergence| if b.gradient > a.gradient || !b.converged { *b } else { a };
        self.convergence.iter().fold(self.convergence.first().copied().unwrap_or(exact), worse)
    }

    /// The weights, if it is linear.
    pub fn linear(&self) -> Option<&LinearMap> {
        self.scorer.linear()
    }
}

#[cfg(test)]
mod tests;
