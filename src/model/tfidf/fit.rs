//! TF-IDF on words: the vocabulary of counted documents, and weighing a document.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;

use super::{TfidfParams, Weighting};
use crate::text::Counter;

/// A fitted TF-IDF model: columns are words in code point order, as in scikit-learn.
#[derive(Clone, Debug)]
pub struct Tfidf {
    pub(super) words: Vec<Box<str>>,
    pub(super) columns: FxHashMap<Box<str>, u32>,
    /// Documents with each word, in column order.
    pub(super) df: Vec<u64>,
    pub(super) documents: u64,
    pub(super) params: TfidfParams,
    pub(super) weighting: Weighting,
    pub(super) fitted_until: Option<NaiveDateTime>,
}

impl Tfidf {
    /// Chooses the vocabulary of documents that were counted with their times, and weighs it.
    pub fn fit(counter: &Counter, params: &TfidfParams) -> Result<Tfidf> {
        let mut vocabulary = counter.build(&params.vocabulary()).context("TF-IDF has no vocabulary")?;
        vocabulary.words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let df = vocabulary.words.iter().map(|(_, frequency)| frequency.documents).collect();
        let words = vocabulary.words.into_iter().map(|(word, _)| word).collect();
        Ok(Tfidf::of(words, df, vocabulary.documents, params.clone(), vocabulary.last_seen))
    }

    /// Puts a model together from what determines it.
    pub(super) fn of(
        words: Vec<Box<str>>,
        df: Vec<u64>,
        documents: u64,
        params: TfidfParams,
        fitted_until: Option<NaiveDateTime>,
    ) -> Tfidf {
        let weighting = params.weighting(documents, df.iter().copied());
        let columns = words.iter().cloned().zip(0..).collect();
        Tfidf { words, columns, df, documents, params, weighting, fitted_until }
    }

    /// The row of a document: columns ascending, zero weights left out. Words outside the vocabulary count in its
    /// length only.
    pub fn transform(&self, tokens: &[&str]) -> Vec<(u32, f32)> {
        let mut ids: Vec<u32> = tokens.iter().filter_map(|&word| self.columns.get(word).copied()).collect();
        ids.sort_unstable();
        let mut row: Vec<(u32, f32)> = ids.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).collect();
        self.weighting.apply(&mut row, tokens.len() as f64);
        row.retain(|&(_, value)| value != 0.0);
        row
    }

    /// The words, in column order.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// The column of a word.
    pub fn column(&self, word: &str) -> Option<u32> {
        self.columns.get(word).copied()
    }

    /// The inverse document frequency of each word, in column order.
    pub fn idf(&self) -> &[f64] {
        &self.weighting.idf
    }

    /// The inverse document frequency of a word that is in no document, by the same formula.
    pub fn idf_of_unknown(&self) -> f64 {
        self.params.weighting(self.documents, std::iter::once(0)).idf[0]
    }

    /// Documents that the model was fitted on.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The last time of the documents that the model was fitted on; none when they had no times.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDate, TimeDelta};
    use serde::Deserialize;

    use super::*;
    use crate::model::tfidf::{Formula, Norm};
    use crate::text::DfLimit;

    #[derive(Deserialize)]
    struct Reference {
        docs: Vec<String>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        params: TfidfParams,
        words: Vec<String>,
        idf: Vec<f64>,
        rows: Vec<Vec<(u32, f64)>>,
    }

    fn time(day: i64) -> NaiveDateTime {
        NaiveDate::from_ymd_opt(2024, 1, 2).unwrap().and_hms_opt(9, 30, 0).unwrap() + TimeDelta::days(day)
    }

    fn cut(doc: &str) -> Vec<&str> {
        doc.split(' ').collect()
    }

    fn fit(docs: &[&str], params: &TfidfParams) -> Tfidf {
        let mut counter = Counter::default();
        docs.iter().zip(0..).for_each(|(doc, day)| counter.add(cut(doc), Some(time(day))));
        Tfidf::fit(&counter, params).unwrap()
    }

    #[test]
    fn rows_equal_those_of_scikit_learn() {
        let reference: Reference =
            serde_json::from_str(include_str!("../../../tests/reference/sklearn/tfidf.json")).unwrap();
        let docs: Vec<&str> = reference.docs.iter().map(String::as_str).collect();
        for case in reference.cases {
            let model = fit(&docs, &case.params);
            assert_eq!(
                model.words().iter().map(|w| w.to_string()).collect::<Vec<_>>(),
                case.words,
                "{:?}",
                case.params
            );
            assert!(model.weighting.idf.iter().zip(&case.idf).all(|(a, b)| (a - b).abs() < 1e-12));
            for (doc, expected) in docs.iter().zip(&case.rows) {
                let row = model.transform(&cut(doc));
                assert_eq!(row.len(), expected.len(), "{doc}");
                for (&(j, value), &(k, truth)) in row.iter().zip(expected) {
                    assert!(j == k && (f64::from(value) - truth).abs() < 1e-6, "{doc}: {value} at {j}, {truth} at {k}");
                }
            }
        }
    }

    #[test]
    fn the_textbook_formula_and_the_log_count_are_as_by_hand() {
        let docs = ["增长 增长 回购", "增长 减持", "减持 问询", "中标 其他"];
        let params = TfidfParams { formula: Formula::Textbook, min_df: DfLimit::Count(1), ..TfidfParams::default() };
        let model = fit(&docs, &params);
        // 增长 is in 2 of 4 documents and is 2 of 4 tokens here; the unknown word counts in the length.
        let row = model.transform(&["增长", "增长", "回购", "未见"]);
        let expected = [(model.columns["回购"], 0.25 * 2f64.ln()), (model.columns["增长"], 0.5 * (4.0f64 / 3.0).ln())];
        assert_eq!(row, expected.map(|(j, v)| (j, v as f32)));
        let model = fit(&docs, &TfidfParams { formula: Formula::LogCount, ..params });
        assert_eq!(model.transform(&["增长", "增长"]), [(model.columns["增长"], 3f64.ln() as f32)]);
    }

    #[test]
    fn a_model_knows_its_last_document_if_that_has_a_time() {
        let model = fit(&["增长 回购", "增长 减持", "减持"], &TfidfParams::default());
        assert_eq!(model.fitted_until(), Some(time(2)));
        let mut counter = Counter::default();
        let params = TfidfParams { min_df: DfLimit::Count(1), ..TfidfParams::default() };
        assert!(Tfidf::fit(&counter, &params).is_err());
        counter.add(["增长"], None);
        assert_eq!(Tfidf::fit(&counter, &params).unwrap().fitted_until(), None);
    }

    #[test]
    fn a_limit_is_a_count_or_a_share_by_its_point() {
        let params: TfidfParams = toml::from_str("min_df = 3\nmax_df = 0.5\nnorm = \"none\"").unwrap();
        assert_eq!((params.min_df, params.max_df, params.norm), (DfLimit::Count(3), DfLimit::Share(0.5), Norm::None));
        let default = TfidfParams::default();
        assert_eq!(toml::from_str::<TfidfParams>(&toml::to_string(&default).unwrap()).unwrap(), default);
    }
}
