//! New words: strings of characters that keep together and stand in many surroundings, and that no dictionary has.
//!
//! After "Matrix67" (2012): a word is frequent; no way of cutting it in two explains how often it occurs (pointwise mutual
//! information, PMI, of its weakest cut, `ln(count x places / (count of a x count of b))`); and its neighbours on both sides
//! vary (entropies, nats). Then what the dictionary knows, what begins or ends with a function word, numerals, and fragments
//! of longer words are left out. Counts are exact: text is cut to places ([`Places`]), sorted in buckets, and spilled to
//! disk where memory does not suffice ([`GramCounter`]).

mod buckets;
mod count;
mod grams;
mod rules;
mod select;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub use count::{GramCounter, Grams, Places};
pub use select::{NewWord, Selection, select};

/// Parameters of new-word discovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewWordParams {
    /// Characters of the longest word, 2 to 6. Default: 5.
    pub max_len: usize,
    /// Words that occur less often are left out. Default: 10.
    pub min_count: u64,
    /// Words in fewer documents are left out: what one document repeats is its own matter. Default: 3.
    pub min_documents: u64,
    /// Least PMI of the weakest cut, in nats. Default: 4.
    pub min_pmi: f64,
    /// Least entropy of the neighbours on either side, in nats. Default: 1.
    pub min_entropy: f64,
    /// Whether compounds of two and more dictionary words are kept (业绩 + 预告): as words of their own they hide their
    /// parts. Default: false.
    pub compounds: bool,
    /// Words kept at the most, those with the highest score; 0 keeps all. Default: 0.
    pub top: usize,
    /// Memory for counting in MiB; what exceeds it goes to the disk. Default: 1024.
    pub memory_mb: usize,
}

impl Default for NewWordParams {
    fn default() -> NewWordParams {
        NewWordParams {
            max_len: 5,
            min_count: 10,
            min_documents: 3,
            min_pmi: 4.0,
            min_entropy: 1.0,
            compounds: false,
            top: 0,
            memory_mb: 1024,
        }
    }
}

impl NewWordParams {
    /// A counter for these parameters.
    pub fn counter(&self) -> Result<GramCounter> {
        ensure!(self.min_entropy >= 0.0, "--min-entropy {} is below 0, which no entropy is", self.min_entropy);
        ensure!(self.memory_mb > 0, "--memory 0 leaves no room to count; write 64 or more (MiB)");
        GramCounter::new(self.max_len, self.min_count, self.memory_mb << 20)
    }
}
