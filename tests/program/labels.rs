//! Models that learn the labels of documents, on the demo market: a factor comes of true labels, and nothing of shuffled ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inkstone_base::data::Key;
use inkstone_tables::corpus::{column, documents_from_frame};
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::demo::small;
use crate::{assert_says, run, stage};

const CONFIG: &str = r#"
[project]
name = "labels"

[[source]]
name = "news"
path = "news.jsonl"
columns = { doc_id = "id", published_at = "time", label = "label" }

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[source]]
name = "securities"
path = "securities.csv"
table = "securities"

[[feature]]
name = "words"
model = "logistic"
mask_names = true
tfidf = { min_df = 3 }
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }
classes = { labels = ["利空", "中性", "利好"] }
target = { of = "label", latency_days = 2 }

[[feature]]
name = "net"
model = "textcnn"
mask_names = true
truncate = "head:64"
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }
words = { min_count = 2 }
textnet = { dim = 16, widths = [1, 2, 3], maps = 16, fit = { epochs = 8, batch = 20, lr = 0.005 } }
classes = { labels = ["利空", "中性", "利好"] }
target = { of = "label", latency_days = 2 }

[[factor]]
name = "words"
expression = "words"
decay = "exponential:0.7"

[[factor]]
name = "net"
expression = "net.利好 - net.利空"
decay = "exponential:0.7"

[backtest]
min_names = 5
"#;

/// The label of a document by the tone that was written into it.
fn label_of(tone: f64) -> &'static str {
    match tone {
        ..-0.2 => "利空",
        0.2.. => "利好",
        _ => "中性",
    }
}

/// A project of the demo's documents as one file with labels; `label` gives that of a document of this id and tone.
fn project(label: impl Fn(&str, f64) -> Option<&'static str>) -> TempDir {
    let demo = small().copy();
    let truth =
        frames::read_foreign_parquet(&demo.path().join("data/truth_tone.parquet"), Some(&["doc_id", "tone"])).unwrap();
    let ids = column(&truth, "doc_id").unwrap().str().unwrap();
    let tones = column(&truth, "tone").unwrap().f64().unwrap();
    let tones: BTreeMap<&str, f64> = ids.iter().flatten().zip(tones.iter().flatten()).collect();
    let mut lines = String::new();
    for part in Project::new(demo.path().join(".inkstone")).documents().files().unwrap() {
        for document in documents_from_frame(&frames::read_parquet(&part, None).unwrap()).unwrap() {
            let codes: Vec<&str> = document.codes.iter().map(|code| code.as_str()).collect();
            let line = json!({
                "id": document.doc_id, "time": document.published_at.to_string(), "title": document.title, "body": document.body,
                "codes": codes.join(","), "label": label(&document.doc_id, tones[document.doc_id.as_str()]),
            });
            lines += &format!("{line}\n");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.jsonl"), lines).unwrap();
    for table in ["prices.csv", "securities.csv"] {
        fs::copy(demo.path().join("data").join(table), folder.path().join(table)).unwrap();
    }
    fs::write(folder.path().join("workbench.toml"), CONFIG).unwrap();
    folder
}

/// The mean over the folds of the rank correlation of score and label.
fn out_of_sample(json: &Value, feature: &str) -> f64 {
    let folds = stage(json, &format!("extract {feature}"))["facts"]["folds"].as_array().unwrap();
    let found: Vec<f64> = folds.iter().filter_map(|fold| fold["out_of_sample"].as_f64()).collect();
    assert!(found.len() > 2, "{folds:?}");
    found.iter().sum::<f64>() / found.len() as f64
}

fn run_project(folder: &Path) -> Value {
    run(folder, &["run", "--headless"]).finished()
}

#[test]
fn classifiers_of_labels_become_factors_and_shuffled_labels_give_nothing() {
    let true_labels = project(|_, tone| Some(label_of(tone)));
    let json = run_project(true_labels.path());
    for (name, least) in [("words", 0.3), ("net", 0.2)] {
        let facts = &stage(&json, &format!("extract {name}"))["facts"];
        assert_eq!(facts["target"], "label, known 2 days after the document");
        assert!(facts["with_target"].as_u64().unwrap() > 500, "{}", facts["with_target"]);
        let found = out_of_sample(&json, name);
        assert!(found > least, "{name}: {found}");
        let factor = json["factors"].as_array().unwrap().iter().find(|factor| factor["name"] == name).unwrap();
        assert!(factor["ic"][0]["rank_ic"]["mean"].is_number(), "{name}: {factor}");
    }

    let labels = ["利空", "中性", "利好"];
    let shuffled = project(|id, _| Some(labels[usize::from(Key::of(id.as_bytes()).0[0] % 3)]));
    let json = run_project(shuffled.path());
    for name in ["words", "net"] {
        let found = out_of_sample(&json, name);
        assert!(found.abs() < 0.12, "{name}: {found}");
    }
}

#[test]
fn a_target_that_cannot_be_learned_is_refused_before_or_at_its_stage() {
    let bare = project(|_, _| None);
    let says = |words: &[&str]| assert_says(&run(bare.path(), &["extract", "--headless"]).refusal(), words);
    says(&["\"words\" learns a label", "no document has a label", "[source.columns]"]);
    let config = bare.path().join("workbench.toml");
    for (from, to, words) in [
        (
            "model = \"logistic\"",
            "model = \"ridge\"",
            &["learns numbers, and labels are classes", "of = \"number\""][..],
        ),
        ("target = {", "label = { delay = 2 }\ntarget = {", &["feature[0].label: is now called target"]),
        (
            "target = {",
            "label_form = \"ranked\"\ntarget = {",
            &["feature[0].label_form: is now form in [feature.target]"],
        ),
        (
            "of = \"label\", latency_days = 2",
            "of = \"return\", excess = \"universe\"",
            &["none of none, market and industry"],
        ),
    ] {
        fs::write(&config, CONFIG.replacen(from, to, 1)).unwrap();
        says(words);
    }
}
