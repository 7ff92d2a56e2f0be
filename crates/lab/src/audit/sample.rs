//! Checks of names and dates: survivors, names that could not be bought, duplicates, and what is left out.
//!
//! A universe is one of survivors where names that ended have values so much more rarely than the others that the hypergeometric law gives it less than
//! [`UNLIKELY`]. Cells that are left out are given the value that their name had last, for [`CARRIED`] dates at most: what a portfolio would have held.

use std::hash::Hasher;

use anyhow::Result;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use statrs::distribution::{DiscreteCDF, Hypergeometric};

use super::aligned::{TradeWindow, ranks, window_returns};
use super::{AuditCase, AuditCheck, AuditVerdict, Audited, CLEAR, LEAST_DATES, LEAST_NAMES, Measured};
use crate::backtest::summarise;
use crate::lint::{self, Standing, survivors};
use inkstone_base::stats::mean;
use inkstone_market::{Gate, Tradability};

/// Probability below which a coverage is no accident.
const UNLIKELY: f64 = 0.001;
/// Trading days without a close after which a name has ended.
const GRACE: usize = 20;
/// Part of the names in either leg.
const LEG: f64 = 0.2;
/// Share of the spread that may come from names that could not be traded.
const MAX_UNTRADABLE: f64 = 0.5;
/// Share of the rows that may be repeated.
const MAX_REPEATED: f64 = 0.01;
/// Share of the names whose whole series may be another's.
const MAX_COPIED: f64 = 0.05;
/// Changes from which on a series cannot be another's by chance.
const LEAST_CHANGES: usize = 10;
/// Share of a date's names that may have one value; more have it for a reason of their own, as names without documents or with one have.
const MAX_EQUAL: f64 = 0.02;
/// Share of the names from which on equal series are those of groups, as in a factor of industries.
const GROUPS: f64 = 0.8;
/// Consecutive dates with the same values of all names.
const FROZEN: usize = 10;
/// Dates for which a missing value is taken to be the last one.
const CARRIED: usize = 10;
/// Share of the cells that may be missing.
const MAX_MISSING: f64 = 0.01;

impl Audited<'_> {
    pub(super) fn survivors(&self) -> AuditVerdict {
        let dates = self.market.dates().len();
        let covered: Vec<usize> = (0..dates).filter(|&t| self.ranked.has_values(t)).collect();
        let (first, last) = (covered.first().copied().unwrap_or(0), covered.last().copied().unwrap_or(0));
        let (mut names, mut of_names, mut ended, mut of_ended) = (0_u64, 0_u64, 0_u64, 0_u64);
        for i in 0..self.market.codes().len() {
            let Some((born, gone)) = self.market.life(i) else { continue };
            if born.max(first) + LEAST_DATES > gone.min(last) {
                continue;
            }
            let is_covered = u64::from(covered.iter().any(|&t| !self.factor.values.at(t, i).is_nan()));
            (names, of_names) = (names + 1, of_names + is_covered);
            if gone + GRACE < dates {
                (ended, of_ended) = (ended + 1, of_ended + is_covered);
            }
        }
        let law = Hypergeometric::new(names, ended, of_names);
        let p = law.map_or(1.0, |law| law.cdf(of_ended));
        let (share, living) =
            (of_ended as f64 / ended as f64, (of_names - of_ended) as f64 / (names - ended).max(1) as f64);
        let of_prices = survivors::look(self.market, f64::from(self.honest.days_per_year), &lint::Params::default());
        let (standing, case) = match of_prices.standing {
            _ if ended > 0 && p < UNLIKELY && share < 0.5 * living => (Standing::Failed, AuditCase::SurvivorsOnly),
            Standing::Warned => (Standing::Warned, AuditCase::SurvivorsInPrices),
            _ if ended == 0 => (Standing::Skipped, AuditCase::SurvivorsUnknown),
            _ => (Standing::Passed, AuditCase::SurvivorsFine),
        };
        let figures = [
            ("names", Measured::Count(names)),
            ("ended", Measured::Count(ended)),
            ("ended_covered", Measured::Count(of_ended)),
            ("living_share", Measured::Share(living)),
            ("p", Measured::Probability(p)),
        ];
        AuditVerdict::new(AuditCheck::Survivors, standing, case, figures)
    }

    /// Compares the spread of the highest and the lowest values with the same of names that could be traded at the entry.
    pub(super) fn untradable(&self) -> Result<AuditVerdict> {
        let window = TradeWindow::of(&self.honest);
        let tradability = Tradability::new(self.market, self.honest.traded_price(), &self.honest.limits)?;
        let dates = self.market.dates().len();
        let direction = self.direction();
        let spread = |t: usize| {
            self.ctx.check()?;
            let nothing = (f64::NAN, f64::NAN, 0, 0);
            let entry = usize::try_from(t as i64 + i64::from(window.buy.0)).ok().filter(|entry| *entry < dates);
            let (Some(entry), true) = (entry, self.ranked.count(t) >= LEAST_NAMES) else { return Ok(nothing) };
            let Some(returns) = window_returns(self.market, window, t)? else { return Ok(nothing) };
            let names = self.ranked.count(t) as f64;
            let (mut all, mut free) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
            let mut blocked = 0;
            for (i, rank) in self.ranked.values(t).iter().enumerate() {
                let place = (rank - 0.5) / names;
                let leg = if place >= 1.0 - LEG {
                    0
                } else if place < LEG {
                    1
                } else {
                    continue;
                };
                let leg = if direction < 0.0 { 1 - leg } else { leg };
                if returns[i].is_nan() {
                    continue;
                }
                all[leg].push(returns[i]);
                let gate: Gate = tradability.gate(entry, i);
                // Both legs alike: what is shut to one of them alone would favour the other.
                if gate.can_buy() && gate.can_sell() {
                    free[leg].push(returns[i]);
                } else {
                    blocked += 1;
                }
            }
            let spread_of = |legs: &[Vec<f64>; 2]| mean(legs[0].iter().copied()) - mean(legs[1].iter().copied());
            Ok((spread_of(&all), spread_of(&free), blocked, all[0].len() + all[1].len()))
        };
        let rows: Vec<(f64, f64, usize, usize)> =
            self.ctx.install(|| (0..dates).into_par_iter().map(spread).collect::<Result<_>>())?;
        let both = rows.iter().filter(|row| !row.0.is_nan() && !row.1.is_nan());
        let (all, lost): (Vec<f64>, Vec<f64>) = both.map(|row| (row.0, row.0 - row.1)).unzip();
        let (all, lost) = (summarise(&all, self.horizon), summarise(&lost, self.horizon));
        let blocked: usize = rows.iter().map(|row| row.2).sum();
        let traded: usize = rows.iter().map(|row| row.3).sum();
        let share = lost.mean / all.mean;
        let (standing, case) = match () {
            () if all.n < LEAST_DATES || all.mean <= 0.0 || all.t_nw < 2.0 => {
                (Standing::Skipped, AuditCase::UntradableNothing)
            }
            () if share > MAX_UNTRADABLE && lost.t_nw > 3.0 => (Standing::Failed, AuditCase::UntradableProfit),
            () if share > MAX_UNTRADABLE / 2.0 && lost.t_nw > 3.0 => (Standing::Warned, AuditCase::UntradableProfit),
            () => (Standing::Passed, AuditCase::UntradableFine),
        };
        let figures = [
            ("trade", Measured::Text(window.to_string())),
            ("spread", Measured::Ratio(1e4 * all.mean)),
            ("tradable", Measured::Ratio(1e4 * (all.mean - lost.mean))),
            ("share", Measured::Share(share)),
            ("blocked", Measured::Share(blocked as f64 / traded.max(1) as f64)),
            ("t", Measured::Ratio(lost.t_nw)),
        ];
        Ok(AuditVerdict::new(AuditCheck::Untradable, standing, case, figures))
    }

    pub(super) fn duplicates(&self) -> AuditVerdict {
        let table = self.input.table;
        let values = self.audited_values();
        let mut cells: FxHashMap<(u32, u32), f64> = FxHashMap::default();
        let (mut repeated, mut conflicting) = (0_u64, 0_u64);
        for (row, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            if let Some(before) = cells.insert((table.dates.rows[row], table.codes.rows[row]), *value) {
                repeated += 1;
                conflicting += u64::from(before != *value);
            }
        }
        let (copied, names, example) = self.copied_names();
        let (frozen, longest) = self.frozen_dates();
        let (repeated_share, copied_share) =
            (repeated as f64 / table.rows() as f64, copied as f64 / names.max(1) as f64);
        let is_copied = copied_share > MAX_COPIED && copied_share < GROUPS;
        // What stands still most of the time is a factor of months or years.
        let is_frozen = longest >= FROZEN && frozen < 0.5;
        let (standing, case) = match () {
            () if is_copied => (Standing::Failed, AuditCase::CopiedNames),
            () if repeated_share > MAX_REPEATED => (Standing::Failed, AuditCase::RepeatedRows),
            () if repeated > 0 => (Standing::Warned, AuditCase::RepeatedRows),
            () if copied > 0 => (Standing::Warned, AuditCase::CopiedNames),
            () if is_frozen => (Standing::Warned, AuditCase::FrozenDates),
            () => (Standing::Passed, AuditCase::DuplicatesFine),
        };
        let figures = [
            ("repeated", Measured::Count(repeated)),
            ("conflicting", Measured::Count(conflicting)),
            ("copied", Measured::Count(copied)),
            ("names", Measured::Count(names)),
            ("example", Measured::Text(example)),
            ("longest", Measured::Count(longest as u64)),
            ("frozen", Measured::Share(frozen)),
        ];
        AuditVerdict::new(AuditCheck::Duplicates, standing, case, figures)
    }

    /// Names whose whole series is that of another name, names with a series, and two of them.
    fn copied_names(&self) -> (u64, u64, String) {
        let width = self.market.codes().len();
        // Of each name the hash of its dates and values, their number, the number of changes, and the last value.
        let mut series = vec![(FxHasher::default(), 0_usize, 0_usize, f64::NAN); width];
        for t in 0..self.market.dates().len() {
            let row = self.factor.values.row(t);
            let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
            row.iter().filter(|v| !v.is_nan()).for_each(|v| *counts.entry(v.to_bits()).or_default() += 1);
            let most = (MAX_EQUAL * self.ranked.count(t) as f64).max(3.0);
            for (i, value) in row.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                if f64::from(counts[&value.to_bits()]) <= most {
                    let (hasher, n, changes, last) = &mut series[i];
                    hasher.write_usize(t);
                    hasher.write_u64(value.to_bits());
                    *n += 1;
                    *changes += usize::from(value != last);
                    *last = *value;
                }
            }
        }
        let mut groups: FxHashMap<(u64, usize), Vec<usize>> = FxHashMap::default();
        let mut names = 0;
        for (i, (hasher, n, changes, _)) in series.iter().enumerate() {
            if *n >= LEAST_DATES && *changes >= LEAST_CHANGES {
                names += 1;
                groups.entry((hasher.finish(), *n)).or_default().push(i);
            }
        }
        let mut equal: Vec<&Vec<usize>> = groups.values().filter(|group| group.len() > 1).collect();
        equal.sort_unstable();
        let code = |i: usize| self.market.codes()[i].as_str();
        let example = equal.first().map_or(String::new(), |group| format!("{} = {}", code(group[0]), code(group[1])));
        (equal.iter().map(|group| group.len() as u64 - 1).sum(), names, example)
    }

    /// Share of the dates whose values are those of the date before, and the longest run of them.
    fn frozen_dates(&self) -> (f64, usize) {
        let covered: Vec<usize> =
            (0..self.market.dates().len()).filter(|&t| self.ranked.count(t) >= LEAST_NAMES).collect();
        let (mut frozen, mut run, mut longest) = (0_usize, 0, 0);
        for pair in covered.windows(2) {
            let (before, after) = (self.factor.values.row(pair[0]), self.factor.values.row(pair[1]));
            let both = before.iter().zip(after).filter(|(a, b)| !a.is_nan() && !b.is_nan());
            let (n, same) = both.fold((0, 0), |(n, same), (a, b)| (n + 1, same + usize::from(a == b)));
            let is_frozen = n >= LEAST_NAMES && same as f64 > 0.95 * n as f64;
            frozen += usize::from(is_frozen);
            run = if is_frozen { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        (frozen as f64 / covered.len().saturating_sub(1).max(1) as f64, longest)
    }

    /// Compares what the cells with a value earned with what the cells left out would have.
    pub(super) fn window(&self) -> Result<AuditVerdict> {
        let check = AuditCheck::Window;
        if let Some(untested) = self.too_few_dates(check) {
            return Ok(untested);
        }
        let window = TradeWindow::of(&self.aligned);
        let (dates, width) = (self.market.dates().len(), self.market.codes().len());
        // Place of the last value in its cross-section, from -1/2 to 1/2, and its date.
        let mut last: Vec<Option<(usize, f64)>> = vec![None; width];
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        let (mut n_present, mut n_missing, mut gaps) = (0_u64, 0_u64, 0_u64);
        let Some(end) = (0..dates).rfind(|&t| self.ranked.has_values(t)) else {
            return Ok(AuditVerdict::new(check, Standing::Skipped, AuditCase::WindowNone, []));
        };
        for t in 0..=end {
            self.ctx.check()?;
            let Some(returns) = window_returns(self.market, window, t)? else { continue };
            let ranked = ranks(&returns);
            let n = ranked.iter().filter(|rank| !rank.is_nan()).count() as f64;
            let earned = |i: usize| (ranked[i] - 0.5) / n - 0.5;
            let names = self.ranked.count(t) as f64;
            let (mut here, mut left_out) = (Vec::new(), Vec::new());
            for (i, rank) in self.ranked.values(t).iter().enumerate() {
                if !rank.is_nan() {
                    let place = (rank - 0.5) / names - 0.5;
                    last[i] = Some((t, place));
                    here.push(place * earned(i));
                } else if let Some((_, place)) = last[i].filter(|(since, _)| t - since <= CARRIED)
                    && !ranked[i].is_nan()
                {
                    left_out.push(place * earned(i));
                }
            }
            gaps += u64::from(here.is_empty() && !left_out.is_empty());
            (n_present, n_missing) = (n_present + here.len() as u64, n_missing + left_out.len() as u64);
            // A product of two places is 1/12 where value and return have the same order.
            let scaled = |cells: &[f64]| 12.0 * mean(cells.iter().copied()) * self.direction();
            present.push(scaled(&here));
            if left_out.len() >= 3 {
                missing.push(scaled(&left_out));
            }
        }
        let share = n_missing as f64 / (n_present + n_missing).max(1) as f64;
        let (present, missing) = (summarise(&present, self.horizon), summarise(&missing, self.horizon));
        let lost = missing.n >= LEAST_DATES / 2 && share > MAX_MISSING && missing.mean < 0.0 && present.mean > 0.0;
        let (standing, case) = match () {
            () if n_missing == 0 => (Standing::Passed, AuditCase::WindowNone),
            () if lost && missing.t_nw < -CLEAR => (Standing::Failed, AuditCase::LosersLeftOut),
            () if lost && missing.t_nw < -0.75 * CLEAR => (Standing::Warned, AuditCase::LosersLeftOut),
            () => (Standing::Passed, AuditCase::WindowFine),
        };
        let figures = [
            ("share", Measured::Share(share)),
            ("gaps", Measured::Count(gaps)),
            ("present", Measured::Correlation(present.mean)),
            ("missing", Measured::Correlation(missing.mean)),
            ("t", Measured::Ratio(missing.t_nw)),
        ];
        Ok(AuditVerdict::new(check, standing, case, figures))
    }
}
