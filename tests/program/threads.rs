//! The same seed gives the same bytes: whatever the threads, the folder, the language and the time zone.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inkstone::pipeline::last_reports;
use inkstone_base::data::Key;
use inkstone_base::disk::MARKER;
use inkstone_base::job::Ctx;
use inkstone_lab::ledger::Ledger;
use inkstone_store::{Header, Store};
use inkstone_tables::project::Project;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, assert_same_files, files_below, inkstone};

/// Scale of the market: the smallest, whose documents still come in some thirty files, a part each.
pub(crate) const SCALE: &str = "0.05";

/// Where the demo's own features begin; the sources before them are kept.
const OWN: &str = "[[feature]]";

/// A feature of every way of reading the corpus: text by text, all of it first, step after step, fold after fold, window by window.
const STAGES: &str = r#"
[structure]
enabled = true

[[feature]]
name = "tone"
model = "lexicon"

[[feature]]
name = "learned"
model = "ridge"
mask_names = true
tfidf = { min_df = 5 }
walk_forward = { train_days = 120, test_days = 20, min_train_rows = 50 }

[[feature]]
name = "words"
model = "tfidf"
tfidf = { min_df = 5 }

[[feature]]
name = "surprise"
model = "surprise"
surprise = { window_days = 250, refit_days = 90, min_train_documents = 50, order = 3 }

[[feature]]
name = "vectors"
model = "word2vec"
vintages = { window_days = 250, refit_days = 180, min_train_documents = 50 }
word2vec = { dim = 16, epochs = 2 }

[[feature]]
name = "bert"
model = "onnx"
kinds = ["report"]
truncate = "tail:64"
onnx = { model = "model", fitted_until = "2022-12-31", output = "scores", batch_tokens = 256 }

[[factor]]
name = "tone"
expression = "tone"
decay = "exponential:0.7"

[[factor]]
name = "learned"
expression = "learned"
decay = "exponential:0.7"

[[factor]]
name = "new"
expression = "surprise.surprise"

[[experiment]]
name = "tone"
target = "factor"
features = ["tone"]
factor = "tone"
unit = "characters"
vary = { truncate = ["head -title", "tail -title", "random -title"] }
lengths = [128]

[backtest]
min_names = 5

[export]
formats = ["parquet", "csv"]
shapes = ["long", "qlib_bin"]

[report]
charts = ["svg"]
"#;

/// A folder for a demo with these stages.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let demo = include_str!("../../assets/demo.toml");
    let sources = &demo[..demo.find(OWN).expect("the demo has features")];
    fs::write(folder.path().join("workbench.toml"), [sources, STAGES].concat()).unwrap();
    // The demo goes into no folder of others.
    fs::write(folder.path().join(MARKER), "").unwrap();
    folder
}

pub(crate) fn project(folder: &Path) -> Project {
    Project::new(folder.join(".inkstone"))
}

/// Everything in a folder that the same seed gives again. Left out are times of day, durations, who holds a lock, and the files of
/// databases, whose layout tells in which order they were written: what these hold is here as it reads.
pub(crate) struct Contents {
    files: BTreeMap<String, Vec<u8>>,
    /// The feature sets, with the hashes of their rows.
    pub(crate) sets: Vec<Header>,
    /// The trials in the order in which the ledger has them.
    trials: Vec<Key>,
    /// Rows in and out of every stage, and the dropped ones by reason.
    rows: BTreeMap<String, (u64, u64, BTreeMap<String, u64>)>,
}

impl Contents {
    pub(crate) fn of(folder: &Path) -> Contents {
        let project = project(folder);
        let databases = [".inkstone/features.sled/", ".inkstone/ledger/"];
        let notes = [".inkstone/state.json", ".inkstone/lock"];
        let mut files = files_below(folder);
        // The page on an experiment says how long each cell took.
        let of_experiments = "exports/experiments/";
        files.retain(|path, _| {
            let left_out = databases.iter().chain([&of_experiments]).any(|folder| path.starts_with(folder));
            // The history of a factor and the values that a run changed say when that was.
            let of_runs = path.ends_with(".history.json") || path.ends_with("revisions.parquet");
            !left_out && !of_runs && !notes.contains(&path.as_str())
        });
        for (path, bytes) in &mut files {
            if path.starts_with(".inkstone/experiments/") {
                let mut json: Value = serde_json::from_slice(bytes).unwrap();
                without_seconds(&mut json);
                *bytes = serde_json::to_vec(&json).unwrap();
            }
        }
        let store = Store::open(&project.store()).unwrap();
        assert_eq!(store.verify(&Ctx::new(1, 1).unwrap()).unwrap(), []);
        assert_eq!(store.stats().unwrap().other_bytes, 0, "rows of no set are left");
        let reports = last_reports(&project).into_iter();
        let ledger = Ledger::open(&project.ledger()).unwrap();
        assert!(ledger.problems().is_empty(), "{:?}", ledger.problems());
        Contents {
            files,
            sets: store.sets().unwrap(),
            trials: ledger.entries().iter().map(|entry| entry.trial).collect(),
            rows: reports.map(|report| (report.stage, (report.rows_in, report.rows_out, report.dropped))).collect(),
        }
    }

    /// Fails with the names of what differs.
    pub(crate) fn assert_same(&self, other: &Contents) {
        assert_same_files(&self.files, &other.files);
        let sets = |of: &Contents| -> BTreeMap<Key, Header> { of.sets.iter().map(|h| (h.id(), h.clone())).collect() };
        let (own, others) = (sets(self), sets(other));
        let names = |of: &Contents| of.sets.iter().map(|set| set.spec.name.clone()).collect::<Vec<_>>();
        assert!(own.keys().eq(others.keys()), "other sets: {:?} and {:?}", names(self), names(other));
        for (id, set) in own {
            assert!(others[&id] == set, "feature set {:?} differs", set.spec.name);
        }
        assert_eq!(self.trials, other.trials, "the ledger has other looks");
        assert_eq!(self.rows, other.rows);
    }
}

fn without_seconds(json: &mut Value) {
    match json {
        Value::Object(entries) => {
            entries.remove("seconds");
            // The seal is of the bytes, seconds and all.
            entries.remove("seal");
            entries.values_mut().for_each(without_seconds);
        }
        Value::Array(items) => items.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

/// Runs everything that a configuration can hold.
fn run_all(folder: &Path, threads: &str, surroundings: &[(&str, &str)]) {
    let demo = ["demo", "--headless", "--scale", SCALE, "--dir", ".", "--threads", threads];
    let experiment = ["experiment", "--headless", "--threads", threads];
    for args in [&demo[..], &experiment] {
        let mut command = inkstone(folder, args);
        command.envs(surroundings.iter().copied());
        Ran::of(command.output().unwrap()).finished();
    }
}

#[test]
fn every_artefact_is_the_same_whatever_the_threads_the_folder_and_the_time_zone() {
    let usual = folder();
    run_all(usual.path(), "2", &[]);
    let usual = Contents::of(usual.path());
    let kinds = ["svg", "html", "csv", "parquet", "json", "jsonl", "bin"];
    for kind in kinds {
        assert!(usual.files.keys().any(|path| path.ends_with(&format!(".{kind}"))), "nothing was compared of .{kind}");
    }
    assert!(
        usual.sets.len() >= 8 && usual.trials.len() >= 6,
        "{} sets, {} looks",
        usual.sets.len(),
        usual.trials.len()
    );
    let elsewhere = [("TZ", "America/New_York"), ("LANG", "C"), ("LC_ALL", "C")];
    let here = [("TZ", "Asia/Shanghai"), ("LANG", "zh_CN.UTF-8")];
    for (threads, surroundings) in [("1", &elsewhere[..]), ("8", &here)] {
        let other = folder();
        let within = other.path().join("another/地方");
        fs::create_dir_all(&within).unwrap();
        for name in ["workbench.toml", MARKER] {
            fs::rename(other.path().join(name), within.join(name)).unwrap();
        }
        run_all(&within, threads, surroundings);
        usual.assert_same(&Contents::of(&within));
    }
}
