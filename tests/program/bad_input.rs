//! Bad input: what is wrong is said, where, and the way out; what can go on goes on.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::desk::{CODES, DAYS, Desk, news, prices};
#[cfg(unix)]
use crate::unprivileged;
use crate::{Ran, assert_says, edit, inkstone, run, stage};
use inkstone_testing::not_tried;

#[test]
fn the_sound_project_runs() {
    let desk = Desk::new();
    let ran = desk.run();
    let json = ran.json();
    assert_eq!(ran.code, Some(0), "{json:#}\n{}", ran.stderr);
    assert_eq!(stage(&json, "factor tone")["facts"]["values"].as_u64().map(|n| n > 20), Some(true), "{json:#}");
}

#[test]
fn an_empty_file() {
    let desk = Desk::new();
    desk.write("news.csv", "");
    assert_says(&desk.run().refusal(), &["news.csv", "the file is empty"]);
}

#[test]
fn a_header_without_rows() {
    let desk = Desk::new();
    desk.write("news.csv", "id,title,body,codes,published_at\n");
    assert_says(&desk.run().refusal(), &["no document", "rejects.jsonl"]);
}

#[test]
fn an_encoding_that_is_not_the_files() {
    let desk = Desk::new();
    let gbk: Vec<u8> = encoding_rs::GBK.encode(&news()).0.into_owned();
    desk.write("news.csv", &gbk);
    assert_eq!(desk.run().code, Some(0), "it is found out when nothing is declared");

    let desk = Desk::new();
    desk.write("news.csv", &gbk);
    edit(&desk.folder().join("workbench.toml"), "path = \"news.csv\"", "path = \"news.csv\"\nencoding = \"utf-8\"");
    assert_says(&desk.run().refusal(), &["news.csv", "declared", "looks like", "`encoding`", "[[source]]"]);
}

#[test]
fn half_a_parquet_file() {
    let desk = Desk::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/samples/news.parquet");
    let intact = fs::read(sample).unwrap();
    desk.write("news.parquet", &intact[..intact.len() / 2]);
    edit(&desk.folder().join("workbench.toml"), "news.csv", "news.parquet");
    assert_says(&desk.run().refusal(), &["news.parquet", "not a whole Parquet file", "cut short"]);
}

#[test]
fn columns_that_are_not_there() {
    let desk = Desk::new();
    desk.write("news.csv", news().replace("title,body,", "a,b,"));
    assert_says(
        &desk.run().refusal(),
        &["news.csv", "columns are missing", "body", "\"a\", \"b\"", "`columns` of [[source]] \"news\""],
    );

    let desk = Desk::new();
    desk.write("prices.csv", prices(&DAYS).replace("date,code,", "x,y,"));
    assert_says(&desk.run().refusal(), &["prices.csv", "columns are missing", "date", "code"]);
}

#[test]
fn times_in_the_future() {
    let desk = Desk::new();
    desk.write("news.csv", news().replace("2024-03-04", "2099-03-04"));
    let ran = desk.run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(stage(&ran.json(), "ingest")["dropped"]["time in the future"], CODES.len());
    assert_says(&rejects(&desk), &["\"column\":\"published_at\"", "2099-03-04 10:00:00"]);

    let desk = Desk::new();
    desk.write("news.csv", news().replace(",2024-", ",2099-"));
    assert_says(&desk.run().refusal(), &["time in the future", "32 of 32", "max_loss", "rejects.jsonl"]);
}

#[test]
fn ids_that_repeat() {
    let desk = Desk::new();
    let rows = news();
    let second = rows.lines().nth(2).unwrap();
    desk.write("news.csv", format!("{rows}{second}\n"));
    let ran = desk.run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(stage(&ran.json(), "ingest")["dropped"]["duplicate id"], 1);
    assert_says(&rejects(&desk), &["\"row\":33", "duplicate id", "news/0-1"]);
}

#[test]
fn a_price_table_that_repeats_a_day() {
    let desk = Desk::new();
    let rows = prices(&DAYS);
    let second = rows.lines().nth(2).unwrap();
    desk.write("prices.csv", format!("{rows}{second}\n"));
    let ran = desk.run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(stage(&ran.json(), "ingest")["dropped"]["duplicate date and code"], 1);
    assert_says(&rejects(&desk), &["\"row\":45", "600102.SH"]);
}

#[test]
fn prices_without_a_calendar_day() {
    // No weekday is invented: what was published on a day without prices counts for the next day that has them.
    let desk = Desk::new();
    let days: Vec<&str> = DAYS.into_iter().filter(|&d| d != "2024-03-06").collect();
    desk.write("prices.csv", prices(&days));
    let json = desk.run().finished();
    assert_eq!(stage(&json, "ingest")["facts"]["calendar"]["weekdays_with_documents_without_prices"], 1, "{json:#}");
    let table = fs::read_to_string(desk.folder().join("exports/backtest/tone/coverage.csv")).unwrap();
    assert!(!table.contains("2024-03-06") && table.contains("2024-03-07"), "{table}");

    // A row without a day is set aside.
    let desk = Desk::new();
    desk.write("prices.csv", prices(&DAYS).replacen("2024-03-05,", ",", 2).replacen("2024-03-06,", "soon,", 1));
    let ran = desk.run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_says(&rejects(&desk), &["\"source\":\"prices\"", "\"column\":\"date\"", "\"value\":\"soon\""]);

    // And a market whose days are all before the news has no day for them.
    let desk = Desk::new();
    desk.write("news.csv", news().replace(",2024-", ",2025-"));
    assert_says(&desk.run().refusal(), &["\"tone\"", "no values", "32 published after the price table ends"]);
}

#[test]
fn a_project_without_prices() {
    let desk = Desk::new();
    edit(
        &desk.folder().join("workbench.toml"),
        "[[source]]\nname = \"prices\"\npath = \"prices.csv\"\ntable = \"prices\"\n",
        "",
    );
    assert_says(&desk.run().refusal(), &["need prices", "table = \"prices\""]);
}

#[test]
fn a_source_that_is_missing() {
    let desk = Desk::new();
    fs::remove_file(desk.folder().join("prices.csv")).unwrap();
    assert_says(&desk.run().refusal(), &["[[source]] \"prices\"", "there is no such file", "prices.csv"]);
}

#[test]
fn a_configuration_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(folder.path(), &["run", "--headless"]).refusal();
    assert_says(&error, &["cannot read the configuration workbench.toml", "inkstone init"]);
}

/// Each file says in its opening comments what must be said of it, all at once; `...` stands for anything.
#[test]
fn configurations_with_problems() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/invalid");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let expected: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
        let desk = Desk::new();
        desk.write("workbench.toml", &text);
        let error = desk.run().refusal();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{}: all that is wrong, and no more:\n{error}", file.display());
        for (line, expected) in lines.iter().zip(expected) {
            assert!(matches(line, expected), "{}:\n{error}\nwhere expected was\n{expected}", file.display());
        }
        assert!(!desk.folder().join(".inkstone").exists(), "nothing is begun with a configuration that is wrong");
    }
}

/// True if a line reads as expected; `...` stands for anything.
fn matches(line: &str, expected: &str) -> bool {
    let mut rest = line;
    let mut parts = expected.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.trim_start().strip_prefix(first.trim_start()) else { return false };
    rest = after;
    parts.all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn a_folder_that_cannot_be_written() {
    // Permissions do not stop the superuser; a file in the place of the folder stops everybody.
    let desk = Desk::new();
    desk.write(".inkstone", "not a folder");
    assert_says(
        &desk.run().refusal(),
        &["cannot make the folder", ".inkstone", "check its permissions, or choose another"],
    );

    let desk = Desk::new();
    desk.write("exports", "mine");
    assert_says(&desk.run().refusal(), &["exports"]);
    assert_eq!(fs::read_to_string(desk.folder().join("exports")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn folders_and_files_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let allow = |path: &str, mode| {
        fs::set_permissions(desk.folder().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let refusal = || {
        let command = unprivileged(desk.folder(), &["run", "--headless"]);
        command.map(|mut command| Ran::of(command.output().unwrap()).refusal())
    };
    allow("news.csv", 0o000);
    if let Some(error) = refusal() {
        assert_says(&error, &["cannot open", "news.csv", "Permission denied"]);
    }
    allow("news.csv", 0o644);
    fs::create_dir(desk.folder().join("locked")).unwrap();
    allow("locked", 0o555);
    edit(&desk.folder().join("workbench.toml"), "name = \"desk\"", "name = \"desk\"\ndir = \"locked/work\"");
    if let Some(error) = refusal() {
        assert_says(&error, &["cannot make the folder", "locked/work", "check its permissions"]);
    }
}

/// A small disk in a name space of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let disk = |script: &str| {
        let script_on_disk = format!("mount -t tmpfs -o size=22m none . && cd \"$PWD\" && {script}");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script_on_disk, env!("CARGO_BIN_EXE_inkstone")]).current_dir(folder.path());
        command.env("ORT_DYLIB_PATH", crate::library());
        command.output()
    };
    if !disk("true").is_ok_and(|output| output.status.success()) {
        return not_tried("this machine refuses unshare -rm");
    }
    let ran = Ran::of(disk("exec \"$0\" demo --headless --scale 1 --dir .").unwrap());
    assert_says(&ran.refusal(), &["No space left on device", "cannot write"]);

    // With room again, the same folder is taken to its end.
    let script = "\"$0\" demo --headless --scale 0.05 --dir . >/dev/null && rm -r .inkstone/clean && \
                  { dd if=/dev/zero of=filler bs=4k 2>/dev/null; \"$0\" run --headless; echo \"rc $?\"; \
                  rm filler; \"$0\" run --headless >again.json; echo \"rc $?\"; find . -name '.tmp-*'; }";
    let ran = Ran::of(disk(script).unwrap());
    let text = ran.text();
    assert_says(&text, &["\"failed\"", "No space left on device", "rc 2\nrc "]);
    assert!(text.ends_with("rc 0\n") || text.ends_with("rc 1\n"), "{text}");
}

#[test]
fn a_factor_table_from_another_market() {
    let desk = Desk::new();
    desk.write("factor.csv", "date,code,value\n2019-01-02,600101.SH,1\n");
    let error = run(desk.folder(), &["backtest", "--factor", "factor.csv", "--prices", "prices.csv"]).refusal();
    assert_says(&error, &["factor.csv", "date not in the price table", "write codes and dates in one style"]);
}

#[test]
fn flags_that_do_not_exist() {
    let desk = Desk::new();
    let ran = Ran::of(inkstone(desk.folder(), &["run", "--headles"]).output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty());
    assert_says(&ran.stderr, &["--headles", "--headless"]);
}

fn rejects(desk: &Desk) -> String {
    let text = fs::read_to_string(desk.folder().join(".inkstone/rejects.jsonl")).unwrap();
    for line in text.lines() {
        let _: Value = serde_json::from_str(line).unwrap();
    }
    text
}
