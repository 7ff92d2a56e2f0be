//! Numbers by date and code while a factor is computed, each with the time at which it was known and the documents behind it.

use chrono::{NaiveDate, NaiveTime};

use inkstone_market::Market;

/// Numbers of days, `[dates, codes]` row-major; NaN where there is none.
#[derive(Clone, Debug)]
pub(super) struct DayGrid {
    pub(super) values: Vec<f64>,
    /// Seconds since 1970 of the Shanghai wall clock; meaningless where there is no number.
    pub(super) known: Vec<i64>,
    /// Documents behind a number: of what it was computed from, the most.
    pub(super) documents: Vec<u32>,
    pub(super) width: usize,
}

impl DayGrid {
    pub(super) fn empty(market: &Market) -> DayGrid {
        let (days, width) = (market.dates().len(), market.codes().len());
        let cells = days * width;
        DayGrid { values: vec![f64::NAN; cells], known: vec![i64::MIN; cells], documents: vec![0; cells], width }
    }

    pub(super) fn days(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    pub(super) fn row(&self, t: usize) -> &[f64] {
        &self.values[t * self.width..(t + 1) * self.width]
    }

    /// Latest known-at time of a date, of the names that `enters` lets in.
    pub(super) fn latest(&self, t: usize, enters: impl Fn(usize) -> bool) -> i64 {
        let cells = t * self.width..(t + 1) * self.width;
        let known = cells.filter(|&cell| !self.values[cell].is_nan() && enters(cell % self.width));
        known.map(|cell| self.known[cell]).max().unwrap_or(i64::MIN)
    }

    /// Each number changed by itself.
    pub(super) fn map(mut self, change: impl Fn(f64) -> f64) -> DayGrid {
        self.values.iter_mut().for_each(|value| *value = change(*value));
        self
    }

    /// Two numbers made one, known when both are.
    pub(super) fn join(mut self, other: &DayGrid, combine: impl Fn(f64, f64) -> f64) -> DayGrid {
        for (cell, value) in self.values.iter_mut().enumerate() {
            *value = combine(*value, other.values[cell]);
            self.known[cell] = self.known[cell].max(other.known[cell]);
            self.documents[cell] = self.documents[cell].max(other.documents[cell]);
        }
        self
    }
}

/// Seconds since 1970 of the Shanghai wall clock.
pub(super) fn seconds(date: NaiveDate, time: NaiveTime) -> i64 {
    date.and_time(time).and_utc().timestamp()
}
