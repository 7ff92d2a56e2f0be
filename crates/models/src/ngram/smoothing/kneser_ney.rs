//! Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998; Heafield et al. 2013), number for number as lmplz.
//!
//! The adjusted count a of an n-gram is the number of different words seen before it; how often it was seen, where nothing can come
//! before it (the longest n-grams, and those that begin with `<s>`). With D the [discounts](crate::ngram::discount) of its length,
//!
//! p(w | c) = (a(c w) - D(a(c w))) / S(c) + b(c) p(w | c'), S(c) = sum of a(c w) over w, b(c) = sum of D(a(c w)) over w / S(c),
//!
//! c' being c without its first word. Below single words lies the uniform distribution over the vocabulary with `<unk>` and
//! without `<s>`. An n-gram pruned away gives all of a(c w) to b(c), so every context still sums to 1. Sums run over the
//! continuations of one context in order, so they do not depend on threads.

use anyhow::Result;
use rayon::prelude::*;

use super::each_context;
use crate::ngram::discount::Discounts;
use crate::ngram::model::{Counts, Ngram, Smoothing};
use crate::ngram::prune::{Pruning, prune};
use crate::ngram::trie::{Level, Trie};
use crate::ngram::words::BEGIN;
use inkstone_base::job::{Cancelled, Ctx};

/// Makes the model. Also gives the discounts by length.
pub(crate) fn kneser_ney(counts: Counts, pruning: &Pruning, ctx: &Ctx) -> Result<(Ngram, Vec<Discounts>)> {
    let Counts { words, trie, counts, fitted_until, documents } = counts;
    let limits = pruning.limits(trie.order())?;
    let pruned: Option<Vec<Vec<bool>>> = limits.iter().any(|&limit| limit > 0).then(|| {
        limits
            .iter()
            .zip(&counts)
            .map(|(&limit, counts)| counts.iter().map(|&n| limit > 0 && n <= limit).collect())
            .collect()
    });
    let (discounts, mut log10, mut backoff) = ctx.install(|| -> Result<_, Cancelled> {
        let adjusted = adjust(&trie, counts, ctx)?;
        let discounts: Vec<Discounts> = adjusted.par_iter().map(|counts| Discounts::new(counts)).collect();
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
    // N-grams that begin with <s>, by level: neighbours, since they share their first word.
    let marks = BEGIN as usize..BEGIN as usize + 1;
    let begun = trie.levels.iter().scan(marks, |entries, level| {
        let next = (level.first_child.get(entries.start), level.first_child.get(entries.end));
        let longer = if let (Some(&start), Some(&end)) = next { start as usize..end as usize } else { 0..0 };
        Some(std::mem::replace(entries, longer))
    });
    let begun: Vec<std::ops::Range<usize>> = begun.collect();
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
            logarithms(shorter, ctx)?;
        }
        backoffs.extend(backoff);
        probabilities.push(probability);
    }
    probabilities.last_mut().into_iter().chain(&mut backoffs).try_for_each(|values| logarithms(values, ctx))?;
    Ok((probabilities, backoffs))
}

/// log10 in place; of nothing it is -99, as in ARPA files.
fn logarithms(values: &mut [f32], ctx: &Ctx) -> Result<(), Cancelled> {
    values.par_chunks_mut(1 << 16).try_for_each(|values| {
        ctx.check()?;
        values.iter_mut().for_each(|value| *value = value.log10().clamp(-99.0, 0.0));
        Ok(())
    })
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
    let mut probabilities: Vec<f32> = (0..words).map(|word| (level.discounted(word) / all + uniform) as f32).collect();
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
    let mut backoff = vec![1.0f32; contexts.grams()];
    let mut probability = vec![0.0f32; level.grams()];
    each_context(contexts, &mut backoff, &mut probability, ctx, |_, children, weight, out| {
        let (all, left) = counts.sums(children.clone());
        let share = left / all;
        *weight = share as f32;
        for (child, probability) in children.zip(out) {
            let below = f64::from(shorter[level.suffix[child] as usize]);
            *probability = (counts.discounted(child) / all + share * below) as f32;
        }
    })?;
    Ok((backoff, probability))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::ngram::count::{Counter, Room};

    fn model(text: &str, order: usize, prune: &[u32], threads: usize) -> (Ngram, Vec<Discounts>) {
        let ctx = Ctx::new(threads, 1).unwrap();
        let mut counter = Counter::new(order, &Room::in_folder(Path::new(""))).unwrap();
        let mut coder = counter.coder();
        text.lines().for_each(|line| coder.document(line.split_whitespace(), None));
        let coded = coder.finish();
        counter.take(&coded, &ctx).unwrap();
        kneser_ney(counter.finish(&ctx).unwrap(), &Pruning(prune.to_vec()), &ctx).unwrap()
    }

    /// Each n-gram's log10 probability and back-off, by its words.
    fn listed(model: &Ngram) -> BTreeMap<String, (f32, f32)> {
        let mut listed = BTreeMap::new();
        let mut grams: Vec<String> = model.words.iter().map(str::to_owned).collect();
        for (n, level) in model.trie.levels.iter().enumerate() {
            for (entry, gram) in grams.iter().enumerate() {
                let backoff = model.backoff.get(n).map_or(0.0, |weights| weights[entry]);
                listed.insert(gram.clone(), (model.log10[n][entry], backoff));
            }
            if let Some(next) = model.trie.levels.get(n + 1) {
                let children = |entry| level.children(entry).map(|child| model.words.get(next.word[child]));
                let grown = (0..).zip(&grams).flat_map(|(entry, gram)| {
                    children(entry).map(move |word| format!("{gram} {word}")).collect::<Vec<_>>()
                });
                grams = grown.collect();
            }
        }
        listed
    }

    /// log10 p(word | context), by the definition of back-off.
    fn log10(model: &Ngram, context: &[u32], word: u32) -> f64 {
        let context = &context[context.len().saturating_sub(model.order() - 1)..];
        let gram = [context, &[word]].concat();
        match (model.trie.find(&gram), context) {
            (Some(entry), _) => model.log10[context.len()][entry as usize].into(),
            (None, []) => model.log10[0][0].into(),
            (None, [_, rest @ ..]) => {
                let weight =
                    model.trie.find(context).map_or(0.0, |entry| model.backoff[context.len() - 1][entry as usize]);
                f64::from(weight) + log10(model, rest, word)
            }
        }
    }

    const TEXT: &str = include_str!("../../../../../tests/reference/kenlm/text.txt");

    #[test]
    fn every_n_gram_has_the_numbers_that_lmplz_gives_it() {
        let order3 = include_str!("../../../../../tests/reference/kenlm/order3.arpa");
        let pruned = include_str!("../../../../../tests/reference/kenlm/order4-pruned.arpa");
        for (arpa, order, prune) in [(order3, 3, &[][..]), (pruned, 4, &[0, 0, 1])] {
            let ours = listed(&model(TEXT, order, prune, 2).0);
            let rows = arpa.lines().filter(|line| line.contains('\t'));
            let theirs: BTreeMap<&str, (f32, f32)> = rows
                .map(|row| {
                    let fields: Vec<&str> = row.split('\t').collect();
                    let number = |at: usize| fields.get(at).map_or(0.0, |field| field.parse().unwrap());
                    (fields[1], (number(0), number(2)))
                })
                .collect();
            assert!(ours.keys().eq(theirs.keys()), "order {order}");
            for ((gram, ours), theirs) in ours.iter().zip(theirs.values()) {
                let far = (ours.0 - theirs.0).abs().max((ours.1 - theirs.1).abs());
                assert!(far < 2e-6, "order {order}, {gram}: {ours:?}, and lmplz has {theirs:?}");
            }
        }
    }

    #[test]
    fn the_report_says_where_fixed_discounts_were_taken() {
        // lmplz says of this text: substituting fallback discounts for single words.
        let (_, discounts) = model(TEXT, 3, &[], 1);
        assert_eq!(discounts.iter().map(|d| d.fallback).collect::<Vec<_>>(), [true, false, false]);
        let second = [0.923077, 1.07692, 3.0];
        assert!(discounts[1].by_count.iter().zip(second).all(|(ours, theirs)| (ours - theirs).abs() < 1e-5));
        // Characters: two texts are far too few for the closed form, and there is a model all the same.
        let (tiny, discounts) = model("利 润 增 长\n利 润 下 滑", 3, &[], 1);
        assert!(discounts.iter().all(|d| d.fallback) && tiny.log10.iter().flatten().all(|p| p.is_finite()));
    }

    #[test]
    fn threads_change_nothing() {
        let one = model(TEXT, 5, &[0, 0, 1], 1);
        assert!([2, 8].iter().all(|&threads| model(TEXT, 5, &[0, 0, 1], threads) == one));
    }

    #[test]
    fn limits_that_cannot_work_are_refused() {
        let message = |limits: &[u32]| Pruning(limits.to_vec()).limits(3).unwrap_err().to_string();
        assert!(message(&[1]).contains("--prune 1 would leave out single words"));
        assert!(message(&[0, 2, 1]).contains("--prune 0,2,1 falls"));
        assert!(message(&[0, 0, 0, 1]).contains("limits for 4 lengths") && message(&[0; 4]).contains("--order is 3"));
        assert_eq!(Pruning(vec![0, 1]).limits(4).unwrap(), [0, 1, 1, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// After any context, seen or not, the probabilities of all words and `</s>` sum to 1.
        #[test]
        fn every_context_sums_to_one(
            documents in prop::collection::vec("([甲乙丙丁子丑寅] ){1,9}", 2..40),
            order in 1usize..=3,
            limit in 0u32..3,
            context in prop::collection::vec(0u32..9, 0..4),
        ) {
            let mut text = documents.join("\n");
            text.push_str("\n甲 乙");
            let (model, _) = model(&text, order, &[0, limit][..order.min(2)], 1);
            let mut context: Vec<u32> =
                context.into_iter().filter(|&word| word != 2 && (word as usize) < model.words.len()).collect();
            // <s> stands at the beginning alone.
            context.iter_mut().skip(1).for_each(|word| *word = if *word == BEGIN { 0 } else { *word });
            let words = (0..model.words.len() as u32).filter(|&word| word != BEGIN);
            let sum: f64 = words.map(|word| 10f64.powf(log10(&model, &context, word))).sum();
            prop_assert!((sum - 1.0).abs() < 1e-5, "{sum} after {context:?}");
        }
    }
}
