//! TF-IDF on words: counting a stream of documents, choosing the vocabulary, and weighing a document.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Term, TfidfParams, Weighting};
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

    /// The row of a document: columns ascending, zero weights left out. Words outside the vocabulary count in its length only.
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
