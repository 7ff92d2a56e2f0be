//! Factors beside one another: how alike they rank names, and what each adds to the others.
//!
//! Ranks are those of each date, of the values that were known in time. What a factor adds is the RankIC of the residual of its ranks
//! after those of all other factors, over the names that have its value; a name that lacks another factor has that one's middle rank.

use anyhow::Result;
use rayon::prelude::*;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::{Cross, Prices, pair_date};
use crate::backtest::{FactorBeside, Params};
use crate::factor::{Factor, NOTHING_LEFT, residuals};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, complete, mean, pearson};
use inkstone_market::Market;

/// Figures of one factor on one date.
struct BesideDay {
    /// Rank correlation with each factor; NaN where they share too few names.
    correlations: Vec<f64>,
    rank_ic: f64,
    adds: f64,
}

/// Each factor beside all of them, at the first horizon; in their order.
pub fn beside(factors: &[&Factor], market: &Market, params: &Params, ctx: &Ctx) -> Result<Vec<FactorBeside>> {
    params.validate()?;
    let Some(first) = factors.first() else { return Ok(Vec::new()) };
    factors.iter().try_for_each(|factor| factor.check_axes(market))?;
    let tradability = params.tradability(market)?;
    let prices = Prices::new(first, market, &tradability, params)?;
    let date = |t: usize| {
        ctx.check()?;
        let crosses: Vec<Option<Cross>> =
            factors.iter().map(|factor| pair_date(factor, market, &prices, params, t).0).collect();
        Ok(day(&crosses, market.codes().len(), params))
    };
    let days: Vec<Vec<Option<BesideDay>>> =
        ctx.install(|| (0..market.dates().len()).into_par_iter().map(date).collect::<Result<_>>())?;
    let of_factor = |(k, factor): (usize, &&Factor)| {
        let there: Vec<&BesideDay> = days.iter().filter_map(|day| day[k].as_ref()).collect();
        let series = |figure: fn(&BesideDay) -> f64| there.iter().map(|day| figure(day)).collect::<Vec<f64>>();
        let correlation = |other: usize| mean(there.iter().map(|day| day.correlations[other]));
        let others = factors.iter().enumerate().filter(|(other, _)| *other != k);
        FactorBeside {
            name: factor.name.clone(),
            correlations: others.map(|(other, factor)| (factor.name.clone(), correlation(other))).collect(),
            rank_ic: summarise(&series(|day| day.rank_ic), params.horizons[0]),
            adds: summarise(&series(|day| day.adds), params.horizons[0]),
        }
    };
    Ok(factors.iter().enumerate().map(of_factor).collect())
}

fn day(crosses: &[Option<Cross>], width: usize, params: &Params) -> Vec<Option<BesideDay>> {
    // Ranks from -1/2 to 1/2 by name, so that factors of few and of many names are on one scale.
    let ranks: Vec<Option<Vec<f64>>> = crosses
        .iter()
        .map(|cross| {
            let cross = cross.as_ref()?;
            let mut row = vec![f64::NAN; width];
            for (&i, rank) in cross.names.iter().zip(cross.ranks(|_| true)) {
                row[i as usize] = rank / (cross.names.len() + 1) as f64 - 0.5;
            }
            Some(row)
        })
        .collect();
    let needed = params.names_needed();
    let of_factor = |(k, cross): (usize, &Option<Cross>)| {
        let (cross, own) = (cross.as_ref()?, ranks[k].as_ref()?);
        let correlation = |other: &Option<Vec<f64>>| {
            let (x, y) = complete(own, other.as_ref()?);
            (x.len() >= needed).then(|| pearson(&average_ranks(&x), &average_ranks(&y)))
        };
        let correlations = ranks.iter().map(|other| correlation(other).unwrap_or(f64::NAN)).collect();
        let returns = &cross.returns[params.horizons[0]];
        let with_returns: Vec<usize> = (0..cross.names.len()).filter(|&k| !returns[k].is_nan()).collect();
        let (mut rank_ic, mut adds) = (f64::NAN, f64::NAN);
        if with_returns.len() >= needed.max(crosses.len() + 2) {
            let name = |&place: &usize| cross.names[place] as usize;
            let y = average_ranks(&with_returns.iter().map(|&place| returns[place]).collect::<Vec<f64>>());
            let mut x: Vec<f64> = with_returns.iter().map(|place| own[name(place)]).collect();
            rank_ic = pearson(&average_ranks(&x), &y);
            let others = ranks.iter().enumerate().filter(|(other, _)| *other != k);
            let known = |row: &Vec<f64>| {
                with_returns.iter().map(|p| Some(row[name(p)]).filter(|r| !r.is_nan()).unwrap_or(0.0)).collect()
            };
            let on: Vec<Vec<f64>> = others.filter_map(|(_, row)| row.as_ref().map(known)).collect();
            let groups = vec![None; x.len()];
            if residuals(&mut x, &groups, &on) > NOTHING_LEFT {
                adds = pearson(&average_ranks(&x), &y);
            }
        }
        Some(BesideDay { correlations, rank_ic, adds })
    };
    crosses.iter().enumerate().map(of_factor).collect()
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDate};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use inkstone_market::CLOSE;

    #[test]
    fn a_copy_adds_nothing_and_what_is_new_adds_all() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let (days, names) = (60, 40);
        let date = |t: usize| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t as u64);
        let mut closes = vec![vec![10.0]; names];
        for series in &mut closes {
            (1..days).for_each(|t| series.push(series[t - 1] * (1.0 + rng.random_range(-0.05..0.05))));
        }
        let mut text = "date,code,open,close\n".to_owned();
        for t in 0..days {
            for (i, series) in closes.iter().enumerate() {
                text += &format!("{},{:06}.SH,{},{}\n", date(t), 600_000 + i, series[t], series[t]);
            }
        }
        let market = Market::of_text(&text, &[]).unwrap();
        let [mut telling, mut copy, mut half] = ["telling", "copy", "half"].map(|name| Factor::empty(name, &market));
        for t in 0..days - 2 {
            for (i, series) in closes.iter().enumerate() {
                let next = series[t + 2] / series[t + 1] - 1.0 + rng.random_range(-0.05..0.05);
                telling.put(t, i, next, date(t).and_time(CLOSE), 1);
                copy.put(t, i, 3.0 * next + 1.0, date(t).and_time(CLOSE), 1);
                if i % 2 == 0 {
                    half.put(t, i, rng.random_range(-1.0..1.0), date(t).and_time(CLOSE), 1);
                }
            }
        }
        let params = Params { limits: Vec::new(), min_listed_days: 0, ..Params::default() };
        let ctx = Ctx::new(2, 1).unwrap();
        let all = beside(&[&telling, &copy, &half], &market, &params, &ctx).unwrap();
        assert_eq!(all[0].correlations[0].0, "copy");
        assert!((all[0].correlations[0].1 - 1.0).abs() < 1e-12 && all[0].correlations[1].1.abs() < 0.1);
        assert!(all[0].rank_ic.mean > 0.5 && all[0].adds.n == 0, "{:?}", all[0]);
        let two = beside(&[&telling, &half], &market, &params, &ctx).unwrap();
        assert!((two[0].adds.mean - two[0].rank_ic.mean).abs() < 0.02, "{:?}", two[0]);
        assert!(two[1].adds.mean.abs() < 0.1 && two[1].rank_ic.n == two[1].adds.n);
    }
}
