//! Commands that read write nothing: neither in a project, nor beside it, whatever they are asked. Every command is either one of these
//! or named as one that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use clap::CommandFactory;
use inkstone::cli::Cli;
use serde_json::Value;

use crate::desk::Desk;
use crate::plain_user::{PlainUser, ReadOnly, show};
use crate::{Ran, inkstone, run};

/// Commands that read, each with the flags of some uses. `OUT` stands for a folder elsewhere, which a command may write to.
const READING: &[(&str, &[&str])] = &[
    ("audit", &["exports/long/factors.parquet --prices prices.csv --out OUT/audit"]),
    ("boilerplate", &[""]),
    ("compare", &["tone reversal"]),
    ("completions", &["bash"]),
    ("diff", &["exports/manifest.json exports/manifest.json"]),
    ("doctor", &[""]),
    ("embed", &["--model lm.bin --input lines.txt --output OUT/rows.csv"]),
    ("eval", &["--model lm.bin --input lines.txt"]),
    ("events", &["下滑 --study", "--sample"]),
    ("explain", &["--model lm.bin --text 公司净利润增长"]),
    ("generate", &["--model lm.bin --input lines.txt --output OUT/written.jsonl"]),
    ("keys", &[""]),
    ("keywords", &["--input lines.txt --output OUT/keywords.csv"]),
    ("ledger", &["", "--ledger .inkstone/ledger"]),
    ("ledger list", &["", "--ledger .inkstone/ledger", "--ledger .inkstone", "--ledger news"]),
    ("ledger show", &["1"]),
    ("ledger verify", &[""]),
    ("man", &[""]),
    ("nearest", &["--model lm.bin --words 公司"]),
    (
        "picture",
        &[
            "--keys 1 --output OUT/1.txt",
            "--keys 2 --output OUT/2.txt",
            "--keys 3 --output OUT/3.txt",
            "--keys 4 --output OUT/4.txt",
            "--keys 5 --output OUT/5.txt",
            "--keys 6 --output OUT/6.txt",
            "--keys 7 --output OUT/7.txt",
            "--keys 8d --output OUT/8.txt",
            "--keys 9, --output OUT/9.txt",
            "--keys 7K600101<enter> --output OUT/10.txt",
        ],
    ),
    ("projection", &["--model lm.bin --output OUT/plane.csv"]),
    ("read", &["paper.txt", "paper.txt --output OUT/papers"]),
    ("replay", &["exports/manifest.json"]),
    ("revisions", &["", "--factor tone"]),
    ("sample", &["--model lm.bin"]),
    ("shift", &["--models lm.bin,lm.bin --output OUT/shift.csv"]),
    ("stock", &["600101", "600101 --factor tone --svg OUT/stock.svg"]),
    ("store export", &["--all --out OUT/sets", "--documents tone --out OUT/tone.parquet"]),
    ("store stats", &[""]),
    ("store verify", &[""]),
    ("tokenize", &[""]),
    ("worker", &["--model lm.bin --tsv published_at,text"]),
    ("trace", &["tone --quantile 2", "tone --date 2024-03-08", "tone --date 2024-03-08 --code 600101.SH"]),
];

/// Commands that write. Those of `train` all do.
const WRITING: &[&str] = &[
    "backtest",
    "clean",
    "convert",
    "demo",
    "drift",
    "experiment",
    "export",
    "extract",
    "factor",
    "ingest",
    "init",
    "ledger delete",
    "link",
    "lint",
    "plan",
    "report",
    "rewrite",
    "run",
    "search",
    "store compact",
    "store import",
    "store repair",
    "structure",
    "work",
];

/// Every command of the program, with the one above it: `ledger`, `ledger list`.
pub(crate) fn commands() -> BTreeSet<String> {
    fn below(command: &clap::Command, above: &str, into: &mut BTreeSet<String>) {
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("{above}{}", command.get_name());
            below(command, &format!("{name} "), into);
            if !command.is_subcommand_required_set() {
                into.insert(name);
            }
        }
    }
    let mut commands = BTreeSet::new();
    below(&Cli::command(), "", &mut commands);
    commands
}

#[test]
fn every_command_either_reads_or_writes() {
    let named: Vec<&str> = READING.iter().map(|(name, _)| *name).chain(WRITING.iter().copied()).collect();
    let known = commands();
    let unknown: Vec<&String> =
        known.iter().filter(|name| !name.starts_with("train ") && !named.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "say of each of these commands whether it reads or writes: {unknown:?}");
    assert!(known.iter().any(|name| name.starts_with("train ")));
    let gone: Vec<&&str> = named.iter().filter(|name| !known.contains(**name)).collect();
    assert!(gone.is_empty(), "there are no such commands: {gone:?}");
    assert_eq!(named.len(), named.iter().collect::<BTreeSet<_>>().len(), "each command is named once");
}

/// A finished project, a model and a paper.
fn project() -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write(
        "workbench.toml",
        config + "\n[structure]\nenabled = true\n\n[[event]]\nname = \"下滑\"\ntriggers = [\"大幅*下滑\"]\n",
    );
    desk.run().finished();
    let lines = "公司净利润大幅增长\n公司净利润大幅下滑\n盈利能力显著改善\n存在退市风险\n";
    desk.write("lines.txt", lines.repeat(20));
    desk.write("paper.txt", "标题：年报点评\n发布时间：2024-03-01\n\n公司净利润大幅增长，盈利能力显著改善。\n");
    fs::create_dir(desk.folder().join("news")).unwrap();
    desk.write("news/.tmp-mine", "mine");
    let train = ["train", "ngram", "--input", "lines.txt", "--output", "lm.bin", "--order", "2", "--headless"];
    run(desk.folder(), &train).finished();
    desk
}

/// All that a folder holds: of each entry its mode, the time of its last change, and its bytes.
fn tree(folder: &Path) -> BTreeMap<String, (u32, i64, i64, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        let bytes = if about.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        let name = entry.path().strip_prefix(folder).unwrap().display().to_string();
        tree.insert(name, (about.mode(), about.mtime(), about.mtime_nsec(), bytes));
    }
    tree
}

/// The names of the entries that were added, changed or removed.
fn changes(folder: &Path, before: &BTreeMap<String, (u32, i64, i64, Vec<u8>)>) -> Vec<String> {
    let after = tree(folder);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// The exit code of a run and the status in its JSON object, where it gives one.
fn ending(ran: &Ran) -> (Option<i32>, Option<Value>) {
    let json: Option<Value> = serde_json::from_slice(&ran.stdout).ok();
    (ran.code, json.map(|json| json["status"].clone()))
}

/// Every use of a command that reads, with `out` in the place of `OUT`.
fn uses(out: &Path) -> Vec<Vec<String>> {
    let words = |text: &str| -> Vec<String> {
        text.split_whitespace().map(|word| word.replace("OUT", &out.display().to_string())).collect()
    };
    let uses =
        READING.iter().flat_map(|(name, uses)| uses.iter().map(move |flags| format!("{name} {flags} --headless")));
    uses.map(|line| words(&line)).chain([vec!["--headless".to_owned()]]).collect()
}

#[test]
fn what_reads_changes_nothing_and_needs_no_right_to_write() {
    let (desk, user) = (project(), PlainUser::new());
    show(desk.folder());
    let (mut changed, mut differ) = (Vec::new(), Vec::new());
    let mut codes: BTreeMap<Option<i32>, usize> = BTreeMap::new();
    let mut before = tree(desk.folder());
    let out = tempfile::tempdir().unwrap();
    for (owned, locked) in uses(out.path()).iter().zip(uses(&user.home())) {
        let args: Vec<&str> = owned.iter().map(String::as_str).collect();
        let ran = Ran::of(inkstone(desk.folder(), &args).output().unwrap());
        let touched = changes(desk.folder(), &before);
        if !touched.is_empty() {
            changed.push(format!("{args:?} changed {touched:?}"));
            before = tree(desk.folder());
        }
        *codes.entry(ran.code).or_default() += 1;
        let args: Vec<&str> = locked.iter().map(String::as_str).collect();
        let read_only = ReadOnly::new(desk.folder());
        let again = Ran::of(user.inkstone(desk.folder(), &args).output().unwrap());
        drop(read_only);
        if ending(&ran) != ending(&again) {
            differ.push(format!("{args:?}: {:?} and read-only {:?}\n{}", ending(&ran), ending(&again), again.stderr));
        }
    }
    assert!(changed.is_empty() && differ.is_empty(), "{}\n{}", changed.join("\n"), differ.join("\n"));
    // Most of the uses must have come to their end, or nothing was tried.
    assert!(codes.get(&Some(0)).is_some_and(|done| *done >= 20), "{codes:?}");
}
