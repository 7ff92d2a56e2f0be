//! The corpus page as text.

use std::fmt::Write;
use std::sync::Arc;

use crossterm::event::KeyCode;
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use ratatui::layout::Position;
use tempfile::TempDir;

use super::ScoredFeature;
use super::catalogue::PartSlot;
use crate::app::App;
use crate::bench::{Bench, LARGE, SMALL, cut_in_pieces, empty, filled};
use crate::event::Event;
use crate::page::Page;
use crate::page_state::PageState;
use crate::{FeatureBench, FeatureListing, Language, Mark, Meaning, view};
use inkstone_base::code::Code;
use inkstone_base::data::{Document, Kind};
use inkstone_corpus::link::{Link, TextField, Via, links_to_frame};
use inkstone_tables::corpus::documents_to_frame;
use inkstone_tables::project::Project;

/// A project of these titles and bodies in parts of so many.
fn project_of(documents: &[(&str, &str)], in_a_part: usize) -> Arc<TempDir> {
    let dir = empty();
    let project = Project::new(dir.path());
    let documents: Vec<Document> = documents
        .iter()
        .enumerate()
        .map(|(i, (title, body))| Document {
            doc_id: format!("news/{i}"),
            kind: Kind::News,
            title: (*title).to_owned(),
            body: (*body).to_owned(),
            published_at: "2024-03-08T09:30:00".parse().unwrap(),
            ..Document::default()
        })
        .collect();
    for (i, documents) in documents.chunks(in_a_part).enumerate() {
        let mut frame = documents_to_frame(documents).unwrap();
        let ids: Vec<&str> = documents.iter().map(|document| document.doc_id.as_str()).collect();
        project.documents().write(i, &mut frame.clone()).unwrap();
        frame.hstack_mut(&[Series::new("first_mention".into(), ids).into_column()]).unwrap();
        project.clean().write(i, &mut frame).unwrap();
    }
    dir
}

fn press_at(bench: &mut Bench, column: u16, row: u16) {
    let area = view::page_area(bench.app.size);
    let clicked = |app: &mut App| {
        let mut corpus = std::mem::take(&mut app.corpus);
        app.at_desk(|desk| {
            corpus.click(Position::new(column, row), area, desk);
            corpus.arrange(area, desk);
        });
        app.corpus = corpus;
    };
    clicked(&mut bench.app);
    bench.settle();
}

/// The texts in the column of titles.
fn titles(bench: &Bench) -> Vec<String> {
    let corpus = &bench.app.corpus;
    (0..corpus.len())
        .filter_map(|line| Some(corpus.catalogue.row(corpus.number(line)?)?.title.chars().take(4).collect()))
        .collect()
}

#[test]
fn the_corpus_is_listed_and_read() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    insta::assert_snapshot!("corpus", bench.screen(SMALL, "1Gk"));
    insta::assert_snapshot!("corpus_characters", bench.screen(SMALL, "t<enter>j"));
    insta::assert_snapshot!("corpus_large_words", bench.screen(LARGE, "t<esc><end>k"));
    insta::assert_snapshot!("corpus_repeat_english", bench.screen(LARGE, "kktL"));
}

#[test]
fn a_search_reads_bodies_and_leads_through_the_hits() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("search_typing", bench.screen(SMALL, "1/回购"));
    let found = bench.screen(SMALL, "<enter>j");
    assert!(found.contains("2 / 2 (9)"), "{found}");
    let back = bench.screen(SMALL, "<esc>");
    assert!(back.contains("语料 · 7 / 9"), "{back}");
    assert!(bench.screen(SMALL, "/688001<enter>").contains("1 / 2 (9)"), "codes are searched");
    insta::assert_snapshot!("search_expression", bench.screen(LARGE, "<esc>/re:净利润.{0,3}[\\d.]+|增长<enter>jn"));
    assert_eq!(bench.app.corpus.reader.hits(), (Some(2), 2));
    bench.press("n");
    assert_eq!(bench.app.corpus.reader.hits(), (Some(1), 2), "round and round");
    bench.press("N");
    assert_eq!(bench.app.corpus.reader.hits(), (Some(2), 2));
}

#[test]
fn a_wrong_expression_is_told_with_its_place_and_nothing_is_lost() {
    let mut bench = Bench::open(&filled(), |_| ());
    let screen = bench.screen(SMALL, "1/re:回购(股");
    assert!(screen.contains("第 6 字：unclosed group"), "{screen}");
    let screen = bench.screen(SMALL, "<enter>)");
    assert!(screen.contains("/re:回购(股)  1 篇"), "the line stays open until it can be read: {screen}");
    assert!(bench.screen(SMALL, "<esc>").contains(" / 9 ·"));
}

#[test]
fn a_filter_lists_what_passes() {
    let mut bench = Bench::open(&filled(), |_| ());
    insta::assert_snapshot!("filter_empty", bench.screen(SMALL, "1f"));
    insta::assert_snapshot!("filter_typing", bench.screen(SMALL, "kind:新闻 code:600517 -重复"));
    assert_eq!(titles(&bench), ["瑞禾电气"]);
    let screen = bench.screen(SMALL, "<enter>");
    assert!(screen.contains("1 / 1 (9)") && screen.contains("筛选 kind:新闻 code:600517 -重复"), "{screen}");
    bench.press("Lf");
    bench.app.take(Event::Paste(" knd:x".to_owned()));
    insta::assert_snapshot!("filter_fault_english", bench.screen(SMALL, ""));
    assert_eq!(titles(&bench), ["瑞禾电气"], "a filter that cannot be read changes nothing");
    let screen = bench.screen(SMALL, "<esc>");
    assert!(screen.contains("filter kind:新闻 code:600517 -重复 "), "what was before stands again: {screen}");
    assert!(bench.screen(SMALL, "<esc>").contains("9 / 9 ·"), "the document at the cursor stays so");
    bench.press("fhggf<enter>");
    assert_eq!(titles(&bench), ["启澜生物"]);
    let screen = bench.screen(SMALL, "/储能<enter>");
    assert!(screen.contains("No document passes"), "a search looks where the filter lets it: {screen}");
    bench.press("<esc><esc>");
    bench.press("f2024-03-12..2024-03-13<enter>/储能<esc>");
    assert_eq!(bench.app.corpus.len(), 2);
}

#[test]
fn the_table_is_sorted_by_key_and_by_a_click_on_its_titles() {
    let mut bench = Bench::open(&filled(), |_| ());
    bench.screen(SMALL, "1llllso");
    insta::assert_snapshot!("sorted_by_title", bench.screen(SMALL, ""));
    bench.press("s");
    assert_eq!(titles(&bench)[0], "", "the same key turns it");
    // The title of the column of codes, twice: down, then up.
    press_at(&mut bench, 20, 2);
    assert_eq!(titles(&bench)[0], "坐标上海", "no code comes first");
    press_at(&mut bench, 20, 2);
    assert_eq!(titles(&bench)[0], "辰光股份");
    press_at(&mut bench, 30, 4);
    assert_eq!(bench.app.corpus.cursor.at, 1);
    press_at(&mut bench, 10, 20);
    assert!(bench.app.corpus.can_go_back(), "a click on the text goes into it");
}

#[test]
fn repeats_are_folded_and_one_can_be_unfolded() {
    let mut bench = Bench::open(&filled(), |_| ());
    bench.press("1z");
    assert_eq!(bench.app.corpus.len(), 8);
    insta::assert_snapshot!("folded", bench.screen(SMALL, "Gx"));
    assert_eq!(bench.app.corpus.len(), 9);
    bench.press("jx");
    assert_eq!((bench.app.corpus.len(), bench.app.corpus.cursor.at), (8, 7));
}

#[test]
fn marks_are_told_without_colour() {
    let dir = filled();
    let marks = |body: &str| {
        let mark = |text: &str, meaning| {
            let at = body.find(text)?;
            Some(Mark { range: at..at + text.len(), meaning })
        };
        [
            mark("瑞禾电气", Meaning::Name),
            mark("增长", Meaning::Positive),
            mark("波动", Meaning::Negative),
            mark("风险提示：原材料价格波动；下游需求不及预期。", Meaning::Boilerplate),
        ]
    };
    let mut bench = Bench::open(&dir, |w| {
        w.marker = Some(Arc::new(move |_, _, document| Ok(marks(&document.body).into_iter().flatten().collect())));
    });
    insta::assert_snapshot!("marks", bench.screen(SMALL, "1Gk"));
    insta::assert_snapshot!("marks_and_hits_english", bench.screen(LARGE, "/价格<enter>jL"));
}

#[test]
fn the_text_page_gets_the_document_of_the_cursor() {
    let mut bench = Bench::open(&filled(), |_| ());
    bench.press("1<end>v");
    assert_eq!(bench.app.page, Page::Text);
}

#[test]
fn what_is_listed_can_be_copied() {
    let mut bench = Bench::open(&filled(), |_| ());
    bench.press("1fkind:post<enter>");
    let table = bench.app.at_desk(|desk| bench.app.corpus.table(desk)).unwrap();
    assert_eq!(table.header, ["发布时间", "代码", "类型", "重复", "标题"]);
    let title = "坐标上海\t今天\u{1b}[31m大盘\u{202e}怎么看";
    assert_eq!(table.rows, [["2024-03-14 20:31:07", "", "post", "0", title]]);
}

#[test]
fn a_session_leaves_its_place_to_the_next() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    bench.press("1f瑞禾<enter>/储能<enter>sot");
    let before = bench.picture(SMALL);
    let memory = bench.app.corpus.remember();
    let mut bench = Bench::open(&dir, |_| ());
    bench.app.corpus.recall(&memory);
    let area = view::page_area(bench.app.size);
    let mut corpus = super::CorpusPage::new();
    corpus.recall(&memory);
    bench.app.at_desk(|desk| {
        corpus.reload(desk);
        corpus.arrange(area, desk);
    });
    bench.app.corpus = corpus;
    let after = bench.screen(SMALL, "1");
    assert_eq!(after.lines().take(21).collect::<Vec<_>>(), before.lines().take(21).collect::<Vec<_>>());
    assert!(after.contains("1 / 1 (9)"), "{after}");
    let mut corpus = super::CorpusPage::new();
    corpus.recall(&serde_json::json!({"filter": "knd:x", "sort": 7, "place": "x", "search": "re:("}));
    assert_eq!(corpus.remember()["filter"], "");
}

#[test]
fn a_damaged_part_is_named_and_the_rest_goes_on() {
    let dir = filled();
    std::fs::write(Project::new(dir.path()).clean().path(0), "PAR1 cut short").unwrap();
    let mut bench = Bench::open(&dir, |_| ());
    insta::assert_snapshot!("damaged_english", bench.screen(LARGE, "1Lj"));
    let screen = bench.screen(LARGE, "/回购<enter>");
    assert!(screen.contains("辰光股份：回购") && screen.contains("1 found · "), "{screen}");
    bench.press("<esc>s");
    assert_eq!(titles(&bench).len(), 4);
}

#[test]
fn no_rows_and_one_row_are_tables_too() {
    let mut bench = Bench::open(&project_of(&[("只有一篇", "𠮷利😀")], 1), |w| w.language = Language::En);
    insta::assert_snapshot!("one_row_english", bench.screen(SMALL, "1"));
    let mut bench = Bench::open(&project_of(&[], 1), |_| ());
    assert!(bench.screen(SMALL, "1").contains("还没有语料"));
    bench.press("f/sozxnNv<enter><esc>jG");
}

#[test]
fn strange_characters_and_a_giant_body_do_no_harm() {
    let mut giant = String::new();
    for i in 0..30_000 {
        write!(giant, "第{i}条：净利润增长。").unwrap();
    }
    assert!(giant.len() > 1 << 19);
    let documents = [("\u{1b}]0;x\u{7}标题\u{202e}", "\u{1b}[2J清屏\u{0}𠮷\u{200b}😀👨‍👩‍👧é"), ("巨文", giant.as_str())];
    let mut bench =
        Bench::open(&project_of(&documents, 1), |w| w.tokeniser = Arc::new(|text, _| Ok(cut_in_pieces(text, 2))));
    insta::assert_snapshot!("strange", bench.screen(SMALL, "1"));
    let screen = bench.screen(SMALL, "j/第29999条<enter><enter>");
    assert!(screen.contains("»░第29999条：") || screen.contains("第29999条"), "{screen}");
    assert_eq!(bench.app.corpus.reader.hits(), (Some(1), 1));
    // Every key is answered at once: what takes long is done elsewhere.
    for keys in ["g", "G", "t", "j", "<pgdn>", "n", "t"] {
        let began = std::time::Instant::now();
        bench.press_at_once(keys);
        bench.picture(SMALL);
        assert!(began.elapsed().as_millis() < 500, "{keys} took {:?}", began.elapsed());
    }
    bench.settle();
}

#[test]
fn a_run_that_changes_one_part_has_that_one_read_again() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    bench.press("1Gk");
    let first = |bench: &Bench| match bench.app.corpus.catalogue.slot(0) {
        PartSlot::Read(part) => Arc::as_ptr(part),
        _ => panic!("it was read"),
    };
    let before = first(&bench);
    let project = Project::new(dir.path());
    let mut frame = inkstone_tables::frames::read_parquet(&project.clean().path(0), None).unwrap().head(Some(3));
    project.clean().write(1, &mut frame).unwrap();
    bench.press("r");
    bench.finish();
    let screen = bench.screen(SMALL, "1");
    assert!(screen.contains(" / 8 ·"), "{screen}");
    assert_eq!(first(&bench), before);
}

#[test]
fn a_part_in_sight_is_read_before_the_others() {
    let documents: Vec<(String, &str)> = (0..400).map(|i| (format!("第{i}篇"), "正文")).collect();
    let documents: Vec<(&str, &str)> = documents.iter().map(|(title, body)| (title.as_str(), *body)).collect();
    let mut bench = Bench::open(&project_of(&documents, 4), |_| ());
    let screen = bench.screen(SMALL, "1G");
    assert!(screen.contains("第399篇") && screen.contains("400 / 400"), "{screen}");
    assert!(bench.app.corpus.catalogue.is_complete());
    bench.app.take(Event::Key(KeyCode::Home.into()));
    bench.settle();
    assert!(bench.picture(SMALL).contains("第0篇"));
}

/// A workbench on the invented project with the feature `tone`, of which the fourth document has no value.
fn with_tone() -> Bench {
    with_tone_in(&filled(), |_| ())
}

fn with_tone_in(dir: &Arc<TempDir>, change: impl FnOnce(&mut crate::Workspace)) -> Bench {
    let key = inkstone_base::data::Key::of(b"tone");
    let tone = ScoredFeature { name: "tone".into(), id: key, column: 0 };
    let values = [vec![0.5, 1.0, 0.25, f32::NAN, 0.0], vec![-0.5, 0.1, -1.0, 0.75]];
    Bench::open(dir, |w| {
        w.features = Some(FeatureBench {
            listing: Arc::new(|_| Ok(FeatureListing::default())),
            health: Arc::new(|_, _, _| anyhow::bail!("nobody asks")),
            neighbours: Arc::new(|_, _, _, _| anyhow::bail!("nobody asks")),
            scored: Arc::new(move |_| Ok(vec![tone.clone()])),
            scores: Arc::new(move |id, _, _| {
                assert_eq!(*id, key);
                Ok(values.to_vec())
            }),
            ranked: Arc::new(|words, _| {
                assert_eq!(words, "回购 减持");
                Ok(vec![5, 0, 3])
            }),
            config: String::new(),
        });
        change(w);
    })
}

#[test]
fn words_behind_a_tilde_rank_the_documents_until_the_table_is_sorted() {
    let mut bench = with_tone();
    bench.press("1/~回购 减持<enter>");
    let numbers = |bench: &Bench| {
        (0..bench.app.corpus.len()).filter_map(|line| bench.app.corpus.number(line)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&bench), [5, 0, 3]);
    let ranked = bench.screen(LARGE, "");
    assert!(ranked.contains("按相关程度") && !ranked.contains('▼'), "{ranked}");
    bench.press("s");
    assert!(!bench.screen(LARGE, "").contains("按相关程度"));
    let mut sorted = numbers(&bench);
    assert_ne!(sorted, [5, 0, 3], "the order that was asked for");
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 3, 5]);
    bench.press("<esc>");
    assert_eq!(bench.app.corpus.len(), 9);
    // Without a project behind it there is nothing that ranks.
    let mut bench = Bench::open(&filled(), |_| ());
    assert!(bench.screen(LARGE, "1/~回购<enter>").contains("inkstone clean"));
}

#[test]
fn scores_of_a_feature_are_a_column_that_sorts_and_filters() {
    let mut bench = with_tone();
    // The last of the columns that can be chosen.
    bench.press("1CG<space><esc>");
    insta::assert_snapshot!("scores", bench.screen(LARGE, "llllls"));
    assert_eq!(titles(&bench)[..2], ["瑞禾电气", "辰光股份"], "the greatest first");
    assert_eq!(titles(&bench)[8], "【快讯】", "the one without a value is the last");
    bench.press("s");
    assert_eq!((titles(&bench)[0].as_str(), titles(&bench)[8].as_str()), ("辰光股份", "【快讯】"));
    bench.press("ftone:..-0.4<enter>");
    assert_eq!(titles(&bench), ["辰光股份", "A ve"]);
    bench.press("f<ctrl-u>-has:tone<enter>");
    assert_eq!(titles(&bench), ["【快讯】"]);
    let screen = bench.screen(LARGE, "f<ctrl-u>tonne>1");
    assert!(screen.contains("第 1 字：没有列“tonne”；可用 类型 代码 时间"), "{screen}");
    bench.press("<esc><esc>");
    let table = bench.app.at_desk(|desk| bench.app.corpus.table(desk)).unwrap();
    assert_eq!(table.header.last().map(String::as_str), Some("tone"));
    assert_eq!((table.rows[0][5].as_str(), table.rows[8][5].as_str()), ("-1", ""));
}

#[test]
fn more_facts_of_documents_are_columns_and_conditions() {
    let mut bench = with_tone();
    bench.press("1f机构:松岭<enter>");
    assert_eq!(titles(&bench), ["瑞禾电气"]);
    bench.press("f<ctrl-u>字数>100<enter>");
    assert_eq!(titles(&bench), ["瑞禾电气"]);
    bench.press("f<ctrl-u>codes>1 org=松岭证券 source:news<enter>");
    assert_eq!(titles(&bench), ["瑞禾电气"]);
    bench.press("f<ctrl-u>-length:..100 -评级:买入<enter>");
    assert!(titles(&bench).is_empty());
    // Organisation and length, chosen and listed.
    let screen = bench.screen(LARGE, "<esc>Cjjjjj<space>jjjj<space>g<space><esc>");
    assert!(screen.contains("机构") && screen.contains("松岭证券") && screen.contains("124"), "{screen}");
    assert!(!screen.contains("发布时间"), "hidden: {screen}");
}

#[test]
fn frequencies_of_a_column_lead_to_a_filter_and_back() {
    let mut bench = with_tone();
    insta::assert_snapshot!("frequencies", bench.screen(SMALL, "1llF"));
    let english = bench.screen(SMALL, "LF");
    assert!(!english.contains("frequencies"), "the same key closes it: {english}");
    insta::assert_snapshot!("frequencies_english", bench.screen(LARGE, "F"));
    bench.press("Lj<enter>");
    assert_eq!(titles(&bench).len(), 1);
    let screen = bench.screen(SMALL, "");
    assert!(screen.contains("筛选 类型:"), "{screen}");
    bench.press("<esc>");
    assert_eq!(bench.app.corpus.len(), 9);
    // Codes count each for itself.
    let screen = bench.screen(SMALL, "hF");
    assert!(screen.contains("│600517.SH                                       3    33.3"), "{screen}");
    let screen = bench.screen(SMALL, "G<enter>");
    assert!(screen.contains("筛选 -有:代码") && titles(&bench) == ["坐标上海"], "{screen}");
    // Days of the time, and quantiles of nothing but numbers.
    let screen = bench.screen(SMALL, "<esc>hF");
    assert!(screen.contains("2024-03-10") && screen.contains("9 个值"), "{screen}");
    bench.press("gjj<enter>");
    assert_eq!((bench.app.corpus.filter.text(), bench.app.corpus.len()), ("2024-03-12", 1));
    bench.press("<esc>CG<space>sI");
    insta::assert_snapshot!("summary", bench.screen(SMALL, "<esc>I"));
}

#[test]
fn documents_are_marked_and_listed_alone_and_the_next_session_knows() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    insta::assert_snapshot!("marked", bench.screen(SMALL, "1f-headline<enter><space>j<space>"));
    bench.press("*");
    assert_eq!(titles(&bench), ["辰光股份", ""]);
    let memory = bench.app.corpus.remember();
    bench.press("<esc><esc>");
    assert_eq!(bench.app.corpus.len(), 9);
    bench.press("f-标记<enter>");
    assert_eq!(bench.app.corpus.len(), 7);
    let mut corpus = super::CorpusPage::new();
    corpus.recall(&memory);
    assert_eq!(corpus.catalogue.facts.marks, bench.app.corpus.catalogue.facts.marks);
    // Space in the text is a page down.
    bench.press("<enter><space>");
    assert_eq!(bench.app.corpus.catalogue.facts.marks.len(), 2);
}

#[test]
fn a_note_is_kept_in_the_project_and_shown_in_the_list_and_above_the_text() {
    let dir = filled();
    let mut bench = Bench::open(&dir, |_| ());
    assert!(bench.screen(SMALL, "1ja口径有变").contains("笔记 口径有变"));
    let screen = bench.screen(LARGE, "<enter>");
    assert!(screen.contains("笔记: 口径有变 · 2024-03-17"), "{screen}");
    let path = Project::new(dir.path()).notes();
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, "{\"document\":\"news/7\",\"note\":\"口径有变\"}\n");
    let mut second = Bench::open(&dir, |_| ());
    second.press("1f有:笔记<enter>");
    assert_eq!(titles(&second), ["辰光股份"]);
    let table = second.app.at_desk(|desk| second.app.corpus.table(desk)).unwrap();
    assert_eq!((table.header[5].as_str(), table.rows[0][5].as_str()), ("笔记", "口径有变"));
    second.press("a<ctrl-u><enter>");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    assert_eq!(second.app.corpus.len(), 0);
    // A file that holds something else is not written over.
    std::fs::write(&path, "mine").unwrap();
    let screen = second.screen(LARGE, "<esc>ax<enter>");
    assert!(screen.contains("notes.jsonl 的第 1 行不是笔记"), "{screen}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_workbench_that_only_reads_writes_no_note() {
    let dir = filled();
    let first = Bench::come_back(&dir, |_| ());
    let mut second = Bench::come_back(&dir, |_| ());
    let screen = second.screen(LARGE, "1axyz<enter>");
    assert!(!second.app.corpus.is_typing() && !Project::new(dir.path()).notes().exists(), "{screen}");
    drop(first);
}

#[test]
fn what_a_search_found_is_set_apart_in_the_titles() {
    use ratatui::style::Modifier;
    let mut bench = Bench::open(&filled(), |_| ());
    bench.press("1/回购<enter>");
    let drawn = crate::picture::screen(80, 24, |frame| view::compose(&bench.app, frame)).unwrap();
    let found: String = (0..80)
        .map(|x| &drawn[(x, 3)])
        .filter(|cell| cell.modifier.contains(Modifier::BOLD))
        .map(|cell| cell.symbol())
        .collect();
    assert_eq!(found, "回购");
}

#[test]
fn a_filter_of_a_session_waits_for_the_features_that_it_speaks_of() {
    let memory = serde_json::json!({"filter": "tone>0.6"});
    let mut bench = with_tone();
    let area = view::page_area(bench.app.size);
    let mut corpus = super::CorpusPage::new();
    corpus.recall(&memory);
    bench.app.at_desk(|desk| {
        corpus.reload(desk);
        corpus.arrange(area, desk);
    });
    bench.app.corpus = corpus;
    bench.press("1");
    assert_eq!((bench.app.corpus.filter.text(), bench.app.corpus.len()), ("tone>0.6", 2));
}

#[test]
fn two_documents_stand_side_by_side_with_what_differs() {
    let dir = project_of(
        &[
            ("回购进展", "公司已回购120万股。价格不高于十元。"),
            ("别的", "无关。"),
            ("回购进展", "公司已回购150万股。价格不高于十元。另有增持计划。"),
        ],
        2,
    );
    let mut bench = Bench::open(&dir, |_| ());
    assert!(bench.screen(LARGE, "1g=").contains("已标记"));
    let screen = bench.screen(SMALL, "jj=");
    insta::assert_snapshot!("beside", screen);
    assert!(screen.contains("两篇并排") && screen.contains("120") && screen.contains("150"), "{screen}");
    insta::assert_snapshot!("beside_english", bench.screen(LARGE, "L"));
    let screen = bench.screen(LARGE, "L<esc>");
    assert!(screen.contains("3 / 3") && !screen.contains("两篇并排"), "{screen}");
    // The same document twice is no comparison: it is marked anew.
    assert!(bench.screen(LARGE, "==").contains("已标记"));
}

#[test]
fn the_codes_of_a_linked_document_are_those_that_its_text_names() {
    let dir = project_of(&[("坐标上海签约", ""), ("两家公司", ""), ("没有公司", "")], 2);
    let link = |row, code: &str, ambiguous| Link {
        row,
        code: Code::parse(code).unwrap(),
        field: TextField::Title,
        start: 0,
        end: 12,
        via: Via::Name,
        ambiguous,
    };
    let project = Project::new(dir.path());
    let first = [link(0, "600517.SH", false), link(1, "000001.SZ", false), link(1, "600517.SH", false)];
    project.links().write(0, &mut links_to_frame(&first).unwrap()).unwrap();
    let codes = |bench: &Bench| -> Vec<String> {
        (0..3).map(|n| bench.app.corpus.catalogue.row(n).unwrap().codes.to_owned()).collect()
    };
    let mut bench = Bench::open(&dir, |_| ());
    bench.screen(SMALL, "1");
    assert_eq!(codes(&bench), ["", "", ""], "the second part is not linked yet");
    project.links().write(1, &mut links_to_frame(&[link(0, "300750.SZ", true)]).unwrap()).unwrap();
    let mut bench = Bench::open(&dir, |_| ());
    bench.screen(SMALL, "1");
    assert_eq!(codes(&bench), ["600517.SH", "000001.SZ,600517.SH", ""], "an ambiguous name is no link");
    // The column counts them, and its filter finds them.
    let screen = bench.screen(SMALL, "lF");
    assert!(screen.contains("│600517.SH                                       2    66.7"), "{screen}");
    bench.press("<enter>");
    assert_eq!(bench.app.corpus.len(), 2);
}
