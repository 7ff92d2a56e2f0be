//! The documents behind a value, reading after reading.

use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::words::{self, Word};
use crate::{figures, look, width};
use inkstone_lab::factor::{TracedCell, TracedDocument};

pub(super) struct Documents {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) asked: Errand<Vec<TracedCell>>,
    pub(super) sheet: ListSheet,
}

impl Documents {
    /// All documents with their readings, reading after reading.
    fn all(&self) -> impl Iterator<Item = (&TracedCell, &TracedDocument)> {
        let cells = self.asked.get().map_or(&[][..], Vec::as_slice);
        cells.iter().flat_map(|cell| cell.documents.iter().map(move |document| (cell, document)))
    }

    pub(super) fn marked(&self) -> Option<(&TracedCell, &TracedDocument)> {
        self.all().nth(self.sheet.selected()?)
    }

    pub(super) fn fill(&mut self, desk: &Desk<'_>) {
        let Some(cells) = self.asked.get() else { return };
        self.sheet.fill((&self.code, cells.len()), desk.language, || {
            let of_neighbours = cells.iter().any(|cell| cell.neighbour.is_some());
            let mut columns = vec![
                number("reading", "#".to_owned(), 2),
                number("gave", words::GAVE, 8),
                number("value", words::WORTH, 7).at_least(60),
                number("weight", words::WEIGHT, 6).at_least(60),
                number("age", words::AGE, width::width(desk.say(words::AGE))).at_least(60),
                text("time", words::TIME, 11),
                text("kind", words::KIND, 4),
                text("first", words::FIRST_SHORT, 2),
                text("source", words::SOURCE, 12).at_least(110),
                text("title", words::TITLE, 0),
                text("id", Word("id", "id"), 16).on_paper(),
                text("known-at", words::KNOWN_AT, 19).on_paper(),
            ];
            if of_neighbours {
                columns.insert(1, text("neighbour", words::NEIGHBOUR, 9));
                columns.insert(2, number("share", words::SHARE, 5).at_least(60));
            }
            let row = |cell: &TracedCell, document: &TracedDocument| {
                let published = document.published_at;
                // Several readings may have taken it; this one did.
                let reading = if cells.len() > 1 { cell.reading.to_string() } else { String::new() };
                let mut row = vec![
                    Cell::count(Some(cell.reading as u64)).shown(reading),
                    Cell::number(document.contribution, |gave| figures::signed(gave, 4)),
                    Cell::number(document.value, |value| figures::number(value, 3)),
                    Cell::number(document.weight, |weight| figures::number(weight, 3)),
                    Cell::count(Some(document.age as u64)),
                    Cell::of(Value::Time(published)).shown(published.format("%m-%d %H:%M").to_string()),
                    Cell::text(desk.say(words::kind(document.kind))),
                    Cell::text(desk.say(if document.first { words::FIRST_SHORT } else { words::REPEAT })),
                    Cell::text(document.source.clone()),
                    Cell::text(document.heading().to_owned()),
                    Cell::text(document.doc_id.clone()),
                    Cell::of(Value::Time(document.known_at)),
                ];
                let neighbour = cell.neighbour.as_ref();
                if of_neighbours {
                    let heading = neighbour.map(|n| if n.name.is_empty() { &n.code } else { &n.name });
                    row.insert(1, Cell::text(heading.cloned().unwrap_or_default()));
                    let share = neighbour.map_or(1.0, |neighbour| neighbour.share);
                    row.insert(2, Cell::number(share, |share| figures::number(share, 2)));
                }
                let code = neighbour.map_or(self.code.as_str(), |neighbour| &neighbour.code);
                let style = look::of_sign(document.contribution, desk.workspace.red_up);
                SheetRow { key: format!("{} {code} {}", cell.reading, document.doc_id), style, cells: row }
            };
            let all = cells.iter().flat_map(|cell| cell.documents.iter().map(move |document| (cell, document)));
            (columns, all.map(|(cell, document)| row(cell, document)).collect())
        });
    }

    pub(super) fn title(&self, context: &PageContext<'_>) -> String {
        let place = self.sheet.place(context.say(words::DOCUMENTS));
        format!(" {} · {place} ", self.code)
    }
}
