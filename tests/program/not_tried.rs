//! What this machine cannot try, said in two places: on standard error, where libtest cannot swallow it as it does with all that a passing
//! test prints, and as a line of `not-tried.txt` in the target folder, where all of it can be read at the end.

use std::fs::OpenOptions;
use std::io::Write;

/// Notes that the test of this thread, or a part of it, was not tried, and why.
pub(crate) fn not_tried(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {}\n", thread.name().unwrap_or("a test"), reason.replace('\n', " "));
    let _ = write!(std::io::stderr(), "NOT TRIED {line}");
    // target/debug/deps/program-0123 is the test.
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.ancestors().nth(3).expect("a test lies in target/debug/deps");
    let file = OpenOptions::new().append(true).create(true).open(target.join("not-tried.txt"));
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("not-tried.txt can be written");
}
