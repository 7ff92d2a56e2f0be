//! Experiments on truncation: which part of a long text a model should read.
//!
//! An experiment reads the same documents by every strategy of truncation at every length, with every model, and compares the RankIC of
//! the factor or the macro F1 of labels. All cells are paired on the same days or documents, intervals are of a moving-block bootstrap,
//! and differences are corrected for the number of comparisons. The frontier has the cells that no cheaper cell beats.

mod audit;
mod compare;
mod findings;
mod grid;
mod labels;
mod params;

pub use audit::Overlap;
pub use compare::{Observed, conclude};
pub use findings::{Cell, Findings, Skipped};
pub use grid::{CellState, Grid, GridCell};
pub use labels::Labelled;
pub use params::{LengthUnit, OverlapRule, Params, Preset, Target};
