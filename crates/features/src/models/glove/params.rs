//! Settings of GloVe vectors that are trained on a window of documents.

use serde::{Deserialize, Serialize};

use inkstone_models::GloveParams;

/// GloVe of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowGlove {
    /// Words from one of a pair to the other at the most. Default 15.
    pub window: usize,
    /// Values of a vector. Default 100.
    pub dim: usize,
    /// Passes over all pairs. Default 15.
    pub epochs: usize,
    /// Initial rate of learning. Default 0.05.
    pub lr: f64,
}

impl Default for WindowGlove {
    fn default() -> WindowGlove {
        let GloveParams { dim, epochs, lr, .. } = GloveParams::default();
        WindowGlove { window: 15, dim, epochs, lr }
    }
}
