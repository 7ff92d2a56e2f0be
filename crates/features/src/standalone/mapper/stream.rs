//! Frames through a pipe: an Arrow stream, or the lines of Hive's and Spark's `TRANSFORM`.

use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result};
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_core::prelude::{
    AnyValue, Column, CompatLevel, DataFrame, IntoColumn, NamedFrom, Schema, SchemaExt, Series,
};

use super::{FrameDocuments, FrameMapper};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_text::Chunk;

/// Bytes of lines that are mapped at once.
const BLOCK: usize = 1 << 22;
/// A cell without a value, as Hive and Spark write it.
const NULL: &str = r"\N";

/// The columns of a stream that a mapper reads and keeps.
#[derive(Clone, Debug)]
pub struct StreamColumns {
    pub title: Option<String>,
    pub text: String,
    pub time: String,
    /// Columns that stand before the model's; none: all but title and text.
    pub keep: Option<Vec<String>>,
}

impl StreamColumns {
    /// A frame with the columns that are kept, those of the model, and `known_at`.
    fn map(&self, mapper: &mut FrameMapper, frame: &DataFrame, ctx: &Ctx) -> Result<DataFrame> {
        let column = |name: &String| -> Result<&Column> {
            frame.column(name).ok().with_context(|| {
                let names: Vec<&str> = frame.get_column_names().into_iter().map(|name| name.as_str()).collect();
                message!(
                    "没有列 {name:?}；现有列：{}",
                    "there is no column {name:?}; the columns are {}",
                    names.join(", ")
                )
            })
        };
        let title = self.title.as_ref().map(column).transpose()?;
        let documents = FrameDocuments { titles: title, texts: column(&self.text)?, times: column(&self.time)? };
        let mapped = mapper.map(&documents, ctx)?;
        let read = |name: &str| name == self.text || self.title.as_deref() == Some(name);
        let mut columns: Vec<Column> = match &self.keep {
            Some(names) => names.iter().map(|name| column(name).cloned()).collect::<Result<_>>()?,
            None => frame.columns().iter().filter(|column| !read(column.name())).cloned().collect(),
        };
        for made in mapped.columns() {
            ensure!(
                columns.iter().all(|kept| kept.name() != made.name()),
                "模型给出的列 {:?} 与输入同名：请保留其他列，或给它改名",
                "the model gives a column {:?}, and so does the input: keep other columns, or rename that one",
                made.name().as_str()
            );
            columns.push(made.clone());
        }
        Ok(DataFrame::new(frame.height(), columns)?)
    }
}

/// Maps a stream of Arrow's IPC format, batch by batch.
pub fn map_arrow(
    mapper: &mut FrameMapper,
    columns: &StreamColumns,
    input: impl Read,
    output: impl Write,
    ctx: &Ctx,
) -> Result<Report> {
    let mut report = Report::new("worker");
    let mut input = Forward { input, place: 0 };
    let metadata =
        read_stream_metadata(&mut input).context(Word("输入不是 Arrow 流", "the input is no Arrow stream"))?;
    let schema = metadata.schema.clone();
    let mut writer = StreamWriter::new(output, WriteOptions { compression: None });
    let mut begun = false;
    let mut reader = StreamReader::new(input, metadata, None);
    loop {
        let batch = match reader
            .next()
            .transpose()
            .context(Word("Arrow 流无法继续读取", "the Arrow stream cannot be read on"))?
        {
            Some(StreamState::Some(batch)) => Some(batch),
            Some(StreamState::Waiting) | None if begun => break,
            // A stream without a batch still has a schema.
            Some(StreamState::Waiting) | None => None,
        };
        let frame = match batch {
            Some(batch) => DataFrame::from(batch),
            None => DataFrame::empty_with_schema(&Schema::from_arrow_schema(&schema)),
        };
        let mut mapped = columns.map(mapper, &frame, ctx)?;
        mapped.rechunk_mut();
        if !begun {
            writer.start(&mapped.schema().to_arrow(CompatLevel::oldest()), None)?;
            begun = true;
        }
        report.rows_in += frame.height() as u64;
        report.rows_out += mapped.height() as u64;
        for batch in mapped.iter_chunks(CompatLevel::oldest(), false) {
            writer.write(&batch, None)?;
        }
    }
    writer.finish()?;
    Ok(report)
}

/// Maps lines of cells with tabs between them, whose columns have these names; lists are joined by commas.
pub fn map_tsv(
    mapper: &mut FrameMapper,
    columns: &StreamColumns,
    names: &[String],
    mut input: impl BufRead,
    mut output: impl Write,
    ctx: &Ctx,
) -> Result<Report> {
    let mut report = Report::new("worker");
    let mut chunk = Chunk::default();
    while chunk.fill(&mut input, BLOCK)? {
        let mut cells: Vec<Vec<Option<&str>>> = vec![Vec::new(); names.len()];
        for line in chunk.lines() {
            report.rows_in += 1;
            let line = match line {
                Ok(line) => line,
                Err(reason) => {
                    report.drop_rows(reason, 1);
                    continue;
                }
            };
            let row: Vec<&str> = line.split('\t').collect();
            if row.len() != names.len() {
                report.drop_rows("another number of cells than --tsv names columns", 1);
                continue;
            }
            for (column, cell) in cells.iter_mut().zip(row) {
                column.push((cell != NULL).then_some(cell));
            }
        }
        let height = cells.first().map_or(0, Vec::len);
        let frame = names.iter().zip(&cells).map(|(name, cells)| Series::new(name.into(), cells).into_column());
        let mapped = columns.map(mapper, &DataFrame::new(height, frame.collect())?, ctx)?;
        for row in 0..mapped.height() {
            for (number, column) in mapped.columns().iter().enumerate() {
                if number > 0 {
                    output.write_all(b"\t")?;
                }
                write_cell(&mut output, &column.get(row)?)?;
            }
            output.write_all(b"\n")?;
        }
        report.rows_out += mapped.height() as u64;
        ensure!(
            report.rows_out > 0,
            "前 {} 行中没有一行是 {} 个以制表符分隔的单元格：请在查询中写 FIELDS TERMINATED BY '\\t'，并用 --tsv 写出列名",
            "none of the first {} lines has {} cells with tabs between them: say FIELDS TERMINATED BY '\\t' in the query, and name its columns with --tsv",
            report.rows_in,
            names.len()
        );
    }
    output.flush()?;
    Ok(report)
}

fn write_cell(output: &mut impl Write, value: &AnyValue<'_>) -> Result<()> {
    match value {
        AnyValue::Null => output.write_all(NULL.as_bytes())?,
        AnyValue::String(text) => output.write_all(text.as_bytes())?,
        AnyValue::StringOwned(text) => output.write_all(text.as_bytes())?,
        AnyValue::Float64(value) => write!(output, "{value}")?,
        AnyValue::Float32(value) => write!(output, "{value}")?,
        AnyValue::Int32(value) => write!(output, "{value}")?,
        AnyValue::List(values) => {
            for (number, value) in values.iter().enumerate() {
                if number > 0 {
                    output.write_all(b",")?;
                }
                write_cell(output, &value)?;
            }
        }
        AnyValue::Datetime(..) | AnyValue::DatetimeOwned(..) => write!(output, "{value}")?,
        other => bail!("类型为 {} 的单元格没有文本", "a cell of type {} has no text", other.dtype()),
    }
    Ok(())
}

/// A pipe as the reader of streams wants it, which seeks only to pass over padding.
struct Forward<R> {
    input: R,
    place: u64,
}

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.place += read as u64;
        Ok(read)
    }
}

impl<R: Read> Seek for Forward<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(offset) => self.place.checked_add_signed(offset),
            SeekFrom::End(_) => None,
        };
        let ahead = to.and_then(|to| to.checked_sub(self.place));
        let ahead = ahead.ok_or_else(|| io::Error::other("the buffers of a batch do not follow one another"))?;
        let passed = io::copy(&mut Read::by_ref(&mut self.input).take(ahead), &mut io::sink())?;
        self.place += passed;
        if passed < ahead { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(self.place) }
    }
}
