//! Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998; Heafield et al. 2013), number for number as lmplz.
//!
//! The adjusted count a of an n-gram is the number of different words seen before it; how often it was seen, where nothing can come
//! before it (the longest n-grams, and those that begin with `<s>`). With D the [discounts](super::discount) of its length,
//!
//! p(w | c) = (a(c w) - D(a(c w))) / S(c) + b(c) p(w | c'), S(c) = sum of a(c w) over w, b(c) = sum of D(a(c w)) over w / S(c),
//!
//! c' being c without its first word. Below single words lies the uniform distribution over the vocabulary with `<unk>` and
//! without `<s>`. An n-gram pruned away gives all of a(c w) to b(c), so every context still sums to 1. Sums run over the
//! continuations of one context in order, so they do not depend on threads.

use anyhow::Result;
use rayon::prelude::*;

use super::discount::Discounts;
use super::link::{cut, spans};
use super::model::{Counts, Ngram, Smoothing};
use super::prune::{Pruning, prune};
use super::trie::{Level, Trie};
use super::words::BEGIN;
use crate::job::{Cancelled, Ctx};

/// Makes the model. Also gives the discounts by length.
pub fn kneser_ney(counts: Counts, pruning: &Pruning, ctx: &Ctx) -> Result<(Ngram, Vec<Discounts>)> {
    let Counts { words, trie, counts, fitted_until, documents } = counts;
    let limits = pruning.limits(trie.order())?;
    let pruned: Option<Vec<Vec<bool>>> = limits.iter().any(|&limit| limit > 0).then(|| {
        limits.iter().zip(&counts).map(|(&limit, counts)| counts.iter().map(|&n| limit > 0 && n <= limit).collect()).collect()
    });
    let (discounts, mut log10, mut backoff) = ctx.install(|| -> Result<_, Cancelled> {
        let adjusted = adjust(&trie, counts, ctx)?;
        let discounts: Vec<Discounts> = adjusted.par_iter().map(|counts| Discounts::of(counts)).collect();
        let (log10, backoff) = estimate(&trie, adjusted, &discounts, pruned.as_deref(), ctx)?;
        Ok((discounts, log10, backoff))
    })?;
    let trie = match pruned {
        Some(pruned) => prune(trie, &mut log10, &mut backoff, &pruned),
        None => trie,
    };
    let smoothing = Some(Smoothing::KneserNey);
    Ok((Ngram { words, trie, log10, backoff, smoothing, fitted_until, documents }, discounts))
}

/// Adjusted counts by level, in place of the raw ones.
fn adjust(trie: &Trie, counts: Vec<Vec<u32>>, ctx: &Ctx) -> Result<Vec<Vec<u32>>, Cancelled> {
    // What begins with <s>, by level: neighbours, since they share their first word.
    let mut begun = vec![BEGIN as usize..BEGIN as usize + 1];
    for level in &trie.levels[..trie.order() - 1] {
        let last = &begun[begun.len() - 1];
        begun.push(level.first_child[last.start] as usize..level.first_child[last.end] as usize);
    }
    let mut adjusted: Vec<Vec<u32>> = (counts.into_par_iter().enumerate())
        .map(|(n, seen)| {
            ctx.check()?;
            let Some(longer) = trie.levels.get(n + 1) else { return Ok(seen) };
            let mut before = vec![0u32; seen.len()];
            longer.suffix.iter().for_each(|&entry| before[entry as usize] += 1);
            before[begun[n].clone()].copy_from_slice(&seen[begun[n].clone()]);
            Ok(before)
        })
        .collect::<Result<_, Cancelled>>()?;
    // <s> itself is never predicted.
    adjusted[0][BEGIN as usize] = 0;
    Ok(adjusted)
}

type ByLevel = Vec<Vec<f32>>;

/// log10 of probabilities and of back-off weights, by level.
fn estimate(
    trie: &Trie,
    adjusted: Vec<Vec<u32>>,
    discounts: &[Discounts],
    pruned: Option<&[Vec<bool>]>,
    ctx: &Ctx,
) -> Result<(ByLevel, ByLevel), Cancelled> {
    let (mut probabilities, mut backoffs): (ByLevel, ByLevel) = (Vec::new(), Vec::new());
    for (n, counts) in adjusted.into_iter().enumerate() {
        let level = LevelCounts { counts: &counts, discounts: discounts[n], pruned: pruned.map(|pruned| &*pruned[n]) };
        let (backoff, probability) = match n {
            0 => (None, words(&level)),
            _ => {
                let (backoff, probability) =
                    continuations(&trie.levels[n - 1], &trie.levels[n], &probabilities[n - 1], &level, ctx)?;
                (Some(backoff), probability)
            }
        };
        if let Some(shorter) = probabilities.last_mut() {
            logarithms(shorter);
        }
        backoffs.extend(backoff);
        probabilities.push(probability);
    }
    probabilities.last_mut().into_iter().for_each(|longest| logarithms(longest));
    backoffs.iter_mut().for_each(|weights| logarithms(weights));
    Ok((probabilities, backoffs))
}

/// log10 in place; of nothing it is -99, as in ARPA files.
fn logarithms(values: &mut [f32]) {
    values.par_iter_mut().for_each(|value| *value = value.log10().clamp(-99.0, 0.0));
}

/// Adjusted counts of a level and what is taken from them.
struct LevelCounts<'a> {
    counts: &'a [u32],
    discounts: Discounts,
    pruned: Option<&'a [bool]>,
}

impl LevelCounts<'_> {
    /// The sum of the counts of a context's continuations, and what is left of it for shorter contexts.
    fn sums(&self, entries: std::ops::Range<usize>) -> (f64, f64) {
        let (mut all, mut left) = (0u64, 0u64);
        let mut seen = [0u32; 3];
        for entry in entries {
            let count = self.counts[entry];
            all += u64::from(count);
            match count {
                _ if self.pruned.is_some_and(|pruned| pruned[entry]) => left += u64::from(count),
                0 => {}
                _ => seen[count.min(3) as usize - 1] += 1,
            }
        }
        let discounted: f64 = self.discounts.by_count.iter().zip(seen).map(|(d, n)| d * f64::from(n)).sum();
        (all as f64, discounted + left as f64)
    }

    fn discounted(&self, entry: usize) -> f64 {
        f64::from(self.counts[entry]) - self.discounts.from(self.counts[entry])
    }
}

/// Probabilities of single words.
fn words(level: &LevelCounts<'_>) -> Vec<f32> {
    let words = level.counts.len();
    let (all, left) = level.sums(0..words);
    let uniform = left / all / (words - 1) as f64;
    let mut probabilities: Vec<f32> =
        (0..words).map(|word| (level.discounted(word) / all + uniform) as f32).collect();
    probabilities[BEGIN as usize] = 1.0;
    probabilities
}

/// Back-off weights of a level's entries as contexts, and the probabilities of their continuations.
fn continuations(
    contexts: &Level,
    level: &Level,
    shorter: &[f32],
    counts: &LevelCounts<'_>,
    ctx: &Ctx,
) -> Result<(Vec<f32>, Vec<f32>), Cancelled> {
    let mut backoff = vec![1.0f32; contexts.len()];
    let mut probability = vec![0.0f32; level.len()];
    let spans = spans(&contexts.first_child);
    let weights = cut(&mut backoff, spans.iter().map(|span| span.end));
    let outs = cut(&mut probability, spans.iter().map(|span| contexts.first_child[span.end] as usize));
    spans.into_par_iter().zip(weights).zip(outs).try_for_each(|((span, weights), out)| {
        ctx.check()?;
        let base = contexts.first_child[span.start] as usize;
        for (context, weight) in span.zip(weights) {
            let children = contexts.children(context as u32);
            if children.is_empty() {
                continue;
            }
            let (all, left) = counts.sums(children.clone());
            let share = left / all;
            *weight = share as f32;
            for child in children {
                let below = f64::from(shorter[level.suffix[child] as usize]);
                out[child - base] = (counts.discounted(child) / all + share * below) as f32;
            }
        }
        Ok(())
    })?;
    Ok((backoff, probability))
}
