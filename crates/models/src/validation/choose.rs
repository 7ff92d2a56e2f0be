//! The choice among strengths of a penalty by what they reached out of fold.

use serde::{Deserialize, Serialize};

/// The scores of one strength of the penalty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridPoint {
    /// The strength: alpha of linear models (1/C), smoothing of naive Bayes.
    pub alpha: f64,
    /// Mean over the folds: accuracy of classes, micro F1 of label sets, minus the mean squared error of values.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    pub scores: Vec<f64>,
}

impl GridPoint {
    /// Sums up the folds of one strength.
    pub fn new(alpha: f64, scores: Vec<f64>) -> GridPoint {
        let mean = inkstone_base::stats::mean(scores.iter().copied());
        let standard_error = inkstone_base::stats::std(&scores) / (scores.len() as f64).sqrt();
        GridPoint { alpha, mean, standard_error, scores }
    }
}

/// The place of the point to use: the best mean, the stronger penalty of equals; or, with the one-standard-error rule, the
/// strongest penalty whose mean is within one standard error of the best (Breiman and others 1984).
pub fn choose_penalty(points: &[GridPoint], one_standard_error: bool) -> Option<usize> {
    let better = |a: &GridPoint, b: &GridPoint| a.mean.total_cmp(&b.mean).then(a.alpha.total_cmp(&b.alpha));
    let best = (0..points.len()).max_by(|&a, &b| better(&points[a], &points[b]))?;
    if !one_standard_error {
        return Some(best);
    }
    let least = points[best].mean - points[best].standard_error;
    (0..points.len()).filter(|&i| points[i].mean >= least).max_by(|&a, &b| points[a].alpha.total_cmp(&points[b].alpha))
}
