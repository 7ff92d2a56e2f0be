//! Vintages: word vectors of one window of time after the other, each turned to lie as near as it can to the one before.
//!
//! A vintage knows the words of its own window alone, and carries the last time of what it saw. Turning changes no angle
//! within it, so that nothing of one window enters another. `shift` measures how far words moved.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{Datelike, NaiveDateTime};
use memmap2::Mmap;
use serde::Serialize;
use serde_json::json;

use super::{Cutter, LineFormat, Lines};
use crate::lines::BLOCK;
use crate::models::word2vec;
use crate::models::word2vec::WordParams;
use crate::stage_result;
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::disk::{self, Room, Scratch};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{Word2vecParams, WordVectors};

/// Name in `inkstone train`.
pub const METHOD: &str = "vintages";

/// Length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Period {
    /// Calendar months.
    Month,
    /// Calendar quarters.
    Quarter,
    /// Halves of calendar years.
    Half,
    /// Calendar years.
    Year,
}

impl Period {
    /// The window of a time; names sort as their times do.
    fn window(self, time: NaiveDateTime) -> String {
        let (year, month) = (time.year(), time.month0());
        match self {
            Period::Month => format!("{year:04}-{:02}", month + 1),
            Period::Quarter => format!("{year:04}Q{}", month / 3 + 1),
            Period::Half => format!("{year:04}H{}", month / 6 + 1),
            Period::Year => format!("{year:04}"),
        }
    }
}

/// The result of a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Vintage {
    /// Name of the window: 2024, 2024H1, 2024Q1, 2024-01.
    pub window: String,
    pub documents: u64,
    /// Words with vectors.
    pub words: usize,
    /// Last time of its documents.
    pub fitted_until: Option<NaiveDateTime>,
    /// The model file; none when the window gave none.
    pub output: Option<PathBuf>,
    /// Reason for which it gave no model.
    pub reason: Option<String>,
}

/// Trains a model on each window of a file whose documents have times; their files are `FOLDER/WINDOW.model`. A window that is
/// too small for a model, or for one that can be turned to the one before, is left out with its reason. The report has
/// `documents` and `vintages`; documents without a time are set aside.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    period: Period,
    words: &WordParams,
    params: &Word2vecParams,
    folder: &Path,
    ctx: &Ctx,
) -> Result<(Vec<Vintage>, Report)> {
    params.check()?;
    disk::own_folder(folder, Room::Models)?;
    let (windows, mut report) = divide(lines, period, folder, ctx)?;
    ensure!(
        windows.len() > 1,
        "全部 {} 篇带时间的文档都在同一个 {period:?} 里：请选更短的 --by，或提供更多文本",
        "all {} documents with a time lie in one {period:?}: choose a shorter --by, or give more text",
        report.rows_out
    );
    let mut vintages = Vec::with_capacity(windows.len());
    let mut before: Option<WordVectors> = None;
    for (window, WindowLines { scratch, documents }) in windows {
        let output = folder.join(format!("{window}.model"));
        let trained = stage_result(ctx, &window, "docs", Some(documents), || {
            let map = Arc::new(scratch.map()?.context(Word("窗口应有文档", "a window has a document"))?);
            let mut lines = lines_of(&map);
            let (vectors, report, checkpoint) =
                word2vec::plain::learn(&mut lines, cutter, words, params, &output, ctx)?;
            let vectors = match &before {
                Some(before) => ctx.install(|| vectors.aligned(before))?,
                None => vectors,
            };
            vectors.save(&output, cutter.spec())?;
            checkpoint.remove()?;
            Ok((vectors, report))
        });
        let mut vintage = Vintage { window, documents, words: 0, fitted_until: None, output: None, reason: None };
        match trained {
            Ok(vectors) => {
                vintage.words = vectors.words().len();
                vintage.fitted_until = vectors.training().fitted_until;
                vintage.output = Some(output);
                before = Some(vectors);
            }
            Err(error) if error.is::<TooLittle>() => vintage.reason = Some(format!("{error:#}")),
            Err(error) => return Err(error.context(vintage.window)),
        }
        vintages.push(vintage);
    }
    ensure!(
        before.is_some(),
        "没有一个窗口得到模型：{}",
        "no window gave a model: {}",
        vintages.iter().find_map(|vintage| vintage.reason.clone()).unwrap_or_default()
    );
    report.fact("documents", report.rows_out);
    report.fact("vintages", &vintages);
    Ok((vintages, report))
}

/// The documents of a window, as JSON lines.
pub(crate) struct WindowLines {
    pub(crate) scratch: Scratch,
    pub(crate) documents: u64,
}

/// The documents of a window that were mapped into memory.
pub(crate) fn lines_of(map: &Arc<Mmap>) -> Lines {
    Lines::new(Cursor::new(SharedMap(Arc::clone(map))), LineFormat::Jsonl)
}

struct SharedMap(Arc<Mmap>);

impl AsRef<[u8]> for SharedMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Deals documents to their windows, in the order of the file.
pub(crate) fn divide(
    lines: &mut Lines,
    period: Period,
    folder: &Path,
    ctx: &Ctx,
) -> Result<(BTreeMap<String, WindowLines>, Report)> {
    let mut windows: BTreeMap<String, WindowLines> = BTreeMap::new();
    let mut timeless = 0;
    lines.for_each_block(BLOCK, |documents| {
        for line in documents {
            ctx.advance(1)?;
            let Some(time) = line.time else {
                timeless += 1;
                continue;
            };
            let window = match windows.entry(period.window(time)) {
                Entry::Occupied(window) => window.into_mut(),
                Entry::Vacant(window) => window.insert(WindowLines { scratch: Scratch::within(folder)?, documents: 0 }),
            };
            let document = json!({"title": line.title, "text": line.text, "time": time.to_string()});
            window.scratch.write(format!("{document}\n").as_bytes())?;
            window.documents += 1;
        }
        Ok(())
    })?;
    let mut report = lines.finish()?;
    ensure!(
        !windows.is_empty(),
        "没有文档有时间：分期训练须用 \"text\" 之外带 \"time\" 的 JSON 行（--format jsonl）",
        "no document has a time: vintages are trained on JSON lines with \"time\" beside \"text\" (--format jsonl)"
    );
    report.drop_rows("no time", timeless);
    report.rows_out -= timeless;
    Ok((windows, report))
}
