//! The factor that the truth speaks of, and its mean RankIC in many markets that differ in their noise alone.
//!
//! Factor of a name on day T: the mean tone of the first mentions that can be traded on T-4..T, each weighted
//! `0.7^age` (age in trading days); a name without any has no value. RankIC is Spearman's correlation with average
//! ranks on each day that has [`FEWEST`] names, and its mean over the days.

use anyhow::Result;
use rayon::prelude::*;

use super::chain;
use super::prices::{self, Planting, Walk};
use super::story::World;
use super::truth::Planted;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, mean, std};

/// Look-back in trading days and the weight lost per day.
pub(super) const LOOKBACK: usize = 5;
pub(super) const DECAY: f64 = 0.7;
/// Names that a day needs to count.
pub(super) const FEWEST: usize = 5;

/// Sums and counts of something that documents carry, by day and company.
pub(super) struct DailySums {
    width: usize,
    sum: Vec<f32>,
    count: Vec<u16>,
}

impl DailySums {
    pub(super) fn new(days: usize, width: usize) -> DailySums {
        DailySums { width, sum: vec![0.0; days * width], count: vec![0; days * width] }
    }

    pub(super) fn add(&mut self, day: usize, company: usize, value: f64) {
        let at = day * self.width + company;
        self.sum[at] += value as f32;
        self.count[at] = self.count[at].saturating_add(1);
    }

    /// The decayed mean on each day, `[days, companies]`; NaN without documents.
    fn factor(&self) -> Vec<f64> {
        let days = self.sum.len() / self.width;
        let value = |t: usize, i: usize| {
            // Powers by multiplication: what powi gives depends on the optimiser, and ties hang on the last digit.
            let (mut sum, mut weight, mut w) = (0.0, 0.0, 1.0);
            for age in 0..LOOKBACK.min(t + 1) {
                let at = (t - age) * self.width + i;
                sum += w * f64::from(self.sum[at]);
                weight += w * f64::from(self.count[at]);
                w *= DECAY;
            }
            if weight > 0.0 { sum / weight } else { f64::NAN }
        };
        (0..days).flat_map(|t| (0..self.width).map(move |i| value(t, i))).collect()
    }
}

/// The return that a factor is paired with.
#[derive(Clone, Copy)]
enum Holding {
    /// From the open of T+1, so many days.
    FromNextOpen(usize),
    /// From the close of T-1 to the close of T.
    SameDay,
}

/// The days on which a factor and a return both exist, with the factor's standardised ranks. Which names trade does not
/// depend on the noise, so this is made once for all markets.
struct Pairing {
    holding: Holding,
    days: Vec<(usize, Vec<u32>, Vec<f64>)>,
}

impl Pairing {
    fn new(factor: &[f64], limits: &[f32], width: usize, holding: Holding) -> Pairing {
        let days = limits.len() / width;
        let trades = |t: Option<usize>, i: usize| t.is_some_and(|t| t < days && !limits[t * width + i].is_nan());
        let both = |t: usize, i: usize| match holding {
            Holding::FromNextOpen(h) => trades(Some(t + 1), i) && trades(Some(t + 1 + h), i),
            Holding::SameDay => trades(t.checked_sub(1), i) && trades(Some(t), i),
        };
        let day = |t: usize| {
            let names: Vec<u32> =
                (0..width).filter(|&i| !factor[t * width + i].is_nan() && both(t, i)).map(|i| i as u32).collect();
            let values: Vec<f64> = names.iter().map(|&i| factor[t * width + i as usize]).collect();
            (names.len() >= FEWEST).then(|| standard_ranks(&values)).flatten().map(|ranks| (t, names, ranks))
        };
        Pairing { holding, days: (0..days).filter_map(day).collect() }
    }

    fn mean_ic(&self, walk: &Walk, width: usize) -> f64 {
        let mut sum = 0.0;
        for (t, names, ranks) in &self.days {
            let price = |panel: &[f64], t: usize, i: u32| panel[t * width + i as usize];
            let gain = |&i: &u32| match self.holding {
                Holding::FromNextOpen(h) => price(&walk.open, t + 1 + h, i) - price(&walk.open, t + 1, i),
                Holding::SameDay => price(&walk.close, *t, i) - price(&walk.close, t - 1, i),
            };
            let returns: Vec<f64> = names.iter().map(gain).collect();
            if let Some(other) = standard_ranks(&returns) {
                sum += ranks.iter().zip(&other).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        sum / self.days.len().max(1) as f64
    }
}

/// Average ranks, shifted and scaled so that the product of two of them is their correlation; `None` when all are equal.
fn standard_ranks(values: &[f64]) -> Option<Vec<f64>> {
    let middle = (values.len() + 1) as f64 / 2.0;
    let mut ranks = average_ranks(values);
    ranks.iter_mut().for_each(|r| *r -= middle);
    let norm = ranks.iter().map(|r| r * r).sum::<f64>().sqrt();
    (norm > 0.0).then(|| ranks.iter().map(|r| r / norm).collect())
}

/// The planted correlations, in the order next day, next five days, same day, placebo next day, customers next day.
pub(super) fn planted(
    world: &World,
    limits: &[f32],
    planting: &Planting,
    tones: &DailySums,
    placebo: &DailySums,
    ctx: &Ctx,
) -> Result<[Planted; 5]> {
    let World { companies, supply_ties, seed, .. } = world;
    let width = companies.len();
    let (tone, placebo) = (tones.factor(), placebo.factor());
    let customers = chain::spread(&tone, width, supply_ties);
    let pairing = |factor: &[f64], holding| Pairing::new(factor, limits, width, holding);
    let pairings = [
        pairing(&tone, Holding::FromNextOpen(1)),
        pairing(&tone, Holding::FromNextOpen(5)),
        pairing(&tone, Holding::SameDay),
        pairing(&placebo, Holding::FromNextOpen(1)),
        pairing(&customers, Holding::FromNextOpen(1)),
    ];
    let one = |redraw: u64| -> Result<[f64; 5]> {
        ctx.check()?;
        let walk = prices::walk(companies, limits, planting, *seed, redraw);
        Ok(std::array::from_fn(|k| pairings[k].mean_ic(&walk, width)))
    };
    let n = redraws(width);
    let draws: Vec<[f64; 5]> = ctx.install(|| (0..=n).into_par_iter().map(one).collect::<Result<_>>())?;
    let summary = |k: usize| {
        let values: Vec<f64> = draws[1..].iter().map(|d| d[k]).collect();
        let (mean, sd) = (mean(values.iter().copied()), std(&values));
        let days = &pairings[k].days;
        let names = days.iter().map(|d| d.1.len()).sum::<usize>() as f64 / days.len().max(1) as f64;
        let (low, high) = (mean - 1.96 * sd, mean + 1.96 * sd);
        Planted { mean, low, high, realised: draws[0][k], dates: days.len(), names }
    };
    Ok(std::array::from_fn(summary))
}

/// Markets drawn for the interval: 200 while they are small, fewer where each has more to average over.
pub(super) fn redraws(width: usize) -> u64 {
    (80_000 / width as u64).clamp(40, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_middle_of_a_tie() {
        let ranks = standard_ranks(&[3.0, 1.0, 3.0, 2.0]).unwrap();
        // Ranks 3.5, 1, 3.5, 2 less their mean 2.5: 1, -1.5, 1, -0.5, of norm sqrt(4.5).
        let expected = [1.0, -1.5, 1.0, -0.5].map(|r: f64| r / 4.5f64.sqrt());
        assert!(ranks.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{ranks:?}");
        assert!(standard_ranks(&[2.0, 2.0]).is_none());
    }

    #[test]
    fn the_factor_is_a_decayed_mean_and_absent_without_news() {
        let mut sums = DailySums::new(7, 1);
        sums.add(0, 0, 1.0);
        sums.add(1, 0, -1.0);
        sums.add(1, 0, 0.0);
        let factor = sums.factor();
        assert_eq!(factor[0], 1.0);
        assert!((factor[1] - (0.7 - 1.0) / (0.7 + 2.0)).abs() < 1e-12);
        assert!(factor[5].is_finite() && factor[6].is_nan());
    }
}
