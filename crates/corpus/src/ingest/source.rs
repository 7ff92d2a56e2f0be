//! A `[[source]]` table of the configuration: paths of the files, their content, and their columns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::ingest::mapping::{self, nearest};
use crate::ingest::times::{self, TimeFormat};
use inkstone_base::data::Kind;
use inkstone_base::encoding::Charset;
use inkstone_base::language::{LINES, Message};
use inkstone_base::limits;
use inkstone_base::{bail, message};
use inkstone_tables::project::Project;

/// Which of the project's tables a source fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// News, reports, announcements, posts ([`inkstone_base::data::Document`]).
    #[default]
    Documents,
    /// Daily prices ([`inkstone_market::PRICE_COLUMNS`]).
    Prices,
    /// The dated table of securities ([`inkstone_market::Security`]).
    Securities,
    /// Dated relations between securities ([`inkstone_market::Relation`]).
    Relations,
    /// Events of securities ([`inkstone_market::CompanyEvent`]).
    Events,
}

impl Table {
    /// The name used in configuration files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Table::Documents => "documents",
            Table::Prices => "prices",
            Table::Securities => "securities",
            Table::Relations => "relations",
            Table::Events => "events",
        }
    }

    /// The file of a table that is one; documents lie in parts.
    pub(super) fn file(self, project: &Project) -> Option<PathBuf> {
        match self {
            Table::Documents => None,
            Table::Prices => Some(project.prices()),
            Table::Securities => Some(project.securities()),
            Table::Relations => Some(project.relations()),
            Table::Events => Some(project.company_events()),
        }
    }
}

/// Layout of the records of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// By the file's extension; a `.json` file is an array or JSON lines by its first character.
    #[default]
    Auto,
    /// Comma-separated values with a header row (RFC 4180); the delimiter may be changed.
    Csv,
    /// Tab-separated values with a header row.
    Tsv,
    /// One JSON object or array a line.
    Jsonl,
    /// One JSON array of objects or arrays.
    Json,
    Parquet,
    /// The first sheet of an Excel workbook (.xlsx, .xls), or the one that is named, with a header row.
    Xlsx,
    /// Text, one document a file; the file name without its extension is the document's id.
    Txt,
    /// PDF, one document a file; the file name is the document's id, here and below.
    Pdf,
    /// HTML, one document a file.
    Html,
    /// Word (.docx), one document a file.
    Docx,
}

impl Format {
    /// True if a file is one document.
    pub(crate) fn is_paper(self) -> bool {
        matches!(self, Format::Txt | Format::Pdf | Format::Html | Format::Docx)
    }
}

/// Source of the value of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Column {
    /// The column of this name; for arrays of arrays its position, from `"0"`.
    Name(String),
    /// A date and a time of day from two columns.
    DateTime {
        /// Column of the date.
        date: String,
        /// Column of the time of day.
        time: String,
    },
    /// A number and its factor (lots of 100 shares, thousands of CNY).
    Scaled {
        /// Column of the number.
        column: String,
        times: f64,
    },
    /// The first match of a regular expression (its first group, if it has one) in a column.
    Pattern {
        pattern: String,
        /// The column that is searched, or the field (`body`) that a column was mapped to.
        r#in: String,
    },
    /// The same text for every row.
    Value { value: String },
}

impl Column {
    /// The columns of the file that it speaks of.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Column::Name(name) => vec![name],
            Column::DateTime { date, time } => vec![date, time],
            Column::Scaled { column, .. } => vec![column],
            Column::Pattern { .. } | Column::Value { .. } => Vec::new(),
        }
    }
}

/// Fields and where their values come from; a field that is absent here is found by the usual names of its column.
pub type Columns = BTreeMap<String, Column>;

/// The time from which a source's documents count as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownAt {
    /// `published_at`.
    #[default]
    Published,
    /// The later one of `published_at` and `ingested_at`; a document without `ingested_at` is set aside.
    Ingested,
}

/// One `[[source]]` table: files of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Name of the source, unique; the first half of its documents' ids.
    pub name: String,
    /// A file, a folder (with all below it), or a pattern with `*`; relative to the configuration's folder.
    pub path: String,
    /// Which table the files fill.
    pub table: Table,
    /// Layout of the files.
    pub format: Format,
    /// Encoding (`utf-8`, `gbk`, `gb18030`, `big5`, `utf-16le`, `utf-16be`); absent: detected, file by file.
    pub encoding: Option<String>,
    /// Delimiter of a CSV, one ASCII character; absent: comma, or the one that the header row shows (tab, `;`, `|`).
    pub delimiter: Option<String>,
    /// Sheet of an Excel workbook; absent: the first.
    pub sheet: Option<String>,
    /// News, report, announcement or post.
    pub kind: Kind,
    /// Fields and their columns.
    pub columns: Columns,
    /// Format of the times as in `strftime` (`%Y年%m月%d日`), or `unix`, `unix_ms`, `excel`; absent: detected, value by value.
    pub time_format: Option<String>,
    /// The time of documents that have none (a corpus for text work only); absent: such documents are rejected.
    pub published_at_default: Option<String>,
    /// The time from which a document counts as known. From there on it stands as its time of publication; ingest keeps both.
    pub known_at: KnownAt,
    /// A program and its arguments, run in the configuration's folder, whose output (JSON lines, CSV, TSV) is appended to the file `path`.
    pub command: Vec<String>,
    /// Seconds after which the program is ended.
    pub time_out: u64,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            name: String::new(),
            path: String::new(),
            table: Table::default(),
            format: Format::default(),
            encoding: None,
            delimiter: None,
            sheet: None,
            kind: Kind::default(),
            columns: Columns::new(),
            time_format: None,
            published_at_default: None,
            known_at: KnownAt::default(),
            command: Vec::new(),
            time_out: 600,
        }
    }
}

impl Source {
    /// Everything wrong with the settings of this source, each line naming its key.
    pub fn problems(&self) -> Vec<Message> {
        let mut problems = Vec::new();
        let at = |key: &str| format!("[[source]] {:?}: {key}", self.name);
        if self.name.is_empty() || self.name.contains(['/', '\\']) || self.name.contains(char::is_control) {
            problems.push(message!(
                "[[source]] name {:?}：名称不能含斜线",
                "[[source]] name {:?}: give a name without slashes",
                self.name
            ));
        }
        if self.path.is_empty() {
            problems.push(message!(
                "{} 为空：请写文件、文件夹或通配路径",
                "{} is empty: give a file, a folder or a pattern",
                at("path")
            ));
        }
        if !self.command.is_empty() && self.path.contains(['*', '?', '[']) {
            problems.push(message!(
                "{} = {:?} 是通配路径：命令只写一个文件，请写该文件",
                "{} = {:?} is a pattern: a command fills one file, so name that",
                at("path"),
                self.path
            ));
        }
        if let Some(label) = &self.encoding
            && Charset::for_label(label).is_none()
        {
            let known = "utf-8, gbk, gb18030, big5, utf-16le, utf-16be";
            problems.push(message!(
                "{} = {label:?} 不是可读的编码（{known}）",
                "{} = {label:?} is not an encoding that is read here ({known})",
                at("encoding")
            ));
        }
        if let Some(delimiter) = &self.delimiter
            && !matches!(delimiter.as_bytes(), [b] if b.is_ascii() && !matches!(b, b'"' | b'\n' | b'\r'))
        {
            problems.push(message!(
                "{} = {delimiter:?} 不是单个 ASCII 字符",
                "{} = {delimiter:?} is not one ASCII character",
                at("delimiter")
            ));
        }
        if let Some(text) = &self.published_at_default
            && times::parse(text).is_err()
        {
            problems.push(message!(
                "{} = {text:?} 不是时间（如 2024-03-01 15:00:00）",
                "{} = {text:?} is not a time (try 2024-03-01 15:00:00)",
                at("published_at_default")
            ));
        }
        if let Err(error) = TimeFormat::from_setting(self.time_format.as_deref()) {
            let error = Message::of_error(&error);
            problems.push(message!("[[source]] {:?}：{error}", "[[source]] {:?}: {error}", self.name));
        }
        for (field, column) in &self.columns {
            let fields = mapping::fields(self.table);
            if !fields.contains(&field.as_str()) {
                let hint = nearest(field, fields.iter().copied())
                    .map_or(Message::default(), |n| message!("；是不是 {n:?}？", "; did you mean {n:?}?"));
                problems.push(message!(
                    "{} 没有字段 {field:?}（{} 表）{hint}（字段：{}）",
                    "{} has no field {field:?} in the table {}{hint} (fields: {})",
                    at("columns"),
                    self.table.name(),
                    fields.join(", ")
                ));
            }
            if let Column::Pattern { pattern, .. } = column
                && let Err(error) = limits::pattern(pattern)
            {
                problems.push(message!("{} {field}：{error}", "{} {field}: {error}", at("columns")));
            }
        }
        problems
    }

    /// Fails with all [`Source::problems`] of all sources, repeated names included.
    pub(super) fn check_all(sources: &[Source]) -> Result<()> {
        let mut problems: Vec<Message> = sources.iter().flat_map(Source::problems).collect();
        for (i, source) in sources.iter().enumerate() {
            if !source.command.is_empty() && sources.iter().any(|o| o.path == source.path && o.name != source.name) {
                problems.push(message!(
                    "[[source]] {:?}：另一来源读取其命令所写的文件",
                    "[[source]] {:?}: another source reads the file that its command fills",
                    source.name
                ));
            }
            if sources[..i].iter().any(|other| other.name == source.name) {
                problems.push(message!(
                    "[[source]] {:?}：另一来源已用此名称",
                    "[[source]] {:?}: another source has this name",
                    source.name
                ));
            }
        }
        if !problems.is_empty() {
            bail!(Message::joined(problems, LINES));
        }
        Ok(())
    }
}

impl Source {
    /// The settings that its files are read by: all but how they came to be there.
    pub(super) fn read_settings(&self) -> Source {
        Source { command: Vec::new(), time_out: 0, ..self.clone() }
    }

    /// The format of a file by its settings, its name and its first character.
    pub(super) fn format_of(&self, path: &Path) -> Result<Format> {
        if self.format != Format::Auto {
            return Ok(self.format);
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        Ok(match extension.as_str() {
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "jsonl" | "ndjson" => Format::Jsonl,
            "parquet" | "pq" => Format::Parquet,
            "xlsx" | "xls" | "xlsm" => Format::Xlsx,
            "txt" => Format::Txt,
            "pdf" => Format::Pdf,
            "html" | "htm" => Format::Html,
            "docx" => Format::Docx,
            // The first character tells which of the two kinds the file is.
            "json" => Format::Json,
            "gz" | "zip" | "bz2" | "xz" | "zst" | "7z" => {
                bail!("{} 是压缩文件；请先解压", "{} is compressed; unpack it first", path.display())
            }
            "doc" => bail!(
                "{} 是 2007 年以前的 Word 文件；请先另存为 DOCX",
                "{} is a Word file of before 2007; save it as DOCX first",
                path.display()
            ),
            _ => bail!(
                "从名称无法判断 {} 的格式；请设置其 [[source]] 的 `format`",
                "the format of {} cannot be told from its name; set `format` of its [[source]]",
                path.display()
            ),
        })
    }

    /// The encoding that the source declares; plain `utf-16` leaves the byte order to the file.
    pub(super) fn declared_charset(&self) -> Option<Charset> {
        let label = self.encoding.as_deref()?;
        if label.eq_ignore_ascii_case("utf-16") || label.eq_ignore_ascii_case("utf16") {
            return None;
        }
        Charset::for_label(label)
    }
}
