//! Texts in batches, and batches in pieces that are computed at once.

use std::ops::Range;

use anyhow::Result;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::masking::{MaskedText, Masking};
use super::params::TransformerParams;
use super::train::TrainingTexts;
use crate::neural::fit::Schedule;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Tokens of a piece of a batch, about.
const PIECE: usize = 512;

/// Some texts of a batch.
#[derive(Default)]
pub(super) struct TransformerPiece {
    pub(super) texts: Vec<Range<usize>>,
    pub(super) tokens: Vec<u32>,
    /// The places of the tokens in all texts.
    pub(super) places: Vec<Range<usize>>,
    /// The numbers of the texts.
    pub(super) numbers: Vec<usize>,
    /// Places of the masked tokens, and the right tokens.
    pub(super) masked: Vec<(usize, u32)>,
    /// Seed of dropout.
    pub(super) draw: u64,
}

/// The texts of a training: the first ones are trained on, and the last ones are held out.
pub(super) struct TextBatches<'a> {
    pub(super) texts: &'a TrainingTexts<'a>,
    pub(super) params: &'a TransformerParams,
    trained: usize,
    /// Tokens of a piece, about.
    piece: usize,
}

impl<'a> TextBatches<'a> {
    pub(super) fn new(texts: &'a TrainingTexts<'a>, params: &'a TransformerParams) -> Result<TextBatches<'a>> {
        let trained = params.first_held_out(texts.places.len());
        ensure!(trained > 0, "没有可训练的文本", "there is no text to train on");
        Ok(TextBatches { texts, params, trained, piece: PIECE })
    }

    /// These texts in pieces of about so many tokens.
    pub(super) fn in_pieces_of(self, piece: usize) -> TextBatches<'a> {
        TextBatches { piece, ..self }
    }

    pub(super) fn count(&self) -> usize {
        self.trained.div_ceil(self.params.batch)
    }

    pub(super) fn examples(&self) -> (u64, &'static str) {
        (self.trained as u64, "texts")
    }

    pub(super) fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.trained as u32).collect();
        order.shuffle(rng);
        order
    }

    /// The pieces of a batch.
    pub(super) fn batch(&self, order: &[u32], number: usize, rng: &mut ChaCha8Rng) -> Vec<TransformerPiece> {
        let batch = self.params.batch;
        let numbers = order[number * batch..].iter().take(batch).map(|&number| number as usize);
        self.pieces(numbers, self.texts.goals.masking(), rng)
    }

    pub(super) fn schedule(&self) -> Option<Schedule> {
        Some(Schedule { kind: self.params.schedule, warmup: self.params.warmup })
    }

    /// The mean loss of the held-out texts; none where no text is held out.
    pub(super) fn held_out_loss(
        &self,
        loss: impl Fn(&TransformerPiece) -> (f64, usize) + Sync,
        ctx: &Ctx,
    ) -> Result<Option<f64>> {
        let held_out = self.trained..self.texts.places.len();
        if held_out.is_empty() { Ok(None) } else { self.mean_loss(held_out, loss, ctx).map(Some) }
    }

    /// The mean loss of some texts. `loss` gives the sum of the losses of a piece, and their number.
    pub(super) fn mean_loss(
        &self,
        numbers: Range<usize>,
        loss: impl Fn(&TransformerPiece) -> (f64, usize) + Sync,
        ctx: &Ctx,
    ) -> Result<f64> {
        // The same words are masked each time.
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(u64::MAX);
        // A target is predicted from the whole text.
        let masking = self.texts.goals.masking().filter(|_| self.texts.goals.words_beside().is_none());
        let pieces = self.pieces(numbers, masking, &mut rng);
        let one = |piece: &TransformerPiece| {
            ctx.check()?;
            Ok(loss(piece))
        };
        let losses = ctx.install(|| pieces.par_iter().map(one).collect::<Result<Vec<(f64, usize)>>>())?;
        let (sum, count) = losses.iter().fold((0.0, 0), |(sum, count), (l, c)| (sum + l, count + c));
        Ok(sum / count.max(1) as f64)
    }

    /// Cuts texts into pieces; the draws choose the masked words.
    fn pieces(
        &self,
        numbers: impl Iterator<Item = usize> + Clone,
        masking: Option<&Masking>,
        rng: &mut ChaCha8Rng,
    ) -> Vec<TransformerPiece> {
        let TrainingTexts { texts, places, .. } = self.texts;
        let mut pieces = Vec::<TransformerPiece>::new();
        // Pieces of about the same size keep all threads at work to the end of a batch.
        let all: usize = numbers.clone().map(|number| places[number].len()).sum();
        let most = all.div_ceil(all.div_ceil(self.piece).max(1));
        for number in numbers {
            let place = places[number].clone();
            let text = &texts.tokens[place.clone()];
            let MaskedText { tokens, masked } = match masking {
                Some(masking) => masking.mask(text, rng),
                None => MaskedText { tokens: text.to_vec(), masked: Vec::new() },
            };
            if pieces.last().is_none_or(|piece| piece.tokens.len() + tokens.len() / 2 > most) {
                pieces.push(TransformerPiece { draw: rng.random(), ..TransformerPiece::default() });
            }
            if let Some(piece) = pieces.last_mut() {
                let begin = piece.tokens.len();
                piece.texts.push(begin..begin + tokens.len());
                piece.masked.extend(masked.into_iter().map(|(at, right)| (begin + at, right)));
                piece.tokens.extend(tokens);
                piece.places.push(place);
                piece.numbers.push(number);
            }
        }
        pieces
    }
}
