//! Scales of charts: where values stand, and which numbers are written along them.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// A scale from one value to another, linear or logarithmic, with the numbers that are written along it.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    range: Range<f64>,
    logarithmic: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// A linear scale with some `most` round numbers.
    pub(crate) fn linear(low: f64, high: f64, most: usize) -> Axis {
        Axis { range: low..high, logarithmic: false, ticks: ticks(low, high, most) }
    }

    /// A logarithmic scale of values above zero, with some `most` numbers.
    pub(crate) fn logarithmic(low: f64, high: f64, most: usize) -> Axis {
        Axis { range: low..high, logarithmic: true, ticks: log_ticks(low, high, most) }
    }

    /// Position of a value between the ends: 0 at the lower, 1 at the upper.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        if self.logarithmic { (value / start).ln() / (end / start).ln() } else { (value - start) / (end - start) }
    }

    /// The numbers written along it, ascending.
    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Decimals that tell these numbers apart.
    pub(crate) fn decimals(&self) -> usize {
        let step = self.ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        if step.is_finite() && step > 0.0 { (-(step.log10() + 1e-9).floor()).clamp(0.0, 8.0) as usize } else { 4 }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.share(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Round numbers within the range, some `most` of them.
fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let raw = span / most.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Powers of two, as lengths mostly are, with what is half as much again between them where there are few; over less than an octave
/// round numbers.
fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (first, last) = (low.log2().floor() as i32, high.log2().floor() as i32);
    let within = |factor: f64| move |power: i32| Some(factor * 2f64.powi(power)).filter(|v| (low..=high).contains(v));
    let powers: Vec<f64> = (first..=last).filter_map(within(1.0)).collect();
    if powers.len() >= 3 {
        return powers.iter().copied().step_by(powers.len().div_ceil(most.max(1))).collect();
    }
    let halves: Vec<f64> =
        (first..=last).flat_map(|power| [within(1.0)(power), within(1.5)(power)]).flatten().collect();
    if (3..=most).contains(&halves.len()) { halves } else { ticks(low, high, most.min(5)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks(-0.011, 0.052, 6), [0.0, 0.02, 0.04]);
        assert_eq!(ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(3.0, 3.0, 5), [3.0]);
        assert_eq!(log_ticks(100.0, 600.0, 8), [128.0, 256.0, 512.0]);
        assert_eq!(log_ticks(1.0, 1024.0, 4), [1.0, 8.0, 64.0, 512.0]);
        assert_eq!(log_ticks(110.0, 450.0, 8), [128.0, 192.0, 256.0, 384.0]);
        assert_eq!(log_ticks(400.0, 500.0, 8), [400.0, 420.0, 440.0, 460.0, 480.0, 500.0]);
        let decimals =
            [(0.0, 1.0), (0.0, 0.1), (0.0, 100.0), (1.0, 1.0)].map(|(low, high)| Axis::linear(low, high, 5).decimals());
        assert_eq!(decimals, [1, 2, 0, 4]);
    }

    #[test]
    fn values_stand_in_proportion() {
        let axis = Axis::logarithmic(100.0, 400.0, 5);
        assert_eq!(axis.map(&200.0, (10, 110)), 60);
        let axis = Axis::linear(-1.0, 3.0, 5);
        assert_eq!([axis.map(&0.0, (0, 100)), axis.map(&0.0, (100, 0))], [25, 75]);
    }
}
