//! Documents as files: what `read` says of them, and what a project makes of a folder of them.

use std::fs;
use std::path::{Path, PathBuf};

use inkstone_base::disk;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::Value;

use crate::{assert_says, files_below, run, stage};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/documents").join(name)
}

/// A folder with one file of each kind below `in`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    for name in ["columns.pdf", "garbled.pdf", "page.html", "report.docx", "scan.pdf"] {
        fs::copy(fixture(name), folder.path().join("in").join(name)).unwrap();
    }
    folder
}

fn file<'j>(json: &'j Value, name: &str) -> &'j Value {
    let files = json["files"].as_array().expect("a run lists its files");
    files
        .iter()
        .find(|f| f["file"].as_str().is_some_and(|f| f.ends_with(name)))
        .unwrap_or_else(|| panic!("{name}: {json:#}"))
}

#[test]
fn read_says_what_it_read_and_writes_the_text() {
    let folder = folder();
    let ran = run(folder.path(), &["read", "in", "--output", "text"]);
    let json = ran.finished();
    assert_eq!((ran.code, &json["read"], &json["refused"]), (Some(1), &3.into(), &2.into()), "{json:#}");
    let columns = file(&json, "columns.pdf");
    assert_eq!(columns["title"], "星河材料：订单回暖，拐点已现");
    assert_eq!(
        (&columns["published_at"], &columns["published_at_from"]),
        (&"2024-03-15 23:59:59".into(), &"text".into())
    );
    assert_eq!((&columns["pages"], &columns["quality"]["unmapped"]), (&1.into(), &0.0.into()));
    assert!(columns["characters"].as_u64().is_some_and(|n| n > 150) && columns.get("text").is_none());
    assert_says(file(&json, "scan.pdf")["reason"].as_str().unwrap(), &["needs OCR"]);
    let garbled = file(&json, "garbled.pdf");
    assert_says(garbled["reason"].as_str().unwrap(), &["10 %", "[ingest] max_garbled"]);
    assert_says(garbled["detail"].as_str().unwrap(), &["0.0 % unmapped", "% garbled"]);
    let text = fs::read_to_string(folder.path().join("text/columns.txt")).unwrap();
    assert!(
        text.starts_with("标题：星河材料：订单回暖，拐点已现\n时间：2024-03-15 23:59:59\n\n2024 年 03 月 15 日\n"),
        "{text}"
    );
    let names = files_below(&folder.path().join("text")).into_keys();
    assert_eq!(names.collect::<Vec<_>>(), [disk::MARKER, "columns.txt", "page.txt", "report.txt"]);
    // What was written is read again as the same documents.
    let again = run(folder.path(), &["read", "text/columns.txt", "--text"]);
    assert_eq!(again.code, Some(0));
    let again = again.json();
    assert_eq!(
        (&again["files"][0]["title"], &again["files"][0]["published_at_from"]),
        (&columns["title"], &"head".into())
    );
    assert!(text.ends_with(&format!("{}\n", again["files"][0]["text"].as_str().unwrap())));
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_absent_or_no_document_costs_itself_alone() {
    let folder = folder();
    fs::write(folder.path().join("table.csv"), "a,b\n").unwrap();
    let json = run(folder.path(), &["read", "none.pdf", "table.csv", "in/page.html"]).finished();
    assert_eq!((&json["read"], &json["refused"]), (&1.into(), &2.into()));
    assert_says(file(&json, "none.pdf")["reason"].as_str().unwrap(), &["cannot read"]);
    assert_says(file(&json, "table.csv")["reason"].as_str().unwrap(), &["table"]);
    let ran = run(folder.path(), &["read", "in", "--max-garbled", "3"]);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["'3' for '--max-garbled <SHARE>'", "write one from 0 to 1"]);
}

#[test]
fn a_project_reads_a_folder_of_reports() {
    let folder = folder();
    let config = "[[source]]\nname = \"reports\"\npath = \"in\"\nkind = \"report\"\n[ingest]\nmax_loss = 0.5\n";
    fs::write(folder.path().join("workbench.toml"), config).unwrap();
    let json = run(folder.path(), &["ingest", "--headless"]).finished();
    let ingest = stage(&json, "ingest");
    assert_eq!((&ingest["rows_in"], &ingest["rows_out"]), (&5.into(), &3.into()), "{ingest:#}");
    assert_eq!(ingest["facts"]["dates_from"]["metadata"], 2);
    let rejects = fs::read_to_string(folder.path().join(".inkstone/rejects.jsonl")).unwrap();
    assert_says(&rejects, &["in/scan.pdf", "needs OCR", "in/garbled.pdf", "max_garbled"]);
    let again = run(folder.path(), &["ingest", "--headless"]).finished();
    assert_eq!(stage(&again, "ingest")["unchanged"], true);
}

#[test]
fn many_processes_read_papers_for_one_project() {
    let (folder, alone) = (folder(), folder());
    let config = "[[source]]\nname = \"reports\"\npath = \"in\"\nkind = \"report\"\n[ingest]\nmax_loss = 0.5\n";
    for folder in [&folder, &alone] {
        fs::write(folder.path().join("workbench.toml"), config).unwrap();
    }
    for file in ["in/columns.pdf", "in/report.docx", "in/scan.pdf"] {
        run(folder.path(), &["read", "--keep", "workbench.toml", file]).finished();
    }
    let kept = folder.path().join(".inkstone/extracted");
    let entries = || files_below(&kept).into_keys().filter(|name| name.ends_with(".json")).collect::<Vec<_>>();
    assert_eq!(entries().len(), 3);
    // Ingest takes the text of an entry; a changed entry shows that ingest did not read the file again.
    let changed = entries().into_iter().map(|name| kept.join(name)).find(|path| {
        let read: Value = disk::read_json(path).unwrap();
        read.to_string().contains("订单回暖")
    });
    let changed = changed.unwrap();
    let original: Value = disk::read_json(&changed).unwrap();
    let other: Value = serde_json::from_str(&original.to_string().replace("订单回暖", "订单转冷")).unwrap();
    disk::write_json(&changed, &other).unwrap();
    run(folder.path(), &["ingest", "--headless"]).finished();
    let documents = |folder: &Path| files_below(&folder.join(".inkstone/documents"));
    let parts = Project::new(folder.path().join(".inkstone")).documents();
    let titles = frames::read_parquet(&parts.path(0), None).unwrap();
    let titles: Vec<&str> = titles.column("title").unwrap().str().unwrap().iter().flatten().collect();
    assert!(titles.iter().any(|title| title.contains("订单转冷")), "{titles:?}");
    // With what was truly read, the documents are those of one process.
    disk::write_json(&changed, &original).unwrap();
    fs::remove_dir_all(folder.path().join(".inkstone/documents")).unwrap();
    run(folder.path(), &["ingest", "--headless"]).finished();
    run(alone.path(), &["ingest", "--headless"]).finished();
    assert!(documents(folder.path()) == documents(alone.path()));
    assert_eq!(entries().len(), 4, "of garbled.pdf, too");
    let ran = run(folder.path(), &["read", "--keep", "workbench.toml", "--max-pages", "3", "in/scan.pdf"]);
    assert_says(&ran.stderr, &["--keep", "cannot be used with"]);
}
