//! The word-frequency factor of reports after previews (FADT) and FADT-BERT, as the guide configures them, on the demo market.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use inkstone_base::data::Kind;
use inkstone_base::stats::mean;
use serde_json::Value;

use crate::near_events::documents;
use crate::{demo, has_library, run, stage};

const PREVIEWS: &str = r#"
[[source]]
name = "previews"
path = "previews.csv"
kind = "announcement"
"#;

/// The block of the guide with both factors, on the model of the demo and with windows of its size.
fn block_of_the_guide() -> String {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide.md")).unwrap();
    let block = guide.split("```").find(|block| block.contains("name = \"fadt\"\n")).unwrap();
    let mut block = block.strip_prefix("toml").unwrap().to_owned();
    for (from, to) in [
        ("model = \"models/macbert\"", "model = \"model\""),
        ("fitted_until = \"2020-12-31\"", "fitted_until = \"2022-12-31\""),
        ("test_days = 20, min_train_rows = 100", "test_days = 60, min_train_rows = 60"),
    ] {
        assert!(block.contains(from), "the guide has no {from}");
        block = block.replace(from, to);
    }
    block
}

/// Previews a day before four of five reports.
fn previews(folder: &Path) -> (String, usize) {
    let all = documents(folder);
    let reports = all.iter().filter(|(document, codes)| document.kind == Kind::Report && codes.len() == 1);
    let (mut table, mut left_out) = ("id,published_at,codes,title,body\n".to_owned(), 0);
    for (i, (report, codes)) in reports.enumerate() {
        if i % 5 == 0 {
            left_out += 1;
            continue;
        }
        let time = report.published_at - TimeDelta::days(1);
        let time = time.format("%Y-%m-%d %H:%M:%S");
        writeln!(table, "{i},{time},{},业绩预告第{i}号,公司发布第{i}号业绩预告。", codes[0]).unwrap();
    }
    (table, left_out)
}

fn folds<'j>(json: &'j Value, feature: &str) -> &'j Vec<Value> {
    stage(json, &format!("extract {feature}"))["facts"]["folds"].as_array().unwrap()
}

/// The mean of a figure over the folds that were fitted.
fn mean_of(folds: &[Value], figure: impl Fn(&Value) -> &Value) -> f64 {
    mean(folds.iter().filter_map(|fold| figure(fold).as_f64()))
}

#[test]
fn word_counts_after_previews_and_the_vector_of_a_bert_make_factors_as_the_guide_says() {
    if !has_library() {
        return;
    }
    let copy = demo::third().copy();
    let folder = copy.path();
    let (table, left_out) = previews(folder);
    fs::write(folder.join("previews.csv"), table).unwrap();
    let config = fs::read_to_string(folder.join("workbench.toml")).unwrap();
    let sources = config.split("\n[[feature]]").next().unwrap();
    fs::write(folder.join("workbench.toml"), format!("{sources}\n{PREVIEWS}{}", block_of_the_guide())).unwrap();
    let json = run(folder, &["backtest", "--headless"]).finished();

    for (name, tried, settings) in [("fadt", 4, &["C"][..]), ("fadt_bert", 4, &["learning_rate", "max_depth"])] {
        let report = stage(&json, &format!("extract {name}"));
        let shut_out = report["dropped"]["not near an event of its security (within)"].as_u64().unwrap();
        assert!(shut_out as usize > left_out / 2, "{shut_out} of {left_out}");
        let fitted: Vec<Value> =
            folds(&json, name).iter().filter(|fold| !fold["fitted_until"].is_null()).cloned().collect();
        assert!(fitted.len() > 3, "{} of {}", fitted.len(), folds(&json, name).len());
        for fold in &fitted {
            let search = &fold["search"];
            assert_eq!((&search["tried"], &search["measure"]), (&tried.into(), &"auc".into()), "{search}");
            let chosen: Vec<&String> = search["settings"].as_object().unwrap().keys().collect();
            assert_eq!(chosen, settings);
        }
        let out_of_fold = mean_of(&fitted, |fold| &fold["search"]["mean"]);
        let out_of_sample = mean_of(&fitted, |fold| &fold["out_of_sample"]);
        // They are .60 and .32, .59 and .28. Four folds without a signal would give a mean of 0 with a deviation of about .08.
        assert!(
            out_of_fold > 0.55 && out_of_sample > 0.2,
            "{name}: auc {out_of_fold}, rank correlation {out_of_sample}"
        );
        let factor = json["factors"].as_array().unwrap().iter().find(|factor| factor["name"] == name).unwrap();
        assert!(factor["ic"][0]["rank_ic"]["mean"].is_number(), "{name}: {factor}");
    }
    assert_eq!(stage(&json, "extract fadt_bert")["facts"]["inputs"], serde_json::json!(["cls"]));
}
