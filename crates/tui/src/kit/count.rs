//! Frequencies of the values of a column: a line a value, or, for numbers and times of many values, a line a range.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime};
use rustc_hash::FxHashMap;

use super::column::Value;
use super::words as w;
use crate::Language;

/// Distinct numbers from which on ranges are counted in their place.
const SINGLE: usize = 20;

/// Ranges of numbers, each with as many rows as the others, as far as equal values allow.
const RANGES: usize = 10;

/// Lines of texts; rarer ones are counted together.
pub(super) const LINES: usize = 2000;

/// Days from which on months are counted in place of days.
const MANY_DAYS: i64 = 62;

/// The rows of a line of frequencies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Group {
    Missing,
    Text(String),
    /// This number.
    Number(f64),
    /// From the first to before the second; without a second, to the greatest.
    Numbers(f64, Option<f64>),
    Day(NaiveDate),
    /// The month that begins on this day.
    Month(NaiveDate),
    /// Texts without a line of their own, which no list can be narrowed to.
    Others(usize),
}

impl Group {
    pub(crate) fn holds(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Group::Missing, Value::Missing) => true,
            (Group::Text(text), Value::Text(other)) => *text == **other,
            (Group::Number(number), Value::Number(other)) => number == other,
            (Group::Numbers(from, to), Value::Number(other)) => other >= from && to.is_none_or(|to| *other < to),
            (Group::Day(day), Value::Time(time)) => time.date() == *day,
            (Group::Month(day), Value::Time(time)) => month_of(*time) == *day,
            _ => false,
        }
    }

    pub(crate) fn label(&self, language: Language) -> String {
        match self {
            Group::Missing => w::NONE.to(language).to_owned(),
            Group::Text(text) => text.clone(),
            Group::Number(number) => short(*number),
            Group::Numbers(from, None) => format!("≥ {}", short(*from)),
            Group::Numbers(from, Some(to)) => format!("{} … {}", short(*from), short(*to)),
            Group::Day(day) => day.format("%Y-%m-%d").to_string(),
            Group::Month(day) => day.format("%Y-%m").to_string(),
            Group::Others(values) => format!("{} ({values})", w::OTHERS.to(language)),
        }
    }
}

/// A number with six digits at most, for labels.
pub(super) fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let digits = 5 - (number.abs().log10().floor() as i32).clamp(-6, 5);
    let text = format!("{number:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn month_of(time: NaiveDateTime) -> NaiveDate {
    time.date().with_day(1).unwrap_or_default()
}

/// Lines of a column, the most frequent first; ranges, days and months in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frequencies {
    pub lines: Vec<(Group, u64)>,
    /// Rows that were counted; a row with several values counts once.
    pub rows: u64,
}

/// Values of a column while they are counted.
#[derive(Default)]
pub(crate) struct Counting<'a> {
    missing: u64,
    numbers: Vec<f64>,
    times: Vec<NaiveDateTime>,
    texts: FxHashMap<std::borrow::Cow<'a, str>, u64>,
    rows: u64,
}

impl<'a> Counting<'a> {
    /// Counts the values of a row: one, or several such as its codes.
    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = Value<'a>>) {
        self.rows += 1;
        for value in values {
            match value {
                Value::Missing => self.missing += 1,
                Value::Number(number) => self.numbers.push(number),
                Value::Time(time) => self.times.push(time),
                Value::Text(text) => *self.texts.entry(text).or_default() += 1,
            }
        }
    }

    pub(crate) fn end(mut self) -> Frequencies {
        self.numbers.sort_unstable_by(f64::total_cmp);
        let mut texts: Vec<(String, u64)> = self.texts.into_iter().map(|(text, n)| (text.into_owned(), n)).collect();
        texts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let rest: Vec<u64> = texts.iter().skip(LINES).map(|(_, n)| *n).collect();
        texts.truncate(LINES);
        let mut lines: Vec<(Group, u64)> = texts.into_iter().map(|(text, n)| (Group::Text(text), n)).collect();
        lines.extend((!rest.is_empty()).then(|| (Group::Others(rest.len()), rest.iter().sum())));
        lines.extend(numbers(&self.numbers));
        lines.extend(times(&self.times));
        lines.extend((self.missing > 0).then_some((Group::Missing, self.missing)));
        Frequencies { lines, rows: self.rows }
    }
}

/// Lines of sorted numbers.
fn numbers(sorted: &[f64]) -> Vec<(Group, u64)> {
    let single: Vec<(Group, u64)> = sorted
        .chunk_by(|a, b| a == b)
        .take(SINGLE + 1)
        .map(|same| (Group::Number(same[0]), same.len() as u64))
        .collect();
    if single.len() <= SINGLE {
        return single;
    }
    let mut starts: Vec<f64> = (0..RANGES).map(|i| sorted[i * sorted.len() / RANGES]).collect();
    starts.dedup();
    let place = |value: f64| sorted.partition_point(|other| *other < value);
    let ranges = starts.iter().enumerate().map(|(i, from)| {
        let to = starts.get(i + 1).copied();
        let count = to.map_or(sorted.len(), place) - place(*from);
        (Group::Numbers(*from, to), count as u64)
    });
    ranges.collect()
}

fn times(times: &[NaiveDateTime]) -> Vec<(Group, u64)> {
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else { return Vec::new() };
    let by_day = (*last - *first).num_days() <= MANY_DAYS;
    let mut counts: BTreeMap<NaiveDate, u64> = BTreeMap::new();
    for time in times {
        *counts.entry(if by_day { time.date() } else { month_of(*time) }).or_default() += 1;
    }
    // Days and months without rows have a line as well: a gap is to be seen.
    let mut lines = Vec::new();
    let mut day = if by_day { first.date() } else { month_of(*first) };
    while day <= last.date() {
        let count = counts.get(&day).copied().unwrap_or(0);
        lines.push((if by_day { Group::Day(day) } else { Group::Month(day) }, count));
        let next = if by_day { day.checked_add_days(Days::new(1)) } else { day.checked_add_months(Months::new(1)) };
        match next.filter(|_| lines.len() < LINES) {
            Some(next) => day = next,
            None => break,
        }
    }
    lines
}
