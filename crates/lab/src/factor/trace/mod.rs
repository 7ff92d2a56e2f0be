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
//! Where `spread` takes numbers from neighbours, the readings are those of the neighbours that have documents, each with its share in the
//! mean.
//! Work on readings afterwards (arithmetic, ranks, neutralisation, z-scores) is of a whole cross-section and is not
//! shared out among documents.

mod rows;

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use rustc_hash::FxHashSet;

pub use rows::{TracedCell, TracedDate, TracedDay, TracedDocument, TracedName, TracedNeighbour};

use super::plan::{DayNode, Plan};
use super::{Aggregate, GraphTies, LookbackUnit, Signal, aggregate};
use inkstone_market::DaysAndNames;

/// A reading of documents as it stood on one date for one security: the security of the value, or a neighbour of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingTrace {
    /// Number of the reading in the expression, from 0.
    pub reading: usize,
    /// Number of its date: the date of the value, or a date that the expression looks back to.
    pub date: usize,
    /// Number of its security.
    pub name: usize,
    /// Share of the security in the mean that `spread` takes, over the neighbours with documents; 1 for the security of the value.
    pub share: f64,
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
    /// The documents of the readings behind the value of date `t` and code `i`, in the order of the expression, the latest date first, and
    /// neighbours by their shares; those of controls come last. `signals` are the factor's, in the order of their codes.
    pub fn trace(
        &self,
        signals: &[Signal],
        graphs: &GraphTies,
        market: &impl DaysAndNames,
        t: usize,
        i: usize,
    ) -> Vec<ReadingTrace> {
        let tracer = PlanTracer { plan: self, signals, graphs, market };
        let mut places = Vec::new();
        tracer.reach(&self.value, &[t], i, 1.0, &mut places);
        order(&mut places);
        let mut controls = Vec::new();
        self.controls.iter().for_each(|(_, node)| tracer.reach(node, &[t], i, 1.0, &mut controls));
        order(&mut controls);
        let cells: FxHashSet<_> = places.iter().map(ReadingPlace::cell).collect();
        controls.retain(|control| !cells.contains(&control.cell()));
        let of_value = places.into_iter().map(|place| tracer.read(place, false));
        of_value.chain(controls.into_iter().map(|place| tracer.read(place, true))).collect()
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

/// Readings in the order of the expression, of each the latest date first, on a date the largest share first, each once.
fn order(places: &mut Vec<ReadingPlace>) {
    places.sort_by(|a, b| {
        let place = |place: &ReadingPlace| (place.reading, std::cmp::Reverse(place.date));
        place(a).cmp(&place(b)).then(b.share.total_cmp(&a.share)).then(a.name.cmp(&b.name))
    });
    let mut met = FxHashSet::default();
    places.retain(|place| met.insert(place.cell()));
}

/// A reading on a date, of a security that has a share in the value.
#[derive(Clone, Copy)]
struct ReadingPlace {
    reading: usize,
    date: usize,
    name: usize,
    share: f64,
}

impl ReadingPlace {
    fn cell(&self) -> (usize, usize, usize) {
        (self.reading, self.date, self.name)
    }
}

struct PlanTracer<'a, M> {
    plan: &'a Plan,
    /// In the order of their codes.
    signals: &'a [Signal],
    graphs: &'a GraphTies,
    market: &'a M,
}

impl<M: DaysAndNames> PlanTracer<'_, M> {
    /// The readings that a node takes for a name to be known on these dates.
    fn reach(&self, node: &DayNode, dates: &[usize], name: usize, share: f64, reached: &mut Vec<ReadingPlace>) {
        match node {
            DayNode::Number(_) | DayNode::Market(_) | DayNode::Factor(_) => {}
            DayNode::Documents(reading) => {
                reached.extend(dates.iter().map(|&date| ReadingPlace { reading: *reading, date, name, share }));
            }
            DayNode::Binary(_, left, right) => {
                self.reach(left, dates, name, share, reached);
                self.reach(right, dates, name, share, reached);
            }
            DayNode::Single(_, inner)
            | DayNode::Clip(inner, ..)
            | DayNode::Across(_, inner)
            | DayNode::Fill(_, inner) => self.reach(inner, dates, name, share, reached),
            DayNode::Residual(value, on) => {
                self.reach(value, dates, name, share, reached);
                on.iter().for_each(|node| self.reach(node, dates, name, share, reached));
            }
            DayNode::Combine(_, numbers) => {
                numbers.iter().for_each(|node| self.reach(node, dates, name, share, reached));
            }
            DayNode::Lag(days, inner) => {
                let before: Vec<usize> = dates.iter().filter_map(|date| date.checked_sub(*days)).collect();
                self.reach(inner, &before, name, share, reached);
            }
            DayNode::Rolling(_, window, inner) => {
                let mut before: Vec<usize> = dates
                    .iter()
                    .flat_map(|&t| {
                        (0..=t).rev().take_while(move |&s| age(window.unit, self.market, s, t) < window.days)
                    })
                    .collect();
                before.sort_unstable();
                before.dedup();
                self.reach(inner, &before, name, share, reached);
            }
            DayNode::Spread(graph, inner) => {
                for &t in dates {
                    let neighbours = self.graphs.0[*graph].neighbours(name, self.market.dates(), t);
                    let with_documents: Vec<(f64, Vec<ReadingPlace>)> = neighbours
                        .into_iter()
                        .map(|neighbour| {
                            let mut places = Vec::new();
                            self.reach(inner, &[t], neighbour.number, 1.0, &mut places);
                            places.retain(|place| self.signals_of(place).next().is_some());
                            order(&mut places);
                            (neighbour.weight, places)
                        })
                        .filter(|(_, places)| !places.is_empty())
                        .collect();
                    let weights: f64 = with_documents.iter().map(|(weight, _)| weight).sum();
                    // A name that is reached through several neighbours has the sum of its shares.
                    let mut shares: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
                    for (weight, places) in with_documents {
                        for place in places {
                            *shares.entry(place.cell()).or_default() += place.share * share * weight / weights;
                        }
                    }
                    reached.extend(shares.into_iter().map(|((reading, date, name), share)| ReadingPlace {
                        reading,
                        date,
                        name,
                        share,
                    }));
                }
            }
        }
    }

    /// The signals that count in a reading.
    fn signals_of(&self, place: &ReadingPlace) -> impl Iterator<Item = &Signal> {
        let &ReadingPlace { reading: number, date, name, .. } = place;
        let begin = self.signals.partition_point(|signal| (signal.code as usize) < name);
        let end = self.signals.partition_point(|signal| (signal.code as usize) <= name);
        let reading = &self.plan.readings[number];
        let lives = self.market.lives(date, name);
        self.signals[begin..end].iter().filter(move |s| {
            lives
                && s.reading as usize == number
                && (s.date as usize) <= date
                && s.value.is_finite()
                && (s.first || !reading.first_only)
                && age(reading.window.unit, self.market, s.date as usize, date) < reading.window.days
        })
    }

    /// One reading of one cell, by the rules of [`aggregate::column`].
    fn read(&self, place: ReadingPlace, control: bool) -> ReadingTrace {
        let ReadingPlace { reading: number, date, name, share } = place;
        let reading = &self.plan.readings[number];
        let mut signals: Vec<Signal> = self.signals_of(&place).copied().collect();
        signals.sort_by(|a, b| (a.date, a.known_at).cmp(&(b.date, b.known_at)).then(a.value.total_cmp(&b.value)));
        let mut shares: Vec<Contribution> = signals
            .iter()
            .map(|s| {
                let age = age(reading.window.unit, self.market, s.date as usize, date);
                let weight = aggregate::weight_of_age(reading.window.decay, age, reading.window.days) * s.weight;
                let Signal { document, date, known_at, first, value, .. } = *s;
                Contribution { document, date, known_at, first, age, value, weight, contribution: f64::NAN }
            })
            .collect();
        let known_at = shares.iter().map(|share| share.known_at).max();
        let value = share_out(reading.aggregate, &mut shares, known_at);
        ReadingTrace {
            reading: number,
            date,
            name,
            share,
            control,
            aggregate: reading.aggregate,
            value,
            known_at,
            shares,
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
