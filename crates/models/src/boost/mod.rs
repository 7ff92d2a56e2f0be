//! Gradient-boosted trees on rows of sparse and dense columns: trees grown by forust as XGBoost grows them, boosted here.
//!
//! Binary: log loss, one score, log-odds; more classes: softmax, one score and one tree a round for each; values: squared
//! loss. Trees work on dense columns of two bytes a cell, so they get those columns that tell most of the goal (see
//! `columns`), and memory is checked before anything is built. A column's value of 0 is "not there", as sparse input is
//! to XGBoost: each split learns where such rows go. The same data gives the same trees on any number of threads.

mod columns;
mod grow;

use std::fmt;

use anyhow::{Result, ensure};
use forust_ml::gradientbooster::{ContributionsMethod, GradientBooster};
use forust_ml::tree::Tree;
use rayon::prelude::*;

pub(crate) use grow::BoostGoal;
pub(crate) use grow::grow;

use super::design::{Design, DesignRow};

params! {
    /// Parameters of boosted trees.
    pub struct BoostParams {
        /// Rounds: trees, or trees a class.
        trees: usize = 200, number("N", "feature.boosted.trees", visible_alias = "n-estimators");
        /// Share of each tree's finding that is taken, above 0 to 1.
        learning_rate: f64 = 0.1, number("R", "feature.boosted.learning_rate");
        /// Splits from root to leaf at the most.
        max_depth: usize = 6, number("N", "feature.boosted.max_depth");
        /// Sum of second derivatives that a leaf needs.
        min_leaf_weight: f64 = 1.0,
            number("W", "feature.boosted.min_leaf_weight", visible_alias = "min-child-weight");
        /// L2 penalty on the leaves.
        l2: f64 = 1.0, number("L", "feature.boosted.l2");
        /// Terms that trees may use, those that tell most of the goal; 0 keeps all.
        max_features: usize = 2000,
            number("N", "feature.boosted.max_features", id = "tree_features", long = "tree-features");
        /// Memory for these terms at the most, in MB.
        memory_mb: usize = 2048, number("MB", "feature.boosted.memory_mb");
    }
}

/// Fitted trees: one booster an output.
pub struct Boosted {
    /// The columns that the trees use, ascending.
    columns: Vec<u32>,
    boosters: Vec<GradientBooster>,
}

impl Boosted {
    fn new(columns: Vec<u32>, outputs: Vec<(f64, Vec<Tree>)>) -> Boosted {
        let booster = |(base_score, trees): (f64, Vec<Tree>)| {
            let mut booster = GradientBooster::default().set_base_score(base_score).set_missing(0.0);
            booster.trees = trees;
            booster
        };
        Boosted { columns, boosters: outputs.into_iter().map(booster).collect() }
    }

    pub fn outputs(&self) -> usize {
        self.boosters.len()
    }

    /// The columns that the trees use, ascending.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The scores of rows, `[rows, outputs]`. Call inside `Ctx::install`.
    pub fn scores(&self, x: &Design) -> Vec<f64> {
        let k = self.outputs();
        let mut out = vec![0.0; x.rows() * k];
        out.par_chunks_mut(k).enumerate().for_each_init(
            || vec![0.0; self.columns.len()],
            |dense, (i, out)| {
                self.spread(x.row(i), dense);
                for (out, booster) in out.iter_mut().zip(&self.boosters) {
                    *out = booster.base_score + booster.trees.iter().map(|tree| leaf(tree, dense)).sum::<f64>();
                }
            },
        );
        out
    }

    /// The contribution of each column to the score of one output, or to its lead over another: Shapley values over the trees
    /// (Lundberg, Erion and Lee 2018). The first number is the mean score. A column that is not in the row can count too:
    /// its absence is something that the trees have seen.
    pub fn explain(&self, row: DesignRow<'_>, output: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>) {
        let mut dense = vec![0.0; self.columns.len()];
        self.spread(row, &mut dense);
        let data = forust_ml::Matrix::new(&dense, 1, dense.len());
        let mut parts = self.boosters[output].predict_contributions(&data, ContributionsMethod::Shapley, false);
        if let Some(against) = against {
            let other = self.boosters[against].predict_contributions(&data, ContributionsMethod::Shapley, false);
            parts.iter_mut().zip(other).for_each(|(part, other)| *part -= other);
        }
        let base = parts.pop().unwrap_or_default();
        let named = self.columns.iter().copied().zip(parts);
        (base, named.filter(|(_, part)| *part != 0.0).collect())
    }

    /// As bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let outputs: Vec<(f64, &Vec<Tree>)> = self.boosters.iter().map(|b| (b.base_score, &b.trees)).collect();
        Ok(serde_json::to_vec(&(&self.columns, outputs))?)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Boosted> {
        let (columns, outputs): (Vec<u32>, Vec<(f64, Vec<Tree>)>) = serde_json::from_slice(bytes)?;
        for node in outputs.iter().flat_map(|(_, trees)| trees).flat_map(|tree| &tree.nodes) {
            ensure!(node.is_leaf || node.split_feature < columns.len(), "a tree splits on a column that is not there");
        }
        Ok(Boosted::new(columns, outputs))
    }

    fn spread(&self, row: DesignRow<'_>, dense: &mut [f64]) {
        dense.fill(0.0);
        for (j, value) in row.sparse().iter() {
            if let Ok(at) = self.columns.binary_search(&j) {
                dense[at] = f64::from(value);
            }
        }
        for (value, &j) in dense.iter_mut().zip(&self.columns).rev() {
            let Some(of_column) = row.dense_value(j) else { break };
            *value = of_column;
        }
    }
}

impl fmt::Debug for Boosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trees: Vec<usize> = self.boosters.iter().map(|booster| booster.trees.len()).collect();
        f.debug_struct("Boosted").field("columns", &self.columns.len()).field("trees", &trees).finish()
    }
}

/// The value of the leaf that a dense row reaches.
fn leaf(tree: &Tree, dense: &[f64]) -> f64 {
    let mut node = &tree.nodes[0];
    while !node.is_leaf {
        node = &tree.nodes[node.get_child_idx(&dense[node.split_feature], &0.0)];
    }
    f64::from(node.weight_value)
}

#[cfg(test)]
mod tests;
