//! Findings of an experiment: every cell of the grid with its figure, interval, difference from the baseline, and cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::audit::Overlap;
use super::effects::Effect;
use super::params::Target;
use crate::extract::Cost;
use inkstone_base::bootstrap::{Comparison, Interval};
use inkstone_base::data::Key;
use inkstone_base::language::Message;
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
    /// Paths of the settings that vary, in order.
    pub vary: Vec<String>,
    /// Cells, in the order of features and combinations of settings.
    pub cells: Vec<Cell>,
    /// Effect of each value of each setting on the figure; empty where a single setting varies.
    pub effects: Vec<Effect>,
    pub skipped: Vec<Skipped>,
    pub overlap: Overlap,
}

/// One combination of settings, put over one feature.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    pub feature: String,
    /// Settings of the cell in one line: `layers=last:4 · pooling=cls`.
    pub setting: String,
    /// The value of each setting of [`Findings::vary`].
    pub values: Vec<String>,
    /// The colour of its kind on charts: its strategy of truncation without the limit where strategies vary, else the value of the first
    /// setting, else its feature.
    pub family: String,
    /// The part of a text that its model reads.
    pub strategy: Strategy,
    /// The figure that counts: mean RankIC, or macro F1.
    pub figure: f64,
    pub interval: Interval,
    /// Comparison with the baseline; none for the baseline itself.
    pub against: Option<Comparison>,
    /// P-value of the model confidence set: the cell may be the best of all where it is above 1 less the confidence; none without a figure.
    pub p_best: Option<f64>,
    /// True if no cheaper cell, and none as cheap, is better.
    pub on_frontier: bool,
    /// Further figures: `ic`, `icir`, `rank_ic_t`, `dates`; or `accuracy`, `auc`, `log_loss`.
    pub figures: BTreeMap<String, f64>,
    pub cost: Cost,
    /// Share of each section that is read.
    pub kept: Vec<SectionShare>,
    /// The feature set with the value of each document.
    pub set: Option<Key>,
}

/// A cell that could not be computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    pub feature: String,
    /// Name of the setting, written as in [`Cell::setting`].
    pub setting: String,
    pub values: Vec<String>,
    pub reason: Message,
}

impl Findings {
    /// True if the cell is in the model confidence set: no other cell's figure is higher by more than chance.
    pub fn may_be_best(&self, cell: &Cell) -> bool {
        cell.p_best.is_some_and(|p| p > 1.0 - self.confidence)
    }
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
