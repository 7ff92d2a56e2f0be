//! Batches of texts.

use anyhow::Result;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::net::{Net, TextNetPass};
use super::{Channels, Examples, Goal, NetOutputs, TextNetParams, VECTORS, channels, loss};
use crate::neural::fit::{Network, PieceGradients};
use crate::neural::kernel::Real;
use crate::neural::weights::{Weights, distinct};
use inkstone_base::job::Ctx;

/// Texts of a piece.
pub(super) const PIECE: usize = 16;

/// Texts that are computed at once.
pub(super) struct TextPiece {
    /// Text after text.
    pub(super) tokens: Vec<u32>,
    pub(super) lengths: Vec<usize>,
    /// Class or labels of each text; none where no loss is wanted.
    right: Vec<Vec<u32>>,
    /// The factors of dropout, `[texts, features]`; none without dropout.
    pub(super) dropout: Vec<f32>,
}

impl TextPiece {
    /// Texts that are only looked at.
    pub(super) fn plain<'d>(params: &TextNetParams, documents: impl Iterator<Item = &'d [u32]>) -> TextPiece {
        let documents: Vec<&[u32]> = documents.map(|d| &d[..d.len().min(params.max_tokens)]).collect();
        TextPiece {
            tokens: documents.concat(),
            lengths: documents.iter().map(|d| d.len()).collect(),
            right: Vec::new(),
            dropout: Vec::new(),
        }
    }
}

/// A classifier in training.
pub(super) struct TextBatches<'a> {
    params: &'a TextNetParams,
    examples: &'a Examples,
    outputs: NetOutputs,
    trained: Vec<u32>,
    held_out: Vec<u32>,
}

impl<'a> TextBatches<'a> {
    pub(super) fn new(params: &'a TextNetParams, examples: &'a Examples, outputs: NetOutputs) -> TextBatches<'a> {
        let share = params.fit.held_out_share;
        let every = if share > 0.0 { (1.0 / share).round() as u32 } else { u32::MAX };
        let all = 0..examples.documents.len() as u32;
        let (held_out, trained) = all.partition(|i| i % every == every - 1);
        TextBatches { params, examples, outputs, trained, held_out }
    }

    fn piece(&self, numbers: &[u32]) -> TextPiece {
        let documents = numbers.iter().map(|&i| self.examples.documents[i as usize].as_slice());
        let right = |&i: &u32| match &self.examples.goal {
            Goal::Classes { class, .. } => vec![class[i as usize]],
            Goal::Labels { labels, .. } => labels[i as usize].clone(),
            Goal::Values(_) => Vec::new(),
        };
        let right = numbers.iter().map(right).collect();
        TextPiece { right, ..TextPiece::plain(self.params, documents) }
    }
}

/// A network of these weights, and the words whose vectors gradients are wanted of.
pub(super) struct ReadyNet<'w, T> {
    net: Net<T>,
    channels: Vec<&'w [T]>,
    /// Ascending.
    words: &'w [u32],
}

impl<'w, T: Real> ReadyNet<'w, T> {
    pub(super) fn new(params: &TextNetParams, values: &[&'w [T]], words: &'w [u32]) -> ReadyNet<'w, T> {
        ReadyNet { net: Net::new(params, values), channels: channels(params, values), words }
    }
}

impl TextBatches<'_> {
    /// The sum of the losses of a piece.
    fn loss<T: Real>(&self, ready: &ReadyNet<'_, T>, piece: &TextPiece) -> f64 {
        self.loss_of(&ready.net.forward(&ready.channels, piece), piece).0
    }

    /// The sum of the losses of a piece, and its gradient by the scores.
    fn loss_of<T: Real>(&self, pass: &TextNetPass<T>, piece: &TextPiece) -> (f64, Vec<T>) {
        let mut by_scores = vec![T::default(); pass.scores.len()];
        let columns = pass.scores.len() / piece.lengths.len().max(1);
        let texts = pass.scores.chunks(columns).zip(by_scores.chunks_mut(columns)).zip(&piece.right);
        let losses = texts.map(|((scores, by_scores), right)| loss::loss(self.outputs, scores, right, by_scores));
        (losses.sum(), by_scores)
    }

    /// The sum of the losses of a piece, and its gradients by weight; of word vectors those of the ready words.
    pub(super) fn differentiated<T: Real>(&self, ready: &ReadyNet<'_, T>, piece: &TextPiece) -> (f64, Vec<Vec<T>>) {
        let pass = ready.net.forward(&ready.channels, piece);
        let (loss, by_scores) = self.loss_of(&pass, piece);
        let tuned = self.params.channels != Channels::Static;
        let back = ready.net.backward(&pass, piece, &by_scores, tuned);
        let by_words = if tuned { ready.net.by_words(&pass, &back, piece, ready.words) } else { Vec::new() };
        let kept = (self.params.channels == Channels::Both).then(Vec::new);
        (loss, std::iter::once(by_words).chain(back.weights).chain(kept).collect())
    }
}

impl Network for TextBatches<'_> {
    type Piece = TextPiece;
    type Ready<'w>
        = ReadyNet<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.trained.len().div_ceil(self.params.fit.batch)
    }

    fn examples(&self) -> (u64, &'static str) {
        (self.trained.len() as u64, "docs")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order = self.trained.clone();
        order.shuffle(rng);
        order
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<TextPiece> {
        let batch = self.params.fit.batch;
        let mut numbers = order[number * batch..order.len().min((number + 1) * batch)].to_vec();
        // Texts of like length are read side by side.
        numbers.sort_by_key(|&i| self.examples.documents[i as usize].len());
        let (kept, features) = (1.0 - self.params.dropout as f32, self.params.features());
        let piece = |numbers: &[u32]| {
            let mut piece = self.piece(numbers);
            if kept < 1.0 {
                let draw = |_| if rng.random::<f32>() < kept { 1.0 / kept } else { 0.0 };
                piece.dropout = (0..numbers.len() * features).map(draw).collect();
            }
            piece
        };
        numbers.chunks(PIECE).map(piece).collect()
    }

    fn reads(&self, pieces: &[TextPiece]) -> Vec<Option<Vec<u32>>> {
        let words = distinct(pieces.iter().flat_map(|piece| piece.tokens.iter().copied()));
        let weights = self.params.shapes(0, 0).len();
        std::iter::once(Some(words)).chain(std::iter::repeat_n(None, weights - 1)).collect()
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyNet<'w, f32> {
        let words = rows[VECTORS].as_deref().unwrap_or_default();
        ReadyNet::new(self.params, &weights.values(), words)
    }

    fn gradients(&self, ready: &ReadyNet<'_, f32>, piece: &TextPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    fn size(&self, piece: &TextPiece) -> usize {
        piece.lengths.len()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        let ready = ReadyNet::new(self.params, &weights.values(), &[]);
        let losses = ctx.install(|| {
            let parts = self.held_out.par_chunks(PIECE).map(|numbers| {
                ctx.check()?;
                Ok(self.loss(&ready, &self.piece(numbers)))
            });
            parts.collect::<Result<Vec<f64>>>()
        })?;
        Ok(Some(losses.iter().sum::<f64>() / self.held_out.len() as f64))
    }
}
