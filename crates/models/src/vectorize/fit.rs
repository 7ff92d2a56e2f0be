//! The fitted vectorizer: its columns, and the row of a document.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::analysis::LONGEST;
use super::terms::{NONE, TITLE, Terms};
use super::{Analyzer, Fields, TermCounts, VectorizerParams, Weighting, hashing};
use inkstone_text::Frequency;

use inkstone_base::language::Word;

/// A fitted vectorizer. Columns are terms in code point order, as in scikit-learn; or buckets that terms are hashed into.
#[derive(Clone, Debug)]
pub struct Vectorizer {
    pub(super) params: VectorizerParams,
    pub(super) vocabulary: TermVocabulary,
    pub(super) weighting: Weighting,
    pub(super) documents: u64,
    /// Terms in all documents, unkept ones included.
    pub(super) length: u64,
    pub(super) fitted_until: Option<NaiveDateTime>,
}

/// The columns of a vectorizer; empty when terms are hashed.
#[derive(Clone, Debug, Default)]
pub(super) struct TermVocabulary {
    /// Text of each column.
    pub(super) names: Vec<Box<str>>,
    /// Documents with each column's term.
    pub(super) df: Vec<u64>,
    /// The columns' terms, and those that lead to them.
    pub(super) terms: Terms,
    /// The column of each term, [`NONE`] for those that only lead to others.
    pub(super) columns: Vec<u32>,
}

impl Vectorizer {
    /// Chooses the vocabulary of counted documents and weighs it.
    pub fn fit(counts: &TermCounts, params: &VectorizerParams) -> Result<Vectorizer> {
        Ok(Vectorizer::fit_columns(counts, params)?.0)
    }

    /// [`Vectorizer::fit`], and the column of each term of `counts` by its number, `NONE` where it has none.
    pub fn fit_columns(counts: &TermCounts, params: &VectorizerParams) -> Result<(Vectorizer, Vec<u32>)> {
        params.check()?;
        let mut columns = vec![NONE; counts.terms.len()];
        let mut vocabulary = TermVocabulary::default();
        if params.learns() {
            let kept = choose(counts, params).context(Word("向量化没有词表", "no vocabulary for the vectorizer"))?;
            for (column, (name, id)) in kept.into_iter().enumerate() {
                columns[id as usize] = column as u32;
                vocabulary.names.push(name);
            }
            let frequencies: Vec<Frequency> = counts.frequencies().collect();
            vocabulary.df = vec![0; vocabulary.names.len()];
            let mut of_column = vec![NONE; vocabulary.names.len()];
            for (id, &column) in columns.iter().enumerate().filter(|(_, column)| **column != NONE) {
                vocabulary.df[column as usize] = frequencies[id].documents;
                of_column[column as usize] = id as u32;
            }
            let mut spelled = Vec::new();
            for (column, id) in (0..).zip(of_column) {
                spelled.clear();
                counts.terms.spelling(id, &mut spelled);
                vocabulary.spell(
                    column,
                    spelled.iter().map(|&unit| match unit {
                        TITLE => None,
                        unit => Some(counts.terms.unit_text(unit)),
                    }),
                )?;
            }
        }
        let (documents, length, fitted_until) = (counts.documents(), counts.length(), counts.last_seen());
        Ok((Vectorizer::from_parts(params.clone(), vocabulary, documents, length, fitted_until), columns))
    }

    /// A vectorizer that hashes terms: it needs to see no document.
    pub fn hashing(params: &VectorizerParams) -> Result<Vectorizer> {
        params.check()?;
        inkstone_base::ensure!(
            !params.learns(),
            "有词表的向量化须在文档上拟合；请设置 buckets 以哈希",
            "a vectorizer with a vocabulary is fitted on documents; set buckets to hash"
        );
        Ok(Vectorizer::from_parts(params.clone(), TermVocabulary::default(), 0, 0, None))
    }

    pub(super) fn from_parts(
        params: VectorizerParams,
        vocabulary: TermVocabulary,
        documents: u64,
        length: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Vectorizer {
        let weighting = params.weighting(documents, length, vocabulary.df.iter().copied());
        Vectorizer { params, vocabulary, weighting, documents, length, fitted_until }
    }

    /// The row of a document: columns ascending, zero weights left out.
    pub fn transform(&self, analyzer: &Analyzer, fields: Fields<'_>) -> Vec<(u32, f32)> {
        let (mut row, length) = self.count(analyzer, fields);
        self.weigh(&mut row, length);
        row
    }

    /// Counts to weights; weights of zero are left out.
    pub fn weigh(&self, row: &mut Vec<(u32, f32)>, length: u32) {
        self.weighting.apply(row, f64::from(length));
        row.retain(|&(_, value)| value != 0.0);
    }

    /// The counts of a document's known terms, columns ascending, and its length in terms.
    pub fn count(&self, analyzer: &Analyzer, fields: Fields<'_>) -> (Vec<(u32, f32)>, u32) {
        if !self.params.learns() {
            return hashing::count(analyzer, fields, &self.params);
        }
        let (mut columns, mut length) = (Vec::new(), 0);
        for (text, title) in [(fields.title, self.params.title_features > 0), (fields.body, false)] {
            let mut open = [NONE; LONGEST + 1];
            // Units so far, up to the longest n-gram: an unknown unit ends n-grams all the same.
            let mut before = 0;
            analyzer.for_each(text, |unit| {
                before = (before + 1).min(self.params.ngram_range.1);
                length += self.vocabulary.find_grams(unit, &mut open, before, title, &self.params, &mut columns);
            });
        }
        columns.sort_unstable();
        (columns.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).collect(), length)
    }

    pub fn params(&self) -> &VectorizerParams {
        &self.params
    }

    pub fn width(&self) -> usize {
        if self.params.learns() { self.vocabulary.names.len() } else { self.params.buckets }
    }

    /// The terms, in column order; none when they are hashed.
    pub fn terms(&self) -> &[Box<str>] {
        &self.vocabulary.names
    }

    /// The column of a term as [`Vectorizer::terms`] has it.
    pub fn column(&self, term: &str) -> Option<u32> {
        self.vocabulary.names.binary_search_by(|name| name.as_ref().cmp(term)).ok().map(|column| column as u32)
    }

    /// The inverse document frequency of a column; 1 where the formula has none.
    pub fn idf(&self, column: u32) -> f64 {
        self.weighting.idf.get(column as usize).copied().unwrap_or(1.0)
    }

    /// The inverse document frequency of a term that no document had; where the formula has none for it, that of a term
    /// that one document had.
    pub(crate) fn idf_of_unknown(&self) -> f64 {
        let n = self.documents as f64;
        let idf = self.params.idf(n, 0.0);
        if idf.is_finite() { idf } else { self.params.idf(n, 1.0) }
    }

    /// Documents that it was fitted on.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The last time of the documents that it was fitted on; none when they had no times, or none was needed.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }
}

impl TermVocabulary {
    /// Makes a term of these units a column; `None` stands for the mark of titles.
    pub(super) fn spell<'t>(&mut self, column: u32, mut units: impl Iterator<Item = Option<&'t str>>) -> Result<()> {
        let full = "the vocabulary of a fitted vectorizer fits its table";
        let mut first = units.next().context(Word("词项应有单位", "a term has units"))?;
        let title = first.is_none();
        if title {
            first = units.next().context(Word("标题的词项应有单位", "a title's term has units"))?;
        }
        let mut id = self.terms.add_unit(first.unwrap_or_default().as_bytes()).context(full)?;
        for unit in units {
            let unit = self.terms.add_unit(unit.unwrap_or_default().as_bytes()).context(full)?;
            id = self.terms.add_gram(id, unit).context(full)?;
        }
        if title {
            id = self.terms.add_gram(TITLE, id).context(full)?;
        }
        self.columns.resize(self.terms.len(), NONE);
        self.columns[id as usize] = column;
        Ok(())
    }

    /// Notes the columns of the n-grams that end with a unit, and gives how many n-grams end there, known or not.
    #[inline]
    fn find_grams(
        &self,
        unit: &str,
        open: &mut [u32; LONGEST + 1],
        before: usize,
        title: bool,
        params: &VectorizerParams,
        columns: &mut Vec<u32>,
    ) -> u32 {
        let (shortest, longest) = params.ngram_range;
        let unit = self.terms.unit(unit.as_bytes());
        for k in (1..=longest).rev() {
            open[k] = if k == 1 { unit } else { self.terms.gram(open[k - 1], unit) };
            if k >= shortest && open[k] != NONE {
                let term = if title { self.terms.gram(TITLE, open[k]) } else { open[k] };
                if let Some(&column) = self.columns.get(term as usize).filter(|column| **column != NONE) {
                    columns.push(column);
                }
            }
        }
        (before + 1).saturating_sub(shortest) as u32
    }
}

/// The terms that become columns, in the order of their text, with their numbers in `counts`.
fn choose(counts: &TermCounts, params: &VectorizerParams) -> Result<Vec<(Box<str>, u32)>> {
    let documents = counts.documents();
    let text = |id: u32| {
        let mut spelled = Vec::new();
        counts.terms.spelling(id, &mut spelled);
        if let &[unit] = &spelled[..] {
            return counts.terms.unit_text(unit).into();
        }
        let (mark, units) = spelled.split_at(usize::from(spelled[0] == TITLE));
        let units: Vec<&str> = units.iter().map(|&unit| counts.terms.unit_text(unit)).collect();
        let mark: String = mark.iter().map(|&mark| counts.terms.unit_text(mark)).collect();
        (mark + &units.join(params.joint())).into_boxed_str()
    };
    let frequencies: Vec<Frequency> = counts.frequencies().collect();
    let is_title = |i: usize| counts.terms.is_title(i as u32);
    let ids = params.select(documents, &frequencies, is_title, |i| text(i as u32))?;
    let mut kept: Vec<(Box<str>, u32)> = ids.into_par_iter().map(|id| (text(id), id)).collect();
    // Two terms of one text differ in their units ("a b" from a dictionary that has it, and "a" before "b"); numbers of
    // terms depend on which thread met them first, units do not.
    let spelled = |id: u32| {
        let mut units = Vec::new();
        counts.terms.spelling(id, &mut units);
        units.into_iter().map(|unit| counts.terms.unit_text(unit)).collect::<Vec<_>>()
    };
    kept.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| spelled(a.1).cmp(&spelled(b.1))));
    Ok(kept)
}
