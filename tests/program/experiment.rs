//! Experiments on the demo: what was planted is found, a stopped grid goes on, and bad asks are refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::demo::{small, third, whole};
use crate::{assert_says, edit, has_library, run, stage, with_library};

fn cell<'j>(found: &'j Value, strategy: &str) -> &'j Value {
    let cells = found["cells"].as_array().expect("findings have cells");
    cells.iter().find(|cell| cell["setting"] == strategy).unwrap_or_else(|| panic!("no {strategy} in {found:#}"))
}

fn figure(found: &Value, strategy: &str) -> f64 {
    cell(found, strategy)["figure"].as_f64().expect("a cell has a figure")
}

/// Stages of a run whose names begin so.
fn stages_of(json: &Value, begins: &str) -> usize {
    let stages = json["stages"].as_array().expect("a run has stages").iter();
    stages.filter(|stage| stage["stage"].as_str().is_some_and(|name| name.starts_with(begins))).count()
}

fn experiment(folder: &Path, name: &str) -> Value {
    let json = run(folder, &["experiment", "--headless", "--name", name]).finished();
    json["experiments"][0].clone()
}

#[test]
fn strategies_rank_as_planted_and_chance_is_told_apart() {
    let copy = whole().copy();
    let found = experiment(copy.path(), "rating");
    assert_eq!((found["measure"].as_str(), found["cells"].as_array().unwrap().len()), (Some("macro_f1"), 24));
    // Conclusions stand first, last or in the middle between boilerplate: a short head misses most of them.
    assert!(figure(&found, "head:512c -boilerplate -title") > figure(&found, "head:512c -title"), "{found:#}");
    assert!(
        figure(&found, "sections:512c@title,rating,summary,forecast,body -title") > figure(&found, "head:128c -title"),
        "{found:#}"
    );
    let worst = &cell(&found, "head:128c -title")["against"];
    assert!(
        worst["interval"]["high"].as_f64().unwrap() < 0.0 && worst["p_adjusted"].as_f64().unwrap() < 0.05,
        "{worst}"
    );
    let page = fs::read_to_string(copy.path().join("exports/experiments/rating.html")).unwrap();
    assert_says(&page, &["<svg", "合成", "head:512c -boilerplate -title"]);
    // What is known of sentences is shown to whoever looks at the audit.
    let kept = cell(&found, "head:512c -boilerplate -title")["kept"].as_array().unwrap();
    let legal = kept.iter().find(|share| share["section"] == "disclaimer").expect("reports end in disclaimers");
    assert!(legal["tokens"].as_u64() > Some(0) && legal["kept"] == 0, "{legal}");
}

#[test]
fn a_stopped_grid_goes_on_with_the_cells_that_it_lacks() {
    let copy = third().copy();
    let first = experiment(copy.path(), "rating");
    let cells = copy.path().join(".inkstone/experiments/rating/cells");
    let kept: Vec<_> = fs::read_dir(&cells).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 24);
    let grid = fs::read_to_string(copy.path().join(".inkstone/experiments/rating/grid.json")).unwrap();
    let grid: Value = serde_json::from_str(&grid).unwrap();
    let done = grid["cells"].as_array().unwrap().iter().filter(|cell| cell["state"]["done"].is_number());
    assert_eq!(done.count(), 24, "the grid tells of every cell: {grid:#}");
    kept[..5].iter().for_each(|path| fs::remove_file(path).unwrap());
    let json = run(copy.path(), &["experiment", "--headless", "--name", "rating", "--threads", "1"]).finished();
    let read = stages_of(&json, "words · ");
    assert_eq!(read, 5, "only what is missing is read again");
    let again = &json["experiments"][0];
    for (a, b) in first["cells"].as_array().unwrap().iter().zip(again["cells"].as_array().unwrap()) {
        assert_eq!((&a["setting"], &a["figure"], &a["against"]), (&b["setting"], &b["figure"], &b["against"]));
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() {
    let copy = third().copy();
    let refusal = |args: &[&str]| run(copy.path(), &[&["experiment", "--headless"], args].concat()).refusal();
    assert_says(&refusal(&["--name", "ratings"]), &["no experiment \"ratings\"", "rating, factor"]);
    let config = copy.path().join("workbench.toml");
    edit(
        &config,
        "name = \"rating\"\ntarget = \"rating\"\npositive = [\"买入\", \"增持\"]",
        "name = \"rating\"\ntarget = \"rating\"\npositive = [\"强烈推荐\"]",
    );
    assert_says(&refusal(&["--name", "rating"]), &["all", "rating \"other\"", "at least two classes"]);
    edit(&config, "features = [\"words\"]", "features = [\"learned\", \"placebo\", \"wrods\"]");
    assert_says(&refusal(&[]), &["no feature \"wrods\"", "words"]);
}

/// Three settings over one feature, judged by the ratings of reports. Their titles tell the rating away, and are dropped.
const SETTINGS: &str = r#"
[[experiment]]
name = "settings"
target = "rating"
positive = ["买入", "增持"]
features = ["words"]
kinds = ["report"]
unit = "characters"
vary = { truncate = ["head:512c -title", "head:5c -title"], "tokenizer.mode" = ["jieba", "char"], model = ["tfidf", "bayes"], "lexicon.negation_window" = [4, 0] }
draws = 500

[[experiment]]
name = "again"
target = "rating"
positive = ["买入", "增持"]
features = ["words", "tone"]
kinds = ["report"]
vary = { truncate = ["head:512c -title"], "tokenizer.mode" = ["jieba", "char"] }
draws = 200

[[experiment]]
name = "returns"
features = ["tone"]
factor = "tone"
kinds = ["report"]
vary = { "lexicon.negation_window" = [4, 0], truncate = ["head:512c -title", "head:5c -title"] }
draws = 200
"#;

#[test]
fn any_setting_is_compared_and_one_without_effect_has_p_1() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap() + SETTINGS).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "settings"]).finished();
    let found = &json["experiments"][0];
    assert_eq!(found["vary"], serde_json::json!(["lexicon.negation_window", "model", "tokenizer.mode", "truncate"]));
    assert_eq!(found["cells"].as_array().unwrap().len(), 16);
    // The words of a text are counted once for each way of reading it: two tokenizers by two strategies.
    assert_eq!(stages_of(&json, "words"), 4, "{:#}", json["stages"]);
    let effect = |found: &Value, value: &str| {
        let effects = found["effects"].as_array().unwrap();
        effects
            .iter()
            .find(|effect| effect["value"] == value)
            .unwrap_or_else(|| panic!("no {value} in {effects:?}"))
            .clone()
    };
    // Five characters tell no rating.
    let short = effect(found, "head:5c -title");
    assert_eq!(short["cells"], 8);
    assert!(short["against"]["interval"]["high"].as_f64().unwrap() < 0.0, "{short}");
    assert!(short["against"]["p_adjusted"].as_f64().unwrap() < 0.05, "{short}");
    // A lexicon says nothing to a model that has none.
    let nothing = &effect(found, "0")["against"];
    assert_eq!((&nothing["difference"], &nothing["p"]), (&serde_json::json!(0.0), &serde_json::json!(1.0)));
    let pair = ["4", "0"].map(|window| {
        let name = format!("negation_window={window} · model=bayes · mode=char · head:512c -title");
        cell(found, &name)["figure"].clone()
    });
    assert_eq!(pair[0], pair[1]);
    // What is worse beyond chance is not among those that may be the best.
    let worst = found["cells"]
        .as_array()
        .unwrap()
        .iter()
        .min_by(|a, b| a["figure"].as_f64().unwrap().total_cmp(&b["figure"].as_f64().unwrap()));
    assert!(worst.unwrap()["p_best"].as_f64().unwrap() < 0.05, "{worst:?}");
    let page = fs::read_to_string(copy.path().join("exports/experiments/settings.html")).unwrap();
    assert_says(&page, &["id=\"effects\"", "<th scope=\"col\" class=\"text\">negation_window</th>"]);

    let again = run(copy.path(), &["experiment", "--headless", "--name", "settings", "--threads", "1"]).finished();
    assert_eq!((stages_of(&again, "words"), stages_of(&again, "audit")), (0, 0), "nothing is computed twice");
    assert_eq!(again["experiments"][0]["cells"], found["cells"]);

    // A lexicon's rows are dense; they are compared beside counts.
    let mixed = experiment(copy.path(), "again");
    assert_eq!(mixed["cells"].as_array().unwrap().len(), 4);
    // Judged by returns, each cell is a trial, called by its settings.
    let returns = experiment(copy.path(), "returns");
    assert_eq!(returns["cells"].as_array().unwrap().len(), 4);
    let short = effect(&returns, "head:5c -title");
    let against = |figure: &str| short["against"][figure].as_f64().unwrap();
    let interval = ["low", "high"].map(|end| short["against"]["interval"][end].as_f64().unwrap());
    assert!(interval[0] < against("difference") && against("difference") < interval[1], "{short}");
    assert!((0.0..=1.0).contains(&against("p")) && against("p") <= against("p_adjusted"), "{short}");
    let list = run(copy.path(), &["ledger", "list", "--headless"]).finished();
    let name = "returns · tone · negation_window=0 · head:5c -title";
    assert!(list["trials"].as_array().unwrap().iter().any(|trial| trial["factor"] == name), "{list:#}");
}

#[test]
fn settings_that_lead_nowhere_are_refused_by_name() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap();
    let refused = |vary: &str| {
        let grid = format!("\n[[experiment]]\nname = \"layers\"\nfeatures = [\"words\"]\nvary = {vary}\n");
        fs::write(&config, plain.clone() + &grid).unwrap();
        run(copy.path(), &["experiment", "--headless"]).refusal()
    };
    assert_says(
        &refused("{ \"onnx.layerz\" = [\"last\", \"first\"] }"),
        &["experiment \"layers\"", "\"words\"", "onnx.layerz: unknown key; did you mean \"layers\"?"],
    );
    assert_says(&refused("{ \"backtest.delay\" = [1, 2] }"), &["vary reaches the keys of [[feature]]"]);
    assert_says(&refused("{ \"tfidf.max_features\" = [10, -1] }"), &["-1 is out of bounds; write one from"]);
    assert_says(&refused("{ model = [\"svm\", \"svm\"] }"), &["\"layers\"", "model has the value svm twice"]);
    assert_says(&refused("{}"), &["\"layers\"", "nothing to compare it with"]);
}

#[test]
fn a_preset_is_written_once_and_run() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let before = fs::read_to_string(&config).unwrap();
    let preset = ["experiment", "--headless", "--preset", "granularity", "--target", "rating"];
    let json = run(copy.path(), &preset).finished();
    let found = &json["experiments"][0];
    assert_eq!((found["name"].as_str(), found["cells"].as_array().unwrap().len()), (Some("granularity"), 9));
    let written = fs::read_to_string(&config).unwrap();
    assert!(written.contains("name = \"granularity\"") && written.starts_with(&before[..200]), "{written}");
    run(copy.path(), &preset).finished();
    assert_eq!(fs::read_to_string(&config).unwrap(), written, "it is there already");
}

/// Heads over the rows of other features: a cell of each head by each choice of inputs, and a vintage that needs more text than there is.
const HEADS: &str = r#"
[[feature]]
name = "places"
model = "lsa"
lsa = { dim = 8 }

[[feature]]
name = "vectors"
model = "word2vec"
vintages = { min_train_documents = 1000000 }

[[feature]]
name = "head"
model = "logistic"
inputs = ["words", "tone"]

[[experiment]]
name = "heads"
target = "rating"
positive = ["买入", "增持"]
features = ["head"]
kinds = ["report"]
vary = { inputs = [["words"], ["tone"], ["places"], ["words", "places"], ["vectors"]], "places.lsa.dim" = [4, 8], model = ["logistic", "svm"] }
draws = 200

[[experiment]]
name = "lacking"
target = "rating"
positive = ["买入", "增持"]
features = ["vectors"]
vary = { "vectors.word2vec.dim" = [10, 20] }
draws = 200
"#;

/// A network under the vectors of two features.
const NETWORK: &str = r#"
[[feature]]
name = "early"
model = "word2vec"
vintages = { min_train_documents = 200, refit_days = 182 }
word2vec = { dim = 8, epochs = 1 }

[[feature]]
name = "late"
model = "glove"
vintages = { min_train_documents = 200, refit_days = 182 }
glove = { dim = 8, epochs = 1 }

[[feature]]
name = "network"
model = "textcnn"
kinds = ["report"]
embeddings = { feature = "early" }
walk_forward = { train_days = 200, test_days = 200, min_train_rows = 50 }
textnet = { widths = [3], maps = 4, max_tokens = 32, fit = { epochs = 1 } }

[[experiment]]
name = "begun"
target = "factor"
features = ["network"]
vary = { "embeddings.feature" = ["early", "late"] }
draws = 200
"#;

#[test]
fn networks_are_compared_by_the_vectors_that_they_begin_with() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap();
    fs::write(&config, plain + NETWORK).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "begun"]).finished();
    let found = &json["experiments"][0];
    let [early, late] = ["early", "late"].map(|name| figure(found, &format!("feature={name}")));
    assert!(early.is_finite() && late.is_finite() && early != late, "{found:#}");
    let again = run(copy.path(), &["experiment", "--headless", "--name", "begun"]).finished();
    assert_eq!((stages_of(&again, "network"), &again["experiments"][0]["cells"]), (0, &found["cells"]));
}

/// A network beside words under a head, judged by ratings. Titles tell the rating away, and are dropped.
const ON_RATINGS: &str = r#"
[[feature]]
name = "reader"
model = "textcnn"
textnet = { widths = [2], maps = 16, dim = 16, max_tokens = 512, fit = { epochs = 12, batch = 16, lr = 0.005, held_out_share = 0.0 } }

[[experiment]]
name = "readers"
target = "rating"
positive = ["买入", "增持"]
features = ["words", "reader"]
kinds = ["report"]
vary = { truncate = ["head:512c -title"], "linear.alpha" = [0.01, 1.0] }
draws = 200
"#;

#[test]
fn a_network_is_judged_by_ratings_in_the_folds_of_other_models() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap();
    fs::write(&config, plain + ON_RATINGS).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "readers"]).finished();
    let found = &json["experiments"][0];
    let figures: Vec<f64> =
        found["cells"].as_array().unwrap().iter().map(|cell| cell["figure"].as_f64().unwrap()).collect();
    assert!(figures[0] != figures[1] && figures[2] == figures[3], "a network reads no penalty: {figures:?}");
    assert_eq!(stages_of(&json, "reader"), 1, "the cells of the network are computed once");
    // Chance is .5 with a standard error of .03 over 450 reports.
    assert!(found["cells"][2]["figures"]["auc"].as_f64().unwrap() > 0.7, "{found:#}");
    let again = run(copy.path(), &["experiment", "--headless", "--name", "readers"]).finished();
    assert_eq!((stages_of(&again, "reader"), &again["experiments"][0]["cells"]), (0, &found["cells"]));
}

#[test]
fn heads_over_other_features_are_compared_and_a_cell_without_data_is_skipped() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap().replace("\"words\"", "\"counts\"");
    fs::write(&config, plain.clone() + HEADS).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "heads"]).finished();
    let found = &json["experiments"][0];
    assert_eq!((found["cells"].as_array().unwrap().len(), found["skipped"].as_array().unwrap().len()), (16, 4));
    for skipped in found["skipped"].as_array().unwrap() {
        assert_says(skipped["reason"].as_str().unwrap(), &["feature \"vectors\" has no values", "min_train_documents"]);
    }
    // Each set is computed once, whatever the number of cells that learn on it.
    let computed = |begins: &str| stages_of(&json, begins);
    assert_eq!((computed("places"), computed("tone"), computed("vectors")), (1, 0, 0), "{:#}", json["stages"]);
    assert_eq!((computed("extract places"), computed("extract tone")), (1, 1), "the project's own are the project's");
    assert_eq!(computed("head"), 1, "the words of a text are counted once");
    let shown = |inputs: &str, dim: u32, model: &str| {
        cell(found, &format!("inputs={inputs} · model={model} · dim={dim}"))["figure"].as_f64().unwrap()
    };
    assert_eq!(shown("[\"words\"]", 4, "svm"), shown("[\"words\"]", 8, "svm"), "words have no dimensions");
    assert_ne!(shown("[\"places\"]", 4, "svm"), shown("[\"places\"]", 8, "svm"));
    let page = fs::read_to_string(copy.path().join("exports/experiments/heads.html")).unwrap();
    assert_says(&page, &["id=\"skipped\"", "min_train_documents = 1000000", "id=\"effects\""]);

    // Nothing is computed again, and what was computed for the cells alone is gone.
    let again = run(copy.path(), &["experiment", "--headless", "--name", "heads", "--threads", "1"]).finished();
    let computed_again = ["places", "head", "audit"].map(|begins| stages_of(&again, begins));
    assert_eq!((computed_again, &again["experiments"][0]["cells"]), ([0; 3], &found["cells"]));
    let left = fs::read_dir(copy.path().join(".inkstone/experiments/heads/sets")).map_or(0, Iterator::count);
    assert_eq!(left, 0);

    let refusal = run(copy.path(), &["experiment", "--headless", "--name", "lacking"]).refusal();
    assert_says(&refusal, &["no cell could be computed; vectors · dim=10", "\"vectors · dim=10\" has no values"]);
    let refused = |from: &str, to: &str| {
        fs::write(&config, plain.clone() + &HEADS.replacen(from, to, 1)).unwrap();
        run(copy.path(), &["experiment", "--headless"]).refusal()
    };
    assert_says(
        &refused("\"places.lsa.dim\" = [4, 8]", "\"places.lsa.dims\" = [4, 8]"),
        &["vary.places.lsa.dims", "lsa.dims: unknown key; did you mean \"dim\"?"],
    );
    assert_says(
        &refused("\"places.lsa.dim\" = [4, 8]", "\"tones.lexicon.negation_window\" = [4, 8]"),
        &["tones", "an input by its name"],
    );
    assert_says(&refused("[\"places\"], [", "[\"place\"], ["), &["there is no feature \"place\" (inputs, only)"]);
}

#[test]
fn a_whole_text_costs_no_less_than_a_part_of_it() {
    let copy = small().copy();
    let config = copy.path().join("workbench.toml");
    let units = "\n[[experiment]]\nname = \"units\"\ntarget = \"rating\"\npositive = [\"买入\", \"增持\"]\nfeatures = [\"words\"]\n\
                 kinds = [\"report\"]\nunit = \"characters\"\nvary = { truncate = [\"none\", \"head:2000c\"] }\ndraws = 100\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + units).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "units"]).finished();
    let cells = json["experiments"][0]["cells"].as_array().unwrap();
    let tokens: Vec<u64> = cells.iter().map(|cell| cell["cost"]["tokens"].as_u64().unwrap()).collect();
    assert!(tokens[0] >= tokens[1] && tokens[1] > 0, "characters of the whole texts and of their heads: {tokens:?}");
}

/// A lexicon, and a contextual model that reads the documents of which the lexicon is not certain.
const CASCADE: &str = r#"
[[feature]]
name = "large"
model = "onnx"
only = "0.3 - abs(tone)"
truncate = "head:32"
onnx = { model = "model", fitted_until = "2022-12-31", output = "scores" }

[[factor]]
name = "cascade"
expression = "coalesce(large.tone, tone)"

[[experiment]]
name = "uncertain"
features = ["large"]
factor = "cascade"
vary = { only = ["0 - abs(tone)", "0.3 - abs(tone)", ""] }
draws = 200
"#;

#[test]
fn a_large_model_reads_what_a_small_one_is_not_certain_of() {
    if !has_library() {
        return;
    }
    let copy = small().copy();
    let config = copy.path().join("workbench.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap() + CASCADE).unwrap();
    let run_it = |args: &[&str]| with_library(copy.path(), args);
    let json = run_it(&["run", "--headless"]).finished();
    let report = stage(&json, "extract large");
    let dropped = report["dropped"]["without what the condition asks for (only)"].as_u64().unwrap();
    let rows = |end: &str| report[end].as_u64().unwrap();
    assert!(dropped > 0 && rows("rows_out") > 0 && rows("rows_in") == rows("rows_out") + dropped, "{report:#}");
    assert_eq!(report["facts"]["cost"]["documents"].as_u64(), Some(rows("rows_out")));
    let factors = json["factors"].as_array().unwrap();
    let factor = factors.iter().find(|factor| factor["name"] == "cascade").unwrap();
    assert!(factor["ic"][0]["rank_ic"]["mean"].is_number(), "{factor:#}");
    let again = run_it(&["run", "--headless"]).finished();
    assert_eq!(stage(&again, "extract large")["unchanged"], true);

    // The more documents the large model reads, the more tokens it costs.
    let json = run_it(&["experiment", "--headless", "--name", "uncertain"]).finished();
    let cells = json["experiments"][0]["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["figure"].is_number()), "{cells:#?}");
    let mut read: Vec<u64> = cells.iter().map(|cell| cell["cost"]["tokens_read"].as_u64().unwrap()).collect();
    read.sort_unstable();
    assert!(read.len() == 3 && read[0] < read[1] && read[1] < read[2], "{cells:#?}");

    edit(&config, "only = \"0.3 - abs(tone)\"", "only = \"0.3 - abs(tune)\"");
    assert_says(&run_it(&["run", "--headless"]).refusal(), &["there is no feature \"tune\" (inputs, only)"]);
}

/// Words of the documents of which the lexicon is not certain, under two lexicons.
const GATED: &str = r#"
[[feature]]
name = "gated"
model = "tfidf"
only = "0.9 - abs(tone)"

[[experiment]]
name = "gated"
target = "rating"
positive = ["买入", "增持"]
features = ["gated"]
kinds = ["report"]
vary = { "tone.truncate" = ["none", "head:4"] }
draws = 200
"#;

#[test]
fn words_of_a_condition_are_counted_anew_where_the_condition_reads_other_rows() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap() + GATED).unwrap();
    let json = run(copy.path(), &["experiment", "--headless", "--name", "gated"]).finished();
    assert_eq!(json["experiments"][0]["cells"].as_array().unwrap().len(), 2, "{json:#}");
    assert_eq!(stages_of(&json, "gated"), 2, "{:#}", json["stages"]);
}
