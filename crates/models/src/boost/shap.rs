//! Exact Shapley values of trees (Lundberg, Erion and Lee 2018, algorithm 2), as `pred_contribs` of XGBoost gives them.
//!
//! Where a column is left out, a split gives the mean of its two children, each weighted by the training rows that reached it (its cover).

use super::tree::{NodePart, Tree};

/// The columns on the way to a node.
#[derive(Clone, Debug)]
struct Path {
    columns: Vec<PathColumn>,
    /// By the size of a set of these columns, from none to all: how much comes through where that many of them are known.
    weights: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct PathColumn {
    column: u32,
    /// The share that comes through where the column is not known.
    unknown: f64,
    /// 1 if the row comes through where the column is known, else 0.
    known: f64,
}

impl Path {
    fn push(&mut self, column: PathColumn) {
        let n = self.weights.len();
        self.weights.push(0.0);
        for i in (0..n).rev() {
            let weight = self.weights[i] / (n + 1) as f64;
            self.weights[i + 1] += column.known * weight * (i + 1) as f64;
            self.weights[i] = column.unknown * weight * (n - i) as f64;
        }
        self.columns.push(column);
    }

    /// The weights without column `i`, the largest set first.
    fn without(&self, i: usize) -> impl Iterator<Item = f64> {
        let PathColumn { unknown, known, .. } = self.columns[i];
        let n = self.columns.len();
        let mut next = self.weights[n];
        (0..n).rev().map(move |j| {
            let (with, rest) = ((j + 1) as f64, (n - j) as f64);
            if known == 0.0 {
                return self.weights[j] * (n + 1) as f64 / (unknown * rest);
            }
            let weight = next * (n + 1) as f64 / (with * known);
            next = self.weights[j] - weight * unknown * rest / (n + 1) as f64;
            weight
        })
    }

    /// Takes column `i` out.
    fn remove(&mut self, i: usize) -> PathColumn {
        let mut weights: Vec<f64> = self.without(i).collect();
        weights.reverse();
        self.weights = weights;
        self.columns.remove(i)
    }
}

/// The mean of a tree over the rows that it was made of.
pub(super) fn mean(tree: &Tree) -> f64 {
    mean_below(tree, 0)
}

fn mean_below(tree: &Tree, node: usize) -> f64 {
    match tree.nodes[node].part {
        NodePart::Leaf { value } => f64::from(value),
        NodePart::Split { left, .. } => {
            let left = left as usize;
            share(tree, node, left) * mean_below(tree, left) + share(tree, node, left + 1) * mean_below(tree, left + 1)
        }
    }
}

/// The share of a node's cover that its child has.
fn share(tree: &Tree, node: usize, child: usize) -> f64 {
    f64::from(tree.nodes[child].cover) / f64::from(tree.nodes[node].cover)
}

/// Adds the contribution of each column to the value of a row; values that are not there are NaN.
pub(super) fn contributions(tree: &Tree, row: &[f32], into: &mut [f64]) {
    visit(tree, row, 0, Path { columns: Vec::new(), weights: vec![1.0] }, into);
}

fn visit(tree: &Tree, row: &[f32], node: usize, mut path: Path, into: &mut [f64]) {
    match tree.nodes[node].part {
        NodePart::Leaf { value } => {
            for (i, column) in path.columns.iter().enumerate() {
                let weight: f64 = path.without(i).sum();
                into[column.column as usize] += weight * (column.known - column.unknown) * f64::from(value);
            }
        }
        NodePart::Split { column, left, .. } => {
            // A column that is on the path already enters again with what came through it so far.
            let earlier = path.columns.iter().position(|on_path| on_path.column == column);
            let before =
                earlier.map_or(PathColumn { column, unknown: 1.0, known: 1.0 }, |earlier| path.remove(earlier));
            let taken = tree.nodes[node].child(row);
            for child in [left as usize, left as usize + 1] {
                let mut below = path.clone();
                below.push(PathColumn {
                    column,
                    unknown: before.unknown * share(tree, node, child),
                    known: if taken == Some(child) { before.known } else { 0.0 },
                });
                visit(tree, row, child, below, into);
            }
        }
    }
}
