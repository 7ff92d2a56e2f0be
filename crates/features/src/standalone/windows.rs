//! Word vectors by the ranking of windows, on plain files.
//!
//! Title and text of a document are apart: no window reaches from one into the other.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::numbered::{Numbered, WordReading};
use super::{Cutter, Lines};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::{WindowParams, rank_windows};
use inkstone_models::{WordLimits, WordVectors};

/// Name of the method in `train`.
pub const METHOD: &str = "cw";

/// Trains word vectors on all lines and writes them to `output`. An interrupted training leaves a checkpoint beside it, from which
/// the same training goes on. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `epochs`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    vocabulary: WordLimits,
    params: &WindowParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    params.check()?;
    let (corpus, mut report) = Numbered::read(lines, cutter, WordReading::Terms, vocabulary, output, ctx)?;
    let text = Key::of(bytemuck::cast_slice(corpus.numbers()));
    let what = json!({"network": params, "seed": ctx.seed(), "words": corpus.words, "text": text});
    let checkpoint = Checkpoint::new(output, &what)?;
    let (values, epochs) = rank_windows(corpus.numbers(), corpus.words.len(), params, Some(&checkpoint), ctx)?;
    report.fact("epochs", &epochs);
    let vectors = corpus.vectors(METHOD, json!({"network": params, "epochs": epochs}), params.dim, values)?;
    vectors.save(output, cutter.spec())?;
    checkpoint.remove()?;
    Ok((vectors, report))
}
