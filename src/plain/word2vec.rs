//! word2vec on plain files.
//!
//! Title and text of a document are apart: no window reaches from one into the other. Memory is bounded by the vocabulary and a
//! block; the corpus itself waits in a scratch file.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::numbered::{Kept, Numbered, PhraseParams};
use super::{Cutter, Lines};
use crate::data::{Key, Report};
use crate::job::Ctx;
use crate::model::{Training, Word2vec, Word2vecParams, WordVectors};

/// What `train` calls it.
pub(crate) const METHOD: &str = "word2vec";

/// Which words are trained.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct WordParams {
    /// Words that occur less often are left out, as if they were not in the text.
    pub min_count: u64,
    /// Words kept at the most, the most frequent; 0 keeps all.
    pub max_words: usize,
    /// What is joined to phrases before.
    pub phrases: PhraseParams,
}

impl Default for WordParams {
    fn default() -> WordParams {
        WordParams { min_count: 5, max_words: 0, phrases: PhraseParams::default() }
    }
}

/// Where the state is kept after each pass.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The file.
    pub path: PathBuf,
    /// Whether to go on from it.
    pub resume: bool,
}

/// Trains word vectors. Scratch files are made in the folder of `beside`. The report has `documents`, `tokens`, `vocabulary`,
/// `kept_tokens`, `fitted_until`, `phrases`, `dim`, `passes` (epoch, loss, rate, seconds, words per second), `resumed`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    words: &WordParams,
    params: &Word2vecParams,
    checkpoint: Option<&Checkpoint>,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    params.check()?;
    let kept = Kept { min_count: words.min_count, max_words: words.max_words };
    let (corpus, mut report) = Numbered::read_phrases(lines, cutter, &words.phrases, kept, beside, ctx)?;
    let mut trainer = Word2vec::new(&corpus.counts, corpus.numbers(), params, ctx.seed())?;
    let key = Key::of_parts(corpus.words.iter().map(|word| word.as_bytes()));
    if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.resume) {
        trainer.resume(&checkpoint.path, key)?;
    }
    let resumed = trainer.passes().len();
    let tokens = corpus.tokens();
    ctx.stage("word2vec", "words", Some(tokens * trainer.left() as u64), || {
        let mut report = Report::new("word2vec");
        while trainer.left() > 0 {
            trainer.pass(ctx)?;
            if let Some(Checkpoint { path, .. }) = checkpoint {
                trainer
                    .save(path, key, corpus.documents)
                    .with_context(|| format!("cannot keep the state in {}", path.display()))?;
            }
        }
        report.rows_in = tokens;
        Ok(report)
    })?;
    let passes = trainer.passes().iter().map(|pass| {
        json!({
            "epoch": pass.epoch, "loss": pass.loss, "rate": pass.rate, "seconds": pass.seconds,
            "words_per_second": (tokens as f64 / pass.seconds.max(1e-9)).round(),
        })
    });
    report.fact("passes", passes.collect::<Vec<_>>());
    report.fact("resumed", resumed);
    report.fact("dim", params.dim);
    let losses: Vec<f64> = trainer.passes().iter().map(|pass| pass.loss).collect();
    let training = Training {
        method: METHOD.to_owned(),
        documents: corpus.documents,
        fitted_until: corpus.fitted_until,
        params: json!({"words": words, "word2vec": params, "seed": ctx.seed(), "losses": losses}),
    };
    let values = trainer.vectors();
    let vectors = WordVectors::new(corpus.words, corpus.counts, params.dim, values, training)?;
    Ok((vectors, report))
}
