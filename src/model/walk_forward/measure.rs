//! How well scores fit labels: share of variance, area under the curve, rank correlation. `None` where a measure has no
//! meaning.

/// The share of the variance of `y` that `fitted` explains; below 0 when it does worse than the mean.
pub(super) fn r_squared(fitted: &[f64], y: &[f64]) -> Option<f64> {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
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

/// Spearman's correlation, with average ranks.
pub(super) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (average_ranks(a), average_ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let spread = (sum(&a, &a) * sum(&b, &b)).sqrt();
    (spread > 0.0).then(|| sum(&a, &b) / spread)
}

/// Ranks from 1; equal values share the mean of their ranks.
pub(super) fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]).then(i.cmp(&j)));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let rank = below as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|&i| ranks[i] = rank);
        below += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

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
