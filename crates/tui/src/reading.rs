//! The thread that reads files for the screen. Requests go in, answers come back as events.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, GB18030, UTF_8};
use serde::Deserialize;

use super::Workspace;
use super::event::Event;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::{Ctx, Job, panic_text};
use inkstone_base::language::Message;
use inkstone_base::{error, message};
use inkstone_corpus::ingest::IngestLog;
use inkstone_tables::project::Project;

/// Rejects of a group that are kept; the rest is counted.
const KEPT_OF_GROUP: u64 = 1000;

/// Rejects that are kept in all.
const KEPT: usize = 20_000;

/// A reading that a page asks for.
pub enum Request {
    /// The rows that ingest set aside.
    Rejects,
    /// The reports of the stages' last run.
    Reports,
}

/// The result of a [`Request`]. Errors are chains in words, ready to show.
pub enum Answer {
    /// To [`Request::Rejects`].
    Rejects(Result<Rejects, Message>),
    /// To [`Request::Reports`].
    Reports(Vec<Report>),
}

/// A row that ingest set aside.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reject {
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
pub struct RejectGroup {
    pub reason: String,
    pub file: String,
    pub count: u64,
}

/// Rows that ingest set aside: the first of each group, and how many each group has.
#[derive(Debug, Default)]
pub struct Rejects {
    pub rows: Vec<Reject>,
    /// In the order of their first rows.
    pub groups: Vec<RejectGroup>,
    pub total: u64,
}

/// The reading thread. It ends when this is dropped.
pub struct ReadingThread {
    /// Held so that dropping this ends the thread.
    _job: Job<()>,
    requests: Sender<Request>,
}

impl ReadingThread {
    pub fn start(workspace: &Workspace, events: Sender<Event>) -> Result<ReadingThread> {
        let (requests, queue) = channel();
        let workspace = workspace.clone();
        let job =
            Job::spawn("screen reading", Ctx::new(1, 0)?, move |ctx| answer_all(&workspace, &queue, &events, ctx))?;
        Ok(ReadingThread { _job: job, requests })
    }

    /// Asks for something; the answer comes as an event.
    pub fn ask(&self, request: Request) {
        // The thread outlives this handle, so there is always somebody who listens.
        let _ = self.requests.send(request);
    }
}

fn answer_all(workspace: &Workspace, queue: &Receiver<Request>, events: &Sender<Event>, ctx: &Ctx) -> Result<()> {
    loop {
        ctx.check()?;
        let mut waiting = match queue.recv_timeout(Duration::from_millis(100)) {
            Ok(request) => vec![request],
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        waiting.extend(queue.try_iter());
        for request in waiting {
            let answer = Event::Answer(Box::new(answer(workspace, request)));
            if events.send(answer).is_err() {
                return Ok(());
            }
        }
    }
}

fn answer(workspace: &Workspace, request: Request) -> Answer {
    match request {
        Request::Rejects => Answer::Rejects(guarded(|| rejects(&workspace.project))),
        Request::Reports => Answer::Reports((workspace.reports)()),
    }
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

fn rejects(project: &Project) -> Result<Rejects> {
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
