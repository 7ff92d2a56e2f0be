//! Several linear scores of one row: what classifiers of more than two classes, naive Bayes and label sets have in common.

use anyhow::Result;

use super::Linear;
use crate::ModelFile;

use inkstone_base::ensure;

/// Linear scores `[outputs]` of rows: weights `[columns, outputs]`, so that a row is read once for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearMap {
    pub outputs: usize,
    /// `[columns, outputs]`.
    pub weights: Vec<f64>,
    /// The scores of a row of zeros, by output.
    pub(crate) intercepts: Vec<f64>,
}

impl LinearMap {
    /// Puts single models side by side; all have the same columns.
    pub(crate) fn from_models(models: &[Linear]) -> LinearMap {
        let outputs = models.len();
        let columns = models.first().map_or(0, |model| model.weights.len());
        let mut weights = vec![0.0; columns * outputs];
        for (k, model) in models.iter().enumerate() {
            weights[k..].iter_mut().step_by(outputs).zip(&model.weights).for_each(|(to, from)| *to = *from);
        }
        LinearMap { outputs, weights, intercepts: models.iter().map(|model| model.intercept).collect() }
    }

    /// Columns that a row may have.
    pub fn columns(&self) -> usize {
        self.weights.len() / self.outputs.max(1)
    }

    /// The weight of a column in an output.
    pub fn weight(&self, column: u32, output: usize) -> f64 {
        self.weights[column as usize * self.outputs + output]
    }

    /// The score of a row of zeros in an output.
    pub fn intercept(&self, output: usize) -> f64 {
        self.intercepts[output]
    }

    /// The log-odds of the second of two classes from the joint scores of both.
    pub(crate) fn lead_of_second(&self) -> LinearMap {
        let lead = |pair: &[f64]| pair[1] - pair[0];
        LinearMap {
            outputs: 1,
            weights: self.weights.chunks(2).map(lead).collect(),
            intercepts: vec![lead(&self.intercepts)],
        }
    }

    /// Reads back the sections of a model file; rows have `columns` columns.
    pub(crate) fn read(file: &ModelFile, columns: usize) -> Result<LinearMap> {
        let intercepts: Vec<f64> = file.numbers("intercepts")?.to_vec();
        let weights: Vec<f64> = file.numbers("weights")?.to_vec();
        let outputs = intercepts.len();
        ensure!(
            weights.len() == columns * outputs,
            "{columns} 列、{outputs} 个输出，却有 {} 个权重；请重新训练",
            "{} weights for {columns} columns and {outputs} outputs; train the model again",
            weights.len()
        );
        Ok(LinearMap { outputs, weights, intercepts })
    }
}
