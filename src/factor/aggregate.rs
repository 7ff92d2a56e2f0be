//! The documents of one security, aggregated over a sliding look-back.

use chrono::NaiveDateTime;

use crate::factor::{Aggregate, Decay, LookbackUnit, Params, Signal};
use crate::market::Market;

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
        Decay::Exponential(rate) => rate.powi(age(s) as i32),
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
        Aggregate::Last => {
            let last: Vec<f64> = window.iter().filter(|s| s.known_at == known_at).map(|s| s.value).collect();
            last.iter().sum::<f64>() / last.len() as f64
        }
    }
}
