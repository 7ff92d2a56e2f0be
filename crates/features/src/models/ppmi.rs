//! Co-occurrence, PPMI and its word vectors on plain files.
//!
//! Title and text of a document are apart: no pair reaches from one into the other. Memory is bounded by the vocabulary, a
//! block, and what counting is allowed.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::lines::{Cutter, Lines};
use crate::standalone::numbered::{Numbered, WordReading};
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_models::{Cooccurrence, CooccurrenceParams, PairCounter, Ppmi, PpmiParams, WordLimits, WordVectors};

/// Name of the method in `train`.
pub const METHOD: &str = "ppmi";

/// Files (`.npz`) for the matrices, where they are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Matrices<'a> {
    /// For the counts of pairs.
    pub counts: Option<&'a Path>,
    /// For the positive pointwise mutual information.
    pub ppmi: Option<&'a Path>,
}

/// Counts pairs, and makes word vectors of them. Scratch files are made in the folder of `beside`; `matrices` that are
/// wanted are written. The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `pairs`, `cells`,
/// `dim`, `singular_values`, `singular_value_error`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    counting: &CooccurrenceParams,
    params: &PpmiParams,
    beside: &Path,
    matrices: Matrices<'_>,
    ctx: &Ctx,
) -> Result<(WordVectors, Report)> {
    let (corpus, counts, mut report) = count(lines, cutter, counting, beside, ctx)?;
    if let Some(path) = matrices.counts {
        counts.write_npz(path, &corpus.words, ctx)?;
    }
    let ppmi = Ppmi::new(&counts, params, disk::folder_of(beside), ctx)?;
    report.fact("pairs", counts.pairs());
    report.fact("cells", ppmi.cells());
    drop(counts);
    if let Some(path) = matrices.ppmi {
        ppmi.write_npz(path, &corpus.words, ctx)?;
    }
    let found = ppmi.vectors(params, ctx)?;
    report.fact("dim", params.svd.dim);
    report.fact("singular_values", &found.singular_values);
    report.fact("singular_value_error", found.error);
    let settings = json!({
        "cooccurrence": counting, "ppmi": params, "singular_values": found.singular_values, "error": found.error,
    });
    Ok((corpus.vectors(METHOD, settings, params.svd.dim, found.rows)?, report))
}

/// Counts the pairs of the words of all lines.
pub(crate) fn count(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &CooccurrenceParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Numbered, Cooccurrence, Report)> {
    let kept = WordLimits { min_count: params.min_count, max_words: params.max_words };
    let (corpus, report) = Numbered::read(lines, cutter, WordReading::Terms, kept, beside, ctx)?;
    let counts = PairCounter::count(corpus.words.len(), corpus.sequences(), params, disk::folder_of(beside), ctx)?;
    Ok((corpus, counts, report))
}
