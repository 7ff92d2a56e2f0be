//! A model's numbers as slices, whether they lie in memory or in a mapped file.

use super::model::Ngram;

/// N-grams of one length, with what the model says of them.
#[derive(Clone, Copy, Debug)]
pub struct LevelView<'a> {
    /// The last word of each n-gram.
    pub word: &'a [u32],
    /// Offset of its continuations on the next level; empty on the highest level.
    pub(crate) first_child: &'a [u32],
    /// log10 p(last word | words before).
    pub log10: &'a [f32],
    /// log10 of its back-off weight as a context; empty on the highest level.
    pub(crate) backoff: &'a [f32],
}

impl Ngram {
    /// Numbers of the n-gram by level, the single words first.
    pub fn levels(&self) -> Vec<LevelView<'_>> {
        let levels = self.trie.levels.iter().enumerate();
        levels
            .map(|(n, level)| LevelView {
                word: &level.word,
                first_child: &level.first_child,
                log10: &self.log10[n],
                backoff: self.backoff.get(n).map_or(&[], Vec::as_slice),
            })
            .collect()
    }
}
