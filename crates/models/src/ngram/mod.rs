//! n-gram language models: counting, smoothing, and asking.
//!
//! A corpus becomes counts (`count`), counts become a model in one of five ways (`smoothing`); both are a trie
//! (`trie`). A model is written as an ARPA file (`arpa`), or indexed (`build`, `index`) and written as a file whose sections
//! are used without decoding ([`LanguageModel`]). All probabilities and back-off weights are kept as log10, in 32 bits; log10 of 0 is -99.

mod arpa;
mod build;
mod count;
mod discount;
mod explain;
mod index;
mod intern;
mod levels;
mod link;
mod lm;
mod model;
mod next;
mod params;
mod prune;
mod run;
mod sample;
mod score;
mod share;
mod smoothing;
mod table;
mod trie;
mod vocabulary;
mod walk;
mod words;

pub use arpa::{is_arpa, read_arpa};
pub use count::{Counter, Room};
pub use intern::{Coded, Coder};
pub use lm::LanguageModel;
pub use model::{Counts, Ngram, Smoothing};
pub(crate) use next::likeliest;
pub use next::{Following, Likely};
pub use params::NgramParams;
pub use prune::Pruning;
pub(crate) use sample::draw_documents;
pub use sample::{GeneratedText, SampleParams};
pub use score::{Score, Scores};
pub use smoothing::smooth;
pub(crate) use words::UNKNOWN;
pub use words::{END, MARKS, Words};
