//! A factor over the table of relations: suppliers move a day after what reports say of their customers.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use chrono::{Datelike, NaiveDate};
use serde_json::Value;

use crate::{assert_says, computed, edit, run, stage};

const NAMES: usize = 30;
const DAYS: usize = 90;

const CONFIG: &str = r#"
[[source]]
name = "reports"
path = "reports.csv"
kind = "report"

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[source]]
name = "chain"
path = "chain.csv"
table = "relations"

[[factor]]
name = "own"
expression = "mean(document.rating, days = 1)"

[[factor]]
name = "customers"
expression = "spread(mean(document.rating, days = 1), graph = relations, kinds = 供应, takes = to)"

[[factor]]
name = "together"
expression = "spread(mean(document.rating, days = 1), graph = mentions, days = 20)"

[backtest]
horizons = [1]
quantiles = 3
min_names = 5
price = "open"

[lint]
text_draws = 20
"#;

/// Five ratings, by an arithmetic without order in days or names.
fn rating(t: usize, i: usize) -> usize {
    let mut x = (t * 7919 + i * 104_729 + 12_345) as u64;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    (x % 5) as usize
}

fn customers(i: usize) -> [usize; 2] {
    [(i + 1 + i % 7) % NAMES, (i + 11 + i % 5) % NAMES]
}

fn code(i: usize) -> String {
    format!("60{i:04}")
}

fn write_market(folder: &Path) {
    let words = ["卖出", "减持", "中性", "增持", "买入"];
    let days = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().iter_days();
    let days: Vec<NaiveDate> = days.filter(|day| day.weekday().num_days_from_monday() < 5).take(DAYS).collect();
    let mut reports = "id,published_at,codes,title,body,rating\n".to_owned();
    let mut prices = "date,code,open,close\n".to_owned();
    let mut last = vec![20.0; NAMES];
    for (t, day) in days.iter().enumerate() {
        for (i, last) in last.iter_mut().enumerate() {
            let open = *last;
            if t > 0 {
                let customer_tone: f64 = customers(i).iter().map(|&j| rating(t - 1, j) as f64 - 2.0).sum();
                *last *= 1.0 + 0.004 * customer_tone + 0.003 * (rating(t + 1000, i) as f64 - 2.0);
            }
            writeln!(prices, "{day},{},{open:.4},{last:.4}", code(i)).unwrap();
            let word = words[rating(t, i)];
            // Every fifth report is about two companies.
            let other = if i % 5 == 0 { format!(";{}", code((i + 3) % NAMES)) } else { String::new() };
            let (number, name) = (t * NAMES + i, code(i));
            writeln!(reports, "{number},{day} 10:00:00,{name}{other},第{number}号点评,第{number}号研报的正文。,{word}")
                .unwrap();
        }
    }
    let mut chain = "代码,客户代码,关系类型,公告日期\n".to_owned();
    for i in 0..NAMES {
        for j in customers(i) {
            writeln!(chain, "{},{},供应,2023-06-30", code(i), code(j)).unwrap();
        }
    }
    fs::write(folder.join("reports.csv"), reports).unwrap();
    fs::write(folder.join("prices.csv"), prices).unwrap();
    fs::write(folder.join("chain.csv"), chain).unwrap();
    fs::write(folder.join("workbench.toml"), CONFIG).unwrap();
}

fn factor<'j>(json: &'j Value, name: &str) -> &'j Value {
    json["factors"].as_array().unwrap().iter().find(|factor| factor["name"] == name).expect("the factor was tested")
}

/// The verdict on the graph of a factor, if there is one.
fn rewired<'j>(json: &'j Value, name: &str) -> Option<&'j Value> {
    factor(json, name)["lint"].as_array().unwrap().iter().find(|verdict| verdict["check"] == "rewired-graph")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn customers_tell_of_their_suppliers_by_a_table_of_relations() {
    let folder = tempfile::tempdir().unwrap();
    write_market(folder.path());
    let json = run(folder.path(), &["run", "--headless"]).finished();
    assert_eq!(stage(&json, "ingest")["facts"]["relations"], 2 * NAMES);
    let verdict = rewired(&json, "customers").expect("a factor with a graph is tried on others");
    assert_eq!(verdict["standing"], "passed", "{verdict:#}");
    let figures = &verdict["figures"];
    let (found, left) = (figures["rank_ic"].as_f64().unwrap(), figures["rank_ic_rewired"].as_f64().unwrap());
    assert!(found > 0.4 && left.abs() < 0.1, "{verdict:#}");
    assert!(rewired(&json, "own").is_none());
    assert!(rewired(&json, "together").is_some());
    // A value goes on to the documents of the customers, with their shares in it.
    let way = ["trace", "customers", "--date", "2024-03-15", "--code", "600003"];
    let traced = run(folder.path(), &way).finished();
    let readings = traced["readings"].as_array().unwrap();
    let codes: Vec<&str> = readings.iter().map(|r| r["neighbour"]["code"].as_str().unwrap()).collect();
    assert_eq!(codes, customers(3).map(|j| format!("{}.SH", code(j))));
    let by_share: f64 = readings.iter().map(|r| number(&r["neighbour"]["share"]) * number(&r["value"])).sum();
    let name = &traced["date"]["names"][0];
    assert!((by_share - number(&name["raw"])).abs() < 1e-9, "{traced:#}");
    assert!(readings.iter().all(|r| !r["documents"].as_array().unwrap().is_empty()));
    assert!(name["documents"].as_u64().unwrap() >= 2 && name["title"].as_str().unwrap().contains("点评"), "{name:#}");
    // Another table builds what reads it, and nothing else.
    let chain = fs::read_to_string(folder.path().join("chain.csv")).unwrap();
    fs::write(folder.path().join("chain.csv"), chain.clone() + "600001,600009,竞争,2024-02-01\n").unwrap();
    let again = run(folder.path(), &["factor", "--headless"]).finished();
    assert_eq!(computed(&again), ["ingest", "factor customers"]);
    // Without the table the factor is left out with the way out.
    let chain = "[[source]]\nname = \"chain\"\npath = \"chain.csv\"\ntable = \"relations\"\n";
    edit(&folder.path().join("workbench.toml"), chain, "");
    let reason = run(folder.path(), &["factor", "--headless"]).left_out();
    assert_says(&reason, &["graph = relations needs a table of relations", "table = \"relations\""]);
}
