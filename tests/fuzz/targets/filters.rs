//! The filter of the corpus page: a line is read, or wrong at one of its characters; blanks around it mean nothing.

use inkstone_tui::read_filter;

pub(super) fn check(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    let read = read_filter(line);
    if let Err(at) = read {
        assert!((1..=line.chars().count()).contains(&at), "{at} of {line:?}");
    }
    assert_eq!(read_filter(&format!(" {line}")), read.map_err(|at| at + 1));
}
