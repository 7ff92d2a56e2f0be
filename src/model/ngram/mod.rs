//! n-gram language models: counting, smoothing, and the trie that models and counts share.

pub(crate) mod arpa;
mod build;
mod count;
mod discount;
mod explain;
mod index;
mod intern;
mod kneser_ney;
mod levels;
mod link;
mod lm;
mod model;
mod params;
mod prune;
mod run;
mod score;
mod share;
mod table;
mod trie;
mod vocabulary;
mod walk;
mod words;

pub use count::{Counter, MAX_ORDER, Room};
pub use discount::{Discounts, FALLBACK};
pub use intern::{Coded, Coder};
pub use kneser_ney::kneser_ney;
pub use lm::LanguageModel;
pub use model::{Counts, Ngram, Smoothing};
pub use params::NgramParams;
pub use prune::Pruning;
pub use score::{Score, Scores};
pub use trie::{Level, Trie};
pub use words::{BEGIN, END, MARKS, UNKNOWN, Words};
