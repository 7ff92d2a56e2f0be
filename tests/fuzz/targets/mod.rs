//! What is checked of every reader of bytes, whatever the bytes: one function a target.
//!
//! cargo-fuzz calls them with bytes that it makes up, `tests/fuzz_replay.rs` with what was kept. A body holds a property, not
//! only that nothing panics, and makes nothing that outlives it.

mod archives;
mod arpa;
mod blocks;
mod codes;
mod configuration;
mod encodings;
mod expressions;
mod fasttext;
mod filters;
mod matrices;
mod models;
mod papers;
mod pieces;
mod tables;
mod times;
mod tokens;
mod truncation;
mod vectors;

use std::path::Path;
use std::sync::LazyLock;

use inkstone::job::Ctx;

/// The targets: their names, and what is checked.
pub(crate) const ALL: [(&str, fn(&[u8])); 24] = [
    ("arpa", arpa::check),
    ("blocks", blocks::check),
    ("codes", codes::check),
    ("configuration", configuration::check),
    ("csv", tables::csv),
    ("docx", archives::docx),
    ("encodings", encodings::check),
    ("expressions", expressions::check),
    ("fasttext", fasttext::check),
    ("filters", filters::check),
    ("html", papers::html),
    ("json", tables::json),
    ("matrices", matrices::check),
    ("models", models::check),
    ("parquet", tables::parquet),
    ("pdf", papers::pdf),
    ("pieces", pieces::check),
    ("seals", blocks::seals),
    ("sheets", archives::sheets),
    ("text", papers::text),
    ("times", times::check),
    ("tokens", tokens::check),
    ("truncation", truncation::check),
    ("vectors", vectors::check),
];

/// Checks some bytes.
pub(crate) fn check(target: &str, bytes: &[u8]) {
    let (_, check) = ALL.iter().find(|(name, _)| *name == target).expect("a target of this name");
    check(bytes);
}

/// One thread, so that the same bytes take the same way.
fn ctx() -> &'static Ctx {
    static CTX: LazyLock<Ctx> = LazyLock::new(|| Ctx::new(1, 1).expect("a pool of one thread"));
    &CTX
}

/// Gives the bytes as a file of this name.
fn with_file<T>(name: &str, bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file in a temporary folder");
    work(&path)
}
