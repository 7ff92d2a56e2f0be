//! Replaced tokens (Clark and others 2020): a small generator fills masked tokens, and a discriminator predicts for each token whether the generator has
//! replaced it. Both models read the same tables of tokens, places and segments.

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::batches::{TextBatches, TransformerPiece};
use super::block::{BlockWeights, add};
use super::dropout::Dropout;
use super::encoder::{EmbeddingWeights, Encoder, EncoderInput, EncoderShape, SECOND, TrainedPart};
use super::head::{Head, HeadForm, Targets};
use super::params::{TrainedLayers, TransformerParams};
use super::reading::Reading;
use super::seq2seq::SMALLER;
use super::train::{TrainingTexts, Transformer, check_memory};
use crate::checkpoint::Checkpoint;
use crate::linear::to_probabilities;
use crate::neural::fit::{Network, PieceGradients, Schedule, fit};
use crate::neural::kernel::Real;
use crate::neural::weights::Weights;
use inkstone_base::ensure;
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
    batches: TextBatches<'a>,
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
    ensure!(
        params.train == TrainedLayers::All,
        "替换词元检测训练所有层：请去掉 --train",
        "replaced tokens train all layers: leave --train out"
    );
    ensure!(
        discriminator.heads.main == HeadForm::Replaced && matches!(generator.heads.main, HeadForm::Words { .. }),
        "判别器预测被替换的词元，生成器预测词",
        "a discriminator predicts replaced tokens, and a generator predicts words"
    );
    let (shapes, words) = ([discriminator.shape, generator.shape], generator.heads.main);
    ensure!(
        shapes[0].embedded() == shapes[1].embedded() && shapes[0].vocabulary == shapes[1].vocabulary,
        "生成器与判别器须读取相同的词表",
        "a generator and a discriminator read the same tables"
    );
    let net = ReplacedTokens { shapes, words, batches: TextBatches::new(texts, params)? };
    let prepared = |transformer: Transformer| {
        check_memory(&transformer.weights, SMALLER, ctx.install(rayon::current_num_threads) as u64, memory::free_mb())?;
        let mut transformer = transformer;
        transformer.set_trained(params, 0);
        Ok::<_, anyhow::Error>(transformer.weights.all)
    };
    let mut all = prepared(discriminator)?;
    let of_discriminator = all.len();
    all.extend(prepared(generator)?.into_iter().skip(SHARED));
    let (weights, epochs) = fit(&net, Weights::of_adamw(all), &params.fit(), checkpoint, ctx)?;
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

/// A token drawn by the softmax of scores.
fn drawn<T: Real>(scores: &[T], rng: &mut ChaCha8Rng) -> u32 {
    let mut shares: Vec<f64> = scores.iter().map(|score| score.to_f64()).collect();
    to_probabilities(&mut shares);
    let mut left = rng.random::<f64>();
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

    /// The tokens of a piece with those that the generator puts in the place of masked tokens; and label 0 for each token that differs from the
    /// text's own.
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

    /// The loss of a piece and its gradients by weight. The loss is the sum of the generator's losses of masked tokens; and, times the number of masked
    /// tokens, 50 times the mean of the discriminator's losses of all tokens.
    fn differentiated<T: Real>(
        &self,
        ready: &ReadyPair<'_, T>,
        piece: &TransformerPiece,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let part = TrainedPart { from_layer: 0, embeddings: true, of_block: [true; BlockWeights::COUNT] };
        let narrow = self.shapes[0].embedded();

        let (encoder, head) = &ready.generator;
        let input = EncoderInput { tokens: &piece.tokens, texts: &piece.texts };
        let (x, passed) = encoder.forward(input, None, rate, &mut rng);
        let reading = Reading::new(self.words, &self.shapes[1]);
        let rows: Vec<usize> = piece.masked.iter().map(|(at, _)| *at).collect();
        let right: Vec<u32> = piece.masked.iter().map(|(_, right)| *right).collect();
        let read = reading.read(&x, &rows, &piece.texts);
        let (tokens, replaced) = ReplacedTokens::replaced(piece, &head.scores(&read), &mut rng);
        let by_head = head.gradients(&read, &Targets::Words(&right), &Dropout::none());
        let mut by = vec![T::default(); x.len()];
        reading.add_back(&mut by, &x, &rows, &piece.texts, &by_head.rows);
        let mut by_table = by_head.tokens;
        let mut loss = by_head.loss;
        let mut of_generator = encoder.back(&passed, input, by, &part, |token, by| {
            add(&mut by_table[token as usize * narrow..][..narrow], by);
        });
        of_generator.extend(by_head.weights);

        let (encoder, head) = &ready.discriminator;
        let input = EncoderInput { tokens: &tokens, texts: &piece.texts };
        let (x, passed) = encoder.forward(input, None, rate, &mut rng);
        let weight = WEIGHT * piece.masked.len() as f64 / tokens.len() as f64;
        let by_head = head.gradients(&x, &Targets::Labels(&replaced), &Dropout::none()).scaled(weight);
        loss += by_head.loss;
        let mut gradients = encoder.back(&passed, input, by_head.rows, &part, |token, by| {
            add(&mut by_table[token as usize * narrow..][..narrow], by);
        });
        gradients.extend(by_head.weights);
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
        let generator = self.shapes[1].weights() + self.words.shapes(&self.shapes[1]).len();
        vec![None; self.of_discriminator() + generator - SHARED]
    }

    fn ready<'w>(&'w self, weights: &'w Weights, _: &'w [Option<Vec<u32>>]) -> ReadyPair<'w, f32> {
        self.ready_of(&weights.values())
    }

    fn gradients(&self, ready: &ReadyPair<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece, self.batches.params.dropout);
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
        self.batches.schedule()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        let ready = self.ready_of(&weights.values());
        let loss = |piece: &TransformerPiece| (self.differentiated(&ready, piece, 0.0).0, piece.masked.len());
        self.batches.held_out_loss(loss, ctx)
    }
}
