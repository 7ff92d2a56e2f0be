//! The settings of the clusters of a project.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_models::ClusterParams;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterSettings {
    /// Themes. Default: 20.
    pub k: usize,
    /// True if rows are clustered as they are; false (default): at length 1, by their angles.
    pub as_is: bool,
    /// Starts of the first fit; later ones begin from the centres before them. Default: 4.
    pub starts: usize,
    /// Rounds of a start at the most. Default: 300.
    pub rounds: usize,
    /// A start ends when the centres move by less than this share of the variance of the columns. Default: 0.0001.
    pub tolerance: f64,
    /// 0 (default): a document belongs to the nearest theme alone; else to all, as in fuzzy c-means with the exponent 1 + softness.
    pub softness: f64,
    /// Natural days before a step whose documents it is fitted on; 0 (default): all days before.
    pub window_days: u32,
    /// Natural days of a step. Default: 28.
    pub refit_days: u32,
    /// Documents of a window below which its step has no values. Default: 500.
    pub min_train_documents: usize,
    /// Natural days before a document over which the share of its theme is counted. Default: 30.
    pub share_days: u32,
}

impl Default for ClusterSettings {
    fn default() -> ClusterSettings {
        let ClusterParams { k, starts, as_is, rounds, tolerance } = ClusterParams::default();
        ClusterSettings {
            k,
            as_is,
            starts,
            rounds,
            tolerance,
            softness: 0.0,
            window_days: 0,
            refit_days: 28,
            min_train_documents: 500,
            share_days: 30,
        }
    }
}

impl ClusterSettings {
    pub(crate) fn params(&self) -> ClusterParams {
        let ClusterSettings { k, as_is, starts, rounds, tolerance, .. } = *self;
        ClusterParams { k, as_is, starts, rounds, tolerance }
    }

    /// Fails on values out of range.
    pub fn check(&self) -> Result<()> {
        bounds::check("feature.clusters", self)
    }
}
