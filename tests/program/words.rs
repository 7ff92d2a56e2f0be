//! Models that learn words from returns, on the demo market: they find what was planted, and only what they may see.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use inkstone::disk;
use inkstone::model::{Lexicon, LexiconParams};
use inkstone::project::Project;
use inkstone::store::Store;
use serde_json::Value;

use crate::demo::whole;
use crate::{assert_says, run, stage};

/// Features that learn from the three days about a text, and a factor of each.
const FEATURES: [(&str, &str); 3] = [("sestm", ""), ("named", "mask_names = false\n"), ("induced", "")];

/// The words of each fold of a feature: the most telling first.
fn words(folder: &Path, name: &str) -> Vec<Vec<(String, f64)>> {
    let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
    let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == name).unwrap();
    let folds = header.meta["words"].as_array().unwrap();
    assert_eq!(folds.len(), header.meta["folds"].as_array().unwrap().len());
    let of = |fold: &Value| -> Vec<(String, f64)> {
        let (list, value) = match fold.get("lexicon") {
            Some(lexicon) => (&lexicon["words"], "weight"),
            None => (&fold["words"], "tone"),
        };
        let pair = |word: &Value| (word["word"].as_str().unwrap().to_owned(), word[value].as_f64().unwrap());
        list.as_array().unwrap().iter().map(pair).collect()
    };
    folds.iter().filter(|fold| !fold.is_null()).map(of).collect()
}

/// Of the `n` strongest words of a side, the share that stands in a phrase of this side and in none of the other.
fn precision(fold: &[(String, f64)], sign: f64, n: usize, truth: &Value) -> f64 {
    let mut side: Vec<&(String, f64)> = fold.iter().filter(|word| word.1 * sign > 0.0).collect();
    side.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
    let stands = |word: &str, side: &str| {
        truth["phrases"][side].as_array().unwrap().iter().any(|phrase| phrase.as_str().unwrap().contains(word))
    };
    let (own, other) = if sign > 0.0 { ("positive", "negative") } else { ("negative", "positive") };
    let hits = side.iter().take(n).filter(|word| stands(&word.0, own) && !stands(&word.0, other)).count();
    hits as f64 / n.min(side.len()) as f64
}

#[test]
fn planted_words_are_found_and_names_leak_only_when_shown() {
    let copy = whole().copy();
    let config = copy.path().join("workbench.toml");
    let mut text = fs::read_to_string(&config).unwrap();
    for (name, more) in FEATURES {
        let model = if name == "named" { "sestm" } else { name };
        text += &format!(
            "\n[[feature]]\nname = \"{name}\"\nmodel = \"{model}\"\n{more}\
             walk_forward = {{ train_days = 120, test_days = 20, min_train_rows = 50 }}\n\
             label = {{ delay = -2, price = \"close\", horizon = 3 }}\n\
             \n[[factor]]\nname = \"{name}\"\nfeature = \"{name}\"\ndecay = \"exponential:0.7\"\n"
        );
    }
    fs::write(&config, text).unwrap();
    let json = run(copy.path(), &["run", "--headless"]).finished();
    assert_eq!(stage(&json, "extract sestm")["facts"]["names_masked"], true);
    let truth: Value = disk::read_json(&copy.path().join("data/truth.json")).unwrap();

    for name in ["sestm", "induced"] {
        for (k, fold) in words(copy.path(), name).iter().enumerate() {
            for sign in [1.0, -1.0] {
                let precision = precision(fold, sign, 20, &truth);
                eprintln!("{name} fold {k} side {sign}: {precision}");
                assert!(precision >= 0.7, "{name}, fold {k}, side {sign}: {precision} {fold:?}");
            }
        }
    }

    // The first two characters of a company's name are made up for it; names of two characters are common words.
    let securities = fs::read_to_string(copy.path().join("data/securities.csv")).unwrap();
    let full = securities.lines().skip(1).filter_map(|line| line.split(',').nth(1));
    let full = full.map(|name| name.trim_start_matches(['*', 'S', 'T'])).filter(|name| name.chars().count() > 2);
    let names: BTreeSet<String> = full.map(|name| name.chars().take(2).collect()).collect();
    let leaks = |fold: &Vec<(String, f64)>| fold.iter().filter(|word| names.iter().any(|n| word.0.contains(n))).count();
    let leaked = |name: &str| words(copy.path(), name).iter().map(leaks).collect::<Vec<usize>>();
    eprintln!("leaks {:?} {:?}", leaked("sestm"), leaked("named"));
    assert!(leaked("sestm").iter().all(|n| *n == 0), "{:?}", leaked("sestm"));
    assert!(leaked("named").iter().all(|n| *n > 0), "{:?}", leaked("named"));

    // The score is worth something on days that it did not learn from.
    for name in ["sestm", "induced"] {
        let factors = json["factors"].as_array().unwrap();
        let factor = factors.iter().find(|factor| factor["name"] == name).unwrap();
        let mean = factor["ic"][0]["rank_ic"]["mean"].as_f64().unwrap();
        assert!(mean > 0.025, "{name}: {mean}");
    }
}

/// Invented news with the returns that followed, as JSON lines: two phrases go with good returns, two with bad ones.
fn news() -> String {
    let phrases = [
        ("订单饱满，产能利用率回升", 0.03),
        ("获批新产品，营收大增", 0.02),
        ("遭立案调查，业绩下滑", -0.03),
        ("债务逾期，经营亏损", -0.02),
    ];
    let line = |i: usize| {
        let (phrase, tone) = phrases[i * 7 % 4];
        let value = tone + ((i * 37 % 101) as f64 - 50.0) / 2000.0;
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
    fs::write(folder.path().join("news.jsonl"), news()).unwrap();
    let seeds = ["--method", "seeds", "--positive", "饱满,获批", "--negative", "立案,逾期", "--min-count", "5"];
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
    fs::write(folder.path().join("news.jsonl"), news()).unwrap();
    fs::write(folder.path().join("bare.jsonl"), "{\"text\":\"订单饱满\"}\n").unwrap();
    let flat: String = news().lines().map(|line| format!("{}\n", line.replace("\"value\":-", "\"value\":"))).collect();
    fs::write(folder.path().join("flat.jsonl"), flat).unwrap();
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
