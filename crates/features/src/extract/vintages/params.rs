//! Settings of walk-forward word vectors: windows and steps, GloVe and fastText of a window. word2vec has those of `inkstone_models`.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_models::{FastTextParams, Form, GloveParams, Loss};

/// Windows and steps of word vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VintageParams {
    /// Natural days before a step whose documents its vectors are trained on; 0 (default): all days before.
    pub window_days: u32,
    /// Natural days of a step, all valued by one vintage. Default: 91, a quarter.
    pub refit_days: u32,
    /// Documents of a window below which its step has no values. Default: 1000.
    pub min_train_documents: usize,
}

impl Default for VintageParams {
    fn default() -> VintageParams {
        VintageParams { window_days: 0, refit_days: 91, min_train_documents: 1000 }
    }
}

impl VintageParams {
    /// Fails on values out of range.
    pub fn check(&self) -> Result<()> {
        bounds::check("feature.vintages", self)
    }
}

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

/// fastText of a window: a vector a word, made of the word's and its characters'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowFastText {
    /// `skipgram` (default) or `cbow`.
    pub form: Form,
    /// `ns` (default), `hs` or `softmax`.
    pub loss: Loss,
    /// Values of a vector. Default 100.
    pub dim: usize,
    /// Words on each side at the most. Default 5.
    pub window: usize,
    /// Passes over the window's text. Default 5.
    pub epochs: usize,
    /// Words drawn against each right one. Default 5.
    pub negative: usize,
    /// Words of a higher share are passed over at times. Default 0.0001.
    pub sample: f64,
    /// Rate of learning at the start. Default 0.05.
    pub lr: f32,
    /// Places that character n-grams are hashed into. Default 2,000,000.
    pub bucket: u32,
    /// Characters of the shortest n-gram, the bounds of the word among them. Default 3.
    pub minn: usize,
    /// Characters of the longest n-gram; 0: no n-grams. Default 6.
    pub maxn: usize,
}

impl Default for WindowFastText {
    fn default() -> WindowFastText {
        let FastTextParams { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn, .. } =
            FastTextParams::default();
        WindowFastText { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn }
    }
}
