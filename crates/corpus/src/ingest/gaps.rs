//! Days that an archive lacks: a source that has many documents on every such day has none on some.
//!
//! Trading days and other days are judged apart (without prices, weekdays and weekends): a source that rests at weekends has no gap there. A
//! day without documents is a gap if the median of the days of its kind before it is at least [`DENSE`] documents; by chance such a day is
//! empty once in twenty thousand. Later days change no gap. A source that has been silent for [`ENDED`] days has ended, and lacks no more.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

/// Documents a day from which on a source is dense, and days of a kind by which that is known.
const DENSE: u64 = 10;
const DAYS: usize = 10;
/// Days without a document after which a source has ended.
const ENDED: i64 = 60;

/// Days, one after the other, on which a source has no document though it is dense.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    pub source: String,
    pub first: NaiveDate,
    pub last: NaiveDate,
}

impl Gap {
    /// Natural days.
    pub fn days(&self) -> u64 {
        (self.last - self.first).num_days().unsigned_abs() + 1
    }

    /// True if a day of it lies in a span, whose ends belong to it.
    pub fn overlaps(&self, first: NaiveDate, last: NaiveDate) -> bool {
        self.first <= last && first <= self.last
    }
}

/// The gaps of a source with these documents a day, until its last day or the last one with prices; `trading` are the days with prices.
pub(super) fn gaps_of(source: &str, by_day: &BTreeMap<NaiveDate, u64>, trading: &BTreeSet<NaiveDate>) -> Vec<Gap> {
    let (Some((first, _)), Some((last, _))) = (by_day.first_key_value(), by_day.last_key_value()) else {
        return Vec::new();
    };
    let has_prices = |day: &NaiveDate| trading.first().is_some_and(|first| first <= day) && trading.last() >= Some(day);
    let is_working = |day: &NaiveDate| match has_prices(day) {
        true => trading.contains(day),
        false => day.weekday().num_days_from_monday() < 5,
    };
    let end = trading.last().map_or(*last, |end| *end.max(last));
    let mut last_with_documents = *first;
    // Documents of the days of each kind so far, in order of size.
    let mut counts: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
    let mut gaps: Vec<Gap> = Vec::new();
    for day in first.iter_days().take_while(|day| *day <= end) {
        let count = by_day.get(&day).copied().unwrap_or_default();
        let before = &mut counts[usize::from(is_working(&day))];
        let is_dense = before.len() >= DAYS && before[before.len() / 2] >= DENSE;
        before.insert(before.partition_point(|other| *other < count), count);
        if count > 0 {
            last_with_documents = day;
        } else if is_dense && (day - last_with_documents).num_days() <= ENDED {
            match gaps.last_mut().filter(|gap| gap.last.succ_opt() == Some(day)) {
                Some(gap) => gap.last = day,
                None => gaps.push(Gap { source: source.to_owned(), first: day, last: day }),
            }
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    /// Documents a day over ten weeks from a Monday: on weekdays, on weekends.
    fn weeks(on_weekdays: u64, on_weekends: u64) -> BTreeMap<NaiveDate, u64> {
        let days = day("2024-01-01").iter_days().take(70);
        let count = |day: &NaiveDate| if day.weekday().num_days_from_monday() < 5 { on_weekdays } else { on_weekends };
        days.map(|day| (day, count(&day))).filter(|(_, n)| *n > 0).collect()
    }

    #[test]
    fn a_day_without_documents_is_a_gap_only_where_such_days_have_many() {
        let gaps = |by_day: &BTreeMap<NaiveDate, u64>, trading: &BTreeSet<NaiveDate>| -> Vec<(NaiveDate, NaiveDate)> {
            gaps_of("news", by_day, trading).into_iter().map(|gap| (gap.first, gap.last)).collect()
        };
        let none = BTreeSet::new();
        // Rest at weekends is silence.
        assert_eq!(gaps(&weeks(50, 0), &none), []);
        let mut dense = weeks(50, 20);
        for lost in ["2024-01-17", "2024-01-18", "2024-02-25"] {
            dense.remove(&day(lost));
        }
        let expected = [(day("2024-01-17"), day("2024-01-18")), (day("2024-02-25"), day("2024-02-25"))];
        assert_eq!(gaps(&dense, &none), expected);
        // A source with few documents is silent now and then.
        let mut thin = weeks(3, 3);
        thin.remove(&day("2024-01-17"));
        assert_eq!(gaps(&thin, &none), []);
        // A holiday is no trading day, and a source that rests then lacks nothing.
        let mut rests = weeks(50, 0);
        let trading: BTreeSet<NaiveDate> =
            rests.keys().copied().filter(|d| *d < day("2024-02-12") || *d > day("2024-02-16")).collect();
        rests.retain(|d, _| *d < day("2024-02-12") || *d > day("2024-02-16"));
        assert_eq!(gaps(&rests, &trading), []);
        assert_eq!(gaps(&rests, &none), [(day("2024-02-12"), day("2024-02-16"))]);
    }

    #[test]
    fn later_days_change_no_gap_and_a_source_that_ended_lacks_nothing() {
        let mut by_day = weeks(50, 20);
        for lost in ["2024-01-17", "2024-01-18", "2024-02-25"] {
            by_day.remove(&day(lost));
        }
        let trading: BTreeSet<NaiveDate> =
            day("2024-01-01").iter_days().take(200).filter(|day| day.weekday().num_days_from_monday() < 5).collect();
        let all_gaps = gaps_of("news", &by_day, &trading);
        // The source's last document is of 2024-03-10.
        assert_eq!(all_gaps.last().map(|gap| (gap.first, gap.last)), Some((day("2024-03-11"), day("2024-05-09"))));
        for evening in trading.iter().copied() {
            let until = by_day.iter().filter(|(day, _)| **day <= evening).map(|(day, n)| (*day, *n)).collect();
            let prices = trading.iter().copied().filter(|day| *day <= evening).collect();
            let known: Vec<Gap> = all_gaps
                .iter()
                .filter(|gap| gap.first <= evening)
                .map(|gap| Gap { last: gap.last.min(evening), ..gap.clone() })
                .collect();
            assert_eq!(gaps_of("news", &until, &prices), known, "{evening}");
        }
    }

    #[test]
    fn a_gap_overlaps_the_spans_that_share_a_day_with_it() {
        let gap = Gap { source: "news".into(), first: day("2024-01-17"), last: day("2024-01-18") };
        assert_eq!(gap.days(), 2);
        for (first, last, expected) in [
            ("2024-01-10", "2024-01-16", false),
            ("2024-01-10", "2024-01-17", true),
            ("2024-01-18", "2024-01-18", true),
            ("2024-01-19", "2024-01-20", false),
        ] {
            assert_eq!(gap.overlaps(day(first), day(last)), expected, "{first} {last}");
        }
    }
}
