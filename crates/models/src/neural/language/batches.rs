//! Batches of a language model, and their losses.
//!
//! The text is laid out as `batch` streams of equal length. A batch of NNLM or LBL is one place in each, and the places are
//! shuffled each epoch; a batch of RNNLM is the next `bptt` places in each of `batch / bptt` streams, whose states go on.

use anyhow::Result;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::net::{LanguageLayers, output, output_row};
use super::score::ScoringNet;
use super::{LanguageKind, LanguageParams, OUTPUT, WORDS, WordTree};
use crate::neural::affine::Affine;
use crate::neural::entropy::cross_entropy;
use crate::neural::fit::{Network, PieceGradients};
use crate::neural::kernel::Real;
use crate::neural::sampled::Sampler;
use crate::neural::weights::{RowGradient, Weights, distinct};
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
    pub(super) tree: Option<&'a WordTree>,
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
}

/// The words before a place, the ends of documents standing for what is before these.
pub(super) fn context_of(before: &[u32], length: usize, end: u32, out: &mut Vec<u32>) {
    let words = before.iter().rev().take(length).take_while(|&&word| word != end).count();
    out.extend(std::iter::repeat_n(end, length - words));
    out.extend(&before[before.len() - words..]);
}

/// The weights as pieces are computed with them.
pub(super) struct ReadyLanguage<'w, T> {
    values: Vec<&'w [T]>,
    /// By weight the rows that gradients are wanted of; none for all.
    rows: &'w [Option<Vec<u32>>],
    layers: LanguageLayers<T>,
    /// The scores of all words; `None` if predictions are trained against drawn words or along the paths of a tree.
    output: Option<Affine<T>>,
}

impl LanguageNet<'_> {
    pub(super) fn ready_of<'w, T: Real>(
        &self,
        values: Vec<&'w [T]>,
        rows: &'w [Option<Vec<u32>>],
    ) -> ReadyLanguage<'w, T> {
        let layers = LanguageLayers::new(self.params, &values);
        let output = (self.sampler.is_none() && self.tree.is_none()).then(|| output(self.params, &values));
        ReadyLanguage { values, rows, layers, output }
    }

    /// The sum of the losses of a piece, its gradients by weight, and the states that the next batch begins with.
    pub(super) fn differentiated<T: Real>(
        &self,
        ready: &ReadyLanguage<'_, T>,
        piece: &LanguagePiece,
    ) -> (f64, Vec<Vec<T>>, Vec<T>) {
        let (vectors, layers) = (ready.values[WORDS], &ready.layers);
        let mut to_words = RowGradient::new(ready.rows[WORDS].as_deref(), self.classes, self.params.vector_dim());
        if !self.recurrent() {
            let pass = layers.of_contexts(vectors, &piece.contexts);
            let (loss, by, to_output) = self.outer(ready, &pass.features, piece, &mut to_words);
            let inner = layers.contexts_back(&pass, &piece.contexts, by, &mut to_words);
            return (loss, [to_words.values, to_output].into_iter().chain(inner).collect(), Vec::new());
        }
        let size = piece.streams * self.params.hidden;
        let mut state: Vec<T> = piece.state.iter().map(|&s| T::from_f64(f64::from(s))).collect();
        state.resize(size, T::default());
        let pass = layers.of_streams(vectors, &piece.contexts, state, self.end);
        let (loss, by, to_output) = self.outer(ready, &pass.features, piece, &mut to_words);
        let inner = layers.streams_back(&pass, &piece.contexts, by, (piece.streams, self.end), &mut to_words);
        let carried = pass.features[pass.features.len() - size..].to_vec();
        (loss, [to_words.values, to_output].into_iter().chain(inner).collect(), carried)
    }

    /// The sum of the losses, and its gradients by the features and by the weights of the output; those by word vectors that the output
    /// reads are added to `to_words`.
    fn outer<T: Real>(
        &self,
        ready: &ReadyLanguage<'_, T>,
        features: &[T],
        piece: &LanguagePiece,
        to_words: &mut RowGradient<'_, T>,
    ) -> (f64, Vec<T>, Vec<T>) {
        let (columns, tied) = (self.params.features(), self.params.kind == LanguageKind::Lbl);
        if let Some(tree) = self.tree {
            let mut by_features = vec![T::default(); features.len()];
            let mut to_nodes = RowGradient::new(ready.rows[OUTPUT].as_deref(), self.classes - 1, columns + 1);
            let mut loss = 0.0;
            let rows = features.chunks(columns).zip(by_features.chunks_mut(columns)).zip(&piece.right);
            for ((features, by_features), &right) in rows {
                loss += tree.loss(ready.values[OUTPUT], features, right, by_features, |node, by| {
                    let to = to_nodes.row(node);
                    to.iter_mut().zip(features).for_each(|(to, &x)| *to += by * x);
                    to[columns] += by;
                });
            }
            return (loss, by_features, to_nodes.values);
        }
        let Some(output) = &ready.output else {
            let row = |word| output_row(self.params, &ready.values, word);
            let found = self.sampler.as_ref().map(|s| s.softmax(features, columns, row, &piece.right, &piece.samples));
            let (loss, by_features, by_rows) = found.unwrap_or_default();
            let words = || piece.right.iter().chain(&piece.samples).copied();
            let dim = if tied { 1 } else { columns + 1 };
            let mut to_output = RowGradient::new(ready.rows[OUTPUT].as_deref(), self.classes, dim);
            for (word, by) in words().zip(by_rows.chunks(columns + 1)) {
                if tied {
                    to_words.add(&[word], &by[..columns]);
                }
                to_output.add(&[word], &by[columns + 1 - dim..]);
            }
            return (loss, by_features, to_output.values);
        };
        let mut by_scores = output.forward(features);
        let rows = by_scores.chunks_mut(self.classes).zip(&piece.right);
        let loss = rows.map(|(scores, &right)| cross_entropy(scores, right as usize)).sum();
        let mut by_features = vec![T::default(); features.len()];
        output.add_back(&by_scores, &mut by_features);
        let to_output = if tied {
            output.add_by_weights(features, &by_scores, &mut to_words.values, columns);
            output.by_bias(&by_scores)
        } else {
            output.gradient_with_bias(features, &by_scores)
        };
        (loss, by_features, to_output)
    }
}

impl Network for LanguageNet<'_> {
    type Piece = LanguagePiece;
    type Ready<'w>
        = ReadyLanguage<'w, f32>
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
        if let Some(tree) = self.tree {
            let nodes = outputs.flat_map(|word| tree.path(word).map(|(node, _)| node));
            let read = [Some(distinct(contexts)), Some(distinct(nodes))];
            return read.into_iter().chain(std::iter::repeat_n(None, shapes - 2)).collect();
        }
        let tied = self.params.kind == LanguageKind::Lbl;
        let words = match (tied, full) {
            (true, true) => None,
            (true, false) => Some(distinct(contexts.chain(outputs.clone()))),
            (false, _) => Some(distinct(contexts)),
        };
        let output = (!full).then(|| distinct(outputs));
        [words, output].into_iter().chain(std::iter::repeat_n(None, shapes - 2)).collect()
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyLanguage<'w, f32> {
        self.ready_of(weights.values(), rows)
    }

    fn gradients(&self, ready: &ReadyLanguage<'_, f32>, piece: &LanguagePiece) -> PieceGradients {
        let (loss, by_weight, carried) = self.differentiated(ready, piece);
        PieceGradients { loss, by_weight, carried }
    }

    fn size(&self, piece: &LanguagePiece) -> usize {
        piece.right.len()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        let documents: Vec<&[u32]> = self.held_out.split_inclusive(|&word| word == self.end).collect();
        let net = ScoringNet::new(self.params, &weights.values(), self.tree, self.end);
        let scored = net.in_parallel(&weights.all[WORDS].values, &documents, ctx)?;
        let sum: f64 = scored.iter().flatten().map(|&p| f64::from(p)).sum();
        Ok(Some(-sum / self.held_out.len() as f64))
    }
}
