//! The training of an encoder and its decoder as the training loop sees it.

use std::ops::Range;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Seq2SeqShape;
use super::decoder::Decoder;
use super::noising::Noising;
use crate::neural::fit::{Network, PieceGradients, Schedule};
use crate::neural::kernel::Real;
use crate::neural::weights::Weights;
use crate::transformer::batches::{TextBatches, TransformerPiece};
use crate::transformer::block::{BlockWeights, add};
use crate::transformer::dropout::Dropout;
use crate::transformer::encoder::{EmbeddingWeights, Encoder, EncoderInput, SECOND, TrainedPart, token_number};
use crate::transformer::head::{Head, HeadForm, Targets};
use crate::transformer::sublayers::Memory;
use inkstone_base::job::Ctx;

/// The inputs and settings of one training.
pub(super) struct Seq2SeqNet<'a> {
    pub(super) shape: Seq2SeqShape,
    pub(super) batches: TextBatches<'a>,
    pub(super) noising: Option<&'a Noising>,
}

/// The weights as pieces are computed with them.
pub(super) struct ReadySeq2Seq<'w, T> {
    encoder: Encoder<'w, T>,
    decoder: Decoder<'w, T>,
    head: Head<T>,
}

/// Tokens of some texts, one text after the other.
#[derive(Default)]
struct Tokens {
    tokens: Vec<u32>,
    texts: Vec<Range<usize>>,
}

impl Tokens {
    fn push(&mut self, text: impl IntoIterator<Item = u32>) {
        let begin = self.tokens.len();
        self.tokens.extend(text.into_iter().map(token_number));
        self.texts.push(begin..self.tokens.len());
    }

    fn input(&self) -> EncoderInput<'_> {
        EncoderInput { tokens: &self.tokens, texts: &self.texts }
    }
}

/// The tokens of a text that are read, and those that are to be written.
fn parts(text: &[u32], restored: bool) -> [&[u32]; 2] {
    if restored {
        return [text, text];
    }
    let second = text.iter().position(|token| token & SECOND != 0).unwrap_or(text.len());
    text.split_at(second).into()
}

impl Seq2SeqNet<'_> {
    pub(super) fn ready_of<'w, T: Real>(&self, values: &[&'w [T]]) -> ReadySeq2Seq<'w, T> {
        let shape = &self.shape;
        let (of_encoder, of_decoder) = values.split_at(shape.encoder.weights());
        let tokens = values[EmbeddingWeights::Tokens as usize];
        ReadySeq2Seq {
            encoder: Encoder::new(shape.encoder, of_encoder, 0..shape.encoder.layers, |_| None),
            decoder: Decoder::new(shape, of_decoder, tokens),
            head: Head::new(HeadForm::Next, &[], tokens, &shape.encoder),
        }
    }

    /// The loss of a piece, the sum over the tokens that are written, and its gradients by weight.
    pub(super) fn differentiated<T: Real>(
        &self,
        ready: &ReadySeq2Seq<'_, T>,
        piece: &TransformerPiece,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let (mut read, mut before, mut right) = (Tokens::default(), Tokens::default(), Vec::new());
        for text in &piece.texts {
            let [source, target] = parts(&piece.tokens[text.clone()], self.noising.is_some());
            match self.noising {
                Some(noising) => read.push(noising.damage(source, &mut rng)),
                None => read.push(source.iter().copied()),
            }
            // Each token is written behind those before it, the first one behind the token that all texts begin with.
            before.push([self.shape.start].into_iter().chain(target.iter().take(target.len() - 1).copied()));
            right.extend(target.iter().map(|token| token_number(*token)));
        }
        let (rows, encoded) = ready.encoder.forward(read.input(), None, rate, &mut rng);
        let memory = Memory { rows: &rows, texts: &read.texts };
        let (x, decoded) = ready.decoder.forward(before.input(), memory, rate, &mut rng);
        let by_head = ready.head.gradients(&x, &Targets::Words(&right), &Dropout::none());
        let (mut by_table, width) = (by_head.tokens, self.shape.block.width);
        let mut add_token = |token: u32, by: &[T]| add(&mut by_table[token as usize * width..][..width], by);
        let by_decoder = ready.decoder.back(&decoded, before.input(), memory, by_head.rows, &mut add_token);
        let part = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let mut gradients = ready.encoder.back(&encoded, read.input(), by_decoder.memory, &part, &mut add_token);
        gradients[EmbeddingWeights::Tokens as usize] = by_table;
        gradients.extend(by_decoder.weights);
        (by_head.loss, gradients)
    }
}

impl Network for Seq2SeqNet<'_> {
    type Piece = TransformerPiece;
    type Ready<'w>
        = ReadySeq2Seq<'w, f32>
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
        vec![None; self.shape.shapes().len()]
    }

    fn ready<'w>(&'w self, weights: &'w Weights, _: &'w [Option<Vec<u32>>]) -> ReadySeq2Seq<'w, f32> {
        self.ready_of(&weights.values())
    }

    fn gradients(&self, ready: &ReadySeq2Seq<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece, self.batches.params.dropout);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// The tokens that are written.
    fn size(&self, piece: &TransformerPiece) -> usize {
        let text = |text: &Range<usize>| parts(&piece.tokens[text.clone()], self.noising.is_some())[1].len();
        piece.texts.iter().map(text).sum()
    }

    fn progress(&self, piece: &TransformerPiece) -> usize {
        piece.texts.len()
    }

    fn schedule(&self) -> Option<Schedule> {
        self.batches.schedule()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        let ready = self.ready_of(&weights.values());
        let loss = |piece: &TransformerPiece| (self.differentiated(&ready, piece, 0.0).0, self.size(piece));
        self.batches.held_out_loss(loss, ctx)
    }
}
