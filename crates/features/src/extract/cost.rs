//! Cost of reading documents.

use serde::{Deserialize, Serialize};

/// Cost of reading a corpus by one strategy of truncation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub documents: u64,
    /// Documents without a kept token.
    pub nothing_kept: u64,
    /// Windows, one a document where a strategy has no windows.
    pub windows: u64,
    /// Tokens that the model reads in all, special ones included.
    pub tokens: u64,
    /// Tokens that were read now; the others had been read before.
    pub tokens_read: u64,
    pub seconds: f64,
    pub device: String,
}

impl Cost {
    /// Mean number of tokens that the model reads of a document, by which strategies are compared.
    pub fn tokens_a_document(&self) -> f64 {
        self.tokens as f64 / self.documents.max(1) as f64
    }
}
