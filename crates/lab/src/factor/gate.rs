//! The settings by which features and factors leave out documents: those far from an event, and those that do not meet a condition.

use serde::{Deserialize, Serialize};

/// `within`: documents near an event of the same security. An event is a document of a source, linked to the security.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// Name of the `[[source]]` whose documents are the events.
    pub source: String,
    /// Natural days after the day of an event that still count, at least 1.
    pub days: u32,
}
