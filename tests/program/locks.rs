//! Who may write a project: one at a time, whoever comes in the same moment; readers go on meanwhile.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use inkstone_base::lock::{self, Attempt, Lock};
use inkstone_store::Store;
use inkstone_tables::project::Project;
use serde_json::Value;

use crate::desk::Desk;
use crate::{Ran, assert_same_files, assert_says, files_below, inkstone, results, run};

fn project(desk: &Desk) -> Project {
    Project::new(desk.folder().join(".inkstone"))
}

/// Holds the project as a run does.
fn held(desk: &Desk) -> Lock {
    match lock::take(&project(desk).lock(), "run").unwrap() {
        Attempt::Ours(lock) => lock,
        Attempt::Theirs(holder) => panic!("{holder:?} holds it"),
    }
}

#[test]
fn of_ten_that_start_in_the_same_moment_each_runs_or_says_who_does() {
    let desk = Desk::new();
    let start = |_| {
        let mut command = inkstone(desk.folder(), &["run", "--headless", "--threads", "1"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..10).map(start).collect();
    let pids: Vec<u32> = children.iter().map(Child::id).collect();
    let ran: Vec<Ran> = children.into_iter().map(|child| Ran::of(child.wait_with_output().unwrap())).collect();
    let (done, refused): (Vec<_>, Vec<_>) = ran.iter().partition(|ran| ran.code == Some(0));
    // On a slow machine one may begin when another has ended already.
    assert!(!done.is_empty(), "{}", ran[0].stderr);
    for ran in refused {
        let error = ran.refusal();
        assert_says(&error, &["is being written by another run (run, process ", ", since ", "wait until it has ended"]);
        assert!(pids.iter().any(|pid| error.contains(&format!("process {pid} on "))), "{error}");
    }
    let once = Desk::new();
    once.run().finished();
    assert_same_files(&results(once.folder()), &results(desk.folder()));
}

#[test]
fn a_second_writer_changes_nothing_whatever_it_wants_to_write() {
    let desk = Desk::new();
    desk.run().finished();
    let _held = held(&desk);
    let before = files_below(desk.folder());
    let holder = format!("process {} on", std::process::id());
    for command in [
        "run",
        "ingest",
        "clean",
        "link",
        "structure",
        "rewrite",
        "extract",
        "factor",
        "backtest",
        "lint",
        "export",
        "report",
    ] {
        let error = run(desk.folder(), &[command, "--headless"]).refusal();
        assert_says(&error, &[&holder, "wait until"]);
    }
    let after = files_below(desk.folder());
    let changed: Vec<_> = after.iter().filter(|&(path, bytes)| before.get(path) != Some(bytes)).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "{changed:?}");
}

#[test]
fn readers_go_on_while_another_writes() {
    let desk = Desk::new();
    desk.run().finished();
    let _held = held(&desk);
    let _store = Store::open(&project(&desk).store()).unwrap();
    let read = |args: &[&str]| -> Value {
        let ran = run(desk.folder(), args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran.json()
    };
    let days = read(&["trace", "tone", "--quantile", "2"]);
    let day = days["days"][0]["date"].as_str().unwrap();
    read(&["trace", "tone", "--date", day]);
    assert!(read(&["ledger"])["trials"].as_array().is_some_and(|trials| !trials.is_empty()));
    read(&["picture", "--keys", "7", "--output", "page.txt"]);
    read(&["diff", "exports/manifest.json", "exports/manifest.json"]);
    assert!(read(&["store", "stats"])["sets"].as_array().is_some_and(|sets| !sets.is_empty()));
    assert!(read(&["store", "export", "--all", "--out", "sets"])["exported"].as_array().is_some_and(|s| !s.is_empty()));
}

#[test]
fn whatever_lies_in_the_place_of_a_lock_is_taken_or_named() {
    let desk = Desk::new();
    desk.run().finished();
    let lock = project(&desk).lock();
    let own = std::process::id();
    for left in [
        String::new(),
        "{\"pid\":4194303,\"host\":\"here\",\"since\":\"2026-03-01T10:31:00+08:00\",\"work\":\"run\"}\n".to_owned(),
        format!("{{\"pid\":{own},\"host\":\"elsewhere\"}}"),
        "\u{1b}[2J garbage \0 \u{7}".to_owned(),
        "x".repeat(100_000),
    ] {
        fs::write(&lock, &left).unwrap();
        desk.run().finished();
        let now = fs::read_to_string(&lock).unwrap();
        assert!(now.contains("\"work\":\"run\"") && now.len() < 500, "{now}");
    }
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_says(&desk.run().refusal(), &["cannot lock", "lock (", "remove it"]);
    fs::remove_dir(&lock).unwrap();

    // Held, and what the holder says of itself is meant for terminals.
    let file = File::create(&lock).unwrap();
    file.lock().unwrap();
    fs::write(&lock, "{\"pid\":7,\"host\":\"a\\u001b[31mb\",\"work\":\"\\u0007\\u001b]0;owned\\u0007\"}").unwrap();
    let ran = desk.run();
    assert_says(&ran.refusal(), &["process 7 on a[31mb"]);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ran.stderr);
}
