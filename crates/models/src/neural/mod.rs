//! Small neural networks: language models, the ranking of windows, and what trains networks of any kind.
//!
//! Each network computes its loss and its gradients by itself, from the products and functions of `kernel`. Results depend on the seed
//! alone. The classifiers of texts (`crate::textnet`) and the perceptron (`crate::mlp`) are trained by the same loop.

pub(super) mod affine;
#[cfg(test)]
pub(super) mod check;
pub(super) mod entropy;
pub(super) mod file;
pub(super) mod fit;
pub(super) mod kernel;
mod language;
pub(super) mod recurrent;
mod sampled;
pub(super) mod weights;
mod window;

pub use fit::{EpochFigures, FitParams, Schedule, ScheduleKind};
pub use kernel::Real;
pub use language::{LanguageKind, LanguageParams, LanguageScorer, LanguageWords, NeuralLanguage, WordTree};
pub use window::WindowParams;
pub use window::rank_windows;
