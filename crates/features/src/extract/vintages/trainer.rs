//! The trainers of a window's word vectors: word2vec, GloVe or fastText, with the parameters of a window.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use inkstone_models::{FastTextParams, Form, GloveParams, Loss, Word2vecParams};

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
    /// The count from which pairs weigh alike. Default 10, for windows of some tens of MB.
    pub x_max: f64,
    /// Exponent of the weights below. Default 0.75.
    pub alpha: f64,
}

impl Default for WindowGlove {
    fn default() -> WindowGlove {
        let GloveParams { dim, epochs, lr, alpha, .. } = GloveParams::default();
        WindowGlove { window: 15, dim, epochs, lr, x_max: 10.0, alpha }
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

/// The trainer of a window's vectors.
pub(in super::super) enum Trainer {
    Word2vec(Word2vecParams),
    Glove(usize, GloveParams),
    FastText(FastTextParams),
}

impl Trainer {
    pub(in super::super) fn glove(params: &WindowGlove) -> Trainer {
        let WindowGlove { window, dim, epochs, lr, x_max, alpha } = *params;
        Trainer::Glove(window, GloveParams { dim, epochs, lr, x_max, alpha })
    }

    pub(in super::super) fn fasttext(params: &WindowFastText) -> Trainer {
        let WindowFastText { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn } = *params;
        Trainer::FastText(FastTextParams {
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
        })
    }

    /// Fails on parameters out of range.
    pub(in super::super) fn check(&self) -> Result<()> {
        match self {
            Trainer::Word2vec(params) => {
                ensure!(
                    !params.architecture.of_documents(),
                    "--architecture dm and dbow learn vectors of documents that are there; take cbow or skipgram"
                );
                params.check()
            }
            Trainer::Glove(window, params) => {
                ensure!((1..=1000).contains(window), "--window is {window}; it lies from 1 to 1000");
                params.check()
            }
            Trainer::FastText(params) => {
                ensure!(params.form != Form::Supervised, "--form supervised learns labels; take skipgram or cbow");
                params.check()
            }
        }
    }

    /// Name of the model and of its section in the configuration.
    pub(in super::super) fn name(&self) -> &'static str {
        match self {
            Trainer::Word2vec(_) => "word2vec",
            Trainer::Glove(..) => "glove",
            Trainer::FastText(_) => "fasttext",
        }
    }

    /// Values of a vector.
    pub(in super::super) fn dim(&self) -> usize {
        match self {
            Trainer::Word2vec(params) => params.dim,
            Trainer::Glove(_, params) => params.dim,
            Trainer::FastText(params) => params.dim,
        }
    }

    /// Unit of the progress.
    pub(super) fn unit(&self) -> &'static str {
        match self {
            Trainer::Glove(..) => "pairs",
            Trainer::Word2vec(_) | Trainer::FastText(_) => "words",
        }
    }

    /// Number of times that the progress counts each word of a window, where that is known.
    pub(super) fn passes(&self) -> Option<u64> {
        match self {
            Trainer::Word2vec(params) => Some(params.epochs as u64),
            Trainer::Glove(..) => None,
            Trainer::FastText(params) => Some(params.epochs as u64),
        }
    }
}
