//! The memory of the page between sessions.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::drill::Way;
use super::{FactorFocus, LayerChart};

/// The memory of the page in a session. Values that no longer fit are left out one by one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FactorMemory {
    pub(super) factor: Option<String>,
    /// Holding period in trading days.
    pub(super) horizon: Option<usize>,
    pub(super) date: Option<NaiveDate>,
    pub(super) chart: LayerChart,
    pub(super) focus: FactorFocus,
    /// The quantile whose bar was marked, from 0.
    pub(super) bar: Option<usize>,
    pub(super) way: Option<Way>,
    /// Columns and orders of the lists on the way down.
    pub(super) tables: serde_json::Value,
}
