//! The demo market against its truth, and what a second run, another setting and another number of threads change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inkstone_base::disk;
use inkstone_tables::corpus::column;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, assert_same_files, assert_says, computed, copy_folder, edit, files_below, results, run, stage};

/// A demo that was run from nothing.
pub(crate) struct Made {
    folder: PathBuf,
    pub(crate) ran: Ran,
}

/// The demo at its full size, run once for all tests.
pub(crate) fn whole() -> &'static Made {
    static WHOLE: OnceLock<Made> = OnceLock::new();
    WHOLE.get_or_init(|| make("1"))
}

/// A tenth of it.
pub(crate) fn small() -> &'static Made {
    static SMALL: OnceLock<Made> = OnceLock::new();
    SMALL.get_or_init(|| make("0.1"))
}

/// About a third of it: large enough for several parts a stage.
pub(crate) fn third() -> &'static Made {
    static THIRD: OnceLock<Made> = OnceLock::new();
    THIRD.get_or_init(|| make("0.3"))
}

/// The folder lies with the build's own temporary files: what a static holds is never dropped, so nobody would remove it.
fn make(scale: &str) -> Made {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-{scale}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    let above = folder.parent().unwrap();
    fs::create_dir_all(above).unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let ran = run(above, &["demo", "--headless", "--scale", scale, "--dir", name]);
    Made { folder, ran }
}

impl Made {
    pub(crate) fn truth(&self) -> Value {
        disk::read_json(&self.folder.join("data/truth.json")).unwrap()
    }

    fn project(&self) -> Project {
        Project::new(self.folder.join(".inkstone"))
    }

    pub(crate) fn results(&self) -> BTreeMap<String, Vec<u8>> {
        self.ran.finished();
        results(&self.folder)
    }

    /// A copy to work on.
    pub(crate) fn copy(&self) -> TempDir {
        self.ran.finished();
        let copy = tempfile::tempdir().unwrap();
        copy_folder(&self.folder, copy.path());
        copy
    }
}

/// A factor's figures in a run's JSON.
fn factor<'j>(json: &'j Value, name: &str) -> &'j Value {
    let factors = json["factors"].as_array().expect("a tested run lists its factors");
    factors.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no factor {name} in {json:#}"))
}

fn rank_ic(json: &Value, name: &str, horizon: u64) -> Value {
    let series = factor(json, name)["ic"].as_array().expect("a factor has its correlations");
    series.iter().find(|s| s["horizon"] == horizon).expect("the horizon was asked for")["rank_ic"].clone()
}

#[test]
fn from_nothing_to_exported_factors_in_one_command() {
    let demo = whole();
    let json = demo.ran.json();
    assert_eq!((demo.ran.code, &json["status"]), (Some(0), &"done".into()), "{json:#}\n{}", demo.ran.stderr);
    assert_eq!(json["command"], "demo");
    assert_says(json["note"].as_str().unwrap(), &["synthetic", "合成"]);
    let stages = [
        "generate",
        "ingest",
        "clean",
        "link",
        "extract tone",
        "extract learned",
        "extract words",
        "extract placebo",
        "extract bert",
        "extract bert_tail",
        "extract bert_vector",
        "factor tone",
        "factor learned",
        "factor placebo",
        "factor bert",
        "factor customers",
        "backtest tone",
        "backtest learned",
        "backtest placebo",
        "backtest bert",
        "backtest customers",
        "events tone",
        "events learned",
        "events placebo",
        "events bert",
        "events customers",
        "extract tone · masked",
        "lint tone",
        "lint learned",
        "extract placebo · masked",
        "lint placebo",
        "lint bert",
        "lint customers",
        "export",
        "report tone",
        "report learned",
        "report placebo",
        "report bert",
        "report customers",
    ];
    assert_eq!(computed(&json), stages);
    for name in stages {
        assert!(demo.ran.stderr.contains(name), "stderr does not speak of {name}:\n{}", demo.ran.stderr);
        let report = stage(&json, name);
        let dropped: u64 = report["dropped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        let (rows_in, rows_out) = (report["rows_in"].as_u64().unwrap(), report["rows_out"].as_u64().unwrap());
        assert_eq!(rows_in, rows_out + dropped, "{name} lost rows without a reason");
    }
    let exports = demo.folder.join("exports");
    for path in ["manifest.json", "long/factors.parquet", "wide/tone.csv", "alphalens/tone.parquet", "qlib/factors.csv"]
    {
        assert!(exports.join(path).exists(), "{path} is missing");
    }
}

#[test]
fn the_smallest_demo_comes_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["demo", "--headless", "--scale", "0.05"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(folder.path().join("inkstone-demo/exports/manifest.json").exists());
    let below = run(folder.path(), &["demo", "--headless", "--scale", "0.01", "--dir", "less"]);
    assert_says(&below.refusal(), &["scale is 0.01", "0.05 or more"]);
}

#[test]
fn every_planted_row_is_read_or_set_aside_for_the_planted_reason() {
    let demo = whole();
    demo.ran.finished();
    let truth = demo.truth();

    let mut documents: BTreeMap<String, u64> = BTreeMap::new();
    for part in demo.project().documents().files().unwrap() {
        let frame = frames::read_parquet(&part, Some(&["doc_id"])).unwrap();
        for id in column(&frame, "doc_id").unwrap().str().unwrap().iter() {
            let source = id.and_then(|id| id.split('/').next()).expect("an id begins with its source");
            *documents.entry(source.to_owned()).or_default() += 1;
        }
    }
    let mut rejects: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for line in fs::read_to_string(demo.project().rejects()).unwrap().lines() {
        let reject: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| reject[field].as_str().unwrap().to_owned();
        assert!(reject["row"].as_u64().unwrap() > 0 && !text("file").is_empty(), "{reject}");
        assert!(!STANDARD.decode(text("raw")).unwrap().is_empty(), "the row's own bytes are lost: {reject}");
        *rejects.entry(text("source")).or_default().entry(text("reason")).or_default() += 1;
    }
    for (name, source) in truth["sources"].as_object().unwrap() {
        assert_eq!(documents.get(name).copied(), source["documents"].as_u64(), "documents of {name}");
        let planted: BTreeMap<String, u64> = serde_json::from_value(source["rejects"].clone()).unwrap();
        assert_eq!(rejects.get(name).cloned().unwrap_or_default(), planted, "rejects of {name}");
    }
    assert_eq!(documents.values().sum::<u64>(), truth["documents"].as_u64().unwrap());
}

#[test]
fn the_planted_rank_ic_is_found_within_its_interval() {
    let (json, truth) = (whole().ran.finished(), whole().truth());
    for horizon in [1, 5] {
        let planted = &truth[format!("rank_ic_{horizon}")];
        let (low, high) = (planted["low"].as_f64().unwrap(), planted["high"].as_f64().unwrap());
        let found = rank_ic(&json, "tone", horizon);
        let mean = found["mean"].as_f64().unwrap();
        assert!((low..=high).contains(&mean), "RankIC at {horizon}: {mean}, planted {low} to {high}");
        assert!(found["t_nw"].as_f64().unwrap() > 3.0, "{found}");
        assert_eq!(json["truth"][format!("rank_ic_{horizon}")]["found"], found["mean"]);
        assert_eq!(json["truth"][format!("rank_ic_{horizon}")]["inside"], true);
    }
    assert_eq!(factor(&json, "tone")["lookahead"], false);
    assert_eq!(factor(&json, "tone")["refused"], 0);
}

#[test]
fn the_planted_spill_over_is_found_and_dies_when_its_graph_is_rewired() {
    let (json, truth) = (whole().ran.finished(), whole().truth());
    let planted = &truth["customers_rank_ic_1"];
    let (low, high) = (planted["low"].as_f64().unwrap(), planted["high"].as_f64().unwrap());
    let found = rank_ic(&json, "customers", 1);
    let mean = found["mean"].as_f64().unwrap();
    assert!((low..=high).contains(&mean) && found["t_nw"].as_f64().unwrap() > 3.0, "{found}, planted {low} to {high}");
    assert_eq!(json["truth"]["customers_rank_ic_1"]["inside"], true);
    let verdicts = factor(&json, "customers")["lint"].as_array().unwrap();
    let verdict = verdicts.iter().find(|verdict| verdict["check"] == "rewired-graph").unwrap();
    assert_eq!(verdict["standing"], "passed", "{verdict:#}");
    let rewired = verdict["figures"]["rank_ic_rewired"].as_f64().unwrap();
    assert!(rewired.abs() < mean / 2.0, "{rewired} of {mean}");
}

#[test]
fn the_placebo_comes_to_nothing() {
    let (json, truth) = (whole().ran.finished(), whole().truth());
    let found = rank_ic(&json, "placebo", 1);
    assert!(found["p"].as_f64().unwrap() > 0.05, "{found}");
    let planted = &truth["placebo_rank_ic_1"];
    let mean = found["mean"].as_f64().unwrap();
    assert!((planted["low"].as_f64().unwrap()..=planted["high"].as_f64().unwrap()).contains(&mean), "{mean}");
}

#[test]
fn the_figures_of_the_summary_are_those_of_the_exported_tables() {
    let json = whole().ran.finished();
    let table = fs::read_to_string(whole().folder.join("exports/backtest/tone/ic.csv")).unwrap();
    let mut lines = table.lines();
    assert!(lines.next().is_some_and(|header| header.starts_with("horizon,date,ic,rank_ic,")));
    let daily: Vec<f64> = lines
        .filter_map(|line| line.strip_prefix("1,"))
        .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    let mean = daily.iter().sum::<f64>() / daily.len() as f64;
    assert!((mean - rank_ic(&json, "tone", 1)["mean"].as_f64().unwrap()).abs() < 1e-12);
}

#[test]
fn a_same_day_alignment_is_refused_and_marked_wherever_it_is_forced() {
    let honest = rank_ic(&whole().ran.finished(), "tone", 1)["mean"].as_f64().unwrap();
    let copy = whole().copy();
    let same_day = ["backtest", "-c", "workbench.toml", "--delay=-1", "--price", "close", "--headless"];
    let error = run(copy.path(), &same_day).refusal();
    assert_says(
        &error,
        &["were not known before", "was known at 20", "its return begins at 20", "delay = -1", "allow_lookahead"],
    );

    let forced = run(copy.path(), &[&same_day[..], &["--allow-lookahead"]].concat()).finished();
    let leak = rank_ic(&forced, "tone", 1)["mean"].as_f64().unwrap();
    assert!(leak > 2.0 * honest, "RankIC {leak} with look-ahead, {honest} without");
    for name in ["tone", "learned", "placebo", "customers"] {
        assert_eq!(factor(&forced, name)["lookahead"], true);
        assert_says(factor(&forced, name)["alignment"].as_str().unwrap(), &["LOOK-AHEAD"]);
    }

    // What is exported so says so, in the manifest and beside every figure.
    let config = copy.path().join("workbench.toml");
    edit(&config, "[backtest]\n", "[backtest]\ndelay = -1\nprice = \"close\"\nallow_lookahead = true\n");
    run(copy.path(), &["run", "--headless"]).finished();
    let exports = copy.path().join("exports");
    let manifest: Value = disk::read_json(&exports.join("manifest.json")).unwrap();
    for note in manifest["backtests"].as_array().unwrap() {
        assert_eq!(note["lookahead"], true, "{note}");
        let tables = files_below(&exports.join("backtest").join(note["factor"].as_str().unwrap()));
        for (path, table) in tables.iter().filter(|(path, _)| path.ends_with(".csv")) {
            let table = String::from_utf8_lossy(table);
            let mut lines = table.lines();
            assert!(lines.next().is_some_and(|header| header.ends_with(",lookahead")), "{path}");
            assert!(lines.all(|line| line.ends_with(",true")), "{path} has rows without the mark");
        }
        assert_says(&String::from_utf8_lossy(&tables["summary.csv"]), &["LOOK-AHEAD"]);
    }
}

#[test]
fn a_second_run_computes_nothing() {
    let copy = whole().copy();
    let before = results(copy.path());
    let again = run(copy.path(), &["demo", "--headless", "--dir", "."]);
    let json = again.json();
    assert_eq!(again.code, Some(0), "{json:#}");
    // Ingest always looks whether there is something new.
    assert_eq!(stage(&json, "ingest")["unchanged"], true);
    assert!(computed(&json).is_empty(), "{:?}", computed(&json));
    assert_same_files(&before, &results(copy.path()));
}

#[test]
fn a_changed_setting_computes_only_what_depends_on_it() {
    let copy = small().copy();
    let config = copy.path().join("workbench.toml");
    let again = || run(copy.path(), &["run", "--headless"]).finished();

    edit(&config, "min_names = 5", "min_names = 5\nquantiles = 3");
    let all =
        |stage: &str| ["tone", "learned", "placebo", "bert", "customers"].map(|factor| format!("{stage} {factor}"));
    let stage_names = [&["export".to_owned()][..], &all("report")].concat();
    assert_eq!(computed(&again()), [&all("backtest")[..], &all("lint"), &stage_names].concat());
    let then_told =
        |stages: &[&str]| [&stages.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..], &stage_names].concat();

    edit(&config, "expression = \"tone\"\ndecay = \"exponential:0.7\"", "expression = \"tone\"\ndecay = \"linear\"");
    assert_eq!(computed(&again()), then_told(&["factor tone", "backtest tone", "events tone", "lint tone"]));

    edit(&config, "linear = { alpha = 10.0 }", "linear = { alpha = 20.0 }");
    let learned = ["extract learned", "factor learned", "backtest learned", "events learned", "lint learned"];
    assert_eq!(computed(&again()), then_told(&learned));

    edit(&config, "[backtest]", "[clean]\nthreshold = 0.7\n\n[backtest]");
    let json = again();
    assert!(stage(&json, "ingest")["unchanged"] == true && stage(&json, "clean")["unchanged"] == false);
    // Two factors read the tone, whose texts are masked once.
    let stages = json["stages"].as_array().unwrap().iter();
    let unchanged: Vec<&Value> = stages.filter(|stage| stage["unchanged"] == true).map(|s| &s["stage"]).collect();
    assert_eq!(unchanged, ["ingest", "extract tone · masked"]);

    // And back again: every byte as it was at first.
    fs::write(&config, fs::read(small().folder.join("workbench.toml")).unwrap()).unwrap();
    again();
    assert_same_files(&results(&small().folder), &results(copy.path()));
}

#[test]
fn a_file_that_comes_later_gives_what_it_would_have_given_at_once() {
    let copy = small().copy();
    let files = fs::read_dir(copy.path().join("data/news/wire_json")).unwrap();
    let last = files.map(|file| file.unwrap().path()).max().unwrap();
    let aside = copy.path().join("aside");
    fs::rename(&last, &aside).unwrap();
    let without = run(copy.path(), &["run", "--headless"]).finished();
    fs::rename(&aside, &last).unwrap();
    let with = run(copy.path(), &["run", "--headless"]).finished();
    let rows = |json: &Value| stage(json, "clean")["rows_out"].as_u64().unwrap();
    assert!(rows(&with) > rows(&without));
    let factors = |folder: &Path| -> BTreeMap<_, _> {
        results(folder).into_iter().filter(|(path, _)| path.starts_with("exports/wide")).collect()
    };
    assert_same_files(&factors(&small().folder), &factors(copy.path()));
}

/// The text of a page without its tags, each run of blanks as one.
fn plain(page: &str) -> String {
    let text: String = page
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .fold(String::new(), |text, part| text + " " + part);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_figure_is_the_same_on_the_screen_in_the_report_the_tables_the_ledger_and_the_result() {
    let copy = small().copy();
    let json = run(copy.path(), &["report", "--headless"]).finished();
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let pressed = ["picture", "--lang", "en", "--size", "160x45", "--keys", "7", "--output", "page.txt"];
    run(copy.path(), &pressed).finished();
    let screen = fs::read_to_string(copy.path().join("page.txt")).unwrap();
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(screen.contains("tone"), "{screen}");
    let page = plain(&fs::read_to_string(copy.path().join("reports/tone/index.html")).unwrap());
    let table = fs::read_to_string(copy.path().join("exports/backtest/tone/summary.csv")).unwrap();
    let in_table = |figure: &str, horizon: &str| -> f64 {
        let begin = format!("{figure},{horizon},");
        let line = table.lines().find_map(|line| line.strip_prefix(&begin));
        let line = line.unwrap_or_else(|| panic!("no {begin} in {table}"));
        line.split(',').next().unwrap().parse().unwrap_or(f64::NAN)
    };
    let own = factor(&json, "tone");
    let first = own["ic"][0]["horizon"].as_u64().unwrap();
    let ic = rank_ic(&json, "tone", first);
    let held = first.to_string();
    let book = &own["long_short"];
    // The name in the tables, the result's figure, how it is written, and the names on the screen and in the report.
    let signed = |value: f64| format!("{value:+.4}");
    let ratio = |value: f64| format!("{value:.2}");
    type Written<'w> = &'w dyn Fn(f64) -> String;
    for (name, horizon, value, written, on_screen, in_report) in [
        ("rank_ic_mean", held.as_str(), &ic["mean"], &signed as Written<'_>, "RankIC", "mean RankIC"),
        ("rank_ic_ir", &held, &ic["icir"], &ratio, "ICIR", "ICIR"),
        ("rank_ic_t_newey_west", &held, &ic["t_nw"], &ratio, "t(NW)", "t(NW)"),
        ("long_short_annual_return", "", &book["annual_return"], &percent, "annual", "annual return"),
        ("long_short_sharpe", "", &book["sharpe"], &ratio, "Sharpe", "Sharpe"),
        ("long_short_max_drawdown", "", &book["max_drawdown"], &percent, "drawdown", "max drawdown"),
        ("turnover", "", &own["turnover"], &percent, "turnover a day", "turnover"),
        ("coverage", "", &own["coverage"], &percent, "coverage", "coverage"),
    ] {
        let value = value.as_f64().unwrap_or_else(|| panic!("{name} in {own:#}"));
        let written = written(value);
        assert!((in_table(name, horizon) - value).abs() <= 1e-9 * value.abs(), "{name} in the tables is not {value}");
        assert!(screen.contains(&format!("{on_screen} {written}")), "{on_screen} {written} is not in\n{screen}");
        assert!(page.contains(&format!("{in_report} {written}")), "{in_report} {written} is not in the report");
    }
    for name in ["cost", "new_names"] {
        assert!((in_table(name, "") - own[name].as_f64().unwrap()).abs() < 1e-12, "{name}");
    }
    assert!((in_table("rank_ic_p", &held) - ic["p"].as_f64().unwrap()).abs() < 1e-12, "{ic}");
    // What the number of trials leaves of them.
    let looks = &own["looks"];
    let probability = |name: &str| {
        let value = looks[name].as_f64().unwrap_or_else(|| panic!("{name} in {looks:#}"));
        if value < 0.001 { "<0.001".to_owned() } else { format!("{value:.3}") }
    };
    let deflated = probability("deflated_sharpe");
    assert!(screen.contains(&format!("→ DSR {deflated}")), "DSR {deflated} is not in\n{screen}");
    for (name, in_report) in
        [("deflated_sharpe", "DSR (probability)"), ("q", "q (corrected for all trials)"), ("p", "p")]
    {
        let written = format!(" {in_report} {}", probability(name).replace('<', "&lt;"));
        assert!(page.contains(&written), "{written} is not in the report");
    }
    let capacity = own["capacity"]["median"].as_f64().unwrap_or(f64::NAN);
    assert!(in_table("capacity_median_cny", "").total_cmp(&capacity).is_eq(), "{capacity}");
    // The ledger keeps what was found.
    let list = run(copy.path(), &["ledger", "list", "--headless"]).finished();
    let row = list["trials"].as_array().expect("the ledger has trials");
    let id = row.iter().find(|row| row["factor"] == "tone").expect("the tone was recorded")["id"].to_string();
    let entry = run(copy.path(), &["ledger", "show", &id, "--headless"]).finished();
    let figures = &entry["entry"]["details"]["figures"];
    for (kept, found) in [
        (&figures["turnover"], &own["turnover"]),
        (&figures["new_names"], &own["new_names"]),
        (&figures["long_short"]["sharpe"], &book["sharpe"]),
        (&figures["rank_ic"][&held]["mean"], &ic["mean"]),
    ] {
        assert_eq!(kept, found, "{figures}");
    }
    assert_eq!(entry["entry"]["p"], looks["p"], "{entry:#}");
}

#[test]
fn a_number_out_of_bounds_is_refused_by_the_file_and_by_the_flag_and_nothing_panics() {
    let copy = small().copy();
    let config = copy.path().join("workbench.toml");
    let surprise =
        "\n[[feature]]\nname = \"odd\"\nmodel = \"surprise\"\n[feature.surprise]\nwindow_days = 4000000000\n";
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.clone() + surprise).unwrap();
    let ran = run(copy.path(), &["extract", "--headless"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_says(&ran.stderr, &["surprise.window_days", "4000000000 is out of bounds; write one from 1 to 36500"]);
    fs::write(&config, text + &surprise.replace("4000000000", "36500")).unwrap();
    run(copy.path(), &["extract", "--headless"]).finished();

    let flags = ["train", "ridge", "-i", "x.jsonl", "-o", "x.model", "--cv-by", "time", "--label-days", "4000000000"];
    let ran = run(copy.path(), &flags);
    assert_eq!(ran.code, Some(2));
    assert_says(&ran.stderr, &["--label-days", "4000000000 is out of bounds; write one from 0 to 36500"]);
    let ran = run(copy.path(), &["backtest", "--horizons", "1,9000000"]);
    assert_says(&ran.stderr, &["9000000 is out of bounds; write one from 1 to 2500"]);
}

#[test]
fn a_flag_that_nobody_knows_is_shown_without_what_terminals_obey() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["run", "--\u{1b}]0;title\u{7}\u{1b}[31mred"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']) && ran.stderr.contains("␛]0;title"), "{:?}", ran.stderr);
}
