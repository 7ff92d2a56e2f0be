//! Features that learn words from returns on the demo market: the words that they learned, and how many of them lean the way of their side.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use inkstone_base::disk;
use inkstone_store::Store;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::Value;

/// Features that learn from the three days about a text: name, model, settings. The last two look at rare words, with names and without.
const FEATURES: [(&str, &str, &str); 4] = [
    ("sestm", "sestm", "sestm = { words = 50, kappa = 0.02 }"),
    ("induced", "induced", ""),
    ("named", "sestm", "mask_names = false\nsestm = { words = 50, kappa = 8 }"),
    ("masked", "sestm", "sestm = { words = 50, kappa = 8 }"),
];

/// Adds the features, with a factor each, to the configuration of a demo.
pub(crate) fn add_features(config: &Path) {
    let mut text = fs::read_to_string(config).unwrap();
    for (name, model, settings) in FEATURES {
        text += &format!(
            "\n[[feature]]\nname = \"{name}\"\nmodel = \"{model}\"\n{settings}\n\
             walk_forward = {{ train_days = 120, test_days = 20, min_train_rows = 50 }}\n\
             target = {{ delay = -2, price = \"close\", horizon = 3 }}\n\
             \n[[factor]]\nname = \"{name}\"\nexpression = \"{name}\"\ndecay = \"exponential:0.7\"\n"
        );
    }
    fs::write(config, text).unwrap();
}

/// The words of each fold of a feature: the most telling first.
pub(crate) fn of_folds(folder: &Path, name: &str) -> Vec<Vec<(String, f64)>> {
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

/// The 20 strongest words of one side in a fold.
#[derive(Debug)]
#[allow(dead_code, reason = "a failing test shows the fold and the words")]
pub(crate) struct Side {
    fold: usize,
    name: &'static str,
    words: Vec<String>,
    /// The share of the words where the written tone of their documents leans the way of the side.
    pub(crate) leaning: f64,
    /// The share of the words that stand in a planted phrase of the side.
    pub(crate) in_phrases: f64,
}

/// Both sides of all folds of a feature.
pub(crate) fn sides(folder: &Path, name: &str) -> Vec<Side> {
    let documents = toned(folder);
    let mean = |tones: Vec<f64>| tones.iter().sum::<f64>() / tones.len() as f64;
    let usual = mean(documents.iter().map(|document| document.1).collect());
    let mut leanings: BTreeMap<String, f64> = BTreeMap::new();
    let mut leaning = |word: &str| {
        *leanings.entry(word.to_owned()).or_insert_with(|| {
            mean(documents.iter().filter(|document| document.0.contains(word)).map(|document| document.1).collect())
                - usual
        })
    };
    let truth: Value = disk::read_json(&folder.join("data/truth.json")).unwrap();
    let written = |word: &str, side: &str| {
        truth["phrases"][side].as_array().unwrap().iter().any(|phrase| phrase.as_str().unwrap().contains(word))
    };
    let mut sides = Vec::new();
    for (number, fold) in of_folds(folder, name).iter().enumerate() {
        for (side, sign) in [("positive", 1.0), ("negative", -1.0)] {
            let top = strongest(fold, sign, 20);
            let share = |n: usize| n as f64 / top.len() as f64;
            sides.push(Side {
                fold: number,
                name: side,
                leaning: share(top.iter().filter(|word| sign * leaning(word) > 0.1).count()),
                in_phrases: share(top.iter().filter(|word| written(word, side)).count()),
                words: top.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    sides
}
