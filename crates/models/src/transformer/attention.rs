//! Scaled dot-product attention of several heads (Vaswani and others 2017), text by text.

use std::ops::Range;

use super::dropout::Dropout;
use super::norm::{dot, sum};
use crate::neural::kernel::{Left, Packed, Real, add_product};
use inkstone_base::simd::wide;

/// Queries of all tokens, and keys and values of those that they attend to, `[tokens, width]` each; a head has `width / heads` columns.
pub(super) struct Heads<'a, T> {
    pub(super) queries: &'a [T],
    pub(super) keys: &'a [T],
    pub(super) values: &'a [T],
    pub(super) width: usize,
    pub(super) heads: usize,
    /// True if a token attends to itself and the tokens before it alone.
    pub(super) causal: bool,
    pub(super) texts: AttentionTexts<'a>,
}

/// The tokens of each text that attends to another, and those of the other, which may be itself.
#[derive(Clone, Copy)]
pub(super) struct AttentionTexts<'a> {
    pub(super) from: &'a [Range<usize>],
    pub(super) to: &'a [Range<usize>],
}

impl AttentionTexts<'_> {
    fn pairs(&self) -> impl Iterator<Item = (&Range<usize>, &Range<usize>)> {
        self.from.iter().zip(self.to)
    }
}

/// The weights of attention, for each text and head `[tokens, tokens attended to]`, one after the other.
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

    /// Number of weights of attention.
    pub(super) fn weights(&self) -> usize {
        self.texts.pairs().map(|(from, to)| from.len() * to.len() * self.heads).sum()
    }

    /// The mean of values that each token takes, `[tokens, width]`, and the weights of the means before dropout.
    pub(super) fn forward(&self, dropout: &Dropout<T>) -> (Vec<T>, AttentionWeights<T>) {
        let mut out = vec![T::default(); self.queries.len()];
        let mut weights = vec![T::default(); self.weights()];
        let (mut rest, mut begin, mut kept) = (weights.as_mut_slice(), 0, Vec::new());
        for (from, to) in self.texts.pairs() {
            for head in 0..self.heads {
                let (here, others) = rest.split_at_mut(from.len() * to.len());
                rest = others;
                self.add(self.queries, from, head, &self.columns(self.keys, to, head), here, to.len());
                softmax(here, to.len(), self.scale(), self.causal);
                let here = dropout.of_part(here, begin, &mut kept);
                begin += here.len();
                let left = Left { values: here, rows: from.len(), at: |row| row * to.len(), step: 1 };
                let begin = self.at(from.start, head);
                add_product(&left, &self.rows(self.values, to, head), &mut out[begin..], self.width);
            }
        }
        (out, weights)
    }

    /// Takes the gradient by the outputs of [`Heads::forward`]; gives the gradients by queries, keys and values.
    pub(super) fn back(&self, weights: &[T], dropout: &Dropout<T>, by: &[T]) -> [Vec<T>; 3] {
        let mut found = [self.queries, self.keys, self.values].map(|part| vec![T::default(); part.len()]);
        let [by_queries, by_keys, by_values] = &mut found;
        let (mut rest, mut first) = (weights, 0);
        let (mut by_weights, mut kept) = (Vec::new(), Vec::new());
        for (from, to) in self.texts.pairs() {
            let count = from.len() * to.len();
            for head in 0..self.heads {
                let (here, others) = rest.split_at(count);
                rest = others;
                // Column j of the weights holds the weights that token j has in the means of all tokens.
                let turned = |matrix: &[T], right: &Packed<T>, out: &mut [T]| {
                    let left = Left { values: matrix, rows: to.len(), at: |column| column, step: to.len() };
                    add_product(&left, right, &mut out[self.at(to.start, head)..], self.width);
                };
                turned(dropout.of_part(here, first, &mut kept), &self.rows(by, from, head), by_values);
                by_weights.clear();
                by_weights.resize(count, T::default());
                self.add(by, from, head, &self.columns(self.values, to, head), &mut by_weights, to.len());
                dropout.apply_from(&mut by_weights, first);
                first += by_weights.len();
                through_softmax(&mut by_weights, here, to.len(), self.scale());
                let left = Left { values: &by_weights, rows: from.len(), at: |row| row * to.len(), step: 1 };
                let begin = self.at(from.start, head);
                add_product(&left, &self.rows(self.keys, to, head), &mut by_queries[begin..], self.width);
                turned(&by_weights, &self.rows(self.queries, from, head), by_keys);
            }
        }
        found
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_products_of_14_and_12_become_shares_of_88_and_12_percent() {
        // Products of 112 and 96 with keys of 64 numbers: 14 and 12.
        let mut scores = [112.0f64, 96.0];
        softmax(&mut scores, 2, 1.0 / 8.0, false);
        let first = 1.0 / (1.0 + (-2.0f64).exp());
        assert!((first - 0.88).abs() < 0.001);
        assert!((scores[0] - first).abs() < 1e-9 && (scores[1] - (1.0 - first)).abs() < 1e-9, "{scores:?}");
        // The first token of a text that is read from left to right sees itself alone.
        let mut scores = [112.0f64, 96.0, 112.0, 96.0];
        softmax(&mut scores, 2, 1.0 / 8.0, true);
        assert_eq!(scores[..2], [1.0, 0.0]);
        assert!((scores[2] - first).abs() < 1e-9, "{scores:?}");
    }
}
