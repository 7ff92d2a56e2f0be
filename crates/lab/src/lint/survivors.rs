//! The price table has names that were delisted.
//!
//! A table of the names that live today has no losers that went under, and every factor looks better on it. The number
//! is how many names end before the table does: no close in its last 20 trading days (a suspension is shorter). It is
//! held against the fewest that the listed years of all names allow at `delisting_rate`, by Poisson's law at
//! `confidence`; fewer warn. Where even none would be nothing unusual the table is too small or short to tell.
//!
//! The base rate is that of A shares: 10, 16, 20, 46, 45 and 52 companies were delisted in 2019 to 2024 (Wind, told by
//! China Business Journal in July 2025), which is 0.16 % a year from 2010 to 2019 and 0.64 % since 2020 (Sinolink
//! Securities, March 2024); mergers count among them. 300 names over three years without one then have odds of 1 in 37.

use std::collections::BTreeMap;

use chrono::Datelike;
use serde_json::json;
use statrs::distribution::{DiscreteCDF, Poisson};

use crate::lint::{Check, Params, Standing, Subject, Verdict};
use inkstone_base::stats::mean;
use inkstone_market::{Market, Price};

/// Trading days without a close after which a name has ended, and before which it had begun with the table.
const GRACE: usize = 20;

pub(super) fn check(subject: &Subject<'_>, params: &Params) -> Verdict {
    let market = subject.market;
    let (dates, days_per_year) = (market.dates(), f64::from(subject.backtest.days_per_year));
    let mut by_year: BTreeMap<i32, (u64, u64)> = BTreeMap::new();
    let (mut names, mut ended, mut through, mut years) = (0u64, 0u64, 0u64, 0.0);
    let (mut of_ended, mut of_others) = (Vec::new(), Vec::new());
    for (i, (first, last)) in (0..market.codes().len()).filter_map(|i| market.life(i).map(|life| (i, life))) {
        names += 1;
        years += (last + 1 - first) as f64 / days_per_year;
        let ends = last + GRACE < dates.len();
        ended += u64::from(ends);
        through += u64::from(!ends && first < GRACE);
        if ends { &mut of_ended } else { &mut of_others }.push(growth(market, i, (first, last), days_per_year));
        for year in dates[first].year()..=dates[last].year() {
            by_year.entry(year).or_default().0 += 1;
        }
        if ends {
            by_year.entry(dates[last].year()).or_default().1 += 1;
        }
    }
    let expected = params.delisting_rate * years;
    // The fewest that are not unusual: as many or fewer have a probability above that of chance.
    let few = |k: u64| Poisson::new(expected).map_or(1.0, |law| law.cdf(k));
    let fewest = (0..=names).find(|&k| few(k) > params.alpha()).unwrap_or(names);
    let span = dates.len() as f64 / days_per_year;
    let standing = match () {
        () if ended < fewest => Standing::Warned,
        () if ended == 0 => Standing::Skipped,
        () => Standing::Passed,
    };
    let share = through as f64 / names.max(1) as f64;
    let mut finding = match standing {
        Standing::Skipped => (
            format!(
                "价格表（{names} 个代码，{span:.1} 年）没有退市的代码，按 A 股的退市率预计只有 {expected:.1} 个，\
                 表太小或太短，无从判断。"
            ),
            format!(
                "No name of the price table ({names} names, {span:.1} years) was delisted, but at the rate of A \
                 shares only {expected:.1} would be: the table is too small or too short to tell."
            ),
        ),
        Standing::Warned => (
            format!(
                "价格表（{names} 个代码，{span:.1} 年）只有 {ended} 个代码在表结束前退市，\
                 按 A 股的退市率应约有 {expected:.0} 个，至少 {fewest} 个：样本很可能只留下了存活至今的公司，\
                 因子的表现因此偏好。请补上已退市代码的价格。"
            ),
            format!(
                "{ended} names of the price table ({names} names, {span:.1} years) end before it does, where A shares \
                 would have some {expected:.0} and no fewer than {fewest}: it probably holds survivors alone, on \
                 which any factor looks better. Add the prices of delisted names."
            ),
        ),
        _ => (
            format!(
                "价格表（{names} 个代码，{span:.1} 年）\
                 有 {ended} 个代码在表结束前退市（按 A 股的退市率约 {expected:.1} 个），并非只有幸存者。"
            ),
            format!(
                "{ended} names of the price table ({names} names, {span:.1} years) end before it does (at the rate of \
                 A shares some {expected:.1} would), so it does not hold survivors alone."
            ),
        ),
    };
    finding.0 += &format!("贯穿全表的代码占 {:.0} %。", 100.0 * share);
    finding.1 += &format!(" {:.0} % of the names live through the whole table.", 100.0 * share);
    let by_year: BTreeMap<String, serde_json::Value> = by_year
        .into_iter()
        .map(|(year, (names, ended))| (year.to_string(), json!({"names": names, "ended": ended})))
        .collect();
    let limit = Some(fewest as f64).filter(|_| standing != Standing::Skipped);
    let number = if standing == Standing::Skipped { f64::NAN } else { ended as f64 };
    Verdict::of(Check::Survivors, standing, number, limit, finding)
        .with("names", names)
        .with("ended", ended)
        .with("expected", expected)
        .with("through", share)
        .with("by_year", json!(by_year))
        .with("growth_ended", mean(of_ended.into_iter()))
        .with("growth_others", mean(of_others.into_iter()))
}

/// Log growth of a name's price a year, from its first close to its last.
fn growth(market: &Market, i: usize, (first, last): (usize, usize), days_per_year: f64) -> f64 {
    match market.price(Price::Close) {
        Ok(close) if last > first => {
            (close.at(last, i) / close.at(first, i)).ln() * days_per_year / (last - first) as f64
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::World;

    #[test]
    fn three_years_of_three_hundred_names_without_a_delisting_warn() {
        let world = World::flat(301, 726, Vec::new(), |_| None);
        let verdict = world.look(|subject| check(subject, &Params::default()));
        assert_eq!((verdict.standing, verdict.number, verdict.limit), (Standing::Warned, Some(0.0), Some(1.0)));
        assert_eq!(
            (&verdict.figures["through"], &verdict.figures["by_year"]["2022"]["names"]),
            (&json!(1.0), &json!(301))
        );
        let year = World::flat(301, 242, Vec::new(), |_| None);
        let verdict = year.look(|subject| check(subject, &Params::default()));
        assert_eq!((verdict.standing, verdict.number), (Standing::Skipped, None), "{}", verdict.finding.1);
    }
}
