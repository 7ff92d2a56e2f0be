//! The real program, driven as its user drives it: files, flags, keys and signals in; exit codes, JSON and tables out.
//!
//! Each test works in a folder of its own. The demo markets that several tests read are made once and copied by those that
//! change them.

mod answers;
mod audit;
mod bad_input;
#[cfg(unix)]
mod circles;
#[cfg(unix)]
mod course;
mod crash;
mod damage;
mod demo;
mod desk;
mod documents;
#[cfg(unix)]
mod durable;
mod encoders;
#[cfg(unix)]
mod evening;
mod events;
mod experiment;
mod fadt;
#[cfg(unix)]
mod faults;
mod folders;
mod forecast;
#[cfg(unix)]
mod fronts;
mod gaps;
mod hostile;
#[cfg(unix)]
mod hour;
mod inputs;
mod labeller;
mod labels;
mod laboratory;
mod learned_words;
mod locks;
mod lstm;
mod models;
#[cfg(target_os = "linux")]
mod native;
mod near_events;
mod neighbours;
mod network;
mod onnx;
#[cfg(unix)]
mod onnx_runs;
mod places;
#[cfg(unix)]
mod plain_user;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod reading;
mod relations;
#[cfg(unix)]
mod rewrite;
mod search;
mod stock;
mod store;
mod threads;
mod tools;
mod trace;
mod tree;
mod words;
#[cfg(unix)]
mod worker;
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use inkstone_base::job::Ctx;
use inkstone_onnx::Runtime;
use inkstone_onnx::runtime::install;
use serde_json::Value;

use inkstone_testing::not_tried;

/// Exit code and output of a run of the program.
struct Ran {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// The one JSON object on stdout; anything before or after it fails the test.
    fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is not one JSON value ({e}):\n{}\n{}", self.text(), self.stderr));
        assert!(value.is_object(), "stdout is not an object: {value}");
        value
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The message of a run that could not go on; it stands on stderr as well.
    fn refusal(&self) -> String {
        let json = self.json();
        assert_eq!((self.code, json["status"].as_str()), (Some(2), Some("failed")), "{json:#}\n{}", self.stderr);
        let error = json["error"].as_str().expect("a failed run says why").to_owned();
        assert!(self.stderr.contains(error.lines().next().unwrap_or_default()), "stderr is silent about {error}");
        error
    }

    /// The reasons why the run left features and factors out.
    fn left_out(&self) -> String {
        let json = self.finished();
        let left_out = json["left_out"].as_array().unwrap_or_else(|| panic!("nothing was left out: {json:#}"));
        let reason = |left_out: &Value| left_out["reason"].as_str().unwrap().to_owned();
        left_out.iter().map(reason).collect::<Vec<_>>().join("\n")
    }

    /// The JSON of a run that came to its end, with or without rows set aside.
    fn finished(&self) -> Value {
        let json = self.json();
        let status = json["status"].as_str();
        let pair = (self.code, status);
        assert!(matches!(pair, (Some(0), Some("done")) | (Some(1), Some("partial"))), "{json:#}\n{}", self.stderr);
        json
    }
}

/// The library of ONNX Runtime: one that is on this machine, else one that is installed beside the build as `doctor --fix` installs it;
/// or why there is none.
fn found_library() -> Result<&'static Path, &'static str> {
    static LIBRARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = LIBRARY.get_or_init(|| {
        let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("onnxruntime");
        if Runtime::load(None).is_err() && !beside.exists() {
            install(&beside, false, &Ctx::new(1, 1).unwrap()).map_err(|error| format!("{error:#}"))?;
        }
        let there = Some(beside.as_path()).filter(|folder| folder.exists());
        Ok(Runtime::load(there).expect("a library that is there can be loaded").library.clone())
    });
    found.as_deref().map_err(String::as_str)
}

/// True if there is a library of ONNX Runtime; otherwise the test of this thread is listed as not tried.
fn has_library() -> bool {
    found_library().map_err(not_tried).is_ok()
}

/// The value of `ORT_DYLIB_PATH` for programs that tests start: empty, which is as good as not set, where there is no library.
fn library() -> &'static Path {
    found_library().unwrap_or(Path::new(""))
}

/// The program in a folder, with no terminal and no setting of the machine's user.
fn inkstone(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkstone"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    for name in ["LANG", "LC_ALL", "LC_MESSAGES"] {
        command.env_remove(name);
    }
    command.env("ORT_DYLIB_PATH", library());
    command
}

/// The program started by another one, which gets the program and its arguments after its own.
#[cfg(unix)]
fn through(launcher: &[&str], folder: &Path, args: &[&str]) -> Command {
    let program = inkstone(folder, args);
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).arg(program.get_program()).args(args).current_dir(folder).stdin(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The program run by a user whom permissions stop: root runs it without the capabilities that override them. None where that fails.
#[cfg(unix)]
fn unprivileged(folder: &Path, args: &[&str]) -> Option<Command> {
    let probe = tempfile::tempdir().expect("a folder can be made");
    let locked = probe.path().join("locked");
    fs::write(&locked, "").expect("a file can be written");
    let mut permissions = fs::metadata(&locked).expect("the file is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o000);
    fs::set_permissions(&locked, permissions).expect("the owner sets permissions");
    if fs::File::open(&locked).is_err() {
        return Some(inkstone(folder, args));
    }
    let setpriv = ["--bounding-set", "-dac_override,-dac_read_search", "--"];
    let read = Command::new("setpriv").args(setpriv).arg("cat").arg(&locked).stderr(Stdio::null()).status();
    if read.ok().and_then(|status| status.code()) != Some(1) {
        not_tried("root may do everything, and setpriv cannot drop that here");
        return None;
    }
    let setpriv: Vec<&str> = ["setpriv"].into_iter().chain(setpriv).collect();
    Some(through(&setpriv, folder, args))
}

/// A command that finds ONNX Runtime.
fn with_library(folder: &Path, args: &[&str]) -> Ran {
    Ran::of(inkstone(folder, args).env("ORT_DYLIB_PATH", library()).output().unwrap())
}

fn run(folder: &Path, args: &[&str]) -> Ran {
    Ran::of(inkstone(folder, args).output().expect("the program starts"))
}

/// Runs the program on what a pipe brings.
fn run_on(folder: &Path, args: &[&str], stdin: &[u8]) -> Ran {
    let mut command = inkstone(folder, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut pipe = child.stdin.take().expect("the pipe was asked for");
    // A program that refuses its flags may have ended before it reads anything.
    if let Err(error) = pipe.write_all(stdin) {
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{error}");
    }
    drop(pipe);
    Ran::of(child.wait_with_output().expect("the program ends"))
}

/// Fails unless every one of these stands in the text.
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
}

/// A stage's report in a run's JSON.
fn stage<'j>(json: &'j Value, name: &str) -> &'j Value {
    let stages = json["stages"].as_array().expect("a run lists its stages");
    stages.iter().find(|s| s["stage"] == name).unwrap_or_else(|| panic!("no stage {name} in {json:#}"))
}

/// The stages that a run did not keep from before, in order.
fn computed(json: &Value) -> Vec<&str> {
    let stages = json["stages"].as_array().expect("a run lists its stages");
    stages.iter().filter(|s| s["unchanged"] == false).filter_map(|s| s["stage"].as_str()).collect()
}

/// The files below a folder with their bytes, by path.
fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.expect("the folder can be read");
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(folder).expect("it lies below the folder").display().to_string();
            files.insert(path, fs::read(entry.path()).expect("the file can be read"));
        }
    }
    files
}

/// Fails with the names of the temporary files that somebody left.
#[cfg(unix)]
fn assert_nothing_half_written(folder: &Path) {
    let files = files_below(folder);
    let half: Vec<&String> = files.keys().filter(|path| path.contains(".tmp-")).collect();
    assert!(half.is_empty(), "{half:?}");
}

const LEFT_OUT: [&str; 8] =
    ["features.sled", "ledger", "state.json", "lock", "desk.lock", "session.json", "log/", "detached.log"];

/// Everything that a project's results consist of: what must be byte-equal however a run came to its end. The files of the feature
/// store are left out, whose layout tells in which order they were written (the factors show what they hold), those of the ledger,
/// which tells when each test ran, what the workbench notes of itself and of who is at work, and what a project notes of its earlier runs.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for part in ["exports", ".inkstone"] {
        for (path, bytes) in files_below(&folder.join(part)) {
            let of_runs = path.ends_with(".history.json") || path.ends_with("revisions.parquet") || path == "told.json";
            if !of_runs && !LEFT_OUT.iter().any(|left_out| path.starts_with(left_out)) {
                files.insert(format!("{part}/{path}"), bytes);
            }
        }
    }
    files
}

/// Fails with the names of the files that differ, not with their bytes.
fn assert_same_files(left: &BTreeMap<String, Vec<u8>>, right: &BTreeMap<String, Vec<u8>>) {
    assert!(left.keys().eq(right.keys()), "other files: {:?} and {:?}", left.keys(), right.keys());
    let differ: Vec<&String> =
        left.iter().filter(|&(path, bytes)| right[path] != *bytes).map(|(path, _)| path).collect();
    assert!(differ.is_empty(), "these files differ: {differ:?}");
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("the folder can be read");
        let target = to.join(entry.path().strip_prefix(from).expect("it lies below the folder"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).expect("the copy can be made");
        } else {
            fs::copy(entry.path(), &target).expect("the copy can be made");
        }
    }
}

/// Changes one place of a text file, which must hold it exactly once.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("the file can be read");
    assert_eq!(text.matches(from).count(), 1, "{from:?} in {}", path.display());
    fs::write(path, text.replace(from, to)).expect("the file can be written");
}
