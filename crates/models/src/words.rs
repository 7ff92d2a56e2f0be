//! The limits of a vocabulary: least count and most words.

use std::cmp::Reverse;

params! {
    /// The words that a model knows.
    #[derive(Copy)]
    pub struct WordLimits {
        /// Leave out words that occur less often.
        ///
        /// 舍弃出现次数更少的词。
        min_count: u64 = 5, number("N", "feature.words.min_count");
        /// Keep at the most this many words, the most frequent; 0 keeps all.
        ///
        /// 最多保留这么多词，取最常见者；0 为全部。
        max_words: usize = 0, number("N", "feature.words.max_words");
    }
}

impl WordLimits {
    /// The numbers of the words that are known, the most frequent first, equal ones in the order of their characters; `counts` and
    /// `words` are those of all numbers.
    pub fn choose<W: AsRef<str>>(&self, counts: &[u64], words: &[W]) -> Vec<u32> {
        let known = |&number: &u32| counts[number as usize] >= self.min_count.max(1);
        let mut kept: Vec<u32> = (0..counts.len() as u32).filter(known).collect();
        kept.sort_unstable_by_key(|&number| (Reverse(counts[number as usize]), words[number as usize].as_ref()));
        if self.max_words > 0 {
            kept.truncate(self.max_words);
        }
        kept
    }
}
