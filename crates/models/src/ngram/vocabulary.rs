//! From words to their ids, by the sections of a model file without decoding.
//!
//! A word is known by its 64-bit hash. Words of one model have different hashes (building fails otherwise); that a word outside
//! the vocabulary has the hash of one inside happens once in 10^13 such words for a million words.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::table::{find, halves, hash_of, span, spread};
use super::words::{MARKS, UNKNOWN, Words};

use inkstone_base::{ensure, message};

/// `[low, high]` half of the hash of a word, its id.
pub(super) type TableSlot = [u32; 3];

/// The words of a model by id, and their ids.
#[derive(Clone, Copy)]
pub struct ModelVocabulary<'a> {
    text: &'a [u8],
    /// The end of each word in `text`.
    ends: &'a [u64],
    table: &'a [TableSlot],
}

/// The table of the words' ids. The marks are not in it: in a text they are words like others, and unknown.
pub(super) fn table(words: &Words) -> Result<Vec<TableSlot>> {
    let mut table: Vec<TableSlot> = Vec::with_capacity(span(words.len()) + 64);
    table.par_extend((MARKS.len() as u32..words.len() as u32).into_par_iter().map(|id| {
        let [low, high] = halves(hash(words.get(id).as_bytes()));
        [low, high, id]
    }));
    table.par_sort_unstable_by_key(|place| (hash_of(place), place[2]));
    if let Some(pair) = table.windows(2).find(|pair| pair[0][..2] == pair[1][..2]) {
        let [a, b] = [pair[0][2], pair[1][2]].map(|id| words.get(id));
        ensure!(a != b, "词 {a:?} 在词表中出现两次", "the word {a:?} stands twice in the vocabulary");
        inkstone_base::bail!(
            "词 {a:?} 与 {b:?} 哈希相同；请从文本中去掉一个",
            "the words {a:?} and {b:?} have the same hash; take one of them out of the text"
        );
    }
    spread(&mut table, 0);
    Ok(table)
}

impl<'a> ModelVocabulary<'a> {
    /// None when the parts do not fit together.
    pub(super) fn new(text: &'a [u8], ends: &'a [u64], table: &'a [TableSlot]) -> Option<ModelVocabulary<'a>> {
        let fits = ends.last() == Some(&(text.len() as u64)) && ends.len() >= MARKS.len();
        (fits && !table.is_empty()).then_some(ModelVocabulary { text, ends, table })
    }

    /// Parts of the vocabulary: the bytes of the words, the end of each, and the table of their ids.
    pub(super) fn parts(&self) -> (&'a [u8], &'a [u64], &'a [TableSlot]) {
        (self.text, self.ends, self.table)
    }

    /// The id of a word of a text; [`UNKNOWN`] where the model does not know it.
    #[inline]
    pub fn id(&self, word: &[u8]) -> u32 {
        let place = find(self.table, span(self.ends.len() - MARKS.len()), hash(word));
        let id = place.map_or(UNKNOWN, |place| self.table[place][2]);
        if (id as usize) < self.ends.len() { id } else { UNKNOWN }
    }

    /// The word of an id.
    pub fn word(&self, id: u32) -> Result<&'a str> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        let bytes = self.text.get(start..self.ends[id] as usize);
        let word = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        word.with_context(|| {
            message!("模型的第 {id} 个词已损坏；请重新训练", "word {id} of the model is damaged; train it again")
        })
    }
}

/// A hash of bytes that is part of the file format: eight bytes at a time, multiplied to 128 bits and folded.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const FACTORS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    };
    let mut hash = (bytes.len() as u64).wrapping_mul(FACTORS[1]);
    let mut eights = bytes.chunks_exact(8);
    for eight in &mut eights {
        let eight = u64::from_le_bytes(eight.try_into().expect("chunks of 8 bytes have 8"));
        hash = fold(hash ^ eight, FACTORS[0]);
    }
    let rest = eights.remainder();
    let last = match *rest {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_le_bytes([a, b, c, 0])),
        [a, b, c, d, ..] => {
            let end = [rest.len() - 4, rest.len() - 3, rest.len() - 2, rest.len() - 1].map(|i| rest[i]);
            u64::from(u32::from_le_bytes(end)) << 32 | u64::from(u32::from_le_bytes([a, b, c, d]))
        }
    };
    fold(fold(hash ^ last, FACTORS[0]) ^ FACTORS[1], FACTORS[1])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_have_their_ids_and_marks_are_unknown_words() {
        let mut words = Words::default();
        let more = ["增长", "回购股份", "a", "ab", "abc", "abcd", "归母净利润同比增长", ""];
        more.iter().for_each(|word| words.push(word));
        let table = table(&words).unwrap();
        let text: String = words.iter().collect();
        let mut end = 0;
        let ends: Vec<u64> = words
            .iter()
            .map(|word| {
                end += word.len() as u64;
                end
            })
            .collect();
        let vocabulary = ModelVocabulary::new(text.as_bytes(), &ends, &table).unwrap();
        for (id, word) in (3..).zip(more) {
            assert_eq!((vocabulary.id(word.as_bytes()), vocabulary.word(id).unwrap()), (id, word));
        }
        for word in ["<s>", "</s>", "<unk>", "减持", "abcde"] {
            assert_eq!(vocabulary.id(word.as_bytes()), UNKNOWN);
        }
        words.push("增长");
        assert!(super::table(&words).unwrap_err().to_string().contains("\"增长\" stands twice"));
    }

    proptest! {
        #[test]
        fn one_changed_byte_changes_the_hash(bytes in prop::collection::vec(any::<u8>(), 1..40), at: prop::sample::Index, by in 1u8..) {
            let mut other = bytes.clone();
            other[at.index(bytes.len())] ^= by;
            prop_assert_ne!(hash(&bytes), hash(&other));
            other.push(0);
            prop_assert_ne!(hash(&bytes), hash(&other));
        }
    }
}
