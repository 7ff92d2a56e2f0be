//! Tests of a mean cumulative abnormal return against zero, from the sums of its events.
//!
//! `cross_section`: t of the returns themselves, as if events were independent. `bmp`: t of standardised returns, which bears that
//! events move the variance (Boehmer, Musumeci and Poulsen 1991). `kolari_pynnonen`: the same, divided by what the mean correlation
//! r of n events adds to its variance, sqrt((1 + (n - 1) r) / (1 - r)); a negative r counts as 0, so that no result is made
//! stronger (Kolari and Pynnönen 2010). `clustered`: the mean over its error clustered by code and by day. `corrado`: ranks of the days of
//! the window among those of the estimation (Corrado 1989, over several days Corrado and Zivney 1992). `sign`: events above zero
//! against the share of days above zero before (Cowan 1992).
//!
//! The documents of a day move together, so `cross_section`, `bmp` and `sign` find too much in text. `corrado` bears one date that
//! all share, but takes the days of a part to be independent, which they are not where dates are neighbours. `clustered` is the one to
//! believe where events fall on some ten dates or more; with fewer, `kolari_pynnonen`.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::cluster::ClusteredError;
use super::study::EventTest;
use super::sums::{GroupSums, SpanSums};

/// A statistic with its two-sided p.
#[derive(Clone, Copy)]
struct Statistic {
    statistic: f64,
    p: f64,
}

/// All tests of one group over one part of the window; `span` is its number, `(from, to)` its days within the window,
/// `correlation` the mean of the events' cumulative returns over it.
pub(super) fn of_group(
    cell: &GroupSums,
    span: usize,
    (from, to): (usize, usize),
    part: (i32, i32),
    correlation: f64,
    error: ClusteredError,
) -> Vec<EventTest> {
    let sums = &cell.spans[span];
    let estimation = cell.ranks.len() - cell.days.len();
    let found = [
        ("cross_section", cross_section(sums.events, sums.car)),
        ("bmp", cross_section(sums.events, sums.standardised)),
        ("kolari_pynnonen", kolari_pynnonen(sums, correlation)),
        ("clustered", clustered(cell.mean(span), error)),
        ("corrado", corrado(&cell.ranks, estimation + from..estimation + to)),
        ("sign", sign(sums)),
    ];
    found.map(|(test, found)| entry(part, cell.mean(span), test, found)).into()
}

/// The tests of a difference between two groups over one part.
pub(super) fn of_difference(
    top: &GroupSums,
    bottom: &GroupSums,
    span: usize,
    part: (i32, i32),
    error: ClusteredError,
) -> Vec<EventTest> {
    let difference = top.mean(span) - bottom.mean(span);
    let found =
        [("cross_section", welch(&top.spans[span], &bottom.spans[span])), ("clustered", clustered(difference, error))];
    found.map(|(test, found)| entry(part, difference, test, found)).into()
}

fn entry(days: (i32, i32), mean: f64, test: &str, found: Statistic) -> EventTest {
    EventTest { days, mean, test: test.to_owned(), statistic: found.statistic, p: found.p }
}

/// Half width of a 95 % interval.
pub(super) fn half_width(error: ClusteredError) -> f64 {
    let student = StudentsT::new(0.0, 1.0, error.freedom);
    student.map_or(f64::NAN, |student| student.inverse_cdf(0.975) * error.error)
}

fn student(statistic: f64, freedom: f64) -> Statistic {
    let student = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| !statistic.is_nan());
    Statistic { statistic, p: student.map_or(f64::NAN, |student| 2.0 * student.sf(statistic.abs())) }
}

fn normal(statistic: f64) -> Statistic {
    let p = if statistic.is_nan() { f64::NAN } else { 2.0 * Normal::standard().sf(statistic.abs()) };
    Statistic { statistic, p }
}

/// Mean and variance of the mean of `n` values given by their sum and sum of squares.
fn moments(n: u64, (sum, squares): (f64, f64)) -> (f64, f64) {
    let n = n as f64;
    let mean = sum / n;
    (mean, (squares - n * mean * mean).max(0.0) / (n - 1.0) / n)
}

/// t of a mean, its values taken to be independent.
fn cross_section(n: u64, sums: (f64, f64)) -> Statistic {
    let (mean, variance) = moments(n, sums);
    student(mean / variance.sqrt(), n as f64 - 1.0)
}

fn kolari_pynnonen(sums: &SpanSums, correlation: f64) -> Statistic {
    let (n, correlation) = (sums.events as f64, correlation.clamp(0.0, 1.0));
    let bmp = cross_section(sums.events, sums.standardised).statistic;
    student(bmp * ((1.0 - correlation) / (1.0 + (n - 1.0) * correlation)).sqrt(), n - 1.0)
}

fn clustered(mean: f64, error: ClusteredError) -> Statistic {
    student(mean / error.error, error.freedom)
}

/// Ranks of the part's days over what the mean ranks of all days scatter, by the root of their number.
fn corrado(ranks: &[(f64, u64)], part: std::ops::Range<usize>) -> Statistic {
    let scaled = |&(sum, n): &(f64, u64)| (n > 0).then(|| sum / (n as f64).sqrt());
    let all: Vec<f64> = ranks.iter().filter_map(scaled).collect();
    let scatter = (all.iter().map(|day| day * day).sum::<f64>() / all.len() as f64).sqrt();
    let days: Vec<f64> = ranks[part].iter().filter_map(scaled).collect();
    normal(days.iter().sum::<f64>() / scatter / (days.len() as f64).sqrt())
}

fn sign(sums: &SpanSums) -> Statistic {
    let n = sums.events as f64;
    let share = sums.expected_positive / n;
    normal((sums.positive as f64 - n * share) / (n * share * (1.0 - share)).sqrt())
}

/// Welch's t of a difference of means.
fn welch(top: &SpanSums, bottom: &SpanSums) -> Statistic {
    let ((top_mean, a), (bottom_mean, b)) = (moments(top.events, top.car), moments(bottom.events, bottom.car));
    let freedom = (a + b).powi(2) / (a * a / (top.events as f64 - 1.0) + b * b / (bottom.events as f64 - 1.0));
    student((top_mean - bottom_mean) / (a + b).sqrt(), freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_correlation_takes_what_independence_promised() {
        // Standardised returns 1, 2, 3: mean 2, deviation 1, t = 2 sqrt(3). With r = 1/4: sqrt(0.75 / 1.5).
        let sums = SpanSums { events: 3, standardised: (6.0, 14.0), ..SpanSums::default() };
        let t = |r: f64| kolari_pynnonen(&sums, r).statistic;
        assert!((t(0.0) - 12f64.sqrt()).abs() < 1e-12);
        assert!((t(0.25) - 6f64.sqrt()).abs() < 1e-12);
        assert_eq!(t(-0.2), t(0.0), "what is negative makes nothing stronger");
    }

    #[test]
    fn ranks_and_signs_are_as_by_hand() {
        // Four days with mean ranks scaled to 1, -1, 1, 1 by their numbers: scatter 1; the last two give 2 / sqrt(2).
        let ranks = [(2.0, 4), (-2.0, 4), (1.0, 1), (0.0, 0), (3.0, 9)];
        assert!((corrado(&ranks, 2..5).statistic - 2f64.sqrt()).abs() < 1e-15);
        // 8 of 10 above zero where 4 were expected: 4 / sqrt(10 x 0.4 x 0.6).
        let sums = SpanSums { events: 10, positive: 8, expected_positive: 4.0, ..SpanSums::default() };
        let found = sign(&sums);
        assert!((found.statistic - 4.0 / 2.4f64.sqrt()).abs() < 1e-12);
        assert!((found.p - 0.009_823_274_507).abs() < 1e-10, "{}", found.p);
    }

    #[test]
    fn one_event_has_no_test_of_its_own() {
        let sums = SpanSums { events: 1, car: (0.1, 0.01), standardised: (1.0, 1.0), ..SpanSums::default() };
        assert!(cross_section(sums.events, sums.car).p.is_nan() && kolari_pynnonen(&sums, 0.0).p.is_nan());
        let none = ClusteredError { error: f64::NAN, freedom: f64::NAN };
        assert!(half_width(none).is_nan() && clustered(0.1, none).p.is_nan());
    }
}
