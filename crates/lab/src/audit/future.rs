//! Check of the future: values that were made with data after their date.
//!
//! With an earlier version of the same result, values of common dates and names are compared. Without one, marks of a scaling over the whole sample
//! are looked for: a mean of 0 with a deviation of 1, or extremes of exactly 0 and 1, of each name over all of its dates, or of all values while
//! single dates have none of it. A scaling by name changes the order of the names of a date; one of all values does not.

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::aligned::correlate;
use super::table::AuditedTable;
use super::{AuditCase, AuditCheck, AuditVerdict, Audited, LEAST_DATES, Measured};
use crate::lint::Standing;
use inkstone_base::stats::{mean, variance};

/// Share of the values that may have changed since.
const MAX_CHANGED: f64 = 0.01;
/// Distance of a mean from 0 and of a deviation from 1 within which they are exact but for rounding.
const EXACT: f64 = 1e-4;
/// Values of a name from which on its scale is looked at.
const LEAST_VALUES: usize = 40;

impl Audited<'_> {
    /// The audited values by row, NaN for rows that do not count.
    pub(super) fn audited_values(&self) -> Vec<f64> {
        let table = self.input.table;
        let column = table.scores.iter().find(|(name, _)| *name == self.factor.name).unwrap_or(&table.scores[0]);
        column
            .1
            .iter()
            .enumerate()
            .map(|(row, v)| if table.is_tested(row) && v.is_finite() { *v } else { f64::NAN })
            .collect()
    }

    pub(super) fn cut_future(&self) -> Result<AuditVerdict> {
        if let Some(earlier) = self.input.earlier {
            return self.changed_since(earlier);
        }
        if let Some(untested) = self.too_few_dates(AuditCheck::CutFuture) {
            return Ok(untested);
        }
        let table = self.input.table;
        let values = self.audited_values();
        let mut by_name: Vec<Vec<f64>> = vec![Vec::new(); table.codes.distinct.len()];
        let mut by_date: Vec<Vec<f64>> = vec![Vec::new(); table.dates.distinct.len()];
        for (row, &value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            by_name[table.codes.rows[row] as usize].push(value);
            by_date[table.dates.rows[row] as usize].push(value);
        }
        by_name.retain(|values| values.len() >= LEAST_VALUES);
        by_date.retain(|values| values.len() >= super::LEAST_NAMES);
        let share = |groups: &[Vec<f64>], is: fn(&[f64]) -> bool| {
            groups.iter().filter(|group| is(group)).count() as f64 / groups.len().max(1) as f64
        };
        let names = share(&by_name, is_scaled);
        let dates = share(&by_date, is_scaled);
        let all: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        let is_scaled_as_whole = all.len() >= LEAST_VALUES && dates < 0.5 && (is_scaled(&all) || is_ranked(&all));
        let (standing, case) = match () {
            () if names > 0.5 && by_date.len() >= LEAST_DATES => (Standing::Failed, AuditCase::ScaledByName),
            () if is_scaled_as_whole => (Standing::Warned, AuditCase::ScaledAsWhole),
            () => (Standing::Passed, AuditCase::ScaledFine),
        };
        let figures = [
            ("names", Measured::Share(names)),
            ("dates", Measured::Share(dates)),
            ("mean", Measured::Correlation(mean(all.iter().copied()))),
            ("deviation", Measured::Ratio(variance(&all, 1).sqrt())),
        ];
        Ok(AuditVerdict::new(AuditCheck::CutFuture, standing, case, figures))
    }

    fn changed_since(&self, earlier: &AuditedTable) -> Result<AuditVerdict> {
        let check = AuditCheck::CutFuture;
        let table = self.input.table;
        let same = earlier.scores.iter().find(|(name, _)| *name == self.factor.name);
        let column = &same.unwrap_or(&earlier.scores[0]).1;
        let mut before = FxHashMap::default();
        for (row, value) in column.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            before.insert((*earlier.dates.at(row), earlier.codes.at(row)), *value);
        }
        let mut by_date: FxHashMap<u32, (Vec<f64>, Vec<f64>)> = FxHashMap::default();
        let (mut common, mut changed) = (0_u64, 0_u64);
        for (row, value) in self.audited_values().into_iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let Some(was) = before.get(&(*table.dates.at(row), table.codes.at(row))) else { continue };
            common += 1;
            changed += u64::from((value - was).abs() > 1e-6 * value.abs().max(was.abs()) + 1e-12);
            let (now, then) = by_date.entry(table.dates.rows[row]).or_default();
            now.push(value);
            then.push(*was);
        }
        let mut dates: Vec<u32> = by_date.keys().copied().collect();
        dates.sort_unstable();
        let likeness = mean(dates.iter().map(|date| correlate(&by_date[date].0, &by_date[date].1)));
        let share = changed as f64 / common.max(1) as f64;
        let (standing, case) = match () {
            () if common == 0 => (Standing::Skipped, AuditCase::EarlierDisjoint),
            () if share > MAX_CHANGED => (Standing::Failed, AuditCase::ChangedSince),
            () if changed > 0 => (Standing::Warned, AuditCase::ChangedSince),
            () => (Standing::Passed, AuditCase::EarlierFine),
        };
        let figures = [
            ("common", Measured::Count(common)),
            ("dates", Measured::Count(dates.len() as u64)),
            ("share", Measured::Share(share)),
            ("likeness", Measured::Correlation(likeness)),
        ];
        Ok(AuditVerdict::new(check, standing, case, figures))
    }
}

/// True if the values have the mean 0 and the deviation 1, or one smallest of exactly 0 and one largest of exactly 1.
fn is_scaled(values: &[f64]) -> bool {
    let near = |ddof| (variance(values, ddof).sqrt() - 1.0).abs() < EXACT;
    let at = |edge: f64| values.iter().filter(|value| **value == edge).count() == 1;
    let inside = values.iter().all(|value| (0.0..=1.0).contains(value));
    (mean(values.iter().copied()).abs() < EXACT && (near(0) || near(1))) || (inside && at(0.0) && at(1.0))
}

/// True if the values are distinct and evenly spaced: ranks over the whole sample.
fn is_ranked(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let step = (last - first) / (sorted.len() - 1) as f64;
    let is_at = |(k, value): (usize, &f64)| (value - (first + k as f64 * step)).abs() < 1e-3 * step;
    step > 0.0 && sorted.iter().enumerate().all(is_at)
}
