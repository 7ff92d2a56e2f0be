//! The factor among the names of one size, one industry, or one coverage by documents.
//!
//! Sizes and coverages are thirds of each date, by capitalisation and by the number of documents of a value; equal ones stay
//! together. Industries are those of the date. A date counts in a sample that has as many names then as a correlation needs.

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::Cross;
use crate::backtest::layers::{assign, cut, spread};
use crate::backtest::{Params, Sample};
use crate::factor::Factor;
use crate::job::Ctx;
use crate::market::Market;
use crate::stats::{complete, mean, spearman};

/// What a sample showed on a date.
#[derive(Clone)]
struct Day {
    names: usize,
    /// By horizon.
    rank_ic: Vec<f64>,
    spread: Vec<f64>,
}

/// All samples that have a date with enough names: by size, by industry, by coverage.
pub(super) fn samples(
    crosses: &[Cross],
    factor: &Factor,
    market: &Market,
    params: &Params,
    ctx: &Ctx,
) -> Result<Vec<Sample>> {
    let named = |by: &'static str, group: &str| (by, group.to_owned());
    let mut labels: Vec<(&str, String)> = ["small", "middle", "large"].map(|group| named("size", group)).into();
    labels.extend(market.industries().iter().map(|industry| named("industry", industry)));
    labels.extend(["few", "some", "many"].map(|group| named("coverage", group)));
    let days: Vec<Vec<Option<Day>>> = ctx.install(|| {
        let date = |cross: &Cross| {
            ctx.check()?;
            let groups = members(cross, factor, market);
            Ok(groups.iter().map(|places| day(cross, places, market, params)).collect())
        };
        crosses.par_iter().map(date).collect::<Result<_>>()
    })?;
    let sample = |(g, (by, group)): (usize, (&str, String))| {
        let there: Vec<&Day> = days.iter().filter_map(|groups| groups[g].as_ref()).collect();
        let horizons = params.horizons.iter().enumerate();
        (!there.is_empty()).then(|| Sample {
            by: by.to_owned(),
            group,
            names: mean(there.iter().map(|day| day.names as f64)),
            spread: horizons.clone().map(|(h, _)| mean(there.iter().map(|day| day.spread[h]))).collect(),
            rank_ic: horizons
                .map(|(h, &n)| summarise(&there.iter().map(|day| day.rank_ic[h]).collect::<Vec<_>>(), n))
                .collect(),
        })
    };
    Ok(labels.into_iter().enumerate().filter_map(sample).collect())
}

/// Places of the names of each sample in a cross: three sizes, the industries, three coverages.
fn members(cross: &Cross, factor: &Factor, market: &Market) -> Vec<Vec<usize>> {
    let industries = market.industries().len();
    let mut groups = vec![Vec::new(); industries + 6];
    let all = || cross.names.iter().map(|&i| i as usize).enumerate();
    let mut thirds = |offset: usize, of: Vec<(usize, f64)>| {
        let values: Vec<f64> = of.iter().map(|(_, value)| *value).collect();
        for ((k, _), third) in of.iter().zip(cut(&values, 3)) {
            groups[offset + usize::from(third) - 1].push(*k);
        }
    };
    thirds(0, all().map(|(k, i)| (k, market.market_cap(cross.t, i))).filter(|(_, cap)| !cap.is_nan()).collect());
    let documents: Vec<(usize, f64)> = all().map(|(k, i)| (k, f64::from(factor.documents(cross.t, i)))).collect();
    // Counts of 0 alone are those of a table without counts.
    if documents.iter().any(|(_, n)| *n > 0.0) {
        thirds(industries + 3, documents);
    }
    for (k, i) in all() {
        if let Some(industry) = market.industry(cross.t, i) {
            groups[3 + industry as usize].push(k);
        }
    }
    groups
}

fn day(cross: &Cross, places: &[usize], market: &Market, params: &Params) -> Option<Day> {
    let needed = params.names_needed().max(2);
    if places.len() < needed {
        return None;
    }
    let mut part = cross.part(places);
    let rank_ic = |returns: &Vec<f64>| {
        let (values, returns) = complete(&part.values, returns);
        if values.len() < needed { f64::NAN } else { spearman(&values, &returns) }
    };
    let rank_ic: Vec<f64> = part.returns.iter().map(rank_ic).collect();
    let quantiles = assign(&part, market, params);
    let is_cut = quantiles.is_some();
    part.quantiles = quantiles.unwrap_or_default();
    let spread = |h: usize| if is_cut { spread(&part, h, market, params) } else { f64::NAN };
    let spread = (0..params.horizons.len()).map(spread).collect();
    rank_ic.iter().any(|r| !r.is_nan()).then_some(Day { names: places.len(), rank_ic, spread })
}
