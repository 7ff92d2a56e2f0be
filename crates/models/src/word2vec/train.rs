//! Passes over the corpus: one step after the other, as stochastic gradient descent is defined, while other threads plan what
//! comes next.
//!
//! Stretches of some documents come in a new random order in each pass: on a corpus that was sorted by source, similarities that
//! the vectors gave scattered half as far from seed to seed as in a fixed order. Stretches, their order and their random numbers depend on the corpus, the parameters and the seed
//! alone: any number of threads gives the same bytes.

use std::ops::Range;
use std::time::Instant;

use anyhow::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::characters::Characters;
use super::huffman::Huffman;
use super::kernel::StepBuffers;
use super::matrix::LaneMatrix;
use super::plan::{DOCUMENT, Input, Outputs, Plan, Predictor, Rules};
use super::{Architecture, Objective, Word2vecParams};
use crate::alias::Alias;
use crate::checkpoint::Checkpoint;
use crate::random::Random;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::simd::{prefetch, wide};

/// Numbers of a stretch, up to the end of its sequence.
const NUMBERS: usize = 256;
/// Stretches that are planned while as many are learnt: a millisecond's work.
const STRETCHES: usize = 32;
/// Predictions between asking for rows and using them.
const AHEAD: usize = 2;

/// Figures of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// From 1.
    pub epoch: usize,
    /// Mean over all predictions, in nats.
    pub loss: f64,
    /// The rate of learning at its end.
    pub rate: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

#[derive(Clone, Copy)]
pub struct Corpus<'a> {
    /// The most frequent first.
    pub words: &'a [Box<str>],
    pub counts: &'a [u64],
    /// Numbers of words, in order. One that is no word ends a sequence, [`DOCUMENT`] a document.
    pub numbers: &'a [u32],
    pub documents: u64,
}

pub struct Word2vec<'a> {
    pub(super) params: Word2vecParams,
    numbers: &'a [u32],
    pub(super) seed: u64,
    pub(super) rules: Rules,
    pub(super) weights: Matrices,
    passes: Vec<Pass>,
    stretches: Vec<Stretch>,
}

/// The two matrices of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrices {
    /// A row a word: the word vectors. After them come rows of characters, then of documents.
    pub(super) inputs: LaneMatrix,
    /// A row a word, or an inner node of the tree.
    pub(super) outputs: LaneMatrix,
}

/// A stretch of the corpus, and the document that it begins in.
#[derive(Clone, Debug)]
struct Stretch {
    range: Range<usize>,
    document: u32,
}

impl Rules {
    /// The rules for a vocabulary, whose words have the first rows of the inputs.
    pub(super) fn new(words: &[Box<str>], counts: &[u64], params: &Word2vecParams) -> Rules {
        let total = counts.iter().sum::<u64>() as f64;
        let keep = |&count: &u64| {
            let often = params.sample * total / count as f64;
            let keep = if params.sample > 0.0 { (often.sqrt() + often).min(1.0) } else { 1.0 };
            (keep * 2f64.powi(32)) as u64
        };
        let weights = || counts.iter().map(|&count| (count as f64).powf(params.ns_exponent)).collect::<Vec<f64>>();
        let characters = params.characters.then(|| Characters::new(words));
        let shared = characters.as_ref().map_or(0, Characters::len);
        Rules {
            outputs: match params.objective {
                Objective::Negative => Outputs::Negative(Alias::new(&weights()), params.negative),
                Objective::Hierarchical => Outputs::Hierarchical(Huffman::new(counts)),
            },
            stays: counts.iter().map(keep).collect(),
            window: params.window as u32,
            sums: params.sum,
            predictor: match params.architecture {
                Architecture::Cbow | Architecture::Dm => Predictor::Mean,
                Architecture::SkipGram => Predictor::Each,
                Architecture::Dbow => Predictor::Document,
            },
            characters,
            documents: params.architecture.of_documents().then_some((words.len() + shared) as u32),
        }
    }

    /// Rows of the outputs.
    pub(super) fn outputs(&self) -> usize {
        match self.outputs {
            Outputs::Negative(..) => self.stays.len(),
            Outputs::Hierarchical(_) => self.stays.len() - 1,
        }
    }
}

impl<'a> Word2vec<'a> {
    pub fn new(corpus: Corpus<'a>, params: &Word2vecParams, seed: u64) -> Result<Word2vec<'a>> {
        params.check()?;
        let Corpus { words, counts, numbers, documents } = corpus;
        ensure!(
            words.len() > 1,
            "词表有 {} 个词；词向量需要两个",
            "a vocabulary of {} words; word vectors need two",
            words.len()
        );
        let rules = Rules::new(words, counts, params);
        let shared = rules.characters.as_ref().map_or(0, Characters::len);
        let rows = words.len() + shared + if rules.documents.is_some() { documents as usize } else { 0 };
        ensure!(
            rows < DOCUMENT as usize,
            "{documents} 篇文档超出可编号的数量；请用一部分训练",
            "{documents} documents are more than have numbers; train on a part of them"
        );
        let weights = Matrices {
            inputs: LaneMatrix::random(rows, params.dim, &mut Random::new([seed, u64::MAX, 0])),
            outputs: LaneMatrix::zeros(rules.outputs(), params.dim),
        };
        let stretches = stretches(numbers, words.len());
        Ok(Word2vec { params: params.clone(), numbers, seed, rules, weights, passes: Vec::new(), stretches })
    }

    /// Passes over the corpus until all passes are done, and keeps the state between them.
    pub fn finish(&mut self, checkpoint: Option<&Checkpoint>, ctx: &Ctx) -> Result<()> {
        while self.left() > 0 {
            self.pass(ctx)?;
            if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) {
                self.keep(checkpoint)?;
            }
        }
        Ok(())
    }

    /// Keeps the state as it is after a pass.
    pub(super) fn keep(&self, checkpoint: &Checkpoint) -> Result<()> {
        let (inputs, outputs) = (self.weights.inputs.to_values(), self.weights.outputs.to_values());
        let sections = [("inputs", bytemuck::cast_slice(&inputs)), ("outputs", bytemuck::cast_slice(&outputs))];
        checkpoint.write(json!(self.passes), &sections)
    }

    /// Goes on from what an interrupted training of the same left.
    pub fn resume(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let Some(file) = checkpoint.read()? else { return Ok(()) };
        for (name, matrix) in [("inputs", &mut self.weights.inputs), ("outputs", &mut self.weights.outputs)] {
            let values: &[f32] = file.numbers(name)?;
            ensure!(
                values.len() == matrix.rows() * self.params.dim,
                "检查点的大小不同",
                "the checkpoint is of another size"
            );
            *matrix = LaneMatrix::from_values(values, self.params.dim);
        }
        self.passes = file.param("state")?;
        Ok(())
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.params.dim
    }

    /// The loss of each pass.
    pub fn losses(&self) -> Vec<f64> {
        self.passes.iter().map(|pass| pass.loss).collect()
    }

    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    pub fn left(&self) -> usize {
        self.params.epochs.saturating_sub(self.passes.len())
    }

    /// Passes over the corpus once more.
    pub(super) fn pass(&mut self, ctx: &Ctx) -> Result<()> {
        let began = Instant::now();
        let epoch = self.passes.len();
        let Word2vec { params, numbers, seed, rules, weights, stretches, .. } = self;
        let course = Course { params, numbers, rules, seed: *seed, epoch };
        let order = course.order(stretches);
        let mut step = StepBuffers::new(2 * params.window, weights.inputs.lanes());
        let (mut loss, mut predictions, mut done) = (0.0, 0u64, 0);
        ctx.install(|| {
            let mut groups = order.chunks(STRETCHES);
            let (mut ready, mut coming) = (Vec::new(), Vec::new());
            course.plan(groups.next().unwrap_or_default(), &mut ready);
            while !ready.is_empty() {
                let next = groups.next().unwrap_or_default();
                let learn = || {
                    for (stretch, plan) in &ready {
                        let rate = course.rate(done);
                        let lost = learn(plan, rules.predictor, weights, rate as f32, &mut step);
                        ensure!(
                            lost.is_finite(),
                            "第 {} 轮（共 {} 轮）学习率 {rate:.6} 下损失不再是数：请降低 --lr",
                            "the loss is no longer a number in epoch {} of {}, at a rate of {rate:.6}: lower --lr",
                            epoch + 1,
                            params.epochs
                        );
                        loss += lost;
                        predictions += match rules.predictor {
                            Predictor::Each => plan.inputs.len() as u64,
                            _ => plan.windows.len() as u64,
                        };
                        done += stretch.range.len();
                        let words = course.numbers[stretch.range.clone()].iter();
                        ctx.advance(words.filter(|&&number| (number as usize) < rules.stays.len()).count() as u64)?;
                    }
                    Ok(())
                };
                let (learnt, ()) = rayon::join(learn, || course.plan(next, &mut coming));
                learnt?;
                let mean = loss / predictions.max(1) as f64;
                ctx.note(format!("epoch {}, loss {mean:.4}, lr {:.5}", epoch + 1, course.rate(done)));
                std::mem::swap(&mut ready, &mut coming);
            }
            anyhow::Ok(())
        })?;
        let rate = course.rate(numbers.len());
        ensure!(
            weights.inputs.is_finite() && weights.outputs.is_finite(),
            "第 {} 轮（共 {} 轮）后向量不再是数：请降低 --lr",
            "vectors are no longer numbers after epoch {} of {}: lower --lr",
            epoch + 1,
            params.epochs
        );
        let loss = loss / predictions.max(1) as f64;
        self.passes.push(Pass { epoch: epoch + 1, loss, rate, seconds: began.elapsed().as_secs_f64() });
        Ok(())
    }

    /// The word vectors, `[words, dim]`.
    pub fn vectors(&self) -> Vec<f32> {
        let words = 0..self.rules.stays.len() as u32;
        if self.rules.characters.is_none() {
            return self.weights.inputs.values_of(words);
        }
        let mut vectors = Vec::with_capacity(words.len() * self.params.dim);
        for word in words {
            let mut sum = vec![0.0; self.params.dim];
            self.rules.rows(word, |Input { row, share }| {
                let row = self.weights.inputs.values_of(row..row + 1);
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * value);
            });
            vectors.extend(sum);
        }
        vectors
    }
}

struct Course<'a> {
    params: &'a Word2vecParams,
    numbers: &'a [u32],
    rules: &'a Rules,
    seed: u64,
    epoch: usize,
}

impl Course<'_> {
    /// The rate of learning after so many numbers: it falls evenly over all passes.
    fn rate(&self, done: usize) -> f64 {
        let all = (self.params.epochs * self.numbers.len()) as f64;
        falling(self.params, (self.epoch * self.numbers.len() + done) as f64 / all)
    }

    /// The order of this pass.
    fn order(&self, stretches: &[Stretch]) -> Vec<Stretch> {
        let mut order = stretches.to_vec();
        Random::new([self.seed, self.epoch as u64, u64::MAX]).shuffle(&mut order);
        order
    }

    fn plan(&self, stretches: &[Stretch], plans: &mut Vec<(Stretch, Plan)>) {
        let mut rooms: Vec<Plan> = std::mem::take(plans).into_iter().map(|(_, plan)| plan).collect();
        rooms.resize_with(stretches.len(), Plan::default);
        plans.par_extend(stretches.par_iter().zip(rooms).map(|(stretch, mut plan)| {
            let mut random = Random::new([self.seed, self.epoch as u64, stretch.range.start as u64]);
            plan.draw(&self.numbers[stretch.range.clone()], stretch.document, self.rules, &mut random);
            (stretch.clone(), plan)
        }));
    }
}

/// The rate of learning when a share of the training is done.
pub(super) fn falling(params: &Word2vecParams, done: f64) -> f64 {
    let lr = params.rate();
    (lr - (lr - params.min_lr) * done).max(params.min_lr)
}

/// All stretches in order. Each ends with a sequence, unless that is long.
fn stretches(numbers: &[u32], words: usize) -> Vec<Stretch> {
    let (mut at, mut document, mut stretches) = (0, 0, Vec::new());
    while at < numbers.len() {
        let rest = &numbers[at..];
        let tail = &rest[rest.len().min(NUMBERS)..rest.len().min(2 * NUMBERS)];
        let end = tail.iter().position(|&number| number as usize >= words).map_or(tail.len(), |end| end + 1);
        let length = rest.len().min(NUMBERS) + end;
        stretches.push(Stretch { range: at..at + length, document });
        document += rest[..length].iter().filter(|&&number| number == DOCUMENT).count() as u32;
        at += length;
    }
    stretches
}

/// Learns what was planned; gives the loss.
fn learn(plan: &Plan, predictor: Predictor, weights: &mut Matrices, rate: f32, step: &mut StepBuffers) -> f64 {
    let Matrices { inputs, outputs } = weights;
    wide(
        #[inline(always)]
        || {
            let mut loss = 0.0;
            let (mut input, mut row) = (0, 0);
            for (at, window) in plan.windows.iter().enumerate() {
                plan.ask(at + AHEAD, inputs, outputs);
                let (words, rows) = (input..window.inputs as usize, row..window.outputs as usize);
                (input, row) = (words.end, rows.end);
                let words = &plan.inputs[words];
                let to = (&mut *outputs, &plan.rows[rows.clone()], &plan.labels[rows]);
                loss += f64::from(match predictor {
                    Predictor::Each => step.each((&mut *inputs, words), to, rate),
                    _ => step.mean((&mut *inputs, words, window.scale), to, rate),
                });
            }
            loss
        },
    )
}

impl Plan {
    /// Asks for the rows of a prediction that are not in use already: its outputs, and what joins the window last.
    #[inline(always)]
    fn ask(&self, at: usize, inputs: &LaneMatrix, outputs: &LaneMatrix) {
        let Some(window) = self.windows.get(at) else { return };
        let first = self.windows[at - 1].outputs;
        self.rows[first as usize..window.outputs as usize].iter().for_each(|&row| prefetch(outputs.row(row)));
        prefetch(inputs.row(self.inputs[window.inputs as usize - 1].row));
    }
}
