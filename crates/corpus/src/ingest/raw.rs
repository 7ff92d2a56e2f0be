//! Rows as they lie in a file, before any column has a meaning.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};

use crate::ingest::Encoded;
use crate::ingest::reader::OpenFile;
use crate::ingest::records::{RecordLayout, RecordStream};
use crate::ingest::source::Source;
use inkstone_base::encoding::Charset;
use inkstone_base::job::Ctx;
use inkstone_base::message;

#[derive(Clone, Debug, PartialEq)]
pub struct RawRow {
    /// Number from 1; the header is not counted.
    pub number: u64,
    /// The text of each cell, `None` where there is none; or the reason for which the row is set aside.
    pub cells: Result<Vec<Option<String>>, String>,
    /// The bytes of the file that it was cut from; of Parquet and Excel, which have none, the cells as JSON.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RawFile {
    pub columns: Vec<String>,
    /// The encoding, of text formats.
    pub encoding: Option<Encoded>,
    pub rows: Vec<RawRow>,
}

/// Reads a table whole, as ingest does before it maps columns to fields.
pub fn read_raw(path: &Path, source: &Source, ctx: &Ctx) -> Result<RawFile> {
    let mut opened = OpenFile::open(path, source, None)?;
    let used = vec![true; opened.columns.len()];
    let mut rows = Vec::new();
    loop {
        let batch = ctx.install(|| opened.next_batch(&used))?;
        if batch.is_empty() {
            return Ok(RawFile { columns: opened.columns.clone(), encoding: opened.encoded.clone(), rows });
        }
        rows.extend(batch.into_iter().map(|row| {
            let bytes = opened.original(&row);
            let cells = row.cells.map(|cells| cells.iter().map(|cell| cell.map(str::to_owned)).collect());
            RawRow { number: row.number, cells: cells.map_err(|fault| fault.reason), bytes }
        }));
    }
}

/// Cuts a stream of delimited text into rows of `width` fields, each with what is wrong with it. Together they are all of the
/// stream but for empty lines.
pub fn cut_rows(
    input: impl Read,
    delimiter: u8,
    encoding: &str,
    width: usize,
) -> Result<Vec<(Vec<u8>, Option<&'static str>)>> {
    let charset = Charset::for_label(encoding)
        .with_context(|| message!("无法读取编码 {encoding:?}", "{encoding:?} is no encoding that is read"))?;
    let mut records = RecordStream::new(input, RecordLayout::Rows(delimiter), charset, 0);
    records.expect_width(width);
    let next = || records.next().transpose();
    let rows = std::iter::from_fn(next).map(|record| record.map(|r| (r.bytes, r.broken.map(|broken| broken.reason()))));
    Ok(rows.collect::<io::Result<_>>()?)
}
