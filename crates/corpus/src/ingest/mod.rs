//! Ingest: files of any common shape and encoding become typed tables, and what cannot be read is set aside with its reason.
//!
//! [`run()`] reads the files of every [`Source`] and writes the corpus ([`Project::documents`]), the price table, the table of
//! securities, the tables of relations and events, the rows it set aside ([`Project::rejects`]) and a log of what it read ([`IngestLog`]). It streams: memory is bounded
//! by a batch of records, whatever the size of a file (securities and Excel's sheets are held whole; prices are sorted on the disk). Files that are
//! one document each ([`papers`]) are rows, up to 4,096 of them one file of the log. Row numbers
//! count records from 1, the header not included; times are Shanghai wall-clock times.
//!
//! A second run reads only what is new. Each file's parts follow one another in the order of the sources and then of the
//! paths, so that a corpus grown day by day equals one that was read at once. An appended file is read from its old
//! end; a file that was rewritten is read again; the parts of a removed file go. Whatever the moment a run is killed at,
//! the next one either finishes its commit or goes on at the first file that it had not read.
//!
//! [`Project::documents`]: inkstone_tables::project::Project::documents
//! [`Project::rejects`]: inkstone_tables::project::Project::rejects

mod clocks;
mod commit;
mod disagreement;
mod documents;
mod due;
mod events;
pub mod fetch;
mod fields;
mod files;
mod gaps;
mod log;
mod mapped_row;
mod mapping;
pub mod papers;
mod parquet;
mod preview;
mod price_scan;
mod prices;
mod raw;
mod read;
mod reader;
pub mod reason;
mod records;
mod rejects;
mod relations;
pub mod revisions;
mod row;
mod run;
mod runs;
mod securities;
mod sheets;
mod source;
mod standing;
mod times;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;

use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use files::{ReadUnit, UnitFiles};
use inkstone_base::data::Key;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

pub use commit::is_interrupted;
pub use due::{Due, due, state_of_files};
pub use gaps::Gap;
pub use inkstone_base::encoding::Encoded;
pub use log::{FileEntry, IngestLog, Newest, TableKeys, corpus_key, gaps, newest, price_codes, sources, table_keys};
pub use preview::{FieldPreview, Preview, preview};
pub use raw::{RawFile, RawRow, cut_rows, read_raw};
pub use rejects::Reject;
pub use run::{CrawledField, crawled_fields, run};
pub use source::{Column, Columns, Format, KnownAt, Source, Table};
pub use standing::check;

/// Settings of ingest (`[ingest]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Share of a source's rows (0.35 = 35 %) that may be set aside before ingest fails.
    pub max_loss: f64,
    /// Times after this one are impossible; absent: after the moment of the run.
    pub latest: Option<NaiveDateTime>,
    /// Pages of a PDF at the most; one with more is set aside unread.
    pub max_pages: usize,
    /// Share of a document's glyphs or characters that may be unmapped or garbled (0 to 1) before it is set aside; of PDF, HTML and
    /// DOCX files.
    pub max_garbled: f64,
    /// First day of the period that is sealed: documents, prices and securities from it on are not taken.
    #[serde(skip)]
    pub sealed_from: Option<NaiveDate>,
    /// Names of sources of prices, the one that is believed first in front; others follow in the order of `[[source]]`. Of a date and code
    /// that several give, the row of the first counts. Default none.
    pub precedence: Vec<String>,
}

impl Params {
    /// Names in `precedence` that are no source of prices, each with what to do.
    pub fn precedence_problems(&self, sources: &[Source]) -> Vec<Message> {
        let known: Vec<&str> = sources.iter().filter(|s| s.table == Table::Prices).map(|s| s.name.as_str()).collect();
        let wrong = self.precedence.iter().filter(|name| !known.contains(&name.as_str()));
        let listed = if known.is_empty() { Word("无", "none").into() } else { Message::same(known.join(", ")) };
        let refused = |name| {
            message!(
                "没有行情来源 {name:?}；行情来源有：{listed}",
                "there is no source of prices {name:?}; sources of prices are: {listed}"
            )
        };
        wrong.map(refused).collect()
    }

    /// Key of the settings under which a file is read.
    pub(in crate::ingest) fn settings_of(&self, unit: &ReadUnit<'_>) -> Key {
        let limits = matches!(unit.content, UnitFiles::Papers(_)).then(|| self.limits());
        let (source, sealed_from) = (unit.source.read_settings(), self.sealed_from);
        let settings = Key::of_json(&(log::VERSION, source, self.latest, limits, sealed_from));
        match unit.source.table {
            Table::Prices if !self.precedence.is_empty() => Key::of_json(&(settings, &self.precedence)),
            _ => settings,
        }
    }

    pub fn limits(&self) -> papers::Limits {
        papers::Limits { max_pages: self.max_pages, max_garbled: self.max_garbled }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params {
            max_loss: 0.35,
            latest: None,
            max_pages: 1000,
            max_garbled: 0.1,
            sealed_from: None,
            precedence: Vec::new(),
        }
    }
}

/// A time as sources write them, read by its looks; a date alone is its last second.
pub fn read_time(text: &str) -> Option<NaiveDateTime> {
    times::parse(text).ok().map(|moment| moment.time)
}

/// A time in a source's own `time_format`; fails on an invalid format, `None` where the text is no such time.
pub fn read_time_in(text: &str, time_format: &str) -> anyhow::Result<Option<NaiveDateTime>> {
    Ok(times::TimeFormat::from_setting(Some(time_format))?.parse(text).ok().map(|moment| moment.time))
}
