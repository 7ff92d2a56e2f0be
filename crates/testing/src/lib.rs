//! Helpers for the tests of several crates. [`not_tried`] lists what this machine could not test; the list is printed on stderr when the
//! test process ends, even if the test runner captures output.
//!
//! With `INKSTONE_NOT_TRIED=FILE` the lines are added to that file as well, so that a script can show one list for several test processes.
//!
//! ```no_run
//! inkstone_testing::not_tried("this machine has no Python");
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, Once};

static LIST: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Lists the test of this thread, or a part of it, as not tried, with the reason.
pub fn not_tried(reason: &str) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(print_at_exit);
    let thread = std::thread::current();
    let line = format!("NOT TRIED {}: {}\n", thread.name().unwrap_or("a test"), reason.replace('\n', " "));
    LIST.lock().expect("no test panics while it holds the list").insert(line);
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn print_at_exit() {
    extern "C" fn print() {
        let Ok(list) = LIST.lock() else { return };
        let lines: String = list.iter().map(String::as_str).collect();
        let _ = std::io::stderr().write_all(format!("\n{lines}").as_bytes());
        if let Some(path) = std::env::var_os("INKSTONE_NOT_TRIED") {
            let file = File::options().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(lines.as_bytes()));
        }
    }
    // SAFETY: the function takes no argument, does not unwind, and touches only what lives as long as the process.
    unsafe { libc::atexit(print) };
}

#[cfg(not(target_os = "linux"))]
fn print_at_exit() {
    let _ = writeln!(std::io::stderr(), "NOT TRIED: tests of this system leave out what needs Linux");
}
