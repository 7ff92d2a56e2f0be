//! Language models through the program: both file formats, held-out text, samples, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::folder;
use crate::{Ran, assert_says, run};

/// Trains on all of the cut corpus.
fn train(folder: &Path, more: &[&str]) -> Ran {
    let fixed = ["train", "ngram", "--input", "news.tok", "--format", "tokens"];
    run(folder, &[&fixed, more].concat())
}

fn eval(folder: &Path, model: &str) -> Value {
    let args = ["eval", "ngram", "--model", model, "--input", "news.tok", "--format", "tokens"];
    run(folder, &args).finished()
}

#[test]
fn an_arpa_file_and_a_mapped_one_are_the_same_model() {
    for smoothing in ["kneser-ney", "katz", "laplace", "mle"] {
        let folder = folder();
        for output in ["m.arpa", "m.bin"] {
            let made = train(folder.path(), &["--output", output, "--smoothing", smoothing, "--order", "4"]).finished();
            assert_eq!(made["stages"][0]["facts"]["ngrams"].as_array().unwrap().len(), 4);
        }
        let [arpa, mapped] = ["m.arpa", "m.bin"].map(|model| eval(folder.path(), model));
        for figure in ["perplexity", "perplexity_no_oov", "oov", "tokens", "log10_prob", "documents"] {
            assert_eq!(arpa[figure], mapped[figure], "{figure} of {smoothing}");
            assert!(arpa[figure].is_number(), "{figure} of {smoothing}: {arpa:#}");
        }
        assert_eq!(mapped["documents"], 96);
    }
}

#[test]
fn weights_are_fitted_on_held_out_text() {
    let folder = folder();
    let flags = ["--output", "m.bin", "--smoothing", "jelinek-mercer"];
    let made = train(folder.path(), &flags).finished();
    assert_eq!(made["stages"][0]["facts"]["held_out_documents"], 96 / 20);
    let made = train(folder.path(), &[&flags[..], &["--held-out", "news.tok"]].concat()).finished();
    let facts = &made["stages"][0]["facts"];
    assert_eq!((&facts["held_out_documents"], &facts["documents"]), (&96.into(), &96.into()));
    assert_eq!(facts["weights"]["perplexity"].as_f64().map(f64::is_normal), Some(true));
}

#[test]
fn samples_are_drawn_by_seed() {
    let folder = folder();
    train(folder.path(), &["--output", "m.bin"]).finished();
    let sample = |seed, more: &[&str]| {
        let fixed = ["sample", "--model", "m.bin", "--n", "3", "--max-length", "20", "--seed", seed];
        run(folder.path(), &[&fixed, more].concat()).finished()["samples"].clone()
    };
    let one = sample("1", &["--threads", "1"]);
    assert_eq!(one.as_array().unwrap().len(), 3);
    assert_eq!(one, sample("1", &["--threads", "8"]));
    assert_ne!(one, sample("2", &[]));
    let best = sample("2", &["--top-k", "1"]);
    assert!(best[0] == best[1] && best[1] == best[2] && best[0]["tokens"].as_str().unwrap().contains(' '), "{best}");
}

#[test]
fn what_cannot_be_trained_or_read_is_refused_with_the_way_out() {
    let folder = folder();
    let refused = |more: &[&str]| train(folder.path(), &[&["--output", "m.bin"], more].concat()).refusal();
    let ran = train(folder.path(), &["--output", "m.bin", "--order", "7"]);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["'7' for '--order <N>'", "write one from 1 to 6"]);
    assert_says(&refused(&["--smoothing", "add-k", "--k", "0"]), &["--k 0", "above 0"]);
    assert_says(&refused(&["--prune", "0,2,1"]), &["--prune 0,2,1", "rise"]);
    assert_says(&refused(&["--held-out", "news.tok"]), &["only --smoothing jelinek-mercer"]);
    assert!(!folder.path().join("m.bin").exists());

    train(folder.path(), &["--output", "m.arpa"]).finished();
    let path = folder.path().join("m.arpa");
    let text = fs::read_to_string(&path).unwrap();
    let line = 1 + text.lines().position(|line| line == "\\2-grams:").unwrap();
    fs::write(&path, text.replace("\\2-grams:", "\\2-gram")).unwrap();
    let args = ["eval", "--model", "m.arpa", "--input", "news.tok"];
    let error = run(folder.path(), &args).refusal();
    assert_says(&error, &[&format!("m.arpa, line {line}: \\2-grams: was expected")]);
    let error = run(folder.path(), &["sample", "--model", "m.arpa"]).refusal();
    assert_says(&error, &["m.arpa, line"]);
}
