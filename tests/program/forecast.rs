//! `run --plan`: what a run would do, told before it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{assert_says, edit, run};

/// Days of the project, each with a news item and a price of every code.
const DAYS: u32 = 60;
const CODES: u32 = 12;

pub(super) fn day(day: u32) -> String {
    format!("2024-{:02}-{:02}", 1 + day / 28, 1 + day % 28)
}

pub(super) fn news() -> String {
    let mut news = "doc_id,published_at,title,body,code\n".to_owned();
    for (t, code) in (0..DAYS).flat_map(|t| (0..CODES).map(move |code| (t, code))) {
        let text =
            if (t * 7 + code * 5) % 11 < 5 { "业绩预增，订单增长" } else { "业绩下滑，股东减持" };
        news += &format!("{t}-{code},{} 09:00:00,第{t}日第{code}条,{text}。,{}\n", day(t), 600_001 + code);
    }
    news
}

pub(super) fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let toml = "[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n[[source]]\nname = \"prices\"\npath = \"prices.csv\"\n\
        table = \"prices\"\n\n[[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n\n[[factor]]\nname = \"tone\"\n\
        expression = \"tone\"\n";
    let mut prices = "date,code,open,close,volume\n".to_owned();
    for (t, code) in (0..DAYS).flat_map(|t| (0..CODES).map(move |code| (t, code))) {
        let price = 10.0 + f64::from((t * (code + 3)) % 17) / 10.0;
        prices += &format!("{},{},{price},{price},1000\n", day(t), 600_001 + code);
    }
    fs::write(dir.path().join("workbench.toml"), toml).unwrap();
    fs::write(dir.path().join("news.csv"), news()).unwrap();
    fs::write(dir.path().join("prices.csv"), prices).unwrap();
    dir
}

/// The stages that would run, each with its reason.
fn due(dir: &Path) -> (Vec<String>, Value, String) {
    let ran = run(dir, &["run", "--plan", "--lang", "en"]);
    let json = ran.json();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let due_stage = |stage: &Value| {
        let why = stage["due"]["why"].as_str()?;
        let name = stage["stage"].as_str()?;
        Some(stage["due"]["stage"].as_str().map_or(format!("{name}: {why}"), |read| format!("{name}: {why} {read}")))
    };
    (json["plan"].as_array().unwrap().iter().filter_map(due_stage).collect(), json, ran.stderr)
}

#[test]
fn a_plan_names_the_stages_that_a_run_then_makes_and_changes_nothing() {
    let folder = project();
    let dir = folder.path();
    let (never, json, shown) = due(dir);
    let names: Vec<&str> = json["plan"].as_array().unwrap().iter().map(|s| s["stage"].as_str().unwrap()).collect();
    assert_eq!(never.len(), names.len());
    assert!(never.iter().all(|stage| stage.ends_with(": never-ran")), "{never:?}");
    assert!(json["expected_seconds"].as_f64().unwrap() > 0.0 && names.contains(&json["most_costly"].as_str().unwrap()));
    assert!(json["plan"].as_array().unwrap().iter().all(|stage| stage["basis"] == "rough"));
    assert_says(&shown, &["extract tone", "never ran", "a rough guess", "in all about"]);
    assert!(!dir.join(".inkstone").exists(), "a plan makes no folder");
    let ran = run(dir, &["run"]);
    let ran_stages: Vec<String> =
        ran.json()["stages"].as_array().unwrap().iter().map(|s| s["stage"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ran_stages, names, "{}", ran.stderr);
    let (nothing, json, shown) = due(dir);
    assert_eq!((nothing.as_slice(), &json["most_costly"], &json["due"]), (&[][..], &Value::Null, &0.into()), "{shown}");
    assert_says(&shown, &["nothing is due"]);
    // A setting of the feature.
    edit(&dir.join("workbench.toml"), "model = \"lexicon\"", "model = \"lexicon\"\nkinds = [\"news\"]");
    let (changed, json, shown) = due(dir);
    assert_eq!(
        changed[..3],
        ["extract tone: changed", "factor tone: reads extract tone", "backtest tone: reads factor tone"]
    );
    assert!(json["plan"].as_array().unwrap().iter().any(|stage| stage["basis"] == "measured"));
    assert_says(&shown, &["clean", "kept", "by its last run"]);
    run(dir, &["run"]);
    assert_eq!(due(dir).0, Vec::<String>::new());
    // More news.
    fs::write(dir.join("news.csv"), format!("{}a,2024-02-05 09:00:00,瑞禾电气中标,订单增长。,600001\n", news()))
        .unwrap();
    let (grown, json, _) = due(dir);
    assert_eq!(grown[..3], ["ingest: files", "clean: reads ingest", "link: reads clean"]);
    assert!(json["plan"][1]["rows"].as_u64().unwrap() >= u64::from(DAYS * CODES));
    let chinese = run(dir, &["run", "--plan", "--lang", "zh", "--stage", "clean"]);
    assert_eq!(chinese.json()["plan"].as_array().unwrap().len(), 2);
    assert_says(&chinese.stderr, &["文件有新增或变动", "合计约"]);
}
