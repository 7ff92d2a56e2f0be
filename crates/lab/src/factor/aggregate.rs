//! The documents of one security, aggregated over a sliding look-back.

use chrono::NaiveDateTime;

use super::plan::Reading;
use crate::factor::{Aggregate, Decay, LookbackUnit, Signal};
use inkstone_base::stats::mean;
use inkstone_market::Market;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DayValue {
    pub date: usize,
    pub value: f64,
    pub known_at: NaiveDateTime,
    pub documents: u32,
}

/// The cells of code `i`, dates ascending, on the dates on which it counts among the names ([`Market::lives`]).
///
/// Signals are put in a fixed order first, so that sums do not depend on the order in which they came.
pub(super) fn column(signals: &mut [Signal], market: &Market, i: usize, reading: &Reading) -> Vec<DayValue> {
    signals.sort_by(|a, b| (a.date, a.known_at).cmp(&(b.date, b.known_at)).then(a.value.total_cmp(&b.value)));
    let dates = market.dates();
    let age = |t: usize, s: &Signal| match reading.window.unit {
        LookbackUnit::Trading => t - s.date as usize,
        LookbackUnit::Natural => (dates[t] - dates[s.date as usize]).num_days() as usize,
    };
    let mut cells = Vec::new();
    let (mut begin, mut end) = (0, 0);
    let mut t = signals.first().map_or(usize::MAX, |s| s.date as usize);
    while t < dates.len() {
        while end < signals.len() && signals[end].date as usize <= t {
            end += 1;
        }
        while begin < end && age(t, &signals[begin]) >= reading.window.days {
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
        if let Some(known_at) = known_at.filter(|_| market.lives(t, i)) {
            let weighed = |s: &Signal| {
                let weight = weight_of_age(reading.window.decay, age(t, s), reading.window.days) * s.weight;
                (s.value, weight)
            };
            let value = match reading.aggregate {
                Aggregate::Last => mean(window.iter().filter(|s| s.known_at == known_at).map(|s| s.value)),
                aggregate => combine(aggregate, &window.iter().map(weighed).collect::<Vec<_>>()),
            };
            if !value.is_nan() {
                cells.push(DayValue { date: t, value, known_at, documents: window.len() as u32 });
            }
        }
        t += 1;
    }
    cells
}

/// Weight of the day `age` of a look-back of so many days.
pub(super) fn weight_of_age(decay: Decay, age: usize, days: usize) -> f64 {
    match decay {
        Decay::None => 1.0,
        // By multiplication: what powi gives depends on the optimiser, and ties hang on the last digit.
        Decay::Exponential(rate) => std::iter::repeat_n(rate, age).product(),
        Decay::Linear => 1.0 - age as f64 / days as f64,
    }
}

/// Aggregate of values with their weights, the oldest first; NaN without values, or without weight.
pub(super) fn combine(aggregate: Aggregate, weighed: &[(f64, f64)]) -> f64 {
    if weighed.is_empty() {
        return f64::NAN;
    }
    let weights = || weighed.iter().map(|(_, weight)| weight).sum::<f64>();
    let sum = || weighed.iter().map(|(value, weight)| weight * value).sum::<f64>();
    let values = weighed.iter().map(|(value, _)| *value);
    match aggregate {
        Aggregate::Mean => sum() / weights(),
        Aggregate::Sum => sum(),
        Aggregate::Count => weights(),
        Aggregate::Max => values.fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Min => values.fold(f64::INFINITY, f64::min),
        Aggregate::Last => weighed.last().map_or(f64::NAN, |(value, _)| *value),
        Aggregate::Std => {
            let n = weighed.iter().filter(|(_, weight)| *weight > 0.0).count() as f64;
            let centre = sum() / weights();
            let squares: f64 = weighed.iter().map(|(value, weight)| weight * (value - centre).powi(2)).sum();
            if n < 2.0 { f64::NAN } else { (squares / weights() * n / (n - 1.0)).sqrt() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::Params;
    use crate::factor::plan::Plan;

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
        let known_at = day.and_hms_opt(hour, 0, 0).unwrap();
        Signal::of(0, date, known_at, value)
    }

    fn reading(params: &Params) -> Reading {
        let params = Params { expression: "tone".parse().unwrap(), ..params.clone() };
        Plan::new(&params).unwrap().readings.remove(0)
    }

    fn values(signals: &[Signal], params: &Params) -> Vec<(usize, f64)> {
        let cells = column(&mut signals.to_vec(), &market(), 0, &reading(params));
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
        let mut heavy = signals;
        heavy[1].weight = 3.0;
        assert_eq!(values(&heavy, &two_days)[1], (1, (1.0 + 12.0) / 4.0));
        let spread = Params { aggregate: Aggregate::Std, ..two_days };
        let deviation = (2.0 * 1.5_f64 * 1.5).sqrt();
        assert_eq!(values(&signals, &spread), [(1, deviation)], "one document has no deviation");
        let linear = Params { decay: Decay::Linear, aggregate: Aggregate::Sum, lookback: 2, ..Params::default() };
        assert_eq!(values(&signals, &linear), [(0, 1.0), (1, 4.5), (2, 2.0)]);
        // Friday's news is three natural days old on Monday.
        let natural = Params { lookback: 3, lookback_unit: LookbackUnit::Natural, ..Params::default() };
        assert_eq!(values(&signals[..1], &natural), [(0, 1.0)]);
    }

    #[test]
    fn a_cell_is_known_when_its_last_document_is_and_outlives_the_last_close() {
        let mut signals = vec![signal(2, 14, 3.0), signal(2, 10, 7.0)];
        let last = Params { aggregate: Aggregate::Last, ..Params::default() };
        let cells = column(&mut signals, &market(), 0, &reading(&last));
        assert_eq!(
            cells.iter().map(|c| c.date).collect::<Vec<_>>(),
            [2, 3, 4],
            "on date 4 nobody knows of the last close"
        );
        assert!(cells.iter().all(|c| c.value == 3.0 && c.documents == 2 && c.known_at == signals[1].known_at));
        let count = Params { aggregate: Aggregate::Count, ..Params::default() };
        assert_eq!(values(&signals, &count), [(2, 2.0), (3, 2.0), (4, 2.0)]);
    }
}
