//! Networks on the words of a text in their order: TextCNN and TextRNN.

pub(crate) mod embeddings;
pub(crate) mod given_vectors;
pub(crate) mod plain;
pub(crate) mod project;

pub use embeddings::EmbeddingParams;
pub use plain::train;
pub use project::{FoldedClasses, scores_in_folds};
