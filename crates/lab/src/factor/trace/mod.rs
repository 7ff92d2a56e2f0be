//! Origin of a value of a factor: the documents of its look-back, the weight of each, and its part of the value.
//!
//! A value is made of readings of documents, of the days that the expression looks at (`lag`, `mean(..., days = 20)`). Each of
//! them is taken apart by itself, with the rules that made it: `w_i = weight x decay^age`, and
//!
//! | aggregate | a document gave | they sum to |
//! |---|---|---|
//! | mean | `w_i v_i / sum w` | the reading's number |
//! | sum, count | `w_i v_i`, `w_i` | the number |
//! | max, min, last | the number, shared by those that are it | the number |
//! | std | nothing: a deviation is of all of them together | |
//!
//! A number that `spread` takes from neighbours has no documents here: trace the neighbours' own values to find them.
//! Work on readings afterwards (arithmetic, ranks, neutralisation, z-scores) is of a whole cross-section and is not
//! shared out among documents.

mod rows;

use chrono::NaiveDateTime;

pub use rows::{TracedCell, TracedDate, TracedDay, TracedDocument, TracedName};

use super::plan::{DayNode, Plan, Reading};
use super::{Aggregate, LookbackUnit, Signal, aggregate};
use inkstone_market::DaysAndNames;

/// A reading of documents as it stood on one date for one security.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingTrace {
    /// Number of the reading in the expression, from 0.
    pub reading: usize,
    /// Number of its date: the date of the value, or a date that the expression looks back to.
    pub date: usize,
    /// True if the reading is only regressed out (`neutralise`).
    pub control: bool,
    pub aggregate: Aggregate,
    /// The number; NaN without a document.
    pub value: f64,
    /// Known-at time of the number; none without a document.
    pub known_at: Option<NaiveDateTime>,
    /// The documents in its look-back, the oldest first.
    pub shares: Vec<Contribution>,
}

/// Contribution of one document to a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Number of the document in the corpus.
    pub document: u32,
    /// Number of the trading date that the document belongs to.
    pub date: u32,
    pub known_at: NaiveDateTime,
    /// True if the document is the first of its story.
    pub first: bool,
    /// Days from its date to the date of the reading, in the unit of the look-back.
    pub age: usize,
    pub value: f64,
    /// Weight of the document times the weight of its age.
    pub weight: f64,
    /// Part of the number; NaN if the aggregate has no parts.
    pub contribution: f64,
}

impl Plan {
    /// The documents of the readings behind the value of date `t` and code `i`, in the order of the expression, the latest date first;
    /// those of controls come last. `signals` are the factor's, in any order.
    pub fn trace(&self, signals: &[Signal], market: &impl DaysAndNames, t: usize, i: usize) -> Vec<ReadingTrace> {
        let mut cells = Vec::new();
        reach(&self.value, &[t], market, &mut cells);
        order(&mut cells);
        let mut controls = Vec::new();
        self.controls.iter().for_each(|(_, node)| reach(node, &[t], market, &mut controls));
        order(&mut controls);
        controls.retain(|cell| !cells.contains(cell));
        let all = cells.into_iter().map(|cell| (cell, false)).chain(controls.into_iter().map(|cell| (cell, true)));
        all.map(|((number, date), control)| {
            let signals_of_code = signals.iter().filter(|s| s.reading as usize == number && s.code as usize == i);
            let mut traced = trace_reading(&self.readings[number], signals_of_code, market, date, i);
            (traced.reading, traced.control) = (number, control);
            traced
        })
        .collect()
    }

    /// Features and columns that a reading's value is made of; none names the first column.
    pub fn columns_of(&self, reading: usize) -> Vec<(&str, Option<String>)> {
        let mut columns: Vec<(usize, Option<String>)> = Vec::new();
        if let Some(reading) = self.readings.get(reading) {
            reading.value.each_column(&mut |feature, column| {
                let column = (feature, column.map(str::to_owned));
                if !columns.contains(&column) {
                    columns.push(column);
                }
            });
        }
        columns.into_iter().map(|(feature, column)| (self.features[feature].as_str(), column)).collect()
    }
}

/// Readings in the order of the expression, of each the latest date first, each once.
fn order(cells: &mut Vec<(usize, usize)>) {
    cells.sort_by_key(|&(reading, date)| (reading, std::cmp::Reverse(date)));
    cells.dedup();
}

/// The readings and dates that a node looks at to be known on these dates.
fn reach(node: &DayNode, dates: &[usize], market: &impl DaysAndNames, cells: &mut Vec<(usize, usize)>) {
    match node {
        // What is said of neighbours is traced at the neighbours.
        DayNode::Number(_) | DayNode::Market(_) | DayNode::Factor(_) | DayNode::Spread(..) => {}
        DayNode::Documents(reading) => cells.extend(dates.iter().map(|&date| (*reading, date))),
        DayNode::Binary(_, left, right) => {
            reach(left, dates, market, cells);
            reach(right, dates, market, cells);
        }
        DayNode::Single(_, inner) | DayNode::Clip(inner, ..) | DayNode::Across(_, inner) | DayNode::Fill(_, inner) => {
            reach(inner, dates, market, cells)
        }
        DayNode::Residual(of, on) => {
            reach(of, dates, market, cells);
            on.iter().for_each(|node| reach(node, dates, market, cells));
        }
        DayNode::Combine(_, numbers) => numbers.iter().for_each(|node| reach(node, dates, market, cells)),
        DayNode::Lag(days, inner) => {
            let before: Vec<usize> = dates.iter().filter_map(|date| date.checked_sub(*days)).collect();
            reach(inner, &before, market, cells);
        }
        DayNode::Rolling(_, window, inner) => {
            let mut before: Vec<usize> = dates
                .iter()
                .flat_map(|&t| (0..=t).rev().take_while(move |&s| age(window.unit, market, s, t) < window.days))
                .collect();
            before.sort_unstable();
            before.dedup();
            reach(inner, &before, market, cells);
        }
    }
}

/// Days from date `s` to date `t`.
fn age(unit: LookbackUnit, market: &impl DaysAndNames, s: usize, t: usize) -> usize {
    match unit {
        LookbackUnit::Trading => t - s,
        LookbackUnit::Natural => (market.dates()[t] - market.dates()[s]).num_days() as usize,
    }
}

/// One reading of one cell, by the rules of [`aggregate::column`].
fn trace_reading<'a>(
    reading: &Reading,
    signals: impl Iterator<Item = &'a Signal>,
    market: &impl DaysAndNames,
    t: usize,
    i: usize,
) -> ReadingTrace {
    let lives = market.lives(t, i);
    let counts = |s: &&Signal| {
        lives
            && (s.date as usize) <= t
            && s.value.is_finite()
            && (s.first || !reading.first_only)
            && age(reading.window.unit, market, s.date as usize, t) < reading.window.days
    };
    let mut signals: Vec<Signal> = signals.filter(counts).copied().collect();
    signals.sort_by(|a, b| (a.date, a.known_at).cmp(&(b.date, b.known_at)).then(a.value.total_cmp(&b.value)));
    let mut shares: Vec<Contribution> = signals
        .iter()
        .map(|s| {
            let age = age(reading.window.unit, market, s.date as usize, t);
            let weight = aggregate::weight_of_age(reading.window.decay, age, reading.window.days) * s.weight;
            let Signal { document, date, known_at, first, value, .. } = *s;
            Contribution { document, date, known_at, first, age, value, weight, contribution: f64::NAN }
        })
        .collect();
    let known_at = shares.iter().map(|share| share.known_at).max();
    let value = share_out(reading.aggregate, &mut shares, known_at);
    ReadingTrace { reading: 0, date: t, control: false, aggregate: reading.aggregate, value, known_at, shares }
}

/// The number that documents make together; notes what each gave to it.
fn share_out(by: Aggregate, shares: &mut [Contribution], known_at: Option<NaiveDateTime>) -> f64 {
    let latest = |share: &Contribution| Some(share.known_at) == known_at;
    let value = match by {
        Aggregate::Last => inkstone_base::stats::mean(shares.iter().filter(|s| latest(s)).map(|s| s.value)),
        by => aggregate::combine(by, &shares.iter().map(|s| (s.value, s.weight)).collect::<Vec<_>>()),
    };
    if value.is_nan() {
        return value;
    }
    let weights: f64 = shares.iter().map(|s| s.weight).sum();
    let is_it = |share: &Contribution| match by {
        Aggregate::Last => latest(share),
        _ => share.value == value,
    };
    let of_them = shares.iter().filter(|s| is_it(s)).count() as f64;
    for share in shares {
        share.contribution = match by {
            Aggregate::Mean => share.weight * share.value / weights,
            Aggregate::Sum => share.weight * share.value,
            Aggregate::Count => share.weight,
            Aggregate::Max | Aggregate::Min | Aggregate::Last if is_it(share) => share.value / of_them,
            Aggregate::Max | Aggregate::Min | Aggregate::Last => 0.0,
            Aggregate::Std => f64::NAN,
        };
    }
    value
}

#[cfg(test)]
mod tests;
