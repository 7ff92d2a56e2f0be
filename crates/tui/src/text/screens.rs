//! Screens of the text page: documents of invented text, cut by stand-ins for tokenisers whose own tests are elsewhere.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use chrono::Days;
use crossterm::event::KeyEvent;
use ratatui::layout::Position;
use tempfile::TempDir;

use super::*;
use crate::bench::{Bench, LARGE, SMALL, SOON, empty, filled};
use crate::event::Event;
use crate::page::Page;
use crate::view as shell;
use crate::{Language, Workspace};
use inkstone_base::data::Document;
use inkstone_corpus::structure::{Salience, Section, Sentence, outline};
use inkstone_market::OffCalendar;
use inkstone_tables::corpus::documents_to_frame;
use inkstone_tables::project::Project;

/// Pieces of so many characters that hold no white space.
fn pieces(text: &str, length: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut held = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match ranges.last_mut().filter(|last| last.end == at && held < length) {
            Some(last) if !c.is_whitespace() => (last.end, held) = (end, held + 1),
            _ if c.is_whitespace() => held = length,
            _ => {
                ranges.push(at..end);
                held = 1;
            }
        }
    }
    ranges
}

fn tokeniser(name: &str, flags: &str, length: usize, numbered: bool) -> TextCut {
    let cut = move |text: &str| {
        let ranges = pieces(text, length);
        let ids = if numbered { (100..).take(ranges.len()).collect() } else { Vec::new() };
        Tokens { ranges, ids, specials: if numbered { 2 } else { 0 } }
    };
    TextCut {
        name: name.to_owned(),
        flags: flags.to_owned(),
        cut: Arc::new(move |text, _| Ok(cut(text))),
        describe: Arc::new(move |token, id| Described {
            written: id.map(|_| format!("##{token}")),
            tag: (length == 2).then(|| "n".to_owned()),
            known: (length == 2).then_some(token.chars().count() == 2),
        }),
    }
}

/// Sections by the rules of the product; the warning of risks counts as boilerplate of 312 documents.
fn about(subject: &TextSubject) -> About {
    let sentences: Vec<Sentence> = outline(&subject.text, subject.title)
        .into_iter()
        .map(|(range, section)| Sentence {
            range: range.start as u32..range.end as u32,
            section,
            boilerplate: section == Section::Risk,
            salience: Salience::NONE,
        })
        .collect();
    let risk = sentences.iter().filter(|sentence| sentence.boilerplate);
    let published = subject.document.published_at.date();
    About {
        boilerplate: risk.map(|part| (part.range.start as usize..part.range.end as usize, 312)).collect(),
        sentences,
        draw: 7,
        tradable: match subject.document.kind {
            _ if subject.place.is_none() => Tradable::Unknown,
            inkstone_base::data::Kind::Announcement => Tradable::Never(OffCalendar::Late),
            _ => Tradable::From(published + Days::new(1)),
        },
    }
}

fn text_bench() -> TextBench {
    TextBench {
        tokenisers: vec![
            tokeniser("char", "--mode char", 1, false),
            tokeniser("jieba", "--mode jieba", 2, false),
            tokeniser("bert", "--mode wordpiece --pieces model", 3, true),
        ],
        strategies: vec![TextStrategy { text: "tail -title".to_owned(), characters: true }],
        about: Arc::new(|subject| Ok(about(subject))),
        scores: Arc::new(|_, strategies| {
            let score = |(i, _)| (i != 1).then(|| Score { value: 0.57 - 0.2 * i as f64, feature: "tone".to_owned() });
            Ok(strategies.iter().enumerate().map(score).collect())
        }),
    }
}

fn open(dir: &Arc<TempDir>, change: impl FnOnce(&mut Workspace)) -> Bench {
    let mut bench = Bench::open(dir, |workspace| {
        workspace.text = Some(text_bench());
        change(workspace);
    });
    bench.press("2");
    bench
}

/// Has the strategies take 20 tokens, so that short texts are cut by them.
fn with_short(bench: &mut Bench) {
    bench.press("ahead:20<enter>atail:20<enter>ahead+tail:8+12<enter>");
}

#[test]
fn a_document_is_cut_by_all_tokenisers_and_truncated() {
    let mut bench = open(&filled(), |_| ());
    insta::assert_snapshot!("first", bench.screen(SMALL, ""));
    bench.press("]m");
    insta::assert_snapshot!("report_large", bench.screen(LARGE, "lllll"));
    insta::assert_snapshot!("report_cuts_english", bench.screen(SMALL, "fmL"));
    with_short(&mut bench);
    insta::assert_snapshot!("report_strategies", bench.screen(SMALL, "L"));
    insta::assert_snapshot!("report_strategies_large_english", bench.screen(LARGE, "kL"));
}

#[test]
fn all_tokenisers_follow_the_cursor_of_the_one_in_focus() {
    let mut bench = open(&filled(), |_| ());
    // 瑞禾电气：预计一季度...: the third word of two characters is ：预.
    let screen = bench.screen(LARGE, "mll");
    assert!(screen.contains("▶ jieba") && screen.contains("5–6 / 40"), "{screen}");
    assert!(screen.contains("字节 12..18 · 字 4..6") && screen.contains("词性 n · 词典有 · 本文 1 次"), "{screen}");
    let screen = bench.screen(LARGE, "m");
    assert!(screen.contains("▶ bert") && screen.contains("字节 9..18 · 字 3..6"), "{screen}");
    assert!(screen.contains("编号 101 · 词表写作 ##气：预"), "{screen}");
    let screen = bench.screen(LARGE, "h");
    assert!(screen.contains("字节 0..9 · 字 0..3"), "{screen}");
    assert!(bench.screen(LARGE, "h").contains("字节 0..9"), "there is nothing before the first token");
    let screen = bench.screen(LARGE, "j");
    assert!(screen.contains("字 27..30") && screen.contains("14–15 / 20"), "a line further: {screen}");
    assert!(bench.screen(LARGE, "<end>").contains("14 / 14"));
    assert!(bench.screen(LARGE, "g").contains("字节 0..9"));
}

#[test]
fn what_is_under_way_is_told_and_keeps_nobody_waiting() {
    let go = Arc::new(AtomicBool::new(false));
    let gate = go.clone();
    let mut bench = Bench::open(&filled(), |workspace| {
        let mut text = text_bench();
        let cut = text.tokenisers[1].cut.clone();
        text.tokenisers[1].cut = Arc::new(move |text, ctx| {
            while !gate.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            cut(text, ctx)
        });
        workspace.text = Some(text);
    });
    bench.app.take(Event::Resize(LARGE.0, LARGE.1));
    bench.press_at_once("2");
    let until = Instant::now() + SOON;
    let others_are_there = |text: &TextPage| {
        text.shown.as_ref().is_some_and(|shown| [0, 2].iter().all(|tokeniser| shown.tokens(*tokeniser).is_some()))
    };
    while !others_are_there(&bench.app.text) {
        assert!(Instant::now() < until, "a document never came");
        std::thread::sleep(Duration::from_millis(1));
        bench.press_at_once("g");
    }
    bench.press_at_once("m");
    insta::assert_snapshot!("cutting", bench.picture(LARGE));
    go.store(true, Ordering::Relaxed);
    assert!(bench.screen(LARGE, "").contains("1 / 20"), "it goes on by itself");
}

#[test]
fn strategies_are_added_dropped_and_refused_at_once() {
    let mut bench = open(&filled(), |_| ());
    let screen = bench.screen(SMALL, "ahed:5");
    insta::assert_snapshot!("strategy_refused", screen);
    bench.press("<enter>");
    assert!(bench.app.typing(), "what is no strategy is not taken");
    let screen = bench.screen(SMALL, "<backspace><backspace><backspace><backspace><backspace>tail:4<enter>");
    assert!(screen.contains("tail:4") && screen.contains("4/40") && screen.contains("截断 7/8"), "{screen}");
    assert!(bench.screen(SMALL, "atail:4<enter>").contains("tail:4: 已经列出"));
    let screen = bench.screen(SMALL, "x");
    assert!(!screen.contains("tail:4"), "{screen}");
    let screen = bench.screen(SMALL, "t");
    assert!(screen.contains("预算 256") && screen.contains("head:256"), "{screen}");
    let screen = bench.screen(SMALL, "ttt");
    assert!(screen.contains("预算 128") && screen.contains("head:128"), "the limits go round: {screen}");
    assert!(bench.screen(SMALL, "atfidf:9<enter>").contains("没有显著度"), "a number would be made up");
    assert!(bench.screen(SMALL, "a<esc>").contains("截断"));
}

#[test]
fn what_a_strategy_drops_is_told_without_colours() {
    let mut bench = open(&filled(), |_| ());
    let screen = bench.screen(SMALL, "]ahead:30 -boilerplate<enter>");
    assert!(screen.contains("│┃ 瑞禾电气年报点评") && screen.contains("│╏ 投资要点"), "{screen}");
    assert!(screen.contains("│ ░风险提示"), "{screen}");
    assert!(screen.contains("(套话 · 312 篇)"), "{screen}");
}

#[test]
fn text_of_ones_own_is_cut_and_left() {
    let mut bench = open(&filled(), |_| ());
    bench.press("]");
    insta::assert_snapshot!("typing", bench.screen(SMALL, "/公司拟回购"));
    let screen = bench.screen(SMALL, "<enter>");
    assert!(screen.contains("自己的文本 · 5 字") && screen.contains("1 / 5"), "{screen}");
    assert!(!screen.contains("得分"), "nobody was asked about it: {screen}");
    // The field holds what was typed before.
    let screen = bench.screen(SMALL, "i股份<enter>");
    assert!(screen.contains("自己的文本 · 7 字"), "{screen}");
    let screen = bench.screen(SMALL, "<esc>");
    assert!(
        screen.contains("2 / 9") && screen.contains("瑞禾电气年报点评"),
        "back on the document of before: {screen}"
    );
    assert!(bench.screen(SMALL, "/x<esc>").contains("2 / 9"));
    // Without a corpus there is text of one's own all the same.
    let mut bench = open(&empty(), |_| ());
    insta::assert_snapshot!("no_corpus_english", bench.screen(SMALL, "L"));
    assert!(bench.screen(SMALL, "/回购<enter>").contains("1 / 2"));
    assert!(bench.screen(SMALL, "<esc>").contains("There are no documents yet"));
}

#[test]
fn documents_follow_each_other_and_are_sent_from_elsewhere() {
    let mut bench = open(&filled(), |_| ());
    assert!(bench.screen(SMALL, "[").contains("没有更多文档"));
    let screen = bench.screen(SMALL, "]]");
    assert!(screen.contains("3 / 9") && screen.contains("晚于行情，尚无交易日"), "{screen}");
    bench.press_at_once("]]]");
    bench.settle();
    let screen = bench.screen(LARGE, "");
    assert!(screen.contains("6 / 9") && screen.contains("A very long English"), "{screen}");
    bench.app.text.read(1, 3, None);
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("9 / 9") && screen.contains("回购进展公告"), "{screen}");
    bench.app.text.read(1, 300, None);
    assert!(bench.screen(SMALL, "").contains("9 / 9"), "what is there no more is the last that there is");
}

#[test]
fn documents_of_a_list_follow_each_other_in_its_order() {
    let mut bench = open(&filled(), |_| ());
    bench.app.text.read(1, 3, Some([8, 2, 5].into()));
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("1 / 3 (9)") && screen.contains("回购进展公告"), "{screen}");
    assert!(bench.screen(SMALL, "]").contains("2 / 3 (9)"));
    let screen = bench.screen(LARGE, "]");
    assert!(screen.contains("3 / 3 (9)") && screen.contains("A very long English"), "{screen}");
    assert!(bench.screen(SMALL, "]").contains("没有更多文档"), "behind the last of the list is nothing");
    // From page 1 with a filter: the documents that it lists.
    let screen = bench.screen(SMALL, "1f688001<enter>v");
    assert!(screen.contains("1 / 2 (9)"), "{screen}");
    assert!(bench.screen(SMALL, "]").contains("2 / 2 (9)"));
}

#[test]
fn lines_of_a_pasted_text_stay_lines() {
    let mut bench = open(&filled(), |_| ());
    bench.press("2/");
    bench.app.take(crate::event::Event::Paste("年报点评\r\n评级：买入\n风险提示：需求不及预期".to_owned()));
    let screen = bench.screen(LARGE, "<enter>");
    assert!(screen.contains("年报点评  ") && !screen.contains("年报点评 评级"), "{screen}");
}

#[test]
fn going_through_a_corpus_cuts_what_one_arrives_at_and_one_text_at_a_time() {
    let (at_work, most, cut) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (at_work.clone(), most.clone(), cut.clone());
    let mut bench = open(&filled(), |workspace| {
        let slow: super::bench::CutText = Arc::new(move |text, _| {
            counts.1.fetch_max(counts.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            counts.0.fetch_sub(1, Ordering::SeqCst);
            counts.2.fetch_add(1, Ordering::SeqCst);
            Ok(Tokens { ranges: pieces(text, 2), ids: Vec::new(), specials: 0 })
        });
        workspace.text.as_mut().unwrap().tokenisers.iter_mut().for_each(|tokeniser| tokeniser.cut = slow.clone());
    });
    for _ in 0..20 {
        bench.press_at_once("]]]]]]]][[[[[[[[");
    }
    bench.press_at_once("]]");
    let screen = bench.screen(LARGE, "");
    assert!(screen.contains("3 / 9") && screen.contains("1 / 18"), "{screen}");
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?} threads cut at once");
    assert!(cut.load(Ordering::SeqCst) <= 30, "{cut:?} texts were cut for nothing");
}

#[test]
fn position_and_choices_are_found_again() {
    let dir = filled();
    let mut bench = open(&dir, |_| ());
    bench.press("]mllatail:7<enter>tt");
    let memory = bench.app.text.remember();
    let mut again = open(&dir, |_| ());
    again.app.text = TextPage::default();
    again.app.text.recall(&memory);
    again.app.text.stale = true;
    assert_eq!(again.screen(LARGE, ""), bench.screen(LARGE, ""));
    assert_eq!(again.app.text.remember(), memory);
    let mut other = TextPage::default();
    other.recall(&serde_json::json!({"place": "nowhere", "budget": 3}));
    assert_eq!(other.goal, Goal::default(), "what cannot be read is left out");
}

#[test]
fn the_command_and_the_table_are_of_what_has_the_focus() {
    let mut bench = open(&filled(), |_| ());
    bench.press("mf");
    assert_eq!(bench.app.command(), "inkstone tokenize --mode jieba --truncate head:128 --specials 0");
    let table = bench.app.at_desk(|desk| bench.app.text.table(desk)).unwrap();
    assert_eq!(table.header, ["词元", "起始字节", "结束字节", "起始字", "结束字"]);
    assert_eq!(table.rows[1], ["电气", "6", "12", "2", "4"]);
    assert_eq!(table.rows.len(), 20);
    bench.press("m");
    let table = bench.app.at_desk(|desk| bench.app.text.table(desk)).unwrap();
    assert_eq!(table.rows[1], ["气：预", "9", "18", "3", "6", "101"]);
    bench.press("fjjj");
    assert_eq!(bench.app.command(), "inkstone tokenize --mode wordpiece --pieces model", "middle is no flag");
    let table = bench.app.at_desk(|desk| bench.app.text.table(desk)).unwrap();
    assert_eq!(table.rows[0][..4], ["head:128", "14", "14", "1"]);
    assert!(table.rows[0][6].starts_with("title 9/9"), "{:?}", table.rows[0]);
}

#[test]
fn a_click_moves_the_cursor_the_tokeniser_and_the_strategy() {
    let mut bench = open(&filled(), |_| ());
    bench.screen(LARGE, "]");
    let area = shell::page_area(bench.app.size);
    let click = |bench: &mut Bench, x, y| {
        let mut text = std::mem::take(&mut bench.app.text);
        bench.app.at_desk(|desk| text.click(Position::new(x, y), area, desk));
        bench.app.text = text;
    };
    // The third line of the picture is the first of the body: its third character.
    click(&mut bench, area.x + 3 + 4, area.y + 2);
    let screen = bench.screen(LARGE, "");
    assert!(screen.contains("字 23..24") || screen.contains("字 24..25"), "{screen}");
    let [_, cuts, list] = view::panes(area, &bench.app.text);
    click(&mut bench, cuts.x + 3, cuts.bottom() - 6);
    assert!(bench.screen(LARGE, "").contains("▶ bert"));
    click(&mut bench, list.x + 3, list.y + 4);
    assert!(bench.screen(LARGE, "").contains("截断 3/7"));
    assert_eq!(bench.app.text.focus, TextFocus::Strategies);
}

#[test]
fn what_fails_is_told_where_it_failed() {
    let fails = |_: &str, _: &inkstone_base::job::Ctx| -> Result<Tokens> { bail!("model/vocab.txt: line 3 is empty") };
    let mut bench = open(&filled(), |w| {
        w.text.as_mut().unwrap().tokenisers[2].cut = Arc::new(fails);
    });
    insta::assert_snapshot!("tokeniser_failed", bench.screen(LARGE, "mm"));
    assert!(bench.screen(SMALL, "ff").contains("切不了"));
    let mut bench = open(&filled(), |w| {
        w.text.as_mut().unwrap().about = Arc::new(|_| bail!("structure/part-00000.parquet is cut short"));
    });
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("is cut short") && screen.contains("瑞禾电气今日公告"), "{screen}");
    let mut bench = open(&filled(), |w| {
        let panics =
            |text: &str, _: &inkstone_base::job::Ctx| -> Result<Tokens> { panic!("no words for {}", text.len()) };
        w.text.as_mut().unwrap().tokenisers[1].cut = Arc::new(panics);
    });
    assert!(bench.screen(LARGE, "").contains("内部错误：no words for"));
    let dir = filled();
    std::fs::write(Project::new(dir.path()).clean().path(0), "PAR1 cut short").unwrap();
    let mut bench = open(&dir, |_| ());
    assert!(bench.screen(SMALL, "").contains("不完整"));
    let mut bench = open(&filled(), |w| w.text = None);
    assert!(bench.screen(SMALL, "").contains("文本页没有可用的分词器"));
}

/// A project whose documents have these bodies.
fn project_of(bodies: &[&str]) -> Arc<TempDir> {
    let dir = empty();
    let document = |(i, body): (usize, &&str)| Document {
        doc_id: format!("a/{i}"),
        body: (*body).to_owned(),
        ..Document::default()
    };
    let documents: Vec<Document> = bodies.iter().enumerate().map(document).collect();
    Project::new(dir.path()).documents().write(0, &mut documents_to_frame(&documents).unwrap()).unwrap();
    dir
}

#[test]
fn texts_without_words_and_with_strange_ones_are_shown() {
    let strange = "一\u{1b}[31m红\u{202e}字\t𠮷👩\u{200d}🔬 e\u{301}\r\n\u{0}尾";
    let mut bench = open(&project_of(&["", strange, "独"]), |_| ());
    insta::assert_snapshot!("no_words", bench.screen(SMALL, ""));
    insta::assert_snapshot!("strange", bench.screen(SMALL, "]lll"));
    assert!(!bench.screen(SMALL, "ll").contains('\u{1b}'));
    assert!(bench.screen(SMALL, "]").contains("1 字"));
}

#[test]
fn a_text_of_a_mebibyte_answers_every_key_at_once() {
    let body = "公司发布业绩快报，净利润同比增长12.4%。".repeat(18_000);
    assert!(body.len() > 1_000_000);
    let mut bench = open(&project_of(&[&body]), |_| ());
    bench.screen(LARGE, "");
    for key in ["l", "j", "<pgdn>", "<end>", "k", "h", "m", "f", "j", "f", "t", "g"] {
        let began = Instant::now();
        bench.press_at_once(key);
        bench.picture(LARGE);
        let took = began.elapsed();
        // No measurement: a screen that lays the whole text out for each key would stand still far longer.
        assert!(took < Duration::from_secs(5), "{key} took {took:?}");
        bench.settle();
    }
    let screen = bench.screen(LARGE, "<end>");
    assert!(screen.contains("396,000 / 396,000") || screen.contains("/ 396,"), "{screen}");
    bench.app.take(Event::Key(KeyEvent::from(crossterm::event::KeyCode::Char('/'))));
    bench.app.take(Event::Paste(body));
    let began = Instant::now();
    bench.picture(LARGE);
    assert!(began.elapsed() < Duration::from_secs(5), "a field draws what is seen of it: {:?}", began.elapsed());
    assert!(bench.screen(LARGE, "<enter>").contains("自己的文本"));
}

#[test]
fn a_run_that_ends_leaves_the_cursor_where_it_is() {
    let mut bench = open(&filled(), |_| ());
    bench.press("]mlll");
    let before = bench.screen(SMALL, "");
    bench.press("9r");
    bench.finish();
    assert_eq!(bench.screen(SMALL, "2"), before);
    assert_eq!((bench.app.page, bench.app.language), (Page::Text, Language::Zh));
}

#[test]
fn no_key_breaks_any_size() {
    for size in [(60, 16), SMALL, (109, 20), (110, 20), LARGE, (300, 90), (1, 1)] {
        let mut bench = open(&filled(), |_| ());
        bench.screen(size, "");
        for key in [
            "j",
            "k",
            "l",
            "h",
            "<pgdn>",
            "<end>",
            "g",
            "f",
            "j",
            "<end>",
            "f",
            "m",
            "]",
            "t",
            "ahead:3<enter>",
            "x",
            "/ab<enter>",
            "<esc>",
            "a",
            "<esc>",
            "L",
            "?",
            "<esc>",
        ] {
            bench.screen(size, key);
        }
    }
}
