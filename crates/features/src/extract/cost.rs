//! What reading documents costs.

use serde::{Deserialize, Serialize};

/// What reading a corpus by one strategy of truncation costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Documents that are read.
    pub documents: u64,
    /// Of which nothing was kept.
    pub nothing_kept: u64,
    /// Windows, one a document where a strategy has no windows.
    pub windows: u64,
    /// Tokens that the model reads in all, special ones included.
    pub tokens: u64,
    /// Tokens that were read for this; the others had been read before.
    pub tokens_read: u64,
    /// Seconds that this took.
    pub seconds: f64,
    /// Where the model ran.
    pub device: String,
}

impl Cost {
    /// Tokens that the model reads of a document on average: what strategies are compared by.
    pub fn tokens_a_document(&self) -> f64 {
        self.tokens as f64 / self.documents.max(1) as f64
    }
}
