//! The predictive power that the linter tries to break: RankIC by date, and what chance does to its mean.

use anyhow::Result;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::backtest::{self, Ranked, Rows};
use crate::factor::Factor;
use crate::lint::{Params, Subject};
use inkstone_base::bootstrap::{Interval, block_length, draw, interval};
use inkstone_base::job::Ctx;
use inkstone_base::stats::{mean, std};

/// RankIC of the factor under test, as the backtest has it at its first horizon.
pub(super) struct Power<'a> {
    /// The returns of the backtest's alignment.
    pub ranked: Ranked<'a>,
    /// The values that it uses.
    pub rows: Rows<'a>,
    /// RankIC by date, NaN where there is none.
    pub series: Vec<f64>,
    /// Its mean.
    pub mean: Mean,
    /// Trading days that returns overlap.
    pub overlap: usize,
}

/// The mean of a series by date, with what the moving-block bootstrap says of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    /// Dates.
    pub n: usize,
    /// The mean; NaN of no dates.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Its interval.
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
        let mean = Mean::of(&series, overlap, params, ctx)?;
        Ok(Power { ranked, rows, series, mean, overlap })
    }

    /// Whether there is a RankIC that differs from zero.
    pub(super) fn is_there(&self, params: &Params) -> bool {
        self.mean.n > 1 && self.mean.p <= params.alpha()
    }

    /// RankIC by date of another factor, in the same alignment.
    pub(super) fn of(&self, factor: &Factor, ctx: &Ctx) -> Result<Vec<f64>> {
        self.ranked.series(&self.ranked.rows(factor, ctx)?, ctx)
    }
}

impl Mean {
    /// The mean of what is there. Blocks are as long as the cube root of the number of dates, and no shorter than `overlap`.
    pub(super) fn of(series: &[f64], overlap: usize, params: &Params, ctx: &Ctx) -> Result<Mean> {
        let there: Vec<f64> = series.iter().copied().filter(|v| !v.is_nan()).collect();
        let (n, centre) = (there.len(), mean(there.iter().copied()));
        if n < 2 {
            let nothing = Interval { low: f64::NAN, high: f64::NAN };
            return Ok(Mean { n, mean: centre, error: f64::NAN, interval: nothing, p: f64::NAN });
        }
        let of_draw = |times: &[u32]| {
            vec![times.iter().zip(&there).map(|(&times, v)| f64::from(times) * v).sum::<f64>() / n as f64]
        };
        let drawn = draw(n, block_length(n, overlap), params.bootstrap, ctx, of_draw)?;
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

/// What `other` lacks of `series` by date where both are, as much as it points in the direction of the mean of
/// `series`; and that mean over the same dates.
pub(super) fn lost(series: &[f64], other: &[f64]) -> (Vec<f64>, f64) {
    let both = |(a, b): (&f64, &f64)| if a.is_nan() || b.is_nan() { (f64::NAN, f64::NAN) } else { (*a, *b) };
    let pairs: Vec<(f64, f64)> = series.iter().zip(other).map(both).collect();
    let whole = mean(pairs.iter().map(|pair| pair.0));
    (pairs.iter().map(|(a, b)| (a - b) * whole.signum()).collect(), whole)
}

/// A share of the draws that lie as far from zero as what was found, the finding among them.
pub(super) fn share_as_far(draws: &[f64], found: f64) -> f64 {
    let as_far = draws.iter().filter(|draw| draw.abs() >= found.abs()).count();
    (1 + as_far) as f64 / (1 + draws.len()) as f64
}

/// How a backtest pairs values, in words: Chinese, English.
pub(super) fn alignment(params: &backtest::Params) -> (String, String) {
    let (delay, price) = (params.delay_days(), params.traded_price().name());
    (format!("延迟 {delay} 日，价格 {price}"), format!("delay {delay}, price {price}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_far_from_zero_is_told_from_chance_and_nothing_has_no_mean() {
        let (params, ctx) = (Params::default(), Ctx::new(2, 1).unwrap());
        let wave = |shift: f64| (0..200).map(|t| shift + f64::from(t * 7 % 13 - 6) / 60.0).collect::<Vec<_>>();
        let strong = Mean::of(&wave(0.05), 1, &params, &ctx).unwrap();
        assert!(strong.p < 0.005 && strong.interval.low > 0.0 && strong.n == 200, "{strong:?}");
        let weak = Mean::of(&wave(0.0), 1, &params, &ctx).unwrap();
        assert!(weak.p > 0.3, "{weak:?}");
        assert!(strong.p_against(&weak) < 0.01 && weak.p_against(&weak) > 0.99);
        let none = Mean::of(&[f64::NAN], 1, &params, &ctx).unwrap();
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
