//! Scaled dot-product attention of several heads (Vaswani and others 2017), text by text.

use std::ops::Range;

use super::dropout::Dropout;
use super::norm::{dot, sum};
use crate::neural::kernel::{Left, Packed, Real, add_product};
use inkstone_base::simd::wide;

/// Queries, keys and values of all tokens, `[tokens, width]` each; a head has `width / heads` columns.
pub(super) struct Heads<'a, T> {
    pub(super) queries: &'a [T],
    pub(super) keys: &'a [T],
    pub(super) values: &'a [T],
    pub(super) width: usize,
    pub(super) heads: usize,
    /// True if a token attends to itself and the tokens before it alone.
    pub(super) causal: bool,
}

/// The weights of attention, for each text and head `[tokens, tokens]`, one after the other.
pub(super) type AttentionWeights<T> = Vec<T>;

impl<T: Real> Heads<'_, T> {
    fn size(&self) -> usize {
        self.width / self.heads
    }

    /// 1 / sqrt(size of a head).
    fn scale(&self) -> T {
        T::from_f64(1.0 / (self.size() as f64).sqrt())
    }

    /// Position of the first number of a token's head.
    fn at(&self, token: usize, head: usize) -> usize {
        token * self.width + head * self.size()
    }

    /// A matrix `[tokens of a text, size of a head]` of rows of `width` numbers, as the right one of a product.
    fn rows(&self, matrix: &[T], text: &Range<usize>, head: usize) -> Packed<T> {
        Packed::of_rows(text.len(), self.size(), |row| &matrix[self.at(text.start + row, head)..])
    }

    /// The transpose of [`Heads::rows`].
    fn columns(&self, matrix: &[T], text: &Range<usize>, head: usize) -> Packed<T> {
        Packed::of_columns(self.size(), text.len(), |row| &matrix[self.at(text.start + row, head)..])
    }

    /// Adds the product of the rows of `matrix` and a right one to `out`, whose rows are `next` numbers apart.
    fn add(&self, matrix: &[T], text: &Range<usize>, head: usize, right: &Packed<T>, out: &mut [T], next: usize) {
        let left = Left { values: matrix, rows: text.len(), at: |row| self.at(text.start + row, head), step: 1 };
        add_product(&left, right, out, next);
    }

    /// The mean of values that each token takes, `[tokens, width]`, and the weights of the means before dropout.
    pub(super) fn forward(&self, texts: &[Range<usize>], dropout: &Dropout<T>) -> (Vec<T>, AttentionWeights<T>) {
        let mut out = vec![T::default(); self.queries.len()];
        let mut weights = vec![T::default(); weights_of(texts, self.heads)];
        let (mut rest, mut begin, mut kept) = (weights.as_mut_slice(), 0, Vec::new());
        for text in texts {
            for head in 0..self.heads {
                let (here, others) = rest.split_at_mut(text.len() * text.len());
                rest = others;
                self.add(self.queries, text, head, &self.columns(self.keys, text, head), here, text.len());
                softmax(here, text.len(), self.scale(), self.causal);
                let here = dropout.of_part(here, begin, &mut kept);
                begin += here.len();
                let left = Left { values: here, rows: text.len(), at: |row| row * text.len(), step: 1 };
                let begin = self.at(text.start, head);
                add_product(&left, &self.rows(self.values, text, head), &mut out[begin..], self.width);
            }
        }
        (out, weights)
    }

    /// Takes the gradient by the outputs of [`Heads::forward`]; gives the gradients by queries, keys and values.
    pub(super) fn back(&self, texts: &[Range<usize>], weights: &[T], dropout: &Dropout<T>, by: &[T]) -> [Vec<T>; 3] {
        let mut found = [0; 3].map(|_| vec![T::default(); self.queries.len()]);
        let [by_queries, by_keys, by_values] = &mut found;
        let (mut rest, mut first) = (weights, 0);
        let (mut by_weights, mut kept) = (Vec::new(), Vec::new());
        for text in texts {
            let count = text.len();
            for head in 0..self.heads {
                let (here, others) = rest.split_at(count * count);
                rest = others;
                let begin = self.at(text.start, head);
                // Column j of the weights holds the weights that token j has in the means of all tokens.
                let turned = |matrix: &[T], right: &Packed<T>, out: &mut [T]| {
                    let left = Left { values: matrix, rows: count, at: |column| column, step: count };
                    add_product(&left, right, &mut out[begin..], self.width);
                };
                turned(dropout.of_part(here, first, &mut kept), &self.rows(by, text, head), by_values);
                by_weights.clear();
                by_weights.resize(count * count, T::default());
                self.add(by, text, head, &self.columns(self.values, text, head), &mut by_weights, count);
                dropout.apply_from(&mut by_weights, first);
                first += by_weights.len();
                through_softmax(&mut by_weights, here, count, self.scale());
                let left = Left { values: &by_weights, rows: count, at: |row| row * count, step: 1 };
                add_product(&left, &self.rows(self.keys, text, head), &mut by_queries[begin..], self.width);
                turned(&by_weights, &self.rows(self.queries, text, head), by_keys);
            }
        }
        found
    }
}

/// Number of weights of attention.
pub(super) fn weights_of(texts: &[Range<usize>], heads: usize) -> usize {
    texts.iter().map(|text| text.len() * text.len() * heads).sum()
}

/// Makes rows of scores weights that sum to 1; scores are multiplied by `scale` first. A causal token gives the tokens behind it no weight.
fn softmax<T: Real>(scores: &mut [T], columns: usize, scale: T, causal: bool) {
    wide(
        #[inline(always)]
        || {
            for (token, row) in scores.chunks_exact_mut(columns).enumerate() {
                let (row, behind) = row.split_at_mut(if causal { token + 1 } else { columns });
                behind.fill(T::default());
                let most = greatest(row);
                for score in row.iter_mut() {
                    *score = ((*score - most) * scale).exp();
                }
                let inverse = T::from_f64(1.0) / sum(row);
                for score in row.iter_mut() {
                    *score = *score * inverse;
                }
            }
        },
    );
}

#[inline(always)]
fn greatest<T: Real>(values: &[T]) -> T {
    let mut most = values[0];
    for &value in values {
        most = if value > most { value } else { most };
    }
    most
}

/// Makes the gradient by weights that by the scores.
fn through_softmax<T: Real>(by: &mut [T], weights: &[T], columns: usize, scale: T) {
    wide(
        #[inline(always)]
        || {
            for (by, weights) in by.chunks_exact_mut(columns).zip(weights.chunks_exact(columns)) {
                let mean = dot(by, weights);
                for (by, &weight) in by.iter_mut().zip(weights) {
                    *by = weight * (*by - mean) * scale;
                }
            }
        },
    );
}
