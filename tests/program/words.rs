//! Models that learn words from returns, on the demo market: they find what was planted, and only what they may see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use inkstone_base::disk;
use inkstone_models::{Lexicon, LexiconParams};
use inkstone_store::Store;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::Value;

use crate::demo::whole;
use crate::{assert_says, run, stage};

/// Features that learn from the three days about a text: name, model, settings. The last two look at rare words, with names and without.
const FEATURES: [(&str, &str, &str); 4] = [
    ("sestm", "sestm", "sestm = { words = 50, kappa = 0.02 }"),
    ("induced", "induced", ""),
    ("named", "sestm", "mask_names = false\nsestm = { words = 50, kappa = 8 }"),
    ("masked", "sestm", "sestm = { words = 50, kappa = 8 }"),
];

/// The words of each fold of a feature: the most telling first.
fn words(folder: &Path, name: &str) -> Vec<Vec<(String, f64)>> {
    let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
    let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == name).unwrap();
    let folds = header.meta["words"].as_array().unwrap();
    assert_eq!(folds.len(), header.meta["folds"].as_array().unwrap().len());
    let words = |fold: &Value| -> Vec<(String, f64)> {
        let (list, value) = match fold.get("lexicon") {
            Some(lexicon) => (&lexicon["words"], "weight"),
            None => (&fold["words"], "tone"),
        };
        let pair = |word: &Value| (word["word"].as_str().unwrap().to_owned(), word[value].as_f64().unwrap());
        list.as_array().unwrap().iter().map(pair).collect()
    };
    folds.iter().filter(|fold| !fold.is_null()).map(words).collect()
}

/// The `n` strongest words of a side.
fn strongest(fold: &[(String, f64)], sign: f64, n: usize) -> Vec<&str> {
    let mut side: Vec<&(String, f64)> = fold.iter().filter(|word| word.1 * sign > 0.0).collect();
    side.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
    side.iter().take(n).map(|word| word.0.as_str()).collect()
}

/// Every document of the market with its written tone.
fn toned(folder: &Path) -> Vec<(String, f64)> {
    let truth =
        frames::read_foreign_parquet(&folder.join("data/truth_tone.parquet"), Some(&["doc_id", "tone"])).unwrap();
    let (ids, tones) = (truth.column("doc_id").unwrap().str().unwrap(), truth.column("tone").unwrap().f64().unwrap());
    let tones: BTreeMap<&str, f64> = ids.iter().flatten().zip(tones.iter().flatten()).collect();
    let mut all = Vec::new();
    for path in Project::new(folder.join(".inkstone")).clean().files().unwrap() {
        let frame = frames::read_parquet(&path, Some(&["doc_id", "title", "body"])).unwrap();
        let [ids, titles, bodies] = ["doc_id", "title", "body"].map(|name| frame.column(name).unwrap().str().unwrap());
        for ((id, title), body) in ids.iter().zip(titles.iter()).zip(bodies.iter()) {
            all.push((format!("{}\n{}", title.unwrap_or_default(), body.unwrap()), tones[id.unwrap()]));
        }
    }
    all
}

#[test]
fn planted_words_are_found_and_names_leak_only_when_shown() {
    let copy = whole().copy();
    let config = copy.path().join("workbench.toml");
    let mut text = fs::read_to_string(&config).unwrap();
    for (name, model, settings) in FEATURES {
        text += &format!(
            "\n[[feature]]\nname = \"{name}\"\nmodel = \"{model}\"\n{settings}\n\
             walk_forward = {{ train_days = 120, test_days = 20, min_train_rows = 50 }}\n\
             target = {{ delay = -2, price = \"close\", horizon = 3 }}\n\
             \n[[factor]]\nname = \"{name}\"\nexpression = \"{name}\"\ndecay = \"exponential:0.7\"\n"
        );
    }
    fs::write(&config, text).unwrap();
    let json = run(copy.path(), &["run", "--headless"]).finished();
    for (name, masked) in [("sestm", true), ("induced", true), ("named", false)] {
        assert_eq!(stage(&json, &format!("extract {name}"))["facts"]["names_masked"], masked, "{name}");
    }

    // Where a planted word stands, the written tone leans its way.
    let documents = toned(copy.path());
    let mean = |tones: Vec<f64>| tones.iter().sum::<f64>() / tones.len() as f64;
    let usual = mean(documents.iter().map(|document| document.1).collect());
    let mut leanings: BTreeMap<String, f64> = BTreeMap::new();
    let mut leans = |word: &str| {
        *leanings.entry(word.to_owned()).or_insert_with(|| {
            mean(documents.iter().filter(|document| document.0.contains(word)).map(|document| document.1).collect())
                - usual
        })
    };
    let truth: Value = disk::read_json(&copy.path().join("data/truth.json")).unwrap();
    let written = |word: &str, side: &str| {
        truth["phrases"][side].as_array().unwrap().iter().any(|phrase| phrase.as_str().unwrap().contains(word))
    };
    for name in ["sestm", "induced"] {
        for (k, fold) in words(copy.path(), name).iter().enumerate() {
            for (side, sign) in [("positive", 1.0), ("negative", -1.0)] {
                let top = strongest(fold, sign, 20);
                let share = |n: usize| n as f64 / top.len() as f64;
                let planted = share(top.iter().filter(|word| sign * leans(word) > 0.1).count());
                assert!(planted >= 0.7, "{name}, fold {k}: of {top:?} only {planted} lean to the {side} side");
                // An induced list takes in whatever goes with returns, the words of events too.
                let in_phrases = share(top.iter().filter(|word| written(word, side)).count());
                assert!(
                    name == "induced" || in_phrases >= 0.4,
                    "{name}, fold {k}: of {top:?} only {in_phrases} stand in {side} phrases"
                );
            }
        }
    }

    // The first two characters of a company's name are made up for it; names of two characters are common words.
    let securities = fs::read_to_string(copy.path().join("data/securities.csv")).unwrap();
    let full = securities.lines().skip(1).filter_map(|line| line.split(',').nth(1));
    let full = full.map(|name| name.trim_start_matches(['*', 'S', 'T'])).filter(|name| name.chars().count() > 2);
    let names: BTreeSet<String> = full.map(|name| name.chars().take(2).collect()).collect();
    let leaks = |name: &str| -> BTreeSet<String> {
        let words = words(copy.path(), name).into_iter().flatten().map(|word| word.0);
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
