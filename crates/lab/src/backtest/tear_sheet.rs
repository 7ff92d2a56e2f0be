//! Figures of a tear sheet: returns of months, falls from a peak, and rolling means and Sharpe ratios of a daily series.

use chrono::{Datelike, NaiveDate};

use inkstone_base::stats::{mean, std};

/// Dates of a factor that a rolling RankIC on a tear sheet is the mean of.
pub const ROLLING_DATES: usize = 60;
/// Returns that a rolling Sharpe ratio on a tear sheet is made of.
pub const ROLLING_DAYS: usize = 126;

/// The compound return of a calendar month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonthReturn {
    pub year: i32,
    /// From 1.
    pub month: u32,
    pub growth: f64,
}

/// A fall of the growth curve from a peak until the peak is reached again. The capital at the start is a peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawdown {
    /// First day below the peak.
    pub first: NaiveDate,
    /// Day of the lowest value.
    pub lowest: NaiveDate,
    /// Last day below the peak; none while it is not reached again.
    pub last: Option<NaiveDate>,
    /// The fall as a share of the peak, negative.
    pub depth: f64,
    /// Days below the peak.
    pub days: usize,
}

/// The returns of the months of a series, in their order; a day without a return adds nothing.
pub fn months(dates: &[NaiveDate], returns: &[f64]) -> Vec<MonthReturn> {
    let mut months: Vec<MonthReturn> = Vec::new();
    for (date, r) in dates.iter().zip(returns).filter(|(_, r)| !r.is_nan()) {
        let (year, month) = (date.year(), date.month());
        match months.last_mut().filter(|last| (last.year, last.month) == (year, month)) {
            Some(last) => last.growth = (1.0 + last.growth) * (1.0 + r) - 1.0,
            None => months.push(MonthReturn { year, month, growth: *r }),
        }
    }
    months
}

/// The compound return of several months.
pub fn compound(months: &[MonthReturn]) -> f64 {
    months.iter().fold(1.0, |wealth, month| wealth * (1.0 + month.growth)) - 1.0
}

/// The deepest `most` falls of a series, the deepest first.
pub fn drawdowns(dates: &[NaiveDate], returns: &[f64], most: usize) -> Vec<Drawdown> {
    let mut falls: Vec<Drawdown> = Vec::new();
    let mut is_under = false;
    let (mut wealth, mut peak) = (1.0, 1.0_f64);
    for (date, r) in dates.iter().zip(returns).filter(|(_, r)| !r.is_nan()) {
        wealth *= 1.0 + r;
        peak = peak.max(wealth);
        let depth = wealth / peak - 1.0;
        if depth >= 0.0 {
            is_under = false;
            continue;
        }
        match falls.last_mut().filter(|_| is_under) {
            Some(fall) => {
                (fall.last, fall.days) = (Some(*date), fall.days + 1);
                if depth < fall.depth {
                    (fall.lowest, fall.depth) = (*date, depth);
                }
            }
            None => falls.push(Drawdown { first: *date, lowest: *date, last: Some(*date), depth, days: 1 }),
        }
        is_under = true;
    }
    if is_under {
        falls.last_mut().into_iter().for_each(|fall| fall.last = None);
    }
    falls.sort_by(|a, b| a.depth.total_cmp(&b.depth));
    falls.truncate(most);
    falls
}

/// Mean over the last `window` values; NaN while there are fewer, and where one of them is NaN.
pub fn rolling_mean(values: &[f64], window: usize) -> Vec<f64> {
    rolling(
        values,
        window,
        |values| if values.iter().any(|v| v.is_nan()) { f64::NAN } else { mean(values.iter().copied()) },
    )
}

/// Mean over standard deviation of the last `window` returns, annualised, no risk-free rate.
pub fn rolling_sharpe(returns: &[f64], window: usize, days_per_year: u32) -> Vec<f64> {
    let scale = f64::from(days_per_year).sqrt();
    rolling(returns, window, |returns| mean(returns.iter().copied()) / std(returns) * scale)
}

fn rolling(values: &[f64], window: usize, figure: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let at = |end: usize| if end < window { f64::NAN } else { figure(&values[end - window..end]) };
    (1..=values.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn reference() -> (Value, Vec<NaiveDate>, Vec<f64>) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/quantstats/reference.json");
        let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let days = all["returns"].as_array().unwrap();
        let dates = days.iter().map(|day| day[0].as_str().unwrap().parse().unwrap()).collect();
        let returns = days.iter().map(|day| day[1].as_f64().unwrap()).collect();
        (all, dates, returns)
    }

    #[test]
    fn months_equal_those_of_quantstats() {
        let (all, dates, returns) = reference();
        let months = months(&dates, &returns);
        assert_eq!(months.len(), 20);
        let year = compound(&months[2..14]);
        assert!((year - all["months"]["2022"][12].as_f64().unwrap()).abs() < 1e-10);
        for MonthReturn { year, month, growth } in months {
            let expected = all["months"][year.to_string()][month as usize - 1].as_f64().unwrap();
            assert!((growth - expected).abs() < 1e-10, "{year}-{month}: {growth} {expected}");
        }
    }

    #[test]
    fn falls_equal_those_of_quantstats() {
        let (all, dates, returns) = reference();
        let expected = all["drawdowns"].as_array().unwrap();
        let found = drawdowns(&dates, &returns, expected.len());
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            let day = |k: usize| expected[k].as_str().unwrap().parse::<NaiveDate>().unwrap();
            // quantstats gives the last day of the series as the end of a fall that goes on.
            let last = found.last.unwrap_or(dates[dates.len() - 1]);
            assert_eq!((found.first, found.lowest, last), (day(0), day(1), day(2)));
            assert!((found.depth - expected[3].as_f64().unwrap()).abs() < 1e-10);
        }
    }

    #[test]
    fn rolling_ratios_equal_those_of_quantstats() {
        let (all, _, returns) = reference();
        let found = rolling_sharpe(&returns, 126, 252);
        for (found, expected) in found.iter().zip(all["rolling_sharpe"].as_array().unwrap()) {
            assert!(expected.as_f64().map_or(found.is_nan(), |expected| (found - expected).abs() < 1e-10));
        }
    }

    #[test]
    fn a_fall_on_the_first_day_is_one_and_one_that_goes_on_has_no_end() {
        let day = |d: u32| NaiveDate::from_ymd_opt(2024, 1, d).unwrap();
        let dates: Vec<NaiveDate> = (1..=5).map(day).collect();
        let falls = drawdowns(&dates, &[-0.5, 1.0, 0.1, -0.1, f64::NAN], 5);
        let fall = |d, last, depth| Drawdown { first: day(d), lowest: day(d), last, depth, days: 1 };
        assert_eq!(falls[0], fall(1, Some(day(1)), -0.5));
        assert!(falls[1].last.is_none() && (falls[1].depth + 0.1).abs() < 1e-12);
        assert!(drawdowns(&dates, &[0.1; 5], 5).is_empty());
        assert!(rolling_mean(&[1.0, 3.0, f64::NAN], 2)[1] == 2.0 && rolling_mean(&[1.0, f64::NAN], 2)[1].is_nan());
    }
}
