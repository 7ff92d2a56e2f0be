//! word2vec.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::{METHOD, WordParams, train};
