//! Additive smoothing: p(w | h) = (c(h w) + k) / (c(h) + k V); k = 1 is Laplace's rule.
//!
//! h is the whole context, `order - 1` words or back to `<s>`; there is no recourse to shorter ones. As a back-off model, contexts
//! of any other length give the uniform distribution 1/V, and a whole one falls back to that with weight k V / (c(h) + k V).

use anyhow::Result;

use super::{Estimate, all_words, predicted, sum};
use crate::ngram::model::{Counts, Ngram, Smoothing};
use crate::ngram::prune::Pruning;
use crate::ngram::words::BEGIN;
use inkstone_base::job::Ctx;

/// Makes the model; `k` is above 0.
pub(super) fn add_k(counts: Counts, k: f64, pruning: &Pruning, ctx: &Ctx) -> Result<Ngram> {
    let trie = &counts.trie;
    let (order, words) = (trie.order(), predicted(trie));
    let first = match order {
        1 => {
            let all = all_words(&counts);
            counts.counts[0].iter().map(|&c| ((f64::from(c) + k) / (all + k * words)) as f32).collect()
        }
        _ => vec![(1.0 / words) as f32; trie.levels[0].grams()],
    };
    let mut estimate = Estimate::of_words(first);
    // Contexts that begin with <s>: neighbours, since they share their first word.
    let mut begun = BEGIN as usize..BEGIN as usize + 1;
    for (n, seen) in (1..).zip(&counts.counts[1..]) {
        estimate.push(trie, ctx, |context, children, _, out| {
            if n < order - 1 && !begun.contains(&context) {
                out.fill((1.0 / words) as f32);
                return 1.0;
            }
            let seen = &seen[children];
            let total = sum(seen) + k * words;
            out.iter_mut().zip(seen).for_each(|(p, &count)| *p = ((f64::from(count) + k) / total) as f32);
            k * words / total
        })?;
        let children = &trie.levels[n - 1].first_child;
        begun = children[begun.start] as usize..children[begun.end] as usize;
    }
    estimate.finish(counts, Smoothing::AddK, pruning, ctx)
}
