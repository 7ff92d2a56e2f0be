//! Long runs of a contextual model that are stopped: killed, interrupted, without room on the disk. What was computed is kept.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inkstone_store::{Store, Values};
use inkstone_tables::project::Project;
use serde_json::Value;
use tempfile::TempDir;

use crate::onnx::graph;
use crate::{Ran, assert_says, files_below, has_library, inkstone, run, stage};

/// Documents, each with a text of its own that is read in some thirty windows.
const DOCUMENTS: usize = 400;
const EXTRACT: [&str; 4] = ["extract", "-c", "workbench.toml", "--headless"];

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = ["营业收入", "净利润", "订单", "毛利率", "现金流", "费用", "份额", "产能"];
    let mut news = String::from("doc_id,published_at,title,body,codes\n");
    for i in 0..DOCUMENTS {
        let sentence =
            |j: usize| format!("公司{}同比增长{}%，", words[(i * 7 + j * 3) % words.len()], (i * 13 + j * 29) % 97);
        let body: String = (0..16 + i % 9).map(sentence).collect();
        news += &format!("d{i},2024-03-{:02} 10:00:00,第{i}号公告,\"{body}\",600001.SH\n", 1 + i % 28);
    }
    fs::write(folder.path().join("news.csv"), news).unwrap();
    let config = format!(
        "[project]\nname = \"runs\"\n\n[onnx]\ndevice = \"cpu\"\n\n[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n\
         [[feature]]\nname = \"bert\"\nmodel = \"onnx\"\n\
         onnx = {{ model = \"{}\", fitted_until = \"2023-12-31\", stride = 8, batch_tokens = 40 }}\n",
        graph("bert")
    );
    fs::write(folder.path().join("workbench.toml"), config).unwrap();
    folder
}

/// The bits of all rows of the feature.
fn bits(folder: &Path) -> Vec<u32> {
    let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
    let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == "bert").unwrap();
    let set = store.set(&header.id()).unwrap().unwrap();
    let values = |rows: inkstone_store::Rows| match rows.values {
        Values::Dense { data, .. } => data,
        Values::Sparse { .. } => panic!("the set is sparse"),
    };
    set.batches().flat_map(|rows| values(rows.unwrap())).map(f32::to_bits).collect()
}

/// Starts the run and waits until the model has worked for a moment.
fn under_way(folder: &Path) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = inkstone(folder, &EXTRACT).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut message = String::new();
    while !message.contains("\nlink ") {
        assert!(stderr.read_line(&mut message).unwrap() > 0, "it ended too soon:\n{message}");
    }
    std::thread::sleep(Duration::from_millis(700));
    (child, stderr)
}

fn facts(json: &Value) -> &Value {
    &stage(json, "extract bert")["facts"]
}

#[test]
fn a_killed_run_computes_no_window_twice_and_ends_with_the_same_bytes() {
    if !has_library() {
        return;
    }
    let uninterrupted = project();
    let undisturbed = run(uninterrupted.path(), &EXTRACT).finished();
    let windows = facts(&undisturbed)["windows"].as_u64().unwrap();
    assert_eq!(facts(&undisturbed)["windows_kept_from_before"], 0);

    let killed = project();
    for _ in 0..2 {
        let (mut child, _) = under_way(killed.path());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let json = run(killed.path(), &EXTRACT).finished();
    let kept = facts(&json)["windows_kept_from_before"].as_u64().unwrap();
    assert!(kept > 0 && kept < windows, "{kept} of {windows}: {json:#}");
    assert_eq!(facts(&json)["windows"], windows);
    assert!(bits(uninterrupted.path()) == bits(killed.path()));
    let again = run(killed.path(), &EXTRACT).finished();
    assert_eq!(stage(&again, "extract bert")["unchanged"], true);
}

#[test]
fn ctrl_c_ends_a_run_and_keeps_its_windows() {
    if !has_library() {
        return;
    }
    let folder = project();
    let (child, mut stderr) = under_way(folder.path());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut message = String::new();
    stderr.read_to_string(&mut message).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    let json = ran.json();
    assert_eq!((ran.code, json["status"].as_str()), (Some(130), Some("cancelled")), "{json:#}\n{message}");
    let json = run(folder.path(), &EXTRACT).finished();
    assert!(facts(&json)["windows_kept_from_before"].as_u64().unwrap() > 0, "{json:#}");
}

#[test]
fn a_disk_that_fills_leaves_nothing_half_written() {
    if !has_library() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.txt"), "净利润同比增长，订单下滑\n".repeat(2_000)).unwrap();
    fs::write(folder.path().join("rows.csv"), "what was there before").unwrap();
    let program = inkstone(folder.path(), &["embed", "--model", &graph("bert"), "-i", "news.txt", "-o", "rows.csv"]);
    let mut limited = Command::new("sh");
    // Files of at most 64 KB; the signal that comes with it is left out, as on a full disk.
    limited.current_dir(folder.path()).arg("-c").arg("trap '' XFSZ; ulimit -f 64; exec \"$@\"").arg("sh");
    limited.arg(program.get_program()).args(program.get_args()).env("ORT_DYLIB_PATH", crate::library());
    let ran = Ran::of(limited.stdin(Stdio::null()).output().unwrap());
    assert_says(&ran.refusal(), &["rows.csv"]);
    let files = files_below(folder.path());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["news.txt", "rows.csv"]);
    assert_eq!(files["rows.csv"], b"what was there before");
}
