//! Counts of terms over a stream of documents, which are not kept.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

use super::analysis::LONGEST;
use super::terms::{NONE, TITLE, Terms};
use super::{Analyzer, Fields, VectorizerParams};
use inkstone_text::Frequency;

use inkstone_base::language::Word;

/// The place of a term in the row of the document that is being counted. Every token asks for one, so they are small and apart
/// from the frequencies, which only distinct terms touch.
#[derive(Clone, Copy, Debug, Default)]
struct RowPlace {
    /// Number of the last document with the term, from 1, cut to 32 bits.
    last: u32,
    /// Place of the term in that document's row.
    at: u32,
}

/// Counts of terms and of documents with them. Memory holds the vocabulary; counts of parts of a corpus are merged in
/// any order to the same model.
#[derive(Clone, Debug)]
pub struct TermCounts {
    pub(super) terms: Terms,
    marks: Vec<RowPlace>,
    frequencies: Vec<Frequency>,
    /// Shortest and longest n-gram.
    orders: (usize, usize),
    titles_apart: bool,
    documents: u64,
    length: u64,
    last_seen: Option<NaiveDateTime>,
    /// Numbers and counts of the terms of the last document.
    row: Vec<(u32, u32)>,
    /// Units of that document, for analysis that runs apart from counting.
    row_length: u32,
}

const FULL: Word = Word(
    "不同的词超过 4 GB：请提高样本上的 min-df、缩短 n 元组，或哈希词项（buckets）",
    "more than 4 GB of distinct words: raise min-df on a sample, shorten the n-grams, or hash terms (buckets)",
);

impl TermCounts {
    /// No documents yet; terms will be as the parameters say.
    pub fn new(params: &VectorizerParams) -> TermCounts {
        TermCounts {
            terms: Terms::default(),
            marks: Vec::new(),
            frequencies: Vec::new(),
            orders: params.ngram_range,
            titles_apart: params.title_features > 0,
            documents: 0,
            length: 0,
            last_seen: None,
            row: Vec::new(),
            row_length: 0,
        }
    }

    /// Counts a document that became known at `time`; `None` when it has no time.
    pub fn add(&mut self, analyzer: &Analyzer, fields: Fields<'_>, time: Option<NaiveDateTime>) -> Result<()> {
        self.documents += 1;
        self.last_seen = self.last_seen.max(time);
        self.row.clear();
        self.row_length = 0;
        let mut full = false;
        for (text, title) in [(fields.title, self.titles_apart), (fields.body, false)] {
            if self.orders == (1, 1) && !title {
                analyzer.for_each(text, |unit| match self.terms.add_unit(unit.as_bytes()) {
                    Some(id) => self.count(id),
                    None => full = true,
                });
            } else {
                let mut open = [NONE; LONGEST + 1];
                analyzer.for_each(text, |unit| full |= self.add_grams(unit, &mut open, title).is_none());
            }
        }
        self.length += u64::from(self.row_length);
        self.frequencies.resize(self.terms.len(), Frequency::default());
        for &(id, count) in &self.row {
            let frequency = &mut self.frequencies[id as usize];
            frequency.count += u64::from(count);
            frequency.documents += 1;
        }
        (!full).then_some(()).context(FULL)
    }

    /// Counts the n-grams that end with a unit; `open[k]` is the one of `k` units that ends before it. `None` when the table
    /// of terms is full.
    fn add_grams(&mut self, unit: &str, open: &mut [u32; LONGEST + 1], title: bool) -> Option<()> {
        let (shortest, longest) = self.orders;
        let unit = self.terms.add_unit(unit.as_bytes())?;
        for k in (1..=longest).rev() {
            open[k] = match (k, open[k - 1]) {
                (1, _) => unit,
                (_, NONE) => NONE,
                (_, prefix) => self.terms.add_gram(prefix, unit)?,
            };
            if k >= shortest && open[k] != NONE {
                let term = if title { self.terms.add_gram(TITLE, open[k])? } else { open[k] };
                self.count(term);
            }
        }
        Some(())
    }

    #[inline]
    fn count(&mut self, id: u32) {
        if id as usize >= self.marks.len() {
            self.marks.resize(self.terms.len(), RowPlace::default());
        }
        let (mark, document) = (&mut self.marks[id as usize], self.documents as u32);
        self.row_length += 1;
        // A mark of 2^32 documents ago is told by the row, which is checked besides.
        match self.row.get_mut(mark.at as usize) {
            Some(entry) if mark.last == document && entry.0 == id => entry.1 += 1,
            _ => {
                *mark = RowPlace { last: document, at: self.row.len() as u32 };
                self.row.push((id, 1));
            }
        }
    }

    /// The last document's terms, as numbers that [`TermCounts::merge`] and the fit translate, with their counts; and its
    /// length in terms.
    pub fn row(&self) -> (&[(u32, u32)], u32) {
        (&self.row, self.row_length)
    }

    /// Takes in the counts of other documents, and gives the number that each term there has here.
    pub fn merge(&mut self, other: &TermCounts) -> Result<Vec<u32>> {
        let here = self.terms.take_in(&other.terms).context(FULL)?;
        self.frequencies.resize(self.terms.len(), Frequency::default());
        for (&id, theirs) in here.iter().zip(&other.frequencies) {
            let ours = &mut self.frequencies[id as usize];
            ours.count += theirs.count;
            ours.documents += theirs.documents;
        }
        self.documents += other.documents;
        self.length += other.length;
        self.last_seen = self.last_seen.max(other.last_seen);
        Ok(here)
    }

    /// True if no document was counted.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Terms of all documents, each as often as it occurs.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The last time of the documents counted.
    pub fn last_seen(&self) -> Option<NaiveDateTime> {
        self.last_seen
    }

    /// Counts of each term, by number. A term that only leads to others occurs in no document.
    pub(super) fn frequencies(&self) -> impl Iterator<Item = Frequency> {
        self.frequencies.iter().copied().chain(std::iter::repeat(Frequency::default())).take(self.terms.len())
    }
}
