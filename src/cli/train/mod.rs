//! Flags of `train`, a file a model. Hyper-parameters bear the names that they have in the usual tools.

mod lexicon;
mod ngram;
mod sestm;
mod tfidf;
mod tone;

use clap::Subcommand;

pub use lexicon::{Lexicon, Method};
pub use ngram::Ngram;
pub use sestm::Sestm;
pub use tfidf::Tfidf;
pub use tone::Tone;

/// The models that can be trained on a plain file.
#[derive(Debug, Subcommand)]
pub enum Train {
    /// A list of tone words, from the returns that go with texts or from seed words; as lists of a lexicon feature.
    Lexicon(Lexicon),
    /// The tone of texts from the returns around them (Ke, Kelly and Xiu, Predicting Returns with Text Data).
    Sestm(Sestm),
    /// An n-gram language model, as KenLM's lmplz.
    Ngram(Ngram),
    /// TF-IDF weights of words, as scikit-learn's TfidfVectorizer.
    Tfidf(Tfidf),
    /// A lexicon of word lists, formal or informal, made ready to give tones; nothing is fitted.
    Tone(Tone),
}
