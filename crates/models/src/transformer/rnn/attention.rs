//! Attention of a decoder: scores of the tokens of a source by the decoder's state, and the mean of their vectors by softmax.

use std::ops::Range;

use super::{AttentionScore, RnnShape, RnnWeights};
use crate::neural::affine::Affine;
use crate::neural::kernel::{Real, add_scaled, apply, tanh, through_tanh};
use crate::transformer::block::add;
use crate::transformer::norm::dot;
use inkstone_base::simd::wide;

/// An attention, with its weights ready for products.
pub(super) struct SourceAttention<T> {
    score: AttentionScore,
    width: usize,
    keys: Option<Affine<T>>,
    queries: Option<Affine<T>>,
    /// v of the additive score.
    vector: Vec<T>,
}

/// The sources of a piece as a decoder reads them.
pub(super) struct AttendedSource<'s, T> {
    /// The encoder's vectors `[tokens, width]`.
    pub(super) rows: &'s [T],
    /// K M `[tokens, width]`; empty where the score has no K.
    keys: Vec<T>,
    /// The tokens of each text.
    texts: &'s [Range<usize>],
    /// The last states of both directions `[texts, width]`.
    pub(super) last: &'s [T],
}

/// The attention of some texts to their sources in one step.
pub(super) struct AttentionPass<T> {
    /// `[texts, width]`.
    pub(super) contexts: Vec<T>,
    /// The share of each token of a text's source; none without attention.
    pub(super) shares: Vec<Vec<T>>,
    /// Q s `[texts, width]` of the additive score.
    queries: Vec<T>,
}

/// The gradients of a source and of the attention's weights.
pub(super) struct SourceGradients<T> {
    /// By the encoder's vectors.
    pub(super) rows: Vec<T>,
    /// By the last states.
    pub(super) last: Vec<T>,
    keys: Vec<T>,
    queries: Vec<T>,
    vector: Vec<T>,
}

impl<T: Real> SourceAttention<T> {
    pub(super) fn new(shape: &RnnShape, values: &[&[T]]) -> SourceAttention<T> {
        let layer = |weight: RnnWeights| {
            let values = values[weight as usize];
            (!values.is_empty()).then(|| Affine::of(values, &vec![T::default(); shape.width]))
        };
        SourceAttention {
            score: shape.score,
            width: shape.width,
            keys: layer(RnnWeights::Keys),
            queries: layer(RnnWeights::Queries),
            vector: values[RnnWeights::Score as usize].to_vec(),
        }
    }

    pub(super) fn source<'s>(&self, rows: &'s [T], texts: &'s [Range<usize>], last: &'s [T]) -> AttendedSource<'s, T> {
        let keys = self.keys.as_ref().map_or_else(Vec::new, |keys| keys.forward(rows));
        AttendedSource { rows, keys, texts, last }
    }

    /// The mean of the source's vectors by the attention of these states `[texts, width]`.
    pub(super) fn attend(&self, source: &AttendedSource<'_, T>, texts: &[usize], states: &[T]) -> AttentionPass<T> {
        let width = self.width;
        let queries = self.queries.as_ref().map_or_else(Vec::new, |queries| queries.forward(states));
        let mut contexts = Vec::with_capacity(states.len());
        if self.score == AttentionScore::None {
            texts.iter().for_each(|text| contexts.extend_from_slice(&source.last[text * width..][..width]));
            return AttentionPass { contexts, shares: Vec::new(), queries };
        }
        contexts.resize(states.len(), T::default());
        let mut hidden = vec![T::default(); width];
        let attend = |(number, (text, context)): (usize, (&usize, &mut [T]))| {
            let score = |row: usize| {
                let row = row * width..(row + 1) * width;
                let state = &states[number * width..][..width];
                match self.score {
                    AttentionScore::Additive => {
                        self.hidden(&queries[number * width..][..width], &source.keys[row], &mut hidden);
                        dot(&self.vector, &hidden)
                    }
                    AttentionScore::General => dot(state, &source.keys[row]),
                    AttentionScore::Dot | AttentionScore::None => dot(state, &source.rows[row]),
                }
            };
            let mut shares: Vec<T> = source.texts[*text].clone().map(score).collect();
            softmax(&mut shares);
            wide(
                #[inline(always)]
                || {
                    let rows = source.rows[source.texts[*text].start * width..].chunks(width);
                    rows.zip(&shares).for_each(|(row, &share)| add_scaled(context, row, share));
                },
            );
            shares
        };
        let shares = texts.iter().zip(contexts.chunks_mut(width)).enumerate().map(attend).collect();
        AttentionPass { contexts, shares, queries }
    }

    /// tanh(q + k).
    fn hidden(&self, query: &[T], key: &[T], to: &mut [T]) {
        to.iter_mut().zip(query).zip(key).for_each(|((to, &query), &key)| *to = query + key);
        apply(to, tanh);
    }

    /// Gradients of zeros.
    pub(super) fn begin_back(&self, source: &AttendedSource<'_, T>) -> SourceGradients<T> {
        let zeros = |count: usize| vec![T::default(); count];
        let square = if self.queries.is_some() { self.width * self.width } else { 0 };
        SourceGradients {
            rows: zeros(source.rows.len()),
            last: zeros(source.last.len()),
            keys: zeros(source.keys.len()),
            queries: zeros(square),
            vector: zeros(self.vector.len()),
        }
    }

    /// Goes back from the gradient by the contexts of a step: adds to `to`, and to the gradient by the states.
    pub(super) fn back(
        &self,
        source: &AttendedSource<'_, T>,
        (texts, states, attended): (&[usize], &[T], &AttentionPass<T>),
        by_contexts: &[T],
        to: &mut SourceGradients<T>,
        by_states: &mut [T],
    ) {
        let width = self.width;
        if self.score == AttentionScore::None {
            for (text, by) in texts.iter().zip(by_contexts.chunks(width)) {
                add(&mut to.last[text * width..][..width], by);
            }
            return;
        }
        let mut by_queries = vec![T::default(); attended.queries.len()];
        let mut hidden = vec![T::default(); width];
        let each = texts.iter().zip(by_contexts.chunks(width)).zip(&attended.shares).enumerate();
        for (number, ((text, by_context), shares)) in each {
            let here = number * width..(number + 1) * width;
            let tokens = source.texts[*text].clone();
            let by_shares: Vec<T> =
                tokens.clone().map(|row| dot(&source.rows[row * width..][..width], by_context)).collect();
            let mean = by_shares.iter().zip(shares).fold(T::default(), |sum, (&by, &share)| sum + by * share);
            for ((row, &by_share), &share) in tokens.zip(&by_shares).zip(shares) {
                let row = row * width..(row + 1) * width;
                add_scaled(&mut to.rows[row.clone()], by_context, share);
                let by_score = share * (by_share - mean);
                let (state, by_state) = (&states[here.clone()], &mut by_states[here.clone()]);
                match self.score {
                    AttentionScore::Additive => {
                        self.hidden(&attended.queries[here.clone()], &source.keys[row.clone()], &mut hidden);
                        add_scaled(&mut to.vector, &hidden, by_score);
                        let mut by: Vec<T> = self.vector.iter().map(|&value| value * by_score).collect();
                        through_tanh(&mut by, &hidden);
                        add(&mut to.keys[row], &by);
                        add(&mut by_queries[here.clone()], &by);
                    }
                    AttentionScore::General => {
                        add_scaled(by_state, &source.keys[row.clone()], by_score);
                        add_scaled(&mut to.keys[row], state, by_score);
                    }
                    AttentionScore::Dot | AttentionScore::None => {
                        add_scaled(by_state, &source.rows[row.clone()], by_score);
                        add_scaled(&mut to.rows[row], state, by_score);
                    }
                }
            }
        }
        if let Some(queries) = &self.queries {
            queries.add_back(&by_queries, by_states);
            queries.add_by_weights(states, &by_queries, &mut to.queries, width);
        }
    }

    /// Ends the way back: the gradients by the weights K, Q and v. That by the encoder's vectors is complete then.
    pub(super) fn end_back(&self, source: &AttendedSource<'_, T>, to: &mut SourceGradients<T>) -> [Vec<T>; 3] {
        let mut keys = Vec::new();
        if let Some(layer) = &self.keys {
            layer.add_back(&to.keys, &mut to.rows);
            keys = layer.gradients(source.rows, &to.keys)[0].clone();
        }
        [keys, std::mem::take(&mut to.queries), std::mem::take(&mut to.vector)]
    }
}

/// Makes scores shares that sum to 1.
fn softmax<T: Real>(scores: &mut [T]) {
    let most = scores.iter().copied().fold(T::from_f64(f64::NEG_INFINITY), |most, s| if s > most { s } else { most });
    apply(scores, |score| (score - most).exp());
    let sum = scores.iter().fold(T::default(), |sum, &e| sum + e);
    let scale = T::from_f64(1.0) / sum;
    scores.iter_mut().for_each(|score| *score = *score * scale);
}
