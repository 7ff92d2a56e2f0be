//! The axis of time that all charts of a stock share: trading days side by side, as many columns as there are.

use std::ops::Range;

/// Trading days on columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeAxis {
    pub(super) days: Range<usize>,
    pub(super) columns: usize,
}

impl TimeAxis {
    /// The column of a day; none outside of the axis.
    pub(super) fn column(&self, day: usize) -> Option<usize> {
        let inside = self.days.contains(&day).then(|| day - self.days.start)?;
        Some((2 * inside + 1) * self.columns / (2 * self.days.len()))
    }

    /// The days of a column; where days are wider than columns, the one that the column lies in.
    pub(super) fn days_of(&self, column: usize) -> Range<usize> {
        let at = |column: usize| self.days.start + column * self.days.len() / self.columns.max(1);
        let (start, end) = (at(column), at(column + 1));
        start..end.max(start + 1).min(self.days.end)
    }

    /// The place of a day along the axis.
    pub(super) fn place(day: usize) -> f64 {
        day as f64 + 0.5
    }

    /// The ends of the axis as places.
    pub(super) fn span(&self) -> (f64, f64) {
        (self.days.start as f64, self.days.end as f64)
    }

    /// Stretches of days with a number, as points of curves: where a number is missing a curve ends.
    pub(super) fn stretches(&self, values: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let days: Vec<usize> = self.days.clone().collect();
        let there = days.split(|day| !values[*day].is_finite()).filter(|stretch| !stretch.is_empty());
        there.map(|stretch| stretch.iter().map(|day| (TimeAxis::place(*day), values[*day])).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_column_that_has_the_day() {
        for (days, columns) in [(10..250, 60), (0..30, 70), (5..6, 9), (3..63, 60)] {
            let axis = TimeAxis { days: days.clone(), columns };
            for day in days.clone() {
                let column = axis.column(day).unwrap();
                assert!(column < columns && (days.len() > columns || axis.days_of(column).contains(&day)), "{day}");
            }
            let all: Vec<usize> = (0..columns).flat_map(|column| axis.days_of(column)).collect();
            assert!(days.clone().all(|day| all.contains(&day)) && all.iter().all(|day| days.contains(day)));
            assert_eq!((axis.column(days.end), axis.column(days.start.wrapping_sub(1))), (None, None));
        }
    }

    #[test]
    fn a_curve_ends_where_a_number_is_missing() {
        let axis = TimeAxis { days: 1..6, columns: 5 };
        let stretches = axis.stretches(&[9.0, 1.0, 2.0, f64::NAN, f64::NAN, 5.0, 9.0]);
        assert_eq!(stretches, [vec![(1.5, 1.0), (2.5, 2.0)], vec![(5.5, 5.0)]]);
    }
}
