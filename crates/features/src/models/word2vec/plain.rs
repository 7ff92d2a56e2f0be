//! word2vec on plain files.
//!
//! Title and text of a document are apart: no window reaches from one into the other. Memory is bounded by the vocabulary and a
//! block; the corpus itself waits in a scratch file.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::lines::{Cutter, Lines};
use crate::standalone::numbered::{Numbered, PhraseParams, WordReading};
use inkstone_base::bounds::flag;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::{Corpus, Word2vec, Word2vecParams, WordLimits, WordVectors};

/// Name of the method in `train`.
pub const METHOD: &str = "word2vec";

/// Which words are trained.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, clap::Args)]
#[serde(default)]
pub struct WordParams {
    /// Leave out words that occur less often.
    ///
    /// 舍弃出现更少的词。
    #[arg(long, value_name = "N", default_value_t = WordParams::default().min_count, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    ///
    /// 最多保留这么多词，取最常见者；0 为全部。
    #[arg(long, value_name = "N", default_value_t = WordParams::default().max_words, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    #[command(flatten)]
    pub phrases: PhraseParams,
}

impl Default for WordParams {
    fn default() -> WordParams {
        WordParams { min_count: 5, max_words: 0, phrases: PhraseParams::default() }
    }
}

/// Trains word vectors and writes them to `output`. An interrupted training leaves a checkpoint beside it, from which the same
/// training goes on. The report has `documents`, `tokens`, `vocabulary`, `kept_tokens`, `fitted_until`, `phrases`, `dim`, `passes`
/// (epoch, loss, rate, seconds, words per second), `resumed` (passes of the interrupted training).
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    words: &WordParams,
    params: &Word2vecParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    let (vectors, report, checkpoint) = learn(lines, cutter, words, params, output, ctx)?;
    vectors.save(output, cutter.spec())?;
    checkpoint.remove()?;
    Ok((vectors, report))
}

/// Trains as [`train`] does, and writes nothing but the checkpoint.
pub(crate) fn learn(
    lines: &mut Lines,
    cutter: &Cutter,
    words: &WordParams,
    params: &Word2vecParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report, Checkpoint)> {
    params.check()?;
    let (corpus, mut report) = words.read(lines, cutter, output, ctx)?;
    let checkpoint = checkpoint(&corpus, words, params, output, ctx)?;
    let mut trainer = Word2vec::new(given(&corpus), params, ctx.seed())?;
    pass(&mut trainer, &checkpoint, corpus.tokens(), &mut report, ctx)?;
    let settings = json!({"words": words, "word2vec": params, "seed": ctx.seed(), "losses": trainer.losses()});
    let values = trainer.vectors();
    drop(trainer);
    Ok((corpus.vectors(METHOD, settings, params.dim, values)?, report, checkpoint))
}

impl WordParams {
    /// Reads a corpus as these say.
    pub(crate) fn read(
        &self,
        lines: &mut Lines,
        cutter: &Cutter,
        output: &Path,
        ctx: &Ctx,
    ) -> Result<(Numbered, Report)> {
        let kept = WordLimits { min_count: self.min_count, max_words: self.max_words };
        Numbered::read(lines, cutter, WordReading::Phrases(&self.phrases), kept, output, ctx)
    }
}

/// The corpus as a trainer takes it.
pub(crate) fn given(corpus: &Numbered) -> Corpus<'_> {
    let Numbered { words, counts, documents, .. } = corpus;
    Corpus { words, counts, numbers: corpus.numbers(), documents: *documents }
}

/// The checkpoint of this training.
pub(crate) fn checkpoint(
    corpus: &Numbered,
    words: &WordParams,
    params: &Word2vecParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Checkpoint> {
    let text = Key::of(bytemuck::cast_slice(corpus.numbers()));
    let vocabulary = Key::of_parts(corpus.words.iter().map(|word| word.as_bytes()));
    let seed = ctx.seed();
    Checkpoint::new(
        output,
        &json!({"words": words, "word2vec": params, "seed": seed, "vocabulary": vocabulary, "text": text}),
    )
}

/// Makes the passes that are left; the report has `resumed`, `passes` and `dim`.
pub(crate) fn pass(
    trainer: &mut Word2vec<'_>,
    checkpoint: &Checkpoint,
    tokens: u64,
    report: &mut Report,
    ctx: &Ctx,
) -> Result<()> {
    trainer.resume(checkpoint)?;
    report.fact("resumed", trainer.passes().len());
    ctx.stage("word2vec", "words", Some(tokens * trainer.left() as u64), || {
        trainer.finish(Some(checkpoint), ctx)?;
        let mut report = Report::new("word2vec");
        (report.rows_in, report.rows_out) = (tokens, tokens);
        Ok(report)
    })?;
    let passes = trainer.passes().iter().map(|pass| {
        json!({
            "epoch": pass.epoch, "loss": pass.loss, "rate": pass.rate, "seconds": pass.seconds,
            "words_per_second": (tokens as f64 / pass.seconds.max(1e-9)).round(),
        })
    });
    report.fact("passes", passes.collect::<Vec<_>>());
    report.fact("dim", trainer.dim());
    Ok(())
}
