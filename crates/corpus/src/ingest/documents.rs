//! Rows become documents: typed, with an id that is unique in the project, in parts of [`PART_ROWS`] rows.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{NaiveDateTime, NaiveTime};
use polars_core::prelude::DataFrame;
use rustc_hash::FxHashSet;

use crate::ingest::mapped_row::MappedRow;
use crate::ingest::reason;
use crate::ingest::row::RowFault;
use crate::ingest::source::{KnownAt, Source};
use crate::ingest::times::Moment;
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Key};
use inkstone_tables::corpus::{self, PART_ROWS, Parts};
use inkstone_tables::frames;

/// Notes on a row that is kept.
#[derive(Default)]
pub(super) struct Notes {
    /// Time of publication as it was written; `None` when it has the default one.
    pub(super) time: Option<Moment>,
    /// Reasons for parts that were left out.
    pub(super) left_out: Vec<String>,
}

pub(super) struct Origin<'a> {
    pub(super) source: &'a Source,
    /// Path of the file, for ids of rows that have none.
    pub(super) file: &'a str,
    pub(super) default_time: Option<NaiveDateTime>,
}

/// Makes a document of a row. Optional values that cannot be read are left out and noted; the row is kept.
pub(super) fn document(
    fields: &MappedRow<'_>,
    number: u64,
    origin: &Origin<'_>,
) -> Result<(Document, Notes), RowFault> {
    let text = |field: &str| fields.text(field).map(|t| t.into_owned());
    let value = |field: &str| fields.value(field).map(|t| t.into_owned());
    let (title, body) = (text("title").unwrap_or_default(), text("body").unwrap_or_default());
    if title.is_empty() && body.is_empty() {
        return Err(fields.fault("body", reason::EMPTY_TEXT, ""));
    }
    let mut notes = Notes { time: fields.time("published_at")?, left_out: Vec::new() };
    let published_at = match (notes.time, origin.default_time) {
        (Some(moment), _) => moment.time,
        (None, Some(default)) => default,
        (None, None) => return Err(fields.fault("published_at", "no time", "")),
    };
    if fields.is_sealed(published_at.date()) {
        return Err(RowFault::sealed());
    }
    let mut optional = |field: &str| {
        fields.time(field).unwrap_or_else(|fault| {
            notes.left_out.push(format!("{field}: {}", fault.reason));
            None
        })
    };
    let (event_at, ingested_at) = (optional("event_at"), optional("ingested_at"));
    if origin.source.known_at == KnownAt::Ingested {
        let ingested_at = ingested_at.ok_or_else(|| fields.fault("ingested_at", reason::NO_INGESTION, ""))?;
        if fields.is_sealed(ingested_at.time.date()) {
            return Err(RowFault::sealed());
        }
    }
    let (codes, unread) = Code::parse_list(&text("codes").unwrap_or_default());
    notes.left_out.extend(unread.iter().map(|_| "code: not readable".to_owned()));
    let id = value("doc_id").unwrap_or_else(|| format!("{}#{number}", origin.file));
    let document = Document {
        doc_id: format!("{}/{id}", origin.source.name),
        kind: origin.source.kind,
        codes,
        title,
        body,
        source: origin.source.name.clone(),
        author: value("author"),
        org: value("org"),
        rating: value("rating"),
        revised: value("revised"),
        label: text("label"),
        event_at: event_at.map(|m| m.time),
        published_at,
        ingested_at: ingested_at.map(|m| m.time),
    };
    Ok((document, notes))
}

/// The ids taken so far, as 128-bit keys: some 20 bytes a document.
#[derive(Default)]
pub(super) struct Ids(FxHashSet<[u8; 16]>);

impl Ids {
    /// Takes an id; `false` when another document has it.
    pub(super) fn take(&mut self, id: &str) -> bool {
        self.0.insert(Key::of(id.as_bytes()).0)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.contains(&Key::of(id.as_bytes()).0)
    }
}

pub(super) fn ids_of(part: &Path) -> Result<Vec<String>> {
    let frame = frames::read_parquet(part, Some(&["doc_id"]))?;
    let ids = corpus::column(&frame, "doc_id")?.str()?;
    Ok(ids.iter().map(|id| id.unwrap_or_default().to_owned()).collect())
}

/// Collects documents into parts of full length.
pub(super) struct PartWriter {
    parts: Parts,
    written: usize,
    pending: Vec<Document>,
}

impl PartWriter {
    /// Writes into `folder`; `pending` are documents to begin with.
    pub(super) fn new(folder: &Path, pending: Vec<Document>) -> Result<PartWriter> {
        let parts = Parts::new(folder);
        parts.truncate(0)?;
        Ok(PartWriter { parts, written: 0, pending })
    }

    pub(super) fn push(&mut self, document: Document) -> Result<()> {
        self.pending.push(document);
        if self.pending.len() == PART_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes the remaining documents, and gives the number of parts.
    pub(super) fn finish(mut self) -> Result<usize> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<()> {
        let mut frame: DataFrame = corpus::documents_to_frame(&self.pending)?;
        self.parts.write(self.written, &mut frame)?;
        self.written += 1;
        self.pending.clear();
        Ok(())
    }
}

/// Counts of the notes on rows that were kept.
#[derive(Default)]
pub(super) struct NoteCounts {
    /// Forms of the times of publication.
    pub(super) times: BTreeMap<String, u64>,
    /// Number of parts left out of documents, by reason.
    pub(super) left_out: BTreeMap<String, u64>,
    /// Documents that were published at midnight sharp: most likely dates whose time of day was lost.
    pub(super) midnight: u64,
}

impl NoteCounts {
    pub(super) fn add(&mut self, notes: Notes) {
        let form = notes.time.map_or("published_at_default".to_owned(), |m| m.shape.to_string());
        *self.times.entry(form).or_default() += 1;
        self.midnight += u64::from(notes.time.is_some_and(|m| m.time.time() == NaiveTime::MIN));
        notes.left_out.into_iter().for_each(|reason| *self.left_out.entry(reason).or_default() += 1);
    }
}
