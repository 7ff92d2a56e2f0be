//! Search in the clean corpus of a project: by words (BM25 over an inverted index), by the vectors of a feature, or by both.
//!
//! Nothing later than the time of the search has a part in it: later documents are not found, and the document frequencies, the number of
//! documents and their mean length are counted over the documents known at the time, so that a ranking of the past is the one that it would
//! have been then. The index keeps counts alone; the inverse document frequency of a term is computed when it is asked for.
//!
//! Useful for: a person who looks for documents, page 1. Not for: features, which are rows of all documents.

mod index;
mod passages;
mod rank;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::inspect::nearest_to_vector;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_corpus::link::{codes_of, links_of_part};
use inkstone_store::Set;
use inkstone_tables::corpus::{self, Parts, join_codes};
use inkstone_tables::frames;
use inkstone_tables::project::Project;

pub use index::{IndexState, SearchIndex};
pub use passages::Passage;
pub use rank::{QueryTerm, Ranked, RankedByTerms};

/// Documents of each ranking that are fused, at least.
const FUSED: usize = 1000;

/// The way in which documents are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum RankedBy {
    /// The words of the query, by BM25.
    #[default]
    Bm25,
    /// The cosine between the vectors of query and document.
    Dense,
    /// Both, by reciprocal rank fusion.
    Both,
}

#[derive(Clone, Debug)]
pub struct SearchQuery<'q> {
    pub text: &'q str,
    pub by: RankedBy,
    /// Documents published later have no part in the search.
    pub until: Option<NaiveDateTime>,
    /// Documents at the most.
    pub most: usize,
    /// Sentences of a document at the most.
    pub sentences: usize,
}

/// The vectors of a feature, with that of the query.
pub struct DenseQuery<'d> {
    pub set: &'d Set<'d>,
    pub vector: Vec<f32>,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundDocument {
    pub rank: usize,
    pub score: f64,
    /// Place in the ranking by words, from 1; none where it was not found by words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_by_bm25: Option<usize>,
    /// Place in the ranking by vectors, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_by_dense: Option<usize>,
    pub doc_id: String,
    pub published_at: NaiveDateTime,
    pub codes: String,
    pub title: String,
    pub sentences: Vec<Passage>,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchAnswer {
    pub terms: Vec<QueryTerm>,
    /// Documents that have a word of the query.
    pub documents_with_words: u64,
    /// Documents known at the time.
    pub documents_known: u64,
    /// Documents left out because they came later.
    pub documents_later: u64,
    pub found: Vec<FoundDocument>,
}

impl SearchIndex {
    /// Answers a query. `dense` is needed by rankings that use vectors.
    pub fn search(
        &self,
        project: &Project,
        query: &SearchQuery<'_>,
        dense: Option<&DenseQuery<'_>>,
        ctx: &Ctx,
    ) -> Result<SearchAnswer> {
        let most = if query.by == RankedBy::Both { query.most.max(FUSED) } else { query.most };
        let by_terms = self.by_terms(query.text, query.until, most, ctx);
        // By meaning alone a query may consist of words that are not searched.
        let by_terms = if query.by == RankedBy::Dense { by_terms.unwrap_or_default() } else { by_terms? };
        let clean = project.clean();
        let mut by_vectors = Vec::new();
        if query.by != RankedBy::Bm25 {
            let dense =
                dense.context(Word("按向量检索需要一个向量特征", "a search by vectors needs a feature of vectors"))?;
            let near = nearest_to_vector(dense.set, &clean, &dense.vector, query.until, most, ctx)?;
            let ranked = |((part, row), cosine): ((usize, usize), f32)| {
                let start = self.starts.get(part).copied().context(OUTGROWN)?;
                Ok(Ranked { number: start + row as u32, score: f64::from(cosine) })
            };
            by_vectors = near.into_iter().map(ranked).collect::<Result<Vec<Ranked>>>()?;
        }
        let best = match query.by {
            RankedBy::Bm25 => by_terms.best.clone(),
            RankedBy::Dense => by_vectors.clone(),
            RankedBy::Both => rank::fused([&by_terms.best, &by_vectors], query.most),
        };
        let mut found = self.documents(project, &best, &by_terms.terms, query.sentences, ctx)?;
        if query.by == RankedBy::Both {
            let rank =
                |ranking: &[Ranked], number| ranking.iter().position(|ranked| ranked.number == number).map(|i| i + 1);
            for (document, ranked) in found.iter_mut().zip(&best) {
                document.rank_by_bm25 = rank(&by_terms.best, ranked.number);
                document.rank_by_dense = rank(&by_vectors, ranked.number);
            }
        }
        Ok(SearchAnswer {
            terms: by_terms.terms,
            documents_with_words: by_terms.found,
            documents_known: by_terms.known,
            documents_later: by_terms.later,
            found,
        })
    }

    /// Reads the documents of a ranking, with the sentences that have words of the query.
    fn documents(
        &self,
        project: &Project,
        best: &[Ranked],
        terms: &[QueryTerm],
        sentences: usize,
        ctx: &Ctx,
    ) -> Result<Vec<FoundDocument>> {
        let mut by_part: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (at, ranked) in best.iter().enumerate() {
            let (part, row) = self.place(ranked.number);
            by_part.entry(part).or_default().push((row, at));
        }
        let (clean, links) = (project.clean(), project.links());
        let read = |(part, rows): (usize, Vec<(usize, usize)>)| {
            ctx.check()?;
            self.documents_of_part((&clean, &links), part, &rows, best, terms, sentences)
        };
        let by_part: Vec<_> = by_part.into_iter().collect();
        let parts: Vec<Vec<FoundDocument>> =
            ctx.install(|| by_part.into_par_iter().map(read).collect::<Result<_>>())?;
        let mut found: Vec<FoundDocument> = parts.into_iter().flatten().collect();
        found.sort_unstable_by_key(|document| document.rank);
        Ok(found)
    }

    fn documents_of_part(
        &self,
        (clean, links): (&Parts, &Parts),
        part: usize,
        rows: &[(usize, usize)],
        best: &[Ranked],
        terms: &[QueryTerm],
        most: usize,
    ) -> Result<Vec<FoundDocument>> {
        let frame =
            frames::read_parquet(&clean.path(part), Some(&["doc_id", "title", "body", "published_at", "codes"]))?;
        let text = |name: &str| corpus::texts_of(&frame, name);
        let [ids, titles, bodies, codes] = [text("doc_id")?, text("title")?, text("body")?, text("codes")?];
        let times = corpus::times_of(&frame, "published_at")?;
        // Before the corpus is linked a document has the codes of its source.
        let linked = links.path(part).exists().then(|| links_of_part(&links.path(part))).transpose()?;
        let document = |&(row, at): &(usize, usize)| {
            let id = ids.get(row).context(OUTGROWN)?;
            let (title, body) = (titles.get(row).unwrap_or_default(), bodies.get(row).unwrap_or_default());
            let own = codes.get(row).unwrap_or_default().to_owned();
            Ok(FoundDocument {
                rank: at + 1,
                score: best[at].score,
                rank_by_bm25: None,
                rank_by_dense: None,
                doc_id: id.to_owned(),
                published_at: times.get(row).copied().flatten().context(OUTGROWN)?,
                codes: linked.as_ref().map_or(own, |links| join_codes(&codes_of(links, row as u32))),
                title: title.to_owned(),
                sentences: passages::passages(title, body, terms, &self.segmenter, most),
            })
        };
        rows.iter().map(document).collect()
    }
}

const OUTGROWN: Word = Word("检索时语料有变：请再次检索", "the corpus changed during the search: search again");
