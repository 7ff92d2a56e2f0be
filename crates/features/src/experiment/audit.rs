//! What training and test have in common.

use serde::{Deserialize, Serialize};

use super::params::OverlapRule;

/// Texts that training and test share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Documents of the test.
    pub test_documents: u64,
    /// Of which the same text trains.
    pub exact: u64,
    /// Of which nearly the same text trains.
    pub near: u64,
    /// Share of test documents that are either.
    pub share: f64,
    /// What is done about it.
    pub rule: OverlapRule,
    /// Training documents that were left out for it.
    pub removed: u64,
}
