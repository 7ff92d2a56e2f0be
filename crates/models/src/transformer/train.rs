//! Training of an encoder with a head: from nothing, or from the weights of a base, all of them or a part.

use std::ops::Range;

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::block::{BlockKind, BlockWeights, NormPlace};
use super::encoder::{EmbeddingWeights, Encoder, EncoderInput, EncoderShape};
use super::frozen::FrozenStates;
use super::head::{Head, HeadForm, HeadForms, HeadWeights, TextGoal};
use super::lstm::LSTM_WEIGHTS;
use super::masking::Masking;
use super::net::TransformerNet;
use super::params::{TrainedLayers, TransformerParams};
use super::reading::Reading;
use crate::Goal;
use crate::checkpoint::Checkpoint;
use crate::neural::EpochFigures;
use crate::neural::fit::fit;
use crate::neural::weights::{Weight, Weights};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::memory;

/// Texts as tokens.
#[derive(Clone, Copy)]
pub struct TokenTexts<'a> {
    /// The tokens of all texts, with the special tokens of the tokenizer.
    pub tokens: &'a [u32],
    /// The vectors of these tokens before the first trained layer; none: they are computed whenever a text is read.
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
    /// The same with the relation of each text's segments: 0 if the second follows the first, another if not, [`UNTAGGED`] if there is one segment.
    WordsAndOrder(Masking, Vec<u32>),
    /// The same words with each token of a company's name: 1 if the name took the place of another, 0 if not. The tokens of names are marked.
    WordsAndNames(Masking),
    /// The token behind each token.
    Next,
    /// The tokens of the second segment of each text, each behind the tokens before it.
    Summaries,
    Texts(Goal),
    /// The target of each text, and its own words beside it.
    TextsAndWords(Goal, WordsBeside),
    Taught(TaughtClasses),
    /// The tag of each of the texts' tokens, in their order; [`UNTAGGED`] for a token that is not learned from.
    Tags(Vec<u32>),
    /// The first and the last token of the answer within each text.
    Spans(Vec<[u32; 2]>),
}

impl Goals {
    /// The rule by which the texts' words are masked; none where none are masked.
    pub(super) fn masking(&self) -> Option<&Masking> {
        match self {
            Goals::Words(masking) | Goals::WordsAndOrder(masking, _) | Goals::WordsAndNames(masking) => Some(masking),
            _ => self.words_beside().and_then(|words| words.masking.as_ref()),
        }
    }

    pub(super) fn words_beside(&self) -> Option<&WordsBeside> {
        if let Goals::TextsAndWords(_, words) = self { Some(words) } else { None }
    }
}

/// The text's own words, learned beside its target (Radford and others 2018 learn the next words).
#[derive(Clone, Copy, Debug)]
pub struct WordsBeside {
    /// The weight of a text's mean loss of its words beside the loss of its target.
    pub weight: f64,
    /// The rule by which words are masked; none where the encoder predicts the next words.
    pub masking: Option<Masking>,
}

/// The tag of a token that is not learned from, such as a special token, and the order of a text that is not.
pub const UNTAGGED: u32 = u32::MAX;

/// The scores that a teacher gives the classes of texts, which a student is to give (Hinton, Vinyals and Dean 2015).
pub struct TaughtClasses {
    /// Logits `[texts, classes]`.
    pub scores: Vec<f32>,
    pub classes: usize,
    /// Both models' logits are divided by it before they become probabilities.
    pub temperature: f64,
}

/// An encoder with its heads.
pub struct Transformer {
    pub shape: EncoderShape,
    pub heads: HeadForms,
    pub(super) weights: Weights,
    pub(super) epochs: Vec<EpochFigures>,
}

impl Transformer {
    /// An encoder of random weights. `counts` are the occurrences of each token, at whose shares the bias of the words begins.
    pub fn random(
        shape: EncoderShape,
        heads: impl Into<HeadForms>,
        counts: Option<&[u64]>,
        seed: u64,
    ) -> Result<Transformer> {
        let heads = heads.into();
        super::encoder::check(&shape)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // What each block adds to its input is small where no norm follows, so that deep sums keep their size (Radford and others 2019).
        let added = match shape.block.place {
            NormPlace::Before => 1.0 / (2.0 * shape.layers as f32).sqrt(),
            NormPlace::After | NormPlace::Nowhere => 1.0,
        };
        let values = shape.shapes().into_iter().enumerate().map(|(number, size)| {
            let in_block = number.checked_sub(EmbeddingWeights::COUNT).map(|n| n % BlockWeights::COUNT);
            let is = |weights: [BlockWeights; 2]| in_block.is_some_and(|n| weights.map(|w| w as usize).contains(&n));
            let is_scale =
                number == EmbeddingWeights::Scale as usize || is([BlockWeights::FirstScale, BlockWeights::SecondScale]);
            let mut values = begin(size, is_scale, number < EmbeddingWeights::Scale as usize, &mut rng);
            let is_lstm = shape.block.kind == BlockKind::Lstm;
            if !is_lstm && is([BlockWeights::Output, BlockWeights::Down]) {
                values.iter_mut().for_each(|value| *value *= added);
            }
            if is_lstm && in_block.is_some_and(|n| n % LSTM_WEIGHTS == LSTM_WEIGHTS - 1) && !values.is_empty() {
                // A cell begins by keeping what it has (Jozefowicz and others 2015).
                let units = shape.block.units();
                values[units..2 * units].fill(1.0);
            }
            values
        });
        let values: Vec<Vec<f32>> = values.collect();
        let mut begun = Transformer::of_values(shape, heads, values, seed)?;
        if let (HeadForm::Words { .. }, Some(counts)) = (heads.main, counts) {
            let bias = &mut begun.weights.all[shape.weights() + HeadWeights::Words as usize];
            let all: f64 = counts.iter().map(|&count| count as f64 + 1.0).sum();
            let share = |&count: &u64| ((count as f64 + 1.0) / all).ln() as f32;
            bias.values = counts.iter().map(share).collect();
        }
        Ok(begun)
    }

    /// An encoder of these weights, in the order of its shape, under heads of random ones.
    pub fn of_values(
        shape: EncoderShape,
        heads: impl Into<HeadForms>,
        mut values: Vec<Vec<f32>>,
        seed: u64,
    ) -> Result<Transformer> {
        let heads = heads.into();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        for form in heads.each() {
            // A head of words has a norm in the place of outputs.
            let scale = matches!(form, HeadForm::Words { .. }).then_some(HeadWeights::Last as usize);
            let weights = form.shapes(&shape).into_iter().enumerate();
            values.extend(weights.map(|(number, size)| begin(size, Some(number) == scale, false, &mut rng)));
        }
        Transformer::of_all_values(shape, heads, values)
    }

    /// The same encoder, and the same head of a text under new outputs.
    pub fn with_outputs(&self, goal: TextGoal, seed: u64) -> Result<Transformer> {
        let first = self.shape.weights();
        let heads = HeadForms { main: self.heads.main.with_goal(goal), ..self.heads };
        let (outputs, bias) = heads
            .main
            .outputs()
            .context(Word("预测词的头没有文本的输出", "a head that predicts words has no outputs of texts"))?;
        let values: Vec<Vec<f32>> = self.values().into_iter().map(<[f32]>::to_vec).collect();
        let mut begun = Transformer::of_values(self.shape, heads, values[..first].to_vec(), seed)?;
        for (number, values) in values[first..].iter().enumerate() {
            if number != outputs && Some(number) != bias {
                begun.weights.all[first + number].values.clone_from(values);
            }
        }
        Ok(begun)
    }

    /// The same encoder under its second head; none where it has no such head.
    pub fn with_beside(&self) -> Option<Result<Transformer>> {
        let beside = self.heads.beside?;
        let (first, values) = (self.shape.weights(), self.values());
        let main = self.heads.main.shapes(&self.shape).len();
        let values = values[..first].iter().chain(&values[first + main..]).map(|values| values.to_vec());
        Some(Transformer::of_all_values(self.shape, beside, values.collect()))
    }

    /// The encoder of another model of the same shape, under the heads of this one.
    pub fn with_encoder_of(&self, other: &Transformer) -> Result<Transformer> {
        let (encoder, head) = (other.values(), self.values());
        let values = encoder[..self.shape.weights()].iter().chain(&head[self.shape.weights()..]);
        Transformer::of_all_values(self.shape, self.heads, values.map(|values| values.to_vec()).collect())
    }

    /// The mean loss of texts, of each predicted token or of each text; nothing is trained.
    pub fn loss(&self, texts: &TrainingTexts<'_>, ctx: &Ctx) -> Result<f64> {
        TransformerNet::loss(self, texts, ctx)
    }

    /// An encoder of these weights and those of its heads.
    pub fn of_all_values(
        shape: EncoderShape,
        heads: impl Into<HeadForms>,
        values: Vec<Vec<f32>>,
    ) -> Result<Transformer> {
        let heads = heads.into();
        super::encoder::check(&shape)?;
        let sizes = shape.shapes().into_iter().chain(heads.shapes(&shape));
        let weights = weights_of(values, &sizes.collect::<Vec<[usize; 2]>>())?;
        Ok(Transformer { shape, heads, weights, epochs: Vec::new() })
    }

    /// The values of each weight: embeddings, blocks, heads.
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
        let (shape, heads) = (self.shape, self.heads);
        let net = TransformerNet::new(&self, texts, params)?;
        self.set_trained(params, net.lowest);
        if let Some(adapted) = &net.adapted {
            self.weights.all.extend(adapted.weights(ctx.seed()));
        }
        check_memory(&self.weights, SMALLER, ctx.install(rayon::current_num_threads) as u64, memory::free_mb())?;
        let (weights, epochs) = fit(&net, self.weights, &params.fit(), checkpoint, ctx)?;
        let mut all = weights.all;
        if let Some(adapted) = &net.adapted {
            adapted.merge(&mut all);
        }
        // What was not trained stays as it was, and nothing of the training is kept.
        let values = all.into_iter().map(|weight| weight.values).collect();
        let trained = Transformer::of_all_values(shape, heads, values)?;
        Ok(Transformer { epochs, ..trained })
    }

    /// Says of each weight whether it is trained, and at what share of the rate.
    pub(super) fn set_trained(&mut self, params: &TransformerParams, lowest: usize) {
        let blocks = self.shape.blocks;
        // The base's own blocks stay beside matrices of low rank. Layers that share blocks are trained all or none.
        let fixed = if matches!(params.train, TrainedLayers::LowRank(_)) { blocks } else { lowest.min(blocks) };
        for (number, weight) in self.weights.all.iter_mut().enumerate() {
            let group = group_of(number, &self.shape);
            let is_embedding = group == 0;
            weight.fixed = if is_embedding { params.train != TrainedLayers::All } else { group - 1 < fixed };
            weight.rate = params.discriminative.powi(group as i32 - blocks as i32 - 1) as f32;
            // Matrices shrink; biases, scales and shifts do not.
            weight.shrink = if weight.values.len() > weight.dim { params.weight_decay as f32 } else { 0.0 };
            weight.dense = true;
        }
    }

    /// Makes outputs of a text's head so many times as large, and adds a number to them where they have a bias.
    pub fn rescale_outputs(&mut self, by: f32, plus: f32) {
        let first = self.shape.weights();
        let Some((outputs, bias)) = self.heads.main.outputs() else { return };
        self.weights.all[first + outputs].values.iter_mut().for_each(|value| *value *= by);
        if let Some(bias) = bias {
            self.weights.all[first + bias].values.iter_mut().for_each(|value| *value = *value * by + plus);
        }
    }

    /// The scores of texts at these places by the main head, `[texts, outputs]`: logits of classes or labels, or values; of a head of tokens or spans `[tokens, outputs]`,
    /// text by text. Each text is read alone.
    pub fn scores(&self, texts: TokenTexts<'_>, places: &[Range<usize>], ctx: &Ctx) -> Result<Vec<f32>> {
        let values = self.weights.values();
        let first = texts.frozen.map_or(0, |frozen| frozen.first_layer);
        let encoder = Encoder::new(self.shape, &values, first..self.shape.layers, |_| None);
        let (head, reading) = (self.head(&values), Reading::new(self.heads.main, &self.shape));
        let one = |place: &Range<usize>| {
            ctx.check()?;
            let text = [0..place.len()];
            let x = match texts.frozen {
                Some(frozen) => frozen.of(place).to_vec(),
                None => encoder.embed(EncoderInput { tokens: &texts.tokens[place.clone()], texts: &text }),
            };
            let x = encoder.finish(encoder.run(x, &text));
            if let HeadForm::Tokens { .. } | HeadForm::Spans = self.heads.main {
                return Ok(head.scores(&x));
            }
            Ok(head.scores(&reading.read(&x, &[row_of(self.heads.main, &text[0])], &text)))
        };
        let scores = ctx.install(|| places.par_iter().map(one).collect::<Result<Vec<Vec<f32>>>>())?;
        Ok(scores.concat())
    }

    fn head(&self, values: &[&[f32]]) -> Head<f32> {
        let tokens = values[EmbeddingWeights::Tokens as usize];
        Head::new(self.heads.main, &values[self.shape.weights()..], tokens, &self.shape)
    }
}

/// Weights of these rows and columns. Fails where the numbers are too few or too many.
pub(super) fn weights_of(values: Vec<Vec<f32>>, sizes: &[[usize; 2]]) -> Result<Weights> {
    ensure!(
        values.len() == sizes.len(),
        "有 {} 个权重，须有 {} 个",
        "there are {} weights, and {} are needed",
        values.len(),
        sizes.len()
    );
    let weight = |(values, &[rows, columns]): (Vec<f32>, &[usize; 2])| {
        ensure!(
            values.len() == rows * columns,
            "{} 个数不是 {rows} x {columns}",
            "{} numbers are not {rows} x {columns}",
            values.len()
        );
        Ok(Weight::new("", columns.max(1), values))
    };
    Ok(Weights::of_adamw(values.into_iter().zip(sizes).map(weight).collect::<Result<Vec<Weight>>>()?))
}

/// The way out where memory does not suffice.
pub(super) const SMALLER: Word = Word(
    "请只训练一部分（--train top:2、lora:8 或 head）、减少线程（--threads），或用更小的基础模型",
    "train a part (--train top:2, lora:8 or head), give fewer threads (--threads), or take a smaller base",
);

/// Fails where a training would take more memory than is free: all weights, their best state, and both as they are multiplied; of those that are
/// trained the moments of both states, and a gradient a thread with the sum. `smaller` is the way out.
pub(super) fn check_memory(weights: &Weights, smaller: Word, threads: u64, free_mb: Option<u64>) -> Result<()> {
    let all: usize = weights.all.iter().map(|weight| weight.values.len()).sum();
    let numbers = 4 * all as u64 + (4 + threads + 1) * weights.count() as u64;
    let needed = numbers * size_of::<f32>() as u64 / (1 << 20);
    ensure!(
        free_mb.is_none_or(|free| needed <= free),
        "训练约需 {needed} MB 内存，而空闲 {} MB：{smaller}",
        "the training takes about {needed} MB of memory, and {} MB are free: {smaller}",
        free_mb.unwrap_or_default()
    );
    Ok(())
}

/// A weight at the beginning.
pub(super) fn begin([rows, columns]: [usize; 2], is_scale: bool, is_table: bool, rng: &mut ChaCha8Rng) -> Vec<f32> {
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

/// The token of a text whose vector a head of texts reads.
pub(super) fn row_of(form: HeadForm, text: &Range<usize>) -> usize {
    if matches!(form, HeadForm::Last { .. }) { text.end - 1 } else { text.start }
}

/// 0 for a weight of the embeddings, 1 and more for one of the blocks, and the next number for one behind them and beside them.
pub(super) fn group_of(number: usize, shape: &EncoderShape) -> usize {
    let is_norm = EmbeddingWeights::NORM.iter().any(|norm| *norm as usize == number);
    match number.checked_sub(EmbeddingWeights::COUNT) {
        None if is_norm && shape.block.place == NormPlace::Before => 1 + shape.blocks,
        None => 0,
        Some(number) => 1 + (number / BlockWeights::COUNT).min(shape.blocks),
    }
}
