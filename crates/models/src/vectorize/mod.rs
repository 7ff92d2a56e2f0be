//! Text to sparse rows: terms, the columns that they become, and the weight of a term's count in a document.
//!
//! One vectorizer serves them all: one-hot, bags of words and n-grams, TF-IDF, BM25, hashing, shingles, Huatai's event words
//! ([`VectorizerParams::preset`]). Defaults are those of scikit-learn's `TfidfVectorizer`: `idf = ln((1 + n) / (1 + df)) + 1`,
//! weight = count x idf, each row scaled to length 1 (natural logarithms, n = documents, df = documents with the term).
//! Computed in f64, kept in f32. A document's length is the number of its terms, those outside the vocabulary included.
//!
//! [`TermCounts`] counts documents in a stream, [`Vectorizer`] is fitted on the counts; the walk-forward models use the same
//! [`Weighting`] on counts of their own.

mod analysis;
mod counts;
mod explain;
mod file;
mod fit;
mod folds;
mod hashing;
mod params;
mod terms;
mod weighting;

#[cfg(test)]
mod tests;

pub use analysis::{Analyzer, Fields};
pub use counts::TermCounts;
pub use fit::Vectorizer;
pub use folds::FoldCounts;
pub(super) use folds::{choose_terms, weigh_rows};
pub use params::{Formula, Norm, Preset, Unit, VectorizerParams};
pub use terms::TITLE_TEXT;
pub use weighting::Weighting;
