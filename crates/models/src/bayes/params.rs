//! The settings of naive Bayes.

use serde::{Deserialize, Serialize};

/// The counts that speak for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum BayesForm {
    /// The counts of its own rows.
    #[default]
    Multinomial,
    /// The counts of all other rows, against it: steadier when classes are of unlike size.
    Complement,
}

defaults! {
    pub struct BayesParams {
        /// `multinomial` (default) or `complement`.
        form: BayesForm = BayesForm::Multinomial,
        /// Added to each count, above 0 (Lidstone; 1 is Laplace's).
        smoothing: f64 = 1.0,
    }
}
