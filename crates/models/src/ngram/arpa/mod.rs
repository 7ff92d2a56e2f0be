//! ARPA files, the text form of back-off models: log10 probability, tab, words, tab, log10 back-off weight.
//!
//! The form that SRILM and KenLM read and write: an absent back-off weight is 0, the highest order has none, lines of an order
//! stand in any order, text before `\data\` is skipped. A suffix of an n-gram may be missing (SRILM prunes them), its
//! context may not (KenLM refuses that too). Without `<unk>`, unknown words have log10 probability -100, as in KenLM.

mod number;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::{is_arpa, read_arpa};
