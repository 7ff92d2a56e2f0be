//! Scores to probabilities, learned from scores of rows that the scoring model had not seen.
//!
//! Sigmoid: `p = 1 / (1 + e^(a f + b))` with Platt's smoothed targets, fitted by Newton's method (Platt 1999; Lin, Lin and Weng
//! 2007). Isotonic: the non-decreasing steps nearest to the truth (pool adjacent violators), linear between their corners and
//! level beyond the ends. Both as scikit-learn's `CalibratedClassifierCV(ensemble=False)`: one a class against the rest, and
//! the probabilities of more than two classes divided by their sum.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::ensure;

/// The form of the map from scores to probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum CalibrationForm {
    /// Probabilities of the model itself; a support vector machine has none.
    #[default]
    None,
    /// By a sigmoid: two parameters, for few rows.
    Sigmoid,
    /// By non-decreasing steps, for a thousand rows and more.
    Isotonic,
}

/// A fitted map from a score to a probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Calibrator {
    /// `1 / (1 + e^(slope f + offset))`.
    Sigmoid {
        /// Below 0 when higher scores are likelier.
        slope: f64,
        /// The exponent at a score of 0.
        offset: f64,
    },
    /// Corners of the steps.
    Isotonic {
        /// Scores, ascending.
        scores: Vec<f64>,
        /// The probability at each.
        probabilities: Vec<f64>,
    },
}

impl Calibrator {
    /// Learns from scores and whether each row is so, by weight if `weights` are given.
    pub(crate) fn fit(
        form: CalibrationForm,
        scores: &[f64],
        so: &[bool],
        weights: Option<&[f64]>,
    ) -> Result<Option<Calibrator>> {
        ensure!(
            so.contains(&true) && so.contains(&false),
            "校准须有两类折外得分的行；现在只有一类",
            "calibration needs rows of both kinds among those scored out of fold; there is one kind only"
        );
        ensure!(
            scores.iter().all(|s| s.is_finite()),
            "校准的每一行都须有有限的得分",
            "calibration needs a finite score in each row"
        );
        let ones = vec![1.0; so.len()];
        let weights = weights.unwrap_or(&ones);
        Ok(match form {
            CalibrationForm::None => None,
            CalibrationForm::Sigmoid => Some(sigmoid(scores, so, weights)),
            CalibrationForm::Isotonic => Some(isotonic(scores, so, weights)),
        })
    }

    /// The probability that a row of this score is so.
    pub(crate) fn probability(&self, score: f64) -> f64 {
        match self {
            Calibrator::Sigmoid { slope, offset } => 1.0 / (1.0 + (slope * score + offset).exp()),
            Calibrator::Isotonic { scores, probabilities } => {
                let above = scores.partition_point(|s| *s < score);
                if above == 0 {
                    return probabilities[0];
                }
                let Some(&right) = scores.get(above) else { return probabilities[above - 1] };
                let share = (score - scores[above - 1]) / (right - scores[above - 1]);
                probabilities[above - 1] + share * (probabilities[above] - probabilities[above - 1])
            }
        }
    }
}

fn sigmoid(scores: &[f64], so: &[bool], weights: &[f64]) -> Calibrator {
    let weight_of = |kind: bool| so.iter().zip(weights).filter(|(so, _)| **so == kind).map(|(_, w)| w).sum::<f64>();
    let (ups, downs) = (weight_of(true), weight_of(false));
    let target = |i: usize| if so[i] { (ups + 1.0) / (ups + 2.0) } else { 1.0 / (downs + 2.0) };
    // Scores of any size are brought to about 1, or the curvature would be that of a needle.
    let size = scores.iter().fold(0.0f64, |top, s| top.max(s.abs())).max(f64::MIN_POSITIVE);
    let value = |a: f64, b: f64| -> f64 {
        let loss = |i: usize| {
            let z = a * scores[i] / size + b;
            // -t ln p - (1 - t) ln (1 - p) with p = 1 / (1 + e^z), without overflow.
            weights[i] * (z.max(0.0) + (-z.abs()).exp().ln_1p() - (1.0 - target(i)) * z)
        };
        (0..so.len()).map(loss).sum()
    };
    let (mut a, mut b) = (0.0, ((downs + 1.0) / (ups + 1.0)).ln());
    let mut now = value(a, b);
    for _ in 0..200 {
        // Kept from being singular when all scores are alike.
        let (mut aa, mut bb, mut ab, mut ga, mut gb) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
        for i in 0..so.len() {
            let (f, p) = (scores[i] / size, 1.0 / (1.0 + (a * scores[i] / size + b).exp()));
            let (curve, pull) = (weights[i] * p * (1.0 - p), weights[i] * (target(i) - p));
            aa += curve * f * f;
            bb += curve;
            ab += curve * f;
            ga += pull * f;
            gb += pull;
        }
        let det = aa * bb - ab * ab;
        let (da, db) = (-(bb * ga - ab * gb) / det, -(aa * gb - ab * ga) / det);
        let mut step = 1.0;
        while step > 1e-10 && value(a + step * da, b + step * db) > now + 1e-12 * now.abs() {
            step *= 0.5;
        }
        (a, b) = (a + step * da, b + step * db);
        now = value(a, b);
        if (step * da).abs() + (step * db).abs() <= 1e-12 * (1.0 + a.abs() + b.abs()) {
            break;
        }
    }
    Calibrator::Sigmoid { slope: a / size, offset: b }
}

fn isotonic(scores: &[f64], so: &[bool], weights: &[f64]) -> Calibrator {
    let mut order: Vec<usize> = (0..so.len()).filter(|&i| weights[i] > 0.0).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    // Equal scores are one point, then neighbours out of order are pooled: (weight, mean, first point, last point).
    let mut points: Vec<f64> = Vec::new();
    let mut blocks: Vec<(f64, f64, usize, usize)> = Vec::new();
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let weight: f64 = tied.iter().map(|&i| weights[i]).sum();
        let ups: f64 = tied.iter().filter(|&&i| so[i]).map(|&i| weights[i]).sum();
        let at = points.len();
        points.push(scores[tied[0]]);
        blocks.push((weight, ups / weight, at, at));
        while let [.., before, last] = blocks[..] {
            if before.1 < last.1 {
                break;
            }
            let weight = before.0 + last.0;
            let mean = (before.0 * before.1 + last.0 * last.1) / weight;
            blocks.truncate(blocks.len() - 2);
            blocks.push((weight, mean, before.2, last.3));
        }
    }
    let (mut corners, mut probabilities) = (Vec::new(), Vec::new());
    for (_, mean, first, last) in blocks {
        for point in if first == last { vec![first] } else { vec![first, last] } {
            corners.push(points[point]);
            probabilities.push(mean);
        }
    }
    Calibrator::Isotonic { scores: corners, probabilities }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Reference, farthest, read};

    #[test]
    fn probabilities_equal_those_of_scikit_learn() {
        let reference = Reference::read();
        let calibration = &reference.all["calibration"];
        let (scores, so, at): (Vec<f64>, Vec<bool>, Vec<f64>) =
            (read(&calibration["scores"]), read(&calibration["so"]), read(&calibration["at"]));
        for case in calibration["cases"].as_array().unwrap() {
            let weights = case["weighted"].as_bool().unwrap().then_some(&reference.weights[..]);
            // Ours reaches the optimum; scikit-learn stops at a gradient of 1e-6.
            for (form, name, near) in
                [(CalibrationForm::Sigmoid, "sigmoid", 1e-6), (CalibrationForm::Isotonic, "isotonic", 1e-12)]
            {
                let calibrator = Calibrator::fit(form, &scores, &so, weights).unwrap().unwrap();
                let p: Vec<f64> = at.iter().map(|&score| calibrator.probability(score)).collect();
                let expected: Vec<f64> = read(&case[name]);
                let off = farthest(&p, &expected);
                assert!(off < near, "{name}: {off}");
            }
        }
    }

    #[test]
    fn neighbours_out_of_order_are_pooled() {
        let so = [false, true, false, true];
        let steps = Calibrator::fit(CalibrationForm::Isotonic, &[1.0, 2.0, 3.0, 4.0], &so, None).unwrap().unwrap();
        let p = [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 9.0].map(|score| steps.probability(score));
        assert_eq!(p, [0.0, 0.0, 0.25, 0.5, 0.5, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn one_kind_or_no_score_is_refused() {
        let error_of = |scores: &[f64], so: &[bool]| {
            Calibrator::fit(CalibrationForm::Sigmoid, scores, so, None).unwrap_err().to_string()
        };
        assert!(error_of(&[1.0, 2.0], &[true, true]).contains("both kinds"));
        assert!(error_of(&[f64::NAN, 2.0], &[true, false]).contains("finite score"));
        assert_eq!(Calibrator::fit(CalibrationForm::None, &[1.0, 2.0], &[true, false], None).unwrap(), None);
    }
}
