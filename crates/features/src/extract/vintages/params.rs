//! Windows and steps of walk-forward word vectors.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;

/// Windows and steps of word vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VintageParams {
    /// Natural days before a step whose documents its vectors are trained on; 0 (default): all days before.
    pub window_days: u32,
    /// Natural days of a step, all valued by one vintage. Default: 91, a quarter.
    pub refit_days: u32,
    /// Documents of a window below which its step has no values. Default: 1000.
    pub min_train_documents: usize,
}

impl Default for VintageParams {
    fn default() -> VintageParams {
        VintageParams { window_days: 0, refit_days: 91, min_train_documents: 1000 }
    }
}

impl VintageParams {
    /// Fails on values out of range.
    pub fn check(&self) -> Result<()> {
        bounds::check("feature.vintages", self)
    }
}
