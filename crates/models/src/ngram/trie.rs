//! The shape that counts and models share: a trie of n-grams read from the first word on.
//!
//! Level `n` (from 0) holds the n-grams of `n + 1` words, sorted by their first word, then their second, and so on; ids of words
//! are compared. Level 0 holds every word of the vocabulary, so an entry there is the id of its word. The continuations of
//! entry `i` of a level are the entries `first_child[i]..first_child[i + 1]` of the next, sorted by their last word. An
//! entry's suffix is the same n-gram without its first word, one level lower, and is always there.

use std::ops::Range;

/// N-grams of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Level {
    /// The last word of each.
    pub word: Vec<u32>,
    /// Offset of its continuations on the next level, with the end of the last one's at the end: one longer than `word`.
    /// Empty on the highest level.
    pub(crate) first_child: Vec<u32>,
    /// The entry of its suffix on the level below. Empty on level 0, whose suffix is the empty n-gram.
    pub suffix: Vec<u32>,
}

impl Level {
    pub(crate) fn grams(&self) -> usize {
        self.word.len()
    }

    /// The range of the continuations of an entry on the next level.
    pub(crate) fn children(&self, entry: u32) -> Range<usize> {
        let entry = entry as usize;
        self.first_child[entry] as usize..self.first_child[entry + 1] as usize
    }
}

/// N-grams of 1 to `levels.len()` words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trie {
    /// By length, the single words first.
    pub levels: Vec<Level>,
}

impl Trie {
    /// The longest n-gram, in words.
    pub(crate) fn order(&self) -> usize {
        self.levels.len()
    }

    /// Number of n-grams of each length.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.levels.iter().map(Level::grams).collect()
    }

    /// The entry of an n-gram on level `words.len() - 1`; none where it was never seen (or is empty).
    pub(crate) fn find(&self, words: &[u32]) -> Option<u32> {
        let (&first, rest) = words.split_first()?;
        let mut entry = ((first as usize) < self.levels.first()?.grams()).then_some(first)?;
        for (level, word) in self.levels.windows(2).zip(rest) {
            let children = level[0].children(entry);
            let start = children.start;
            entry = (start + level[1].word[children].binary_search(word).ok()?) as u32;
        }
        (words.len() <= self.order()).then_some(entry)
    }
}
