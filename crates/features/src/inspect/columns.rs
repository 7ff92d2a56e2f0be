//! Statistics of one column of a set: counts and moments of all rows, quartiles and a histogram of the sampled ones.

use inkstone_base::stats::quantile;

/// Bars of a column's histogram.
pub const BINS: usize = 16;

/// Share of the values below the first inner border of a histogram, and above the last: values farther out stand in the outer bars,
/// so that one stray value does not press all others into one bar.
const TAIL: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnName {
    /// The name in the set.
    Named(String),
    /// Number of non-zero columns of a sparse row.
    Entries,
    /// Euclidean length of a sparse row.
    Length,
}

/// Statistics of a column. Figures without values are NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: ColumnName,
    /// Rows without a finite value.
    pub missing: u64,
    /// Rows with the value 0.
    pub zeros: u64,
    /// Mean of the finite values.
    pub mean: f64,
    /// Standard deviation of the finite values (ddof 1).
    pub std: f64,
    pub min: f64,
    pub max: f64,
    /// First quartile, median, third quartile of the sampled rows.
    pub quartiles: [f64; 3],
    /// Sampled rows by value, in steps of equal width between the first and the last percentile; empty where nothing was sampled.
    pub bars: Vec<u32>,
}

impl Column {
    /// True if all rows that have a value have the same one.
    pub fn is_constant(&self) -> bool {
        self.min.is_finite() && self.min == self.max
    }
}

/// Counts and moments of a column as its values come by.
#[derive(Clone, Debug)]
pub(super) struct Running {
    missing: u64,
    zeros: u64,
    n: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Running {
    pub(super) const NEW: Running =
        Running { missing: 0, zeros: 0, n: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// Adds a value (Welford's recursion).
    pub(super) fn add(&mut self, value: f32) {
        if !value.is_finite() {
            self.missing += 1;
            return;
        }
        let value = f64::from(value);
        self.zeros += u64::from(value == 0.0);
        self.n += 1;
        let step = value - self.mean;
        self.mean += step / self.n as f64;
        self.squares += step * (value - self.mean);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    /// Adds so many zeros, for the rows without an entry in a sparse column.
    pub(super) fn add_zeros(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        let n = self.n + count;
        self.squares += self.mean.powi(2) * (self.n as f64 * count as f64 / n as f64);
        self.mean *= self.n as f64 / n as f64;
        self.zeros += count;
        self.n = n;
        (self.min, self.max) = (self.min.min(0.0), self.max.max(0.0));
    }

    /// Values that are not zero.
    pub(super) fn filled(&self) -> u64 {
        self.n - self.zeros
    }

    /// Rows seen, those without a value among them.
    pub(super) fn rows(&self) -> u64 {
        self.n + self.missing
    }

    /// The statistics, with the values of the sampled rows.
    pub(super) fn conclude(&self, name: ColumnName, sample: impl Iterator<Item = f32>) -> Column {
        let mut sample: Vec<f64> = sample.filter(|value| value.is_finite()).map(f64::from).collect();
        sample.sort_unstable_by(f64::total_cmp);
        let known = |value: f64| if self.n > 0 { value } else { f64::NAN };
        let quartile = |q: f64| if sample.is_empty() { f64::NAN } else { quantile(&sample, q) };
        Column {
            name,
            missing: self.missing,
            zeros: self.zeros,
            mean: known(self.mean),
            std: if self.n > 1 { (self.squares / (self.n - 1) as f64).sqrt() } else { f64::NAN },
            min: known(self.min),
            max: known(self.max),
            quartiles: [0.25, 0.5, 0.75].map(quartile),
            bars: bars(&sample),
        }
    }
}

fn bars(sorted: &[f64]) -> Vec<u32> {
    if sorted.is_empty() {
        return Vec::new();
    }
    let (low, high) = (quantile(sorted, TAIL), quantile(sorted, 1.0 - TAIL));
    let mut bars = vec![0; BINS];
    for value in sorted {
        let place = (value - low) / (high - low) * BINS as f64;
        // All values alike: there is no width to divide, and they stand in the middle.
        let bin = if place.is_nan() { BINS / 2 } else { (place.max(0.0) as usize).min(BINS - 1) };
        bars[bin] += 1;
    }
    bars
}
