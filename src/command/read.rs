//! `read`: what the program reads of files that are one document each.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::cli::Read;
use crate::config::Config;
use crate::headless::Summary;
use crate::pipeline;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_corpus::ingest::papers::{self, Limits, Paper, Published};

/// Files read at a time.
const BATCH: usize = 64;

/// Reads the files and writes their text.
pub(super) fn run(args: &Read, ctx: &Ctx) -> Result<Summary> {
    ensure!(
        (0.0..=1.0).contains(&args.max_garbled),
        "--max-garbled {} 不是 0 到 1 的比例",
        "--max-garbled {} is not a share from 0 to 1",
        args.max_garbled
    );
    let mut limits = Limits { max_pages: args.max_pages, max_garbled: args.max_garbled };
    let mut kept = None;
    if let Some(path) = &args.keep {
        let config = Config::read(path)?;
        let project = pipeline::project(&config, path.parent().unwrap_or(Path::new("")));
        project.own()?;
        (limits, kept) = (config.ingest.limits(), Some(project.extracted()));
    }
    let files = files_of(&args.files)?;
    if let Some(folder) = &args.output {
        disk::own_folder(folder, Room::Texts)?;
    }
    let (mut entries, mut names) = (Vec::new(), BTreeSet::new());
    let report = ctx.stage("read", "files", Some(files.len() as u64), || {
        let mut report = Report::new("read");
        for batch in files.chunks(BATCH) {
            let read = |path: &PathBuf| {
                let read = papers::read_file(path, &limits, kept.as_deref(), ctx)?;
                ctx.advance(1)?;
                Ok(read)
            };
            let read: Vec<_> = ctx.install(|| batch.par_iter().map(read).collect::<Result<_>>())?;
            for (path, read) in batch.iter().zip(read) {
                report.rows_in += 1;
                let mut entry = Map::new();
                entry.insert("file".into(), path.display().to_string().into());
                match read {
                    Ok(paper) => {
                        report.rows_out += 1;
                        describe(&paper, path, &mut entry);
                        if args.text {
                            entry.insert("text".into(), paper.body.clone().into());
                        }
                        if let Some(folder) = &args.output {
                            let place = folder.join(free_name(path, &mut names));
                            write_text(&place, &paper, path)?;
                            entry.insert("output".into(), place.display().to_string().into());
                        }
                    }
                    Err(refused) => {
                        report.drop_rows(&refused.reason, 1);
                        entry.insert("reason".into(), refused.reason.into());
                        entry.insert("detail".into(), refused.value.into());
                        if refused.pages > 0 {
                            entry.insert("pages".into(), refused.pages.into());
                        }
                        if let Some(quality) = refused.quality {
                            entry.insert("quality".into(), json!(quality));
                        }
                    }
                }
                entries.push(Value::Object(entry));
            }
        }
        Ok(report)
    })?;
    let mut summary = Summary { partial: report.dropped_rows() > 0, ..Summary::default() };
    summary.set("read", report.rows_out);
    summary.set("refused", report.dropped_rows());
    summary.set("files", entries);
    summary.set("stages", [report]);
    Ok(summary)
}

/// The given files, and the files in given folders in the order of their names.
fn files_of(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
            let entry = entry.with_context(|| message!("无法查看 {}", "cannot look into {}", path.display()))?;
            if entry.file_type().is_file() {
                files.push(entry.into_path());
            }
        }
    }
    Ok(files)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn describe(paper: &Paper, path: &Path, entry: &mut Map<String, Value>) {
    let published = paper.published(&stem(path));
    entry.insert("title".into(), paper.title().into());
    entry.insert("published_at".into(), time_of(&published).map_or(Value::Null, Value::String));
    entry.insert("published_at_from".into(), published.origin().map_or(Value::Null, |o| o.name().into()));
    if paper.pages > 0 {
        entry.insert("pages".into(), paper.pages.into());
    }
    if let Some(encoding) = &paper.encoding {
        entry.insert("encoding".into(), encoding.clone().into());
    }
    entry.insert("characters".into(), paper.quality.characters.into());
    entry.insert("quality".into(), json!(paper.quality));
}

fn time_of(published: &Published) -> Option<String> {
    match published {
        Published::Written(text) => Some(text.clone()),
        Published::Found(dated) => Some(dated.time.format("%Y-%m-%d %H:%M:%S").to_string()),
        Published::Unknown => None,
    }
}

/// A name in the folder of texts that no other file has taken.
fn free_name(path: &Path, taken: &mut BTreeSet<String>) -> String {
    let stem = stem(path);
    let mut name = format!("{stem}.txt");
    for n in 2.. {
        // Some systems know one of several names that differ by their case alone.
        if taken.insert(name.to_lowercase()) {
            break;
        }
        name = format!("{stem}-{n}.txt");
    }
    name
}

fn write_text(place: &Path, paper: &Paper, path: &Path) -> Result<()> {
    disk::write_atomic(place, |out| {
        if !paper.title().is_empty() {
            writeln!(out, "标题：{}", paper.title())?;
        }
        if let Some(time) = time_of(&paper.published(&stem(path))) {
            writeln!(out, "时间：{time}")?;
        }
        writeln!(out, "\n{}", paper.body)?;
        Ok(())
    })
    .with_context(|| message!("无法写入 {} 的文本", "cannot write the text of {}", path.display()))
}
