//! Keywords and key sentences of one document: TextRank, or frequency against rarity elsewhere (TF-IDF).
//!
//! Takes a document's words in order, with those marked that may be keywords ([`Candidates`]); gives a score for each. A score
//! depends on its document alone with TextRank, and on a table of inverse document frequencies ([`Idf`]) as well with
//! TF-IDF. Which words may be keywords (part of speech, length, stopwords) is for the caller to say.

mod sentences;
mod textrank;
mod tfidf;
mod words;

#[cfg(test)]
mod tests;

pub use sentences::rank_sentences;
pub use textrank::{Ranking, Rule, TextRankParams, textrank};
pub use tfidf::Idf;
pub use words::{Candidates, Keyword};
