//! Inner loops are compiled for several widths of vectors, of which a processor takes the widest that it has. All of them are forced, one
//! after the other: every model and its rows are the same bytes.

use std::fs;
use std::path::Path;

use super::{CASES, Case, case, folder};
use crate::{Ran, assert_says, inkstone};
use inkstone_testing::not_tried;

const LEVELS: [&str; 3] = ["base", "avx2", "avx512"];

/// Rows whose lengths are no multiple of any vector's, and long enough that whole vectors are used.
const WIDE: &[Case] = &[
    case("lsa", &["--dim", "7"], "rows.npy"),
    case("ppmi", &["--dim", "7", "--min-count", "1"], "rows.npy"),
    case("glove", &["--dim", "37", "--min-count", "1", "--epochs", "3"], "rows.npy"),
    case("word2vec", &["--dim", "37", "--min-count", "1"], "rows.npy"),
    case("word2vec", &["--dim", "37", "--min-count", "1", "--hs"], "rows.npy"),
    case("doc2vec", &["--dim", "37", "--min-count", "1"], "rows.npy"),
    case("fasttext", &["--dim", "37", "--min-count", "1"], "rows.npy"),
    case("fasttext-supervised", &["--dim", "37"], "rows.csv"),
    case("nnlm", &["--dim", "37", "--hidden", "19", "--min-count", "1", "--epochs", "1"], "rows.csv"),
];

fn run_at(level: &str, folder: &Path, args: &[&str]) -> Ran {
    Ran::of(inkstone(folder, args).env("INKSTONE_SIMD", level).output().expect("the program starts"))
}

/// The levels that this processor has.
fn there(folder: &Path) -> Vec<&'static str> {
    let has = |level: &&str| {
        let ran = run_at(level, folder, &["doctor", "--headless"]);
        if ran.code == Some(2) {
            assert!(*level != "base" && ran.stderr.contains("INKSTONE_SIMD"), "{}", ran.stderr);
            not_tried(&format!("this processor has no vectors of the level {level}"));
            return false;
        }
        assert_says(&ran.text(), &[&format!("inner loops for {level} (forced by INKSTONE_SIMD)")]);
        true
    };
    LEVELS.into_iter().filter(has).collect()
}

#[test]
fn every_model_gives_the_same_bytes_at_every_level_of_vectors() {
    let folder = folder();
    let levels = there(folder.path());
    for case in CASES.iter().chain(WIDE) {
        let mut first: Option<[Vec<u8>; 2]> = None;
        for level in &levels {
            let train = ["train", case.name, "--input", "news.jsonl", "--output", "model", "--threads", "1"];
            run_at(level, folder.path(), &[&train, case.flags].concat()).finished();
            let embed = ["embed", "--model", "model", "--input", "news.jsonl", "--output", case.rows];
            run_at(level, folder.path(), &embed).finished();
            let made = ["model", case.rows].map(|name| fs::read(folder.path().join(name)).unwrap());
            let first = first.get_or_insert_with(|| made.clone());
            for (what, (a, b)) in ["model", "rows"].iter().zip(first.iter().zip(&made)) {
                assert!(a == b, "{} {:?}: another {what} at {level}", case.name, case.flags);
            }
        }
    }
}

#[test]
fn a_projection_is_the_same_at_every_level_of_vectors() {
    let folder = folder();
    let train = ["train", "word2vec", "--input", "news.jsonl", "--output", "model", "--dim", "37", "--min-count", "1"];
    run_at("base", folder.path(), &train).finished();
    let mut first = None;
    for level in there(folder.path()) {
        let project = ["projection", "--model", "model", "--output", "plane.csv", "--method", "pca"];
        run_at(level, folder.path(), &project).finished();
        let made = fs::read(folder.path().join("plane.csv")).unwrap();
        assert!(first.get_or_insert_with(|| made.clone()) == &made, "another plane at {level}");
    }
}

#[test]
fn a_level_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run_at("avx1024", folder.path(), &["doctor", "--headless"]);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["INKSTONE_SIMD is \"avx1024\"", "base"]);
}
