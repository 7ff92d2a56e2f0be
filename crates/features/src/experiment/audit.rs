//! Overlap of training and test.

use serde::{Deserialize, Serialize};

use super::params::OverlapRule;

/// Texts that training and test share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    pub test_documents: u64,
    /// Test documents whose text is also in the training set.
    pub exact: u64,
    /// Test documents with a near duplicate in the training set.
    pub near: u64,
    /// `(exact + near) / test_documents`.
    pub share: f64,
    pub rule: OverlapRule,
    /// Training documents that were left out because of the overlap.
    pub removed: u64,
}
