//! Rows of characters, which the words that are written with them share.

use rustc_hash::FxHashMap;

/// Rows of the characters of each word. None for a word that is not written in Chinese characters alone.
pub(super) struct Characters {
    /// Offset of each word's characters; one more than there are words.
    starts: Vec<u32>,
    rows: Vec<u32>,
    different: usize,
}

impl Characters {
    /// Numbers the characters of words, in the order in which they come; the first has the row after the last word's.
    pub(super) fn new(words: &[Box<str>]) -> Characters {
        let mut known: FxHashMap<char, u32> = FxHashMap::default();
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for word in words {
            if word.chars().all(is_chinese) {
                for character in word.chars() {
                    let next = (words.len() + known.len()) as u32;
                    rows.push(*known.entry(character).or_insert(next));
                }
            }
            starts.push(rows.len() as u32);
        }
        Characters { starts, rows, different: known.len() }
    }

    /// Different characters.
    pub(super) fn len(&self) -> usize {
        self.different
    }

    #[inline(always)]
    pub(super) fn rows(&self, word: u32) -> &[u32] {
        &self.rows[self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize]
    }
}

/// The unified ideographs of Unicode with their extensions.
fn is_chinese(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_share_the_rows_of_their_characters() {
        let words = ["增长", "2024年", "长", "增持", "GDP"].map(Box::from);
        let characters = Characters::new(&words);
        assert_eq!(characters.rows(0), [5, 6]);
        assert!(characters.rows(1).is_empty() && characters.rows(4).is_empty());
        assert_eq!((characters.rows(2), characters.rows(3), characters.len()), (&[6][..], &[5, 7][..], 3));
    }
}
