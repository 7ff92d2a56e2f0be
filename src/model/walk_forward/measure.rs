//! How well scores fit labels: share of variance, area under the curve, rank correlation. `None` where a measure has no
//! meaning.

use crate::stats::{average_ranks, mean, spearman};

/// The share of the variance of `y` that `fitted` explains; below 0 when it does worse than the mean.
pub(super) fn r_squared(fitted: &[f64], y: &[f64]) -> Option<f64> {
    let mean = mean(y.iter().copied());
    let all: f64 = y.iter().map(|y| (y - mean).powi(2)).sum();
    let left: f64 = fitted.iter().zip(y).map(|(f, y)| (y - f).powi(2)).sum();
    (all > 0.0).then(|| 1.0 - left / all)
}

/// The chance that a row that is up scores above one that is not, ties counting half.
pub(super) fn area_under_curve(scores: &[f64], up: &[bool]) -> Option<f64> {
    let ups = up.iter().filter(|up| **up).count() as f64;
    let downs = up.len() as f64 - ups;
    let ranks = average_ranks(scores);
    let sum: f64 = ranks.iter().zip(up).filter(|(_, up)| **up).map(|(rank, _)| rank).sum();
    (ups * downs > 0.0).then(|| (sum - ups * (ups + 1.0) / 2.0) / (ups * downs))
}

/// Spearman's correlation.
pub(in crate::model) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let correlation = spearman(a, b);
    (!correlation.is_nan()).then_some(correlation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_agree_with_a_calculation_by_hand() {
        // Differences of ranks 0, 1, -1, 0: 1 - 6 x 2 / (4 x 15) = 0.8.
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[10.0, 30.0, 20.0, 40.0]).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
        // Of the four pairs, three are in order and one is tied.
        assert_eq!(area_under_curve(&[0.1, 0.5, 0.5, 0.9], &[false, false, true, true]), Some(0.875));
        assert_eq!(r_squared(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(r_squared(&[2.0, 2.0, 2.0], &[1.0, 2.0, 3.0]), Some(0.0));
    }
}
