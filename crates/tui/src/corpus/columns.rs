//! The columns of the table: the value of a document in each, the cell on the screen, and the condition that keeps a group of it.

use std::sync::Arc;

use anyhow::Result;

use super::CorpusPage;
use super::catalogue::Catalogue;
use super::facts::TextFact;
use super::filter;
use super::load::time_of;
use super::order::{By, count_of_codes};
use super::words as own;
use crate::kit::{Cell, Column, Content, Counting, Group, Summary, Title, Value};
use crate::words;
use crate::{Language, bars, figures, look, width};
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;

/// Cells of the number and of the bar of a feature's value.
const SCORE: [usize; 2] = [7, 4];

/// Documents between two looks at whether the counting is still wanted.
const AT_ONCE: usize = 1 << 14;

/// The title of a column.
pub(super) fn title(by: &By) -> Title {
    Title::Word(match by {
        By::Score(name) => return Title::Name(name.clone()),
        By::Corpus => own::PLACE,
        By::Time => words::TIME,
        By::Code => words::CODE,
        By::Kind => words::KIND,
        By::Repeats => own::REPEATED,
        By::Title => words::TITLE,
        By::Text(fact) => match fact {
            TextFact::Org => own::ORG,
            TextFact::Author => own::AUTHOR,
            TextFact::Source => words::SOURCE,
            TextFact::Rating => own::RATING,
        },
        By::Length => own::LENGTH,
        By::Codes => own::CODES,
        By::Note => own::NOTE,
    })
}

impl Catalogue {
    /// The value of a document in a column; missing where it has not been read.
    pub(super) fn value(&self, n: usize, by: &By, language: Language) -> Value<'_> {
        let (Some(row), Some(place)) = (self.row(n), self.place(n)) else { return Value::Missing };
        match by {
            By::Corpus => Value::Number(n as f64 + 1.0),
            By::Time => Value::Time(time_of(row.time)),
            By::Code => Value::text(row.codes),
            By::Kind => Value::text(words::kind(row.kind).to(language)),
            By::Repeats if row.repeats => Value::text(own::REPEATED.to(language)),
            By::Repeats => Value::Missing,
            By::Title => Value::text(row.title),
            By::Text(fact) => Value::text(self.facts.text(place, *fact)),
            By::Length => self.facts.length(place).map_or(Value::Missing, |length| Value::Number(length.into())),
            By::Codes => Value::Number(count_of_codes(row.codes) as f64),
            By::Note => Value::text(self.note(n)),
            By::Score(name) => Value::number(self.facts.score(place, name)),
        }
    }

    /// The values of a document in a column: of codes each for itself.
    fn values(&self, n: usize, by: &By, language: Language) -> Vec<Value<'_>> {
        match (by, self.row(n)) {
            (By::Code, Some(row)) if !row.codes.is_empty() => row.codes.split(',').map(Value::text).collect(),
            _ => vec![self.value(n, by, language)],
        }
    }

    /// The user's note on a document; empty without one.
    pub(super) fn note(&self, n: usize) -> &str {
        self.id(n).and_then(|id| self.facts.notes.get(&id)).map_or("", String::as_str)
    }
}

/// Counts the values of documents in a column, or summarises them.
pub(super) fn count(
    catalogue: &Catalogue,
    rows: &[u32],
    by: &By,
    language: Language,
    frequencies: bool,
    ctx: &Ctx,
) -> Result<Content> {
    let (column, title) = (by.id().into_owned(), title(by));
    let values = |row: &u32| catalogue.values(*row as usize, by, language);
    if !frequencies {
        return Ok(Content::Summary { column, title, found: Summary::of(rows.iter().map(values)) });
    }
    let mut counting = Counting::default();
    for some in rows.chunks(AT_ONCE) {
        ctx.check()?;
        some.iter().for_each(|row| counting.row(values(row)));
    }
    Ok(Content::Frequencies { column, title, found: counting.end() })
}

/// The condition of a filter that holds for this group of a column; none where a filter cannot say it.
pub(super) fn condition(by: &By, group: &Group, language: Language) -> Option<String> {
    let name = filter::name(by, language)?;
    let quoted = |text: &str| format!("{name}=\"{text}\"");
    // Values of features are kept in single precision, whose digits suffice.
    let written = |number: f64| match by {
        By::Score(_) => (number as f32).to_string(),
        _ => number.to_string(),
    };
    Some(match (by, group) {
        (By::Repeats, Group::Missing) => format!("-{name}"),
        (By::Repeats, _) => name,
        (_, Group::Missing) => format!("-{}:{name}", filter::HAS[usize::from(language == Language::Zh)]),
        (By::Kind, Group::Text(text)) => {
            let kinds = [Kind::News, Kind::Report, Kind::Announcement, Kind::Post];
            // The language may have been changed since the values were counted.
            let names = |kind: Kind| Language::ALL.map(|language| words::kind(kind).to(language));
            let kind = kinds.into_iter().find(|kind| names(*kind).contains(&text.as_str()))?;
            match language {
                Language::Zh => format!("{name}:{}", words::kind(kind).to(language)),
                Language::En => format!("{name}:{}", kind.name()),
            }
        }
        (_, Group::Text(text)) if text.contains('"') => return None,
        (_, Group::Text(text)) if text.contains(char::is_whitespace) || text.contains(['=', ':', '<', '>']) => {
            quoted(text)
        }
        (_, Group::Text(text)) => format!("{name}={text}"),
        (_, Group::Number(number)) => format!("{name}={}", written(*number)),
        (_, Group::Numbers(from, None)) => format!("{name}>={}", written(*from)),
        (_, Group::Numbers(from, Some(to))) => format!("{name}>={} {name}<{}", written(*from), written(*to)),
        (_, Group::Day(_) | Group::Month(_)) => group.label(language),
        (_, Group::Others(_)) => return None,
    })
}

/// The columns of the table, the scores of features behind the others.
pub(super) fn columns(corpus: &CorpusPage) -> Vec<Column<CorpusPage>> {
    let plain = By::PLAIN.into_iter().map(|by| {
        let (id, title) = (by.id(), title(&by));
        let (cells, right, always) = match by {
            By::Time => (16, false, true),
            By::Code => (13, false, true),
            By::Kind | By::Repeats => (5, false, true),
            By::Title => (0, false, true),
            By::Text(TextFact::Org) => (12, false, false),
            By::Text(TextFact::Rating) => (6, false, false),
            By::Text(_) => (10, false, false),
            By::Note => (16, false, !corpus.catalogue.facts.notes.is_empty()),
            _ => (9, true, false),
        };
        let column = Column::new(id, title, cells, right, move |corpus, n, language| cell(corpus, n, &by, language));
        if always { column } else { column.hidden() }
    });
    let scores = corpus.features.iter().map(|feature| {
        let by = By::Score(feature.name.clone());
        let (id, title) = (by.id(), title(&by));
        let cells = SCORE.iter().sum::<usize>() + 1;
        Column::new(id, title, cells, true, move |corpus, n, _| score(corpus, n, &by)).hidden()
    });
    plain.chain(scores).collect()
}

fn cell<'c>(corpus: &'c CorpusPage, n: usize, by: &By, language: Language) -> Cell<'c> {
    let value = Cell::of(corpus.catalogue.value(n, by, language));
    let Some(row) = corpus.catalogue.row(n) else { return value };
    match by {
        By::Code => {
            let mut codes = row.codes.split(',').filter(|code| !code.is_empty());
            let first = codes.next().unwrap_or("–");
            let more = codes.count();
            value.shown(if more > 0 { format!("{first} +{more}") } else { first.to_owned() })
        }
        By::Kind => value.copied(row.kind.name()),
        By::Repeats => {
            let count = corpus.count_of(n);
            let value = value.copied(count.unwrap_or(u32::from(row.repeats)).to_string());
            match count {
                Some(count) => value.shown(format!("×{count}")),
                None => value,
            }
        }
        By::Title => title_cell(corpus, n, row.title, value, language),
        By::Length | By::Codes | By::Corpus => match value.value {
            Value::Number(number) => value.shown(figures::count(number as u64)),
            _ => value,
        },
        By::Note => value.styled(look::NOTE),
        _ => value,
    }
}

/// The title with what the search found in it; without one, the first words of the body in grey.
fn title_cell<'c>(corpus: &'c CorpusPage, n: usize, title: &str, cell: Cell<'c>, language: Language) -> Cell<'c> {
    let place = corpus.catalogue.place(n);
    let opening = || place.and_then(|place| corpus.catalogue.facts.opening(place)).filter(|text| !text.is_empty());
    let text = match title {
        "" => opening().unwrap_or(own::NO_TITLE.to(language)),
        title => title,
    };
    let before = if corpus.is_below(n) { "└ " } else { "" };
    let found = corpus.search.as_ref().map(|search| search.pattern.places(text)).unwrap_or_default();
    let hits = found.into_iter().map(|hit| hit.start + before.len()..hit.end + before.len()).collect();
    let cell = cell.shown(format!("{before}{text}")).with_hits(hits);
    if title.is_empty() { cell.styled(look::DIM) } else { cell }
}

/// A value of a feature with its sign, and a bar as long as it is great among all.
fn score<'c>(corpus: &'c CorpusPage, n: usize, by: &By) -> Cell<'c> {
    let By::Score(name) = by else { return Cell::of(Value::Missing) };
    let (Some(place), Some(scores)) = (corpus.catalogue.place(n), corpus.catalogue.facts.scores(name)) else {
        return Cell::of(Value::Missing);
    };
    let value = corpus.catalogue.facts.score(place, name);
    if !value.is_finite() {
        return Cell::of(Value::Missing);
    }
    let number = figures::signed(value, if scores.scale >= 100.0 { 1 } else { 3 });
    let bar = bars::lying(value.abs() / scores.scale, SCORE[1]);
    let shown = format!("{} {}", width::right(&number, SCORE[0]), width::left(&bar, SCORE[1]));
    Cell::of(Value::number(value)).shown(shown).styled(look::of_sign(value, corpus.red_up))
}

/// The names that a filter knows, for the sentence of a fault.
pub(super) fn listed(language: Language, features: &[Arc<str>]) -> String {
    let mut names: Vec<String> = filter::names(language).collect();
    names.extend(features.iter().map(|name| name.to_string()));
    names.join(" ")
}
