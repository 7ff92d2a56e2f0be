//! n-gram language models: counting, smoothing, and the trie that models and counts share.

mod count;
mod discount;
mod intern;
mod kneser_ney;
mod levels;
mod link;
mod model;
mod params;
mod prune;
mod run;
mod share;
mod trie;
mod words;

pub use count::{Counter, MAX_ORDER, Room};
pub use discount::{Discounts, FALLBACK};
pub use intern::{Coded, Coder};
pub use kneser_ney::kneser_ney;
pub use model::{Counts, Ngram, Smoothing};
pub use params::NgramParams;
pub use prune::Pruning;
pub use trie::{Level, Trie};
pub use words::{BEGIN, END, MARKS, UNKNOWN, Words};
