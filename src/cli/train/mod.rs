//! Flags of `train`, a file a model. Hyper-parameters bear the names that they have in the usual tools.

mod tfidf;

use clap::Subcommand;

pub use tfidf::Tfidf;

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// TF-IDF weights of words, as scikit-learn's TfidfVectorizer.
    Tfidf(Tfidf),
}
