//! Probabilities of documents, always by the softmax over all words.

use anyhow::Result;
use candle_core::Tensor;
use rayon::prelude::*;

use super::batches::context_of;
use super::features::{of_contexts, output, step};
use super::{LanguageKind, LanguageParams, NeuralLanguage};
use crate::neural::entropy::cross_entropy;
use crate::neural::weights::Leaves;
use inkstone_base::job::Ctx;

/// Predictions at once.
const ROWS: usize = 128;
/// Documents that a thread takes at once.
const DOCUMENTS: usize = 32;

/// A model ready to say how probable documents are.
pub struct LanguageScorer {
    model: NeuralLanguage,
    leaves: Leaves,
}

impl LanguageScorer {
    pub fn new(model: NeuralLanguage) -> Result<LanguageScorer> {
        let leaves = model.weights.constants()?;
        Ok(LanguageScorer { model, leaves })
    }

    pub fn model(&self) -> &NeuralLanguage {
        &self.model
    }

    /// ln of the probability of each word of documents, which are numbers of words that end with `</s>`.
    pub fn score(&self, documents: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        score(&self.model.params, &self.leaves, documents, self.model.words.end())
    }
}

/// The same by the threads of `ctx`.
pub(super) fn in_parallel(
    params: &LanguageParams,
    leaves: &Leaves,
    documents: &[&[u32]],
    end: u32,
    ctx: &Ctx,
) -> Result<Vec<Vec<f32>>> {
    let scored = ctx.install(|| {
        let parts = documents.par_chunks(DOCUMENTS).map(|part| {
            ctx.check()?;
            score(params, leaves, part, end)
        });
        parts.collect::<Result<Vec<_>>>()
    })?;
    Ok(scored.into_iter().flatten().collect())
}

fn score(params: &LanguageParams, leaves: &Leaves, documents: &[&[u32]], end: u32) -> Result<Vec<Vec<f32>>> {
    let output = output(params, leaves, None)?.t()?;
    let probabilities = |features: &Tensor, right: &[u32]| -> Result<Vec<f32>> {
        let losses = cross_entropy(&features.matmul(&output)?, right.to_vec())?.to_vec1::<f32>()?;
        Ok(losses.into_iter().map(|loss| -loss).collect())
    };
    if params.kind != LanguageKind::Rnnlm {
        let (mut contexts, mut right) = (Vec::new(), Vec::new());
        for document in documents {
            (0..document.len()).for_each(|place| context_of(&document[..place], params.context(), end, &mut contexts));
            right.extend_from_slice(document);
        }
        let mut all = Vec::with_capacity(right.len());
        for (contexts, right) in contexts.chunks(ROWS * params.context()).zip(right.chunks(ROWS)) {
            all.extend(probabilities(&of_contexts(params, leaves, contexts)?, right)?);
        }
        let mut all = all.into_iter();
        return Ok(documents.iter().map(|document| all.by_ref().take(document.len()).collect()).collect());
    }
    // The longest first, so that those under way are always the first ones.
    let mut order: Vec<usize> = (0..documents.len()).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(documents[d].len()));
    let mut scored: Vec<Vec<f32>> = documents.iter().map(|document| Vec::with_capacity(document.len())).collect();
    let mut state = leaves.constant(&vec![0.0; order.len() * params.hidden], (order.len(), params.hidden))?;
    for place in 0..order.first().map_or(0, |&d| documents[d].len()) {
        let going: Vec<usize> = order.iter().copied().take_while(|&d| documents[d].len() > place).collect();
        let before: Vec<u32> = going.iter().map(|&d| if place == 0 { end } else { documents[d][place - 1] }).collect();
        let right: Vec<u32> = going.iter().map(|&d| documents[d][place]).collect();
        state = step(leaves, &state.narrow(0, 0, going.len())?, &before, end)?;
        let found = probabilities(&leaves.with_one(&state)?, &right)?;
        going.iter().zip(found).for_each(|(&d, p)| scored[d].push(p));
    }
    Ok(scored)
}
