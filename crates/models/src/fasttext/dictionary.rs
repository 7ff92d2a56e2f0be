//! Words, labels, and the rows of the input matrix that a text or a word has: its words, their character n-grams, its word
//! n-grams.
//!
//! Numbers are fastText's: words first, then labels; row `words + b` is the row of bucket b. Hashes are FNV-1a over bytes
//! that are widened with their sign, as fastText has them.

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::params::{FastTextParams, Form};

use inkstone_base::ensure;

/// The word at the end of every line.
pub const END_OF_LINE: &str = "</s>";

/// The buckets that have rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Buckets {
    /// All of them, in order.
    All,
    /// The buckets that training met, row by row; all others share one row of zeros after them, which counts as any other.
    Seen(FxHashMap<u32, u32>),
    /// The buckets that quantisation kept; others are no features.
    Pruned(FxHashMap<u32, u32>),
}

/// Words, labels, and their features.
#[derive(Clone, Debug)]
pub struct Dictionary {
    /// Words, then labels with their prefix; each the most frequent first.
    names: Vec<Box<str>>,
    counts: Vec<u64>,
    words: usize,
    /// Tokens of the text, labels and ends of lines included.
    pub(super) tokens: u64,
    numbers: FxHashMap<Box<str>, u32>,
    pub(super) buckets: Buckets,
    bucket: u32,
    minn: usize,
    maxn: usize,
    word_ngrams: usize,
    supervised: bool,
}

/// The meaning of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Feature<'t> {
    Word(&'t str),
    /// Characters of a word with its bounds `<` and `>`: where they are among the bytes of `<word>`.
    Characters(&'t str, usize, usize),
    /// Tokens of the text, the end of the line included: from, to.
    Words(usize, usize),
}

/// fastText's hash of a string.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |h, &b| (h ^ (b as i8) as u32).wrapping_mul(16_777_619))
}

impl Dictionary {
    /// Puts words and labels in order; the caller keeps those that are frequent enough, in the order that it met them.
    pub fn new(
        mut words: Vec<(Box<str>, u64)>,
        mut labels: Vec<(Box<str>, u64)>,
        tokens: u64,
        params: &FastTextParams,
    ) -> Result<Dictionary> {
        words.sort_by_key(|word| std::cmp::Reverse(word.1));
        labels.sort_by_key(|label| std::cmp::Reverse(label.1));
        let kept = words.len();
        words.append(&mut labels);
        let (names, counts) = words.into_iter().unzip();
        Dictionary::from_parts(names, counts, kept, tokens, Buckets::All, params)
    }

    /// The dictionary from the numbers of a file.
    pub(super) fn from_parts(
        names: Vec<Box<str>>,
        counts: Vec<u64>,
        words: usize,
        tokens: u64,
        buckets: Buckets,
        params: &FastTextParams,
    ) -> Result<Dictionary> {
        ensure!(
            words as u64 + u64::from(params.bucket) < 1 << 31,
            "{words} 个词与 {} 个桶过多",
            "{words} words and {} buckets are too many",
            params.bucket
        );
        let mut numbers = FxHashMap::default();
        for (name, number) in names.iter().zip(0..) {
            numbers.entry(name.clone()).or_insert(number);
        }
        let FastTextParams { bucket, minn, maxn, word_ngrams, form, .. } = *params;
        let bucket = if params.hashes() { bucket } else { 0 };
        let supervised = form == Form::Supervised;
        Ok(Dictionary { names, counts, words, tokens, numbers, buckets, bucket, minn, maxn, word_ngrams, supervised })
    }

    /// The words, the most frequent first.
    pub fn words(&self) -> &[Box<str>] {
        &self.names[..self.words]
    }

    /// The labels with their prefix, the most frequent first.
    pub fn labels(&self) -> &[Box<str>] {
        &self.names[self.words..]
    }

    pub fn word_counts(&self) -> &[u64] {
        &self.counts[..self.words]
    }

    pub fn label_counts(&self) -> &[u64] {
        &self.counts[self.words..]
    }

    /// The number of a word.
    pub fn word(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied().filter(|&n| (n as usize) < self.words)
    }

    /// The number of a label with its prefix, from 0.
    pub fn label(&self, label: &str) -> Option<u32> {
        self.numbers.get(label).and_then(|&n| n.checked_sub(self.words as u32))
    }

    /// Rows of the input matrix.
    pub(super) fn rows(&self) -> usize {
        self.words
            + match &self.buckets {
                Buckets::All => self.bucket as usize,
                Buckets::Seen(map) => map.len() + 1,
                Buckets::Pruned(map) => map.len(),
            }
    }

    /// Rows that training changes: all but the zeros that buckets share which it never meets.
    pub(super) fn trained_rows(&self) -> usize {
        self.rows() - usize::from(matches!(self.buckets, Buckets::Seen(_)))
    }

    /// Turns features as fastText numbers them into rows, while a model is trained: buckets get rows in the order in which they come.
    pub fn meet(&mut self, numbers: &mut [u32]) {
        if self.bucket == 0 {
            return;
        }
        if self.buckets == Buckets::All {
            self.buckets = Buckets::Seen(FxHashMap::default());
        }
        let Buckets::Seen(map) = &mut self.buckets else { return };
        for number in numbers {
            if let Some(bucket) = number.checked_sub(self.words as u32) {
                let next = map.len() as u32;
                *number = self.words as u32 + *map.entry(bucket).or_insert(next);
            }
        }
    }

    /// The features of a text as fastText numbers them, which [`Dictionary::meet`] turns into rows.
    pub fn numbers_of(&self, tokens: &[&str], into: &mut Vec<u32>) {
        self.each(tokens, |number, _| into.push(number));
    }

    /// The row of a feature as fastText numbers it; none: it is no feature.
    fn row(&self, number: u32) -> Option<u32> {
        let Some(bucket) = number.checked_sub(self.words as u32) else { return Some(number) };
        match &self.buckets {
            Buckets::All => Some(number),
            Buckets::Seen(map) => Some(self.words as u32 + map.get(&bucket).copied().unwrap_or(map.len() as u32)),
            Buckets::Pruned(map) => map.get(&bucket).map(|row| self.words as u32 + row),
        }
    }

    /// The rows of a text, its end of line included.
    pub fn features(&self, tokens: &[&str]) -> Vec<u32> {
        let mut rows = Vec::new();
        self.each(tokens, |number, _| rows.extend(self.row(number)));
        rows
    }

    /// The rows of a text, with the word or n-gram of each.
    pub(super) fn named_features<'t>(&self, tokens: &[&'t str]) -> Vec<(u32, Feature<'t>)> {
        let mut rows = Vec::new();
        self.each(tokens, |number, feature| rows.extend(self.row(number).map(|row| (row, feature))));
        rows
    }

    /// The features of a text under fastText's numbers, in its order: words with their character n-grams, then word n-grams.
    pub(super) fn each<'t>(&self, tokens: &[&'t str], mut take: impl FnMut(u32, Feature<'t>)) {
        let words = tokens.iter().copied().chain([END_OF_LINE]);
        let mut hashes: Vec<i32> = Vec::with_capacity(tokens.len() + 1);
        for word in words {
            self.each_of_word(word, &mut take);
            hashes.push(hash(word.as_bytes()) as i32);
        }
        if self.word_ngrams < 2 || self.bucket == 0 {
            return;
        }
        for (i, &first) in hashes.iter().enumerate() {
            let mut h = first as u64;
            for (j, &next) in hashes.iter().enumerate().take(i + self.word_ngrams).skip(i + 1) {
                h = h.wrapping_mul(116_049_371).wrapping_add(next as u64);
                take(self.words as u32 + (h % u64::from(self.bucket)) as u32, Feature::Words(i, j + 1));
            }
        }
    }

    /// The rows of a word: its own, if it has one, and those of its character n-grams.
    pub(crate) fn word_features(&self, word: &str) -> Vec<u32> {
        let mut rows = Vec::new();
        self.each_of_word(word, &mut |number, _| rows.extend(self.row(number)));
        rows
    }

    pub(super) fn each_of_word<'t>(&self, word: &'t str, take: &mut impl FnMut(u32, Feature<'t>)) {
        if let Some(number) = self.word(word) {
            take(number, Feature::Word(word));
        }
        // A supervised model of no n-grams has words alone, and no word is the end of a line in part.
        if self.maxn == 0 || self.bucket == 0 || word == END_OF_LINE {
            return;
        }
        let bounded = format!("<{word}>");
        let starts: Vec<usize> = bounded.char_indices().map(|(at, _)| at).chain([bounded.len()]).collect();
        let characters = starts.len() - 1;
        for i in 0..characters {
            for n in self.minn.max(1)..=self.maxn.min(characters - i) {
                // A bound alone is none.
                if n == 1 && (i == 0 || i + 1 == characters) {
                    continue;
                }
                let (from, to) = (starts[i], starts[i + n]);
                let bucket = hash(&bounded.as_bytes()[from..to]) % self.bucket;
                take(self.words as u32 + bucket, Feature::Characters(word, from, to));
            }
        }
    }

    /// True if it is the dictionary of a supervised model.
    pub(super) fn is_supervised(&self) -> bool {
        self.supervised
    }
}

impl Feature<'_> {
    /// The name of the feature as shown; `tokens` are those of the text.
    pub(super) fn name(&self, tokens: &[&str]) -> String {
        match *self {
            Feature::Word(word) => word.to_owned(),
            Feature::Characters(word, from, to) => format!("<{word}>")[from..to].to_owned(),
            Feature::Words(from, to) => {
                let words = (from..to).map(|i| tokens.get(i).copied().unwrap_or(END_OF_LINE));
                words.collect::<Vec<&str>>().join(" ")
            }
        }
    }
}
