//! A fixed model on rows that come through a pipe.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::{Ran, inkstone, run};

/// A folder with a model of documents until 2024-03-10 12:00, and one that does not say what it saw.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let line = |time: &str, text: &str| format!("{{\"time\": \"{time}\", \"text\": \"{text}\", \"value\": 0.5}}\n");
    let lines = [line("2024-03-09 10:00:00", "净利润增长"), line("2024-03-10 12:00:00", "股东减持")].concat();
    fs::write(folder.path().join("lines.jsonl"), lines).unwrap();
    fs::write(folder.path().join("lines.txt"), "净利润增长\n股东减持\n").unwrap();
    let train = |input: &str, output: &str| {
        run(folder.path(), &["train", "tfidf", "--input", input, "--output", output, "--min-df", "1"]).finished()
    };
    train("lines.jsonl", "timed.model");
    train("lines.txt", "timeless.model");
    folder
}

fn worker(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut child = inkstone(folder, &[&["worker"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

const COLUMNS: [&str; 6] = ["--model", "timed.model", "--tsv", "id,published_at,text", "--keep", "id"];

#[test]
fn lines_of_a_query_get_the_models_columns_and_known_at() {
    let folder = folder();
    let input = "1\t2024-03-01 09:00:00\t净利润增长\n2\t2024-04-01\t股东减持\n3\t\\N\t股东减持\nbroken\n";
    let ran = worker(folder.path(), &COLUMNS, input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = ran.text();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let known: Vec<&str> = rows.iter().map(|row| *row.last().unwrap()).collect();
    assert_eq!(known, ["2024-03-10 12:00:00", "2024-04-01 23:59:59", "\\N"]);
    assert_eq!(rows.iter().map(|row| (row.len(), row[0])).collect::<Vec<_>>(), [(4, "1"), (4, "2"), (4, "3")]);
    assert!(ran.stderr.contains("1 lines: another number of cells than --tsv names columns"), "{}", ran.stderr);
}

#[test]
fn what_would_look_ahead_is_refused() {
    let folder = folder();
    let timeless = ["--model", "timeless.model", "--tsv", "id,published_at,text"];
    let ran = worker(folder.path(), &timeless, "1\t2024-03-01\t净利润增长\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("set --fitted-until to the last day of that text"), "{}", ran.stderr);
    let stated = [&timeless[..], &["--fitted-until", "2024-03-05"]].concat();
    let ran = worker(folder.path(), &stated, "1\t2024-03-01\t净利润增长\n");
    assert!(ran.text().ends_with("\t2024-03-05 23:59:59\n"), "{}{}", ran.text(), ran.stderr);
    // A session that reads local times as UTC turns a morning into a night.
    let shifted: String = (0..600).map(|n| format!("{n}\t2024-04-01T1{}:30:00Z\t净利润增长\n", 7 + n % 3)).collect();
    let ran = worker(folder.path(), &COLUMNS, &shifted);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("may be eight hours off"), "{}", ran.stderr);
    let allowed = [&COLUMNS[..], &["--allow-night", "1"]].concat();
    assert_eq!(worker(folder.path(), &allowed, &shifted).text().lines().count(), 600);
}

#[test]
fn what_is_no_stream_is_told() {
    let folder = folder();
    let ran = worker(folder.path(), &["--model", "timed.model"], "id,text\n");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("the input is no Arrow stream"), "{}", ran.stderr);
    let ran = worker(folder.path(), &COLUMNS, "1\u{1}2024-04-01\u{1}净利润增长\n");
    assert_eq!((ran.code, ran.text().as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("FIELDS TERMINATED BY '\\t'"), "{}", ran.stderr);
    let ran = worker(folder.path(), &["--model", "timed.model", "--tsv", "id,text"], "1\t净利润增长\n");
    assert!(ran.stderr.contains("there is no column \"published_at\"; the columns are id, text"), "{}", ran.stderr);
}
