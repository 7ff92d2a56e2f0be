//! The layers behind an encoder: they predict masked or next words, or the classes, the labels or the value of a text.

use std::ops::Range;

use super::block::{BlockActivation, activate, through_activation};
use super::dropout::Dropout;
use super::encoder::EncoderShape;
use super::norm::{NormGradients, Normed, normalise};
use crate::linear::to_probabilities;
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

/// The layers behind an encoder: a head, and perhaps another one that is trained beside it, whose weights stand behind those of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadForms {
    pub main: HeadForm,
    /// Beside masked words the relation of two segments, or which names took the place of others; beside the target of a text its words.
    pub beside: Option<HeadForm>,
}

impl From<HeadForm> for HeadForms {
    fn from(main: HeadForm) -> HeadForms {
        HeadForms { main, beside: None }
    }
}

impl HeadForms {
    pub(super) fn each(&self) -> impl Iterator<Item = HeadForm> {
        std::iter::once(self.main).chain(self.beside)
    }

    /// Rows and columns of each weight behind an encoder.
    pub(super) fn shapes(&self, shape: &EncoderShape) -> Vec<[usize; 2]> {
        self.each().flat_map(|form| form.shapes(shape)).collect()
    }

    /// True if a head reads the table of tokens.
    pub(super) fn predicts_words(&self) -> bool {
        self.each().any(|form| matches!(form, HeadForm::Words { .. } | HeadForm::Next | HeadForm::Before))
    }
}

/// A head behind an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadForm {
    /// Predicts masked words: a dense layer with its norm, and the table of tokens with a bias.
    Words { activation: BlockActivation },
    /// Predicts the token behind each token: the table of tokens alone, as GPT-2.
    Next,
    /// Predicts the token before each token, from the second half of a vector: the direction of an ELMo that reads from the end.
    Before,
    /// Predicts for each token whether it was replaced (ELECTRA): a dense layer and one output.
    Replaced,
    /// Predicts the target of a text from its first token: a dense layer and the outputs.
    Text { goal: TextGoal, pooled: PooledActivation },
    /// Predicts the target of a text from its last, greatest and mean vectors, as ULMFiT: a dense layer and the outputs.
    Pooled { goal: TextGoal },
    /// Predicts the target of a text from its last token: the outputs, without a bias, as GPT-2.
    Last { goal: TextGoal },
    /// Predicts the tag of each token: the outputs.
    Tokens { tags: usize },
    /// Predicts of each token whether an answer begins or ends with it: two outputs, each a softmax over the tokens of a text.
    Spans,
}

/// The head that predicts a relation of two segments: class 0 if the second follows the first (BERT's next sentence, ALBERT's order).
pub(super) fn order(relations: usize) -> HeadForm {
    HeadForm::Text { goal: TextGoal::Classes(relations), pooled: PooledActivation::Tanh }
}

/// The activation of the dense layer over the first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PooledActivation {
    /// BERT, RoBERTa.
    Tanh,
    /// ELECTRA.
    Gelu,
}

/// The weights of heads with a dense layer, in this order, behind those of the encoder. Only a head of words has the last; a head by the last token
/// has its outputs alone.
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
    /// Rows and columns of each weight behind an encoder.
    pub(super) fn shapes(&self, shape: &EncoderShape) -> Vec<[usize; 2]> {
        let (width, narrow) = (shape.block.width, shape.embedded());
        match self {
            HeadForm::Words { .. } => {
                vec![[narrow, width], [1, narrow], [1, narrow], [1, narrow], [1, shape.vocabulary]]
            }
            HeadForm::Next | HeadForm::Before => Vec::new(),
            HeadForm::Pooled { goal } => {
                vec![[width, 3 * width], [1, width], [goal.outputs(), width], [1, goal.outputs()]]
            }
            HeadForm::Replaced => vec![[width, width], [1, width], [1, width], [1, 1]],
            HeadForm::Text { goal, .. } => {
                vec![[width, width], [1, width], [goal.outputs(), width], [1, goal.outputs()]]
            }
            HeadForm::Last { goal } => vec![[goal.outputs(), width]],
            HeadForm::Tokens { tags } => vec![[*tags, width], [1, *tags]],
            HeadForm::Spans => vec![[2, width], [1, 2]],
        }
    }

    /// The target of a text or of its tokens; none where words are predicted.
    pub fn goal(&self) -> Option<TextGoal> {
        match self {
            HeadForm::Text { goal, .. } | HeadForm::Pooled { goal } | HeadForm::Last { goal } => Some(*goal),
            HeadForm::Tokens { tags } => Some(TextGoal::Classes(*tags)),
            HeadForm::Words { .. } | HeadForm::Next | HeadForm::Before | HeadForm::Replaced | HeadForm::Spans => None,
        }
    }

    /// The same layers for another target of a text.
    pub(super) fn with_goal(self, goal: TextGoal) -> HeadForm {
        match self {
            HeadForm::Text { pooled, .. } => HeadForm::Text { goal, pooled },
            HeadForm::Pooled { .. } => HeadForm::Pooled { goal },
            HeadForm::Last { .. } => HeadForm::Last { goal },
            words => words,
        }
    }

    /// The number of the weights of a text's outputs, and that of their bias, behind those of the encoder.
    pub(super) fn outputs(&self) -> Option<(usize, Option<usize>)> {
        match self {
            HeadForm::Text { .. } | HeadForm::Pooled { .. } => {
                Some((HeadWeights::Last as usize, Some(HeadWeights::LastBias as usize)))
            }
            HeadForm::Last { .. } => Some((0, None)),
            HeadForm::Tokens { .. } | HeadForm::Spans => Some((0, Some(1))),
            HeadForm::Words { .. } | HeadForm::Next | HeadForm::Before | HeadForm::Replaced => None,
        }
    }
}

/// The targets of some rows of vectors.
pub(super) enum Targets<'a> {
    /// The words.
    Words(&'a [u32]),
    /// The words, and the weight of the loss of each.
    WeighedWords(&'a [u32], &'a [f64]),
    Classes(&'a [u32]),
    /// The labels of each text.
    Labels(&'a [Vec<u32>]),
    Values(&'a [f64]),
    /// The first and the last token of the answer in each text, of texts at these rows.
    Spans(&'a [Range<usize>], Vec<[u32; 2]>),
    /// A teacher's logits `[texts, classes]`, and the temperature.
    Taught(&'a [f32], f64),
}

/// A head with its weights ready for products.
pub(super) struct Head<T> {
    dense: Option<(Affine<T>, DenseActivation)>,
    /// Scale and shift of the norm behind the dense layer.
    norm: Option<[Vec<T>; 2]>,
    epsilon: f64,
    outputs: Affine<T>,
    form: HeadForm,
}

#[derive(Clone, Copy)]
enum DenseActivation {
    Tanh,
    Block(BlockActivation),
}

impl DenseActivation {
    fn apply<T: Real>(self, values: &[T]) -> Vec<T> {
        match self {
            DenseActivation::Block(activation) => activate(values, activation),
            DenseActivation::Tanh => {
                let mut out = values.to_vec();
                apply(&mut out, tanh);
                out
            }
        }
    }
}

/// The loss of a head and its gradients.
pub(super) struct HeadGradients<T> {
    /// The sum over the rows.
    pub(super) loss: f64,
    /// By the vectors `[rows, width]`.
    pub(super) rows: Vec<T>,
    /// By the weights of the head, in their order.
    pub(super) weights: Vec<Vec<T>>,
    /// By the table of tokens, of a head that predicts words.
    pub(super) tokens: Vec<T>,
}

impl<T: Real> HeadGradients<T> {
    /// The gradients of so many times the loss, but for those by the table of tokens.
    pub(super) fn scaled(self, by: f64) -> HeadGradients<T> {
        let scale = |values: Vec<T>| values.into_iter().map(|value| value * T::from_f64(by)).collect::<Vec<T>>();
        HeadGradients {
            loss: by * self.loss,
            rows: scale(self.rows),
            weights: self.weights.into_iter().map(scale).collect(),
            tokens: self.tokens,
        }
    }
}

impl<T: Real> Head<T> {
    /// `values` are those of the head; `tokens` is the table of tokens.
    pub(super) fn new(form: HeadForm, values: &[&[T]], tokens: &[T], shape: &EncoderShape) -> Head<T> {
        let weight = |weight: HeadWeights| values[weight as usize];
        let without_bias = |weights: &[T], outputs: usize| Affine::of(weights, &vec![T::default(); outputs]);
        let dense = || Affine::of(weight(HeadWeights::Dense), weight(HeadWeights::DenseBias));
        let (dense, norm, outputs) = match form {
            HeadForm::Words { activation } => {
                let norm = [HeadWeights::Last, HeadWeights::LastBias].map(|number| weight(number).to_vec());
                let dense = (dense(), DenseActivation::Block(activation));
                (Some(dense), Some(norm), Affine::of(tokens, weight(HeadWeights::Words)))
            }
            HeadForm::Next | HeadForm::Before => (None, None, without_bias(tokens, shape.vocabulary)),
            HeadForm::Text { .. } | HeadForm::Pooled { .. } | HeadForm::Replaced => {
                let activation = match form {
                    HeadForm::Pooled { .. } => DenseActivation::Block(BlockActivation::Relu),
                    HeadForm::Text { pooled: PooledActivation::Tanh, .. } => DenseActivation::Tanh,
                    HeadForm::Replaced => DenseActivation::Block(shape.block.activation),
                    _ => DenseActivation::Block(BlockActivation::Gelu),
                };
                let outputs = Affine::of(weight(HeadWeights::Last), weight(HeadWeights::LastBias));
                (Some((dense(), activation)), None, outputs)
            }
            HeadForm::Last { goal } => (None, None, without_bias(values[0], goal.outputs())),
            HeadForm::Tokens { .. } | HeadForm::Spans => (None, None, Affine::of(values[0], values[1])),
        };
        Head { dense, norm, epsilon: shape.block.epsilon, outputs, form }
    }

    /// The scores of rows `[rows, outputs]`, before softmax or sigmoid.
    pub(super) fn scores(&self, rows: &[T]) -> Vec<T> {
        let Some((dense, activation)) = &self.dense else { return self.outputs.forward(rows) };
        let activated = activation.apply(&dense.forward(rows));
        match &self.norm {
            Some(norm) => self.outputs.forward(&self.normed(&activated, norm).rows),
            None => self.outputs.forward(&activated),
        }
    }

    fn normed(&self, rows: &[T], [scale, shift]: &[Vec<T>; 2]) -> Normed<T> {
        normalise(rows, scale, shift, self.epsilon)
    }

    pub(super) fn form(&self) -> HeadForm {
        self.form
    }

    /// The numbers before the outputs, of rows of so many numbers.
    pub(super) fn before_outputs(&self, read: usize) -> usize {
        self.dense.as_ref().map_or(read, |(dense, _)| read / dense.inputs() * dense.outputs())
    }

    /// The loss of rows, and its gradients. `dropped` is the dropout of the vectors of texts before the outputs.
    pub(super) fn gradients(&self, rows: &[T], right: &Targets<'_>, dropped: &Dropout<T>) -> HeadGradients<T> {
        let before = self.dense.as_ref().map(|(dense, _)| dense.forward(rows));
        let activated = match (&self.dense, &before) {
            (Some((_, activation)), Some(before)) => activation.apply(before),
            _ => rows.to_vec(),
        };
        let normed = self.norm.as_ref().map(|norm| self.normed(&activated, norm));
        let mut read = normed.as_ref().map_or_else(|| activated.clone(), |normed| normed.rows.clone());
        dropped.apply(&mut read);
        let mut by_scores = self.outputs.forward(&read);
        let loss = losses(&mut by_scores, self.outputs.outputs(), right);
        let mut by = vec![T::default(); read.len()];
        self.outputs.add_back(&by_scores, &mut by);
        let [by_table, by_bias] = self.outputs.gradients(&read, &by_scores);
        dropped.apply(&mut by);
        let (mut weights, mut tokens) = (Vec::new(), Vec::new());
        match self.form {
            HeadForm::Words { .. } => (weights, tokens) = (vec![by_bias], by_table),
            HeadForm::Next | HeadForm::Before => tokens = by_table,
            HeadForm::Text { .. }
            | HeadForm::Pooled { .. }
            | HeadForm::Replaced
            | HeadForm::Tokens { .. }
            | HeadForm::Spans => {
                weights = vec![by_table, by_bias];
            }
            HeadForm::Last { .. } => weights = vec![by_table],
        }
        if let (Some(normed), Some([scale, _])) = (&normed, &self.norm) {
            let NormGradients { rows, scale, shift } = normed.back(&by, scale);
            by = rows;
            weights.splice(0..0, [scale, shift]);
        }
        if let (Some((dense, activation)), Some(before)) = (&self.dense, &before) {
            match activation {
                DenseActivation::Block(activation) => through_activation(&mut by, before, *activation),
                DenseActivation::Tanh => through_tanh(&mut by, &activated),
            }
            weights.splice(0..0, dense.gradients(rows, &by));
            let mut by_rows = vec![T::default(); rows.len()];
            dense.add_back(&by, &mut by_rows);
            by = by_rows;
        }
        HeadGradients { loss, rows: by, weights, tokens }
    }
}

/// The sum of the losses of rows of scores, which become its gradients: cross-entropy in nats, of labels its mean over these, of a teacher's
/// classes as many times as the temperature's square, and the square of a value's error.
pub(super) fn losses<T: Real>(scores: &mut [T], outputs: usize, right: &Targets<'_>) -> f64 {
    let rows = scores.chunks_mut(outputs);
    match right {
        Targets::Spans(texts, right) => losses_of_spans(scores, texts, right),
        Targets::Words(right) | Targets::Classes(right) => {
            rows.zip(*right).map(|(row, &right)| cross_entropy(row, right as usize)).sum()
        }
        Targets::WeighedWords(right, weights) => {
            let one = |((row, &right), &weight): ((&mut [T], &u32), &f64)| {
                let loss = cross_entropy(row, right as usize);
                row.iter_mut().for_each(|by| *by = *by * T::from_f64(weight));
                weight * loss
            };
            rows.zip(*right).zip(*weights).map(one).sum()
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
        Targets::Taught(teacher, temperature) => {
            let probabilities = |scores: &mut dyn Iterator<Item = f64>| {
                let mut scores: Vec<f64> = scores.map(|score| score / temperature).collect();
                to_probabilities(&mut scores);
                scores
            };
            let one = |(row, teacher): (&mut [T], &[f32])| {
                let wanted = probabilities(&mut teacher.iter().map(|score| f64::from(*score)));
                let own = probabilities(&mut row.iter().map(|score| score.to_f64()));
                let shares = row.iter_mut().zip(wanted.iter().zip(&own));
                shares.for_each(|(by, (wanted, own))| *by = T::from_f64(temperature * (own - wanted)));
                let loss = wanted.iter().zip(&own).map(|(wanted, own)| -wanted * own.max(f64::MIN_POSITIVE).ln());
                temperature * temperature * loss.sum::<f64>()
            };
            rows.zip(teacher.chunks(outputs)).map(one).sum()
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

/// The sum over texts of the mean of two losses: of the first token of the answer and of the last, each among the tokens of the text. Scores
/// `[tokens, 2]` become its gradients.
fn losses_of_spans<T: Real>(scores: &mut [T], texts: &[Range<usize>], right: &[[u32; 2]]) -> f64 {
    let mut sum = 0.0;
    for (text, places) in texts.iter().zip(right) {
        for (end, place) in places.iter().enumerate() {
            let mut column: Vec<T> = text.clone().map(|row| scores[2 * row + end]).collect();
            sum += cross_entropy(&mut column, *place as usize) / 2.0;
            let half = T::from_f64(0.5);
            text.clone().zip(column).for_each(|(row, by)| scores[2 * row + end] = by * half);
        }
    }
    sum
}
