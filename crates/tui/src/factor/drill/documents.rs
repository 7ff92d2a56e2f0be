//! The documents behind a value, reading after reading.

use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::list::Cursor;
use crate::page::{Table, exact};
use crate::words::{self, Word};
use inkstone_lab::factor::{TracedCell, TracedDocument};

pub(super) struct Documents {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) asked: Errand<Vec<TracedCell>>,
    pub(super) cursor: Cursor,
}

impl Documents {
    pub(super) fn new(code: String, name: String, asked: Errand<Vec<TracedCell>>) -> Documents {
        Documents { code, name, asked, cursor: Cursor::default() }
    }

    /// All documents with their readings, in the order of the list.
    pub(super) fn all(&self) -> impl Iterator<Item = (&TracedCell, &TracedDocument)> {
        let cells = self.asked.get().map_or(&[][..], Vec::as_slice);
        cells.iter().flat_map(|cell| cell.documents.iter().map(move |document| (cell, document)))
    }

    pub(super) fn marked(&self) -> Option<(&TracedCell, &TracedDocument)> {
        self.all().nth(self.cursor.at)
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        let count = self.all().count();
        self.cursor.step(action, count, rows);
    }

    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        self.asked.get()?;
        let header = [
            Word("id", "id"),
            words::READING_OF,
            words::GAVE,
            words::WORTH,
            words::WEIGHT,
            words::AGE,
            words::TIME,
            words::KNOWN_AT,
            words::KIND,
            words::FIRST_SHORT,
            words::SOURCE,
            words::TITLE,
        ];
        let row = |(cell, document): (&TracedCell, &TracedDocument)| {
            vec![
                document.doc_id.clone(),
                cell.reading.to_string(),
                exact(document.contribution),
                exact(document.value),
                exact(document.weight),
                document.age.to_string(),
                document.published_at.to_string(),
                document.known_at.to_string(),
                desk.say(words::kind(document.kind)).to_owned(),
                document.first.to_string(),
                document.source.clone(),
                document.title.clone(),
            ]
        };
        Some(Table::new(desk.language, &header, self.all().map(row).collect()))
    }
}
