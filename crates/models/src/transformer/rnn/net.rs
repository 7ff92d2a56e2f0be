//! The training of a recurrent encoder and its decoder as the training loop sees it.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::decoder::{RnnDecoder, RnnGradients};
use super::{RnnShape, RnnWeights};
use crate::neural::affine::gather;
use crate::neural::fit::{Network, PieceGradients, Schedule};
use crate::neural::kernel::Real;
use crate::neural::recurrent::{Direction, States};
use crate::neural::weights::Weights;
use crate::transformer::batches::{TextBatches, TransformerPiece};
use crate::transformer::block::add;
use crate::transformer::dropout::Dropout;
use crate::transformer::encoder::{SECOND, token_number};
use crate::transformer::lstm::{TimeRows, add_columns};
use inkstone_base::job::Ctx;

/// The inputs and settings of one training.
pub(super) struct RnnNet<'a> {
    shape: RnnShape,
    batches: TextBatches<'a>,
    /// The share of forced tokens in the last epoch.
    forced: f64,
    epoch: AtomicUsize,
}

/// The weights as pieces are computed with them.
pub(super) struct ReadyRnn<'w, T> {
    width: usize,
    tokens: &'w [T],
    directions: [Direction<T>; 2],
    pub(super) decoder: RnnDecoder<'w, T>,
}

/// Texts that an encoder has read.
pub(super) struct ReadTexts<T> {
    times: TimeRows,
    /// The vectors of the tokens by time, and their dropout.
    x: Vec<T>,
    dropped: Dropout<T>,
    states: [States<T>; 2],
    /// `[tokens, width]`, text after text.
    pub(super) rows: Vec<T>,
    /// The last states of both directions `[texts, width]`.
    pub(super) last: Vec<T>,
}

impl<'w, T: Real> ReadyRnn<'w, T> {
    pub(super) fn new(shape: &RnnShape, values: &[&'w [T]]) -> ReadyRnn<'w, T> {
        let direction = |backward: bool, weights: [RnnWeights; 3]| {
            let [words, state, bias] = weights.map(|weight| values[weight as usize]);
            Direction::new(shape.cell, backward, shape.width, words, state, bias)
        };
        let directions = [
            direction(false, [RnnWeights::Forward, RnnWeights::ForwardState, RnnWeights::ForwardBias]),
            direction(true, [RnnWeights::Backward, RnnWeights::BackwardState, RnnWeights::BackwardBias]),
        ];
        let tokens = values[RnnWeights::Tokens as usize];
        ReadyRnn { width: shape.width, tokens, directions, decoder: RnnDecoder::new(shape, values) }
    }

    fn columns(&self) -> [Range<usize>; 2] {
        let half = self.width / 2;
        [0..half, half..self.width]
    }

    /// Reads texts, one after the other.
    pub(super) fn read(&self, tokens: &[u32], texts: &[Range<usize>], rate: f64, rng: &mut ChaCha8Rng) -> ReadTexts<T> {
        let (width, half, times) = (self.width, self.width / 2, TimeRows::new(texts));
        let mut x = gather(self.tokens, width, tokens);
        let dropped = Dropout::draw(x.len(), rate, rng);
        dropped.apply(&mut x);
        let x = times.gather(&x, width, &(0..width));
        let states = self.directions.each_ref().map(|direction| direction.forward(&x, &times.packed.times));
        let mut rows = vec![T::default(); x.len()];
        for (columns, states) in self.columns().iter().zip(&states) {
            add_columns(&mut rows, width, columns, &times.scatter(&states.states, half));
        }
        let last = |text: &Range<usize>| {
            let [ahead, back] = [text.end - 1, text.start].map(|row| &rows[row * width..][..width]);
            [&ahead[..half], &back[half..]].concat()
        };
        let last = texts.iter().flat_map(last).collect();
        ReadTexts { times, x, dropped, states, rows, last }
    }

    /// Goes back from the gradients by the rows and by the last states; adds to that by the table of tokens. Gives those by the weights of both
    /// directions.
    fn back(
        &self,
        read: &ReadTexts<T>,
        (tokens, texts): (&[u32], &[Range<usize>]),
        (mut by_rows, by_last): (Vec<T>, &[T]),
        by_tokens: &mut [T],
    ) -> Vec<Vec<T>> {
        let (width, half) = (self.width, self.width / 2);
        for (text, by) in texts.iter().zip(by_last.chunks(width)) {
            add(&mut by_rows[(text.end - 1) * width..][..half], &by[..half]);
            add(&mut by_rows[text.start * width + half..][..half], &by[half..]);
        }
        let times = &read.times;
        let mut by_x = vec![T::default(); read.x.len()];
        let mut weights = Vec::new();
        for ((direction, states), columns) in self.directions.iter().zip(&read.states).zip(self.columns()) {
            let above = times.gather(&by_rows, width, &columns);
            let found = direction.backward(&read.x, &times.packed.times, states, above, Some(&mut by_x));
            weights.extend([found.words, found.state, found.bias]);
        }
        let mut by_x = times.scatter(&by_x, width);
        read.dropped.apply(&mut by_x);
        for (token, by) in tokens.iter().zip(by_x.chunks(width)) {
            add(&mut by_tokens[*token as usize * width..][..width], by);
        }
        weights
    }
}

/// The tokens of a text that are read, and those that are written, the one that they begin with among them.
fn parts(text: &[u32]) -> [&[u32]; 2] {
    let second = text.iter().position(|token| token & SECOND != 0).unwrap_or(text.len());
    text.split_at(second).into()
}

/// Tokens that are written of a text.
fn written(text: &[u32]) -> usize {
    parts(text)[1].len() - 1
}

impl<'a> RnnNet<'a> {
    pub(super) fn new(shape: RnnShape, batches: TextBatches<'a>, forced: f64) -> RnnNet<'a> {
        RnnNet { shape, batches, forced, epoch: AtomicUsize::new(1) }
    }

    pub(super) fn ready_of<'w, T: Real>(&self, values: &[&'w [T]]) -> ReadyRnn<'w, T> {
        ReadyRnn::new(&self.shape, values)
    }

    /// The share of forced tokens in an epoch: it falls evenly to that of the last one.
    pub(super) fn forced_in(&self, epoch: usize) -> f64 {
        match self.batches.params.epochs {
            0 | 1 => self.forced,
            epochs => 1.0 - (1.0 - self.forced) * (epoch - 1) as f64 / (epochs - 1) as f64,
        }
    }

    /// The loss of a piece, the sum over the tokens that are written, and its gradients by weight.
    pub(super) fn differentiated<T: Real>(
        &self,
        ready: &ReadyRnn<'_, T>,
        piece: &TransformerPiece,
        forced: f64,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let (mut tokens, mut texts, mut targets) = (Vec::new(), Vec::new(), Vec::<Vec<u32>>::new());
        for text in &piece.texts {
            let [source, target] = parts(&piece.tokens[text.clone()]);
            let begin = tokens.len();
            tokens.extend(source.iter().copied().map(token_number));
            texts.push(begin..tokens.len());
            targets.push(target.iter().copied().map(token_number).collect());
        }
        let targets: Vec<&[u32]> = targets.iter().map(Vec::as_slice).collect();
        let read = ready.read(&tokens, &texts, rate, &mut rng);
        let source = ready.decoder.attention.source(&read.rows, &texts, &read.last);
        let passed = ready.decoder.forward(&source, &targets, forced, rate, &mut rng);
        let RnnGradients { loss, source, tokens: mut by_tokens, weights } = ready.decoder.back(&source, &passed);
        let of_encoder = ready.back(&read, (&tokens, &texts), (source.rows, &source.last), &mut by_tokens);
        (loss, std::iter::once(by_tokens).chain(of_encoder).chain(weights).collect())
    }
}

impl Network for RnnNet<'_> {
    type Piece = TransformerPiece;
    type Ready<'w>
        = ReadyRnn<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.batches.count()
    }

    fn examples(&self) -> (u64, &'static str) {
        self.batches.examples()
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        self.batches.order(rng)
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<TransformerPiece> {
        self.batches.batch(order, number, rng)
    }

    fn reads(&self, _: &[TransformerPiece]) -> Vec<Option<Vec<u32>>> {
        vec![None; RnnWeights::COUNT]
    }

    fn ready<'w>(&'w self, weights: &'w Weights, _: &'w [Option<Vec<u32>>]) -> ReadyRnn<'w, f32> {
        self.ready_of(&weights.values())
    }

    fn gradients(&self, ready: &ReadyRnn<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let forced = self.forced_in(self.epoch.load(Ordering::Relaxed));
        let (loss, by_weight) = self.differentiated(ready, piece, forced, self.batches.params.dropout);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// The tokens that are written.
    fn size(&self, piece: &TransformerPiece) -> usize {
        piece.texts.iter().map(|text| written(&piece.tokens[text.clone()])).sum()
    }

    fn progress(&self, piece: &TransformerPiece) -> usize {
        piece.texts.len()
    }

    fn schedule(&self) -> Option<Schedule> {
        self.batches.schedule()
    }

    fn begin_epoch(&self, epoch: usize, _: &mut Weights) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        let ready = self.ready_of(&weights.values());
        let loss = |piece: &TransformerPiece| (self.differentiated(&ready, piece, 1.0, 0.0).0, self.size(piece));
        self.batches.held_out_loss(loss, ctx)
    }
}
