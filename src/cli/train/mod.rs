//! Flags of `train`, a file a model. Hyper-parameters bear the names that they have in the usual tools.

mod sestm;
mod ngram;
mod tfidf;

use clap::Subcommand;

pub use sestm::Sestm;
pub use ngram::Ngram;
pub use tfidf::Tfidf;

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    Sestm(Sestm),
    /// An n-gram language model, as KenLM's lmplz.
    Ngram(Ngram),
    /// TF-IDF weights of words, as scikit-learn's TfidfVectorizer.
    Tfidf(Tfidf),
}
