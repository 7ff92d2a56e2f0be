//! Faults of the machine in a run: a full disk, a folder that cannot be written, limits, signals, readers that are gone. Each time the
//! program says what happened and the way out, and the next run goes on to the same bytes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::demo::small;
use crate::desk::Desk;
use crate::{Ran, assert_nothing_half_written, assert_same_files, assert_says, inkstone, results, run, stage, through};
use inkstone_testing::not_tried;

const DEMO: [&str; 8] = ["demo", "--headless", "--scale", "0.1", "--dir", "demo", "--threads", "2"];

/// True if this machine lets a test mount a disk of its own; where it does not, the test is listed as not tried.
fn may_mount() -> bool {
    let mount = "mount -t tmpfs -o size=16k none \"$0\" && mount -o remount,ro \"$0\"";
    let there = tempfile::tempdir().unwrap();
    let tried = Command::new("unshare").args(["-rm", "sh", "-c", mount]).arg(there.path()).output();
    let may = tried.is_ok_and(|output| output.status.success());
    if !may {
        not_tried("this machine refuses unshare -rm");
    }
    may
}

/// The program under a line of shell that comes before it (`ulimit -n 20`).
pub(crate) fn under(limit: &str, folder: &Path, args: &[&str]) -> Command {
    let mut command = through(&["sh", "-c", &format!("{limit}; exec \"$0\" \"$@\"")], folder, args);
    command.env_remove("RUST_BACKTRACE");
    command
}

pub(crate) fn ran_under(limit: &str, folder: &Path, args: &[&str]) -> Ran {
    Ran::of(under(limit, folder, args).output().unwrap())
}

/// The tests that a ledger has counted, and what is wrong with it.
fn ledger_of(folder: &Path) -> (usize, Value) {
    let json = run(folder, &["ledger"]).finished();
    (json["trials"].as_array().map_or(0, Vec::len), json["problems"].clone())
}

/// On a disk of so many kilobytes, then on the same disk with room.
const ON_A_SMALL_DISK: &str = r#"
mount -t tmpfs -o size="$2"k none "$1" && cd "$1" || exit 99
shift 2
timeout 400 "$@" > "$OUT/full.json" 2> "$OUT/full.err"; echo $? > "$OUT/full.code"
find . -name '.tmp-*' > "$OUT/left"
mount -o remount,size=300m . || exit 98
timeout 400 "$@" > "$OUT/again.json" 2> "$OUT/again.err"; echo $? > "$OUT/again.code"
cp -r demo "$OUT/demo"
"#;

#[test]
fn a_full_disk_is_named_at_every_stage_and_with_room_the_run_goes_on_to_the_same_bytes() {
    if !may_mount() {
        return;
    }
    // What is met in turn: ingest, the feature store early and late, the export.
    for kilobytes in ["4000", "7600", "11000", "15500"] {
        let (disk, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let program = inkstone(disk.path(), &DEMO);
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", ON_A_SMALL_DISK, "sh"]).arg(disk.path()).arg(kilobytes);
        command.arg(program.get_program()).args(DEMO).env("OUT", out.path()).env("ORT_DYLIB_PATH", crate::library());
        let shell = command.output().unwrap();
        assert!(shell.status.success(), "{shell:?}");

        let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap();
        let ran = |name: &str| Ran {
            code: read(&format!("{name}.code")).trim().parse().ok(),
            stdout: read(&format!("{name}.json")).into_bytes(),
            stderr: read(&format!("{name}.err")),
        };
        let error = ran("full").refusal();
        assert!(error.contains("No space left on device") || error.contains("there is no room for"), "{error}");
        assert_says(&error, &["demo/", "make room on that disk", "what was finished is kept"]);
        assert_eq!(read("left"), "", "half-written files stay");
        ran("again").finished();
        let made = out.path().join("demo");
        assert_same_files(&small().results(), &results(&made));
        assert_eq!(ledger_of(&made), ledger_of(small().copy().path()));
    }
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_death() {
    let folder = tempfile::tempdir().unwrap();
    let ran = ran_under("ulimit -f 800", folder.path(), &DEMO);
    assert_says(&ran.refusal(), &["cannot write", "model.onnx", "File too large", "ulimit -f"]);
    assert_nothing_half_written(folder.path());
}

/// Commands that print, with what is not their own business left out.
const PRINTING: [&[&str]; 12] = [
    &["run", "--headless"],
    &["trace", "tone", "--quantile", "2"],
    &["ledger"],
    &["store", "stats"],
    &["keys"],
    &["completions", "bash"],
    &["man"],
    &["--help"],
    &["train", "ngram", "--help"],
    &["doctor"],
    &["read", "news.csv"],
    &["picture", "--keys", "7", "--output", "page.txt"],
];

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_an_error() {
    let desk = Desk::new();
    desk.run().finished();
    for args in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = inkstone(desk.folder(), args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ran = Ran::of(output.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert_says(&ran.stderr, &["error: ", "No space left on device"]);
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_in_silence() {
    let desk = Desk::new();
    desk.run().finished();
    for args in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = inkstone(desk.folder(), args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert!(matches!(ran.code, Some(0 | 1)) || args == ["read", "news.csv"], "{args:?}: {:?}", ran.code);
        for word in ["panicked", "Broken pipe", "os error"] {
            assert!(!ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
        }
    }
    let text = "公司公告净利润大幅增长\n".repeat(100_000);
    desk.write("big.txt", &text);
    let mut command = inkstone(desk.folder(), &["tokenize"]);
    command.stdin(File::open(desk.folder().join("big.txt")).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("净利润"), "{line}");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn nobody_who_hears_its_progress_is_no_reason_to_stop() {
    let (heard, unheard) = (Desk::new(), Desk::new());
    heard.run().finished();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = inkstone(unheard.folder(), &["run", "--headless"]).stdout(Stdio::piped()).stderr(writer).spawn();
    let output = child.unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_same_files(&results(heard.folder()), &results(unheard.folder()));
}

#[test]
fn each_signal_stops_a_run_with_its_own_exit_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)] {
        let folder = tempfile::tempdir().unwrap();
        // Tests that nohup started would start programs that do not hear SIGHUP.
        let mut command = through(&["env", "--default-signal=HUP"], folder.path(), &DEMO);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut error_text = String::new();
        while !error_text.contains("\ningest ") {
            assert!(stderr.read_line(&mut error_text).unwrap() > 0, "it ended too soon:\n{error_text}");
        }
        let signalled = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(signalled.success());
        // Both pipes are emptied at once, or a run that ended nevertheless would wait for ever to say so.
        let rest = thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).map(|_| rest)
        });
        let ran = Ran::of(child.wait_with_output().unwrap());
        error_text += &rest.join().unwrap().unwrap();
        let json = ran.json();
        assert_eq!((ran.code, &json["status"]), (Some(code), &"cancelled".into()), "{json:#}\n{error_text}");
        assert_eq!(json["signal"], format!("SIG{signal}"));
        assert_says(&error_text, &["stopping", "what was finished is kept"]);
        assert_nothing_half_written(folder.path());
        assert!(!folder.path().join("demo/exports/manifest.json").exists());
        if signal == "TERM" {
            let again = run(folder.path(), &DEMO).finished();
            assert_eq!(stage(&again, "ingest")["unchanged"], true);
            assert_same_files(&small().results(), &results(&folder.path().join("demo")));
        }
    }
}

#[test]
fn what_was_started_by_nohup_outlives_the_terminal() {
    let desk = Desk::new();
    let mut command = under("trap '' HUP", desk.folder(), &["run", "--headless"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut error_text = String::new();
    stderr.read_line(&mut error_text).unwrap();
    let _ = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    stderr.read_to_string(&mut error_text).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0), "{error_text}");
}

#[test]
fn without_memory_there_is_a_last_word_and_the_next_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut last_words = 0;
    // With less the system cannot even load the program.
    for megabytes in [200, 260, 320, 400] {
        let ran = ran_under(&format!("ulimit -v {}", megabytes * 1024), folder.path(), &DEMO);
        match ran.code {
            Some(137) => {
                last_words += 1;
                assert_says(
                    &ran.stderr,
                    &["out of memory: the system refused ", "--threads", "What was finished is kept"],
                );
                assert_eq!(ran.text(), "");
            }
            Some(2) => assert_says(&ran.stderr, &["error: "]),
            Some(0) => {}
            code => panic!("{megabytes} MB: {code:?}\n{}", ran.stderr),
        }
        for word in ["panicked", "memory allocation of"] {
            assert!(!ran.stderr.contains(word), "{megabytes} MB: {}", ran.stderr);
        }
    }
    assert!(last_words > 0, "no limit was too small");
    run(folder.path(), &DEMO).finished();
    assert_nothing_half_written(&folder.path().join("demo"));
    assert_same_files(&small().results(), &results(&folder.path().join("demo")));
}

#[test]
fn threads_and_files_that_are_not_to_be_had_are_named_with_the_way_out() {
    let desk = Desk::new();
    // Stacks that no machine has: the system refuses the threads.
    let ran = ran_under("export RUST_MIN_STACK=1000000000000000", desk.folder(), &["run", "--headless"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_says(&ran.stderr, &["thread", "--threads"]);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);

    let ran = ran_under("ulimit -n 9", desk.folder(), &["run", "--headless"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_says(&ran.stderr, &["Too many open files", "ulimit -n"]);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    desk.run().finished();
}

/// With a part of the project on a disk that is only read.
const READ_ONLY: &str = r#"
mount --bind "$PART" "$PART" && mount -o remount,ro,bind "$PART" || exit 99
exec "$@"
"#;

#[test]
fn a_folder_that_cannot_be_written_is_named_before_anything_is_run_and_readers_go_on() {
    let desk = Desk::new();
    desk.run().finished();
    desk.write("news.csv", crate::desk::news().replace("第0日", "首日"));
    let reports = desk.folder().join("reports");
    let kept = desk.folder().join("reports of before");
    fs::rename(&reports, &kept).unwrap();
    desk.write("reports", "a file where a folder is to be");
    assert_says(&desk.run().refusal(), &["cannot write in", "reports", "nothing was run"]);
    fs::remove_file(&reports).unwrap();
    fs::rename(&kept, &reports).unwrap();
    if !may_mount() {
        return;
    }
    let on = |part: &str, args: &[&str]| {
        let program = inkstone(desk.folder(), args);
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", READ_ONLY, "sh"]).arg(program.get_program()).args(args);
        command.current_dir(desk.folder()).env("PART", part).env("ORT_DYLIB_PATH", crate::library());
        Ran::of(command.stdin(Stdio::null()).output().unwrap())
    };
    let before = results(desk.folder());
    for part in ["reports", ".inkstone", ".inkstone/ledger", ".inkstone/features.sled"] {
        let error = on(part, &["run", "--headless"]).refusal();
        assert_says(&error, &["cannot ", "Read-only file system", "make that place writable"]);
        assert_same_files(&before, &results(desk.folder()));
    }
    for args in PRINTING {
        // The store takes a lock in its folder, and says so.
        if matches!(args, ["run", ..] | ["store", ..] | ["read", ..]) {
            continue;
        }
        let ran = on(".inkstone", args);
        assert!(matches!(ran.code, Some(0 | 1)), "{args:?}: {}", ran.stderr);
    }
}
