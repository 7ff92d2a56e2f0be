//! The factor among the names of one size, one industry, or one coverage by documents.
//!
//! Sizes and coverages are thirds of each date, by capitalisation and by the number of documents of a value; equal ones stay
//! together. Industries are those of the date. A date counts in a sample that has as many names then as a correlation needs.

use std::cell::LazyCell;
use std::ops::Deref;

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::Cross;
use crate::backtest::layers::{assign, cut, spread};
use crate::backtest::preset::QuantileCut;
use crate::backtest::{ByHorizon, Params, SubSample};
use crate::factor::Factor;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{ascending, average_ranks, mean, pearson};
use inkstone_market::Market;

/// Figures of a sample on one date.
#[derive(Clone)]
struct SampleDay {
    names: usize,
    rank_ic: ByHorizon<f64>,
    spread: ByHorizon<f64>,
}

/// All samples that have a date with enough names: by size, by industry, by coverage.
pub(super) fn samples(
    crosses: &[Cross],
    factor: &Factor,
    market: &Market,
    params: &Params,
    ctx: &Ctx,
) -> Result<Vec<SubSample>> {
    let named = |by: &'static str, group: &str| (by, group.to_owned());
    let mut labels: Vec<(&str, String)> = ["small", "middle", "large"].map(|group| named("size", group)).into();
    labels.extend(market.industries().iter().map(|industry| named("industry", industry)));
    labels.extend(["few", "some", "many"].map(|group| named("coverage", group)));
    let days: Vec<Vec<Option<SampleDay>>> = ctx.install(|| {
        let date = |cross: &Cross| {
            ctx.check()?;
            // Sorted only where some group has enough names.
            let returns = LazyCell::new(|| cross.returns.map(|returns| ascending(returns.iter().copied())));
            let groupings = groupings(cross, factor, market);
            Ok(groupings.iter().flat_map(|grouping| days(cross, &returns, grouping, market, params)).collect())
        };
        crosses.par_iter().map(date).collect::<Result<_>>()
    })?;
    let sample = |(g, (by, group)): (usize, (&str, String))| {
        let there: Vec<&SampleDay> = days.iter().filter_map(|groups| groups[g].as_ref()).collect();
        let spread = |&horizon: &usize| mean(there.iter().map(|day| day.spread[horizon]));
        let rank_ic =
            |&horizon: &usize| summarise(&there.iter().map(|day| day.rank_ic[horizon]).collect::<Vec<_>>(), horizon);
        (!there.is_empty()).then(|| SubSample {
            by: by.to_owned(),
            group,
            names: mean(there.iter().map(|day| day.names as f64)),
            spread: params.horizons.iter().map(spread).collect(),
            rank_ic: params.horizons.iter().map(rank_ic).collect(),
        })
    };
    Ok(labels.into_iter().enumerate().filter_map(sample).collect())
}

/// A way to tell the names of a cross apart.
struct NameGroups {
    groups: usize,
    /// Group of each name, `groups` for none.
    group: Vec<usize>,
}

/// Three sizes, the industries, three coverages.
fn groupings(cross: &Cross, factor: &Factor, market: &Market) -> [NameGroups; 3] {
    let thirds = |number: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = cross.names.iter().map(|&i| number(i as usize)).collect();
        let there: Vec<usize> = (0..values.len()).filter(|&k| !values[k].is_nan()).collect();
        let known: Vec<f64> = there.iter().map(|&k| values[k]).collect();
        let mut group = vec![3; values.len()];
        there.iter().zip(cut(&average_ranks(&known), 3)).for_each(|(&k, third)| group[k] = usize::from(third) - 1);
        NameGroups { groups: 3, group }
    };
    // Counts of 0 alone are those of a table without counts.
    let counted = cross.names.iter().any(|&i| factor.documents(cross.t, i as usize) > 0);
    let documents = |i: usize| if counted { f64::from(factor.documents(cross.t, i)) } else { f64::NAN };
    let industries = market.industries().len();
    let industry = |&i: &u32| market.industry(cross.t, i as usize).map_or(industries, |number| number as usize);
    [
        thirds(&|i| market.market_cap(cross.t, i)),
        NameGroups { groups: industries, group: cross.names.iter().map(industry).collect() },
        thirds(&documents),
    ]
}

/// Figures of each group of a cross; none for a group with too few names. `sorted` has the places by ascending return.
fn days(
    cross: &Cross,
    sorted: &impl Deref<Target = ByHorizon<Vec<u32>>>,
    grouping: &NameGroups,
    market: &Market,
    params: &Params,
) -> Vec<Option<SampleDay>> {
    let needed = params.names_needed().max(2);
    let mut members = vec![Vec::new(); grouping.groups + 1];
    grouping.group.iter().enumerate().for_each(|(k, group)| members[*group].push(k));
    members.truncate(grouping.groups);
    if members.iter().all(|places| places.len() < needed) {
        return vec![None; grouping.groups];
    }
    let all = ranks_within(&cross.values, cross.order.iter().copied(), grouping);
    let rank_ics: ByHorizon<Vec<f64>> = cross
        .returns
        .iter()
        .map(|(horizon, returns)| {
            let order = &sorted[horizon];
            // Nearly always every name has a return.
            let is_there = |k: usize| !returns[k].is_nan();
            let value_ranks = match order.len() == returns.len() {
                true => None,
                false => Some(ranks_within(
                    &cross.values,
                    cross.order.iter().copied().filter(|&k| is_there(k as usize)),
                    grouping,
                )),
            };
            let value_ranks = value_ranks.as_ref().unwrap_or(&all);
            let return_ranks = ranks_within(returns, order.iter().copied(), grouping);
            let rank_ic = |places: &Vec<usize>| {
                let pairs = places.iter().filter(|k| is_there(**k)).map(|&k| (value_ranks[k], return_ranks[k]));
                let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
                if x.len() < needed { f64::NAN } else { pearson(&x, &y) }
            };
            (horizon, members.iter().map(rank_ic).collect())
        })
        .collect();
    let day = |(g, places): (usize, &Vec<usize>)| {
        let rank_ic = rank_ics.map(|groups| groups[g]);
        if places.len() < needed || rank_ic.values().all(|r| r.is_nan()) {
            return None;
        }
        let mut part = cross.part(places);
        let quantiles = match params.rules().cut == QuantileCut::Ranks && !params.within_industry {
            true => Some(cut(&places.iter().map(|&k| all[k]).collect::<Vec<f64>>(), params.quantiles)),
            false => assign(&part, market, params),
        };
        let is_cut = quantiles.is_some();
        part.quantiles = quantiles.unwrap_or_default();
        let spread = |returns: &Vec<f64>| if is_cut { spread(&part, returns, market, params) } else { f64::NAN };
        Some(SampleDay { names: places.len(), rank_ic, spread: part.returns.map(spread) })
    };
    members.iter().enumerate().map(day).collect()
}

/// Ranks from 1 within the group of each name, ties at their average; NaN for what is not in `order`, which lists places by
/// ascending `keys`.
fn ranks_within(keys: &[f64], order: impl Iterator<Item = u32>, grouping: &NameGroups) -> Vec<f64> {
    let order: Vec<usize> = order.map(|place| place as usize).collect();
    let (mut below, mut tied) = (vec![0usize; grouping.groups + 1], vec![0usize; grouping.groups + 1]);
    let mut ranks = vec![f64::NAN; keys.len()];
    for run in order.chunk_by(|a, b| keys[*a] == keys[*b]) {
        run.iter().for_each(|&k| tied[grouping.group[k]] += 1);
        for &k in run {
            let group = grouping.group[k];
            ranks[k] = below[group] as f64 + (tied[group] + 1) as f64 / 2.0;
        }
        for &k in run {
            let group = grouping.group[k];
            below[group] += std::mem::take(&mut tied[group]);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranks_within_a_group_are_those_of_its_names_alone(names in prop::collection::vec((-3i8..3, 0usize..3), 1..40)) {
            let keys: Vec<f64> = names.iter().map(|(key, _)| f64::from(*key)).collect();
            let grouping = NameGroups { groups: 2, group: names.iter().map(|(_, group)| *group).collect() };
            let order = ascending(keys.iter().copied());
            let ranks = ranks_within(&keys, order.into_iter(), &grouping);
            for group in 0..2 {
                let places: Vec<usize> = (0..keys.len()).filter(|&k| grouping.group[k] == group).collect();
                let alone = average_ranks(&places.iter().map(|&k| keys[k]).collect::<Vec<f64>>());
                prop_assert_eq!(places.iter().map(|&k| ranks[k]).collect::<Vec<f64>>(), alone);
            }
        }
    }
}
