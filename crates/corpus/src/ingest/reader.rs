//! Opens a file of any format and gives its rows in batches, each row as the text of its cells.
//!
//! The sequential part cuts the stream into records; decoding and splitting run on all threads. Cells are aligned with the
//! columns that [`OpenFile::columns`] lists; `None` is an absent value.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ingest::fields::split_row;
use crate::ingest::papers::{PaperFile, PaperRows, PaperSettings};
use crate::ingest::parquet::ParquetRows;
use crate::ingest::reason;
use crate::ingest::records::{RawRecord, RecordLayout, RecordStream};
use crate::ingest::row::{BATCH_BYTES, Cells, RowFault, SourceRow};
use crate::ingest::sheets::SheetRows;
use crate::ingest::source::{Format, Source};
use inkstone_base::encoding::{self, Charset, Encoded, Utf16Reader};
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

/// Rows of a batch at the most.
const BATCH_ROWS: usize = 2048;
/// Elements from which the columns of JSON are found.
const JSON_SAMPLE: usize = 500;

/// Place at which an earlier run stopped reading.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    pub(super) offset: u64,
    pub(super) rows: u64,
    pub(super) encoded: Encoded,
}

pub(super) struct OpenFile<'a> {
    pub(super) columns: Vec<String>,
    pub(super) format: Format,
    pub(super) encoded: Option<Encoded>,
    rows: RowReader<'a>,
}

enum RowReader<'a> {
    Bytes(ByteRows),
    Parquet(ParquetRows),
    Sheet(SheetRows),
    Papers(PaperRows<'a>),
}

impl<'a> OpenFile<'a> {
    /// Opens one file, from its beginning or from where an earlier run stopped.
    pub(super) fn open(path: &Path, source: &Source, resume: Option<&Resume>) -> Result<OpenFile<'a>> {
        let format = source.format_of(path)?;
        if format == Format::Parquet {
            let rows = ParquetRows::open(path)?;
            check_columns(rows.columns().len()).with_context(|| path.display().to_string())?;
            return Ok(OpenFile { columns: rows.columns(), format, encoded: None, rows: RowReader::Parquet(rows) });
        }
        if format == Format::Xlsx {
            let rows = SheetRows::open(path, source.sheet.as_deref())?;
            return Ok(OpenFile { columns: rows.columns(), format, encoded: None, rows: RowReader::Sheet(rows) });
        }
        let mut file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        let encoded = match resume {
            Some(resume) => resume.encoded.clone(),
            None => {
                encoding::detect(&mut file, source.declared_charset()).with_context(|| format!("{}", path.display()))?
            }
        };
        let mut opened = ByteRows::open(&mut file, source, format, &encoded)
            .with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        if let Some(resume) = resume {
            let charset = encoded.charset();
            opened.rows.records = records_from(&file, opened.rows.layout.cut, charset, resume.offset)?;
            opened.rows.first_row = None;
            opened.rows.number = resume.rows;
            opened.rows.expect_width();
        }
        Ok(OpenFile { encoded: Some(encoded), ..opened.into_opened() })
    }

    /// Opens many files of one document as one, a row each.
    pub(super) fn papers(files: &'a [PaperFile], reading: PaperSettings<'a>) -> OpenFile<'a> {
        let columns = PaperRows::COLUMNS.iter().map(|c| (*c).to_owned()).collect();
        let first = files.first().map_or(Format::Txt, |f| f.format);
        let format = if files.iter().all(|f| f.format == first) { first } else { Format::Auto };
        OpenFile { columns, format, encoded: None, rows: RowReader::Papers(PaperRows::new(files, reading)) }
    }

    /// The next rows, empty at the end; only the cells in `used` are decoded. To be called inside the thread pool.
    pub(super) fn next_batch(&mut self, used: &[bool]) -> Result<Vec<SourceRow>> {
        match &mut self.rows {
            RowReader::Bytes(rows) => rows.next_batch(&self.columns, used),
            RowReader::Parquet(rows) => rows.next_batch(used),
            RowReader::Sheet(rows) => Ok(rows.next_batch(used)),
            RowReader::Papers(rows) => rows.next_batch(),
        }
    }

    /// Share of the rows or bytes that is read, from 0 to 1; `bytes` is the length of a text file.
    pub(super) fn share(&self, bytes: u64) -> f64 {
        let (done, all) = match &self.rows {
            RowReader::Bytes(rows) => (rows.records.offset, bytes),
            RowReader::Parquet(rows) => rows.progress(),
            // A sheet was read when it was opened.
            RowReader::Sheet(_) => (1, 1),
            RowReader::Papers(rows) => rows.progress(),
        };
        if all == 0 { 1.0 } else { (done as f64 / all as f64).min(1.0) }
    }

    /// The bytes of the file that a row was cut from; of Parquet and Excel, which have none, the row's cells as JSON.
    pub(super) fn original(&self, row: &SourceRow) -> Vec<u8> {
        match (&self.rows, &self.encoded, &row.cells) {
            (RowReader::Parquet(_) | RowReader::Sheet(_), _, Ok(cells)) => {
                let shown =
                    self.columns.iter().zip(cells.iter()).filter_map(|(c, v)| Some((c.clone(), Value::from(v?))));
                Value::Object(shown.collect()).to_string().into_bytes()
            }
            (_, Some(encoded), _) => encoded.charset().original(&row.bytes),
            _ => row.bytes.clone(),
        }
    }

    /// Character between the cells of a row, in text formats.
    pub(super) fn delimiter(&self) -> Option<char> {
        match &self.rows {
            RowReader::Bytes(ByteRows { layout: FileLayout { cut: RecordLayout::Rows(delimiter), .. }, .. }) => {
                Some(char::from(*delimiter))
            }
            _ => None,
        }
    }

    /// Byte at which reading may go on when the file grows.
    pub(super) fn resume_at(&self) -> Option<u64> {
        match &self.rows {
            RowReader::Bytes(rows) => rows.records.resume_at(),
            _ => None,
        }
    }

    /// Places at which the times of publication of documents that are files were found, counted.
    pub(super) fn dates(&self) -> Vec<(String, u64)> {
        match &self.rows {
            RowReader::Papers(rows) => rows.dates(),
            _ => Vec::new(),
        }
    }

    /// Encodings of the files, counted.
    pub(super) fn encodings(&self) -> Vec<(String, u64)> {
        match (&self.rows, &self.encoded) {
            (RowReader::Papers(rows), _) => rows.encodings(),
            (_, Some(encoded)) => vec![(encoded.name.clone(), 1)],
            _ => Vec::new(),
        }
    }
}

type ByteStream = Box<dyn Read + Send>;

fn records_from(file: &File, cut: RecordLayout, charset: Charset, offset: u64) -> Result<RecordStream<ByteStream>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(offset))?;
    let input: ByteStream = if charset.is_utf16() { Box::new(Utf16Reader::new(file, charset)) } else { Box::new(file) };
    Ok(RecordStream::new(input, cut, charset, offset))
}

/// Layout of the records of a file.
#[derive(Clone, Copy)]
struct FileLayout {
    cut: RecordLayout,
    charset: Charset,
    width: usize,
}

/// Rows of a text format.
struct ByteRows {
    records: RecordStream<ByteStream>,
    layout: FileLayout,
    /// A first record that turned out to be data.
    first_row: Option<RawRecord>,
    number: u64,
}

/// A text format opened: its rows, its columns, and the format as found.
struct OpenedBytes {
    rows: ByteRows,
    columns: Vec<String>,
    format: Format,
}

impl OpenedBytes {
    fn into_opened<'a>(self) -> OpenFile<'a> {
        OpenFile { columns: self.columns, format: self.format, encoded: None, rows: RowReader::Bytes(self.rows) }
    }
}

impl ByteRows {
    fn open(file: &mut File, source: &Source, format: Format, encoded: &Encoded) -> Result<OpenedBytes> {
        let charset = encoded.charset();
        let start = encoded.bom_len();
        if file.metadata()?.len() <= start {
            bail!("文件为空", "the file is empty");
        }
        let fresh = |cut| records_from(file, cut, charset, start);
        if matches!(format, Format::Csv | Format::Tsv) {
            let head = fresh(RecordLayout::Lines)?.next()?.map(|r| r.bytes).unwrap_or_default();
            let delimiter = match source.delimiter.as_deref().and_then(|d| d.bytes().next()) {
                Some(delimiter) => delimiter,
                None if format == Format::Tsv => b'\t',
                None => delimiter_of(&charset.decode_lossy(&head)),
            };
            let cut = RecordLayout::Rows(delimiter);
            let mut records = fresh(cut)?;
            let first = records.next()?.context(Word("文件没有表头", "the file has no header row"))?;
            let names = split_row(&first.bytes, delimiter, charset.is_wide());
            let names: Option<Vec<String>> =
                names.iter().map(|n| charset.decode(n).map(|n| n.trim().to_owned())).collect();
            let names = names.context(Word("表头不是该文件的编码", "the header row is not in the file's encoding"))?;
            check_columns(names.len())?;
            let mut rows = ByteRows {
                records,
                layout: FileLayout { cut, charset, width: names.len() },
                first_row: None,
                number: 0,
            };
            rows.expect_width();
            // A mapping by position alone says that there is no header.
            let positions: Vec<String> = (0..names.len()).map(|i| i.to_string()).collect();
            if !by_position(source) || names == positions {
                return Ok(OpenedBytes { rows, columns: names, format });
            }
            rows.first_row = Some(first);
            return Ok(OpenedBytes { rows, columns: positions, format });
        }
        // An array by its first character, whatever the extension says.
        let mut cut = if format == Format::Json { RecordLayout::Elements } else { RecordLayout::Lines };
        if source.format == Format::Auto && format == Format::Json {
            let first = fresh(RecordLayout::Lines)?.next()?.map(|r| r.bytes).unwrap_or_default();
            if first.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{') {
                cut = RecordLayout::Lines;
            }
        }
        let columns = json_columns(fresh(cut)?, charset)?;
        let format = if cut == RecordLayout::Elements { Format::Json } else { Format::Jsonl };
        let layout = FileLayout { cut, charset, width: columns.len() };
        let rows = ByteRows { records: fresh(cut)?, layout, first_row: None, number: 0 };
        Ok(OpenedBytes { rows, columns, format })
    }

    fn expect_width(&mut self) {
        if matches!(self.layout.cut, RecordLayout::Rows(_)) {
            self.records.expect_width(self.layout.width);
        }
    }

    fn next_batch(&mut self, columns: &[String], used: &[bool]) -> Result<Vec<SourceRow>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let next = match self.first_row.take() {
                Some(first) => Some(first),
                None => self.records.next()?,
            };
            let Some(record) = next else { break };
            bytes += record.bytes.len();
            self.number += 1;
            batch.push((self.number, record));
        }
        let layout = self.layout;
        let row = |(number, record): (u64, RawRecord)| {
            let cells = layout.cells(&record, columns, used);
            SourceRow { number, cells, bytes: record.bytes }
        };
        Ok(batch.into_par_iter().map(row).collect())
    }
}

impl FileLayout {
    fn cells(self, record: &RawRecord, columns: &[String], used: &[bool]) -> Result<Cells, RowFault> {
        if let Some(broken) = record.broken {
            return Err(RowFault::new("", broken.reason(), &self.charset.decode_lossy(&record.bytes)));
        }
        let undecodable = |column: &str, bytes: &[u8]| {
            RowFault::new(column, reason::not_in(self.charset.name()), &self.charset.decode_lossy(bytes))
        };
        let RecordLayout::Rows(delimiter) = self.cut else {
            let text = self.charset.decode(&record.bytes).ok_or_else(|| undecodable("", &record.bytes))?;
            // Without its line end, which would make a string that is cut short look ill-formed.
            let value: Value =
                serde_json::from_str(text.trim_end()).map_err(|e| RowFault::new("", not_json(&e), &text))?;
            let written = LazyCell::new(|| serde_json::from_str::<&RawValue>(text.trim_end()).ok());
            let cell = |name: &str| match find(&value, name)? {
                // The number read is near the one that is written; ids are told apart by their digits.
                found if has_float(found) => written_text(written_at((*written)?, name)?),
                found => text_of(found),
            };
            return match value {
                Value::Object(_) | Value::Array(_) => {
                    Ok(columns.iter().zip(used).map(|(c, used)| if *used { cell(c) } else { None }).collect())
                }
                _ => Err(RowFault::new("", "neither a JSON object nor an array", &text)),
            };
        };
        let fields = split_row(&record.bytes, delimiter, self.charset.is_wide());
        let surplus = fields.iter().skip(self.width).any(|f| !f.is_empty());
        if fields.len() < self.width || surplus {
            let value = self.charset.decode_lossy(&record.bytes);
            return Err(RowFault::new(
                "",
                reason::FIELD_COUNT,
                &format!("{} for {}: {value}", fields.len(), self.width),
            ));
        }
        let mut cells = Cells::with_capacity(columns.len(), record.bytes.len());
        for ((field, column), used) in fields.iter().zip(columns).zip(used) {
            let text = || self.charset.decode(field).ok_or_else(|| undecodable(column, field));
            cells.push(if *used && !field.is_empty() { Some(text()?) } else { None }.as_deref());
        }
        Ok(cells)
    }
}

/// True if all of a source's mapped columns are positions.
fn by_position(source: &Source) -> bool {
    let names: Vec<&str> = source.columns.values().flat_map(crate::ingest::source::Column::names).collect();
    !names.is_empty() && names.iter().all(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// The delimiter that a header row shows.
fn delimiter_of(header: &str) -> u8 {
    let count = |delimiter: u8| header.bytes().filter(|b| *b == delimiter).count();
    if count(b',') > 0 {
        return b',';
    }
    let best = [b'\t', b';', b'|'].into_iter().rev().max_by_key(|d| count(*d)).unwrap_or(b',');
    if count(best) > 0 { best } else { b',' }
}

/// Reason why a text is no JSON.
fn not_json(error: &serde_json::Error) -> &'static str {
    match error {
        error if error.is_eof() => reason::JSON_CUT_SHORT,
        // The reader has no kind of its own for it.
        error if error.to_string().starts_with("recursion limit") => reason::JSON_TOO_DEEP,
        _ => reason::JSON_SYNTAX,
    }
}

/// The names that the first elements have, in the order of their first appearance.
fn json_columns(mut records: RecordStream<ByteStream>, charset: Charset) -> Result<Vec<String>> {
    let mut names = ColumnNames::default();
    for _ in 0..JSON_SAMPLE {
        let Some(record) = records.next()? else { break };
        let text = charset.decode_lossy(&record.bytes);
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            names.add_all(&value, "");
            check_columns(names.columns.len())?;
        }
    }
    Ok(names.columns)
}

/// Refuses a table with more columns than any has.
fn check_columns(columns: usize) -> Result<()> {
    ensure!(
        columns <= limits::COLUMNS,
        "超过 {} 列：没有这么宽的表（其 [[source]] 的 `format`，或 CSV 的 `delimiter` 是否正确？）",
        "more than {} columns: no table has as many (is `format`, and for CSV `delimiter`, of its [[source]] right?)",
        limits::COLUMNS
    );
    Ok(())
}

/// Names of columns in the order of their first appearance, one more than a table may have at the most.
#[derive(Default)]
struct ColumnNames {
    columns: Vec<String>,
    known: FxHashSet<String>,
}

impl ColumnNames {
    fn add_all(&mut self, value: &Value, prefix: &str) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| self.add(prefix, key, value)),
            Value::Array(items) => {
                let within = items.iter().enumerate().take(limits::COLUMNS + 1);
                within.for_each(|(i, value)| self.add(prefix, &i.to_string(), value));
            }
            _ => {}
        }
    }

    fn add(&mut self, prefix: &str, key: &str, value: &Value) {
        if prefix.len() + key.len() > limits::COLUMN_NAME || self.columns.len() > limits::COLUMNS {
            return;
        }
        let name = format!("{prefix}{key}");
        if let Value::Object(_) = value {
            self.add_all(value, &format!("{name}."));
        } else if self.known.insert(name.clone()) {
            self.columns.push(name);
        }
    }
}

/// The value at a dotted name (`stock.code`), or at a position of an array.
fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let found = match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    };
    let within = || name.split_once('.').and_then(|(first, rest)| find(value.get(first)?, rest));
    found.or_else(within)
}

/// True if a number in a value may have more digits in the text than the parsed number keeps.
fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(map) => map.values().any(has_float),
        _ => false,
    }
}

/// The same value as [`find`], as the text writes it.
fn written_at<'t>(text: &'t RawValue, name: &str) -> Option<&'t RawValue> {
    if text.get().starts_with('[') {
        return serde_json::from_str::<Vec<&RawValue>>(text.get()).ok()?.get(name.parse::<usize>().ok()?).copied();
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text.get()).ok()?;
    let within = || name.split_once('.').and_then(|(first, rest)| written_at(members.get(first)?, rest));
    members.get(name).copied().or_else(within)
}

/// The same text as [`text_of`] makes of a value, with all digits of its numbers.
fn written_text(text: &RawValue) -> Option<String> {
    let simple = |item: &&RawValue| !item.get().starts_with(['{', '[']);
    match serde_json::from_str::<Vec<&RawValue>>(text.get()) {
        Ok(items) if items.iter().all(simple) => {
            Some(items.into_iter().filter_map(written_text).collect::<Vec<_>>().join(","))
        }
        _ if text.get().starts_with('"') => serde_json::from_str(text.get()).ok(),
        _ => Some(text.get().to_owned()).filter(|text| text != "null"),
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.iter().all(|i| !i.is_object() && !i.is_array()) => {
            Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join(","))
        }
        other => Some(other.to_string()),
    }
}
