//! Rows of a feature by many workers: the bytes of one machine, whatever is killed, cut short or strange.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use inkstone_base::disk;
use inkstone_features::plan::Plan;
use inkstone_store::{RowFolder, Store};
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::onnx::graph;
use crate::{
    assert_nothing_half_written, assert_says, computed, copy_folder, demo, files_below, has_library, inkstone, run,
    stage,
};

const KILLS: usize = 100;
/// The features that are planned, and one that learns on one of them.
const FEATURES: &str = r#"
[[feature]]
name = "head"
model = "lexicon"
truncate = "head:60"

[[feature]]
name = "hashed"
model = "tfidf"
tfidf = { buckets = 4096, formula = "count" }
"#;
/// The setting without which the words are weighed by the corpus.
const HASHED: &str = "tfidf = { buckets = 4096, formula = \"count\" }";

/// A corpus whose features are not computed yet.
fn project() -> TempDir {
    static LINKED: OnceLock<PathBuf> = OnceLock::new();
    let linked = LINKED.get_or_init(|| {
        let copy = demo::small().copy();
        let config = fs::read_to_string(copy.path().join("workbench.toml")).unwrap();
        let sources = config.split("\n[[feature]]").next().unwrap();
        let onnx = format!(
            "\n[[feature]]\nname = \"bert\"\nmodel = \"onnx\"\nonnx = {{ model = \"{}\", fitted_until = \"2010-12-31\" }}\n",
            graph("bert")
        );
        let bert = if has_library() { onnx } else { String::new() };
        fs::write(copy.path().join("workbench.toml"), format!("{sources}\n{FEATURES}{bert}")).unwrap();
        run(copy.path(), &["rewrite", "--headless"]).finished();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planned");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::rename(copy.keep(), &folder).unwrap();
        folder
    });
    let copy = tempfile::tempdir().unwrap();
    copy_folder(linked, copy.path());
    copy
}

fn planned(folder: &Path, feature: &str) -> Plan {
    plan_and_memory(folder, feature).0
}

/// The plan of a feature, and the megabytes that it says a worker takes.
fn plan_and_memory(folder: &Path, feature: &str) -> (Plan, u64) {
    let out = format!("{feature}.plan");
    let json = run(folder, &["plan", "--feature", feature, "--tasks", "7", "--out", &out, "--headless"]).finished();
    (Plan::read(&folder.join(out)).unwrap(), json["memory_mb"].as_u64().unwrap_or(u64::MAX))
}

fn work(folder: &Path, feature: &str, task: &str) -> Value {
    run(folder, &["work", &format!("{feature}.plan"), "--task", task, "--threads", "1"]).finished()
}

/// The rows of the finished sets of a project, with the headers.
fn sets(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    files_below(&Project::new(folder.join(".inkstone")).store().join("rows"))
}

/// The files of a project that computed all by itself.
fn alone() -> &'static BTreeMap<String, Vec<u8>> {
    static ALONE: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    ALONE.get_or_init(|| {
        let folder = project();
        run(folder.path(), &["extract", "--headless"]).finished();
        sets(folder.path())
    })
}

#[test]
fn workers_leave_the_rows_of_one_machine() {
    let folder = project();
    let folder = folder.path();
    let features: &[&str] = if has_library() { &["head", "hashed", "bert"] } else { &["head", "hashed"] };
    for feature in features {
        let (plan, memory) = plan_and_memory(folder, feature);
        assert!(plan.parts.len() > 7 && plan.tasks.len() == 7, "{} parts", plan.parts.len());
        // One task twice, one not at all.
        for task in ["0", "3..6", "4", "1..3"] {
            let json = work(folder, feature, task);
            assert_eq!(json["worked"]["left"], Value::Array(Vec::new()), "{json:#}");
            assert!(json["peak_memory_mb"].as_u64().unwrap_or_default() <= memory, "{memory} MB were stated: {json:#}");
        }
        let again = work(folder, feature, "4");
        assert_eq!(again["worked"]["computed"].as_array().unwrap().len(), 0);
        let json = run(folder, &["work", &format!("{feature}.plan"), "--check"]).finished();
        let tasks = json["progress"]["tasks"].as_array().unwrap();
        let missing: Vec<&Value> =
            tasks.iter().filter(|task| task["done"] != task["parts"]).map(|task| &task["task"]).collect();
        assert_eq!(missing, [&Value::from(6)], "{json:#}");
        assert_eq!(json["missing_parts"], plan.tasks[6].len());
    }
    // One who watches sees the end of the last task.
    let mut watch = inkstone(folder, &["work", "head.plan", "--watch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(watch.try_wait().unwrap().is_none());
    work(folder, "head", "6");
    assert!(watch.wait().unwrap().success());
    let json = run(folder, &["extract", "--headless"]).finished();
    for feature in features {
        let plan = Plan::read(&folder.join(format!("{feature}.plan"))).unwrap();
        let report = stage(&json, &format!("extract {feature}"));
        let left = if *feature == "head" { 0 } else { plan.tasks[6].len() };
        assert_eq!(report["facts"]["taken_parts"], plan.parts.len() - left, "{report:#}");
    }
    assert!(sets(folder) == *alone());
    assert!(!folder.join(".inkstone/plans").exists() || files_below(&folder.join(".inkstone/plans")).is_empty());
    assert_eq!(run(folder, &["store", "verify"]).code, Some(0));
    assert!(computed(&run(folder, &["extract", "--headless"]).finished()).is_empty());
}

#[test]
fn a_set_that_workers_finished_is_taken_without_its_model() {
    if !has_library() {
        return;
    }
    let folder = project();
    let folder = folder.path();
    planned(folder, "bert");
    work(folder, "bert", "0..7");
    // A machine without the library.
    let mut command = inkstone(folder, &["extract", "--headless"]);
    let output = command.env("ORT_DYLIB_PATH", folder.join("none.so")).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["left_out"].is_null(), "{json:#}");
    assert_eq!(stage(&json, "extract bert")["facts"]["taken_parts"], stage(&json, "extract bert")["facts"]["batches"]);
    assert!(sets(folder) == *alone());
}

#[test]
fn killed_workers_and_strange_files_change_no_byte() {
    let folder = project();
    let folder = folder.path();
    let plan = planned(folder, "head");
    let draw = &mut ChaCha8Rng::seed_from_u64(7);
    let began = Instant::now();
    work(folder, "head", "0");
    let usual = began.elapsed();
    let kill = |seed: u64| {
        let draw = &mut ChaCha8Rng::seed_from_u64(seed);
        let task = draw.random_range(0..7).to_string();
        let mut worker = inkstone(folder, &["work", "head.plan", "--task", &task, "--threads", "1"]);
        let mut worker = worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(usual.mul_f64(draw.random::<f64>()).min(Duration::from_secs(5)));
        // It may have come to its end.
        let _ = worker.kill();
        worker.wait().unwrap();
    };
    let next = std::sync::atomic::AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(seed) =
                    Some(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).filter(|s| *s < KILLS as u64)
                {
                    kill(seed);
                }
            });
        }
    });
    // Rows that are cut short, altered, of another batch, and names that are none.
    let rows = folder.join("head.rows").join(plan.set().hex());
    let files: Vec<String> = files_below(&rows).into_keys().filter(|file| file.ends_with(".rows")).collect();
    assert!(files.len() >= 3, "{} parts were finished", files.len());
    let path = |number: usize| rows.join(&files[number]);
    let bytes = fs::read(path(0)).unwrap();
    fs::write(path(0), &bytes[..bytes.len() / 2]).unwrap();
    let mut altered = fs::read(path(1)).unwrap();
    let at = draw.random_range(40..altered.len());
    altered[at] ^= 1;
    fs::write(path(1), altered).unwrap();
    fs::copy(path(2), rows.join(format!("{}.tmp", files[0]))).unwrap();
    fs::write(rows.join("note.txt"), "of somebody else").unwrap();
    let other = "0".repeat(32);
    fs::write(rows.join(format!("{}-{other}.rows", plan.parts[0].key)), &bytes).unwrap();
    let json = run(folder, &["extract", "--headless"]).finished();
    let facts = &stage(&json, "extract head")["facts"];
    assert_eq!(facts["refused_files"].as_u64().map(|files| files >= 2), Some(true), "{facts:#}");
    assert!(sets(folder) == *alone());
    assert_eq!(fs::read_to_string(rows.join("note.txt")).unwrap(), "of somebody else");
    assert_nothing_half_written(&folder.join(".inkstone"));
}

#[test]
fn a_part_that_kills_its_workers_is_named_and_left_to_the_run() {
    let folder = project();
    let folder = folder.path();
    let plan = planned(folder, "head");
    let part = plan.tasks[2][0];
    let rows = RowFolder::new(&plan.rows);
    for _ in 0..3 {
        let attempt = rows.attempt(plan.set(), plan.parts[part].key).unwrap().unwrap();
        // A killed process removes nothing.
        std::mem::forget(attempt);
    }
    let ran = run(folder, &["work", "head.plan", "--threads", "1"]);
    let json = ran.finished();
    assert_eq!((ran.code, &json["worked"]["left"]), (Some(1), &Value::from(vec![part])), "{json:#}");
    run(folder, &["extract", "--headless"]).finished();
    assert!(sets(folder) == *alone());
}

#[test]
fn a_plan_that_does_not_fit_is_refused_before_a_row_is_written() {
    let folder = project();
    let folder = folder.path();
    let plan = planned(folder, "head");
    let path = folder.join("head.plan");
    let intact = fs::read(&path).unwrap();
    let refusal = |arguments: &[&str]| run(folder, &[&["work", "head.plan"], arguments].concat()).refusal();
    assert_says(&refusal(&["--task", "7"]), &["the plan has 7 tasks, numbered from 0: there is no task 7"]);
    // A byte of it is another.
    let mut altered = intact.clone();
    let at = intact.len() / 2;
    altered[at] = if altered[at] == b'0' { b'1' } else { b'0' };
    fs::write(&path, altered).unwrap();
    assert_says(&refusal(&[]), &["the plan head.plan is damaged", "make it again (inkstone plan)"]);
    let edited = |edit: &dyn Fn(&mut Value)| {
        fs::write(&path, &intact).unwrap();
        let mut value: Value = disk::read_json(&path).unwrap();
        edit(&mut value);
        disk::write_json(&path, &value).unwrap();
    };
    edited(&|plan| plan["version"] = "0.0.9".into());
    assert_says(&refusal(&[]), &["version 0.0.9", "the same program on all machines"]);
    // Other rows than those of the plan: a digit of the canary.
    edited(&|plan| {
        let rows = plan["canary"]["rows"][0].as_str().unwrap();
        let last = if rows.ends_with('0') { "1" } else { "0" };
        plan["canary"]["rows"][0] = format!("{}{last}", &rows[..rows.len() - 1]).into();
    });
    assert_says(&refusal(&[]), &["are not those that the plan was made with", "another model, dictionary"]);
    // Another word list under the same settings.
    fs::write(&path, &intact).unwrap();
    edited(&|plan| plan["spec"]["params"]["lexicon"] = "0".repeat(32).into());
    assert_says(&refusal(&[]), &["another feature set than the one that was planned (other: lexicon)"]);
    fs::write(&path, &intact).unwrap();
    assert!(!plan.rows.join(plan.set().hex()).exists());
    // The corpus has changed.
    let clean = Project::new(folder.join(".inkstone")).clean();
    let last = clean.files().unwrap().len() - 1;
    fs::copy(clean.path(0), clean.path(last)).unwrap();
    let links = Project::new(folder.join(".inkstone")).links();
    fs::copy(links.path(0), links.path(last)).unwrap();
    assert_says(&refusal(&[]), &["is not the one that the plan was made for", "inkstone plan"]);
    // A feature of the whole corpus.
    let config = fs::read_to_string(folder.join("workbench.toml")).unwrap();
    fs::write(folder.join("workbench.toml"), config.replace(HASHED, "")).unwrap();
    let error = run(folder, &["plan", "--feature", "hashed", "--tasks", "2", "--out", "h.plan"]).refusal();
    assert_says(&error, &["fitted on the documents of all parts", "leave it to `inkstone run`"]);
    let error = run(folder, &["plan", "--feature", "none", "--tasks", "2", "--out", "h.plan"]).refusal();
    assert_says(&error, &["there is no feature \"none\"", "head, hashed"]);
    // Workers have no rows of the feature that a condition reads.
    let gated = "\n[[feature]]\nname = \"gated\"\nmodel = \"lexicon\"\nonly = \"0.3 - abs(head)\"\n";
    fs::write(folder.join("workbench.toml"), config + gated).unwrap();
    let error = run(folder, &["plan", "--feature", "gated", "--tasks", "2", "--out", "g.plan"]).refusal();
    assert_says(&error, &["\"gated\" reads feature \"head\" in its condition (only)", "`inkstone run`"]);
}

#[test]
fn a_worker_opens_no_database_and_takes_no_lock() {
    let folder = project();
    let folder = folder.path();
    planned(folder, "head");
    // The run of another holds the project and its store.
    let project = Project::new(folder.join(".inkstone"));
    let _held = project.lock_for("test").unwrap();
    let _store = Store::open(&project.store()).unwrap();
    let before = files_below(&folder.join(".inkstone"));
    work(folder, "head", "0..7");
    assert!(files_below(&folder.join(".inkstone")) == before);
}

/// Features whose models are fitted on past documents, step after step or fold after fold.
const FITTED: &str = r#"
[[feature]]
name = "surprise"
model = "surprise"
surprise = { window_days = 120, refit_days = 30, min_train_documents = 40, order = 2 }

[[feature]]
name = "vintages"
model = "word2vec"
vintages = { window_days = 240, refit_days = 60, min_train_documents = 60 }
word2vec = { dim = 8, epochs = 2 }
words = { min_count = 3 }

[[feature]]
name = "network"
model = "textcnn"
embeddings = { feature = "vintages" }
walk_forward = { train_days = 120, test_days = 30, min_train_rows = 50 }
textnet = { widths = [2], maps = 4, max_tokens = 32, fit = { epochs = 2 } }
classes = { tail = 0.4 }
"#;

#[test]
fn fits_on_past_documents_are_shared_by_workers() {
    let copy = project();
    let folder = copy.path();
    let config = folder.join("workbench.toml");
    let sources = fs::read_to_string(&config).unwrap().split("\n[[feature]]").next().unwrap().to_owned();
    fs::write(&config, format!("{sources}\n{FITTED}")).unwrap();
    let other = tempfile::tempdir().unwrap();
    copy_folder(folder, other.path());
    run(other.path(), &["extract", "--headless"]).finished();
    for feature in ["surprise", "vintages", "network"] {
        let plan = planned(folder, feature);
        assert!(plan.parts.len() > 7 && plan.tasks.len() == 7, "{feature} has {} fits", plan.parts.len());
        // A worker that is killed while it fits.
        let mut killed = inkstone(folder, &["work", &format!("{feature}.plan"), "--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(400));
        killed.kill().unwrap();
        killed.wait().unwrap();
        for task in ["0", "1..3", "3..6"] {
            let worked = work(folder, feature, task);
            assert_eq!(worked["worked"]["left"], Value::Array(Vec::new()), "{worked:#}");
        }
        let checked = run(folder, &["work", &format!("{feature}.plan"), "--check"]).finished();
        assert!(checked["missing_parts"].as_u64().unwrap() <= plan.tasks[6].len() as u64, "{checked:#}");
        assert_eq!(work(folder, feature, "0..6")["worked"]["computed"], Value::Array(Vec::new()));
        // A result that was cut short is fitted again, and so is one whose note was.
        let results = files_below(&plan.rows);
        let of_kind = |end: &str| results.iter().filter(|(path, _)| path.ends_with(end)).collect::<Vec<_>>();
        for (path, content) in [of_kind(".rows")[0], of_kind(".note.json")[1]] {
            fs::write(plan.rows.join(path), &content[..content.len() / 2]).unwrap();
        }
    }
    let json = run(folder, &["extract", "--headless"]).finished();
    for feature in ["surprise", "vintages", "network"] {
        let plan = Plan::read(&folder.join(format!("{feature}.plan"))).unwrap();
        let taken = stage(&json, &format!("extract {feature}"))["facts"]["taken_parts"].as_u64().unwrap() as usize;
        assert!(
            (plan.parts.len() - plan.tasks[6].len() - 2..plan.parts.len() - 1).contains(&taken),
            "{taken} were taken"
        );
    }
    assert!(sets(folder) == sets(other.path()));
    // Prices that are not those of the plan are refused before anything is fitted.
    let plan = planned_again(folder, "network", "test_days = 30", "test_days = 29");
    let project = Project::new(folder.join(".inkstone"));
    let prices = fs::read(project.prices()).unwrap();
    let results = files_below(&folder.join("network.rows"));
    disk::remove_if_there(&project.prices()).unwrap();
    let refused = run(folder, &["work", &plan, "--task", "0"]).refusal();
    assert!(refused.contains("there is no price table"), "{refused}");
    fs::write(project.prices(), &prices).unwrap();
    let all = frames::read_parquet(&project.prices(), None).unwrap();
    let mut later = all.head(Some(all.height() - 1));
    frames::write_parquet(&project.prices(), &mut later).unwrap();
    let refused = run(folder, &["work", &plan, "--task", "0"]).refusal();
    assert!(refused.contains("other: prices"), "{refused}");
    fs::write(project.prices(), prices).unwrap();
    assert!(files_below(&folder.join("network.rows")) == results);
    // Fits of another corpus are refused, too.
    let plan = planned_again(folder, "surprise", "refit_days = 30", "refit_days = 31");
    let parts = Project::new(folder.join(".inkstone")).clean();
    fs::copy(parts.path(1), parts.path(0)).unwrap();
    let results = files_below(&folder.join("surprise.rows"));
    let refused = run(folder, &["work", &plan, "--task", "0"]).refusal();
    assert!(refused.contains("the corpus is not the one that the plan was made for"), "{refused}");
    assert!(files_below(&folder.join("surprise.rows")) == results);
}

/// The file of a new plan of a feature that was computed before: its settings have changed.
fn planned_again(folder: &Path, feature: &str, from: &str, to: &str) -> String {
    let config = folder.join("workbench.toml");
    let text = fs::read_to_string(&config).unwrap().replace(from, to);
    fs::write(&config, text).unwrap();
    planned(folder, feature);
    format!("{feature}.plan")
}
