//! Word counts of the documents that a feature reads, without anything that was learned from them.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::reading::{Reading, read_part};
use super::{Feature, Inputs};
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Csr, SpilledCsr, TITLE_TEXT};
use inkstone_text::Segmenter;

/// Counts of words, a row a document of the corpus, part after part; a document that is not read has none.
pub struct Counts {
    /// The counts.
    pub counts: Csr,
    /// Whether each number is of a word of titles, where they are counted apart.
    pub titles: Vec<bool>,
    /// Which documents are read, and something of them kept.
    pub read: Vec<bool>,
}

/// Numbers for terms, in the order in which they come. Mere numbers: which words count is decided by whoever fits a model.
#[derive(Default)]
pub(super) struct Numbers {
    pub(super) words: FxHashMap<String, u32>,
    /// Whether each number is of a word of titles, where they are counted apart.
    pub(super) titles: Vec<bool>,
}

impl Numbers {
    /// The numbers of a document's terms.
    pub(super) fn of(&mut self, terms: Vec<(String, bool)>) -> Vec<u32> {
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

/// The analyzer of a feature whose words are chosen by what is learned.
pub(super) fn analyzer(feature: &Feature, segmenter: &Segmenter) -> Result<Analyzer> {
    feature.tfidf.check()?;
    ensure!(
        feature.tfidf.learns(),
        "feature {:?}: a model that learns chooses its words, and hashed ones have no names; set tfidf.buckets = 0",
        feature.name
    );
    Analyzer::new(&feature.tfidf, Some(segmenter.clone()))
}

/// The terms of what is read of a document.
pub(super) fn terms_of(reading: &Reading, feature: &Feature, analyzer: &Analyzer) -> Vec<(String, bool)> {
    let mut terms = Vec::new();
    let fields = reading.fields().unwrap_or_default();
    analyzer.for_each_term(fields, &feature.tfidf, |term, title| {
        terms.push((if title { format!("{TITLE_TEXT}{term}") } else { term.to_owned() }, title));
    });
    terms
}

/// Counts the words of a feature whose model weighs words. Progress is counted in documents.
pub fn counts(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<Counts> {
    let segmenter = Segmenter::new(inputs.tokenizer, inputs.base)?;
    let analyzer = analyzer(feature, &segmenter)?;
    let mut counts = SpilledCsr::within(inputs.clean.folder())?;
    let (mut numbers, mut read) = (Numbers::default(), Vec::new());
    for part in 0..inputs.clean.files()?.len() {
        let readings = read_part(inputs, part, feature, &segmenter, ctx)?;
        let terms: Vec<Vec<(String, bool)>> =
            ctx.install(|| readings.par_iter().map(|reading| terms_of(reading, feature, &analyzer)).collect());
        for (reading, terms) in readings.iter().zip(terms) {
            read.push(reading.text.is_some());
            counts.push_counts(&mut numbers.of(terms))?;
        }
        ctx.advance(readings.len() as u64)?;
    }
    Ok(Counts { counts: counts.finish()?, titles: numbers.titles, read })
}
