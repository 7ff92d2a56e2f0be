//! Small neural networks by candle: language models, the ranking of windows, and what trains networks of any kind.
//!
//! candle gives tensors and their gradients. Weights, their steps, the order of batches and all random draws are our own, so
//! that results depend on the seed alone. The classifiers of texts (`crate::textnet`) are trained by the same loop.

#[cfg(test)]
pub(super) mod check;
pub(super) mod entropy;
pub(super) mod file;
pub(super) mod fit;
pub(super) mod kernel;
mod language;
mod sampled;
pub(super) mod weights;
mod window;

use candle_core::Tensor;

pub use fit::{EpochFigures, FitParams};
pub use language::{LanguageKind, LanguageParams, LanguageScorer, LanguageWords, NeuralLanguage};
pub use window::WindowParams;
pub use window::rank_windows;

/// The larger of each number and 0. What is no number stays none: candle's own makes 0 of it, and training that went astray would
/// pass for a healthy one.
pub(super) fn relu(x: &Tensor) -> candle_core::Result<Tensor> {
    (x + x.abs()?)? * 0.5
}
