//! From words to ids, in parallel and yet with ids in order of first occurrence.
//!
//! Blocks of documents are coded side by side against the vocabulary as it stands ([`Coder`]); words that it does not have
//! get numbers of the block. Blocks are then taken in one after another, in the order of the file, and only then do new words
//! get their ids. So an id depends on the text alone, never on threads or on how the text was cut into blocks.

use std::hash::BuildHasher;

use chrono::NaiveDateTime;
use rustc_hash::FxBuildHasher;

use super::words::{BEGIN, END, MARKS, Words};

const FREE: u32 = u32::MAX;

/// A vocabulary that grows: words and a table to find them by.
pub(super) struct Interner {
    words: Words,
    /// Open addressing: the upper half of the hash and the id of a word. A power of two long, at most half full.
    slots: Vec<(u32, u32)>,
}

impl Interner {
    /// A vocabulary with these words.
    fn new(words: Words) -> Interner {
        let mut interner = Interner { slots: vec![(0, FREE); (4 * words.len()).next_power_of_two().max(64)], words };
        interner.fill();
        interner
    }

    fn hash(word: &str) -> u64 {
        FxBuildHasher.hash_one(word.as_bytes())
    }

    /// The slot of a word: its own, or the free one where it belongs.
    fn slot(&self, word: &str, hash: u64) -> usize {
        let (mask, tag) = (self.slots.len() - 1, (hash >> 32) as u32);
        let mut at = hash as usize & mask;
        loop {
            let (other, id) = self.slots[at];
            if id == FREE || (other == tag && self.words.get(id) == word) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn find(&self, word: &str, hash: u64) -> Option<u32> {
        let id = self.slots[self.slot(word, hash)].1;
        (id != FREE).then_some(id)
    }

    fn intern(&mut self, word: &str, hash: u64) -> u32 {
        let at = self.slot(word, hash);
        if self.slots[at].1 != FREE {
            return self.slots[at].1;
        }
        let id = self.words.len() as u32;
        self.slots[at] = ((hash >> 32) as u32, id);
        self.words.push(word);
        if 2 * self.words.len() > self.slots.len() {
            let longer = 2 * self.slots.len();
            self.slots = vec![(0, FREE); longer];
            self.fill();
        }
        id
    }

    fn fill(&mut self) {
        let mask = self.slots.len() - 1;
        for (id, word) in self.words.iter().enumerate() {
            let hash = Interner::hash(word);
            let mut at = hash as usize & mask;
            while self.slots[at].1 != FREE {
                at = (at + 1) & mask;
            }
            self.slots[at] = ((hash >> 32) as u32, id as u32);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn into_words(self) -> Words {
        self.words
    }

    /// Gives the words that are new in a block their ids, and adds the block's ids to `ids`.
    pub(super) fn take_in(&mut self, coded: &Coded, ids: &mut Vec<u32>) {
        let start = ids.len();
        ids.extend_from_slice(&coded.ids);
        let new: Vec<u32> = coded.new.iter().map(|word| self.intern(word, Interner::hash(word))).collect();
        coded.open.iter().for_each(|&place| {
            let id = &mut ids[start + place as usize];
            *id = new[*id as usize];
        });
    }
}

impl Default for Interner {
    fn default() -> Interner {
        Interner::new(Words::default())
    }
}

/// Codes documents against a vocabulary that it leaves as it is.
pub struct Coder<'v> {
    known: &'v Interner,
    new: Interner,
    ids: Vec<u32>,
    open: Vec<u32>,
    tally: Tally,
}

/// Documents as ids.
pub struct Coded {
    /// `<s> words </s>` for each document.
    ids: Vec<u32>,
    /// Places in `ids` of numbers that stand for words of `new`.
    open: Vec<u32>,
    /// Words that the vocabulary did not have.
    new: Words,
    pub(super) tally: Tally,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Documents, empty ones included.
    pub documents: u64,
    /// Documents without a word.
    pub empty: u64,
    /// Words, marks not counted.
    pub tokens: u64,
    /// Words of the text that are written like marks, and were left out.
    pub marks: u64,
    /// Words of the longest document.
    pub longest: u64,
    /// The last time of all documents.
    pub last_time: Option<NaiveDateTime>,
}

impl Coded {
    /// Words, marks included.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.documents += other.documents;
        self.empty += other.empty;
        self.tokens += other.tokens;
        self.marks += other.marks;
        self.longest = self.longest.max(other.longest);
        self.last_time = self.last_time.max(other.last_time);
    }
}

impl<'v> Coder<'v> {
    pub(super) fn new(known: &'v Interner) -> Coder<'v> {
        Coder { known, new: Interner::new(Words::none()), ids: Vec::new(), open: Vec::new(), tally: Tally::default() }
    }

    /// Codes a document. Words written like the marks `<s>`, `</s>` and `<unk>` are left out, as `lmplz --skip_symbols` does.
    pub fn document<'t>(&mut self, words: impl IntoIterator<Item = &'t str>, time: Option<NaiveDateTime>) {
        let ids = &mut self.ids;
        let before = ids.len();
        let mut marks = 0;
        ids.push(BEGIN);
        for word in words {
            let hash = Interner::hash(word);
            match self.known.find(word, hash) {
                Some(mark) if (mark as usize) < MARKS.len() => marks += 1,
                Some(id) => ids.push(id),
                None => {
                    self.open.push(ids.len() as u32);
                    ids.push(self.new.intern(word, hash));
                }
            }
        }
        ids.push(END);
        let tokens = (ids.len() - before) as u64 - 2;
        self.tally.add(Tally {
            documents: 1,
            empty: u64::from(tokens == 0),
            tokens,
            marks,
            longest: tokens,
            last_time: time,
        });
    }

    pub fn finish(self) -> Coded {
        Coded { ids: self.ids, open: self.open, new: self.new.into_words(), tally: self.tally }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTS: [&str; 5] = ["利润 增长", "", "订单 增长 <s> 订单", "利润 订单 回购", "增长 <unk> </s> 减持"];

    fn coded(blocks: &[usize]) -> (Vec<u32>, Vec<String>, Tally) {
        let (mut interner, mut ids, mut tally) = (Interner::default(), Vec::new(), Tally::default());
        let mut documents = DOCUMENTS.iter();
        for &block in blocks {
            let mut coder = Coder::new(&interner);
            documents.by_ref().take(block).for_each(|text| coder.document(text.split_whitespace(), None));
            let coded = coder.finish();
            tally.add(coded.tally);
            interner.take_in(&coded, &mut ids);
        }
        (ids, interner.into_words().iter().map(str::to_owned).collect(), tally)
    }

    #[test]
    fn ids_are_in_order_of_first_occurrence_however_the_text_is_cut() {
        let (ids, words, tally) = coded(&[5]);
        assert_eq!(words, ["<unk>", "<s>", "</s>", "利润", "增长", "订单", "回购", "减持"]);
        assert_eq!(ids, [1, 3, 4, 2, 1, 2, 1, 5, 4, 5, 2, 1, 3, 5, 6, 2, 1, 4, 7, 2]);
        let expected = Tally { documents: 5, empty: 1, tokens: 10, marks: 3, longest: 3, last_time: None };
        assert_eq!(tally, expected);
        for blocks in [vec![1, 1, 1, 1, 1], vec![2, 3], vec![4, 1]] {
            assert_eq!(coded(&blocks), (ids.clone(), words.clone(), tally), "{blocks:?}");
        }
    }

    #[test]
    fn a_growing_table_loses_no_word() {
        let mut interner = Interner::default();
        let words: Vec<String> = (0..10_000).map(|i| format!("词{i}")).collect();
        for (i, word) in words.iter().enumerate() {
            assert_eq!(interner.intern(word, Interner::hash(word)), i as u32 + 3);
        }
        assert!(
            words.iter().enumerate().all(|(i, word)| interner.find(word, Interner::hash(word)) == Some(i as u32 + 3))
        );
        assert_eq!(interner.find("词", Interner::hash("词")), None);
    }
}
