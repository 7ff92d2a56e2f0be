//! A table over a list in memory: its rows, the cursor, marked rows, and a group of rows that alone is listed.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use serde_json::{Value as Json, json};

use super::column::TableKind;
use super::count::{Counting, Group};
use super::layout::{TableLayout, TableRow};
use super::overlay::{Answer, Content, Overlay};
use super::summary::Summary;
use super::words as w;
use crate::action::Action;
use crate::list::{self, Cursor};
use crate::page::Table;
use crate::{Language, look};

/// Marked rows that a session remembers.
const REMEMBERED: usize = 5000;

#[derive(Default)]
pub(crate) struct TableView {
    pub layout: TableLayout,
    pub cursor: Cursor,
    /// Rows that the page lists, in its own order.
    base: Vec<usize>,
    /// Rows of the source in the order of the table.
    rows: Vec<usize>,
    marks: BTreeSet<String>,
    only_marked: bool,
    /// The rows that alone are listed: a column, and a group of its values.
    only: Option<(String, Group)>,
    over: Option<Overlay>,
}

impl TableView {
    pub(crate) fn sorted_by(column: &str, descending: bool) -> TableView {
        TableView { layout: TableLayout::sorted_by(column, descending), ..TableView::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Rows of the source in the order in which they are listed.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The row at the cursor.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.rows.get(self.cursor.at).copied()
    }

    /// Puts the cursor on a row; false where it is not listed.
    pub(crate) fn go_to(&mut self, row: usize) -> bool {
        let line = self.rows.iter().position(|other| *other == row);
        self.cursor.at = line.unwrap_or(self.cursor.at);
        line.is_some()
    }

    /// True if something lies over the table, or only some of its rows are listed: Back leads out of it.
    pub(crate) fn is_open(&self) -> bool {
        self.over.is_some() || self.only.is_some() || self.only_marked
    }

    /// Lists these rows of the source.
    pub(crate) fn list<S: ?Sized>(&mut self, kind: &TableKind<S>, source: &S, base: Vec<usize>, language: Language) {
        self.base = base;
        self.list_anew(kind, source, language);
    }

    /// Lists the rows of the page anew; the cursor stays on its row.
    fn list_anew<S: ?Sized>(&mut self, kind: &TableKind<S>, source: &S, language: Language) {
        let selected = self.selected();
        let cell = |id: &str, row: usize| {
            let column = kind.columns.iter().find(|column| column.id == id)?;
            Some((column.cell)(source, row, language).value)
        };
        let listed = |row: &usize| {
            let group = |(id, group): &(String, Group)| cell(id, *row).is_none_or(|value| group.holds(&value));
            let marked = !self.only_marked || self.marks.contains(&(kind.key)(source, *row));
            marked && self.only.as_ref().is_none_or(group)
        };
        let mut rows: Vec<usize> = self.base.iter().copied().filter(listed).collect();
        let sort = self.layout.sort.as_ref();
        if let Some(sort) = sort.filter(|sort| kind.columns.iter().any(|column| column.id == sort.column)) {
            rows.sort_by_cached_key(|row| SortKey(cell(&sort.column, *row), sort.descending));
        }
        self.rows = rows;
        if let Some(row) = selected {
            self.go_to(row);
        }
        self.cursor.at = self.cursor.at.min(self.rows.len().saturating_sub(1));
    }

    /// Does an action of tables; false where it is none, or not one of this moment.
    pub(crate) fn act<S: ?Sized>(
        &mut self,
        action: Action,
        kind: &TableKind<S>,
        source: &S,
        language: Language,
        area: Rect,
    ) -> bool {
        let (columns, total) = (&kind.columns, self.cells(area));
        if let Some(over) = &mut self.over {
            match over.act(action, columns, &mut self.layout, language, area) {
                Answer::Passed => {}
                Answer::Done => return true,
                Answer::Close => {
                    self.over = None;
                    return true;
                }
                Answer::Sort => {
                    self.list_anew(kind, source, language);
                    return true;
                }
                Answer::Only(column, group) => {
                    (self.only, self.over) = (Some((column, group)), None);
                    self.list_anew(kind, source, language);
                    return true;
                }
            }
        }
        match action {
            Action::ColumnLeft | Action::ColumnRight => {
                self.layout.step(columns, total, action == Action::ColumnRight);
            }
            Action::ChooseColumns => self.over = Some(Overlay::new(Content::Columns)),
            Action::HideColumn => {
                if let Some(column) = self.layout.marked(columns, total) {
                    self.layout.toggle(columns, column, total);
                }
            }
            Action::Frequencies | Action::Summary => {
                let counted = match self.over.take().map(|over| over.content) {
                    Some(Content::Frequencies { column, .. } | Content::Summary { column, .. }) => Some(column),
                    _ => None,
                };
                let column = columns.iter().find(|column| counted.as_deref() == Some(&*column.id));
                let Some(column) = column.or_else(|| self.layout.marked(columns, total)) else { return true };
                let values = self.rows.iter().map(|row| (column.cell)(source, *row, language).value);
                let (id, title) = (column.id.clone().into_owned(), column.title.clone());
                let content = if action == Action::Frequencies {
                    let mut counting = Counting::default();
                    values.for_each(|value| counting.row([value]));
                    Content::Frequencies { column: id, title, found: counting.end() }
                } else {
                    Content::Summary { column: id, title, found: Summary::of(values.map(|value| vec![value])) }
                };
                self.over = Some(Overlay::new(content));
            }
            Action::MarkRow => {
                if let Some(row) = self.selected() {
                    let key = (kind.key)(source, row);
                    if !self.marks.remove(&key) {
                        self.marks.insert(key);
                    }
                    self.cursor.step(Action::Down, self.len(), 1);
                }
            }
            Action::OnlyMarked => {
                self.only_marked = !self.only_marked && !self.marks.is_empty();
                self.list_anew(kind, source, language);
            }
            Action::SortTable | Action::TurnOrder => {
                match (action, self.layout.marked(columns, total)) {
                    (Action::SortTable, Some(column)) => self.layout.sort_by(column),
                    _ => self.layout.turn(),
                }
                self.list_anew(kind, source, language);
            }
            Action::Back if self.only.is_some() || self.only_marked => {
                (self.only, self.only_marked) = (None, false);
                self.list_anew(kind, source, language);
            }
            _ if action.is_move() => self.cursor.step(action, self.len(), list::rows(area).max(1)),
            _ => return false,
        }
        true
    }

    pub(crate) fn arrange<S: ?Sized>(&mut self, kind: &TableKind<S>, language: Language, area: Rect) {
        self.cursor.arrange(self.rows.len(), list::rows(area));
        if let Some(over) = &mut self.over {
            over.arrange(&kind.columns, language, area);
        }
    }

    /// The mouse was pressed: on a title it sorts, on a line it moves the cursor; true on a line.
    pub(crate) fn click<S: ?Sized>(
        &mut self,
        at: Position,
        kind: &TableKind<S>,
        source: &S,
        language: Language,
        area: Rect,
    ) -> bool {
        if let Some(over) = &mut self.over {
            over.click(at, &kind.columns, language, area);
            return false;
        }
        if let Some(column) = self.layout.column_at(&kind.columns, area, !self.marks.is_empty(), at) {
            self.layout.sort_by(column);
            self.list_anew(kind, source, language);
            return false;
        }
        self.cursor.click(at, area, self.rows.len())
    }

    /// Cells that the columns have.
    fn cells(&self, area: Rect) -> usize {
        usize::from(area.width).saturating_sub(if self.marks.is_empty() { 0 } else { 2 })
    }

    pub(crate) fn draw<S: ?Sized>(
        &self,
        kind: &TableKind<S>,
        source: &S,
        language: Language,
        style: impl Fn(usize) -> Style,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        if let Some(over) = &self.over {
            return over.draw(&kind.columns, &self.layout, language, frame, area);
        }
        if self.rows.is_empty() && !self.base.is_empty() {
            let text = w::NOTHING_LISTED.to(language);
            return frame.render_widget(Line::styled(text, look::DIM), area);
        }
        let line = |line: usize| {
            let row = self.rows[line];
            TableRow::Cells { row, style: style(row), marked: self.marks.contains(&(kind.key)(source, row)) }
        };
        let state = (self.cursor, self.rows.len(), !self.marks.is_empty());
        self.layout.draw(&kind.columns, source, language, state, line, frame, area);
    }

    /// The group and the marks that narrow the list, for the title of the pane: ` · 仅 原因 = 空标题 · 标记 3`.
    pub(crate) fn about<S: ?Sized>(&self, kind: &TableKind<S>, language: Language) -> String {
        let mut text = String::new();
        if let Some((id, group)) = &self.only {
            let title = kind.columns.iter().find(|column| column.id == *id).map(|column| column.title.to(language));
            let (only, title) = (w::ONLY.to(language), title.unwrap_or_default());
            text += &format!(" · {only} {title} = {}", group.label(language));
        }
        if !self.marks.is_empty() {
            let word = if self.only_marked { w::ONLY_MARKED } else { w::MARKED };
            text += &format!(" · {} {}", word.to(language), self.marks.len());
        }
        text
    }

    /// All rows of the table as they are copied, or what was counted of a column while that is shown.
    pub(crate) fn copied<S: ?Sized>(&self, kind: &TableKind<S>, source: &S, language: Language) -> Table {
        if let Some(counted) = self.over.as_ref().and_then(|over| over.copied(language)) {
            return counted;
        }
        self.layout.copied(&kind.columns, source, language, self.rows.iter().copied())
    }

    pub(crate) fn remember(&self) -> Json {
        json!({"columns": self.layout.remember(), "marks": self.marks.iter().take(REMEMBERED).collect::<Vec<_>>()})
    }

    pub(crate) fn recall(&mut self, memory: &Json) {
        self.layout.recall(&memory["columns"]);
        self.marks = serde_json::from_value(memory["marks"].clone()).unwrap_or_default();
    }
}

/// A value with the direction in which it is sorted.
struct SortKey<'a>(Option<super::column::Value<'a>>, bool);

impl Ord for SortKey<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.compare(b, self.1),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
}

impl PartialOrd for SortKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortKey<'_> {}
