//! The trading calendar, taken from the dates of the price table, and the day on which a document can be traded.
//!
//! A calendar is never made from weekdays: what has no prices was no session. Times are Shanghai wall-clock times.

use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use chrono::{Days, NaiveDate, NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use inkstone_base::bail;

/// Continuous trading begins, and with it what a session's average price is made of.
pub const OPEN: NaiveTime = NaiveTime::from_hms_opt(9, 30, 0).expect("a time of day");
/// The session closes; what is published from here on belongs to the next trading day.
pub const CLOSE: NaiveTime = NaiveTime::from_hms_opt(15, 0, 0).expect("a time of day");
/// The opening auction begins to fill, ten minutes before its price is struck. What is known from here on does not count as
/// traded at the open: at 09:30 the open has been history for five minutes.
pub const AUCTION: NaiveTime = NaiveTime::from_hms_opt(9, 15, 0).expect("a time of day");

/// Natural days that a document may precede the first date of the calendar and still count for it. The longest
/// closures (Spring Festival, National Day) keep the exchanges shut for 11 days in a row.
const BEFORE_FIRST: u64 = 11;

/// Rule for the trading date of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cutoff {
    /// Date `t` is the first whose close comes after publication: before 15:00:00 of a trading day that day, otherwise the
    /// next. A value of `t` can be bought at the close of `t` at the earliest.
    #[default]
    Close,
    /// Date `t` is the last that began before publication, so that a value of `t` holds everything known before 09:15:00 of
    /// the next trading day and is meant for its open.
    NextOpen,
}

/// Reason for which a document has no trading date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCalendar {
    /// Published long before the first date with prices.
    Early,
    /// Published after the last date with prices.
    Late,
}

impl OffCalendar {
    /// The reason under which a report counts such a document.
    pub fn reason(self) -> &'static str {
        match self {
            OffCalendar::Early => "published before the price table begins",
            OffCalendar::Late => "published after the price table ends",
        }
    }
}

impl fmt::Display for OffCalendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// The trading dates, ascending. Dates are named by their number from 0.
#[derive(Clone, Debug)]
pub struct Calendar {
    dates: Arc<[NaiveDate]>,
}

impl Calendar {
    /// The calendar of these dates, in any order.
    pub fn new(mut dates: Vec<NaiveDate>) -> Result<Calendar> {
        dates.sort_unstable();
        dates.dedup();
        if dates.is_empty() {
            bail!("行情表没有日期，因此没有交易日历", "the price table has no dates, so there is no trading calendar");
        }
        Ok(Calendar { dates: dates.into() })
    }

    pub fn dates(&self) -> &Arc<[NaiveDate]> {
        &self.dates
    }

    /// The number of a trading date.
    pub fn index_of(&self, date: NaiveDate) -> Option<usize> {
        self.dates.binary_search(&date).ok()
    }

    /// The number of the first trading date on or after `date`; the number of dates when there is none.
    pub fn on_or_after(&self, date: NaiveDate) -> usize {
        self.dates.partition_point(|d| *d < date)
    }

    /// The trading date that a document published at this time belongs to.
    pub fn trade_date(&self, published_at: NaiveDateTime, cutoff: Cutoff) -> Result<usize, OffCalendar> {
        let (day, time) = (published_at.date(), published_at.time());
        let next = self.on_or_after(day);
        let is_session = self.dates.get(next) == Some(&day);
        match cutoff {
            Cutoff::Close => {
                let t = if is_session && time >= CLOSE { next + 1 } else { next };
                if t == 0 && day < self.earliest() {
                    return Err(OffCalendar::Early);
                }
                if t < self.dates.len() { Ok(t) } else { Err(OffCalendar::Late) }
            }
            Cutoff::NextOpen => {
                // Whether another session followed is unknown past the table, so only its last day still counts.
                if next == self.dates.len() {
                    return Err(OffCalendar::Late);
                }
                let begun = if is_session && time >= AUCTION { next + 1 } else { next };
                begun.checked_sub(1).ok_or(OffCalendar::Early)
            }
        }
    }

    /// The first trading date on which what was published at this time can be dealt on: at its close, or with
    /// [`Cutoff::NextOpen`] at its open.
    pub fn tradable_from(&self, published_at: NaiveDateTime, cutoff: Cutoff) -> Result<NaiveDate, OffCalendar> {
        let t = self.trade_date(published_at, cutoff)?;
        let t = if cutoff == Cutoff::NextOpen { t + 1 } else { t };
        self.dates.get(t).copied().ok_or(OffCalendar::Late)
    }

    fn earliest(&self) -> NaiveDate {
        self.dates[0].checked_sub_days(Days::new(BEFORE_FIRST)).unwrap_or(NaiveDate::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar() -> Calendar {
        // The week before the Dragon Boat Festival of 2023: Thursday and Friday were closed.
        let days = ["2023-06-20", "2023-06-21", "2023-06-26", "2023-06-27"];
        Calendar::new(days.iter().map(|d| d.parse().unwrap()).collect()).unwrap()
    }

    fn at(time: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(time, "%Y-%m-%d %H:%M:%S").unwrap()
    }

    #[test]
    fn a_document_can_be_dealt_on_at_the_close_of_its_date_or_at_the_open_of_the_next() {
        let calendar = calendar();
        let from = |time: &str, cutoff| calendar.tradable_from(at(time), cutoff).map(|day| day.to_string());
        let day = |text: &str| Ok(text.to_owned());
        assert_eq!(from("2023-06-20 14:59:59", Cutoff::Close), day("2023-06-20"));
        assert_eq!(from("2023-06-21 20:31:00", Cutoff::Close), day("2023-06-26"), "over the holiday");
        assert_eq!(from("2023-06-21 08:00:00", Cutoff::NextOpen), day("2023-06-21"));
        assert_eq!(from("2023-06-21 09:15:00", Cutoff::NextOpen), day("2023-06-26"));
        assert_eq!(from("2023-06-27 09:15:00", Cutoff::NextOpen), Err(OffCalendar::Late), "no other session is known");
    }

    #[test]
    fn the_close_parts_the_days() {
        let calendar = calendar();
        let on = |time: &str| calendar.trade_date(at(time), Cutoff::Close);
        assert_eq!(on("2023-06-20 14:59:59"), Ok(0));
        assert_eq!(on("2023-06-20 15:00:00"), Ok(1));
        assert_eq!(on("2023-06-21 15:00:00"), Ok(2), "over the holiday");
        assert_eq!(on("2023-06-22 10:00:00"), Ok(2), "on the holiday");
        assert_eq!(on("2023-06-24 23:59:59"), Ok(2), "at the weekend");
        assert_eq!(on("2023-06-27 15:00:00"), Err(OffCalendar::Late));
        assert_eq!(on("2023-06-12 08:00:00"), Ok(0));
        assert_eq!(on("2023-06-01 08:00:00"), Err(OffCalendar::Early));
    }

    #[test]
    fn the_next_open_collects_what_is_known_before_its_auction() {
        let calendar = calendar();
        let on = |time: &str| calendar.trade_date(at(time), Cutoff::NextOpen);
        assert_eq!(on("2023-06-21 09:14:59"), Ok(0));
        assert_eq!(on("2023-06-21 09:15:00"), Ok(1));
        assert_eq!(on("2023-06-25 20:00:00"), Ok(1));
        assert_eq!(on("2023-06-26 09:15:00"), Ok(2));
        assert_eq!(on("2023-06-27 20:00:00"), Ok(3));
        assert_eq!(on("2023-06-28 08:00:00"), Err(OffCalendar::Late));
        assert_eq!(on("2023-06-20 08:00:00"), Err(OffCalendar::Early));
    }
}
