//! Flags of `train`, a file a model. Hyper-parameters bear the names that they have in the usual tools.

mod ngram;
mod sestm;
mod vectorize;

use clap::Subcommand;

pub use ngram::Ngram;
pub use sestm::Sestm;
pub use vectorize::Vectorize;

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// TF-IDF weights of words or n-grams, as scikit-learn's TfidfVectorizer.
    Tfidf(Vectorize),
    /// Counts of words or n-grams, as scikit-learn's CountVectorizer.
    Bow(Vectorize),
    /// 1 for each word that occurs.
    Onehot(Vectorize),
    /// BM25 weights.
    Bm25(Vectorize),
    /// Signed counts hashed into 2^20 columns, as scikit-learn's HashingVectorizer.
    Hashing(Vectorize),
    /// Sets of five characters in a row, hashed: for what is nearly the same text.
    Shingles(Vectorize),
    /// ln(1 + count) of the most frequent nouns, verbs and adjectives, those of titles apart: Huatai's event factors.
    EventWords(Vectorize),
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    Sestm(Sestm),
    /// An n-gram language model, as KenLM's lmplz.
    Ngram(Ngram),
}
