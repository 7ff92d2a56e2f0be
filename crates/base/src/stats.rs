//! Statistics that several rooms share, each defined once, so that a factor's ranks are those of its RankIC and of the
//! demo's truth.
//!
//! NaN stands for "no value": means and deviations leave it out, and [`complete`] drops the pairs that have one. Ranks,
//! quantiles and correlations take values without NaN. An undefined figure is NaN, never 0. Sums run in the order given.

/// Mean of what is there; NaN of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.filter(|v| !v.is_nan()).fold((0.0, 0usize), |(sum, n), v| (sum + v, n + 1));
    if n > 0 { sum / n as f64 } else { f64::NAN }
}

/// Variance of what is there, the sum of squares divided by their number less `ddof`; NaN of `ddof` values or fewer.
pub fn variance(values: &[f64], ddof: u8) -> f64 {
    let mean = mean(values.iter().copied());
    let there = values.iter().filter(|v| !v.is_nan());
    let n = there.clone().count();
    if n <= usize::from(ddof) {
        return f64::NAN;
    }
    there.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - usize::from(ddof)) as f64
}

/// Standard deviation (ddof 1) of what is there; NaN of fewer than two.
pub fn std(values: &[f64]) -> f64 {
    variance(values, 1).sqrt()
}

/// Quantile of ascending values, linear between neighbours as numpy's default; NaN of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q * last as f64;
    let below = place.floor() as usize;
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    // numpy's two-sided form, which is exact at both ends.
    let share = place - below as f64;
    if share < 0.5 { a + (b - a) * share } else { b - (b - a) * (1.0 - share) }
}

/// Ranks from 1, ties at their average.
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    ranks_along(values, ascending(values.iter().copied()))
}

/// Places of the values that are there, by ascending value.
pub fn ascending(values: impl Iterator<Item = f64>) -> Vec<u32> {
    // Values travel with their places: sorting places alone would jump about in memory at each comparison.
    let there = values.zip(0..).filter(|(value, _)| !value.is_nan());
    let mut order: Vec<(u64, u32)> = there.map(|(value, place)| (sort_key(value), place)).collect();
    order.sort_unstable_by_key(|(key, _)| *key);
    order.into_iter().map(|(_, place)| place).collect()
}

/// A whole number that is ordered as the number is by [`f64::total_cmp`], and is compared more quickly.
fn sort_key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Ranks from 1 among the places of `order`, which ascends by value, ties at their average; NaN for all other places.
pub fn ranks_along(values: &[f64], order: impl IntoIterator<Item = u32>) -> Vec<f64> {
    let mut ranks = vec![f64::NAN; values.len()];
    let mut tied: Vec<u32> = Vec::new();
    let mut below = 0;
    let mut rank_tied = |tied: &mut Vec<u32>| {
        let rank = below as f64 + (tied.len() + 1) as f64 / 2.0;
        below += tied.len();
        tied.drain(..).for_each(|place| ranks[place as usize] = rank);
    };
    for place in order {
        if tied.last().is_some_and(|&last| values[last as usize] != values[place as usize]) {
            rank_tied(&mut tied);
        }
        tied.push(place);
    }
    rank_tied(&mut tied);
    ranks
}

/// Pearson's correlation; NaN when either side does not vary or there are fewer than two pairs.
pub fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (x - mean_x, y - mean_y);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    // Equal values can differ from their mean by rounding alone.
    let flat = |squares: f64, mean: f64| squares <= n * (1e-14 * mean).powi(2);
    if x.len() < 2 || flat(xx, mean_x) || flat(yy, mean_y) {
        return f64::NAN;
    }
    (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0)
}

/// Spearman's correlation: Pearson's of average ranks.
pub fn spearman(x: &[f64], y: &[f64]) -> f64 {
    pearson(&average_ranks(x), &average_ranks(y))
}

/// The pairs without NaN on either side.
pub fn complete(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    x.iter().zip(y).filter(|(x, y)| !x.is_nan() && !y.is_nan()).unzip()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_there_is_left_out() {
        let x = [1.0, f64::NAN, 2.0, 6.0];
        assert_eq!((mean(x.into_iter()), variance(&x, 0), std(&x)), (3.0, 14.0 / 3.0, 7f64.sqrt()));
        assert!(mean([f64::NAN].into_iter()).is_nan() && std(&[1.0]).is_nan() && variance(&[], 0).is_nan());
        assert_eq!(variance(&[1.0], 0), 0.0);
        assert_eq!(complete(&x, &[5.0, 6.0, f64::NAN, 8.0]), (vec![1.0, 6.0], vec![5.0, 8.0]));
    }

    #[test]
    fn quantiles_equal_those_of_numpy() {
        // numpy.quantile([0.1, 0.2, 0.4, 0.8], [0, .3, .5, .9, 1]); the last is exact.
        let sorted = [0.1, 0.2, 0.4, 0.8];
        assert_eq!([0.0, 1.0].map(|q| quantile(&sorted, q)), [0.1, 0.8]);
        for (q, expected) in [(0.3, 0.19), (0.5, 0.3), (0.9, 0.68)] {
            assert!((quantile(&sorted, q) - expected).abs() < 1e-15, "{q}");
        }
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn ties_share_the_average_rank() {
        assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        // Ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: 4.5 / sqrt(4.5 * 5).
        let r = spearman(&[0.1, 0.5, 0.5, 2.0], &[-1.0, 3.0, 0.0, 9.0]);
        assert!((r - 4.5 / (4.5_f64 * 5.0).sqrt()).abs() < 1e-15, "{r}");
        // Without ties 1 - 6 x 2 / (4 x 15): differences of ranks 0, 1, -1, 0.
        assert!((spearman(&[1.0, 2.0, 3.0, 4.0], &[10.0, 30.0, 20.0, 40.0]) - 0.8).abs() < 1e-15);
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        assert!(pearson(&[0.1, 0.1, 0.1], &[1.0, 2.0, 3.0]).is_nan());
        assert!(pearson(&[1.0], &[1.0]).is_nan() && pearson(&[], &[]).is_nan());
    }

    proptest! {
        #[test]
        fn ranks_sum_to_those_without_ties_and_follow_the_values(x in prop::collection::vec(-3i8..3, 0..40)) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let (ranks, n) = (average_ranks(&x), x.len() as f64);
            prop_assert_eq!(ranks.iter().sum::<f64>(), n * (n + 1.0) / 2.0);
            for (a, ra) in x.iter().zip(&ranks) {
                let below = x.iter().filter(|b| *b < a).count() as f64;
                let equal = x.iter().filter(|b| *b == a).count() as f64;
                prop_assert_eq!(*ra, below + (equal + 1.0) / 2.0);
            }
        }
    }
}
