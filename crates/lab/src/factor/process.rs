//! Processing of one date's cross-section: winsorise, fill, neutralise, standardise, in this order.

use std::collections::BTreeMap;

use super::grid::DayGrid;
use crate::factor::{Control, Fill, Params, Standardise, Winsorise};
use inkstone_base::stats::{average_ranks, mean, quantile, variance};
use inkstone_market::Market;

/// A processed cross-section and what there was to note about it.
pub(super) struct DateRow {
    /// Numbers of the codes that have a value, with their values.
    pub values: Vec<(usize, f64)>,
    pub notes: Vec<(String, u64)>,
    /// True if names without a value were given one.
    pub filled: bool,
}

/// Processes the raw values of date `t`, `[codes]`, NaN where there is none. `controls` are regressed out beside industry and size.
pub(super) fn row(raw: &[f64], t: usize, market: &Market, params: &Params, controls: &[(&str, &DayGrid)]) -> DateRow {
    let mut row = DateRow { values: Vec::new(), notes: Vec::new(), filled: false };
    let mut names: Vec<usize> = (0..raw.len()).filter(|&i| raw[i].is_finite()).collect();
    let mut x: Vec<f64> = names.iter().map(|&i| raw[i]).collect();
    if enough(&mut row, &names, params) {
        winsorise(&mut x, params.winsorise);
    } else {
        return row;
    }
    if params.fill != Fill::None {
        let empty: Vec<usize> = (0..raw.len()).filter(|&i| !raw[i].is_finite() && market.traded(t, i)).collect();
        let industries = |names: &[usize]| names.iter().map(|&i| market.industry(t, i)).collect::<Vec<_>>();
        let filling = fill(&x, &industries(&names), &industries(&empty), params.fill);
        row.note("values_filled", empty.len());
        row.filled = !empty.is_empty();
        let mut all: Vec<(usize, f64)> = names.into_iter().zip(x).chain(empty.into_iter().zip(filling)).collect();
        all.sort_unstable_by_key(|(i, _)| *i);
        (names, x) = all.into_iter().unzip();
    }
    if !params.neutralise.is_empty() {
        let by_size = params.neutralise.contains(&Control::Size);
        let size = by_size.then(|| ("market cap", raw_sizes(t, market)));
        let others = controls.iter().map(|(name, grid)| (*name, grid.row(t).to_vec()));
        let mut on: Vec<(&str, Vec<f64>)> = size.into_iter().chain(others).collect();
        for (name, control) in &on {
            let before = names.len();
            let there: Vec<bool> = names.iter().map(|&i| control[i].is_finite()).collect();
            let mut kept = there.iter();
            names.retain(|_| *kept.next().expect("one for each name"));
            let mut kept = there.iter();
            x.retain(|_| *kept.next().expect("one for each name"));
            row.note(&format!("values_without_{}", name.replace(' ', "_")), before - names.len());
        }
        if !enough(&mut row, &names, params) {
            return row;
        }
        let industry = |i: usize| match params.neutralise.contains(&Control::Industry) {
            true => market.industry(t, i),
            false => None,
        };
        let groups: Vec<Option<u32>> = names.iter().map(|&i| industry(i)).collect();
        let on: Vec<Vec<f64>> = on.drain(..).map(|(_, control)| names.iter().map(|&i| control[i]).collect()).collect();
        residuals(&mut x, &groups, &on);
    }
    standardise(&mut x, params.standardise);
    row.values = names.into_iter().zip(x).collect();
    row
}

/// True if the date has the names that it needs; otherwise the date is noted.
fn enough(row: &mut DateRow, names: &[usize], params: &Params) -> bool {
    let enough = names.len() >= params.min_names.max(1);
    if !enough {
        row.note("dates_with_too_few_names", usize::from(!names.is_empty()));
        row.note("values_on_dates_with_too_few_names", names.len());
    }
    enough
}

/// Logarithms of the market capitalisations, `[codes]`; NaN where it is unknown.
fn raw_sizes(t: usize, market: &Market) -> Vec<f64> {
    let size = |i: usize| match market.market_cap(t, i) {
        cap if cap > 0.0 => cap.ln(),
        _ => f64::NAN,
    };
    (0..market.codes().len()).map(size).collect()
}

impl DateRow {
    fn note(&mut self, note: &str, n: usize) {
        if n > 0 {
            self.notes.push((note.to_owned(), n as u64));
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

/// Values for names without one, by their industries.
fn fill(x: &[f64], industries: &[Option<u32>], empty: &[Option<u32>], rule: Fill) -> Vec<f64> {
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    let median_of_all = median(x.to_vec());
    match rule {
        Fill::None => vec![f64::NAN; empty.len()],
        Fill::Zero => vec![0.0; empty.len()],
        Fill::Median => vec![median_of_all; empty.len()],
        Fill::Industry => {
            let mut members: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
            for (industry, value) in industries.iter().zip(x) {
                members.entry(*industry).or_default().push(*value);
            }
            let medians: BTreeMap<Option<u32>, f64> = members.into_iter().map(|(k, v)| (k, median(v))).collect();
            empty.iter().map(|industry| medians.get(industry).copied().unwrap_or(median_of_all)).collect()
        }
    }
}

/// The residual of an OLS regression on group dummies and further regressors.
///
/// By the theorem of Frisch, Waugh and Lovell this is exact: all are demeaned within groups; then each regressor is made orthogonal
/// to those before it (twice, which rounding needs) and its share taken out of `x`. A regressor that the others explain takes
/// out nothing. Gives the share of the squares within groups that is left; what the regressors explain wholly leaves rounding alone.
pub(crate) fn residuals(x: &mut [f64], groups: &[Option<u32>], on: &[Vec<f64>]) -> f64 {
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
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let take_out = |values: &mut [f64], direction: &[f64]| {
        let share = product(values, direction) / product(direction, direction);
        values.iter_mut().zip(direction).for_each(|(value, direction)| *value -= share * direction);
    };
    demean(x);
    let all = product(x, x);
    let mut directions: Vec<Vec<f64>> = Vec::with_capacity(on.len());
    for regressor in on {
        let mut direction = regressor.clone();
        demean(&mut direction);
        let before = product(&direction, &direction);
        for _ in 0..2 {
            directions.iter().for_each(|earlier| take_out(&mut direction, earlier));
        }
        if product(&direction, &direction) > 1e-20 * before.max(f64::MIN_POSITIVE) {
            directions.push(direction);
        }
    }
    for _ in 0..2 {
        directions.iter().for_each(|direction| take_out(x, direction));
    }
    product(x, x) / all
}

/// Share of squares below which a residual of ranks is rounding, or a few names that changed places.
pub(crate) const NOTHING_LEFT: f64 = 1e-6;

/// Puts values on the scale of the rule. Values that are all alike become 0.
pub(super) fn standardise(x: &mut [f64], rule: Standardise) {
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

    #[test]
    fn empty_names_are_filled_by_the_rule() {
        let (x, industries, empty) = ([1.0, 2.0, 9.0], [Some(0), Some(0), None], [Some(0), Some(1), None]);
        let by = |rule| fill(&x, &industries, &empty, rule);
        assert_eq!(by(Fill::Zero), [0.0; 3]);
        assert_eq!(by(Fill::Median), [2.0; 3]);
        assert_eq!(by(Fill::Industry), [1.5, 2.0, 9.0], "an industry without values has the median of all");
    }

    proptest! {
        #[test]
        fn residuals_are_orthogonal_to_what_was_regressed_out(
            rows in prop::collection::vec((-5.0f64..5.0, 0u32..4, 18.0f64..28.0, -1.0f64..1.0), 3..60)
        ) {
            let mut x: Vec<f64> = rows.iter().map(|r| r.0).collect();
            let groups: Vec<Option<u32>> = rows.iter().map(|r| (r.1 > 0).then_some(r.1)).collect();
            let size: Vec<f64> = rows.iter().map(|r| r.2).collect();
            let other: Vec<f64> = rows.iter().map(|r| r.3 + r.2 / 10.0).collect();
            let twice: Vec<f64> = size.iter().map(|s| 2.0 * s + 1.0).collect();
            residuals(&mut x, &groups, &[size.clone(), twice, other.clone()]);
            for group in &groups {
                let sum: f64 = x.iter().zip(&groups).filter(|(_, g)| *g == group).map(|(x, _)| x).sum();
                prop_assert!(sum.abs() < 1e-9);
            }
            for on in [size, other] {
                let along: f64 = x.iter().zip(&on).map(|(x, s)| x * s).sum();
                prop_assert!(along.abs() < 1e-7);
            }
        }
    }
}
