//! TF-IDF on words: counting a stream of documents, choosing the vocabulary, and weighing a document.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Term, TfidfParams, Weighting};
use crate::data::Key;
use crate::disk;

/// Document frequencies and counts of all words of a stream of documents; the documents themselves are not kept.
#[derive(Clone, Debug, Default)]
pub struct TermCounts {
    terms: FxHashMap<Box<str>, Term>,
    documents: u64,
    until: Option<NaiveDateTime>,
}

impl TermCounts {
    /// Counts one document, known at `known_at`.
    pub fn add(&mut self, tokens: &[&str], known_at: NaiveDateTime) {
        let mut sorted = tokens.to_vec();
        sorted.sort_unstable();
        for run in sorted.chunk_by(|a, b| a == b) {
            if !self.terms.contains_key(run[0]) {
                self.terms.insert(run[0].into(), Term::default());
            }
            let term = self.terms.get_mut(run[0]).expect("the word was put in above");
            term.df += 1;
            term.count += run.len() as u64;
        }
        self.documents += 1;
        self.until = self.until.max(Some(known_at));
    }

    /// Adds what another counter saw. The order of merging changes nothing.
    pub fn merge(&mut self, other: TermCounts) {
        for (word, theirs) in other.terms {
            let term = self.terms.entry(word).or_default();
            term.df += theirs.df;
            term.count += theirs.count;
        }
        self.documents += other.documents;
        self.until = self.until.max(other.until);
    }

    /// Documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Distinct words.
    pub fn words(&self) -> usize {
        self.terms.len()
    }
}

/// A fitted TF-IDF model: columns are words in code point order, as in scikit-learn.
#[derive(Clone, Debug)]
pub struct Tfidf {
    saved: Saved,
    columns: FxHashMap<Box<str>, u32>,
    weighting: Weighting,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    params: TfidfParams,
    documents: u64,
    fitted_until: NaiveDateTime,
    words: Vec<Box<str>>,
    df: Vec<u32>,
}

impl Tfidf {
    /// Chooses the vocabulary and weighs it.
    pub fn fit(counts: &TermCounts, params: &TfidfParams) -> Result<Tfidf> {
        let fitted_until = counts.until.context("TF-IDF cannot be fitted on no documents")?;
        let mut terms: Vec<(&Box<str>, Term)> = counts.terms.iter().map(|(word, term)| (word, *term)).collect();
        terms.sort_unstable_by_key(|(word, _)| *word);
        let stats: Vec<Term> = terms.iter().map(|(_, term)| *term).collect();
        let kept = params.select(counts.documents, &stats, |i| i)?;
        let words = kept.iter().map(|&i| terms[i as usize].0.clone()).collect();
        let df = kept.iter().map(|&i| stats[i as usize].df).collect();
        Ok(Tfidf::of(Saved { params: params.clone(), documents: counts.documents, fitted_until, words, df }))
    }

    fn of(saved: Saved) -> Tfidf {
        let columns = saved.words.iter().cloned().zip(0..).collect();
        let weighting = saved.params.weighting(saved.documents, saved.df.iter().copied());
        Tfidf { saved, columns, weighting }
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
        &self.saved.words
    }

    /// The column of a word.
    pub fn column(&self, word: &str) -> Option<u32> {
        self.columns.get(word).copied()
    }

    /// The inverse document frequencies, in column order.
    pub fn idf(&self) -> &[f64] {
        self.weighting.idf()
    }

    /// Documents that the model was fitted on.
    pub fn documents(&self) -> u64 {
        self.saved.documents
    }

    /// The last time of the documents that the model was fitted on.
    pub fn fitted_until(&self) -> NaiveDateTime {
        self.saved.fitted_until
    }

    /// The key of all that a row depends on but the tokens.
    pub fn key(&self) -> Key {
        Key::of_json(&self.saved)
    }

    /// Writes the model as JSON.
    pub fn save(&self, path: &Path) -> Result<()> {
        disk::write_json(path, &self.saved)
    }

    /// Reads back [`Tfidf::save`].
    pub fn load(path: &Path) -> Result<Tfidf> {
        let saved: Saved = disk::read_json(path)?;
        ensure!(
            saved.words.len() == saved.df.len() && saved.words.is_sorted(),
            "{} is damaged: {} words, {} document frequencies; fit the model again",
            path.display(),
            saved.words.len(),
            saved.df.len()
        );
        Ok(Tfidf::of(saved))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{NaiveDate, TimeDelta};
    use proptest::prelude::*;

    use super::*;
    use crate::model::tfidf::{DfLimit, Formula, Norm};

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
        let mut counts = TermCounts::default();
        docs.iter().zip(0..).for_each(|(doc, day)| counts.add(&cut(doc), time(day)));
        Tfidf::fit(&counts, params).unwrap()
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
            assert!(model.idf().iter().zip(&case.idf).all(|(a, b)| (a - b).abs() < 1e-12));
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
        let expected = [
            (model.column("回购").unwrap(), 0.25 * 2f64.ln()),
            (model.column("增长").unwrap(), 0.5 * (4.0f64 / 3.0).ln()),
        ];
        assert_eq!(row, expected.map(|(j, v)| (j, v as f32)));
        let model = fit(&docs, &TfidfParams { formula: Formula::LogCount, ..params });
        assert_eq!(model.transform(&["增长", "增长"]), [(model.column("增长").unwrap(), 3f64.ln() as f32)]);
    }

    #[test]
    fn a_model_knows_its_last_document_and_survives_the_disk() {
        let model = fit(&["增长 回购", "增长 减持", "减持"], &TfidfParams { norm: Norm::L1, ..TfidfParams::default() });
        assert_eq!((model.fitted_until(), model.documents()), (time(2), 3));
        let path = tempfile::tempdir().unwrap().path().join("tfidf.json");
        model.save(&path).unwrap();
        let read = Tfidf::load(&path).unwrap();
        assert_eq!((read.fitted_until(), read.key()), (model.fitted_until(), model.key()));
        assert_eq!(read.transform(&["增长", "减持"]), model.transform(&["增长", "减持"]));
    }

    #[test]
    fn a_limit_is_a_count_or_a_share_by_its_point() {
        let params: TfidfParams = toml::from_str("min_df = 3\nmax_df = 0.5\nnorm = \"none\"").unwrap();
        assert_eq!((params.min_df, params.max_df, params.norm), (DfLimit::Count(3), DfLimit::Share(0.5), Norm::None));
        let default = TfidfParams::default();
        assert_eq!(toml::from_str::<TfidfParams>(&toml::to_string(&default).unwrap()).unwrap(), default);
    }

    #[test]
    fn limits_that_leave_nothing_are_named() {
        let mut counts = TermCounts::default();
        assert!(Tfidf::fit(&counts, &TfidfParams::default()).is_err());
        counts.add(&["增长"], time(0));
        let message = Tfidf::fit(&counts, &TfidfParams::default()).unwrap_err().to_string();
        assert!(message.contains("lower min_df"), "{message}");
        let params = TfidfParams { min_df: DfLimit::Share(1.5), ..TfidfParams::default() };
        assert!(Tfidf::fit(&counts, &params).unwrap_err().to_string().contains("min_df = 1.5"));
    }

    proptest! {
        #[test]
        fn counting_in_pieces_changes_nothing(
            docs in prop::collection::vec(prop::collection::vec(0usize..6, 0..8), 1..12), at in 0usize..12
        ) {
            let words = ["增长", "下滑", "回购", "减持", "中标", "问询"];
            let add = |counts: &mut TermCounts, range: std::ops::Range<usize>| {
                for i in range {
                    let tokens: Vec<&str> = docs[i].iter().map(|&w| words[w]).collect();
                    counts.add(&tokens, time(i as i64));
                }
            };
            let at = at.min(docs.len());
            let [mut whole, mut left, mut right] = [(); 3].map(|()| TermCounts::default());
            add(&mut whole, 0..docs.len());
            add(&mut left, 0..at);
            add(&mut right, at..docs.len());
            right.merge(left);
            let params = TfidfParams { min_df: DfLimit::Count(1), max_features: 3, ..TfidfParams::default() };
            match (Tfidf::fit(&whole, &params), Tfidf::fit(&right, &params)) {
                (Ok(a), Ok(b)) => {
                    prop_assert_eq!(a.words(), b.words());
                    prop_assert_eq!(a.idf(), b.idf());
                    prop_assert_eq!(a.fitted_until(), b.fitted_until());
                }
                (a, b) => prop_assert!(a.is_err() && b.is_err()),
            }
        }
    }
}
