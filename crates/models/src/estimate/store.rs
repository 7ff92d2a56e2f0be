//! An estimator as sections of a model file.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Estimator, Link, Method, Scorer, Task};
use crate::boost::Boosted;
use crate::calibration::Calibrator;
use crate::file::ModelFile;
use crate::linear::{Convergence, LinearMap};
use crate::mlp::{Mlp, MlpShape};

/// All of an estimator but its numbers.
#[derive(Serialize, Deserialize)]
struct Plain {
    method: Method,
    task: Task,
    link: Link,
    calibrators: Vec<Calibrator>,
    convergence: Vec<Convergence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<MlpShape>,
}

impl Estimator {
    /// Sections of a model file: `estimator` (JSON), and `weights` `[columns, outputs]` with `intercepts` (f64), `trees` or `network` (f32).
    pub fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let plain = Plain {
            method: self.method,
            task: self.task.clone(),
            link: self.link,
            calibrators: self.calibrators.clone(),
            convergence: self.convergence.clone(),
            network: match &self.scorer {
                Scorer::Network(network) => Some(network.shape().clone()),
                Scorer::Linear(_) | Scorer::Trees(_) => None,
            },
        };
        let mut sections = vec![("estimator", serde_json::to_vec(&plain)?)];
        match &self.scorer {
            Scorer::Linear(map) => {
                sections.push(("weights", bytemuck::cast_slice(&map.weights).to_vec()));
                sections.push(("intercepts", bytemuck::cast_slice(&map.intercepts).to_vec()));
            }
            Scorer::Trees(trees) => sections.push(("trees", trees.to_bytes())),
            Scorer::Network(network) => sections.push(("network", network.to_bytes())),
        }
        Ok(sections)
    }

    /// Reads back [`Estimator::sections`]; rows have `columns` columns.
    pub fn from_file(file: &ModelFile, columns: usize) -> Result<Estimator> {
        let plain: Plain = serde_json::from_slice(file.bytes("estimator")?)
            .context("the section estimator is damaged or of another version; train the model again")?;
        let scorer = if plain.method == Method::Boosted {
            let trees = Boosted::from_bytes(file.bytes("trees")?)
                .context("the trees of the model cannot be read; train the model again")?;
            ensure!(
                trees.columns().last().is_none_or(|&j| (j as usize) < columns),
                "the trees use a column beyond the {columns} of the features; train the model again"
            );
            Scorer::Trees(Arc::new(trees))
        } else if plain.method == Method::Mlp {
            let shape = plain.network.context("the model does not say its layers; train it again")?;
            ensure!(
                shape.sparse.checked_add(shape.dense) == Some(columns),
                "the network has {} and {} columns, but the features {columns}; train the model again",
                shape.sparse,
                shape.dense
            );
            Scorer::Network(Mlp::from_numbers(shape, file.numbers("network")?)?)
        } else {
            let intercepts: Vec<f64> = file.numbers("intercepts")?.to_vec();
            let weights: Vec<f64> = file.numbers("weights")?.to_vec();
            let outputs = intercepts.len();
            ensure!(
                weights.len() == columns * outputs,
                "{} weights for {columns} columns and {outputs} outputs; train the model again",
                weights.len()
            );
            Scorer::Linear(LinearMap { outputs, weights, intercepts })
        };
        let Plain { method, task, link, calibrators, convergence, .. } = plain;
        let estimator = Estimator { method, task, link, scorer, calibrators, convergence };
        let outputs = estimator.outputs();
        let expected = match &estimator.task {
            Task::Classes(names) if names.len() == 2 => 1,
            Task::Classes(names) | Task::Labels(names) => names.len(),
            Task::Values => 1,
        };
        ensure!(
            outputs == expected && (estimator.calibrators.is_empty() || estimator.calibrators.len() == outputs),
            "the model has {outputs} outputs, but {expected} are named; train it again"
        );
        Ok(estimator)
    }
}
