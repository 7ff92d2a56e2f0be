//! What the program asks of the system, call by call: what a loss of power leaves of its files at any moment, and what becomes of it
//! when any one of its calls fails.
//!
//! Every run of `cargo test` tries a sample that it draws anew. `INKSTONE_TEST_SEED=N` draws the same sample again; `INKSTONE_TEST_EVERY=1` tries
//! everything, which takes hours; `INKSTONE_TEST_ORDERED=1` takes the file system to be ext4 instead of anything that POSIX allows.
//!
//! The tests need Linux on x86-64 that lets a program trace its children. Elsewhere they say that they were not tried.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;

use std::fs::File;
use std::io::{self, Write};

/// Notes that the test of this thread was not tried, and why: on standard error, where libtest cannot swallow it, and as a line of
/// `not-tried.txt` in the target folder.
fn not_tried(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {}\n", thread.name().unwrap_or("a test"), reason.replace('\n', " "));
    let _ = write!(io::stderr(), "NOT TRIED {line}");
    // target/debug/deps/calls-0123 is the test.
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.ancestors().nth(3).expect("a test lies in target/debug/deps");
    let list = File::options().append(true).create(true).open(target.join("not-tried.txt"));
    list.and_then(|mut list| list.write_all(line.as_bytes())).expect("not-tried.txt can be written");
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn losses_of_power_and_failing_calls_are_tried_on_linux() {
    not_tried("only Linux on x86-64 lets these tests trace the program");
}
