//! From contexts to features, and from features to scores of words: the graphs of the three models.

use anyhow::Result;
use candle_core::Tensor;
use candle_nn::ops::sigmoid;

use super::{BIAS, INNER, LanguageKind, LanguageParams, OUTPUT, WORDS};
use crate::neural::weights::Leaves;

/// `[rows, features]` of contexts of n - 1 words each, the latest last: the models without memory.
pub(super) fn of_contexts(params: &LanguageParams, leaves: &Leaves, contexts: &[u32]) -> Result<Tensor> {
    let rows = contexts.len() / params.context();
    let x = leaves.rows(WORDS, contexts)?.reshape((rows, params.context() * params.dim))?;
    let inner = x.matmul(&leaves.matrix(INNER).t()?)?.broadcast_add(leaves.matrix(BIAS))?;
    let features = match (params.kind, params.direct) {
        (LanguageKind::Nnlm, false) => inner.tanh()?,
        (LanguageKind::Nnlm, true) => Tensor::cat(&[&inner.tanh()?, &x], 1)?,
        _ => inner,
    };
    leaves.with_one(&features)
}

/// The state after one more word, `[rows, hidden]`: the recurrent model. Where the word is the end of a document, what was
/// before is forgotten.
pub(super) fn step(leaves: &Leaves, state: &Tensor, words: &[u32], end: u32) -> Result<Tensor> {
    let goes_on: Vec<f32> = words.iter().map(|&word| if word == end { 0.0 } else { 1.0 }).collect();
    let state = state.broadcast_mul(&leaves.constant(&goes_on, (words.len(), 1))?)?;
    let inner = (leaves.rows(WORDS, words)? + state.matmul(&leaves.matrix(INNER).t()?)?)?;
    Ok(sigmoid(&inner)?)
}

/// The rows that features are multiplied by: those of these words, or of all.
pub(super) fn output(params: &LanguageParams, leaves: &Leaves, words: Option<&[u32]>) -> Result<Tensor> {
    let rows = |weight: usize| match words {
        None => Ok(leaves.matrix(weight).clone()),
        Some(words) => leaves.rows(weight, words),
    };
    match params.kind {
        LanguageKind::Lbl => Ok(Tensor::cat(&[&rows(WORDS)?, &rows(OUTPUT)?], 1)?),
        _ => rows(OUTPUT),
    }
}
