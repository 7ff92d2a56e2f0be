//! Checks of time: the same day, bars ahead, known-at times, documents.
//!
//! The return of the same day is from the close before the value's date to its close; nobody could earn it. It is named a fraud where the claim is
//! reproduced by it and by no later return, where the trade is said to begin before the values were known, or where they are said to be known
//! before an open whose day they follow too well. A wide gap alone warns: news report moves that have happened.
//!
//! A value that holds a return of the days after it follows them implausibly well, and far less the day after those.

use rustc_hash::FxHashMap;

use super::aligned::{Lag, TradeWindow};
use super::returns::is_near;
use super::{AuditCase, AuditCheck, AuditVerdict, Audited, CLEAR, Measured};
use crate::backtest;
use crate::factor::Factor;
use crate::lint::Standing;
use anyhow::Result;
use inkstone_market::{AUCTION, Cutoff, Market, OffCalendar, Price};

/// Share of the values that may be known too late before an alignment is wrong.
pub(super) const MAX_LATE: f64 = 0.05;
/// By how much the RankIC of the same day may exceed that of the next without a word, as in `lint`.
const WIDE: f64 = 0.02;
/// RankIC with a single day that no value of the days before has.
const IMPLAUSIBLE: f64 = 0.15;
/// RankIC with a single day from which on a cliff is looked at.
const HIGH: f64 = 0.08;
/// Share of an implausible RankIC that is left a day later, at most.
const HALVED: f64 = 0.5;
/// Share of a high RankIC that is left a day later, at most.
const GONE: f64 = 0.25;
/// Share of the values that may stand before the first document of their name.
const MAX_BEFORE: f64 = 0.01;
/// Share of the new values whose document comes a day later.
const MAX_NEXT: f64 = 0.3;
/// Share of a date's names from which on one value is that of names without documents.
const FILLED: f64 = 0.1;

/// Number of days ahead whose returns the values hold; 0 without a cliff.
pub(super) fn bars_ahead(lags: &[Lag]) -> usize {
    let at = |days: i32| lags.iter().find(|lag| lag.days == days);
    let mean = |days: i32| at(days).map_or(f64::NAN, |lag| lag.mean);
    let is_high = |days: i32| at(days).is_some_and(|lag| lag.mean.abs() >= HIGH && lag.t.abs() >= CLEAR);
    let same_sign = |days: i32| mean(days) * mean(1) > 0.0;
    // The days ahead are alike; the first that is far below them is none of them.
    let is_alike = |days: i32| days == 1 || mean(days).abs() >= HALVED * mean(days - 1).abs();
    let mut last = 0;
    while is_high(last + 1) && same_sign(last + 1) && is_alike(last + 1) {
        last += 1;
    }
    let left = mean(last + 1) / mean(last);
    let highest = (1..=last).map(|days| mean(days).abs()).fold(0.0, f64::max);
    // A value made of prices follows the days behind it as well as those ahead.
    let level = (-1..=0).all(|days| same_sign(days) && mean(days).abs() >= 0.5 * mean(last).abs())
        && mean(last).abs() >= 0.7 * mean(0).abs();
    let is_ahead = (highest > IMPLAUSIBLE && left < HALVED) || (level && left < GONE);
    if last > 0 && is_ahead { last as usize } else { 0 }
}

/// Values that were not known before the trade, and their share.
pub(super) fn late_share(factor: &Factor, market: &Market, params: &backtest::Params) -> (u64, f64) {
    let (mut late, mut values) = (0_u64, 0_u64);
    for t in 0..market.dates().len() {
        let begins = params.trade_at(market, t);
        // No trade, no lateness: the last dates of the table.
        let Some(begins) = begins.or((params.delay_days() < 0).then(|| market.dates()[t].and_time(AUCTION))) else {
            continue;
        };
        for i in (0..market.codes().len()).filter(|&i| !factor.values.at(t, i).is_nan()) {
            values += 1;
            late += u64::from(factor.known_at(t, i).is_none_or(|known| known >= begins));
        }
    }
    (late, late as f64 / values.max(1) as f64)
}

impl Audited<'_> {
    pub(super) fn same_day(&self) -> Result<AuditVerdict> {
        let (own, next) = (self.lag(0), self.lag(1));
        let verdict = |standing, case, more: [(&'static str, Measured); 3]| {
            let [a, b, c] = more;
            let (same_day, next) = (Measured::Correlation(own.mean), Measured::Correlation(next.mean));
            AuditVerdict::new(
                AuditCheck::SameDay,
                standing,
                case,
                [("same_day", same_day), ("next_day", next), a, b, c],
            )
        };
        let none = || ("", Measured::Count(0));
        let honest = self.honest_outcome.ic.first().map_or(f64::NAN, |series| series.rank_ic_summary.mean);
        let honest = || ("honest", Measured::Correlation(honest));
        let early = self.windows.iter().find(|window| window.window.begins_early() && window.fits(&self.input.claim));
        if let Some(early) = early.filter(|_| !self.is_reproduced_honestly()) {
            let claimed = self.input.claim.rank_ic.or(self.input.claim.ic).unwrap_or(f64::NAN);
            let trade = ("trade", Measured::Text(early.window.to_string()));
            let claimed = ("claimed", Measured::Correlation(claimed));
            return Ok(verdict(Standing::Failed, AuditCase::SameDayClaimed, [claimed, trade, honest()]));
        }
        let stated = self.input.claim.delay.is_some() || self.input.claim.price.is_some();
        let (_, late) = late_share(&self.factor, self.market, &self.aligned);
        if stated && TradeWindow::of(&self.aligned).begins_early() && late > MAX_LATE {
            let trade = ("trade", Measured::Text(TradeWindow::of(&self.aligned).to_string()));
            return Ok(verdict(
                Standing::Failed,
                AuditCase::SameDayTraded,
                [trade, ("late", Measured::Share(late)), honest()],
            ));
        }
        if self.input.table.known_at.is_some() {
            let before_open = backtest::Params { delay: Some(0), price: Some(Price::Open), ..self.honest.clone() };
            let (_, late) = late_share(&self.factor, self.market, &before_open);
            let tracks = own.mean.abs() > IMPLAUSIBLE && own.t.abs() > CLEAR && own.mean.abs() > 3.0 * next.mean.abs();
            if late < 0.5 && tracks {
                let early = ("early", Measured::Share(1.0 - late));
                return Ok(verdict(Standing::Failed, AuditCase::SameDayKnown, [early, none(), honest()]));
            }
        }
        if let Some(untested) = self.too_few_dates(AuditCheck::SameDay) {
            return Ok(untested);
        }
        let wide = own.mean.abs() - next.mean.abs() > WIDE && own.t.abs() > CLEAR;
        let (standing, case) = match wide {
            true => (Standing::Warned, AuditCase::SameDayWide),
            false => (Standing::Passed, AuditCase::SameDayFine),
        };
        Ok(verdict(standing, case, [none(), none(), honest()]))
    }

    /// `losers_left_out`: cells were left out for what they would have earned, which makes a cliff as well.
    pub(super) fn ahead(&self, shift: usize, losers_left_out: bool) -> AuditVerdict {
        if let Some(untested) = self.too_few_dates(AuditCheck::BarsAhead) {
            return untested;
        }
        let (next, after) = (self.lag(shift.max(1) as i32), self.lag(shift.max(1) as i32 + 1));
        let (standing, case) = match shift {
            0 => (Standing::Passed, AuditCase::AheadFine),
            _ if losers_left_out => (Standing::Warned, AuditCase::AheadExplained),
            _ => (Standing::Failed, AuditCase::AheadFraud),
        };
        let figures = [
            ("bars", Measured::Count(shift as u64)),
            ("same_day", Measured::Correlation(self.lag(0).mean)),
            ("next", Measured::Correlation(next.mean)),
            ("t", Measured::Ratio(next.t)),
            ("after", Measured::Correlation(after.mean)),
        ];
        AuditVerdict::new(AuditCheck::BarsAhead, standing, case, figures)
    }

    pub(super) fn known_at(&self) -> AuditVerdict {
        let trade = TradeWindow::of(&self.aligned);
        let (late, share) = late_share(&self.factor, self.market, &self.aligned);
        let standing = match share {
            _ if self.input.table.known_at.is_none() => Standing::Skipped,
            share if share > MAX_LATE => Standing::Failed,
            share if share > 0.0 => Standing::Warned,
            _ => Standing::Passed,
        };
        let case = match standing {
            Standing::Skipped => AuditCase::KnownAbsent,
            Standing::Passed => AuditCase::KnownFine,
            Standing::Failed | Standing::Warned => AuditCase::KnownLate,
        };
        let figures = [
            ("late", Measured::Count(late)),
            ("share", Measured::Share(share)),
            ("trade", Measured::Text(trade.to_string())),
        ];
        AuditVerdict::new(AuditCheck::KnownAt, standing, case, figures)
    }

    pub(super) fn documents(&self) -> AuditVerdict {
        let Some(documents) = self.input.documents else {
            return AuditVerdict::new(AuditCheck::Documents, Standing::Skipped, AuditCase::DocumentsAbsent, []);
        };
        let (dates, width) = (self.market.dates().len(), self.market.codes().len());
        let mut first = vec![usize::MAX; width];
        let mut on_day: FxHashMap<(usize, usize), u32> = FxHashMap::default();
        for (code, published_at) in documents {
            let Some(i) = self.market.index_of(code.as_str()) else { continue };
            let day = match self.market.calendar().trade_date(*published_at, Cutoff::Close) {
                Ok(day) => day,
                Err(OffCalendar::Early) => 0,
                Err(OffCalendar::Late) => continue,
            };
            first[i] = first[i].min(day);
            *on_day.entry((day, i)).or_default() += 1;
        }
        let (mut values, mut before, mut new, mut own, mut next, mut next_alone) =
            (0_u64, 0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        for t in 0..dates {
            let row = self.factor.values.row(t);
            let filled = filled_value(row, self.ranked.count(t));
            for i in (0..width).filter(|&i| !row[i].is_nan() && Some(row[i].to_bits()) != filled) {
                values += 1;
                before += u64::from(first[i] > t);
                let was = t.checked_sub(1).map_or(f64::NAN, |t| self.factor.values.at(t, i));
                if was == row[i] {
                    continue;
                }
                let has = |day: usize| on_day.contains_key(&(day, i));
                new += 1;
                own += u64::from(has(t));
                next += u64::from(has(t + 1));
                next_alone += u64::from(has(t + 1) && !has(t));
            }
        }
        let (before_share, next_share) = (before as f64 / values.max(1) as f64, next_alone as f64 / new.max(1) as f64);
        let (standing, case) = match () {
            () if before_share > MAX_BEFORE => (Standing::Failed, AuditCase::BeforeDocuments),
            () if next_share > MAX_NEXT && next > 2 * own => (Standing::Failed, AuditCase::BesideDocuments),
            () if before > 0 => (Standing::Warned, AuditCase::BeforeDocuments),
            () => (Standing::Passed, AuditCase::DocumentsFine),
        };
        let figures = [
            ("documents", Measured::Count(documents.len() as u64)),
            ("values", Measured::Count(values)),
            ("before", Measured::Count(before)),
            ("share", Measured::Share(before_share)),
            ("own", Measured::Share(own as f64 / new.max(1) as f64)),
            ("next", Measured::Share(next_share)),
        ];
        AuditVerdict::new(AuditCheck::Documents, standing, case, figures)
    }

    /// True if the claim is reproduced by a return that begins when the values are known.
    pub(super) fn is_reproduced_honestly(&self) -> bool {
        let claim = &self.input.claim;
        let honest = self.honest_outcome.ic.first();
        let near = |claimed: Option<f64>, found: f64| claimed.is_none_or(|claimed| is_near(claimed, found));
        self.windows.iter().any(|window| !window.window.begins_early() && window.fits(claim))
            || honest.is_some_and(|s| near(claim.ic, s.ic_summary.mean) && near(claim.rank_ic, s.rank_ic_summary.mean))
    }
}

/// The value of a date that so many names share that it stands for "no document".
fn filled_value(row: &[f64], names: usize) -> Option<u64> {
    let mut counts: FxHashMap<u64, usize> = FxHashMap::default();
    row.iter().filter(|v| !v.is_nan()).for_each(|v| *counts.entry(v.to_bits()).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(bits, n)| (*n, *bits))?;
    (most.1 > 1 && most.1 as f64 > FILLED * names as f64).then_some(most.0)
}
