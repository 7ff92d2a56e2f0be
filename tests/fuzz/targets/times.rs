//! Times: what is read lies within what a source can mean, and reads back from its own form.

use chrono::{Datelike, NaiveDateTime};
use inkstone_corpus::ingest::{read_time, read_time_in};

pub(super) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (format, text) = text.split_once('\n').unwrap_or(("", text));
    if let Some(time) = read_time(text) {
        assert!((1899..=2300).contains(&time.year()), "{time}");
        // Fractions of a second shorter than microseconds are not kept.
        let written = time.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
        assert!(read_time(&written) == Some(time) || !(1900..=2100).contains(&time.year()), "{written}");
    }
    for format in ["unix", "unix_ms", "excel", format] {
        if let Ok(Some(time)) = read_time_in(text, format) {
            assert!(time > NaiveDateTime::MIN);
        }
    }
}
