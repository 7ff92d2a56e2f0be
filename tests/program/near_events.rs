//! Features and factors of reports near an event: the demo's reports in the days after earnings previews.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use chrono::{NaiveDateTime, TimeDelta};
use inkstone_base::data::{Document, Kind};
use inkstone_corpus::clean::clean_of_part_without_text;
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_market::dates_of;
use inkstone_tables::corpus::{column, texts_of};
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::Value;

use crate::{assert_says, computed, demo, run, stage};

const DAYS: i64 = 5;
const NO_EVENT: &str = "not near an event of its security (within)";

/// Huatai's word-frequency factor of reports after previews, and the tone of the same reports in two ways.
const SETTINGS: &str = r#"
[[source]]
name = "previews"
path = "previews.csv"
kind = "announcement"

[[feature]]
name = "tone"
kinds = ["report"]

[[feature]]
name = "near"
kinds = ["report"]
within = { source = "previews", days = 5 }

[[feature]]
name = "words"
model = "logistic"
kinds = ["report"]
mask_names = true
within = { source = "previews", days = 5 }
tfidf = { formula = "log-count", pos = ["n", "nz", "v", "vd", "vn", "a", "d"], title_features = 200, max_features = 1000 }
target = { delay = -1, price = "close", horizon = 2 }
classes = { tail = 0.3, middle = true }
linear = { alpha = 1.0, l1_ratio = 0.5 }
walk_forward = { train_days = 242, test_days = 60, min_train_rows = 20 }

[[factor]]
name = "by_feature"
expression = "near"
kinds = ["report"]

[[factor]]
name = "by_factor"
expression = "tone"
kinds = ["report"]
within = { source = "previews", days = 5 }
winsorise = "none"
standardise = "none"
min_names = 1

[[factor]]
name = "words"
expression = "words"
lookback = 90
lookback_unit = "natural"
min_names = 1
"#;

/// The documents of a project with their codes, in order.
pub(crate) fn documents(folder: &Path) -> Vec<(Document, Vec<String>)> {
    let project = Project::new(folder.join(".inkstone"));
    let mut documents = Vec::new();
    for part in 0..project.clean().files().unwrap().len() {
        let links = links_of_part(&project.links().path(part)).unwrap();
        let docs = clean_of_part_without_text(&project.clean().path(part)).unwrap();
        documents.extend(docs.into_iter().enumerate().map(|(row, doc)| {
            let codes = codes_of(&links, row as u32).iter().map(|code| code.to_string()).collect();
            (doc.document, codes)
        }));
    }
    documents
}

/// Ids of the documents that have a signal in a factor.
fn signalled(folder: &Path, factor: &str, documents: &[(Document, Vec<String>)]) -> BTreeSet<String> {
    let project = Project::new(folder.join(".inkstone"));
    let frame = frames::read_parquet(&project.signals(factor), None).unwrap();
    let numbers = column(&frame, "document").unwrap().u32().unwrap();
    numbers.iter().flatten().map(|number| documents[number as usize].0.doc_id.clone()).collect()
}

/// Previews for three of four reports: two days before every second one, else a minute after it. There are none in the first and the last
/// month, so that every report near one falls on a day with prices.
fn previews(reports: &[(&Document, &str)]) -> String {
    let mut table = "id,published_at,codes,title,body\n".to_owned();
    let times = || reports.iter().map(|(report, _)| report.published_at);
    let month = TimeDelta::days(31);
    let (first, last) = (times().min().unwrap() + month, times().max().unwrap() - month);
    let within = |report: &Document| (first..last).contains(&report.published_at);
    for (i, (report, code)) in reports.iter().enumerate().filter(|(i, (report, _))| i % 4 < 3 && within(report)) {
        let shift = if i % 2 == 0 { TimeDelta::days(-2) } else { TimeDelta::minutes(1) };
        let time: NaiveDateTime = report.published_at + shift;
        writeln!(table, "{i},{},{code},业绩预告第{i}号,公司发布第{i}号业绩预告。", time.format("%Y-%m-%d %H:%M:%S"))
            .unwrap();
    }
    table
}

#[test]
fn reports_after_previews_make_the_same_factor_by_a_feature_and_by_a_factor() {
    let copy = demo::small().copy();
    let folder = copy.path();
    let all = documents(folder);
    let reports: Vec<(&Document, &str)> = all
        .iter()
        .filter(|(document, codes)| document.kind == Kind::Report && codes.len() == 1)
        .map(|(document, codes)| (document, codes[0].as_str()))
        .collect();
    assert!(reports.len() > 100, "{}", reports.len());
    let table = previews(&reports);
    fs::write(folder.join("previews.csv"), &table).unwrap();
    let config = fs::read_to_string(folder.join("workbench.toml")).unwrap();
    let sources = config.split("\n[[feature]]").next().unwrap();
    fs::write(folder.join("workbench.toml"), format!("{sources}\n{SETTINGS}")).unwrap();
    let json = run(folder, &["factor", "--headless"]).finished();

    let documents = documents(folder);
    let events: Vec<(NaiveDateTime, &String)> = documents
        .iter()
        .filter(|(document, _)| document.source == "previews")
        .flat_map(|(document, codes)| codes.iter().map(|code| (document.published_at, code)))
        .collect();
    assert_eq!(events.len(), table.lines().count() - 1);
    let near = |(document, codes): &&(Document, Vec<String>)| {
        let opens = |(time, code): &(NaiveDateTime, &String)| {
            *time <= document.published_at
                && document.published_at.date() - time.date() <= TimeDelta::days(DAYS)
                && codes.contains(code)
        };
        document.kind == Kind::Report && events.iter().any(opens)
    };
    let expected: BTreeSet<String> =
        documents.iter().filter(near).map(|(document, _)| document.doc_id.clone()).collect();
    let found = signalled(folder, "by_factor", &documents);
    assert!(found == expected, "{} found, {} expected", found.len(), expected.len());
    assert!(found == signalled(folder, "by_feature", &documents));
    assert!((reports.len() / 3..reports.len()).contains(&found.len()), "{} of {}", found.len(), reports.len());
    let table_of =
        |name: &str| frames::read_parquet(&Project::new(folder.join(".inkstone")).factor(name), None).unwrap();

    let kind = |kind| documents.iter().filter(|(document, _)| document.kind == kind).count();
    let dropped = |json: &Value, name: &str| stage(json, name)["dropped"][NO_EVENT].as_u64().unwrap() as usize;
    assert_eq!(dropped(&json, "extract near"), kind(Kind::Report) - expected.len());
    assert_eq!(dropped(&json, "extract words"), kind(Kind::Report) - expected.len());
    assert_eq!(stage(&json, "factor by_factor")["facts"]["events"], events.len());
    let learned = signalled(folder, "words", &documents);
    assert!(!learned.is_empty() && learned.is_subset(&expected), "{} of {}", learned.len(), expected.len());

    // A document that is left out is named with the reason.
    let dates = dates_of(&table_of("by_factor"), "date").unwrap();
    let codes = texts_of(&table_of("by_factor"), "code").unwrap();
    let cell = |code: &str| codes.iter().position(|known| known == Some(code)).and_then(|row| dates[row]);
    let is_left_out = |(report, code): &&(&Document, &str)| !expected.contains(&report.doc_id) && cell(code).is_some();
    let (left_out, code) = reports.iter().find(is_left_out).unwrap();
    let date = cell(code).unwrap().to_string();
    let trace = ["trace", "by_factor", "--date", &date, "--code", code, "--document", &left_out.doc_id];
    assert_says(&run(folder, &trace).refusal(), &["did not enter this value (left out: not near an event"]);

    // Previews that come later change no earlier signal, and nothing is computed where nothing changed.
    assert!(computed(&run(folder, &["factor", "--headless"]).finished()).is_empty());
    let last = documents.iter().map(|(document, _)| document.published_at).max().unwrap();
    let later = format!("x,{},{code},业绩预告补发,公司补发业绩预告。\n", last.format("%Y-%m-%d %H:%M:%S"));
    fs::write(folder.join("previews.csv"), table + &later).unwrap();
    run(folder, &["factor", "--headless"]).finished();
    let before = |ids: BTreeSet<String>, documents: &[(Document, Vec<String>)]| -> BTreeSet<String> {
        let earlier = |id: &String| documents.iter().any(|(d, _)| d.doc_id == *id && d.published_at < last);
        ids.into_iter().filter(earlier).collect()
    };
    let again = self::documents(folder);
    assert_eq!(before(signalled(folder, "by_factor", &again), &again), before(found, &documents));
}
