//! n-gram language models: counting, smoothing, and the trie that models and counts share.

mod levels;
mod model;
mod trie;
mod words;

pub use model::{Counts, Ngram, Smoothing};
pub use trie::{Level, Trie};
pub use words::{BEGIN, END, MARKS, UNKNOWN, Words};
