//! Screens of the factor page as a whole: focus, checks, jobs, charts, the mouse and what is remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use chrono::NaiveDate;

use super::{FactorPage, Judgement};
use crate::bench::{Bench, LARGE, SMALL, empty, filled, outcome};
use crate::page::Page;
use crate::page_state::PageState;
use crate::{Judgement as Judged, Workspace};
use inkstone_base::disk;
use inkstone_lab::backtest::Outcome;
use inkstone_lab::lint::finding::{SameDayGap, Trade};
use inkstone_lab::lint::{Check, Finding, Standing, Verdict};
use inkstone_market::Price;
use inkstone_tables::project::Project;

const WIDE: (u16, u16) = (100, 30);

fn verdict(check: Check, standing: Standing, number: Option<f64>, limit: Option<f64>) -> Verdict {
    let gap = SameDayGap {
        rank_ic_same_day: 0.2117,
        rank_ic_trade: 0.0637,
        ratio: 3.32,
        dates: 200,
        p: 0.001,
        low: 0.12,
        high: 0.18,
        aligned_at_same_day: false,
        context: Trade { delay: 1, price: Price::Open },
    };
    Verdict { check, standing, number, limit, finding: Finding::SameDayGap(gap) }
}

fn verdicts() -> Vec<Verdict> {
    use Check as C;
    use Standing as S;
    vec![
        verdict(C::KnownBefore, S::Passed, Some(0.0), Some(0.0)),
        verdict(C::TradeDate, S::Passed, Some(0.0), Some(0.0)),
        verdict(C::SameDayGap, S::Warned, Some(0.148), Some(0.02)),
        verdict(C::ShuffledDates, S::Passed, Some(0.0084), Some(0.5)),
        verdict(C::ShuffledText, S::Failed, Some(0.62), Some(0.5)),
        verdict(C::FutureVocabulary, S::Passed, Some(0.0), Some(0.0)),
        verdict(C::MaskedNames, S::Passed, Some(-0.0102), Some(0.5)),
        verdict(C::Overlap, S::Passed, Some(0.0), Some(0.05)),
        verdict(C::Survivors, S::Passed, Some(4.0), Some(0.0)),
        verdict(C::Restated, S::Skipped, None, None),
    ]
}

/// A workbench on a project whose linter has run; what is started is counted by stage.
fn linted(change: impl FnOnce(&mut Workspace)) -> (Bench, Arc<AtomicUsize>) {
    let dir = filled();
    disk::write_json(&Project::new(dir.path()).lint("tone"), &verdicts()).unwrap();
    staged(&dir, change)
}

fn staged(dir: &Arc<tempfile::TempDir>, change: impl FnOnce(&mut Workspace)) -> (Bench, Arc<AtomicUsize>) {
    let started = Arc::new(AtomicUsize::new(0));
    let counted = started.clone();
    let bench = Bench::open(dir, |w| {
        w.stages = Some(Arc::new(move |stage, _| {
            let at = ["lint", "export", "report"].iter().position(|name| *name == stage);
            counted.fetch_add(10_usize.pow(at.unwrap() as u32), Ordering::SeqCst);
            Ok(Vec::new())
        }));
        w.judgement = Some(Arc::new(|_| {
            let judgement = Judgement { checks: 10, passed: 7, warned: 1, failed: 1, trials: 17, ..Judged::default() };
            Ok(Some(Judgement { deflated_sharpe: 0.83, ..judgement }))
        }));
        change(w);
    });
    (bench, started)
}

#[test]
fn the_page_is_read_at_every_size() {
    let (mut bench, _) = linted(|_| ());
    insta::assert_snapshot!("front", bench.screen(SMALL, "d"));
    insta::assert_snapshot!("front_wide", bench.screen(WIDE, "<left>"));
    insta::assert_snapshot!("front_large_english_bars", bench.screen(LARGE, "Lf<left>"));
    let (mut bench, _) = linted(|w| w.judgement = Some(Arc::new(|_| Ok(Some(Judgement::default())))));
    assert!(bench.screen(SMALL, "").contains("未来函数检查 未做，按 l 检查"));
}

#[test]
fn the_focus_is_on_the_dates_or_on_the_bars() {
    let (mut bench, _) = linted(|_| ());
    let dates = bench.screen(SMALL, "<left>");
    assert!(dates.contains("2024-11-01  RankIC"), "{dates}");
    let bars = bench.screen(SMALL, "f<left>");
    assert!(bars.contains("▲Q4") && bars.contains("Q4/5  平均收益 +0.030 %"), "{bars}");
    assert!(bench.screen(SMALL, "g<left>").contains("▲Q1"), "it stays at the first");
    assert!(bench.screen(SMALL, "G").contains("▲Q5"));
    let back = bench.screen(SMALL, "f<left>");
    assert!(back.contains("2024-10-31  RankIC") && !back.contains('▲'), "{back}");
    // Another chart has no bars to go along.
    let decay = bench.screen(SMALL, "fv");
    assert!(decay.contains("半衰期") && decay.contains("2024-10-31  RankIC"), "{decay}");
}

#[test]
fn verdicts_are_listed_and_found_anew() {
    let (mut bench, started) = linted(|_| ());
    insta::assert_snapshot!("checks", bench.screen(SMALL, "ljj"));
    assert_eq!(started.load(Ordering::SeqCst), 0, "what is known is only shown");
    insta::assert_snapshot!("checks_large_english", bench.screen(LARGE, "Ljj"));
    let same = bench.screen(LARGE, "<enter>");
    assert!(same.contains("✗ failed · shuffled texts"), "Enter does nothing: {same}");
    assert!(bench.screen(SMALL, "LG").contains("– 未做 · 事后入库的文档"));
    let (rows, command) = bench.app.at_desk(|desk| {
        let page = bench.app.state(Page::Factor);
        (page.table(desk).unwrap().rows, page.command(desk).unwrap())
    });
    assert_eq!((rows.len(), rows[2][..4].join(",").as_str()), (10, "同日与次日之差,留意,0.148,0.02"));
    assert_eq!(command, "inkstone lint --headless");
    bench.press("l");
    bench.finish();
    assert_eq!(started.load(Ordering::SeqCst), 1);
    assert!(bench.screen(SMALL, "<esc>").contains("累计 RankIC"));
}

#[test]
fn checks_that_were_not_done_are_started_and_those_that_cannot_be_read_are_told() {
    let dir = filled();
    let (mut bench, started) = staged(&dir, |_| ());
    bench.screen(SMALL, "l");
    bench.finish();
    assert_eq!(started.load(Ordering::SeqCst), 1);
    assert!(bench.screen(SMALL, "").contains("还没有做过未来函数检查"));
    std::fs::create_dir_all(Project::new(dir.path()).lint("tone").parent().unwrap()).unwrap();
    std::fs::write(Project::new(dir.path()).lint("tone"), "[{\"check\":").unwrap();
    let (mut bench, _) = staged(&dir, |w| w.stages = None);
    let broken = bench.screen(SMALL, "l");
    assert!(broken.contains("tone") && broken.contains("没有校验"), "{broken}");
    assert!(bench.screen(SMALL, "<esc>").contains("累计 RankIC"), "the backtest is shown all the same");
}

#[test]
fn the_tear_sheet_lists_months_falls_and_styles_and_goes_back() {
    let (mut bench, _) = linted(|_| ());
    let sheet = bench.screen(WIDE, "m");
    for wanted in ["月度收益", "最大的回撤", "近 126 日夏普", "全年"] {
        assert!(sheet.contains(wanted), "{wanted}:\n{sheet}");
    }
    assert!(bench.screen(SMALL, "jG").contains("月度、回撤与风格"));
    assert!(bench.screen(SMALL, "m").contains("累计 RankIC"), "the same key goes back");
    assert!(bench.screen(SMALL, "m<esc>").contains("累计 RankIC"));
}

#[test]
fn export_and_report_are_started_as_jobs() {
    let (mut bench, started) = linted(|_| ());
    let message = bench.screen(SMALL, "e");
    assert!(message.contains("导出因子与回测表"), "{message}");
    bench.finish();
    bench.press("R");
    bench.finish();
    assert_eq!(started.load(Ordering::SeqCst), 110);
    let (mut bench, _) = linted(|w| w.stages = None);
    assert!(!bench.screen(LARGE, "e").contains("导出"), "nothing to run, no key");
}

#[test]
fn the_charts_of_the_report_are_saved_under_the_name_of_the_factor() {
    let (mut bench, _) = linted(|_| ());
    bench.settle();
    let charts = bench.app.at_desk(|desk| bench.app.state(Page::Factor).charts(desk));
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    for name in ["tone-rank-ic", "tone-ic-decay", "tone-layers-wealth", "tone-long-short", "tone-coverage"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    assert!(charts.iter().all(|chart| chart.svg.starts_with("<svg") && chart.svg.contains("tone")));
    bench.press("l");
    assert!(bench.app.at_desk(|desk| bench.app.state(Page::Factor).charts(desk)).is_empty(), "a list has no chart");
}

#[test]
fn the_mouse_goes_to_a_date_to_a_bar_and_to_a_line() {
    let (mut bench, _) = linted(|_| ());
    bench.screen(SMALL, "");
    // The first bar of the months, and the end of the curve beside it.
    bench.click(9, 10);
    assert!(bench.picture(SMALL).contains("2023-01-03  RankIC"), "{}", bench.picture(SMALL));
    bench.click(78, 10);
    assert!(bench.picture(SMALL).contains("2024-11-04  RankIC"));
    bench.click(48, 17);
    assert!(bench.picture(SMALL).contains("2023-01-03  RankIC"), "{}", bench.picture(SMALL));
    bench.press("v");
    bench.click(16, 17);
    assert!(bench.picture(SMALL).contains("▲Q2"), "{}", bench.picture(SMALL));
    bench.press("l");
    bench.click(20, 6);
    assert!(bench.picture(SMALL).contains("! 留意 · 同日与次日之差"), "{}", bench.picture(SMALL));
    bench.click(20, 1);
    assert!(bench.picture(SMALL).contains("! 留意 · 同日与次日之差"), "beside the list nothing happens");
}

/// The page of another session in which this was kept.
fn recalled(bench: &mut Bench, memory: &serde_json::Value) {
    let mut page = FactorPage::default();
    page.recall(memory);
    bench.app.at_desk(|desk| page.reload(desk));
    bench.app.factor = page;
    bench.settle();
}

#[test]
fn factor_horizon_date_and_chart_are_where_they_were_left() {
    let dir = filled();
    let other = Outcome { factor: "tfidf".to_owned(), ..outcome(false) };
    disk::write_json(&Project::new(dir.path()).backtest("tfidf"), &other).unwrap();
    let (mut bench, _) = staged(&dir, |_| ());
    let left = bench.screen(SMALL, "nd<left><left>vv");
    let kept = bench.app.state(Page::Factor).remember();
    bench.screen(SMALL, "pdgv");
    recalled(&mut bench, &kept);
    assert_eq!(bench.screen(SMALL, ""), left);
    bench.press("f<left><left>");
    let (left, kept) = (bench.screen(SMALL, ""), bench.app.state(Page::Factor).remember());
    recalled(&mut bench, &serde_json::Value::Null);
    assert_ne!(bench.screen(SMALL, ""), left);
    recalled(&mut bench, &kept);
    assert_eq!(bench.screen(SMALL, ""), left);
}

#[test]
fn a_backtest_of_nothing_or_of_one_date_is_drawn() {
    let day: NaiveDate = "2024-01-02".parse().unwrap();
    let one = || -> Result<Outcome> {
        let mut one = outcome(false);
        one.ic.truncate(1);
        let Some(ic) = one.ic.first_mut() else { bail!("no horizon") };
        (ic.dates, ic.rank_ic) = (vec![day], vec![0.04]);
        (one.layers.dates, one.layers.wealth) = (vec![day], vec![vec![1.0]]);
        (one.long_short.dates, one.long_short.net) = (vec![day], vec![f64::NAN]);
        (one.coverage.dates, one.coverage.names, one.coverage.universe) = (vec![day], vec![1], vec![1]);
        Ok(one)
    };
    for outcome in [Outcome::default(), one().unwrap()] {
        let dir = empty();
        disk::write_json(&Project::new(dir.path()).backtest("tone"), &outcome).unwrap();
        let mut bench = Bench::open(&dir, |_| ());
        for size in [SMALL, LARGE] {
            for key in ["", "<left>", "f", "<right>", "v", "v", "<enter>", "l", "<esc>", "g"] {
                bench.screen(size, key);
            }
            bench.click(20, 10);
            bench.click(60, 18);
        }
    }
}

/// The names of thirty dates, whose values are those of another factor times a sign.
fn names(project: &Project, factor: &str, sign: f64) {
    use polars_core::prelude::{IntoColumn, NamedFrom, Series};
    let first = NaiveDate::from_ymd_opt(2024, 1, 2).unwrap();
    let rows: Vec<(u64, u32)> = (0..30).flat_map(|day| (0..20).map(move |name| (day, name))).collect();
    let value = |day: u64, name: u32| sign * f64::from((day as u32 * 7 + name * 11) % 23 + name % 3);
    let layer = |value: f64, day: u64| {
        let below = (0..20).filter(|other| self::below(sign, day, *other, value)).count();
        (1 + below / 4).min(5) as u32
    };
    let dates = rows.iter().map(|(day, _)| Some(first + chrono::Days::new(*day)));
    let codes: Vec<String> = rows.iter().map(|(_, name)| format!("{}.SH", 600_000 + name)).collect();
    let values: Vec<f64> = rows.iter().map(|(day, name)| value(*day, *name)).collect();
    let layers: Vec<u32> = rows.iter().zip(&values).map(|((day, _), value)| layer(*value, *day)).collect();
    let mut frame = inkstone_tables::frames::frame(vec![
        inkstone_market::dates_column("date", dates).unwrap(),
        Series::new("code".into(), codes).into_column(),
        Series::new("value".into(), values).into_column(),
        Series::new("quantile".into(), layers).into_column(),
    ])
    .unwrap();
    inkstone_tables::frames::write_parquet(&project.backtest_names(factor), &mut frame).unwrap();
    let tested = Outcome { factor: factor.to_owned(), ..outcome(false) };
    disk::write_json(&project.backtest(factor), &tested).unwrap();
}

/// True if a name of [`names`] has a lower value on a day.
fn below(sign: f64, day: u64, name: u32, value: f64) -> bool {
    sign * f64::from((day as u32 * 7 + name * 11) % 23 + name % 3) < value
}

#[test]
fn factors_are_compared_as_a_matrix_and_two_of_them_over_one_another() {
    let dir = filled();
    let project = Project::new(dir.path());
    for (name, sign) in [("tone", 1.0), ("tfidf", -1.0), ("bert", 1.0)] {
        names(&project, name, sign);
    }
    let factors = ["tone", "tfidf", "bert"].map(str::to_owned).to_vec();
    let mut bench = Bench::open(&dir, |w| w.factors = factors);
    let screen = bench.screen(SMALL, "7x");
    insta::assert_snapshot!("matrix", screen);
    assert!(screen.contains("-1.000") && screen.contains("+1.000"), "{screen}");
    assert!(bench.app.command().contains("inkstone compare tone tfidf"), "{}", bench.app.command());
    assert!(bench.screen(SMALL, "v").contains("逐日 RankIC 相关"));
    insta::assert_snapshot!("pair", bench.screen(SMALL, "v<enter>"));
    insta::assert_snapshot!("pair_large_english", bench.screen(LARGE, "L]"));
    let table = bench.app.at_desk(|desk| bench.app.factor.table(desk)).unwrap();
    assert_eq!(table.rows.len(), 3);
    // Back to the matrix, then to the front.
    assert!(bench.screen(LARGE, "L<esc>").contains("因子两两比较"));
    assert!(bench.screen(LARGE, "<esc>").contains("多空"));
    // A factor and itself are no pair.
    bench.press("x<left><enter>");
    assert!(bench.screen(LARGE, "").contains("v 值与 IC 互换"), "the matrix is still there");
}

#[test]
fn a_factor_alone_has_nothing_to_be_compared_with() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "7x").contains("只有一个因子做过回测"));
    assert!(!bench.screen(SMALL, "<esc>").contains("只有一个因子做过回测"));
}
