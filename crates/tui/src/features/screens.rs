//! Screens of the page of features: invented sets over the invented corpus of `bench`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use chrono::NaiveDate;
use tempfile::TempDir;

use super::{FeatureBench, FeatureListing, FeatureSet, FeatureState, SearchSummary};
use crate::bench::{Bench, LARGE, SMALL, empty, filled};
use crate::page::Page;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_features::inspect::{
    BINS, Column, ColumnName, Health, ListedDocument, Month, Near, NearMeasure, Neighbours, Nothing, Query,
};
use inkstone_store::{BatchEntry, BatchRecord, RowKind, Stats};

fn batches(rows: &[u64], per_row: u64) -> Vec<BatchEntry> {
    let record = |rows: &u64| BatchRecord {
        rows: *rows,
        blocks: (*rows * per_row / 32_000 + 1) as u32,
        bytes: rows * per_row,
        digest: Key::of(&rows.to_le_bytes()),
    };
    rows.iter().map(|rows| BatchEntry { key: Key::of(&rows.to_be_bytes()), record: record(rows) }).collect()
}

fn set(name: &str, model: &str, state: FeatureState, kind: RowKind) -> FeatureSet {
    let per_row = match kind {
        RowKind::Dense { dim } => 16 + 4 * dim as u64,
        RowKind::Sparse => 765,
    };
    FeatureSet {
        name: name.to_owned(),
        model: model.to_owned(),
        state,
        id: Some(Key::of(name.as_bytes())),
        kind: Some(kind),
        rows: Some(9493),
        filled: Some(9493),
        bytes: Some(9493 * per_row),
        fitted_until: None,
        folds: 0,
        search: None,
        batches: batches(&[4096, 4096, 1301], per_row),
        seconds: Some(1.13),
        dropped: Vec::new(),
    }
}

fn listing() -> FeatureListing {
    let until = NaiveDate::from_ymd_opt(2024, 12, 31).and_then(|day| day.and_hms_opt(21, 49, 16));
    let missing = FeatureSet {
        id: None,
        kind: None,
        rows: None,
        filled: None,
        bytes: None,
        batches: Vec::new(),
        ..set("bert", "onnx", FeatureState::Missing, RowKind::Sparse)
    };
    FeatureListing {
        sets: vec![
            set("tone", "lexicon", FeatureState::Current, RowKind::Dense { dim: 4 }),
            FeatureSet {
                folds: 12,
                search: Some(SearchSummary {
                    chosen: vec![("alpha=10".to_owned(), 8), ("alpha=100".to_owned(), 4)],
                    measure: "rank_ic",
                    mean: 0.0312,
                    tried: 3,
                }),
                fitted_until: until,
                filled: Some(6840),
                dropped: vec![
                    ("about no security of the price table".to_owned(), 407),
                    ("before the first test window".to_owned(), 2246),
                ],
                ..set("learned", "ridge", FeatureState::Current, RowKind::Dense { dim: 1 })
            },
            FeatureSet { fitted_until: until, ..set("words", "tfidf", FeatureState::Stale, RowKind::Sparse) },
            missing,
            set("tone · masked", "lexicon", FeatureState::OfChecks, RowKind::Dense { dim: 4 }),
            set("旧的主题\u{1b}[31m𠮷", "lsa", FeatureState::Unused, RowKind::Dense { dim: 128 }),
        ],
        documents: 9493,
        stats: Some(Stats { sets: 5, rows: 47465, live_bytes: 14_293_968, other_bytes: 0, file_bytes: 27_088_507 }),
        fault: None,
    }
}

fn column(name: &str, mean: f64, zeros: u64, bars: [u32; BINS]) -> Column {
    Column {
        name: ColumnName::Named(name.to_owned()),
        missing: 0,
        zeros,
        mean,
        std: 0.2172 + mean.abs() / 3.0,
        min: if mean > 1.0 { 0.0 } else { -1.0 },
        max: 1.0 + 4.0 * mean.abs(),
        quartiles: [mean - 0.15, mean, mean + 0.15],
        bars: bars.to_vec(),
    }
}

fn health() -> Health {
    let hill = [2, 5, 9, 18, 40, 81, 160, 300, 480, 290, 150, 90, 44, 20, 10, 4];
    let falling = [900, 500, 300, 180, 120, 90, 70, 50, 40, 30, 20, 15, 10, 5, 3, 1];
    let mut constant = column("negative", 0.0, 9493, [0; BINS]);
    (constant.min, constant.max, constant.std) = (0.0, 0.0, 0.0);
    constant.bars[BINS / 2] = 4096;
    let months = (0..24).map(|i| Month {
        year: 2023 + i / 12,
        month: 1 + i as u32 % 12,
        documents: 400,
        filled: if i < 6 { 0 } else { 380 - 10 * (i as u64 % 4) },
    });
    Health {
        rows: 9493,
        filled: 9493,
        columns: 4,
        told: vec![
            column("tone", 0.1184, 1204, hill),
            column("positive", 2.4412, 811, falling),
            constant,
            column("tokens", 187.3311, 0, hill),
        ],
        constant: 1,
        empty: 0,
        sampled: 4096,
        repeats: 1121,
        compared: 9493,
        months: months.collect(),
        strays: 0,
    }
}

fn document(place: (usize, usize), day: u32, title: &str) -> ListedDocument {
    ListedDocument {
        place,
        doc_id: format!("news/{}", place.1),
        title: title.to_owned(),
        codes: if place.1 == 1 { "600517.SH,300731.SZ".to_owned() } else { "600517.SH".to_owned() },
        published_at: NaiveDate::from_ymd_opt(2024, 3, day).and_then(|day| day.and_hms_opt(20, 31, 7)).unwrap(),
        first_mention: "news/0".to_owned(),
    }
}

fn neighbours(query: &Query) -> Neighbours {
    let near = |place, day, title: &str, value, repeats| Near { document: document(place, day, title), value, repeats };
    let mut found = vec![
        near((0, 0), 10, "瑞禾电气：预计一季度净利润同比增长120%～150%", 0.9913, true),
        near((0, 1), 11, "瑞禾电气年报点评：储能放量，“稳”字当头", 0.8841, false),
        near((0, 2), 12, "", 0.4127, false),
    ];
    if !query.past_only {
        found.insert(1, near((1, 3), 18, "辰光股份：回购进展公告\u{1b}[2J𠮷", 0.9020, false));
    }
    if query.measure == NearMeasure::Euclid {
        found.iter_mut().for_each(|near| near.value = 10.0 - 9.0 * near.value);
    }
    let own = query.place.map_or((0, 3), |place| place);
    Neighbours {
        query: Some(document(own, 13, "【快讯】瑞禾电气预计一季度净利润增长120%～150%")),
        found,
        compared: if query.past_only { 3412 } else { 9492 },
        later: if query.past_only { 6080 } else { 0 },
        nothing: None,
    }
}

fn fake() -> FeatureBench {
    FeatureBench {
        listing: Arc::new(|_| Ok(listing())),
        health: Arc::new(|_, progress, _| {
            progress(4096);
            Ok(health())
        }),
        neighbours: Arc::new(|_, query, _, _| Ok(neighbours(query))),
        scored: Arc::new(|_| Ok(Vec::new())),
        scores: Arc::new(|_, _, _| Ok(Vec::new())),
        ranked: Arc::new(|_, _| Ok(Vec::new())),
        config: "-c workbench.toml".to_owned(),
    }
}

fn open(dir: &Arc<TempDir>, bench: FeatureBench) -> Bench {
    Bench::open(dir, |w| w.features = Some(bench))
}

#[test]
fn without_features_the_page_says_what_to_do() {
    let mut bench = open(&empty(), FeatureBench { listing: Arc::new(|_| Ok(FeatureListing::default())), ..fake() });
    insta::assert_snapshot!("empty", bench.screen(SMALL, "5"));
    insta::assert_snapshot!("empty_english", bench.screen(LARGE, "L"));
    let mut bench = Bench::open(&empty(), |_| ());
    assert!(bench.screen(SMALL, "5").contains("看不到特征库"));
}

#[test]
fn sets_are_listed_with_their_standing_and_looked_into() {
    let mut bench = open(&filled(), fake());
    insta::assert_snapshot!("sets", bench.screen(SMALL, "5"));
    insta::assert_snapshot!("health", bench.screen(SMALL, "<enter>j"));
    insta::assert_snapshot!("health_large_english", bench.screen(LARGE, "L"));
    insta::assert_snapshot!("files_large", bench.screen(LARGE, "Lvv<esc>j"));
    insta::assert_snapshot!("not_made_english", bench.screen(SMALL, "vjjL"));
}

#[test]
fn neighbours_are_of_the_past_unless_one_asks_for_all() {
    let mut bench = open(&filled(), fake());
    let past = bench.screen(SMALL, "5v<enter>");
    insta::assert_snapshot!("neighbours", past);
    assert!(past.contains("✓ 只看更早发布的") && !past.contains("2024-03-18"), "{past}");
    let all = bench.screen(LARGE, "p");
    assert!(all.contains("⚠ 不论先后") && all.contains("2024-03-18"), "{all}");
    insta::assert_snapshot!("neighbours_all_distance_english", bench.screen(LARGE, "eL"));
}

#[test]
fn a_neighbour_is_opened_on_the_text_page_and_the_question_stays() {
    let mut bench = open(&filled(), fake());
    bench.press("5v<enter>j<enter>");
    assert_eq!(bench.app.page, Page::Text);
    assert_eq!(bench.app.features.near.place, None, "the neighbour was opened from here");
    // Another page opens a document: its neighbours are asked for.
    bench.app.features.follow(1, 2);
    assert_eq!(bench.app.features.near.place, Some((1, 2)));
    assert!(bench.screen(SMALL, "5").contains("查询"), "it is looked for as soon as the page is arranged");
}

#[test]
fn a_document_is_found_by_words_and_becomes_the_one_asked_for() {
    let mut bench = open(&filled(), fake());
    insta::assert_snapshot!("finding", bench.screen(SMALL, "5/回购"));
    let found = bench.screen(SMALL, "<enter>");
    insta::assert_snapshot!("found", found);
    bench.press("j<enter>");
    assert_eq!(bench.app.features.near.place, Some((1, 3)), "the second of the two");
    bench.press("/NEWS/4<enter>");
    assert_eq!(bench.app.features.near.place, Some((0, 4)), "one result needs no choice");
    let none = bench.screen(SMALL, "/无此文<enter>");
    assert!(none.contains("没有文档的标题、编号或代码含有"), "{none}");
    assert!(bench.screen(SMALL, "<esc>").contains("查询"), "back to the neighbours");
    bench.press("/<esc>");
    assert!(!bench.app.typing());
}

#[test]
fn a_store_that_cannot_be_read_leaves_what_the_last_run_said() {
    let mut unreadable = listing();
    unreadable.stats = None;
    unreadable.fault = Some(message!(
        "特征集 3bca8b0a 的头部已损坏：与其校验和不符",
        "the header of feature set 3bca8b0a is damaged: does not match its checksum"
    ));
    for set in &mut unreadable.sets {
        (set.kind, set.bytes) = (None, None);
    }
    let features = FeatureBench { listing: Arc::new(move |_| Ok(unreadable.clone())), ..fake() };
    let mut bench = open(&filled(), features);
    insta::assert_snapshot!("unreadable", bench.screen(SMALL, "5<enter>"));
    let screen = bench.screen(LARGE, "L");
    assert!(screen.contains("3bca8b0a") && screen.contains("cannot be read, and so the set cannot either"), "{screen}");
}

#[test]
fn a_failed_reading_says_why_and_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let health = move |_: &Key, _: &dyn Fn(u64), _: &Ctx| -> Result<Health> {
        if counted.fetch_add(1, Ordering::Relaxed) == 0 {
            inkstone_base::bail!(
                "特征集 \"tone\" 第 3bca8b0a 批：块 7 与其校验和不符：inkstone store repair",
                "batch 3bca8b0a of feature set \"tone\": block 7 does not match its checksum: inkstone store repair"
            );
        }
        Ok(health())
    };
    let mut bench = open(&filled(), FeatureBench { health: Arc::new(health), ..fake() });
    insta::assert_snapshot!("failed", bench.screen(SMALL, "5"));
    assert_eq!(tries.load(Ordering::Relaxed), 1, "a failure is not tried over and over");
    assert!(bench.screen(SMALL, "u").contains("重复行"));
    let failing = FeatureBench { listing: Arc::new(|_| bail!("state.json: not JSON")), ..fake() };
    let mut bench = open(&filled(), failing);
    assert!(bench.screen(SMALL, "5").contains("state.json: not JSON"));
}

#[test]
fn a_long_reading_shows_how_far_it_is_and_goes_on_beside_a_job() {
    let released = Arc::new(AtomicBool::new(false));
    let end = released.clone();
    let slow = move |_: &Key, progress: &dyn Fn(u64), ctx: &Ctx| -> Result<Health> {
        progress(4096);
        while !end.load(Ordering::Relaxed) {
            ctx.check()?;
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(health())
    };
    let mut bench = open(&filled(), FeatureBench { health: Arc::new(slow), ..fake() });
    bench.press_at_once("5");
    bench.take_until(|app| app.features.has_sets());
    bench.press_at_once("<enter>");
    bench.wait_until(|app| app.features.health.as_ref().is_some_and(|health| health.progress().0 == 4096));
    insta::assert_snapshot!("reading", bench.picture(SMALL));
    // A run that writes the store begins on another page.
    bench.app.workspace.run = Arc::new(|ctx| {
        while ctx.check().is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("stopped")
    });
    bench.press_at_once("9r5");
    released.store(true, Ordering::Relaxed);
    bench.take_until(|app| app.features.health().is_some());
    assert!(bench.app.busy());
    let screen = bench.picture(SMALL);
    assert!(screen.contains("重复行 1,121"), "{screen}");
    bench.press_at_once("cy");
    bench.finish();
}

#[test]
fn no_key_waits_while_a_set_is_read() {
    let slow = |_: &Key, _: &dyn Fn(u64), ctx: &Ctx| -> Result<Health> {
        while ctx.check().is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("stopped")
    };
    let mut bench = open(&filled(), FeatureBench { health: Arc::new(slow), ..fake() });
    bench.press_at_once("5");
    bench.take_until(|app| app.features.has_sets());
    let began = std::time::Instant::now();
    bench.press_at_once("<enter>jjk<esc>jkv");
    assert!(began.elapsed() < Duration::from_secs(10), "eight keys took {:?}", began.elapsed());
}

#[test]
fn a_document_without_a_row_says_so() {
    let none = |_: &Key, query: &Query, _: &dyn Fn(u64), _: &Ctx| {
        Ok(Neighbours { found: Vec::new(), nothing: Some(Nothing::NoRow), ..neighbours(query) })
    };
    let mut bench = open(&filled(), FeatureBench { neighbours: Arc::new(none), ..fake() });
    assert!(bench.screen(SMALL, "5v<enter>").contains("这篇文档在这个集里没有值"));
}

#[test]
fn the_list_below_is_sorted_counted_and_marked_like_that_of_the_sets() {
    let mut bench = open(&filled(), fake());
    let place = |screen: &str, text: &str| screen.find(text).unwrap_or_else(|| panic!("{text} in {screen}"));
    let files = bench.screen(SMALL, "5vv<enter>");
    assert!(place(&files, "4,096") < place(&files, "1,301"), "{files}");
    let fewest = bench.screen(SMALL, "lss");
    assert!(fewest.contains("▲") && place(&fewest, "1,301") < place(&fewest, "4,096"), "{fewest}");
    let counted = bench.screen(SMALL, "F");
    assert!(counted.contains("频次") && counted.contains("66.7"), "{counted}");
    // Esc leads out of the frequencies, then out of the pane.
    assert!(!bench.screen(SMALL, "<esc>").contains("频次 ·"));
    bench.press("<esc>");
    assert_eq!(bench.app.features.focus, super::FeaturesFocus::Sets);
}

#[test]
fn the_list_can_be_copied_and_the_place_is_remembered() {
    let mut bench = open(&filled(), fake());
    bench.press("5jjv<enter>ep");
    let state = bench.app.state(Page::Features);
    let table = bench.app.at_desk(|desk| state.table(desk)).unwrap();
    assert_eq!((table.header.len(), table.rows.len()), (5, 4));
    assert_eq!(table.rows[0][4], "news/0");
    assert_eq!(bench.app.command(), "inkstone store stats -c workbench.toml --headless");
    let memory = state.remember();
    let mut other = super::FeaturesPage::default();
    crate::page_state::PageState::recall(&mut other, &memory);
    assert_eq!(
        (other.view, other.near.measure, other.near.any_time),
        (super::FeaturesView::Near, NearMeasure::Euclid, true)
    );
    assert_eq!(other.wanted.as_deref(), Some("words"));
    bench.press("<esc>");
    let table = bench.app.at_desk(|desk| bench.app.state(Page::Features).table(desk)).unwrap();
    assert_eq!(table.rows.len(), 5, "sets of checks are hidden");
    assert!(bench.screen(SMALL, "z").contains(" / 6 "), "and shown by a key");
    bench.press("z");
    crate::page_state::PageState::recall(&mut other, &serde_json::json!({"view": 7, "document": "x"}));
}

#[test]
fn a_click_marks_a_set_and_a_line_below() {
    let mut bench = open(&filled(), fake());
    bench.screen(SMALL, "5<enter>");
    let area = crate::view::page_area(bench.app.size);
    let click = |bench: &mut Bench, y: u16| {
        let at = ratatui::layout::Position::new(10, y);
        let (language, events) = (bench.app.language, std::sync::mpsc::channel().0);
        let orders = std::cell::RefCell::new(Vec::new());
        let workspace = bench.app.workspace.clone();
        let desk = crate::desk::Desk::new(&workspace, language, &events, [false; 2], &orders);
        crate::page_state::PageState::click(&mut bench.app.features, at, area, &desk);
    };
    let below = super::view::list_below(&bench.app.features, area);
    click(&mut bench, below.y + 3);
    assert_eq!((bench.app.features.below.line(), bench.app.features.focus), (2, super::FeaturesFocus::Below));
    let above = super::view::list_above(&bench.app.features, area);
    click(&mut bench, above.y + 2);
    assert_eq!((bench.app.features.sets.line(), bench.app.features.focus), (1, super::FeaturesFocus::Sets));
}
