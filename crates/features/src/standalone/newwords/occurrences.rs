//! Occurrences of the chosen words, and the share of them that the tokenizer cuts whole.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use aho_corasick::AhoCorasick;
use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashSet;

use crate::standalone::Line;
use inkstone_models::NewWord;
use inkstone_text::Segmenter;

use inkstone_base::language::Word;

/// Documents on which cuts are compared.
const SAMPLE: usize = 2000;

/// Occurrences of each word, in the order of the words.
#[derive(Default)]
pub(crate) struct Occurrences {
    /// Documents with the word, and the first time of them.
    pub(crate) words: Vec<(u64, Option<NaiveDateTime>)>,
    /// The first documents with any word.
    sample: Vec<String>,
    /// True once the sample is full.
    pub(crate) sampled: Arc<AtomicBool>,
}

/// Occurrences in some documents.
pub(crate) struct ChunkOccurrences {
    /// Each word of each document once, with the document's time.
    words: Vec<(u32, Option<NaiveDateTime>)>,
    /// The first documents with any word.
    sample: Vec<String>,
}

pub(crate) fn finder(words: &[NewWord]) -> Result<AhoCorasick> {
    AhoCorasick::new(words.iter().map(|word| &word.word)).context(Word("要查找的词过多", "too many words to look for"))
}

/// Looks for the words in some documents; those with any are kept unless enough are `sampled`.
pub(crate) fn look(finder: &AhoCorasick, documents: &[Line<'_>], sampled: bool) -> ChunkOccurrences {
    let mut looked = ChunkOccurrences { words: Vec::new(), sample: Vec::new() };
    let mut found: Vec<u32> = Vec::new();
    for line in documents {
        let text = line.whole();
        found.extend(finder.find_overlapping_iter(&*text).map(|hit| hit.pattern().as_u32()));
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() && !sampled {
            looked.sample.push(text.into_owned());
        }
        looked.words.extend(found.drain(..).map(|word| (word, line.time)));
    }
    looked
}

impl Occurrences {
    pub(crate) fn new(words: usize) -> Occurrences {
        Occurrences { words: vec![(0, None); words], ..Occurrences::default() }
    }

    /// Adds the occurrences of the next documents.
    pub(crate) fn take(&mut self, looked: ChunkOccurrences) {
        for (word, time) in looked.words {
            let (documents, first) = &mut self.words[word as usize];
            *documents += 1;
            *first = match (*first, time) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        let room = SAMPLE - self.sample.len();
        self.sample.extend(looked.sample.into_iter().take(room));
        self.sampled.store(self.sample.len() == SAMPLE, Relaxed);
    }

    /// Shares of the occurrences of `words` in the sample that each of two segmenters cuts whole. Of overlapping occurrences the
    /// first counts, and of those that begin together the longest.
    pub(crate) fn cut_whole(
        &self,
        finder: &AhoCorasick,
        words: &[NewWord],
        before: &Segmenter,
        after: &Segmenter,
    ) -> (f64, f64) {
        let kept: FxHashSet<&str> = words.iter().map(|word| word.word.as_str()).collect();
        let (mut all, mut whole) = (0u64, [0u64; 2]);
        for text in &self.sample {
            let hits = finder.find_overlapping_iter(text).map(|hit| hit.range());
            let mut hits: Vec<_> = hits.filter(|range| kept.contains(&text[range.clone()])).collect();
            hits.sort_unstable_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
            let mut end = 0;
            hits.retain(|range| {
                let free = range.start >= end;
                end = if free { range.end } else { end };
                free
            });
            all += hits.len() as u64;
            for (segmenter, whole) in [before, after].into_iter().zip(&mut whole) {
                let tokens = segmenter.tokens(text);
                let is_token = |range: &&std::ops::Range<usize>| {
                    tokens
                        .binary_search_by_key(&range.start, |token| token.start)
                        .is_ok_and(|i| tokens[i].end == range.end)
                };
                *whole += hits.iter().filter(is_token).count() as u64;
            }
        }
        let share = |n: u64| n as f64 / all.max(1) as f64;
        (share(whole[0]), share(whole[1]))
    }
}
