//! The predictive power that the linter tries to break: RankIC by date, and what chance does to its mean.

use anyhow::Result;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::backtest::{self, Ranked, RankedValues};
use crate::factor::Factor;
use crate::lint::finding::{Draws, Loss, Trade};
use crate::lint::{Params, Standing, Subject};
use inkstone_base::bootstrap::{Interval, block_length, draw, interval};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, std};

/// RankIC of the factor under test, as the backtest has it at its first horizon.
pub(super) struct Power<'a> {
    /// The returns of the backtest's alignment.
    pub ranked: Ranked<'a>,
    /// The values that the backtest uses.
    pub rows: RankedValues<'a>,
    /// RankIC by date, NaN where there is none.
    pub series: Vec<f64>,
    pub mean: Mean,
    /// Trading days that returns overlap.
    pub overlap: usize,
}

/// Mean of a series by date, with the error, interval and p of the moving-block bootstrap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    pub n: usize,
    /// NaN without dates.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    pub interval: Interval,
    /// Share of the draws that lie as far from zero when their mean is moved there; two-sided.
    pub p: f64,
}

impl<'a> Power<'a> {
    pub(super) fn new(subject: &Subject<'a>, params: &Params, ctx: &Ctx) -> Result<Power<'a>> {
        let overlap = subject.backtest.horizons.first().copied().unwrap_or(1);
        let ranked = Ranked::new(subject.factor, subject.market, subject.backtest, ctx)?;
        let rows = ranked.rows(subject.factor, ctx)?;
        let series = ranked.series(&rows, ctx)?;
        let mean = Mean::new(&series, overlap, params, ctx)?;
        Ok(Power { ranked, rows, series, mean, overlap })
    }

    /// True if the mean RankIC differs from zero.
    pub(super) fn is_there(&self, params: &Params) -> bool {
        self.mean.n > 1 && self.mean.p <= params.alpha()
    }

    /// RankIC by date of another factor, in the same alignment.
    pub(super) fn series_of(&self, factor: &Factor, ctx: &Ctx) -> Result<Vec<f64>> {
        self.ranked.series(&self.ranked.rows(factor, ctx)?, ctx)
    }
}

impl Mean {
    /// The mean of what is there. Blocks are as long as the cube root of the number of dates, and no shorter than `overlap`.
    pub(super) fn new(series: &[f64], overlap: usize, params: &Params, ctx: &Ctx) -> Result<Mean> {
        let there: Vec<f64> = series.iter().copied().filter(|v| !v.is_nan()).collect();
        let (n, centre) = (there.len(), mean(there.iter().copied()));
        if n < 2 {
            let nothing = Interval { low: f64::NAN, high: f64::NAN };
            return Ok(Mean { n, mean: centre, error: f64::NAN, interval: nothing, p: f64::NAN });
        }
        let mean_of_draw = |times: &[u32]| {
            vec![times.iter().zip(&there).map(|(&times, v)| f64::from(times) * v).sum::<f64>() / n as f64]
        };
        let drawn = draw(n, block_length(n, overlap), params.bootstrap, ctx, mean_of_draw)?;
        let draws: Vec<f64> = drawn.into_iter().flatten().collect();
        let as_far = draws.iter().filter(|d| (*d - centre).abs() >= centre.abs()).count();
        Ok(Mean {
            n,
            mean: centre,
            error: std(&draws),
            interval: interval(draws.iter().copied(), params.confidence),
            p: (1 + as_far) as f64 / (1 + draws.len()) as f64,
        })
    }

    /// Two-sided p of the difference from the mean of other dates, by the normal distribution.
    pub(super) fn p_against(&self, other: &Mean) -> f64 {
        let distance = (self.mean - other.mean).abs() / self.error.hypot(other.error);
        match Normal::new(0.0, 1.0) {
            Ok(normal) if !distance.is_nan() => 2.0 * normal.sf(distance),
            _ => f64::NAN,
        }
    }
}

/// Two series, NaN on both sides where either has no value.
pub(super) fn paired(series: &[f64], other: &[f64]) -> Vec<(f64, f64)> {
    let both = |(a, b): (&f64, &f64)| if a.is_nan() || b.is_nan() { (f64::NAN, f64::NAN) } else { (*a, *b) };
    series.iter().zip(other).map(both).collect()
}

/// `series` less `other` by date, where both have a value, in the direction of the mean of `series`; and that mean.
fn lost(series: &[f64], other: &[f64]) -> (Vec<f64>, f64) {
    let pairs = paired(series, other);
    let centre = mean(pairs.iter().map(|pair| pair.0));
    (pairs.iter().map(|(a, b)| (a - b) * centre.signum()).collect(), centre)
}

/// RankIC that a variant of the factor loses.
pub(super) struct Lost {
    /// Mean over the dates that both factors have, in the direction of the RankIC found.
    pub mean: f64,
    /// `mean` as a share of the RankIC found.
    pub share: f64,
    /// Mean RankIC of the variant.
    pub left: f64,
    /// True if p is above 1 - `confidence`.
    pub chance: bool,
    pub figures: Loss,
}

/// Means of draws in which dates or texts are changed for others, beside the RankIC found.
pub(super) struct Placebo {
    pub mean: f64,
    pub std: f64,
    pub share: f64,
    pub standing: Standing,
    pub figures: Draws,
}

impl Power<'_> {
    /// Compares with the RankIC by date of a variant; none where the two have no dates in common.
    pub(super) fn lost_by(&self, variant: &[f64], params: &Params, ctx: &Ctx) -> Result<Option<Lost>> {
        let (losses, rank_ic) = lost(&self.series, variant);
        let Mean { n: dates, mean, interval, p, .. } = Mean::new(&losses, self.overlap, params, ctx)?;
        let share = mean / rank_ic.abs();
        if dates < 2 || share.is_nan() {
            return Ok(None);
        }
        let left = rank_ic - mean * rank_ic.signum();
        let figures = Loss { rank_ic, low: interval.low, high: interval.high, p, dates };
        Ok(Some(Lost { mean, share, left, chance: p > params.alpha(), figures }))
    }

    /// Judges draws by what remains of the RankIC; draws without a mean are left out.
    pub(super) fn placebo(&self, draws: Vec<f64>, params: &Params) -> Placebo {
        let draws: Vec<f64> = draws.into_iter().filter(|draw| !draw.is_nan()).collect();
        let (rank_ic, mean) = (self.mean.mean, mean(draws.iter().copied()));
        let Interval { low, high } = interval(draws.iter().copied(), params.confidence);
        let p = share_as_far(&draws, rank_ic);
        let figures = Draws { rank_ic, low, high, p, draws: draws.len() };
        let share = figures.share(mean);
        let standing = match () {
            () if share.is_nan() => Standing::Skipped,
            () if share > params.max_share => Standing::Failed,
            () if p > params.alpha() => Standing::Warned,
            () => Standing::Passed,
        };
        Placebo { mean, std: std(&draws), share, standing, figures }
    }
}

/// Share of the draws that lie as far from zero as `found`, `found` among them.
fn share_as_far(draws: &[f64], found: f64) -> f64 {
    let as_far = draws.iter().filter(|draw| draw.abs() >= found.abs()).count();
    (1 + as_far) as f64 / (1 + draws.len()) as f64
}

/// Delay and price of the trade.
pub(super) fn trade(params: &backtest::Params) -> Trade {
    Trade { delay: params.delay_days(), price: params.traded_price() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_far_from_zero_is_told_from_chance_and_nothing_has_no_mean() {
        let (params, ctx) = (Params::default(), Ctx::new(2, 1).unwrap());
        let wave = |shift: f64| (0..200).map(|t| shift + f64::from(t * 7 % 13 - 6) / 60.0).collect::<Vec<_>>();
        let strong = Mean::new(&wave(0.05), 1, &params, &ctx).unwrap();
        assert!(strong.p < 0.005 && strong.interval.low > 0.0 && strong.n == 200, "{strong:?}");
        let weak = Mean::new(&wave(0.0), 1, &params, &ctx).unwrap();
        assert!(weak.p > 0.3, "{weak:?}");
        assert!(strong.p_against(&weak) < 0.01 && weak.p_against(&weak) > 0.99);
        let none = Mean::new(&[f64::NAN], 1, &params, &ctx).unwrap();
        assert!(none.mean.is_nan() && none.p.is_nan() && none.n == 0);
    }

    #[test]
    fn what_is_lost_counts_in_the_direction_of_the_whole() {
        let (lost, whole) = lost(&[-0.2, -0.4, f64::NAN, -0.9], &[-0.1, 0.0, 0.3, f64::NAN]);
        assert!((whole + 0.3).abs() < 1e-15 && (lost[0] - 0.1).abs() < 1e-15 && (lost[1] - 0.4).abs() < 1e-15);
        assert!(lost[2].is_nan() && lost[3].is_nan());
        assert_eq!(share_as_far(&[0.1, -0.3, 0.2], 0.2), 0.75);
    }
}
