//! Word counts of the documents that a feature reads, without anything that was learned from them.

use anyhow::Result;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::reading::{CorpusReader, ReadDocument};
use super::{Feature, Inputs};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Csr, SpilledCsr, TITLE_TEXT};
use inkstone_text::Segmenter;

/// Counts of words, a row a document of the corpus, part after part; a document that is not read has none.
#[derive(Default)]
pub struct Counts {
    pub counts: Csr,
    /// By column, true for a word of titles, where words of titles are counted apart.
    pub titles: Vec<bool>,
    /// By document, true if it is read and something of it is kept.
    pub read: Vec<bool>,
}

/// Gives each different term a number, in the order in which terms come. The fit of a model decides which of them count.
#[derive(Default)]
pub(crate) struct TermNumbers {
    pub(crate) words: FxHashMap<String, u32>,
    /// By number, true for a word of titles, where words of titles are counted apart.
    pub(crate) titles: Vec<bool>,
}

impl TermNumbers {
    /// The numbers of a document's terms.
    pub(crate) fn number(&mut self, terms: Vec<(String, bool)>) -> Vec<u32> {
        let number = |(term, title): (String, bool)| {
            let next = self.words.len() as u32;
            let id = *self.words.entry(term).or_insert(next);
            if id == next {
                self.titles.push(title);
            }
            id
        };
        terms.into_iter().map(number).collect()
    }
}

/// The analyzer of a feature whose model chooses its words as it learns.
pub(crate) fn analyzer(feature: &Feature, segmenter: &Segmenter) -> Result<Analyzer> {
    feature.tfidf.check()?;
    ensure!(
        feature.tfidf.learns(),
        "特征 {:?}：学习型模型要选词，而哈希后的词没有名称；请设置 tfidf.buckets = 0",
        "feature {:?}: a model that learns chooses its words, and hashed ones have no names; set tfidf.buckets = 0",
        feature.name
    );
    Analyzer::new(&feature.tfidf, Some(segmenter.clone()))
}

/// The terms of a document, each with true if it is a word of the title that is counted apart.
pub(crate) fn terms_of(document: &ReadDocument, feature: &Feature, analyzer: &Analyzer) -> Vec<(String, bool)> {
    let mut terms = Vec::new();
    let fields = document.fields().unwrap_or_default();
    analyzer.for_each_term(fields, &feature.tfidf, |term, title| {
        terms.push((if title { format!("{TITLE_TEXT}{term}") } else { term.to_owned() }, title));
    });
    terms
}

/// Counts the words of a feature whose model weighs words. Progress is counted in documents.
pub fn counts(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<Counts> {
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let analyzer = analyzer(feature, &reader.segmenter)?;
    let mut counts = SpilledCsr::within(inputs.clean.folder())?;
    let (mut numbers, mut read) = (TermNumbers::default(), Vec::new());
    reader.for_each_part(|documents| {
        let terms: Vec<Vec<(String, bool)>> =
            ctx.install(|| documents.par_iter().map(|document| terms_of(document, feature, &analyzer)).collect());
        for (document, terms) in documents.iter().zip(terms) {
            read.push(document.text.is_some());
            counts.push_counts(&mut numbers.number(terms))?;
        }
        Ok(ctx.advance(documents.len() as u64)?)
    })?;
    Ok(Counts { counts: counts.finish()?, titles: numbers.titles, read })
}
