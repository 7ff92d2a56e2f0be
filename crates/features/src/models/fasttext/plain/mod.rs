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

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::lines::{Cutter, Lines};
use crate::standalone::numbered::{Numbered, WordReading};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models as model;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::{Dictionary, FastText, FastTextParams, QuantiseParams, Training, WordLimits, WordVectors};

use corpus::FastTextCorpus;
pub(crate) use fitted::foreign;

/// Name of classifiers of labels in `train`.
const SUPERVISED: &str = "fasttext-supervised";
/// Name of word vectors of fastText in `train`.
const WORDS: &str = "fasttext";

/// A trained model and how it came about.
pub type Trained = (FastText, Training);

/// Learns the labels of lines and writes the model to `output`. An interrupted training leaves a checkpoint beside it, from which
/// the same training goes on. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `labels`,
/// `labels_of_one_document`, `rows` (words and n-grams with a vector) and `loss` (the mean of each epoch).
pub fn train_supervised(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &FastTextParams,
    pretrained: Option<&WordVectors>,
    quantise: Option<&QuantiseParams>,
    output: &Path,
    ctx: &Ctx,
) -> Result<(Trained, Report)> {
    let corpus = FastTextCorpus::read(lines, cutter, params, pretrained, output, ctx)?;
    let (mut report, samples) = (corpus.report, corpus.samples.samples());
    let vectors = pretrained.map(|vectors| Key::of(bytemuck::cast_slice(vectors.values())));
    let checkpoint = checkpoint(&corpus.dictionary, samples.numbers(), params, json!(vectors), output, ctx)?;
    let steps = corpus.documents * params.epochs as u64;
    let train = || model::train_supervised(corpus.dictionary, &samples, params, pretrained, Some(&checkpoint), ctx);
    let (model, losses) = learned("docs", steps, train, ctx)?;
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
    model.save_model(output, cutter.spec(), &training)?;
    checkpoint.remove()?;
    Ok(((model, training), report))
}

/// Learns vectors of words and writes the model to `output`, as [`train_supervised`]. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `kept_tokens`, `rows` and `loss`.
pub fn train_words(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &FastTextParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(Trained, Report)> {
    let kept = WordLimits { min_count: params.min_count, max_words: 0 };
    let (corpus, mut report) = Numbered::read(lines, cutter, WordReading::Terms, kept, output, ctx)?;
    let words = corpus.words.iter().cloned().zip(corpus.counts.iter().copied()).collect();
    let dictionary = Dictionary::new(words, Vec::new(), corpus.tokens(), params)?;
    let checkpoint = checkpoint(&dictionary, corpus.numbers(), params, json!(null), output, ctx)?;
    let steps = corpus.tokens() * params.epochs as u64;
    let train = || model::train_words(dictionary, || corpus.sequences(), params, Some(&checkpoint), ctx);
    let (model, losses) = learned("words", steps, train, ctx)?;
    report.fact("rows", model.rows());
    report.fact("loss", &losses);
    let training = Training {
        method: WORDS.to_owned(),
        documents: corpus.documents,
        fitted_until: corpus.fitted_until,
        params: json!({"loss": losses}),
    };
    model.save_model(output, cutter.spec(), &training)?;
    checkpoint.remove()?;
    Ok(((model, training), report))
}

/// The checkpoint of this training.
fn checkpoint(
    dictionary: &Dictionary,
    numbers: &[u32],
    params: &FastTextParams,
    vectors: Value,
    output: &Path,
    ctx: &Ctx,
) -> Result<Checkpoint> {
    let words = Key::of_parts(dictionary.words().iter().map(|word| word.as_bytes()));
    let (text, seed) = (Key::of(bytemuck::cast_slice(numbers)), ctx.seed());
    Checkpoint::new(
        output,
        &json!({"fasttext": params, "seed": seed, "words": words, "text": text, "vectors": vectors}),
    )
}

/// Runs a training as a stage of so many units.
fn learned<T>(unit: &'static str, steps: u64, train: impl FnOnce() -> Result<T>, ctx: &Ctx) -> Result<T> {
    let mut learned = None;
    ctx.stage(WORDS, unit, Some(steps), || {
        learned = Some(train()?);
        Ok(Report::new(WORDS))
    })?;
    learned.context(Word("正常结束的阶段应学到结果", "a stage that ended well has learned"))
}
