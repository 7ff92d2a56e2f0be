//! Batches of texts.

use anyhow::Result;
use candle_core::Tensor;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Examples, TextNetParams, layers};
use crate::neural::entropy::cross_entropy;
use crate::neural::fit::Network;
use crate::neural::weights::{Leaves, Weights, distinct};
use inkstone_base::job::Ctx;

/// Texts of a piece.
pub(super) const PIECE: usize = 16;

/// Texts side by side.
pub(super) struct TextPiece {
    /// `[texts, length]`; anything beyond the end of a text.
    pub(super) tokens: Vec<u32>,
    pub(super) length: usize,
    pub(super) lengths: Vec<usize>,
    /// Their classes; none where nobody asks for a loss.
    right: Vec<u32>,
    /// The factors of dropout, `[texts, features]`; none without dropout.
    pub(super) dropout: Vec<f32>,
}

impl TextPiece {
    /// Texts that are only looked at.
    pub(super) fn plain<'d>(params: &TextNetParams, documents: impl Iterator<Item = &'d [u32]>) -> TextPiece {
        let documents: Vec<&[u32]> = documents.map(|d| &d[..d.len().min(params.max_tokens)]).collect();
        let length = documents.iter().map(|d| d.len()).max().unwrap_or(0).max(params.least());
        let padded =
            |d: &&[u32]| d.iter().copied().chain(std::iter::repeat_n(0, length - d.len())).collect::<Vec<u32>>();
        TextPiece {
            tokens: documents.iter().flat_map(padded).collect(),
            length,
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
    trained: Vec<u32>,
    held_out: Vec<u32>,
}

impl<'a> TextBatches<'a> {
    pub(super) fn new(params: &'a TextNetParams, examples: &'a Examples) -> TextBatches<'a> {
        let share = params.fit.held_out_share;
        let every = if share > 0.0 { (1.0 / share).round() as u32 } else { u32::MAX };
        let all = 0..examples.documents.len() as u32;
        let (held_out, trained) = all.partition(|i| i % every == every - 1);
        TextBatches { params, examples, trained, held_out }
    }

    fn piece(&self, numbers: &[u32]) -> TextPiece {
        let documents = numbers.iter().map(|&i| self.examples.documents[i as usize].as_slice());
        let right = numbers.iter().map(|&i| self.examples.class[i as usize]).collect();
        TextPiece { right, ..TextPiece::plain(self.params, documents) }
    }
}

impl Network for TextBatches<'_> {
    type Piece = TextPiece;

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
        // Texts of like length side by side leave little beyond their ends.
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

    fn loss(&self, leaves: &Leaves, piece: &TextPiece) -> Result<(Tensor, Vec<f32>)> {
        let scores = layers::scores(self.params, leaves, piece, &layers::embed(leaves, piece)?)?;
        Ok((cross_entropy(&scores, piece.right.clone())?.sum_all()?, Vec::new()))
    }

    fn size(&self, piece: &TextPiece) -> usize {
        piece.right.len()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        let leaves = weights.constants()?;
        let losses = ctx.install(|| {
            let parts = self.held_out.par_chunks(PIECE).map(|numbers| -> Result<f64> {
                ctx.check()?;
                Ok(f64::from(self.loss(&leaves, &self.piece(numbers))?.0.to_scalar::<f32>()?))
            });
            parts.collect::<Result<Vec<f64>>>()
        })?;
        Ok(Some(losses.iter().sum::<f64>() / self.held_out.len() as f64))
    }
}
