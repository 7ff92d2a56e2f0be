//! Counts of words and their weights: TF-IDF and its relatives.

pub(crate) mod counted;
pub(crate) mod plain;
pub(crate) mod project;
pub(crate) mod spill;

pub use counted::TrainedRows;
pub use plain::{train, train_rows};
