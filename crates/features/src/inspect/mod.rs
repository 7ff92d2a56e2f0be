//! Statistics of feature sets: contents of columns, coverage of the corpus, and near rows.
//!
//! Batch `i` of a set has a row for each document of part `i` of the cleaned corpus. Sets are read batch by batch, so memory is that of a
//! batch, of the rows sampled for quartiles and of eight bytes a row; nothing is written.
//!
//! Useful for: a person who wants to know whether a set is sound. Not for: deciding anything in a run.

mod columns;
mod health;
mod near;
mod scores;
#[cfg(test)]
mod tests;

pub use columns::{BINS, Column, ColumnName};
pub use health::{Health, Month, health};
pub use near::{
    Found, ListedDocument, Near, NearMeasure, Neighbours, Nothing, Query, find, nearest_to_vector, neighbours,
};
pub use scores::scores;
