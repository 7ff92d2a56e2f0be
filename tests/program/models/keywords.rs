//! `keywords` and `train newwords` through the program: a dictionary is found, written, and read again.

use std::fs;

use serde_json::Value;

use super::{corpus, folder};
use crate::{assert_says, run, run_on};

fn words(line: &str) -> Vec<String> {
    let record: Value = serde_json::from_str(line).expect("a line is an object");
    let keywords = record["keywords"].as_array().expect("a record has keywords");
    keywords.iter().map(|k| k["word"].as_str().expect("a keyword is a word").to_owned()).collect()
}

#[test]
fn keywords_take_rarity_from_a_model_and_explain_themselves() {
    let folder = folder();
    let folder = folder.path();
    run(folder, &["train", "tfidf", "--input", "news.jsonl", "--min-df", "1", "--output", "m"]).finished();
    let find = |more: &[&str]| {
        let fixed = ["keywords", "--input", "news.jsonl", "--output", "k.jsonl", "--explain", "--sentences", "1"];
        let json = run(folder, &[&fixed[..], more].concat()).finished();
        assert_eq!(json["documents"], 96);
        fs::read_to_string(folder.join("k.jsonl")).expect("the output is there")
    };
    let ranked = find(&[]);
    assert_eq!(find(&["--threads", "1"]), ranked);
    let first: Value = serde_json::from_str(ranked.lines().next().expect("a line")).expect("an object");
    assert_says(&first["keywords"][0]["explanation"]["formula"].to_string(), &["sum over neighbours"]);
    let line = &corpus::jsonl(1);
    let text: Value = serde_json::from_str(line.trim()).expect("an object");
    assert_says(&text["text"].to_string(), &[first["sentences"][0]["text"].as_str().expect("a sentence")]);
    let weighed = find(&["--method", "tfidf", "--model", "m"]);
    assert_ne!(weighed, ranked);
    let refusal = run(folder, &["keywords", "--input", "news.jsonl", "--output", "x.jsonl", "--model", "m"]).refusal();
    assert_says(&refusal, &["--method tfidf"]);
    let alone = ["keywords", "--input", "-", "--format", "text", "--method", "tfidf", "--output", "x.csv"];
    assert_says(&run_on(folder, &alone, "公司股份\n".as_bytes()).refusal(), &["one document", "--model"]);
    assert_says(&run_on(folder, &alone, "的\n了\n".as_bytes()).refusal(), &["no candidates", "--pos all"]);
    assert!(!folder.join("x.csv").exists());
}

#[test]
fn new_words_become_a_dictionary_that_the_tokenizer_reads() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    let (before, after) = (["近日", "公司", "据悉", "客户"], ["公告", "回购", "中标", "停牌"]);
    let line = |i: usize| format!("{}瀚海微{}。\n", before[i % 4], after[i / 4 % 4]);
    fs::write(folder.join("news.txt"), (0..96).map(line).collect::<String>()).expect("the corpus can be written");
    let find =
        ["train", "newwords", "--input", "news.txt", "--min-pmi", "1.5", "--output", "d.txt", "--table", "t.csv"];
    let json = run(folder, &find).finished();
    assert_eq!((&json["words"], &json["documents"]), (&1.into(), &96.into()));
    let dictionary = fs::read_to_string(folder.join("d.txt")).expect("the dictionary is there");
    assert_says(&dictionary, &["瀚海微 ", " nz\n"]);
    assert_says(&fs::read_to_string(folder.join("t.csv")).expect("the table is there"), &["瀚海微,", "fitted_until"]);
    let keywords = ["keywords", "--input", "news.txt", "--dict", "d.txt", "--output", "k.jsonl"];
    run(folder, &keywords).finished();
    let found = fs::read_to_string(folder.join("k.jsonl")).expect("the output is there");
    assert!(found.lines().all(|line| words(line).contains(&"瀚海微".to_owned())), "{found}");
    let tagged = run_on(folder, &["tokenize", "--tags", "--dict", "d.txt"], "近日瀚海微公告\n".as_bytes());
    assert_eq!(tagged.text(), "近日|t 瀚海微|nz 公告|n\n");
    let refusal = |args: &[&str]| run(folder, args).refusal();
    let base = ["train", "newwords", "--output", "x.txt", "--input"];
    assert_says(&refusal(&[&base[..], &["-"]].concat()), &["the input is empty"]);
    assert_says(&refusal(&[&base[..], &["news.txt", "--format", "tokens"]].concat()), &["--format text"]);
    assert_says(&refusal(&[&base[..], &["news.txt", "--min-count", "9999"]].concat()), &["lower --min-count"]);
    assert!(!folder.join("x.txt").exists());
}
