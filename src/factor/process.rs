//! Processing of one date's cross-section: winsorise, then neutralise, then standardise.

use std::collections::BTreeMap;

use crate::factor::{Control, Params, Standardise, Winsorise};
use crate::market::Market;
use crate::stats::{average_ranks, mean, quantile, variance};

/// A processed cross-section and what there was to note about it.
pub(super) struct Row {
    pub values: Vec<f64>,
    pub notes: Vec<(&'static str, u64)>,
}

/// Processes the raw values of date `t`, `[codes]`, NaN where there is none.
pub(super) fn row(raw: &[f64], t: usize, market: &Market, params: &Params) -> Row {
    let mut row = Row { values: vec![f64::NAN; raw.len()], notes: Vec::new() };
    let mut names: Vec<usize> = (0..raw.len()).filter(|&i| !raw[i].is_nan()).collect();
    let by_size = params.neutralise.contains(&Control::Size);
    if by_size {
        let before = names.len();
        names.retain(|&i| market.market_cap(t, i) > 0.0);
        row.note("values_dropped_without_market_cap", before - names.len());
    }
    if names.len() < params.min_names.max(1) {
        row.note("dates_with_too_few_names", usize::from(!names.is_empty()));
        row.note("values_on_dates_with_too_few_names", names.len());
        return row;
    }
    let mut x: Vec<f64> = names.iter().map(|&i| raw[i]).collect();
    winsorise(&mut x, params.winsorise);
    if !params.neutralise.is_empty() {
        let industry = |i: usize| match params.neutralise.contains(&Control::Industry) {
            true => market.industry(t, i),
            false => None,
        };
        let groups: Vec<Option<u32>> = names.iter().map(|&i| industry(i)).collect();
        let size: Option<Vec<f64>> = by_size.then(|| names.iter().map(|&i| market.market_cap(t, i).ln()).collect());
        neutralise(&mut x, &groups, size.as_deref());
    }
    standardise(&mut x, params.standardise);
    for (i, value) in names.into_iter().zip(x) {
        row.values[i] = value;
    }
    row
}

impl Row {
    fn note(&mut self, note: &'static str, n: usize) {
        if n > 0 {
            self.notes.push((note, n as u64));
        }
    }
}

/// Pulls outliers in to the bounds of the rule. A MAD of 0 (more than half of the names alike) gives no scale, and the values
/// stay: pulling everything to the median would erase the factor.
fn winsorise(x: &mut [f64], rule: Winsorise) {
    let sorted = |x: &[f64]| {
        let mut sorted = x.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let around_median = |x: &[f64], k: f64| {
        let median = quantile(&sorted(x), 0.5);
        let deviations: Vec<f64> = x.iter().map(|v| (v - median).abs()).collect();
        let mad = quantile(&sorted(&deviations), 0.5);
        (mad > 0.0).then_some((median - k * mad, median + k * mad))
    };
    let bounds = match rule {
        Winsorise::None => None,
        Winsorise::Mad(k) => around_median(x, k * 1.4826),
        Winsorise::RawMad(k) => around_median(x, k),
        Winsorise::Quantile(q) => {
            let sorted = sorted(x);
            Some((quantile(&sorted, q), quantile(&sorted, 1.0 - q)))
        }
    };
    if let Some((low, high)) = bounds {
        x.iter_mut().for_each(|v| *v = v.clamp(low, high));
    }
}

/// The residual of an OLS regression on group dummies and, if given, one more regressor.
///
/// By the theorem of Frisch, Waugh and Lovell this is exact: demean both within groups, then take out the one slope.
fn neutralise(x: &mut [f64], groups: &[Option<u32>], size: Option<&[f64]>) {
    let demean = |values: &mut [f64]| {
        let mut sums: BTreeMap<Option<u32>, (f64, f64)> = BTreeMap::new();
        for (group, value) in groups.iter().zip(values.iter()) {
            let (sum, n) = sums.entry(*group).or_default();
            *sum += value;
            *n += 1.0;
        }
        for (group, value) in groups.iter().zip(values.iter_mut()) {
            let (sum, n) = sums[group];
            *value -= sum / n;
        }
    };
    demean(x);
    let Some(size) = size else { return };
    let mut size = size.to_vec();
    demean(&mut size);
    let variation: f64 = size.iter().map(|s| s * s).sum();
    if variation > 0.0 {
        let slope = x.iter().zip(&size).map(|(x, s)| x * s).sum::<f64>() / variation;
        x.iter_mut().zip(&size).for_each(|(x, s)| *x -= slope * s);
    }
}

/// Puts values on the scale of the rule. Values that are all alike become 0.
fn standardise(x: &mut [f64], rule: Standardise) {
    let n = x.len() as f64;
    match rule {
        Standardise::None => {}
        Standardise::Zscore { ddof } => {
            let mean = mean(x.iter().copied());
            let scale = variance(x, ddof).sqrt();
            // Below the rounding of the mean there is no variation, only noise.
            let flat = scale.is_nan() || scale <= 1e-12 * mean.abs().max(f64::MIN_POSITIVE);
            x.iter_mut().for_each(|v| *v = if flat { 0.0 } else { (*v - mean) / scale });
        }
        Standardise::Rank => {
            let ranks = average_ranks(x);
            x.iter_mut().zip(ranks).for_each(|(v, r)| *v = if n > 1.0 { (2.0 * r - n - 1.0) / (n - 1.0) } else { 0.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn outliers_are_pulled_to_the_bounds() {
        // Median 3, deviations 2 1 0 1 97: MAD 1.
        let x = [1.0, 2.0, 3.0, 4.0, 100.0];
        let with = |rule| {
            let mut y = x.to_vec();
            winsorise(&mut y, rule);
            y
        };
        assert_eq!(with(Winsorise::RawMad(5.0)), [1.0, 2.0, 3.0, 4.0, 8.0]);
        assert_eq!(with(Winsorise::Mad(1.0))[4], 3.0 + 1.4826);
        assert_eq!(with(Winsorise::Quantile(0.25)), [2.0, 2.0, 3.0, 4.0, 4.0]);
        let mut alike = vec![0.0, 0.0, 0.0, 0.0, 5.0];
        winsorise(&mut alike, Winsorise::Mad(3.0));
        assert_eq!(alike[4], 5.0, "a MAD of 0 gives no scale");
    }

    #[test]
    fn standard_scales_equal_those_by_hand() {
        let mut z = vec![1.0, 2.0, 3.0];
        standardise(&mut z, Standardise::Zscore { ddof: 1 });
        assert_eq!(z, [-1.0, 0.0, 1.0]);
        let mut rank = vec![5.0, 5.0, 9.0, 1.0, 7.0];
        standardise(&mut rank, Standardise::Rank);
        assert_eq!(rank, [-0.25, -0.25, 1.0, -1.0, 0.5]);
        let mut flat = vec![0.1, 0.1, 0.1];
        standardise(&mut flat, Standardise::Zscore { ddof: 1 });
        assert_eq!(flat, [0.0, 0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn residuals_are_orthogonal_to_what_was_regressed_out(
            rows in prop::collection::vec((-5.0f64..5.0, 0u32..4, 18.0f64..28.0), 3..60)
        ) {
            let mut x: Vec<f64> = rows.iter().map(|r| r.0).collect();
            let groups: Vec<Option<u32>> = rows.iter().map(|r| (r.1 > 0).then_some(r.1)).collect();
            let size: Vec<f64> = rows.iter().map(|r| r.2).collect();
            neutralise(&mut x, &groups, Some(&size));
            for group in &groups {
                let sum: f64 = x.iter().zip(&groups).filter(|(_, g)| *g == group).map(|(x, _)| x).sum();
                prop_assert!(sum.abs() < 1e-9);
            }
            let along: f64 = x.iter().zip(&size).map(|(x, s)| x * s).sum();
            prop_assert!(along.abs() < 1e-7);
        }
    }
}
