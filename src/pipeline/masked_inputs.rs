//! The linter masks names for all models behind a factor: companies whose returns hang on their names, and a head that learns on a
//! feature that reads these names.

use std::fmt::Write;
use std::fs;

use chrono::{Datelike, NaiveDate, Weekday};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Stage, factor_results, run};
use crate::config::Config;
use inkstone_base::job::Ctx;
use inkstone_lab::lint::{Check, Finding, Standing, Verdict};

const NAMES: [&str; 12] = [
    "瑞禾电气",
    "启澜生物",
    "远山传媒",
    "海川重工",
    "明德药业",
    "金榆银行",
    "北辰钢铁",
    "天枢软件",
    "云杉地产",
    "绿源食品",
    "宏图航运",
    "星火能源",
];

const WORDS: [&str; 16] = [
    "增长", "下滑", "合同", "会议", "订单", "股东", "分红", "项目", "产能", "研发", "客户", "季度", "投资", "回购",
    "交付", "利润",
];

const TABLES: &str = r#"
[[source]]
name = "news"
path = "news.csv"

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[source]]
name = "securities"
path = "securities.csv"
table = "securities"

[backtest]
min_names = 5

[[feature]]
name = "named"
model = "ridge"
tfidf = { min_df = 3 }
walk_forward = { train_days = 60, test_days = 30, min_train_rows = 50 }

[[feature]]
name = "hidden"
model = "ridge"
mask_names = true
tfidf = { min_df = 3 }
walk_forward = { train_days = 60, test_days = 30, min_train_rows = 50 }

[[feature]]
name = "head"
model = "ridge"
inputs = ["named"]
mask_names = true
walk_forward = { train_days = 60, test_days = 30, min_train_rows = 50 }

[[feature]]
name = "above"
model = "ridge"
inputs = ["hidden"]
walk_forward = { train_days = 60, test_days = 30, min_train_rows = 50 }

[[factor]]
name = "head"
expression = "head"

[[factor]]
name = "above"
expression = "above"

[[factor]]
name = "count"
expression = "count(days = 20) * log(market.close)"

[[factor]]
name = "composed"
expression = "factor.head"
"#;

/// A year of one text a day and company; half of the companies rise and half fall, whatever the texts say.
fn write_market(folder: &std::path::Path) {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let weekday = |day: &NaiveDate| !matches!(day.weekday(), Weekday::Sat | Weekday::Sun);
    let days = NaiveDate::from_ymd_opt(2023, 1, 2).unwrap().iter_days().filter(weekday).take(240);
    let mut news = "doc_id,published_at,title,body\n".to_owned();
    let (mut prices, mut last) = ("date,code,open,close\n".to_owned(), [20.0f64; NAMES.len()]);
    let mut securities = "code,name\n".to_owned();
    for (i, name) in NAMES.iter().enumerate() {
        writeln!(securities, "60{i:04}.SH,{name}").unwrap();
    }
    for day in days {
        for (i, name) in NAMES.iter().enumerate() {
            // Texts are no repeats of one another, and their words tell nothing.
            let words: String = (0..12).map(|_| WORDS[random.random_range(0..WORDS.len())]).collect();
            writeln!(news, "{day}-{i},{day} 10:00:00,{name}公告,{name}{words}。").unwrap();
            let open = last[i];
            let trait_of_name = if i % 2 == 0 { 0.004 } else { -0.004 };
            last[i] *= 1.0 + trait_of_name + 0.01 * (random.random::<f64>() - 0.5);
            writeln!(prices, "{day},60{i:04}.SH,{open},{}", last[i]).unwrap();
        }
    }
    for (file, text) in [("news.csv", news), ("prices.csv", prices), ("securities.csv", securities)] {
        fs::write(folder.join(file), text).unwrap();
    }
}

#[test]
fn names_that_an_input_reads_are_masked_with_the_head() {
    let dir = tempfile::tempdir().unwrap();
    write_market(dir.path());
    let config = Config::parse("workbench.toml", TABLES).unwrap();
    let ctx = Ctx::new(2, 3).unwrap();
    let reports = run(&config, dir.path(), Stage::Lint, &ctx).unwrap();
    let computed = |name: &str| reports.iter().any(|report| report.stage == format!("extract {name} · masked"));
    assert!(computed("named") && computed("head"), "the head is fitted on the masked rows of its input");
    assert!(!computed("hidden") && !computed("above"), "these read no names");

    let results = factor_results(&config, dir.path()).unwrap();
    let verdict = |factor: usize, check: Check| -> Verdict {
        results[factor].verdicts.iter().find(|verdict| verdict.check == check).unwrap().clone()
    };
    let head = verdict(0, Check::MaskedNames);
    assert!(matches!(head.finding, Finding::MaskedNames(_)), "{head:?}");
    assert_eq!(head.standing, Standing::Warned, "{head:?}");
    let above = verdict(1, Check::MaskedNames);
    assert!(matches!(above.finding, Finding::AlwaysMasked), "{above:?}");
    let count = verdict(2, Check::MaskedNames);
    assert!(matches!(count.finding, Finding::NoModelReadsTexts), "{count:?}");
    let composed = verdict(3, Check::MaskedNames);
    assert!(matches!(composed.finding, Finding::ReadsNoDocuments { .. }), "{composed:?}");
}
