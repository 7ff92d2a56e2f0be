//! A document's words as TextRank and TF-IDF see them: which are candidates, and where they stand.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

/// The candidates of a document, by number in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Candidates<'t> {
    words: Vec<Cow<'t, str>>,
    tags: Vec<&'t str>,
    counts: Vec<u64>,
    /// The candidate at each place of the document; none where a word is no candidate.
    places: Vec<Option<u32>>,
}

impl<'t> Candidates<'t> {
    /// Takes the document's words in order: a candidate with its part of speech, or none for a word that only keeps others
    /// apart. A word keeps the part of speech of its first occurrence.
    pub fn new(document: impl IntoIterator<Item = Option<(Cow<'t, str>, &'t str)>>) -> Candidates<'t> {
        let mut numbers: FxHashMap<Cow<'t, str>, u32> = FxHashMap::default();
        let mut words = Candidates::default();
        for word in document {
            let number = word.map(|(word, tag)| {
                let number = match numbers.get(&word) {
                    Some(&number) => number,
                    None => {
                        let number = words.words.len() as u32;
                        words.words.push(word.clone());
                        words.tags.push(tag);
                        words.counts.push(0);
                        numbers.insert(word, number);
                        number
                    }
                };
                words.counts[number as usize] += 1;
                number
            });
            words.places.push(number);
        }
        words
    }

    /// The different candidates.
    pub fn words(&self) -> &[Cow<'t, str>] {
        &self.words
    }

    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The candidate at each place.
    pub(super) fn places(&self) -> &[Option<u32>] {
        &self.places
    }

    /// The number of a candidate.
    pub(super) fn number(&self, word: &str) -> Option<usize> {
        self.words.iter().position(|other| other == word)
    }

    /// The candidates by score, the highest first; equal ones in the order of the document, unranked ones
    /// (negative infinity) not at all.
    pub fn best(&self, scores: &[f64], top: usize) -> Vec<Keyword<'_>> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.truncate(top);
        order.retain(|&i| scores[i] > f64::NEG_INFINITY);
        let keyword =
            |i: usize| Keyword { word: &self.words[i], tag: self.tags[i], count: self.counts[i], score: scores[i] };
        order.into_iter().map(keyword).collect()
    }
}

/// A keyword of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyword<'w> {
    pub word: &'w str,
    /// Part of speech; empty where it is unknown.
    pub tag: &'w str,
    /// Occurrences of a word as a candidate.
    pub count: u64,
    pub score: f64,
}
