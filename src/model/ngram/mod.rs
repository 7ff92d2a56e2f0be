//! n-gram language models: counting, smoothing, and the trie that models and counts share.

pub(crate) mod arpa;
mod build;
mod index;
mod levels;
mod lm;
mod model;
mod score;
mod table;
mod trie;
mod vocabulary;
mod walk;
mod words;

pub use lm::LanguageModel;
pub use model::{Counts, Ngram, Smoothing};
pub use score::{Score, Scores};
pub use trie::{Level, Trie};
pub use words::{BEGIN, END, MARKS, UNKNOWN, Words};
