//! Significance of a Sharpe ratio: the probabilistic and the deflated one, and the necessary length of a track record.
//!
//! Sharpe ratios here are those of a day, mean / standard deviation (ddof 1), never annual; an annual one is `sqrt(days per year)` times as
//! large. Papers: Bailey and López de Prado, The Sharpe Ratio Efficient Frontier (2012), and The Deflated Sharpe Ratio (2014).

use std::f64::consts::E;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use inkstone_base::stats::{mean, std};

/// The Euler–Mascheroni constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

nan_as_null! {
    /// Moments of a series of daily returns.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Moments {
        pub days: usize,
        /// Sharpe ratio of a day.
        pub sharpe: f64,
        /// Skewness (biased, as scipy's default).
        pub skew: f64,
        /// Kurtosis (biased); 3 for the normal distribution.
        pub kurtosis: f64,
    }
}

impl Moments {
    /// Moments of daily returns; none of fewer than three, or without variance.
    pub fn from_returns(returns: &[f64]) -> Option<Moments> {
        let n = returns.len() as f64;
        let (mean, std) = (mean(returns.iter().copied()), std(returns));
        let central = |power: i32| returns.iter().map(|r| (r - mean).powi(power)).sum::<f64>() / n;
        let variance = central(2);
        // Equal values can differ from their mean by rounding alone.
        if returns.len() < 3 || variance.sqrt() <= 1e-12 * mean.abs() {
            return None;
        }
        Some(Moments {
            days: returns.len(),
            sharpe: mean / std,
            skew: central(3) / variance.powf(1.5),
            kurtosis: central(4) / variance.powi(2),
        })
    }

    /// Variance of the estimated ratio, times `days - 1` (2012).
    fn spread(&self) -> f64 {
        1.0 - self.skew * self.sharpe + (self.kurtosis - 1.0) / 4.0 * self.sharpe.powi(2)
    }

    /// Probability that the true Sharpe ratio exceeds `benchmark` (2012, PSR; with the benchmark of `expected_maximum` it is the deflated
    /// Sharpe ratio, 2014, equation 2).
    pub(crate) fn probability_above(&self, benchmark: f64) -> f64 {
        let z = (self.sharpe - benchmark) * ((self.days as f64 - 1.0) / self.spread()).sqrt();
        Normal::standard().cdf(z)
    }

    /// Days after which a ratio with these moments exceeds `benchmark` with this confidence (2012, MinTRL: the minimum track record
    /// length); NaN where it lies below.
    pub fn days_needed(&self, benchmark: f64, confidence: f64) -> f64 {
        if self.sharpe <= benchmark {
            return f64::NAN;
        }
        1.0 + self.spread() * (Normal::standard().inverse_cdf(confidence) / (self.sharpe - benchmark)).powi(2)
    }
}

/// Sharpe ratio that the best of `trials` independent ones without skill is expected to have when their ratios have this variance
/// (2014, equation 1, with a mean of 0); 0 for one trial.
pub(crate) fn expected_maximum(variance: f64, trials: u64) -> f64 {
    if trials < 2 {
        return 0.0;
    }
    let normal = Normal::standard();
    let n = trials as f64;
    variance.sqrt()
        * ((1.0 - GAMMA) * normal.inverse_cdf(1.0 - 1.0 / n) + GAMMA * normal.inverse_cdf(1.0 - 1.0 / (n * E)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::reference::{close, reference};

    #[test]
    fn the_example_of_the_paper_is_deflated_as_printed() {
        // 2014, section "A numerical example": annual Sharpe 2.5 over 1,250 days of 250 a year, skew -3, kurtosis 10, 100 trials whose
        // annual ratios have a variance of 1/2: the benchmark is 0.1132 a day and the deflated ratio 0.9004.
        let found = Moments { days: 1250, sharpe: 2.5 / 250f64.sqrt(), skew: -3.0, kurtosis: 10.0 };
        let benchmark = expected_maximum(0.5 / 250.0, 100);
        assert!((benchmark - 0.1132).abs() < 5e-5, "{benchmark}");
        assert!((found.probability_above(benchmark) - 0.9004).abs() < 5e-5);
        // With 46 trials it would have been 0.9505.
        let fewer = found.probability_above(expected_maximum(0.5 / 250.0, 46));
        assert!((fewer - 0.9505).abs() < 5e-5, "{fewer}");
    }

    #[test]
    fn one_trial_is_not_deflated_and_the_needed_days_are_those_at_which_the_confidence_is_reached() {
        assert_eq!(expected_maximum(0.3, 1), 0.0);
        let found = Moments { days: 500, sharpe: 0.05, skew: -0.5, kurtosis: 6.0 };
        let days = found.days_needed(0.01, 0.95);
        let then = Moments { days: days.ceil() as usize, ..found };
        assert!(then.probability_above(0.01) >= 0.95);
        assert!(Moments { days: then.days - 1, ..found }.probability_above(0.01) < 0.95);
        assert!(found.days_needed(0.05, 0.95).is_nan());
    }

    #[test]
    fn what_does_not_vary_has_no_ratio() {
        assert_eq!(Moments::from_returns(&[0.1, 0.1, 0.1]), None);
        assert_eq!(Moments::from_returns(&[0.1, 0.2]), None);
        assert_eq!(Moments::from_returns(&[]), None);
    }

    #[test]
    fn figures_equal_those_of_scipy() {
        let reference = reference();
        for (trial, returns) in reference.returns.iter().enumerate() {
            let moments = Moments::from_returns(returns).unwrap();
            let expected = &reference.moments[trial];
            close(moments.sharpe, expected.sharpe);
            close(moments.skew, expected.skew);
            close(moments.kurtosis, expected.kurtosis);
            close(moments.probability_above(0.0), expected.probabilistic);
            close(moments.probability_above(reference.expected_maximum), expected.deflated);
            let days = moments.days_needed(0.0, 0.95);
            match expected.days_needed {
                Some(expected) => close(days / expected, 1.0),
                None => assert!(days.is_nan()),
            }
        }
        close(expected_maximum(reference.variance, reference.returns.len() as u64), reference.expected_maximum);
    }
}
