//! Training of an encoder with a head: from nothing, or from the weights of a base, all of them or a part.

use std::ops::Range;

use anyhow::{Result, bail, ensure};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::adapt::LowRank;
use super::block::BlockWeights;
use super::dropout::Dropout;
use super::encoder::{EmbeddingWeights, Encoder, EncoderInput, EncoderShape, TrainedPart};
use super::frozen::FrozenStates;
use super::head::{Head, HeadForm, HeadWeights, Targets, TextGoal, losses};
use super::masking::{MaskedText, Masking};
use super::params::{TrainedLayers, TransformerParams};
use crate::Goal;
use crate::checkpoint::Checkpoint;
use crate::neural::EpochFigures;
use crate::neural::fit::{Network, PieceGradients, Schedule, fit};
use crate::neural::kernel::Real;
use crate::neural::weights::{RowGradient, Weight, Weights, distinct};
use inkstone_base::job::Ctx;
use inkstone_base::memory;

/// Tokens of a piece of a batch, about.
const PIECE: usize = 512;

/// Texts as tokens.
#[derive(Clone, Copy)]
pub struct TokenTexts<'a> {
    /// The tokens of all texts, with the special tokens of the tokenizer.
    pub tokens: &'a [u32],
    /// The vectors of these tokens before the first trained block; none: they are computed whenever a text is read.
    pub frozen: Option<&'a FrozenStates>,
}

/// Texts and their targets.
pub struct TrainingTexts<'a> {
    pub texts: TokenTexts<'a>,
    /// The place of each text among the tokens.
    pub places: &'a [Range<usize>],
    pub goals: Goals,
}

/// The targets of texts.
pub enum Goals {
    /// The texts' own words, some of which are masked.
    Words(Masking),
    Texts(Goal),
}

/// An encoder with a head.
pub struct Transformer {
    pub shape: EncoderShape,
    pub form: HeadForm,
    pub(super) weights: Weights,
    epochs: Vec<EpochFigures>,
}

/// The inputs and settings of one training.
pub(super) struct TransformerNet<'a> {
    shape: EncoderShape,
    form: HeadForm,
    params: &'a TransformerParams,
    texts: &'a TrainingTexts<'a>,
    trained: Range<usize>,
    held_out: Range<usize>,
    adapted: Option<LowRank>,
    /// The first block that is trained in any epoch.
    lowest: usize,
}

/// Some texts of a batch.
pub(super) struct TransformerPiece {
    texts: Vec<Range<usize>>,
    tokens: Vec<u32>,
    /// The places of the tokens in all texts.
    places: Vec<Range<usize>>,
    /// The numbers of the texts.
    numbers: Vec<usize>,
    /// Places of the masked tokens, and the right tokens.
    masked: Vec<(usize, u32)>,
    /// Seed of dropout.
    draw: u64,
}

#[cfg(test)]
impl TransformerPiece {
    /// Masks these tokens instead of those that were drawn.
    pub(super) fn mask(&mut self, masked: Vec<(usize, u32)>) {
        self.masked = masked;
    }
}

/// The weights as pieces are computed with them.
pub(super) struct ReadyTransformer<'w, T> {
    encoder: Encoder<'w, T>,
    head: Head<T>,
    part: TrainedPart,
    /// By weight the rows that gradients are wanted of; none for all.
    rows: &'w [Option<Vec<u32>>],
    values: Vec<&'w [T]>,
}

impl Transformer {
    /// An encoder of random weights. `counts` are the occurrences of each token, at whose shares the bias of the words begins.
    pub fn random(shape: EncoderShape, form: HeadForm, counts: Option<&[u64]>, seed: u64) -> Result<Transformer> {
        super::encoder::check(&shape)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values = shape.shapes().into_iter().enumerate().map(|(number, size)| {
            let in_block = number.checked_sub(EmbeddingWeights::COUNT).map(|n| n % BlockWeights::COUNT);
            let scales = [BlockWeights::FirstScale as usize, BlockWeights::SecondScale as usize];
            let is_scale = number == EmbeddingWeights::Scale as usize || in_block.is_some_and(|n| scales.contains(&n));
            begin(size, is_scale, in_block.is_none(), &mut rng)
        });
        let values: Vec<Vec<f32>> = values.collect();
        let mut made = Transformer::of_values(shape, form, values, seed)?;
        if let (HeadForm::Words { .. }, Some(counts), Some(bias)) = (form, counts, made.weights.all.last_mut()) {
            let all: f64 = counts.iter().map(|&count| count as f64 + 1.0).sum();
            let share = |&count: &u64| ((count as f64 + 1.0) / all).ln() as f32;
            bias.values = counts.iter().map(share).collect();
        }
        Ok(made)
    }

    /// An encoder of these weights, in the order of its shape, under a head of random ones.
    pub fn of_values(shape: EncoderShape, form: HeadForm, values: Vec<Vec<f32>>, seed: u64) -> Result<Transformer> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let head = form.shapes(shape.block.width, shape.vocabulary).into_iter().enumerate().map(|(number, size)| {
            // A head of words has a norm in the place of outputs.
            begin(size, number == HeadWeights::Last as usize && matches!(form, HeadForm::Words { .. }), false, &mut rng)
        });
        let values = values.into_iter().chain(head.collect::<Vec<_>>()).collect();
        Transformer::of_all_values(shape, form, values)
    }

    /// The same encoder and dense layer of a text's head, under new outputs.
    pub fn with_outputs(&self, goal: TextGoal, seed: u64) -> Result<Transformer> {
        let HeadForm::Text { pooled, .. } = self.form else { bail!("a head of words has no outputs of texts") };
        let first = self.shape.weights();
        let values: Vec<Vec<f32>> = self.values().into_iter().map(<[f32]>::to_vec).collect();
        let form = HeadForm::Text { goal, pooled };
        let mut made = Transformer::of_values(self.shape, form, values[..first].to_vec(), seed)?;
        for weight in [HeadWeights::Dense, HeadWeights::DenseBias] {
            let number = first + weight as usize;
            made.weights.all[number].values.clone_from(&values[number]);
        }
        Ok(made)
    }

    /// An encoder of these weights and those of its head.
    pub fn of_all_values(shape: EncoderShape, form: HeadForm, values: Vec<Vec<f32>>) -> Result<Transformer> {
        super::encoder::check(&shape)?;
        let sizes = shape.shapes().into_iter().chain(form.shapes(shape.block.width, shape.vocabulary));
        let sizes: Vec<[usize; 2]> = sizes.collect();
        ensure!(values.len() == sizes.len(), "there are {} weights, and {} are needed", values.len(), sizes.len());
        let weight = |(values, [rows, columns]): (Vec<f32>, [usize; 2])| {
            ensure!(values.len() == rows * columns, "{} numbers are not {rows} x {columns}", values.len());
            Ok(Weight::new("", columns.max(1), values))
        };
        let all = values.into_iter().zip(sizes).map(weight).collect::<Result<Vec<Weight>>>()?;
        Ok(Transformer { shape, form, weights: Weights::new(all), epochs: Vec::new() })
    }

    /// The values of each weight: embeddings, blocks, head.
    pub fn values(&self) -> Vec<&[f32]> {
        self.weights.values()
    }

    pub fn epochs(&self) -> &[EpochFigures] {
        &self.epochs
    }

    /// Trains on texts in their order of time; the last ones are held out.
    pub fn train(
        mut self,
        texts: &TrainingTexts<'_>,
        params: &TransformerParams,
        checkpoint: Option<&Checkpoint>,
        ctx: &Ctx,
    ) -> Result<Transformer> {
        params.check()?;
        let (shape, form) = (self.shape, self.form);
        let net = TransformerNet::new(&self, texts, params)?;
        self.set_trained(params, net.lowest);
        if let Some(adapted) = &net.adapted {
            self.weights.all.extend(adapted.weights(ctx.seed()));
        }
        self.check_memory(ctx.install(rayon::current_num_threads) as u64, memory::free_mb())?;
        let (weights, epochs) = fit(&net, self.weights, &params.fit(), checkpoint, ctx)?;
        let mut all = weights.all;
        if let Some(adapted) = &net.adapted {
            adapted.merge(&mut all);
        }
        // What was not trained stays as it was, and nothing of the training is kept.
        let values = all.into_iter().map(|weight| weight.values).collect();
        let trained = Transformer::of_all_values(shape, form, values)?;
        Ok(Transformer { epochs, ..trained })
    }

    /// Fails where a training would take more memory than is free: all weights, their best state, and both as they are multiplied; of those
    /// that are trained the moments of both states, and a gradient a thread with the sum.
    pub(super) fn check_memory(&self, threads: u64, free_mb: Option<u64>) -> Result<()> {
        let all: usize = self.weights.all.iter().map(|weight| weight.values.len()).sum();
        let numbers = 4 * all as u64 + (4 + threads + 1) * self.weights.count() as u64;
        let needed = numbers * size_of::<f32>() as u64 / (1 << 20);
        ensure!(
            free_mb.is_none_or(|free| needed <= free),
            "the training takes about {needed} MB of memory, and {} MB are free: train a part (--train top:2, lora:8 or head), give fewer \
             threads (--threads), or take a smaller base",
            free_mb.unwrap_or_default()
        );
        Ok(())
    }

    /// Says of each weight whether it is trained, and at what share of the rate.
    fn set_trained(&mut self, params: &TransformerParams, lowest: usize) {
        let layers = self.shape.layers;
        let of_blocks = if matches!(params.train, TrainedLayers::LowRank(_)) { layers } else { lowest };
        for (number, weight) in self.weights.all.iter_mut().enumerate() {
            let group = group_of(number, &self.shape);
            let is_embedding = group == 0;
            weight.fixed = if is_embedding { params.train != TrainedLayers::All } else { group - 1 < of_blocks };
            weight.rate = params.discriminative.powi(group as i32 - layers as i32 - 1) as f32;
            // Matrices shrink; biases, scales and shifts do not.
            weight.shrink = if weight.values.len() > weight.dim { params.weight_decay as f32 } else { 0.0 };
            weight.dense = true;
        }
    }

    /// Makes outputs of a text's head so many times as large, and adds a number to them.
    pub fn rescale_outputs(&mut self, by: f32, plus: f32) {
        let first = self.shape.weights();
        let number = |weight: HeadWeights| first + weight as usize;
        self.weights.all[number(HeadWeights::Last)].values.iter_mut().for_each(|value| *value *= by);
        self.weights.all[number(HeadWeights::LastBias)].values.iter_mut().for_each(|value| *value = *value * by + plus);
    }

    /// The scores of texts at these places, `[texts, outputs]`: logits of classes or labels, or values. Each text is read alone.
    pub fn scores(&self, texts: TokenTexts<'_>, places: &[Range<usize>], ctx: &Ctx) -> Result<Vec<f32>> {
        let values = self.weights.values();
        let first = texts.frozen.map_or(0, |frozen| frozen.first_block);
        let encoder = Encoder::new(self.shape, &values, first..self.shape.layers, |_| None);
        let head = self.head(&values);
        let one = |place: &Range<usize>| {
            ctx.check()?;
            let text = [0..place.len()];
            let x = match texts.frozen {
                Some(frozen) => frozen.of(place).to_vec(),
                None => encoder.embed(EncoderInput { tokens: &texts.tokens[place.clone()], texts: &text }),
            };
            Ok(head.scores(&encoder.run(x, &text)[..self.shape.block.width]))
        };
        let scores = ctx.install(|| places.par_iter().map(one).collect::<Result<Vec<Vec<f32>>>>())?;
        Ok(scores.concat())
    }

    fn head(&self, values: &[&[f32]]) -> Head<f32> {
        let tokens = values[EmbeddingWeights::Tokens as usize];
        Head::new(self.form, &values[self.shape.weights()..], tokens, self.shape.block.epsilon)
    }
}

/// A weight at the beginning.
fn begin([rows, columns]: [usize; 2], is_scale: bool, is_table: bool, rng: &mut ChaCha8Rng) -> Vec<f32> {
    if is_scale {
        return vec![1.0; rows * columns];
    }
    if rows <= 1 {
        return vec![0.0; rows * columns];
    }
    // Tables are read row by row; of other matrices the sums keep their size (Glorot and Bengio 2010).
    let deviation = if is_table { 0.02 } else { (2.0 / (rows + columns) as f32).sqrt() };
    (0..rows * columns).map(|_| deviation * rng.sample::<f32, _>(StandardNormal)).collect()
}

/// 0 for a weight of the embeddings, 1 and more for one of the blocks, and the next number for one of the head and beside the blocks.
fn group_of(number: usize, shape: &EncoderShape) -> usize {
    match number.checked_sub(EmbeddingWeights::COUNT) {
        None => 0,
        Some(number) => 1 + (number / BlockWeights::COUNT).min(shape.layers),
    }
}

impl<'a> TransformerNet<'a> {
    pub(super) fn new(
        begun: &Transformer,
        texts: &'a TrainingTexts<'a>,
        params: &'a TransformerParams,
    ) -> Result<TransformerNet<'a>> {
        let Transformer { shape, form, .. } = *begun;
        let count = texts.places.len();
        let held_out = (count as f64 * params.held_out_share) as usize;
        ensure!(count > held_out, "there is no text to train on");
        let adapted = match params.train {
            TrainedLayers::LowRank(rank) => Some(LowRank::new(rank, shape)?),
            _ => None,
        };
        let lowest = params.lowest(shape.layers)?;
        let states = texts.texts.frozen;
        ensure!(
            states.is_none_or(|frozen| frozen.first_block <= lowest && !matches!(texts.goals, Goals::Words(_))),
            "the vectors that were kept stand behind blocks that are trained"
        );
        let (trained, held_out) = (0..count - held_out, count - held_out..count);
        Ok(TransformerNet { shape, form, params, texts, trained, held_out, adapted, lowest })
    }

    /// Cuts texts into pieces; the draws choose the masked words.
    fn pieces(&self, numbers: &[usize], rng: &mut ChaCha8Rng) -> Vec<TransformerPiece> {
        let mut pieces = Vec::<TransformerPiece>::new();
        // Pieces of about the same size keep all threads at work to the end of a batch.
        let all: usize = numbers.iter().map(|&number| self.texts.places[number].len()).sum();
        let most = all.div_ceil(all.div_ceil(PIECE).max(1));
        for &number in numbers {
            let place = self.texts.places[number].clone();
            let text = &self.texts.texts.tokens[place.clone()];
            let MaskedText { tokens, masked } = match &self.texts.goals {
                Goals::Words(masking) => masking.mask(text, rng),
                _ => MaskedText { tokens: text.to_vec(), masked: Vec::new() },
            };
            if pieces.last().is_none_or(|piece| piece.tokens.len() + tokens.len() / 2 > most) {
                let (texts, places, numbers) = (Vec::new(), Vec::new(), Vec::new());
                let (tokens, masked) = (Vec::new(), Vec::new());
                pieces.push(TransformerPiece { texts, tokens, places, numbers, masked, draw: rng.random() });
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

    /// All texts in one piece, with no masked word.
    #[cfg(test)]
    pub(super) fn whole_piece(&self) -> TransformerPiece {
        let (tokens, places) = (self.texts.texts.tokens.to_vec(), self.texts.places.to_vec());
        let numbers = (0..places.len()).collect();
        TransformerPiece { texts: places.clone(), tokens, places, numbers, masked: Vec::new(), draw: 0 }
    }

    /// The first tokens of the texts of a piece, or its masked tokens.
    pub(super) fn read_rows(&self, piece: &TransformerPiece) -> Vec<usize> {
        match self.form {
            HeadForm::Words { .. } => piece.masked.iter().map(|(at, _)| *at).collect(),
            HeadForm::Text { .. } => piece.texts.iter().map(|text| text.start).collect(),
        }
    }

    /// Gives `work` the targets of a piece.
    fn with_targets<R>(&self, piece: &TransformerPiece, work: impl FnOnce(&Targets<'_>) -> R) -> R {
        match &self.texts.goals {
            Goals::Words(_) => {
                work(&Targets::Words(&piece.masked.iter().map(|(_, right)| *right).collect::<Vec<u32>>()))
            }
            Goals::Texts(goal) => match goal.select(&piece.numbers) {
                Goal::Classes { class, .. } => work(&Targets::Classes(&class)),
                Goal::Labels { labels, .. } => work(&Targets::Labels(&labels)),
                Goal::Values(values) => work(&Targets::Values(&values)),
            },
        }
    }

    /// The part of the weights that are not fixed.
    fn part(&self, weights: &Weights) -> TrainedPart {
        let layers = self.shape.layers;
        let is_trained = |layer: usize| {
            let first = EncoderShape::of_block(layer, BlockWeights::Query);
            weights.all[first..first + BlockWeights::COUNT].iter().any(|weight| !weight.fixed)
        };
        let mut of_block = [true; BlockWeights::COUNT];
        let mut from_block = (0..layers).find(|&layer| is_trained(layer)).unwrap_or(layers);
        if self.adapted.is_some() {
            of_block = LowRank::wanted();
            from_block = 0;
        }
        TrainedPart { from_block, embeddings: !weights.all[0].fixed, of_block }
    }

    pub(super) fn ready_of<'w, T: Real>(
        &self,
        values: Vec<&'w [T]>,
        part: TrainedPart,
        rows: &'w [Option<Vec<u32>>],
    ) -> ReadyTransformer<'w, T> {
        let first = self.texts.texts.frozen.map_or(0, |frozen| frozen.first_block);
        let adapted = |number: usize| self.adapted.as_ref()?.adapted(number, &values);
        let encoder = Encoder::new(self.shape, &values, first..self.shape.layers, adapted);
        let tokens = values[EmbeddingWeights::Tokens as usize];
        let head = Head::new(self.form, &values[self.shape.weights()..], tokens, self.shape.block.epsilon);
        ReadyTransformer { encoder, head, part, rows, values }
    }

    /// The loss of a piece and its gradients by weight.
    pub(super) fn differentiated<T: Real>(
        &self,
        ready: &ReadyTransformer<'_, T>,
        piece: &TransformerPiece,
        rate: f64,
    ) -> (f64, Vec<Vec<T>>) {
        let width = self.shape.block.width;
        let mut rng = ChaCha8Rng::seed_from_u64(piece.draw);
        let input = EncoderInput { tokens: &piece.tokens, texts: &piece.texts };
        let states = self.states_of(piece);
        let (x, passed) = ready.encoder.forward(input, states.as_deref(), rate, &mut rng);
        let rows = self.read_rows(piece);
        let read: Vec<T> = rows.iter().flat_map(|&row| &x[row * width..][..width]).copied().collect();
        let dropped = match self.form {
            HeadForm::Words { .. } => Dropout::none(),
            HeadForm::Text { .. } => Dropout::draw(read.len(), rate, &mut rng),
        };
        let head = self.with_targets(piece, |targets| ready.head.gradients(&read, targets, &dropped));
        let mut by = vec![T::default(); x.len()];
        for (&row, gradient) in rows.iter().zip(head.rows.chunks(width)) {
            by[row * width..][..width].copy_from_slice(gradient);
        }
        let tokens = EmbeddingWeights::Tokens as usize;
        let mut by_tokens = RowGradient::new(ready.rows[tokens].as_deref(), self.shape.vocabulary, width);
        if !head.tokens.is_empty() && ready.part.embeddings {
            by_tokens.values = head.tokens;
        }
        let add = |token: u32, by: &[T]| by_tokens.add(&[token], by);
        let mut gradients = ready.encoder.back(&passed, input, by, &ready.part, add);
        if ready.part.embeddings {
            gradients[tokens] = by_tokens.values;
        }
        gradients.extend(head.weights);
        if let Some(adapted) = &self.adapted {
            adapted.take_gradients(&mut gradients, &ready.values);
        }
        (head.loss, gradients)
    }

    /// The vectors of a piece's tokens before the first trained block.
    fn states_of<T: Real>(&self, piece: &TransformerPiece) -> Option<Vec<T>> {
        let frozen = self.texts.texts.frozen?;
        let numbers = piece.places.iter().flat_map(|place| frozen.of(place));
        Some(numbers.map(|&number| T::from_f64(f64::from(number))).collect())
    }
}

impl Network for TransformerNet<'_> {
    type Piece = TransformerPiece;
    type Ready<'w>
        = ReadyTransformer<'w, f32>
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
        self.pieces(&numbers.collect::<Vec<usize>>(), rng)
    }

    fn reads(&self, pieces: &[TransformerPiece]) -> Vec<Option<Vec<u32>>> {
        let mut rows = vec![None; self.shape.weights() + self.form.shapes(1, 1).len()];
        rows.extend(self.adapted.iter().flat_map(|adapted| vec![None; adapted.count()]));
        if matches!(self.form, HeadForm::Text { .. }) {
            rows[EmbeddingWeights::Tokens as usize] =
                Some(distinct(pieces.iter().flat_map(|piece| piece.tokens.iter().copied())));
        }
        rows
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyTransformer<'w, f32> {
        self.ready_of(weights.values(), self.part(weights), rows)
    }

    fn gradients(&self, ready: &ReadyTransformer<'_, f32>, piece: &TransformerPiece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece, self.params.dropout);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    /// The masked tokens, or the texts.
    fn size(&self, piece: &TransformerPiece) -> usize {
        self.read_rows(piece).len()
    }

    fn progress(&self, piece: &TransformerPiece) -> usize {
        piece.texts.len()
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(Schedule { kind: self.params.schedule, warmup: self.params.warmup })
    }

    fn begin_epoch(&self, epoch: usize, weights: &mut Weights) {
        if !self.params.gradual {
            return;
        }
        let (layers, lowest) = (self.shape.layers, self.lowest);
        for (number, weight) in weights.all.iter_mut().enumerate() {
            let group = group_of(number, &self.shape);
            // The groups above this one are trained; of all layers the embeddings come with the last.
            let open = layers + 2 - epoch.min(layers + 2);
            let trained = if group == 0 { self.params.train == TrainedLayers::All } else { group > lowest };
            weight.fixed = !(trained && group >= open);
        }
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        if self.held_out.is_empty() {
            return Ok(None);
        }
        // The same words are masked after each epoch.
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(u64::MAX);
        let pieces = self.pieces(&self.held_out.clone().collect::<Vec<usize>>(), &mut rng);
        let rows = vec![None; weights.all.len()];
        let ready = self.ready_of(weights.values(), self.part(weights), &rows);
        let width = self.shape.block.width;
        let one = |piece: &TransformerPiece| {
            ctx.check()?;
            let x = match self.states_of(piece) {
                Some(states) => states,
                None => ready.encoder.embed(EncoderInput { tokens: &piece.tokens, texts: &piece.texts }),
            };
            let x = ready.encoder.run(x, &piece.texts);
            let rows = self.read_rows(piece);
            let read: Vec<f32> = rows.iter().flat_map(|&row| &x[row * width..][..width]).copied().collect();
            let mut scores = ready.head.scores(&read);
            let outputs = scores.len() / rows.len().max(1);
            let loss = self.with_targets(piece, |targets| losses(&mut scores, outputs.max(1), targets));
            Ok((loss, rows.len()))
        };
        let found = ctx.install(|| pieces.par_iter().map(one).collect::<Result<Vec<(f64, usize)>>>())?;
        let (loss, count) = found.iter().fold((0.0, 0), |(loss, count), (l, c)| (loss + l, count + c));
        Ok(Some(loss / count.max(1) as f64))
    }
}
