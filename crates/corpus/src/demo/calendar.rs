//! The real trading calendar of 2023 and 2024 of the exchanges in Shanghai, Shenzhen and Beijing.
//!
//! Only weekdays can be trading days; the list below holds the weekdays on which the exchanges were closed. Working
//! Saturdays and Sundays before or after long holidays are no trading days.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Weekday};

/// Weekdays without trading, `month * 100 + day`.
const CLOSED_2023: [u32; 18] =
    [102, 123, 124, 125, 126, 127, 405, 501, 502, 503, 622, 623, 929, 1002, 1003, 1004, 1005, 1006];
const CLOSED_2024: [u32; 20] =
    [101, 209, 212, 213, 214, 215, 216, 404, 405, 501, 502, 503, 610, 916, 917, 1001, 1002, 1003, 1004, 1007];

/// The trading days of the demo market and the rule that ties a time to the day on which it can be traded.
pub(super) struct Calendar {
    days: Vec<NaiveDate>,
}

impl Calendar {
    /// All 484 trading days from 2023-01-03 to 2024-12-31.
    pub(super) fn new() -> Calendar {
        let first = NaiveDate::from_ymd_opt(2023, 1, 1).expect("a date of the calendar");
        Calendar { days: first.iter_days().take_while(|d| d.year() < 2025).filter(|&d| is_open(d)).collect() }
    }

    pub(super) fn days(&self) -> &[NaiveDate] {
        &self.days
    }

    pub(super) fn len(&self) -> usize {
        self.days.len()
    }

    /// The first trading day that is `date` or later; `None` after the last one.
    pub(super) fn at_or_after(&self, date: NaiveDate) -> Option<usize> {
        let i = self.days.partition_point(|d| *d < date);
        (i < self.days.len()).then_some(i)
    }

    /// The day whose session's end is the first after `time`: that day before 15:00:00 of a trading day, else the next.
    pub(super) fn trade_date(&self, time: NaiveDateTime) -> Option<usize> {
        let late = time.time() >= clock(15, 0);
        self.at_or_after(if late { time.date().succ_opt()? } else { time.date() })
    }

    pub(super) fn is_trading(&self, date: NaiveDate) -> bool {
        self.days.binary_search(&date).is_ok()
    }
}

pub(super) fn clock(hour: u32, minute: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, minute, 0).expect("a time of the day")
}

fn is_open(date: NaiveDate) -> bool {
    let closed: &[u32] = if date.year() == 2023 { &CLOSED_2023 } else { &CLOSED_2024 };
    !matches!(date.weekday(), Weekday::Sat | Weekday::Sun) && !closed.contains(&(date.month() * 100 + date.day()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn the_calendar_is_that_of_the_exchanges() {
        let calendar = Calendar::new();
        assert_eq!(calendar.days().iter().filter(|d| d.year() == 2023).count(), 242);
        assert_eq!(calendar.days().iter().filter(|d| d.year() == 2024).count(), 242);
        let closed = ["2023-01-27", "2023-06-22", "2023-06-23", "2023-09-29", "2024-02-09", "2024-05-03", "2024-10-07"];
        let open = ["2023-01-03", "2023-01-20", "2023-06-26", "2024-02-08", "2024-02-19", "2024-09-18", "2024-10-08"];
        assert!(closed.iter().all(|d| !calendar.is_trading(day(d))));
        assert!(open.iter().all(|d| calendar.is_trading(day(d))));
        // A Sunday on which offices worked and the exchanges did not.
        assert!(!calendar.is_trading(day("2024-02-04")));
    }

    #[test]
    fn news_at_three_belongs_to_the_next_trading_day() {
        let calendar = Calendar::new();
        let traded = |time: &str| calendar.trade_date(time.parse().unwrap()).map(|i| calendar.days()[i]);
        assert_eq!(traded("2024-02-08T14:59:59"), Some(day("2024-02-08")));
        assert_eq!(traded("2024-02-08T15:00:00"), Some(day("2024-02-19")));
        assert_eq!(traded("2024-02-17T09:00:00"), Some(day("2024-02-19")));
        assert_eq!(traded("2024-12-31T15:00:00"), None);
    }
}
