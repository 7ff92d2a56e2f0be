//! The smoothings besides Kneser-Ney, from raw counts, as back-off models.
//!
//! V is the size of the vocabulary with `<unk>` and `</s>` and without `<s>`; c(h) is the number of words that followed the
//! context h; h' is h without its first word. Whatever the smoothing, a context never seen gives what h' gives, so that every context
//! has a distribution that sums to 1. (With add-k it gives the uniform distribution, as its formula says.)

mod add_k;
mod jelinek_mercer;
mod katz;
mod kneser_ney;
mod mle;

#[cfg(test)]
pub(super) mod tests;

use std::ops::Range;

use anyhow::Result;
use rayon::prelude::*;

use self::add_k::add_k;
use self::jelinek_mercer::jelinek_mercer;
use self::katz::katz;
use self::kneser_ney::kneser_ney;
use self::mle::mle;
use super::link::{cut, spans};
use super::model::{Counts, Ngram, Smoothing};
use super::params::NgramParams;
use super::prune::{Pruning, prune};
use super::trie::{Level, Trie};
use super::words::BEGIN;
use inkstone_base::data::Report;
use inkstone_base::job::{Cancelled, Ctx};

/// Makes a model of counts as the parameters say, and reports what it found. `held_out`: documents on which nothing was counted, tokens
/// with spaces between them; for `jelinek-mercer`.
pub fn smooth(
    counts: Counts,
    params: &NgramParams,
    held_out: &[String],
    report: &mut Report,
    ctx: &Ctx,
) -> Result<Ngram> {
    report.fact("smoothing", params.smoothing);
    let orders = |fell_back: Vec<bool>| -> Vec<usize> {
        fell_back.iter().enumerate().filter(|(_, fell_back)| **fell_back).map(|(n, _)| n + 1).collect()
    };
    let pruning = &params.prune;
    let model = match params.smoothing {
        Smoothing::KneserNey => {
            let (model, discounts) = kneser_ney(counts, pruning, ctx)?;
            report.fact("discounts", discounts.iter().map(|d| d.by_count).collect::<Vec<_>>());
            report.fact("discount_fallback_orders", orders(discounts.iter().map(|d| d.fallback).collect()));
            model
        }
        Smoothing::Katz => {
            let (model, discounts) = katz(counts, pruning, ctx)?;
            report.fact("discounts", discounts.iter().map(|d| d.kept).collect::<Vec<_>>());
            report.fact("discount_fallback_orders", orders(discounts.iter().map(|d| d.fallback).collect()));
            model
        }
        Smoothing::JelinekMercer => {
            let (model, weights) = jelinek_mercer(counts, held_out, pruning, ctx)?;
            report.fact("held_out_documents", held_out.len());
            report.fact("weights", weights);
            model
        }
        Smoothing::AddK => {
            report.fact("k", params.k);
            add_k(counts, params.k, pruning, ctx)?
        }
        Smoothing::Mle => mle(counts, pruning, ctx)?,
    };
    report.fact("ngrams", model.sizes());
    report.fact("fitted_until", model.fitted_until);
    Ok(model)
}

/// A value for each entry, by level.
type ByLevel = Vec<Vec<f32>>;

/// Probabilities of all n-grams, and back-off weights of all but the longest.
struct Estimate {
    probability: ByLevel,
    backoff: ByLevel,
}

/// Vocabulary without `<s>`, which is never predicted.
fn predicted(trie: &Trie) -> f64 {
    (trie.levels[0].grams() - 1) as f64
}

/// Words counted, `<s>` apart.
fn all_words(counts: &Counts) -> f64 {
    let words = counts.counts[0].iter().enumerate().filter(|(word, _)| *word != BEGIN as usize);
    words.map(|(_, &count)| f64::from(count)).sum()
}

/// The sum of some counts.
fn sum(counts: &[u32]) -> f64 {
    counts.iter().map(|&count| u64::from(count)).sum::<u64>() as f64
}

impl Estimate {
    /// Smoothing with the probabilities of single words as its first level.
    fn of_words(mut probability: Vec<f32>) -> Estimate {
        probability[BEGIN as usize] = 1.0;
        Estimate { probability: vec![probability], backoff: Vec::new() }
    }

    /// Adds the next level. `estimate` fills the weight of a context and the probabilities of its continuations, given the
    /// context's entry, the entries of the continuations, and the probability of each after the context without its first word.
    fn push(
        &mut self,
        trie: &Trie,
        ctx: &Ctx,
        estimate: impl Fn(usize, Range<usize>, &dyn Fn(usize) -> f64, &mut [f32]) -> f64 + Sync,
    ) -> Result<(), Cancelled> {
        let n = self.probability.len();
        let (contexts, level) = (&trie.levels[n - 1], &trie.levels[n]);
        let shorter = |child: usize| f64::from(self.probability[n - 1][level.suffix[child] as usize]);
        let mut backoff = vec![1.0f32; contexts.grams()];
        let mut probability = vec![0.0f32; level.grams()];
        each_context(contexts, &mut backoff, &mut probability, ctx, |context, children, weight, out| {
            *weight = estimate(context, children, &shorter, out) as f32;
        })?;
        self.probability.push(probability);
        self.backoff.push(backoff);
        Ok(())
    }

    /// The model, without what is pruned: its probability goes to the shorter contexts.
    fn finish(mut self, counts: Counts, smoothing: Smoothing, pruning: &Pruning, ctx: &Ctx) -> Result<Ngram> {
        let Counts { words, trie, counts, fitted_until, documents } = counts;
        let limits = pruning.limits(trie.order())?;
        let pruned: Vec<Vec<bool>> = limits
            .iter()
            .zip(&counts)
            .map(|(&limit, counts)| counts.iter().map(|&count| limit > 0 && count <= limit).collect())
            .collect();
        let some = limits.iter().any(|&limit| limit > 0);
        if some {
            (1..trie.order()).try_for_each(|n| self.reweigh(&trie, n, &pruned[n], ctx))?;
        }
        let Estimate { probability: mut log10, mut backoff } = self;
        ctx.install(|| log10.iter_mut().chain(&mut backoff).for_each(|values| logarithms(values)));
        let trie = if some { prune(trie, &mut log10, &mut backoff, &pruned) } else { trie };
        Ok(Ngram { words, trie, log10, backoff, smoothing: Some(smoothing), fitted_until, documents })
    }

    /// Gives contexts that lose continuations the weight with which they still sum to 1.
    fn reweigh(&mut self, trie: &Trie, n: usize, pruned: &[bool], ctx: &Ctx) -> Result<(), Cancelled> {
        let (contexts, level) = (&trie.levels[n - 1], &trie.levels[n]);
        let (below, here) = self.probability.split_at_mut(n);
        each_context(contexts, &mut self.backoff[n - 1], &mut here[0], ctx, |_, children, weight, out| {
            let (mut kept, mut shorter, mut lost) = (0.0, 0.0, false);
            for (child, p) in children.zip(&*out) {
                match pruned[child] {
                    true => lost = true,
                    false => {
                        kept += f64::from(*p);
                        shorter += f64::from(below[n - 1][level.suffix[child] as usize]);
                    }
                }
            }
            if lost {
                *weight = ((1.0 - kept) / (1.0 - shorter)) as f32;
            }
        })
    }
}

/// Calls `each` with every context that has continuations, their entries, its weight and their probabilities.
pub(super) fn each_context(
    contexts: &Level,
    weights: &mut [f32],
    probabilities: &mut [f32],
    ctx: &Ctx,
    each: impl Fn(usize, Range<usize>, &mut f32, &mut [f32]) + Sync,
) -> Result<(), Cancelled> {
    let spans = spans(&contexts.first_child);
    let weights = cut(weights, spans.iter().map(|span| span.end));
    let outs = cut(probabilities, spans.iter().map(|span| contexts.first_child[span.end] as usize));
    ctx.install(|| {
        spans.into_par_iter().zip(weights).zip(outs).try_for_each(|((span, weights), out)| {
            ctx.check()?;
            let base = contexts.first_child[span.start] as usize;
            for (context, weight) in span.zip(weights) {
                let children = contexts.children(context as u32);
                if !children.is_empty() {
                    let own = children.start - base..children.end - base;
                    each(context, children, weight, &mut out[own]);
                }
            }
            Ok(())
        })
    })
}

/// log10 in place; of nothing it is -99, as in ARPA files.
fn logarithms(values: &mut [f32]) {
    values.par_iter_mut().for_each(|value| *value = value.log10().max(-99.0));
}
