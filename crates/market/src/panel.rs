//! A dense date x code matrix, the shape in which prices and factors are computed.

use std::sync::Arc;

use chrono::NaiveDate;

use inkstone_base::code::Code;

/// Values by date and code, `[dates, codes]` row-major f64; NaN where there is none.
///
/// Dates ascend and are unique; codes are unique. Panels of one market share both axes.
#[derive(Clone, Debug)]
pub struct Panel {
    dates: Arc<[NaiveDate]>,
    codes: Arc<[Code]>,
    values: Vec<f64>,
}

impl Panel {
    /// A panel without values.
    pub fn empty(dates: Arc<[NaiveDate]>, codes: Arc<[Code]>) -> Panel {
        let values = vec![f64::NAN; dates.len() * codes.len()];
        Panel { dates, codes, values }
    }

    /// A panel of `[dates, codes]` row-major values.
    pub fn from_values(dates: Arc<[NaiveDate]>, codes: Arc<[Code]>, values: Vec<f64>) -> Panel {
        assert_eq!(values.len(), dates.len() * codes.len(), "a panel has one value per date and code");
        Panel { dates, codes, values }
    }

    /// Dates, ascending.
    pub fn dates(&self) -> &Arc<[NaiveDate]> {
        &self.dates
    }

    pub fn codes(&self) -> &Arc<[Code]> {
        &self.codes
    }

    /// The value at date number `t` and code number `i`; NaN when there is none.
    pub fn at(&self, t: usize, i: usize) -> f64 {
        self.values[t * self.codes.len() + i]
    }

    /// Sets the value at date number `t` and code number `i`.
    pub fn set(&mut self, t: usize, i: usize, value: f64) {
        let width = self.codes.len();
        self.values[t * width + i] = value;
    }

    /// All values of date number `t`, `[codes]`.
    pub fn row(&self, t: usize) -> &[f64] {
        let width = self.codes.len();
        &self.values[t * width..(t + 1) * width]
    }

    /// True if some value is known.
    pub(crate) fn has_values(&self) -> bool {
        (0..self.dates.len()).any(|t| self.row(t).iter().any(|value| !value.is_nan()))
    }

    /// All values of date number `t`, to be changed.
    pub fn row_mut(&mut self, t: usize) -> &mut [f64] {
        let width = self.codes.len();
        &mut self.values[t * width..(t + 1) * width]
    }
}
