//! Batches of a language model, and their losses.
//!
//! The text is laid out as `batch` streams of equal length. A batch of NNLM or LBL is one place in each, and the places are
//! shuffled each epoch; a batch of RNNLM is the next `bptt` places in each of `batch / bptt` streams, whose states go on.

use anyhow::Result;
use candle_core::Tensor;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::features::{of_contexts, output, step};
use super::{LanguageKind, LanguageParams, score};
use crate::neural::entropy::cross_entropy;
use crate::neural::fit::{Network, PieceGradients};
use crate::neural::sampled::{Sampler, sampled_loss};
use crate::neural::weights::{Leaves, Weights, distinct};
use inkstone_base::job::Ctx;

/// Predictions of a piece.
const PIECE: usize = 64;
/// Streams of a piece of the recurrent model.
const STREAMS: usize = 16;

/// A language model in training.
pub(super) struct LanguageNet<'a> {
    pub(super) params: &'a LanguageParams,
    pub(super) end: u32,
    pub(super) classes: usize,
    pub(super) trained: &'a [u32],
    pub(super) held_out: &'a [u32],
    pub(super) sampler: Option<Sampler>,
}

/// Some predictions of a batch.
pub(super) struct LanguagePiece {
    /// The words before each prediction, `[predictions, n - 1]`; of the recurrent model the word before, `[steps, streams]`.
    pub(super) contexts: Vec<u32>,
    /// The words that follow, in the same order.
    pub(super) right: Vec<u32>,
    /// Words drawn to train against; none when these are all.
    pub(super) samples: Vec<u32>,
    /// Streams of the batch that this piece of a recurrent model has.
    pub(super) streams: usize,
    /// States before the first step, `[streams, hidden]`; none at the beginning of an epoch.
    pub(super) state: Vec<f32>,
}

impl LanguageNet<'_> {
    fn recurrent(&self) -> bool {
        self.params.kind == LanguageKind::Rnnlm
    }

    fn streams(&self) -> usize {
        let batch = self.params.fit.batch;
        let streams = if self.recurrent() { (batch / self.params.bptt).max(1) } else { batch };
        streams.min(self.trained.len())
    }

    /// Places of a stream. The recurrent model leaves out the last few words, which do not fill all streams.
    fn length(&self) -> usize {
        let streams = self.streams();
        if self.recurrent() { self.trained.len() / streams } else { self.trained.len().div_ceil(streams) }
    }

    /// The context of places, one in each stream.
    fn across(&self, place: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
        let places = (0..self.streams()).map(|s| s * self.length() + place).filter(|&p| p < self.trained.len());
        let places: Vec<usize> = places.collect();
        let piece = |places: &[usize]| {
            let mut contexts = Vec::with_capacity(places.len() * self.params.context());
            for &place in places {
                context_of(&self.trained[..place], self.params.context(), self.end, &mut contexts);
            }
            (contexts, places.iter().map(|&place| self.trained[place]).collect())
        };
        places.chunks(PIECE).map(piece).collect()
    }

    /// The next steps of all streams.
    fn along(&self, from: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
        let (length, to) = (self.length(), (from + self.params.bptt).min(self.length()));
        let streams: Vec<usize> = (0..self.streams()).collect();
        let piece = |streams: &[usize]| {
            let places = (from..to).flat_map(|step| streams.iter().map(move |stream| stream * length + step));
            let pair = |p: usize| (if p == 0 { self.end } else { self.trained[p - 1] }, self.trained[p]);
            places.map(pair).unzip()
        };
        streams.chunks(STREAMS).map(piece).collect()
    }

    fn loss_of(&self, leaves: &Leaves, features: &Tensor, piece: &LanguagePiece) -> Result<Tensor> {
        let Some(sampler) = &self.sampler else {
            let scores = features.matmul(&output(self.params, leaves, None)?.t()?)?;
            return Ok(cross_entropy(&scores, piece.right.clone())?.sum_all()?);
        };
        let right = output(self.params, leaves, Some(&piece.right))?;
        let drawn = output(self.params, leaves, Some(&piece.samples))?;
        sampled_loss(leaves, features, (&right, &piece.right), (&drawn, &piece.samples), sampler)
    }
}

/// The words before a place, the ends of documents standing for what is before these.
pub(super) fn context_of(before: &[u32], length: usize, end: u32, out: &mut Vec<u32>) {
    let words = before.iter().rev().take(length).take_while(|&&word| word != end).count();
    out.extend(std::iter::repeat_n(end, length - words));
    out.extend(&before[before.len() - words..]);
}

impl LanguageNet<'_> {
    /// The sum of the losses of a piece, and what it gives on to the next batch.
    pub(super) fn loss(&self, leaves: &Leaves, piece: &LanguagePiece) -> Result<(Tensor, Vec<f32>)> {
        if !self.recurrent() {
            let features = of_contexts(self.params, leaves, &piece.contexts)?;
            return Ok((self.loss_of(leaves, &features, piece)?, Vec::new()));
        }
        let streams = piece.streams;
        let mut state = match piece.state.is_empty() {
            true => leaves.constant(&vec![0.0; streams * self.params.hidden], (streams, self.params.hidden))?,
            false => leaves.constant(&piece.state, (streams, self.params.hidden))?,
        };
        let mut states = Vec::with_capacity(self.params.bptt);
        for words in piece.contexts.chunks(streams) {
            state = step(leaves, &state, words, self.end)?;
            states.push(state.clone());
        }
        let features = leaves.with_one(&Tensor::cat(&states, 0)?)?;
        let carried = state.detach().to_dtype(candle_core::DType::F32)?.flatten_all()?.to_vec1()?;
        Ok((self.loss_of(leaves, &features, piece)?, carried))
    }
}

impl Network for LanguageNet<'_> {
    type Piece = LanguagePiece;
    type Ready<'w>
        = Leaves
    where
        Self: 'w;

    fn batches(&self) -> usize {
        if self.recurrent() { self.length().div_ceil(self.params.bptt) } else { self.length() }
    }

    fn examples(&self) -> (u64, &'static str) {
        let left_out = if self.recurrent() { self.trained.len() - self.streams() * self.length() } else { 0 };
        ((self.trained.len() - left_out) as u64, "words")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.batches() as u32).collect();
        if !self.recurrent() {
            order.shuffle(rng);
        }
        order
    }

    fn batch(&self, order: &[u32], number: usize, carried: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<LanguagePiece> {
        let place = order[number] as usize;
        let pairs = if self.recurrent() { self.along(place * self.params.bptt) } else { self.across(place) };
        let samples = self.sampler.as_ref().map(|sampler| sampler.draw(self.params.samples, rng)).unwrap_or_default();
        let mut carried = carried.into_iter();
        let piece = |(number, (contexts, right))| {
            let (streams, state) =
                (STREAMS.min(self.streams().saturating_sub(number * STREAMS)), carried.next().unwrap_or_default());
            LanguagePiece { contexts, right, samples: samples.clone(), streams, state }
        };
        pairs.into_iter().enumerate().map(piece).collect()
    }

    fn reads(&self, pieces: &[LanguagePiece]) -> Vec<Option<Vec<u32>>> {
        let shapes = self.params.shapes(self.classes).len();
        let contexts = pieces.iter().flat_map(|piece| piece.contexts.iter().copied());
        let outputs = pieces.iter().flat_map(|piece| piece.right.iter().chain(&piece.samples).copied());
        let full = self.sampler.is_none();
        let tied = self.params.kind == LanguageKind::Lbl;
        let words = match (tied, full) {
            (true, true) => None,
            (true, false) => Some(distinct(contexts.chain(outputs.clone()))),
            (false, _) => Some(distinct(contexts)),
        };
        let output = (!full).then(|| distinct(outputs));
        [words, output].into_iter().chain(std::iter::repeat_n(None, shapes - 2)).collect()
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> Result<Leaves> {
        weights.leaves(rows)
    }

    fn gradients(&self, leaves: &Leaves, piece: &LanguagePiece) -> Result<PieceGradients> {
        PieceGradients::of_graph(leaves, self.loss(leaves, piece)?)
    }

    fn size(&self, piece: &LanguagePiece) -> usize {
        piece.right.len()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        let documents: Vec<&[u32]> = self.held_out.split_inclusive(|&word| word == self.end).collect();
        let leaves = weights.constants()?;
        let scored = score::in_parallel(self.params, &leaves, &documents, self.end, ctx)?;
        let sum: f64 = scored.iter().flatten().map(|&p| f64::from(p)).sum();
        Ok(Some(-sum / self.held_out.len() as f64))
    }
}
