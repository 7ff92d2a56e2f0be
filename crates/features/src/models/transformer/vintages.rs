//! Encoders of one window of time after the other: the first is trained from nothing, each later one on from the one before, on the documents of its
//! own window alone. So an encoder knows no document behind its window, and all of them cut text alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::pretrain::{PretrainParams, pretrain_once};
use crate::lines::{Cutter, Lines};
use crate::standalone::vintages::{Period, divide, lines_of};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;

/// The encoder of a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct EncoderVintage {
    /// Name of the window, and of the folder: 2024, 2024H1, 2024Q1, 2024-01.
    window: String,
    documents: u64,
    fitted_until: Value,
    /// Perplexity of the predicted tokens of held-out inputs.
    perplexity: Value,
    output: PathBuf,
}

/// Trains an encoder on each window of the lines that have a time; the folders are `FOLDER/WINDOW`. An encoder that the same training wrote there
/// before stays as it is, so new documents cost the windows from theirs on. The report has `documents` and `vintages`.
pub fn pretrain_vintages(
    lines: &mut Lines,
    cutter: &Cutter,
    period: Period,
    params: &PretrainParams,
    folder: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    disk::own_folder(folder, Room::Models)?;
    let (windows, mut report) = divide(lines, period, folder, ctx)?;
    let mut vintages: Vec<EncoderVintage> = Vec::new();
    for (window, text) in windows {
        let output = folder.join(&window);
        let map = Arc::new(text.scratch.map()?.context("a window has a document")?);
        let base = vintages.last().map(|before| before.output.as_path());
        let found = pretrain_once(&|| Ok(lines_of(&map)), cutter, base, params, &output, true, ctx)
            .with_context(|| format!("the window {window}"))?;
        let fact = |name: &str| found.facts.get(name).cloned().unwrap_or_default();
        vintages.push(EncoderVintage {
            window,
            documents: text.documents,
            fitted_until: fact("fitted_until"),
            perplexity: fact("perplexity"),
            output,
        });
    }
    report.fact("documents", report.rows_out);
    report.fact("vintages", &vintages);
    Ok(report)
}
