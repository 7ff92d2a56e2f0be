//! The truncation laboratory: which part of a long text a model should see, judged by what counts.
//!
//! An experiment reads the same documents by every strategy of truncation at every length, with every model, and compares what
//! comes of it: the RankIC of the factor, or how well labels are told. All cells are paired on the same days or documents,
//! intervals are of a moving-block bootstrap, and differences are corrected for how many were looked at. What is left is the
//! frontier: what nothing cheaper beats.

mod audit;
mod compare;
mod findings;
mod grid;
mod labels;
mod params;

pub use audit::Overlap;
pub use compare::Observed;
pub use compare::conclude;
pub use findings::{Cell, Findings, Skipped};
pub use grid::{CellState, Grid, GridCell};
pub use labels::{DenseRows, Labelled};
pub use params::{LengthUnit, OverlapRule, Params, Preset, Target};
