//! What can be done where the machine, not the input, is at fault: the last words of an error.

use anyhow::Error;

/// What the system says, and the way out.
const REMEDIES: [(&[&str], &str); 8] = [
    (
        &["No space left on device", "no room for"],
        "make room on that disk, or move the project to another, and run the same command again: what was finished is kept",
    ),
    (
        &["quota exceeded", "Quota exceeded"],
        "make room within your quota on that disk and run the same command again: what was finished is kept",
    ),
    (&["File too large (os error"], "files may not grow to that size here: raise the limit (ulimit -f) and run again"),
    (
        &["Read-only file system", "Permission denied (os error", "Operation not permitted (os error"],
        "make that place writable for you, or name another one in the configuration or by a flag",
    ),
    (&["Too many open files"], "allow more open files (ulimit -n 1024) and run again, or take fewer --threads"),
    (
        &["Cannot allocate memory", "Failed to allocate memory"],
        "take fewer --threads, raise the limit of memory (ulimit -v), or close other programs; what was finished is kept",
    ),
    (
        &["Resource temporarily unavailable (os error"],
        "no more threads are to be had: take fewer --threads, or allow more (ulimit -u)",
    ),
    (
        &["Transport endpoint is not connected", "Stale file handle"],
        "that disk has gone away: mount it again and run again",
    ),
];

/// An error with all its causes, and what can be done about it where the machine is at fault.
pub fn told(error: &Error) -> String {
    // Causes that travel as text, as those within Parquet, count as well: the system's words are the same in every language.
    let text = without_repeats(error);
    match REMEDIES.iter().find(|(signs, _)| signs.iter().any(|sign| text.contains(sign))) {
        Some((_, remedy)) => format!("{text}; {remedy}"),
        None => text,
    }
}

/// The chain of causes; one that only says what the one before it said is left out.
fn without_repeats(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text += ": ";
            text += &cause;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_fault_of_the_machine_is_told_with_the_way_out() {
        let full = Error::from(io::Error::from_raw_os_error(28)).context("cannot write a.csv");
        let told = told(&full);
        assert!(told.starts_with("cannot write a.csv: No space left"), "{told}");
        assert!(told.contains("make room on that disk") && told.contains("what was finished is kept"), "{told}");
        let parquet = anyhow!("parquet: underlying IO error: Read-only file system (os error 30)");
        assert!(super::told(&parquet).contains("make that place writable"));
    }

    #[test]
    fn other_errors_stay_as_they_are_and_a_cause_is_said_once() {
        assert_eq!(told(&anyhow!("row 3").context("news.csv")), "news.csv: row 3");
        let twice = Err::<(), _>(io::Error::other("no luck")).map_err(|e| anyhow!("{e}").context("no luck"));
        assert_eq!(told(&twice.context("cannot").unwrap_err()), "cannot: no luck");
    }
}
