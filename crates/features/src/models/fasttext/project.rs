//! fastText of a window: vectors of words, made of the word's own and those of its character n-grams.

use std::path::Path;

use anyhow::Result;

use super::WindowFastText;
use crate::extract::entry::ModelEntry;
use crate::extract::vintages;
use crate::extract::vintages::trainer::WordVectorTrainer;
use crate::extract::vintages::window::WindowText;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Dictionary, FastTextParams, Form, train_words};

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

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    settings: &["words", "vintages", "pooling", "fasttext"],
    ..vintages::entry(|feature| Box::new(feature.fasttext.clone()))
};

impl WordVectorTrainer for WindowFastText {
    fn name(&self) -> &'static str {
        "fasttext"
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.form != Form::Supervised,
            "--form supervised 学习标签；请用 skipgram 或 cbow",
            "--form supervised learns labels; take skipgram or cbow"
        );
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
