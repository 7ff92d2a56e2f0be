use anyhow::Result;
use chrono::NaiveDate;
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use serde_json::json;

use super::*;
use inkstone_base::data::{Document as Text, Key};
use inkstone_base::job::Ctx;
use inkstone_store::{RowKind, Rows, SetSpec, Store};
use inkstone_tables::corpus::{Parts, documents_to_frame};

const NONE: f32 = f32::NAN;

/// A corpus of two parts: five documents of January and March 2024, the fourth a repeat of the first; and a store.
fn project() -> (tempfile::TempDir, Parts, Store) {
    let dir = tempfile::tempdir().unwrap();
    let clean = Parts::new(dir.path().join("clean"));
    let at = |month, day| NaiveDate::from_ymd_opt(2024, month, day).unwrap().and_hms_opt(9, 0, 0).unwrap();
    let times = [at(1, 2), at(1, 3), at(3, 1), at(3, 2), at(3, 2)];
    let titles = ["瑞禾电气中标", "启澜生物回购", "辰光股份减持", "瑞禾电气中标（转）", "Q3 RESULTS 𠮷"];
    let docs: Vec<Text> = (0..5)
        .map(|i| Text {
            doc_id: format!("news/{i}"),
            title: titles[i].into(),
            published_at: times[i],
            ..Text::default()
        })
        .collect();
    for (part, docs) in docs.chunks(3).enumerate() {
        let firsts = docs.iter().map(|d| if d.doc_id == "news/3" { "news/0".to_owned() } else { d.doc_id.clone() });
        let mut frame = documents_to_frame(docs).unwrap();
        let firsts = Series::new("first_mention".into(), firsts.collect::<Vec<_>>()).into_column();
        frame.hstack_mut(&[firsts]).unwrap();
        clean.write(part, &mut frame).unwrap();
    }
    let store = Store::open(&dir.path().join("store")).unwrap();
    (dir, clean, store)
}

fn finish(store: &Store, kind: RowKind, batches: Vec<Rows>, meta: serde_json::Value) -> Key {
    let spec = SetSpec { name: "set".into(), kind, params: json!({"of": meta}), fitted_until: None };
    let writer = store.writer(&spec).unwrap();
    let mut order = Vec::new();
    for rows in batches {
        let key = Key::of_json(&rows.keys);
        writer.put(key, &rows).unwrap();
        order.push(key);
    }
    writer.finish(&order, meta).unwrap().id()
}

fn keys(from: u8, n: u8) -> Vec<Key> {
    (from..from + n).map(|i| Key::of(&[i])).collect()
}

fn dense(store: &Store) -> Key {
    let first = Rows::dense(keys(0, 3), 2, vec![1.0, 0.0, 0.0, 7.0, NONE, NONE]);
    let second = Rows::dense(keys(3, 2), 2, vec![2.0, 0.1, 1.0, 0.0]);
    finish(store, RowKind::Dense { dim: 2 }, vec![first, second], json!({"columns": ["tone", "words"]}))
}

fn sparse(store: &Store) -> Key {
    let first = Rows::sparse(keys(0, 3), vec![0, 2, 2, 3], vec![0, 2, 2], vec![3.0, 4.0, 1.0]);
    let second = Rows::sparse(keys(3, 2), vec![0, 2, 3], vec![0, 2, 0], vec![3.0, 4.0, 1.0]);
    finish(store, RowKind::Sparse, vec![first, second], json!({"vocabulary": ["回购", "减持", "中标"]}))
}

fn looked(store: &Store, clean: &Parts, id: Key) -> Health {
    health(&store.set(&id).unwrap().unwrap(), clean, &|_| (), &Ctx::new(1, 1).unwrap()).unwrap()
}

fn near(store: &Store, clean: &Parts, id: Key, query: &Query) -> Result<Neighbours> {
    neighbours(&store.set(&id)?.unwrap(), clean, query, &|_| (), &Ctx::new(2, 1)?)
}

#[test]
fn the_columns_of_dense_rows_are_as_by_hand() {
    let (_dir, clean, store) = project();
    let health = looked(&store, &clean, dense(&store));
    assert_eq!((health.rows, health.filled, health.columns, health.sampled), (5, 4, 2, 5));
    let tone = &health.told[0];
    assert_eq!((&tone.name, tone.missing, tone.zeros), (&ColumnName::Named("tone".into()), 1, 1));
    // 1, 0, 2, 1: mean 1, variance 2/3; sorted 0, 1, 1, 2.
    assert_eq!((tone.mean, tone.min, tone.max, tone.quartiles), (1.0, 0.0, 2.0, [0.75, 1.0, 1.25]));
    assert!((tone.std - (2f64 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!(tone.bars.iter().sum::<u32>(), 4);
    assert_eq!((health.repeats, health.compared, health.constant, health.empty), (1, 4, 0, 0));
    let month = |month, documents, filled| Month { year: 2024, month, documents, filled };
    assert_eq!(health.months, [month(1, 2, 2), month(3, 3, 2)]);
    assert_eq!(health.strays, 0);
}

#[test]
fn columns_that_never_change_or_never_are_there_are_counted() {
    let (_dir, clean, store) = project();
    let data = [2.0, NONE].repeat(3);
    let id = finish(&store, RowKind::Dense { dim: 2 }, vec![Rows::dense(keys(0, 3), 2, data)], json!({}));
    let health = looked(&store, &clean, id);
    assert_eq!((health.constant, health.empty), (1, 1));
    assert!(health.told[0].is_constant() && health.told[1].mean.is_nan() && health.told[1].bars.is_empty());
    assert_eq!(health.told[1].name, ColumnName::Named("#2".into()));
}

#[test]
fn sparse_columns_count_what_is_not_said_as_zero() {
    let (_dir, clean, store) = project();
    let health = looked(&store, &clean, sparse(&store));
    assert_eq!((health.rows, health.filled, health.columns), (5, 4, 2));
    let names: Vec<&ColumnName> = health.told.iter().map(|column| &column.name).collect();
    let named = |name: &str| ColumnName::Named(name.into());
    assert_eq!(names, [&ColumnName::Entries, &ColumnName::Length, &named("回购"), &named("中标")]);
    // 3, 0, 0, 3, 1: mean 1.4, squares about it 2 * 1.6^2 + 2 * 1.4^2 + 0.4^2 = 9.2.
    let word = &health.told[2];
    assert_eq!((word.zeros, word.min, word.max), (2, 0.0, 3.0));
    assert!((word.mean - 1.4).abs() < 1e-12 && (word.std - (9.2f64 / 4.0).sqrt()).abs() < 1e-12, "{word:?}");
    assert_eq!(health.told[1].max, 5.0, "the length of (3, 4)");
    assert_eq!(health.repeats, 1);
}

#[test]
fn a_set_that_the_corpus_has_outgrown_says_how_many_rows_have_no_document() {
    let (_dir, clean, store) = project();
    let id = dense(&store);
    clean.truncate(1).unwrap();
    let health = looked(&store, &clean, id);
    assert_eq!((health.strays, health.months[1].documents), (2, 1));
    let query = Query { place: None, measure: NearMeasure::Cosine, past_only: false, most: 3 };
    let refused = format!("{:#}", near(&store, &clean, id, &query).unwrap_err());
    assert!(refused.contains("run the pipeline"), "{refused}");
}

#[test]
fn the_nearest_rows_come_first_and_never_from_the_future() {
    let (_dir, clean, store) = project();
    let id = dense(&store);
    let ask =
        |place, measure, past_only| near(&store, &clean, id, &Query { place, measure, past_only, most: 9 }).unwrap();
    let places = |found: &Neighbours| found.found.iter().map(|near| near.document.place).collect::<Vec<_>>();
    // (2, 0.1) of part 1 lies near (1, 0), of which there are two; that of part 0 was there before.
    let found = ask(Some((1, 0)), NearMeasure::Cosine, false);
    assert_eq!(places(&found), [(0, 0), (1, 1), (0, 1)]);
    assert!(found.found[0].repeats && !found.found[1].repeats);
    assert_eq!((found.compared, found.later), (4, 0));
    let past = ask(Some((1, 0)), NearMeasure::Cosine, true);
    assert_eq!(places(&past), [(0, 0), (0, 1)], "what came at the same time was not there before");
    assert_eq!((past.compared, past.later), (3, 1));
    let by_distance = ask(Some((1, 1)), NearMeasure::Euclid, false);
    assert_eq!(by_distance.found[0].value, 0.0);
    assert_eq!(places(&by_distance)[0], (0, 0));
    let latest = ask(None, NearMeasure::Cosine, true);
    assert_eq!(latest.query.map(|query| query.place), Some((1, 0)), "of two of that time the one that stands first");
    assert_eq!(ask(Some((0, 0)), NearMeasure::Cosine, true).nothing, Some(Nothing::Alone), "it is the first of all");
    assert_eq!(ask(Some((0, 2)), NearMeasure::Cosine, false).nothing, Some(Nothing::NoRow));
}

#[test]
fn sparse_rows_have_neighbours_too() {
    let (_dir, clean, store) = project();
    let id = sparse(&store);
    let ask =
        |measure| near(&store, &clean, id, &Query { place: Some((0, 0)), measure, past_only: false, most: 2 }).unwrap();
    let found = ask(NearMeasure::Cosine);
    assert_eq!(found.found.iter().map(|near| near.document.place).collect::<Vec<_>>(), [(1, 0), (0, 2)]);
    assert!((found.found[0].value - 1.0).abs() < 1e-6 && (found.found[1].value - 0.8).abs() < 1e-6);
    let found = ask(NearMeasure::Euclid);
    assert_eq!(found.found[0].value, 0.0);
    // (3, 4) to (0, 1): the root of 18.
    assert!((found.found[1].value - 18f32.sqrt()).abs() < 1e-5, "{found:?}");
}

#[test]
fn documents_are_found_by_title_and_by_id() {
    let (_dir, clean, _store) = project();
    let ctx = Ctx::new(1, 1).unwrap();
    let found = find(&clean, "瑞禾电气", 1, &ctx).unwrap();
    assert_eq!((found.total, found.documents.len(), found.documents[0].place), (2, 1, (0, 0)));
    assert_eq!(find(&clean, "q3 results 𠮷", 9, &ctx).unwrap().documents[0].place, (1, 1));
    assert_eq!(find(&clean, "NEWS/2", 9, &ctx).unwrap().documents[0].title, "辰光股份减持");
    assert_eq!(find(&clean, "无此文", 9, &ctx).unwrap(), Found::default());
}

#[test]
fn a_set_without_rows_is_looked_at_all_the_same() {
    let (_dir, clean, store) = project();
    let none = Rows::dense(Vec::new(), 2, Vec::new());
    let id = finish(&store, RowKind::Dense { dim: 2 }, vec![none], json!({}));
    let health = looked(&store, &clean, id);
    assert_eq!((health.rows, health.told.len()), (0, 0));
    let query = Query { place: None, measure: NearMeasure::Cosine, past_only: true, most: 3 };
    assert_eq!(
        near(&store, &clean, id, &query).map(|found| found.nothing).map_err(|e| e.to_string()),
        Ok(Some(Nothing::NoRows))
    );
}

#[test]
fn scores_are_read_part_by_part_and_of_a_column_that_is_there() {
    let (_dir, _, store) = project();
    let id = dense(&store);
    let ctx = Ctx::new(1, 0).unwrap();
    let read = |column| scores(&store.set(&id).unwrap().unwrap(), column, &ctx);
    let found = read(1).unwrap();
    assert_eq!((found.len(), &found[0][..2], found[1].as_slice()), (2, &[0.0, 7.0][..], &[0.1, 0.0][..]));
    assert!(found[0][2].is_nan());
    assert_eq!(read(0).unwrap()[1], [2.0, 1.0]);
    let error = read(2).unwrap_err().to_string();
    assert!(error.contains("has no column 3"), "{error}");
}
