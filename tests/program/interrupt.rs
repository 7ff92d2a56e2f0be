//! Stopped by its user, a run leaves nothing half-written and the next one goes on from there.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::demo::third;
use crate::{Ran, assert_same_files, assert_says, files_below, inkstone, results, run, stage};

const DEMO: [&str; 6] = ["demo", "--headless", "--scale", "0.3", "--dir", "."];

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = inkstone(folder.path(), &DEMO);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("\ningest ") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended too soon:\n{said}");
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    stderr.read_to_string(&mut said).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());

    let json = ran.json();
    assert_eq!((ran.code, json["status"].as_str()), (Some(130), Some("cancelled")), "{json:#}\n{said}");
    assert_says(&said, &["stopping", "what was finished is kept"]);
    assert_nothing_half_written(folder.path());
    assert!(!folder.path().join("exports/manifest.json").exists());

    let again = run(folder.path(), &DEMO).finished();
    assert_eq!(stage(&again, "ingest")["unchanged"], true);
    assert_same_files(&third().results(), &results(folder.path()));
}

fn assert_nothing_half_written(folder: &Path) {
    let files = files_below(folder);
    let half: Vec<&String> = files.keys().filter(|path| path.contains(".tmp-")).collect();
    assert!(half.is_empty(), "{half:?}");
}
