//! Katz back-off (Katz 1987) with Good-Turing discounts, as SRILM's default.
//!
//! p(w | h) = d(c) c(h w) / c(h) for what was seen c times, else alpha(h) p(w | h'), alpha such that it sums to 1. With n_r the
//! number of n-grams of a length that were seen r times, and r* = (r + 1) n_(r+1) / n_r: d(r) = (r*/r - m) / (1 - m) for r up to 5,
//! m = 6 n_6 / n_1, and d(r) = 1 above. Where that gives no number above 0 and at most 1 for one of them (a small corpus, characters), that
//! length takes d(r) = 1 - 0.5/r. A context that nothing is taken from counts one word more, so that something is left for what
//! was not seen (SRILM does the same). What single words leave is the probability of `<unk>`.

use anyhow::Result;

use super::{Estimate, all_words, sum};
use crate::ngram::model::{Counts, Ngram, Smoothing};
use crate::ngram::prune::Pruning;
use crate::ngram::words::{BEGIN, UNKNOWN};
use inkstone_base::job::Ctx;

/// The largest count that is discounted.
const LIMIT: usize = 5;
/// Taken from each of those counts where Good-Turing fails.
const FALLBACK: f64 = 0.5;
/// Below this nothing is left.
const NOTHING: f64 = 1e-9;

/// The discounts of one length of n-grams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turing {
    /// Share of each count, from 1 to [`LIMIT`], that is kept.
    pub(super) kept: [f64; LIMIT],
    /// True if Good-Turing failed.
    pub(super) fallback: bool,
}

impl Turing {
    fn new(counts: impl Iterator<Item = u32>) -> Turing {
        let mut with = [0u64; LIMIT + 2];
        counts.filter(|&count| count as usize <= LIMIT + 1).for_each(|count| with[count as usize] += 1);
        let n = with.map(|n| n as f64);
        let most = (LIMIT + 1) as f64 * n[LIMIT + 1] / n[1];
        let kept = std::array::from_fn(|i| {
            let r = (i + 1) as f64;
            ((r + 1.0) * n[i + 2] / n[i + 1] / r - most) / (1.0 - most)
        });
        match kept.iter().all(|&d: &f64| d > 0.0 && d <= 1.0) {
            true => Turing { kept, fallback: false },
            false => Turing { kept: std::array::from_fn(|i| 1.0 - FALLBACK / (i + 1) as f64), fallback: true },
        }
    }

    /// The share of a count that is kept.
    fn of_count(&self, count: u32) -> f64 {
        let kept = (count as usize).checked_sub(1).and_then(|i| self.kept.get(i)).unwrap_or(&1.0);
        kept * f64::from(count)
    }
}

/// Makes the model. Also gives the discounts by length.
pub(super) fn katz(counts: Counts, pruning: &Pruning, ctx: &Ctx) -> Result<(Ngram, Vec<Turing>)> {
    let words =
        counts.counts[0].iter().enumerate().filter(|(word, _)| *word != BEGIN as usize).map(|(_, &count)| count);
    let mut discounts = vec![Turing::new(words)];
    discounts.extend(counts.counts[1..].iter().map(|counts| Turing::new(counts.iter().copied())));

    let (all, turing) = (all_words(&counts), discounts[0]);
    let kept = |all: f64| counts.counts[0].iter().map(|&count| turing.of_count(count) / all).collect::<Vec<f64>>();
    let left =
        |p: &[f64]| 1.0 - p.iter().enumerate().filter(|(word, _)| *word != BEGIN as usize).map(|(_, p)| p).sum::<f64>();
    let mut first = kept(all);
    if left(&first) < NOTHING {
        first = kept(all + 1.0);
    }
    first[UNKNOWN as usize] += left(&first);
    let mut estimate = Estimate::of_words(first.iter().map(|&p| p as f32).collect());
    for (n, seen) in (1..).zip(&counts.counts[1..]) {
        let turing = discounts[n];
        estimate.push(&counts.trie, ctx, |_, children, shorter, out| {
            let seen = &seen[children.clone()];
            let kept: f64 = seen.iter().map(|&count| turing.of_count(count)).sum();
            let mut total = sum(seen);
            if total - kept < NOTHING * total {
                total += 1.0;
            }
            let unseen = 1.0 - children.map(shorter).sum::<f64>();
            if unseen < NOTHING {
                // Every word was seen here, and nothing can be left.
                total = kept;
            }
            out.iter_mut().zip(seen).for_each(|(p, &count)| *p = (turing.of_count(count) / total) as f32);
            if unseen < NOTHING { 1.0 } else { (1.0 - kept / total) / unseen }
        })?;
    }
    Ok((estimate.finish(counts, Smoothing::Katz, pruning, ctx)?, discounts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discounts(with: [usize; LIMIT + 1]) -> Turing {
        Turing::new((1..).zip(with).flat_map(|(count, n)| std::iter::repeat_n(count, n)).chain([0, 99]))
    }

    #[test]
    fn good_turing_discounts_are_as_by_hand() {
        // 6 n6 / n1 = 0.3; r*/r = 0.5, 0.9, 8/9, 15/16, 0.8.
        let turing = discounts([40, 10, 6, 4, 3, 2]);
        assert!(!turing.fallback);
        for (kept, ratio) in turing.kept.iter().zip([0.5, 0.9, 8.0 / 9.0, 15.0 / 16.0, 0.8]) {
            assert!((kept - (ratio - 0.3) / 0.7).abs() < 1e-12);
        }
        assert!((turing.of_count(2) - 2.0 * 6.0 / 7.0).abs() < 1e-12);
        assert_eq!((turing.of_count(0), turing.of_count(6)), (0.0, 6.0));
    }

    #[test]
    fn where_they_fail_half_a_count_is_taken() {
        for with in [[40, 10, 6, 4, 0, 2], [40, 10, 6, 4, 3, 0], [0, 10, 6, 4, 3, 2], [10, 10, 6, 4, 3, 9]] {
            let turing = discounts(with);
            assert!(turing.fallback, "{with:?}");
            assert_eq!(turing.kept.map(|kept| kept * 60.0), [30.0, 45.0, 50.0, 52.5, 54.0]);
        }
    }
}
