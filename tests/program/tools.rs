//! The commands that need no project, and those that look after one.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use inkstone_base::disk;
use serde_json::Value;

use crate::{assert_says, demo, run, run_on};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cut(args: &[&str], text: &str) -> String {
    let ran = run_on(here(), &[&["tokenize"], args].concat(), text.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.text()
}

#[test]
fn tokenize_cuts_a_line_a_document() {
    let text = "公司预计净利润同比增长62%。\n\n涨3.5%，ABC\n";
    assert_eq!(cut(&["--mode", "char"], text), "公 司 预 计 净 利 润 同 比 增 长 62 % 。\n\n涨 3 . 5 % ， ABC\n");
    assert_eq!(cut(&[], text), "公司 预计 净利润 同比 增长 62% 。\n\n涨 3.5% ， ABC\n");
    assert_eq!(cut(&["--separator", "/"], "公司预计"), "公司/预计\n");
    assert_eq!(cut(&["--stopwords", "builtin"], "公司的净利润，增长了62%。\n"), "公司 净利润 增长\n");
}

#[test]
fn tokenize_truncates_with_the_models_own_tokens_counted() {
    let text = "公司预计净利润同比增长\n";
    assert_eq!(cut(&["--truncate", "head:4"], text), "公司 预计\n");
    assert_eq!(cut(&["--truncate", "head:4", "--specials", "0"], text), "公司 预计 净利润 同比\n");
    assert_eq!(cut(&["--truncate", "tail:2", "--specials", "0"], text), "同比 增长\n");
    assert_eq!(cut(&["--truncate", "head+tail:1+2", "--specials", "0"], text), "公司 同比 增长\n");
    assert_eq!(cut(&["--mode", "char", "--truncate", "head:3", "--specials", "0"], text), "公 司 预\n");
}

#[test]
fn tokenize_takes_user_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("words.txt"), "\u{feff}岚石新能\r\n# 注释\r\n霁川药业 100 nt\r\n").unwrap();
    let ran = run_on(folder.path(), &["tokenize", "--dict", "words.txt"], "岚石新能与霁川药业签约".as_bytes());
    assert_eq!(ran.text(), "岚石新能 与 霁川药业 签约\n", "{}", ran.stderr);
    let missing = run_on(folder.path(), &["tokenize", "--dict", "none.txt"], b"");
    assert_eq!(missing.code, Some(2));
    assert_says(&missing.stderr, &["none.txt"]);
}

#[test]
fn tokenize_keeps_the_place_of_a_line_in_another_encoding() {
    let gbk = encoding_rs::GBK.encode("第二行没有问题\n").0;
    let text = [b"first\n".as_slice(), &gbk, b"third\n"].concat();
    let ran = run_on(here(), &["tokenize"], &text);
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), "first\n\nthird\n"));
    assert_says(&ran.stderr, &["1 lines", "not UTF-8", "empty line"]);
}

/// Ten names; each day's return follows the ranks of the day before up, down, and with neighbours swapped: RankIC 1, -1 and
/// 1 - 6 * 10 / (10 * 99).
fn tables(folder: &Path) {
    let mut prices = String::from("date,code,open,close\n");
    let mut factor = String::from("date,code,value\n");
    let swapped = |rank: usize| if rank % 2 == 1 { rank + 1 } else { rank - 1 };
    for rank in 1..=10 {
        let steps = [0.0, 0.0, rank as f64, -(rank as f64), swapped(rank) as f64];
        let mut price = 50.0;
        for (day, step) in steps.iter().enumerate() {
            price *= 1.0 + 0.001 * step;
            let _ = writeln!(prices, "2024-03-{:02},6001{rank:02}.SH,{price:.9},{price:.9}", 4 + day);
        }
        for day in 4..7 {
            // Another style of codes, as from another vendor.
            let _ = writeln!(factor, "2024-03-{day:02},SH6001{rank:02},{rank}");
        }
    }
    fs::write(folder.join("prices.csv"), prices).unwrap();
    fs::write(folder.join("factor.csv"), factor).unwrap();
}

const BACKTEST: [&str; 7] = ["backtest", "--factor", "factor.csv", "--prices", "prices.csv", "--horizons", "1"];

#[test]
fn backtest_of_anybodys_table_gives_the_known_correlations() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let ran = run(folder.path(), &[&BACKTEST[..], &["--out", "result", "--quantiles", "5"]].concat());
    let json = ran.json();
    assert_eq!(ran.code, Some(0), "{json:#}");
    let figures = &json["factors"][0];
    let third = 1.0 - 6.0 * 10.0 / (10.0 * 99.0);
    let mean = figures["ic"][0]["rank_ic"]["mean"].as_f64().unwrap();
    assert!((mean - third / 3.0).abs() < 1e-12, "{mean}");
    assert_eq!((&figures["ic"][0]["rank_ic"]["n"], &figures["lookahead"]), (&3.into(), &false.into()));
    // Top and bottom layer of the three days: 9.5 and 1.5 thousandths up, down, and swapped (9.5 and 1.5 again).
    let layers = figures["layers"]["mean"][0].as_array().unwrap();
    for (layer, expected) in [(0, 0.0015), (4, 0.0095)] {
        let mean = layers[layer].as_f64().unwrap();
        assert!((mean - expected / 3.0).abs() < 1e-9, "layer {layer}: {mean}");
    }

    let table = fs::read_to_string(folder.path().join("result/backtest/factor/ic.csv")).unwrap();
    let daily: Vec<(&str, f64)> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|fields| (fields[1], fields[3].parse().unwrap()))
        .collect();
    for ((date, found), (day, known)) in
        daily.into_iter().zip([("2024-03-04", 1.0), ("2024-03-05", -1.0), ("2024-03-06", third)])
    {
        assert!(date == day && (found - known).abs() < 1e-12, "{date}: {found}");
    }
    let manifest: Value = disk::read_json(&folder.path().join("result/manifest.json")).unwrap();
    assert_says(manifest["known_at"].as_str().unwrap(), &["close of each value's date"]);
    let long = fs::read(folder.path().join("result/long/factors.parquet")).unwrap();
    assert!(long.starts_with(b"PAR1"));
}

#[test]
fn backtest_of_anybodys_table_is_written_as_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let asked = ["--out", "result", "--formats", "csv,arrow", "--shapes", "long,qlib_bin", "--bom"];
    let ran = run(folder.path(), &[&BACKTEST[..], &asked].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result = folder.path().join("result");
    let csv = fs::read_to_string(result.join("long/factors.csv")).unwrap();
    assert!(csv.starts_with("\u{feff}date,code,factor\n2024-03-04,600101.SH,1.0\n"), "{csv}");
    assert!(result.join("long/factors.arrow").exists() && !result.join("long/factors.parquet").exists());
    let instruments = fs::read_to_string(result.join("qlib_bin/instruments/all.txt")).unwrap();
    assert_eq!(instruments.lines().next(), Some("SH600101\t2024-03-04\t2024-03-06"));
    assert!(!result.join("wide").exists());
    // Without a folder there is nothing to write.
    let ran = run(folder.path(), &[&BACKTEST[..], &["--bom"]].concat());
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["--out"]);
}

#[test]
fn backtest_refuses_what_the_table_says_was_known_too_late() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let path = folder.path().join("factor.csv");
    let late: String = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .enumerate()
        .map(|(i, line)| match (i, line.split(',').next().unwrap()) {
            (0, _) => format!("{line},known_at\n"),
            // One second before the opening auction of the next day, and at its beginning.
            (_, day @ "2024-03-04") => format!("{line},{}\n", format!("{day} 09:14:59").replace("-04", "-05")),
            (_, day) => format!("{line},2024-03-{:02} 09:15:00\n", day[8..].parse::<u32>().unwrap() + 1),
        })
        .collect();
    fs::write(&path, late).unwrap();
    let error = run(folder.path(), &BACKTEST).refusal();
    assert_says(
        &error,
        &["20 of 30 values (66.7 %)", "2024-03-05", "was known at 2024-03-06 09:15:00", "allow_lookahead"],
    );

    let forced = run(folder.path(), &[&BACKTEST[..], &["--allow-lookahead"]].concat()).finished();
    assert_eq!(forced["factors"][0]["lookahead"], true);
}

#[test]
fn presets_state_their_own_alignment() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    let message = |preset: &str| {
        let json = run(folder.path(), &[&BACKTEST[..], &["--preset", preset, "--quantiles", "2"]].concat()).finished();
        json["factors"][0]["alignment"].as_str().unwrap().to_owned()
    };
    assert_says(&message("alphalens"), &["close of the same day t", "LOOK-AHEAD"]);
    assert_says(&message("qlib"), &["close of day t+1", "known before 15:00"]);
}

#[test]
fn init_writes_the_commented_defaults_once() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["init"]);
    assert_eq!((ran.code, &ran.json()["status"]), (Some(0), &"done".into()));
    let written = fs::read(folder.path().join("workbench.toml")).unwrap();
    assert_eq!(written, fs::read(here().join("workbench.toml")).unwrap());
    assert_says(&run(folder.path(), &["init"]).refusal(), &["exists already"]);
    // It is valid, and says what is still missing.
    assert_says(&run(folder.path(), &["run"]).refusal(), &["no [[source]]"]);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(here(), &["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert_says(&ran.text(), &["inkstone", "tokenize", "backtest"]);
    }
}

#[test]
fn the_manual_page_has_a_section_for_each_command() {
    let ran = run(here(), &["man"]);
    assert_eq!(ran.code, Some(0));
    let page = ran.text();
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    assert_eq!(sections[..5], ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EVERY COMMAND\""]);
    let commands: Vec<String> = crate::reading::commands().iter().map(|name| format!("\"inkstone {name}\"")).collect();
    let absent: Vec<&String> = commands.iter().filter(|name| !sections.contains(&name.as_str())).collect();
    assert!(absent.is_empty(), "the manual page says nothing of {absent:?}");
    // Flags of every command stand once, those of a command in its section, those that its commands inherit there only.
    assert_eq!(page.matches("Number of worker threads; 0 uses every core").count(), 1);
    let section =
        |name: &str| page.split(".SH ").find(|text| text.starts_with(&format!("\"inkstone {name}\""))).unwrap();
    assert_says(section("ledger"), &["\n\\fB\\-\\-ledger\\fR "]);
    assert!(!section("ledger show").contains("\\-\\-ledger"));
    assert_says(section("backtest"), &[".PP\n\\fBinkstone backtest\\fR ", ".TP\n", "\\-\\-max\\-loss"]);
    assert_eq!(page.matches(".ds Aq").count(), 2);
}

#[test]
fn the_store_is_looked_after() {
    let copy = demo::small().copy();
    let json = run(copy.path(), &["store", "stats"]).finished();
    let documents = demo::small().ran.json()["truth"]["documents"].as_u64().unwrap();
    let config: toml::Table = toml::from_str(&fs::read_to_string(copy.path().join("workbench.toml")).unwrap()).unwrap();
    let mut features: Vec<&str> =
        config["feature"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
    features.sort_unstable();
    // The linter's own sets, of texts whose names are masked, stand beside them.
    let names = json["sets"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str());
    assert_eq!(names.filter(|name| !name.ends_with(" · masked")).collect::<Vec<_>>(), features);
    assert!(json["sets"].as_array().unwrap().iter().all(|s| s["rows"] == documents), "{json:#}");

    let json = run(copy.path(), &["store", "verify"]).finished();
    assert_eq!(json["problems"].as_array().map(Vec::len), Some(0));
    run(copy.path(), &["store", "compact"]).finished();
    let again = run(copy.path(), &["run", "--headless"]).finished();
    assert!(crate::computed(&again).is_empty(), "compaction lost rows: {:?}", crate::computed(&again));

    let nowhere = tempfile::tempdir().unwrap();
    run(nowhere.path(), &["init"]);
    assert_says(&run(nowhere.path(), &["store", "verify"]).refusal(), &["no features yet"]);
}

#[test]
fn every_command_explains_itself() {
    let help = run(here(), &["--help"]);
    assert_eq!(help.code, Some(0));
    let commands = ["demo", "run", "ingest", "extract", "factor", "backtest", "export", "tokenize", "store", "init"];
    assert_says(&help.text(), &commands);
    for command in commands {
        let ran = run(here(), &[command, "--help"]);
        assert_eq!(ran.code, Some(0), "{command}");
        assert_says(&ran.text(), &["Usage: inkstone", "--threads", "--seed", "--headless"]);
    }
    assert_says(&run(here(), &["--version"]).text(), &["inkstone", env!("CARGO_PKG_VERSION")]);
}

#[test]
fn without_a_terminal_and_a_command_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &[]);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["inkstone demo", "inkstone init"]);
    fs::write(folder.path().join("workbench.toml"), "").unwrap();
    assert_says(&run(folder.path(), &[]).stderr, &["needs a terminal", "--headless"]);
}
