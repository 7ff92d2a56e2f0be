//! Deliveries of the brokers: a Parquet file a month in 2023, a JSON array a month in 2024, and one house's text files.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::Datelike;
use encoding_rs::GB18030;
use polars_core::prelude::{Column, IntoColumn, NamedFrom, Series};
use serde_json::json;

use super::story::{Story, World};
use super::truth::SourceTruth;
use crate::ingest::reason;
use inkstone_base::disk;
use inkstone_tables::corpus::times_column;
use inkstone_tables::frames;

/// The house that sends text files, from 2024.
const TXT_HOUSE: &str = "松石研究";
/// One good report in so many is followed by a bad one.
const BAD_EVERY: u64 = 83;

/// Files that the desks have delivered.
pub(super) struct Delivery {
    folder: PathBuf,
    /// One in so many of the text house's reports is a text file, so that their number stays near a hundred.
    thinning: u64,
    pub(super) parquet: SourceTruth,
    pub(super) json: SourceTruth,
    pub(super) txt: SourceTruth,
    rows: u64,
}

/// Names of the three sources.
pub(super) const PARQUET: &str = "desk_parquet";
pub(super) const JSON: &str = "desk_json";
pub(super) const TXT: &str = "desk_txt";

impl Delivery {
    /// Text files of an earlier market in the same folder are removed; its other files are replaced.
    pub(super) fn new(dir: &Path, scale: f64) -> Result<Delivery> {
        let source = |path: &str, format: &str| SourceTruth {
            path: format!("reports/{path}"),
            format: format.to_owned(),
            ..SourceTruth::default()
        };
        let folder = dir.join("reports");
        for old in disk::files_in(&folder.join("txt"), "txt")?.iter().filter(|file| is_text_file(file)) {
            disk::remove_if_there(old)?;
        }
        Ok(Delivery {
            folder,
            thinning: scale.ceil().max(1.0) as u64,
            parquet: source("parquet/*.parquet", "Parquet"),
            json: source("json/*.json", "JSON array of objects, UTF-8"),
            txt: source("txt/*.txt", "one text file a report, UTF-8 and GB18030"),
            rows: 0,
        })
    }

    /// The source that a report goes to.
    pub(super) fn source(&self, story: &Story) -> &'static str {
        let number: u64 = story.id[1..].parse().unwrap_or(0);
        match story.time.year() {
            2023 => PARQUET,
            _ if story.medium == TXT_HOUSE && number.is_multiple_of(self.thinning) => TXT,
            _ => JSON,
        }
    }

    /// Writes the reports of a month, given in order of time.
    pub(super) fn month(&mut self, year: i32, month: u32, stories: &[Story], world: &World) -> Result<()> {
        let (txt, table): (Vec<&Story>, Vec<&Story>) = stories.iter().partition(|s| self.source(s) == TXT);
        for story in txt {
            self.text_file(story, world)?;
        }
        let parquet = year == 2023;
        let truth = if parquet { &mut self.parquet } else { &mut self.json };
        truth.files += 1;
        let mut rows: Vec<Story> = Vec::with_capacity(table.len() + 8);
        for story in table {
            truth.documents += 1;
            rows.push(story.clone());
            self.rows += 1;
            if self.rows % BAD_EVERY == BAD_EVERY / 2 {
                let (reason, bad) = if (self.rows / BAD_EVERY).is_multiple_of(2) {
                    (reason::DUPLICATE_ID, story.clone())
                } else {
                    let id = format!("B{:06}", self.rows);
                    let empty = Story { id, title: String::new(), paragraphs: Vec::new(), ..story.clone() };
                    (reason::EMPTY_TEXT, empty)
                };
                *truth.rejects.entry(reason.to_owned()).or_default() += 1;
                rows.push(bad);
            }
        }
        let name = format!("{year}-{month:02}");
        if parquet {
            write_parquet(&self.folder.join(format!("parquet/{name}.parquet")), &rows, world)
        } else {
            write_json(&self.folder.join(format!("json/{name}.json")), &rows, world)
        }
    }

    fn text_file(&mut self, story: &Story, world: &World) -> Result<()> {
        self.txt.files += 1;
        self.txt.documents += 1;
        let text = format!(
            "标题：{}\n机构：{}\n作者：{}\n评级：{}\n证券代码：{}\n发布时间：{}\n\n{}\n",
            story.title,
            story.medium,
            story.author.as_deref().unwrap_or_default(),
            story.rating.unwrap_or_default(),
            code(story, world),
            story.time.format("%Y-%m-%d %H:%M:%S"),
            body(story)
        );
        let path = self.folder.join(format!("txt/{}.txt", story.id));
        let gb = self.txt.files.is_multiple_of(2);
        disk::write_atomic(&path, |out| {
            let bytes = if gb { GB18030.encode(&text).0 } else { text.as_bytes().into() };
            Ok(out.write_all(&bytes)?)
        })
    }
}

/// Says whether a file is named as text files of the demo are: by the id of a report, a letter and digits.
fn is_text_file(file: &Path) -> bool {
    let id = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let number = id.strip_prefix(|letter: char| letter.is_ascii_uppercase());
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn body(story: &Story) -> String {
    story.paragraphs.join("\n")
}

fn code<'w>(story: &Story, world: &'w World) -> &'w str {
    story.about.first().map_or("", |&i| world.companies[i].code.as_str())
}

fn write_parquet(path: &Path, rows: &[Story], world: &World) -> Result<()> {
    let text = |name: &str, get: &dyn Fn(&Story) -> String| -> Column {
        Series::new(name.into(), rows.iter().map(get).collect::<Vec<_>>()).into_column()
    };
    let mut frame = frames::frame(vec![
        text("report_id", &|s| s.id.clone()),
        text("title", &|s| s.title.clone()),
        text("content", &body),
        text("stock_code", &|s| code(s, world).to_owned()),
        text("broker", &|s| s.medium.clone()),
        text("analyst", &|s| s.author.clone().unwrap_or_default()),
        text("rating", &|s| s.rating.unwrap_or_default().to_owned()),
        times_column("publish_time", rows.iter().map(|s| Some(s.time)))?,
    ])?;
    // As a vendor delivers it: without a seal.
    disk::write_atomic(path, |out| {
        frames::parquet_writer(out).finish(&mut frame)?;
        Ok(())
    })
}

fn write_json(path: &Path, rows: &[Story], world: &World) -> Result<()> {
    disk::write_atomic(path, |out| {
        out.write_all(b"[")?;
        for (i, story) in rows.iter().enumerate() {
            let object = json!({
                "id": story.id, "title": story.title, "content": body(story), "code": code(story, world),
                "org": story.medium, "author": story.author, "rating": story.rating,
                "published_at": story.time.format("%Y-%m-%d %H:%M:%S").to_string(),
            });
            out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            serde_json::to_writer(&mut *out, &object)?;
        }
        Ok(out.write_all(b"\n]\n")?)
    })
}
