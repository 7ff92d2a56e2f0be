//! Input that cannot be fitted or read is refused with the way out, and leaves nothing behind.

use std::fs;
use std::process::Command;

use super::{CASES, TFIDF, corpus, folder, train, trained};
use crate::{Ran, assert_says, files_below, run, run_on};

#[test]
fn an_empty_corpus() {
    for case in CASES {
        let folder = folder();
        fs::write(folder.path().join("news.jsonl"), "").unwrap();
        let error = train(folder.path(), case, "model", &[]).refusal();
        assert_says(&error, &["empty"]);
        assert!(!folder.path().join("model").exists(), "{}", case.name);
        let fixed = ["train", case.name, "--input", "-", "--output", "model"];
        assert_says(&run_on(folder.path(), &[&fixed, case.flags].concat(), b"").refusal(), &["empty"]);
    }
}

#[test]
fn lines_that_are_no_documents() {
    for case in CASES {
        let folder = folder();
        fs::write(folder.path().join("news.jsonl"), "一行\n两行\n").unwrap();
        let error = train(folder.path(), case, "model", &[]).refusal();
        assert_says(&error, &["none of 2 lines", "not JSON", "--format"]);
    }
}

#[test]
fn a_broken_line_among_sound_ones_is_set_aside() {
    for case in CASES {
        let folder = folder();
        let path = folder.path().join("news.jsonl");
        let sound = fs::read_to_string(&path).unwrap();
        fs::write(&path, sound + "{\"text\":\n").unwrap();
        let ran = train(folder.path(), case, "model", &[]);
        let json = ran.json();
        assert_eq!((ran.code, json["status"].as_str()), (Some(1), Some("partial")), "{}: {json:#}", case.name);
        assert_eq!(json["documents"], 96, "{}", case.name);
    }
}

#[test]
fn a_model_of_another_version_and_a_damaged_one() {
    for case in CASES {
        let folder = folder();
        trained(folder.path(), case);
        let path = folder.path().join("model");
        let intact = fs::read(&path).unwrap();
        let used = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            run(folder.path(), &["explain", "--model", "model", "--text", "增长"]).refusal()
        };
        // The version is a number in the header's JSON, one digit wide.
        let place = intact.windows(10).position(|bytes| bytes == b"\"version\":").unwrap() + 10;
        let mut other = intact.clone();
        other[place] = b'9';
        assert_says(&used(&other), &["version 9", "train it again"]);
        assert_says(&used(&intact[..intact.len() / 2]), &["cut short or damaged", "train it again"]);
        assert_says(&used(b"not a model"), &["not a model of this program"]);
        assert_says(&run(folder.path(), &["explain", "--model", "none", "--text", "增长"]).refusal(), &["none"]);
    }
}

#[test]
fn labels_that_are_no_numbers() {
    let folder = folder();
    let path = folder.path().join("news.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let nan = regex::Regex::new("\"value\":[-0-9.]+").unwrap();
    fs::write(&path, nan.replace_all(&text, "\"value\":NaN").as_ref()).unwrap();
    let flags = ["train", "sestm", "-i", "news.jsonl", "-o", "model"];
    assert_says(&run(folder.path(), &flags).refusal(), &["96 × not JSON: NaN is no number there, write null"]);
    fs::write(&path, nan.replace_all(&text, "\"value\":null").as_ref()).unwrap();
    assert_says(&run(folder.path(), &flags).refusal(), &["no document has a value", "\"value\""]);
    assert!(!folder.path().join("model").exists());
}

#[test]
fn a_model_of_another_kind() {
    let folder = folder();
    trained(folder.path(), &TFIDF);
    let error = run(folder.path(), &["eval", "ngram", "-m", "model", "-i", "news.jsonl"]).refusal();
    assert_says(&error, &["a model of kind tfidf, not ngram"]);
}

#[test]
fn one_document_is_fitted_or_refused_with_a_reason() {
    for case in CASES {
        let folder = folder();
        fs::write(folder.path().join("news.jsonl"), corpus::jsonl(1)).unwrap();
        let ran = train(folder.path(), case, "model", &[]);
        if ran.code == Some(0) {
            trained(folder.path(), case);
            run(folder.path(), &["explain", "--model", "model", "--text", "净利润增长"]).finished();
        } else {
            let error = ran.refusal();
            assert!(!error.contains("internal error") && error.len() > 20, "{}: {error}", case.name);
            assert!(!folder.path().join("model").exists(), "{}", case.name);
        }
    }
}

#[test]
fn an_order_longer_than_any_document() {
    let folder = folder();
    fs::write(folder.path().join("two.tok"), "净利润 增长\n回购\n").unwrap();
    let flags = ["train", "ngram", "-i", "two.tok", "-o", "model", "--format", "tokens", "--order", "5"];
    assert_says(&run(folder.path(), &flags).refusal(), &["5 words", "has 2 words", "choose --order 4 or lower"]);
    assert!(!folder.path().join("model").exists());
}

#[test]
fn a_class_with_one_member_and_one_class_alone() {
    let folder = folder();
    let path = folder.path().join("news.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let flags = ["train", "logistic", "-i", "news.jsonl", "-o", "model", "--cv", "5"];
    fs::write(&path, text.replacen("\"label\":\"up\"", "\"label\":\"odd\"", 1)).unwrap();
    assert_says(&run(folder.path(), &flags).refusal(), &["\"odd\"", "leave it out"]);
    fs::write(&path, text.replace("\"label\":\"down\"", "\"label\":\"up\"")).unwrap();
    assert_says(&run(folder.path(), &flags).refusal(), &["all rows are of one class (\"up\")"]);
    let bare = text.replace("\"label\"", "\"was\"").replace("\"value\"", "\"were\"");
    fs::write(&path, bare).unwrap();
    assert_says(&run(folder.path(), &flags).refusal(), &["no line has what is to be learned", "\"label\""]);
    assert!(!folder.path().join("model").exists());
}

#[test]
fn a_vocabulary_emptied_by_its_limits() {
    let folder = folder();
    let flags = ["train", "tfidf", "-i", "news.jsonl", "-o", "model", "--min-df", "95", "--max-df", "95"];
    assert_says(&run(folder.path(), &flags).refusal(), &["no word is left", "min_df", "lower min_df"]);
    assert!(!folder.path().join("model").exists());
}

#[test]
fn an_output_of_an_unknown_format_and_an_id_that_is_not_there() {
    let folder = folder();
    trained(folder.path(), &TFIDF);
    let before = files_below(folder.path());
    let error = run(folder.path(), &["embed", "-m", "model", "-i", "news.jsonl", "-o", "rows.xls"]).refusal();
    assert_says(&error, &["rows.xls", ".csv"]);
    let error = run(folder.path(), &["explain", "-m", "model", "-i", "news.jsonl", "--ids", "n1,absent"]).refusal();
    assert_says(&error, &["absent", "field id"]);
    let left = files_below(folder.path());
    assert!(left == before, "{:?}", left.keys());
}

#[test]
fn text_that_is_cut_in_another_way_than_the_model_was_fitted_on() {
    let folder = folder();
    fs::write(folder.path().join("words.txt"), "岚石新能\n").unwrap();
    let flags = ["train", "tfidf", "-i", "news.jsonl", "-o", "model", "--dict", "words.txt"];
    run(folder.path(), &flags).finished();
    fs::write(folder.path().join("words.txt"), "岚石\n").unwrap();
    let error = run(folder.path(), &["explain", "-m", "model", "--text", "增长"]).refusal();
    assert_says(&error, &["dictionaries or stopwords have changed", "train the model again"]);
}

/// The largest file may have half the bytes of the model, as on a disk that fills while it is saved.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_while_a_model_is_saved() {
    for case in CASES {
        let folder = folder();
        trained(folder.path(), case);
        let model = folder.path().join("model");
        let blocks = fs::metadata(&model).unwrap().len() / 2 / 512;
        fs::remove_file(&model).unwrap();
        let before = files_below(folder.path());
        // The signal that comes with the limit is ignored, so that writing fails as it does when there is no room.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let fixed = ["train", case.name, "--input", "news.jsonl", "--output", "model"];
        let mut command = Command::new("sh");
        command.current_dir(folder.path()).args(["-c", &script, "sh", env!("CARGO_BIN_EXE_inkstone")]);
        let ran = Ran::of(command.args(fixed).args(case.flags).output().unwrap());
        assert_says(&ran.refusal(), &["cannot write"]);
        let left = files_below(folder.path());
        assert!(left == before, "{}: {:?}", case.name, left.keys());
    }
}
