//! The best split of each node of a level, found column by column from histograms of derivatives.
//!
//! A listed column is read once a level, for all nodes together; only values that are there are touched, and what is missing in
//! a node is its total less those. A full column reads the rows of the smaller of two siblings; the histogram of the larger is
//! that of their parent less the smaller one's. Each histogram is summed by one thread in the order of rows, and of equal gains
//! the first column's counts, so that splits do not depend on the number of threads.
//!
//! Gains are those of XGBoost (Chen and Guestrin 2016, equation 7): `G^2 / (H + l2)` of both sides less that of the node.

use std::ops::{Add, AddAssign, Range, Sub};

use rayon::prelude::*;

use super::BoostParams;
use super::bins::{BinnedColumn, Bins};

/// XGBoost makes no split that gains no more.
const LEAST_GAIN: f32 = 1e-6;
/// Nodes of a level at the most whose histograms are kept for the next level; beyond it nodes are small.
const KEPT_NODES: usize = 64;
/// Values of listed columns that a task reads at the least, and tasks of a level at the most.
const TASK_VALUES: usize = 16_384;
const TASKS: usize = 512;

/// The node of a case that belongs to no node which may be split.
pub(super) const CLOSED: u32 = u32::MAX;

/// A row as a tree sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) gradient: f32,
    pub(super) hessian: f32,
    /// Number of the row's node in the level, or [`CLOSED`].
    pub(super) node: u32,
}

/// Sums of derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DerivativeSums {
    pub(super) gradient: f64,
    pub(super) hessian: f64,
}

impl Add for DerivativeSums {
    type Output = DerivativeSums;

    fn add(self, other: DerivativeSums) -> DerivativeSums {
        DerivativeSums { gradient: self.gradient + other.gradient, hessian: self.hessian + other.hessian }
    }
}

impl AddAssign for DerivativeSums {
    fn add_assign(&mut self, other: DerivativeSums) {
        *self = *self + other;
    }
}

impl Sub for DerivativeSums {
    type Output = DerivativeSums;

    fn sub(self, other: DerivativeSums) -> DerivativeSums {
        DerivativeSums { gradient: self.gradient - other.gradient, hessian: self.hessian - other.hessian }
    }
}

impl From<&Case> for DerivativeSums {
    fn from(case: &Case) -> DerivativeSums {
        DerivativeSums { gradient: f64::from(case.gradient), hessian: f64::from(case.hessian) }
    }
}

/// A bin of a histogram. The number of rows says exactly whether a bin is empty, which differences of sums do not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HistogramCell {
    sums: DerivativeSums,
    rows: u32,
}

impl HistogramCell {
    #[inline(always)]
    fn count(&mut self, case: &Case) {
        self.sums += DerivativeSums::from(case);
        self.rows += 1;
    }
}

/// A node of the level whose splits are looked for. Siblings stand side by side.
#[derive(Clone, Debug)]
pub(super) struct LevelNode {
    /// Number of the node in the tree.
    pub(super) id: usize,
    /// Number of the parent in the level above.
    pub(super) parent: usize,
    /// Where its rows stand in the order of rows by node; they ascend.
    pub(super) rows: Range<usize>,
    pub(super) total: DerivativeSums,
    /// True if it may be split.
    pub(super) open: bool,
}

/// A split of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    gain: f32,
    /// Among the binned columns.
    pub(super) column: u32,
    /// Rows in as many first bins go left.
    pub(super) bins: u8,
    /// Rows without a value go left.
    pub(super) absent_left: bool,
    pub(super) left: DerivativeSums,
    pub(super) right: DerivativeSums,
}

/// Takes the better split; of equal ones the split of the first column.
fn improve(best: &mut Option<Split>, split: Split) {
    if best.is_none_or(|b| split.gain > b.gain || split.gain == b.gain && split.column < b.column) {
        *best = Some(split);
    }
}

/// Least weight of a leaf, and gain of a split.
#[derive(Clone, Copy, Debug)]
struct Rule {
    l2: f64,
    min_leaf_weight: f64,
}

impl Rule {
    fn score(self, sums: DerivativeSums) -> f64 {
        sums.gradient * sums.gradient / (sums.hessian + self.l2)
    }

    /// Looks for a better split of a node by a column, whose histogram in the node and number of rows with a value are given.
    fn search(
        self,
        column: u32,
        histogram: &[HistogramCell],
        present: usize,
        node: &LevelNode,
        best: &mut Option<Split>,
    ) {
        let before = self.score(node.total);
        let suffices = |sums: DerivativeSums| sums.hessian >= self.min_leaf_weight && sums.hessian > 0.0;
        let mut consider = |bins: usize, absent_left: bool, without_absent: DerivativeSums| {
            let rest = node.total - without_absent;
            if suffices(without_absent) && suffices(rest) {
                let gain = (self.score(without_absent) + self.score(rest) - before) as f32;
                if gain > LEAST_GAIN {
                    let (left, right) = if absent_left { (rest, without_absent) } else { (without_absent, rest) };
                    improve(best, Split { gain, column, bins: bins as u8, absent_left, left, right });
                }
            }
        };
        let filled = histogram.iter().enumerate().filter(|(_, cell)| cell.rows > 0);
        let (mut sums, mut rows) = (DerivativeSums::default(), 0);
        for (bin, cell) in filled.clone() {
            sums += cell.sums;
            rows += cell.rows as usize;
            if rows < node.rows.len() {
                consider(bin + 1, false, sums);
            }
        }
        // Where each row of the node has a value, both directions part it alike.
        if present < node.rows.len() {
            sums = DerivativeSums::default();
            for (bin, cell) in filled.rev() {
                sums += cell.sums;
                consider(bin, true, sums);
            }
        }
    }
}

/// The state of the search through one tree.
pub(super) struct SplitSearch<'a> {
    columns: &'a [BinnedColumn],
    rule: Rule,
    listed: Vec<ListedColumns>,
    full: Vec<FullColumn>,
}

/// Listed columns that one task reads.
struct ListedColumns {
    all: Vec<u32>,
    /// Columns by which a node can still be split.
    left: Vec<u32>,
}

struct FullColumn {
    column: u32,
    /// The histograms of the level above, if they were kept.
    kept: Vec<HistogramCell>,
}

/// Histograms of a column in the nodes of a level, all empty between two columns.
#[derive(Default)]
struct SplitScratch {
    cells: Vec<HistogramCell>,
    /// Rows with a value, by node.
    present: Vec<u32>,
    /// Nodes that have such rows.
    nodes: Vec<u32>,
}

impl<'a> SplitSearch<'a> {
    pub(super) fn new(columns: &'a [BinnedColumn], params: &BoostParams) -> SplitSearch<'a> {
        let values = |column: &BinnedColumn| match &column.bins {
            Bins::Listed { rows, .. } => rows.len(),
            Bins::Full(_) => 0,
        };
        let share = (columns.iter().map(values).sum::<usize>() / TASKS).max(TASK_VALUES);
        let (mut listed, mut full, mut read) = (Vec::<ListedColumns>::new(), Vec::new(), share);
        for (c, column) in (0..).zip(columns) {
            if let Bins::Full(_) = column.bins {
                full.push(FullColumn { column: c, kept: Vec::new() });
                continue;
            }
            if read >= share {
                listed.push(ListedColumns { all: Vec::new(), left: Vec::new() });
                read = 0;
            }
            if let Some(task) = listed.last_mut() {
                task.all.push(c);
                read += values(column);
            }
        }
        let rule = Rule { l2: params.l2, min_leaf_weight: params.min_leaf_weight };
        SplitSearch { columns, rule, listed, full }
    }

    /// Forgets the tree before.
    pub(super) fn begin_tree(&mut self) {
        self.listed.iter_mut().for_each(|task| task.left.clone_from(&task.all));
        self.full.iter_mut().for_each(|full| full.kept.clear());
    }

    /// The best split of each open node of a level, the root's first. Call inside `Ctx::install`.
    pub(super) fn level(&mut self, level: &[LevelNode], order: &[u32], cases: &[Case]) -> Vec<Option<Split>> {
        let SplitSearch { columns, rule, listed, full } = self;
        let (columns, rule) = (*columns, *rule);
        let none = || vec![None; level.len()];
        let merged = |mut all: Vec<Option<Split>>, more: Vec<Option<Split>>| {
            for (best, split) in all.iter_mut().zip(more) {
                split.into_iter().for_each(|split| improve(best, split));
            }
            all
        };
        let by_listed = || {
            let found = listed.par_iter_mut().fold(
                || (SplitScratch::default(), none()),
                |(mut scratch, mut best), task| {
                    scratch.present.resize(level.len(), 0);
                    task.left.retain(|&c| scratch.read(c, &columns[c as usize], level, cases, rule, &mut best));
                    (scratch, best)
                },
            );
            found.map(|(_, best)| best).reduce(none, merged)
        };
        let by_full = || {
            let found = full.par_iter_mut().fold(none, |mut best, full| {
                full.search(&columns[full.column as usize], level, order, cases, rule, &mut best);
                best
            });
            found.reduce(none, merged)
        };
        let (best, more) = rayon::join(by_listed, by_full);
        merged(best, more)
    }
}

impl SplitScratch {
    /// Reads a listed column for all nodes of the level. False if none of them, nor a node below them, can be split by it.
    fn read(
        &mut self,
        c: u32,
        column: &BinnedColumn,
        level: &[LevelNode],
        cases: &[Case],
        rule: Rule,
        best: &mut [Option<Split>],
    ) -> bool {
        let Bins::Listed { rows, bins } = &column.bins else { return false };
        let width = column.len();
        if self.cells.len() < level.len() * width {
            self.cells.resize(level.len() * width, HistogramCell::default());
        }
        for (&row, &bin) in rows.iter().zip(bins) {
            let case = &cases[row as usize];
            if case.node == CLOSED {
                continue;
            }
            let node = case.node as usize;
            if self.present[node] == 0 {
                self.nodes.push(case.node);
            }
            self.present[node] += 1;
            self.cells[node * width + bin as usize].count(case);
        }
        let mut can_split = false;
        for node in self.nodes.drain(..) {
            let node = node as usize;
            let histogram = &mut self.cells[node * width..][..width];
            // One side of each split has nothing but rows with a value.
            let hessian: f64 = histogram.iter().map(|cell| cell.sums.hessian).sum();
            if hessian >= rule.min_leaf_weight {
                can_split = true;
                rule.search(c, histogram, self.present[node] as usize, &level[node], &mut best[node]);
            }
            histogram.fill(HistogramCell::default());
            self.present[node] = 0;
        }
        can_split
    }
}

impl FullColumn {
    fn search(
        &mut self,
        column: &BinnedColumn,
        level: &[LevelNode],
        order: &[u32],
        cases: &[Case],
        rule: Rule,
        best: &mut [Option<Split>],
    ) {
        let Bins::Full(bins) = &column.bins else { return };
        let width = column.len() + 1;
        let fill = |histogram: &mut [HistogramCell], node: &LevelNode| {
            for &row in &order[node.rows.clone()] {
                histogram[bins[row as usize] as usize].count(&cases[row as usize]);
            }
        };
        let c = self.column;
        let mut search = |histogram: &[HistogramCell], at: usize| {
            let absent = histogram[column.absent() as usize].rows as usize;
            let present = level[at].rows.len() - absent;
            rule.search(c, &histogram[..column.len()], present, &level[at], &mut best[at]);
        };
        if level.len() > KEPT_NODES {
            self.kept = Vec::new();
            let mut histogram = vec![HistogramCell::default(); width];
            for (at, node) in level.iter().enumerate().filter(|(_, node)| node.open) {
                fill(&mut histogram, node);
                search(&histogram, at);
                histogram.fill(HistogramCell::default());
            }
            return;
        }
        let mut cells = vec![HistogramCell::default(); level.len() * width];
        for (siblings, pair) in cells.chunks_mut(2 * width).zip(level.chunks(2)) {
            let (first, second) = siblings.split_at_mut(width);
            match pair {
                [a, b] if !self.kept.is_empty() && (a.open || b.open) => {
                    let above = &self.kept[a.parent * width..][..width];
                    if a.rows.len() <= b.rows.len() {
                        fill(first, a);
                        subtract(second, above, first);
                    } else {
                        fill(second, b);
                        subtract(first, above, second);
                    }
                }
                [a, b] if a.open || b.open => {
                    fill(first, a);
                    fill(second, b);
                }
                [root] => fill(first, root),
                _ => {}
            }
        }
        for (at, histogram) in cells.chunks(width).enumerate().filter(|(at, _)| level[*at].open) {
            search(histogram, at);
        }
        self.kept = cells;
    }
}

/// The histogram of a node from those of its parent and its sibling.
fn subtract(into: &mut [HistogramCell], parent: &[HistogramCell], sibling: &[HistogramCell]) {
    for ((into, parent), sibling) in into.iter_mut().zip(parent).zip(sibling) {
        *into = HistogramCell { sums: parent.sums - sibling.sums, rows: parent.rows - sibling.rows };
    }
}

/// Nodes of one level at the most whose histograms a full column keeps.
pub(super) fn kept_nodes(max_depth: usize) -> usize {
    KEPT_NODES.min(1 << (max_depth - 1).min(16))
}
