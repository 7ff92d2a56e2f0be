//! Multi-layer perceptrons: layers of rectified linear units between the columns of rows and the scores of a goal.
//!
//! h1 = relu(x W1 + b1), h2 = relu(h1 W2 + b2), ..., scores = h W + b. Values are learned by squared error, after they were standardised;
//! classes by the cross-entropy of a softmax, of two by that of the sigmoid of one score, label sets by that of a sigmoid each. Steps are
//! Adam's. Rows are shuffled in each epoch; a part of them does not train: when its loss has risen [`PATIENCE`] times in a row, training ends,
//! and the weights that were best there stand.
//!
//! A step changes the weights of a sparse column only if a row of its batch stores that column; the moments of the others, and the penalty
//! on their weights, stay as they are (lazy Adam).

mod batches;
mod explain;
mod learner;
mod net;
mod params;
mod targets;

use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::design::{Design, DesignRow};
use super::learner::Scorer;
use super::linear::Convergence;
use super::neural::FitParams;
use super::neural::fit::fit;
use super::neural::weights::{Weight, Weights};
use super::validation::Split;
use batches::{Batches, PIECE};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
pub(crate) use learner::MlpLearner;
use net::{Net, PieceRows};
pub use params::MlpParams;
pub(crate) use targets::MlpGoal;
use targets::Targets;

/// Epochs in a row without a better loss on the held-out rows that end the training; each halves the rate.
const PATIENCE: usize = 10;

impl MlpParams {
    /// Fails where the training would take more memory than it may: 24 bytes a weight (value, two moments, and the best of all three), and
    /// the gradients of each piece of a batch.
    fn check_memory(&self, shape: &MlpShape, x: &Design) -> Result<()> {
        let first = shape.hidden[0];
        let weights: usize = shape.weights().map(|(_, rows, dim)| rows.saturating_mul(dim)).sum();
        let sparse = shape.sparse.saturating_mul(first);
        let in_batch = self.batch.min(x.rows());
        let touched = (in_batch * x.stored().div_ceil(x.rows().max(1))).min(shape.sparse);
        let gradient = weights - sparse + touched.saturating_mul(first);
        let bytes = weights.saturating_mul(24).saturating_add(gradient.saturating_mul(4 * in_batch.div_ceil(PIECE)));
        let needed = bytes >> 20;
        ensure!(
            needed <= self.memory_mb,
            "{} 列、hidden = {:?}、batch = {} 的感知机约需 {needed} MB，超过 memory_mb = {}：请降低 hidden、batch 或词项数（max_features），或提高 memory_mb",
            "a perceptron on {} columns with hidden = {:?} and batch = {} would take about {needed} MB, more than memory_mb = {}: lower hidden, batch or the number of terms (max_features), or raise memory_mb",
            shape.sparse + shape.dense,
            shape.hidden,
            self.batch,
            self.memory_mb
        );
        Ok(())
    }
}

/// The numbers of columns, units and scores of a perceptron.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MlpShape {
    /// Columns of the sparse part of rows.
    pub(crate) sparse: usize,
    /// Columns of the dense part, which come after them.
    pub(crate) dense: usize,
    /// Units of each hidden layer, at least one.
    pub(crate) hidden: Vec<usize>,
    pub(crate) outputs: usize,
}

impl MlpShape {
    /// Inputs and outputs of each layer; those of the first are its dense columns.
    fn layers(&self) -> impl Iterator<Item = (usize, usize)> {
        let inputs = std::iter::once(self.dense).chain(self.hidden.iter().copied());
        inputs.zip(self.hidden.iter().copied().chain([self.outputs]))
    }

    /// Name, rows and numbers of a row of each weight: that of the sparse columns, then weights `[inputs, outputs]` and bias of each layer.
    fn weights(&self) -> impl Iterator<Item = (&'static str, usize, usize)> {
        let first = self.hidden.first().copied().unwrap_or_default();
        let layers = self.layers().flat_map(|(inputs, outputs)| [("weights", inputs, outputs), ("bias", 1, outputs)]);
        std::iter::once(("sparse", self.sparse, first)).chain(layers)
    }

    /// The weights that training begins with: evenly drawn as Glorot and Bengio (2010) have it, where the sparse and the dense columns are
    /// inputs of the same layer. Biases are 0.
    fn start(&self, l2: f64, seed: u64) -> Weights {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weight = |(number, (name, rows, dim)): (usize, (&'static str, usize, usize))| {
            if name == "bias" {
                return Weight::zeros(name, rows, dim);
            }
            let inputs = if number < 2 { self.sparse + self.dense } else { rows };
            let bound = (6.0 / (inputs + dim) as f32).sqrt();
            let mut weight = Weight::uniform(name, rows, dim, bound, &mut rng);
            weight.decay = l2 as f32;
            weight
        };
        Weights::new(self.weights().enumerate().map(&mut weight).collect())
    }
}

#[derive(Clone)]
pub(crate) struct Mlp {
    shape: MlpShape,
    /// In the order of [`MlpShape::weights`].
    weights: Arc<Vec<Vec<f32>>>,
    net: Arc<Net<f32>>,
}

impl Mlp {
    /// Fits on the rows of `split` that train; those that test say when to stop. Call inside `Ctx::install`.
    pub(crate) fn fit(
        x: &Design,
        goal: &MlpGoal<'_>,
        weights: Option<&[f64]>,
        split: &Split,
        params: &MlpParams,
        ctx: &Ctx,
    ) -> Result<(Mlp, Convergence)> {
        params.check()?;
        let dense = x.dense_cols();
        let hidden = params.hidden.clone();
        let shape = MlpShape { sparse: x.cols() - dense, dense, hidden, outputs: goal.outputs() };
        params.check_memory(&shape, x)?;
        let targets = Targets::new(goal, weights, &split.train)?;
        let scale = targets.scale();
        let batches = Batches::new(x, &shape, params, targets, split);
        let training = FitParams {
            epochs: params.epochs,
            batch: params.batch,
            lr: params.learning_rate,
            clip: 0.0,
            patience: PATIENCE,
            ..FitParams::default()
        };
        let (fitted, epochs) = fit(&batches, shape.start(params.l2, ctx.seed()), &training, None, ctx)?;
        let losses: Vec<f64> = epochs.iter().map(|epoch| epoch.held_out.unwrap_or(epoch.loss)).collect();
        let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or_default();
        let convergence =
            Convergence { iterations: epochs.len(), gradient: 0.0, converged: best + PATIENCE < epochs.len() };
        let mut weights: Vec<Vec<f32>> = fitted.all.into_iter().map(|weight| weight.values).collect();
        if let (Some((mean, deviation)), [.., last, bias]) = (scale, &mut weights[..]) {
            last.iter_mut().for_each(|w| *w *= deviation as f32);
            bias.iter_mut().for_each(|b| *b = (f64::from(*b) * deviation + mean) as f32);
        }
        Ok((Mlp::from_parts(shape, weights), convergence))
    }

    fn from_parts(shape: MlpShape, weights: Vec<Vec<f32>>) -> Mlp {
        let net = Net::new(&shape, &weights.iter().map(Vec::as_slice).collect::<Vec<_>>());
        Mlp { shape, weights: Arc::new(weights), net: Arc::new(net) }
    }

    /// All weights as bytes of a model file, f32 one after another.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.weights.iter().flat_map(|weight| bytemuck::cast_slice(weight)).copied().collect()
    }

    pub(crate) fn from_numbers(shape: MlpShape, mut numbers: &[f32]) -> Result<Mlp> {
        ensure!(
            !shape.hidden.is_empty() && shape.outputs > 0,
            "感知机没有层：{shape:?}",
            "a perceptron without layers: {shape:?}"
        );
        let needed = shape.weights().try_fold(0usize, |sum, (_, rows, dim)| sum.checked_add(rows.checked_mul(dim)?));
        ensure!(
            needed == Some(numbers.len()),
            "感知机有 {} 个权重，填不满 {shape:?}；请重新训练",
            "a perceptron has {} weights, which do not fill {shape:?}; train the model again",
            numbers.len()
        );
        let mut weights = Vec::new();
        for (_, rows, dim) in shape.weights() {
            let (here, rest) = numbers.split_at(rows * dim);
            weights.push(here.to_vec());
            numbers = rest;
        }
        Ok(Mlp::from_parts(shape, weights))
    }
}

impl Scorer for Mlp {
    fn outputs(&self) -> usize {
        self.shape.outputs
    }

    /// A row has the same bits whatever it is computed beside.
    fn scores(&self, x: &Design) -> Vec<f64> {
        let outputs = self.outputs();
        let mut scores = vec![0.0; x.rows() * outputs];
        scores.par_chunks_mut(PIECE * outputs).enumerate().for_each(|(piece, out)| {
            let first = piece * PIECE;
            let rows = PieceRows::new(x, first..first + out.len() / outputs);
            let pass = self.net.forward(&self.weights[0], &rows, &[]);
            out.iter_mut().zip(&pass.scores).for_each(|(out, &score)| *out = f64::from(score));
        });
        scores
    }

    /// Integrated gradients (Sundararajan, Taly and Yan 2017), which sum to the score; the first number is the score of a row of zeros.
    fn explain(&self, row: DesignRow<'_>, output: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>) {
        explain::contributions(self, row, output, against)
    }

    fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(vec![("network_shape", serde_json::to_vec(&self.shape)?), ("network", self.to_bytes())])
    }
}

impl fmt::Debug for Mlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.fmt(f)
    }
}

#[cfg(test)]
mod tests;
