//! Screens of the page of experiments: findings with made-up numbers, and a document of invented text cut by the true strategies.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};

use super::ExperimentsPage;
use crate::bench::{Bench, LARGE, SMALL, empty};
use crate::page::Page;
use crate::page_state::PageState;
use crate::{Kept, Laboratory, Language, Truncated, Workspace};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_corpus::structure::{Salience, Section, Sentence};
use inkstone_corpus::truncate::Layout;
use inkstone_corpus::truncate::SectionShare;
use inkstone_features::experiment::{CellState, Findings, Grid};
use inkstone_report::testing::{findings, grid, large};

/// A report of a title, a body, a rating and a warning; sections with their text.
const REPORT: [(Section, &str); 4] = [
    (Section::Title, "瑞禾电气年报点评：储能放量"),
    (Section::Body, "\n公司发布业绩快报，2023 年实现营业收入 85.1 亿元，同比增长 12.4%，净利润 7.32 亿元。"),
    (Section::Rating, "我们认为公司储能订单充足，新产能将在二季度释放，上调盈利预测，维持“买入”评级。"),
    (Section::Risk, "\n风险提示：原材料价格波动；下游需求不及预期；汇率变动。"),
];

/// A token a character, as strategies at 40, 80 and 160 would cut it in place of 128 and 512.
fn document(findings: &Findings, number: usize) -> Option<Truncated> {
    let text: String = REPORT.iter().map(|(_, text)| *text).collect::<String>().repeat(1 + 2 * number);
    let starts: Vec<usize> = text.char_indices().map(|c| c.0).collect();
    let mut sentences: Vec<Sentence> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        for (section, part) in REPORT {
            let range = at as u32..(at + part.len()) as u32;
            sentences.push(Sentence { range, section, boilerplate: false, salience: Salience::NONE });
            at += part.len();
        }
    }
    let layout = Layout::new(starts.iter().copied(), &sentences);
    let bytes = |tokens: &Range<usize>| starts[tokens.start]..starts.get(tokens.end).copied().unwrap_or(text.len());
    let strategies = findings.cells.iter().enumerate().map(|(cell, found)| {
        let shorter = found.strategy.to_string().replace("512", "80").replace("128", "40").replace("1024", "160");
        let views = shorter.parse::<inkstone_corpus::truncate::Strategy>().unwrap().views(&layout, 2, 0);
        let tokens: Vec<Range<usize>> = views.iter().flat_map(|view| view.tokens.clone()).collect();
        let kept = tokens.iter().map(ExactSizeIterator::len).sum();
        Kept {
            cell,
            ranges: tokens.iter().map(bytes).collect(),
            kept,
            all: layout.tokens(),
            windows: views.len(),
            sections: REPORT.map(|(section, _)| share_of(section, &layout, &tokens)).to_vec(),
            score: found.figure.is_finite().then_some(0.1 * cell as f64 - 0.2),
        }
    });
    let strategies = strategies.collect();
    (number < 3).then(|| Truncated {
        title: REPORT[0].1.to_owned(),
        documents: 3,
        strategies,
        text,
        without_scores: None,
    })
}

/// The share of these tokens in a section.
fn share_of(section: Section, layout: &Layout, kept: &[Range<usize>]) -> SectionShare {
    let passages = layout.passages().iter().filter(|passage| passage.section == section);
    let tokens: Vec<usize> = passages.flat_map(|passage| passage.tokens.clone()).collect();
    let kept = tokens.iter().filter(|token| kept.iter().any(|range| range.contains(token))).count();
    SectionShare { section, tokens: tokens.len() as u64, kept: kept as u64 }
}

fn laboratory(found: impl Fn() -> Result<Vec<Findings>> + Send + Sync + 'static) -> Laboratory {
    Laboratory {
        planned: vec![("长文".to_owned(), 24)],
        findings: Arc::new(found),
        grids: Arc::new(|| Ok(Vec::new())),
        document: Arc::new(|name, number| {
            assert_eq!(name, findings().name);
            Ok(document(&findings(), number))
        }),
        differing: Arc::new(|_, _, _| Ok(Vec::new())),
        run: Arc::new(|_| Ok(Vec::new())),
    }
}

fn bench(change: impl FnOnce(&mut Workspace)) -> Bench {
    let mut bench = Bench::open(&empty(), |workspace| {
        workspace.laboratory = Some(laboratory(|| Ok(vec![findings(), large()])));
        change(workspace);
    });
    bench.press("6");
    bench
}

#[test]
fn cells_stand_beside_their_frontier() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("cells", bench.screen(SMALL, ""));
    insta::assert_snapshot!("cells_large_english", bench.screen(LARGE, "Lj"));
    insta::assert_snapshot!("many_cells", bench.screen(SMALL, "LnG"));
    assert!(bench.screen(SMALL, "g").contains("1 / 60"));
    assert!(bench.screen(SMALL, "<pgdn>").contains("14 / 60"), "a page is what is seen of the list");
    insta::assert_snapshot!("many_cells_large", bench.screen(LARGE, "v"));
    assert!(bench.screen(SMALL, "vvp").contains("1/2"));
}

/// The grid of the findings with so many cells read, the next one being read.
fn filling(read: usize) -> Grid {
    let mut grid = super::grid::of_findings(&findings());
    for (number, cell) in grid.cells.iter_mut().enumerate().skip(read) {
        cell.state = if number == read { CellState::Running } else { CellState::Waiting };
    }
    grid
}

#[test]
fn views_are_gone_through_with_the_same_cell_marked() {
    let mut bench = bench(|_| ());
    bench.screen(SMALL, "jj");
    insta::assert_snapshot!("grid", bench.screen(SMALL, "v"));
    insta::assert_snapshot!("frontier_english", bench.screen(SMALL, "vL"));
    bench.press("Lv");
    let list = bench.screen(SMALL, "");
    assert!(list.contains("3 / 6"), "{list}");
    // In the grid the arrows go along both ways, and the list follows.
    let grid = bench.screen(SMALL, "vgl");
    assert!(grid.contains("▶head") && grid.contains("bert<&>"), "{grid}");
    assert!(bench.screen(SMALL, "hh").contains("▶head"), "there is nothing before the first column");
    let far = bench.screen(SMALL, "Gkhllll");
    assert!(far.contains("▶sections"), "{far}");
    let skipped = bench.screen(SMALL, "G");
    assert!(skipped.contains("bert<&> · none: a text of 900 tokens"), "why a cell could not be read: {skipped}");
    bench.press("k");
    assert!(bench.screen(SMALL, "vv").contains("2 / 6"), "sections of bert are the second best");
    // The list cannot show the mark, so the grid alone has it; the mouse does the same.
    let all = bench.screen(LARGE, "");
    assert!(all.contains("列表") && all.contains("网格") && all.contains("前沿"), "{all}");
    let line = all.lines().position(|line| line.contains("middle:512")).unwrap();
    bench.click(5, u16::try_from(line).unwrap());
    assert!(bench.picture(LARGE).contains("▶middle"), "{}", bench.picture(LARGE));
}

#[test]
fn a_grid_of_two_settings_is_a_matrix_with_their_effects() {
    let mut bench = bench(|w| w.laboratory = Some(laboratory(|| Ok(vec![grid()]))));
    insta::assert_snapshot!("settings", bench.screen(SMALL, ""));
    insta::assert_snapshot!("settings_matrix_english", bench.screen(SMALL, "Lv"));
    insta::assert_snapshot!("settings_effects_english", bench.screen(SMALL, "vv"));
    let effects = bench.app.at_desk(|desk| bench.app.state(Page::Experiments).table(desk).unwrap());
    assert_eq!(
        (effects.rows.len(), effects.rows[3][0].as_str(), effects.rows[3][2].as_str()),
        (6, "layers=last:4", "0.04")
    );
    insta::assert_snapshot!("settings_effects", bench.screen(SMALL, "L"));
    assert!(bench.screen(SMALL, "v").contains("[列表]"), "behind the effects comes the list again");
    insta::assert_snapshot!("settings_large_english", bench.screen(LARGE, "L"));
    for size in [(60, 16), (109, 20), LARGE, (300, 90), (1, 1)] {
        for key in ["v", "j", "v", "v", "v", "l"] {
            bench.screen(size, key);
        }
    }
}

#[test]
fn the_grid_fills_while_the_experiment_runs_for_the_first_time() {
    let read = Arc::new(AtomicUsize::new(0));
    let kept = read.clone();
    let mut bench = bench(|w| {
        let mut laboratory = laboratory(|| Ok(Vec::new()));
        laboratory.grids = Arc::new(move || match kept.load(Ordering::SeqCst) {
            0 => Ok(Vec::new()),
            read => Ok(vec![filling(read)]),
        });
        laboratory.run = Arc::new(|ctx| {
            ctx.stage("语气 · tail:512", "docs", Some(1200), || -> Result<Report> {
                ctx.advance(384)?;
                loop {
                    ctx.advance(0)?;
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            })?;
            Ok(Vec::new())
        });
        w.laboratory = Some(laboratory);
    });
    assert!(bench.screen(SMALL, "").contains("实验还没有运行过"));
    bench.press("r");
    read.store(2, Ordering::SeqCst);
    until(&mut bench, "已完成 2/7");
    let grid = bench.picture(SMALL);
    assert!(grid.contains("✓ 0.0340") && grid.contains("▶ 32 %") && grid.contains("正在读 语气 · tail:512"), "{grid}");
    insta::assert_snapshot!("grid_filling", without_time(&grid));
    let list = bench.screen(SMALL, "vv");
    assert!(list.contains("还没有比较"), "{list}");
    bench.press("v");
    read.store(4, Ordering::SeqCst);
    until(&mut bench, "已完成 4/7");
    bench.press("cy");
    bench.finish();
    let stopped = bench.screen(SMALL, "");
    assert!(stopped.contains("已完成 4/7") && !stopped.contains("正在读"), "{stopped}");
}

/// Waits until the grid says this, on a screen that shows it.
fn until(bench: &mut Bench, text: &str) {
    let end = std::time::Instant::now() + crate::bench::SOON;
    while !bench.picture(LARGE_SCREEN).contains(text) {
        assert!(std::time::Instant::now() < end, "it never said {text}");
        std::thread::sleep(std::time::Duration::from_millis(10));
        bench.app.take(crate::event::Event::Resize(LARGE_SCREEN.0, LARGE_SCREEN.1));
        bench.take_what_came();
    }
    bench.app.take(crate::event::Event::Resize(SMALL.0, SMALL.1));
}

/// A screen on which the list and the grid stand side by side.
const LARGE_SCREEN: (u16, u16) = (160, 50);

/// The lines but that of the time since the run began.
fn without_time(screen: &str) -> String {
    screen.lines().filter(|line| !line.contains("384 /")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn cells_are_sorted_by_any_column_and_marked() {
    let mut bench = bench(|_| ());
    assert!(bench.screen(SMALL, "").contains("单元 1 / 6"), "the best cell is marked");
    // From the sign of the series to the tokens; the mark stays on its cell.
    let sorted = bench.screen(SMALL, "lllllls");
    assert!(sorted.contains("词元▼") && sorted.contains("单元 2 / 6"), "{sorted}");
    let table = bench.app.at_desk(|desk| bench.app.state(Page::Experiments).table(desk).unwrap());
    assert_eq!(table.rows[0][..2].join(","), "bert<&>,head:512", "the most tokens stand first");
    let marked = bench.screen(SMALL, "g<space>*");
    assert!(marked.contains("单元 1 / 1 · 仅标记 1"), "{marked}");
    assert!(bench.screen(SMALL, "<esc>").contains(" / 6 · 标记 1"));
    // The grid has keys of its own.
    assert!(bench.screen(SMALL, "vs").contains("[网格]"));
}

#[test]
fn lists_are_copied_and_the_frontier_is_saved() {
    let mut bench = bench(|_| ());
    bench.settle();
    let copied = |bench: &Bench| bench.app.at_desk(|desk| bench.app.state(Page::Experiments).table(desk).unwrap());
    let list = copied(&bench);
    assert_eq!((list.rows.len(), list.rows[0][1].as_str(), list.rows[0][2].as_str()), (6, "tail:512", "0.052"));
    assert_eq!(list.rows[5][2], "", "no figure, no number");
    let (charts, command) = bench.app.at_desk(|desk| {
        let page = bench.app.state(Page::Experiments);
        (page.charts(desk), page.command(desk))
    });
    assert_eq!(command.as_deref(), Some("inkstone experiment --headless"));
    assert!(charts.len() == 1 && charts[0].name.ends_with("-frontier") && charts[0].svg.starts_with("<svg"));
    bench.press("v");
    let grid = copied(&bench);
    assert_eq!(grid.rows[0][..3].join(","), "head,0.034,0.03", "{grid:?}");
    bench.press("<enter>");
    assert_eq!(copied(&bench).rows.len(), 6, "a document has a row a strategy");
}

#[test]
fn another_session_goes_where_the_last_one_was() {
    let mut first = bench(|_| ());
    let left = first.screen(SMALL, "njjv");
    let kept = first.app.state(Page::Experiments).remember();
    let mut next = bench(|_| ());
    recall(&mut next, &kept);
    assert_eq!(next.screen(SMALL, ""), left);
    first.press("pg<enter>n");
    let (left, kept) = (first.screen(SMALL, ""), first.app.state(Page::Experiments).remember());
    recall(&mut next, &kept);
    assert_eq!(next.screen(SMALL, ""), left);
    // Cells that are gone are left out.
    recall(&mut next, &serde_json::json!({"experiment": "gone", "view": "grid", "document": 1, "setting": "head:7"}));
    assert!(next.screen(SMALL, "").contains("[网格]"));
}

/// The page of another session in which this was kept.
fn recall(bench: &mut Bench, memory: &serde_json::Value) {
    let mut page = ExperimentsPage::default();
    page.recall(memory);
    bench.app.at_desk(|desk| page.reload(desk));
    bench.app.experiments = page;
    bench.settle();
    // The document is asked for as soon as the findings are there.
    bench.settle();
}

#[test]
fn a_document_is_shown_as_each_strategy_cuts_it() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("document", bench.screen(SMALL, "<enter>"));
    insta::assert_snapshot!("document_side_by_side_english", bench.screen(LARGE, "Ll"));
    // The strategies stand in the order of the list; the last one stays in sight with those before it.
    let last = bench.screen(LARGE, "llllllll");
    assert!(last.contains(" 6/6 ") && last.contains(" 4/6 "), "{last}");
    assert!(bench.screen(SMALL, "h").contains(" 5/6 "));
    let next = bench.screen(SMALL, "n");
    assert!(next.contains("2 / 3") && next.contains(" 5/6 "), "the strategy stays when the document changes: {next}");
    let end = bench.screen(SMALL, "G");
    assert!(end != next && end.contains("汇率变动"), "{end}");
    assert_eq!(bench.screen(SMALL, "g"), next);
    assert!(bench.screen(SMALL, "nn").contains("there are no more documents"));
    assert!(bench.screen(SMALL, "<esc>").contains("1 / 6"), "back on the list");
    // From the list a document opens with the cell selected there.
    assert!(bench.screen(SMALL, "jj<enter>").contains(" 3/6 "));
}

#[test]
fn what_is_not_there_is_told_with_the_way_out() {
    let mut bench = bench(|w| w.laboratory = None);
    insta::assert_snapshot!("none_configured", bench.screen(SMALL, ""));
    let mut bench = self::bench(|w| w.laboratory = Some(laboratory(|| Ok(Vec::new()))));
    insta::assert_snapshot!("none_yet_english", bench.screen(SMALL, "L"));
    let mut bench = self::bench(|w| w.laboratory = Some(laboratory(|| bail!("findings.json ends too early"))));
    assert!(bench.screen(SMALL, "").contains("findings.json ends too early"));
    let mut bench = self::bench(|w| {
        let laboratory = w.laboratory.as_mut().unwrap();
        laboratory.document = Arc::new(|_, number| if number == 0 { Ok(None) } else { bail!("no such part") });
    });
    assert!(bench.screen(SMALL, "<enter>").contains("实验没有这篇文档"));
    let mut bench = self::bench(|w| w.laboratory.as_mut().unwrap().document = Arc::new(|_, _| panic!("no layout")));
    assert!(bench.screen(SMALL, "<enter>").contains("内部错误：no layout"));
    let mut bench = self::bench(|w| {
        w.laboratory.as_mut().unwrap().document = Arc::new(|_, number| {
            let held = "the feature store .inkstone/features.sled is in use by another run (process 4242)";
            Ok(document(&findings(), number).map(|cut| Truncated { without_scores: Some(held.to_owned()), ..cut }))
        });
    });
    let screen = bench.screen(LARGE, "<enter>");
    assert!(screen.contains("没有得分: the feature store"), "{screen}");
    let mut bench = self::bench(|w| {
        w.laboratory.as_mut().unwrap().document = Arc::new(|_, _| Ok(Some(Truncated::default())));
    });
    assert!(bench.screen(SMALL, "<enter>").contains("没有可看的策略"));
}

fn runs(run: impl Fn(&Ctx) -> Result<()> + Send + Sync + 'static) -> Bench {
    bench(|w| {
        w.laboratory.as_mut().unwrap().run = Arc::new(move |ctx| {
            run(ctx)?;
            Ok(Vec::new())
        });
    })
}

#[test]
fn a_run_is_told_of_on_the_page_while_it_lasts_and_when_it_failed() {
    let mut bench = runs(|ctx| {
        ctx.stage("experiment", "windows", Some(1200), || -> Result<Report> {
            loop {
                ctx.advance(0)?;
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        })?;
        Ok(())
    });
    bench.press("r");
    bench.wait_until(|app| !app.jobs.list()[0].stages.is_empty());
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("进行中") && screen.contains("experiment 0 / 1,200 windows · 0."), "{screen}");
    assert!(screen.contains("tail:512"), "the cells of before stay in sight: {screen}");
    bench.press("cy");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("已按要求停止"));

    let mut bench = runs(|_| {
        Err(inkstone_base::error!("54.0 % 的测试文档也用于训练", "54.0 % of the test documents train")
            .context(Word("实验 long", "experiment long")))
    });
    bench.press("r");
    bench.finish();
    insta::assert_snapshot!("failed", bench.screen(SMALL, ""));
    let mut bench = bench_without_findings_that_fails();
    insta::assert_snapshot!("failed_without_findings_english", bench.screen(LARGE, "L"));
}

fn bench_without_findings_that_fails() -> Bench {
    let mut bench = bench(|w| {
        let mut laboratory = laboratory(|| Ok(Vec::new()));
        laboratory.run = Arc::new(|_| bail!("no feature is called tone"));
        w.laboratory = Some(laboratory);
    });
    bench.press("r");
    bench.finish();
    bench
}

#[test]
fn a_finished_run_brings_its_findings_and_keeps_the_experiment_that_was_shown() {
    let mut bench = bench(|_| ());
    assert!(bench.screen(SMALL, "n").contains("2/2"));
    bench.press("r");
    bench.finish();
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("2/2") && screen.contains("large"), "{screen}");
    assert_eq!(bench.app.language, Language::Zh);
}

#[test]
fn no_key_breaks_any_size() {
    for size in [(60, 16), SMALL, (109, 20), LARGE, (300, 90), (1, 1)] {
        let mut bench = bench(|_| ());
        bench.screen(size, "");
        for key in [
            "j", "G", "<enter>", "l", "<pgdn>", "G", "n", "p", "h", "b", "L", "<esc>", "g", "v", "j", "l", "v", "j",
            "r", "?", "<esc>",
        ] {
            bench.screen(size, key);
        }
    }
}

#[test]
fn a_cell_leads_to_the_documents_that_it_scores_farthest_from_the_baseline() {
    let mut found = findings();
    for (number, cell) in found.cells.iter_mut().enumerate() {
        cell.set = Some(inkstone_base::data::Key::of(&[number as u8]));
    }
    let sets: Vec<_> = found.cells.iter().filter_map(|cell| cell.set).collect();
    let mut bench = bench(|workspace| {
        let mut laboratory = laboratory(move || Ok(vec![found.clone()]));
        laboratory.differing = Arc::new(move |_, [one, other], _| {
            assert!(one != other && other == sets[0], "the second one is the baseline");
            Ok(vec![(2, 0.75), (0, -0.5)])
        });
        workspace.laboratory = Some(laboratory);
    });
    let screen = bench.screen(LARGE, "<enter>");
    insta::assert_snapshot!("differing", screen);
    assert!(screen.contains("文档 3 / 3") && screen.contains("得分差 +0.7500") && screen.contains("1/2"), "{screen}");
    let screen = bench.screen(LARGE, "]");
    assert!(screen.contains("文档 1 / 3") && screen.contains("-0.5000"), "{screen}");
    assert!(bench.screen(LARGE, "]").contains("文档 1 / 3"), "there is no third one");
}
