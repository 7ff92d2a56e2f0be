//! The words of a language model: ids in order of first occurrence, after three marks.

use std::ops::Range;

/// Stands for every word that the model has never seen.
pub(crate) const UNKNOWN: u32 = 0;
/// Stands before the first word of a document.
pub(crate) const BEGIN: u32 = 1;
/// Stands after the last word of a document, and is predicted like a word.
pub const END: u32 = 2;
/// The marks as they are written, by id.
pub const MARKS: [&str; 3] = ["<unk>", "<s>", "</s>"];

/// Words by id, their bytes one after another: ids 0 to 2 are [`MARKS`].
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    text: String,
    /// The end of each word in `text`.
    ends: Vec<u64>,
}

impl Default for Words {
    fn default() -> Words {
        let mut words = Words::none();
        for mark in MARKS {
            words.push(mark);
        }
        words
    }
}

impl Words {
    /// No words, not even the marks: a list that is not yet a vocabulary.
    pub(super) fn none() -> Words {
        Words { text: String::new(), ends: Vec::new() }
    }

    /// Adds a word, which gets the next id. It is the caller's part that the word is new.
    pub fn push(&mut self, word: &str) {
        self.text.push_str(word);
        self.ends.push(self.text.len() as u64);
    }

    /// Number of words, marks included.
    #[allow(clippy::len_without_is_empty, reason = "the marks are always there")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The word of an id.
    pub fn get(&self, id: u32) -> &str {
        &self.text[self.place(id)]
    }

    /// All words in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.get(id))
    }

    /// Their bytes one after another, and where each ends.
    pub(super) fn parts(&self) -> (&[u8], &[u64]) {
        (self.text.as_bytes(), &self.ends)
    }

    fn place(&self, id: u32) -> Range<usize> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        start as usize..self.ends[id] as usize
    }
}
