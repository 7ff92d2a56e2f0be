//! Models that learn the labels of documents, on the demo market: a factor comes of true labels, and nothing of shuffled ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use inkstone_base::data::Key;
use inkstone_tables::corpus::{column, documents_from_frame};
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::demo::{Made, small, third};
use crate::{assert_same_files, assert_says, copy_folder, has_library, inkstone, results, run, stage};

/// Documents with labels, and the market.
const SOURCES: &str = r#"
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

[backtest]
min_names = 5
"#;

/// Models that read the words.
const WORDS: &str = r#"
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
"#;

/// A head on the vectors of the demo's BERT, which has read another market's text.
const HEAD: &str = r#"
[[feature]]
name = "vector"
model = "onnx"
truncate = "head:64"
onnx = { model = "model", fitted_until = "2022-12-31", pooling = "mean-text" }

[[feature]]
name = "head"
model = "logistic"
inputs = ["vector"]
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }
classes = { labels = ["利空", "中性", "利好"] }
target = { of = "label", latency_days = 2 }

[[factor]]
name = "head"
expression = "head.利好 - head.利空"
decay = "exponential:0.7"
"#;

/// The label of a document by the tone that was written into it.
fn label_of(tone: f64) -> &'static str {
    match tone {
        ..-0.2 => "利空",
        0.2.. => "利好",
        _ => "中性",
    }
}

/// A project of a demo's documents as one file with labels and these features; `label` gives the label of a document of this id and tone.
fn project(demo: &Made, features: &str, label: impl Fn(&str, f64) -> Option<&'static str>) -> TempDir {
    let demo = demo.copy();
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
    copy_folder(&demo.path().join("model"), &folder.path().join("model"));
    fs::write(folder.path().join("workbench.toml"), SOURCES.to_owned() + features).unwrap();
    folder
}

/// A label that has nothing to do with the text.
fn shuffled_label(id: &str, _: f64) -> Option<&'static str> {
    Some(["利空", "中性", "利好"][usize::from(Key::of(id.as_bytes()).0[0] % 3)])
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
    let true_labels = project(small(), WORDS, |_, tone| Some(label_of(tone)));
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

    let shuffled = project(small(), WORDS, shuffled_label);
    let json = run_project(shuffled.path());
    for name in ["words", "net"] {
        let found = out_of_sample(&json, name);
        assert!(found.abs() < 0.12, "{name}: {found}");
    }
}

#[test]
fn a_head_on_the_vectors_of_a_bert_finds_the_planted_tone_and_shuffled_labels_give_nothing() {
    if !has_library() {
        return;
    }
    let truth = third().truth();
    let [low, high] = ["low", "high"].map(|end| truth["rank_ic_1"][end].as_f64().unwrap());
    let rank_ic = |label: fn(&str, f64) -> Option<&'static str>| {
        let json = run_project(project(third(), HEAD, label).path());
        let factor = json["factors"].as_array().unwrap().iter().find(|factor| factor["name"] == "head").unwrap();
        (out_of_sample(&json, "head"), factor["ic"][0]["rank_ic"]["mean"].as_f64().unwrap())
    };
    let (found, mean) = rank_ic(|_, tone| Some(label_of(tone)));
    assert!(found > 0.3 && (low..=high).contains(&mean), "{found}, RankIC {mean}, planted {low} to {high}");
    let (found, mean) = rank_ic(shuffled_label);
    assert!(found.abs() < 0.12 && mean < low, "{found}, RankIC {mean}");
}

#[test]
fn a_head_on_an_encoder_that_is_killed_again_and_again_ends_with_the_same_bytes() {
    if !has_library() {
        return;
    }
    let [intact, killed] = [(); 2].map(|()| project(small(), HEAD, |_, tone| Some(label_of(tone))));
    let begun = Instant::now();
    run_project(intact.path());
    let elapsed = begun.elapsed();
    for share in [0.2, 0.4, 0.6, 0.8] {
        let mut child = inkstone(killed.path(), &["run", "--headless"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(elapsed.mul_f64(share));
        // It may have come to its end before.
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run_project(killed.path());
    assert_same_files(&results(intact.path()), &results(killed.path()));
}

#[test]
fn a_target_that_cannot_be_learned_is_refused_before_or_at_its_stage() {
    let bare = project(small(), WORDS, |_, _| None);
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
        fs::write(&config, SOURCES.to_owned() + &WORDS.replacen(from, to, 1)).unwrap();
        says(words);
    }
}
