//! A finished n-gram model in memory, and the raw counts that every smoothing starts from.

use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use super::trie::Trie;
use super::words::Words;

/// The rule that keeps probability for what was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Smoothing {
    /// Interpolated modified Kneser-Ney (Chen and Goodman 1998), as KenLM's lmplz does it.
    #[default]
    KneserNey,
    /// Katz back-off with Good-Turing discounts.
    Katz,
    /// Jelinek-Mercer deleted interpolation, weights by EM on held-out text.
    JelinekMercer,
    /// A constant added to every count.
    #[cfg_attr(feature = "clap", value(alias = "laplace"))]
    AddK,
    /// Maximum likelihood: nothing is kept.
    Mle,
}

/// A model: for each n-gram of the trie log10 p(last word | words before), and log10 of its back-off weight as a context.
///
/// p(w | c) is that of the n-gram `c w` where the trie has it, else backoff(c) p(w | suffix of c), a context that the trie does not
/// have weighing 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Ngram {
    pub words: Words,
    pub(crate) trie: Trie,
    /// By level, for each entry log10 of its probability; 0 for `<s>`, which is never predicted.
    pub log10: Vec<Vec<f32>>,
    /// By level but the highest, for each entry log10 of its back-off weight; 0 for what is no context.
    pub(crate) backoff: Vec<Vec<f32>>,
    /// The smoothing; none when the model came from an ARPA file, which does not say.
    pub smoothing: Option<Smoothing>,
    /// The last time of the documents counted; none when they had no times.
    pub fitted_until: Option<NaiveDateTime>,
    pub documents: u64,
}

/// Counts of n-grams.
///
/// `<s>` counts once a document as a word of its own and in every n-gram that begins with it; n-grams never go past `</s>`.
/// So the counts of an entry's continuations sum to its own count unless it ends in `</s>`, which nothing follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    pub words: Words,
    pub(crate) trie: Trie,
    /// By level, for each entry how often it was seen. A count beyond `u32::MAX` stays there. `<unk>` has none.
    pub counts: Vec<Vec<u32>>,
    /// The last time of the documents counted; none when they had no times.
    pub fitted_until: Option<NaiveDateTime>,
    pub documents: u64,
}

impl Ngram {
    /// Words of its longest n-grams.
    pub fn order(&self) -> usize {
        self.trie.order()
    }

    /// Number of n-grams of each length, the marks `<unk>`, `<s>` and `</s>` among the single words.
    pub fn sizes(&self) -> Vec<usize> {
        self.trie.sizes()
    }
}

impl Counts {
    /// The count of an n-gram; 0 for ids outside the vocabulary and n-grams longer than the order.
    pub fn count(&self, words: &[u32]) -> u32 {
        self.trie.find(words).map_or(0, |entry| self.counts[words.len() - 1][entry as usize])
    }
}
