//! The market as a whole: what is written is what the truth says, whoever writes it and however often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use aho_corasick::{AhoCorasick, MatchKind};
use encoding_rs::{Encoding, GB18030, UTF_8, UTF_16LE};

use super::*;
use inkstone_base::stats::pearson;
use inkstone_tables::frames;

fn market(scale: f64, threads: usize) -> (tempfile::TempDir, Truth) {
    let dir = tempfile::tempdir().unwrap();
    let params = Params { scale, ..Params::default() };
    let (truth, report) = generate(dir.path(), &params, &Ctx::new(threads, 1).unwrap()).unwrap();
    assert_eq!(report.rows_out, truth.documents);
    (dir, truth)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.filter(|e| e.file_type().is_file()).map(|e| e.into_path()).collect()
}

fn decode(bytes: &[u8], encoding: &'static Encoding) -> (String, bool) {
    let (text, _, broken) = encoding.decode(bytes);
    (text.into_owned(), broken)
}

#[test]
fn equal_parameters_give_equal_bytes_for_any_number_of_threads() {
    let (one, _) = market(0.05, 1);
    let (two, _) = market(0.05, 2);
    let (a, b) = (files(one.path()), files(two.path()));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a.strip_prefix(one.path()).unwrap(), b.strip_prefix(two.path()).unwrap());
        assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap(), "{} differs", a.display());
    }
    // Another market in the same folder, then the first again: nothing is left over.
    let again = generate(one.path(), &Params { scale: 0.05, seed: 8 }, &Ctx::new(1, 1).unwrap()).unwrap().0;
    assert_eq!(again.seed, 8);
    let (truth, _) = generate(one.path(), &Params { scale: 0.05, seed: 1 }, &Ctx::new(2, 1).unwrap()).unwrap();
    assert_eq!(files(one.path()).len(), b.len());
    assert_eq!(
        disk::read_json::<serde_json::Value>(&one.path().join("truth.json")).unwrap()["generator"],
        truth.generator
    );
}

/// Reads every wire and desk with established readers (csv, serde_json, polars) and counts as the truth says it should.
#[test]
fn what_readers_find_is_what_the_truth_counts() {
    let (dir, truth) = market(0.3, 2);
    let mut sound: BTreeMap<&str, u64> = BTreeMap::new();
    let mut bad: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let mut judge = |source: &'static str, id: &str, text: &str, time: &str, broken: bool| {
        let fresh = ids.insert(format!("{source}/{id}"));
        let dated =
            !time.contains("2099") && !time.contains("/2/30 ") && !time.ends_with("0230") && !time.contains("-13-");
        let dated = dated && !time.contains("年2月30日");
        let good = fresh && !text.trim().is_empty() && dated && !broken;
        *if good { &mut sound } else { &mut bad }.entry(source).or_default() += 1;
    };
    let delimited = |source: &str, encoding, delimiter, judge: &mut dyn FnMut(&str, &str, &str, bool)| {
        for path in files(&dir.path().join("news").join(source)) {
            let mut bytes = std::fs::read(&path).unwrap();
            if encoding == UTF_16LE {
                assert_eq!(bytes[..2], [0xff, 0xfe]);
                bytes = decode(&bytes, UTF_16LE).0.into_bytes();
            }
            let mut reader =
                csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(bytes.as_slice());
            let width = reader.byte_headers().unwrap().len();
            for record in reader.byte_records() {
                let record = record.unwrap();
                let inner = if encoding == UTF_16LE { UTF_8 } else { encoding };
                let fields: Vec<(String, bool)> = record.iter().map(|f| decode(f, inner)).collect();
                let broken = fields.iter().any(|f| f.1) || fields.len() != width;
                let two = source == "wire_bom";
                let at = |i: usize| fields.get(i).map_or("", |f| f.0.as_str());
                let text = if two { [at(3), at(4)].concat() } else { [at(2), at(3)].concat() };
                judge(at(0), &text, at(1), broken);
            }
        }
    };
    delimited("wire_gb", GB18030, b',', &mut |id, text, time, broken| judge("wire_gb", id, text, time, broken));
    delimited("wire_bom", UTF_8, b',', &mut |id, text, time, broken| judge("wire_bom", id, text, time, broken));
    delimited("wire_utf16", UTF_16LE, b'\t', &mut |id, text, time, broken| judge("wire_utf16", id, text, time, broken));
    for path in files(&dir.path().join("news/wire_json")) {
        for line in std::fs::read(&path).unwrap().split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            let Ok(row) = serde_json::from_slice::<serde_json::Value>(line) else {
                judge("wire_json", "", "", "", true);
                continue;
            };
            let field = |name: &str| row[name].as_str().unwrap();
            judge("wire_json", field("id"), &[field("title"), field("content")].concat(), field("pub_time"), false);
        }
    }
    for path in files(&dir.path().join("reports/json")) {
        let rows: Vec<serde_json::Value> = disk::read_unsealed_json(&path).unwrap();
        for row in rows {
            let field = |name: &str| row[name].as_str().unwrap();
            judge(desk::JSON, field("id"), &[field("title"), field("content")].concat(), field("published_at"), false);
        }
    }
    for path in files(&dir.path().join("reports/parquet")) {
        let frame = frames::read_foreign_parquet(&path, Some(&["report_id", "content"])).unwrap();
        let (id, content) = (frame.column("report_id").unwrap().str().unwrap(), frame.column("content").unwrap());
        for i in 0..frame.height() {
            judge(desk::PARQUET, id.get(i).unwrap(), content.str().unwrap().get(i).unwrap(), "", false);
        }
    }
    let txt = files(&dir.path().join("reports/txt"));
    for path in &txt {
        let bytes = std::fs::read(path).unwrap();
        let encoding = if std::str::from_utf8(&bytes).is_ok() { UTF_8 } else { GB18030 };
        let (text, broken) = decode(&bytes, encoding);
        judge(
            desk::TXT,
            &path.file_stem().unwrap().to_string_lossy(),
            &text,
            "",
            broken || !text.starts_with("标题："),
        );
    }
    assert!(txt.len() > 5);
    for (name, source) in &truth.sources {
        let found = (sound.get(name.as_str()).copied(), bad.get(name.as_str()).copied().unwrap_or(0));
        assert_eq!(found, (Some(source.documents), source.rejects.values().sum()), "{name}");
    }
    let tones = frames::read_foreign_parquet(&dir.path().join("truth_tone.parquet"), Some(&["doc_id"])).unwrap();
    let keys: BTreeSet<&str> = tones.column("doc_id").unwrap().str().unwrap().iter().flatten().collect();
    assert_eq!(keys.len() as u64, truth.documents);
    assert_eq!(tones.height() as u64, truth.documents + truth.about_two);
}

#[test]
fn prices_respect_the_limits_and_their_own_range() {
    let (dir, truth) = market(0.3, 2);
    let mut reader = csv::Reader::from_path(dir.path().join("prices.csv")).unwrap();
    let (mut rows, mut suspended, mut locked) = (0, 0, 0);
    let mut last: BTreeMap<String, f64> = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        rows += 1;
        if record[5].is_empty() {
            suspended += 1;
            continue;
        }
        let number = |i: usize| record[i].parse::<f64>().unwrap();
        let [open, high, low, close, vwap] = [2, 3, 4, 5, 6].map(number);
        assert!(low <= open.min(close) && high >= open.max(close) && (low..=high).contains(&vwap), "{record:?}");
        assert!(low > 0.0 && number(7) > 0.0 && number(9) > 0.0);
        if !record[10].is_empty() {
            let (up, down) = (number(10), number(11));
            assert!(high <= up && low >= down, "{record:?}");
            locked += u64::from(open == close && high == low && (close == up || close == down));
            if let Some(last) = last.get(&record[1]) {
                let share = up / last - 1.0;
                assert!(
                    [0.05, 0.1, 0.2, 0.3].iter().any(|l| (share - l).abs() < 0.006 / last),
                    "{record:?} after {last}"
                );
            }
        }
        last.insert(record[1].to_owned(), close);
    }
    assert_eq!(
        (rows, suspended, locked),
        (truth.securities.prices, truth.securities.suspended, truth.securities.locked)
    );
    assert!(suspended > 0 && locked > 0);
}

#[test]
fn the_tones_say_something_about_tomorrow_the_placebo_nothing() {
    let (_dir, truth) = market(1.0, 2);
    let Truth { rank_ic_1, rank_ic_5, rank_ic_same_day, placebo_rank_ic_1, customers_rank_ic_1, .. } = &truth;
    for planted in [rank_ic_1, rank_ic_5, rank_ic_same_day, placebo_rank_ic_1, customers_rank_ic_1] {
        assert!((planted.low..planted.high).contains(&planted.realised), "{planted:?}");
    }
    assert!((0.05..0.08).contains(&rank_ic_1.mean) && rank_ic_1.low > 0.03, "{rank_ic_1:?}");
    assert!((0.05..0.08).contains(&rank_ic_5.mean) && rank_ic_5.low > 0.03, "{rank_ic_5:?}");
    assert!(
        (0.03..0.08).contains(&customers_rank_ic_1.mean) && customers_rank_ic_1.low > 0.02,
        "{customers_rank_ic_1:?}"
    );
    assert!(rank_ic_same_day.low > 0.12, "{rank_ic_same_day:?}");
    assert!(placebo_rank_ic_1.low < 0.0 && placebo_rank_ic_1.high > 0.0, "{placebo_rank_ic_1:?}");
}

/// A naive reader, who counts the words of two short lists and turns those that follow a 不 or 未, recovers most of the tone.
#[test]
fn the_tone_can_be_read_from_the_text() {
    let words = |text: &'static str| text.lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    let good: Vec<&str> = words(include_str!("../../../../datasets/demo/positive.txt")).collect();
    let bad: Vec<&str> = words(include_str!("../../../../datasets/demo/negative.txt")).collect();
    let all: Vec<&str> = good.iter().chain(&bad).copied().collect();
    let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&all).unwrap();
    let read = |story: &story::Story| {
        let paragraphs = story.paragraphs.iter().filter(|p| {
            !["风险提示", "免责", "【免责", "评级说明", "法律声明", "分析师承诺"].iter().any(|b| p.starts_with(b))
        });
        let (mut p, mut n) = (0.0, 0.0);
        for text in std::iter::once(&story.title).chain(paragraphs) {
            for hit in matcher.find_iter(text) {
                let before = text[..hit.start()].chars().rev().take(2).collect::<String>();
                let denied = before.contains(['未', '不', '无', '难']);
                *if (hit.pattern().as_usize() < good.len()) != denied { &mut p } else { &mut n } += 1.0;
            }
        }
        if p + n > 0.0 { (p - n) / (p + n) } else { 0.0 }
    };
    let world = World::new(0.2, 7).unwrap();
    let first = NaiveDate::from_ymd_opt(2023, 1, 1).unwrap();
    let dates: Vec<NaiveDate> = first.iter_days().take(731).collect();
    let mut wires = Wires::new(&world, &dates, 0.2).unwrap();
    let mut desks = Desks::new(&world, &dates, 0.2);
    let (mut news, mut reports) = (Vec::new(), Vec::new());
    for &date in &dates {
        news.extend(wires.day(date).unwrap().iter().map(|s| (s.tone, read(s))));
        for report in desks.day(date).unwrap() {
            let length: usize = report.paragraphs.iter().map(|p| p.chars().count()).sum();
            assert!((700..2800).contains(&length), "{length}");
            reports.push((report.tone, read(&report)));
        }
    }
    let (news, reports) = (correlation(&news), correlation(&reports));
    assert!(news > 0.92 && reports > 0.85, "news {news:.3}, reports {reports:.3}");
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    pearson(&x, &y)
}

#[test]
fn placebo_words_stand_nowhere_else() {
    let world = World::new(0.05, 7).unwrap();
    for (rule, text) in world.grammar.literals() {
        assert!(world.placebo.iter().all(|w| !text.contains(w)), "{rule}: {text}");
    }
    assert!(!world.placebo.is_empty());
}

#[test]
fn names_change_contain_each_other_and_are_common_words() {
    let world = World::new(1.0, 7).unwrap();
    let rows = companies::securities(&world.companies, &world.names, &world.calendar);
    let names: BTreeSet<&str> = rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(world.companies.len(), 200);
    assert!(rows.iter().any(|r| r.st) && rows.iter().any(|r| r.delisted.is_some()) && rows.len() > 210);
    assert!(names.iter().any(|a| names.iter().any(|b| a != b && b.starts_with(a))));
    assert!(
        names.contains("前景") || names.contains("突破") || names.iter().filter(|n| n.chars().count() == 2).count() > 8
    );
    // Rows of one code follow each other without a gap and never two at once.
    for pair in rows.windows(2).filter(|p| p[0].code == p[1].code) {
        assert_eq!(pair[0].to, pair[1].from, "{}", pair[0].code);
    }
    let mut seen = BTreeSet::new();
    let large = World::new(20.0, 7).unwrap();
    assert!(large.companies.len() == 4000 && large.companies.iter().all(|c| seen.insert(c.code.clone())));
    let rows = companies::securities(&large.companies, &large.names, &large.calendar);
    let backwards = rows.iter().find(|r| r.from.zip(r.to).is_some_and(|(from, to)| from >= to));
    assert!(backwards.is_none(), "ends before it begins: {backwards:?}");
}

#[test]
fn a_senseless_scale_is_refused() {
    let ctx = Ctx::new(1, 1).unwrap();
    for scale in [0.0, -1.0, f64::NAN] {
        let dir = tempfile::tempdir().unwrap();
        let error = generate(dir.path(), &Params { scale, seed: 1 }, &ctx).unwrap_err();
        assert!(error.to_string().contains("scale"));
    }
}
