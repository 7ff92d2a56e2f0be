//! Models on plain files: every model is trained, measured, used and explained through the program, with the same bytes
//! on any number of threads, and refuses what it cannot use with the way out.

mod commands;
mod corpus;
mod features;
mod heads;
#[cfg(unix)]
mod interrupt;
mod keywords;
mod levels;
mod ngram;
mod refusals;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, assert_says, run, run_on};

/// How a model is called in these tests.
struct Case {
    /// Name of the model, as in `train NAME`.
    name: &'static str,
    /// Flags of its training, besides input and output.
    flags: &'static [&'static str],
    /// Name of the rows that `embed` writes.
    rows: &'static str,
}

/// A model of this name, with these flags, whose rows go to a file of this name.
const fn case(name: &'static str, flags: &'static [&'static str], rows: &'static str) -> Case {
    Case { name, flags, rows }
}

const TFIDF: Case = case("tfidf", &["--min-df", "1"], "rows.npz");

const CASES: &[Case] = &[
    case("ngram", &[], "rows.csv"),
    TFIDF,
    case("bow", &["--ngram-range", "1,2"], "rows.parquet"),
    case("onehot", &[], "rows.csv"),
    case("bm25", &[], "rows.csv"),
    case("hashing", &["--buckets", "1000"], "rows.npy"),
    case("shingles", &[], "rows.npz"),
    case("event-words", &[], "rows.csv"),
    case("lsa", &["--dim", "5"], "rows.npy"),
    case("ppmi", &["--dim", "5", "--min-count", "2"], "rows.parquet"),
    case("glove", &["--dim", "5", "--min-count", "2", "--epochs", "2"], "rows.csv"),
    case("word2vec", &["--dim", "5", "--min-count", "2"], "rows.npy"),
    case("word2vec", &["--dim", "5", "--min-count", "2", "--chars", "--hs", "--tags"], "rows.csv"),
    case("doc2vec", &["--dim", "5", "--min-count", "2", "--dbow"], "rows.npy"),
    case("cw", &["--dim", "5", "--hidden", "4", "--min-count", "2", "--epochs", "1"], "rows.npy"),
    case("pooling", &["--vectors", "words.vec"], "rows.csv"),
    case("nnlm", &["--dim", "5", "--hidden", "4", "--min-count", "2", "--epochs", "2"], "rows.csv"),
    case("lbl", &["--dim", "5", "--tree", "words.vec", "--min-count", "2", "--epochs", "2"], "rows.csv"),
    case("rnnlm", &["--hidden", "4", "--bptt", "3", "--min-count", "2", "--epochs", "2"], "rows.csv"),
    case(
        "sentences",
        &["--dim", "5", "--hidden", "3", "--candidates", "8", "--min-count", "2", "--epochs", "2"],
        "rows.npy",
    ),
    case("textcnn", &["--dim", "5", "--maps", "4", "--epochs", "2"], "rows.parquet"),
    case(
        "textrnn",
        &[
            "--dim",
            "5",
            "--hidden",
            "4",
            "--cell",
            "gru",
            "--layers",
            "both,forward",
            "--pool",
            "mean",
            "--epochs",
            "2",
        ],
        "rows.csv",
    ),
    case("fasttext", &["--dim", "5", "--min-count", "2", "--minn", "1", "--maxn", "2"], "rows.parquet"),
    case("fasttext-supervised", &["--dim", "5", "--word-ngrams", "2"], "rows.csv"),
    case("sestm", &["--words", "5", "--kappa", "2"], "rows.csv"),
    case("logistic", &["--calibrate", "sigmoid"], "rows.csv"),
    case("bayes", &[], "rows.csv"),
    case("svm", &[], "rows.parquet"),
    case("boosted", &["--trees", "10"], "rows.csv"),
    case("mlp", &["--hidden", "8,4", "--dropout", "0.1", "--epochs", "5"], "rows.csv"),
    case("ridge", &[], "rows.csv"),
];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("news.jsonl"), corpus::jsonl(96)).expect("the corpus can be written");
    fs::write(folder.path().join("news.tok"), corpus::tokens(96)).expect("the corpus can be written");
    fs::write(folder.path().join("words.vec"), corpus::VECTORS).expect("the vectors can be written");
    folder
}

fn train(folder: &Path, case: &Case, output: &str, more: &[&str]) -> Ran {
    let fixed = ["train", case.name, "--input", "news.jsonl", "--output", output];
    run(folder, &[&fixed, case.flags, more].concat())
}

fn trained(folder: &Path, case: &Case) -> Value {
    train(folder, case, "model", &[]).finished()
}

#[test]
fn every_model_says_what_it_was_fitted_on() {
    for case in CASES {
        let folder = folder();
        let json = trained(folder.path(), case);
        assert_eq!((&json["model"], &json["documents"]), (&case.name.into(), &96.into()), "{json:#}");
        // What hashes its columns learns nothing of the corpus; what the given vectors of a pooling or of a tree have seen is not known.
        let learned = !matches!(case.name, "hashing" | "shingles" | "pooling" | "lbl");
        let until = if learned { Value::from("2024-04-12T14:30:00") } else { Value::Null };
        assert_eq!(json["fitted_until"], until, "{}: {json:#}", case.name);
        for field in ["output", "tokens", "vocabulary", "seconds"] {
            assert!(!json[field].is_null(), "{}: no {field} in {json:#}", case.name);
        }
    }
}

#[test]
fn every_model_gives_the_same_bytes_on_any_number_of_threads() {
    for case in CASES {
        let folder = folder();
        let mut first: Option<Vec<Vec<u8>>> = None;
        for threads in ["1", "2", "8"] {
            let more = ["--threads", threads];
            train(folder.path(), case, "model", &more).finished();
            embed(folder.path(), case, &more);
            let files = ["model", case.rows].map(|name| fs::read(folder.path().join(name)).unwrap());
            let mut found = files.to_vec();
            found.push(without_time(explain(folder.path(), &more).finished()));
            found.push(without_time(eval(folder.path(), case, &more).finished()));
            let first = first.get_or_insert_with(|| found.clone());
            for (what, (a, b)) in ["model", "rows", "explanation", "figures"].iter().zip(first.iter().zip(&found)) {
                assert!(a == b, "{}: another {what} with {threads} threads", case.name);
            }
        }
    }
}

fn embed(folder: &Path, case: &Case, more: &[&str]) -> Value {
    let fixed = ["embed", "--model", "model", "--input", "news.jsonl", "--output", case.rows];
    run(folder, &[&fixed, more].concat()).finished()
}

fn explain(folder: &Path, more: &[&str]) -> Ran {
    let fixed = ["explain", "--model", "model", "--input", "news.jsonl", "--ids", "n3,n40"];
    run(folder, &[&fixed, more].concat())
}

fn eval(folder: &Path, case: &Case, more: &[&str]) -> Ran {
    run(folder, &[&["eval", case.name, "--model", "model", "--input", "news.jsonl"], more].concat())
}

/// The JSON of a run without what no two runs share.
fn without_time(mut json: Value) -> Vec<u8> {
    let object = json.as_object_mut().expect("a run ends with an object");
    for field in ["seconds", "peak_memory_mb", "stages"] {
        object.remove(field);
    }
    json.to_string().into_bytes()
}

#[test]
fn every_model_explains_a_score_by_its_tokens() {
    for case in CASES {
        let folder = folder();
        trained(folder.path(), case);
        let json = explain(folder.path(), &["--top", "0"]).finished();
        let explained = json["explanations"].as_array().unwrap();
        assert_eq!(explained.iter().map(|e| e["id"].as_str().unwrap()).collect::<Vec<_>>(), ["n3", "n40"]);
        for explanation in explained {
            assert!(!explanation["formula"].as_str().unwrap().is_empty());
            let terms = explanation["terms"].as_array().unwrap();
            assert!(!terms.is_empty(), "{}: {explanation:#}", case.name);
            let sum: f64 = terms.iter().map(|part| part["value"].as_f64().unwrap()).sum();
            let score = explanation["score"].as_f64().unwrap();
            let parts = sum + explanation["intercept"].as_f64().unwrap();
            assert!((score - parts).abs() < 1e-5 * score.abs().max(1.0), "{}: {explanation:#}", case.name);
        }
        let top = explain(folder.path(), &["--top", "1"]).finished();
        assert_eq!(top["explanations"][0]["terms"].as_array().unwrap().len(), 1);
        let one = run(folder.path(), &["explain", "--model", "model", "--text", "净利润大幅增长"]).finished();
        assert_eq!(one["explanations"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn models_read_the_standard_input() {
    for case in CASES {
        let folder = folder();
        trained(folder.path(), case);
        let text = corpus::jsonl(96);
        let piped = |args: &[&str]| run_on(folder.path(), args, text.as_bytes()).finished();
        let fixed = ["train", case.name, "--input", "-", "--format", "jsonl", "--output", "again"];
        piped(&[&fixed, case.flags].concat());
        let same = fs::read(folder.path().join("model")).unwrap() == fs::read(folder.path().join("again")).unwrap();
        assert!(same, "{}: another model from a pipe", case.name);
        embed(folder.path(), case, &[]);
        let rows = fs::read(folder.path().join(case.rows)).unwrap();
        piped(&["embed", "--model", "model", "--input", "-", "--format", "jsonl", "--output", case.rows]);
        assert!(rows == fs::read(folder.path().join(case.rows)).unwrap(), "{}: other rows from a pipe", case.name);
    }
}

#[test]
fn tfidf_rows_are_those_of_the_formula() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.tok"), "增长 增长 回购\n增长 减持\n").unwrap();
    let flags =
        ["train", "tfidf", "-i", "news.tok", "-o", "m", "--format", "tokens", "--min-df", "1", "--norm", "none"];
    let json = run(folder.path(), &flags).finished();
    assert_eq!((&json["tokens"], &json["vocabulary"], &json["fitted_until"]), (&5.into(), &3.into(), &Value::Null));
    run(folder.path(), &["embed", "-m", "m", "-i", "news.tok", "-o", "rows.csv"]).finished();
    let idf = (3.0f64 / 2.0).ln() + 1.0;
    let expected = format!("id,column,value\n1,回购,{0}\n1,增长,2\n2,减持,{0}\n2,增长,1\n", idf as f32);
    assert_eq!(fs::read_to_string(folder.path().join("rows.csv")).unwrap(), expected);
    let json = run_on(folder.path(), &["eval", "-m", "m", "-i", "-"], "增长 分红\n\n".as_bytes()).finished();
    assert_eq!((&json["documents"], &json["tokens"], &json["oov"]), (&2.into(), &2.into(), &1.into()));
    assert_says(&run(folder.path(), &["train", "--help"]).text(), &["tfidf"]);
}
