//! Losses and their gradients: one step of stochastic gradient descent on the output matrix.
//!
//! With h the hidden vector and w the rows of the output matrix: softmax minimises `-ln(exp(w_t h) / sum exp(w_i h))`; the
//! others sum logistic losses `ln(1 + exp(-s w_i h))`, s = 1 for what is right and -1 for what is not: ova over all labels, ns
//! over the target and outputs drawn by the square root of their counts, hs over the nodes from the target to the root.

use super::kernels::{WeightTable, dot, exchange};
use super::tree::Tree;
use super::{FastTextParams, Loss};
use crate::alias::Alias;
use crate::random::Random;

/// The output matrix and what it is trained for.
pub(super) struct LossOutput {
    pub(super) weights: WeightTable,
    objective: OutputLoss,
    /// Products of all rows, for softmax.
    scores: Vec<f32>,
}

enum OutputLoss {
    Softmax,
    Ova,
    Ns { negative: usize, drawn: Alias },
    Hs(Tree),
}

impl LossOutput {
    /// All zeros, as fastText begins.
    pub(super) fn new(counts: &[u64], params: &FastTextParams) -> LossOutput {
        let objective = match params.loss {
            Loss::Softmax => OutputLoss::Softmax,
            Loss::Ova => OutputLoss::Ova,
            Loss::Hs => OutputLoss::Hs(Tree::new(counts)),
            Loss::Ns => OutputLoss::Ns { negative: params.negative, drawn: by_root(counts) },
        };
        LossOutput { weights: WeightTable::zeros(counts.len(), params.dim), objective, scores: vec![0.0; counts.len()] }
    }

    /// Takes a step: changes the rows, adds what the hidden vector is to change by to `grad`, and gives the loss before it.
    /// `target` is one of the labels, which only ova needs all.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        target: u32,
        labels: &[u32],
        hidden: &[f32],
        grad: &mut [f32],
        lr: f32,
        draw: &mut Random,
    ) -> f32 {
        let LossOutput { weights, objective, scores } = self;
        let mut loss = LogLoss { product: 1.0, sum: 0.0 };
        match objective {
            OutputLoss::Softmax => return softmax(weights, scores, target, hidden, grad, lr),
            OutputLoss::Ova => {
                for row in 0..weights.rows() as u32 {
                    logistic(weights.row_mut(row), labels.contains(&row), hidden, grad, lr, &mut loss);
                }
            }
            OutputLoss::Hs(tree) => {
                for &(node, right) in tree.path(target) {
                    logistic(weights.row_mut(node), right, hidden, grad, lr, &mut loss);
                }
            }
            OutputLoss::Ns { negative, drawn } => {
                logistic(weights.row_mut(target), true, hidden, grad, lr, &mut loss);
                if weights.rows() > 1 {
                    for _ in 0..*negative {
                        let mut other = drawn.draw(draw);
                        while other == target {
                            other = drawn.draw(draw);
                        }
                        logistic(weights.row_mut(other), false, hidden, grad, lr, &mut loss);
                    }
                }
            }
        }
        loss.loss()
    }
}

#[inline(always)]
fn softmax(
    weights: &mut WeightTable,
    scores: &mut [f32],
    target: u32,
    hidden: &[f32],
    grad: &mut [f32],
    lr: f32,
) -> f32 {
    let mut most = f32::NEG_INFINITY;
    for (row, score) in (0..).zip(&mut *scores) {
        *score = dot(weights.row(row), hidden);
        most = most.max(*score);
    }
    let right = scores[target as usize] - most;
    let mut sum = 0.0;
    for score in &mut *scores {
        *score = (*score - most).exp();
        sum += *score;
    }
    for (row, score) in (0..).zip(&*scores) {
        let by = lr * (f32::from(u8::from(row == target)) - score / sum);
        exchange(grad, weights.row_mut(row), by, hidden);
    }
    sum.ln() - right
}

#[inline(always)]
fn logistic(row: &mut [f32], right: bool, hidden: &[f32], grad: &mut [f32], lr: f32, loss: &mut LogLoss) {
    let x = dot(row, hidden);
    let small = (-x.abs()).exp();
    let p = if x < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) };
    let by = lr * (f32::from(u8::from(right)) - p);
    exchange(grad, row, by, hidden);
    loss.decision(if right { p } else { 1.0 - p }, if right { x } else { -x });
}

/// A sum of logistic losses, with one logarithm for all of them.
struct LogLoss {
    product: f64,
    sum: f64,
}

impl LogLoss {
    /// A decision of probability p, which is the sigmoid of x.
    #[inline(always)]
    fn decision(&mut self, p: f32, x: f32) {
        // Further out -ln p is -x, and p would soon be 0.
        if x < -16.0 {
            self.sum -= f64::from(x);
        } else {
            self.product *= f64::from(p);
        }
    }

    #[inline(always)]
    fn loss(&self) -> f32 {
        (self.sum - self.product.ln()) as f32
    }
}

/// Draws outputs by the square root of their counts.
fn by_root(counts: &[u64]) -> Alias {
    Alias::new(&counts.iter().map(|&count| (count.max(1) as f64).sqrt()).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss and the change of the hidden vector at a state, and the rows after it.
    fn step(loss: Loss, rows: &[[f32; 3]], hidden: [f32; 3], lr: f32) -> (f64, [f32; 3], Vec<f32>) {
        let params = FastTextParams { loss, dim: 3, negative: 2, ..FastTextParams::supervised() };
        let mut output = LossOutput::new(&[9, 4, 4, 1], &params);
        (0..).zip(rows).for_each(|(row, values)| output.weights.set(row, *values));
        let mut vectors = WeightTable::zeros(2, 3);
        vectors.set(0, hidden);
        let (hidden, mut grad) = (vectors.row(0).to_vec(), vectors.row(1).to_vec());
        let found = output.step(2, &[0, 2], &hidden, &mut grad, lr, &mut Random::new([1, 1, 1]));
        vectors.row_mut(1).copy_from_slice(&grad);
        let grad = vectors.values()[3..].try_into().unwrap();
        (f64::from(found), grad, output.weights.values())
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let rows = [[0.3, -0.2, 0.5], [0.1, 0.9, -0.4], [-0.7, 0.2, 0.6], [0.05, -0.3, 0.2]];
        let hidden = [0.4, -0.6, 0.8];
        let h = 1e-2f32;
        for loss in [Loss::Softmax, Loss::Ova, Loss::Ns, Loss::Hs] {
            // Small steps, lest an output that is drawn twice has changed the second time.
            let lr = 1e-4;
            let (_, grad, after) = step(loss, &rows, hidden, lr);
            for i in 0..3 {
                let at = |by: f32| {
                    let mut hidden = hidden;
                    hidden[i] += by;
                    step(loss, &rows, hidden, 0.0).0
                };
                let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
                let found = f64::from(grad[i] / lr);
                assert!((found + slope).abs() < 1e-3, "{loss:?}, hidden {i}: {found} is not {}", -slope);
            }
            for (cell, &after) in after.iter().enumerate() {
                let at = |by: f32| {
                    let mut rows = rows;
                    rows[cell / 3][cell % 3] += by;
                    step(loss, &rows, hidden, 0.0).0
                };
                let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
                let found = f64::from(after - rows[cell / 3][cell % 3]) / f64::from(lr);
                assert!((found + slope).abs() < 2e-3, "{loss:?}, weight {cell}: {found} is not {}", -slope);
            }
        }
    }

    #[test]
    fn outputs_are_drawn_by_the_root_of_their_counts() {
        let alias = by_root(&[16, 4, 1, 1]);
        let mut draw = Random::new([3, 0, 0]);
        let mut hits = [0.0f64; 4];
        (0..80_000).for_each(|_| hits[alias.draw(&mut draw) as usize] += 1.0 / 80_000.0);
        for (hit, expected) in hits.iter().zip([0.5, 0.25, 0.125, 0.125]) {
            assert!((hit - expected).abs() < 0.006, "{hits:?}");
        }
    }
}
