//! The factor laboratory: what is said of a factor, that tests are remembered, and that runs can be repeated.

use std::fs;

use chrono::NaiveDate;
use serde_json::Value;

use crate::demo::{small, third, whole};
use crate::{assert_says, edit, run, stage};

/// The verdict of a check on a factor.
fn standing(json: &Value, factor: &str, check: &str) -> String {
    let factors = json["factors"].as_array().expect("a tested run lists its factors");
    let factor = factors.iter().find(|f| f["name"] == factor).expect("the factor was tested");
    let verdict = factor["lint"].as_array().unwrap().iter().find(|v| v["check"] == check).expect("the check ran");
    verdict["standing"].as_str().unwrap().to_owned()
}

#[test]
fn the_demo_is_linted_and_its_planted_gap_is_named() {
    let json = whole().ran.json();
    for check in ["known-before", "trade-date", "shuffled-dates", "shuffled-text", "future-vocabulary"] {
        assert_eq!(standing(&json, "tone", check), "passed", "{check}");
    }
    assert_eq!(standing(&json, "tone", "same-day-gap"), "warned", "part of the tone moved before publication");
    assert_ne!(standing(&json, "tone", "masked-names"), "skipped");
    assert_eq!(standing(&json, "placebo", "shuffled-text"), "skipped", "a placebo has nothing to break");
    let bert = standing(&json, "bert", "masked-names");
    assert_eq!(bert, "skipped", "a contextual model reads again only when it is asked to");
    let looks = &json["factors"][0]["looks"];
    assert_eq!((&looks["trials"], &looks["runs"], &looks["problems"]), (&5.into(), &5.into(), &0.into()));
    assert!(json["factors"][0]["events"]["groups"].as_array().unwrap().len() == 3);
}

#[test]
fn a_report_of_each_factor_needs_no_network_and_speaks_both_languages() {
    let copy = small().copy();
    edit(&copy.path().join("workbench.toml"), "[backtest]", "[report]\ncharts = [\"svg\"]\n\n[backtest]");
    let json = run(copy.path(), &["report", "--headless"]).finished();
    assert_eq!(json["stages"].as_array().unwrap().last().unwrap()["stage"], "report customers");
    let folder = copy.path().join("reports/tone");
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert_says(&page, &["lang=\"zh-CN\"", "lang=\"en\"", "synthetic", "合成", "RankIC"]);
    assert!(!page.contains("<script") && !page.contains("src=\"http") && !page.contains("NaN"));
    for chart in ["rank_ic", "layers_wealth", "long_short", "coverage", "events"] {
        for language in ["zh", "en"] {
            let svg = fs::read_to_string(folder.join(format!("{chart}.{language}.svg"))).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{chart}");
        }
    }
}

#[test]
fn a_run_is_repeated_byte_by_byte_and_two_runs_are_told_apart() {
    let copy = small().copy();
    let first = copy.path().join("first.json");
    fs::copy(copy.path().join("exports/manifest.json"), &first).unwrap();
    let again = run(copy.path(), &["replay", "exports/manifest.json"]);
    let json = again.json();
    assert_eq!((again.code, &json["same"]), (Some(0), &true.into()), "{}", json["replay"]);
    assert_eq!(json["replay"]["same"], json["replay"]["files"]);

    edit(&copy.path().join("workbench.toml"), "linear = { alpha = 10.0 }", "linear = { alpha = 20.0 }");
    run(copy.path(), &["export", "--headless"]).finished();
    let parted = run(copy.path(), &["diff", "first.json", "exports/manifest.json"]).finished();
    let difference = &parted["difference"];
    assert_eq!((&difference["first"]["stage"], &parted["same"]), (&"extract learned".into(), &false.into()));
    assert_eq!(difference["first"]["reason"], "parameters_or_inputs");
    assert_says(&difference["parameters"].to_string(), &["linear.alpha", "10.0", "20.0"]);

    // What lies beside the manifest was changed by hand.
    let table = copy.path().join("exports/wide/tone.csv");
    fs::write(&table, "date\n").unwrap();
    let altered = run(copy.path(), &["replay", "exports/manifest.json"]);
    assert_eq!(altered.code, Some(1));
    assert_eq!(altered.json()["replay"]["altered"], serde_json::json!(["wide/tone.csv"]));
}

#[test]
fn every_test_of_a_plain_table_is_a_look_and_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/alphalens");
    let (factor, prices) = (format!("{tables}/factor.csv"), format!("{tables}/prices.csv"));
    let test = |horizons: &str| {
        let args = ["backtest", "--factor", &factor, "--prices", &prices, "--out", "result", "--horizons", horizons];
        run(folder.path(), &[&args[..], &["--price", "close", "--max-loss", "0.6"]].concat()).finished()
    };
    let looks = |json: &Value| json["factors"][0]["looks"].clone();
    assert_eq!((&looks(&test("1"))["trials"], &looks(&test("1"))["runs"]), (&1.into(), &2.into()), "a repetition");
    let other = test("3");
    assert_eq!(looks(&other)["trials"], 2);
    assert_eq!(other["factors"][0]["lint"].as_array().unwrap().len(), 12);
    assert_says(&fs::read_to_string(folder.path().join("result/report.html")).unwrap(), &["RankIC", "<svg"]);

    let listed = run(folder.path(), &["ledger", "list", "--ledger", ".inkstone/ledger", "--headless"]).finished();
    assert_says(&listed.to_string(), &["\"trials\":2", "\"deleted\":0"]);
    let args = ["ledger", "delete", "1", "--reason", "a slip", "--ledger", ".inkstone/ledger", "--headless"];
    run(folder.path(), &args).finished();
    assert_eq!(
        (&looks(&test("3"))["trials"], &looks(&test("3"))["deleted"]),
        (&2.into(), &1.into()),
        "it still counts"
    );
    let elsewhere = ["backtest", "--factor", &factor, "--prices", &prices, "--ledger", "mine", "--max-loss", "0.9"];
    let json = run(folder.path(), &[&elsewhere[..], &["--price", "close"]].concat()).finished();
    assert_eq!(looks(&json)["trials"], 1);
}

/// A feature that never learns, a factor of it, and a factor of that factor.
const NEVER: &str = r#"
[[feature]]
name = "never"
model = "ridge"
walk_forward = { train_days = 120, test_days = 20, min_train_rows = 10000000 }

[[factor]]
name = "never"
expression = "never"

[[factor]]
name = "twice"
expression = "2 * factor.never"
"#;

#[test]
fn a_factor_without_values_is_left_out_and_the_others_are_tested() {
    let copy = small().copy();
    let config = copy.path().join("workbench.toml");
    let before = fs::read_to_string(&config).unwrap();
    let usual = run(copy.path(), &["report", "--headless"]).finished();
    fs::write(&config, before.clone() + NEVER).unwrap();
    let ran = run(copy.path(), &["report", "--headless"]);
    let json = ran.json();
    assert_eq!((ran.code, &json["status"]), (Some(1), &"partial".into()), "{json:#}");
    let left_out = json["left_out"].as_array().unwrap();
    let stages: Vec<&str> = left_out.iter().map(|left_out| left_out["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["factor never", "factor twice"]);
    assert_says(left_out[0]["reason"].as_str().unwrap(), &["\"never\" has no values", "without a value"]);
    assert_says(left_out[1]["reason"].as_str().unwrap(), &["it reads \"never\", which was left out"]);
    assert_says(&ran.stderr, &["factor never left out: factor \"never\" has no values"]);
    let names = |json: &Value| -> Vec<String> {
        json["factors"].as_array().unwrap().iter().map(|factor| factor["name"].to_string()).collect()
    };
    assert_eq!(names(&json), names(&usual));
    assert!(!copy.path().join("reports/never").exists() && copy.path().join("reports/tone/index.html").exists());
    // The export can be repeated.
    let again = run(copy.path(), &["replay", "exports/manifest.json"]);
    assert_eq!((again.code, &again.json()["same"]), (Some(0), &true.into()), "{:#}", again.json());
    // Old figures of a factor that is left out now are gone, and come back with its values.
    let tested = copy.path().join(".inkstone/backtests/placebo.json");
    assert!(tested.exists());
    edit(&config, "expression = \"placebo.positive\"", "expression = \"never\"");
    let json = run(copy.path(), &["report", "--headless"]).json();
    assert_eq!(json["left_out"][1]["stage"], "factor never", "{:#}", json["left_out"]);
    assert_eq!(json["left_out"][0]["stage"], "factor placebo", "{:#}", json["left_out"]);
    assert!(!tested.exists());
    edit(&config, "expression = \"never\"\ndecay", "expression = \"placebo.positive\"\ndecay");
    let json = run(copy.path(), &["report", "--headless"]).json();
    assert!(tested.exists() && names(&json) == names(&usual));
    let stages = json["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["facts"].get("damaged").is_none()), "{stages:#?}");
    // Without any other factor there is nothing to go on with.
    let cut = before.find("[[factor]]").expect("the demo has factors");
    let rest = before[cut..].find("\n[backtest]").map_or("", |at| &before[cut + at..]);
    fs::write(&config, before[..cut].to_owned() + rest + NEVER).unwrap();
    assert_says(&run(copy.path(), &["run", "--headless"]).refusal(), &["\"never\" has no values"]);
}

/// A feature without its model, a model fitted on all documents, and a model fitted on the first half of them.
const FAILING: &str = r#"
[[feature]]
name = "gone"
model = "file"
file = { path = "none.model" }

[[factor]]
name = "gone"
expression = "gone"

[[feature]]
name = "all_seen"
model = "lsa"
lsa = { dim = 4 }

[[factor]]
name = "all_seen"
expression = "all_seen.c1"

[[feature]]
name = "half_seen"
model = "lsa"
fit_until = "UNTIL"
lsa = { dim = 4 }

[[factor]]
name = "half_seen"
expression = "half_seen.c1"
"#;

#[test]
fn a_feature_that_fails_is_left_out_and_a_factor_begins_when_its_model_is_known() {
    let copy = third().copy();
    let dates = |factor: &str| -> Vec<NaiveDate> {
        let table = fs::read_to_string(copy.path().join(format!("exports/backtest/{factor}/ic.csv"))).unwrap();
        let of_one_day = table.lines().filter_map(|line| line.strip_prefix("1,"));
        of_one_day.map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
    };
    run(copy.path(), &["report", "--headless"]).finished();
    let usual = dates("tone");
    let until = usual[usual.len() / 2];
    let config = copy.path().join("workbench.toml");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before + &FAILING.replace("UNTIL", &until.to_string())).unwrap();
    for _ in 0..2 {
        let ran = run(copy.path(), &["report", "--headless"]);
        let json = ran.json();
        assert_eq!((ran.code, &json["status"]), (Some(1), &"partial".into()), "{json:#}");
        let left_out = json["left_out"].as_array().unwrap();
        let stages: Vec<&str> = left_out.iter().map(|left_out| left_out["stage"].as_str().unwrap()).collect();
        assert_eq!(stages, ["extract gone", "factor gone", "backtest all_seen"], "{left_out:#?}");
        assert_says(left_out[0]["reason"].as_str().unwrap(), &["none.model"]);
        assert_says(left_out[1]["reason"].as_str().unwrap(), &["it reads \"gone\", which was left out"]);
        assert_says(left_out[2]["reason"].as_str().unwrap(), &["were not known before the return", "max_refused"]);
        assert_eq!(dates("tone"), usual);
        let begun = dates("half_seen");
        // The value of the last day is known before the next day opens.
        assert!(begun.iter().all(|date| *date >= until), "{begun:?}");
        assert!(begun.len() > usual.len() / 3, "{} of {}", begun.len(), usual.len());
        let dropped = &stage(&json, "backtest half_seen")["dropped"];
        let early = dropped["of dates before a model behind them was fitted"].as_u64().unwrap();
        assert!(early > 100, "{dropped}");
        assert!(copy.path().join("reports/half_seen/index.html").exists());
        assert!(!copy.path().join("reports/all_seen").exists() && !copy.path().join("reports/gone").exists());
    }
}
