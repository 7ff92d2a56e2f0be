//! Experiments: a grid of settings put over features. Each combination of settings is a cell.
//!
//! All cells read the same documents and are judged by the RankIC of the factor or the macro F1 of labels. They are paired on the same
//! days or documents, intervals are of a moving-block bootstrap, and differences are corrected for the number of comparisons. The frontier
//! has the cells that no cheaper cell beats; a model confidence set the cells that may be the best.

mod audit;
mod compare;
mod effects;
mod findings;
mod grid;
mod labels;
mod names;
mod params;

pub use audit::Overlap;
pub use compare::{Observed, conclude, leave_out_short};
pub use effects::Effect;
pub use findings::{Cell, Findings, Skipped};
pub use grid::{CellState, Grid, GridCell};
pub use labels::{Called, Labelled};
pub use names::{TRUNCATE, cell_name, family_of, setting_names, short, shown};
pub use params::{LengthUnit, OverlapRule, Params, Settings, Target};
