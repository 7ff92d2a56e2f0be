//! Reading documents a line each: tokens, text, or JSON objects.
//!
//! The documents of a project, a folder of Parquet parts, are read as JSON lines (`project`), and so are sentences in columns (`conll`). JSON lines have `text`, and
//! whatever of these they like: `id`, `title`, `label` (text or a whole number), `labels` (a list of them), `value` (a number,
//! such as a return), `time` (as sources write times), `group` (samples of one group are never split between training
//! and test). Other fields are left alone. A line that cannot be used is set aside with its number and reason.

mod conll;
mod cutter;
mod line;
mod pair;
mod project;
mod source;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use serde::Deserialize;

use conll::ConllLines;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::ingest::read_time;
use inkstone_text::Chunk;
use project::ProjectLines;

pub use cutter::{CutSpec, Cutter};
pub use line::{Line, LineFormat};
pub(crate) use pair::{fields, pair_of, score_of_pair, text_of};
pub use source::Source;

#[derive(Deserialize)]
struct JsonLine<'b> {
    #[serde(borrow, default)]
    id: Option<Scalar<'b>>,
    #[serde(borrow, default)]
    title: Option<Cow<'b, str>>,
    #[serde(borrow)]
    text: Cow<'b, str>,
    #[serde(borrow, default)]
    label: Option<Scalar<'b>>,
    #[serde(borrow, default)]
    labels: Vec<Scalar<'b>>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(borrow, default)]
    time: Option<Cow<'b, str>>,
    #[serde(borrow, default)]
    group: Option<Scalar<'b>>,
}

/// A name that may be written as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar<'b> {
    Number(i64),
    Text(#[serde(borrow)] Cow<'b, str>),
}

impl<'b> From<Scalar<'b>> for Cow<'b, str> {
    fn from(scalar: Scalar<'b>) -> Cow<'b, str> {
        match scalar {
            Scalar::Number(number) => number.to_string().into(),
            Scalar::Text(text) => text,
        }
    }
}

/// Reads a plain file in blocks of whole lines.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    format: LineFormat,
    /// Number of the next line.
    next: u64,
    /// The last time that is read.
    until: Option<NaiveDateTime>,
    report: Report,
}

/// Some lines as they were read. [`Block::lines`] understands them; it borrows, so nothing is copied.
#[derive(Default)]
pub struct Block {
    chunk: Chunk,
    format: LineFormat,
    first: u64,
    until: Option<NaiveDateTime>,
}

/// Bytes of lines that are read at once, where a model does not need smaller blocks.
pub(super) const BLOCK: usize = 1 << 22;

/// Line numbers of refused lines that the report names at the most.
const NAMED: usize = 20;

/// Reason for which a document after [`Lines::until`] is set aside.
pub const LATER: &str = "later than --until";
/// Reason for which a document without a time is set aside, where there is such a limit.
const TIMELESS: &str = "no time, with --until given";

impl Lines {
    /// Opens a file; `-` is the standard input, and a folder holds the documents of a project.
    pub fn open(path: &Path, format: LineFormat) -> Result<Lines> {
        if path.is_dir() {
            ensure!(
                format == LineFormat::Jsonl,
                "{} 是文件夹，按 jsonl 读取，而不是 {}：请去掉 --format",
                "{} is a folder, which is read as jsonl, not as {}: leave --format out",
                path.display(),
                format.name()
            );
            return Ok(Lines::new(BufReader::with_capacity(1 << 16, ProjectLines::open(path)?), format));
        }
        if path.as_os_str() == "-" {
            return Ok(Lines::new(BufReader::with_capacity(1 << 16, stdin()), format));
        }
        let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        if LineFormat::is_conll(path) {
            ensure!(
                format == LineFormat::Jsonl,
                "{} 为每行一字及其标签，按 jsonl 读取，而不是 {}：请去掉 --format",
                "{} has a character and its label a line, and is read as jsonl, not as {}: leave --format out",
                path.display(),
                format.name()
            );
            return Ok(Lines::new(BufReader::with_capacity(1 << 16, ConllLines::new(file)), format));
        }
        Ok(Lines::new(BufReader::with_capacity(1 << 16, file), format))
    }

    pub fn new(input: impl BufRead + Send + 'static, format: LineFormat) -> Lines {
        Lines { input: Box::new(input), format, next: 1, until: None, report: Report::new("read") }
    }

    /// Sets aside documents of later times, and those without one. Only JSON lines have times.
    pub fn until(mut self, until: Option<NaiveDateTime>) -> Result<Lines> {
        ensure!(
            until.is_none() || self.format == LineFormat::Jsonl,
            "--until 需要带时间的行：请把文档写成带 time 字段的 jsonl，或指定项目的文档文件夹；{} 的行没有时间",
            "--until takes lines with times: write the documents as jsonl with a field time, or name a project's folder of documents; lines of {} have none",
            self.format.name()
        );
        self.until = until;
        Ok(self)
    }

    /// The next lines, about `size` bytes of them, into `block`, whose memory is used again; false at the end.
    pub fn next_block(&mut self, block: &mut Block, size: usize) -> Result<bool> {
        let more = block
            .chunk
            .fill(&mut self.input, size)
            .with_context(|| message!("无法读取第 {} 行", "cannot read line {}", self.next))?;
        (block.format, block.until) = (self.format, self.until);
        block.first = self.next;
        self.next += block.chunk.lines().len() as u64;
        Ok(more)
    }

    /// Gives the documents to `work` block by block, of about `size` bytes each.
    pub(crate) fn for_each_block(
        &mut self,
        size: usize,
        mut work: impl FnMut(Vec<Line<'_>>) -> Result<()>,
    ) -> Result<()> {
        let mut block = Block::default();
        while self.next_block(&mut block, size)? {
            work(self.documents(&block))?;
        }
        Ok(())
    }

    /// Applies `work` to chunks of `chunk` documents on all threads of the run, and gives the results to `take` in order.
    pub(crate) fn for_each_chunk<T: Send>(
        &mut self,
        chunk: usize,
        ctx: &Ctx,
        work: impl Fn(&[Line<'_>]) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.for_each_block(BLOCK, |documents| {
            let results = ctx.install(|| documents.par_chunks(chunk).map(&work).collect::<Result<Vec<T>>>())?;
            results.into_iter().try_for_each(&mut take)
        })
    }

    /// Applies `work` to each document on all threads of the run, and gives the results to `take` in order. Progress is counted in documents.
    pub(crate) fn for_each_document<T: Send>(
        &mut self,
        ctx: &Ctx,
        work: impl Fn(&Line<'_>) -> T + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        self.for_each_block(BLOCK, |documents| {
            let one = |line: &Line<'_>| {
                ctx.advance(1)?;
                Ok(work(line))
            };
            let results = ctx.install(|| documents.par_iter().map(one).collect::<Result<Vec<T>>>())?;
            results.into_iter().try_for_each(&mut take)
        })
    }

    /// The documents of a block, in order; lines that cannot be used are noted for the report.
    pub fn documents<'b>(&mut self, block: &'b Block) -> Vec<Line<'b>> {
        let mut documents = Vec::new();
        for line in block.lines() {
            match line {
                Ok(line) => documents.push(line),
                Err(refused) => self.refuse([refused]),
            }
        }
        documents
    }

    /// Notes lines that [`Block::lines`] could not use.
    pub fn refuse(&mut self, refused: impl IntoIterator<Item = Refused>) {
        for Refused { number, reason } in refused {
            self.report.drop_rows(reason, 1);
            let named =
                self.report.facts.entry("refused_lines").or_insert_with(|| serde_json::Value::Array(Vec::new()));
            if let Some(named) = named.as_array_mut().filter(|named| named.len() < NAMED) {
                named.push(number.into());
            }
        }
    }

    /// The report at the end of the input; fails when there was no document at all.
    pub fn finish(&self) -> Result<Report> {
        let report = self.report();
        ensure!(report.rows_in > 0, "输入为空；每行一篇文档", "the input is empty; it takes a document a line");
        if report.rows_out == 0 {
            let reasons: Vec<String> = report.dropped.iter().map(|(reason, n)| format!("{n} × {reason}")).collect();
            bail!(
                "{} 行中没有一行可用：{}；按 {} 读取（--format）",
                "none of {} lines can be used: {}; lines are read as {} (--format)",
                report.rows_in,
                reasons.join("; "),
                self.format.name()
            );
        }
        Ok(report)
    }

    pub fn report(&self) -> Report {
        let mut report = self.report.clone();
        report.rows_in = self.next - 1;
        report.rows_out = report.rows_in - report.dropped_rows();
        report
    }
}

/// A line that cannot be used, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Number of the line in the file, from 1.
    pub number: u64,
    pub reason: &'static str,
}

impl Block {
    pub fn bytes(&self) -> usize {
        self.chunk.bytes_read()
    }

    /// The documents of the block, in order. An empty line is a document without tokens.
    pub fn lines(&self) -> Vec<Result<Line<'_>, Refused>> {
        let numbered = (self.first..).zip(self.chunk.lines());
        numbered
            .map(|(number, line)| {
                let line = line.map_err(|reason| Refused { number, reason })?;
                match self.format {
                    LineFormat::Tokens | LineFormat::Text => Ok(Line { number, text: line.into(), ..Line::default() }),
                    LineFormat::Jsonl => object(number, line)
                        .and_then(|line| self.in_time(line))
                        .map_err(|reason| Refused { number, reason }),
                }
            })
            .collect()
    }

    fn in_time<'b>(&self, line: Line<'b>) -> Result<Line<'b>, &'static str> {
        match (self.until, line.time) {
            (None, _) => Ok(line),
            (Some(_), None) => Err(TIMELESS),
            (Some(until), Some(time)) if time > until => Err(LATER),
            (Some(_), Some(_)) => Ok(line),
        }
    }
}

fn object(number: u64, line: &str) -> Result<Line<'_>, &'static str> {
    if let Some(reason) = conll::refused(line) {
        return Err(reason);
    }
    let object: JsonLine<'_> = serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => "no object with a text, or a field of another type",
        _ if line.contains(": NaN") || line.contains(":NaN") => "not JSON: NaN is no number there, write null",
        _ => "not JSON",
    })?;
    let time = object.time.map(|time| read_time(&time).ok_or("the time cannot be read")).transpose()?;
    Ok(Line {
        number,
        id: object.id.map(Cow::from),
        title: object.title.unwrap_or_default(),
        text: object.text,
        label: object.label.map(Cow::from),
        labels: object.labels.into_iter().map(Cow::from).collect(),
        value: object.value,
        time,
        group: object.group.map(Cow::from),
        json: Some(line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &'static str, format: LineFormat) -> (Lines, Block) {
        let mut lines = Lines::new(text.as_bytes(), format);
        let mut block = Block::default();
        assert!(lines.next_block(&mut block, 1 << 20).unwrap());
        (lines, block)
    }

    #[test]
    fn json_lines_bring_what_they_have() {
        let text = "{\"id\":7,\"text\":\"订单增加\",\"label\":\"1\",\"value\":-0.5,\"time\":\"2024-03-01 09:00:00\",\"x\":[]}\n\
                    {\"title\":\"公告\",\"text\":\"回购\\n股份\"}\n";
        let (_, block) = block(text, LineFormat::Jsonl);
        let lines: Vec<Line<'_>> = block.lines().into_iter().map(Result::unwrap).collect();
        assert_eq!((&*lines[0].name(), lines[0].label.as_deref(), lines[0].value), ("7", Some("1"), Some(-0.5)));
        assert_eq!(lines[0].time.unwrap().to_string(), "2024-03-01 09:00:00");
        assert_eq!((&*lines[1].name(), &*lines[1].whole()), ("2", "公告\n回购\n股份"));
    }

    #[test]
    fn broken_lines_are_set_aside_with_number_and_reason() {
        let text = "{\"text\":\"一\"}\n{\"text\":\n\n{\"body\":\"二\"}\n{\"text\":\"三\",\"time\":\"不明\"}\n";
        let (mut lines, block) = block(text, LineFormat::Jsonl);
        let refused: Vec<Refused> = block.lines().into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.iter().map(|r| r.number).collect::<Vec<_>>(), [2, 3, 4, 5]);
        lines.refuse(refused);
        let report = lines.report();
        assert_eq!((report.rows_in, report.rows_out), (5, 1));
        assert_eq!(report.dropped["not JSON"], 2);
        assert_eq!(report.facts["refused_lines"], serde_json::json!([2, 3, 4, 5]));
    }

    #[test]
    fn later_documents_are_set_aside_and_so_are_those_without_a_time() {
        let text = "{\"text\":\"一\",\"time\":\"2024-03-01 09:00:00\"}\n{\"text\":\"二\",\"time\":\"2024-03-02 09:00:00\"}\n{\"text\":\"三\"}\n";
        let until = inkstone_corpus::ingest::read_time("2024-03-01 23:59:59");
        let mut lines = Lines::new(text.as_bytes(), LineFormat::Jsonl).until(until).unwrap();
        let mut block = Block::default();
        assert!(lines.next_block(&mut block, 1 << 20).unwrap());
        assert_eq!(lines.documents(&block).iter().map(|line| &*line.text).collect::<Vec<_>>(), ["一"]);
        let dropped = lines.report().dropped;
        assert_eq!((dropped[LATER], dropped[TIMELESS]), (1, 1));
        let error = Lines::new(text.as_bytes(), LineFormat::Text).until(until).err().unwrap().to_string();
        assert!(error.contains("--until takes lines with times"), "{error}");
    }

    #[test]
    fn an_input_without_documents_says_why() {
        let read = |text: &'static str, format| {
            let mut lines = Lines::new(text.as_bytes(), format);
            let mut block = Block::default();
            while lines.next_block(&mut block, 1 << 20).unwrap() {
                lines.documents(&block);
            }
            lines.finish().map_err(|error| error.to_string())
        };
        assert!(read("", LineFormat::Text).unwrap_err().contains("the input is empty"));
        let error = read("一\n二\n", LineFormat::Jsonl).unwrap_err();
        assert!(
            error.contains("none of 2 lines") && error.contains("2 × not JSON") && error.contains("jsonl"),
            "{error}"
        );
        assert_eq!(read("一\n", LineFormat::Text).unwrap().rows_out, 1);
    }

    #[test]
    fn blocks_hold_whole_lines_and_number_them_on() {
        let mut lines = Lines::new("一 二\r\n三\n\n四".as_bytes(), LineFormat::Tokens);
        let mut block = Block::default();
        let mut seen = Vec::new();
        while lines.next_block(&mut block, 5).unwrap() {
            seen.extend(block.lines().into_iter().map(|line| line.map(|l| (l.number, l.text.into_owned())).unwrap()));
        }
        let expected = [(1, "一 二"), (2, "三"), (3, ""), (4, "四")];
        assert_eq!(seen, expected.map(|(number, text)| (number, text.to_owned())));
    }
}
