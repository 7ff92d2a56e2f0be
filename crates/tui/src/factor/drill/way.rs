//! The path of a drill-down, in the form that the session file keeps.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// A way down to a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::factor) struct Way {
    /// The quantile that it began at, from 1; none where it began at a date.
    pub(in crate::factor) quantile: Option<u16>,
    /// The date whose names were listed.
    pub(in crate::factor) date: Option<NaiveDate>,
    /// The code whose documents were listed.
    pub(in crate::factor) code: Option<String>,
}
