//! Maximum likelihood: p(w | h) = c(h w) / c(h). A word that was not seen after h has probability 0, log10 -99.

use anyhow::Result;

use super::{Estimate, all_words, sum};
use crate::ngram::model::{Counts, Ngram, Smoothing};
use crate::ngram::prune::Pruning;
use inkstone_base::job::Ctx;

pub(super) fn mle(counts: Counts, pruning: &Pruning, ctx: &Ctx) -> Result<Ngram> {
    let all = all_words(&counts);
    let mut estimate = Estimate::of_words(counts.counts[0].iter().map(|&c| (f64::from(c) / all) as f32).collect());
    for seen in &counts.counts[1..] {
        estimate.push(&counts.trie, ctx, |_, children, _, out| {
            let seen = &seen[children];
            let total = sum(seen);
            out.iter_mut().zip(seen).for_each(|(p, &count)| *p = (f64::from(count) / total) as f32);
            0.0
        })?;
    }
    estimate.finish(counts, Smoothing::Mle, pruning, ctx)
}
