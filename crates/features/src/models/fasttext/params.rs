//! Settings of fastText vectors that are trained on a window of documents.

use serde::{Deserialize, Serialize};

use inkstone_models::{FastTextParams, Form, Loss};

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
