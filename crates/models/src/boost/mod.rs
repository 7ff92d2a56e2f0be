//! Gradient-boosted trees, grown as XGBoost's `hist` grows them: second-order, level by level, on values in bins.
//!
//! Binary: log loss, one score, log-odds; more classes: softmax, one score and one tree a round for each; values: squared
//! loss. A value that is not there (in sparse rows: 0) goes where the split has learned to send such rows. What trees take in memory
//! is checked before anything is built. The same data gives the same trees on any number of threads.

mod bins;
mod columns;
mod file;
mod goal;
mod grow;
mod learner;
mod params;
mod search;
mod shap;
mod tree;

use std::fmt;

use anyhow::Result;
use rayon::prelude::*;

pub(crate) use goal::BoostGoal;
pub(crate) use grow::grow;
pub(crate) use learner::BoostedLearner;
pub use params::BoostParams;

use super::design::{Design, DesignRow};
use super::learner::Scorer;
use tree::{NodePart, Tree};

#[derive(Clone, PartialEq)]
pub(crate) struct Boosted {
    /// The columns that the trees use, ascending.
    columns: Vec<u32>,
    outputs: Vec<OutputTrees>,
}

/// The trees of one score.
#[derive(Clone, Debug, PartialEq)]
struct OutputTrees {
    /// The score before the first tree.
    base: f64,
    trees: Vec<Tree>,
}

impl Boosted {
    /// From trees that name columns by their place among `columns`; unused columns are left out.
    fn new(columns: &[u32], mut outputs: Vec<OutputTrees>) -> Boosted {
        let mut splits: Vec<&mut u32> = Vec::new();
        for node in outputs.iter_mut().flat_map(|output| &mut output.trees).flat_map(|tree| &mut tree.nodes) {
            if let NodePart::Split { column, .. } = &mut node.part {
                splits.push(column);
            }
        }
        let mut places = vec![None; columns.len()];
        splits.iter().for_each(|column| places[**column as usize] = Some(0));
        let used = places.iter_mut().flatten();
        used.zip(0..).for_each(|(place, i)| *place = i);
        splits.into_iter().for_each(|column| *column = places[*column as usize].unwrap_or_default());
        let used = columns.iter().zip(&places).filter(|(_, place)| place.is_some());
        Boosted { columns: used.map(|(column, _)| *column).collect(), outputs }
    }

    /// The columns that the trees use, ascending.
    pub(crate) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The mean score of an output, and what each used column adds to it.
    fn contributions(&self, output: usize, values: &[f32]) -> (f64, Vec<f64>) {
        let OutputTrees { base, trees } = &self.outputs[output];
        let mut parts = vec![0.0; self.columns.len()];
        trees.iter().for_each(|tree| shap::contributions(tree, values, &mut parts));
        (base + trees.iter().map(shap::mean).sum::<f64>(), parts)
    }

    /// A row's values in the columns that the trees use; NaN where there is none.
    fn spread(&self, row: DesignRow<'_>, values: &mut [f32]) {
        values.fill(f32::NAN);
        for (j, value) in row.sparse().iter().filter(|(_, value)| *value != 0.0) {
            if let Ok(at) = self.columns.binary_search(&j) {
                values[at] = value;
            }
        }
        for (value, &j) in values.iter_mut().zip(&self.columns).rev() {
            let Some(found) = row.dense_value(j) else { break };
            *value = if found == 0.0 { f32::NAN } else { found as f32 };
        }
    }
}

impl Scorer for Boosted {
    fn outputs(&self) -> usize {
        self.outputs.len()
    }

    fn scores(&self, x: &Design) -> Vec<f64> {
        let k = self.outputs();
        let mut out = vec![0.0; x.rows() * k];
        out.par_chunks_mut(k).enumerate().for_each_init(
            || vec![0.0; self.columns.len()],
            |values, (i, out)| {
                self.spread(x.row(i), values);
                for (out, output) in out.iter_mut().zip(&self.outputs) {
                    *out = output.base + output.trees.iter().map(|tree| tree.value(values)).sum::<f64>();
                }
            },
        );
        out
    }

    /// Exact Shapley values over the trees; the first number is the mean score. A column that is not in the row can count too: its absence
    /// is something that the trees have seen.
    fn explain(&self, row: DesignRow<'_>, output: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>) {
        let mut values = vec![0.0; self.columns.len()];
        self.spread(row, &mut values);
        let (mut base, mut parts) = self.contributions(output, &values);
        if let Some(against) = against {
            let (other_base, other) = self.contributions(against, &values);
            base -= other_base;
            parts.iter_mut().zip(other).for_each(|(part, other)| *part -= other);
        }
        let named = self.columns.iter().copied().zip(parts);
        (base, named.filter(|(_, part)| *part != 0.0).collect())
    }

    fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(vec![("trees", self.to_bytes())])
    }
}

impl fmt::Debug for Boosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trees: Vec<usize> = self.outputs.iter().map(|output| output.trees.len()).collect();
        f.debug_struct("Boosted").field("columns", &self.columns.len()).field("trees", &trees).finish()
    }
}

#[cfg(test)]
mod tests;
