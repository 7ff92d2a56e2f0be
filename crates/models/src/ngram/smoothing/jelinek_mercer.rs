//! Deleted interpolation (Jelinek and Mercer 1980): p(w | h) = l(h) c(h w) / c(h) + (1 - l(h)) p(w | h'), down to 1/V.
//!
//! The weight l depends on the length of h and on how often it was followed, in buckets: floor(log2 c(h)), up to 15. Weights make
//! held-out text, on which nothing was counted, most probable (expectation maximisation). A bucket that no held-out word falls
//! into takes the weight of its length as a whole, one that no word of that length falls into 1/2. Weights stay within
//! [1e-6, 1 - 1e-6], so nothing becomes impossible.

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::{Estimate, all_words, predicted, sum};
use crate::ngram::model::{Counts, Ngram, Smoothing};
use crate::ngram::prune::Pruning;
use crate::ngram::vocabulary::{self, ModelVocabulary};
use crate::ngram::words::{BEGIN, END, UNKNOWN};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// Buckets of a length of contexts.
const BUCKETS: usize = 16;
/// Weights are no closer than this to 0 and 1.
const MARGIN: f64 = 1e-6;
/// Rounds of estimation at the most, and the gain in mean log10 probability below which it has ended.
const ROUNDS: usize = 200;
const GAIN: f64 = 1e-8;
/// Held-out words that one thread takes at once; sums are over these pieces in order.
const PIECE: usize = 1 << 12;

/// The fit on held-out text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Interpolation {
    /// For each length of n-grams, the weight of its relative frequency by bucket of floor(log2 c(h)).
    pub by_order: Vec<[f64; BUCKETS]>,
    /// Held-out words, ends of documents included.
    pub tokens: u64,
    pub rounds: usize,
    /// Perplexity of the held-out text.
    pub perplexity: f64,
}

/// The probability of a held-out word by one length of n-grams.
#[derive(Clone, Copy)]
struct LevelEstimate {
    /// Relative frequency of the word after the context.
    frequency: f64,
    /// Bucket of the context; none where it was never seen, and the shorter ones speak alone.
    bucket: Option<usize>,
}

/// For each length of n-grams and bucket, how often a word was given by that length, and by that or a shorter one.
type Given = Vec<[[f64; 2]; BUCKETS]>;

/// Makes the model. `held_out`: documents on which nothing was counted, tokens with spaces between them.
pub(super) fn jelinek_mercer(
    counts: Counts,
    held_out: &[String],
    pruning: &Pruning,
    ctx: &Ctx,
) -> Result<(Ngram, Interpolation)> {
    ensure!(
        !held_out.is_empty(),
        "没有留出文档可拟合 jelinek-mercer 的权重：请给出文件（--held-out FILE），或留出更大的比例（--held-out-share）",
        "there is no held-out document to fit the weights of jelinek-mercer on: give a file (--held-out FILE), or hold out a larger share (--held-out-share)"
    );
    let all = all_words(&counts);
    let totals = totals(&counts, all, ctx)?;
    let words = predicted(&counts.trie);
    let looks = looks(&counts, &totals, held_out, ctx)?;
    let weights = expectation_maximisation(&looks, counts.trie.order(), words, ctx)?;

    let by = &weights.by_order;
    let weight = by[0][bucket(all)];
    let first = counts.counts[0].iter().map(|&c| (weight * f64::from(c) / all + (1.0 - weight) / words) as f32);
    let mut estimate = Estimate::of_words(first.collect());
    for (n, seen) in (1..).zip(&counts.counts[1..]) {
        estimate.push(&counts.trie, ctx, |context, children, shorter, out| {
            let total = totals[n][context];
            let weight = by[n][bucket(total)];
            for (child, p) in children.zip(out) {
                *p = (weight * f64::from(seen[child]) / total + (1.0 - weight) * shorter(child)) as f32;
            }
            1.0 - weight
        })?;
    }
    Ok((estimate.finish(counts, Smoothing::JelinekMercer, pruning, ctx)?, weights))
}

fn bucket(total: f64) -> usize {
    (total.log2() as usize).min(BUCKETS - 1)
}

/// c(h) for every context, by the length of the n-grams that it begins; that of the empty one is `all`.
fn totals(counts: &Counts, all: f64, ctx: &Ctx) -> Result<Vec<Vec<f64>>> {
    let mut totals = vec![vec![all]];
    for (level, seen) in counts.trie.levels.iter().zip(&counts.counts[1..]) {
        ctx.check()?;
        totals.push(ctx.install(|| {
            let children = level.first_child.par_windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
            children.map(|children| sum(&seen[children])).collect()
        }));
    }
    Ok(totals)
}

/// The probability of each held-out word by each length, `order` of them a word.
fn looks(counts: &Counts, totals: &[Vec<f64>], held_out: &[String], ctx: &Ctx) -> Result<Vec<LevelEstimate>> {
    let table = vocabulary::table(&counts.words)?;
    let (text, ends) = counts.words.parts();
    let vocabulary =
        ModelVocabulary::new(text, ends, &table).context(Word("已统计的语料应有词", "a counted corpus has words"))?;
    let order = counts.trie.order();
    let document = |text: &String| -> Result<Vec<LevelEstimate>> {
        let mut ids = vec![BEGIN];
        ids.extend(text.split_ascii_whitespace().map(|word| vocabulary.id(word.as_bytes())));
        ids.push(END);
        ctx.check()?;
        let mut looks = Vec::with_capacity(order * ids.len());
        for at in 1..ids.len() {
            for n in 0..order {
                let Some(start) = at.checked_sub(n) else {
                    looks.push(LevelEstimate { frequency: 0.0, bucket: None });
                    continue;
                };
                let total = match n {
                    0 => totals[0][0],
                    _ => counts.trie.find(&ids[start..at]).map_or(0.0, |context| totals[n][context as usize]),
                };
                let seen = match ids[at] {
                    UNKNOWN => 0,
                    _ if total == 0.0 => 0,
                    _ => counts.count(&ids[start..=at]),
                };
                let bucket = (total > 0.0).then(|| bucket(total));
                looks.push(LevelEstimate { frequency: f64::from(seen) / total.max(1.0), bucket });
            }
        }
        Ok(looks)
    };
    let documents = ctx.install(|| held_out.par_iter().map(document).collect::<Result<Vec<_>>>())?;
    Ok(documents.concat())
}

fn expectation_maximisation(looks: &[LevelEstimate], order: usize, words: f64, ctx: &Ctx) -> Result<Interpolation> {
    let tokens = looks.len() / order;
    let mut by_order = vec![[0.5; BUCKETS]; order];
    let (mut before, mut rounds) = (f64::NEG_INFINITY, 0);
    loop {
        ctx.check()?;
        let pieces: Vec<(Given, f64)> = ctx
            .install(|| looks.par_chunks(PIECE * order).map(|piece| expect(piece, order, words, &by_order)).collect());
        let mut given: Given = vec![[[0.0; 2]; BUCKETS]; order];
        let mut log10 = 0.0;
        for (piece, piece_log10) in &pieces {
            log10 += piece_log10;
            let numbers = given.iter_mut().flatten().flatten();
            numbers.zip(piece.iter().flatten().flatten()).for_each(|(all, one)| *all += one);
        }
        let mean = log10 / tokens as f64;
        if mean - before < GAIN || rounds == ROUNDS {
            return Ok(Interpolation { by_order, tokens: tokens as u64, rounds, perplexity: 10f64.powf(-mean) });
        }
        before = mean;
        rounds += 1;
        for (weights, given) in by_order.iter_mut().zip(&given) {
            let share = |[own, all]: [f64; 2], otherwise: f64| match all > 0.0 {
                true => (own / all).clamp(MARGIN, 1.0 - MARGIN),
                false => otherwise,
            };
            let together = given.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]]);
            let pooled = share(together, 0.5);
            weights.iter_mut().zip(given).for_each(|(weight, &part)| *weight = share(part, pooled));
        }
    }
}

/// The expected number of words of a piece that each length gave, by the present weights, and log10 of the piece's probability.
fn expect(piece: &[LevelEstimate], order: usize, words: f64, by_order: &[[f64; BUCKETS]]) -> (Given, f64) {
    let mut given: Given = vec![[[0.0; 2]; BUCKETS]; order];
    let mut log10 = 0.0;
    // The part of a word's probability that each length gives, after the uniform distribution's.
    let mut own = vec![0.0; order];
    for looks in piece.chunks_exact(order) {
        let mut p = 1.0 / words;
        let mut uniform = p;
        for (n, look) in looks.iter().enumerate() {
            own[n] = 0.0;
            let Some(bucket) = look.bucket else { continue };
            let weight = by_order[n][bucket];
            uniform *= 1.0 - weight;
            own[..n].iter_mut().for_each(|part| *part *= 1.0 - weight);
            own[n] = weight * look.frequency;
            p = own[n] + (1.0 - weight) * p;
        }
        log10 += p.log10();
        let mut so_far = uniform;
        for (n, look) in looks.iter().enumerate() {
            let Some(bucket) = look.bucket else { continue };
            so_far += own[n];
            given[n][bucket][0] += own[n] / p;
            given[n][bucket][1] += so_far / p;
        }
    }
    (given, log10)
}
