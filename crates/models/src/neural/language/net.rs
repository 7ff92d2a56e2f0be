//! From contexts to features, and from features to scores of words, forward and backward: the three models.

use super::{BIAS, INNER, LanguageKind, LanguageParams, OUTPUT, WORDS};
use crate::neural::affine::{Affine, gather};
use crate::neural::kernel::{Real, apply, sigmoid, tanh, through_tanh};
use crate::neural::weights::RowGradient;

/// The weights of a model but word vectors, ready to be used.
pub(super) struct LanguageLayers<T> {
    params: LanguageParams,
    /// H and d of NNLM, C and the bias of LBL, W of RNNLM.
    inner: Affine<T>,
}

/// Values of a model on some predictions, which the backward pass reads.
pub(super) struct LanguagePass<T> {
    /// The input of the inner layer: the vectors of the contexts, or the states before.
    inputs: Vec<T>,
    /// `[predictions, features]`.
    pub(super) features: Vec<T>,
}

impl<T: Real> LanguageLayers<T> {
    /// `values` are the weights by number.
    pub(super) fn new(params: &LanguageParams, values: &[&[T]]) -> LanguageLayers<T> {
        let inner = match params.kind {
            LanguageKind::Rnnlm => Affine::of(values[INNER], &vec![T::default(); params.hidden]),
            _ => Affine::of(values[INNER], values[BIAS]),
        };
        LanguageLayers { params: params.clone(), inner }
    }

    /// The features of contexts of n - 1 words each, the latest last: the models without memory.
    pub(super) fn of_contexts(&self, vectors: &[T], contexts: &[u32]) -> LanguagePass<T> {
        let inputs = gather(vectors, self.params.dim, contexts);
        let mut features = self.inner.forward(&inputs);
        if self.params.kind == LanguageKind::Nnlm {
            apply(&mut features, tanh);
        }
        if self.params.direct {
            let inputs = inputs.chunks(self.params.context() * self.params.dim);
            features = features.chunks(self.params.hidden).zip(inputs).flat_map(|(h, x)| [h, x].concat()).collect();
        }
        LanguagePass { inputs, features }
    }

    /// The gradients by the weights of the inner layer; those by the vectors are added to `to_words`.
    pub(super) fn contexts_back(
        &self,
        pass: &LanguagePass<T>,
        contexts: &[u32],
        by_features: Vec<T>,
        to_words: &mut RowGradient<'_, T>,
    ) -> Vec<Vec<T>> {
        let (hidden, features) = (self.inner.outputs(), self.params.features());
        let (mut by, mut by_inputs) = match self.params.direct {
            false => (by_features, vec![T::default(); pass.inputs.len()]),
            true => {
                let rows = || by_features.chunks(features);
                (
                    rows().flat_map(|by| &by[..hidden]).copied().collect(),
                    rows().flat_map(|by| &by[hidden..]).copied().collect(),
                )
            }
        };
        if self.params.kind == LanguageKind::Nnlm {
            for (by, units) in by.chunks_mut(hidden).zip(pass.features.chunks(features)) {
                through_tanh(by, units);
            }
        }
        self.inner.add_back(&by, &mut by_inputs);
        to_words.add(contexts, &by_inputs);
        self.inner.gradients(&pass.inputs, &by).into()
    }

    /// The state after one more word, `[rows, hidden]`, of that before: the recurrent model. Where the word is the end of a document, what
    /// was before is forgotten, and `before` becomes zero.
    pub(super) fn step(&self, vectors: &[T], before: &mut [T], words: &[u32], end: u32) -> Vec<T> {
        let ended = before.chunks_mut(self.params.hidden).zip(words).filter(|(_, word)| **word == end);
        ended.for_each(|(row, _)| row.fill(T::default()));
        let mut state = gather(vectors, self.params.hidden, words);
        self.inner.add(before, &mut state);
        apply(&mut state, sigmoid);
        state
    }

    /// The states of streams after each of their words, `[steps, streams]`; they begin with `state`.
    pub(super) fn of_streams(&self, vectors: &[T], words: &[u32], state: Vec<T>, end: u32) -> LanguagePass<T> {
        let (mut inputs, mut features, mut state) = (Vec::new(), Vec::new(), state);
        for words in words.chunks(state.len() / self.params.hidden) {
            let after = self.step(vectors, &mut state, words, end);
            inputs.append(&mut state);
            features.extend_from_slice(&after);
            state = after;
        }
        LanguagePass { inputs, features }
    }

    /// As [`LanguageLayers::contexts_back`], through all steps.
    pub(super) fn streams_back(
        &self,
        pass: &LanguagePass<T>,
        words: &[u32],
        mut by: Vec<T>,
        (streams, end): (usize, u32),
        to_words: &mut RowGradient<'_, T>,
    ) -> Vec<Vec<T>> {
        let (hidden, one) = (self.params.hidden, T::from_f64(1.0));
        let step = streams * hidden;
        for first in (0..by.len()).step_by(step).rev() {
            let (before, here) = by.split_at_mut(first);
            let here = &mut here[..step];
            here.iter_mut().zip(&pass.features[first..]).for_each(|(by, &s)| *by = *by * s * (one - s));
            if let Some(at) = first.checked_sub(step) {
                let mut passed = vec![T::default(); step];
                self.inner.add_back(here, &mut passed);
                let rows = before[at..].chunks_mut(hidden).zip(passed.chunks(hidden)).zip(&words[first / hidden..]);
                for ((to, by), _) in rows.filter(|(_, word)| **word != end) {
                    to.iter_mut().zip(by).for_each(|(to, &by)| *to += by);
                }
            }
        }
        to_words.add(words, &by);
        let [weights, _] = self.inner.gradients(&pass.inputs, &by);
        vec![weights]
    }
}

/// The weights that the features of a word's score are multiplied by, and its bias.
pub(super) fn output_row<'w, T: Real>(params: &LanguageParams, values: &[&'w [T]], word: u32) -> (&'w [T], T) {
    let (columns, word) = (params.features(), word as usize);
    match params.kind {
        LanguageKind::Lbl => (&values[WORDS][word * columns..][..columns], values[OUTPUT][word]),
        _ => {
            let row = &values[OUTPUT][word * (columns + 1)..][..columns + 1];
            (&row[..columns], row[columns])
        }
    }
}

/// The scores of all words by features.
pub(super) fn output<T: Real>(params: &LanguageParams, values: &[&[T]]) -> Affine<T> {
    let words = values[WORDS].len() / params.vector_dim();
    Affine::new(params.features(), words, |word| output_row(params, values, word as u32))
}
