//! Screens of the way from a factor to its words: invented names and documents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use chrono::{NaiveDate, NaiveDateTime};

use crate::bench::{Bench, LARGE, SMALL, filled};
use crate::factor::FactorPage;
use crate::page::Page;
use crate::page_state::PageState;
use crate::{Judgement, Tracing, Workspace};
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_features::extract::{ExplainedBy, ExplainedSentence, ExplainedText, ExplainedWord};
use inkstone_lab::factor::{TracedCell, TracedDate, TracedDay, TracedDocument, TracedName, TracedNeighbour};

fn time(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
}

fn names(date: NaiveDate) -> TracedDate {
    let name = |k: usize, code: &str, name: &str, value: f64, earned: f64, title: &str| TracedName {
        code: code.into(),
        name: name.into(),
        value,
        raw: value / 4.0,
        rank: k + 1,
        quantile: 5 - (k as u16).min(4),
        documents: 3 - k % 3,
        first_mentions: 2 - k % 2,
        known_at: Some(time("2024-10-31 14:32:07")),
        returns: vec![earned / 5.0, earned],
        blocked: earned.is_nan().then(|| "locked at the upper limit on the day of entry".to_owned()),
        title: title.into(),
    };
    TracedDate {
        factor: "tone".into(),
        date,
        entry: Some(date + chrono::Days::new(1)),
        price: "open".into(),
        delay: 1,
        horizons: vec![1, 5],
        quantiles: 5,
        without_quantiles: None,
        names: vec![
            name(0, "600517.SH", "瑞禾电气", 2.31, 0.041, "预计一季度净利润同比增长 120%～150%"),
            name(1, "300731.SZ", "启澜生物", 2.07, 0.006, "公司拟以自有资金 2～3 亿元回购股份"),
            name(2, "688001.SH", "辰光股份", 0.4, f64::NAN, "回购进展公告"),
            name(3, "000001.SZ", "平安银行", -0.2, -0.012, "A very long English headline about a listed company"),
            name(4, "430047.BJ", "*ST远山", -1.9, -0.087, "公司被立案调查"),
        ],
    }
}

/// The dates of a quantile, on every third one of which it has names.
fn days(quantile: u16) -> Vec<TracedDay> {
    let dates = crate::bench::outcome(false).coverage.dates;
    let day = |(number, date): (usize, &NaiveDate)| {
        let earned = 0.01 * (f64::from(quantile) - 3.0) + 0.002 * ((number * 7) % 23) as f64 - 0.022;
        TracedDay {
            date: *date,
            names: 8 + number % 3,
            value: f64::from(quantile) - 3.1,
            returns: vec![earned / 5.0, if number % 9 == 8 { f64::NAN } else { earned }],
            hits: vec![0.5, 0.625],
            documents: number % 14,
        }
    };
    dates.iter().enumerate().filter(|(number, _)| (479 - number) % 3 == 0).map(day).collect()
}

fn documents() -> Vec<TracedCell> {
    let document = |number: u32, kind, title: &str, value: f64, contribution: f64, first| TracedDocument {
        number,
        doc_id: format!("news/{number}"),
        title: title.into(),
        words: String::new(),
        kind,
        source: "快讯".into(),
        published_at: time("2024-10-30 20:31:07"),
        trade_date: "2024-10-31".parse().unwrap(),
        known_at: time("2024-10-30 20:31:07"),
        age: number as usize % 5,
        first,
        repeats: (!first).then(|| "news/1".to_owned()),
        value,
        weight: 0.95_f64.powi(number as i32),
        contribution,
    };
    let cell = |reading, control, documents: Vec<TracedDocument>| TracedCell {
        reading,
        reads: vec!["tone".into()],
        aggregate: "mean".into(),
        date: "2024-10-31".parse().unwrap(),
        neighbour: None,
        control,
        value: documents.iter().map(|d| d.contribution).sum(),
        adds_up: true,
        documents,
    };
    vec![
        cell(
            1,
            false,
            vec![
                document(2, Kind::Announcement, "启澜生物：拟以自有资金2亿元至3亿元回购股份", 1.0, 0.62, true),
                document(7, Kind::Report, "启澜生物深度：估值修复可期", -0.4, -0.11, false),
            ],
        ),
        cell(
            2,
            true,
            vec![document(2, Kind::Announcement, "启澜生物：拟以自有资金2亿元至3亿元回购股份", 1.0, 1.0, true)],
        ),
    ]
}

fn sentences(reading: usize) -> Vec<ExplainedText> {
    let word = |word: &str, text: &str, value: f64, degree: f32| ExplainedWord {
        word: word.into(),
        value,
        places: text.match_indices(word).map(|(at, found)| at..at + found.len()).collect(),
        negated: word == "亏损",
        degree,
    };
    let sentence = |text: &str, title, found: &[(&str, f64, f32)]| ExplainedSentence {
        text: text.into(),
        title,
        value: found.iter().map(|w| w.1).sum(),
        words: found.iter().map(|(w, value, degree)| word(w, text, *value, *degree)).collect(),
    };
    let words = ExplainedText {
        feature: "tone".into(),
        column: "tone".into(),
        model: "lexicon".into(),
        by: ExplainedBy::Words,
        note: ("各词之和即得分。".into(), "Words sum to the score.".into()),
        formula: Message {
            zh: "(P - N) / (P + N)：每个词贡献 权重 / (P + N)".into(),
            en: "(P - N) / (P + N): each word gives weight / (P + N)".into(),
        },
        score: 0.25,
        kept: 0.25,
        sentences: vec![
            sentence("启澜生物：拟以自有资金2亿元至3亿元回购股份", true, &[("回购", 0.375, 1.0)]),
            sentence(
                "公司未出现亏损，业绩大幅增长，现金流充足，管理层对公司未来发展前景充满信心，拟继续推进海外业务。",
                false,
                &[("增长", 0.1875, 1.5), ("亏损", 0.0625, 1.0)],
            ),
            sentence("股东大会将于下月召开。", false, &[]),
            sentence("但毛利率下滑。", false, &[("下滑", -0.375, 1.0)]),
        ],
        ..ExplainedText::default()
    };
    let mut other =
        ExplainedText { column: "c3".into(), model: "onnx".into(), by: ExplainedBy::Omission, ..words.clone() };
    other.sentences.iter_mut().for_each(|s| s.words.clear());
    let input = ExplainedText { feature: "bert".into(), column: String::new(), of: "tone.c3".into(), ..other.clone() };
    if reading == 1 { vec![words, other, input] } else { Vec::new() }
}

fn with_tracing(workspace: &mut Workspace) {
    workspace.tracing = Some(Tracing {
        prepare: Arc::new(|_, _| Ok(())),
        days: Arc::new(|factor, quantile, _| {
            assert_eq!(factor, "tone");
            Ok(days(quantile))
        }),
        names: Arc::new(|factor, date, _| {
            assert_eq!(factor, "tone");
            Ok(names(date))
        }),
        documents: Arc::new(|_, _, code, _| if code == "600517.SH" { bail!("no such name") } else { Ok(documents()) }),
        sentences: Arc::new(|_, reading, document, _| {
            assert_eq!(document, 2);
            Ok(sentences(reading))
        }),
    });
    workspace.judgement = Some(Arc::new(|_| {
        let worth = Judgement { checks: 10, passed: 9, warned: 0, failed: 1, trials: 17, ..Judgement::default() };
        Ok(Some(Judgement { deflated_sharpe: 0.83, ..worth }))
    }));
}

/// The line of a list that is marked, by the place in the title of the list: ` · 2 / 5 只 `.
fn marked(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    let title = lines.iter().position(|line| line.starts_with('┌')).unwrap();
    let before = lines[title].split(" / ").next().unwrap();
    let place: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    lines[title + 1 + place].to_owned()
}

/// The page as a session finds it in which this was kept.
fn recalled(memory: &serde_json::Value) -> Bench {
    let mut bench = bench(|_| ());
    let mut page = FactorPage::default();
    page.recall(memory);
    bench.app.at_desk(|desk| page.reload(desk));
    bench.app.factor = page;
    bench.settle();
    bench
}

fn bench(change: impl FnOnce(&mut Workspace)) -> Bench {
    Bench::open(&filled(), |workspace| {
        with_tracing(workspace);
        change(workspace);
    })
}

#[test]
fn the_way_down_is_shown_level_by_level() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("names", bench.screen(SMALL, "d<left><left><enter>j"));
    insta::assert_snapshot!("documents", bench.screen(SMALL, "<enter>"));
    insta::assert_snapshot!("sentences", bench.screen(SMALL, "<enter>j"));
    insta::assert_snapshot!("sentences_large_english", bench.screen(LARGE, "Ll"));
    insta::assert_snapshot!("documents_large_english", bench.screen(LARGE, "<esc>"));
    insta::assert_snapshot!("names_large_english", bench.screen(LARGE, "<esc>"));
    assert!(bench.screen(SMALL, "L<esc>").contains("累计 RankIC"));
}

#[test]
fn the_way_goes_from_a_bar_to_the_weights_of_words_and_back_level_by_level() {
    let mut bench = bench(|_| ());
    insta::assert_snapshot!("bars", bench.screen(SMALL, "df"));
    let first = bench.screen(SMALL, "<left><right><right>");
    assert!(first.contains("▲Q5") && first.contains("Q5/5"), "the bar stays at the end: {first}");
    insta::assert_snapshot!("dates_of_a_quantile", bench.screen(SMALL, "<enter>j"));
    let by_return = bench.screen(SMALL, "s");
    assert!(
        by_return.contains("平均收益5d %▼") && by_return.contains("+4.20"),
        "the best date stands first: {by_return}"
    );
    insta::assert_snapshot!("names_of_a_quantile", bench.screen(SMALL, "sj<enter>"));
    let crumbs = ["tone › Q5 › 2024-10-30", "600517", "公告", "第 1 句", "词"];
    assert!(bench.screen(SMALL, "").contains(crumbs[0]));
    // Only the names of the quantile are listed for the date, and no other can be chosen.
    let names = bench.screen(SMALL, "f");
    assert!(names.contains("Q5 · 1 / 1 只") && !names.contains("启澜生物") && !names.contains("f 分层"), "{names}");
    // The date before, of those that the quantile has; it is marked when one goes back.
    assert!(bench.screen(SMALL, "<left>").contains("› 2024-10-25"));
    assert!(marked(&bench.screen(SMALL, "<esc>")).contains("2024-10-25"));
    assert!(bench.screen(SMALL, "<esc>").contains("▲Q5"), "back on the bar");
    // From the lowest quantile on to the words.
    bench.screen(SMALL, "<left><left><left><enter><enter><enter>");
    insta::assert_snapshot!("words", bench.screen(SMALL, "<enter>j<enter>"));
    insta::assert_snapshot!("words_large_english", bench.screen(LARGE, "L"));
    bench.press("L");
    let mut ways = Vec::new();
    for _ in 0..5 {
        ways.push(bench.screen(SMALL, "").lines().nth(1).unwrap().trim().to_owned());
        bench.press("<esc>");
    }
    let last = "因子 tone › Q2 › 2024-11-04 › 000001.SZ 平安银行 › 公告 › 第 2 句 › 词";
    let crumbs: Vec<&str> = last.split(" › ").collect();
    let expected: Vec<String> = [7, 6, 4, 3, 2].map(|levels| crumbs[..levels].join(" › ")).to_vec();
    assert_eq!(ways, expected, "Esc goes back one level each");
    assert!(bench.screen(SMALL, "").contains("▲Q2"));
}

#[test]
fn documents_of_neighbours_stand_beside_them_with_their_shares() {
    let mut bench = bench(|w| {
        w.tracing.as_mut().unwrap().documents = Arc::new(|_, _, _, _| {
            let mut cells = documents();
            let neighbour = |code: &str, name: &str, share| {
                Some(TracedNeighbour { code: code.to_owned(), name: name.to_owned(), share })
            };
            cells[0].neighbour = neighbour("600519.SH", "贵州茅台", 0.75);
            cells[1].neighbour = neighbour("600036.SH", "", 0.25);
            Ok(cells)
        });
    });
    let list = bench.screen(SMALL, "<enter><enter>");
    let row = |name: &str| list.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{list}")).to_owned();
    assert!(row("贵州茅台").contains("0.75") && row("600036.SH").contains("0.25"), "{list}");
    assert!(list.contains("邻居 600519.SH 贵州茅台 × 0.750"), "{list}");
}

#[test]
fn a_sentence_without_weights_says_why() {
    let mut bench = bench(|_| ());
    // The third sentence has no word; the second column is of a model that has none at all.
    let nothing = bench.screen(SMALL, "<enter>j<enter><enter>jj<enter>");
    assert!(nothing.contains("这一句没有词的权重") && nothing.contains("各词之和即得分"), "{nothing}");
    let nothing = bench.screen(SMALL, "<esc><right><enter>");
    assert!(nothing.contains("tone.c3") && nothing.contains("这一句没有词的权重"), "{nothing}");
}

#[test]
fn a_quantile_without_dates_and_one_that_cannot_be_read_are_told() {
    let mut bench = self::bench(|w| w.tracing.as_mut().unwrap().days = Arc::new(|_, _, _| Ok(Vec::new())));
    let empty = bench.screen(SMALL, "f<enter>");
    assert!(empty.contains("这一层没有任何日期") && !empty.contains("Enter 下钻"), "{empty}");
    let mut bench =
        self::bench(|w| w.tracing.as_mut().unwrap().days = Arc::new(|_, _, _| bail!("the signals are gone")));
    assert!(bench.screen(SMALL, "f<enter>").contains("the signals are gone"));
    assert!(bench.screen(SMALL, "<enter><esc>").contains("▲Q5"));
}

#[test]
fn text_from_documents_is_never_obeyed_by_the_terminal() {
    let long = "长".repeat(400_000);
    let title = move |text: &str| format!("\u{1b}[31m{text}\u{202e}𠮷👍🏽{long}");
    let mut bench = bench(|w| {
        let shown_title = title.clone();
        w.tracing.as_mut().unwrap().names = Arc::new(move |_, date, _| {
            let mut date = names(date);
            date.names[0].title = shown_title("公告");
            date.names[0].name = "\u{7}名".to_owned();
            date.names.truncate(1);
            Ok(date)
        });
        w.tracing.as_mut().unwrap().sentences = Arc::new(move |_, reading, _, _| {
            let mut all = sentences(reading);
            all[0].sentences[0].words[0].word = title("词");
            all[0].sentences[0].text = title("句");
            Ok(all)
        });
        w.tracing.as_mut().unwrap().documents = Arc::new(|_, _, _, _| Ok(documents()));
    });
    for keys in ["<enter>", "<enter>", "<enter>g", "<enter>"] {
        let screen = bench.screen(SMALL, keys);
        assert!(!screen.contains(|c: char| c != '\n' && c.is_control()), "{screen}");
    }
}

#[test]
fn lists_are_copied_as_they_are_shown_with_the_command_that_shows_the_same() {
    let mut bench = bench(|_| ());
    bench.settle();
    let seen = |bench: &Bench| {
        bench.app.at_desk(|desk| {
            let page = bench.app.state(Page::Factor);
            (page.table(desk).unwrap(), page.command(desk).unwrap())
        })
    };
    let (years, command) = seen(&bench);
    assert_eq!((years.rows.len(), years.rows[0][0].as_str(), years.rows[2][0].as_str()), (3, "2023", "全部"));
    assert_eq!(command, "inkstone backtest --headless");
    bench.press("df<enter>j");
    let (days, command) = seen(&bench);
    assert_eq!((days.rows.len(), days.rows[0][0].as_str(), days.header.len()), (160, "2024-11-04", days.rows[0].len()));
    assert_eq!(command, "inkstone trace tone --quantile 5 --headless");
    bench.press("<enter>");
    let (names, command) = seen(&bench);
    assert_eq!(
        (names.rows.len(), names.rows[0][0].as_str(), names.header.len()),
        (1, "600517.SH", names.rows[0].len())
    );
    assert_eq!(command, "inkstone trace tone --date 2024-10-30 --quantile 5 --headless");
    bench.press("<esc><esc>f<enter>sj<enter><enter>");
    let (_, command) = seen(&bench);
    assert_eq!(command, "inkstone trace tone --date 2024-11-04 --code 300731.SZ --document news/2 --headless");
    bench.press("<enter>");
    let (words, _) = seen(&bench);
    assert_eq!(words.rows, [["回购", "0.375", "100", "false", "1", "1"]]);
}

#[test]
fn another_session_goes_where_the_last_one_was() {
    let mut first = bench(|_| ());
    first.press("df<left><enter>jj<enter><enter>");
    let kept = first.app.state(Page::Factor).remember();
    let mut next = recalled(&kept);
    let screen = next.screen(SMALL, "");
    assert!(screen.contains("tone › Q4 › 2024-10-25 › 300731.SZ 启澜生物") && screen.contains("3 篇文档"), "{screen}");
    assert!(next.screen(SMALL, "<esc><esc><esc>").contains("▲Q4"));
    // Values that no longer fit are left out: no such code, no such date, no such factor.
    for way in [
        serde_json::json!({"quantile": 4, "date": "2024-10-25", "code": "999999.SH"}),
        serde_json::json!({"quantile": 4, "date": "1999-10-25"}),
        serde_json::json!({"date": "1999-10-25"}),
    ] {
        let kept = serde_json::json!({"factor": "gone", "horizon": 77, "date": "1999-01-01", "way": way});
        let screen = recalled(&kept).screen(SMALL, "");
        assert!(screen.contains("tone") && !screen.contains("篇文档"), "{screen}");
    }
    let broken = serde_json::json!({"focus": 7});
    assert!(recalled(&broken).screen(SMALL, "").contains("RankIC"));
}

#[test]
fn the_page_says_what_a_factor_is_worth_after_so_many_looks() {
    let screen = bench(|_| ()).screen(SMALL, "");
    assert!(screen.contains("未来函数检查 9/10 ✗1  已试验 17 次 → DSR 0.83"), "{screen}");
    let failing = |w: &mut Workspace| w.judgement = Some(Arc::new(|_| bail!("a run has the ledger")));
    let screen = bench(failing).screen(SMALL, "");
    assert!(screen.contains("累计 RankIC") && !screen.contains("未来函数检查"), "{screen}");
}

#[test]
fn names_are_put_in_order_and_filtered() {
    let mut bench = bench(|_| ());
    assert!(marked(&bench.screen(SMALL, "<enter>")).contains("600517.SH"));
    let by_return = bench.screen(SMALL, "sG");
    assert!(
        by_return.contains("收益1d %▼") && marked(&by_return).contains("688001.SH"),
        "no return comes last: {by_return}"
    );
    assert!(by_return.contains("买入日涨停，买不进"), "{by_return}");
    let lowest = bench.screen(SMALL, "fffff");
    assert!(lowest.contains("Q1 · 1 / 1 只") && marked(&lowest).contains("*ST远山"), "{lowest}");
    assert!(bench.screen(SMALL, "f").contains(" / 5 只"));
    // Another date keeps the order, and a key that is not of this level does nothing.
    let before = bench.screen(SMALL, "<left>v");
    assert!(before.contains("2024-11-01") && before.contains("收益1d %▼"), "{before}");
}

#[test]
fn lists_have_columns_counts_and_marks_like_other_tables() {
    let mut bench = bench(|_| ());
    bench.screen(SMALL, "<enter>");
    // Space marks and goes on; the marked names alone are listed.
    let only = bench.screen(SMALL, "<space>*");
    assert!(only.contains("1 / 1 只 · 仅标记 1") && only.contains("600517.SH") && !only.contains("300731"), "{only}");
    assert!(bench.screen(SMALL, "<esc>").contains("2 / 5") || bench.screen(SMALL, "").contains("1 / 5"));
    // Frequencies of the column of the order; Enter lists the names of the group.
    let counted = bench.screen(SMALL, "sssF");
    assert!(counted.contains("频次 · 值") && counted.contains("2.31"), "{counted}");
    let group = bench.screen(SMALL, "<enter>");
    assert!(group.contains("仅 值 = -1.9") && group.contains("1 / 1"), "{group}");
    // Esc leads back to all names, and then up.
    assert!(bench.screen(SMALL, "<esc>").contains(" / 5"));
    assert!(bench.screen(SMALL, "<esc>").contains("累计 RankIC"));
    // Columns that were chosen stay when another date is gone down to.
    let hidden = bench.screen(SMALL, "<enter>-");
    assert!(!hidden.contains("2.310"), "{hidden}");
    assert!(!bench.screen(SMALL, "<esc><left><enter>").contains("2.310"));
    let kept = bench.app.state(Page::Factor).remember();
    assert!(!recalled(&kept).screen(SMALL, "").contains("2.310"), "a session keeps them");
}

#[test]
fn what_is_below_the_marked_line_stands_beside_the_list_where_there_is_room() {
    let mut bench = bench(|_| ());
    let beside = bench.screen(LARGE, "<enter>j");
    assert!(beside.contains("300731.SZ · 1 / 3 篇文档") && beside.contains("启澜生物：拟以"), "{beside}");
    assert!(bench.screen(LARGE, "k").contains("no such name"), "what went wrong is told beside the list, too");
    // The pane alone has no room beside it.
    let alone = bench.screen(LARGE, "jV");
    assert!(!alone.contains("篇文档") && alone.contains("原值"), "{alone}");
    // The documents that were read ahead are those that are gone down to; beside them their text.
    let text = bench.screen(LARGE, "V<enter>");
    assert!(text.contains("300731.SZ · 1 / 3 篇文档") && text.contains(" news/2 "), "{text}");
    assert!(!bench.screen(SMALL, "").contains("news/2 ┐"), "a small screen shows the list alone");
}

#[test]
fn what_went_wrong_is_said_where_it_was_asked_for() {
    let mut bench = bench(|_| ());
    assert!(bench.screen(SMALL, "<enter><enter>").contains("no such name"));
    assert!(bench.screen(SMALL, "<esc>j").contains("启澜生物"));
    // The third document is of a reading without a column of a feature.
    let nothing = bench.screen(SMALL, "<enter>G<enter>");
    assert!(nothing.contains("没有用到特征的列"), "{nothing}");
    assert!(bench.screen(SMALL, "<esc>").contains("仅用于中性化"));
}

#[test]
fn a_long_search_ends_when_its_level_is_left() {
    let (begun, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let [has_begun, over] = [begun.clone(), ended.clone()];
    let mut bench = bench(|w| {
        let slow = move |_: &str, _: NaiveDate, _: &str, ctx: &Ctx| -> Result<Vec<TracedCell>> {
            has_begun.store(true, Ordering::SeqCst);
            let result = loop {
                if let Err(error) = ctx.check() {
                    break Err(error.into());
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            };
            over.store(true, Ordering::SeqCst);
            result
        };
        w.tracing.as_mut().unwrap().documents = Arc::new(slow);
    });
    bench.screen(SMALL, "<enter>");
    bench.press_at_once("<enter>");
    bench.wait_until(|_| begun.load(Ordering::SeqCst));
    assert!(bench.picture(SMALL).contains("读取中…"));
    bench.press("<esc>");
    bench.wait_until(|_| ended.load(Ordering::SeqCst));
    assert!(bench.screen(SMALL, "j").contains("启澜生物"), "keys go on as before");
}

#[test]
fn no_key_breaks_any_size() {
    for size in [(60, 16), SMALL, (109, 20), LARGE, (300, 90), (1, 1)] {
        let mut bench = bench(|_| ());
        bench.screen(size, "");
        let keys = "<enter> j G s f f <left> <right> d v j <enter> j G g <enter> l h j <pgdn> b L <esc> <esc> <esc> j k <enter> n p";
        for key in keys.split(' ') {
            bench.screen(size, key);
        }
    }
}
