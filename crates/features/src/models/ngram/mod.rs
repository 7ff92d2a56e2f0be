//! N-gram language models, and the surprise of a document under them.

pub(crate) mod eval;
pub(crate) mod params;
pub(crate) mod plain;
pub(crate) mod project;

pub use params::{SurpriseParams, Unit};
pub use plain::{HeldOut, train_ngram};
