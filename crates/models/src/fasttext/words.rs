//! Training of word vectors from words and their character n-grams: skip-gram and CBOW.
//!
//! A word is the mean of its rows. In skip-gram the rows of a word take the step of all words around it at once, where fastText
//! takes one after each of them: fewer passes over the rows for a coarser step.

use anyhow::Result;

use super::kernels::{WeightTable, add, scale};
use super::loss::LossOutput;
use super::supervised::{begin, check_loss, finished, passed, resumed};
use super::{Dictionary, FastText, FastTextParams, Form};
use crate::checkpoint::Checkpoint;
use crate::random::Random;
use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Words learned between two looks at whether the run was cancelled, and between two rates of learning.
const BLOCK: usize = 4096;

/// Learns vectors from sequences of numbers of words, which `sequences` gives again for every epoch. Gives the mean loss of
/// each epoch too.
pub fn train_words<'a, S: Iterator<Item = &'a [u32]>>(
    mut dictionary: Dictionary,
    sequences: impl Fn() -> S,
    params: &FastTextParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<(FastText, Vec<f64>)> {
    let params = params.clone().checked()?;
    let rows = WordRows::new(&mut dictionary);
    let mut input = begin(&dictionary, &params, None, ctx)?;
    let counts = dictionary.word_counts().to_vec();
    let words: u64 = counts.iter().sum();
    let kept: Vec<f32> = counts.iter().map(|&count| kept(count as f64 / words as f64, params.sample) as f32).collect();
    let mut learner = WordLearner { output: LossOutput::new(&counts, &params), rows, params: &params };
    let mut losses = resumed(checkpoint, &mut input, &mut learner.output)?;
    let total = (words * params.epochs as u64) as f64;
    let (mut done, mut block) = (words * losses.len() as u64, Vec::new());
    ctx.advance(done)?;
    for epoch in losses.len()..params.epochs {
        let mut draw = Random::new([ctx.seed(), epoch as u64, 0]);
        let (mut loss, mut steps) = (0.0, 0);
        let mut sequences = sequences().peekable();
        let mut open = 0u64;
        while let Some(sequence) = sequences.next() {
            // Long sequences are cut, so that a block has an end.
            for piece in sequence.chunks(BLOCK) {
                open += piece.len() as u64;
                block.extend(piece.iter().copied().filter(|&word| kept[word as usize] > draw.unit()));
                block.push(u32::MAX);
            }
            if open < BLOCK as u64 && sequences.peek().is_some() {
                continue;
            }
            let lr = params.lr * (1.0 - done as f64 / total) as f32;
            let (here, n) = learner.block(&mut input, &block, lr, &mut draw);
            check_loss(here, epoch, &params, lr)?;
            loss += here;
            steps += n;
            done += open;
            ctx.note(format!("epoch {}, loss {:.4}, lr {lr:.4}", epoch + 1, loss / steps.max(1) as f64));
            ctx.advance(open)?;
            open = 0;
            block.clear();
        }
        losses.push(loss / steps.max(1) as f64);
        passed(checkpoint, &input, &learner.output, &losses, &params, ctx)?;
    }
    let output = learner.output;
    Ok((finished(params, dictionary, &input, &output)?, losses))
}

/// The share of a word's occurrences that are learned.
fn kept(frequency: f64, sample: f64) -> f64 {
    (sample / frequency).sqrt() + sample / frequency
}

/// The rows of all words.
struct WordRows {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl WordRows {
    fn new(dictionary: &mut Dictionary) -> WordRows {
        let words: Vec<Box<str>> = dictionary.words().to_vec();
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for word in &words {
            let from = rows.len();
            dictionary.each_of_word(word, &mut |number, _| rows.push(number));
            dictionary.meet(&mut rows[from..]);
            starts.push(rows.len() as u32);
        }
        WordRows { starts, rows }
    }

    #[inline(always)]
    fn get(&self, word: u32) -> &[u32] {
        &self.rows[self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize]
    }
}

struct WordLearner<'a> {
    output: LossOutput,
    rows: WordRows,
    params: &'a FastTextParams,
}

impl WordLearner<'_> {
    /// Learns sequences that end with `u32::MAX`; gives the sum of the losses and their number.
    fn block(&mut self, input: &mut WeightTable, block: &[u32], lr: f32, draw: &mut Random) -> (f64, u64) {
        let blank = WeightTable::zeros(2, self.params.dim);
        let (mut hidden, mut grad) = (blank.row(0).to_vec(), blank.row(1).to_vec());
        let skipgram = self.params.form == Form::Skipgram;
        wide(
            #[inline(always)]
            || {
                let (mut loss, mut steps) = (0.0, 0);
                for sequence in block.split(|&word| word == u32::MAX) {
                    for at in 0..sequence.len() {
                        let reach = 1 + draw.below(self.params.window as u32) as usize;
                        let around = at.saturating_sub(reach)..(at + reach + 1).min(sequence.len());
                        if around.len() < 2 {
                            continue;
                        }
                        let around = around.filter(|&i| i != at).map(|i| sequence[i]);
                        let here = std::iter::once(sequence[at]);
                        hidden.copy_from_slice(blank.row(0));
                        grad.copy_from_slice(blank.row(1));
                        let state = (&mut hidden[..], &mut grad[..]);
                        let (sum, n) = match skipgram {
                            true => self.step(input, here, around, lr, state, draw),
                            false => self.step(input, around, here, lr, state, draw),
                        };
                        loss += sum;
                        steps += n;
                    }
                }
                (loss, steps)
            },
        )
    }

    /// Predicts each word of `targets` from the mean of the rows of all `words`, whose rows then take one step; gives the sum of
    /// the losses and their number.
    #[inline(always)]
    fn step(
        &mut self,
        input: &mut WeightTable,
        words: impl Iterator<Item = u32> + Clone,
        targets: impl Iterator<Item = u32>,
        lr: f32,
        (hidden, grad): (&mut [f32], &mut [f32]),
        draw: &mut Random,
    ) -> (f64, u64) {
        let mut rows = 0;
        for word in words.clone() {
            let of_word = self.rows.get(word);
            of_word.iter().for_each(|&row| add(hidden, input.row(row)));
            rows += of_word.len();
        }
        scale(hidden, 1.0 / rows as f32);
        let (mut loss, mut steps) = (0.0, 0);
        for target in targets {
            loss += f64::from(self.output.step(target, &[], hidden, grad, lr, draw));
            steps += 1;
        }
        for word in words {
            self.rows.get(word).iter().for_each(|&row| add(input.row_mut(row), grad));
        }
        (loss, steps)
    }
}
