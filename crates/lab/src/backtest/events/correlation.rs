//! Mean correlation of the abnormal returns of two events, over all pairs of a group.
//!
//! The correlation of a pair is that of its abnormal returns on the days of the calendar that both estimations have. The cumulative
//! returns of two events over L days share only the days of the calendar that both cover, so a pair whose dates are h days
//! apart counts for (L - h) / L of it, and for nothing from L days on (Kolari, Pape and Pynnönen 2018). With all events on one date
//! this is the mean correlation of Kolari and Pynnönen (2010).
//!
//! Pairs are too many to be looked at one by one. The sum over the pairs of two dates of products of standardised returns is, day by
//! day, the product of the sums of these dates.

use anyhow::Result;
use rayon::prelude::*;

use super::params::Params;
use super::sums::{Date, EstimationSums};
use inkstone_base::job::Ctx;

/// Sums of the correlations of a group's pairs, by how many trading days lie between their dates.
pub(super) struct Pairs {
    by_distance: Vec<f64>,
    events: f64,
}

impl Pairs {
    /// The pairs of a group.
    pub(super) fn new(dates: &[Date], group: usize, params: &Params, ctx: &Ctx) -> Result<Pairs> {
        let longest = params.parts.iter().map(|(from, to)| (to - from + 1) as usize).max().unwrap_or(0);
        let there: Vec<(u32, u64, &EstimationSums)> = dates
            .iter()
            .filter_map(|date| date.groups[group].as_ref().map(|(cell, past)| (date.date, cell.events, past)))
            .collect();
        let sums_of_date = |k: usize| {
            ctx.check()?;
            let (date, events, past) = &there[k];
            let mut by_distance = vec![0.0; longest];
            let events = *events as f64;
            by_distance[0] = events * (events - 1.0) / 2.0 * on_one_date(past);
            for (later, others, other) in &there[k + 1..] {
                let distance = (later - date) as usize;
                if distance >= longest {
                    break;
                }
                by_distance[distance] = events * *others as f64 * on_two_dates(past, other, distance);
            }
            Ok(by_distance)
        };
        let sums: Vec<Vec<f64>> =
            ctx.install(|| (0..there.len()).into_par_iter().map(sums_of_date).collect::<Result<_>>())?;
        let mut by_distance = vec![0.0; longest];
        for of_date in sums {
            by_distance.iter_mut().zip(of_date).for_each(|(sum, of_date)| *sum += of_date);
        }
        Ok(Pairs { by_distance, events: there.iter().map(|(_, events, _)| *events as f64).sum() })
    }

    /// Mean correlation of the cumulative abnormal returns over `days` days.
    pub(super) fn mean(&self, days: usize) -> f64 {
        let shared = |(distance, sum): (usize, &f64)| sum * (days - distance) as f64 / days as f64;
        let sum: f64 = self.by_distance.iter().enumerate().take(days).map(shared).sum();
        let pairs = self.events * (self.events - 1.0) / 2.0;
        if pairs > 0.0 { sum / pairs } else { 0.0 }
    }
}

/// Mean product over the pairs of one date: what the square of the sum has beside the squares.
fn on_one_date(past: &EstimationSums) -> f64 {
    let products: f64 = past.days.iter().map(|(sum, _)| sum * sum).sum::<f64>() - past.squares;
    let pairs: f64 = past.days.iter().map(|(_, n)| (n * n.saturating_sub(1)) as f64).sum();
    if pairs > 0.0 { products / pairs } else { 0.0 }
}

/// Mean product over the pairs of two dates: day k of the later one is day k + distance of the earlier.
fn on_two_dates(earlier: &EstimationSums, later: &EstimationSums, distance: usize) -> f64 {
    let shared = || earlier.days.iter().skip(distance).zip(&later.days);
    let products: f64 = shared().map(|(a, b)| a.0 * b.0).sum();
    let pairs: f64 = shared().map(|(a, b)| (a.1 * b.1) as f64).sum();
    if pairs > 0.0 { products / pairs } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::stats::{mean, pearson, variance};

    /// Days 0 to 5 of three names, and the sums of what is standardised of some of them.
    const NAMES: [[f64; 6]; 3] =
        [[0.1, -0.2, 0.3, 0.0, 0.2, -0.4], [0.2, -0.1, 0.1, 0.1, 0.4, -0.3], [-0.3, 0.1, 0.2, 0.0, -0.1, 0.2]];

    fn standardised(name: usize) -> Vec<f64> {
        let (values, deviation) = (NAMES[name], variance(&NAMES[name], 0).sqrt());
        values.iter().map(|v| (v - mean(values.into_iter())) / deviation).collect()
    }

    fn past(names: &[usize]) -> EstimationSums {
        let of_day = |day: usize| (names.iter().map(|&i| standardised(i)[day]).sum(), names.len() as u64);
        EstimationSums { days: (0..6).map(of_day).collect(), squares: 6.0 * names.len() as f64 }
    }

    #[test]
    fn on_one_date_it_is_the_mean_of_all_correlations() {
        let pairs = [(0, 1), (0, 2), (1, 2)].map(|(i, k)| pearson(&NAMES[i], &NAMES[k]));
        assert!((on_one_date(&past(&[0, 1, 2])) - mean(pairs.into_iter())).abs() < 1e-14);
        assert_eq!(on_one_date(&past(&[0])), 0.0);
    }

    #[test]
    fn on_two_dates_days_of_the_calendar_meet() {
        let (a, b) = (standardised(0), standardised(1));
        let shared: f64 = (0..4).map(|day| a[day + 2] * b[day]).sum::<f64>() / 4.0;
        assert!((on_two_dates(&past(&[0]), &past(&[1]), 2) - shared).abs() < 1e-14);
        assert_eq!(on_two_dates(&past(&[0]), &past(&[1]), 6), 0.0);
    }

    #[test]
    fn a_pair_counts_for_the_days_that_it_shares() {
        // Three events: one pair on one date with 0.5, two pairs a day apart with 0.2 each.
        let pairs = Pairs { by_distance: vec![0.5, 0.4], events: 3.0 };
        assert!((pairs.mean(1) - 0.5 / 3.0).abs() < 1e-15);
        assert!((pairs.mean(2) - (0.5 + 0.4 / 2.0) / 3.0).abs() < 1e-15);
    }
}
