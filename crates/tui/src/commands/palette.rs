//! The palette: every command by its name, and places to go to, found by a few letters, in Chinese, English or pinyin.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Action, COMMANDS, Command};
use crate::field::Field;
use crate::list::Cursor;
use crate::page::Page;
use crate::pinyin;

/// The text typed, and what was found by it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    pub field: Field,
    /// The best first.
    pub found: Vec<PaletteEntry>,
    pub cursor: Cursor,
}

/// A line of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PaletteEntry {
    /// A command, by its place in the table.
    Command(usize),
    /// The line of this number, from 1, of the list that is shown.
    Line(usize),
    /// The factor of this number.
    Factor(usize),
    /// The documents that a filter of page 1 lets through.
    Documents(String),
    /// The stocks of this code, name or pinyin initials.
    Stocks(String),
}

/// The places that the palette leads to.
pub(crate) struct PalettePlaces<'a> {
    pub(crate) factors: &'a [String],
    pub(crate) has_documents: bool,
    pub(crate) has_stocks: bool,
}

impl Palette {
    /// All commands that a page leads to. `can` is true for a command that the page can do now.
    pub(crate) fn open(page: Page, places: &PalettePlaces<'_>, can: impl Fn(&Command) -> bool) -> Palette {
        let mut palette = Palette::default();
        palette.search(page, places, can);
        palette
    }

    pub(crate) fn search(&mut self, page: Page, places: &PalettePlaces<'_>, can: impl Fn(&Command) -> bool) {
        let typed = self.field.text().trim();
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::new(typed, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
        let mut found: Vec<(u32, PaletteEntry)> = Vec::new();
        if let Some(line) = typed.parse().ok().filter(|line| *line > 0) {
            found.push((u32::MAX, PaletteEntry::Line(line)));
        }
        let mut buffer = Vec::new();
        for (number, name) in places.factors.iter().enumerate().filter(|_| !typed.is_empty()) {
            let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher);
            found.extend(score.map(|score| (score * 2 + 1, PaletteEntry::Factor(number))));
        }
        for (at, command) in COMMANDS.iter().enumerate() {
            if !is_listed(command) || !(command.pages.contains(&page) || leads_there(command).is_some()) {
                continue;
            }
            // Actions of this page stand before those that lead elsewhere.
            let here = command.pages.contains(&page) && can(command);
            let names = [command.name.0, command.name.1, command.help.0, command.help.1, command.id];
            let letters = names.iter().filter_map(|name| pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher));
            let sounds = pinyin::matches(command.name.0, typed).then_some(120);
            if let Some(score) = letters.chain(sounds).max() {
                found.push((score * 2 + u32::from(here), PaletteEntry::Command(at)));
            }
        }
        // The order of the table, and of the factors before it, where several are as good.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        self.found = found.into_iter().map(|found| found.1).collect();
        if places.has_documents && !typed.is_empty() {
            self.found.push(PaletteEntry::Documents(typed.to_owned()));
        }
        if places.has_stocks && !typed.is_empty() {
            self.found.push(PaletteEntry::Stocks(typed.to_owned()));
        }
        self.cursor = Cursor::default();
    }

    pub(crate) fn marked(&self) -> Option<&PaletteEntry> {
        self.found.get(self.cursor.at)
    }
}

/// Moving about needs no palette.
fn is_listed(command: &Command) -> bool {
    !matches!(
        command.action,
        Action::Down
            | Action::Up
            | Action::PageDown
            | Action::PageUp
            | Action::HalfDown
            | Action::HalfUp
            | Action::First
            | Action::Last
            | Action::Left
            | Action::Right
            | Action::Palette
    )
}

/// The page of a command that one page alone has.
pub(crate) fn leads_there(command: &Command) -> Option<Page> {
    match command.pages {
        [page] => Some(*page),
        _ => None,
    }
}
