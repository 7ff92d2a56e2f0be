//! One piece of the corpus: its words in order, each learning from what those before it in the piece have learnt.

use super::kernel::{Step, TILE, add};
use super::matrix::{Lane, Matrix};
use super::plan::{Plan, Rules};
use super::random::Random;
use super::slots::{Copied, Parts, Slots};
use crate::simd::wide;

/// The two matrices of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights {
    /// A row a word: the word vectors.
    pub(super) inputs: Matrix,
    /// A row a word, or an inner node of the tree.
    pub(super) outputs: Matrix,
}

/// What a thread needs for any piece.
pub(super) struct Bench {
    inputs: Slots,
    outputs: Slots,
    plan: Plan,
    rows: Vec<Lane>,
    changes: Vec<Lane>,
    errors: Vec<[f32; TILE]>,
}

impl Bench {
    /// For these weights, and windows of `words` besides their centre.
    pub(super) fn new(weights: &Weights, words: usize) -> Bench {
        let (inputs, outputs) = (Slots::new(weights.inputs.rows()), Slots::new(weights.outputs.rows()));
        let buffer = vec![Lane::default(); words * weights.inputs.lanes()];
        let errors = vec![[0.0; TILE]; words];
        Bench { inputs, outputs, plan: Plan::default(), rows: buffer.clone(), changes: buffer, errors }
    }
}

/// What a piece has done.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) inputs: Copied,
    pub(super) outputs: Copied,
    /// In nats, over all predictions.
    pub(super) loss: f64,
    /// Inputs that predicted.
    pub(super) predictions: u64,
}

/// How all pieces are trained.
pub(super) struct Course {
    pub(super) rules: Rules,
    /// Whether the mean of a window predicts its centre (CBOW), or each of its words does (skip-gram).
    pub(super) mean: bool,
    /// Of the two matrices.
    pub(super) inputs: Parts,
    pub(super) outputs: Parts,
}

impl Piece {
    /// Trains on `numbers` from the weights as they are.
    pub(super) fn train(
        &mut self,
        numbers: &[u32],
        weights: &Weights,
        course: &Course,
        rate: f32,
        mut random: Random,
        bench: &mut Bench,
    ) {
        bench.plan.draw(numbers, &course.rules, &mut random, &mut bench.inputs, &mut bench.outputs);
        wide(
            #[inline(always)]
            || {
                self.inputs.take(&mut bench.inputs, &weights.inputs);
                self.outputs.take(&mut bench.outputs, &weights.outputs);
                self.learn(course.mean, rate, weights.inputs.lanes(), bench);
                self.inputs.subtract(&weights.inputs, &course.inputs);
                self.outputs.subtract(&weights.outputs, &course.outputs);
            },
        );
    }

    #[inline(always)]
    fn learn(&mut self, mean: bool, rate: f32, lanes: usize, bench: &mut Bench) {
        let (plan, mut from) = (&bench.plan, 0);
        (self.loss, self.predictions) = (0.0, 0);
        for window in &plan.windows {
            let around = (window.from..window.to).filter(|&place| place != window.centre);
            let around = around.map(|place| plan.inputs[place as usize] as usize * lanes);
            let words = (window.to - window.from - 1) as usize;
            let inputs = if mean { 1 } else { words };
            let (rows, changes) = (&mut bench.rows[..inputs * lanes], &mut bench.changes[..inputs * lanes]);
            changes.fill(Lane::default());
            if mean {
                rows.fill(Lane::default());
                let share = 1.0 / words as f32;
                for at in around.clone() {
                    add(share, &self.inputs.values[at..][..lanes], rows);
                }
            } else {
                for (row, at) in rows.chunks_exact_mut(lanes).zip(around.clone()) {
                    row.copy_from_slice(&self.inputs.values[at..][..lanes]);
                }
            }
            let outputs = from..window.end as usize;
            from = outputs.end;
            let errors = &mut bench.errors[..inputs];
            let mut step = Step { inputs: rows, changes, outputs: &mut self.outputs.values, errors, lanes, rate };
            self.loss += f64::from(step.learn(&plan.rows[outputs.clone()], &plan.labels[outputs]));
            self.predictions += inputs as u64;
            for (i, at) in around.enumerate() {
                let change = if mean { 0 } else { i * lanes };
                add(1.0, &changes[change..][..lanes], &mut self.inputs.values[at..][..lanes]);
            }
        }
    }
}
