//! The corpus on disk: documents in Parquet parts of at most [`PART_ROWS`] rows, read one part at a time.
//!
//! Every stage keeps the parts' order and boundaries, so part `i` of the cleaned corpus and part `i` of the links speak
//! of the same rows as part `i` of the documents. Nothing ever holds the whole corpus.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{DateTime, NaiveDateTime};
use polars_core::prelude::{
    Column, DataFrame, DataType, IntoColumn, NamedFrom, PolarsResult, Series, StringChunked, TimeUnit,
};

use crate::frames;
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Kind};
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::{bail, message};

/// Most rows of a part; a part of long reports then takes tens of megabytes.
pub const PART_ROWS: usize = 4096;

/// A table in numbered Parquet parts (`part-00000.parquet`, ...) in one folder.
#[derive(Clone, Debug)]
pub struct Parts {
    folder: PathBuf,
}

impl Parts {
    /// The parts in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Parts {
        Parts { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files, in order. Files of other names are not parts.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        self.numbered("parquet")
    }

    /// The files `part-NNNNN` with this extension, in order.
    pub fn numbered(&self, extension: &str) -> Result<Vec<PathBuf>> {
        let mut files = disk::files_in(&self.folder, extension)?;
        files.retain(|file| is_numbered(file));
        Ok(files)
    }

    pub fn path(&self, i: usize) -> PathBuf {
        self.folder.join(format!("part-{i:05}.parquet"))
    }

    pub fn write(&self, i: usize, frame: &mut DataFrame) -> Result<()> {
        frames::write_parquet(&self.path(i), frame)
    }

    /// Removes part `n` and all after it.
    pub fn truncate(&self, n: usize) -> Result<()> {
        let first = self.path(n);
        for path in self.files()?.into_iter().filter(|p| *p >= first) {
            std::fs::remove_file(&path).with_context(|| message!("无法删除 {}", "cannot remove {}", path.display()))?;
        }
        Ok(())
    }
}

/// True if a file has the name of a part, with any extension.
fn is_numbered(file: &Path) -> bool {
    let number = file.file_stem().and_then(|stem| stem.to_str()?.strip_prefix("part-"));
    number.is_some_and(|number| number.len() >= 5 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Documents as a frame, one row each; codes joined by commas, absent values null.
pub fn documents_to_frame(docs: &[Document]) -> Result<DataFrame> {
    let mut columns = vec![
        texts_column("doc_id", docs.iter().map(|d| Some(&d.doc_id))),
        texts_column("kind", docs.iter().map(|d| Some(d.kind.name()))),
        texts_column("codes", docs.iter().map(|d| Some(join_codes(&d.codes)))),
        texts_column("title", docs.iter().map(|d| Some(&d.title))),
        texts_column("body", docs.iter().map(|d| Some(&d.body))),
        texts_column("source", docs.iter().map(|d| Some(&d.source))),
        texts_column("author", docs.iter().map(|d| d.author.as_ref())),
        texts_column("org", docs.iter().map(|d| d.org.as_ref())),
        texts_column("rating", docs.iter().map(|d| d.rating.as_ref())),
        texts_column("label", docs.iter().map(|d| d.label.as_ref())),
        times_column("event_at", docs.iter().map(|d| d.event_at))?,
        times_column("published_at", docs.iter().map(|d| Some(d.published_at)))?,
        times_column("ingested_at", docs.iter().map(|d| d.ingested_at))?,
    ];
    // Few corpora have it, and parts without it stay as they are.
    if docs.iter().any(|d| d.revised.is_some()) {
        columns.push(texts_column("revised", docs.iter().map(|d| d.revised.as_ref())));
    }
    frames::frame(columns)
}

pub fn documents_from_frame(frame: &DataFrame) -> Result<Vec<Document>> {
    let text = |name: &str| texts_of(frame, name);
    let [doc_id, kind, codes, title, body, source] =
        [text("doc_id")?, text("kind")?, text("codes")?, text("title")?, text("body")?, text("source")?];
    let [author, org, rating, label] = [text("author")?, text("org")?, text("rating")?, text("label")?];
    let revised = frame.column("revised").ok().map(|column| column.str()).transpose()?;
    let event_at = times_of(frame, "event_at")?;
    let published_at = times_of(frame, "published_at")?;
    let ingested_at = times_of(frame, "ingested_at")?;
    let string = |values: &StringChunked, i: usize| values.get(i).unwrap_or_default().to_owned();
    let option = |values: &StringChunked, i: usize| values.get(i).map(str::to_owned);
    (0..frame.height())
        .map(|i| {
            let kind_name = kind.get(i).unwrap_or_default();
            Ok(Document {
                doc_id: string(&doc_id, i),
                kind: Kind::parse(kind_name).with_context(|| {
                    message!("未知的文档类型 {kind_name:?}", "unknown kind of document {kind_name:?}")
                })?,
                codes: split_codes(codes.get(i).unwrap_or_default()),
                title: string(&title, i),
                body: string(&body, i),
                source: string(&source, i),
                author: option(&author, i),
                org: option(&org, i),
                rating: option(&rating, i),
                revised: revised.and_then(|revised| option(revised, i)),
                label: option(&label, i),
                event_at: event_at[i],
                published_at: published_at[i]
                    .context(Word("有文档没有 published_at", "a document without published_at"))?,
                ingested_at: ingested_at[i],
            })
        })
        .collect()
}

/// Codes as one field: `600000.SH,000001.SZ`.
pub fn join_codes(codes: &[Code]) -> String {
    codes.iter().map(Code::as_str).collect::<Vec<_>>().join(",")
}

pub(crate) fn split_codes(field: &str) -> Vec<Code> {
    field.split(',').filter(|c| !c.is_empty()).map(Code::canonical).collect()
}

/// A column of texts; absent values are null.
pub fn texts_column<T: AsRef<str>>(name: &str, texts: impl Iterator<Item = Option<T>>) -> Column {
    let mut texts: StringChunked = texts.collect();
    texts.rename(name.into());
    texts.into_column()
}

pub fn texts_of(frame: &DataFrame, name: &str) -> Result<StringChunked> {
    Ok(column(frame, name)?.str()?.clone())
}

/// A column of times, microseconds without a zone.
pub fn times_column(name: &str, times: impl Iterator<Item = Option<NaiveDateTime>>) -> Result<Column> {
    let micros: Vec<Option<i64>> = times.map(|t| t.map(|t| t.and_utc().timestamp_micros())).collect();
    Ok(Series::new(name.into(), micros).cast(&DataType::Datetime(TimeUnit::Microseconds, None))?.into_column())
}

pub fn times_of(frame: &DataFrame, name: &str) -> Result<Vec<Option<NaiveDateTime>>> {
    let series = column(frame, name)?;
    let micros = series.cast(&DataType::Datetime(TimeUnit::Microseconds, None))?.cast(&DataType::Int64)?;
    let micros = micros.i64()?;
    micros
        .iter()
        .map(|t| match t {
            None => Ok(None),
            Some(t) => DateTime::from_timestamp_micros(t)
                .map(|t| Some(t.naive_utc()))
                .with_context(|| message!("列 {name:?} 中的 {t} 不是时间", "{t} in column {name:?} is not a time")),
        })
        .collect()
}

/// The column of that name, with an error that lists the columns there are.
pub fn column<'a>(frame: &'a DataFrame, name: &str) -> Result<&'a Column> {
    let found: PolarsResult<&Column> = frame.column(name);
    match found {
        Ok(column) => Ok(column),
        Err(_) => bail!(
            "没有列 {name:?}；现有列：{:?}",
            "there is no column {name:?}; the columns are {:?}",
            frame.get_column_names()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_files_are_parts() {
        let dir = tempfile::tempdir().unwrap();
        let parts = Parts::new(dir.path());
        let theirs =
            ["mine.parquet", "part-1.parquet", "part-0000a.parquet", "part-00000 copy.parquet", "part-00000.json"];
        for path in theirs.map(|name| dir.path().join(name)).into_iter().chain([parts.path(0), parts.path(100_000)]) {
            std::fs::write(path, "").unwrap();
        }
        assert_eq!(parts.files().unwrap(), [parts.path(0), parts.path(100_000)]);
        parts.truncate(0).unwrap();
        assert!(theirs.iter().all(|name| dir.path().join(name).exists()) && parts.files().unwrap().is_empty());
    }

    #[test]
    fn documents_survive_the_way_to_disk_and_back() {
        let time = |s: &str| NaiveDateTime::parse_from_str(s, "%Y-%m-%d %H:%M:%S").unwrap();
        let full = Document {
            doc_id: "news/1".into(),
            kind: Kind::Report,
            codes: vec![Code::canonical("600000.SH"), Code::canonical("000001.SZ")],
            title: "一季报点评：“稳”字当头".into(),
            body: "正文\n第二段".into(),
            source: "news".into(),
            author: Some("张三".into()),
            org: Some("某证券".into()),
            rating: Some("买入".into()),
            revised: Some("上调".into()),
            label: Some("1".into()),
            event_at: Some(time("2024-03-01 00:00:00")),
            published_at: time("2024-03-01 15:00:01"),
            ingested_at: Some(time("2024-03-02 08:00:00")),
        };
        let bare =
            Document { doc_id: "news/2".into(), published_at: time("2024-03-04 09:00:00"), ..Document::default() };
        let docs = vec![full, bare];
        let dir = tempfile::tempdir().unwrap();
        let parts = Parts::new(dir.path());
        parts.write(0, &mut documents_to_frame(&docs).unwrap()).unwrap();
        let read = frames::read_parquet(&parts.files().unwrap()[0], None).unwrap();
        assert_eq!(documents_from_frame(&read).unwrap(), docs);
        let unmarked = documents_to_frame(&docs[1..]).unwrap();
        assert!(unmarked.column("revised").is_err(), "where nothing is marked there is no column");
        assert_eq!(documents_from_frame(&unmarked).unwrap(), docs[1..]);
    }
}
