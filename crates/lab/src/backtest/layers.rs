//! Quantiles of a factor: who is in which, what they earned, how long they and the ranks last.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::backtest::cross::Cross;
use crate::backtest::preset::QuantileCut;
use crate::backtest::{Layers, Params, Stability};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, complete, mean, pearson, quantile, std};
use inkstone_market::Market;

/// Quantile of each name of a cross, from 1 (lowest); 0 for none. `None`: the date cannot be cut by the rules of the preset.
pub(super) fn assign(cross: &Cross, market: &Market, params: &Params) -> Option<Vec<u16>> {
    match params.rules().cut {
        QuantileCut::Ranks if params.within_industry => Some(within_industries(cross, market, params.quantiles)),
        QuantileCut::Ranks => Some(cut(&cross.ranks(|_| true), params.quantiles)),
        QuantileCut::Values => qcut(&cross.values, params.quantiles),
        QuantileCut::Groups => {
            // Qlib groups rows of scores and labels: a name without a label is in none.
            let labelled: Vec<usize> = (0..cross.names.len()).filter(|&k| cross.has_return(k)).collect();
            let values: Vec<f64> = labelled.iter().map(|&k| cross.values[k]).collect();
            Some(scatter(&labelled, &groups(&values, params.quantiles), vec![0; cross.names.len()]))
        }
    }
}

/// The cut of each industry of the date for itself; one with fewer names than quantiles has no top and no bottom.
fn within_industries(cross: &Cross, market: &Market, n: usize) -> Vec<u16> {
    let mut members = vec![Vec::new(); market.industries().len() + 1];
    for (k, i) in cross.names.iter().enumerate() {
        let industry = market.industry(cross.t, *i as usize);
        members[industry.map_or(market.industries().len(), |number| number as usize)].push(k);
    }
    let mut quantiles = vec![0; cross.names.len()];
    for places in members.iter().filter(|places| places.len() >= n) {
        let values: Vec<f64> = places.iter().map(|&k| cross.values[k]).collect();
        quantiles = scatter(places, &cut(&average_ranks(&values), n), quantiles);
    }
    quantiles
}

fn scatter(places: &[usize], quantiles: &[u16], mut into: Vec<u16>) -> Vec<u16> {
    places.iter().zip(quantiles).for_each(|(&k, q)| into[k] = *q);
    into
}

/// pandas's `qcut` of distinct values, by their average ranks. Equal values stay together, in the layer where their middle rank falls; the lowest
/// values are layer 1 and the highest the last, unless all are equal.
///
/// `qcut` itself puts a tie below its edge, and text scores tie at their ends: where more than a fifth of the names have the
/// best tone there is, its top fifth is empty, day after day.
pub(super) fn cut(ranks: &[f64], n: usize) -> Vec<u16> {
    let (low, high) = (ranks.iter().copied().fold(f64::INFINITY, f64::min), ranks.iter().copied().fold(0.0, f64::max));
    let layer = |&rank: &f64| {
        if low < high && rank == high {
            return n as u16;
        }
        if low < high && rank == low {
            return 1;
        }
        // In halves of a rank, so that a value on an edge is decided by whole numbers.
        let (above, span) = ((2.0 * rank) as usize - 2, 2 * ranks.len().saturating_sub(1));
        (above * n).div_ceil(span.max(1)).max(1) as u16
    };
    ranks.iter().map(layer).collect()
}

/// True for each value that is in the top one of `n` layers.
pub fn top_layer(values: &[f64], n: usize) -> Vec<bool> {
    cut(&average_ranks(values), n).into_iter().map(|layer| usize::from(layer) == n).collect()
}

/// alphalens's cut: quantiles by linear interpolation as edges, intervals closed on the right; edges that coincide cost the
/// date.
pub(super) fn qcut(values: &[f64], n: usize) -> Option<Vec<u16>> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // numpy gets there by way of per cents; the last bit of an edge decides on which side a value on it falls.
    let edge = |k: usize| quantile(&sorted, k as f64 * (1.0 / n as f64) * 100.0 / 100.0);
    let edges: Vec<f64> = (0..=n).map(|k| if k == n { sorted[sorted.len() - 1] } else { edge(k) }).collect();
    if edges.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    let inner = &edges[1..n];
    Some(values.iter().map(|v| 1 + inner.partition_point(|edge| edge < v) as u16).collect())
}

/// Qlib's groups: sorted from the highest value, `len // n` names each, the remaining lowest in none.
fn groups(values: &[f64], n: usize) -> Vec<u16> {
    let size = values.len() / n;
    let mut quantiles = vec![0; values.len()];
    for (place, i) in descending(values).into_iter().enumerate().take(size * n) {
        quantiles[i] = (n - place / size) as u16;
    }
    quantiles
}

fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    // Not the total order, which tells -0 from 0 and would break a tie.
    order.sort_by(|&a, &b| values[b].partial_cmp(&values[a]).unwrap_or(Ordering::Equal));
    order
}

/// Returns of the layers: per date, then over dates, so that every date weighs the same.
pub(super) fn layers(crosses: &[Cross], market: &Market, params: &Params, ctx: &Ctx) -> Layers {
    let demeaned = params.is_demeaned();
    let mut layers = Layers { horizons: params.horizons.clone(), demeaned, ..Layers::default() };
    for &horizon in &params.horizons {
        let by_date: Vec<(Vec<f64>, f64)> = ctx.install(|| {
            let date = |cross: &Cross| {
                let returns = &cross.returns[horizon];
                (date_means(cross, returns, market, params), spread(cross, returns, market, params))
            };
            crosses.par_iter().map(date).collect()
        });
        let column = |q: usize| by_date.iter().map(|(means, _)| means[q]).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..params.quantiles).map(column).collect();
        let count = |values: &[f64]| values.iter().filter(|v| !v.is_nan()).count() as f64;
        layers.mean.push(columns.iter().map(|c| mean(c.iter().copied())).collect());
        layers.stderr.push(columns.iter().map(|c| std(c) / count(c).sqrt()).collect());
        let (dates, spreads) = crosses
            .iter()
            .zip(&by_date)
            .filter(|(_, (_, s))| !s.is_nan())
            .map(|(c, (_, s))| (market.dates()[c.t], *s))
            .unzip();
        layers.spread_dates.push(dates);
        layers.spread.push(spreads);
    }
    layers
}

/// Mean of these returns by quantile of one date, by the weights of the names.
fn date_means(cross: &Cross, returns: &[f64], market: &Market, params: &Params) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); params.quantiles];
    let mut all = (0.0, 0.0);
    for (k, (r, q)) in returns.iter().zip(&cross.quantiles).enumerate().filter(|(_, (r, _))| !r.is_nan()) {
        let weight = cross.weight(k, market, params);
        if weight.is_nan() {
            continue;
        }
        all = (all.0 + weight * r, all.1 + weight);
        if let Some((sum, weights)) = usize::from(*q).checked_sub(1).map(|q| &mut sums[q]) {
            *sum += weight * r;
            *weights += weight;
        }
    }
    let centre = if params.is_demeaned() { all.0 / all.1 } else { 0.0 };
    sums.into_iter().map(|(sum, weights)| if weights > 0.0 { sum / weights - centre } else { f64::NAN }).collect()
}

/// Top minus bottom quantile of these returns of one date.
pub(super) fn spread(cross: &Cross, returns: &[f64], market: &Market, params: &Params) -> f64 {
    let rules = params.rules();
    let spread = if rules.cut == QuantileCut::Groups {
        // `nlargest` and `nsmallest` of the names with a label, ties in the order of the table.
        let (values, returns) = complete(&cross.values, returns);
        let size = (values.len() as f64 * (1.0 / params.quantiles as f64)) as usize;
        let mean_of_first = |order: Vec<usize>| mean(order.into_iter().take(size).map(|i| returns[i]));
        let negated: Vec<f64> = values.iter().map(|v| -v).collect();
        mean_of_first(descending(&values)) - mean_of_first(descending(&negated))
    } else {
        let means = date_means(cross, returns, market, params);
        means[params.quantiles - 1] - means[0]
    };
    if rules.halves_spread { spread / 2.0 } else { spread }
}

/// Persistence of quantiles and ranks between dates of the factor that are `period` apart. A date that has values but no
/// cross counts as a date, so that the distance stays what it is called.
pub(super) fn stability(
    crosses: &[Cross],
    factor_dates: &[usize],
    period: usize,
    width: usize,
    params: &Params,
    ctx: &Ctx,
) -> Stability {
    let at = |t: usize| crosses.binary_search_by_key(&t, |cross| cross.t).ok().map(|k| &crosses[k]);
    let both = |k: usize| at(factor_dates[k - period]).zip(at(factor_dates[k]));
    let pairs: Vec<(Vec<f64>, f64)> = ctx.install(|| {
        (period..factor_dates.len())
            .into_par_iter()
            .filter_map(both)
            .map(|(before, now)| {
                (new_names(before, now, width, params.quantiles), rank_correlation(before, now, width))
            })
            .collect()
    });
    let turnover = |q: usize| mean(pairs.iter().map(|(turnover, _)| turnover[q]));
    Stability {
        period,
        turnover: (0..params.quantiles).map(turnover).collect(),
        rank_autocorrelation: mean(pairs.iter().map(|(_, correlation)| *correlation)),
    }
}

/// Share of names new to each quantile; NaN where either date has the quantile empty.
fn new_names(before: &Cross, now: &Cross, width: usize, quantiles: usize) -> Vec<f64> {
    let mut was = vec![0u16; width];
    let mut there = vec![false; quantiles + 1];
    for (i, q) in before.names.iter().zip(&before.quantiles) {
        was[*i as usize] = *q;
        there[usize::from(*q)] = true;
    }
    let mut counts = vec![(0usize, 0usize); quantiles + 1];
    for (i, q) in now.names.iter().zip(&now.quantiles) {
        let (new, all) = &mut counts[usize::from(*q)];
        *new += usize::from(was[*i as usize] != *q);
        *all += 1;
    }
    let share = |q: usize| match counts[q] {
        (new, all) if all > 0 && there[q] => new as f64 / all as f64,
        _ => f64::NAN,
    };
    (1..=quantiles).map(share).collect()
}

fn rank_correlation(before: &Cross, now: &Cross, width: usize) -> f64 {
    let mut ranks = vec![f64::NAN; width];
    for (i, rank) in before.names.iter().zip(before.ranks(|_| true)) {
        ranks[*i as usize] = rank;
    }
    let earlier: Vec<f64> = now.names.iter().map(|i| ranks[*i as usize]).collect();
    let (earlier, later) = complete(&earlier, &now.ranks(|_| true));
    pearson(&earlier, &later)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backtest::Preset;

    fn assign(values: &[f64], preset: Preset, quantiles: usize) -> Option<Vec<u16>> {
        let market = Market::of_text("date,code,close\n2024-01-02,600001.SH,1\n", &[]).unwrap();
        let names = (0..values.len() as u32).collect();
        let returns = [(1, vec![0.0; values.len()])].into_iter().collect();
        let order = inkstone_base::stats::ascending(values.iter().copied());
        let cross = Cross { t: 0, entry: 0, names, values: values.to_vec(), order, quantiles: vec![], returns };
        super::assign(&cross, &market, &Params { preset, quantiles, ..Params::default() })
    }

    #[test]
    fn edges_are_interpolated_and_closed_on_the_right() {
        // Edges of 1..=5 in halves: the median 3 belongs to the lower half.
        let values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(assign(&values, Preset::Default, 2).unwrap(), [2, 1, 1, 1, 2]);
        assert_eq!(assign(&values, Preset::Qlib, 2).unwrap(), [2, 0, 1, 1, 2]);
    }

    #[test]
    fn ties_leave_no_end_empty_or_cost_the_date() {
        let by = |values: &[f64], n| assign(values, Preset::Default, n).unwrap();
        assert_eq!(by(&[0.0, 0.0, 0.0, 0.0, 1.0, 2.0], 3), [1, 1, 1, 1, 3, 3]);
        assert_eq!(by(&[0.0, 1.0, 2.0, 2.0, 2.0, 2.0], 3), [1, 1, 3, 3, 3, 3], "the mirror image");
        assert_eq!(by(&[1.0, 2.0, 2.0, 2.0, 3.0], 5), [1, 3, 3, 3, 5]);
        assert_eq!(by(&[7.0; 4], 5), [3; 4], "nothing tells them apart");
        assert_eq!(by(&[7.0], 5), [1]);
        assert!(assign(&[0.0, 0.0, 0.0, 0.0, 1.0, 2.0], Preset::Alphalens, 3).is_none());
    }

    proptest! {
        #[test]
        fn distinct_values_are_cut_as_by_qcut(values in prop::collection::btree_set(-99i32..99, 10..40), n in 2usize..7) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            // Whole edges in between: numpy's rounding decides nothing.
            prop_assume!((1..n).all(|k| !(k * (values.len() - 1)).is_multiple_of(n)));
            let quantiles = |preset| assign(&values, preset, n).unwrap();
            prop_assert_eq!(quantiles(Preset::Default), quantiles(Preset::Alphalens));
        }
    }
}
