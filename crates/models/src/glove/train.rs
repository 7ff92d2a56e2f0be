//! AdaGrad on the pairs.

use anyhow::{Context, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use serde_json::json;

use super::pairs::Pair;
use super::{GloveParams, PARTS, Pairs};
use crate::ModelFile;
use crate::checkpoint::Checkpoint;
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_base::language::Word;
use inkstone_base::simd::wide;

/// Values that are summed apart.
const LANES: usize = 16;

/// A gradient is cut to this size, as in the authors' program.
const CLIP: f32 = 100.0;

/// Pairs between two looks whether the run was cancelled.
const CHECK: usize = 1 << 14;

/// Streams of random numbers beyond those of the blocks.
const INITIAL: u64 = 1 << 32;
const ORDER: u64 = 1 << 33;

pub struct Trained {
    /// `[words, dim]`, row by row.
    pub values: Vec<f32>,
    /// The mean loss of a pair in each epoch, met on the way.
    pub losses: Vec<f64>,
}

/// A part of the words or of the contexts.
struct WordPart {
    /// Values of a vector, filled up to whole lanes.
    stride: usize,
    /// For each word its vector, then the accumulated squares of its gradients.
    vectors: Vec<f32>,
    /// For each word its bias and the accumulated squares of that one's gradients.
    biases: Vec<[f32; 2]>,
}

impl WordPart {
    /// Uniform within half of `1 / dim` around zero, as the authors' program; squares begin at 1.
    fn new(size: usize, dim: usize, seed: u64, stream: u64) -> WordPart {
        let stride = dim.next_multiple_of(LANES);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(INITIAL + stream);
        let mut draw = || (random.random::<f32>() - 0.5) / dim as f32;
        let mut vectors = vec![0.0; size * 2 * stride];
        let mut biases = vec![[0.0, 1.0]; size];
        for (row, bias) in vectors.chunks_mut(2 * stride).zip(&mut biases) {
            row[..dim].fill_with(&mut draw);
            row[stride..].fill(1.0);
            bias[0] = draw();
        }
        WordPart { stride, vectors, biases }
    }

    #[inline(always)]
    fn row(&mut self, place: u32) -> WordRow<'_> {
        let row = &mut self.vectors[place as usize * 2 * self.stride..][..2 * self.stride];
        let (values, squares) = row.split_at_mut(self.stride);
        let bias = &mut self.biases[place as usize];
        WordRow { values: values.as_chunks_mut().0, squares: squares.as_chunks_mut().0, bias }
    }
}

/// The state of one word in a part.
struct WordRow<'a> {
    values: &'a mut [[f32; LANES]],
    squares: &'a mut [[f32; LANES]],
    bias: &'a mut [f32; 2],
}

impl Pairs {
    /// Trains on all pairs. A loss that is no number ends the training with its epoch.
    pub fn train(&self, params: &GloveParams, checkpoint: Option<&Checkpoint>, ctx: &Ctx) -> Result<Trained> {
        params.check()?;
        let size = |part: usize| (self.words() + PARTS - 1 - part) / PARTS;
        let side = |from: u64| -> Vec<WordPart> {
            (0..PARTS).map(|part| WordPart::new(size(part), params.dim, ctx.seed(), from + part as u64)).collect()
        };
        let (mut words, mut contexts) = (side(0), side(PARTS as u64));
        let mut losses: Vec<f64> = Vec::new();
        if let Some(file) = checkpoint.map(Checkpoint::read).transpose()?.flatten() {
            fill(&mut words, &file, ["words", "word_biases"])?;
            fill(&mut contexts, &file, ["contexts", "context_biases"])?;
            losses = file.param("state")?;
            ctx.advance((losses.len() * self.count()) as u64)?;
        }
        for epoch in losses.len() + 1..=params.epochs {
            let mut random = ChaCha8Rng::seed_from_u64(ctx.seed());
            random.set_stream(ORDER + epoch as u64);
            let mut turns: Vec<usize> = (0..PARTS).collect();
            turns.shuffle(&mut random);
            let mut loss = 0.0;
            for &turn in &turns {
                contexts.rotate_left(turn);
                let turned = ctx.install(|| {
                    let blocks = words.par_iter_mut().zip(&mut contexts).enumerate().with_max_len(1);
                    let block = |(w, (words, contexts)): (usize, (&mut WordPart, &mut WordPart))| {
                        pass(self.block(w, (w + turn) % PARTS), words, contexts, params.lr as f32, ctx)
                    };
                    blocks.map(block).collect::<Result<Vec<f64>, Cancelled>>()
                });
                contexts.rotate_right(turn);
                loss += turned?.iter().sum::<f64>();
            }
            let mean = loss / self.count().max(1) as f64;
            ensure!(
                mean.is_finite(),
                "第 {epoch} 轮：学习率 {} 下损失不再是数；请选更小的 --lr",
                "epoch {epoch}: the loss is no longer a number at a rate of {}; choose a smaller --lr",
                params.lr
            );
            losses.push(mean);
            ctx.note(format!("epoch {epoch}, loss {mean:.4}, lr {}", params.lr));
            if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) {
                let sections = [
                    ("words", joined(&words, |part| &part.vectors)),
                    ("word_biases", joined(&words, |part| part.biases.as_flattened())),
                    ("contexts", joined(&contexts, |part| &part.vectors)),
                    ("context_biases", joined(&contexts, |part| part.biases.as_flattened())),
                ];
                let sections = sections.each_ref().map(|(name, values)| (*name, bytemuck::cast_slice(values)));
                checkpoint.write(json!(losses), &sections)?;
            }
        }
        let dim = params.dim;
        let value = |word: usize| {
            let vector = |parts: &[WordPart]| {
                let part = &parts[word % PARTS];
                part.vectors[word / PARTS * 2 * part.stride..][..dim].to_vec()
            };
            vector(&words).into_iter().zip(vector(&contexts)).map(|(w, c)| w + c)
        };
        Ok(Trained { values: (0..self.words()).flat_map(value).collect(), losses })
    }
}

/// The numbers of all parts, one after the other.
fn joined(parts: &[WordPart], numbers: impl Fn(&WordPart) -> &[f32]) -> Vec<f32> {
    parts.iter().flat_map(|part| numbers(part).iter().copied()).collect()
}

/// Takes up the numbers that a checkpoint has of all parts.
fn fill(parts: &mut [WordPart], file: &ModelFile, [vectors, biases]: [&str; 2]) -> Result<()> {
    let (mut vectors, mut biases) = (file.numbers::<f32>(vectors)?, file.numbers::<f32>(biases)?);
    for part in parts {
        for (numbers, rest) in [(&mut part.vectors[..], &mut vectors), (part.biases.as_flattened_mut(), &mut biases)] {
            let (here, after) = rest
                .split_at_checked(numbers.len())
                .context(Word("检查点的大小不同", "the checkpoint is of another size"))?;
            numbers.copy_from_slice(here);
            *rest = after;
        }
    }
    Ok(())
}

/// A pass over a block; gives its loss.
fn pass(
    pairs: impl Iterator<Item = Pair>,
    words: &mut WordPart,
    contexts: &mut WordPart,
    lr: f32,
    ctx: &Ctx,
) -> Result<f64, Cancelled> {
    wide(
        #[inline(always)]
        || {
            let (mut loss, mut met) = (0.0, 0);
            for pair in pairs {
                loss += f64::from(step(words.row(pair.word), contexts.row(pair.context), pair, lr));
                met += 1;
                if met == CHECK {
                    ctx.advance(CHECK as u64)?;
                    met = 0;
                }
            }
            ctx.advance(met as u64)?;
            Ok(loss)
        },
    )
}

/// A step on one pair; gives its loss before the step.
#[inline(always)]
fn step(word: WordRow<'_>, context: WordRow<'_>, pair: Pair, lr: f32) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (w, c) in word.values.iter().zip(context.values.iter()) {
        for ((sum, w), c) in sums.iter_mut().zip(w).zip(c) {
            *sum = w.mul_add(*c, *sum);
        }
    }
    let off = sums.iter().sum::<f32>() + word.bias[0] + context.bias[0] - pair.log;
    let pull = pair.weight * off;
    let lanes = word.values.iter_mut().zip(word.squares).zip(context.values.iter_mut().zip(context.squares));
    for ((w, ws), (c, cs)) in lanes {
        for (((w, ws), c), cs) in w.iter_mut().zip(ws).zip(c).zip(cs) {
            let to_word = lr * (pull * *c).clamp(-CLIP, CLIP);
            let to_context = lr * (pull * *w).clamp(-CLIP, CLIP);
            *w -= to_word / ws.sqrt();
            *c -= to_context / cs.sqrt();
            *ws = to_word.mul_add(to_word, *ws);
            *cs = to_context.mul_add(to_context, *cs);
        }
    }
    let by = lr * pull.clamp(-CLIP, CLIP);
    for [bias, square] in [word.bias, context.bias] {
        *bias -= by / square.sqrt();
        *square += by * by;
    }
    0.5 * pull * off
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loss that the step minimises, in f64.
    fn loss(word: &WordPart, context: &WordPart, pair: Pair) -> f64 {
        let dot: f64 = (0..word.stride).map(|i| f64::from(word.vectors[i]) * f64::from(context.vectors[i])).sum();
        let off = dot + f64::from(word.biases[0][0]) + f64::from(context.biases[0][0]) - f64::from(pair.log);
        0.5 * f64::from(pair.weight) * off * off
    }

    #[test]
    fn rare_pairs_weigh_less_and_frequent_ones_no_more() {
        let params = GloveParams::default();
        for (count, weight) in [(0.0, 0.0), (1.0, 0.0316228), (50.0, 0.5946036), (100.0, 1.0), (3000.0, 1.0)] {
            assert!((params.weight(count) - weight).abs() < 1e-7, "{count}: {}", params.weight(count));
        }
    }

    #[test]
    fn a_step_goes_along_the_finite_differences_of_the_loss() {
        let pair = Pair { word: 0, context: 0, log: 1.5, weight: 0.7 };
        let part = |stream| {
            let mut part = WordPart::new(1, 5, 3, stream);
            // Larger than initial values, so that differences are seen.
            part.vectors[..5].iter_mut().for_each(|v| *v *= 8.0);
            part
        };
        let lr = 1e-3;
        let (mut word, mut context) = (part(0), part(1));
        let before = loss(&word, &context, pair);
        let met = step(word.row(0), context.row(0), pair, lr);
        assert!((f64::from(met) - before).abs() < 1e-6);
        let close = |moved: f32, gradient: f64| {
            assert!((f64::from(moved) + f64::from(lr) * gradient).abs() < 1e-3 * f64::from(lr), "{moved}, {gradient}");
        };
        for i in 0..5 {
            let slope = |of_word: bool| {
                let at = |by: f32| {
                    let (mut word, mut context) = (part(0), part(1));
                    let changed = if of_word { &mut word } else { &mut context };
                    changed.vectors[i] += by;
                    loss(&word, &context, pair)
                };
                (at(1e-3) - at(-1e-3)) / 2e-3
            };
            close(word.vectors[i] - part(0).vectors[i], slope(true));
            close(context.vectors[i] - part(1).vectors[i], slope(false));
        }
        let slope = |by: f32| {
            let mut word = part(0);
            word.biases[0][0] += by;
            loss(&word, &part(1), pair)
        };
        close(word.biases[0][0] - part(0).biases[0][0], (slope(1e-3) - slope(-1e-3)) / 2e-3);
        let gradient = f64::from(part(0).biases[0][0] - word.biases[0][0]);
        assert!((f64::from(word.biases[0][1]) - 1.0 - gradient * gradient).abs() < 1e-6, "squares add up");
        assert!(word.vectors[5..word.stride].iter().all(|v| *v == 0.0), "what fills up the lanes stays zero");
    }
}
