//! Features that learn on the rows of other features, on the demo market.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::demo::third;
use crate::{assert_says, computed, edit, run, stage};

const HEADS: &str = r#"
[[feature]]
name = "head"
model = "ridge"
inputs = ["surprising.surprise", "tone", "words"]
mask_names = true
tfidf = { min_df = 5 }
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }

[[feature]]
name = "trees"
model = "boosted"
inputs = ["tone"]
walk_forward = { train_days = 120, test_days = 60, min_train_rows = 50 }
boosted = { trees = 20, max_depth = 3 }

[[feature]]
name = "surprising"
model = "surprise"
surprise = { order = 1 }

[[factor]]
name = "head"
expression = "head"

[[factor]]
name = "trees"
expression = "trees"
"#;

#[test]
fn a_head_on_other_features_makes_a_factor_and_is_explained_by_them() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap();
    // `words` names the words of the text; the demo's feature of that name gets another.
    fs::write(&config, plain.replace("\"words\"", "\"counts\"") + HEADS).unwrap();
    let json = run(copy.path(), &["run", "--headless"]).finished();
    let facts = &stage(&json, "extract head")["facts"];
    assert_eq!(facts["inputs"], serde_json::json!(["surprising.surprise", "tone"]), "{facts}");
    assert_eq!(facts["dense_columns"], 5, "{facts}");
    assert!(facts["words"].as_u64().unwrap() > 100, "{facts}");
    assert!(stage(&json, "extract counts")["unchanged"] == true, "a new name computes nothing again");
    let order: Vec<&str> =
        json["stages"].as_array().unwrap().iter().filter_map(|stage| stage["stage"].as_str()).collect();
    let place = |name: &str| order.iter().position(|stage| *stage == name).unwrap();
    assert!(place("extract surprising") < place("extract head"), "{order:?}");

    // Nothing is computed again, and no more when the input has another name.
    assert!(
        computed(&run(copy.path(), &["run", "--headless"]).finished()).iter().all(|stage| !stage.contains("extract"))
    );
    let text = fs::read_to_string(&config).unwrap().replace("surprising", "new");
    fs::write(&config, text).unwrap();
    let again = run(copy.path(), &["run", "--headless"]).finished();
    assert!(computed(&again).iter().all(|stage| !stage.contains("extract")), "{:?}", computed(&again));

    // A value is taken apart by words and inputs, which add up to it.
    let factors = json["factors"].as_array().unwrap();
    for name in ["head", "trees"] {
        assert!(factors.iter().any(|factor| factor["name"] == name), "{factors:?}");
        let table = fs::read_to_string(copy.path().join(format!("exports/wide/{name}.csv"))).unwrap();
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<&str>>());
        let codes = rows.next().unwrap();
        let last = rows.rfind(|row| row[1..].iter().any(|value| !value.is_empty())).unwrap();
        let place = 1 + last[1..].iter().position(|value| !value.is_empty()).unwrap();
        let flags = ["trace", name, "--date", last[0], "--code", codes[place]];
        let traced = run(copy.path(), &flags).finished();
        let document = traced["readings"][0]["documents"][0]["doc_id"].as_str().unwrap();
        let flags = [&flags[..], &["--document", document]].concat();
        let texts = run(copy.path(), &flags).finished()["sentences"].clone();
        let explained = &texts[0];
        let inputs = explained["inputs"].as_array().unwrap();
        assert!(inputs.iter().any(|input| input["input"].as_str().unwrap().starts_with("tone.")), "{explained:#}");
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let sum: f64 = inputs.iter().map(|input| number(&input["value"])).sum::<f64>()
            + explained["sentences"].as_array().unwrap().iter().filter_map(|s| s["value"].as_f64()).sum::<f64>();
        let rest = number(&explained["score"]) - number(&explained["intercept"]) - sum;
        assert!((rest - number(&explained["rest"])).abs() < 1e-9, "{explained:#}");
        assert!(rest.abs() < 1e-6 || name == "trees", "{explained:#}");
        // The score of the head goes on down to the sentences of each input.
        let below = &texts.as_array().unwrap()[1..];
        let inputs: Vec<&str> = below.iter().map(|text| text["feature"].as_str().unwrap()).collect();
        assert_eq!(inputs, if name == "head" { &["new", "tone"][..] } else { &["tone"] });
        let tone = &below[inputs.len() - 1];
        assert_eq!((tone["of"].as_str(), tone["by"].as_str()), (Some(&*format!("{name}.score")), Some("omission")));
        assert!((number(&tone["score"]) - number(&explained["kept"])).abs() < 1e-4, "{tone:#}");
        let lost = tone["sentences"].as_array().unwrap().iter().map(|sentence| number(&sentence["value"]));
        assert!(lost.clone().count() > 1 && lost.clone().all(f64::is_finite), "{tone:#}");
    }
}

/// Writes another future into a demo: from this day on, prices move otherwise and the texts of a wire say something else.
fn rewrite_from(day: &str, demo: &Path) {
    let path = demo.join("data/prices.csv");
    let row = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        if number == 0 || cells[0] < day {
            return line.to_owned();
        }
        let by = 1.0 + (number * 7919 % 13) as f64 / 40.0;
        let scaled = |(column, cell): (usize, &&str)| match cell.parse::<f64>() {
            // All prices of a row alike: it stays sound.
            Ok(price) if matches!(column, 2..=6 | 10 | 11) => format!("{:.4}", price * by),
            _ => (*cell).to_owned(),
        };
        cells.iter().enumerate().map(scaled).collect::<Vec<_>>().join(",")
    };
    let prices = fs::read_to_string(&path).unwrap();
    let rows: Vec<String> = prices.lines().enumerate().map(row).collect();
    fs::write(&path, rows.join("\n") + "\n").unwrap();
    for entry in fs::read_dir(demo.join("data/news/wire_json")).unwrap() {
        let path = entry.unwrap().path();
        let document = |line: &[u8]| match serde_json::from_slice::<Value>(line) {
            Ok(mut document) if document["pub_time"].as_str() >= Some(day) => {
                let content = document["content"].as_str().unwrap_or_default();
                document["content"] = format!("公司遭到立案调查，业绩大幅下滑。{content}").into();
                document.to_string().into_bytes()
            }
            // The wire has lines that are damaged, too.
            _ => line.to_vec(),
        };
        let text = fs::read(&path).unwrap();
        let lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(document).collect();
        fs::write(&path, lines.join(&b'\n')).unwrap();
    }
}

#[test]
fn another_future_changes_no_earlier_value_of_a_head_on_other_features() {
    let day = "2024-05-06";
    let tables = |rewritten: bool| {
        let copy = third().copy();
        let config = copy.path().join("workbench.toml");
        let plain = fs::read_to_string(&config).unwrap();
        fs::write(&config, plain.replace("\"words\"", "\"counts\"") + HEADS).unwrap();
        if rewritten {
            rewrite_from(day, copy.path());
        }
        run(copy.path(), &["run", "--headless"]).finished();
        ["head", "trees"].map(|name| fs::read_to_string(copy.path().join(format!("exports/wide/{name}.csv"))).unwrap())
    };
    for (before, after) in tables(false).iter().zip(&tables(true)) {
        let split = |table: &'_ str| -> (Vec<String>, Vec<String>) {
            table.lines().skip(1).map(str::to_owned).partition(|row| row.as_str() < day)
        };
        let ((past, future), (same_past, other_future)) = (split(before), split(after));
        let has_value = |row: &&String| row.split(',').skip(1).any(|value| !value.is_empty());
        assert!(past.iter().filter(has_value).count() > 20 && future.iter().filter(has_value).count() > 20);
        assert_ne!(future, other_future, "the other future changed nothing");
        let changed = past.iter().zip(&same_past).find(|(own, other)| own != other);
        assert_eq!(changed, None, "a value knows the future");
    }
}

#[test]
fn inputs_that_lead_nowhere_are_refused_by_name() {
    let copy = third().copy();
    let config = copy.path().join("workbench.toml");
    let plain = fs::read_to_string(&config).unwrap();
    let refused = |tables: &str| {
        fs::write(&config, plain.clone() + tables).unwrap();
        run(copy.path(), &["run", "--headless"]).refusal()
    };
    let head = |inputs: &str| format!("\n[[feature]]\nname = \"head\"\nmodel = \"ridge\"\ninputs = {inputs}\n");
    assert_says(&refused(&head("[\"head\"]")), &["in a circle: head → head"]);
    assert_says(&refused(&head("[\"mood\"]")), &["no feature \"mood\" (inputs, only)", "words, tone"]);
    assert_says(&refused(&head("[\"tone.mood\"]")), &["has no column \"mood\"", "tone, positive, negative, tokens"]);
    let lexicon = "\n[[feature]]\nname = \"mood\"\nmodel = \"lexicon\"\n";
    assert_says(&refused(&format!("{lexicon}inputs = [\"tone\"]\n")), &["inputs are for ridge"]);
    assert_says(&refused(&format!("{lexicon}lsa = {{ dim = 7 }}\n")), &["lsa is not for model = \"lexicon\""]);
    fs::write(&config, &plain).unwrap();
    edit(
        &config,
        "name = \"tone\"\nmodel = \"lexicon\"",
        "name = \"tone\"\nmodel = \"lexicon\"\nboosted = { trees = 3 }",
    );
    assert_says(&run(copy.path(), &["run", "--headless"]).refusal(), &["boosted is not for model"]);
}
