//! Measures of probabilities: log loss, Brier score, area under the curve, and the reliability table.

use serde::{Deserialize, Serialize};

use inkstone_base::stats::average_ranks;

/// Bins of the reliability table, of equal width.
const BINS: usize = 10;

/// A report on probabilities of classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbabilityReport {
    /// Mean of -ln of the true class's probability, which counts as at least 2.2e-16.
    pub log_loss: f64,
    /// Mean squared distance of probability and truth: of the second class where there are two, else summed over classes.
    pub brier: f64,
    /// Area under the curve: of the second class where there are two, else the mean over classes, each against the rest.
    /// `None` when a class is absent.
    pub auc: Option<f64>,
    /// Expected calibration error: mean distance of probability and frequency over the bins, weighted by their rows.
    pub ece: f64,
    /// The reliability table: of the second class where there are two, else of the class called.
    pub reliability: Vec<Bin>,
}

/// The rows whose probability lies in one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Lowest probability of the bin; it reaches to the next bin's.
    pub from: f64,
    pub documents: u64,
    /// Their mean probability.
    pub probability: f64,
    /// Share of them that are so.
    pub frequency: f64,
}

impl ProbabilityReport {
    /// Judges probabilities `[rows, classes]` against the true classes.
    pub fn new(truth: &[u32], probabilities: &[f64], classes: usize) -> ProbabilityReport {
        let rows = || truth.iter().zip(probabilities.chunks(classes));
        let n = truth.len().max(1) as f64;
        let log_loss =
            rows().map(|(&t, p)| -p[t as usize].clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()).sum::<f64>() / n;
        let is = |t: u32, c: usize| f64::from(u8::from(t as usize == c));
        let (brier, auc, judged): (f64, Option<f64>, Vec<(f64, bool)>) = if classes == 2 {
            let of_second: Vec<f64> = rows().map(|(_, p)| p[1]).collect();
            let second: Vec<bool> = truth.iter().map(|&t| t == 1).collect();
            let brier = rows().map(|(&t, p)| (p[1] - is(t, 1)).powi(2)).sum::<f64>() / n;
            (brier, area_under_curve(&of_second, &second), of_second.into_iter().zip(second).collect())
        } else {
            let square = |(&t, p): (&u32, &[f64])| (0..classes).map(|c| (p[c] - is(t, c)).powi(2)).sum::<f64>();
            let area = |c: usize| {
                let scores: Vec<f64> = rows().map(|(_, p)| p[c]).collect();
                area_under_curve(&scores, &truth.iter().map(|&t| t as usize == c).collect::<Vec<bool>>())
            };
            let areas: Option<Vec<f64>> = (0..classes).map(area).collect();
            let called = rows().map(|(&t, p)| {
                let best = super::largest(p);
                (p[best], t as usize == best)
            });
            (
                rows().map(square).sum::<f64>() / n,
                areas.map(|a| a.iter().sum::<f64>() / classes as f64),
                called.collect(),
            )
        };
        let reliability = reliability(&judged);
        let off = |bin: &Bin| bin.documents as f64 / n * (bin.probability - bin.frequency).abs();
        let ece = reliability.iter().map(off).sum();
        ProbabilityReport { log_loss, brier, auc, ece, reliability }
    }
}

/// The bins that have rows.
fn reliability(judged: &[(f64, bool)]) -> Vec<Bin> {
    let mut bins = [Bin::default(); BINS];
    for &(p, so) in judged {
        let bin = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        bin.documents += 1;
        bin.probability += p;
        bin.frequency += f64::from(u8::from(so));
    }
    let mean = |(i, bin): (usize, Bin)| {
        let n = bin.documents as f64;
        Bin { from: i as f64 / BINS as f64, probability: bin.probability / n, frequency: bin.frequency / n, ..bin }
    };
    bins.into_iter().enumerate().filter(|(_, bin)| bin.documents > 0).map(mean).collect()
}

/// The chance that a row that is up scores above one that is not, ties counting half.
pub fn area_under_curve(scores: &[f64], up: &[bool]) -> Option<f64> {
    let ups = up.iter().filter(|up| **up).count() as f64;
    let downs = up.len() as f64 - ups;
    let ranks = average_ranks(scores);
    let sum: f64 = ranks.iter().zip(up).filter(|(_, up)| **up).map(|(rank, _)| rank).sum();
    (ups * downs > 0.0).then(|| (sum - ups * (ups + 1.0) / 2.0) / (ups * downs))
}
