//! Screens of the page of the ledger: true ledgers in a folder, of invented trials.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Days, NaiveDate, Utc};
use serde_json::json;
use tempfile::TempDir;

use super::{LedgerBench, LedgerView};
use crate::Workspace;
use crate::bench::{Bench, LARGE, SMALL, empty};
use crate::page::Page;
use crate::page_state::PageState;
use inkstone_base::data::Key;
use inkstone_base::language::Word;
use inkstone_base::message;
use inkstone_lab::backtest::{IcSummary, PortfolioFigures};
use inkstone_lab::ledger::{Book, Details, EntryFigures, EntryKind, Ledger, Series, Trial};
use inkstone_tables::project::Project;

/// Daily returns with this drift, from 2 January 2023 on.
fn returns(drift: f64, seed: u64) -> Option<Series> {
    let first = NaiveDate::from_ymd_opt(2023, 1, 2)?;
    let dates: Vec<NaiveDate> = (0..320).map(|n| first + Days::new(n)).collect();
    let noise = |n: u64| ((n * (7919 + 2 * seed) + seed * seed * 31) % 211) as f64 / 105.0 - 1.0;
    let values: Vec<f64> = (0..320).map(|n| drift + 0.01 * noise(n)).collect();
    Series::of(&dates, &values)
}

fn trial(name: &str, seed: u64, drift: f64) -> Trial {
    let mean = 20.0 * drift;
    let summary = |n, mean: f64, p| IcSummary {
        n,
        mean,
        std: 0.11,
        icir: mean / 0.11,
        t: 18.0 * mean / 0.11,
        t_nw: 17.0 * mean / 0.11,
        p,
        positive: 0.6,
        skew: 0.0,
        kurtosis: 0.0,
    };
    let p = (0.5 - 300.0 * drift).clamp(1e-6, 1.0);
    let long_short = PortfolioFigures {
        annual_return: 242.0 * drift,
        volatility: 0.091,
        sharpe: 1.6,
        max_drawdown: -0.073,
        calmar: 1.9,
        hit_rate: 0.55,
    };
    Trial {
        kind: if seed.is_multiple_of(4) { EntryKind::Cell } else { EntryKind::Backtest },
        p,
        days_per_year: 242,
        carries_on: None,
        details: Details {
            factor: name.to_owned(),
            parameters: json!({
                "backtest": {"preset": "default", "horizons": [1, 5], "quantiles": 5, "delay": 1, "price": "open"},
                "factor": {"name": name, "expression": "tone", "decay": "exponential:0.7", "seed": seed},
            }),
            inputs: [("factor", name), ("prices", "prices")].map(|(k, v)| (k.to_owned(), Key::of(v.as_bytes()))).into(),
            version: "0.1.0".to_owned(),
            figures: EntryFigures {
                rank_ic: [(1, summary(320, mean, p)), (5, summary(316, 0.8 * mean, 0.2))].into(),
                long_short,
                turnover: 0.243,
                new_names: 0.3,
                lookahead: seed == 6,
            },
            returns: returns(drift, seed),
        },
    }
}

fn hour(n: u64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + 3600 * n as i64, 0).unwrap()
}

const TRIALS: [(&str, f64); 8] = [
    ("tone", 0.0011),
    ("learned", 0.0002),
    ("placebo", -0.0001),
    ("rating · head 512", 0.0004),
    ("舆情情绪衰减三十日\u{1b}[31m𠮷", 0.0007),
    ("tomorrow", 0.0016),
    ("surprise", -0.0006),
    ("novelty", 0.0),
];

/// A ledger of eight trials, the first of which ran twice and the third of which was deleted.
fn kept(dir: &Path) {
    let mut ledger = Ledger::open(&dir.join("ledger")).unwrap();
    for (n, (name, drift)) in (1..).zip(TRIALS) {
        ledger.record(&trial(name, n, drift), hour(n)).unwrap();
    }
    ledger.record(&trial("tone", 1, 0.0011), hour(20)).unwrap();
    ledger.delete(&[3], "字典取错了", hour(21)).unwrap();
}

fn bench_of(path: &Path) -> LedgerBench {
    let (read, delete) = (path.join("ledger"), path.join("ledger"));
    LedgerBench {
        read: Arc::new(move |_| {
            if !read.exists() {
                return Ok(None);
            }
            Book::new(&Ledger::open(&read)?).map(Some)
        }),
        delete: Arc::new(move |number, reason| {
            let mut ledger = Ledger::open(&delete)?;
            ledger.delete(&[number], reason, hour(30))?;
            Book::new(&ledger)
        }),
        config: "-c workbench.toml".to_owned(),
    }
}

fn open(dir: &Arc<TempDir>) -> Bench {
    let ledger = bench_of(dir.path());
    Bench::open(dir, |w| w.ledger = Some(ledger))
}

fn full() -> (Arc<TempDir>, Bench) {
    let dir = empty();
    kept(dir.path());
    let bench = open(&dir);
    (dir, bench)
}

#[test]
fn an_empty_ledger_says_how_it_fills() {
    let mut bench = open(&empty());
    insta::assert_snapshot!("empty", bench.screen(SMALL, "8"));
    insta::assert_snapshot!("empty_english", bench.screen(LARGE, "L"));
    let mut bench = Bench::open(&empty(), |_| ());
    assert!(bench.screen(SMALL, "8").contains("看不到台账"));
}

#[test]
fn trials_are_listed_with_what_they_are_worth() {
    let (_dir, mut bench) = full();
    insta::assert_snapshot!("list", bench.screen(SMALL, "8"));
    insta::assert_snapshot!("worth", bench.screen(SMALL, "v"));
    insta::assert_snapshot!("histogram_english", bench.screen(SMALL, "vL"));
    insta::assert_snapshot!("large", bench.screen(LARGE, "Lv"));
    insta::assert_snapshot!("large_english", bench.screen(LARGE, "jjL<enter>j"));
}

#[test]
fn a_deleted_trial_stands_among_the_others_without_its_particulars() {
    let (_dir, mut bench) = full();
    let screen = bench.screen(SMALL, "8/字典<enter>");
    assert!(screen.contains("✗ 已删除: 字典取错了") && screen.contains("仍在这里计数"), "{screen}");
    assert!(!screen.contains("placebo") && !bench.app.ledger.can_delete(), "{screen}");
}

#[test]
fn the_list_is_sorted_by_any_column_and_what_does_not_exist_comes_last() {
    let (_dir, mut bench) = full();
    bench.press("8");
    let order = |bench: &Bench| {
        let state = bench.app.state(Page::Ledger);
        let table = bench.app.at_desk(|desk| state.table(desk)).unwrap();
        table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(&bench), "9 8 7 6 5 4 3 2", "the latest run of the first trial has number 9");
    bench.press("lllllls");
    assert_eq!(order(&bench), "6 9 5 4 2 8 7 3", "by t; of the deleted one there is none");
    bench.press("hs");
    assert_eq!(order(&bench), "6 9 5 4 2 8 7 3", "by RankIC; of the deleted one there is none");
    bench.press("s");
    assert_eq!(order(&bench), "7 8 2 4 5 9 6 3", "the least RankIC first");
    bench.press("hhhs");
    assert_eq!(order(&bench), "2 8 4 7 9 6 3 5", "by name");
    bench.press("hhss");
    assert_eq!(order(&bench), "2 3 4 5 6 7 8 9");
}

#[test]
fn a_filter_looks_at_names_parameters_and_reasons() {
    let (_dir, mut bench) = full();
    insta::assert_snapshot!("filtering", bench.screen(SMALL, "8/to"));
    let screen = bench.screen(SMALL, "<backspace><backspace>\"seed\":7<enter>");
    assert!(screen.contains("surprise") && !screen.contains("learned"), "{screen}");
    assert!(bench.screen(SMALL, "/无<enter>").contains("没有符合筛选的条目"));
    bench.press("v<enter>jk<esc>d");
    assert!(bench.screen(SMALL, "<esc>").contains("8 次试验"), "Esc takes the filter away");
}

#[test]
fn deleting_asks_for_a_reason_and_hides_nothing() {
    let (dir, mut bench) = full();
    insta::assert_snapshot!("deleting", bench.screen(SMALL, "8d"));
    let empty = bench.screen(SMALL, "<enter>");
    assert!(empty.contains("先写理由"), "{empty}");
    bench.press("it's a slip");
    let command = r"inkstone ledger delete 9 --reason 'it'\''s a slip' -c workbench.toml --headless";
    assert_eq!(bench.app.command(), command);
    let deleted = bench.screen(SMALL, "<enter>");
    assert!(deleted.contains("#9 已删除；仍计入 8 次试验"), "{deleted}");
    // The first run of the same trial is there in full and takes its place.
    let ledger = Ledger::open(&dir.path().join("ledger")).unwrap();
    assert_eq!(ledger.entry(9).unwrap().deleted.as_ref().unwrap().reason, "it's a slip");
    assert!(ledger.entry(1).unwrap().details.is_some());
    drop(ledger);
    assert_eq!(bench.app.ledger.selected().unwrap().entry.number, 1);
    bench.press("d<esc>");
    assert!(bench.app.ledger.can_delete(), "Esc deletes nothing");
}

#[test]
fn a_second_workbench_deletes_nothing_and_says_who_has_the_project() {
    let dir = empty();
    kept(dir.path());
    let home = |w: &mut Workspace| {
        w.ledger = Some(bench_of(dir.path()));
        w.project = Project::new(dir.path().join(".inkstone"));
    };
    let first = Bench::come_back(&dir, home);
    let mut second = Bench::come_back(&dir, home);
    let deleted =
        || Ledger::open(&dir.path().join("ledger")).unwrap().entries().iter().filter(|e| e.deleted.is_some()).count();
    let picture = second.screen(LARGE, "8d");
    assert!(
        picture.contains(&format!("只读: 另一实例 pid {}", std::process::id())) && picture.contains("按 r 重试"),
        "{picture}"
    );
    assert!(second.screen(LARGE, "Ld").contains("press r to try again"));
    assert_eq!(deleted(), 1, "as before");
    first.leave();
    assert!(second.screen(LARGE, "d").contains("the project can be written now"));
    second.press("da slip<enter>");
    assert_eq!(deleted(), 2);
}

#[test]
fn a_deletion_that_fails_says_why_and_can_be_left() {
    let dir = empty();
    kept(dir.path());
    let held = LedgerBench {
        delete: Arc::new(|_, _| {
            inkstone_base::bail!(
                "日志库 ledger 正被另一个运行使用（进程 4711）",
                "the journal ledger is in use by another run (process 4711)"
            )
        }),
        ..bench_of(dir.path())
    };
    let mut bench = Bench::open(&dir, |w| w.ledger = Some(held));
    let failed = bench.screen(SMALL, "8dx<enter>");
    assert!(failed.contains("进程 4711"), "{failed}");
    assert!(bench.screen(SMALL, "<esc>").contains("详情"), "back to the particulars");
}

#[test]
fn a_broken_seal_is_told_where_the_title_is() {
    let dir = empty();
    kept(dir.path());
    let broken = LedgerBench {
        read: Arc::new({
            let path = dir.path().join("ledger");
            move |_| {
                let mut book = Book::new(&Ledger::open(&path)?)?;
                book.problems = vec![
                    message!("第 5 行被取走", "line 5 was taken away"),
                    message!("记录 2 的详情被改动", "the details of entry 2 were changed"),
                ];
                Ok(Some(book))
            }
        }),
        ..bench_of(dir.path())
    };
    let mut bench = Bench::open(&dir, |w| w.ledger = Some(broken));
    let screen = bench.screen(LARGE, "8");
    assert!(screen.contains("✗ 校验不符: 第 5 行被取走 · 另有 1"), "{screen}");
}

#[test]
fn a_ledger_that_is_held_is_waited_for_and_read_again() {
    let dir = empty();
    kept(dir.path());
    let tries = Arc::new(AtomicUsize::new(0));
    let fine = bench_of(dir.path());
    let read = fine.read.clone();
    let held = LedgerBench {
        read: Arc::new(move |ctx| -> Result<Option<Book>> {
            if tries.fetch_add(1, Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(50));
                return Err(inkstone_base::error!(
                    "日志库 .inkstone/ledger 正被另一个运行使用（进程 4711）",
                    "the journal .inkstone/ledger is in use by another run (process 4711)"
                ))
                .context(Word("台账 .inkstone/ledger", "the ledger .inkstone/ledger"));
            }
            read(ctx)
        }),
        ..fine
    };
    let mut bench = Bench::open(&dir, |w| w.ledger = Some(held));
    bench.press_at_once("8");
    insta::assert_snapshot!("reading", bench.picture(SMALL));
    bench.settle();
    insta::assert_snapshot!("failed", bench.picture(SMALL));
    assert!(bench.screen(SMALL, "u").contains("校验完好"));
}

#[test]
fn the_particulars_hold_everything_and_can_be_scrolled() {
    let (_dir, mut bench) = full();
    let top = bench.screen(SMALL, "8<enter>");
    assert!(top.contains("运行次数 2 · 其中保留 2"), "{top}");
    assert_eq!(bench.app.command(), "inkstone ledger show 9 -c workbench.toml --headless");
    let end = bench.screen(SMALL, "<end>");
    assert!(end.contains("factor.decay") && !end.contains("运行次数 2"), "{end}");
    assert_eq!(bench.screen(SMALL, "j"), end, "there is nothing below the last line");
    let large = bench.screen(LARGE, "g");
    assert!(large.contains("#9 tone") && large.contains("q(BH)"), "{large}");
}

#[test]
fn one_trial_without_returns_is_shown_all_the_same() {
    let dir = empty();
    let mut ledger = Ledger::open(&dir.path().join("ledger")).unwrap();
    let mut bare = trial("只有相关系数", 2, 0.0);
    bare.details.returns = None;
    bare.details.parameters = json!({"note": "长".repeat(400_000)});
    bare.p = f64::NAN;
    ledger.record(&bare, hour(1)).unwrap();
    drop(ledger);
    let mut bench = open(&dir);
    insta::assert_snapshot!("without_returns", bench.screen(SMALL, "8"));
    assert!(bench.screen(SMALL, "vv").contains("还没有一次试验有多空收益"));
}

#[test]
fn the_place_is_remembered() {
    let (_dir, mut bench) = full();
    bench.press("8jjllllllsv/o<enter>");
    let memory = bench.app.state(Page::Ledger).remember();
    let mut other = super::LedgerPage::new();
    other.recall(&memory);
    assert_eq!((other.view, other.filter.text()), (LedgerView::Worth, "o"));
    let memory = other.table.remember();
    assert_eq!(memory, bench.app.ledger.table.remember());
    assert_eq!(memory["columns"]["sort"][0], "t");
    assert_eq!(other.wanted, bench.app.ledger.selected().map(|trial| trial.entry.number));
    other.recall(&json!(null));
    other.recall(&json!({"entry": "x", "table": 3}));
}

#[test]
fn two_trials_stand_beside_one_another_with_what_differs() {
    let (_dir, mut bench) = full();
    let screen = bench.screen(LARGE, "8gm");
    assert!(screen.contains("已标记"), "{screen}");
    let screen = bench.screen(LARGE, "j");
    insta::assert_snapshot!("against", screen);
    assert!(screen.contains("不同的设置") && screen.contains("factor.name:"), "{screen}");
    assert!(!screen.contains("backtest.quantiles"), "settings that are the same are left out: {screen}");
    insta::assert_snapshot!("against_english", bench.screen(SMALL, "L<enter>"));
    // The marked one itself is shown as ever, and without a mark so are all.
    assert!(!bench.screen(LARGE, "<esc>kL").contains("不同的设置"));
    assert!(!bench.screen(LARGE, "mj").contains("不同的设置"));
    // A deleted entry has no settings to compare.
    let screen = bench.screen(LARGE, "gm/字典<enter>");
    assert!(screen.contains("有一条已删除"), "{screen}");
}
