//! The list of what this machine could not try, printed on stderr when the test process ends, whatever the test runner captures.
//!
//! With `INKSTONE_NOT_TRIED=FILE` the lines are added to that file as well, so that a script can show one list for several test processes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, Once};

static LIST: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());

/// Adds a line to the list: the claim that a test could not check here, and the reason.
pub(crate) fn not_tried(claim: &'static str, reason: impl Into<String>) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(print_at_exit);
    LIST.lock().expect("no test panics while it holds the list").insert(claim, reason.into());
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn print_at_exit() {
    extern "C" fn print() {
        let Ok(list) = LIST.lock() else { return };
        let mut lines = String::new();
        for (claim, reason) in list.iter() {
            lines += &format!("NOT TRIED on this machine: {claim} ({reason})\n");
        }
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
