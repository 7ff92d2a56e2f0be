//! GloVe on plain files: counted pairs, and the vectors trained on them.
//!
//! Pairs are counted by 1/distance within sorted runs on disk where memory is short, and trained from a scratch file; memory is that
//! of the vocabulary, the vectors, and what counting is allowed.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::lines::{Cutter, Lines};
use crate::models::ppmi;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::{CooccurrenceParams, GloveParams, Pairs, WordVectors};

/// Name of the method in `train`.
pub const METHOD: &str = "glove";

/// Counts pairs, trains vectors on them and writes these to `output`. An interrupted training leaves a checkpoint beside it, from
/// which the same training goes on, when the pairs are counted again. The report has `documents`, `tokens`,
/// `vocabulary`, `kept_tokens`, `fitted_until`, `pairs`, `dim`, `losses` (a pair's mean in each epoch) and `pairs_per_second`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    counting: &CooccurrenceParams,
    params: &GloveParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    params.check()?;
    let (corpus, counts, mut report) = ppmi::count(lines, cutter, counting, output, ctx)?;
    let pairs = Pairs::new(&counts, params, disk::folder_of(output), ctx)?;
    drop(counts);
    ensure!(
        pairs.count() > 0,
        "没有两个词相邻：请放宽 --window，或提供更长的文档",
        "no two words stand near each other: widen --window, or give longer documents"
    );
    let (text, seed) = (Key::of(bytemuck::cast_slice(corpus.numbers())), ctx.seed());
    let what = json!({"cooccurrence": counting, "glove": params, "seed": seed, "words": corpus.words, "text": text});
    let checkpoint = Checkpoint::new(output, &what)?;
    let began = std::time::Instant::now();
    let (mut trained, steps) = (None, pairs.count() * params.epochs);
    ctx.stage(METHOD, "pairs", Some(steps as u64), || {
        trained = Some(pairs.train(params, Some(&checkpoint), ctx)?);
        Ok(Report::new(METHOD))
    })?;
    let trained = trained.context(Word("正常结束的阶段应训练出结果", "a stage that ended well has trained"))?;
    report.fact("pairs", pairs.count());
    report.fact("dim", params.dim);
    report.fact("losses", &trained.losses);
    report.fact("pairs_per_second", steps as f64 / began.elapsed().as_secs_f64());
    let settings = json!({"cooccurrence": counting, "glove": params, "losses": trained.losses, "seed": seed});
    let vectors = corpus.vectors(METHOD, settings, params.dim, trained.values)?;
    vectors.save(output, cutter.spec())?;
    checkpoint.remove()?;
    Ok((vectors, report))
}
