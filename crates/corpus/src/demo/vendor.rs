//! Vendors: each delivers in its own format, encoding, column names, time format and code style, with its own dirt, and
//! with a known number of rows that a reader must refuse.

use std::io::Write;

use anyhow::Result;
use chrono::{Datelike, NaiveDateTime, Timelike};
use encoding_rs::{GB18030, UTF_8};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::rng::{Stream, rng};
use super::story::{Story, World};
use super::truth::SourceTruth;
use crate::ingest::reason;

/// One good row in so many is followed by a bad one.
const BAD_EVERY: u64 = 97;

/// Form in which a wire delivers its quarters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireFormat {
    /// CSV in GB18030 with Chinese column names; canonical codes.
    GbCsv,
    /// JSON lines in UTF-8; ISO times with zone; codes as Qlib writes them; HTML crumbs.
    Jsonl,
    /// CSV in UTF-8 with BOM; date and time in two columns; codes without their leading zeros, some absent; some
    /// full-width digits.
    BomCsv,
    /// Tab-separated UTF-16LE with BOM; Chinese times to the minute; codes as JoinQuant writes them; odd spaces.
    Utf16Tsv,
}

/// The wires in the order in which they take the quarters.
pub(super) const SHAPES: [WireFormat; 4] =
    [WireFormat::GbCsv, WireFormat::Jsonl, WireFormat::BomCsv, WireFormat::Utf16Tsv];

impl WireFormat {
    pub(super) fn source(self) -> &'static str {
        match self {
            WireFormat::GbCsv => "wire_gb",
            WireFormat::Jsonl => "wire_json",
            WireFormat::BomCsv => "wire_bom",
            WireFormat::Utf16Tsv => "wire_utf16",
        }
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            WireFormat::GbCsv | WireFormat::BomCsv => "csv",
            WireFormat::Jsonl => "jsonl",
            WireFormat::Utf16Tsv => "tsv",
        }
    }

    pub(super) fn truth(self) -> SourceTruth {
        let format = match self {
            WireFormat::GbCsv => "CSV, GB18030",
            WireFormat::Jsonl => "JSON lines, UTF-8",
            WireFormat::BomCsv => "CSV, UTF-8 with BOM",
            WireFormat::Utf16Tsv => "TSV, UTF-16LE with BOM",
        };
        let path = format!("news/{}/*.{}", self.source(), self.extension());
        SourceTruth { path, format: format.to_owned(), ..SourceTruth::default() }
    }

    /// The time as this wire prints it, read back: one of them gives minutes only.
    pub(super) fn printed(self, time: NaiveDateTime) -> NaiveDateTime {
        if self == WireFormat::Utf16Tsv { time.with_second(0).unwrap_or(time) } else { time }
    }

    fn faults(self) -> &'static [PlantedFault] {
        match self {
            WireFormat::GbCsv | WireFormat::BomCsv => &[
                PlantedFault::ImpossibleTime,
                PlantedFault::FieldCount,
                PlantedFault::BrokenBytes,
                PlantedFault::EmptyText,
                PlantedFault::DuplicateId,
                PlantedFault::FutureTime,
            ],
            WireFormat::Jsonl => &[
                PlantedFault::BrokenRecord,
                PlantedFault::ImpossibleTime,
                PlantedFault::DuplicateId,
                PlantedFault::BrokenBytes,
                PlantedFault::EmptyText,
                PlantedFault::FutureTime,
            ],
            WireFormat::Utf16Tsv => &[
                PlantedFault::EmptyText,
                PlantedFault::ImpossibleTime,
                PlantedFault::DuplicateId,
                PlantedFault::FieldCount,
                PlantedFault::FutureTime,
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlantedFault {
    ImpossibleTime,
    FutureTime,
    FieldCount,
    BrokenBytes,
    BrokenRecord,
    EmptyText,
    DuplicateId,
}

impl PlantedFault {
    /// The reason that ingest must give.
    fn reason(self, shape: WireFormat) -> String {
        let reason = match self {
            PlantedFault::ImpossibleTime => reason::NO_SUCH_TIME,
            PlantedFault::FutureTime => reason::FUTURE_TIME,
            PlantedFault::FieldCount => reason::FIELD_COUNT,
            PlantedFault::BrokenBytes if shape == WireFormat::GbCsv => return reason::not_in(GB18030.name()),
            PlantedFault::BrokenBytes => return reason::not_in(UTF_8.name()),
            PlantedFault::BrokenRecord => reason::JSON_CUT_SHORT,
            PlantedFault::EmptyText => reason::EMPTY_TEXT,
            PlantedFault::DuplicateId => reason::DUPLICATE_ID,
        };
        reason.to_owned()
    }
}

/// Stands for a byte that no encoding here knows until the row is encoded.
const BROKEN: char = '\u{1}';

/// One wire, from its first file to its last.
pub(super) struct Wire {
    pub(super) shape: WireFormat,
    pub(super) truth: SourceTruth,
    rng: ChaCha8Rng,
    rows: u64,
    bad: u64,
}

impl Wire {
    pub(super) fn new(shape: WireFormat, seed: u64) -> Wire {
        Wire { shape, truth: shape.truth(), rng: rng(seed, Stream::BadRows, shape as u64), rows: 0, bad: 0 }
    }

    pub(super) fn begin(&mut self, out: &mut impl Write) -> Result<()> {
        self.truth.files += 1;
        match self.shape {
            WireFormat::GbCsv => self.put(out, "编号,发布时间,标题,正文,证券代码,来源\r\n"),
            WireFormat::Jsonl => Ok(()),
            WireFormat::BomCsv => {
                out.write_all("\u{feff}".as_bytes())?;
                self.put(out, "news_id,date,time,headline,text,tickers,source\n")
            }
            WireFormat::Utf16Tsv => {
                out.write_all(&[0xff, 0xfe])?;
                self.put(out, "新闻ID\t时间\t标题\t内容\t股票代码\t媒体\r\n")
            }
        }
    }

    /// Writes a story, and a bad row after it now and then.
    pub(super) fn deliver(&mut self, story: &Story, world: &World, out: &mut impl Write) -> Result<()> {
        self.truth.documents += 1;
        self.rows += 1;
        let (title, body) = self.dress(story);
        let codes = self.codes(story, world);
        let row = self.row(story, &self.time(story.time), &title, &body, &codes);
        self.put(out, &row)?;
        if self.rows % BAD_EVERY != BAD_EVERY / 2 {
            return Ok(());
        }
        let faults = self.shape.faults();
        let fault = faults[self.bad as usize % faults.len()];
        self.bad += 1;
        *self.truth.rejects.entry(fault.reason(self.shape)).or_default() += 1;
        let spoilt = Story { id: format!("B{:06}", self.bad), ..story.clone() };
        let time = self.time(story.time);
        let row = match fault {
            PlantedFault::DuplicateId => self.row(story, &time, &title, &body, &codes),
            PlantedFault::ImpossibleTime => {
                let day = format!("{}年2月30日 9时61分", story.time.year());
                let time = match self.shape {
                    WireFormat::GbCsv => format!("{}/2/30 9:05:00", story.time.year()),
                    WireFormat::Jsonl => format!("{}-13-01T09:05:00+08:00", story.time.year()),
                    WireFormat::BomCsv => format!("{}0230\t09:05:00", story.time.year()),
                    WireFormat::Utf16Tsv => day,
                };
                self.row(&spoilt, &time, &title, &body, &codes)
            }
            PlantedFault::FutureTime => {
                let later = story.time.with_month(1).and_then(|t| t.with_day(5)).and_then(|t| t.with_year(2099));
                self.row(&spoilt, &self.time(later.unwrap_or(story.time)), &title, &body, &codes)
            }
            PlantedFault::EmptyText => self.row(&spoilt, &time, "", "", &codes),
            PlantedFault::BrokenBytes => self.row(&spoilt, &time, &title, &format!("{body}{BROKEN}（完）"), &codes),
            PlantedFault::BrokenRecord => {
                let row = self.row(&spoilt, &time, &title, &body, &codes);
                let half: String = row.chars().take(row.chars().count() / 2).collect();
                half + "\n"
            }
            PlantedFault::FieldCount => {
                let separator = if self.shape == WireFormat::Utf16Tsv { '\t' } else { ',' };
                let row = self.row(&spoilt, &time, &title, &body, &codes);
                format!("{}{separator}多出的一栏\n", row.trim_end())
            }
        };
        self.put(out, &row)
    }

    fn time(&self, t: NaiveDateTime) -> String {
        match self.shape {
            WireFormat::GbCsv => format!("{}/{}/{} {}", t.year(), t.month(), t.day(), t.format("%-H:%M:%S")),
            WireFormat::Jsonl => format!("{}+08:00", t.format("%Y-%m-%dT%H:%M:%S")),
            // Two columns; the tab is replaced by the separator.
            WireFormat::BomCsv => t.format("%Y%m%d\t%H:%M:%S").to_string(),
            WireFormat::Utf16Tsv => t.format("%Y年%-m月%-d日 %H时%M分").to_string(),
        }
    }

    fn codes(&mut self, story: &Story, world: &World) -> String {
        if self.shape == WireFormat::BomCsv && self.rng.random_bool(0.15) {
            return String::new();
        }
        let code = |&i: &usize| {
            let code = world.companies[i].code.as_str();
            let (digits, exchange) = code.split_once('.').unwrap_or((code, ""));
            match self.shape {
                WireFormat::GbCsv => code.to_owned(),
                WireFormat::Jsonl => format!("{exchange}{digits}"),
                WireFormat::BomCsv => digits.trim_start_matches('0').to_owned(),
                WireFormat::Utf16Tsv => match exchange {
                    "SH" => format!("{digits}.XSHG"),
                    "SZ" => format!("{digits}.XSHE"),
                    _ => code.to_owned(),
                },
            }
        };
        story.about.iter().map(code).collect::<Vec<_>>().join(";")
    }

    /// Title and body with this wire's dirt.
    fn dress(&mut self, story: &Story) -> (String, String) {
        let paragraphs = &story.paragraphs;
        match self.shape {
            WireFormat::GbCsv => (story.title.clone(), format!("　　{}", paragraphs.join("\n　　"))),
            WireFormat::Jsonl if self.rng.random_bool(0.3) => {
                let body: String = paragraphs.iter().map(|p| format!("<p>&nbsp;&nbsp;{p}</p>")).collect();
                (story.title.clone(), format!("<div class=\"article\">{body}<br/></div>"))
            }
            WireFormat::Jsonl => (story.title.clone(), paragraphs.join("\n")),
            WireFormat::BomCsv if self.rng.random_bool(0.15) => {
                (full_width(&story.title), full_width(&paragraphs.join("\n")))
            }
            WireFormat::BomCsv => (story.title.clone(), paragraphs.join("\n")),
            WireFormat::Utf16Tsv => {
                let gap = if self.rng.random_bool(0.2) { "\u{3000} \u{a0}" } else { " " };
                (format!(" {} ", story.title), paragraphs.join(gap))
            }
        }
    }

    fn row(&self, story: &Story, time: &str, title: &str, body: &str, codes: &str) -> String {
        let Story { id, medium, .. } = story;
        match self.shape {
            WireFormat::GbCsv => format!("{id},{time},{},{},{codes},{medium}\r\n", quoted(title), quoted(body)),
            WireFormat::Jsonl => {
                let object = json!({"id": id, "title": title, "content": body, "codes": codes, "pub_time": time,
                    "media": medium});
                // JSON escapes the stand-in; it must stay a character to become a broken byte.
                object.to_string().replace("\\u0001", "\u{1}") + "\n"
            }
            WireFormat::BomCsv => {
                let (date, clock) = time.split_once('\t').unwrap_or((time, ""));
                format!("{id},{date},{clock},{},{},{codes},{medium}\n", quoted(title), quoted(body))
            }
            WireFormat::Utf16Tsv => format!("{id}\t{time}\t{title}\t{body}\t{codes}\t{medium}\r\n"),
        }
    }

    fn put(&self, out: &mut impl Write, row: &str) -> Result<()> {
        let broken = |mut bytes: Vec<u8>| {
            bytes.iter_mut().filter(|b| **b == BROKEN as u8).for_each(|b| *b = 0xff);
            bytes
        };
        match self.shape {
            WireFormat::GbCsv => out.write_all(&broken(GB18030.encode(row).0.into_owned()))?,
            WireFormat::Jsonl | WireFormat::BomCsv => out.write_all(&broken(row.as_bytes().to_vec()))?,
            WireFormat::Utf16Tsv => {
                out.write_all(&row.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;
            }
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// ASCII digits, letters, point and per cent as full-width characters, as some terminals type them.
fn full_width(text: &str) -> String {
    let wide = |c: char| match c {
        '0'..='9' | 'A'..='Z' | '%' => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
        _ => c,
    };
    text.chars().map(wide).collect()
}
