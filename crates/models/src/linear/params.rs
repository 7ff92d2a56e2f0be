//! The settings of linear models.

use serde::{Deserialize, Serialize};

defaults! {
    pub struct LinearParams {
        /// Strength of the penalty, above 0; for logistic and support vector machines 1/C.
        alpha: f64 = 1.0,
        /// Share of the L1 part in the penalty of logistic regression: 0 (default) is L2 alone, 1 is L1 alone.
        l1_ratio: f64 = 0.0,
        /// Relative size of the gradient at which the solver stops.
        tolerance: f64 = 1e-8,
        /// Products with the matrix at the most.
        max_iterations: usize = 2000,
    }
}

/// The cost of a row on the wrong side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SvmLoss {
    /// The squared distance from the right side.
    #[default]
    SquaredHinge,
    /// The distance from the right side.
    Hinge,
}
