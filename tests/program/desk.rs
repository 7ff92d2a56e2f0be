//! A small project of sound files, which the tests of bad input spoil in one place each.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{Ran, run};

/// Trading days of the price table: two weeks and a day, so that horizons have room.
pub(crate) const DAYS: [&str; 11] = [
    "2024-03-04",
    "2024-03-05",
    "2024-03-06",
    "2024-03-07",
    "2024-03-08",
    "2024-03-11",
    "2024-03-12",
    "2024-03-13",
    "2024-03-14",
    "2024-03-15",
    "2024-03-18",
];

/// Names of the price table.
pub(crate) const CODES: [&str; 4] = ["600101.SH", "600102.SH", "000103.SZ", "300104.SZ"];

const CONFIG: &str = r#"[project]
name = "desk"

[[source]]
name = "news"
path = "news.csv"

[[source]]
name = "prices"
path = "prices.csv"
table = "prices"

[[feature]]
name = "tone"
model = "lexicon"

[[factor]]
name = "tone"
expression = "tone"
min_names = 2

[backtest]
horizons = [1]
quantiles = 2
min_names = 2
"#;

/// A project in a folder of its own.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("workbench.toml", CONFIG);
        desk.write("news.csv", news());
        desk.write("prices.csv", prices(&DAYS));
        desk
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder().join(name), content).unwrap();
    }

    pub(crate) fn run(&self) -> Ran {
        run(self.folder(), &["run", "--headless"])
    }
}

/// A note on each name, good and bad in turn, on each of the first eight days.
pub(crate) fn news() -> String {
    let mut text = String::from("id,title,body,codes,published_at\n");
    for (d, day) in DAYS[..8].iter().enumerate() {
        for (c, code) in CODES.iter().enumerate() {
            let (title, body) = match (d + c) % 2 {
                0 => ("季度业绩大幅增长", "公司公告，净利润大幅增长，盈利能力显著改善，毛利率创新高。"),
                _ => ("季度业绩大幅下滑", "公司公告，净利润大幅下滑，由盈转亏，存在退市风险。"),
            };
            let _ = writeln!(text, "{d}-{c},{title}{d}{c},第{d}日第{c}家：{body},{code},{day} 10:{d:02}:{c:02}");
        }
    }
    text
}

/// Quiet prices: each name moves a little, some up and some down.
pub(crate) fn prices(days: &[&str]) -> String {
    let mut text = String::from("date,code,open,high,low,close,volume\n");
    for (d, day) in days.iter().enumerate() {
        for (c, code) in CODES.iter().enumerate() {
            let open = 10.0 + 0.01 * ((d * (c + 3)) % 7) as f64;
            let _ = writeln!(text, "{day},{code},{open:.2},{:.2},{:.2},{open:.2},100000", open + 0.05, open - 0.05);
        }
    }
    text
}
