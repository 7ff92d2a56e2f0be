//! Which words of a window a model knows.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// Which words a model knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WordLimits {
    /// Words that occur less often in a window are not known. Default 5.
    pub min_count: u64,
    /// Words known at the most, the most frequent; 0 (default): all.
    pub max_words: usize,
}

impl Default for WordLimits {
    fn default() -> WordLimits {
        WordLimits { min_count: 5, max_words: 0 }
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
