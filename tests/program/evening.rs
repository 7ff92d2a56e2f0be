//! Runs that repeat every evening: sources that programs fill, programs that are told, and history that stays.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use chrono::NaiveDate;
use inkstone_base::data::Document;
use inkstone_tables::corpus::documents_from_frame;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::demo::small;
use crate::{assert_same_files, assert_says, inkstone, results, run, stage};

const CONFIG: &str = r#"
[[source]]
name = "wire"
path = "wire.jsonl"
command = ["sh", "-c", "echo asked from $INKSTONE_SINCE >&2; cat arrived.jsonl"]

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[source]]
name = "securities"
path = "securities.csv"
table = "securities"

[[feature]]
name = "tone"
model = "lexicon"

[[feature]]
name = "learned"
model = "ridge"
tfidf = { min_df = 5 }
walk_forward = { train_days = 120, test_days = 20, min_train_rows = 50 }

[[factor]]
name = "tone"
expression = "tone"
decay = "exponential:0.7"

[[factor]]
name = "learned"
expression = "learned"
decay = "exponential:0.7"

[[factor]]
name = "both"
expression = "combine(factor.tone, factor.learned, by = ic, days = 60)"

[backtest]
min_names = 5

[[on]]
event = "factor"
of = ["tone"]
run = ["sh", "-c", "cat >> told.jsonl; echo >> told.jsonl"]

[[on]]
event = "entered"
of = ["tone"]
run = ["sh", "-c", "cat >> entered.jsonl; echo >> entered.jsonl"]

[[on]]
event = "silence"
of = ["wire"]
run = ["sh", "-c", "exit $(cat code)"]
"#;

/// The demo market as one vendor would have delivered it.
struct Market {
    /// Documents in the order of their publication.
    documents: Vec<Document>,
    /// Rows of prices by day.
    prices: Vec<(NaiveDate, Vec<String>)>,
    header: String,
}

impl Market {
    fn of_demo(demo: &Path) -> Market {
        let mut documents = Vec::new();
        for part in Project::new(demo.join(".inkstone")).documents().files().unwrap() {
            documents.extend(documents_from_frame(&frames::read_parquet(&part, None).unwrap()).unwrap());
        }
        documents.sort_by(|a, b| (a.published_at, &a.doc_id).cmp(&(b.published_at, &b.doc_id)));
        let text = fs::read_to_string(demo.join("data/prices.csv")).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let mut prices: Vec<(NaiveDate, Vec<String>)> = Vec::new();
        for row in rows.lines() {
            let day = row[..10].parse().unwrap();
            match prices.last_mut().filter(|(last, _)| *last == day) {
                Some((_, rows)) => rows.push(row.to_owned()),
                None => prices.push((day, vec![row.to_owned()])),
            }
        }
        Market { documents, prices, header: header.to_owned() }
    }

    /// The documents that were published on the days from `after`, which is left out, until the evening of `day`.
    fn rows(&self, after: Option<NaiveDate>, day: NaiveDate) -> String {
        let evening = |day: NaiveDate| day.and_hms_opt(20, 0, 0).unwrap();
        let between = |document: &&Document| {
            document.published_at <= evening(day) && after.is_none_or(|after| document.published_at > evening(after))
        };
        let row = |document: &Document| {
            let codes: Vec<&str> = document.codes.iter().map(|code| code.as_str()).collect();
            let row = json!({
                "id": document.doc_id.replace('/', "-"), "published_at": document.published_at.to_string(), "title": document.title,
                "body": document.body, "codes": codes.join(","), "org": document.org,
            });
            format!("{row}\n")
        };
        self.documents.iter().filter(between).map(row).collect()
    }
}

fn desk(demo: &Path, market: &Market) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("workbench.toml"), CONFIG).unwrap();
    fs::copy(demo.join("data/securities.csv"), folder.path().join("securities.csv")).unwrap();
    fs::write(folder.path().join("prices.csv"), format!("{}\n", market.header)).unwrap();
    fs::write(folder.path().join("code"), "0").unwrap();
    folder
}

/// Adds the data of an evening: documents for the program that delivers them, and prices at the end of the price file.
fn arrive(folder: &Path, market: &Market, after: Option<NaiveDate>, day: NaiveDate) {
    fs::write(folder.join("arrived.jsonl"), market.rows(after, day)).unwrap();
    let mut prices = fs::OpenOptions::new().append(true).open(folder.join("prices.csv")).unwrap();
    for (_, rows) in market.prices.iter().filter(|(date, _)| *date <= day && after.is_none_or(|after| *date > after)) {
        rows.iter().for_each(|row| writeln!(prices, "{row}").unwrap());
    }
}

fn evening(folder: &Path) -> Value {
    run(folder, &["run", "--commands", "--headless", "--stage", "export"]).finished()
}

#[test]
fn evenings_one_by_one_some_of_them_killed_end_with_the_bytes_of_one_run() {
    let demo = small().copy();
    let market = Market::of_demo(demo.path());
    let days: Vec<NaiveDate> = market.prices.iter().map(|(day, _)| *day).collect();
    let folder = desk(demo.path(), &market);
    // A first run of most of the past, then evening by evening over the border of a fold, with a few days missed in between.
    let evenings: Vec<NaiveDate> =
        [&[days.len() - 24], &(days.len() - 22..days.len() - 10).collect::<Vec<_>>()[..], &[days.len() - 1]]
            .concat()
            .into_iter()
            .map(|i| days[i])
            .collect();
    let mut before = None;
    let mut days_told = Vec::new();
    for (number, &day) in evenings.iter().enumerate() {
        arrive(folder.path(), &market, before, day);
        if number % 3 == 1 {
            let args = ["run", "--commands", "--headless", "--stage", "export"];
            let mut killed = inkstone(folder.path(), &args).stdout(std::process::Stdio::null()).spawn().unwrap();
            sleep(Duration::from_millis(40 + 170 * (number as u64 * 7 % 11)));
            let _ = killed.kill();
            killed.wait().unwrap();
        }
        let json = evening(folder.path());
        assert!(json["left_out"].is_null(), "{json:#}");
        for factor in ["tone", "learned", "both"] {
            let history = &stage(&json, &format!("factor {factor}"))["facts"]["history"];
            assert_eq!(history["revised"], 0, "{factor} of {day}: {history}");
            assert!(before.is_none() || history["compared"].as_u64() > Some(0), "{history}");
        }
        days_told.extend(
            stage(&json, "notify")["facts"]["told"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|note| note["event"] == "factor")
                .cloned(),
        );
        before = Some(day);
    }
    let folder = folder.path();
    let looks = run(folder, &["ledger", "--headless"]).json();
    assert_eq!(looks["totals"]["trials"], 3, "evenings are no further looks: {}", looks["totals"]);
    assert!(looks["totals"]["runs"].as_u64() > Some(30));
    assert!(!folder.join(".inkstone/revisions.parquet").exists());
    let asked = fs::read_to_string(folder.join(".inkstone/log/fetch wire.txt")).unwrap();
    assert_says(&asked, &["asked from 2"]);
    let notes = fs::read_to_string(folder.join("told.jsonl")).unwrap();
    let notes: Vec<Value> = notes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        notes.len() >= days_told.len() && days_told.len() > 5,
        "each day is told once, or twice after a kill: {}",
        notes.len()
    );
    assert!(notes.iter().all(|event| !event["rows"].as_object().unwrap().is_empty() && event["event"] == "factor"));

    let entered = fs::read_to_string(folder.join("entered.jsonl")).unwrap();
    let entered: Vec<Value> = entered.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = |event: &Value, key: &str| event[key].as_array().unwrap().len();
    assert!(
        entered.iter().all(|event| names(event, "entered") > 0) && entered.iter().any(|event| names(event, "left") > 0)
    );

    let once = desk(demo.path(), &market);
    arrive(once.path(), &market, None, days[days.len() - 1]);
    evening(once.path());
    let (one_by_one, at_once) = (without_log(folder), without_log(once.path()));
    assert!(one_by_one.len() > 30);
    assert_same_files(&one_by_one, &at_once);
    assert_eq!(fs::read(folder.join("wire.jsonl")).unwrap(), fs::read(once.path().join("wire.jsonl")).unwrap());
}

/// The results of a project without the log of ingest, whose facts tell of its last run.
fn without_log(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut results = results(folder);
    results.remove(".inkstone/ingest.json");
    results
}

#[test]
fn what_is_corrected_later_is_kept_with_both_values_and_told() {
    let demo = small().copy();
    let market = Market::of_demo(demo.path());
    let folder = desk(demo.path(), &market);
    let folder = folder.path();
    arrive(folder, &market, None, market.prices[200].0);
    let first = evening(folder);
    let quiet = run(folder, &["run", "--headless"]).finished();
    assert_says(&quiet["commands"].to_string(), &["--commands"]);
    // A vendor corrects the text of a document.
    let wire = fs::read_to_string(folder.join("wire.jsonl")).unwrap();
    let rows: Vec<&str> = wire.lines().collect();
    let linked = rows[..rows.len() - 20]
        .iter()
        .rposition(|row| row.contains("公司") && !row.contains("\"codes\":\"\""))
        .unwrap();
    let corrected = rows[linked].replace("公司", "公司业绩暴跌亏损违规退市");
    let all: String =
        rows.iter().enumerate().map(|(i, row)| format!("{}\n", if i == linked { &corrected } else { *row })).collect();
    fs::write(folder.join("wire.jsonl"), all).unwrap();
    let json = run(folder, &["run", "--headless"]).finished();
    assert_eq!(stage(&json, "ingest")["facts"]["revisions"]["documents"], json!({"corrected": 1}));
    let history = &stage(&json, "factor tone")["facts"]["history"];
    assert!(history["revised"].as_u64() > Some(0) && history["reason"].to_string().contains("corrected"), "{history}");
    let shown = run(folder, &["revisions"]).finished();
    assert_eq!(shown["documents"]["corrected"], 1);
    assert_eq!(shown["newest"][0]["table"], "documents");
    let tone = &shown["factors"]["tone"];
    assert_eq!(tone["revised"], history["revised"]);
    let revised = &tone["newest"][0];
    assert!(
        revised["before"] != revised["after"]
            && revised["after_known_at"].as_str() > revised["before_known_at"].as_str(),
        "{revised}"
    );
    assert_eq!(stage(&first, "factor tone")["facts"]["history"]["compared"], 0);
}

#[test]
fn a_source_without_its_file_and_a_program_that_fails_are_told_with_the_way_out() {
    let demo = small().copy();
    let market = Market::of_demo(demo.path());
    let folder = desk(demo.path(), &market);
    let folder = folder.path();
    arrive(folder, &market, None, market.prices[120].0);
    assert_says(&run(folder, &["run", "--headless"]).refusal(), &["wire.jsonl", "--commands"]);
    fs::write(folder.join("code"), "4").unwrap();
    let json = evening(folder);
    assert_eq!(json["status"], "partial");
    let notify = stage(&json, "notify");
    assert_says(&notify["facts"]["failed"][0].to_string(), &["silence of wire", "exit status: 4"]);
    // It is told again when it can be, and the other one is not.
    fs::write(folder.join("code"), "0").unwrap();
    let json = evening(folder);
    let notes = stage(&json, "notify")["facts"]["told"].as_array().unwrap();
    assert_eq!(notes.iter().map(|note| &note["event"]).collect::<Vec<_>>(), ["silence"]);
    fs::remove_file(folder.join("arrived.jsonl")).unwrap();
    let json = evening(folder);
    assert_eq!(json["status"], "partial", "what is there is used, and the exit code says that something is missing");
    assert_says(&stage(&json, "fetch")["facts"]["failed"]["wire"].to_string(), &["arrived.jsonl", "fetch wire.txt"]);
}

#[test]
fn no_stage_reads_the_sealed_period_and_its_opening_is_counted_for_ever() {
    let demo = small().copy();
    let market = Market::of_demo(demo.path());
    let (seal, last) = (market.prices[market.prices.len() - 30].0, market.prices[market.prices.len() - 1].0);
    let batch = desk(demo.path(), &market);
    arrive(batch.path(), &market, None, last);
    let config = batch.path().join("workbench.toml");
    let text = fs::read_to_string(&config).unwrap();
    let args = ["run", "--commands", "--headless"];
    let refused = run(batch.path(), &["run", "--headless", "--open-vault", "why"]).refusal();
    assert_says(&refused, &["[vault] from"]);
    fs::write(&config, format!("{text}\n[vault]\nfrom = \"{seal}\"\n")).unwrap();
    let json = run(batch.path(), &args).finished();
    let sealed = &stage(&json, "ingest")["facts"]["sealed"];
    assert!(sealed["documents"].as_u64() > Some(0) && sealed["prices"].as_u64() > Some(100), "{sealed}");
    assert_eq!(json["vault"]["openings"], json!([]));

    // What is sealed gives the very bytes of a project to which it never came.
    let before = desk(demo.path(), &market);
    let day = market.prices[market.prices.len() - 31].0;
    arrive(before.path(), &market, None, day);
    let midnight = seal.and_hms_opt(0, 0, 0).unwrap();
    let rows: String = market
        .rows(None, last)
        .lines()
        .filter(|row| {
            let row: Value = serde_json::from_str(row).unwrap();
            row["published_at"].as_str().unwrap() < midnight.to_string().as_str()
        })
        .map(|row| format!("{row}\n"))
        .collect();
    fs::write(before.path().join("arrived.jsonl"), rows).unwrap();
    run(before.path(), &args).finished();
    let tables = |folder: &Path| {
        let mut files = without_log(folder);
        files.retain(|path, _| !path.ends_with("manifest.json"));
        files
    };
    let closed = tables(batch.path());
    assert_same_files(&closed, &tables(before.path()));

    let opened = run(batch.path(), &[&args[..], &["--open-vault", "the last test"]].concat()).finished();
    assert_eq!(opened["vault"]["openings"][0]["reason"], "the last test");
    assert!(stage(&opened, "ingest")["facts"].get("sealed").is_none());
    let page = fs::read_to_string(batch.path().join("reports/tone/index.html")).unwrap();
    assert_says(&page, &["is read here", "openings: 1", "封存期"]);
    // The next run reads it no more, and the ledger remembers.
    let again = run(batch.path(), &args).finished();
    assert_eq!(again["vault"]["openings"].as_array().unwrap().len(), 1);
    assert_same_files(&closed, &tables(batch.path()));
    let ledger = run(batch.path(), &["ledger", "--headless"]).json();
    assert_eq!((&ledger["openings"][0]["from"], &ledger["problems"]), (&json!(seal), &json!([])));
}
