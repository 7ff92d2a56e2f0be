//! Reads one file into its table: batches of rows are converted on all threads and taken in their order.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ingest::documents::{self, IdClaim, Ids, NoteCounts, Origin, PartWriter};
use crate::ingest::events::{self, Events};
use crate::ingest::files::{Content, ReadUnit, UnitFiles};
use crate::ingest::log::FileEntry;
use crate::ingest::mapped_row::{MappedRow, RowRules};
use crate::ingest::mapping::Mapping;
use crate::ingest::papers::{Kept, Limits, PaperSettings};
use crate::ingest::prices::{self, Prices, Taken};
use crate::ingest::reader::{OpenFile, Resume};
use crate::ingest::reason;
use crate::ingest::rejects::Reject;
use crate::ingest::relations::{self, Relations};
use crate::ingest::row::{Cells, RowFault, SourceRow};
use crate::ingest::securities::{self, Securities};
use crate::ingest::times::{self, TimeFormat};
use inkstone_base::data::{Document, Key};
use inkstone_base::disk;
use inkstone_base::error;
use inkstone_base::job::Ctx;
use inkstone_tables::corpus::{self, PART_ROWS};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

pub(super) struct ReadSetting<'a> {
    pub(super) base: &'a Path,
    /// Times after this one are impossible.
    pub(super) latest: NaiveDateTime,
    pub(super) sealed_from: Option<NaiveDate>,
    /// Hash of the settings of the file's source.
    pub(super) settings: Key,
    pub(super) limits: Limits,
    pub(super) kept: &'a Kept,
    pub(super) ctx: &'a Ctx,
}

/// A file that was read and waits in its staging folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Staged {
    pub(super) entry: FileEntry,
    /// Parts of the corpus that stay, before the staged ones, when a file has grown.
    pub(super) kept_parts: usize,
    pub(super) kept_rejects: u64,
    /// Hash of the content that the kept parts hold.
    pub(super) grown_from: Option<Key>,
    pub(super) parts: usize,
    /// Hash of the rejects in the staging folder.
    pub(super) rejects: Key,
}

impl Staged {
    pub(super) fn rejects(folder: &Path) -> PathBuf {
        folder.join("rejects.jsonl")
    }

    /// The record of a staging folder that is complete.
    pub(super) fn record(folder: &Path) -> PathBuf {
        folder.join("staged.json")
    }

    /// The content of a staging folder, if it is complete and undamaged.
    pub(super) fn find(folder: &Path) -> Result<Option<Staged>> {
        let record = Staged::record(folder);
        if disk::damage_of(&record, None)?.is_some() {
            return Ok(None);
        }
        let staged: Staged = disk::read_json(&record)?;
        let parts = corpus::Parts::new(folder);
        let seals = staged.entry.seals.iter().skip(staged.kept_parts).copied().enumerate();
        let files = seals.map(|(part, seal)| (parts.path(part), seal));
        for (path, key) in files.chain([(Staged::rejects(folder), staged.rejects)]) {
            if disk::damage_of(&path, Some(key))?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(staged))
    }
}

fn new_entry(
    unit: &ReadUnit<'_>,
    content: &Content,
    setting: &ReadSetting<'_>,
    opened: &OpenFile<'_>,
    mapping: &Mapping,
) -> FileEntry {
    FileEntry {
        size: content.size,
        format: opened.format,
        encoding: opened.encoded.clone(),
        columns: mapping.describe(),
        ..FileEntry::empty(&unit.source.name, &unit.path, unit.source.table, content.hash, setting.settings)
    }
}

/// Reads documents into `folder`; of a file that has grown (`known`), only the new ones.
pub(super) fn read_documents(
    unit: &ReadUnit<'_>,
    content: &Content,
    known: Option<&FileEntry>,
    ids: &mut Ids,
    folder: &Path,
    project: &Project,
    setting: &ReadSetting<'_>,
) -> Result<Staged> {
    let resume = known.and_then(FileEntry::resume);
    let default_time = unit.source.published_at_default.as_deref().and_then(|t| times::parse(t).ok()).map(|m| m.time);
    let (kept_parts, pending) = match known {
        Some(known) => tail_of(known, project)?,
        None => (0, Vec::new()),
    };
    let origin = Origin { source: unit.source, file: &unit.path, default_time };
    let mut parts = PartWriter::new(folder, pending)?;
    let mut counts = NoteCounts::default();
    let convert = |fields: &MappedRow<'_>, number: u64| documents::document(fields, number, &origin);
    let mut reused = 0;
    let take = |(mut document, notes): (Document, documents::Notes)| -> Result<Option<RowFault>> {
        match ids.claim(&document)? {
            IdClaim::Free => {}
            IdClaim::Repeated => return Ok(Some(RowFault::new("doc_id", reason::DUPLICATE_ID, &document.doc_id))),
            IdClaim::Reused(id) => {
                document.doc_id = id;
                reused += 1;
            }
        }
        counts.add(notes);
        parts.push(document)?;
        Ok(None)
    };
    let mut entry = read_unit(unit, content, resume.as_ref(), &Staged::rejects(folder), setting, convert, take)?;
    let written = parts.finish()?;
    (entry.times, entry.left_out, entry.midnight) = (counts.times, counts.left_out, counts.midnight);
    entry.reused = reused;
    if let Some(known) = known {
        entry.add_counts_of(known);
    }
    entry.parts = kept_parts + written;
    let staged_parts = corpus::Parts::new(folder);
    entry.seals = known.iter().flat_map(|known| &known.seals[..kept_parts]).copied().collect();
    for part in 0..written {
        entry.seals.push(disk::key_of(&staged_parts.path(part))?);
    }
    let staged = Staged {
        entry,
        kept_parts,
        kept_rejects: known.map_or(0, FileEntry::rejects),
        grown_from: known.map(|k| k.hash),
        parts: written,
        rejects: disk::hash_file(&Staged::rejects(folder))?,
    };
    disk::write_json(&Staged::record(folder), &staged)?;
    Ok(staged)
}

/// Full parts of a file that has grown, counted, and the documents of its last part when that is not full.
fn tail_of(known: &FileEntry, project: &Project) -> Result<(usize, Vec<Document>)> {
    if known.rows_out.is_multiple_of(PART_ROWS as u64) {
        return Ok((known.parts, Vec::new()));
    }
    let last = known.first_part + known.parts - 1;
    let frame = frames::read_parquet(&project.documents().path(last), None)?;
    Ok((known.parts - 1, corpus::documents_from_frame(&frame)?))
}

/// Reads prices; of a file that has grown (`known`), only the new ones.
pub(super) fn read_prices(
    unit: &ReadUnit<'_>,
    content: &Content,
    known: Option<&FileEntry>,
    into: &mut Prices,
    rejects: &Path,
    setting: &ReadSetting<'_>,
) -> Result<FileEntry> {
    let mut repeated = 0;
    let take = |price: prices::Price| match into.take(price, &unit.source.name).with_context(|| unit.path.clone())? {
        Taken::New => Ok(None),
        Taken::Repeated => {
            repeated += 1;
            Ok(None)
        }
        Taken::Twice(key) => Ok(Some(RowFault::new("date, code", "duplicate date and code", &key))),
    };
    let resume = known.and_then(FileEntry::resume);
    let mut entry =
        read_unit(unit, content, resume.as_ref(), rejects, setting, |fields, _| prices::price(fields), take)?;
    (entry.repeated, entry.rows_out) = (repeated, entry.rows_out - repeated);
    known.into_iter().for_each(|known| entry.add_counts_of(known));
    Ok(entry)
}

pub(super) fn read_securities(
    unit: &ReadUnit<'_>,
    content: &Content,
    into: &mut Securities,
    rejects: &Path,
    setting: &ReadSetting<'_>,
) -> Result<FileEntry> {
    let take = |security: inkstone_market::Security| {
        Ok(into.take(security).err().map(|key| RowFault::new("code, from", "duplicate code and first day", &key)))
    };
    read_unit(unit, content, None, rejects, setting, |fields, _| securities::security(fields), take)
}

pub(super) fn read_events(
    unit: &ReadUnit<'_>,
    content: &Content,
    into: &mut Events,
    rejects: &Path,
    setting: &ReadSetting<'_>,
) -> Result<FileEntry> {
    let take = |event: inkstone_market::CompanyEvent| {
        let fault = |key: String| RowFault::new("code, kind, known_at", "event that an earlier row has", &key);
        Ok(into.take(event).err().map(fault))
    };
    read_unit(unit, content, None, rejects, setting, |fields, _| events::event(fields), take)
}

pub(super) fn read_relations(
    unit: &ReadUnit<'_>,
    content: &Content,
    into: &mut Relations,
    rejects: &Path,
    setting: &ReadSetting<'_>,
) -> Result<FileEntry> {
    let take = |relation: inkstone_market::Relation| {
        let fault = |key: String| RowFault::new("from, to, kind, known_at", "relation that an earlier row has", &key);
        Ok(into.take(relation).err().map(fault))
    };
    read_unit(unit, content, None, rejects, setting, |fields, _| relations::relation(fields), take)
}

/// Reads all rows of a unit; `take` gives a fault for a row that is good in itself but cannot be kept.
fn read_unit<T: Send>(
    unit: &ReadUnit<'_>,
    content: &Content,
    resume: Option<&Resume>,
    rejects: &Path,
    setting: &ReadSetting<'_>,
    convert: impl Fn(&MappedRow<'_>, u64) -> Result<T, RowFault> + Sync,
    mut take: impl FnMut(T) -> Result<Option<RowFault>> + Send,
) -> Result<FileEntry> {
    let ctx = setting.ctx;
    let mut opened = match &unit.content {
        UnitFiles::Papers(files) => {
            let (declared, time_format) = (unit.source.declared_charset(), unit.source.time_format.as_deref());
            let reading =
                PaperSettings { declared, time_format, limits: setting.limits, kept: setting.kept.clone(), ctx };
            OpenFile::papers(files, reading)
        }
        UnitFiles::Table(path) => OpenFile::open(path, unit.source, resume)?,
    };
    let mapping = Mapping::resolve(unit.source, &opened.columns).with_context(|| unit.path.clone())?;
    let mut entry = new_entry(unit, content, setting, &opened, &mapping);
    let time_format = TimeFormat::from_setting(unit.source.time_format.as_deref())?;
    let rules = RowRules {
        mapping: &mapping,
        time_format: &time_format,
        latest: setting.latest,
        sealed_from: setting.sealed_from,
    };
    let used = mapping.used();
    // Called within the thread pool.
    let convert_all = |opened: &mut OpenFile<'_>| -> Result<Vec<(SourceRow, Result<T, RowFault>)>> {
        let rows = opened.next_batch(&used)?;
        let convert = |mut row: SourceRow| {
            let result = match &row.cells {
                Ok(cells) => convert(&rules.row(cells), row.number),
                Err(fault) => Err(fault.clone()),
            };
            // A row with bytes is shown by these; its cells are freed on the thread that made them.
            if !row.bytes.is_empty() {
                row.cells = Ok(Cells::default());
            }
            (row, result)
        };
        Ok(rows.into_par_iter().map(convert).collect())
    };
    let mut take_row = |(row, result): (SourceRow, Result<T, RowFault>)| -> Result<Option<(SourceRow, RowFault)>> {
        if matches!(&result, Err(fault) if fault.is_sealed) {
            entry.sealed += 1;
            return Ok(None);
        }
        entry.rows_in += 1;
        let fault = match result {
            Ok(item) => take(item)?,
            Err(fault) => Some(fault),
        };
        let Some(fault) = fault else {
            entry.rows_out += 1;
            return Ok(None);
        };
        *entry.dropped.entry(fault.reason.clone()).or_default() += 1;
        entry.again_from = entry.again_from.into_iter().chain(fault.until).min();
        Ok(Some((row, fault)))
    };
    let mut read_all = |out: &mut dyn Write| -> Result<()> {
        let mut batch = ctx.install(|| convert_all(&mut opened))?;
        let mut counted = 0;
        while !batch.is_empty() {
            ctx.advance(batch.len() as u64)?;
            let read = (opened.share(content.size) * content.size as f64) as u64;
            ctx.read_input(read - counted);
            counted = read;
            // One thread takes rows while the others make the next.
            let mut take_all = || -> Result<Vec<(SourceRow, RowFault)>> {
                std::mem::take(&mut batch).into_iter().filter_map(|row| take_row(row).transpose()).collect()
            };
            let (faults, next) = ctx.install(|| rayon::join(&mut take_all, || convert_all(&mut opened)));
            for (row, fault) in faults? {
                let file = unit.file_of(row.number, setting.base);
                Reject::new(&unit.source.name, &file, row.number, fault, &opened.original(&row)).write(out)?;
            }
            batch = next?;
        }
        ctx.read_input(content.size - counted);
        unit.check_unchanged(content, ctx)
    };
    // An error of the file being read is reported as such, not as a failure to write the rejects.
    let mut failure = None;
    let written = disk::write_atomic(rejects, |out| {
        read_all(out).map_err(|error| {
            failure = Some(error);
            error!("读取中止", "reading stopped")
        })
    });
    if let Some(error) = failure {
        return Err(error);
    }
    written?;
    entry.resume_at = opened.resume_at();
    if !unit.source.columns.contains_key("published_at") {
        entry.dates = opened.dates().into_iter().collect();
    }
    entry.encodings = opened.encodings().into_iter().collect();
    Ok(entry)
}
