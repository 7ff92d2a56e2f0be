//! Passes over the corpus, block by block: the pieces of a block are trained at the same time, and their changes then added.
//!
//! A piece sees the weights as they were when its block began, and its own changes. Pieces, blocks and random numbers depend on
//! the corpus and the parameters alone, and changes are added in the order of the pieces: any number of threads gives the
//! same bytes. The sum of the changes stands for steps one after the other as long as a block moves no vector far; that is
//! why pieces are short, and shorter still where few words make up the corpus.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::alias::Alias;
use super::huffman::Huffman;
use super::matrix::Matrix;
use super::piece::{Bench, Course, Piece, Weights};
use super::plan::{Outputs, Rules};
use super::random::Random;
use super::slots::Parts;
use super::{Architecture, Objective, Word2vecParams};
use crate::job::Ctx;
use crate::simd::wide;

/// Pieces of a block at the most: as many threads can work.
const PIECES: usize = 8;
/// Numbers of a corpus for each piece of its blocks: a small one is trained word after word, which costs no time.
const NUMBERS_FOR_A_PIECE: usize = 1 << 16;
/// Numbers of a piece, up to the end of its sequence.
const NUMBERS: usize = 64;

/// What one pass came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pass {
    /// From 1.
    pub(crate) epoch: usize,
    /// Mean over all predictions, in nats.
    pub(crate) loss: f64,
    /// The rate of learning at its end.
    pub(crate) rate: f64,
    /// Seconds that it took.
    pub(crate) seconds: f64,
}

/// Training under way.
pub(crate) struct Word2vec<'a> {
    pub(super) params: Word2vecParams,
    pub(super) numbers: &'a [u32],
    pub(super) seed: u64,
    course: Course,
    /// Pieces of a block.
    pieces: usize,
    pub(super) weights: Weights,
    pub(super) passes: Vec<Pass>,
}

impl<'a> Word2vec<'a> {
    /// Begins on a corpus as numbers of words, those from `counts.len()` on between its sequences; `counts` are occurrences, the most
    /// frequent first.
    pub(crate) fn new(counts: &[u64], numbers: &'a [u32], params: &Word2vecParams, seed: u64) -> Result<Word2vec<'a>> {
        params.check()?;
        ensure!(counts.len() > 1, "a vocabulary of {} words; word vectors need two", counts.len());
        let total = counts.iter().sum::<u64>() as f64;
        let keep = |&count: &u64| {
            let often = params.sample * total / count as f64;
            if params.sample > 0.0 { (often.sqrt() + often).min(1.0) } else { 1.0 }
        };
        let keeps: Vec<f64> = counts.iter().map(keep).collect();
        let kept = |word: usize| counts[word] as f64 * keeps[word] / total;
        // How often a word of the text needs each row of the outputs.
        let (outputs, rows, needs): (_, _, Vec<f64>) = match params.objective {
            Objective::Negative => {
                let weights: Vec<f64> = counts.iter().map(|&count| (count as f64).powf(0.75)).collect();
                let sum = weights.iter().sum::<f64>();
                let needs = weights.iter().enumerate();
                let needs = needs.map(|(word, weight)| kept(word) + params.negative as f64 * weight / sum);
                (Outputs::Negative(Alias::new(&weights), params.negative), counts.len(), needs.collect())
            }
            Objective::Hierarchical => {
                let tree = Huffman::new(counts);
                let needs = tree.weights().iter().map(|&weight| weight as f64 / total).collect();
                (Outputs::Hierarchical(tree), counts.len() - 1, needs)
            }
        };
        // Words that share a window with one, on average: the uses of an input for each time that its word stands in the text.
        let around = params.window as f64 + 1.0;
        let predictions = if params.architecture == Architecture::Cbow { 1.0 } else { around };
        let shares = |uses: f64| uses * NUMBERS as f64;
        let pieces = (numbers.len() / NUMBERS_FOR_A_PIECE).clamp(1, PIECES);
        let stays = keeps.iter().map(|keep| (keep * 2f64.powi(32)) as u64).collect();
        let course = Course {
            rules: Rules { outputs, stays, window: params.window as u32 },
            mean: params.architecture == Architecture::Cbow,
            inputs: Parts::new((0..counts.len()).map(|word| shares(kept(word) * around)), pieces),
            outputs: Parts::new(needs.iter().map(|need| shares(need * predictions)), pieces),
        };
        let weights = Weights {
            inputs: Matrix::random(counts.len(), params.dim, seed),
            outputs: Matrix::zeros(rows, params.dim),
        };
        Ok(Word2vec { params: params.clone(), numbers, seed, course, pieces, weights, passes: Vec::new() })
    }

    /// What each pass so far came to.
    pub(crate) fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Passes that are left.
    pub(crate) fn left(&self) -> usize {
        self.params.epochs.saturating_sub(self.passes.len())
    }

    /// Passes over the corpus once more.
    pub(crate) fn pass(&mut self, ctx: &Ctx) -> Result<()> {
        let began = Instant::now();
        let epoch = self.passes.len();
        let (mut loss, mut predictions) = (0.0, 0u64);
        let mut pieces: Vec<Piece> = (0..self.pieces).map(|_| Piece::default()).collect();
        let benches: Vec<Mutex<Bench>> =
            (0..ctx.threads()).map(|_| Mutex::new(Bench::new(&self.weights, 2 * self.params.window))).collect();
        ctx.install(|| {
            let mut at = 0;
            while at < self.numbers.len() {
                let ranges = self.block(at);
                at = ranges[ranges.len() - 1].end;
                let pieces = &mut pieces[..ranges.len()];
                self.train(epoch, &ranges, pieces, &benches, ctx)?;
                for piece in &*pieces {
                    loss += piece.loss;
                    predictions += piece.predictions;
                }
                ensure!(
                    loss.is_finite(),
                    "the loss is no longer a number in epoch {} of {}, at a rate of {:.6}: lower --lr",
                    epoch + 1,
                    self.params.epochs,
                    self.rate(epoch, at)
                );
                self.add(pieces);
            }
            anyhow::Ok(())
        })?;
        ensure!(
            self.weights.inputs.is_finite() && self.weights.outputs.is_finite(),
            "vectors are no longer numbers after epoch {} of {}: lower --lr",
            epoch + 1,
            self.params.epochs
        );
        let loss = loss / predictions.max(1) as f64;
        let rate = f64::from(self.rate(epoch, self.numbers.len()));
        self.passes.push(Pass { epoch: epoch + 1, loss, rate, seconds: began.elapsed().as_secs_f64() });
        Ok(())
    }

    /// A word of the text stays when 32 random bits are below this.
    #[cfg(test)]
    pub(super) fn stays(&self) -> &[u64] {
        &self.course.rules.stays
    }

    /// The word vectors, `[words, dim]`.
    pub(crate) fn vectors(&self) -> Vec<f32> {
        self.weights.inputs.to_values()
    }

    /// The rate of learning at a place: it falls evenly over all passes.
    fn rate(&self, epoch: usize, at: usize) -> f32 {
        let all = self.params.epochs as f64 * self.numbers.len() as f64;
        let done = (epoch as f64 * self.numbers.len() as f64 + at as f64) / all;
        let lr = self.params.rate();
        (lr - (lr - self.params.min_lr) * done).max(self.params.min_lr) as f32
    }

    /// The pieces of the block at a place. A piece ends with a sequence, unless that is long.
    fn block(&self, mut at: usize) -> Vec<Range<usize>> {
        let words = self.course.rules.stays.len();
        let mut ranges = Vec::with_capacity(self.pieces);
        while ranges.len() < self.pieces && at < self.numbers.len() {
            let least = (at + NUMBERS).min(self.numbers.len());
            let most = (at + 2 * NUMBERS).min(self.numbers.len());
            let mut ends = self.numbers[least..most].iter();
            let end = ends.position(|&number| number as usize >= words).map_or(most, |i| least + i);
            ranges.push(at..end);
            at = end;
        }
        ranges
    }

    fn train(
        &self,
        epoch: usize,
        ranges: &[Range<usize>],
        pieces: &mut [Piece],
        benches: &[Mutex<Bench>],
        ctx: &Ctx,
    ) -> Result<()> {
        ranges.par_iter().zip(pieces).try_for_each(|(range, piece)| {
            let numbers = &self.numbers[range.clone()];
            let words = self.course.rules.stays.len();
            ctx.advance(numbers.iter().filter(|&&number| (number as usize) < words).count() as u64)?;
            let thread = rayon::current_thread_index().unwrap_or(0);
            let mut bench = benches[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let random = Random::of([self.seed, epoch as u64, range.start as u64]);
            let rate = self.rate(epoch, range.start);
            piece.train(numbers, &self.weights, &self.course, rate, random, &mut bench);
            Ok(())
        })
    }

    /// Adds what the pieces have changed.
    fn add(&mut self, pieces: &[Piece]) {
        let lanes = self.weights.inputs.lanes();
        let course = &self.course;
        let inputs = course.inputs.of(&mut self.weights.inputs).into_iter().enumerate().map(|part| (true, part));
        let outputs = course.outputs.of(&mut self.weights.outputs).into_iter().enumerate();
        let parts: Vec<_> = inputs.chain(outputs.map(|part| (false, part))).collect();
        parts.into_par_iter().for_each(|(input, (part, values))| {
            wide(
                #[inline(always)]
                || {
                    for piece in pieces {
                        match input {
                            true => piece.inputs.add_to(part, &course.inputs, values, lanes),
                            false => piece.outputs.add_to(part, &course.outputs, values, lanes),
                        }
                    }
                },
            );
        });
    }
}
