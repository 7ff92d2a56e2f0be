//! fastText on plain files: classifiers of labelled lines, and word vectors that know characters.
//!
//! Labels are tokens that begin with `__label__`, as in fastText's files, or the fields `label` and `labels` of JSON lines.
//! Documents wait as numbers in scratch files beside the output; memory is that of the vocabulary, of the vectors that
//! are trained, and eight bytes a labelled document.

mod corpus;
mod fitted;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::numbered::{Kept, Numbered, Reading};
use super::{Cutter, Lines};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::{Dictionary, FastText, FastTextParams, QuantiseParams, Training, WordVectors};

use corpus::Corpus;
pub(super) use fitted::FittedFastText;

/// What `train` calls the models of labels.
const SUPERVISED: &str = "fasttext-supervised";
/// What `train` calls those of words.
const WORDS: &str = "fasttext";

/// A trained model and how it came about.
pub type Trained = (FastText, Training);

/// Learns the labels of lines. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `labels`,
/// `labels_of_one_document`, `rows` (words and n-grams with a vector) and `loss` (the mean of each epoch).
pub fn train_supervised(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &FastTextParams,
    pretrained: Option<&WordVectors>,
    quantise: Option<&QuantiseParams>,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Trained, Report)> {
    let corpus = Corpus::read(lines, cutter, params, pretrained, beside, ctx)?;
    let mut report = corpus.report;
    let (model, losses) =
        crate::model::train_supervised(corpus.dictionary, &corpus.samples.get(), params, pretrained, ctx)?;
    let model = match quantise {
        Some(quantise) => model.quantised(quantise, ctx)?,
        None => model,
    };
    report.fact("rows", model.rows());
    report.fact("loss", &losses);
    let training = Training {
        method: SUPERVISED.to_owned(),
        documents: corpus.documents,
        fitted_until: corpus.fitted_until,
        params: json!({"loss": losses, "quantise": quantise}),
    };
    Ok(((model, training), report))
}

/// Learns vectors of words. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `kept_tokens`, `rows` and `loss`.
pub fn train_words(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &FastTextParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Trained, Report)> {
    let kept = Kept { min_count: params.min_count, max_words: 0 };
    let (corpus, mut report) = Numbered::read(lines, cutter, Reading::Terms, kept, beside, ctx)?;
    let words = corpus.words.iter().cloned().zip(corpus.counts.iter().copied()).collect();
    let dictionary = Dictionary::new(words, Vec::new(), corpus.tokens(), params)?;
    let (model, losses) = crate::model::train_words(dictionary, || corpus.sequences(), params, ctx)?;
    report.fact("rows", model.rows());
    report.fact("loss", &losses);
    let training = Training {
        method: WORDS.to_owned(),
        documents: corpus.documents,
        fitted_until: corpus.fitted_until,
        params: json!({"loss": losses}),
    };
    Ok(((model, training), report))
}

/// The vectors of a model's words, without those of its n-grams.
pub fn vectors_of(model: &FastText) -> Result<WordVectors> {
    let dictionary = model.dictionary();
    let (words, counts) = (dictionary.words().to_vec(), dictionary.word_counts().to_vec());
    WordVectors::new(words, counts, model.params().dim, model.word_vectors(), Training::default())
}
