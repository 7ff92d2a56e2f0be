//! Sources that a program delivers: its rows are appended to the source's file, each once, before ingest reads that.
//!
//! The file is the user's data and this module's alone to write: a file beside it (`.NAME.fetch`) says how long it is and from when on
//! the next fetch asks. Rows are appended first and counted then, so that a kill costs the fetch that it interrupts and leaves no half row.
//! The program learns from the variable `INKSTONE_SINCE` which time of publication, or which date of prices, was the last to be kept after a
//! fetch that succeeded; it may deliver rows again. Rows of a program that failed are kept, and the next fetch asks from the same time on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ingest::log;
use crate::ingest::records::{RecordLayout, RecordStream};
use crate::ingest::source::{Format, Source, Table};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Scratch};
use inkstone_base::encoding::Charset;
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_base::language::Message;
use inkstone_base::program::Program;
use inkstone_base::{bail, ensure, message};
use inkstone_tables::project::Project;

/// The name of the stage in its report.
pub const FETCH: &str = "fetch";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The state of a file that a program fills.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fetched {
    /// Bytes of the file that hold whole rows.
    bytes: u64,
    /// The time that the last fetch began with, and the next one too if that failed.
    since: String,
    /// True if the last fetch succeeded.
    complete: bool,
}

/// Runs the programs of the sources one after the other and appends their new rows to the files. A source whose program fails is named in
/// the report ([`failures`]), and the others go on.
pub fn run(sources: &[Source], base: &Path, project: &Project, ctx: &Ctx) -> Result<Report> {
    project.own()?;
    let mut report = Report::new(FETCH);
    let (mut fetched, mut failures) = (BTreeMap::new(), BTreeMap::new());
    for source in sources.iter().filter(|source| !source.command.is_empty()) {
        ctx.check()?;
        let (counts, failure) = match fetch(source, base, project, ctx) {
            Ok(done) => done,
            Err(error) if error.is::<Cancelled>() => return Err(error),
            Err(error) => (FetchCounts::default(), Some(Message::of_error(&error))),
        };
        report.rows_in += counts.rows;
        report.rows_out += counts.new;
        report.drop_rows("there already", counts.rows - counts.new - counts.torn);
        report.drop_rows("cut off when the program ended", counts.torn);
        fetched.insert(&source.name, json!({"rows": counts.rows, "new": counts.new, "since": counts.since}));
        if let Some(failure) = failure {
            failures.insert(&source.name, failure);
        }
        ctx.advance(counts.rows)?;
    }
    report.fact("sources", fetched);
    if !failures.is_empty() {
        report.fact("failed", failures);
    }
    Ok(report)
}

/// The sources whose programs failed, with the reasons.
pub fn failures(report: &Report) -> BTreeMap<String, Message> {
    let failed = report.facts.get("failed").filter(|_| report.stage == FETCH);
    failed.and_then(|failed| serde_json::from_value(failed.clone()).ok()).unwrap_or_default()
}

/// Rows that a program delivered.
#[derive(Default)]
struct FetchCounts {
    rows: u64,
    new: u64,
    /// The last row of a program that failed, without its end.
    torn: u64,
    since: String,
}

/// Fetches one source; gives the reason if its program failed.
fn fetch(source: &Source, base: &Path, project: &Project, ctx: &Ctx) -> Result<(FetchCounts, Option<Message>)> {
    let path = base.join(&source.path);
    let layout = layout_of(source, &path)?;
    let note = note_of(&path);
    let mut before = settle(&path, &note)?;
    if before.complete {
        before.since = before.since.max(last_known(source, project)?);
    }
    let mut output = Scratch::beside(&path)?;
    let variables = [("INKSTONE_SINCE", before.since.as_str()), ("INKSTONE_SOURCE", source.name.as_str())];
    let time_out = Duration::from_secs(source.time_out);
    let program = Program { command: &source.command, folder: base, variables: &variables, input: b"", time_out };
    let ended = program.run(|bytes| output.write(bytes), ctx)?;
    let messages = project.log().join(format!("fetch {}.txt", source.name));
    disk::write_atomic(&messages, |out| Ok(out.write_all(&ended.stderr)?))?;
    let output = output.map()?;
    let output = output.as_deref().unwrap_or_default();
    let output = output.strip_prefix(BYTE_ORDER_MARK).unwrap_or(output);
    let (mut counts, bytes) = append(&path, before.bytes, layout, output, ended.failure.is_some(), ctx)?;
    counts.since = before.since.clone();
    disk::write_json(&note, &Fetched { bytes, since: before.since, complete: ended.failure.is_none() })?;
    let failure = ended.failure.map(|failure| {
        let kept = if ended.stderr.is_empty() {
            Message::default()
        } else {
            message!("；其输出见 {}", "; its messages are in {}", messages.display())
        };
        message!("命令 {:?}：{failure}{kept}", "the command {:?}: {failure}{kept}", source.command.join(" "))
    });
    Ok((counts, failure))
}

fn layout_of(source: &Source, path: &Path) -> Result<RecordLayout> {
    Ok(match source.format_of(path)? {
        Format::Jsonl => RecordLayout::Lines,
        Format::Csv => RecordLayout::Rows(source.delimiter.as_deref().map_or(b',', |text| text.as_bytes()[0])),
        Format::Tsv => RecordLayout::Rows(b'\t'),
        _ => bail!(
            "path {:?}：程序输出 JSON 行、CSV 或 TSV；文件名须以 .jsonl、.csv 或 .tsv 结尾",
            "path {:?}: a program delivers JSON lines, CSV or TSV; give a name that ends in .jsonl, .csv or .tsv",
            source.path
        ),
    })
}

/// The note beside a file that a program fills.
fn note_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.fetch"))
}

/// The state of a file; removes the rows of a fetch that was killed before it counted them.
fn settle(path: &Path, note: &Path) -> Result<Fetched> {
    let length = std::fs::metadata(path).map(|file| file.len()).ok();
    if !note.exists() {
        ensure!(
            length.is_none(),
            "{} 不是由该来源的命令写出的：请移走，或作为单独的来源读取",
            "{} was not written by this source's command: move it away, or read it as a source of its own",
            path.display()
        );
        return Ok(Fetched { complete: true, ..Fetched::default() });
    }
    let fetched: Fetched = disk::read_json(note)?;
    let length = length.unwrap_or(0);
    ensure!(
        length >= fetched.bytes,
        "{} 有 {length} 字节，而取得的是 {} 字节：请恢复该文件，或同时删除 {} 以重新获取全部",
        "{} has {length} bytes, but {} were fetched: bring back the file, or remove {} too to fetch everything again",
        path.display(),
        fetched.bytes,
        note.display()
    );
    if length > fetched.bytes {
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        file.set_len(fetched.bytes)
            .and_then(|()| file.sync_all())
            .with_context(|| message!("无法截短 {}", "cannot cut {}", path.display()))?;
    }
    Ok(fetched)
}

/// The last time of publication, or date of prices, that ingest has of a source; empty if there is none.
fn last_known(source: &Source, project: &Project) -> Result<String> {
    let newest = log::newest(project)?;
    let last = match source.table {
        Table::Securities | Table::Relations | Table::Events => None,
        Table::Prices => newest.prices.map(|date| date.to_string()),
        Table::Documents => newest.documents.get(&source.name).map(ToString::to_string),
    };
    Ok(last.unwrap_or_default())
}

/// Appends the records of `output` that the file does not have, and gives its new length. `torn`: the last record may be cut short.
fn append(
    path: &Path,
    length: u64,
    layout: RecordLayout,
    output: &[u8],
    torn: bool,
    ctx: &Ctx,
) -> Result<(FetchCounts, u64)> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let (mut kept, mut header) = (FxHashSet::default(), None);
    let is_table = matches!(layout, RecordLayout::Rows(_));
    if length > 0 {
        let there = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        let mut records = RecordStream::new(there, layout, Charset::Utf8, 0);
        if is_table {
            header = records.next()?.map(|record| content(&record.bytes).to_vec());
        }
        while let Some(record) = records.next()? {
            ctx.check()?;
            kept.insert(Key::of(content(&record.bytes)).0);
        }
    }
    let (mut counts, mut bytes) = (FetchCounts::default(), length);
    let mut out = BufWriter::new(file);
    let mut put = |record: &[u8]| -> Result<()> {
        out.write_all(record)
            .and_then(|()| out.write_all(b"\n"))
            .with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
        bytes += record.len() as u64 + 1;
        Ok(())
    };
    let mut records = RecordStream::new(output, layout, Charset::Utf8, 0);
    if is_table && let Some(first) = records.next()? {
        let first = content(&first.bytes);
        match &header {
            Some(header) => ensure!(
                header == first,
                "列由 {:?} 变为 {:?}：请让程序输出原来的列，或为新列单设一个来源",
                "the columns have changed from {:?} to {:?}: let the program write the former ones, or give the new ones a source of their own",
                String::from_utf8_lossy(header),
                String::from_utf8_lossy(first)
            ),
            None => put(first)?,
        }
    }
    while let Some(record) = records.next()? {
        ctx.check()?;
        counts.rows += 1;
        if torn && !record.bytes.ends_with(b"\n") {
            counts.torn += 1;
        } else if kept.insert(Key::of(content(&record.bytes)).0) {
            put(content(&record.bytes))?;
            counts.new += 1;
        }
    }
    let file = out
        .into_inner()
        .map_err(|error| error.into_error())
        .with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
    file.sync_all().with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
    Ok((counts, bytes))
}

/// A record without its line end.
fn content(record: &[u8]) -> &[u8] {
    let line = record.strip_suffix(b"\n").unwrap_or(record);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::ingest::tests::{Desk, source};

    fn desk() -> (Desk, Source) {
        let desk = Desk::new();
        // The program gives all rows of its input that are not older than it is asked for, and ends as its input says.
        let script = r#"echo "since $INKSTONE_SINCE" >&2; cat given; exit $(cat code)"#;
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        (desk, Source { command, ..source("news", "news.csv") })
    }

    fn give(desk: &Desk, rows: &str, code: &str) {
        desk.put("given", rows);
        desk.put("code", code);
    }

    fn fetched(desk: &Desk, source: &Source) -> (Report, String) {
        let report =
            run(std::slice::from_ref(source), desk.dir.path(), &desk.project(), &Ctx::new(1, 1).unwrap()).unwrap();
        (report, std::fs::read_to_string(desk.dir.path().join("news.csv")).unwrap_or_default())
    }

    #[test]
    fn rows_are_appended_once_and_the_next_fetch_asks_from_the_last_of_them_on() {
        let (desk, source) = desk();
        let header = "id,published_at,body\n";
        let first = "1,2024-03-01 10:00:00,\"甲\n二行\"\n2,2024-03-01 11:00:00,乙\n";
        give(&desk, &format!("\u{feff}{header}{first}"), "0");
        let (report, file) = fetched(&desk, &source);
        assert_eq!(file, format!("{header}{first}"));
        assert_eq!((report.rows_in, report.rows_out), (2, 2));
        desk.run(std::slice::from_ref(&source));
        let again = "2,2024-03-01 11:00:00,乙\r\n3,2024-03-02 09:00:00,丙";
        give(&desk, &format!("{header}{again}"), "0");
        let (report, file) = fetched(&desk, &source);
        assert_eq!(file, format!("{header}{first}3,2024-03-02 09:00:00,丙\n"));
        assert_eq!((report.rows_out, report.dropped["there already"]), (1, 1));
        assert_eq!(report.facts["sources"]["news"]["since"], "2024-03-01 11:00:00");
        let messages = std::fs::read_to_string(desk.project().log().join("fetch news.txt")).unwrap();
        assert_eq!(messages, "since 2024-03-01 11:00:00\n");
        assert_eq!(desk.run(std::slice::from_ref(&source)).rows_out, 3);
    }

    #[test]
    fn a_program_that_fails_keeps_its_whole_rows_and_is_asked_again_from_the_same_time_on() {
        let (desk, source) = desk();
        let header = "id,published_at,body\n";
        give(&desk, &format!("{header}9,2024-03-09 10:00:00,新\n8,2024-03-0"), "7");
        let (report, file) = fetched(&desk, &source);
        assert_eq!(file, format!("{header}9,2024-03-09 10:00:00,新\n"));
        assert!(failures(&report)["news"].contains("exit status: 7: since"), "{report:?}");
        desk.run(std::slice::from_ref(&source));
        give(&desk, &format!("{header}9,2024-03-09 10:00:00,新\n8,2024-03-08 10:00:00,旧\n"), "0");
        let (report, file) = fetched(&desk, &source);
        assert_eq!(
            report.facts["sources"]["news"]["since"], "",
            "rows may lack between the last of a failed fetch and the one before"
        );
        assert!(failures(&report).is_empty() && file.ends_with("8,2024-03-08 10:00:00,旧\n"));
    }

    #[test]
    fn a_program_that_has_nothing_yet_is_no_fault() {
        let (desk, source) = desk();
        give(&desk, "", "0");
        let (report, file) = fetched(&desk, &source);
        assert!(failures(&report).is_empty() && file.is_empty());
        desk.put("old.csv", "id,published_at,body\n1,2024-03-01 10:00:00,甲\n");
        let sources = [source, crate::ingest::tests::source("old", "old.csv")];
        assert_eq!(desk.run(&sources).rows_out, 1);
        give(&desk, "id,published_at,body\n2,2024-03-02 10:00:00,乙\n", "0");
        fetched(&desk, &sources[0]);
        assert_eq!(desk.run(&sources).rows_out, 2);
    }

    #[test]
    fn an_append_that_was_killed_is_cut_off_and_a_file_of_others_is_left_alone() {
        let (desk, source) = desk();
        give(&desk, "id,published_at,body\n1,2024-03-01 10:00:00,甲\n", "0");
        let (_, file) = fetched(&desk, &source);
        std::fs::write(desk.dir.path().join("news.csv"), format!("{file}2,2024-03-0")).unwrap();
        assert_eq!(fetched(&desk, &source).1, file);
        give(&desk, "id,body\n1,甲\n", "0");
        let (report, unchanged) = fetched(&desk, &source);
        assert!(failures(&report)["news"].contains("columns have changed") && unchanged == file, "{report:?}");
        std::fs::remove_file(note_of(&desk.dir.path().join("news.csv"))).unwrap();
        let (report, unchanged) = fetched(&desk, &source);
        assert!(failures(&report)["news"].contains("was not written by") && unchanged == file, "{report:?}");
    }
}
