//! Forms over the pages: settings, and the way from a file to a `[[source]]`.
//!
//! They know no configuration: a [`FormBench`] gives the keys and what is said of them, changes the text of the file, and
//! tries a source on its first rows. A text on the screen is saved only when it has no fault, and never over a file that
//! somebody else has changed meanwhile.

mod alike;
mod folder;
mod mapping;
mod mapping_view;
mod picker;
mod settings;
mod settings_view;
mod sourcing;
mod templates;
mod value;
pub(crate) mod words;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::action::Action;
use super::field::{self, Field};
use super::{Language, look, sentences, width};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_corpus::ingest::{Preview, Source};

pub(crate) use settings::{FormOutcome, SettingsForm};
pub(crate) use sourcing::Sourcing;
pub(crate) use sourcing::SourcingStep;
pub use templates::Template;
pub(crate) use templates::has_prices;

pub(crate) type ReadSheet = Arc<dyn Fn() -> Result<Sheet> + Send + Sync>;

pub(crate) type ChangeSheet = Arc<dyn Fn(&Sheet, &Change) -> Result<Sheet> + Send + Sync>;

/// Writes the text of a configuration.
pub(crate) type SaveSheet = Arc<dyn Fn(&Sheet) -> Result<Sheet> + Send + Sync>;

/// Tries a source on its first rows.
pub(crate) type TrySource = Arc<dyn Fn(&Source, &Ctx) -> Result<Preview> + Send + Sync>;

/// The functions behind the forms.
#[derive(Clone)]
pub struct FormBench {
    /// The configuration's file, which need not exist yet.
    pub file: PathBuf,
    /// The hash of the file that the workspace was made of; none if there was no file.
    pub stood: Option<Key>,
    /// The folder that paths in the configuration are relative to.
    pub folder: PathBuf,
    /// Reads the configuration; where there is none, the template.
    pub read: ReadSheet,
    /// The text after a change. Fails when the change cannot be made; a text with faults is none the less given.
    pub change: ChangeSheet,
    /// Writes the text, whole or not at all. Fails when the file is not as it was read.
    pub save: SaveSheet,
    /// Takes back the last change that was saved, and says how many more can be taken back. Fails where there is none, or when the file is
    /// not as it was saved.
    pub undo: UndoChange,
    /// The changes that were saved.
    pub history: ChangeHistory,
    pub preview: TrySource,
}

/// Takes back a change of the configuration.
pub(crate) type UndoChange = Arc<dyn Fn() -> Result<usize> + Send + Sync>;

/// The changes that this program made to a configuration, the last one last: the text before each, and the hash of the text after it.
#[derive(Clone, Default)]
pub struct ChangeHistory(Arc<Mutex<Vec<(String, Key)>>>);

impl ChangeHistory {
    fn changes(&self) -> MutexGuard<'_, Vec<(String, Key)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, before: String, after: Key) {
        self.changes().push((before, after));
    }

    pub fn pop(&self) -> Option<(String, Key)> {
        self.changes().pop()
    }

    pub fn len(&self) -> usize {
        self.changes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes on with the changes of a history that came before.
    pub(crate) fn take_over(&self, before: &ChangeHistory) {
        if !Arc::ptr_eq(&self.0, &before.0) {
            let earlier = std::mem::take(&mut *before.changes());
            self.changes().splice(0..0, earlier);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Sheet {
    pub text: String,
    /// The hash of the file that was read; none if there was no file.
    pub stood: Option<Key>,
    pub groups: Vec<SettingGroup>,
    /// Everything wrong with it.
    pub faults: Vec<SettingFault>,
}

#[derive(Clone, Debug, Default)]
pub struct SettingGroup {
    /// Path of the section: `backtest`, `source[0]`; for a table that may stand several times, its name alone.
    pub path: String,
    /// The name that it gives itself (`[[source]] name`).
    pub name: Option<String>,
    /// For a line above such sections: how many of them there are.
    pub count: Option<usize>,
    pub entries: Vec<SettingEntry>,
}

/// A key of a section.
#[derive(Clone, Debug, Default)]
pub struct SettingEntry {
    /// The key below the section.
    pub key: String,
    /// The value as it is written; none where the key is absent.
    pub value: Option<String>,
    /// The default; none if there is none.
    pub default: Option<String>,
    /// An example of what has no default.
    pub example: Option<String>,
    /// The description in Chinese (may be empty) and in English.
    pub description: [String; 2],
    /// The texts that it may be, where they are known.
    pub choices: Vec<String>,
    /// True if it is shown only with all the others: it matters to other models than the section's.
    pub aside: bool,
}

/// Something wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFault {
    /// Line of the text, from 1.
    pub line: usize,
    /// Path of the key; empty where the text cannot be read at all.
    pub path: String,
    /// The reason and the way out.
    pub message: Message,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The key at this path has this value of TOML.
    Set(String, String),
    /// The key at this path is not given.
    Unset(String),
    /// One more section of this name, as an example.
    Example(String),
    Source(Box<Source>),
    /// One more section of this name, with this text.
    Block(String, String),
    /// The section of this name and number goes.
    Remove(String, usize),
}

/// True if a fault at `fault` is one of the key or section at `path`.
fn is_below(fault: &str, path: &str) -> bool {
    fault.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Draws a field behind its name.
fn draw_field(name: &str, field: &Field, frame: &mut Frame<'_>, area: Rect) {
    field::draw(Span::styled(format!("{name} "), look::DIM), field, look::KEY, frame, area);
}

/// A text in lines of this look.
fn in_lines(text: &str, cells: usize, style: Style) -> Vec<Line<'static>> {
    sentences::lines(text, cells).into_iter().map(|line| Line::styled(line, style)).collect()
}

/// Draws a line of keys and what they do, as many as there is room for.
fn draw_keys(keys: &[(&str, Word)], language: Language, frame: &mut Frame<'_>, area: Rect) {
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (key, word) in keys {
        let name = word.to(language);
        let wide = width::width(key) + width::width(name) + 3;
        if used + wide > usize::from(area.width) {
            break;
        }
        used += wide;
        spans.extend([Span::styled(*key, look::KEY), Span::raw(format!(" {name}  "))]);
    }
    frame.render_widget(Line::from(spans), area);
}

/// The movement that a key asks for in a list of a form.
fn motion(key: KeyCode) -> Option<Action> {
    Some(match key {
        KeyCode::Down | KeyCode::Char('j') => Action::Down,
        KeyCode::Up | KeyCode::Char('k') => Action::Up,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
        _ => return None,
    })
}

/// Lines that a page key moves by in a list of a form.
const PAGE: usize = 10;
