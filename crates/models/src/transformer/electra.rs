//! Replaced tokens (Clark and others 2020): a small generator fills masked tokens, and a discriminator tells of each token whether it was replaced. Both
//! read the same tables of tokens, places and segments.

use std::ops::Range;

use anyhow::{Result, ensure};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::block::{BlockWeights, add};
use super::dropout::Dropout;
use super::encoder::{EmbeddingWeights, Encoder, EncoderInput, EncoderShape, SECOND, TrainedPart};
use super::head::{Head, HeadForm, Targets};
use super::net::{TransformerPiece, add_rows, pieces, selected};
use super::params::{TrainedLayers, TransformerParams};
use super::train::{TrainingTexts, Transformer};
use crate::checkpoint::Checkpoint;
use crate::neural::fit::{Network, PieceGradients, Schedule, fit};
use crate::neural::kernel::Real;
use crate::neural::weights::Weights;
use inkstone_base::job::Ctx;
use inkstone_base::memory;

/// Weight of the discriminator's loss beside that of the generator, in the paper.
const WEIGHT: f64 = 50.0;
/// The weights that both read: all but the dense layer behind the tables.
const SHARED: usize = EmbeddingWeights::Widen as usize;

/// A discriminator and its generator in training.
struct ReplacedTokens<'a> {
    shapes: [EncoderShape; 2],
    /// The head of the generator.
    words: HeadForm,
    params: &'a TransformerParams,
    texts: &'a TrainingTexts<'a>,
    trained: Range<usize>,
    held_out: Range<usize>,
}

/// Both models with their weights ready for products.
pub(super) struct ReadyPair<'w, T> {
    discriminator: (Encoder<'w, T>, Head<T>),
    generator: (Encoder<'w, T>, Head<T>),
}

/// Trains a discriminator, and a generator that begins with the discriminator's tables, on masked words; texts are in their order of time, and the
/// last ones are held out. The losses of epochs are those of the generator plus 50 times those of the discriminator.
pub fn train_electra(
    [discriminator, generator]: [Transformer; 2],
    texts: &TrainingTexts<'_>,
    params: &TransformerParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<[Transformer; 2]> {
    params.check()?;
    ensure!(params.train == TrainedLayers::All, "replaced tokens train all layers: leave --train out");
    ensure!(
        discriminator.form == HeadForm::Replaced && matches!(generator.form, HeadForm::Words { .. }),
        "a discriminator tells replaced tokens, and a generator tells words"
    );
    let (shapes, words) = ([discriminator.shape, generator.shape], generator.form);
    ensure!(
        shapes[0].embedded() == shapes[1].embedded() && shapes[0].vocabulary == shapes[1].vocabulary,
        "a generator and a discriminator read the same tables"
    );
    let count = texts.places.len();
    let held_out = (count as f64 * params.held_out_share) as usize;
    ensure!(count > held_out, "there is no text to train on");
    let (trained, held_out) = (0..count - held_out, count - held_out..count);
    let net = ReplacedTokens { shapes, words, params, texts, trained, held_out };
    let prepared = |transformer: Transformer| {
        transformer.check_memory(ctx.install(rayon::current_num_threads) as u64, memory::free_mb())?;
        let mut transformer = transformer;
        transformer.set_trained(params, 0);
        Ok::<_, anyhow::Error>(transformer.weights.all)
    };
    let mut all = prepared(discriminator)?;
    let of_discriminator = all.len();
    all.extend(prepared(generator)?.into_iter().skip(SHARED));
    let (weights, epochs) = fit(&net, Weights::new(all), &params.fit(), checkpoint, ctx)?;
    let mut values: Vec<Vec<f32>> = weights.all.into_iter().map(|weight| weight.values).collect();
    let own = values.split_off(of_discriminator);
    let shared: Vec<Vec<f32>> = values[..SHARED].to_vec();
    let finished = |shape, form, values| {
        let transformer = Transformer::of_all_values(shape, form, values)?;
        Ok::<_, anyhow::Error>(Transformer { epochs: epochs.clone(), ..transformer })
    };
    Ok([
        finished(shapes[0], HeadForm::Replaced, values)?,
        finished(shapes[1], words, shared.into_iter().chain(own).collect())?,
    ])
}

/// A token by chance, by the scores before softmax.
fn drawn<T: Real>(scores: &[T], rng: &mut ChaCha8Rng) -> u32 {
    let most = scores.iter().fold(f64::NEG_INFINITY, |most, score| most.max(score.to_f64()));
    let shares: Vec<f64> = scores.iter().map(|score| (score.to_f64() - most).exp()).collect();
    let mut left = rng.random::<f64>() * shares.iter().sum::<f64>();
    let place = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    place.unwrap_or(shares.len() - 1) as u32
}

impl ReplacedTokens<'_> {
    /// The number of the generator's first weight that it does not share.
    fn of_discriminator(&self) -> usize {
        self.shapes[0].weights() + HeadForm::Replaced.shapes(&self.shapes[0]).len()
    }

    fn ready_of<'w, T: Real>(&self, values: &[&'w [T]]) -> ReadyPair<'w, T> {
        let (own, others) = values.split_at(self.of_discriminator());
        let of_generator: Vec<&'w [T]> = own[..SHARED].iter().chain(others).copied().collect();
        let tokens = values[EmbeddingWeights::Tokens as usize];
        let ready = |shape: EncoderShape, form, values: &[&'w [T]]| {
            let encoder = Encoder::new(shape, values, 0..shape.layers, |_| None);
            (encoder, Head::new(form, &values[shape.weights()..], tokens, &shape))
        };
        ReadyPair {
            discriminator: ready(self.shapes[0], HeadForm::Replaced, own),
            generator: ready(self.shapes[1], self.words, &of_generator),
        }
    }

    /// The tokens of a piece where the generator has filled the masked ones, and of each whether it is another than that of the text.
    fn replaced<T: Real>(piece: &TransformerPiece, scores: &[T], rng: &mut ChaCha8Rng) -> (Vec<u32>, Vec<Vec<u32>>) {
        let mut tokens = piece.tokens.clone();
        let mut replaced = vec![Vec::new(); tokens.len()];
        let outputs = scores.len() / piece.masked.len().max(1);
        for (&(at, right), scores) in piece.masked.iter().zip(scores.chunks(outputs.max(1))) {
            let token = drawn(scores, rng);
            tokens[at] = token | (tokens[at] & SECOND);
            if token != right {
                replaced[at] = vec![0];
            }
        }
        (tokens, replaced)
    }

    /// The loss of a piece and its gradients by weight: the sum of the generator's losses of masked words, and 50 times as many mean losses of the
    /// discriminator's tokens.
    fn differentiated<T: Real>(
        &self,
        ready: &ReadyPair<'_, T>,
        piece: &TransformerPiece,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let part = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let mut by_table = Vec::<T>::new();
        let narrow = self.shapes[0].embedded();

        let (encoder, head) = &ready.generator;
        let input = EncoderInput { tokens: &piece.tokens, texts: &piece.texts };
        let (x, passed) = encoder.forward(input, None, rate, &mut rng);
        let width = self.shapes[1].block.width;
        let rows: Vec<usize> = piece.masked.iter().map(|(at, _)| *at).collect();
        let right: Vec<u32> = piece.masked.iter().map(|(_, right)| *right).collect();
        let read = selected(&x, &rows, width);
        let (tokens, replaced) = ReplacedTokens::replaced(piece, &head.scores(&read), &mut rng);
        let found = head.gradients(&read, &Targets::Words(&right), &Dropout::none());
        let mut by = vec![T::default(); x.len()];
        add_rows(&mut by, &rows, &found.rows, width);
        by_table.extend(&found.tokens);
        let mut loss = found.loss;
        let mut of_generator = encoder.back(&passed, input, by, &part, |token, by| {
            add(&mut by_table[token as usize * narrow..][..narrow], by);
        });
        of_generator.extend(found.weights);

        let (encoder, head) = &ready.discriminator;
        let input = EncoderInput { tokens: &tokens, texts: &piece.texts };
        let (x, passed) = encoder.forward(input, None, rate, &mut rng);
        let weight = WEIGHT * piece.masked.len() as f64 / tokens.len() as f64;
        let found = head.gradients(&x, &Targets::Labels(&replaced), &Dropout::none()).scaled(weight);
        loss += found.loss;
        let mut gradients = encoder.back(&passed, input, found.rows, &part, |token, by| {
            add(&mut by_table[token as usize * narrow..][..narrow], by);
        });
        gradients.extend(found.weights);
        gradients[EmbeddingWeights::Tokens as usize] = by_table;
        let own = of_generator.split_off(SHARED);
        let shared = gradients.iter_mut().zip(&of_generator).skip(EmbeddingWeights::Places as usize);
        shared.for_each(|(to, by)| add(to, by));
        gradients.extend(own);
        (loss, gradients)
    }
}

impl Network for ReplacedTokens<'_> {
    type Piece = TransformerPiece;
    type Ready<'w>
        = ReadyPair<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.trained.len().div_ceil(self.params.batch)
    }

    fn examples(&self) -> (u64, &'static str) {
        (self.trained.len() as u64, "texts")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order: Vec<u32> = self.trained.clone().map(|number| number as u32).collect();
        order.shuffle(rng);
        order
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<TransformerPiece> {
        let batch = self.params.batch;
        let numbers = order[number * batch..].iter().take(batch).map(|&number| number as usize);
        pieces(self.texts, &numbers.collect::<Vec<usize>>(), rng)
    }

    fn reads(&self, _: &[TransformerPiece]) -> Vec<Option<Vec<u32>>> {
        let generator = self.shapes[1].weights() + self.words.shapes(&self.shapes[1]).len();
        vec![None; self.of_discriminator() + generator - SHARED]
    }

    fn ready<'w>(&'w self, weights: &'w Weights, _: &'w [Option<Vec<u32>>]) -> ReadyPair<'w, f32> {
        self.ready_of(&weights.values())
    }

    fn gradients(&self, ready: &ReadyPair<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece, self.params.dropout);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// The masked tokens.
    fn size(&self, piece: &TransformerPiece) -> usize {
        piece.masked.len()
    }

    fn progress(&self, piece: &TransformerPiece) -> usize {
        piece.texts.len()
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(Schedule { kind: self.params.schedule, warmup: self.params.warmup })
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        // The same words are masked after each epoch.
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(u64::MAX);
        let pieces = pieces(self.texts, &self.held_out.clone().collect::<Vec<usize>>(), &mut rng);
        let ready = self.ready_of(&weights.values());
        let one = |piece: &TransformerPiece| {
            ctx.check()?;
            Ok((self.differentiated(&ready, piece, 0.0).0, piece.masked.len()))
        };
        let found = ctx.install(|| pieces.par_iter().map(one).collect::<Result<Vec<(f64, usize)>>>())?;
        let (loss, count) = found.iter().fold((0.0, 0), |(loss, count), (l, c)| (loss + l, count + c));
        Ok(Some(loss / count.max(1) as f64))
    }
}
