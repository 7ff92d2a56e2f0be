//! The conditions of a filter, and the documents of a part for which each holds.

use std::ops::Range;

use regex::Regex;

use super::catalogue::{Catalogue, CataloguePart};
use super::order::{By, count_of_codes};
use crate::pinyin::Initials;
use inkstone_base::data::Kind;

#[derive(Clone, Debug)]
pub(super) enum Test {
    Kinds(Vec<Kind>),
    Codes(Vec<Regex>),
    Titles(Vec<Regex>),
    /// Published in one of these times: microseconds since 1970.
    Times(Vec<Range<i64>>),
    Repeats,
    Marked,
    /// A text of the facts, or the note.
    Facts(By, Vec<Regex>),
    Numbers(By, Vec<Interval>),
    /// There is a value in one of these columns.
    Has(Vec<By>),
    Word(Regex, Option<Box<Initials>>),
}

/// Numbers between two, each with true if it belongs to them itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub from: (f64, bool),
    pub to: (f64, bool),
}

impl Interval {
    fn holds(&self, value: f64) -> bool {
        let above = value > self.from.0 || self.from.1 && value == self.from.0;
        above && (value < self.to.0 || self.to.1 && value == self.to.0)
    }
}

impl Test {
    /// Marks the documents for which it holds.
    pub(super) fn mark(&self, catalogue: &Catalogue, number: usize, part: &CataloguePart, holds: &mut [bool]) {
        let facts = &catalogue.facts;
        match self {
            Test::Kinds(kinds) => {
                holds.iter_mut().zip(part.kinds()).for_each(|(hold, kind)| *hold = kinds.contains(kind));
            }
            Test::Codes(codes) => codes.iter().for_each(|code| mark_codes(code, part, holds)),
            Test::Titles(titles) => titles.iter().for_each(|title| mark_titles(title, part, holds)),
            Test::Times(times) => {
                let within = |time| times.iter().any(|range| range.contains(time));
                holds.iter_mut().zip(part.times()).for_each(|(hold, time)| *hold = within(time));
            }
            Test::Repeats => part.repeating().for_each(|row| holds[row] = true),
            Test::Marked => {
                holds.iter_mut().zip(part.ids()).for_each(|(hold, id)| *hold = facts.marks.contains(id));
            }
            Test::Facts(by, texts) => {
                for (row, hold) in holds.iter_mut().enumerate() {
                    let text = text_of(catalogue, (number, row), part, by);
                    *hold = !text.is_empty() && texts.iter().any(|wanted| wanted.is_match(text));
                }
            }
            Test::Numbers(by, intervals) => {
                for (row, hold) in holds.iter_mut().enumerate() {
                    let value = number_of(catalogue, (number, row), part, by);
                    *hold = intervals.iter().any(|interval| interval.holds(value));
                }
            }
            Test::Has(columns) => {
                for (row, hold) in holds.iter_mut().enumerate() {
                    *hold = columns.iter().any(|by| has(catalogue, (number, row), part, by));
                }
            }
            Test::Word(word, initials) => {
                mark_codes(word, part, holds);
                mark_titles(word, part, holds);
                if let Some(initials) = initials {
                    for (row, hold) in holds.iter_mut().enumerate().filter(|(_, hold)| !**hold) {
                        *hold = initials.are_in(&part.titles()[part.title(row)]);
                    }
                }
            }
        }
    }
}

fn text_of<'c>(catalogue: &'c Catalogue, place: (usize, usize), part: &'c CataloguePart, by: &By) -> &'c str {
    match by {
        By::Text(fact) => catalogue.facts.text(place, *fact),
        By::Note => catalogue.facts.notes.get(&part.ids()[place.1]).map_or("", String::as_str),
        By::Code => part.codes_of(place.1),
        By::Title => &part.titles()[part.title(place.1)],
        _ => "",
    }
}

/// The number in a column; NaN where there is none.
fn number_of(catalogue: &Catalogue, place: (usize, usize), part: &CataloguePart, by: &By) -> f64 {
    match by {
        By::Length => catalogue.facts.length(place).map_or(f64::NAN, f64::from),
        By::Codes => count_of_codes(part.codes_of(place.1)) as f64,
        By::Score(name) => catalogue.facts.score(place, name),
        _ => f64::NAN,
    }
}

fn has(catalogue: &Catalogue, place: (usize, usize), part: &CataloguePart, by: &By) -> bool {
    match by {
        By::Length | By::Score(_) => !number_of(catalogue, place, part, by).is_nan(),
        By::Time | By::Kind | By::Codes | By::Corpus => true,
        By::Repeats => part.repeating().any(|row| row == place.1),
        _ => !text_of(catalogue, place, part, by).is_empty(),
    }
}

fn mark_codes(code: &Regex, part: &CataloguePart, holds: &mut [bool]) {
    let (names, codes) = part.codes();
    let found: Vec<bool> = names.iter().map(|name| code.is_match(name)).collect();
    holds.iter_mut().zip(codes).for_each(|(hold, code)| *hold |= found[*code as usize]);
}

/// Titles stand behind each other with line breaks between them, which no word has: all are searched at once.
fn mark_titles(word: &Regex, part: &CataloguePart, holds: &mut [bool]) {
    let mut at = 0;
    while let Some(found) = word.find_at(part.titles(), at) {
        let row = part.row_at(found.start());
        holds[row] = true;
        at = part.title(row).end + 1;
    }
}
