//! Faults of an archive: days that it lacks, told and kept out of factors on demand; fields that only its crawl knew.

use std::fs;

use inkstone_market::dates_of;
use inkstone_tables::frames;
use serde_json::Value;

use crate::forecast::{day, news, project};
use crate::{assert_says, edit, run};

#[test]
fn a_hole_of_the_archive_is_told_and_a_factor_may_leave_the_values_over_it_out() {
    let folder = project();
    let dir = folder.path();
    let lost = [day(30), day(31), day(32)];
    let rest: Vec<String> =
        news().lines().filter(|line| !lost.iter().any(|day| line.contains(day))).map(str::to_owned).collect();
    fs::write(dir.join("news.csv"), rest.join("\n") + "\n").unwrap();
    let facts = |stage: &str| -> Value {
        let json = run(dir, &["run", "--stage", "factor"]).json();
        json["stages"].as_array().unwrap().iter().find(|found| found["stage"] == stage).unwrap()["facts"].clone()
    };
    let ingest = facts("ingest");
    assert_eq!(ingest["gap_days"], 3);
    assert_eq!(ingest["gaps_first"][0].as_str(), Some(format!("news {} to {}", lost[0], lost[2]).as_str()));
    assert!(facts("clean")["first_mentions_behind_gaps"].as_u64().is_some());
    let dates = || {
        let table = frames::read_parquet(&dir.join(".inkstone/factors/tone.parquet"), None).unwrap();
        let mut dates: Vec<String> =
            dates_of(&table, "date").unwrap().into_iter().flatten().map(|d| d.to_string()).collect();
        dates.dedup();
        dates
    };
    let factor_facts = facts("factor tone");
    let over = factor_facts["values_over_gaps"].as_u64().unwrap();
    assert!(over > 0 && factor_facts["gaps"] == "keep" && dates().contains(&day(33)), "{factor_facts}");
    edit(&dir.join("workbench.toml"), "expression = \"tone\"", "expression = \"tone\"\ngaps = \"drop\"");
    let dropped = facts("factor tone");
    assert_eq!((dropped["values_over_gaps"].as_u64(), &dropped["gaps"]), (Some(over), &Value::from("drop")));
    // A value takes the documents of five trading days.
    let left = dates();
    assert!((30..=36).all(|t| !left.contains(&day(t))), "{left:?}");
    assert!(left.contains(&day(29)) && left.contains(&day(38)), "{left:?}");
}

#[test]
fn a_factor_of_what_only_the_crawl_knew_is_told_and_others_pass() {
    let folder = project();
    let dir = folder.path();
    let news = news().replacen("body,code", "body,code,当日涨跌幅", 1);
    let rating = |line: &str| if line.contains("预增") { "买入" } else { "减持" };
    let rows: Vec<String> = news
        .lines()
        .enumerate()
        .map(|(i, l)| if i == 0 { l.to_owned() } else { format!("{l},{}", rating(l)) })
        .collect();
    fs::write(dir.join("news.csv"), rows.join("\n") + "\n").unwrap();
    edit(
        &dir.join("workbench.toml"),
        "path = \"news.csv\"",
        "path = \"news.csv\"\ncolumns = { rating = \"当日涨跌幅\" }",
    );
    let moved = "\n[[factor]]\nname = \"moved\"\nexpression = \"mean(document.rating)\"\n";
    let toml = fs::read_to_string(dir.join("workbench.toml")).unwrap();
    fs::write(dir.join("workbench.toml"), toml + moved).unwrap();
    let ran = run(dir, &["run"]);
    assert_says(&ran.stderr, &["当日涨跌幅", "when the page was crawled"]);
    let crawled = |factor: &str| -> Value {
        let verdicts = fs::read(dir.join(format!(".inkstone/lint/{factor}.json"))).unwrap();
        let text = String::from_utf8(verdicts).unwrap();
        let json = &text[text.find('[').unwrap()..=text.rfind(']').unwrap()];
        let verdicts: Vec<Value> = serde_json::from_str(json).unwrap();
        verdicts.into_iter().find(|verdict| verdict["check"] == "crawled").unwrap()
    };
    assert_eq!((crawled("tone")["standing"].as_str(), crawled("tone")["number"].as_f64()), (Some("passed"), Some(0.0)));
    let found = crawled("moved");
    assert_eq!((found["standing"].as_str(), found["number"].as_f64()), (Some("warned"), Some(1.0)), "{found}");
    assert_eq!(found["finding"]["fields"][0]["column"], "当日涨跌幅");
}
