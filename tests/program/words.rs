//! Models that learn words from returns, on the demo market: they find what was planted, and only what they may see.

use std::collections::BTreeSet;
use std::fs;

use inkstone_models::{Lexicon, LexiconParams};

use crate::demo::whole;
use crate::{assert_says, learned_words, run, stage};

#[test]
fn planted_words_are_found_and_names_leak_only_when_shown() {
    let copy = whole().copy();
    learned_words::add_features(&copy.path().join("workbench.toml"));
    let json = run(copy.path(), &["run", "--headless"]).finished();
    for (name, masked) in [("sestm", true), ("induced", true), ("named", false)] {
        assert_eq!(stage(&json, &format!("extract {name}"))["facts"]["names_masked"], masked, "{name}");
    }

    for name in ["sestm", "induced"] {
        for side in &learned_words::sides(copy.path(), name) {
            assert!(side.leaning >= 0.7, "{name}: {side:?}");
            // An induced list takes in whatever goes with returns, the words of events too.
            assert!(name == "induced" || side.in_phrases >= 0.4, "{name}: {side:?}");
        }
    }

    // The first two characters of a company's name are made up for it; names of two characters are common words.
    let securities = fs::read_to_string(copy.path().join("data/securities.csv")).unwrap();
    let full = securities.lines().skip(1).filter_map(|line| line.split(',').nth(1));
    let full = full.map(|name| name.trim_start_matches(['*', 'S', 'T'])).filter(|name| name.chars().count() > 2);
    let names: BTreeSet<String> = full.map(|name| name.chars().take(2).collect()).collect();
    let leaks = |name: &str| -> BTreeSet<String> {
        let words = learned_words::of_folds(copy.path(), name).into_iter().flatten().map(|word| word.0);
        words.filter(|word| names.iter().any(|name| word.contains(name))).collect()
    };
    for masked in ["sestm", "induced", "masked"] {
        assert!(leaks(masked).is_empty(), "{masked}: {:?}", leaks(masked));
    }
    assert!(leaks("named").len() >= 5, "{:?}", leaks("named"));

    // The scores are worth something on days that they did not learn from.
    for name in ["sestm", "induced"] {
        let factors = json["factors"].as_array().unwrap();
        let factor = factors.iter().find(|factor| factor["name"] == name).unwrap();
        let mean = factor["ic"][0]["rank_ic"]["mean"].as_f64().unwrap();
        assert!(mean > 0.025, "{name}: {mean}");
    }
}

/// Invented news with the returns that followed, as JSON lines: two phrases go with good returns, two with bad ones. All returns
/// are `lift` higher.
fn news(lift: f64) -> String {
    let phrases = [
        ("订单饱满，产能利用率回升", 0.03),
        ("获批新产品，营收大增", 0.02),
        ("遭立案调查，业绩下滑", -0.03),
        ("债务逾期，经营亏损", -0.02),
    ];
    let line = |i: usize| {
        let (phrase, tone) = phrases[i * 7 % 4];
        let value = lift + tone + ((i * 37 % 101) as f64 - 50.0) / 2000.0;
        format!(
            "{{\"text\":\"公司公告第{i}号，{phrase}。\",\"value\":{value:.4},\"time\":\"2024-03-{:02} 10:00:00\"}}\n",
            1 + i % 28
        )
    };
    (0..160).map(line).collect()
}

#[test]
fn an_induced_list_is_a_lexicon_at_once_with_what_it_has_seen() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.jsonl"), news(0.0)).unwrap();
    let seeds = ["--method", "seeds", "--positive", "回升,获批", "--negative", "立案,逾期", "--min-count", "5"];
    for (name, flags) in
        [("returns", &["--min-df", "5"][..]), ("odds", &["--min-df", "5", "--statistic", "odds"]), ("seeds", &seeds)]
    {
        let train = |output: &str, threads: &str| {
            let fixed = ["train", "lexicon", "--input", "news.jsonl", "--output", output, "--threads", threads];
            run(folder.path(), &[&fixed, flags].concat()).finished()
        };
        let json = train("words.tsv", "1");
        assert_eq!(
            (&json["model"], &json["documents"], &json["fitted_until"]),
            (&"lexicon".into(), &160.into(), &"2024-03-28T10:00:00".into())
        );
        train("lists", "2");
        let first = fs::read(folder.path().join("words.tsv")).unwrap();
        for threads in ["2", "8"] {
            train("words.tsv", threads);
            assert!(
                first == fs::read(folder.path().join("words.tsv")).unwrap(),
                "{name}: other words with {threads} threads"
            );
        }

        let table = LexiconParams { builtin: false, signed: vec!["words.tsv".into()], ..LexiconParams::default() };
        let lists = LexiconParams {
            builtin: false,
            positive: vec!["lists/positive.txt".into()],
            negative: vec!["lists/negative.txt".into()],
            ..LexiconParams::default()
        };
        let [table, lists] = [table, lists].map(|params| Lexicon::new(&params, folder.path()).unwrap());
        assert_eq!(table.key(), lists.key(), "{name}: one table and two lists say the same");
        assert_eq!(table.fitted_until().unwrap().to_string(), "2024-03-28 10:00:00");
        let tone = |words: &[&str]| table.tone(words).tone;
        assert!(tone(&["产能", "利用率", "回升"]) > 0.9 && tone(&["业绩", "下滑"]) < -0.9, "{name}");
        assert_eq!(table.tone(&["公司", "公告"]).positive, 0.0, "{name}: words of every text have no tone");
    }
}

#[test]
fn words_that_cannot_be_found_say_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("news.jsonl"), news(0.0)).unwrap();
    fs::write(folder.path().join("bare.jsonl"), "{\"text\":\"订单饱满\"}\n").unwrap();
    fs::write(folder.path().join("flat.jsonl"), news(1.0)).unwrap();
    let says = |args: &[&str], words: &[&str]| {
        let fixed = ["train", args[0], "--output", "out.tsv"];
        assert_says(&run(folder.path(), &[&fixed, &args[1..]].concat()).refusal(), words);
        assert!(!folder.path().join("out.tsv").exists());
    };
    says(&["lexicon", "--input", "bare.jsonl"], &["no document has a value", "\"value\""]);
    says(&["lexicon", "--input", "news.jsonl", "--min-df", "500"], &["min_df", "lower"]);
    let seeds = ["lexicon", "--input", "news.jsonl", "--method", "seeds", "--positive", "涨停", "--negative", "立案"];
    says(&seeds, &["none of the 1 positive seeds (涨停 ...)", "tokenize"]);
    says(&["sestm", "--input", "news.jsonl", "--kappa", "500"], &["kappa", "lower kappa"]);
    says(&["sestm", "--input", "flat.jsonl"], &["returns are above 0", "abnormal returns"]);
}
