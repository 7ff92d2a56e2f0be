//! Screens as text: keys go in, a picture comes out. The project behind them is made in `bench`, of invented text.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use chrono::Days;

use super::bench::{Bench, LARGE, SMALL, SOON, cut_in_pieces, empty, filled, outcome};
use super::run::Phase;
use super::{Language, Runner, Start, Workspace};
use crate::backtest::Outcome;
use crate::corpus::documents_to_frame;
use crate::data::{Document, Report};
use crate::disk;
use crate::job::{StageProgress, StageState};
use crate::project::Project;

fn stage(name: &str, done: u64, total: Option<u64>, seconds: u64, state: StageState) -> StageProgress {
    let (name, note) = (name.to_owned(), String::new());
    StageProgress { name, unit: "docs", done, total, note, elapsed: Duration::from_secs(seconds), state }
}

fn ingest_report() -> Report {
    let mut report = Report::new("ingest");
    (report.rows_in, report.rows_out, report.seconds) = (9520, 9500, 4.0);
    report.drop_rows("no such date", 13);
    report.drop_rows("空标题", 7);
    report.fact("encodings", serde_json::json!({"GB18030": 3, "UTF-8": 9}));
    report.fact("files", 12);
    report.fact("mean_length", 312.25);
    report
}

fn half_way() -> Vec<StageProgress> {
    let unchanged = Report { rows_in: 200, rows_out: 200, unchanged: true, ..Report::new("securities") };
    vec![
        stage("ingest", 9520, Some(9520), 4, StageState::Done(Box::new(ingest_report()))),
        stage("securities", 200, None, 0, StageState::Done(Box::new(unchanged))),
        stage("clean", 4800, Some(9500), 6, StageState::Running),
    ]
}

#[test]
fn an_empty_project_says_what_to_do() {
    let mut bench = Bench::open(&empty(), |w| w.factors.clear());
    insta::assert_snapshot!("empty_corpus", bench.screen(SMALL, ""));
    insta::assert_snapshot!("empty_run", bench.screen(SMALL, "9"));
    insta::assert_snapshot!("empty_factor_english", bench.screen(SMALL, "7L"));
    let mut bench = Bench::open(&empty(), |_| ());
    assert!(bench.screen(SMALL, "7").contains("这个因子还没有回测：按 r 运行"));
}

#[test]
fn runs_are_shown_at_work_failed_and_finished() {
    let mut bench = Bench::open(&empty(), |_| ());
    (bench.app.run.stages, bench.app.run.phase) = (half_way(), Phase::Running);
    insta::assert_snapshot!("running", bench.screen(SMALL, "9"));
    insta::assert_snapshot!("running_first_stage", bench.screen(LARGE, "kk"));
    insta::assert_snapshot!("running_question", bench.screen(SMALL, "<ctrl-c>"));
    bench.press("n");
    bench.app.run.stages[2].state = StageState::Failed;
    bench.app.run.phase = Phase::Failed(
        "clean: part 1 of 3: cannot write .inkstone/clean/part-00001.parquet: No space left on device (os error 28)"
            .to_owned(),
    );
    insta::assert_snapshot!("failed", bench.screen(SMALL, "j<end>"));
    bench.app.run.stages.pop();
    bench.app.run.phase = Phase::Done;
    insta::assert_snapshot!("finished_english", bench.screen(SMALL, "kL"));
}

#[test]
fn rejects_are_listed_with_their_rows() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("rejects", bench.screen(SMALL, "9xj"));
    assert!(bench.screen(SMALL, "<esc>").contains("按 r 开始"));
}

#[test]
fn a_reject_shows_its_row_in_the_encoding_it_has() {
    let dir = filled();
    let path = Project::new(dir.path()).rejects();
    // 600517,瑞禾电气 in GB18030.
    let line = r#"{"file":"a.csv","row":3,"reason":"empty title","raw":"NjAwNTE3LMjwusy158b4"}"#;
    std::fs::write(path, format!("{line}\n")).unwrap();
    let mut bench = Bench::open(&dir, |_| ());
    let screen = bench.screen(SMALL, "9x");
    assert!(screen.contains("│600517,瑞禾电气 "), "{screen}");
}

#[test]
fn an_opened_project_shows_what_was_last_run() {
    let mut bench = Bench::open(&filled(), |w| w.reports = Arc::new(|| vec![ingest_report()]));
    // The rows set aside come after the reports, and are waited for.
    let screen = bench.screen(SMALL, "9x<esc>");
    assert!(screen.contains("上次运行的报告") && screen.contains("no such date"), "{screen}");
    bench.press("r");
    bench.finish();
    assert!(!bench.screen(SMALL, "9").contains("no such date"), "a run of its own takes the place of the last one");
}

#[test]
fn a_demo_ends_on_its_factor_unless_a_key_was_pressed() {
    let started = |w: &mut Workspace| w.start = Start::RunThenFactor;
    let mut bench = Bench::open(&filled(), started);
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("累计 RankIC"));
    let mut bench = Bench::open(&filled(), started);
    bench.press("9");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("运行 · 完成"));
}

#[test]
fn the_command_goes_to_the_clipboard_once() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "y").contains("已送往剪贴板: inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard().as_deref(), Some("inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard(), None);
    assert!(bench.screen(SMALL, "8").contains("无界面等价命令: inkstone run --headless"));
    assert!(bench.screen(SMALL, "1").contains("无界面等价命令: inkstone clean --headless"));
}

#[test]
fn a_factor_is_drawn_with_its_figures() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    insta::assert_snapshot!("factor", bench.screen(SMALL, ""));
    insta::assert_snapshot!("factor_large_cursor", bench.screen(LARGE, "d<left><left>"));
    insta::assert_snapshot!("factor_layers_english", bench.screen(SMALL, "vL"));
    insta::assert_snapshot!("factor_decay", bench.screen(SMALL, "vL"));
    bench.press("L");
    assert!(bench.screen(SMALL, "n").contains("press r to run"), "the second factor has no backtest");
    disk::write_json(&Project::new(dir.path()).backtest("tone"), &outcome(true)).unwrap();
    disk::write_json(&Project::new(dir.path()).backtest("tfidf"), &Outcome::default()).unwrap();
    let mut bench = Bench::open(&dir, |_| ());
    assert!(bench.screen(SMALL, "n").contains("覆盖 –"), "a backtest without a single date is drawn all the same");
    let mut bench = Bench::open(&dir, |w| w.language = Language::En);
    assert!(bench.screen(SMALL, "").contains("LOOK-AHEAD"));
}

#[test]
fn help_lists_the_keys_of_the_page() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("help", bench.screen(SMALL, "1?"));
    insta::assert_snapshot!("help_scrolled_english", bench.screen((60, 16), "Ljjjj"));
    insta::assert_snapshot!("too_small", bench.screen((40, 10), ""));
}

fn run_of(bench: impl Fn(&crate::job::Ctx) -> Result<Vec<Report>> + Send + Sync + 'static) -> Runner {
    Arc::new(bench)
}

#[test]
fn a_run_that_writes_documents_brings_them_onto_the_page() {
    let dir = empty();
    let project = Project::new(dir.path());
    let run = run_of(move |ctx| {
        let report = ctx.stage("ingest", "docs", Some(1), || {
            let document = Document { doc_id: "a/1".into(), title: "新到的一篇".into(), ..Document::default() };
            project.documents().write(0, &mut documents_to_frame(&[document])?)?;
            ctx.advance(1)?;
            Ok(Report::new("ingest"))
        })?;
        Ok(vec![report])
    });
    let mut bench = Bench::open(&dir, |w| (w.run, w.start) = (run, Start::Run));
    bench.finish();
    assert_eq!(bench.app.run.phase, Phase::Done);
    let corpus = bench.screen(SMALL, "1");
    assert!(corpus.contains("新到的一篇") && corpus.contains("1 / 1 · 未清洗"), "{corpus}");
}

#[test]
fn errors_and_panics_of_a_run_are_shown_as_chains() {
    let run = run_of(|_| Err(anyhow::anyhow!("row 3 has no date").context("ingest")));
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("ingest: row 3 has no date"));
    let run = run_of(|_| if cfg!(test) { panic!("a broken invariant") } else { bail!("never") });
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("internal error: a broken invariant"));
}

#[test]
fn control_c_asks_once_then_cancels_then_leaves() {
    let run = run_of(|ctx| {
        loop {
            ctx.advance(1)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r<ctrl-c>");
    assert!(bench.screen(SMALL, "").contains("停止正在进行的运行？"));
    bench.press("n");
    assert!(bench.app.run.busy());
    bench.press("<ctrl-c><ctrl-c>");
    bench.finish();
    assert_eq!(bench.app.run.phase, Phase::Cancelled);
    assert!(!bench.app.has_quit());
    bench.press("<ctrl-c>");
    assert!(bench.app.has_quit());
}

#[test]
fn leaving_during_a_run_asks_and_stops_it() {
    let run = run_of(|ctx| {
        loop {
            ctx.advance(1)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("rq");
    assert!(!bench.app.has_quit());
    bench.press("y");
    assert!(bench.app.has_quit());
    bench.app.leave(SOON);
}

#[test]
fn a_broken_file_is_an_error_on_its_page_and_nowhere_else() {
    let dir = filled();
    let project = Project::new(dir.path());
    std::fs::write(project.backtest("tone"), "{").unwrap();
    std::fs::write(project.clean().path(1), "PAR1 cut short").unwrap();
    let mut bench = Bench::open(&dir, |_| ());
    assert!(bench.screen((120, 24), "7").contains("is not what this version writes"));
    assert!(bench.screen((120, 24), "1").contains("not a readable Parquet file"));
    assert!(bench.screen(SMALL, "9").contains("按 r 开始"));
}

#[test]
fn a_segmenter_that_panics_spoils_one_document_only() {
    let mut bench = Bench::open(&filled(), |w| {
        w.tokeniser = Arc::new(|text, _| {
            assert!(!text.starts_with("回购"), "no words for this");
            cut_in_pieces(text, 2)
        });
    });
    assert!(bench.screen(SMALL, "1tjj").contains("internal error: no words for this"));
    assert!(bench.screen(SMALL, "j").contains("‹瑞禾/电气›/今日"));
}

#[test]
fn no_key_on_no_page_breaks_any_size() {
    let dir = filled();
    for size in [(60, 16), SMALL, (109, 20), (110, 20), LARGE, (300, 90), (1, 1), (60, 15)] {
        let mut bench = Bench::open(&dir, |_| ());
        for page in ["1", "2", "3", "4"] {
            bench.screen(size, page);
            for key in [
                "j", "k", "<pgdn>", "<end>", "g", "G", "b", "t", "t", "<enter>", "v", "d", "<left>", "x", "L", "?",
                "j", "<esc>",
            ] {
                bench.screen(size, key);
            }
            bench.press("<esc>");
        }
    }
}

/// The dates of the invented backtest are what the pictures rest on.
#[test]
fn the_invented_backtest_reads_back() {
    let dir = filled();
    let read: Outcome = disk::read_json(&Project::new(dir.path()).backtest("tone")).unwrap();
    assert_eq!(read.ic[0].dates.len(), 480);
    assert_eq!(read.ic[0].dates[0] + Days::new(1), read.ic[0].dates[1]);
}
