//! The training loop of all networks: epochs of batches, held-out text that says when to stop, checkpoints.
//!
//! A batch is cut into pieces whose size does not depend on the threads; each piece is computed by itself, and gradients are
//! summed in the order of the pieces. All random draws come from the seed, the epoch and the batch, so that a run that was
//! interrupted ends with the bytes of one that was not.

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::weights::Weights;
use crate::ModelFile;
use crate::checkpoint::Checkpoint;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// Numbers of a gradient that a thread sums at once.
const NUMBERS: usize = 1 << 14;
/// Bytes of gradients of pieces that are held at once, unless the pieces of all threads take more.
const GRADIENTS: usize = 1 << 28;

params! {
    /// Parameters of the training of a network.
    pub struct FitParams {
        /// Passes over the text at the most.
        ///
        /// 遍历文本的最多轮数。
        epochs: usize = 5, number("N", "feature.textnet.fit.epochs", help_heading = "Training");
        /// Examples a step: predicted words, windows or documents.
        ///
        /// 每步的样本数：所预测的词、窗口或文档。
        batch: usize = 256, number("N", "feature.textnet.fit.batch", help_heading = "Training");
        /// Rate of learning, of Adam's steps.
        ///
        /// Adam 的学习率。
        lr: f64 = 1e-3, number("X", "feature.textnet.fit.lr", help_heading = "Training");
        /// Length that the gradient of a batch is shortened to; 0 never.
        ///
        /// 一批的梯度缩短到的长度；0 为不缩短。
        clip: f64 = 5.0, number("X", "feature.textnet.fit.clip", help_heading = "Training");
        /// Epochs in a row without a better loss on held-out documents that end the training; each halves the rate.
        ///
        /// 留出文档的损失连续多少轮没有改进就结束训练。
        patience: usize = 2, number("N", "feature.textnet.fit.patience", help_heading = "Training");
        /// Share of the documents, the last ones, held out to see when to stop; 0 runs all epochs.
        ///
        /// 留出最后多大占比的文档，以判断何时停止；0 为跑满全部轮数。
        held_out_share: f64 = 0.05, number("SHARE", "feature.textnet.fit.held_out_share", help_heading = "Training");
    }
}

impl FitParams {
    /// Fails when a setting cannot work.
    pub fn check(&self) -> Result<()> {
        ensure!(self.epochs > 0, "--epochs 0 不训练；请写 1 或更大", "--epochs 0 trains nothing; give 1 or more");
        ensure!(self.batch > 0, "--batch 0 没有样本；请写 1 或更大", "--batch 0 has no examples; give 1 or more");
        ensure!(
            self.lr > 0.0 && self.lr.is_finite(),
            "--lr {} 不是学习率；请写大于 0 的数",
            "--lr {} is no rate; give a number above 0",
            self.lr
        );
        ensure!(
            self.clip >= 0.0,
            "--clip {} 不是长度；请写 0 或更大",
            "--clip {} is no length; give 0 or more",
            self.clip
        );
        ensure!(
            self.patience > 0,
            "--patience 0 会在开始前结束；请写 1 或更大",
            "--patience 0 would end before it began; give 1 or more"
        );
        let share = self.held_out_share;
        ensure!(
            (0.0..=0.5).contains(&share),
            "--held-out-share {share} 须在 0 到 0.5 之间",
            "--held-out-share {share} must lie between 0 and 0.5"
        );
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochFigures {
    /// From 1.
    pub epoch: usize,
    pub lr: f64,
    /// Mean loss of an example while its weights were changing.
    pub loss: f64,
    /// Mean loss of a held-out example after the epoch.
    pub held_out: Option<f64>,
}

/// The course of the rate of learning over all steps, as a factor: it rises evenly from 0 over the first steps, then falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub kind: ScheduleKind,
    /// The share of the steps in which the rate rises.
    pub warmup: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ScheduleKind {
    /// The rate stays.
    Constant,
    /// The rate falls evenly to 0, as BERT's.
    #[default]
    Linear,
    /// The rate falls along half a cosine to 0.
    Cosine,
    /// The slanted triangle of ULMFiT (Howard and Ruder 2018): the rate falls evenly to a 32nd.
    Stlr,
}

impl Schedule {
    /// The factor of a step, counted from 1, of so many.
    pub fn factor(&self, step: usize, steps: usize) -> f64 {
        let rising = (self.warmup * steps as f64).round();
        let done = step as f64 - 1.0;
        if done < rising {
            let share = done / rising;
            return if self.kind == ScheduleKind::Stlr { (1.0 + share * 31.0) / 32.0 } else { share };
        }
        let fallen = (done - rising) / (steps as f64 - rising).max(1.0);
        match self.kind {
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Linear => 1.0 - fallen,
            ScheduleKind::Cosine => (1.0 + (std::f64::consts::PI * fallen).cos()) / 2.0,
            ScheduleKind::Stlr => (1.0 + (1.0 - fallen) * 31.0) / 32.0,
        }
    }
}

/// A network that can be trained.
pub(crate) trait Network: Sync {
    /// The part of a batch that is computed at once.
    type Piece: Send + Sync;
    /// The weights as pieces are computed with them.
    type Ready<'w>: Sync
    where
        Self: 'w;

    /// Batches of an epoch.
    fn batches(&self) -> usize;

    /// Examples of an epoch, for progress, and what they are.
    fn examples(&self) -> (u64, &'static str);

    /// The order of an epoch, as the network understands it.
    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32>;

    /// One batch of an epoch; `carried` is what the pieces of the batch before gave on.
    fn batch(&self, order: &[u32], number: usize, carried: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<Self::Piece>;

    /// By weight the rows that pieces read; none for all.
    fn reads(&self, pieces: &[Self::Piece]) -> Vec<Option<Vec<u32>>>;

    /// Makes the weights ready; pieces read these rows of them.
    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> Self::Ready<'w>;

    /// The loss of a piece with its gradients.
    fn gradients(&self, ready: &Self::Ready<'_>, piece: &Self::Piece) -> PieceGradients;

    /// Examples of a piece, whose mean loss is learned from.
    fn size(&self, piece: &Self::Piece) -> usize;

    /// Examples of a piece as [`Network::examples`] counts them.
    fn progress(&self, piece: &Self::Piece) -> usize {
        self.size(piece)
    }

    /// The course of the rate; none: it is halved after each epoch without a better loss on held-out documents, from the best weights on.
    fn schedule(&self) -> Option<Schedule> {
        None
    }

    /// Sets which weights an epoch trains, counted from 1.
    fn begin_epoch(&self, _epoch: usize, _weights: &mut Weights) {}

    /// Mean loss of a held-out example, if any are held out.
    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>>;
}

/// Loss and gradients of a piece of a batch.
pub(crate) struct PieceGradients {
    /// The sum of the losses of its examples.
    pub loss: f64,
    /// By weight, of the rows that the batch reads; empty where the loss does not depend on it.
    pub by_weight: Vec<Vec<f32>>,
    /// State that the next batch begins with.
    pub carried: Vec<f32>,
}

/// The state of training after a batch.
#[derive(Clone)]
pub(crate) struct FitState {
    /// The epoch that has begun.
    begun: BegunEpoch,
    pub weights: Weights,
    /// The weights with the best loss on held-out examples; none where none are held out, and before the first epoch has ended.
    best: Option<Weights>,
    pub(crate) best_loss: Option<f64>,
    /// Epochs in a row that brought nothing better.
    pub worse: usize,
    pub lr: f64,
    pub epochs: Vec<EpochFigures>,
}

/// The batches of an epoch that were done.
#[derive(Clone, Default, Serialize, Deserialize)]
struct BegunEpoch {
    batches: usize,
    /// The sum of the losses, and the examples.
    loss: f64,
    examples: usize,
    progress: usize,
    /// States that the next batch begins with.
    carried: Vec<Vec<f32>>,
}

/// The figures of a state that are not weights.
#[derive(Serialize, Deserialize)]
struct Figures {
    begun: BegunEpoch,
    steps: i32,
    best_steps: i32,
    best_loss: Option<f64>,
    worse: usize,
    lr: f64,
    epochs: Vec<EpochFigures>,
}

impl FitState {
    /// Takes up what an interrupted training of the same left.
    fn resume(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let Some(file) = checkpoint.read()? else { return Ok(()) };
        let figures: Figures = file.param("state")?;
        fill(&mut self.weights, &file, ["values", "moments"], figures.steps)?;
        if figures.best_loss.is_some() {
            let mut best = self.weights.clone();
            fill(&mut best, &file, ["best_values", "best_moments"], figures.best_steps)?;
            self.best = Some(best);
        }
        (self.best_loss, self.worse) = (figures.best_loss, figures.worse);
        (self.lr, self.epochs, self.begun) = (figures.lr, figures.epochs, figures.begun);
        Ok(())
    }

    fn keep(&self, checkpoint: &Checkpoint) -> Result<()> {
        let (moments, steps) = self.weights.memory();
        let (best_moments, best_steps) = self.best.as_ref().map(Weights::memory).unwrap_or_default();
        let FitState { best_loss, worse, lr, ref epochs, ref begun, .. } = *self;
        let (epochs, begun) = (epochs.clone(), begun.clone());
        let state = json!(Figures { begun, steps, best_steps, best_loss, worse, lr, epochs });
        let values =
            |weights: &Weights| weights.all.iter().flat_map(|w| w.values.iter().copied()).collect::<Vec<f32>>();
        let sections = [
            ("values", values(&self.weights)),
            ("moments", moments),
            ("best_values", self.best.as_ref().map(values).unwrap_or_default()),
            ("best_moments", best_moments),
        ];
        checkpoint.write(state, &sections.each_ref().map(|(name, all)| (*name, bytemuck::cast_slice(all))))
    }
}

fn fill(weights: &mut Weights, file: &ModelFile, names: [&str; 2], steps: i32) -> Result<()> {
    let mut values = file.numbers::<f32>(names[0])?;
    for weight in &mut weights.all {
        let (here, rest) = values
            .split_at_checked(weight.values.len())
            .context(Word("检查点的大小不同", "the checkpoint is of another size"))?;
        weight.values.copy_from_slice(here);
        values = rest;
    }
    weights.remember(file.numbers(names[1])?, steps)
}

/// Trains; gives the weights that were best on held-out examples, or the last where none are held out.
pub(crate) fn fit<N: Network>(
    network: &N,
    weights: Weights,
    params: &FitParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<(Weights, Vec<EpochFigures>)> {
    let lr = params.lr;
    let mut state = FitState {
        weights,
        best: None,
        best_loss: None,
        worse: 0,
        lr,
        epochs: Vec::new(),
        begun: BegunEpoch::default(),
    };
    if let Some(checkpoint) = checkpoint {
        state.resume(checkpoint)?;
    }
    let (examples, unit) = network.examples();
    let epochs = params.epochs.saturating_sub(state.epochs.len());
    let left = (examples * epochs as u64).saturating_sub(state.begun.progress as u64);
    ctx.stage("fit", unit, Some(left), || {
        while state.epochs.len() < params.epochs && state.worse < params.patience {
            epoch(network, &mut state, params, checkpoint, ctx)?;
            if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) {
                state.keep(checkpoint)?;
            }
        }
        let mut report = Report::new("fit");
        report.fact("epochs", &state.epochs);
        Ok(report)
    })?;
    Ok((state.best.unwrap_or(state.weights), state.epochs))
}

/// The random numbers of one batch.
fn draws(seed: u64, epoch: usize, batch: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((epoch as u64) << 32) | batch as u64);
    rng
}

fn epoch<N: Network>(
    network: &N,
    state: &mut FitState,
    params: &FitParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<()> {
    let number = state.epochs.len() + 1;
    let order = network.order(&mut draws(ctx.seed(), number, u32::MAX as usize));
    let (batches, schedule) = (network.batches(), network.schedule());
    let factor = |batch: usize| {
        schedule.map_or(1.0, |schedule| schedule.factor((number - 1) * batches + batch + 1, params.epochs * batches))
    };
    network.begin_epoch(number, &mut state.weights);
    for batch in state.begun.batches..batches {
        let rate = state.lr * factor(batch);
        let mut rng = draws(ctx.seed(), number, batch);
        let pieces = network.batch(&order, batch, std::mem::take(&mut state.begun.carried), &mut rng);
        let examples: usize = pieces.iter().map(|piece| network.size(piece)).sum();
        let progress: usize = pieces.iter().map(|piece| network.progress(piece)).sum();
        let rows = network.reads(&pieces);
        let (loss, gradient, carried) = ctx.install(|| gradient(network, &state.weights, &rows, &pieces, ctx))?;
        state.begun.carried = carried;
        ctx.install(|| {
            let mut gradient = scaled(gradient, 1.0 / examples.max(1) as f32);
            let length = length(&gradient);
            if !(loss.is_finite() && length.is_finite()) {
                bail!("损失不再是数：第 {number} 轮第 {} 批（共 {batches} 批），学习率 {rate}；请降低学习率", "the loss is no longer a number: epoch {number}, batch {} of {batches}, at a rate of {rate}; lower the learning rate", batch + 1);
            }
            if params.clip > 0.0 && length > params.clip {
                let by = (params.clip / length) as f32;
                gradient.iter_mut().for_each(|values| values.iter_mut().for_each(|v| *v *= by));
            }
            state.weights.step(&rows, &gradient, rate as f32);
            Ok(())
        })?;
        state.begun.loss += loss;
        state.begun.examples += examples;
        state.begun.progress += progress;
        state.begun.batches = batch + 1;
        ctx.advance(progress as u64)?;
        let mean = state.begun.loss / state.begun.examples as f64;
        ctx.note(format!("epoch {number}, loss {mean:.4}, lr {rate:.3e}"));
        if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) {
            state.keep(checkpoint)?;
        }
    }
    let BegunEpoch { loss, examples, .. } = std::mem::take(&mut state.begun);
    let held_out = network.held_out(&state.weights, ctx)?;
    // The rate of the last batch, which a training that was cut off behind that batch does not run again.
    let lr = state.lr * factor(batches.saturating_sub(1));
    state.epochs.push(EpochFigures { epoch: number, lr, loss: loss / examples as f64, held_out });
    match held_out {
        Some(loss) if !loss.is_finite() => {
            bail!(
                "留出文本上的损失不是数：第 {number} 轮，学习率 {lr}；请降低学习率",
                "the loss on held-out text is no number: epoch {number}, at a rate of {lr}; lower the learning rate"
            )
        }
        Some(loss) if state.best_loss.is_none_or(|best| loss < best) => {
            (state.best, state.best_loss, state.worse) = (Some(state.weights.clone()), Some(loss), 0);
        }
        Some(_) if schedule.is_some() => state.worse += 1,
        Some(_) => {
            if let Some(best) = &state.best {
                state.weights = best.clone();
            }
            (state.lr, state.worse) = (state.lr / 2.0, state.worse + 1);
        }
        None => {}
    }
    Ok(())
}

/// The sum of the losses of pieces, the sum of their gradients by weight, and what each carries on. Gradients are summed in the order of the
/// pieces, whatever number of them is computed at once.
fn gradient<N: Network>(
    network: &N,
    weights: &Weights,
    rows: &[Option<Vec<u32>>],
    pieces: &[N::Piece],
    ctx: &Ctx,
) -> Result<(f64, Vec<Vec<f32>>, Vec<Vec<f32>>)> {
    let ready = network.ready(weights, rows);
    let (mut loss, mut sums, mut carried) = (0.0, Vec::<Vec<f32>>::new(), Vec::new());
    let numbers = weights
        .all
        .iter()
        .zip(rows)
        .filter(|(weight, _)| !weight.fixed)
        .map(|(weight, rows)| rows.as_ref().map_or(weight.values.len(), |rows| rows.len() * weight.dim));
    let bytes = numbers.sum::<usize>() * size_of::<f32>();
    let together = rayon::current_num_threads().max(GRADIENTS / bytes.max(1));
    for here in pieces.chunks(together) {
        let found = here.par_iter().map(|piece| {
            ctx.check()?;
            Ok(network.gradients(&ready, piece))
        });
        let found = found.collect::<Result<Vec<PieceGradients>>>()?;
        let mut by_piece = Vec::with_capacity(here.len());
        for piece in found {
            loss += piece.loss;
            carried.push(piece.carried);
            by_piece.push(piece.by_weight);
        }
        sums = summed(sums, by_piece);
    }
    Ok((loss, sums, carried))
}

/// Adds the gradients of pieces by weight, in their order.
fn summed(mut sums: Vec<Vec<f32>>, pieces: Vec<Vec<Vec<f32>>>) -> Vec<Vec<f32>> {
    let weights = pieces.first().map_or(0, Vec::len);
    sums.resize(weights, Vec::new());
    let mut by_weight: Vec<Vec<Vec<f32>>> = (0..weights).map(|_| Vec::with_capacity(pieces.len())).collect();
    for piece in pieces {
        by_weight.iter_mut().zip(piece).for_each(|(all, gradient)| {
            if !gradient.is_empty() {
                all.push(gradient);
            }
        });
    }
    for (sum, all) in sums.iter_mut().zip(by_weight) {
        let mut all = all.into_iter();
        if sum.is_empty() {
            *sum = all.next().unwrap_or_default();
        }
        let rest: Vec<Vec<f32>> = all.collect();
        sum.par_chunks_mut(NUMBERS).enumerate().for_each(|(i, part)| {
            for other in &rest {
                part.iter_mut().zip(&other[i * NUMBERS..]).for_each(|(a, b)| *a += b);
            }
        });
    }
    sums
}

fn scaled(mut gradient: Vec<Vec<f32>>, by: f32) -> Vec<Vec<f32>> {
    let scale = |part: &mut [f32]| part.iter_mut().for_each(|a| *a *= by);
    gradient.iter_mut().for_each(|values| values.par_chunks_mut(NUMBERS).for_each(scale));
    gradient
}

fn length(gradient: &[Vec<f32>]) -> f64 {
    let part = |part: &[f32]| part.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
    let sums = |values: &Vec<f32>| values.par_chunks(NUMBERS).map(part).collect::<Vec<f64>>().iter().sum::<f64>();
    gradient.iter().map(sums).sum::<f64>().sqrt()
}
