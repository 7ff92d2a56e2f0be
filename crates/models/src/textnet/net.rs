//! From the words of texts to scores of classes or labels, and back to gradients: both networks whole.

use super::batches::TextPiece;
use super::convolution::{self, Filters, Maps};
use super::stack::{Stack, StackPass};
use super::{CLASSES, INNER, TextNetKind, TextNetParams};
use crate::neural::affine::Affine;
use crate::neural::kernel::Real;
use crate::neural::recurrent::{Direction, PackedTexts};
use crate::neural::weights::RowGradient;

/// The weights of a network but word vectors, ready to be used.
pub(super) struct Net<T> {
    params: TextNetParams,
    inner: Inner<T>,
    classes: Affine<T>,
}

enum Inner<T> {
    Filters(Vec<Filters<T>>),
    Layers(Stack<T>),
}

/// Values of a network on a piece, which the backward pass reads.
pub(super) struct TextNetPass<T> {
    /// The vectors of the tokens, `[rows, channels x dim]`.
    x: Vec<T>,
    /// The row of each token, text after text.
    rows: Vec<usize>,
    inner: InnerPass<T>,
    /// After dropout, `[texts, features]`.
    features: Vec<T>,
    /// `[texts, outputs]`.
    pub(super) scores: Vec<T>,
}

enum InnerPass<T> {
    Filters(Maps<T>),
    Layers(PackedTexts, StackPass<T>),
}

/// Gradients of a number.
pub(super) struct Back<T> {
    /// By weight, from [`CLASSES`] on, in the order of [`TextNetParams::shapes`].
    pub(super) weights: Vec<Vec<T>>,
    /// By the vectors of the tokens as in [`TextNetPass`]; empty where nobody wants it.
    dx: Vec<T>,
}

impl<T: Real> Net<T> {
    /// `values` are the weights by number; word vectors are not looked at.
    pub(super) fn new(params: &TextNetParams, values: &[&[T]]) -> Net<T> {
        let inputs = params.inputs();
        let inner = match params.kind {
            TextNetKind::TextCnn => {
                let bias = values[INNER + params.widths.len()].chunks(params.maps);
                let widths = params.widths.iter().zip(&values[INNER..]).zip(bias);
                Inner::Filters(widths.map(|((&width, v), bias)| Filters::new(width, inputs, v, bias)).collect())
            }
            TextNetKind::TextRnn => {
                let mut weights = values[INNER..].chunks(3);
                let mut inputs = inputs;
                let mut layers = Vec::with_capacity(params.layers.len());
                for reads in &params.layers {
                    let directions = [false, true].into_iter().take(reads.directions());
                    let direction = |(backward, weights): (bool, &[&[T]])| {
                        Direction::new(params.cell, backward, inputs, weights[0], weights[1], weights[2])
                    };
                    layers.push(directions.zip(weights.by_ref()).map(direction).collect());
                    inputs = reads.directions() * params.hidden;
                }
                Inner::Layers(Stack(layers))
            }
        };
        Net { params: params.clone(), inner, classes: Affine::with_bias(values[CLASSES], params.features()) }
    }

    /// Computes the scores of texts. `vectors` are the word vectors of each channel.
    pub(super) fn forward(&self, vectors: &[&[T]], piece: &TextPiece) -> TextNetPass<T> {
        let params = &self.params;
        let (x, rows, mut features, inner) = match &self.inner {
            Inner::Filters(filters) => {
                // A text has room for the widest window.
                let (mut count, mut texts) = (0, Vec::with_capacity(piece.lengths.len()));
                for &length in &piece.lengths {
                    texts.push((count, length));
                    count += length.max(params.least());
                }
                let rows: Vec<usize> = texts.iter().flat_map(|&(first, length)| first..first + length).collect();
                let x = self.embed(vectors, piece, &rows, count);
                let (features, maps) = convolution::forward(params, filters, &x, texts);
                (x, rows, features, InnerPass::Filters(maps))
            }
            Inner::Layers(stack) => {
                let reading = PackedTexts::new(&piece.lengths);
                let places = |(text, &length): (usize, &usize)| (0..length).map(move |time| (text, time));
                let places = piece.lengths.iter().enumerate().flat_map(places);
                let rows: Vec<usize> = places.map(|(text, time)| reading.row(text, time)).collect();
                let x = self.embed(vectors, piece, &rows, rows.len());
                let (features, pass) = stack.forward(params, &x, &reading);
                (x, rows, features, InnerPass::Layers(reading, pass))
            }
        };
        for (feature, &factor) in features.iter_mut().zip(&piece.dropout) {
            *feature = *feature * T::from_f64(f64::from(factor));
        }
        let scores = self.classes.forward(&features);
        TextNetPass { x, rows, inner, features, scores }
    }

    /// The vectors of the tokens, `[count, channels x dim]`, each in its row; zeros elsewhere.
    fn embed(&self, vectors: &[&[T]], piece: &TextPiece, rows: &[usize], count: usize) -> Vec<T> {
        let (dim, inputs) = (self.params.dim, self.params.inputs());
        let mut x = vec![T::default(); count * inputs];
        for (&word, &row) in piece.tokens.iter().zip(rows) {
            for (vectors, to) in vectors.iter().zip(x[row * inputs..][..inputs].chunks_mut(dim)) {
                to.copy_from_slice(&vectors[word as usize * dim..][..dim]);
            }
        }
        x
    }

    /// Goes back from the gradient by the scores; `to_words` says whether that by the vectors is wanted.
    pub(super) fn backward(
        &self,
        pass: &TextNetPass<T>,
        piece: &TextPiece,
        by_scores: &[T],
        to_words: bool,
    ) -> Back<T> {
        let params = &self.params;
        let by_classes = self.classes.gradient_with_bias(&pass.features, by_scores);
        let mut above = vec![T::default(); pass.features.len()];
        self.classes.add_back(by_scores, &mut above);
        for (above, &factor) in above.iter_mut().zip(&piece.dropout) {
            *above = *above * T::from_f64(f64::from(factor));
        }
        let mut dx = vec![T::default(); if to_words { pass.x.len() } else { 0 }];
        let to = to_words.then_some(&mut dx[..]);
        let mut weights = vec![by_classes];
        match (&self.inner, &pass.inner) {
            (Inner::Filters(filters), InnerPass::Filters(maps)) => {
                let back = convolution::backward(params, filters, &pass.x, maps, &above, to);
                weights.extend(back.filters);
                weights.push(back.bias);
            }
            (Inner::Layers(stack), InnerPass::Layers(reading, done)) => {
                let back = stack.backward(params, &pass.x, reading, done, &above, to);
                weights
                    .extend(back.into_iter().flat_map(|direction| [direction.words, direction.state, direction.bias]));
            }
            _ => unreachable!("a pass is gone back by the network that made it"),
        }
        Back { weights, dx }
    }

    /// The gradient by rows of the word vectors of the first channel, `[words, dim]`; `words` ascend, and all of the piece are among them.
    pub(super) fn by_words(&self, pass: &TextNetPass<T>, back: &Back<T>, piece: &TextPiece, words: &[u32]) -> Vec<T> {
        let (dim, inputs) = (self.params.dim, self.params.inputs());
        let mut gradient = RowGradient::new(Some(words), words.len(), dim);
        for (&word, &row) in piece.tokens.iter().zip(&pass.rows) {
            gradient.add(&[word], &back.dx[row * inputs..][..dim]);
        }
        gradient.values
    }

    /// For each token its vector times the gradient by it.
    pub(super) fn parts(&self, pass: &TextNetPass<T>, back: &Back<T>) -> Vec<f64> {
        let inputs = self.params.inputs();
        let part = |&row: &usize| {
            let numbers = back.dx[row * inputs..][..inputs].iter().zip(&pass.x[row * inputs..]);
            numbers.map(|(&by, &x)| by.to_f64() * x.to_f64()).sum()
        };
        pass.rows.iter().map(part).collect()
    }
}
