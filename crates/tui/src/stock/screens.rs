//! Screens of one stock, on an invented one.

use std::sync::{Arc, Mutex};

use chrono::{Datelike, NaiveDate, Weekday};

use super::StockBench;
use crate::bench::{Bench, LARGE, SMALL, filled};
use crate::page::Page;
use crate::{Language, Workspace};
use inkstone_base::bail;
use inkstone_base::data::Kind;
use inkstone_lab::backtest::events::ReturnsAround;
use inkstone_lab::stock::{DayState, Stock, StockDocument, StockFactor};

/// A stock of 300 days that is suspended on five of them, with three documents on two days, two of them of the invented corpus.
fn invented(code: &str, factor: Option<&str>) -> Stock {
    let first = NaiveDate::from_ymd_opt(2023, 3, 1).unwrap();
    let weekdays = |day: &NaiveDate| !matches!(day.weekday(), Weekday::Sat | Weekday::Sun);
    let dates: Vec<NaiveDate> = first.iter_days().filter(weekdays).take(300).collect();
    let days = 0..dates.len();
    let state = |t: usize| match t {
        0..4 => DayState::Absent,
        250..255 => DayState::Suspended,
        265 => DayState::UpLimit,
        280 => DayState::DownLimit,
        _ => DayState::Traded,
    };
    let states: Vec<DayState> = days.clone().map(state).collect();
    let price = |t: usize| 20.0 + 4.0 * (t as f64 / 30.0).sin() + ((t * 7) % 5) as f64 / 5.0;
    let close = days.clone().map(|t| if states[t] == DayState::Absent { f64::NAN } else { price(t) });
    let there = |t: usize| t >= 100 && states[t] != DayState::Suspended;
    let values = days.clone().map(|t| if there(t) { (t as f64 / 9.0).cos() } else { f64::NAN });
    let layers = days.clone().map(|t| if there(t) { 1 + (t / 9 % 5) as u16 } else { 0 });
    let document = |number: u32, kind, day: Option<usize>, title: &str, after: [f64; 4]| StockDocument {
        number,
        doc_id: format!("news/{number}"),
        title: title.to_owned(),
        words: if title.is_empty() { "看不懂，先观望。".to_owned() } else { String::new() },
        kind,
        source: "news".to_owned(),
        published_at: day.map_or(dates[299], |day| dates[day]).and_hms_opt(8, 31, 7).unwrap(),
        repeats: number == 3,
        day,
        tradable: day.map(|day| dates[day]),
        returns: ReturnsAround { day: 0.0123, after: after.to_vec() },
    };
    let nan = f64::NAN;
    Stock {
        code: code.to_owned(),
        name: "瑞禾电气".to_owned(),
        close: close.collect(),
        volume: days.clone().map(|t| if states[t] == DayState::Suspended { 0.0 } else { 1000.0 + t as f64 }).collect(),
        factor: factor.map(|name| StockFactor {
            name: name.to_owned(),
            values: values.collect(),
            layers: layers.collect(),
            count: 5,
        }),
        documents: vec![
            document(
                0,
                Kind::News,
                Some(260),
                "瑞禾电气：预计一季度净利润同比增长120%～150%",
                [0.01, 0.02, -0.03, 0.05],
            ),
            document(
                3,
                Kind::News,
                Some(260),
                "【快讯】瑞禾电气预计一季度净利润增长120%～150%",
                [0.01, 0.02, -0.03, 0.05],
            ),
            document(1, Kind::Report, Some(280), "瑞禾电气年报点评：储能放量，“稳”字当头", [-0.004, 0.0, nan, nan]),
            document(8, Kind::Announcement, None, "", [nan; 4]),
        ],
        dates,
        states,
    }
}

/// The codes and factors that were read.
type Reads = Arc<Mutex<Vec<(String, Option<String>)>>>;

fn with_stocks(workspace: &mut Workspace, reads: &Reads) {
    let reads = reads.clone();
    let list = [("600517.SH", "瑞禾电气"), ("300731.SZ", "启澜生物"), ("430047.BJ", "")];
    workspace.stock = Some(StockBench {
        list: Arc::new(move |_| Ok(list.map(|(code, name)| (code.to_owned(), name.to_owned())).to_vec())),
        read: Arc::new(move |code, factor, _| {
            reads.lock().unwrap().push((code.to_owned(), factor.map(str::to_owned)));
            if code == "430047.BJ" {
                bail!("{code} 不在行情表中", "{code} is not in the price table");
            }
            Ok(invented(code, factor.filter(|name| *name == "tone")))
        }),
        of_document: Arc::new(|number, _| Ok(if number == 4 { vec!["600517.SH".to_owned()] } else { Vec::new() })),
    });
}

fn bench(language: Language) -> (Bench, Reads) {
    let reads = Reads::default();
    let bench = Bench::open(&filled(), |w| {
        w.language = language;
        with_stocks(w, &reads);
    });
    (bench, reads)
}

#[test]
fn a_document_leads_to_its_stock_and_back() {
    let (mut bench, reads) = bench(Language::Zh);
    let screen = bench.screen(SMALL, "1GkK");
    insta::assert_snapshot!("stock", screen);
    assert_eq!(reads.lock().unwrap()[..], [("600517.SH".to_owned(), Some("tone".to_owned()))]);
    assert!(screen.contains("3/4"), "the document that led here is marked: {screen}");
    // The other stock of the document, and back to where one came from.
    let screen = bench.screen(SMALL, "]");
    assert!(screen.contains("300731.SZ") && screen.contains("2/2"), "{screen}");
    bench.press("<esc>");
    assert_eq!(bench.app.page, Page::Corpus);
}

#[test]
fn a_stock_is_wide_and_english_and_may_be_seen_near_at_hand() {
    let (mut bench, _) = bench(Language::En);
    insta::assert_snapshot!("stock_english", bench.screen(LARGE, "1GK"));
    insta::assert_snapshot!("stock_zoomed_english", bench.screen(LARGE, "++++"));
    let narrow = bench.screen(LARGE, "");
    assert!(narrow.contains("30 days") && bench.screen(LARGE, "----").contains("296 days"), "{narrow}");
}

#[test]
fn left_and_right_go_along_the_documents_and_enter_reads_one_that_a_filter_hides() {
    let (mut bench, _) = bench(Language::Zh);
    bench.press("1fkind:研报<enter>K");
    assert!(bench.screen(LARGE, "<left>").contains("2/4"));
    assert!(bench.screen(LARGE, "<left><left><left>").contains("1/4"), "the first one is the end");
    let screen = bench.screen(LARGE, "<enter>");
    assert_eq!(bench.app.page, Page::Corpus);
    assert!(screen.contains("今日公告，订单饱满") && !screen.contains("kind:研报"), "{screen}");
    let screen = bench.screen(LARGE, "K<right><right>");
    assert!(screen.contains("3/4") && screen.contains("可交易"), "{screen}");
    let screen = bench.screen(LARGE, "<right>");
    assert!(screen.contains("尚不可交易"), "a document behind the table: {screen}");
}

#[test]
fn another_factor_is_read_and_one_that_is_not_built_says_so() {
    let (mut bench, reads) = bench(Language::Zh);
    assert!(bench.screen(LARGE, "1GK").contains("tone 文档前 "));
    let screen = bench.screen(LARGE, "f");
    assert!(screen.contains("tfidf: 尚未计算"), "{screen}");
    assert_eq!(reads.lock().unwrap().last().unwrap().1.as_deref(), Some("tfidf"));
    assert!(bench.app.command().contains("stock 600517.SH") && bench.app.command().contains("--factor tfidf"));
}

#[test]
fn a_stock_is_found_by_code_name_or_pinyin_from_a_page_that_is_about_none() {
    let (mut bench, _) = bench(Language::Zh);
    assert!(bench.screen(SMALL, "8K").contains("代码、简称或拼音首字母"));
    insta::assert_snapshot!("stock_search", bench.screen(SMALL, "ql"));
    assert!(bench.screen(SMALL, "<enter>").contains("300731.SZ"));
    assert!(bench.screen(SMALL, "/没有").contains("没有这样的股票"));
    assert!(bench.screen(SMALL, "<esc>").contains("300731.SZ"), "what was shown stays");
    let screen = bench.screen(SMALL, "/4300<enter>");
    assert!(screen.contains("430047.BJ 不在行情表中"), "{screen}");
    bench.press("<esc>");
    assert_eq!(bench.app.page, Page::Ledger);
}

#[test]
fn the_next_session_shows_the_same_stock() {
    let dir = filled();
    let reads = Reads::default();
    let mut bench = Bench::come_back(&dir, |w| with_stocks(w, &reads));
    let left = bench.screen(LARGE, "1K+<left>");
    bench.leave();
    let mut bench = Bench::come_back(&dir, |w| with_stocks(w, &reads));
    assert_eq!(bench.screen(LARGE, ""), left);
    bench.press("<esc>");
    assert_eq!(bench.app.page, Page::Corpus);
}

#[test]
fn the_palette_leads_to_a_stock() {
    let (mut bench, _) = bench(Language::Zh);
    let screen = bench.screen(LARGE, "8:启澜生物");
    assert!(screen.contains("个股 ›"), "{screen}");
    assert!(bench.screen(LARGE, "<down><enter>").contains("300731.SZ"));
    bench.press("<esc>");
    assert_eq!(bench.app.page, Page::Ledger);
    // Letters that mean no stock stay in the field, to be corrected.
    assert!(bench.screen(LARGE, ":没有这只<down><enter>").contains("没有这样的股票"));
}

#[test]
fn a_document_without_codes_leads_to_the_stock_that_it_is_linked_to() {
    let (mut bench, _) = bench(Language::Zh);
    // The fifth document of the corpus is given no code.
    assert!(bench.screen(LARGE, "1f坐标<enter>K").contains("600517.SH 瑞禾电气"));
    bench.press("<esc>");
    assert_eq!(bench.app.page, Page::Corpus);
}
