//! Graphs between names, and the mean of a name's neighbours.
//!
//! A tie joins a name to a neighbour on the dates on which it was known and holds. Of relations of one pair and kind the one known last
//! counts. Two names that a document names together are tied by it from its trading date on, for the days of the window; a document of `n`
//! names weighs `1 / (n - 1)` for each pair (Newman 2001), and one of more than [`MOST_NAMES`] is a list that ties nobody.
//!
//! `spread(x)_i = sum_j w_ij x_j / sum_j w_ij` over the neighbours `j` that have a number. It is known when the last of these numbers and
//! of their ties is.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{Days, NaiveDate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::aggregate;
use super::grid::DayGrid;
use super::plan::{Graph, Plan, RollingWindow, Takes};
use super::{Decay, LookbackUnit, Signal, table};
use inkstone_base::job::Ctx;
use inkstone_market::{Calendar, Cutoff, Market, OffCalendar, Relation};

/// A document that names more securities is a list.
const MOST_NAMES: usize = 50;
/// Exchanges that are tried for each pair when a graph is rewired.
const EXCHANGES: usize = 10;

/// The inputs of graphs that are no documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphInputs<'a> {
    pub relations: &'a [Relation],
    /// Seed by which graphs are rewired at random: each name keeps the number of its ties, but not its neighbours. `None`: graphs stay.
    pub rewired: Option<u64>,
}

/// A name tied to a neighbour from one date to another, the latter not included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tie {
    name: u32,
    neighbour: u32,
    begin: u32,
    end: u32,
    weight: f64,
    /// Seconds since 1970 of the Shanghai wall clock.
    known: i64,
}

/// The ties of all graphs of a plan, by the numbers of the graphs.
#[derive(Default)]
pub struct GraphTies(pub(super) Vec<Ties>);

impl GraphTies {
    /// The ties of a plan's graphs; `index_of` gives the number of a code.
    pub fn new(
        plan: &Plan,
        days: (&Calendar, Cutoff),
        index_of: impl Fn(&str) -> Option<usize>,
        signals: &[Signal],
        inputs: &GraphInputs<'_>,
    ) -> GraphTies {
        let ties = |number| Ties::new(plan, number, days, &index_of, signals, inputs);
        GraphTies((0..plan.graphs.len()).map(ties).collect())
    }
}

/// The ties of a graph.
pub(super) struct Ties {
    /// Ties sorted by name, neighbour and first date.
    all: Vec<Tie>,
    /// Number of ties of a date that two names need.
    fewest: usize,
    /// Rule for the weight of a tie by its age; `None` for ties that do not age.
    window: Option<RollingWindow>,
}

/// A neighbour of a name on a date.
pub(super) struct Neighbour {
    /// Number of its code.
    pub(super) number: usize,
    pub(super) weight: f64,
    known: i64,
}

impl Ties {
    fn new(
        plan: &Plan,
        number: usize,
        (calendar, cutoff): (&Calendar, Cutoff),
        index_of: &dyn Fn(&str) -> Option<usize>,
        signals: &[Signal],
        inputs: &GraphInputs<'_>,
    ) -> Ties {
        let mut rng = inputs.rewired.map(|seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number as u64);
            rng
        });
        let (mut all, fewest, window) = match &plan.graphs[number] {
            Graph::Relations { kinds, takes } => {
                let counts = |r: &&Relation| kinds.is_empty() || kinds.contains(&r.kind);
                let relations = inputs.relations.iter().filter(counts);
                (of_relations(relations, *takes, (calendar, cutoff), index_of, rng.as_mut()), 1, None)
            }
            Graph::Mentions { reading, documents } => {
                let rules = &plan.readings[*reading];
                let counts = |s: &&Signal| {
                    s.reading as usize == *reading && s.value.is_finite() && (s.first || !rules.first_only)
                };
                let ties = of_mentions(signals.iter().filter(counts), rules.window, calendar, rng.as_mut());
                (ties, *documents, Some(rules.window))
            }
        };
        all.sort_by(|a, b| {
            let key = |tie: &Tie| (tie.name, tie.neighbour, tie.begin, tie.end, tie.known);
            key(a).cmp(&key(b)).then(a.weight.total_cmp(&b.weight))
        });
        Ties { all, fewest, window }
    }

    fn of_name(&self, i: usize) -> &[Tie] {
        let begin = self.all.partition_point(|tie| (tie.name as usize) < i);
        let end = self.all.partition_point(|tie| tie.name as usize <= i);
        &self.all[begin..end]
    }

    /// The neighbours of a name on a date.
    pub(super) fn neighbours(&self, i: usize, dates: &[NaiveDate], t: usize) -> Vec<Neighbour> {
        let pairs = self.of_name(i).chunk_by(|a, b| a.neighbour == b.neighbour);
        pairs.filter_map(|ties| self.on(ties, dates, t)).collect()
    }

    /// The neighbour on a date, from the ties of one pair.
    fn on(&self, ties: &[Tie], dates: &[NaiveDate], t: usize) -> Option<Neighbour> {
        let there = ties.iter().filter(|tie| (tie.begin as usize..tie.end as usize).contains(&t));
        let (mut n, mut weight, mut known) = (0, 0.0, i64::MIN);
        for tie in there {
            n += 1;
            weight += tie.weight * self.weight_of_age(dates, tie.begin as usize, t);
            known = known.max(tie.known);
        }
        (n >= self.fewest && weight > 0.0).then(|| Neighbour { number: ties[0].neighbour as usize, weight, known })
    }

    fn weight_of_age(&self, dates: &[NaiveDate], begin: usize, t: usize) -> f64 {
        match self.window {
            Some(window) if window.decay != Decay::None => {
                let age = match window.unit {
                    LookbackUnit::Trading => t - begin,
                    LookbackUnit::Natural => (dates[t] - dates[begin]).num_days() as usize,
                };
                aggregate::weight_of_age(window.decay, age, window.days)
            }
            _ => 1.0,
        }
    }

    /// The days of one pair on which it is tied, ascending.
    fn days<'t>(&'t self, ties: &'t [Tie], calendar: &'t Calendar) -> impl Iterator<Item = (usize, Neighbour)> + 't {
        let end = ties.iter().map(|tie| tie.end as usize).max().unwrap_or(0).min(calendar.dates().len());
        let (mut first, mut t) = (0, ties.first().map_or(0, |tie| tie.begin as usize));
        std::iter::from_fn(move || {
            while t < end {
                // Ties begin in order, so that those before `first` and those behind `last` are not looked at.
                while first < ties.len() && ties[first].end as usize <= t {
                    first += 1;
                }
                let last = ties.partition_point(|tie| tie.begin as usize <= t);
                let day = t;
                t += 1;
                if first < last
                    && let Some(neighbour) = self.on(&ties[first..last], calendar.dates(), day)
                {
                    return Some((day, neighbour));
                }
            }
            None
        })
    }
}

/// The ties of relations. Those of a pair and kind end where one that was known later begins.
fn of_relations<'r>(
    relations: impl Iterator<Item = &'r Relation>,
    takes: Takes,
    (calendar, cutoff): (&Calendar, Cutoff),
    index_of: &dyn Fn(&str) -> Option<usize>,
    rng: Option<&mut ChaCha8Rng>,
) -> Vec<Tie> {
    let days = calendar.dates().len();
    let mut of_pair: BTreeMap<(u32, u32, &str), Vec<Tie>> = BTreeMap::new();
    for relation in relations {
        let (Some(from), Some(to)) = (index_of(relation.from.as_str()), index_of(relation.to.as_str())) else {
            continue;
        };
        let known_on = match calendar.trade_date(relation.known_at, cutoff) {
            Ok(t) => t,
            Err(OffCalendar::Early) => 0,
            Err(OffCalendar::Late) => continue,
        };
        let begin = relation.valid_from.map_or(0, |day| calendar.on_or_after(day)).max(known_on);
        let end = relation.valid_to.map_or(days, |day| calendar.on_or_after(day));
        if begin < end {
            let (name, neighbour) = (from as u32, to as u32);
            let (weight, known) = (relation.weight, table::seconds_up(relation.known_at));
            let tie = Tie { name, neighbour, begin: begin as u32, end: end as u32, weight, known };
            of_pair.entry((name, neighbour, &relation.kind)).or_default().push(tie);
        }
    }
    let mut ties: Vec<Tie> = Vec::new();
    for mut rows in of_pair.into_values() {
        rows.sort_by(|a, b| (a.known, a.begin).cmp(&(b.known, b.begin)).then(a.weight.total_cmp(&b.weight)));
        let mut next = u32::MAX;
        for row in rows.iter_mut().rev() {
            row.end = row.end.min(next);
            next = next.min(row.begin);
        }
        ties.extend(rows.into_iter().filter(|row| row.begin < row.end));
    }
    if let Some(rng) = rng {
        let mut pairs: Vec<(u32, u32)> = ties.iter().map(|tie| (tie.name, tie.neighbour)).collect();
        rewire(&mut pairs, |a, b| a != b, rng);
        ties.iter_mut().zip(pairs).for_each(|(tie, pair)| (tie.name, tie.neighbour) = pair);
    }
    let turned = |tie: &Tie| Tie { name: tie.neighbour, neighbour: tie.name, ..*tie };
    match takes {
        Takes::To => ties,
        Takes::From => ties.iter().map(turned).collect(),
        Takes::Both => ties.iter().flat_map(|tie| [*tie, turned(tie)]).collect(),
    }
}

/// The ties of names that stand in one document.
fn of_mentions<'s>(
    signals: impl Iterator<Item = &'s Signal>,
    window: RollingWindow,
    calendar: &Calendar,
    rng: Option<&mut ChaCha8Rng>,
) -> Vec<Tie> {
    let mut signals: Vec<&Signal> = signals.collect();
    signals.sort_by_key(|signal| (signal.document, signal.code));
    let together: Vec<&[&Signal]> = signals
        .chunk_by(|a, b| a.document == b.document)
        .filter(|names| (2..=MOST_NAMES).contains(&names.len()))
        .collect();
    let named = together.iter().enumerate();
    let mut pairs: Vec<(u32, u32)> =
        named.flat_map(|(number, names)| names.iter().map(move |signal| (number as u32, signal.code))).collect();
    if let Some(rng) = rng {
        rewire(&mut pairs, |_, _| true, rng);
    }
    let dates = calendar.dates();
    let mut ties = Vec::new();
    // Pairs stay in the order of their documents.
    for of_document in pairs.chunk_by(|a, b| a.0 == b.0) {
        let signal = together[of_document[0].0 as usize][0];
        let begin = signal.date as usize;
        let end = match window.unit {
            LookbackUnit::Trading => begin.saturating_add(window.days),
            LookbackUnit::Natural => {
                let day = dates[begin].checked_add_days(Days::new(window.days as u64));
                day.map_or(dates.len(), |day| calendar.on_or_after(day))
            }
        };
        let tie = Tie {
            name: 0,
            neighbour: 0,
            begin: signal.date,
            end: end.min(dates.len()) as u32,
            weight: 1.0 / (of_document.len() - 1) as f64,
            known: table::seconds_up(signal.known_at),
        };
        for &(_, name) in of_document {
            let others = of_document.iter().filter(|(_, other)| *other != name);
            ties.extend(others.map(|&(_, neighbour)| Tie { name, neighbour, ..tie }));
        }
    }
    ties
}

/// Exchanges the second ends of two pairs drawn at random, many times, unless one would not be allowed or be there twice (Maslov and
/// Sneppen 2002): each end stays in as many pairs as it was.
fn rewire(pairs: &mut [(u32, u32)], allowed: impl Fn(u32, u32) -> bool, rng: &mut ChaCha8Rng) {
    let mut times: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    pairs.iter().for_each(|pair| *times.entry(*pair).or_default() += 1);
    if pairs.len() < 2 {
        return;
    }
    for _ in 0..EXCHANGES * pairs.len() {
        let (a, b) = (rng.random_range(0..pairs.len()), rng.random_range(0..pairs.len()));
        let (one, other) = ((pairs[a].0, pairs[b].1), (pairs[b].0, pairs[a].1));
        let is_new = |pair: (u32, u32)| allowed(pair.0, pair.1) && times.get(&pair).is_none_or(|n| *n == 0);
        if !is_new(one) || !is_new(other) {
            continue;
        }
        for pair in [pairs[a], pairs[b]] {
            times.entry(pair).and_modify(|n| *n -= 1);
        }
        (pairs[a], pairs[b]) = (one, other);
        for pair in [one, other] {
            *times.entry(pair).or_default() += 1;
        }
    }
}

/// The weighed mean of each name's neighbours.
pub(super) fn spread(grid: &DayGrid, ties: &Ties, market: &Market, ctx: &Ctx) -> Result<DayGrid> {
    let (days, width) = (grid.days(), grid.width);
    let columns: Vec<Vec<(f64, i64, u32)>> = ctx.install(|| {
        let column = |i: usize| {
            ctx.check()?;
            let mut sums = vec![(0.0, 0.0, i64::MIN, 0u32); days];
            for pair in ties.of_name(i).chunk_by(|a, b| a.neighbour == b.neighbour) {
                for (t, Neighbour { number, weight, known }) in ties.days(pair, market.calendar()) {
                    let cell = t * width + number;
                    let value = grid.values[cell];
                    if !value.is_nan() {
                        let (sum, weights, latest, documents) = &mut sums[t];
                        (*sum, *weights) = (*sum + weight * value, *weights + weight);
                        *latest = (*latest).max(known).max(grid.known[cell]);
                        *documents = (*documents).max(grid.documents[cell]);
                    }
                }
            }
            let mean = |(t, (sum, weights, known, documents)): (usize, (f64, f64, i64, u32))| {
                let is_there = weights > 0.0 && market.lives(t, i);
                (if is_there { sum / weights } else { f64::NAN }, known, documents)
            };
            Ok(sums.into_iter().enumerate().map(mean).collect())
        };
        (0..width).into_par_iter().map(column).collect::<Result<_>>()
    })?;
    let mut made = DayGrid::empty(market);
    for (i, column) in columns.into_iter().enumerate() {
        for (t, (value, known, documents)) in column.into_iter().enumerate() {
            let cell = t * width + i;
            (made.values[cell], made.known[cell], made.documents[cell]) = (value, known, documents);
        }
    }
    Ok(made)
}

#[cfg(test)]
pub(crate) use tests::{SPREAD, SpillOver};

#[cfg(test)]
mod tests;
