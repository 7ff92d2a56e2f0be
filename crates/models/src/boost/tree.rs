//! One tree: its nodes, the leaf that a row reaches, and its growth level by level.

use std::ops::Range;

use anyhow::Result;

use super::BoostParams;
use super::bins::{Binned, Bins};
use super::goal::Derivatives;
use super::search::{CLOSED, Case, DerivativeSums, LevelNode, Split, SplitSearch};
use inkstone_base::job::Ctx;

/// A row is looked up in a list of values rather than the list read, where the list is as many times longer than the node.
const LOOK_UP: usize = 16;

/// A tree; the root is the first node, and children stand behind their parent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub(super) nodes: Vec<TreeNode>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TreeNode {
    /// The sum of second derivatives of the rows that it was made of.
    pub(super) cover: f32,
    pub(super) part: NodePart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NodePart {
    Leaf {
        value: f32,
    },
    Split {
        /// Among the columns that the trees use.
        column: u32,
        /// Values below it go left.
        threshold: f32,
        /// The place of the left child; the right one is next to it.
        left: u32,
        /// Rows without a value go left.
        absent_left: bool,
    },
}

impl TreeNode {
    /// The child that a value of its column leads to, NaN if it is not there; none of a leaf.
    pub(super) fn child(&self, row: &[f32]) -> Option<usize> {
        match self.part {
            NodePart::Leaf { .. } => None,
            NodePart::Split { column, threshold, left, absent_left } => {
                let value = row[column as usize];
                let goes_left = if value.is_nan() { absent_left } else { value < threshold };
                Some(left as usize + usize::from(!goes_left))
            }
        }
    }
}

impl Tree {
    /// The value of the leaf that a row reaches; values that are not there are NaN.
    pub(super) fn value(&self, row: &[f32]) -> f64 {
        let mut node = &self.nodes[0];
        while let Some(child) = node.child(row) {
            node = &self.nodes[child];
        }
        match node.part {
            NodePart::Leaf { value } => f64::from(value),
            NodePart::Split { .. } => unreachable!("a split has children"),
        }
    }
}

/// Grows trees on the same columns.
pub(super) struct Grower<'a> {
    binned: &'a Binned,
    params: &'a BoostParams,
    search: SplitSearch<'a>,
    cases: Vec<Case>,
    /// All rows, those of a node side by side and ascending.
    order: Vec<u32>,
    /// Rows that go right, while a node is parted.
    moved: Vec<u32>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(binned: &'a Binned, params: &'a BoostParams) -> Grower<'a> {
        let case = Case { gradient: 0.0, hessian: 0.0, node: 0 };
        Grower {
            binned,
            params,
            search: SplitSearch::new(&binned.columns, params),
            cases: vec![case; binned.rows],
            order: (0..binned.rows as u32).collect(),
            moved: Vec::new(),
        }
    }

    /// Grows a tree on the derivatives of each row, and adds its leaves to the rows' scores. Its splits name binned columns.
    /// Call inside `Ctx::install`.
    pub(super) fn grow<'d>(
        &mut self,
        derivatives: impl Iterator<Item = &'d Derivatives>,
        mut raise: impl FnMut(usize, f64),
        ctx: &Ctx,
    ) -> Result<Tree> {
        let mut total = DerivativeSums::default();
        for (case, d) in self.cases.iter_mut().zip(derivatives) {
            *case = Case { gradient: d.gradient, hessian: d.hessian, node: 0 };
            total += DerivativeSums::from(&*case);
        }
        (0..).zip(&mut self.order).for_each(|(i, row)| *row = i);
        self.search.begin_tree();

        let mut nodes = vec![self.leaf(total)];
        let mut level = vec![self.level_node(0, 0, 0..self.binned.rows, total, 0)];
        let mut leaves: Vec<LevelNode> = Vec::new();
        let mut depth = 0;
        while level.iter().any(|node| node.open) {
            ctx.check()?;
            let splits = self.search.level(&level, &self.order, &self.cases);
            depth += 1;
            let mut next = Vec::new();
            for (at, (node, split)) in level.into_iter().zip(splits).enumerate() {
                let Some(split) = split else {
                    self.close(&node);
                    leaves.push(node);
                    continue;
                };
                let middle = self.part(&node, at, &split);
                let column = &self.binned.columns[split.column as usize];
                nodes[node.id].part = NodePart::Split {
                    column: split.column,
                    threshold: column.threshold(split.bins),
                    left: nodes.len() as u32,
                    absent_left: split.absent_left,
                };
                let sides = [(node.rows.start..middle, split.left), (middle..node.rows.end, split.right)];
                for (rows, sums) in sides {
                    let child = self.level_node(nodes.len(), at, rows, sums, depth);
                    nodes.push(self.leaf(sums));
                    next.push(child);
                }
            }
            // Only now, so that no row has the new place of its node while another node of the old level has the same.
            next.iter().enumerate().for_each(|(at, node)| self.enter(node, at));
            level = next;
        }
        for node in leaves.iter().chain(&level) {
            let NodePart::Leaf { value } = nodes[node.id].part else { continue };
            self.order[node.rows.clone()].iter().for_each(|&row| raise(row as usize, f64::from(value)));
        }
        Ok(Tree { nodes })
    }

    fn leaf(&self, sums: DerivativeSums) -> TreeNode {
        let value = -sums.gradient / (sums.hessian + self.params.l2) * self.params.learning_rate;
        TreeNode { cover: sums.hessian as f32, part: NodePart::Leaf { value: value as f32 } }
    }

    fn level_node(
        &self,
        id: usize,
        parent: usize,
        rows: Range<usize>,
        total: DerivativeSums,
        depth: usize,
    ) -> LevelNode {
        let both = 2.0 * self.params.min_leaf_weight * (1.0 - 1e-9);
        let open = depth < self.params.max_depth && rows.len() > 1 && total.hessian >= both;
        LevelNode { id, parent, rows, total, open }
    }

    /// Tells the rows of a new node its place in the level.
    fn enter(&mut self, node: &LevelNode, at: usize) {
        let place = if node.open { at as u32 } else { CLOSED };
        self.order[node.rows.clone()].iter().for_each(|&row| self.cases[row as usize].node = place);
    }

    /// Tells the rows of a node that it will not be split.
    fn close(&mut self, node: &LevelNode) {
        self.order[node.rows.clone()].iter().for_each(|&row| self.cases[row as usize].node = CLOSED);
    }

    /// Puts the rows of the node at place `at` of the level that go left before those that go right, each in their order, and
    /// gives where the latter begin.
    fn part(&mut self, node: &LevelNode, at: usize, split: &Split) -> usize {
        let Grower { binned, cases, order, moved, .. } = self;
        let column = &binned.columns[split.column as usize];
        let goes_left = |bin: u8| if bin == column.absent() { split.absent_left } else { bin < split.bins };
        let rows = &mut order[node.rows.clone()];
        match &column.bins {
            Bins::Full(bins) => {
                for &row in &*rows {
                    cases[row as usize].node = side(goes_left(bins[row as usize]));
                }
            }
            Bins::Listed { rows: listed, bins } => {
                let absent = side(split.absent_left);
                if listed.len() <= rows.len() * LOOK_UP {
                    for (&row, &bin) in listed.iter().zip(bins) {
                        let case = &mut cases[row as usize];
                        if case.node == at as u32 {
                            case.node = side(goes_left(bin));
                        }
                    }
                    for &row in &*rows {
                        let case = &mut cases[row as usize];
                        if case.node == at as u32 {
                            case.node = absent;
                        }
                    }
                } else {
                    for &row in &*rows {
                        let found = listed.binary_search(&row);
                        cases[row as usize].node = found.map_or(absent, |i| side(goes_left(bins[i])));
                    }
                }
            }
        }
        moved.clear();
        let mut left = 0;
        for i in 0..rows.len() {
            let row = rows[i];
            if cases[row as usize].node == LEFT {
                rows[left] = row;
                left += 1;
            } else {
                moved.push(row);
            }
        }
        rows[left..].copy_from_slice(moved);
        node.rows.start + left
    }
}

/// Sides of a split, while the rows of a node are parted.
const LEFT: u32 = CLOSED - 1;
const RIGHT: u32 = CLOSED - 2;

fn side(left: bool) -> u32 {
    if left { LEFT } else { RIGHT }
}
