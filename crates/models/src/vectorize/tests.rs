//! The vectorizer against scikit-learn, against values worked by hand, and against itself.

use std::path::Path;

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::ModelFile;
use inkstone_text::{DfLimit, Segmenter, TokenizerParams};

#[derive(Deserialize)]
struct Case {
    params: VectorizerParams,
    /// The texts, where they are not those of all cases.
    #[serde(default)]
    docs: Vec<String>,
    #[serde(alias = "words")]
    terms: Vec<String>,
    #[serde(default)]
    idf: Vec<f64>,
    rows: Vec<Vec<(u32, f64)>>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(default)]
    docs: Vec<String>,
    cases: Vec<Case>,
}

fn time(day: i64) -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 1, 2).unwrap().and_hms_opt(9, 30, 0).unwrap() + TimeDelta::days(day)
}

/// A vectorizer of words between spaces, and its analyzer.
fn fit(docs: &[impl AsRef<str>], params: &VectorizerParams) -> anyhow::Result<(Vectorizer, Analyzer)> {
    let analyzer = Analyzer::new(params, None)?;
    if !params.learns() {
        return Ok((Vectorizer::hashing(params)?, analyzer));
    }
    let mut counts = TermCounts::new(params);
    for (doc, day) in docs.iter().zip(0..) {
        counts.add(&analyzer, Fields::body(doc.as_ref()), Some(time(day)))?;
    }
    Ok((Vectorizer::fit(&counts, params)?, analyzer))
}

fn all(params: VectorizerParams) -> VectorizerParams {
    VectorizerParams { min_df: DfLimit::Count(1), ..params }
}

/// The row of a text by the names of its columns.
fn row(model: &(Vectorizer, Analyzer), text: &str) -> Vec<(String, f32)> {
    let row = model.0.transform(&model.1, Fields::body(text));
    row.into_iter().map(|(j, value)| (model.0.terms()[j as usize].to_string(), value)).collect()
}

#[test]
fn rows_equal_those_of_scikit_learn_and_bm25s() {
    for reference in [
        include_str!("../../../../tests/reference/bm25s/bm25.json"),
        include_str!("../../../../tests/reference/sklearn/tfidf.json"),
        include_str!("../../../../tests/reference/sklearn/vectorize.json"),
    ] {
        let reference: Reference = serde_json::from_str(reference).unwrap();
        for case in &reference.cases {
            let docs = if case.docs.is_empty() { &reference.docs } else { &case.docs };
            let (model, analyzer) = fit(docs, &case.params).unwrap();
            let what = format!("{:?}", case.params);
            assert_eq!(model.terms().iter().map(|t| t.to_string()).collect::<Vec<_>>(), case.terms, "{what}");
            assert!(case.idf.iter().zip(0..).all(|(idf, j)| (model.idf(j) - idf).abs() < 1e-12), "{what}");
            for (doc, expected) in docs.iter().zip(&case.rows) {
                let row = model.transform(&analyzer, Fields::body(doc));
                assert_eq!(row.len(), expected.len(), "{doc}, {what}");
                for (&(j, value), &(k, truth)) in row.iter().zip(expected) {
                    assert!(j == k && (f64::from(value) - truth).abs() < 1e-6, "{doc}: {value} at {j}, {truth} at {k}");
                }
            }
        }
    }
}

#[test]
fn the_textbook_formula_and_the_log_count_are_as_by_hand() {
    let docs = ["增长 增长 回购", "增长 减持", "减持 问询", "中标 其他"];
    let model =
        fit(&docs, &all(VectorizerParams { formula: Formula::Textbook, ..VectorizerParams::default() })).unwrap();
    // 增长 is in 2 of 4 documents and is 2 of 4 tokens here; the unknown word counts in the length.
    let expected = [("回购", 0.25 * 2f64.ln()), ("增长", 0.5 * (4.0f64 / 3.0).ln())];
    assert_eq!(row(&model, "增长 增长 回购 未见"), expected.map(|(t, v)| (t.to_owned(), v as f32)));
    let model =
        fit(&docs, &all(VectorizerParams { formula: Formula::LogCount, ..VectorizerParams::default() })).unwrap();
    assert_eq!(row(&model, "增长 增长"), [("增长".to_owned(), 3f64.ln() as f32)]);
}

#[test]
fn words_characters_and_pairs_of_words_are_counted_as_by_hand() {
    let counted = |row: &[(&str, f32)]| row.iter().map(|&(term, value)| (term.to_owned(), value)).collect::<Vec<_>>();
    let characters = fit(&["自 然 语 言 处 理"], &all(VectorizerParams::preset(Preset::Onehot))).unwrap();
    assert_eq!(characters.0.terms().len(), 6);
    assert_eq!(row(&characters, "语 语"), counted(&[("语", 1.0)]));
    let docs = ["John likes to watch movies Mary likes movies too", "John also likes to watch football games"];
    let bags = fit(&docs, &all(VectorizerParams::preset(Preset::Bow))).unwrap();
    assert_eq!(bags.0.terms().len(), 10);
    let first =
        [("John", 1.0), ("Mary", 1.0), ("likes", 2.0), ("movies", 2.0), ("to", 1.0), ("too", 1.0), ("watch", 1.0)];
    assert_eq!(row(&bags, docs[0]), counted(&first));
    let params = VectorizerParams { ngram_range: (2, 2), ..VectorizerParams::preset(Preset::Bow) };
    let pairs = fit(&docs, &all(params)).unwrap();
    assert_eq!(pairs.0.terms().len(), 12);
    let second = ["John also", "also likes", "football games", "likes to", "to watch", "watch football"];
    assert_eq!(row(&pairs, docs[1]), counted(&second.map(|term| (term, 1.0))));
}

#[test]
fn bm25_is_as_by_hand() {
    // Lengths 4, 2, 3; mean 3. 回购 is in 2 of 3 documents: idf = ln(1 + 1.5 / 2.5) = ln 1.6; 增长 in 1: ln(1 + 2.5 / 1.5) = ln(8/3).
    let docs = ["回购 回购 增长 公司", "公司 回购", "公司 减持 公司"];
    let model = fit(&docs, &all(VectorizerParams::preset(Preset::Bm25))).unwrap();
    let weights = row(&model, docs[0]);
    // k1 (1 - b + b len / mean) = 1.2 (0.25 + 0.75 x 4 / 3) = 1.5.
    let by_hand = [
        ("公司", (1.0f64 + 0.5 / 3.5).ln() * 2.2 / 2.5),
        ("回购", 1.6f64.ln() * 4.4 / 3.5),
        ("增长", (8.0f64 / 3.0).ln() * 2.2 / 2.5),
    ];
    for ((term, weight), (expected, value)) in weights.iter().zip(by_hand) {
        assert!(term == expected && (f64::from(*weight) - value).abs() < 1e-6, "{term}: {weight}, not {value}");
    }
    let flat = VectorizerParams { b: 0.0, k1: 0.0, ..VectorizerParams::preset(Preset::Bm25) };
    assert_eq!(row(&fit(&docs, &all(flat)).unwrap(), docs[0])[1].1, 1.6f64.ln() as f32, "without k1 only idf is left");
}

#[test]
fn words_of_titles_are_columns_of_their_own_and_keep_to_their_parts_of_speech() {
    let params =
        VectorizerParams { title_features: 1, max_features: 2, ..VectorizerParams::preset(Preset::EventWords) };
    let params = all(params);
    let segmenter = Segmenter::new(&TokenizerParams::default(), Path::new("")).unwrap();
    let analyzer = Analyzer::new(&params, Some(segmenter)).unwrap();
    let docs = [("公司回购股份", "公司回购股份，回购价格提高。"), ("股东减持", "股东减持股份。"), ("公司回购", "")];
    let mut counts = TermCounts::new(&params);
    for (title, body) in docs {
        counts.add(&analyzer, Fields { title, body }, None).unwrap();
    }
    let model = Vectorizer::fit(&counts, &params).unwrap();
    // Titles: 公司 and 回购 twice each, and 公 comes before 回; bodies: 回购 and 股份 twice.
    assert_eq!(model.terms().iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["title:公司", "回购", "股份"]);
    let fields = Fields { title: "公司回购", body: "公司回购，回购股份" };
    let by_hand = [2f64.ln() as f32, 3f64.ln() as f32, 2f64.ln() as f32];
    assert_eq!(model.transform(&analyzer, fields).iter().map(|e| e.1).collect::<Vec<_>>(), by_hand);
    assert!(model.transform(&analyzer, Fields::body("公司，公司")).is_empty());
}

#[test]
fn no_ngram_reaches_from_the_title_into_the_body() {
    let params = all(VectorizerParams { ngram_range: (2, 2), formula: Formula::Count, ..VectorizerParams::default() });
    let analyzer = Analyzer::new(&params, None).unwrap();
    let mut counts = TermCounts::new(&params);
    counts.add(&analyzer, Fields { title: "甲 乙", body: "丙 丁" }, None).unwrap();
    let model = Vectorizer::fit(&counts, &params).unwrap();
    assert_eq!(model.terms().iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["丙 丁", "甲 乙"]);
}

#[test]
fn a_model_knows_its_last_document_if_that_has_a_time() {
    let (model, _) = fit(&["增长 回购", "增长 减持", "减持"], &VectorizerParams::default()).unwrap();
    assert_eq!((model.fitted_until(), model.documents()), (Some(time(2)), 3));
    let params = all(VectorizerParams::default());
    let analyzer = Analyzer::new(&params, None).unwrap();
    let mut counts = TermCounts::new(&params);
    counts.add(&analyzer, Fields::body("增长"), None).unwrap();
    assert_eq!(Vectorizer::fit(&counts, &params).unwrap().fitted_until(), None);
}

#[test]
fn what_leaves_no_column_is_named_with_the_way_out() {
    let error_of = |docs: &[&str], params: &VectorizerParams| match fit(docs, params) {
        Ok(_) => String::new(),
        Err(error) => format!("{error:#}"),
    };
    let default = VectorizerParams::default();
    assert!(error_of(&[], &default).contains("no words to choose from in 0 documents"), "{}", error_of(&[], &default));
    assert!(error_of(&["", " "], &default).contains("no words to choose from in 2 documents"));
    let one = error_of(&["增长 回购"], &default);
    assert!(one.contains("1 documents") && one.contains("lower min_df"), "{one}");
    let bad = |params: VectorizerParams| error_of(&["增长"], &params);
    assert!(bad(VectorizerParams { ngram_range: (2, 1), ..default.clone() }).contains("ngram_range = [2, 1]"));
    assert!(bad(VectorizerParams { b: f64::NAN, ..default.clone() }).contains("feature.tfidf.b: NaN"));
    assert!(bad(VectorizerParams { k1: f64::NAN, ..default.clone() }).contains("feature.tfidf.k1: NaN"));
    assert!(bad(VectorizerParams { buckets: 8, ..default.clone() }).contains("count, binary or log-count"));
    let hashing = VectorizerParams { title_features: 5, ..VectorizerParams::preset(Preset::Hashing) };
    assert!(bad(hashing).contains("title_features"));
}

#[test]
fn a_limit_is_a_count_or_a_share_by_its_point() {
    let params: VectorizerParams =
        toml::from_str("min_df = 3\nmax_df = 0.5\nnorm = \"none\"\nngram_range = [1, 2]").unwrap();
    assert_eq!((params.min_df, params.max_df, params.norm), (DfLimit::Count(3), DfLimit::Share(0.5), Norm::None));
    let default = VectorizerParams::default();
    assert_eq!(toml::from_str::<VectorizerParams>(&toml::to_string(&default).unwrap()).unwrap(), default);
}

#[test]
fn the_parts_of_an_explanation_are_the_row() {
    let docs = ["增长 回购", "增长 减持"];
    let (model, analyzer) = fit(&docs, &all(VectorizerParams::default())).unwrap();
    let fields = Fields::body("增长 回购 回购 未见");
    let explained = model.explain(&analyzer, fields);
    let row: Vec<f32> = model.transform(&analyzer, fields).into_iter().map(|e| e.1).collect();
    assert_eq!(explained.terms.iter().map(|part| part.value as f32).collect::<Vec<_>>(), row);
    let repurchase = explained.terms.iter().find(|part| part.token == "回购").unwrap();
    let idf = (3.0f64 / 2.0).ln() + 1.0;
    let norm = (1.0 + 4.0 * idf * idf).sqrt();
    assert_eq!(repurchase.detail, [("count", 2.0), ("df", 1.0), ("idf", idf), ("norm", norm)]);
    assert!((repurchase.value - 2.0 * idf / norm).abs() < 1e-15);
    let (hashed, analyzer) = fit(&docs, &VectorizerParams::preset(Preset::Hashing)).unwrap();
    assert!(hashed.explain(&analyzer, fields).terms.iter().all(|part| part.token.starts_with('#')));
}

/// Documents of a few words, so that they meet again.
fn corpora() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec!["增长", "回购", "etf", "减持", "a", "净利润", "。"]);
    let doc = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    prop::collection::vec(doc, 1..10)
}

fn any_params() -> impl Strategy<Value = VectorizerParams> {
    let formula = prop::sample::select(vec![Formula::Sklearn, Formula::Bm25, Formula::Count, Formula::Textbook]);
    let unit = prop::sample::select(vec![Unit::Word, Unit::Char]);
    (formula, unit, 1usize..3, 0usize..3, 0usize..9).prop_map(|(formula, analyzer, shortest, more, max_features)| {
        let ngram_range = (shortest, shortest + more);
        all(VectorizerParams { formula, analyzer, ngram_range, max_features, ..VectorizerParams::default() })
    })
}

proptest! {
    #[test]
    fn parts_merged_in_any_order_and_the_file_give_the_same_model(docs in corpora(), params in any_params()) {
        prop_assume!(docs.iter().any(|doc| doc.split(' ').filter(|w| !w.is_empty()).count() >= params.ngram_range.0));
        let all_at_once = fit(&docs, &params).unwrap();
        let mut merged = TermCounts::new(&params);
        for doc in docs.iter().rev() {
            let mut one = TermCounts::new(&params);
            one.add(&all_at_once.1, Fields::body(doc), Some(time(docs.len() as i64 - 1))).unwrap();
            merged.merge(&one).unwrap();
        }
        let merged = Vectorizer::fit(&merged, &params).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        all_at_once.0.save(&a, &"words").unwrap();
        merged.save(&b, &"words").unwrap();
        prop_assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
        let read = Vectorizer::read(&ModelFile::open(&a).unwrap()).unwrap();
        for doc in docs.iter().map(String::as_str).chain(["回购 未见 增长"]) {
            let row = all_at_once.0.transform(&all_at_once.1, Fields::body(doc));
            prop_assert_eq!(&row, &merged.transform(&all_at_once.1, Fields::body(doc)));
            prop_assert_eq!(&row, &read.transform(&all_at_once.1, Fields::body(doc)));
        }
    }
}
