//! A table that owns its rows. Their cells are made when the source has come, and again when what they depend on has changed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use rustc_hash::FxBuildHasher;
use serde_json::{Value as Json, json};

use super::column::{Cell, Column, Title, Value};
use super::count::{Counting, Group};
use super::head::{Step, TableHead};
use super::layout::TableRow;
use super::overlay::{Content, Overlay};
use super::summary::Summary;
use super::words as w;
use crate::action::Action;
use crate::list::{self, Cursor};
use crate::page::Table;
use crate::{Language, figures, look};

/// Marked rows that a session remembers.
const REMEMBERED: usize = 5000;

pub(crate) struct SheetRow {
    /// The name by which a session knows a marked row.
    pub key: String,
    pub style: Style,
    /// A cell for each column.
    pub cells: Vec<Cell<'static>>,
}

pub(crate) type SheetColumn = Column<[SheetRow]>;

/// A column of texts of a sheet; its cells stand in the rows, in the order of the columns.
pub(crate) fn text(id: impl Into<Cow<'static, str>>, title: impl Into<Title>, cells: usize) -> SheetColumn {
    Column::new(id, title.into(), cells, false, |_, _, _| Cell::text(""))
}

/// A column of numbers of a sheet.
pub(crate) fn number(id: impl Into<Cow<'static, str>>, title: impl Into<Title>, cells: usize) -> SheetColumn {
    Column::new(id, title.into(), cells, true, |_, _, _| Cell::text(""))
}

pub(crate) struct ListSheet {
    head: TableHead,
    cursor: Cursor,
    columns: Vec<SheetColumn>,
    rows: Vec<SheetRow>,
    /// Hash of what the rows were made of.
    made_of: Option<u64>,
    /// The language in which the rows were made.
    language: Language,
    /// The area of the table, its line of titles included, as it was last arranged.
    area: Rect,
    /// Rows in the order in which they are listed.
    listed: Vec<usize>,
    marks: BTreeSet<String>,
    only_marked: bool,
    /// The rows that alone are listed: a column, and a group of its values.
    only: Option<(String, Group)>,
}

impl Default for ListSheet {
    fn default() -> ListSheet {
        ListSheet::with(TableHead::default())
    }
}

impl ListSheet {
    fn with(head: TableHead) -> ListSheet {
        ListSheet {
            head,
            cursor: Cursor::default(),
            columns: Vec::new(),
            rows: Vec::new(),
            made_of: None,
            language: Language::Zh,
            area: Rect::default(),
            listed: Vec::new(),
            marks: BTreeSet::new(),
            only_marked: false,
            only: None,
        }
    }

    pub(crate) fn sorted_by(column: &str, descending: bool) -> ListSheet {
        ListSheet::with(TableHead::sorted_by(column, descending))
    }

    /// Makes columns and rows anew if `source`, which holds all that they depend on, has changed. The cursor stays on its row.
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
        let selected = self.selected_key().map(str::to_owned);
        (self.made_of, self.language) = (source, language);
        (self.columns, self.rows) = make();
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.cell =
                Box::new(move |rows, row, _| rows[row].cells.get(at).cloned().unwrap_or_else(|| Cell::text("")));
        }
        self.list();
        if let Some(key) = selected {
            self.go_to(&key);
        }
    }

    /// Has the rows made anew when they are filled in next: their source has come again.
    pub(crate) fn renew(&mut self) {
        self.made_of = None;
    }

    /// Forgets the rows, and keeps the order and the columns that the user chose.
    pub(crate) fn empty(&mut self) {
        (self.rows, self.listed, self.made_of, self.cursor) = (Vec::new(), Vec::new(), None, Cursor::default());
    }

    /// The place of a column among the cells of a row.
    fn column(&self, id: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    fn value(&self, row: usize, column: usize) -> &Value<'static> {
        self.rows[row].cells.get(column).map_or(&Value::Missing, |cell| &cell.value)
    }

    /// Lists the rows anew; the cursor stays on its row.
    fn list(&mut self) {
        let selected = self.selected();
        let only = self.only.as_ref().and_then(|(id, group)| Some((self.column(id)?, group)));
        let is_listed = |row: &usize| {
            let marked = !self.only_marked || self.marks.contains(&self.rows[*row].key);
            marked && only.is_none_or(|(column, group)| group.holds(self.value(*row, column)))
        };
        let mut listed: Vec<usize> = (0..self.rows.len()).filter(is_listed).collect();
        let sort = self.head.layout.sort.as_ref();
        if let Some((sort, column)) = sort.and_then(|sort| Some((sort, self.column(&sort.column)?))) {
            listed.sort_by(|a, b| self.value(*a, column).compare(self.value(*b, column), sort.descending));
        }
        let line = listed.iter().position(|row| Some(*row) == selected);
        self.cursor.at = line.unwrap_or(self.cursor.at).min(listed.len().saturating_sub(1));
        self.listed = listed;
    }

    /// The row at the cursor, by its place among the rows as they were made.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.listed.get(self.cursor.at).copied()
    }

    /// The key of the row at the cursor.
    pub(crate) fn selected_key(&self) -> Option<&str> {
        self.selected().map(|row| &*self.rows[row].key)
    }

    /// Rows in the order in which they are listed.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &SheetRow> {
        self.listed.iter().map(|row| &self.rows[*row])
    }

    /// The line of the cursor among those that are listed, from 0.
    pub(crate) fn line(&self) -> usize {
        self.cursor.at
    }

    /// The number of rows that are listed.
    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// Puts the cursor on the row of this key; false where it is not listed.
    pub(crate) fn go_to(&mut self, key: &str) -> bool {
        let is_there = self.selected_key() == Some(key);
        let line = self.listed.iter().position(|row| self.rows[*row].key == key).filter(|_| !is_there);
        self.cursor.at = line.unwrap_or(self.cursor.at);
        is_there || line.is_some()
    }

    /// The line of the cursor and the number of lines, and what narrows the list: `3 / 160 个日期 · 标记 2`.
    pub(crate) fn place(&self, unit: &str) -> String {
        let count = |n: usize| figures::count(n as u64);
        let (at, all) = ((self.line() + 1).min(self.len()), self.len());
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{} / {}{unit}{}", count(at), count(all), self.about())
    }

    /// The group and the marks that narrow the list, for the title of the pane: ` · 仅 原因 = 空标题 · 标记 3`.
    pub(crate) fn about(&self) -> String {
        let mut text = String::new();
        if let Some((id, group)) = &self.only {
            let title = self.column(id).map_or("", |at| self.columns[at].title.to(self.language));
            text += &format!(" · {} {title} = {}", w::ONLY.to(self.language), group.label(self.language));
        }
        if !self.marks.is_empty() {
            let word = if self.only_marked { w::ONLY_MARKED } else { w::MARKED };
            text += &format!(" · {} {}", word.to(self.language), self.marks.len());
        }
        text
    }

    /// The title of the column by which rows are sorted, with its direction.
    pub(crate) fn order(&self) -> Option<String> {
        let sort = self.head.layout.sort.as_ref()?;
        let column = &self.columns[self.column(&sort.column)?];
        Some(format!("{}{}", column.title.to(self.language), sort.sign()))
    }

    /// Sorts by the column after that of the present order among these, the greatest first; the cursor goes to the first line.
    pub(crate) fn sort_by_next(&mut self, columns: &[&str]) {
        let layout = &mut self.head.layout;
        let now = layout.sort.as_ref().and_then(|sort| columns.iter().position(|id| *id == sort.column));
        let next = columns[now.map_or(0, |at| (at + 1) % columns.len())];
        layout.sort = None;
        if let Some(column) = self.columns.iter().find(|column| column.id == next) {
            layout.sort_by(column);
            layout.sort.iter_mut().for_each(|sort| sort.descending = true);
        }
        self.list();
        self.cursor = Cursor::default();
    }

    /// True if something lies over the table, or only some of its rows are listed: Back leads out of it.
    pub(crate) fn is_open(&self) -> bool {
        self.head.over.is_some() || self.only.is_some() || self.only_marked
    }

    fn has_gutter(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Does an action of tables; false if it is no action of tables, or cannot be done now.
    pub(crate) fn act(&mut self, action: Action) -> bool {
        match self.head.act(action, &self.columns, self.has_gutter(), self.language, self.area) {
            Step::Done => return true,
            Step::Sort => self.list(),
            Step::Only(column, group) => {
                (self.only, self.head.over) = (Some((column, group)), None);
                self.list();
            }
            Step::Count(column, frequencies) => self.count(&column, frequencies),
            Step::Passed => match action {
                Action::MarkRow => {
                    if let Some(row) = self.selected() {
                        let key = &self.rows[row].key;
                        if !self.marks.remove(key) {
                            self.marks.insert(key.clone());
                        }
                        self.cursor.step(Action::Down, self.len(), 1);
                    }
                }
                Action::OnlyMarked => {
                    self.only_marked = !self.only_marked && !self.marks.is_empty();
                    self.list();
                }
                Action::Back if self.only.is_some() || self.only_marked => {
                    (self.only, self.only_marked) = (None, false);
                    self.list();
                }
                _ if action.is_move() => self.cursor.step(action, self.len(), list::rows(self.area).max(1)),
                _ => return false,
            },
        }
        true
    }

    /// Shows the frequencies of a column over the table, or its summary.
    fn count(&mut self, id: &str, frequencies: bool) {
        let Some(column) = self.column(id) else { return };
        let values = self.listed.iter().map(|row| self.value(*row, column).clone());
        let (id, title) = (id.to_owned(), self.columns[column].title.clone());
        self.head.over = Some(Overlay::new(if frequencies {
            let mut counting = Counting::default();
            values.for_each(|value| counting.row([value]));
            Content::Frequencies { column: id, title, found: counting.end() }
        } else {
            Content::Summary { column: id, title, found: Summary::of(values.map(|value| vec![value])) }
        }));
    }

    /// Puts the cursor into sight. Actions and clicks are about the table in this area from now on.
    pub(crate) fn arrange(&mut self, area: Rect) {
        self.area = area;
        self.cursor.arrange(self.len(), list::rows(area));
        self.head.arrange(&self.columns, self.language, area);
    }

    /// The mouse was pressed: on a title it sorts, on a line it moves the cursor; true on a line.
    pub(crate) fn click(&mut self, at: Position) -> bool {
        match self.head.click(at, &self.columns, self.has_gutter(), self.language, self.area) {
            Step::Passed => return self.cursor.click(at, self.area, self.listed.len()),
            Step::Sort => self.list(),
            _ => {}
        }
        false
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        if self.head.draw_over(&self.columns, self.language, frame, area) {
            return;
        }
        if self.listed.is_empty() && !self.rows.is_empty() {
            let text = w::NOTHING_LISTED.to(self.language);
            return frame.render_widget(Line::styled(text, look::DIM), area);
        }
        let line = |line: usize| {
            let SheetRow { key, style, .. } = &self.rows[self.listed[line]];
            TableRow::Cells { row: self.listed[line], style: *style, marked: self.marks.contains(key) }
        };
        let state = (self.cursor, self.len(), self.has_gutter());
        self.head.layout.draw(&self.columns, &*self.rows, self.language, state, line, frame, area);
    }

    /// All rows of the table as they are copied, or what was counted of a column while that is shown.
    pub(crate) fn copied(&self) -> Table {
        if let Some(counted) = self.head.over.as_ref().and_then(|over| over.copied(self.language)) {
            return counted;
        }
        self.head.layout.copied(&self.columns, &*self.rows, self.language, self.listed.iter().copied())
    }

    pub(crate) fn remember(&self) -> Json {
        json!({"columns": self.head.layout.remember(), "marks": self.marks.iter().take(REMEMBERED).collect::<Vec<_>>()})
    }

    pub(crate) fn recall(&mut self, memory: &Json) {
        self.head.layout.recall(&memory["columns"]);
        self.marks = serde_json::from_value(memory["marks"].clone()).unwrap_or_default();
    }
}
