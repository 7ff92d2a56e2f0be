//! The palette: every command by its name, found by a few letters of it, in Chinese, English or pinyin.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::{Action, COMMANDS, Command};
use crate::field::Field;
use crate::list::Cursor;
use crate::page::Page;
use crate::pinyin;

/// The text typed, and the commands found by it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    pub field: Field,
    /// Places in the table, the best first.
    pub found: Vec<usize>,
    pub cursor: Cursor,
}

impl Palette {
    /// All commands that a page leads to. `can` is true for a command that the page can do now.
    pub(crate) fn open(page: Page, can: impl Fn(&Command) -> bool) -> Palette {
        let mut palette = Palette::default();
        palette.search(page, can);
        palette
    }

    pub(crate) fn search(&mut self, page: Page, can: impl Fn(&Command) -> bool) {
        let typed = self.field.text().trim();
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::new(typed, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (at, command) in COMMANDS.iter().enumerate() {
            if !is_listed(command) || !(command.pages.contains(&page) || leads_there(command).is_some()) {
                continue;
            }
            // Actions of this page stand before those that lead elsewhere.
            let here = command.pages.contains(&page) && can(command);
            let names = [command.name.0, command.name.1, command.help.0, command.help.1, command.id];
            let mut buffer = Vec::new();
            let letters = names.iter().filter_map(|name| pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher));
            let sounds = pinyin::matches(command.name.0, typed).then_some(120);
            if let Some(score) = letters.chain(sounds).max() {
                found.push((score * 2 + u32::from(here), at));
            }
        }
        found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.found = found.into_iter().map(|found| found.1).collect();
        self.cursor = Cursor::default();
    }

    pub(crate) fn marked(&self) -> Option<&'static Command> {
        COMMANDS.get(*self.found.get(self.cursor.at)?)
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
