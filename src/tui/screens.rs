//! Screens as text: keys go in, a picture comes out. The project behind them is made here, of invented text.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use polars::prelude::{IntoColumn, NamedFrom, Series};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tempfile::TempDir;

use super::app::App;
use super::event::Event;
use super::run::Phase;
use super::{Cut, Language, Mark, Meaning, Runner, Start, Workspace, view, width};
use crate::backtest::{
    Alignment, Coverage, IcDecay, IcSeries, IcSummary, Layers, LongShort, Outcome, PortfolioFigures, Preset, Refusal,
    YearFigures,
};
use crate::corpus::documents_to_frame;
use crate::data::{Document, Kind, Report};
use crate::disk;
use crate::job::{StageProgress, StageState};
use crate::market::{Code, Price};
use crate::project::Project;

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);
const SOON: Duration = Duration::from_secs(30);

struct Bench {
    app: App,
    events: Receiver<Event>,
    _dir: Arc<TempDir>,
}

impl Bench {
    fn open(dir: &Arc<TempDir>, change: impl FnOnce(&mut Workspace)) -> Bench {
        let mut workspace = Workspace {
            title: "砚台样例".to_owned(),
            project: Project::new(dir.path()),
            factors: vec!["tone".to_owned(), "tfidf".to_owned()],
            run: Arc::new(|_| Ok(Vec::new())),
            start: Start::Browse,
            threads: 1,
            seed: 1,
            tokeniser: Arc::new(|text, cut| cut_in_pieces(text, if cut == Cut::Characters { 1 } else { 2 })),
            marker: Some(Arc::new(|_, _, document| Ok(names_in(&document.body)))),
            reports: Arc::new(Vec::new),
            language: Language::Zh,
            note: Some("合成数据".to_owned()),
            command: "inkstone run --headless".to_owned(),
            red_up: true,
        };
        change(&mut workspace);
        let (sender, events) = channel();
        let app = App::new(workspace, SMALL, sender).unwrap();
        Bench { app, events, _dir: dir.clone() }
    }

    /// Takes in events until nothing is outstanding.
    fn settle(&mut self) {
        let until = Instant::now() + SOON;
        while self.app.corpus.waiting() || self.app.factor.waiting() || self.app.run.waiting() {
            assert!(Instant::now() < until, "an answer never came");
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(20)) {
                self.app.take(event);
            }
        }
    }

    /// Looks at the run until it has ended, then settles.
    fn finish(&mut self) {
        let until = Instant::now() + SOON;
        while self.app.run.busy() {
            assert!(Instant::now() < until, "the run never ended");
            std::thread::sleep(Duration::from_millis(5));
            self.app.take(Event::Tick);
        }
        self.settle();
    }

    /// Presses keys one after the other: `jj<enter>/回购<esc>`.
    fn press(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let named = (first == '<').then(|| rest.find('>')).flatten();
            let (key, length) = match named {
                Some(end) => (named_key(&rest[1..end]), end + 1),
                None => (KeyEvent::from(KeyCode::Char(first)), first.len_utf8()),
            };
            rest = &rest[length..];
            self.app.take(Event::Key(key));
            self.settle();
        }
    }

    /// The picture after these keys.
    fn screen(&mut self, (columns, rows): (u16, u16), keys: &str) -> String {
        self.app.take(Event::Resize(columns, rows));
        self.settle();
        self.press(keys);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut picture = String::new();
        for y in 0..rows {
            let mut line = String::new();
            let mut x = 0;
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(width::width(symbol)).unwrap().max(1);
            }
            assert_eq!(width::width(&line), usize::from(columns), "line {y} is not as wide as the screen: {line}");
            picture += line.trim_end();
            picture.push('\n');
        }
        picture
    }
}

fn named_key(name: &str) -> KeyEvent {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "left" => KeyCode::Left,
        "pgdn" => KeyCode::PageDown,
        "end" => KeyCode::End,
        "back" => KeyCode::Backspace,
        "ctrl-c" => return KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        other => panic!("no key is called {other}"),
    };
    KeyEvent::from(code)
}

/// Tokens of so many characters; a stand-in for a segmenter, whose own tests are elsewhere.
fn cut_in_pieces(text: &str, length: usize) -> Vec<std::ops::Range<usize>> {
    let bounds: Vec<usize> = text.char_indices().map(|c| c.0).chain([text.len()]).collect();
    (0..bounds.len() - 1).step_by(length).map(|i| bounds[i]..bounds[(i + length).min(bounds.len() - 1)]).collect()
}

fn names_in(body: &str) -> Vec<Mark> {
    let name = "瑞禾电气";
    body.match_indices(name).map(|(at, _)| Mark { range: at..at + name.len(), meaning: Meaning::Name }).collect()
}

fn time(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
}

fn empty() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

/// A project with 9 documents in two cleaned parts, one of them a repeat, and the backtest of the factor `tone`.
fn filled() -> Arc<TempDir> {
    let dir = empty();
    let project = Project::new(dir.path());
    let document = |i: usize, kind, codes: &[&str], title: &str, body: &str| Document {
        doc_id: format!("news/{i}"),
        kind,
        codes: codes.iter().map(|c| Code::canonical(c)).collect(),
        title: title.to_owned(),
        body: body.to_owned(),
        source: "news".to_owned(),
        org: (kind == Kind::Report).then(|| "松岭证券".to_owned()),
        rating: (kind == Kind::Report).then(|| "买入".to_owned()),
        published_at: time(&format!("2024-03-{:02} 20:31:07", 10 + i)),
        ..Document::default()
    };
    let report = "投资要点：瑞禾电气发布业绩快报，2023 年实现营业收入 85.1 亿元，同比增长 12.4%，净利润 7.32 亿元。\n\
        我们认为公司储能订单充足，新产能将在二季度释放，上调盈利预测，维持“买入”评级。\n风险提示：原材料价格波动；下游需求不及预期。";
    let docs = [
        document(
            0,
            Kind::News,
            &["600517.SH"],
            "瑞禾电气：预计一季度净利润同比增长120%～150%",
            "瑞禾电气今日公告，订单饱满。",
        ),
        document(1, Kind::Report, &["600517.SH", "300731.SZ"], "瑞禾电气年报点评：储能放量，“稳”字当头", report),
        document(
            2,
            Kind::Announcement,
            &["300731.SZ"],
            "启澜生物：拟以自有资金2亿元至3亿元回购股份",
            "回购价格不超过 35 元/股。",
        ),
        document(
            3,
            Kind::News,
            &["600517.SH"],
            "【快讯】瑞禾电气预计一季度净利润增长120%～150%",
            "瑞禾电气今日公告，订单饱满。",
        ),
        document(4, Kind::Post, &[], "坐标上海\t今天\u{1b}[31m大盘\u{202e}怎么看", "看不懂，先观望。"),
        document(
            5,
            Kind::News,
            &["000001.SZ"],
            "A very long English headline about a listed company and its quarterly results",
            "Body.",
        ),
        document(6, Kind::News, &["430047.BJ"], "", "没有标题的一条。"),
        document(7, Kind::News, &["688001.SH"], "辰光股份股东减持计划实施完毕", "减持完毕。"),
        document(8, Kind::News, &["688001.SH"], "辰光股份：回购进展公告", "已回购 120 万股。"),
    ];
    for (i, docs) in docs.chunks(5).enumerate() {
        project.documents().write(i, &mut documents_to_frame(docs).unwrap()).unwrap();
        let first = docs.iter().map(|d| if d.doc_id == "news/3" { "news/0" } else { d.doc_id.as_str() });
        let first = Series::new("first_mention".into(), first.collect::<Vec<_>>()).into_column();
        let mut clean = documents_to_frame(docs).unwrap();
        clean.hstack_mut(&[first]).unwrap();
        project.clean().write(i, &mut clean).unwrap();
    }
    disk::write_json(&project.backtest("tone"), &outcome(false)).unwrap();
    let reject = |row: u64, reason: &str, raw: &str| {
        serde_json::json!({"file": "data/新闻_gbk.csv", "row": row, "column": "published_at", "reason": reason,
            "value": "2024-13-01", "raw": raw})
    };
    let rejects = [reject(17, "no such date", "600517,2024-13-01,瑞禾电气"), reject(1203, "empty title", "000001,,")];
    let lines: String = rejects.iter().map(|r| format!("{r}\n")).collect();
    disk::write_atomic(&project.rejects(), |out| Ok(std::io::Write::write_all(out, lines.as_bytes())?)).unwrap();
    dir
}

fn outcome(lookahead: bool) -> Outcome {
    let weekdays = |d: &NaiveDate| !matches!(d.weekday(), Weekday::Sat | Weekday::Sun);
    let first = NaiveDate::from_ymd_opt(2023, 1, 3).unwrap();
    let dates: Vec<NaiveDate> = first.iter_days().filter(weekdays).take(480).collect();
    let noise = |i: usize, step: usize| ((i * step) % 23) as f64 / 11.0 - 1.0;
    let series = |mean: f64, step| -> Vec<f64> {
        (0..dates.len()).map(|i| mean + 0.1 * noise(i, step) + 0.08 * ((i / 21) as f64 * 0.9).sin()).collect()
    };
    let ic = |horizon, mean| {
        let rank_ic_summary = IcSummary {
            n: 480,
            mean,
            std: 0.11,
            icir: mean / 0.11,
            t: 9.0,
            t_nw: 6.94,
            p: 1e-6,
            positive: 0.64,
            skew: 0.1,
            kurtosis: -0.2,
        };
        let (ic, rank_ic) = (series(mean, 5), series(mean, 7));
        let names = vec![41; dates.len()];
        IcSeries { horizon, dates: dates.clone(), ic, rank_ic, names, ic_summary: rank_ic_summary, rank_ic_summary }
    };
    let wealth = |drift: f64, step| -> Vec<f64> {
        let mut w = 1.0;
        (0..dates.len())
            .map(|i| {
                w *= 1.0 + drift + 0.004 * noise(i, step);
                w
            })
            .collect()
    };
    let net: Vec<f64> = (0..dates.len()).map(|i| 0.0004 + 0.006 * noise(i, 9)).collect();
    let total = PortfolioFigures {
        annual_return: 0.142,
        volatility: 0.088,
        sharpe: 1.61,
        max_drawdown: -0.073,
        calmar: 1.95,
        hit_rate: 0.55,
    };
    Outcome {
        factor: "tone".to_owned(),
        alignment: Alignment {
            delay: 1,
            price: Price::Open,
            known_before: NaiveTime::from_hms_opt(9, 30, 0).unwrap(),
            horizons: vec![1, 5],
            preset: Preset::Default,
        },
        lookahead,
        refused: Refusal { values: 12, examples: Vec::new() },
        coverage: Coverage { dates: dates.clone(), names: vec![41; dates.len()], universe: vec![200; dates.len()] },
        ic: vec![ic(1, 0.031), ic(5, 0.046)],
        layers: Layers {
            horizons: vec![1, 5],
            mean: vec![vec![-0.0008, -0.0002, 0.0, 0.0003, 0.0009], vec![-0.004, -0.001, 0.0002, 0.0015, 0.0045]],
            dates: dates.clone(),
            wealth: (0..5).map(|q| wealth(0.0006 * (q as f64 - 1.8), 3 + q)).collect(),
            demeaned: true,
            ..Layers::default()
        },
        long_short: LongShort {
            dates: dates.clone(),
            gross: net.clone(),
            net,
            total,
            by_year: vec![YearFigures { year: 2023, figures: total }, YearFigures { year: 2024, figures: total }],
            ..LongShort::default()
        },
        turnover: 0.114,
        decay: IcDecay {
            lags: (1..=20).collect(),
            rank_ic: (0..20).map(|lag| 0.05 * 0.8_f64.powi(lag) - 0.004).collect(),
            half_life: 3.4,
        },
        ..Outcome::default()
    }
}

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
    insta::assert_snapshot!("empty_run", bench.screen(SMALL, "2"));
    insta::assert_snapshot!("empty_factor_english", bench.screen(SMALL, "3L"));
    let mut bench = Bench::open(&empty(), |_| ());
    assert!(bench.screen(SMALL, "3").contains("这个因子还没有回测：按 r 运行"));
}

#[test]
fn the_corpus_is_listed_and_read() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    insta::assert_snapshot!("corpus", bench.screen(SMALL, "1j"));
    insta::assert_snapshot!("corpus_characters", bench.screen(SMALL, "t<enter>j"));
    insta::assert_snapshot!("corpus_large_words", bench.screen(LARGE, "t<esc><end>kkkkkkk"));
    insta::assert_snapshot!("corpus_repeat_english", bench.screen(LARGE, "jjtL"));
}

#[test]
fn a_search_lists_what_it_finds_and_leads_back_to_the_place() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("search_typing", bench.screen(SMALL, "1/回购"));
    let found = bench.screen(SMALL, "<enter>j");
    assert!(found.contains("2 / 2 (9)"), "{found}");
    let back = bench.screen(SMALL, "<esc>");
    assert!(back.contains("语料 · 9 / 9"), "{back}");
    assert!(bench.screen(SMALL, "/688001<enter>").contains("1 / 2 (9)"));
    let wider = bench.screen(SMALL, "/<back><back><back><back><back>");
    assert!(wider.contains("搜索 /6 1 / 5 (9)"), "three of 600517 and two of 688001: {wider}");
}

#[test]
fn runs_are_shown_at_work_failed_and_finished() {
    let mut bench = Bench::open(&empty(), |_| ());
    (bench.app.run.stages, bench.app.run.phase) = (half_way(), Phase::Running);
    insta::assert_snapshot!("running", bench.screen(SMALL, "2"));
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
    insta::assert_snapshot!("rejects", bench.screen(SMALL, "2xj"));
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
    let screen = bench.screen(SMALL, "2x");
    assert!(screen.contains("│600517,瑞禾电气 "), "{screen}");
}

#[test]
fn an_opened_project_shows_what_was_last_run() {
    let mut bench = Bench::open(&filled(), |w| w.reports = Arc::new(|| vec![ingest_report()]));
    let screen = bench.screen(SMALL, "2");
    assert!(screen.contains("上次运行的报告") && screen.contains("no such date"), "{screen}");
    bench.press("r");
    bench.finish();
    assert!(!bench.screen(SMALL, "2").contains("no such date"), "a run of its own takes the place of the last one");
}

#[test]
fn a_demo_ends_on_its_factor_unless_a_key_was_pressed() {
    let started = |w: &mut Workspace| w.start = Start::RunThenFactor;
    let mut bench = Bench::open(&filled(), started);
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("累计 RankIC"));
    let mut bench = Bench::open(&filled(), started);
    bench.press("2");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("运行 · 完成"));
}

#[test]
fn the_command_goes_to_the_clipboard_once() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "y").contains("已送往剪贴板: inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard().as_deref(), Some("inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard(), None);
    assert!(bench.screen(SMALL, "1").contains("无界面等价命令: inkstone run --headless"));
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
    assert!(bench.screen((120, 24), "3").contains("is not what this version writes"));
    assert!(bench.screen((120, 24), "1").contains("not a readable Parquet file"));
    assert!(bench.screen(SMALL, "2").contains("按 r 开始"));
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
    assert!(bench.screen(SMALL, "j").contains("瑞禾/电气/今日"));
}

#[test]
fn no_key_on_no_page_breaks_any_size() {
    let dir = filled();
    for size in [(60, 16), SMALL, (109, 20), (110, 20), LARGE, (300, 90), (1, 1), (60, 15)] {
        let mut bench = Bench::open(&dir, |_| ());
        for page in ["1", "2", "3"] {
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
