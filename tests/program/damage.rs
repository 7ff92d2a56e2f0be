//! Files of a project that were cut short, lost a page or are gone: nothing is served of them, the next run names them and makes the
//! same bytes again. And projects of other formats.

use std::fs;
use std::ops::Range;
use std::path::Path;

use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::disk::FORMAT;
use serde_json::Value;

use crate::demo::third;
use crate::desk::{DAYS, Desk, news, prices};
use crate::{Ran, assert_same_files, assert_says, computed, files_below, results, run};

const VERDICTS: &str = "lint/tone.json";

/// One of each kind of artefact below the project's folder.
const ARTEFACTS: [&str; 14] = [
    "documents/part-00001.parquet",
    "clean/part-00000.parquet",
    "links/part-00001.parquet",
    "structure/part-00000.parquet",
    "factors/tone.parquet",
    "factors/tone.signals.parquet",
    "prices.parquet",
    "securities.parquet",
    "backtests/tone.json",
    "backtests/tone.names.parquet",
    "backtests/tone.axes.json",
    "events/tone.json",
    VERDICTS,
    "rejects.jsonl",
];

#[derive(Clone, Copy, Debug)]
enum Harm {
    CutShort,
    LostPage,
    Gone,
}

const HARMS: [Harm; 3] = [Harm::CutShort, Harm::LostPage, Harm::Gone];

impl Harm {
    fn to(self, path: &Path) {
        let mut bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match self {
            Harm::CutShort => bytes.truncate(bytes.len() * 2 / 3),
            Harm::LostPage => {
                let page = bytes.len() / 2 / 4096 * 4096;
                let end = bytes.len().min(page + 4096);
                bytes[page..end].fill(0);
            }
            Harm::Gone => return fs::remove_file(path).unwrap(),
        }
        fs::write(path, bytes).unwrap();
    }
}

/// A project with every kind of artefact: two files of news of which one has a bad row, sentences, securities.
fn project() -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    let more = "[[source]]\nname = \"names\"\npath = \"names.csv\"\ntable = \"securities\"\n\n[structure]\nenabled = true\n\n[backtest]";
    let config = config.replace("path = \"news.csv\"", "path = \"news\"").replace("[backtest]", more);
    desk.write("workbench.toml", config);
    desk.write("names.csv", "code,name\n600101,瑞禾电气\n600102,启澜生物\n000103,明岳股份\n300104,云岫科技\n");
    fs::create_dir(desk.folder().join("news")).unwrap();
    fs::rename(desk.folder().join("news.csv"), desk.folder().join("news/1.csv")).unwrap();
    let later = news().replace("\n0-", "\n10-").replace("\n1-", "\n11-");
    let later: String = later.lines().take(9).map(|line| format!("{line}\n")).collect();
    desk.write("news/2.csv", format!("{later}12-0,没有时间,正文,600101.SH,昨天\n"));
    desk.run().finished();
    desk
}

fn made_again(ran: &Ran, path: &str) -> bool {
    ran.stderr.lines().any(|line| line.trim_start().starts_with(path) && line.ends_with(": made again"))
}

#[test]
fn whatever_is_damaged_is_named_and_made_again_with_the_same_bytes() {
    let desk = project();
    let intact = results(desk.folder());
    let at = |path: &str| desk.folder().join(".inkstone").join(path);
    // Each artefact suffers each harm.
    for round in 0..HARMS.len() {
        for (i, path) in ARTEFACTS.iter().enumerate() {
            HARMS[(i + round) % HARMS.len()].to(&at(path));
        }
        let ran = desk.run();
        ran.finished();
        // Verdicts on a test that is made again go before it is made.
        for path in ARTEFACTS.into_iter().filter(|path| *path != VERDICTS) {
            assert!(made_again(&ran, path), "round {round}: nothing is said of {path}:\n{}", ran.stderr);
        }
        assert_same_files(&intact, &results(desk.folder()));
        assert_eq!(computed(&desk.run().finished()), Vec::<&str>::new());
    }
    for harm in HARMS {
        harm.to(&at(VERDICTS));
        let ran = desk.run();
        ran.finished();
        assert!(made_again(&ran, VERDICTS), "{harm:?}:\n{}", ran.stderr);
        assert_same_files(&intact, &results(desk.folder()));
    }
    // What the project knows of itself.
    for path in ["state.json", "ingest.json"] {
        for harm in HARMS {
            harm.to(&at(path));
            let ran = desk.run();
            ran.finished();
            // A state that is gone is that of a project whose stages have not run.
            let is_reported = made_again(&ran, path) || matches!((path, harm), ("state.json", Harm::Gone));
            assert!(is_reported, "{harm:?} of {path}:\n{}", ran.stderr);
            assert_same_files(&intact, &results(desk.folder()));
        }
    }
    // What lies elsewhere.
    for path in ["exports/long/factors.parquet", "exports/backtest/tone/ic.csv", "reports/tone/index.html"] {
        let before = fs::read(desk.folder().join(path)).unwrap();
        Harm::LostPage.to(&desk.folder().join(path));
        let ran = desk.run();
        ran.finished();
        assert_says(&ran.stderr, &[path.split_once('/').unwrap().1.trim_start_matches("tone/"), ": made again"]);
        assert!(fs::read(desk.folder().join(path)).unwrap() == before, "{path}");
    }
}

#[test]
fn nothing_is_served_of_a_damaged_file() {
    let desk = project();
    let trace = || run(desk.folder(), &["trace", "tone", "--date", "2024-03-08", "--code", "600101.SH"]);
    trace().finished();
    for path in [
        "securities.parquet",
        "factors/tone.signals.parquet",
        "backtests/tone.names.parquet",
        "backtests/tone.axes.json",
        "clean/part-00000.parquet",
    ] {
        let named = format!(".inkstone/{path}");
        let path = desk.folder().join(&named);
        let intact = fs::read(&path).unwrap();
        for harm in [Harm::CutShort, Harm::LostPage] {
            harm.to(&path);
            assert_says(&trace().refusal(), &[&named, "inkstone run makes it again"]);
            fs::write(&path, &intact).unwrap();
        }
    }
    trace().finished();
}

#[test]
fn only_what_is_damaged_is_made_again() {
    let copy = third().copy();
    let at = |path: &str| copy.path().join(".inkstone").join(path);
    let parts = fs::read_dir(at("documents")).unwrap().count();
    Harm::LostPage.to(&at(&format!("documents/part-{:05}.parquet", parts / 2)));
    Harm::CutShort.to(&at(&format!("clean/part-{:05}.parquet", parts - 1)));
    Harm::LostPage.to(&at("backtests/tone.json"));
    let ran = run(copy.path(), &["run", "--headless"]);
    let json = ran.finished();
    let computed = computed(&json);
    let (made, pages) = computed.split_at(4);
    assert_eq!(made, ["ingest", "clean", "backtest tone", "lint tone"]);
    assert!(pages.iter().all(|stage| stage.starts_with("report ")), "the ledger counts one run more: {pages:?}");
    let (documents, clean) = (format!("documents/part-{:05}", parts / 2), format!("clean/part-{:05}", parts - 1));
    for path in [documents.as_str(), &clean, "backtests/tone.json"] {
        assert!(made_again(&ran, path), "nothing is said of {path}:\n{}", ran.stderr);
    }
    assert_same_files(&third().results(), &results(copy.path()));
}

#[test]
fn damaged_documents_whose_file_is_gone_are_not_dropped_in_silence() {
    let desk = project();
    let part = desk.folder().join(".inkstone/documents/part-00001.parquet");
    let (intact, file) = (results(desk.folder()), desk.folder().join("news/2.csv"));
    Harm::CutShort.to(&part);
    let aside = desk.folder().join("2.csv");
    fs::rename(&file, &aside).unwrap();
    let before = files_below(&desk.folder().join(".inkstone/documents"));
    let refusal = desk.run().refusal();
    assert_says(
        &refusal,
        &["documents/part-00001.parquet is cut short", "news/2.csv", "put that file back", "ingest.json"],
    );
    assert_same_files(&before, &files_below(&desk.folder().join(".inkstone/documents")));
    fs::rename(&aside, &file).unwrap();
    desk.run().finished();
    assert_same_files(&intact, &results(desk.folder()));
}

#[test]
fn a_project_of_an_older_format_or_without_seals_is_made_anew_but_for_its_ledger() {
    let desk = project();
    let intact = results(desk.folder());
    let runs = || {
        let ledger = run(desk.folder(), &["ledger", "list"]).finished();
        let trials = ledger["trials"].as_array().unwrap();
        trials.iter().map(|trial| trial["runs"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(runs(), [1]);
    let older = format!("was written by an older version (format {}; this one reads format {FORMAT})", FORMAT - 1);
    let cases: [(fn(&str, &[u8]) -> Option<Vec<u8>>, &str); 2] =
        [(without_seal, "has no seal: it is damaged, or another program wrote it"), (of_older_format, &older)];
    for (other, flaw) in cases {
        let mut changed = 0;
        for (path, bytes) in files_below(&desk.folder().join(".inkstone")) {
            if let Some(bytes) = other(&path, &bytes) {
                fs::write(desk.folder().join(".inkstone").join(&path), bytes).unwrap();
                changed += 1;
            }
        }
        assert!(changed > 12, "{changed}");
        let trace = run(desk.folder(), &["trace", "tone", "--date", "2024-03-08"]);
        assert_says(&trace.refusal(), &[flaw, "inkstone run makes it again"]);
        let json = desk.run().finished();
        assert_eq!(computed(&json).len(), json["stages"].as_array().unwrap().len(), "everything is made again");
        assert_same_files(&intact, &results(desk.folder()));
        assert_eq!(runs(), [1], "the ledger stays, and the same test made again is no second look");
    }
}

#[test]
fn a_project_of_a_newer_format_is_refused_and_left_alone() {
    let desk = project();
    let newer = format!("inkstone {}", FORMAT + 1);
    for path in ["state.json", "ingest.json"] {
        let path = desk.folder().join(".inkstone").join(path);
        let intact = fs::read(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, of_format(&text, FORMAT + 1)).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains(&newer));
        let before = files_below(&desk.folder().join(".inkstone"));
        let message =
            ["newer version", &format!("format {}; this one reads format {FORMAT}", FORMAT + 1), "use that version"];
        assert_says(&desk.run().refusal(), &message);
        let mut after = files_below(&desk.folder().join(".inkstone"));
        // Who tried is noted.
        after.insert("lock".to_owned(), before["lock"].clone());
        assert_same_files(&before, &after);
        fs::write(&path, intact).unwrap();
    }
    desk.run().finished();
}

#[test]
fn others_read_what_is_sealed() {
    let desk = project();
    let manifest: Value =
        serde_json::from_slice(&fs::read(desk.folder().join("exports/manifest.json")).unwrap()).unwrap();
    assert_says(manifest["seal"].as_str().unwrap(), &[&format!("inkstone {FORMAT} ")]);
    for file in manifest["files"].as_array().unwrap() {
        let path = desk.folder().join("exports").join(file["path"].as_str().unwrap());
        assert_eq!(disk::hash_file_in_full(&path).unwrap(), file["blake3"].as_str().unwrap());
    }
    let verdicts = fs::read(desk.folder().join("exports/backtest/tone/lint.json")).unwrap();
    let verdicts: Value = serde_json::from_slice(&verdicts).unwrap();
    assert!(verdicts.is_array(), "exports keep the form that other tools know: {verdicts}");
    // A table of ours comes in again as any other, and its seal counts.
    let table = desk.folder().join("exports/long/factors.parquet");
    desk.write("prices.csv", prices(&DAYS));
    let test = || {
        run(desk.folder(), &["backtest", "--factor", table.to_str().unwrap(), "--prices", "prices.csv", "--headless"])
    };
    let intact = fs::read(&table).unwrap();
    let mut damaged = intact.clone();
    damaged[intact.len() / 3] ^= 1;
    fs::write(&table, damaged).unwrap();
    assert_says(&test().refusal(), &["its bytes are not those that were written"]);
}

/// Where the seal of a Parquet file stands.
fn seal_of(path: &str, bytes: &[u8]) -> Range<usize> {
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize + 8;
    let seal = bytes.len() - footer - 64..bytes.len() - footer;
    assert!(bytes[seal.clone()].starts_with(b"INKSEAL\0"), "{path}");
    seal
}

fn sealed_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.starts_with("{\"seal\""))
}

/// A sealed file in the format before this one; none for a file without a seal.
fn of_older_format(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    if path.ends_with(".parquet") {
        let (mut older, seal) = (bytes.to_vec(), seal_of(path, bytes));
        older[seal.start + 8..][..4].copy_from_slice(&(FORMAT - 1).to_le_bytes());
        let sum = Key::of(&older[seal.start..][..56]);
        older[seal.start + 56..][..8].copy_from_slice(&sum.0[..8]);
        return Some(older);
    }
    Some(of_format(sealed_text(bytes)?, FORMAT - 1).into_bytes())
}

/// A sealed file without its seal; none for a file without one.
fn without_seal(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    if path.ends_with(".parquet") {
        let seal = seal_of(path, bytes);
        return Some([&bytes[..seal.start], &bytes[seal.end..]].concat());
    }
    let text = sealed_text(bytes)?;
    let (first, rest) = text.split_once('\n').unwrap();
    Some(match first.ends_with("\"content\":") {
        true => format!("{}\n", rest.strip_suffix("}\n").unwrap()).into_bytes(),
        false => format!("{{\n{rest}").into_bytes(),
    })
}

/// A sealed text in another format.
fn of_format(text: &str, format: u32) -> String {
    let (first, rest) = text.split_once('\n').unwrap();
    let key = Key::of_parts([format.to_le_bytes().as_slice(), rest.as_bytes()]);
    let then = &first["{\"seal\": \"inkstone 1 ".len() + 32..];
    format!("{{\"seal\": \"inkstone {format} {key}{then}\n{rest}")
}
