//! Checks of choices: the best of several, a sign that was turned, training rows among the test rows.
//!
//! The best of N results without skill has, over T dates, an ICIR of the expected maximum of N draws with variance 1 / (T - 1) (Bailey and López de
//! Prado 2014). The deflated probability is that of a true ICIR above that. The RankIC is that with the return of the next day, for all trials alike.

use anyhow::Result;

use super::aligned::{RankedDates, correlate};
use super::table::{AuditedTable, SampleSplit};
use super::{AuditCase, AuditCheck, AuditVerdict, Audited, CLEAR, LEAST_DATES, LEAST_NAMES, Measured, on_market};
use crate::backtest::summarise;
use crate::ledger::{Moments, expected_maximum, overfitting};
use crate::lint::Standing;
use inkstone_base::job::Ctx;
use inkstone_base::stats::quantile;
use inkstone_market::{Calendar, Market};

/// Probability from which on a result is called significant.
const SIGNIFICANT: f64 = 0.95;
/// Deflated probability below which a significant result is luck.
const LUCK: f64 = 0.8;
/// Probability of overfitting above which the choice is worth nothing.
const OVERFITTED: f64 = 0.5;
/// Rank correlation of values from date to date from which on a sign can be followed.
const STEADY: f64 = 0.3;
/// Share of the dates on which the order may turn.
const MAX_TURNS: f64 = 0.05;
/// Share of the test rows that may lie in a training window.
const MAX_INSIDE: f64 = 0.01;
/// Share of the test rows that labels of training may reach.
const MAX_REACHED: f64 = 0.05;
/// RankIC with the return of this day is what trials are compared by.
const NEXT_DAY: i32 = 1;

/// Number of the column with the highest t.
pub(super) fn best_column(table: &AuditedTable, market: &Market, ctx: &Ctx) -> Result<usize> {
    let mut best = (0, 0.0);
    for column in 0..table.scores.len() {
        let t = summarise(&series_of(table, column, market, ctx)?, 1).t.abs();
        if t > best.1 {
            best = (column, t);
        }
    }
    Ok(best.0)
}

/// RankIC by date of a column with the return of the next day.
fn series_of(table: &AuditedTable, column: usize, market: &Market, ctx: &Ctx) -> Result<Vec<f64>> {
    RankedDates::new(&on_market(table, column, market)?, market, ctx)?.series(NEXT_DAY, ctx)
}

impl Audited<'_> {
    pub(super) fn selected(&self) -> Result<AuditVerdict> {
        let check = AuditCheck::Selected;
        let table = self.input.table;
        let mut trials = vec![self.ranked.series(NEXT_DAY, self.ctx)?];
        for column in (0..table.scores.len()).filter(|&column| table.scores[column].0 != self.factor.name) {
            trials.push(series_of(table, column, self.market, self.ctx)?);
        }
        for other in self.input.others {
            trials.push(series_of(other, 0, self.market, self.ctx)?);
        }
        let direction = self.direction();
        let dates: Vec<usize> =
            (0..trials[0].len()).filter(|&t| trials.iter().all(|series| !series[t].is_nan())).collect();
        let common = |series: &Vec<f64>| dates.iter().map(|&t| direction * series[t]).collect::<Vec<f64>>();
        let trials: Vec<Vec<f64>> = trials.iter().map(common).collect();
        let tried = (trials.len() as u64).max(self.input.claim.trials.unwrap_or(1));
        let moments = Moments::from_returns(&trials[0]).filter(|_| dates.len() >= LEAST_DATES);
        let Some(moments) = moments else {
            return Ok(AuditVerdict::new(check, Standing::Skipped, AuditCase::SelectedNothing, []));
        };
        let icir = |series: &Vec<f64>| summarise(series, 1).icir;
        let better = trials[1..].iter().filter(|series| icir(series) > moments.sharpe).count() as u64;
        // The column with the highest t of either sign is the best of twice as many.
        let drawn = if table.is_named { tried } else { 2 * tried };
        let expected = expected_maximum(1.0 / (dates.len() as f64 - 1.0), drawn);
        let (plain, deflated) = (moments.probability_above(0.0), moments.probability_above(expected));
        let overfitted = overfitting(&trials).map_or(f64::NAN, |found| found.probability);
        let is_luck = deflated < LUCK || (overfitted > OVERFITTED && deflated < SIGNIFICANT && better == 0);
        let (standing, case) = match () {
            () if tried < 2 => (Standing::Skipped, AuditCase::SelectedUnknown),
            () if plain >= SIGNIFICANT && is_luck => (Standing::Failed, AuditCase::SelectedLuck),
            () if deflated < SIGNIFICANT => (Standing::Warned, AuditCase::SelectedWeak),
            () => (Standing::Passed, AuditCase::SelectedFine),
        };
        let figures = [
            ("column", Measured::Text(self.factor.name.clone())),
            ("tried", Measured::Count(tried)),
            ("better", Measured::Count(better)),
            ("icir", Measured::Ratio(moments.sharpe)),
            ("expected", Measured::Ratio(expected)),
            ("plain", Measured::Probability(plain)),
            ("deflated", Measured::Probability(deflated)),
            ("overfitting", Measured::Share(overfitted)),
        ];
        Ok(AuditVerdict::new(check, standing, case, figures))
    }

    /// Follows the order of the names from date to date: a date on which it turns round is a turn of the sign.
    pub(super) fn flipped(&self) -> Result<AuditVerdict> {
        let check = AuditCheck::Flipped;
        let covered: Vec<usize> =
            (0..self.market.dates().len()).filter(|&t| self.ranked.count(t) >= LEAST_NAMES).collect();
        // Correlation of a date with the next, and the names of both.
        let step = |pair: &[usize]| {
            let (before, after) = (self.ranked.values(pair[0]), self.ranked.values(pair[1]));
            let names = before.iter().zip(after).filter(|(a, b)| !a.is_nan() && !b.is_nan()).count();
            (correlate(before, after), names as f64)
        };
        let (steps, names): (Vec<f64>, Vec<f64>) = covered.windows(2).map(step).unzip();
        let mut sorted: Vec<f64> = steps.iter().copied().filter(|step| !step.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let typical = quantile(&sorted, 0.5);
        if sorted.len() < LEAST_DATES || typical < STEADY {
            let figures = [("typical", Measured::Correlation(typical))];
            return Ok(AuditVerdict::new(check, Standing::Skipped, AuditCase::FlippedUnknown, figures));
        }
        let turns: Vec<usize> =
            (0..steps.len()).filter(|&k| steps[k] < -0.5 * typical && steps[k] * names[k].sqrt() < -CLEAR).collect();
        let series = self.ranked.series(NEXT_DAY, self.ctx)?;
        let mut sign = 1.0;
        let mut turned_back = Vec::with_capacity(covered.len());
        for (k, &t) in covered.iter().enumerate() {
            if k > 0 && turns.binary_search(&(k - 1)).is_ok() {
                sign = -sign;
            }
            turned_back.push(sign * series[t]);
        }
        let (as_given, one_sign) = (summarise(&series, 1).t.abs(), summarise(&turned_back, 1).t.abs());
        let few = turns.len() as f64 <= MAX_TURNS * steps.len() as f64;
        let (standing, case) = match turns.len() {
            0 => (Standing::Passed, AuditCase::FlippedFine),
            _ if few && as_given > one_sign + 1.0 => (Standing::Failed, AuditCase::FlippedSign),
            _ => (Standing::Warned, AuditCase::FlippedSign),
        };
        let on = turns.first().map_or(String::new(), |&k| self.market.dates()[covered[k + 1]].to_string());
        let figures = [
            ("turns", Measured::Count(turns.len() as u64)),
            ("first", Measured::Text(on)),
            ("typical", Measured::Correlation(typical)),
            ("t", Measured::Ratio(as_given)),
            ("one_sign", Measured::Ratio(one_sign)),
        ];
        Ok(AuditVerdict::new(check, standing, case, figures))
    }

    pub(super) fn train_test(&self) -> AuditVerdict {
        let check = AuditCheck::TrainTest;
        let table = self.input.table;
        let calendar = self.market.calendar();
        let reach = usize::try_from(self.aligned.delay_days()).unwrap_or(0) + self.horizon;
        let days: Vec<Option<usize>> = table.dates.distinct.iter().map(|date| calendar.index_of(*date)).collect();
        let day = |row: usize| days[table.dates.rows[row] as usize];
        let mut trains = vec![false; self.market.dates().len()];
        if let Some(split) = &table.split {
            let train = (0..table.rows()).filter(|&row| split[row] == SampleSplit::Train).filter_map(day);
            train.for_each(|t| trains[t] = true);
        } else if table.train_end.is_none() {
            return AuditVerdict::new(check, Standing::Skipped, AuditCase::TrainUnknown, []);
        }
        // Number of the last training date at or before each date.
        let last_train: Vec<Option<usize>> = trains
            .iter()
            .enumerate()
            .scan(None, |last, (t, trains)| {
                *last = if *trains { Some(t) } else { *last };
                Some(*last)
            })
            .collect();
        let (mut rows, mut inside, mut reached) = (0_u64, 0_u64, 0_u64);
        for row in (0..table.rows()).filter(|&row| table.is_tested(row)) {
            let Some(t) = day(row) else { continue };
            let end = match &table.train_end {
                Some(ends) => ends[row].and_then(|end| last_until(calendar, end)),
                None => last_train[t],
            };
            rows += 1;
            if let Some(end) = end {
                inside += u64::from(t <= end);
                reached += u64::from(t > end && t < end + reach);
            }
        }
        let share = |n: u64| n as f64 / rows.max(1) as f64;
        let (standing, case) = match () {
            () if share(inside) > MAX_INSIDE => (Standing::Failed, AuditCase::TrainedOnTest),
            () if share(reached) > MAX_REACHED => (Standing::Failed, AuditCase::TrainLabelsReach),
            () if inside > 0 => (Standing::Warned, AuditCase::TrainedOnTest),
            () if reached > 0 => (Standing::Warned, AuditCase::TrainLabelsReach),
            () => (Standing::Passed, AuditCase::TrainFine),
        };
        let figures = [
            ("rows", Measured::Count(rows)),
            ("inside", Measured::Share(share(inside))),
            ("reached", Measured::Share(share(reached))),
            ("days", Measured::Count(reach as u64)),
        ];
        AuditVerdict::new(check, standing, case, figures)
    }
}

/// Number of the last trading date up to a day.
fn last_until(calendar: &Calendar, day: chrono::NaiveDate) -> Option<usize> {
    let next = calendar.on_or_after(day);
    if calendar.dates().get(next) == Some(&day) { Some(next) } else { next.checked_sub(1) }
}
