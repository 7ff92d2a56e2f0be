//! Files that the program writes for itself: the ledger's second copy, manifests, where the workbench was left.

use inkstone_lab::export::{Manifest, difference};
use inkstone_store::copied;
use inkstone_tui::read_session;

use super::with_file;

pub(super) fn journal(bytes: &[u8]) {
    with_file("copy", bytes, |path| {
        let folder = path.parent().expect("a temporary folder");
        let Ok(frames) = copied(folder) else { return };
        assert!(frames.values().map(Vec::len).sum::<usize>() <= bytes.len());
    });
}

pub(super) fn manifests(bytes: &[u8]) {
    with_file("manifest.json", bytes, |path| {
        let Ok(manifest) = Manifest::read(path) else { return };
        let difference = difference(&manifest, &manifest);
        assert!(difference.changed.is_empty() && difference.missing.is_empty());
    });
}

pub(super) fn sessions(bytes: &[u8]) {
    with_file("session.json", bytes, |path| {
        let Some(text) = read_session(path) else { return };
        std::fs::write(path, &text).expect("a file in a temporary folder");
        assert_eq!(read_session(path), Some(text));
    });
}
