//! Counts of words and their weights: TF-IDF and its relatives.

pub(crate) mod plain;
pub(crate) mod project;
pub(crate) mod spill;

pub use plain::{TrainedRows, train, train_rows};
