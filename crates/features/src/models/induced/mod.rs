//! Tone by a lexicon that is induced from returns.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::{from_returns, from_seeds};
