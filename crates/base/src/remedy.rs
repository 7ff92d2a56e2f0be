//! Remedies for faults of the machine, put at the end of an error.

use anyhow::Error;

/// Signs in the system's messages, and the remedy for each.
const REMEDIES: [(&[&str], &str); 9] = [
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
        &["Input/output error (os error"],
        "the disk may be failing: look at the log of the system (dmesg), copy the project to another disk and run again",
    ),
    (
        &["Transport endpoint is not connected", "Stale file handle"],
        "that disk has gone away: mount it again and run again",
    ),
];

/// An error with all its causes, and a remedy where the machine is at fault.
pub fn with_remedy(error: &Error) -> String {
    // Causes that travel as text, as those within Parquet, count as well: the system's words are the same in every language.
    let text = without_repeats(error);
    match REMEDIES.iter().find(|(signs, _)| signs.iter().any(|sign| text.contains(sign))) {
        Some((_, remedy)) => format!("{text}; {remedy}"),
        None => text,
    }
}

/// The chain of causes; a cause that repeats the end of the one before it is left out.
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
        let text = with_remedy(&full);
        assert!(text.starts_with("cannot write a.csv: No space left"), "{text}");
        assert!(text.contains("make room on that disk") && text.contains("what was finished is kept"), "{text}");
        let parquet = anyhow!("parquet: underlying IO error: Read-only file system (os error 30)");
        assert!(super::with_remedy(&parquet).contains("make that place writable"));
    }

    #[test]
    fn other_errors_stay_as_they_are_and_a_cause_is_said_once() {
        assert_eq!(with_remedy(&anyhow!("row 3").context("news.csv")), "news.csv: row 3");
        let twice = Err::<(), _>(io::Error::other("no luck")).map_err(|e| anyhow!("{e}").context("no luck"));
        assert_eq!(with_remedy(&twice.context("cannot").unwrap_err()), "cannot: no luck");
    }
}
