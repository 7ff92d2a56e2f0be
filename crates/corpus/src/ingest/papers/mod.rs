//! Files that are one document each: plain text, PDF, HTML and DOCX become a title, a body and what else they say of themselves.
//!
//! A paragraph, heading or table row is a line of the body. A file that cannot be read, or not well enough, is refused with a
//! reason and its figures; the others go on.

mod dates;
mod docx;
mod flow;
mod html;
mod kept;
mod letters;
mod pdf;
mod quality;
mod rows;
mod text;

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use crate::ingest::reason;
use crate::ingest::source::{Format, Source};
use inkstone_base::data::Key;
use inkstone_base::encoding::Charset;
use inkstone_base::job::Ctx;
use inkstone_base::limits;

pub use dates::{Dated, Origin};
pub(super) use kept::Kept;
pub use quality::Quality;
pub(super) use rows::{PaperFile, PaperRows, PaperSettings};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub max_pages: usize,
    /// Share of its glyphs or characters that may be unmapped or garbled (0 to 1).
    pub max_garbled: f64,
}

/// One document as its file has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// Title; empty when none was found.
    pub title: String,
    /// Text, a paragraph, heading or table row a line.
    pub body: String,
    /// Time of publication, as far as the file tells.
    pub published_at: Option<Dated>,
    /// Fields that the head of a text file names; of `published_at` the text as it stands there.
    pub head: Vec<(String, String)>,
    /// Author, where the file's record names one.
    pub author: Option<String>,
    /// Encoding of the file, of text and HTML.
    pub encoding: Option<String>,
    /// Pages; 0 where the format has none.
    pub pages: usize,
    pub quality: Quality,
}

/// Why a file is set aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The reason, one of a few, so that they can be counted.
    pub reason: String,
    /// Value that the reason is about: the number of pages, the share, the error.
    pub value: String,
    /// The figures, when it came to that.
    pub quality: Option<Quality>,
    /// Pages, when they are known.
    pub pages: usize,
}

impl Refused {
    fn new(reason: impl Into<String>, value: impl Into<String>) -> Refused {
        Refused { reason: reason.into(), value: value.into(), ..Refused::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl Limits {
    fn check_pages(&self, pages: usize) -> Result<(), Refused> {
        if pages <= self.max_pages {
            return Ok(());
        }
        Err(Refused { pages, ..Refused::new(reason::too_many_pages(self.max_pages), format!("{pages} pages")) })
    }

    fn check_quality(&self, quality: &Quality, pages: usize) -> Result<(), Refused> {
        let share = quality.unmapped.max(quality.garbled);
        if share <= self.max_garbled {
            return Ok(());
        }
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let value = format!("{} unmapped, {} garbled", percent(quality.unmapped), percent(quality.garbled));
        let reason = reason::too_garbled(self.max_garbled);
        Err(Refused { reason, value, quality: Some(quality.clone()), pages })
    }
}

impl Paper {
    /// A field that the head of a text file names; of several lines the last.
    fn head(&self, field: &str) -> Option<&str> {
        self.head.iter().rfind(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// The title, wherever it stands.
    pub fn title(&self) -> &str {
        self.head("title").unwrap_or(&self.title)
    }

    /// Time of publication, from the head, else from the text, the properties or the name of the file.
    pub fn published(&self, name: &str) -> Published {
        if let Some(text) = self.head("published_at") {
            return Published::Written(text.to_owned());
        }
        let named = || dates::in_name(name).map(|time| Dated { time, origin: Origin::FileName });
        self.published_at.or_else(named).map_or(Published::Unknown, Published::Found)
    }
}

/// Time of publication with its origin.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    Written(String),
    Found(Dated),
    Unknown,
}

impl Published {
    pub fn origin(&self) -> Option<Origin> {
        match self {
            Published::Written(_) => Some(Origin::Head),
            Published::Found(dated) => Some(dated.origin),
            Published::Unknown => None,
        }
    }
}

/// Reads one file by itself, in the format that its name says. What is read of a PDF or DOCX file is taken from, or kept in, the folder `kept`
/// as ingest does it.
pub fn read_file(path: &Path, limits: &Limits, kept: Option<&Path>, ctx: &Ctx) -> Result<Result<Paper, Refused>> {
    ctx.check()?;
    let format = match Source::default().format_of(path) {
        Ok(format) if format.is_paper() => format,
        Ok(_) => return Ok(Err(Refused::new("a table: rows of tables are read by ingest", ""))),
        Err(error) => return Ok(Err(Refused::new("unknown format", format!("{error:#}")))),
    };
    let bytes = match bytes_of(path) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(refused)) => return Ok(Err(refused)),
        Err(error) => return Ok(Err(Refused::new("cannot read the file", error.to_string()))),
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let kept = kept.and_then(|folder| Some((Kept::new(folder), Kept::key(Key::of(&bytes), format, &name, limits)?)));
    if let Some(read) = kept.as_ref().and_then(|(kept, key)| kept.get(*key)) {
        return Ok(read);
    }
    let Ok(read) = read(bytes, format, &name, None, limits, &|| ctx.is_cancelled()) else {
        ctx.check()?;
        return Ok(Err(Refused::new("reading stopped", "")));
    };
    if let Some((kept, key)) = kept {
        kept.put(key, &read)?;
    }
    Ok(read)
}

/// The bytes of a file, when it is one and has no more than a document.
fn bytes_of(path: &Path) -> io::Result<Result<Vec<u8>, Refused>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(Err(Refused::new("no regular file: a pipe, a socket, a device or a folder", "")));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    let within = metadata.len() <= limits::FILE
        && File::open(path)?.take(limits::FILE + 1).read_to_end(&mut bytes)? as u64 <= limits::FILE;
    Ok(if within { Ok(bytes) } else { Err(Refused::new(reason::FILE_TOO_LARGE, format!("{} bytes", metadata.len()))) })
}

/// Reads the bytes of a file. `name` is its name without the extension; `cancelled` is asked while a long file is read.
pub(in crate::ingest) fn read(
    bytes: Vec<u8>,
    format: Format,
    name: &str,
    declared: Option<Charset>,
    limits: &Limits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Result<Paper, Refused>, Stopped> {
    Ok(match format {
        Format::Pdf => return pdf::read(bytes, name, limits, cancelled),
        Format::Html => html::read(&bytes, name, declared, limits),
        Format::Docx => docx::read(&bytes, name, limits),
        _ => text::read(&bytes, declared),
    })
}

/// The times at which cells are written for sources with a time format of their own.
fn written(time: NaiveDateTime, format: Option<&str>) -> String {
    match format {
        Some("unix") => (time.and_utc().timestamp() - 8 * 3600).to_string(),
        Some("unix_ms") => (time.and_utc().timestamp_millis() - 8 * 3_600_000).to_string(),
        Some(format) if format.contains('%') => time.format(format).to_string(),
        _ => time.format("%Y-%m-%d %H:%M:%S").to_string(),
    }
}
