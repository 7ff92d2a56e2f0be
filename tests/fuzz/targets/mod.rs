//! Properties of every reader that hold for any bytes: one function for each target, and the memory that it may take.
//!
//! cargo-fuzz calls them with bytes that it makes up, `tests/fuzz_replay.rs` with what was kept. A body holds a property, not
//! only that nothing panics, and makes nothing that outlives it.

mod archives;
mod arpa;
mod blocks;
mod codes;
mod configuration;
mod encodings;
mod exports;
mod expressions;
mod fasttext;
mod filters;
mod lists;
mod memory;
mod models;
mod own;
mod papers;
mod pieces;
mod tables;
mod times;
mod tokens;
mod truncation;
mod vectors;

use std::path::Path;
use std::sync::LazyLock;
#[cfg(test)]
use std::sync::{Mutex, MutexGuard, PoisonError};

use inkstone_base::job::Ctx;

/// A reader of bytes, and what it may take.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    check: fn(&[u8]),
    limit: Limit,
}

/// Bytes of memory for an input: a fixed part, and a part for each of its bytes.
#[derive(Clone, Copy)]
struct Limit {
    /// Held at once.
    peak: (usize, usize),
    /// Asked for in all, whether given back or not: the work that is done.
    total: (usize, usize),
}

/// Lines of text, which are copied a few times: read, decoded, split, and compared with themselves. The patterns of times
/// that they are searched for take a megabyte more.
const PLAIN: Limit = Limit { peak: (2 * MB, 64), total: (4 * MB, 2_000) };
/// Regular expressions: those of the lists of the user, each of which may be compiled to 1 MB, and words in capitals or not.
const PATTERNS: Limit = Limit { peak: (8 * MB, 64), total: (64 * MB, 2_000) };
/// Tables: a thread reads 256 KB at a time, the pool keeps its queues, the preview and the rows are held beside each other.
const TABLE: Limit = Limit { peak: (16 * MB, 200), total: (64 * MB, 20_000) };
/// Models: they are held as they are opened, saved and opened again, and asked; the first one brings a dictionary of 50 MB.
const MODEL: Limit = Limit { peak: (64 * MB, 200), total: (256 * MB, 20_000) };
/// Packed files: one may unpack to a thousand times its size, until the limit of its reader (96 MB and its size) ends it.
const PACKED: Limit = Limit { peak: (8 * MB, 4_000), total: (64 * MB, 20_000) };

const MB: usize = 1 << 20;

/// The targets.
pub(crate) const ALL: [Target; 34] = [
    Target { name: "arpa", check: arpa::check, limit: MODEL },
    Target { name: "blocks", check: blocks::check, limit: PLAIN },
    Target { name: "codes", check: codes::check, limit: PLAIN },
    Target { name: "configuration", check: configuration::check, limit: PLAIN },
    Target { name: "csv", check: tables::csv, limit: TABLE },
    Target { name: "decisions", check: lists::decisions, limit: PATTERNS },
    Target { name: "dictionaries", check: lists::dictionaries, limit: PLAIN },
    Target { name: "docx", check: archives::docx, limit: PACKED },
    Target { name: "encodings", check: encodings::check, limit: PLAIN },
    Target { name: "expressions", check: expressions::check, limit: PLAIN },
    Target { name: "fasttext", check: fasttext::check, limit: MODEL },
    Target { name: "filters", check: filters::check, limit: PATTERNS },
    Target { name: "html", check: papers::html, limit: PLAIN },
    Target { name: "journal", check: own::journal, limit: PLAIN },
    Target { name: "json", check: tables::json, limit: TABLE },
    Target { name: "manifests", check: own::manifests, limit: PLAIN },
    Target { name: "models", check: models::check, limit: MODEL },
    Target { name: "onnx", check: exports::header, limit: PLAIN },
    Target { name: "onnx_config", check: exports::config, limit: MODEL },
    Target { name: "parquet", check: tables::parquet, limit: PACKED },
    Target { name: "pdf", check: papers::pdf, limit: PACKED },
    Target { name: "pieces", check: pieces::check, limit: MODEL },
    Target { name: "published", check: exports::published, limit: MODEL },
    Target { name: "seals", check: blocks::seals, limit: PLAIN },
    Target { name: "sessions", check: own::sessions, limit: PLAIN },
    Target { name: "sheets", check: archives::sheets, limit: PACKED },
    Target { name: "static_encoder", check: exports::static_encoder, limit: MODEL },
    Target { name: "text", check: papers::text, limit: PLAIN },
    Target { name: "times", check: times::check, limit: PLAIN },
    Target { name: "tokens", check: tokens::check, limit: MODEL },
    Target { name: "truncation", check: truncation::check, limit: PLAIN },
    Target { name: "vectors", check: vectors::check, limit: MODEL },
    Target { name: "weights", check: exports::weights, limit: MODEL },
    Target { name: "words", check: lists::words, limit: PLAIN },
];

/// Bytes that a check took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) peak: usize,
    pub(crate) total: usize,
}

/// Checks some bytes, and that this takes no more than it may.
pub(crate) fn check(target: &str, bytes: &[u8]) -> Taken {
    let number = ALL.iter().position(|t| t.name == target).expect("a target of this name");
    let Target { check, limit, .. } = &ALL[number];
    let ((), taken) = counted_as(number, || check(bytes));
    for (what, taken, (base, each)) in [("held", taken.peak, limit.peak), ("asked for", taken.total, limit.total)] {
        let limit = base + each * bytes.len();
        assert!(taken <= limit, "{target} {what} {taken} bytes for an input of {}; {limit} are the most", bytes.len());
    }
    taken
}

/// Waits until no other test runs. Memory is counted for all threads together, so every test of this program holds the guard.
#[cfg(test)]
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does some work of a target, and counts the memory that it takes.
pub(crate) fn counted_as<T>(target: usize, work: impl FnOnce() -> T) -> (T, Taken) {
    memory::begin(target);
    let done = work();
    (done, memory::taken())
}

/// One thread, so that the same bytes take the same way.
pub(crate) fn ctx() -> &'static Ctx {
    static CTX: LazyLock<Ctx> = LazyLock::new(|| Ctx::new(1, 1).expect("a pool of one thread"));
    &CTX
}

/// Gives the bytes as a file of this name.
pub(crate) fn with_file<T>(name: &str, bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file in a temporary folder");
    work(&path)
}
