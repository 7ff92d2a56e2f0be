//! One-document files of a source as rows, a file each, read in batches on all threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::kept::Kept;
use super::{Limits, Origin, Paper, Published, Refused, Stopped, bytes_of, written};
use crate::ingest::reason;
use crate::ingest::row::{Cells, RowFault, SourceRow};
use crate::ingest::source::Format;
use inkstone_base::data::Key;
use inkstone_base::encoding::Charset;
use inkstone_base::job::Ctx;
use inkstone_base::message;

/// Files read at a time, and their bytes, at the most.
const BATCH: usize = 64;
const BATCH_BYTES: u64 = 64 << 20;

/// A file with the id of its row.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct PaperFile {
    pub(in crate::ingest) path: PathBuf,
    pub(in crate::ingest) id: String,
    pub(in crate::ingest) format: Format,
}

impl PaperFile {
    /// The file's name without its extension.
    pub(in crate::ingest) fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Settings for reading the files of a source.
pub(in crate::ingest) struct PaperSettings<'a> {
    pub(in crate::ingest) declared: Option<Charset>,
    pub(in crate::ingest) time_format: Option<&'a str>,
    pub(in crate::ingest) limits: Limits,
    /// Cache of texts that were read before.
    pub(in crate::ingest) kept: Kept,
    pub(in crate::ingest) ctx: &'a Ctx,
}

/// A list of files read as rows.
pub(in crate::ingest) struct PaperRows<'a> {
    files: &'a [PaperFile],
    reading: PaperSettings<'a>,
    given: usize,
    encodings: BTreeMap<String, u64>,
    dates: BTreeMap<String, u64>,
}

impl<'a> PaperRows<'a> {
    /// The columns of such rows; `file` is the name of the file with its extension.
    pub(in crate::ingest) const COLUMNS: [&'static str; 9] =
        ["id", "title", "body", "published_at", "codes", "author", "org", "rating", "file"];

    /// Files that were given, and all.
    pub(in crate::ingest) fn progress(&self) -> (u64, u64) {
        (self.given as u64, self.files.len() as u64)
    }

    pub(in crate::ingest) fn new(files: &'a [PaperFile], reading: PaperSettings<'a>) -> PaperRows<'a> {
        PaperRows { files, reading, given: 0, encodings: BTreeMap::new(), dates: BTreeMap::new() }
    }

    /// Encodings of the files, counted.
    pub(in crate::ingest) fn encodings(&self) -> Vec<(String, u64)> {
        self.encodings.iter().map(|(name, n)| (name.clone(), *n)).collect()
    }

    /// Places at which the times of publication were found, counted.
    pub(in crate::ingest) fn dates(&self) -> Vec<(String, u64)> {
        self.dates.iter().map(|(name, n)| (name.clone(), *n)).collect()
    }

    pub(in crate::ingest) fn next_batch(&mut self) -> Result<Vec<SourceRow>> {
        let first = self.given;
        let mut bytes = 0;
        let mut end = first;
        while end < self.files.len() && end - first < BATCH && (end == first || bytes < BATCH_BYTES) {
            bytes += fs::metadata(&self.files[end].path).map_or(0, |m| m.len());
            end += 1;
        }
        let reading = &self.reading;
        let read: Vec<(SourceRow, Noted)> = self.files[first..end]
            .par_iter()
            .enumerate()
            .map(|(i, file)| reading.row(file, (first + i + 1) as u64))
            .collect::<Result<_>>()?;
        self.given = end;
        Ok(read
            .into_iter()
            .map(|(row, noted)| {
                noted.encoding.into_iter().for_each(|e| *self.encodings.entry(e).or_default() += 1);
                noted.origin.into_iter().for_each(|o| *self.dates.entry(o.name().to_owned()).or_default() += 1);
                row
            })
            .collect())
    }
}

struct Noted {
    encoding: Option<String>,
    origin: Option<Origin>,
}

impl PaperSettings<'_> {
    fn row(&self, file: &PaperFile, number: u64) -> Result<(SourceRow, Noted)> {
        let (paper, bytes) = self.paper(file)?;
        Ok(match paper {
            Ok(paper) => {
                let published = paper.published(&file.name());
                let published_at = match &published {
                    Published::Written(text) => Some(text.clone()),
                    Published::Found(dated) => Some(written(dated.time, self.time_format)),
                    Published::Unknown => None,
                };
                let head = |field: &str| paper.head(field).map(str::to_owned);
                let file_name = file.path.file_name().map(|n| n.to_string_lossy().into_owned());
                let cells: Cells = [
                    Some(file.id.clone()),
                    Some(paper.title().to_owned()),
                    Some(paper.body.clone()),
                    published_at,
                    head("codes"),
                    head("author").or(paper.author.clone()),
                    head("org"),
                    head("rating"),
                    file_name,
                ]
                .into_iter()
                .collect();
                let origin = published.origin();
                (SourceRow { number, cells: Ok(cells), bytes }, Noted { encoding: paper.encoding, origin })
            }
            Err(refused) => {
                let column = if refused.reason.starts_with(reason::NOT_IN) { "body" } else { "" };
                let value = if refused.value.is_empty() { &file.id } else { &refused.value };
                let fault = RowFault::new(column, refused.reason, value);
                (SourceRow { number, cells: Err(fault), bytes }, Noted { encoding: None, origin: None })
            }
        })
    }

    /// The document of a file, and of a text file its bytes, which a reject shows.
    fn paper(&self, file: &PaperFile) -> Result<(Result<Paper, Refused>, Vec<u8>)> {
        self.ctx.check()?;
        let bytes = match bytes_of(&file.path)
            .with_context(|| message!("无法读取 {}", "cannot read {}", file.path.display()))?
        {
            Ok(bytes) => bytes,
            Err(refused) => return Ok((Err(refused), Vec::new())),
        };
        if file.format == Format::Txt {
            let paper = self.read(bytes.clone(), file)?;
            return Ok((paper, bytes));
        }
        let Some(key) = Kept::key(Key::of(&bytes), file.format, &file.name(), &self.limits) else {
            return Ok((self.read(bytes, file)?, Vec::new()));
        };
        if let Some(read) = self.kept.get(key) {
            return Ok((read, Vec::new()));
        }
        let read = self.read(bytes, file)?;
        self.kept.put(key, &read)?;
        Ok((read, Vec::new()))
    }

    fn read(&self, bytes: Vec<u8>, file: &PaperFile) -> Result<Result<Paper, Refused>> {
        let cancelled = || self.ctx.is_cancelled();
        let read = super::read(bytes, file.format, &file.name(), self.declared, &self.limits, &cancelled);
        match read {
            Ok(read) => Ok(read),
            Err(Stopped) => Err(self
                .ctx
                .check()
                .err()
                .map_or_else(|| inkstone_base::error!("读取中止", "reading stopped"), Into::into)),
        }
    }
}
