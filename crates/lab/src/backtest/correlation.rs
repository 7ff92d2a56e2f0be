//! The summary of a series of correlations: mean, ratio, t with and without Newey and West's correction, moments.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::backtest::IcSummary;
use inkstone_base::stats::{mean, std};

/// Summary of a series of correlations at a horizon; dates without one are left out.
pub(crate) fn summarise(series: &[f64], horizon: usize) -> IcSummary {
    let x: Vec<f64> = series.iter().copied().filter(|v| !v.is_nan()).collect();
    let n = x.len();
    let count = n as f64;
    let mean = mean(x.iter().copied());
    let std = std(&x);
    let centred: Vec<f64> = x.iter().map(|v| v - mean).collect();
    let moment = |k: i32| centred.iter().map(|v| v.powi(k)).sum::<f64>() / count;
    let t_nw = mean / (long_run_variance(&centred, horizon.saturating_sub(1)) / (count - 1.0)).sqrt();
    IcSummary {
        n,
        mean,
        std,
        icir: mean / std,
        t: mean / (std / count.sqrt()),
        t_nw,
        p: two_sided(t_nw, n),
        positive: if n > 0 { x.iter().filter(|v| **v > 0.0).count() as f64 / count } else { f64::NAN },
        skew: moment(3) / moment(2).powf(1.5),
        kurtosis: moment(4) / moment(2).powi(2) - 3.0,
    }
}

/// Variance of centred values plus twice the Bartlett-weighted autocovariances up to `lag`, each divided by n
/// (Newey and West 1987).
fn long_run_variance(centred: &[f64], lag: usize) -> f64 {
    let n = centred.len();
    let covariance = |l: usize| (l..n).map(|t| centred[t] * centred[t - l]).sum::<f64>() / n as f64;
    let lag = lag.min(n.saturating_sub(1));
    (1..=lag).fold(covariance(0), |sum, l| sum + 2.0 * (1.0 - l as f64 / (lag as f64 + 1.0)) * covariance(l))
}

fn two_sided(t: f64, n: usize) -> f64 {
    if t.is_nan() || n < 2 {
        return f64::NAN;
    }
    StudentsT::new(0.0, 1.0, (n - 1) as f64).map_or(f64::NAN, |student| 2.0 * student.sf(t.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_equals_the_one_by_hand() {
        // mean 2, deviations -1 1 -1 1: std sqrt(4/3), lag-1 covariance -3/4.
        let summary = summarise(&[1.0, 3.0, f64::NAN, 1.0, 3.0], 1);
        let std = (4.0_f64 / 3.0).sqrt();
        assert_eq!((summary.n, summary.mean, summary.positive), (4, 2.0, 1.0));
        assert!((summary.icir - 2.0 / std).abs() < 1e-15);
        assert!((summary.t - 4.0 / std).abs() < 1e-14 && (summary.t_nw - summary.t).abs() < 1e-14);
        assert!((summary.kurtosis + 2.0).abs() < 1e-14 && summary.skew.abs() < 1e-14);
        // Two-sided p of t = 3.4641 with 3 degrees of freedom (scipy.stats.t.sf).
        assert!((summary.p - 0.040_519_3).abs() < 1e-6, "{}", summary.p);
        let overlapping = summarise(&[1.0, 3.0, 1.0, 3.0], 2);
        let variance = (1.0 - 0.75) / 3.0;
        assert!((overlapping.t_nw - 2.0 / f64::sqrt(variance)).abs() < 1e-12, "{}", overlapping.t_nw);
    }

    #[test]
    fn an_empty_series_has_no_figures() {
        let summary = summarise(&[f64::NAN], 5);
        assert_eq!(summary.n, 0);
        assert!(summary.mean.is_nan() && summary.t_nw.is_nan() && summary.p.is_nan() && summary.positive.is_nan());
    }
}
