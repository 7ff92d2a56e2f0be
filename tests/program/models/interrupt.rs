//! Ctrl-C while a model reads: it stops, and no file tells of it.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{CASES, corpus, folder};
use crate::{Ran, files_below, inkstone};

#[test]
fn ctrl_c_during_training_leaves_nothing() {
    for case in CASES {
        let folder = folder();
        let before = files_below(folder.path());
        let fixed = ["train", case.name, "--input", "-", "--format", "jsonl", "--output", "model"];
        let mut command = inkstone(folder.path(), &[&fixed, case.flags].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let text = corpus::jsonl(96);
        // Far more than the pipe and a block hold: by then the program reads, and it is given no end.
        let mut given = 0;
        let mut is_signalled = false;
        while pipe.write_all(text.as_bytes()).is_ok() {
            given += text.len();
            if given > 6 << 20 && !is_signalled {
                is_signalled = true;
                assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
            }
        }
        let ran = Ran::of(child.wait_with_output().unwrap());
        let json = ran.json();
        assert_eq!((ran.code, json["status"].as_str()), (Some(130), Some("cancelled")), "{}: {json:#}", case.name);
        let left = files_below(folder.path());
        assert!(left == before, "{}: {:?}", case.name, left.keys());
    }
}
