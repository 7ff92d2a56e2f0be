//! The manifest that stands beside every export: what the files are, and what they were made from.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::Params;
use crate::backtest::Outcome;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::{bail, message};

/// Origin of the factors, as the caller knows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// Parameters of all stages before.
    pub parameters: serde_json::Value,
    /// Content hashes of what went in, by name.
    pub inputs: BTreeMap<String, Key>,
    /// The stages in the order in which they ran; none for an export of tables that came from elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageNote>,
    pub seed: u64,
    /// In words, when a factor's value counts as known.
    pub known_at: String,
    /// Versions of what shaped the result (`jieba-rs`, dictionaries); this program's own is added.
    pub versions: BTreeMap<String, String>,
    /// Device of each contextual model, by stage: device, nodes by provider, version of the library.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ran: BTreeMap<String, serde_json::Value>,
    /// Time of the export. Left out by default, so that the same content makes the same bytes.
    pub created: Option<NaiveDateTime>,
}

/// A stage that a factor came through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageNote {
    pub stage: String,
    /// Hash of everything that it depends on: parameters, what it read, version of the code.
    pub key: Key,
    /// Hash of the output.
    pub output: Key,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path below the export's folder, with `/`.
    pub path: String,
    /// Rows, lines or values.
    pub rows: u64,
    pub bytes: u64,
    /// BLAKE3 of the file, 64 hexadecimal digits, as `b3sum` prints it.
    pub blake3: String,
}

/// Notes on how to read the figures of a backtest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BacktestNote {
    pub factor: String,
    /// The alignment in words.
    pub alignment: String,
    /// True if values were paired with returns that had begun before they were known.
    pub lookahead: bool,
    /// Values refused because they were not known in time.
    pub refused: u64,
    /// First and last date with a value.
    pub dates: Option<(NaiveDate, NaiveDate)>,
}

impl BacktestNote {
    pub(super) fn new(outcome: &Outcome) -> BacktestNote {
        let dates = &outcome.coverage.dates;
        BacktestNote {
            factor: outcome.factor.clone(),
            alignment: outcome.alignment_in_words().en,
            lookahead: outcome.lookahead,
            refused: outcome.refused.values,
            dates: dates.first().copied().zip(dates.last().copied()),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    #[serde(flatten)]
    pub provenance: Provenance,
    pub export: Params,
    pub factors: Vec<String>,
    pub backtests: Vec<BacktestNote>,
    /// Every file but this one, sorted by path.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    pub fn read(path: &Path) -> Result<Manifest> {
        // A manifest without a seal tells of a run as well as any.
        let manifest: Manifest = disk::read_unsealed_json(path).with_context(|| {
            message!(
                "{} 不是导出的清单（其文件夹中的 manifest.json）",
                "{} is no manifest of an export (manifest.json in its folder)",
                path.display()
            )
        })?;
        let within = |file: &FileEntry| Path::new(&file.path).components().all(|c| matches!(c, Component::Normal(_)));
        if let Some(file) = manifest.files.iter().find(|file| !within(file)) {
            bail!(
                "{} 提到其文件夹之外的 {:?}：它不是导出写的",
                "{} names {:?}, which is outside of its folder: no export wrote it",
                path.display(),
                file.path
            );
        }
        Ok(manifest)
    }

    pub(super) fn new(provenance: &Provenance, params: &Params) -> Manifest {
        let mut provenance = provenance.clone();
        provenance.versions.insert("inkstone".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Manifest { provenance, export: params.clone(), factors: Vec::new(), backtests: Vec::new(), files: Vec::new() }
    }
}
