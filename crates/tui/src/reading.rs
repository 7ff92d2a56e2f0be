//! Reading for the screen: errors as it shows them, and the rows that ingest set aside.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, GB18030, UTF_8};
use serde::Deserialize;

use inkstone_base::disk;
use inkstone_base::job::panic_text;
use inkstone_base::language::Message;
use inkstone_base::{error, message};
use inkstone_corpus::ingest::IngestLog;
use inkstone_tables::project::Project;

/// Rejects of a group that are kept; the rest is counted.
const KEPT_OF_GROUP: u64 = 1000;

/// Rejects that are kept in all.
const KEPT: usize = 20_000;

/// A row that ingest set aside.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reject {
    pub file: String,
    /// The row in the file, counted from 1.
    pub row: Option<u64>,
    pub column: Option<String>,
    pub reason: String,
    pub value: Option<String>,
    /// The bytes of the row in base64; once read, the row as text.
    pub raw: Option<String>,
}

/// Rejects of a file for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RejectGroup {
    pub reason: String,
    pub file: String,
    pub count: u64,
}

/// Rows that ingest set aside: the first of each group, and how many each group has.
#[derive(Debug, Default)]
pub(crate) struct Rejects {
    pub rows: Vec<Reject>,
    /// In the order of their first rows.
    pub groups: Vec<RejectGroup>,
    pub total: u64,
}

/// Runs one piece of reading so that even a panic in it (a segmenter, a damaged file) is an error on its page only.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T, Message> {
    let result = catch_unwind(AssertUnwindSafe(work));
    result
        .unwrap_or_else(|panic| Err(error!("内部错误：{}", "internal error: {}", panic_text(panic.as_ref()))))
        .map_err(chain)
}

/// An error as the screen shows it.
pub(crate) fn chain(error: anyhow::Error) -> Message {
    Message::of_error(&error)
}

/// Reads the rows that ingest set aside.
pub(crate) fn rejects(project: &Project) -> Result<Rejects> {
    let mut rejects = Rejects::default();
    let path = &project.rejects();
    if !path.exists() {
        return Ok(rejects);
    }
    // Without the log the rows are guessed at; they are still worth showing.
    let log: Option<IngestLog> = disk::read_json(&project.ingest_log()).ok();
    let files = log.iter().flat_map(|log| &log.files);
    let encodings: BTreeMap<&str, &str> =
        files.filter_map(|f| Some((f.path.as_str(), f.encoding.as_ref()?.name.as_str()))).collect();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    let file = std::fs::File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        rejects.total += 1;
        let mut row: Reject = serde_json::from_slice(&line).with_context(|| {
            message!("{1} 的第 {0} 行不是拒收记录", "line {} of {} is not a reject", rejects.total, path.display())
        })?;
        let next = rejects.groups.len();
        let at = *known.entry((row.reason.clone(), row.file.clone())).or_insert(next);
        if at == next {
            rejects.groups.push(RejectGroup { reason: row.reason.clone(), file: row.file.clone(), count: 0 });
        }
        rejects.groups[at].count += 1;
        if rejects.groups[at].count <= KEPT_OF_GROUP && rejects.rows.len() < KEPT {
            row.raw = row.raw.map(|raw| original(&raw, encodings.get(row.file.as_str()).copied()));
            rejects.rows.push(row);
        }
    }
    Ok(rejects)
}

/// The text of a row from its bytes: in the encoding of its file, or else UTF-8 or GB18030, whichever it can be. Bytes that
/// are none of it stay visible as replacement characters. A row without bytes of its own is text already.
fn original(raw: &str, encoding: Option<&str>) -> String {
    let Ok(bytes) = STANDARD.decode(raw) else { return raw.to_owned() };
    let named = encoding.and_then(|name| Encoding::for_label(name.as_bytes()));
    let guessed = || if std::str::from_utf8(&bytes).is_ok() { UTF_8 } else { GB18030 };
    named.unwrap_or_else(guessed).decode(&bytes).0.into_owned()
}
