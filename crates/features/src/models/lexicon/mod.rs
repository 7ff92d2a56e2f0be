//! Tone by lists of words: lexicons of the user and those that come with the program.

pub(crate) mod plain;
pub(crate) mod project;

pub use plain::gather;
pub use project::ToneWords;
