//! The thread that reads files for the screen, and the searches. Requests go in, answers come back as events.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDateTime;
use encoding_rs::{Encoding, GB18030, UTF_8};
use polars::prelude::{DataFrame, ParquetReader, SerReader};
use serde::Deserialize;

use super::event::Event;
use super::{Cut, Mark, Workspace};
use crate::corpus;
use crate::data::{Document, Kind, Report};
use crate::disk;
use crate::ingest::Log;
use crate::job::{Ctx, Job, panic_text};
use crate::project::Project;

/// Rejects that the screen lists; the rest is counted.
pub(crate) const REJECTS_SHOWN: usize = 5000;

/// The column of a cleaned document's first mention.
const FIRST: &str = "first_mention";

/// What to read.
pub(crate) enum Request {
    /// Which parts the corpus has; the number comes back with whatever is read by this list.
    Index(u64),
    /// The rows of a part, without the bodies.
    Part(Arc<Index>, usize),
    /// One document, cut and marked.
    Text(Selection),
    /// The rows that ingest set aside.
    Rejects,
    /// What the stages said when they last ran.
    Reports,
}

/// The document to read, and how.
pub(crate) struct Selection {
    /// The corpus as listed.
    pub(crate) index: Arc<Index>,
    /// Part and row.
    pub(crate) place: (usize, usize),
    /// How to cut the body; `None`: not at all.
    pub(crate) cut: Option<Cut>,
}

/// What was read. Errors are chains in words, ready to show.
pub(crate) enum Answer {
    /// To [`Request::Index`], with its number.
    Index(u64, Result<Index, String>),
    /// To [`Request::Part`], with the numbers of the list and of the part.
    Part(u64, usize, Result<Vec<Row>, String>),
    /// To [`Request::Text`], with the number of the list.
    Text(u64, Result<Box<Text>, String>),
    /// To [`Request::Rejects`].
    Rejects(Result<Rejects, String>),
    /// To [`Request::Reports`].
    Reports(Vec<Report>),
    /// Documents found by the search of this number, ascending; sent part by part.
    Hits(u64, Vec<u64>),
    /// The search of this number ended, well or not.
    Searched(u64, Result<(), String>),
}

/// The parts of the corpus and how many documents each has.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Which list this is: after a run the parts are listed anew.
    pub(crate) number: u64,
    /// File and documents of each part.
    pub(crate) parts: Vec<(PathBuf, usize)>,
    /// Whether these are cleaned documents, with duplicates marked.
    pub(crate) cleaned: bool,
}

impl Index {
    /// Documents in all.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|p| p.1).sum()
    }

    /// Part and row of document number `n`.
    pub(crate) fn place(&self, mut n: usize) -> Option<(usize, usize)> {
        for (i, (_, rows)) in self.parts.iter().enumerate() {
            if n < *rows {
                return Some((i, n));
            }
            n -= rows;
        }
        None
    }
}

/// What the table shows of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// When it became public.
    pub(crate) published_at: NaiveDateTime,
    /// Its codes, joined by commas.
    pub(crate) codes: String,
    /// News, report, announcement or post.
    pub(crate) kind: Kind,
    /// Its title.
    pub(crate) title: String,
    /// Whether an earlier document said the same.
    pub(crate) repeats: bool,
}

/// One document, cut and marked.
#[derive(Debug)]
pub(crate) struct Text {
    /// Part and row.
    pub(crate) place: (usize, usize),
    /// The document.
    pub(crate) document: Document,
    /// The first mention that it repeats.
    pub(crate) first: Option<String>,
    /// How it was cut.
    pub(crate) cut: Option<Cut>,
    /// The tokens of the body.
    pub(crate) tokens: Vec<Range<usize>>,
    /// Marked passages of the body.
    pub(crate) marks: Vec<Mark>,
    /// What went wrong with the marks.
    pub(crate) fault: Option<String>,
}

/// A row that ingest set aside.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reject {
    /// The file.
    pub(crate) file: String,
    /// The row in the file, counted from 1.
    pub(crate) row: Option<u64>,
    /// The column at fault.
    pub(crate) column: Option<String>,
    /// Why.
    pub(crate) reason: String,
    /// The value at fault.
    pub(crate) value: Option<String>,
    /// The bytes of the row in base64; once read, the row as text.
    pub(crate) raw: Option<String>,
}

/// Rows that ingest set aside: the first of them, and how many in all.
#[derive(Debug, Default)]
pub(crate) struct Rejects {
    /// The first [`REJECTS_SHOWN`].
    pub(crate) rows: Vec<Reject>,
    /// In all.
    pub(crate) total: u64,
}

/// The reading thread. It ends when this is dropped.
pub(crate) struct Reading {
    /// Held so that dropping this ends the thread.
    _job: Job<()>,
    requests: Sender<Request>,
}

impl Reading {
    /// Starts the thread.
    pub(crate) fn start(workspace: &Workspace, events: Sender<Event>) -> Result<Reading> {
        let (requests, queue) = channel();
        let workspace = workspace.clone();
        let job =
            Job::spawn("screen reading", Ctx::new(1, 0)?, move |ctx| answer_all(&workspace, &queue, &events, ctx))?;
        Ok(Reading { _job: job, requests })
    }

    /// Asks for something; the answer comes as an event.
    pub(crate) fn ask(&self, request: Request) {
        // The thread outlives this handle, so there is always somebody who listens.
        let _ = self.requests.send(request);
    }
}

fn answer_all(workspace: &Workspace, queue: &Receiver<Request>, events: &Sender<Event>, ctx: &Ctx) -> Result<()> {
    let mut open = None;
    loop {
        ctx.check()?;
        let mut waiting = match queue.recv_timeout(Duration::from_millis(100)) {
            Ok(request) => vec![request],
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        waiting.extend(queue.try_iter());
        // While the user runs through documents, only the one where he has arrived is worth cutting.
        let last_text = waiting.iter().rposition(|r| matches!(r, Request::Text(_)));
        for (i, request) in waiting.into_iter().enumerate() {
            let last = match request {
                Request::Text(_) => last_text,
                _ => Some(i),
            };
            if last != Some(i) {
                continue;
            }
            let answer = Event::Answer(Box::new(answer(workspace, request, &mut open)));
            if events.send(answer).is_err() {
                return Ok(());
            }
        }
    }
}

/// The part whose bodies were read last: documents read one after the other mostly come from one part.
struct OpenPart {
    list: u64,
    part: usize,
    documents: Vec<Document>,
    first: Vec<Option<String>>,
}

fn answer(workspace: &Workspace, request: Request, open: &mut Option<OpenPart>) -> Answer {
    match request {
        Request::Index(number) => Answer::Index(number, guarded(|| index(workspace, number))),
        Request::Part(index, i) => Answer::Part(index.number, i, guarded(|| rows(&index, i))),
        Request::Text(selection) => Answer::Text(selection.index.number, guarded(|| text(workspace, &selection, open))),
        Request::Rejects => Answer::Rejects(guarded(|| rejects(&workspace.project))),
        Request::Reports => Answer::Reports((workspace.reports)()),
    }
}

/// Runs one piece of reading so that even a panic in it (a segmenter, a damaged file) is an error on its page only.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T, String> {
    let result = catch_unwind(AssertUnwindSafe(work));
    result.unwrap_or_else(|panic| Err(anyhow!("internal error: {}", panic_text(panic.as_ref())))).map_err(chain)
}

/// An error as the screen shows it.
pub(crate) fn chain(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// The cleaned corpus when it is complete, else the corpus as ingested.
fn index(workspace: &Workspace, number: u64) -> Result<Index> {
    let documents = workspace.project.documents().files()?;
    let clean = workspace.project.clean().files()?;
    let cleaned = !clean.is_empty() && clean.len() >= documents.len();
    let parts = if cleaned { clean } else { documents };
    let parts = parts.into_iter().map(|path| rows_of(&path).map(|rows| (path, rows))).collect::<Result<_>>()?;
    Ok(Index { number, parts, cleaned })
}

/// Rows of a Parquet file, from its footer.
fn rows_of(path: &Path) -> Result<usize> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    ParquetReader::new(file).num_rows().with_context(|| format!("{} is not a readable Parquet file", path.display()))
}

fn path_of(index: &Index, part: usize) -> Result<&Path> {
    let entry = index.parts.get(part).context("the corpus has become shorter since it was listed")?;
    Ok(&entry.0)
}

fn rows(index: &Index, part: usize) -> Result<Vec<Row>> {
    let mut columns = vec!["doc_id", "published_at", "codes", "kind", "title"];
    columns.extend(index.cleaned.then_some(FIRST));
    let frame = disk::read_parquet(path_of(index, part)?, Some(&columns))?;
    let text = |name: &str| Ok::<_, anyhow::Error>(corpus::column(&frame, name)?.str()?.clone());
    let [ids, codes, kinds, titles] = [text("doc_id")?, text("codes")?, text("kind")?, text("title")?];
    let first = first_mentions(index, &frame)?;
    let times = corpus::times_of(&frame, "published_at")?;
    let row = |i: usize| Row {
        published_at: times[i].unwrap_or_default(),
        codes: codes.get(i).unwrap_or_default().to_owned(),
        kind: kinds.get(i).and_then(Kind::parse).unwrap_or_default(),
        title: titles.get(i).unwrap_or_default().to_owned(),
        repeats: first[i].as_deref().is_some_and(|f| Some(f) != ids.get(i)),
    };
    Ok((0..frame.height()).map(row).collect())
}

fn first_mentions(index: &Index, frame: &DataFrame) -> Result<Vec<Option<String>>> {
    if !index.cleaned {
        return Ok(vec![None; frame.height()]);
    }
    Ok(corpus::column(frame, FIRST)?.str()?.iter().map(|f| f.map(str::to_owned)).collect())
}

fn text(workspace: &Workspace, selection: &Selection, open: &mut Option<OpenPart>) -> Result<Box<Text>> {
    let (part, row) = selection.place;
    let index = &selection.index;
    if open.as_ref().is_none_or(|o| (o.list, o.part) != (index.number, part)) {
        let path = path_of(index, part)?;
        let frame = disk::read_parquet(path, None)?;
        let documents = corpus::documents_from_frame(&frame).with_context(|| format!("in {}", path.display()))?;
        let first = first_mentions(index, &frame)?;
        *open = Some(OpenPart { list: index.number, part, documents, first });
    }
    let found = open.as_ref().and_then(|o| Some((o.documents.get(row)?, o.first.get(row)?)));
    let (document, first) = found.context("the corpus has become shorter since it was listed")?;
    let tokens = selection.cut.map(|cut| (workspace.tokeniser)(&document.body, cut)).transpose()?.unwrap_or_default();
    let marks = match &workspace.marker {
        Some(marker) if index.cleaned => marker(part, row, document),
        _ => Ok(Vec::new()),
    };
    let (marks, fault) = match marks {
        Ok(marks) => (marks, None),
        Err(error) => (Vec::new(), Some(chain(error))),
    };
    let first = first.clone().filter(|f| *f != document.doc_id);
    let document = document.clone();
    Ok(Box::new(Text { place: (part, row), document, first, cut: selection.cut, tokens, marks, fault }))
}

fn rejects(project: &Project) -> Result<Rejects> {
    let mut rejects = Rejects::default();
    let path = &project.rejects();
    if !path.exists() {
        return Ok(rejects);
    }
    // Without the log the rows are guessed at; they are still worth showing.
    let log: Option<Log> = disk::read_json(&project.ingest_log()).ok();
    let files = log.iter().flat_map(|log| &log.files);
    let encodings: BTreeMap<&str, &str> =
        files.filter_map(|f| Some((f.path.as_str(), f.encoding.as_ref()?.name.as_str()))).collect();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        rejects.total += 1;
        if rejects.rows.len() < REJECTS_SHOWN {
            let mut row: Reject = serde_json::from_slice(&line)
                .with_context(|| format!("line {} of {} is not a reject", rejects.total, path.display()))?;
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

/// Searches titles and codes for a text on a thread of its own; dropping the job ends it.
pub(crate) fn search(number: u64, query: &str, index: Arc<Index>, events: Sender<Event>) -> Result<Job<()>> {
    let query = query.to_lowercase();
    Job::spawn("search", Ctx::new(1, 0)?, move |ctx| {
        let result = scan(number, &query, &index, &events, ctx).map_err(chain);
        let _ = events.send(Event::Answer(Box::new(Answer::Searched(number, result))));
        Ok(())
    })
}

fn scan(number: u64, query: &str, index: &Index, events: &Sender<Event>, ctx: &Ctx) -> Result<()> {
    let mut before = 0;
    for (path, rows) in &index.parts {
        ctx.advance(1)?;
        let frame = disk::read_parquet(path, Some(&["title", "codes"]))?;
        let (titles, codes) = (corpus::column(&frame, "title")?.str()?, corpus::column(&frame, "codes")?.str()?);
        let has = |value: Option<&str>| value.is_some_and(|v| v.to_lowercase().contains(query));
        let hits: Vec<u64> = (0..frame.height())
            .filter(|&i| has(titles.get(i)) || has(codes.get(i)))
            .map(|i| before + i as u64)
            .collect();
        before += *rows as u64;
        if !hits.is_empty() {
            let _ = events.send(Event::Answer(Box::new(Answer::Hits(number, hits))));
        }
    }
    Ok(())
}
