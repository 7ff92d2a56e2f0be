//! The log of ingest: what each file was, how it was read, and what became of its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ingest::disagreement::PricesTwice;
use crate::ingest::gaps::Gap;
use crate::ingest::price_scan::PriceFindings;
use crate::ingest::reader::Resume;
use crate::ingest::reason::REPEATED_PRICE;
use crate::ingest::source::{Format, Table};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::encoding::Encoded;
use inkstone_market::dates_of;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// Changes whenever the same file would be read differently, so that old logs are not trusted.
pub(super) const VERSION: u32 = 7;

/// The fact that has the time of the newest document of each source.
pub(super) const NEWEST: &str = "newest";

/// Everything that ingest has read, in the order of the corpus.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IngestLog {
    /// Version of the reading rules.
    pub version: u32,
    /// The files, in the order of their parts.
    pub files: Vec<FileEntry>,
    /// Hash of the rejects file, so that a changed one is noticed.
    pub rejects: Key,
    /// Seals of the tables of prices and securities, by name.
    pub tables: BTreeMap<String, Key>,
    /// Codes of the price table.
    pub price_codes: BTreeSet<String>,
    /// Findings in the price table.
    pub(super) price_findings: PriceFindings,
    /// Prices that several sources give.
    pub prices_twice: PricesTwice,
    /// Days that the archives of documents lack, by source.
    #[serde(default)]
    pub gaps: Vec<Gap>,
    /// Findings across files, as in the report.
    pub facts: Map<String, Value>,
}

/// Keys of what ingest wrote, table by table.
pub struct TableKeys {
    /// Of the documents, in their order.
    pub documents: Key,
    /// Of the codes of the price table; the default without one.
    pub price_codes: Key,
}

/// Keys of the tables of a project that was ingested.
pub fn table_keys(project: &Project) -> Result<TableKeys> {
    let log = IngestLog::load(&project.ingest_log())?;
    let parts: Vec<&Key> = log.files.iter().flat_map(|file| &file.seals).collect();
    let price_codes = match log.price_codes.is_empty() {
        true => Key::default(),
        false => Key::of_json(&log.price_codes),
    };
    Ok(TableKeys { documents: Key::of_json(&("documents", parts)), price_codes })
}

/// One file (or up to 4,096 files of a folder that are one document each, taken together).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileEntry {
    pub source: String,
    /// Path as the source gives it, relative to the configuration's folder.
    pub path: String,
    /// Table that it fills.
    pub table: Table,
    pub size: u64,
    pub hash: Key,
    /// Hash of the settings that it was read under.
    pub settings: Key,
    pub format: Format,
    /// Encoding, how sure that is, and whether there was a byte order mark; none for Parquet, Excel and files of one document.
    pub encoding: Option<Encoded>,
    /// Encodings, counted by file.
    pub encodings: BTreeMap<String, u64>,
    pub columns: BTreeMap<String, String>,
    pub rows_in: u64,
    pub rows_out: u64,
    /// Rows set aside, by reason; as many lines of the rejects file.
    pub dropped: BTreeMap<String, u64>,
    /// Rows of the sealed period, which are not among `rows_in`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub sealed: u64,
    /// Prices of a date and code that an earlier source has; they are neither in the table nor among the rejects.
    pub repeated: u64,
    /// Documents whose id another document of the source has, with other text and another time; they have the time in their id.
    pub reused: u64,
    /// Values left out of rows that were kept, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Forms of the times of publication, counted.
    pub times: BTreeMap<String, u64>,
    /// Places at which the times of documents that are files were found, counted, unless a column is mapped to them.
    pub dates: BTreeMap<String, u64>,
    pub midnight: u64,
    /// Number of the first part that holds its documents.
    pub first_part: usize,
    /// Number of parts that hold the rows.
    pub parts: usize,
    pub seals: Vec<Key>,
    /// Byte at which reading goes on when the file has grown.
    pub resume_at: Option<u64>,
    /// Time from which the first of the rows set aside as of the future can be read; the file is then read again. A clock that was
    /// set back costs no row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_from: Option<NaiveDateTime>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl FileEntry {
    /// The entry of a file without content.
    pub(super) fn empty(source: &str, path: &str, table: Table, hash: Key, settings: Key) -> FileEntry {
        FileEntry {
            source: source.to_owned(),
            path: path.to_owned(),
            table,
            size: 0,
            hash,
            settings,
            format: Format::Auto,
            encoding: None,
            encodings: BTreeMap::new(),
            columns: BTreeMap::new(),
            rows_in: 0,
            rows_out: 0,
            dropped: BTreeMap::new(),
            sealed: 0,
            repeated: 0,
            reused: 0,
            left_out: BTreeMap::new(),
            times: BTreeMap::new(),
            dates: BTreeMap::new(),
            midnight: 0,
            first_part: 0,
            parts: 0,
            seals: Vec::new(),
            resume_at: None,
            again_from: None,
        }
    }

    /// True if a row that was set aside as of the future can be read now.
    pub(super) fn is_due(&self, latest: NaiveDateTime) -> bool {
        self.again_from.is_some_and(|from| from <= latest)
    }

    /// Place to go on from when the file has grown; `None` when it has to be read from its beginning.
    pub(super) fn resume(&self) -> Option<Resume> {
        let encoded = self.encoding.clone()?;
        Some(Resume {
            offset: self.resume_at.filter(|at| *at == self.size)?,
            rows: self.rows_in + self.sealed,
            encoded,
        })
    }

    /// True if all that was read is plain ASCII, which tells nothing of the encoding of what comes.
    pub(super) fn is_ascii(&self) -> bool {
        self.encoding.as_ref().is_some_and(|encoded| encoded.by == "ascii")
    }

    /// Adds the counts of an earlier reading of the same file, behind which this one went on.
    pub(super) fn add_counts_of(&mut self, known: &FileEntry) {
        self.rows_in += known.rows_in;
        self.rows_out += known.rows_out;
        self.midnight += known.midnight;
        self.sealed += known.sealed;
        self.repeated += known.repeated;
        self.reused += known.reused;
        self.again_from = self.again_from.into_iter().chain(known.again_from).min();
        let add = |to: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>| {
            from.iter().for_each(|(name, n)| *to.entry(name.clone()).or_default() += n);
        };
        add(&mut self.dropped, &known.dropped);
        add(&mut self.left_out, &known.left_out);
        add(&mut self.times, &known.times);
    }

    /// Rows set aside: its lines in the rejects file.
    pub(super) fn rejects(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Key of the tables of a project and of the files that they were read from, however many runs that took.
pub fn corpus_key(project: &Project) -> Result<Key> {
    Ok(IngestLog::load(&project.ingest_log())?.key())
}

/// The newest data of a project.
#[derive(Debug, Default)]
pub struct Newest {
    /// Time of publication of the newest document of each source.
    pub documents: BTreeMap<String, NaiveDateTime>,
    /// The last date with prices.
    pub prices: Option<NaiveDate>,
}

/// The newest data that ingest has read.
pub fn newest(project: &Project) -> Result<Newest> {
    let facts = IngestLog::load(&project.ingest_log())?.facts;
    let documents = facts.get(NEWEST).cloned().map(serde_json::from_value).transpose()?.unwrap_or_default();
    let mut prices = None;
    if project.prices().exists() {
        let dates = dates_of(&frames::read_parquet(&project.prices(), Some(&["date"]))?, "date")?;
        prices = dates.into_iter().flatten().max();
    }
    Ok(Newest { documents, prices })
}

/// Files that a project was read from, with their content hashes.
pub fn sources(project: &Project) -> Result<Vec<(String, Key)>> {
    Ok(IngestLog::load(&project.ingest_log())?.files.into_iter().map(|file| (file.path, file.hash)).collect())
}

/// Codes of the price table of a project.
pub fn price_codes(project: &Project) -> Result<BTreeSet<String>> {
    Ok(IngestLog::load(&project.ingest_log())?.price_codes)
}

/// Days that the archives of a project lack.
pub fn gaps(project: &Project) -> Result<Vec<Gap>> {
    Ok(IngestLog::load(&project.ingest_log())?.gaps)
}

impl IngestLog {
    /// The log at `path`; an empty one when there is none, or when another version of the rules wrote it.
    pub(super) fn load(path: &Path) -> Result<IngestLog> {
        if !path.exists() {
            return Ok(IngestLog::default());
        }
        // A log of another version may have another shape: it is read as not there.
        let value: Value = disk::read_json(path)?;
        if value.get("version").and_then(Value::as_u64) != Some(VERSION.into()) {
            return Ok(IngestLog::default());
        }
        Ok(serde_json::from_value(value)?)
    }

    /// True if it describes the same corpus, facts of the run left aside.
    pub(super) fn is_as(&self, other: &IngestLog) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> Key {
        Key::of_json(&(self.version, &self.files, self.rejects, &self.tables))
    }

    /// The rows of all files that pass `of`, as a report.
    pub(super) fn report(&self, stage: &str, chosen: impl Fn(&FileEntry) -> bool) -> Report {
        let mut report = Report::new(stage);
        for file in self.files.iter().filter(|f| chosen(f)) {
            report.rows_in += file.rows_in;
            report.rows_out += file.rows_out;
            file.dropped.iter().for_each(|(reason, n)| report.drop_rows(reason, *n));
            if file.repeated > 0 {
                report.drop_rows(REPEATED_PRICE, file.repeated);
            }
        }
        report
    }

    /// The rows of all files that pass, without prices that an earlier source gave as well: these are not lost.
    pub(super) fn losses(&self, stage: &str, chosen: impl Fn(&FileEntry) -> bool) -> Report {
        let mut report = self.report(stage, chosen);
        report.rows_in -= report.dropped.remove(REPEATED_PRICE).unwrap_or_default();
        report
    }

    /// Counts of one kind over all files.
    pub(super) fn total<'a>(
        &'a self,
        chosen: impl Fn(&'a FileEntry) -> &'a BTreeMap<String, u64>,
    ) -> BTreeMap<String, u64> {
        let mut total = BTreeMap::new();
        for (name, n) in self.files.iter().flat_map(|f| chosen(f).iter()) {
            *total.entry(name.clone()).or_default() += n;
        }
        total
    }
}
