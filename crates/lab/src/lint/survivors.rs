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
use statrs::distribution::{DiscreteCDF, Poisson};

use crate::lint::finding::{NamesOfYear, Survivors, SurvivorsContext};
use crate::lint::{Check, Finding, Params, Standing, Subject, Verdict};
use inkstone_base::stats::mean;
use inkstone_market::{Market, Price};

/// Trading days without a close after which a name has ended, and before which it had begun with the table.
const GRACE: usize = 20;

pub(super) fn check(subject: &Subject<'_>, params: &Params) -> Verdict {
    look(subject.market, f64::from(subject.backtest.days_per_year), params)
}

/// The verdict on a price table.
pub(crate) fn look(market: &Market, days_per_year: f64, params: &Params) -> Verdict {
    let dates = market.dates();
    let mut by_year: BTreeMap<i32, NamesOfYear> = BTreeMap::new();
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
            by_year.entry(year).or_default().names += 1;
        }
        if ends {
            by_year.entry(dates[last].year()).or_default().ended += 1;
        }
    }
    let expected = params.delisting_rate * years;
    // The fewest that are not unusual: as many or fewer have a probability above that of chance.
    let few = |k: u64| Poisson::new(expected).map_or(1.0, |law| law.cdf(k));
    let fewest = (0..=names).find(|&k| few(k) > params.alpha()).unwrap_or(names);
    let standing = match () {
        () if ended < fewest => Standing::Warned,
        () if ended == 0 => Standing::Skipped,
        () => Standing::Passed,
    };
    let (number, limit) = match standing {
        Standing::Skipped => (f64::NAN, None),
        _ => (ended as f64, Some(fewest as f64)),
    };
    let finding = Survivors {
        names,
        ended,
        expected,
        through: through as f64 / names.max(1) as f64,
        by_year: by_year.into_iter().map(|(year, names)| (year.to_string(), names)).collect(),
        growth_ended: mean(of_ended.into_iter()),
        growth_others: mean(of_others.into_iter()),
        context: SurvivorsContext { years: dates.len() as f64 / days_per_year, fewest },
    };
    Verdict::new(Check::Survivors, standing, number, limit, Finding::Survivors(finding))
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
    use serde_json::json;

    use super::*;
    use crate::lint::testing::World;

    #[test]
    fn three_years_of_three_hundred_names_without_a_delisting_warn() {
        let world = World::flat(301, 726, Vec::new(), |_| None);
        let verdict = world.look(|subject| check(subject, &Params::default()));
        assert_eq!((verdict.standing, verdict.number, verdict.limit), (Standing::Warned, Some(0.0), Some(1.0)));
        let figures = verdict.figures();
        assert_eq!((&figures["through"], &figures["by_year"]["2022"]["names"]), (&json!(1.0), &json!(301)));
        let year = World::flat(301, 242, Vec::new(), |_| None);
        let verdict = year.look(|subject| check(subject, &Params::default()));
        assert_eq!((verdict.standing, verdict.number), (Standing::Skipped, None), "{verdict:?}");
    }
}
