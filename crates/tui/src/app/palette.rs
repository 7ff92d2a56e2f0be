//! Choosing: a line of the palette, or whatever the mouse was pressed on.

use std::cell::RefCell;

use ratatui::layout::Position;

use super::{App, Dialog};
use crate::action::Action;
use crate::commands::{COMMANDS, PaletteEntry, PalettePlaces, leads_there};
use crate::desk::Desk;
use crate::page::Page;
use crate::{view, words};

impl App {
    /// The places that the palette leads to.
    pub(super) fn places(&self) -> PalettePlaces<'_> {
        PalettePlaces {
            factors: &self.workspace.factors,
            has_documents: self.corpus.has_documents(),
            has_stocks: self.workspace.stock.is_some(),
        }
    }

    /// Does the command that is marked in the palette, on the page that has it, or goes to the place that is marked.
    pub(super) fn choose(&mut self) {
        let Some(Dialog::Palette(palette)) = self.dialog.take() else { return };
        let Some(entry) = palette.marked() else { return };
        let (orders, standing) = (RefCell::new(Vec::new()), self.standing());
        let desk = Desk::new(&self.workspace, self.language, &self.events, standing, &orders);
        let command = match entry {
            PaletteEntry::Command(at) => &COMMANDS[*at],
            PaletteEntry::Line(line) => return self.act(Action::Line(*line)),
            PaletteEntry::Factor(number) => {
                self.page = Page::Factor;
                return self.factor.select(*number, &desk);
            }
            PaletteEntry::Documents(text) => {
                self.page = Page::Corpus;
                return self.corpus.filter_by(text, &desk);
            }
            PaletteEntry::Stocks(text) => {
                self.stock.find(text, self.page);
                return self.page = Page::Stock;
            }
        };
        if !command.pages.contains(&self.page) {
            self.page = leads_there(command).unwrap_or(self.page);
            self.arrange();
        }
        if self.can(command) {
            self.act(command.action);
        } else {
            self.notice = Some(format!("{}: {}", self.say(words::NOT_NOW), self.say(command.help)));
        }
    }

    pub(super) fn click(&mut self, at: Position) {
        if let Some(dialog) = &mut self.dialog {
            let marked = view::palette_line(self.size, at);
            match (dialog, marked) {
                (Dialog::Palette(palette), Some(row)) => {
                    if let Some(line) = palette.cursor.line_at(row, palette.found.len()) {
                        palette.cursor.at = line;
                        self.choose();
                    }
                }
                (Dialog::Palette(_) | Dialog::Help(_), None) => self.dialog = None,
                _ => {}
            }
            return;
        }
        let area = view::page_area(self.size);
        if area.contains(at) {
            self.with(self.page, |page, desk| page.click(at, area, desk));
        } else if at.y < area.y {
            self.page = view::tab_at(self, at.x).unwrap_or(self.page);
        } else if at.y + 1 == self.size.height
            && let Some(action) = view::key_at(self, at.x)
        {
            self.act(action);
        }
    }
}
