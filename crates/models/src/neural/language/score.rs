//! Probabilities of documents, always by the softmax over all words, or by the tree of words.

use anyhow::Result;
use rayon::prelude::*;

use super::batches::context_of;
use super::net::{LanguageLayers, output};
use super::{LanguageKind, LanguageParams, NeuralLanguage, OUTPUT, WORDS, WordTree};
use crate::neural::affine::Affine;
use crate::neural::entropy::log_probability;
use inkstone_base::job::Ctx;

/// Predictions at once.
const ROWS: usize = 128;
/// Documents that a thread takes at once.
const DOCUMENTS: usize = 32;

/// A model ready to say how probable documents are.
pub struct LanguageScorer {
    pub(super) model: NeuralLanguage,
    pub(super) net: ScoringNet,
}

impl LanguageScorer {
    /// Makes a model ready.
    pub fn new(model: NeuralLanguage) -> LanguageScorer {
        let net = ScoringNet::new(&model.params, &model.weights.values(), model.tree.as_ref(), model.words.end());
        LanguageScorer { model, net }
    }

    pub fn model(&self) -> &NeuralLanguage {
        &self.model
    }

    /// ln of the probability of each word of documents, which are numbers of words that end with `</s>`.
    pub fn score(&self, documents: &[&[u32]]) -> Vec<Vec<f32>> {
        self.net.score(&self.model.weights.all[WORDS].values, documents)
    }
}

/// All weights of a model but word vectors, ready to compute probabilities.
pub(super) struct ScoringNet {
    params: LanguageParams,
    end: u32,
    layers: LanguageLayers<f32>,
    output: ScoredWords,
}

/// From features to probabilities of words.
enum ScoredWords {
    Softmax(Affine<f32>),
    /// A tree, and the weights of its nodes.
    Tree(WordTree, Vec<f32>),
}

impl ScoringNet {
    pub(super) fn new(params: &LanguageParams, values: &[&[f32]], tree: Option<&WordTree>, end: u32) -> ScoringNet {
        let layers = LanguageLayers::new(params, values);
        let output = match tree {
            None => ScoredWords::Softmax(output(params, values)),
            Some(tree) => ScoredWords::Tree(tree.clone(), values[OUTPUT].to_vec()),
        };
        ScoringNet { params: params.clone(), end, layers, output }
    }

    /// [`ScoringNet::score`] by the threads of `ctx`.
    pub(super) fn in_parallel(&self, vectors: &[f32], documents: &[&[u32]], ctx: &Ctx) -> Result<Vec<Vec<f32>>> {
        let scored = ctx.install(|| {
            let parts = documents.par_chunks(DOCUMENTS).map(|part| {
                ctx.check()?;
                Ok(self.score(vectors, part))
            });
            parts.collect::<Result<Vec<_>>>()
        })?;
        Ok(scored.into_iter().flatten().collect())
    }

    fn score(&self, vectors: &[f32], documents: &[&[u32]]) -> Vec<Vec<f32>> {
        let context = self.params.context();
        if self.params.kind != LanguageKind::Rnnlm {
            let (mut contexts, mut right) = (Vec::new(), Vec::new());
            for document in documents {
                (0..document.len()).for_each(|place| context_of(&document[..place], context, self.end, &mut contexts));
                right.extend_from_slice(document);
            }
            let mut all = Vec::with_capacity(right.len());
            for (contexts, right) in contexts.chunks(ROWS * context).zip(right.chunks(ROWS)) {
                all.extend(self.probabilities(&self.layers.of_contexts(vectors, contexts).features, right));
            }
            let mut all = all.into_iter();
            return documents.iter().map(|document| all.by_ref().take(document.len()).collect()).collect();
        }
        // The longest first, so that those under way are always the first ones.
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(documents[d].len()));
        let mut scored: Vec<Vec<f32>> = documents.iter().map(|document| Vec::with_capacity(document.len())).collect();
        let mut state = vec![0.0; order.len() * self.params.hidden];
        for place in 0..order.first().map_or(0, |&d| documents[d].len()) {
            let going: Vec<usize> = order.iter().copied().take_while(|&d| documents[d].len() > place).collect();
            let before = |&d: &usize| if place == 0 { self.end } else { documents[d][place - 1] };
            let before: Vec<u32> = going.iter().map(before).collect();
            let right: Vec<u32> = going.iter().map(|&d| documents[d][place]).collect();
            state.truncate(going.len() * self.params.hidden);
            state = self.layers.step(vectors, &mut state, &before, self.end);
            let found = self.probabilities(&state, &right);
            going.iter().zip(found).for_each(|(&d, p)| scored[d].push(p));
        }
        scored
    }

    /// ln of the probability of every word, by number, after the words of a document so far. `state` is that of a recurrent model before the
    /// last of these words, empty before the first, and becomes the one after it.
    pub(super) fn after(&self, vectors: &[f32], before: &[u32], state: &mut Vec<f32>) -> Vec<f32> {
        let features = if self.params.kind == LanguageKind::Rnnlm {
            let last = before.last().copied().unwrap_or(self.end);
            state.resize(self.params.hidden, 0.0);
            *state = self.layers.step(vectors, state, &[last], self.end);
            state.clone()
        } else {
            let mut context = Vec::new();
            context_of(before, self.params.context(), self.end, &mut context);
            self.layers.of_contexts(vectors, &context).features
        };
        match &self.output {
            ScoredWords::Tree(tree, nodes) => tree.log_probabilities(nodes, &features),
            ScoredWords::Softmax(output) => {
                let mut scores = output.forward(&features);
                let shift = log_probability(&scores, 0) as f32 - scores[0];
                scores.iter_mut().for_each(|score| *score += shift);
                scores
            }
        }
    }

    /// ln of the probability of each word by its features.
    fn probabilities(&self, features: &[f32], right: &[u32]) -> Vec<f32> {
        match &self.output {
            ScoredWords::Tree(tree, nodes) => {
                let rows = features.chunks(self.params.features()).zip(right);
                rows.map(|(features, &word)| tree.log_probability(nodes, features, word) as f32).collect()
            }
            ScoredWords::Softmax(output) => {
                let scores = output.forward(features);
                let rows = scores.chunks(output.outputs()).zip(right);
                rows.map(|(scores, &word)| log_probability(scores, word as usize) as f32).collect()
            }
        }
    }
}
