//! The parts of a probability: integrated gradients (Sundararajan et al. 2017) over the estimator's scores.
//!
//! Scores z are sums of the parts of columns; a probability p(z) is not. From the scores without any column, z0, a straight way leads to
//! those of the row, z1. Of each score the mean slope of p along this way is what one unit of the score moved, and the parts of a column in
//! the scores times these slopes are its part of the probability. Base and parts sum to p(z1).

use std::collections::BTreeMap;

use super::Estimator;
use crate::calibration::Calibrator;
use crate::design::DesignRow;

/// Half the distance of the two scores that a slope is taken from.
const STEP: f64 = 1e-5;

/// Intervals for each unit of the score that moves most, and the fewest and most of them: the error stays below 1e-8.
const INTERVALS: f64 = 32.0;
const FEWEST: usize = 64;
const MOST: usize = 1 << 15;

/// The probability of a class or label, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbabilityParts {
    /// The probability without any column.
    pub base: f64,
    /// The part of each column, the largest first.
    pub parts: Vec<(u32, f64)>,
    /// The change of the probability by one unit of each of the estimator's scores, along the path of integrated gradients.
    pub slopes: Vec<f64>,
}

impl Estimator {
    /// The probability of class or label `of` from a row's scores; none where scores are margins.
    pub fn probability(&self, scores: &[f64], of: usize) -> Option<f64> {
        self.guess_from(scores).probabilities?.get(of).copied()
    }

    /// Takes the probability of class or label `of` apart; none where scores are margins. Isotonic calibration is not taken apart: the
    /// parts are those of the probability before it.
    pub(crate) fn explain_probability(&self, row: DesignRow<'_>, of: usize) -> Option<ProbabilityParts> {
        let outputs = self.outputs();
        let (mut without, mut with) = (Vec::with_capacity(outputs), Vec::with_capacity(outputs));
        let mut columns: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for output in 0..outputs {
            let (base, parts) = self.scorer.explain(row, output, None);
            without.push(base);
            with.push(base + parts.iter().map(|(_, part)| part).sum::<f64>());
            for (column, part) in parts {
                columns.entry(column).or_insert_with(|| vec![0.0; outputs])[output] += part;
            }
        }
        let base = self.smooth_probability(&without, of)?;
        let slopes = self.mean_slopes(&without, &with, of)?;
        let weigh = |parts: Vec<f64>| parts.iter().zip(&slopes).map(|(part, slope)| part * slope).sum::<f64>();
        let mut parts: Vec<(u32, f64)> = columns.into_iter().map(|(column, parts)| (column, weigh(parts))).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        Some(ProbabilityParts { base, parts, slopes })
    }

    /// The probability, or that before calibration where this moves in steps.
    fn smooth_probability(&self, scores: &[f64], of: usize) -> Option<f64> {
        if self.calibrators.iter().all(|by| matches!(by, Calibrator::Sigmoid { .. })) {
            return self.probability(scores, of);
        }
        let (mut log_odds, mut probabilities) = (Vec::new(), Vec::new());
        self.raw(scores, &mut log_odds, &mut probabilities);
        probabilities.get(of).copied()
    }

    /// The mean slope of the probability by each score on the straight way between two rows of scores, by Simpson's rule.
    fn mean_slopes(&self, from: &[f64], to: &[f64], of: usize) -> Option<Vec<f64>> {
        let farthest = from.iter().zip(to).map(|(a, b)| (b - a).abs()).fold(0.0, f64::max);
        // Even, as the rule asks.
        let intervals = ((farthest * INTERVALS) as usize).clamp(FEWEST, MOST).next_multiple_of(2);
        let mut slopes = vec![0.0; from.len()];
        for k in 0..=intervals {
            let t = k as f64 / intervals as f64;
            let weight = match k {
                0 => 1.0,
                k if k == intervals => 1.0,
                k if k % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let mut scores: Vec<f64> = from.iter().zip(to).map(|(a, b)| a + t * (b - a)).collect();
            for (output, slope) in slopes.iter_mut().enumerate() {
                let at = scores[output];
                scores[output] = at + STEP;
                let above = self.smooth_probability(&scores, of)?;
                scores[output] = at - STEP;
                let below = self.smooth_probability(&scores, of)?;
                scores[output] = at;
                *slope += weight * (above - below) / (2.0 * STEP) / (3.0 * intervals as f64);
            }
        }
        Some(slopes)
    }
}
