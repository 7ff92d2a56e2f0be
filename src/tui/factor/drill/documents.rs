//! The documents behind a value, reading after reading.

use super::Asked;
use crate::factor::{TracedCell, TracedDocument};
use crate::tui::commands::Action;
use crate::tui::list::Cursor;

/// The list.
pub(super) struct Documents {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) asked: Asked<Vec<TracedCell>>,
    pub(super) cursor: Cursor,
}

impl Documents {
    pub(super) fn of(code: String, name: String, asked: Asked<Vec<TracedCell>>) -> Documents {
        Documents { code, name, asked, cursor: Cursor::default() }
    }

    /// All documents with their readings, in the order of the list.
    pub(super) fn all(&self) -> impl Iterator<Item = (&TracedCell, &TracedDocument)> {
        let cells = self.asked.get().map_or(&[][..], Vec::as_slice);
        cells.iter().flat_map(|cell| cell.documents.iter().map(move |document| (cell, document)))
    }

    /// The document at the cursor.
    pub(super) fn marked(&self) -> Option<(&TracedCell, &TracedDocument)> {
        self.all().nth(self.cursor.at)
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        let count = self.all().count();
        self.cursor.step(action, count, rows);
    }

    pub(super) fn arrange(&mut self, rows: usize) {
        let count = self.all().count();
        self.cursor.arrange(count, rows);
    }
}
