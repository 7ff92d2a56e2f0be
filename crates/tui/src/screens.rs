//! Screens as text: keys go in, a picture comes out. The project behind them is made in `bench`, of invented text.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use chrono::Days;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use unicode_width::UnicodeWidthChar;

use super::bench::{Bench, LARGE, SMALL, SOON, cut_in_pieces, empty, filled, outcome};
use super::event::Event;
use super::graphics::Protocol;
use super::jobs::Phase;
use super::page::Page;
use super::{Depth, Language, Runner, Start, Workspace, view, width};
use inkstone_base::data::{Document, Report};
use inkstone_base::disk;
use inkstone_base::expected::ExpectedStage;
use inkstone_lab::backtest::Outcome;
use inkstone_tables::corpus::documents_to_frame;
use inkstone_tables::project::Project;

pub(crate) fn ingest_report() -> Report {
    let mut report = Report::new("ingest");
    (report.rows_in, report.rows_out, report.seconds) = (9520, 9500, 4.0);
    report.drop_rows("no such date or time", 13);
    report.drop_rows("empty title and body", 7);
    report.fact("encodings", serde_json::json!({"GB18030": 3, "UTF-8": 9}));
    report.fact("files", 12);
    report.fact("mean_length", 312.25);
    report
}

#[test]
fn the_pane_with_the_focus_has_the_whole_page_and_gives_it_back() {
    let panes = |screen: &str| screen.matches('┌').count();
    let mut bench = Bench::open(&filled(), |_| ());
    for page in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        for size in [(1, 1), (60, 16), SMALL, LARGE] {
            let before = bench.screen(size, page);
            let alone = bench.screen(size, "V");
            assert!(panes(&alone) <= panes(&before), "{alone}");
            if size == LARGE && ["1", "7"].contains(&page) {
                assert_eq!(panes(&alone), 1, "{alone}");
            }
            assert_eq!(bench.screen(size, "V"), before, "again shows all panes");
            bench.screen(size, "V");
            assert_eq!(bench.screen(size, "<esc>"), before, "and so does Esc");
        }
    }
    // The focus goes on to another pane, which then has the page.
    let list = bench.screen(LARGE, "1V");
    let reader = bench.screen(LARGE, "<enter>");
    assert!(panes(&reader) == 1 && reader != list, "{reader}");
    let dir = filled();
    let mut first = Bench::come_back(&dir, |_| ());
    first.press("1V");
    first.leave();
    let screen = Bench::come_back(&dir, |_| ()).screen(LARGE, "");
    assert_eq!(panes(&screen), 1, "a session keeps it: {screen}");
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
fn rejects_are_listed_with_their_rows() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("rejects", bench.screen(SMALL, "9xj"));
    insta::assert_snapshot!("rejects_of_a_group_english", bench.screen(SMALL, "<enter>L"));
    assert!(bench.screen(SMALL, "L<esc>").contains("2 / 2"), "Esc leads back to the groups");
    assert!(bench.screen(SMALL, "<esc>").contains("按 r 开始"));
}

#[test]
fn a_reject_shows_its_row_in_the_encoding_it_has() {
    let dir = filled();
    let path = Project::new(dir.path()).rejects();
    // 600517,瑞禾电气 in GB18030.
    let line = r#"{"file":"a.csv","row":3,"reason":"empty title and body","raw":"NjAwNTE3LMjwusy158b4"}"#;
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
    assert!(screen.contains("上次运行的报告") && screen.contains("日期或时间不存在"), "{screen}");
    bench.press("r");
    bench.finish();
    assert!(!bench.screen(SMALL, "9").contains("日期或时间不存在"), "a run of its own takes the place of the last one");
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
    assert!(bench.screen(SMALL, "").contains("整条流水线 · 完成"));
}

#[test]
fn the_command_goes_to_the_clipboard_once() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "8y").contains("已送往剪贴板: inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard().as_deref(), Some("inkstone run --headless"));
    assert_eq!(bench.app.take_clipboard(), None);
    assert!(bench.screen(SMALL, "8").contains("等价命令: inkstone run --headless"));
    assert!(bench.screen(SMALL, "1").contains("等价命令: inkstone clean --headless"));
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
    insta::assert_snapshot!("too_small_english", bench.screen((40, 10), ""));
}

fn run_of(bench: impl Fn(&inkstone_base::job::Ctx) -> Result<Vec<Report>> + Send + Sync + 'static) -> Runner {
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
    assert_eq!(bench.app.jobs.list()[0].phase, Phase::Done);
    let corpus = bench.screen(SMALL, "1");
    assert!(corpus.contains("新到的一篇") && corpus.contains("1 / 1 · 未清洗"), "{corpus}");
}

#[test]
fn errors_and_panics_of_a_run_are_shown_as_chains() {
    let run = run_of(|_| Err(anyhow::anyhow!("row 3 has no date").context("ingest")));
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("└ “row 3 has no date”"));
    let run = run_of(|_| if cfg!(test) { panic!("a broken invariant") } else { bail!("never") });
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("内部错误：a broken invariant"));
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
    assert!(bench.screen(SMALL, "").contains("停止这个任务？"));
    bench.press("n");
    assert!(bench.app.busy());
    bench.press("<ctrl-c><ctrl-c>");
    bench.finish();
    assert_eq!(bench.app.jobs.list()[0].phase, Phase::Cancelled);
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
    assert!(bench.screen((120, 24), "7").contains("不完整"));
    assert!(bench.screen((120, 24), "1").contains("不完整"));
    assert!(bench.screen(SMALL, "9").contains("按 r 开始"));
}

#[test]
fn a_segmenter_that_panics_spoils_one_document_only() {
    let mut bench = Bench::open(&filled(), |w| {
        w.tokeniser = Arc::new(|text, _| {
            assert!(!text.starts_with("回购"), "no words for this");
            Ok(cut_in_pieces(text, 2))
        });
    });
    assert!(bench.screen(SMALL, "1tGkk").contains("内部错误：no words for this"));
    assert!(bench.screen(SMALL, "k").contains("‹瑞禾/电气›/今日"));
}

#[test]
fn no_key_on_no_page_breaks_any_size() {
    let dir = filled();
    for size in [(60, 16), SMALL, (109, 20), (110, 20), LARGE, (300, 90), (1, 1), (60, 15)] {
        let mut bench = Bench::open(&dir, |_| ());
        for page in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
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

#[test]
fn the_palette_finds_commands_by_letters_chinese_and_pinyin_and_does_them() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("palette", bench.screen(SMALL, ":"));
    insta::assert_snapshot!("palette_pinyin", bench.screen(SMALL, "tz"));
    assert!(bench.screen(SMALL, "<ctrl-u>台账").contains("台账"));
    bench.press("<enter>");
    assert_eq!(bench.app.page, Page::Ledger);
    // Where no command has such a name, its letters can stand in documents.
    let documents = bench.screen(SMALL, "<ctrl-p>回购");
    assert!(documents.contains("筛选文档 回购"), "{documents}");
    bench.press("<end><pgdn><pgdn><enter>");
    assert!(bench.app.dialog.is_none() && bench.app.page == Page::Corpus);
    assert!(bench.screen(SMALL, "").contains("回购"));
    bench.press("f<ctrl-u><enter>:3<enter>");
    assert!(bench.screen(LARGE, "").contains("3 / 9"), "a number leads to its line");
    let factor = bench.screen(SMALL, ":tone");
    assert!(factor.contains("因子 ›"), "{factor}");
    bench.press("<enter>");
    assert_eq!(bench.app.page, Page::Factor);
    let mut empty = Bench::open(&self::empty(), |w| w.factors.clear());
    let none = empty.screen(SMALL, "<ctrl-p>qqqqqqq");
    assert!(none.contains("没有这样的命令"), "{none}");
    empty.press("<enter>");
    assert!(empty.app.dialog.is_none(), "nothing marked, nothing done");
    let other = bench.screen(LARGE, "L:rejects");
    assert!(other.contains("Jobs › rejects"), "{other}");
    bench.press("<enter>");
    assert_eq!(bench.app.page, Page::Jobs, "a command of another page leads there");
}

#[test]
fn keys_of_the_configuration_take_the_place_of_the_tables() {
    let mut bench = Bench::open(&filled(), |w| {
        w.keys.insert("help".to_owned(), vec!["ctrl-h".to_owned()]);
    });
    assert!(bench.screen(SMALL, "").contains("Ctrl-h 帮助"));
    bench.press("?");
    assert!(bench.app.dialog.is_none());
    bench.press("<ctrl-h>");
    assert!(bench.app.dialog.is_some());
}

#[test]
fn the_wheel_moves_what_is_under_it_by_three_lines() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(LARGE, "1").contains("1 / 9"));
    bench.wheel(10, 10, true);
    assert!(bench.screen(LARGE, "").contains("4 / 9"));
    bench.wheel(10, 10, false);
    let before = bench.screen((80, 24), "j");
    assert!(before.contains("2 / 9"));
    bench.wheel(70, 10, true);
    let screen = bench.screen((80, 24), "");
    assert!(screen.contains("2 / 9"), "over the reader the list stays: {screen}");
}

#[test]
fn esc_straight_before_a_key_is_esc_and_that_key() {
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "1/").contains("Esc"));
    let screen = bench.screen(SMALL, "<alt-j>");
    assert!(screen.contains("2 / 9"), "the field is left, and j moves: {screen}");
    bench.press("?<alt-q>");
    assert!(bench.app.has_quit(), "Esc closes the help, q leaves");
}

#[test]
fn pages_show_what_a_stage_has_made_while_the_run_goes_on() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (dir, made) = (crate::bench::empty(), filled());
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, from, to) = (stop.clone(), made.path().to_owned(), dir.path().to_owned());
    let mut bench = Bench::open(&dir, |w| {
        w.run = Arc::new(move |ctx| {
            let expected = |name: &str| ExpectedStage { name: name.to_owned(), seconds: 1.0, units: 0 };
            ctx.expect(["clean", "extract tone"].map(expected).into());
            ctx.stage("clean", "docs", None, || {
                for part in ["documents", "clean", "backtests"] {
                    std::fs::create_dir_all(to.join(part))?;
                    for file in std::fs::read_dir(from.join(part))? {
                        let file = file?;
                        std::fs::copy(file.path(), to.join(part).join(file.file_name()))?;
                    }
                }
                Ok(inkstone_base::data::Report::new("clean"))
            })?;
            ctx.stage("extract tone", "docs", Some(100), || {
                ctx.advance(50)?;
                while !stopped.load(Ordering::Relaxed) {
                    ctx.check()?;
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Ok(inkstone_base::data::Report::new("extract tone"))
            })?;
            Ok(Vec::new())
        });
    });
    assert!(bench.screen(SMALL, "1").contains("还没有语料"));
    bench.press_at_once("r");
    bench.wait_until(|app| app.jobs.list().last().and_then(|job| job.share()).is_some_and(|share| share > 0.7));
    let screen = bench.screen(LARGE, "1");
    assert!(bench.app.busy() && screen.contains("1 / 9") && screen.contains("已清洗"), "{screen}");
    assert!(screen.contains("75% 2/2"), "the bar is that of the run: {screen}");
    stop.store(true, Ordering::Relaxed);
    bench.finish();
    assert!(!bench.screen(LARGE, "").contains("75%"));
}

#[test]
fn the_mouse_shows_pages_and_does_what_the_last_line_offers() {
    let mut bench = Bench::open(&filled(), |_| ());
    let picture = bench.screen(SMALL, "1");
    let column = |line: &str, text: &str| u16::try_from(width::width(&line[..line.find(text).unwrap()])).unwrap();
    let first = picture.lines().next().unwrap();
    bench.click(column(first, "9任务"), 0);
    assert_eq!(bench.app.page, Page::Jobs);
    bench.click(0, 0);
    assert_eq!(bench.app.page, Page::Jobs, "the name of the program is no tab");
    let picture = bench.picture(SMALL);
    let last = picture.lines().last().unwrap();
    bench.click(column(last, "? 帮助"), 23);
    assert!(bench.app.dialog.is_some());
    bench.click(0, 0);
    assert!(bench.app.dialog.is_none(), "a click beside it closes it");
}

#[test]
fn a_terminal_of_wide_signs_is_given_none_that_are_ambiguous() {
    let mut bench = Bench::open(&filled(), |w| w.wide_ambiguous = true);
    bench.app.take(Event::Resize(SMALL.0, SMALL.1));
    for page in 1..=9 {
        bench.press(&page.to_string());
        let mut terminal = Terminal::new(TestBackend::new(SMALL.0, SMALL.1)).unwrap();
        terminal.draw(|frame| view::draw(&bench.app, frame)).unwrap();
        let drawn: String = terminal.backend().buffer().content.iter().map(|cell| cell.symbol()).collect();
        let doubtful: String = drawn
            .chars()
            .filter(|c| {
                !c.is_ascii() && UnicodeWidthChar::width(*c) == Some(1) && UnicodeWidthChar::width_cjk(*c) == Some(2)
            })
            .collect();
        assert_eq!(doubtful, "", "page {page}");
    }
}

#[test]
fn charts_are_drawn_as_pictures_where_the_terminal_shows_them() {
    let mut bench = Bench::open(&filled(), |_| ());
    bench.app.graphics = None;
    let refused = bench.screen(LARGE, "7W");
    assert!(refused.contains("不显示图片"), "{refused}");
    assert!(bench.app.take_pictures().is_empty());
    bench.app.graphics = Some(Protocol::Kitty);
    assert!(bench.screen(LARGE, "9W").contains("本页没有图表"));
    // Charts in English need no Chinese font.
    bench.press("L7W");
    let pictures = bench.app.take_pictures();
    if bench.picture(LARGE).contains("no font") {
        return inkstone_testing::not_tried("this machine has no font for English charts");
    }
    assert!(pictures.len() > 1, "{}", bench.picture(LARGE));
    assert!(pictures.iter().all(|picture| picture.sequences.starts_with("\x1b_Ga=T,f=100,")));
    assert!(pictures[0].below.contains("for the next") && pictures.last().unwrap().below.contains("any key goes back"));
    assert!(bench.app.take_pictures().is_empty(), "they are shown once");
}

#[test]
fn pictures_of_the_screen_are_saved() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    let message = bench.screen(LARGE, "9S");
    assert!(message.contains("已存到"), "{message}");
    let svg = std::fs::read_to_string(dir.path().join("pictures/jobs.svg")).unwrap();
    assert!(svg.contains(">") && svg.contains("任务"), "{svg}");
}

#[test]
fn the_theme_changes_the_ground_and_without_colours_there_is_none() {
    let grounds = |depth, keys: &str| {
        let mut bench = Bench::open(&filled(), |w| w.depth = depth);
        bench.screen(SMALL, keys);
        let mut terminal = Terminal::new(TestBackend::new(SMALL.0, SMALL.1)).unwrap();
        terminal.draw(|frame| view::draw(&bench.app, frame)).unwrap();
        let cells = terminal.backend().buffer().content.clone();
        (cells[0].bg, cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset))
    };
    assert_ne!(grounds(Depth::True, "").0, grounds(Depth::True, "T").0);
    assert!(grounds(Depth::None, "").1 && !grounds(Depth::Sixteen, "").1);
}

#[test]
fn no_keys_whatever_break_the_workbench() {
    let keys: Vec<KeyEvent> = "abcdefghijklmnoprstuvwxyzABDEFGHIJKLMNOPQRSTUVWXYZ0123456789/?:,.;-+*[]{}()<>=回购"
        .chars()
        .map(|one| KeyEvent::from(KeyCode::Char(one)))
        .chain(
            [KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down]
                .map(KeyEvent::from),
        )
        .chain(
            [KeyCode::Left, KeyCode::Right, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home, KeyCode::End]
                .map(KeyEvent::from),
        )
        .chain([KeyCode::Backspace, KeyCode::Delete, KeyCode::F(1), KeyCode::Enter, KeyCode::Esc].map(KeyEvent::from))
        .chain(['p', 'u', 'w', 'a'].map(|one| KeyEvent::new(KeyCode::Char(one), KeyModifiers::CONTROL)))
        .collect();
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut seen = std::collections::HashSet::new();
    for number in 0..30_000 {
        let key = keys[random.random_range(0..keys.len())];
        bench.app.take(Event::Key(key));
        seen.insert(bench.app.page);
        if number % 50 == 0 {
            bench.take_what_came();
        }
        if number % 500 == 0 {
            let size = (random.random_range(1..160), random.random_range(1..50));
            bench.app.take(Event::Resize(size.0, size.1));
            bench.picture(size);
        }
        if number % 3000 == 0 {
            bench.settle();
            bench.finish();
        }
        // The palette leads to leaving as well.
        if bench.app.has_quit() {
            bench = Bench::open(&dir, |_| ());
        }
    }
    bench.finish();
    assert_eq!(seen.len(), Page::tabs().len(), "all pages were met");
}
