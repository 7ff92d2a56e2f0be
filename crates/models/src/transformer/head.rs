//! The layers behind an encoder: they predict masked words, or the classes, the labels or the value of a text.

use super::block::{BlockActivation, activate, through_activation};
use super::dropout::Dropout;
use super::norm::{NormGradients, Normed, normalise};
use crate::neural::affine::Affine;
use crate::neural::entropy::{cross_entropy, softplus};
use crate::neural::kernel::{Real, apply, sigmoid, tanh, through_tanh};

/// The target of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextGoal {
    /// One of some classes: a softmax.
    Classes(usize),
    /// Any of some labels: a sigmoid each.
    Labels(usize),
    /// A number.
    Value,
}

impl TextGoal {
    pub(super) fn outputs(self) -> usize {
        match self {
            TextGoal::Classes(outputs) | TextGoal::Labels(outputs) => outputs,
            TextGoal::Value => 1,
        }
    }
}

/// The layers behind an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadForm {
    /// The words at some tokens: a dense layer with its norm, and the table of tokens with a bias.
    Words { activation: BlockActivation },
    /// A dense layer over the vector of the first token, and the outputs.
    Text { goal: TextGoal, pooled: PooledActivation },
}

/// The activation of the dense layer over the first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledActivation {
    /// BERT, RoBERTa.
    Tanh,
    /// ELECTRA.
    Gelu,
}

/// The weights of a head, in this order, behind those of the encoder. A head of a text has the first four.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum HeadWeights {
    Dense,
    DenseBias,
    /// The scale of the norm, or the weights of the outputs.
    Last,
    /// The shift of the norm, or the bias of the outputs.
    LastBias,
    /// The bias of the words.
    Words,
}

impl HeadForm {
    /// Rows and columns of each weight.
    pub(super) fn shapes(&self, width: usize, vocabulary: usize) -> Vec<[usize; 2]> {
        match self {
            HeadForm::Words { .. } => vec![[width, width], [1, width], [1, width], [1, width], [1, vocabulary]],
            HeadForm::Text { goal, .. } => {
                vec![[width, width], [1, width], [goal.outputs(), width], [1, goal.outputs()]]
            }
        }
    }
}

/// The targets of some rows of vectors.
pub(super) enum Targets<'a> {
    /// The words.
    Words(&'a [u32]),
    Classes(&'a [u32]),
    /// The labels of each text.
    Labels(&'a [Vec<u32>]),
    Values(&'a [f64]),
}

/// A head with its weights ready for products.
pub(super) struct Head<T> {
    form: HeadForm,
    dense: Affine<T>,
    /// Scale and shift of a head of words.
    norm: [Vec<T>; 2],
    epsilon: f64,
    outputs: Affine<T>,
}

/// The loss of a head and its gradients.
pub(super) struct HeadGradients<T> {
    /// The sum over the rows.
    pub(super) loss: f64,
    /// By the vectors `[rows, width]`.
    pub(super) rows: Vec<T>,
    /// By the weights of the head, in their order.
    pub(super) weights: Vec<Vec<T>>,
    /// By the table of tokens, of a head of words.
    pub(super) tokens: Vec<T>,
}

impl<T: Real> Head<T> {
    /// `values` are those of [`HeadWeights`]; `tokens` is the table of tokens.
    pub(super) fn new(form: HeadForm, values: &[&[T]], tokens: &[T], epsilon: f64) -> Head<T> {
        let weight = |weight: HeadWeights| values[weight as usize];
        let dense = Affine::of(weight(HeadWeights::Dense), weight(HeadWeights::DenseBias));
        let last = [weight(HeadWeights::Last), weight(HeadWeights::LastBias)];
        let outputs = match form {
            HeadForm::Words { .. } => Affine::of(tokens, weight(HeadWeights::Words)),
            HeadForm::Text { .. } => Affine::of(last[0], last[1]),
        };
        Head { form, dense, norm: last.map(<[T]>::to_vec), epsilon, outputs }
    }

    fn activate(&self, values: &[T]) -> Vec<T> {
        match self.form {
            HeadForm::Words { activation } => activate(values, activation),
            HeadForm::Text { pooled: PooledActivation::Gelu, .. } => activate(values, BlockActivation::Gelu),
            HeadForm::Text { pooled: PooledActivation::Tanh, .. } => {
                let mut out = values.to_vec();
                apply(&mut out, tanh);
                out
            }
        }
    }

    /// The scores of rows `[rows, outputs]`, before softmax or sigmoid.
    pub(super) fn scores(&self, rows: &[T]) -> Vec<T> {
        let activated = self.activate(&self.dense.forward(rows));
        match self.form {
            HeadForm::Words { .. } => self.outputs.forward(&self.normed(&activated).rows),
            HeadForm::Text { .. } => self.outputs.forward(&activated),
        }
    }

    fn normed(&self, rows: &[T]) -> Normed<T> {
        normalise(rows, &self.norm[0], &self.norm[1], self.epsilon)
    }

    /// The loss of rows, and its gradients. `dropped` is the dropout of a text's pooled vector.
    pub(super) fn gradients(&self, rows: &[T], right: &Targets<'_>, dropped: &Dropout<T>) -> HeadGradients<T> {
        let before = self.dense.forward(rows);
        let mut activated = self.activate(&before);
        let norm = matches!(self.form, HeadForm::Words { .. }).then(|| self.normed(&activated));
        let pooled = activated.clone();
        dropped.apply(&mut activated);
        let read = norm.as_ref().map_or(&activated, |norm| &norm.rows);
        let mut by_scores = self.outputs.forward(read);
        let loss = losses(&mut by_scores, self.outputs.outputs(), right);
        let mut by_read = vec![T::default(); read.len()];
        self.outputs.add_back(&by_scores, &mut by_read);
        let [by_table, by_bias] = self.outputs.gradients(read, &by_scores);
        let mut weights = Vec::new();
        let mut tokens = Vec::new();
        match &norm {
            Some(norm) => {
                let NormGradients { rows, scale, shift } = norm.back(&by_read, &self.norm[0]);
                by_read = rows;
                weights.extend([scale, shift, by_bias]);
                tokens = by_table;
            }
            None => {
                dropped.apply(&mut by_read);
                weights.extend([by_table, by_bias]);
            }
        }
        match self.form {
            HeadForm::Words { activation } => through_activation(&mut by_read, &before, activation),
            HeadForm::Text { pooled: PooledActivation::Gelu, .. } => {
                through_activation(&mut by_read, &before, BlockActivation::Gelu);
            }
            HeadForm::Text { pooled: PooledActivation::Tanh, .. } => through_tanh(&mut by_read, &pooled),
        }
        let mut by_rows = vec![T::default(); rows.len()];
        self.dense.add_back(&by_read, &mut by_rows);
        let weights = self.dense.gradients(rows, &by_read).into_iter().chain(weights).collect();
        HeadGradients { loss, rows: by_rows, weights, tokens }
    }
}

/// The sum of the losses of rows of scores, which become its gradients: cross-entropy in nats, of labels its mean over these, and the square of
/// a value's error.
pub(super) fn losses<T: Real>(scores: &mut [T], outputs: usize, right: &Targets<'_>) -> f64 {
    let rows = scores.chunks_mut(outputs);
    match right {
        Targets::Words(right) | Targets::Classes(right) => {
            rows.zip(*right).map(|(row, &right)| cross_entropy(row, right as usize)).sum()
        }
        Targets::Labels(right) => {
            let share = 1.0 / outputs as f64;
            let one = |(row, right): (&mut [T], &Vec<u32>)| {
                let label = |(number, score): (usize, &mut T)| {
                    let wanted = T::from_f64(f64::from(u8::from(right.contains(&(number as u32)))));
                    let x = score.to_f64();
                    *score = (sigmoid(*score) - wanted) * T::from_f64(share);
                    share * (softplus(x) - wanted.to_f64() * x)
                };
                row.iter_mut().enumerate().map(label).sum::<f64>()
            };
            rows.zip(*right).map(one).sum()
        }
        Targets::Values(right) => {
            let one = |(row, &right): (&mut [T], &f64)| {
                let error = row[0] - T::from_f64(right);
                row[0] = error + error;
                error.to_f64().powi(2)
            };
            rows.zip(*right).map(one).sum()
        }
    }
}
