//! Factors of events: buybacks whose size moves the price of the next day, read from sentences and from the table of a vendor.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use chrono::{Datelike, NaiveDate};
use serde_json::{Value, json};

use crate::{assert_says, computed, edit, run, stage};

const NAMES: usize = 30;
const DAYS: usize = 90;

const CONFIG: &str = r#"
[[source]]
name = "news"
path = "news.csv"

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[source]]
name = "vendor"
path = "vendor.csv"
table = "events"

[clean]
threshold = 1.0

[[event]]
name = "回购"
triggers = ["拟*回购"]
without = ["逆回购"]

[[event]]
name = "中标"
triggers = ["中标"]

[[factor]]
name = "buyback"
expression = "sum(event.amount, events = 回购, days = 1) / market.cap"

[[factor]]
name = "contracts"
expression = "sum(event.amount, events = 中标, days = 1) / market.cap"

[[factor]]
name = "insiders"
expression = "count(events = 增持, days = 5)"
fill = "zero"

[backtest]
horizons = [1]
quantiles = 3
min_names = 5
price = "open"

[events]
estimation = [-25, -6]
min_returns = 10
window = [-2, 3]
parts = [[0, 0], [1, 1]]

[lint]
text_draws = 20
"#;

/// Numbers from 1 to 9, by an arithmetic without order in days or names.
fn drawn(t: usize, i: usize) -> usize {
    let mut x = (t * 7919 + i * 104_729 + 12_345) as u64;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    1 + (x % 9) as usize
}

fn code(i: usize) -> String {
    format!("60{i:04}")
}

/// True if the name announces a buyback on the day; on others it may win a contract.
fn buys(t: usize, i: usize) -> bool {
    (t + i).is_multiple_of(3)
}

fn write_market(folder: &Path, news_days: usize) {
    let days = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().iter_days();
    let days: Vec<NaiveDate> = days.filter(|day| day.weekday().num_days_from_monday() < 5).take(DAYS).collect();
    let mut news = "id,published_at,codes,title,body\n".to_owned();
    let mut prices = "date,code,open,close,market_cap\n".to_owned();
    let mut vendor = "代码,事件类型,公告日期,股数(万股)\n".to_owned();
    let mut last = vec![20.0; NAMES];
    for (t, day) in days.iter().enumerate() {
        for (i, last) in last.iter_mut().enumerate() {
            let (open, code) = (*last, code(i));
            if t > 0 {
                let size = if buys(t - 1, i) { drawn(t - 1, i) as f64 - 2.0 } else { 0.0 };
                *last *= 1.0 + 0.003 * size + 0.003 * (drawn(t + 1000, i) as f64 - 5.0);
            }
            writeln!(prices, "{day},{code},{open:.4},{last:.4},1e10").unwrap();
            let (number, size) = (t * NAMES + i, drawn(t, i));
            let body = match (buys(t, i), i % 3) {
                (true, 0) => format!(
                    "公司{number}号公告，拟以自有资金{size}000万元-{size}000万元回购股份，去年营收{number}亿元。"
                ),
                (true, 1) => format!(
                    "公司{number}号公告，拟回购股份，金额不低于{size}00万元且不超过{}00万元。",
                    20 * size - size
                ),
                (true, _) => format!(
                    "公司{number}号去年营收{number}亿元。公司拟以{}万元回购股份。央行称将开展逆回购。",
                    size * 1000
                ),
                (false, 0) => format!("公司{number}号中标{}万元项目。", drawn(t + 5000, i)),
                (false, _) => format!("公司{number}号召开会议，没有计划回购，也未谈{size}亿元。"),
            };
            if t < news_days {
                writeln!(news, "{number},{day} 10:00:00,{code},第{number}号消息,{body}").unwrap();
            }
            if (t + 2 * i).is_multiple_of(11) {
                writeln!(vendor, "{code},增持,{day} 11:00:00,{size}").unwrap();
            }
        }
    }
    fs::write(folder.join("news.csv"), news).unwrap();
    fs::write(folder.join("prices.csv"), prices).unwrap();
    fs::write(folder.join("vendor.csv"), vendor).unwrap();
    fs::write(folder.join("workbench.toml"), CONFIG).unwrap();
}

fn rank_ic(json: &Value, name: &str) -> f64 {
    let factor = json["factors"].as_array().unwrap().iter().find(|factor| factor["name"] == name);
    factor.expect("the factor was tested")["ic"][0]["rank_ic"]["mean"].as_f64().unwrap()
}

#[test]
fn the_size_of_buybacks_that_sentences_tell_is_found_and_later_documents_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_market(folder.path(), 60);
    let json = run(folder.path(), &["run", "--headless"]).finished();
    assert!(stage(&json, "ingest")["facts"]["events"].as_u64().unwrap() > 100);
    let facts = &stage(&json, "factor buyback")["facts"];
    let planted = (0..60).flat_map(|t| (0..NAMES).map(move |i| (t, i))).filter(|(t, i)| buys(*t, *i)).count();
    assert_eq!((&facts["events_found"], &facts["event_sentences_without_security"]), (&planted.into(), &0.into()));
    let [found, nothing] = ["buyback", "contracts"].map(|name| rank_ic(&json, name));
    assert!(found > 0.5 && nothing.abs() < 0.15, "{found} {nothing}");
    // Later documents change no value.
    write_market(folder.path(), DAYS);
    let again = run(folder.path(), &["factor", "--headless"]).finished();
    let history = &stage(&again, "factor buyback")["facts"]["history"];
    assert!(history["compared"].as_u64().unwrap() > 500 && history["revised"] == 0, "{history:#}");
    // Another table, or another rule, builds what reads it, and nothing else.
    let vendor = fs::read_to_string(folder.path().join("vendor.csv")).unwrap();
    fs::write(folder.path().join("vendor.csv"), vendor + "600001,增持,2024-02-05 12:00:00,3\n").unwrap();
    let again = run(folder.path(), &["factor", "--headless"]).finished();
    // Other sums of events are built as well: the table may have brought some of their kinds.
    assert!(computed(&again).contains(&"factor insiders"), "{:?}", computed(&again));
    edit(&folder.path().join("workbench.toml"), "triggers = [\"中标\"]", "triggers = [\"中标*项目\"]");
    let again = run(folder.path(), &["factor", "--headless"]).finished();
    assert_eq!(computed(&again), ["factor contracts"]);
}

#[test]
fn events_are_listed_with_their_sentences_and_studied_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    write_market(folder.path(), DAYS);
    let events = |flags: &[&str]| run(folder.path(), &[&["events", "--headless"], flags].concat());
    assert_says(&events(&[]).refusal(), &["not linked to securities yet", "inkstone link"]);
    run(folder.path(), &["link", "--headless"]).finished();
    let json = events(&["回购", "增持", "--top", "5", "--study"]).finished();
    let kinds = json["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|kind| kind["kind"].as_str().unwrap()).collect::<Vec<_>>(), ["回购", "增持"]);
    let buybacks = &kinds[0];
    assert_eq!(
        (&buybacks["events"], &buybacks["with"]["amount"]),
        (&(DAYS * NAMES / 3).into(), &(DAYS * NAMES / 3).into())
    );
    let tests = buybacks["study"]["groups"][0]["tests"].as_array().unwrap();
    let next_day = tests.iter().find(|test| test["test"] == "clustered" && test["days"] == serde_json::json!([1, 1]));
    assert!(next_day.unwrap()["statistic"].as_f64().unwrap() > 5.0, "{next_day:?}");
    assert_eq!(json["events"].as_array().unwrap().len(), 5);
    let json = events(&["回购", "--code", &code(0), "--sample"]).finished();
    let event = &json["events"][0];
    let (sentence, trigger) = (event["sentence"].as_str().unwrap(), event["trigger"].as_str().unwrap());
    assert!(sentence.contains(trigger) && trigger.starts_with('拟') && trigger.ends_with("回购"), "{event:#}");
    assert_eq!((&event["code"], event["field"].as_str()), (&"600000.SH".into(), Some("body")));
    // The same seed draws the same events, with any number of threads.
    let sample = |threads: &str| events(&["--sample", "--threads", threads]).finished()["events"].clone();
    assert_eq!(sample("1"), sample("2"));
    assert_says(&events(&["并购"]).refusal(), &["no events of kind \"并购\"; there are: 中标, 回购, 增持"]);
    assert_says(&events(&["--code", "abc"]).refusal(), &["\"abc\" is no code"]);
    // A kind that nobody finds is refused: of tables when they have been read.
    let file = folder.path().join("workbench.toml");
    edit(&file, "count(events = 增持, days = 5)", "count(events = 并购, days = 5)");
    let reason = run(folder.path(), &["factor", "--headless"]).left_out();
    assert_says(&reason, &["no events of kind \"并购\"", "中标, 回购, 增持"]);
    edit(&file, "table = \"events\"", "table = \"securities\"");
    let refusal = run(folder.path(), &["factor", "--headless"]).refusal();
    assert_says(&refusal, &["factor[2].expression", "there is no [[event]] \"并购\"", "there are: 回购, 中标"]);
    edit(&file, "triggers = [\"中标\"]", "triggers = []");
    assert_says(&run(folder.path(), &["factor", "--headless"]).refusal(), &["event[1]", "triggers is missing"]);
    let chinese = run(folder.path(), &["factor", "--headless", "--lang", "zh"]).stderr;
    assert_says(&chinese, &["缺少 triggers", "没有 [[event]] \"并购\""]);
}

/// JSON lines in which what announces a buyback is marked as a name of the kind 回购.
fn marked_buybacks() -> String {
    let mut lines = String::new();
    for i in 1..=40 {
        let text = match i % 5 {
            0 => format!("某公司公告，拟以自有资金{i}00万元-{i}00万元回购股份，去年营收{i}亿元。"),
            1 => format!("某公司公告，拟回购股份，金额不低于{i}万元且不超过{i}0万元。"),
            2 => format!("公司拟以{i}万元回购股份。"),
            3 => "央行称将开展逆回购。".to_owned(),
            _ => format!("某公司召开会议，没有计划回购，也未谈{i}亿元。"),
        };
        let names: Vec<Value> = (text.find("回购股份").iter())
            .map(|&start| json!({"kind": "回购", "start": start, "end": start + "回购".len()}))
            .collect();
        writeln!(lines, "{}", json!({"text": text, "entities": names})).unwrap();
    }
    lines
}

#[test]
fn learned_triggers_find_events_that_are_known_from_the_end_of_their_text_on() {
    let folder = tempfile::tempdir().unwrap();
    write_market(folder.path(), DAYS);
    let config = folder.path().join("workbench.toml");
    edit(&config, "triggers = [\"拟*回购\"]\nwithout = [\"逆回购\"]", "labeller = \"events.crf\"\nnegations = []");
    fs::write(folder.path().join("marked.jsonl"), marked_buybacks()).unwrap();
    let train = ["train", "crf", "--learn", "entities", "-i", "marked.jsonl", "-o", "events.crf"];
    let factor = || run(folder.path(), &["backtest", "--headless"]);
    assert_says(&factor().left_out(), &["labeller of the event \"回购\"", "inkstone train crf", "events.crf"]);
    run(folder.path(), &train).finished();
    assert_says(&factor().left_out(), &["event \"回购\"", "does not say how far the text reaches", "--fitted-until"]);
    run(folder.path(), &[&train[..], &["--fitted-until", "2024-02-15"]].concat()).finished();
    let json = factor().finished();
    let planted = (0..DAYS).flat_map(|t| (0..NAMES).map(move |i| (t, i))).filter(|(t, i)| buys(*t, *i)).count();
    let facts = &stage(&json, "factor buyback")["facts"];
    assert_eq!((&facts["events_found"], &facts["event_sentences_denied"]), (&planted.into(), &0.into()));
    assert!(rank_ic(&json, "buyback") > 0.5, "{json:#}");
    let listed = run(folder.path(), &["events", "回购", "--headless", "--top", "5000"]).finished();
    let known: Vec<&str> =
        listed["events"].as_array().unwrap().iter().map(|event| event["known_at"].as_str().unwrap()).collect();
    assert_eq!((known.len(), known.iter().min()), (planted, Some(&"2024-02-15T23:59:59")));
    // Another labeller builds the factor anew.
    run(folder.path(), &[&train[..], &["--fitted-until", "2024-03-01"]].concat()).finished();
    assert_eq!(computed(&run(folder.path(), &["factor", "--headless"]).finished()), ["factor buyback"]);
    edit(&config, "name = \"中标\"\ntriggers = [\"中标\"]", "name = \"中标\"\nlabeller = \"events.crf\"");
    let refusal = run(folder.path(), &["events", "--headless"]).refusal();
    assert_says(&refusal, &["event \"中标\"", "events.crf marks no \"中标\"; it marks 回购"]);
}
