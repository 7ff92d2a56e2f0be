//! Every shape read back, and what happens to the export that is there when a new one fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDate;
use polars_core::prelude::DataFrame;
use polars_io::prelude::{IpcReader, ParquetReader, SerReader};
use serde_json::{Value, json};

use super::*;
use crate::backtest::{
    Alignment, Benchmark, Coverage, Execution, IcDecay, IcSeries, IcSummary, Layers, LongShort, Portfolio, Stability,
    SubSample, YearFigures,
};
use inkstone_base::code::Code;
use inkstone_base::disk::{self, Room};
use inkstone_market::dates_of;
use inkstone_tables::corpus::{column, times_of};
use inkstone_tables::frames;

const NAN: f64 = f64::NAN;

fn ctx() -> Ctx {
    Ctx::new(1, 0).unwrap()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn panel(dates: &[&str], codes: &[&str], values: &[f64]) -> Panel {
    let dates: Arc<[NaiveDate]> = dates.iter().map(|d| day(d)).collect();
    let codes: Arc<[Code]> = codes.iter().map(|c| Code::canonical(c)).collect();
    let mut panel = Panel::empty(dates.clone(), codes.clone());
    for t in 0..dates.len() {
        panel.row_mut(t).copy_from_slice(&values[t * codes.len()..(t + 1) * codes.len()]);
    }
    panel
}

/// Two factors that share one date and one code only.
fn factors() -> (Panel, Panel) {
    let tone = panel(
        &["2024-03-01", "2024-03-04", "2024-03-05"],
        &["600000.SH", "000001.SZ"],
        &[1.5, NAN, NAN, NAN, 0.1, -2.0],
    );
    let heat = panel(&["2024-03-05", "2024-03-06"], &["430047.BJ", "600000.SH"], &[7.0, 8.0, NAN, 9.0]);
    (tone, heat)
}

fn outcome() -> Outcome {
    let dates = vec![day("2024-03-01"), day("2024-03-04")];
    Outcome {
        factor: "语调".into(),
        alignment: Alignment { delay: 1, horizons: vec![5], ..Alignment::default() },
        coverage: Coverage { dates: dates.clone(), names: vec![3, 4], universe: vec![5, 5] },
        ic: vec![IcSeries {
            horizon: 5,
            dates: dates.clone(),
            ic: vec![0.1, NAN],
            rank_ic: vec![0.2, -0.3],
            names: vec![3, 4],
            ic_summary: IcSummary { n: 2, mean: 0.1, std: NAN, ..IcSummary::default() },
            rank_ic_summary: IcSummary::default(),
        }],
        layers: Layers {
            horizons: vec![1, 5],
            mean: vec![vec![-0.01, 0.02], vec![-0.03, 0.04]],
            stderr: vec![vec![0.001, 0.002], vec![0.003, NAN]],
            spread_dates: vec![dates.clone(), vec![]],
            spread: vec![vec![0.02, 0.04], vec![]],
            dates: dates.clone(),
            wealth: vec![vec![1.0, 0.9], vec![1.0, 1.1]],
            ..Layers::default()
        },
        decay: IcDecay { lags: vec![1, 2], rank_ic: vec![0.03, 0.02], half_life: NAN },
        long_short: LongShort {
            dates,
            gross: vec![0.01, 0.02],
            net: vec![0.009, 0.019],
            long: vec![0.005, 0.01],
            short: vec![0.005, 0.01],
            turnover: vec![0.5, 0.25],
            cost: vec![0.001, 0.001],
            by_year: vec![YearFigures { year: 2024, ..YearFigures::default() }],
            ..LongShort::default()
        },
        portfolios: vec![Portfolio {
            name: "short".into(),
            dates: vec![day("2024-03-01")],
            gross: vec![0.01],
            net: vec![0.009],
            excess: vec![],
            turnover: vec![0.5],
            by_year: vec![YearFigures { year: 2024, ..YearFigures::default() }],
            ..Portfolio::default()
        }],
        benchmark: Some(Benchmark {
            name: "universe".into(),
            dates: vec![day("2024-03-01")],
            returns: vec![0.002],
            ..Benchmark::default()
        }),
        samples: vec![SubSample {
            by: "size".into(),
            group: "small".into(),
            names: 4.5,
            rank_ic: vec![IcSummary { n: 7, ..IcSummary::default() }; 2],
            spread: vec![0.01, NAN],
        }],
        stability: vec![Stability { period: 5, turnover: vec![0.1, 0.2], rank_autocorrelation: 0.9 }],
        execution: Execution { orders: 9, filled: 6, ..Execution::default() },
        untradable: BTreeMap::from([("suspended".to_owned(), 3)]),
        ..Outcome::default()
    }
}

fn export(out: &Path, params: &Params) -> Result<(Manifest, Report)> {
    let (tone, heat) = factors();
    let factors = [ExportFactor { name: "语调", values: &tone }, ExportFactor { name: "Heat", values: &heat }];
    let provenance = Provenance { seed: 7, known_at: "before 15:00 of the date".into(), ..Provenance::default() };
    run(&factors, &[outcome()], &[], out, params, &provenance, &ctx())
}

fn everything() -> Params {
    Params {
        formats: vec![Format::Parquet, Format::Arrow, Format::Csv],
        shapes: vec![Shape::Long, Shape::Wide, Shape::Alphalens, Shape::Qlib, Shape::QlibBin],
        bom: true,
        csv_formulas: Formulas::Keep,
        code_style: CodeStyle::JoinQuant,
    }
}

#[test]
fn texts_that_spreadsheets_compute_are_quoted_on_request_and_numbers_never() {
    let (tone, _) = factors();
    let dir = tempfile::tempdir().unwrap();
    let long = |formulas| {
        let params = Params { csv_formulas: formulas, shapes: vec![Shape::Long], ..everything() };
        let factors = [ExportFactor { name: "-语调", values: &tone }];
        let mut outcome = outcome();
        outcome.portfolios = vec![Portfolio {
            name: "=cmd|' /C calc'!A0".into(),
            dates: vec![day("2024-03-01")],
            gross: vec![-0.5],
            net: vec![-0.5],
            turnover: vec![0.0],
            ..Portfolio::default()
        }];
        let out = dir.path().join("out");
        run(&factors, &[outcome], &[], &out, &params, &Provenance::default(), &ctx()).unwrap();
        let read = |path: &str| std::fs::read_to_string(out.join(path)).unwrap();
        (read("long/factors.csv"), read("backtest/语调/portfolios.csv"))
    };
    let (factors, books) = long(Formulas::Quote);
    assert!(factors.starts_with("\u{feff}date,code,'-语调\n") && factors.contains(",000001.XSHE,-2.0\n"), "{factors}");
    assert!(books.contains("\n'=cmd|' /C calc'!A0,2024-03-01,-0.5,-0.5,"), "{books}");
    let (factors, books) = long(Formulas::Keep);
    assert!(
        factors.starts_with("\u{feff}date,code,-语调\n") && books.contains("\n=cmd|' /C calc'!A0,2024-03-01,-0.5,"),
        "{books}"
    );
}

fn texts(table: &DataFrame, name: &str) -> Vec<String> {
    column(table, name).unwrap().str().unwrap().iter().map(|v| v.unwrap().to_owned()).collect()
}

fn reals(table: &DataFrame, name: &str) -> Vec<Option<f64>> {
    column(table, name).unwrap().f64().unwrap().iter().collect()
}

#[test]
fn the_long_table_joins_factors_on_date_and_code() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = export(&dir.path().join("out"), &everything()).unwrap();
    assert_eq!((report.rows_in, report.rows_out), (6, 6));
    let long = frames::read_foreign_parquet(&dir.path().join("out/long/factors.parquet"), None).unwrap();
    let dates: Vec<_> = dates_of(&long, "date").unwrap().into_iter().map(|d| d.unwrap().to_string()).collect();
    assert_eq!(dates, ["2024-03-01", "2024-03-05", "2024-03-05", "2024-03-05", "2024-03-06"]);
    assert_eq!(texts(&long, "code"), ["600000.XSHG", "000001.XSHE", "430047.BJ", "600000.XSHG", "600000.XSHG"]);
    assert_eq!(reals(&long, "语调"), [Some(1.5), Some(-2.0), None, Some(0.1), None]);
    assert_eq!(reals(&long, "Heat"), [None, None, Some(7.0), Some(8.0), Some(9.0)]);
    let csv = std::fs::read_to_string(dir.path().join("out/long/factors.csv")).unwrap();
    let expected = "\u{feff}date,code,语调,Heat\n2024-03-01,600000.XSHG,1.5,\n2024-03-05,000001.XSHE,-2.0,\n";
    assert!(csv.starts_with(expected), "{csv}");
}

#[test]
fn the_wide_alphalens_and_qlib_tables_have_the_shapes_of_their_readers() {
    let dir = tempfile::tempdir().unwrap();
    export(dir.path(), &everything()).unwrap();
    let wide = frames::read_foreign_parquet(&dir.path().join("wide/语调.parquet"), None).unwrap();
    assert_eq!(wide.get_column_names(), ["date", "000001.XSHE", "430047.BJ", "600000.XSHG"]);
    assert_eq!(reals(&wide, "600000.XSHG"), [Some(1.5), None, Some(0.1), None]);
    assert_eq!(reals(&wide, "430047.BJ"), [None; 4]);

    let alphalens = frames::read_foreign_parquet(&dir.path().join("alphalens/语调.parquet"), None).unwrap();
    assert_eq!(alphalens.get_column_names(), ["date", "asset", "factor"]);
    assert_eq!(reals(&alphalens, "factor"), [Some(1.5), Some(-2.0), Some(0.1)]);
    let first = times_of(&alphalens, "date").unwrap()[0].unwrap();
    assert_eq!(first.to_string(), "2024-03-01 00:00:00");

    let qlib = frames::read_foreign_parquet(&dir.path().join("qlib/factors.parquet"), None).unwrap();
    assert_eq!(qlib.get_column_names(), ["datetime", "instrument", "语调", "Heat"]);
    // Sorted as written: BJ, SH, SZ within the day.
    assert_eq!(texts(&qlib, "instrument"), ["SH600000", "BJ430047", "SH600000", "SZ000001", "SH600000"]);
    let csv = std::fs::read_to_string(dir.path().join("alphalens/语调.csv")).unwrap();
    assert!(csv.contains("2024-03-05,000001.XSHE,-2.0\n"), "{csv}");
}

#[test]
fn the_qlib_folder_reads_back_by_its_own_rules() {
    let dir = tempfile::tempdir().unwrap();
    export(dir.path(), &everything()).unwrap();
    let provider = dir.path().join("qlib_bin");
    let text = |path: &str| std::fs::read_to_string(provider.join(path)).unwrap();
    let calendar: Vec<String> = text("calendars/day.txt").lines().map(str::to_owned).collect();
    assert_eq!(calendar, ["2024-03-01", "2024-03-04", "2024-03-05", "2024-03-06"]);
    assert_eq!(
        text("instruments/all.txt"),
        "BJ430047\t2024-03-05\t2024-03-05\nSH600000\t2024-03-01\t2024-03-06\nSZ000001\t2024-03-05\t2024-03-05\n"
    );
    let series = |path: &str| {
        let bytes = std::fs::read(provider.join("features").join(path)).unwrap();
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        (calendar[numbers[0] as usize].clone(), numbers[1..].to_vec())
    };
    let (start, values) = series("sh600000/语调.day.bin");
    assert_eq!((start.as_str(), values.len()), ("2024-03-01", 3));
    assert!(values[0] == 1.5 && values[1].is_nan() && values[2] == 0.1);
    assert_eq!(series("sh600000/heat.day.bin"), ("2024-03-05".to_owned(), vec![8.0, 9.0]));
    assert!(!provider.join("features/sz000001/heat.day.bin").exists(), "no values, no file");
}

#[test]
fn pandas_is_told_the_index_of_what_alphalens_and_qlib_read() {
    let dir = tempfile::tempdir().unwrap();
    export(dir.path(), &everything()).unwrap();
    let parquet_note = |path: &str, name: &str| {
        let file = std::fs::File::open(dir.path().join(path)).unwrap();
        let metadata =
            ParquetReader::new(file).get_metadata().unwrap().key_value_metadata().clone().unwrap_or_default();
        metadata.into_iter().find(|pair| pair.key == name).and_then(|pair| pair.value)
    };
    let note: Value = serde_json::from_str(&parquet_note("qlib/factors.parquet", "pandas").unwrap()).unwrap();
    assert_eq!(note["index_columns"], json!(["datetime", "instrument"]));
    let kinds: Vec<_> = note["columns"].as_array().unwrap().iter().map(|c| (&c["name"], &c["pandas_type"])).collect();
    let expected =
        json!([["datetime", "datetime"], ["instrument", "unicode"], ["语调", "float64"], ["Heat", "float64"]]);
    assert_eq!(json!(kinds), expected);
    let note: Value = serde_json::from_str(&parquet_note("alphalens/语调.parquet", "pandas").unwrap()).unwrap();
    assert_eq!(note["index_columns"], json!(["date", "asset"]));
    // pyarrow takes it from the Arrow schema.
    for (path, noted) in
        [("alphalens/语调.parquet", true), ("long/factors.parquet", false), ("wide/语调.parquet", false)]
    {
        let schema = STANDARD.decode(parquet_note(path, "ARROW:schema").unwrap()).unwrap();
        assert_eq!(String::from_utf8_lossy(&schema).contains("index_columns"), noted, "{path}");
        assert_eq!(parquet_note(path, "pandas").is_some(), noted, "{path}");
    }

    let open = |path: &str| std::fs::File::open(dir.path().join(path)).unwrap();
    let mut arrow = IpcReader::new(open("qlib/factors.arrow"));
    let noted = arrow.custom_metadata().unwrap().unwrap();
    let note: Value = serde_json::from_str(&noted["pandas"]).unwrap();
    assert_eq!(note["index_columns"], json!(["datetime", "instrument"]));
    let parquet = frames::read_foreign_parquet(&dir.path().join("qlib/factors.parquet"), None).unwrap();
    let arrow = IpcReader::new(open("qlib/factors.arrow")).finish().unwrap();
    assert!(arrow.equals_missing(&parquet));
}

#[test]
fn qlib_finds_what_its_rules_rename() {
    let dir = tempfile::tempdir().unwrap();
    let values = panel(&["2024-03-01"], &["CON", "CON.B", "LPT1"], &[1.0, 2.0, 3.0]);
    let params = Params { formats: vec![], shapes: vec![Shape::QlibBin], ..Params::default() };
    let export = |names: &[&str]| {
        let factors: Vec<_> = names.iter().map(|name| ExportFactor { name, values: &values }).collect();
        run(&factors, &[], &[], &dir.path().join("out"), &params, &Provenance::default(), &ctx())
    };
    let (manifest, _) = export(&["语调-30d"]).unwrap();
    let paths: Vec<_> = manifest.files.iter().filter_map(|f| f.path.strip_prefix("qlib_bin/features/")).collect();
    // Signs that would end `$name`, and folders that Windows takes for devices.
    assert_eq!(paths, ["_qlib_con/语调_30d.day.bin", "_qlib_lpt1/语调_30d.day.bin", "con.b/语调_30d.day.bin"]);
    let error = export(&["tone-30d", "Tone_30d"]).unwrap_err().to_string();
    assert!(error.contains("both as $tone_30d"), "{error}");
}

#[test]
fn backtest_tables_come_in_both_formats_with_their_alignment() {
    let dir = tempfile::tempdir().unwrap();
    export(dir.path(), &Params::default()).unwrap();
    let table = |name: &str| {
        frames::read_foreign_parquet(&dir.path().join(format!("backtest/语调/{name}.parquet")), None).unwrap()
    };
    assert_eq!(reals(&table("ic"), "ic"), [Some(0.1), None]);
    assert_eq!(reals(&table("layers"), "mean_return"), [Some(-0.01), Some(0.02), Some(-0.03), Some(0.04)]);
    assert_eq!(reals(&table("wealth"), "wealth"), [Some(1.0), Some(1.0), Some(0.9), Some(1.1)]);
    assert_eq!(reals(&table("long_short"), "cost"), [Some(0.001), Some(0.001)]);
    assert_eq!(reals(&table("layers"), "stderr"), [Some(0.001), Some(0.002), Some(0.003), None]);
    assert_eq!(reals(&table("spread"), "spread"), [Some(0.02), Some(0.04)]);
    assert_eq!(reals(&table("decay"), "rank_ic"), [Some(0.03), Some(0.02)]);
    assert_eq!(table("by_year").shape(), (1, 10));
    assert_eq!(table("coverage").shape(), (2, 6));
    assert_eq!(reals(&table("portfolios"), "net"), [Some(0.009)]);
    assert_eq!(reals(&table("portfolios"), "excess"), [None]);
    let books = table("portfolio_figures");
    assert_eq!(texts(&books, "book"), ["long_short", "long_short", "short", "short", "universe"]);
    assert_eq!(texts(&books, "returns"), ["net", "net", "net", "net", "benchmark"]);
    assert_eq!(reals(&table("benchmark"), "return"), [Some(0.002)]);
    assert_eq!(reals(&table("samples"), "spread"), [Some(0.01), None]);
    assert_eq!(reals(&table("samples"), "rank_ic_dates"), [Some(7.0), Some(7.0)]);
    assert_eq!(reals(&table("stability"), "turnover"), [Some(0.1), Some(0.2)]);
    let summary = table("summary");
    let figures: BTreeMap<String, Option<f64>> =
        texts(&summary, "figure").into_iter().zip(reals(&summary, "value")).collect();
    assert_eq!(figures["ic_mean"], Some(0.1));
    assert_eq!(figures["ic_std"], None);
    assert_eq!(figures["untradable: suspended"], Some(3.0));
    assert_eq!([figures["orders"], figures["orders_filled"], figures["capital_cny"]], [Some(9.0), Some(6.0), None]);
    assert!(texts(&summary, "alignment").iter().all(|a| a.contains("sold at the open 5 trading days later")));
    let csv = std::fs::read_to_string(dir.path().join("backtest/语调/ic.csv")).unwrap();
    assert_eq!(
        csv,
        "horizon,date,ic,rank_ic,names,delay,price,lookahead\n5,2024-03-01,0.1,0.2,3,1,open,false\n5,2024-03-04,,-0.3,4,1,open,false\n"
    );
}

#[test]
fn the_manifest_lists_every_file_with_its_hash_and_the_bytes_repeat() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    let (manifest, report) = export(&one, &everything()).unwrap();
    export(&two, &everything()).unwrap();
    let mut found = 0;
    for entry in walkdir::WalkDir::new(&one) {
        let entry = entry.unwrap();
        if !entry.file_type().is_file() {
            continue;
        }
        let path = entry.path().strip_prefix(&one).unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        assert_eq!(bytes, std::fs::read(two.join(path)).unwrap(), "{}", path.display());
        if path != Path::new("manifest.json") && path != Path::new(disk::MARKER) {
            let noted = manifest.files.iter().find(|f| Path::new(&f.path) == path).unwrap();
            assert_eq!((noted.bytes, &noted.blake3), (bytes.len() as u64, &blake3::hash(&bytes).to_hex().to_string()));
            found += 1;
        }
    }
    assert_eq!(found, manifest.files.len());
    assert_eq!(report.facts["files"], found);
    let read: Manifest = disk::read_json(&one.join("manifest.json")).unwrap();
    assert_eq!((read.provenance.seed, read.files.len()), (7, found));
    assert_eq!(read.provenance.versions["inkstone"], env!("CARGO_PKG_VERSION"));
    assert_eq!(read.backtests[0].alignment, outcome().alignment_in_words().en);
}

/// A file that no file system takes.
fn too_long() -> Extra {
    Extra { path: "长".repeat(200), bytes: Vec::new() }
}

#[test]
fn a_failing_export_leaves_the_one_before_and_no_leftovers() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    export(&out, &Params::default()).unwrap();
    let before = disk::hash_file(&out.join("manifest.json")).unwrap();
    let (tone, _) = factors();
    let again = |ctx: &Ctx, name: &str, extras: &[Extra]| {
        let factors = [ExportFactor { name, values: &tone }];
        run(&factors, &[], extras, &out, &everything(), &Provenance::default(), ctx)
    };
    let cancelled = ctx();
    cancelled.cancel();
    again(&cancelled, "语调", &[]).unwrap_err();
    // A name too long for any file system fails when its file is opened, after others were written.
    let error = format!("{:#}", again(&ctx(), "新", &[too_long()]).unwrap_err());
    assert!(error.contains("cannot write"), "{error}");
    assert_eq!(disk::hash_file(&out.join("manifest.json")).unwrap(), before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    // And one that succeeds replaces it as a whole.
    again(&ctx(), "新", &[]).unwrap();
    assert!(
        out.join("wide/新.csv").exists() && !out.join("wide/语调.parquet").exists() && !out.join("backtest").exists()
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn leftovers_of_a_killed_export_are_put_right() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    export(&out, &Params::default()).unwrap();
    // Killed between the two renames of a file system that cannot exchange: the old export goes back to its place, so
    // that it is there should the next one fail as well.
    std::fs::rename(&out, dir.path().join(".out.previous")).unwrap();
    disk::own_folder(&dir.path().join(".out.partial"), Room::Partial).unwrap();
    std::fs::create_dir_all(dir.path().join(".out.partial/long")).unwrap();
    let (tone, _) = factors();
    let other = [ExportFactor { name: "a", values: &tone }];
    run(&other, &[], &[too_long()], &out, &Params::default(), &Provenance::default(), &ctx()).unwrap_err();
    assert!(out.join("manifest.json").exists() && out.join("wide/语调.parquet").exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_of_others_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("笔记.txt"), "mine").unwrap();
    let error = export(&out, &Params::default()).unwrap_err();
    assert!(error.is::<disk::NotOurs>() && error.to_string().contains("笔记.txt"), "{error:#}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Files of others in an export, by their path.
const THEIRS: [&str; 6] = [
    ".DS_Store",
    "~$book.xlsx",
    "notes/2024/三月.md",
    "long/.ipynb_checkpoints/a.ipynb",
    "backtest/mine.csv",
    "experiments/a.html",
];

fn put_theirs(out: &Path) {
    for path in THEIRS.map(|path| out.join(path)) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, path.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    std::fs::create_dir(out.join("empty")).unwrap();
}

fn assert_theirs(out: &Path) {
    for path in THEIRS.map(|path| out.join(path)) {
        assert_eq!(std::fs::read(&path).unwrap(), path.file_name().unwrap().as_encoded_bytes(), "{}", path.display());
    }
    assert!(out.join("empty").is_dir());
}

#[test]
fn files_of_others_are_carried_over_an_export_and_what_it_no_longer_has_goes() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    export(&out, &everything()).unwrap();
    put_theirs(&out);
    let (tone, _) = factors();
    let other = [ExportFactor { name: "新", values: &tone }];
    for _ in 0..2 {
        run(&other, &[], &[], &out, &Params::default(), &Provenance::default(), &ctx()).unwrap();
        assert_theirs(&out);
        assert!(out.join("wide/新.parquet").exists() && !out.join("wide/语调.parquet").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn files_of_others_come_back_whenever_an_export_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let [partial, previous] = ["partial", "previous"].map(|name| dir.path().join(format!(".out.{name}")));
    for (killed, old) in [("before the exchange", &out), ("after it", &partial), ("after two renames", &previous)] {
        for carried in 0..THEIRS.len() {
            let _ = std::fs::remove_dir_all(&out);
            export(&out, &everything()).unwrap();
            if *old == out {
                put_theirs(&out);
                export(&partial, &everything()).unwrap();
            } else {
                export(old, &Params::default()).unwrap();
                put_theirs(old);
                for path in &THEIRS[..carried] {
                    std::fs::create_dir_all(out.join(path).parent().unwrap()).unwrap();
                    std::fs::rename(old.join(path), out.join(path)).unwrap();
                }
            }
            export(&out, &Params::default()).unwrap_or_else(|error| panic!("killed {killed}: {error:#}"));
            assert_theirs(&out);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "killed {killed}");
        }
    }
}

#[test]
fn a_file_of_others_in_the_place_of_a_table_is_named_and_left() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let only_long = Params { shapes: vec![Shape::Long], ..Params::default() };
    for theirs in ["wide/语调.parquet", "wide", "qlib/factors.parquet/x"] {
        let _ = std::fs::remove_dir_all(&out);
        export(&out, &only_long).unwrap();
        std::fs::create_dir_all(out.join(theirs).parent().unwrap()).unwrap();
        std::fs::write(out.join(theirs), "mine").unwrap();
        let before = disk::hash_file(&out.join("manifest.json")).unwrap();
        let error = export(&out, &Params::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("{theirs:?}")) && error.contains("move that file away"), "{error}");
        assert_eq!(std::fs::read(out.join(theirs)).unwrap(), b"mine");
        assert_eq!(disk::hash_file(&out.join("manifest.json")).unwrap(), before);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_hidden_folder_of_others_beside_an_export_is_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".out.partial")).unwrap();
    std::fs::write(dir.path().join(".out.partial/thesis.docx"), "mine").unwrap();
    let error = export(&dir.path().join("out"), &Params::default()).unwrap_err().to_string();
    assert!(error.contains(".out.partial") && error.contains("thesis.docx"), "{error}");
    assert_eq!(std::fs::read(dir.path().join(".out.partial/thesis.docx")).unwrap(), b"mine");
}

#[test]
fn a_second_export_into_the_same_folder_waits_for_nobody_and_says_who_writes() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let first = Folder::begin(&out, false, Formulas::Keep).unwrap();
    let error = export(&out, &Params::default()).unwrap_err().to_string();
    assert!(error.contains("another export is being written to") && error.contains("wait until"), "{error}");
    export(&dir.path().join("other"), &Params::default()).unwrap();
    drop(first);
    export(&out, &Params::default()).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn names_that_cannot_be_files_or_columns_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (tone, _) = factors();
    let error = |names: &[&str]| {
        let factors: Vec<_> = names.iter().map(|name| ExportFactor { name, values: &tone }).collect();
        let out = dir.path().join("out");
        run(&factors, &[], &[], &out, &Params::default(), &Provenance::default(), &ctx()).unwrap_err().to_string()
    };
    assert!(error(&["../tone"]).contains("would be a file name"));
    assert!(error(&[""]).contains("would be a file name"));
    assert!(error(&["Date"]).contains("for another column"));
    assert!(error(&["tone", "Tone"]).contains("two factors"));
    let no_format = Params { formats: Vec::new(), ..Params::default() };
    assert!(export(&dir.path().join("out"), &no_format).unwrap_err().to_string().contains("[export] formats is empty"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
