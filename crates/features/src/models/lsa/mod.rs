//! Latent semantic analysis of TF-IDF rows.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::{KIND, LsaParams, decompose, train};
