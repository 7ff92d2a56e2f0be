//! Ranking by BM25 as of a time, by the nearest vectors, and by both.

use std::cmp::Ordering;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::index::SearchIndex;
use super::segment::Posting;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Preset, VectorizerParams};

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const FUSION: f64 = 60.0;

/// A document and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Number of the document in the corpus.
    pub number: u32,
    pub score: f64,
}

/// A term of a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryTerm {
    pub term: String,
    /// Documents known at the time that have the term.
    pub documents: u64,
    /// Inverse document frequency at the time.
    pub idf: f64,
}

/// The ranking of the documents that have a term of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankedByTerms {
    pub terms: Vec<QueryTerm>,
    /// The best first; equal ones in the order of the corpus.
    pub best: Vec<Ranked>,
    /// Documents with at least one of the terms.
    pub found: u64,
    /// Documents known at the time.
    pub known: u64,
    /// Documents left out because they came later.
    pub later: u64,
}

/// The postings of a query's terms in one segment, of documents known at the time.
struct Counted {
    postings: Vec<Vec<Posting>>,
    known: u64,
    later: u64,
    length: u64,
}

impl SearchIndex {
    /// Ranks documents by BM25 with `k1` = 1.2 and `b` = 0.75, as `train bm25` weighs terms. The number of documents, their mean length and
    /// the number of documents that have a term are counted over the documents published at `until` or before.
    pub fn by_terms(&self, query: &str, until: Option<NaiveDateTime>, most: usize, ctx: &Ctx) -> Result<RankedByTerms> {
        self.by_terms_with(&VectorizerParams::preset(Preset::Bm25), query, until, most, ctx)
    }

    /// [`SearchIndex::by_terms`] with other parameters of BM25.
    pub(super) fn by_terms_with(
        &self,
        params: &VectorizerParams,
        query: &str,
        until: Option<NaiveDateTime>,
        most: usize,
        ctx: &Ctx,
    ) -> Result<RankedByTerms> {
        // A term that stands twice in the query counts twice.
        let mut terms: Vec<(String, f64)> = Vec::new();
        self.segmenter.for_each_term(query, |term| match terms.iter_mut().find(|(known, _)| *known == *term) {
            Some((_, times)) => *times += 1.0,
            None => terms.push((term.into_owned(), 1.0)),
        });
        ensure!(
            !terms.is_empty(),
            "查询 {query:?} 中没有词：标点、停用词与数字不参与检索（[tokenizer]）",
            "the query {query:?} has no words: punctuation, stopwords and numbers are not searched ([tokenizer])"
        );
        let until = until.map(|time| time.and_utc().timestamp_micros());
        let is_known = |time: i64| until.is_none_or(|until| time <= until);
        let count = |segment: &super::segment::Segment| -> Result<Counted> {
            ctx.check()?;
            let (mut known, mut length) = (0, 0);
            for row in (0..segment.len()).filter(|row| is_known(segment.time(*row))) {
                known += 1;
                length += u64::from(segment.length(row));
            }
            let postings = terms.iter().map(|(term, _)| {
                let mut postings = segment.postings(term);
                postings.retain(|(row, _)| is_known(segment.time(*row as usize)));
                postings
            });
            Ok(Counted { postings: postings.collect(), known, later: segment.len() as u64 - known, length })
        };
        let counted: Vec<Counted> = ctx.install(|| self.segments.par_iter().map(count).collect::<Result<_>>())?;
        let sum = |figure: fn(&Counted) -> u64| counted.iter().map(figure).sum::<u64>();
        let (known, later) = (sum(|counted| counted.known), sum(|counted| counted.later));
        let frequencies: Vec<u64> =
            (0..terms.len()).map(|i| counted.iter().map(|counted| counted.postings[i].len() as u64).sum()).collect();
        let weighting = params.weighting(known, sum(|counted| counted.length), frequencies.iter().copied());
        let score = |(part, counted): (usize, &Counted)| {
            let segment = &self.segments[part];
            let mut scores: FxHashMap<u32, f64> = FxHashMap::default();
            for (column, (postings, (_, times))) in counted.postings.iter().zip(&terms).enumerate() {
                for &(row, count) in postings {
                    let length = f64::from(segment.length(row as usize));
                    let weight = weighting.weight(column as u32, count as f32, length);
                    *scores.entry(row).or_default() += times * weight;
                }
            }
            let start = self.starts[part];
            let ranked = scores.into_iter().map(|(row, score)| Ranked { number: start + row, score });
            let mut ranked: Vec<Ranked> = ranked.collect();
            let found = ranked.len() as u64;
            keep_best(&mut ranked, most);
            (ranked, found)
        };
        let scored: Vec<(Vec<Ranked>, u64)> = ctx.install(|| counted.par_iter().enumerate().map(score).collect());
        let found = scored.iter().map(|(_, found)| found).sum();
        let mut best: Vec<Ranked> = scored.into_iter().flat_map(|(ranked, _)| ranked).collect();
        keep_best(&mut best, most);
        let terms = terms.into_iter().zip(frequencies).enumerate().map(|(i, ((term, _), documents))| QueryTerm {
            term,
            documents,
            idf: weighting.idf_of(i),
        });
        Ok(RankedByTerms { terms: terms.collect(), best, found, known, later })
    }
}

fn order(a: &Ranked, b: &Ranked) -> Ordering {
    b.score.total_cmp(&a.score).then(a.number.cmp(&b.number))
}

/// Keeps the best `most`, the best first.
fn keep_best(ranked: &mut Vec<Ranked>, most: usize) {
    if most == 0 {
        return ranked.clear();
    }
    if ranked.len() > most {
        ranked.select_nth_unstable_by(most - 1, order);
        ranked.truncate(most);
    }
    ranked.sort_unstable_by(order);
}

/// Reciprocal rank fusion: the sum of 1 / (60 + rank) over the rankings, ranks from 1.
pub(super) fn fused(rankings: [&[Ranked]; 2], most: usize) -> Vec<Ranked> {
    let mut scores: FxHashMap<u32, f64> = FxHashMap::default();
    for ranking in rankings {
        for (rank, ranked) in (1..).zip(ranking) {
            *scores.entry(ranked.number).or_default() += 1.0 / (FUSION + f64::from(rank));
        }
    }
    let mut fused: Vec<Ranked> = scores.into_iter().map(|(number, score)| Ranked { number, score }).collect();
    keep_best(&mut fused, most);
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_two_lists_are_fused_as_by_hand() {
        let ranking =
            |numbers: &[u32]| -> Vec<Ranked> { numbers.iter().map(|&number| Ranked { number, score: 0.0 }).collect() };
        let fused = fused([&ranking(&[7, 3, 5]), &ranking(&[5, 9, 7])], 3);
        let expected = [(7, 1.0 / 61.0 + 1.0 / 63.0), (5, 1.0 / 63.0 + 1.0 / 61.0), (3, 1.0 / 62.0)];
        for (ranked, (number, score)) in fused.iter().zip([expected[1], expected[0], expected[2]]) {
            assert!((ranked.score - score).abs() < 1e-15, "{fused:?}, {number}");
        }
        assert_eq!(fused.iter().map(|ranked| ranked.number).collect::<Vec<_>>(), [5, 7, 3], "equal ones by number");
    }
}
