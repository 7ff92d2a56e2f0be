//! Documents that are files: each is read or refused with a reason, and its figures are shares.

use inkstone_corpus::ingest::papers::{Limits, read_file};

use super::{ctx, with_file};

pub(super) fn html(bytes: &[u8]) {
    paper("20240301.html", bytes);
}

pub(super) fn pdf(bytes: &[u8]) {
    paper("20240301.pdf", bytes);
}

pub(super) fn text(bytes: &[u8]) {
    paper("20240301.txt", bytes);
}

/// Reads a document.
pub(super) fn paper(name: &str, bytes: &[u8]) {
    let limits = Limits { max_pages: 20, max_garbled: 0.5 };
    match with_file(name, bytes, |path| read_file(path, &limits, None, ctx())).expect("no one cancels") {
        Ok(paper) => {
            let shares = [paper.quality.unmapped, paper.quality.garbled];
            // What is typed is taken as it is.
            let most = if name.ends_with(".txt") { 1.0 } else { limits.max_garbled };
            assert!(shares.iter().all(|share| (0.0..=most).contains(share)), "{shares:?}");
            assert!(paper.pages <= limits.max_pages);
            paper.published("20240301");
        }
        Err(refused) => assert!(!refused.reason.is_empty()),
    }
}
