//! fastText of a window: vectors of words, made of the word's own and those of its character n-grams.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::trainer::WordVectorTrainer;
use super::window::WindowText;
use inkstone_base::job::Ctx;
use inkstone_models::{Dictionary, FastTextParams, Form, Loss, train_words};

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

impl WindowFastText {
    fn params(&self) -> FastTextParams {
        let WindowFastText { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn } = *self;
        FastTextParams {
            form,
            loss,
            dim,
            window,
            epochs,
            negative,
            sample,
            lr,
            bucket,
            minn,
            maxn,
            ..FastTextParams::default()
        }
    }
}

impl WordVectorTrainer for WindowFastText {
    fn name(&self) -> &'static str {
        "fasttext"
    }

    fn check(&self) -> Result<()> {
        ensure!(self.form != Form::Supervised, "--form supervised learns labels; take skipgram or cbow");
        self.params().check()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn passes(&self) -> Option<u64> {
        Some(self.epochs as u64)
    }

    fn train(&self, text: &WindowText, _: &Path, ctx: &Ctx) -> Result<Vec<f32>> {
        let words = text.words.iter().cloned().zip(text.counts.iter().copied()).collect();
        let params = &self.params();
        let dictionary = Dictionary::new(words, Vec::new(), text.kept_tokens(), params)?;
        Ok(train_words(dictionary, || text.sequences(), params, None, ctx)?.0.word_vectors())
    }
}
