//! Keywords against `jieba.analyse`, and what every ranking must keep.

use std::borrow::Cow;
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Reference {
    idf: serde_json::Map<String, serde_json::Value>,
    choice: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    words: Vec<(String, String)>,
    cut: Vec<String>,
    textrank: Vec<(String, f64)>,
    tfidf: Vec<(String, f64)>,
    tfidf_of_choice: Vec<(String, f64)>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/reference/jieba/keywords.json")).unwrap()
}

/// The words of two characters and more, with these parts of speech; all of them when `tags` is empty.
fn candidates<'t>(words: impl IntoIterator<Item = (&'t str, &'t str)>, tags: &[&str]) -> Candidates<'t> {
    let candidate = |(word, tag): (&'t str, &'t str)| {
        let wanted = tags.is_empty() || tags.contains(&tag);
        (wanted && word.trim().chars().count() >= 2).then(|| (Cow::from(word), tag))
    };
    Candidates::new(words.into_iter().map(candidate))
}

/// The same keywords with the same scores; equal scores may stand in either order.
fn assert_same(ours: &[Keyword<'_>], theirs: &[(String, f64)]) {
    assert_eq!(ours.len(), theirs.len(), "{ours:?}");
    let mut last = f64::INFINITY;
    for keyword in ours {
        let (_, score) = theirs.iter().find(|(word, _)| word == keyword.word).expect(keyword.word);
        assert!((keyword.score - score).abs() < 1e-12, "{}: {} here, {score} there", keyword.word, keyword.score);
        assert!(keyword.score <= last);
        last = keyword.score;
    }
}

#[test]
fn textrank_equals_that_of_jieba_on_the_same_words() {
    let params = TextRankParams { rule: Rule::Jieba, ..TextRankParams::default() };
    let mut compared = 0;
    for row in reference().rows {
        let words = candidates(row.words.iter().map(|(w, t)| (w.as_str(), t.as_str())), &["ns", "n", "vn", "v"]);
        let ranking = textrank(&words, &params);
        let best = words.best(&ranking.scores(), usize::MAX);
        assert_same(&best, &row.textrank);
        compared += best.len();
    }
    assert_eq!(compared, 160);
}

#[test]
fn tfidf_equals_that_of_jieba_with_the_same_idf() {
    let reference = reference();
    let table: String = reference.idf.iter().map(|(word, idf)| format!("{word} {idf}\n")).collect();
    let idf = Idf::of_table(&table, Path::new("idf.txt")).unwrap();
    let choice: Vec<&str> = reference.choice.iter().map(String::as_str).collect();
    let mut compared = 0;
    for row in &reference.rows {
        let words = candidates(row.cut.iter().map(|word| (word.as_str(), "")), &[]);
        assert_same(&words.best(&idf.scores(&words), usize::MAX), &row.tfidf);
        let words = candidates(row.words.iter().map(|(w, t)| (w.as_str(), t.as_str())), &choice);
        assert_same(&words.best(&idf.scores(&words), usize::MAX), &row.tfidf_of_choice);
        compared += row.tfidf.len() + row.tfidf_of_choice.len();
    }
    assert_eq!(compared, 404);
}

#[test]
fn a_words_score_is_the_sum_of_what_its_neighbours_give() {
    let row = &reference().rows[0];
    for rule in [Rule::Paper, Rule::Jieba] {
        let words = candidates(row.words.iter().map(|(w, t)| (w.as_str(), t.as_str())), &["n", "v", "vn"]);
        let params = TextRankParams { rule, tolerance: 1e-12, max_iterations: 1000, ..TextRankParams::default() };
        let ranking = textrank(&words, &params);
        for keyword in words.best(&ranking.scores(), 10) {
            let explained = ranking.explain(&words, keyword.word).unwrap();
            assert_eq!(explained.score, keyword.score);
            let sum = explained.intercept + explained.rest + explained.terms.iter().map(|t| t.value).sum::<f64>();
            assert!((sum - keyword.score).abs() < 1e-12);
            assert!(rule == Rule::Jieba || explained.rest.abs() < 1e-11, "{}", explained.rest);
            assert!(!explained.terms.is_empty() && explained.terms[0].value >= explained.terms[1].value);
            assert_eq!(
                explained.terms[0].detail.iter().map(|d| d.0).collect::<Vec<_>>(),
                ["weight", "strength", "rank"]
            );
        }
        assert!(ranking.explain(&words, "未见").is_none());
    }
}

#[test]
fn a_lone_word_is_a_keyword_and_the_window_counts_places() {
    let words = candidates([("回购", "n")], &[]);
    assert_eq!(textrank(&words, &TextRankParams::default()).scores(), [1.0 - 0.85]);
    let rule = TextRankParams { rule: Rule::Jieba, ..TextRankParams::default() };
    assert_eq!(words.best(&textrank(&words, &rule).scores(), 9), [], "jieba leaves out words without an edge");
    let far = [("回购", "n"), ("的", "uj"), ("注销", "v")];
    let scores =
        |window| textrank(&candidates(far, &[]), &TextRankParams { window, ..TextRankParams::default() }).scores();
    assert_eq!(scores(2), [1.0 - 0.85; 2]);
    assert!(scores(3).iter().all(|score| (score - 1.0).abs() < 1e-5));
    let empty = Candidates::new([None]);
    assert!(textrank(&empty, &TextRankParams::default()).scores().is_empty());
    let message = |params: TextRankParams| params.validate().unwrap_err().to_string();
    assert!(message(TextRankParams { window: 1, ..TextRankParams::default() }).contains("--window 2"));
    assert!(message(TextRankParams { damping: 1.0, ..TextRankParams::default() }).contains("--damping 0.85"));
}

proptest! {
    #[test]
    fn ranks_are_positive_and_sum_to_their_number_where_no_word_is_alone(places in prop::collection::vec(prop::option::of(0usize..6), 2..60)) {
        const NAMES: [&str; 6] = ["增长", "利润", "回购", "分红", "订单", "公告"];
        let words = Candidates::new(places.iter().map(|place| place.map(|i| (NAMES[i].into(), "n"))));
        let params = TextRankParams { window: 60, tolerance: 1e-12, max_iterations: 2000, ..TextRankParams::default() };
        let scores = textrank(&words, &params).scores();
        prop_assert!(scores.iter().all(|&score| score >= 1.0 - 0.85));
        // Within a window of the whole text every word has each other word as its neighbour; rank is handed on, never lost.
        if scores.len() > 1 {
            prop_assert!((scores.iter().sum::<f64>() - scores.len() as f64).abs() < 1e-6);
        }
    }
}
