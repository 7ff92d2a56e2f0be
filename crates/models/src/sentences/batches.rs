//! Batches of sentences and of their neighbours.

use anyhow::Result;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::net::SentenceNet;
use super::{PIECE, SentenceMethod, SentencePairs, SentenceParams, VECTORS};
use crate::neural::fit::{Network, PieceGradients};
use crate::neural::weights::{RowGradient, Weights, distinct};
use inkstone_base::job::Ctx;

/// Sentences that are computed at once, with what is learned from them.
#[derive(Debug, Default)]
pub(super) struct SentencePiece {
    /// All first sentences of pairs, then all second ones; with skip-thoughts those that others stand beside.
    pub(super) sentences: Vec<Vec<u32>>,
    /// The class of each pair.
    pub(super) right: Vec<u32>,
    /// Sentences to write before and behind, each with the place of the one that it stands beside.
    pub(super) targets: [Vec<(u32, Vec<u32>)>; 2],
}

/// An encoder in training.
pub(super) struct SentenceBatches<'a> {
    params: &'a SentenceParams,
    examples: &'a SentencePairs,
    words: usize,
    /// Each sentence with the ones before and behind it, as far as they are there; none but with skip-thoughts.
    middles: Vec<(u32, [Option<u32>; 2])>,
    /// Numbers of pairs, or places in `middles`.
    trained: Vec<u32>,
    held_out: Vec<u32>,
}

impl<'a> SentenceBatches<'a> {
    /// Every so many documents one is held out.
    pub(super) fn new(params: &'a SentenceParams, examples: &'a SentencePairs, words: usize) -> SentenceBatches<'a> {
        let share = params.fit.held_out_share;
        let every = if share > 0.0 { (1.0 / share).round() as u32 } else { u32::MAX };
        let mut middles = Vec::new();
        let documents = match params.method {
            SentenceMethod::SkipThoughts => {
                let mut beside = vec![[None; 2]; examples.sentences.len()];
                let mut document = vec![0; examples.sentences.len()];
                for (&[before, behind], &number) in examples.pairs.iter().zip(&examples.documents) {
                    beside[before as usize][1] = Some(behind);
                    beside[behind as usize][0] = Some(before);
                    (document[before as usize], document[behind as usize]) = (number, number);
                }
                middles = (0..).zip(beside).filter(|(_, beside)| *beside != [None; 2]).collect();
                middles.iter().map(|(middle, _)| document[*middle as usize]).collect()
            }
            _ => examples.documents.clone(),
        };
        let all = 0..documents.len() as u32;
        let (held_out, trained) = all.partition(|&i| documents[i as usize] % every == every - 1);
        SentenceBatches { params, examples, words, middles, trained, held_out }
    }

    /// Examples that are trained on.
    pub(super) fn trains_on(&self) -> usize {
        self.trained.len()
    }

    /// Examples of a piece.
    fn together(&self) -> usize {
        if self.params.method == SentenceMethod::QuickThoughts { self.params.candidates } else { PIECE }
    }

    pub(super) fn piece(&self, numbers: &[u32]) -> SentencePiece {
        let SentencePairs { sentences, pairs, classes, .. } = self.examples;
        let sentence = |number: u32| sentences[number as usize].clone();
        if self.params.method == SentenceMethod::SkipThoughts {
            let middles = || numbers.iter().map(|&number| &self.middles[number as usize]);
            let targets = [0, 1].map(|side| {
                let beside = (0..).zip(middles().map(|(_, beside)| beside[side]));
                beside.filter_map(|(place, other)| Some((place, sentence(other?)))).collect()
            });
            let sentences = middles().map(|(middle, _)| sentence(*middle)).collect();
            return SentencePiece { sentences, targets, ..SentencePiece::default() };
        }
        let side = |side: usize| numbers.iter().map(move |&number| pairs[number as usize][side]);
        SentencePiece {
            sentences: side(0).chain(side(1)).map(sentence).collect(),
            right: numbers.iter().filter_map(|&number| classes.get(number as usize).copied()).collect(),
            ..SentencePiece::default()
        }
    }
}

/// A network of these weights, and the words whose vectors gradients are wanted of.
pub(super) struct ReadySentences<'w> {
    net: SentenceNet<f32>,
    vectors: &'w [f32],
    words: &'w [u32],
}

impl Network for SentenceBatches<'_> {
    type Piece = SentencePiece;
    type Ready<'w>
        = ReadySentences<'w>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.trained.len().div_ceil(self.params.fit.batch)
    }

    fn examples(&self) -> (u64, &'static str) {
        (self.trained.len() as u64, "sentences")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order = self.trained.clone();
        order.shuffle(rng);
        order
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, _: &mut ChaCha8Rng) -> Vec<SentencePiece> {
        let batch = self.params.fit.batch;
        let numbers = &order[number * batch..order.len().min((number + 1) * batch)];
        numbers.chunks(self.together()).map(|numbers| self.piece(numbers)).collect()
    }

    fn reads(&self, pieces: &[SentencePiece]) -> Vec<Option<Vec<u32>>> {
        let read = pieces.iter().flat_map(|piece| {
            let written = piece.targets.iter().flatten().map(|(_, words)| words);
            piece.sentences.iter().chain(written).flatten().copied()
        });
        let others = self.params.shapes(0, 0).len() - 1;
        std::iter::once(Some(distinct(read))).chain(std::iter::repeat_n(None, others)).collect()
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadySentences<'w> {
        let net = SentenceNet::new(self.params, &weights.values());
        let words = rows[VECTORS].as_deref().unwrap_or_default();
        ReadySentences { net, vectors: &weights.all[VECTORS].values, words }
    }

    fn gradients(&self, ready: &ReadySentences<'_>, piece: &SentencePiece) -> PieceGradients {
        let to_words = RowGradient::new(Some(ready.words), self.words + 1, self.params.dim);
        let (loss, by_weight) = ready.net.differentiated(ready.vectors, piece, to_words);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// Predictions: two neighbours of a pair, words that are written, or classes.
    fn size(&self, piece: &SentencePiece) -> usize {
        match self.params.method {
            SentenceMethod::QuickThoughts => piece.sentences.len(),
            SentenceMethod::SkipThoughts => piece.targets.iter().flatten().map(|(_, words)| words.len() + 1).sum(),
            SentenceMethod::InferSent => piece.right.len(),
        }
    }

    fn progress(&self, piece: &SentencePiece) -> usize {
        match self.params.method {
            SentenceMethod::SkipThoughts => piece.sentences.len(),
            _ => piece.sentences.len() / 2,
        }
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        let net = SentenceNet::new(self.params, &weights.values());
        let vectors = &weights.all[VECTORS].values;
        let parts = ctx.install(|| {
            let parts = self.held_out.par_chunks(self.together()).map(|numbers| {
                ctx.check()?;
                let piece = self.piece(numbers);
                Ok((net.loss(vectors, &piece), self.size(&piece)))
            });
            parts.collect::<Result<Vec<(f64, usize)>>>()
        })?;
        let sum: f64 = parts.iter().map(|(loss, _)| loss).sum();
        Ok(Some(sum / parts.iter().map(|(_, size)| size).sum::<usize>() as f64))
    }
}
