//! Events from documents, or from a factor that came without documents.

use super::Event;
use crate::factor::{Factor, Signal};
use inkstone_base::data::Report;
use inkstone_market::{AUCTION, Market};

/// A value that comes too late for its day is one of another day, or of hindsight.
const LATE: &str = "value not known before the opening auction of day +1";

/// An event for each document: day 0 is the trading date that the document counts for. Repeats of an earlier document are left
/// out with `first_only`.
pub fn events_of_signals(signals: &[Signal], market: &Market, first_only: bool) -> (Vec<Event>, Report) {
    let mut report = Report::new("events");
    report.rows_in = signals.len() as u64;
    let mut events = Vec::new();
    for signal in signals {
        let next = market.dates().get(signal.date as usize + 1);
        if first_only && !signal.first {
            report.drop_rows("repeat of an earlier document", 1);
        } else if next.is_some_and(|next| signal.known_at >= next.and_time(AUCTION)) {
            report.drop_rows(LATE, 1);
        } else {
            events.push(Event { code: signal.code, date: signal.date, value: signal.value });
        }
    }
    report.rows_out = events.len() as u64;
    (events, report)
}

/// An event for each value of a factor that is new: the name had none, or another one, on the trading day before. Values are
/// those before processing, as processing changes all values of a day by each of them.
pub fn events_of_factor(factor: &Factor, market: &Market) -> (Vec<Event>, Report) {
    let mut report = Report::new("events");
    let mut events = Vec::new();
    for t in 0..market.dates().len() {
        let latest = market.dates().get(t + 1).map(|next| next.and_time(AUCTION));
        for (i, &value) in factor.raw.row(t).iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            report.rows_in += 1;
            if t > 0 && factor.raw.at(t - 1, i) == value {
                report.drop_rows("value as on the day before", 1);
            } else if factor.known_at(t, i).zip(latest).is_some_and(|(known, latest)| known >= latest) {
                report.drop_rows(LATE, 1);
            } else {
                events.push(Event { code: i as u32, date: t as u32, value });
            }
        }
    }
    report.rows_out = events.len() as u64;
    (events, report)
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDateTime;

    use super::*;

    fn market() -> Market {
        let mut text = "date,code,close\n".to_owned();
        for day in ["02", "03", "04", "05"] {
            text += &format!("2024-01-{day},600001.SH,1\n2024-01-{day},600002.SH,1\n");
        }
        Market::of_text(&text, &[]).unwrap()
    }

    fn at(market: &Market, date: usize, hour: u32) -> NaiveDateTime {
        market.dates()[date].and_hms_opt(hour, 0, 0).unwrap()
    }

    #[test]
    fn repeats_and_what_was_known_too_late_are_no_events() {
        let market = market();
        let signal = |date: u32, first, known_at| Signal { first, ..Signal::of(1, date, known_at, 0.5) };
        let signals = [
            signal(0, true, at(&market, 0, 14)),
            signal(1, false, at(&market, 0, 16)),
            signal(1, true, at(&market, 2, 10)),
            signal(3, true, at(&market, 3, 20)),
        ];
        let (events, report) = events_of_signals(&signals, &market, true);
        assert_eq!(events.iter().map(|e| e.date).collect::<Vec<_>>(), [0, 3]);
        assert_eq!((report.dropped["repeat of an earlier document"], report.dropped[LATE]), (1, 1));
        assert_eq!(events_of_signals(&signals, &market, false).0.len(), 3);
    }

    #[test]
    fn a_value_of_a_factor_is_an_event_when_it_is_new() {
        let market = market();
        let mut factor = Factor::empty("tone", &market);
        for (t, i, value, hour) in
            [(0, 0, 1.0, 15), (1, 0, 1.0, 15), (2, 0, 2.0, 15), (1, 1, 1.0, 15), (3, 1, 1.0, 15), (3, 0, 3.0, 15)]
        {
            factor.put(t, i, value, at(&market, t, hour), 1);
        }
        factor.put(2, 1, 7.0, at(&market, 3, 10), 1);
        let (events, report) = events_of_factor(&factor, &market);
        let found: Vec<(u32, u32, f64)> = events.iter().map(|e| (e.date, e.code, e.value)).collect();
        assert_eq!(found, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, 2.0), (3, 0, 3.0), (3, 1, 1.0)]);
        assert_eq!((report.rows_in, report.dropped["value as on the day before"], report.dropped[LATE]), (7, 1, 1));
    }
}
