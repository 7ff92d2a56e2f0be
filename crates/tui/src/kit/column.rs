//! The description of a table: its columns, and the cells of its rows.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDateTime;
use ratatui::style::Style;

use super::layout::WIDE;
use crate::page::exact;
use crate::words::Word;
use crate::{figures, width};
use inkstone_base::language::Language;

/// The title of a column, with the unit.
#[derive(Clone, Debug)]
pub(crate) enum Title {
    Word(Word),
    /// A name that is the same in both languages, such as that of a feature.
    Name(Arc<str>),
}

impl From<Word> for Title {
    fn from(word: Word) -> Title {
        Title::Word(word)
    }
}

impl From<String> for Title {
    fn from(name: String) -> Title {
        Title::Name(name.into())
    }
}

impl Title {
    pub(crate) fn to(&self, language: Language) -> &str {
        match self {
            Title::Word(word) => word.to(language),
            Title::Name(name) => name,
        }
    }
}

/// The value of a cell, by which rows are sorted and counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Missing,
    Number(f64),
    Time(NaiveDateTime),
    Text(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// A text; an empty one is missing.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Value<'a> {
        let text = text.into();
        if text.is_empty() { Value::Missing } else { Value::Text(text) }
    }

    /// A number; one that is not finite is missing.
    pub(crate) fn number(value: f64) -> Value<'a> {
        if value.is_finite() { Value::Number(value) } else { Value::Missing }
    }

    /// The order of two values; what is missing comes last, whichever way.
    pub(crate) fn compare(&self, other: &Value<'_>, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Value::Missing, Value::Missing) => return Ordering::Equal,
            (Value::Missing, _) => return Ordering::Greater,
            (_, Value::Missing) => return Ordering::Less,
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Time(a), Value::Time(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Number(_), _) | (Value::Time(_), Value::Text(_)) => Ordering::Less,
            _ => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }

    /// The value as it is copied: all digits of a number, all seconds of a time.
    pub(crate) fn copied(&self) -> String {
        match self {
            Value::Missing => String::new(),
            Value::Number(number) => exact(*number),
            Value::Time(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
            Value::Text(text) => text.clone().into_owned(),
        }
    }
}

/// A cell: its value, and how the screen shows it.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    pub value: Value<'a>,
    /// The text on the screen, where it is not the value itself.
    shown: Option<String>,
    /// The text that is copied, where it is not the value itself.
    copied: Option<String>,
    pub style: Option<Style>,
    /// True if of a text that is too long the end is shown.
    ends: bool,
    /// Bytes of the text on the screen that a search found, ascending.
    pub hits: Vec<Range<usize>>,
}

impl<'a> Cell<'a> {
    pub(crate) fn of(value: Value<'a>) -> Cell<'a> {
        Cell { value, shown: None, copied: None, style: None, ends: false, hits: Vec::new() }
    }

    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Cell<'a> {
        Cell::of(Value::text(text))
    }

    /// A whole number with its thousands set apart; a dash where there is none.
    pub(crate) fn count(number: Option<u64>) -> Cell<'a> {
        let value = number.map_or(Value::Missing, |number| Value::Number(number as f64));
        Cell::of(value).shown(number.map_or_else(|| "–".to_owned(), figures::count))
    }

    /// A number as `written` writes it; a dash where it is not finite.
    pub(crate) fn number(value: f64, written: impl FnOnce(f64) -> String) -> Cell<'a> {
        let shown = if value.is_finite() { written(value) } else { "–".to_owned() };
        Cell::of(Value::number(value)).shown(shown)
    }

    pub(crate) fn shown(self, text: impl Into<String>) -> Cell<'a> {
        Cell { shown: Some(text.into()), ..self }
    }

    pub(crate) fn copied(self, text: impl Into<String>) -> Cell<'a> {
        Cell { copied: Some(text.into()), ..self }
    }

    pub(crate) fn styled(self, style: Style) -> Cell<'a> {
        Cell { style: Some(style), ..self }
    }

    /// Shows the end of a text that is too long, where ends tell rows apart.
    pub(crate) fn with_end(self) -> Cell<'a> {
        Cell { ends: true, ..self }
    }

    pub(crate) fn with_hits(self, hits: Vec<Range<usize>>) -> Cell<'a> {
        Cell { hits, ..self }
    }

    /// The text in so many cells of the screen; a time without room for its minutes is a date.
    pub(super) fn on_screen(&self, cells: usize) -> String {
        match (&self.shown, &self.value) {
            (Some(shown), _) if self.ends && width::width(shown) > cells => {
                let starts = shown.char_indices().map(|(at, _)| &shown[at..]);
                let fits = starts.into_iter().find(|end| width::width(end) < cells);
                format!("…{}", fits.unwrap_or_default())
            }
            (Some(shown), _) => shown.clone(),
            (None, Value::Time(time)) => {
                time.format(if cells >= 16 { "%Y-%m-%d %H:%M" } else { "%Y-%m-%d" }).to_string()
            }
            (None, value) => value.copied(),
        }
    }

    pub(super) fn on_paper(&self) -> String {
        self.copied.clone().unwrap_or_else(|| self.value.copied())
    }
}

/// When a column is shown that the user has neither chosen nor hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    Always,
    /// Where the table has so many cells.
    From(usize),
    Never,
    /// Copied, and not on the screen.
    OnPaper,
}

type CellOf<S> = Box<dyn for<'a> Fn(&'a S, usize, Language) -> Cell<'a> + Send + Sync>;

/// A column of a table over the source `S`.
pub(crate) struct Column<S: ?Sized> {
    /// The name of the column in sessions.
    pub id: Cow<'static, str>,
    pub title: Title,
    /// Cells of the screen in a wide and in a narrow table; 0 takes what the others leave, which one column may do.
    pub(super) cells: [usize; 2],
    /// True for numbers, which are aligned to the right.
    pub(super) right: bool,
    pub(super) shows: Shows,
    /// True if the column is never copied, as a bar is not.
    pub(super) drawn_only: bool,
    pub(super) cell: CellOf<S>,
}

impl<S: ?Sized> Column<S> {
    pub(crate) fn new(
        id: impl Into<Cow<'static, str>>,
        title: Title,
        cells: usize,
        right: bool,
        cell: impl for<'a> Fn(&'a S, usize, Language) -> Cell<'a> + Send + Sync + 'static,
    ) -> Column<S> {
        Column {
            id: id.into(),
            title,
            cells: [cells; 2],
            right,
            shows: Shows::Always,
            drawn_only: false,
            cell: Box::new(cell),
        }
    }

    /// Another width where the table is narrow.
    pub(crate) fn narrow(mut self, cells: usize) -> Column<S> {
        self.cells[1] = cells;
        self
    }

    /// Shown only where the table is wide, unless chosen.
    pub(crate) fn where_wide(self) -> Column<S> {
        self.at_least(WIDE)
    }

    /// Shown only where the table has so many cells, unless chosen.
    pub(crate) fn at_least(self, cells: usize) -> Column<S> {
        Column { shows: Shows::From(cells), ..self }
    }

    /// Shown only if chosen.
    pub(crate) fn hidden(self) -> Column<S> {
        Column { shows: Shows::Never, ..self }
    }

    /// Copied, and shown only if chosen.
    pub(crate) fn on_paper(self) -> Column<S> {
        Column { shows: Shows::OnPaper, ..self }
    }

    /// Shown, and never copied.
    pub(crate) fn on_screen(self) -> Column<S> {
        Column { drawn_only: true, ..self }
    }
}
