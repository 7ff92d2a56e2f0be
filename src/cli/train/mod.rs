//! Flags of `train`, a file a model. Hyper-parameters bear the names that they have in the usual tools.

mod ngram;
mod sestm;
mod tfidf;

use clap::Subcommand;

pub use ngram::Ngram;
pub use sestm::Sestm;
pub use tfidf::Tfidf;

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// An n-gram language model, as KenLM's lmplz.
    Ngram(Ngram),
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    Sestm(Sestm),
    /// TF-IDF weights of words, as scikit-learn's TfidfVectorizer.
    Tfidf(Tfidf),
}
