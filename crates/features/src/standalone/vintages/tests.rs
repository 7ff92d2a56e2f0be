//! From documents with times to models of windows.

use super::*;
use crate::standalone::{CutSpec, shifts};
use inkstone_text::TokenizerParams;

/// Documents of two subjects in each quarter; from the second quarter on 注册 goes with the other subject.
fn text(quarters: u32) -> String {
    const DOCUMENTS: u32 = 1000;
    let subjects = [["利润", "增长", "订单", "营收", "毛利"], ["股东", "减持", "股份", "质押", "处罚"]];
    let mut lines = String::new();
    for (quarter, i) in (0..quarters).flat_map(|quarter| (0..DOCUMENTS).map(move |i| (quarter, i as usize))) {
        let mut words: Vec<&str> = (0..30).map(|j| subjects[i % 2][(i / 2 * 3 + j * j + j / 3) % 5]).collect();
        if i % 2 == usize::from(quarter > 0) {
            words.insert(i % 7 + 1, "注册");
            words.insert(i % 7 + 12, "注册");
        }
        let month = quarter % 4 * 3 + 1 + i as u32 * 3 / DOCUMENTS;
        let date = format!("{:04}-{month:02}-{:02}", 2023 + quarter / 4, i % 28 + 1);
        lines += &format!("{}\n", json!({"text": words.join(" "), "time": date}));
    }
    lines
}

fn run(text: &str, period: Period, folder: &Path) -> Result<(Vec<Vintage>, Report)> {
    let cutter = Cutter::new(CutSpec::new(LineFormat::Jsonl, TokenizerParams::default()), Path::new(""))?;
    let mut lines = Lines::new(Cursor::new(text.to_owned()), LineFormat::Jsonl);
    let params = Word2vecParams { dim: 8, epochs: 10, sample: 0.0, ..Word2vecParams::default() };
    train(&mut lines, &cutter, period, &WordParams::default(), &params, folder, &Ctx::new(2, 1)?)
}

#[test]
fn windows_have_models_in_one_space_and_a_word_that_moved_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let text = text(3) + r#"{"text": "利润"}"# + "\n";
    let (vintages, report) = run(&text, Period::Quarter, dir.path()).unwrap();
    let windows: Vec<&str> = vintages.iter().map(|vintage| &*vintage.window).collect();
    assert_eq!(windows, ["2023Q1", "2023Q2", "2023Q3"]);
    assert_eq!((report.dropped["no time"], report.rows_out), (1, 3000));
    assert_eq!(vintages[1].fitted_until.unwrap().to_string(), "2023-06-28 23:59:59");
    let models = vintages.iter().map(|vintage| WordVectors::open(vintage.output.as_ref().unwrap()).unwrap()).collect();
    let found = shifts(models, &[], &Ctx::new(1, 1).unwrap()).unwrap();
    let moved =
        |word: &str, model| found.iter().find(|s| *s.word == *word && s.model == model).unwrap().from_previous.unwrap();
    let others = ["利润", "增长", "减持", "质押"].map(|word| moved(word, 1));
    assert!(others.iter().all(|&other| moved("注册", 1) > 1.5 * other), "{} {others:?}", moved("注册", 1));
    assert!(moved("注册", 2) < 0.5 * moved("注册", 1), "{}", moved("注册", 2));
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [inkstone_base::disk::MARKER, "2023Q1.model", "2023Q2.model", "2023Q3.model"]);
}

#[test]
fn the_future_changes_no_vintage_before_it() {
    let (short, long) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&text(2), Period::Quarter, short.path()).unwrap();
    run(&text(3), Period::Quarter, long.path()).unwrap();
    for window in ["2023Q1.model", "2023Q2.model"] {
        let read = |dir: &tempfile::TempDir| std::fs::read(dir.path().join(window)).unwrap();
        assert!(read(&short) == read(&long), "{window}");
    }
}

#[test]
fn a_window_that_is_too_small_is_left_out_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let text = text(2) + r#"{"text": "利润 利润", "time": "2023-08-01"}"# + "\n";
    let (vintages, _) = run(&text, Period::Quarter, dir.path()).unwrap();
    assert!(
        vintages[2].output.is_none() && vintages[2].reason.as_ref().unwrap().contains("--min-count"),
        "{vintages:?}"
    );
    let error = run(&text, Period::Year, dir.path()).unwrap_err().to_string();
    assert!(error.contains("--by"), "{error}");
    let error = run("{\"text\": \"利润\"}\n", Period::Year, dir.path()).unwrap_err().to_string();
    assert!(error.contains("no document has a time"), "{error}");
}

#[test]
fn names_of_windows_sort_as_their_times() {
    let time = |month| chrono::NaiveDate::from_ymd_opt(2024, month, 9).unwrap().and_hms_opt(1, 2, 3).unwrap();
    let names = [Period::Month, Period::Quarter, Period::Half, Period::Year].map(|period| period.window(time(11)));
    assert_eq!(names, ["2024-11", "2024Q4", "2024H2", "2024"]);
    assert!(Period::Month.window(time(2)) < Period::Month.window(time(10)));
}
