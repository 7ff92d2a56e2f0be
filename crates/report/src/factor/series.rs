//! Series made ready for drawing: growth, falls from a peak, means of months, and as few points as a picture can show.

use chrono::{Datelike, NaiveDate};

use inkstone_base::stats::mean;

/// A curve: day number or other place, and value; both finite, places ascending.
pub(super) type Curve = Vec<(f64, f64)>;

/// A date as a number along an axis: days since 1970.
pub(super) fn day(date: NaiveDate) -> f64 {
    f64::from(date.to_epoch_days())
}

/// The points of a series that exist.
pub(super) fn curve(dates: &[NaiveDate], values: &[f64]) -> Curve {
    dates.iter().zip(values).filter(|(_, v)| v.is_finite()).map(|(d, v)| (day(*d), *v)).collect()
}

/// Growth of 1 by these returns; a day without a return leaves it where it is.
pub(super) fn growth(returns: &[f64]) -> Vec<f64> {
    accumulated(returns, 1.0, |wealth, r| wealth * (1.0 + r))
}

/// Sum up to and including each value; what is not there adds nothing.
pub(super) fn sums(values: &[f64]) -> Vec<f64> {
    accumulated(values, 0.0, |sum, v| sum + v)
}

fn accumulated(values: &[f64], start: f64, next: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut so_far = start;
    let step = |v: &f64| {
        if v.is_finite() {
            so_far = next(so_far, *v);
        }
        so_far
    };
    values.iter().map(step).collect()
}

/// Drawdown of a net asset value from its highest value so far, as a share: 0 or less.
pub(super) fn falls(wealth: &[f64]) -> Vec<f64> {
    let mut peak = 1.0f64;
    let fall = |w: &f64| {
        peak = peak.max(*w);
        w / peak - 1.0
    };
    wealth.iter().map(fall).collect()
}

/// A bar over some days: first day, last day, value.
pub(super) type Bar = (NaiveDate, NaiveDate, f64);

/// Months from which on bars are means of months; with fewer, each date has its own.
const MONTHS: usize = 6;

/// Means by calendar month, or the dates themselves where they are of fewer than six months; whether they are months.
pub(super) fn bars(dates: &[NaiveDate], values: &[f64]) -> (Vec<Bar>, bool) {
    let pairs: Vec<(NaiveDate, f64)> = dates.iter().copied().zip(values.iter().copied()).collect();
    let months: Vec<&[(NaiveDate, f64)]> =
        pairs.chunk_by(|a, b| (a.0.year(), a.0.month()) == (b.0.year(), b.0.month())).collect();
    if months.len() < MONTHS {
        return (pairs.iter().filter(|p| p.1.is_finite()).map(|&(date, v)| (date, date, v)).collect(), false);
    }
    let bar = |month: &&[(NaiveDate, f64)]| {
        let first = month[0].0.with_day(1).unwrap_or(month[0].0);
        let last = first.checked_add_months(chrono::Months::new(1)).and_then(|d| d.pred_opt()).unwrap_or(first);
        (first, last, mean(month.iter().map(|p| p.1)))
    };
    (months.iter().map(bar).filter(|bar| bar.2.is_finite()).collect(), true)
}

/// Stretches of a picture within which a curve keeps its least and its greatest point.
const STRETCHES: f64 = 200.0;

/// Fewer points that look the same: the first and the last, and the least and the greatest of each of 200 stretches.
pub(super) fn thinned(curve: &[(f64, f64)]) -> Curve {
    let [Some(first), Some(last)] = [curve.first(), curve.last()] else { return Vec::new() };
    if curve.len() as f64 <= 2.0 * STRETCHES {
        return curve.to_vec();
    }
    let stretch = |p: &(f64, f64)| ((p.0 - first.0) / (last.0 - first.0) * STRETCHES) as usize;
    let mut kept = vec![*first];
    for points in curve.chunk_by(|a, b| stretch(a) == stretch(b)) {
        let least = points.iter().enumerate().min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map_or(0, |(i, _)| i);
        let most = points.iter().enumerate().max_by(|a, b| a.1.1.total_cmp(&b.1.1)).map_or(0, |(i, _)| i);
        kept.extend([least.min(most), least.max(most)].map(|i| points[i]));
    }
    kept.push(*last);
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2023, 1, 31).unwrap() + chrono::Days::new(u64::from(day))
    }

    #[test]
    fn growth_and_falls_are_those_of_one_unit() {
        let wealth = growth(&[0.1, f64::NAN, -0.5, 1.0]);
        assert_eq!(wealth, [1.1, 1.1, 0.55, 1.1]);
        assert_eq!(falls(&wealth), [0.0, 0.0, -0.5, 0.0]);
        assert_eq!(falls(&[0.75]), [-0.25], "what is lost on the first day is lost");
        assert_eq!(sums(&[0.5, f64::NAN, -0.25]), [0.5, 0.5, 0.25]);
    }

    #[test]
    fn months_have_means_and_few_dates_stand_alone() {
        let dates: Vec<NaiveDate> = (0..200).map(date).collect();
        let mut values: Vec<f64> = (0..200).map(f64::from).collect();
        values[0] = f64::NAN;
        let (months, monthly) = bars(&dates, &values);
        assert!(monthly);
        // January has one date and it has no value; February has the days 1 to 28.
        let first = NaiveDate::from_ymd_opt(2023, 2, 1).unwrap();
        assert_eq!(months[0], (first, NaiveDate::from_ymd_opt(2023, 2, 28).unwrap(), 14.5));
        let (alone, monthly) = bars(&dates[..3], &values[..3]);
        assert_eq!((alone, monthly), (vec![(date(1), date(1), 1.0), (date(2), date(2), 2.0)], false));
        assert!(bars(&[], &[]).0.is_empty());
    }

    proptest! {
        #[test]
        fn thinning_keeps_ends_and_extremes(values in prop::collection::vec(-9.0..9.0f64, 0..3000)) {
            let curve: Curve = (0..).map(f64::from).zip(values).collect();
            let thin = thinned(&curve);
            prop_assert!(thin.len() <= 2 * STRETCHES as usize + 4);
            prop_assert_eq!((thin.first(), thin.last()), (curve.first(), curve.last()));
            prop_assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let range = |c: &Curve| c.iter().fold((9.0f64, -9.0f64), |(low, high), p| (low.min(p.1), high.max(p.1)));
            prop_assert_eq!(range(&thin), range(&curve));
        }
    }
}
