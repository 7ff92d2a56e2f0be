//! Findings of an experiment: every cell of the grid with its figure, interval, difference from the baseline, and cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::audit::Overlap;
use super::params::Target;
use crate::extract::Cost;
use inkstone_base::bootstrap::{Comparison, Interval};
use inkstone_base::data::Key;
use inkstone_corpus::truncate::{SectionShare, Strategy};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    pub name: String,
    pub target: Target,
    /// The figure that judges the cells: `rank_ic` or `macro_f1`.
    pub measure: String,
    /// The factor whose rules were used, and the horizon in trading days; none for labels.
    pub factor: Option<(String, usize)>,
    /// Documents of each class of the labels; empty for factors.
    pub classes: BTreeMap<String, u64>,
    pub documents: u64,
    /// Documents set aside, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Dates, or labelled documents in the order of time, that the bootstrap draws from.
    pub observations: u64,
    /// Neighbours drawn at once.
    pub block: usize,
    pub draws: usize,
    /// Share of the draws that an interval holds.
    pub confidence: f64,
    /// Number of the cell that the others are compared with.
    pub baseline: usize,
    /// Cells, in the order of features, strategies and lengths.
    pub cells: Vec<Cell>,
    pub skipped: Vec<Skipped>,
    pub overlap: Overlap,
}

/// One strategy at one length, read by one model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    pub feature: String,
    pub strategy: Strategy,
    /// The strategy without its limit.
    pub family: String,
    /// Tokens that a model sees at once at most, special ones included.
    pub limit: Option<usize>,
    /// The figure that counts: mean RankIC, or macro F1.
    pub figure: f64,
    pub interval: Interval,
    /// Comparison with the baseline; none for the baseline itself.
    pub against: Option<Comparison>,
    /// True if no cheaper cell, and none as cheap, is better.
    pub on_frontier: bool,
    /// Further figures: `ic`, `icir`, `rank_ic_t`, `dates`; or `accuracy`, `auc`, `log_loss`.
    pub figures: BTreeMap<String, f64>,
    pub cost: Cost,
    /// Share of each section that the strategy keeps.
    pub kept: Vec<SectionShare>,
    /// The feature set with the value of each document.
    pub set: Option<Key>,
}

/// A cell that could not be computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    pub feature: String,
    pub strategy: String,
    pub reason: String,
}

/// Marks the cells than which no cheaper one, nor one as cheap, is better.
pub(super) fn mark_frontier(cells: &mut [Cell]) {
    let points: Vec<(f64, f64)> = cells.iter().map(|cell| (cell.cost.tokens_a_document(), cell.figure)).collect();
    for (cell, &(cost, figure)) in cells.iter_mut().zip(&points) {
        let beats = |&(c, f): &(f64, f64)| (c <= cost && f > figure) || (c < cost && f >= figure);
        cell.on_frontier = !figure.is_nan() && !points.iter().any(beats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_is_what_nothing_cheaper_beats() {
        let cell =
            |tokens, figure| Cell { figure, cost: Cost { documents: 1, tokens, ..Cost::default() }, ..Cell::default() };
        let mut cells = [
            cell(10, 0.2),
            cell(20, 0.5),
            cell(20, 0.4),
            cell(30, 0.5),
            cell(40, 0.6),
            cell(5, f64::NAN),
            cell(50, 0.1),
        ];
        mark_frontier(&mut cells);
        assert_eq!(cells.map(|cell| cell.on_frontier), [true, true, false, false, true, false, false]);
    }
}
