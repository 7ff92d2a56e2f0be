//! The documents of one security, aggregated over a sliding look-back.

use chrono::NaiveDateTime;

use crate::factor::{Aggregate, Decay, LookbackUnit, Params, Signal};
use crate::market::Market;
use crate::stats::mean;

/// A value of one date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub date: usize,
    pub value: f64,
    pub known_at: NaiveDateTime,
    pub documents: u32,
}

/// The cells of code `i`, dates ascending, from its first day with a close to its last.
///
/// Signals are put in a fixed order first, so that sums do not depend on the order in which they came.
pub(super) fn column(signals: &mut [Signal], market: &Market, i: usize, params: &Params) -> Vec<Cell> {
    let Some((born, last)) = market.life(i) else { return Vec::new() };
    signals.sort_by(|a, b| (a.date, a.known_at).cmp(&(b.date, b.known_at)).then(a.value.total_cmp(&b.value)));
    let dates = market.dates();
    let age = |t: usize, s: &Signal| match params.lookback_unit {
        LookbackUnit::Trading => t - s.date as usize,
        LookbackUnit::Natural => (dates[t] - dates[s.date as usize]).num_days() as usize,
    };
    let mut cells = Vec::new();
    let (mut begin, mut end) = (0, 0);
    let mut t = signals.first().map_or(usize::MAX, |s| s.date as usize);
    while t <= last {
        while end < signals.len() && signals[end].date as usize <= t {
            end += 1;
        }
        while begin < end && age(t, &signals[begin]) >= params.lookback {
            begin += 1;
        }
        if begin == end {
            // Nothing in the look-back: on to the next document.
            let Some(next) = signals.get(end) else { break };
            t = next.date as usize;
            continue;
        }
        let window = &signals[begin..end];
        let known_at = window.iter().map(|s| s.known_at).max();
        if let Some(known_at) = known_at.filter(|_| t >= born) {
            let value = combine(window, params, known_at, |s| age(t, s));
            cells.push(Cell { date: t, value, known_at, documents: window.len() as u32 });
        }
        t += 1;
    }
    cells
}

fn combine(window: &[Signal], params: &Params, known_at: NaiveDateTime, age: impl Fn(&Signal) -> usize) -> f64 {
    let weight = |s: &Signal| match params.decay {
        Decay::None => 1.0,
        // By multiplication: what powi gives depends on the optimiser, and ties hang on the last digit.
        Decay::Exponential(rate) => std::iter::repeat_n(rate, age(s)).product(),
        Decay::Linear => 1.0 - age(s) as f64 / params.lookback as f64,
    };
    let weights = || window.iter().map(weight).sum::<f64>();
    let weighted = || window.iter().map(|s| weight(s) * s.value).sum::<f64>();
    let values = window.iter().map(|s| s.value);
    match params.aggregate {
        Aggregate::Mean => weighted() / weights(),
        Aggregate::Sum => weighted(),
        Aggregate::Count => weights(),
        Aggregate::Max => values.fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Min => values.fold(f64::INFINITY, f64::min),
        Aggregate::Last => mean(window.iter().filter(|s| s.known_at == known_at).map(|s| s.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market() -> Market {
        // A Friday, then Monday to Thursday; 000002 only widens the calendar.
        let mut prices = "date,code,close\n".to_owned();
        for day in ["05", "08", "09", "10", "11"] {
            prices += &format!("2024-01-{day},000002.SZ,1\n");
            if day != "11" {
                prices += &format!("2024-01-{day},000001.SZ,1\n");
            }
        }
        Market::of_text(&prices, &[]).unwrap()
    }

    fn signal(date: u32, hour: u32, value: f64) -> Signal {
        let day = market().dates()[date as usize];
        Signal { code: 0, date, known_at: day.and_hms_opt(hour, 0, 0).unwrap(), value, first: true }
    }

    fn values(signals: &[Signal], params: &Params) -> Vec<(usize, f64)> {
        let cells = column(&mut signals.to_vec(), &market(), 0, params);
        cells.into_iter().map(|cell| (cell.date, cell.value)).collect()
    }

    #[test]
    fn documents_count_for_their_look_back_and_weigh_by_age() {
        let signals = [signal(0, 9, 1.0), signal(1, 9, 4.0)];
        let two_days = Params { lookback: 2, ..Params::default() };
        assert_eq!(values(&signals, &two_days), [(0, 1.0), (1, 2.5), (2, 4.0)]);
        let decayed = Params { lookback: 3, decay: Decay::Exponential(0.5), ..Params::default() };
        let by_hand = [(0, 1.0), (1, (0.5 + 4.0) / 1.5), (2, (0.25 + 2.0) / 0.75), (3, 4.0)];
        assert_eq!(values(&signals, &decayed), by_hand);
        let linear = Params { decay: Decay::Linear, aggregate: Aggregate::Sum, lookback: 2, ..Params::default() };
        assert_eq!(values(&signals, &linear), [(0, 1.0), (1, 4.5), (2, 2.0)]);
        // Friday's news is three natural days old on Monday.
        let natural = Params { lookback: 3, lookback_unit: LookbackUnit::Natural, ..Params::default() };
        assert_eq!(values(&signals[..1], &natural), [(0, 1.0)]);
    }

    #[test]
    fn a_cell_is_known_when_its_last_document_is_and_ends_with_the_listing() {
        let mut signals = vec![signal(2, 14, 3.0), signal(2, 10, 7.0)];
        let last = Params { aggregate: Aggregate::Last, ..Params::default() };
        let cells = column(&mut signals, &market(), 0, &last);
        assert_eq!(cells.iter().map(|c| c.date).collect::<Vec<_>>(), [2, 3], "the last close is on date 3");
        assert!(cells.iter().all(|c| c.value == 3.0 && c.documents == 2 && c.known_at == signals[1].known_at));
        let count = Params { aggregate: Aggregate::Count, ..Params::default() };
        assert_eq!(values(&signals, &count), [(2, 2.0), (3, 2.0)]);
    }
}
