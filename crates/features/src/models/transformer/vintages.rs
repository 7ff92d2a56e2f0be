//! Encoders of one window of time after the other: the first is trained from nothing, each later one on from the one before, on the documents of its
//! own window alone. So an encoder knows no document behind its window, and all of them cut text alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::pretrain::{PretrainParams, pretrain_once};
use crate::lines::{Cutter, Lines};
use crate::standalone::vintages::{Period, divide, lines_of};
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// The encoder of a window.
#[derive(Serialize)]
struct EncoderVintage {
    /// Name of the window, and of the folder: 2024, 2024H1, 2024Q1, 2024-01.
    window: String,
    documents: u64,
    fitted_until: Value,
    /// Perplexity of the predicted tokens of held-out inputs.
    perplexity: Value,
    output: PathBuf,
    /// Reason for which the window has no encoder.
    reason: Option<String>,
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
        let map = Arc::new(text.scratch.map()?.context(Word("窗口应有文档", "a window has a document"))?);
        let before = vintages.iter().rev().find(|vintage| vintage.reason.is_none());
        let base = before.map(|vintage| vintage.output.as_path());
        let trained = pretrain_once(&|| Ok(lines_of(&map)), cutter, base, params, &output, true, ctx);
        let (facts, reason) = match trained {
            Ok(trained) => (trained.facts, None),
            Err(error) if error.is::<TooLittle>() => (Map::new(), Some(format!("{error:#}"))),
            Err(error) => return Err(error.context(message!("窗口 {window}", "the window {window}"))),
        };
        let fact = |name: &str| facts.get(name).cloned().unwrap_or_default();
        let (fitted_until, perplexity) = (fact("fitted_until"), fact("perplexity"));
        vintages.push(EncoderVintage { window, documents: text.documents, fitted_until, perplexity, output, reason });
    }
    ensure!(
        vintages.iter().any(|vintage| vintage.reason.is_none()),
        "没有一个窗口得到编码器：{}",
        "no window gave an encoder: {}",
        vintages.iter().find_map(|vintage| vintage.reason.clone()).unwrap_or_default()
    );
    report.fact("documents", report.rows_out);
    report.fact("vintages", &vintages);
    Ok(report)
}
