//! A table that owns its rows. Their cells are made when the source has come, and again when what they depend on has changed.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use rustc_hash::FxBuildHasher;
use serde_json::Value as Json;

use super::column::{Cell, Column, TableKind, Title};
use super::view::TableView;
use crate::action::Action;
use crate::page::Table;
use crate::{Language, figures};

pub(crate) struct SheetRow {
    /// The name by which a session knows a marked row.
    pub key: String,
    pub style: Style,
    /// A cell for each column.
    pub cells: Vec<Cell<'static>>,
}

type SheetColumn = Column<[SheetRow]>;

/// A column of texts of a sheet; its cells stand in the rows, in the order of the columns.
pub(crate) fn text(id: impl Into<Cow<'static, str>>, title: impl Into<Title>, cells: usize) -> SheetColumn {
    Column::new(id, title.into(), cells, false, |_, _, _| Cell::text(""))
}

/// A column of numbers of a sheet.
pub(crate) fn number(id: impl Into<Cow<'static, str>>, title: impl Into<Title>, cells: usize) -> SheetColumn {
    Column::new(id, title.into(), cells, true, |_, _, _| Cell::text(""))
}

pub(crate) struct ListSheet {
    view: TableView,
    kind: TableKind<[SheetRow]>,
    rows: Vec<SheetRow>,
    /// Hash of what the rows were made of.
    made_of: Option<u64>,
}

impl Default for ListSheet {
    fn default() -> ListSheet {
        ListSheet::new(TableView::default())
    }
}

impl ListSheet {
    fn new(view: TableView) -> ListSheet {
        ListSheet {
            view,
            kind: TableKind { columns: Vec::new(), key: |rows, row| rows[row].key.clone() },
            rows: Vec::new(),
            made_of: None,
        }
    }

    pub(crate) fn sorted_by(column: &str, descending: bool) -> ListSheet {
        ListSheet::new(TableView::sorted_by(column, descending))
    }

    /// Makes columns and rows anew if `source`, which holds all that they depend on, has changed.
    pub(crate) fn fill(
        &mut self,
        source: impl Hash,
        language: Language,
        make: impl FnOnce() -> (Vec<SheetColumn>, Vec<SheetRow>),
    ) {
        let source = Some(FxBuildHasher.hash_one((source, language == Language::Zh)));
        if self.made_of == source {
            return;
        }
        self.made_of = source;
        let (mut columns, rows) = make();
        for (at, column) in columns.iter_mut().enumerate() {
            column.cell =
                Box::new(move |rows, row, _| rows[row].cells.get(at).cloned().unwrap_or_else(|| Cell::text("")));
        }
        (self.kind.columns, self.rows) = (columns, rows);
        self.view.list(&self.kind, &self.rows, (0..self.rows.len()).collect(), language);
    }

    /// Forgets the rows, and keeps the order and the columns that the user chose.
    pub(crate) fn empty(&mut self) {
        (self.rows, self.made_of, self.view.cursor) = (Vec::new(), None, Default::default());
        self.view.list(&self.kind, &self.rows, Vec::new(), Language::En);
    }

    /// The row at the cursor, by its place among the rows as they were made.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.view.selected()
    }

    /// Rows in the order in which they are listed.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &SheetRow> {
        self.view.rows().iter().map(|row| &self.rows[*row])
    }

    /// The line of the cursor among those that are listed, from 0.
    pub(crate) fn line(&self) -> usize {
        self.view.cursor.at
    }

    /// Puts the cursor on the row of this key; false where it is not listed.
    pub(crate) fn go_to(&mut self, key: &str) -> bool {
        self.rows.iter().position(|row| row.key == key).is_some_and(|row| self.view.go_to(row))
    }

    /// The line of the cursor and the number of lines, and what narrows the list: `3 / 160 个日期 · 标记 2`.
    pub(crate) fn place(&self, unit: &str, language: Language) -> String {
        let count = |n: usize| figures::count(n as u64);
        let (at, all) = ((self.line() + 1).min(self.view.len()), self.view.len());
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{} / {}{unit}{}", count(at), count(all), self.view.about(&self.kind, language))
    }

    /// The title of the column by which rows are sorted, with its direction.
    pub(crate) fn order(&self, language: Language) -> Option<String> {
        let sort = self.view.layout.sort.as_ref()?;
        let column = self.kind.columns.iter().find(|column| column.id == sort.column)?;
        Some(format!("{}{}", column.title.to(language), sort.sign()))
    }

    /// Sorts by the column after that of the present order among these, the greatest first; the cursor goes to the first line.
    pub(crate) fn sort_by_next(&mut self, columns: &[&str], language: Language) {
        let now = self.view.layout.sort.as_ref().and_then(|sort| columns.iter().position(|id| *id == sort.column));
        let next = columns[now.map_or(0, |at| (at + 1) % columns.len())];
        self.view.layout.sort = None;
        if let Some(column) = self.kind.columns.iter().find(|column| column.id == next) {
            self.view.layout.sort_by(column);
            self.view.layout.sort.iter_mut().for_each(|sort| sort.descending = true);
        }
        self.view.list(&self.kind, &self.rows, (0..self.rows.len()).collect(), language);
        self.view.cursor = Default::default();
    }

    /// True if something lies over the table, or only some of its rows are listed: Back leads out of it.
    pub(crate) fn is_open(&self) -> bool {
        self.view.is_open()
    }

    /// Does an action of tables; false if it is no action of tables, or cannot be done now.
    pub(crate) fn act(&mut self, action: Action, language: Language, area: Rect) -> bool {
        self.view.act(action, &self.kind, &self.rows, language, area)
    }

    pub(crate) fn arrange(&mut self, language: Language, area: Rect) {
        self.view.arrange(&self.kind, language, area);
    }

    pub(crate) fn click(&mut self, at: Position, language: Language, area: Rect) -> bool {
        self.view.click(at, &self.kind, &self.rows, language, area)
    }

    pub(crate) fn draw(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        self.view.draw(&self.kind, &self.rows, language, |row| self.rows[row].style, frame, area);
    }

    pub(crate) fn copied(&self, language: Language) -> Table {
        self.view.copied(&self.kind, &self.rows, language)
    }

    pub(crate) fn remember(&self) -> Json {
        self.view.remember()
    }

    pub(crate) fn recall(&mut self, memory: &Json) {
        self.view.recall(memory);
    }
}
