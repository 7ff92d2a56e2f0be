//! The columns of a table as the user has them: which are shown, in which order, by which rows are sorted, and what fits on the screen.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::{Value as Json, json};

use super::column::{Cell, Column, Shows};
use crate::list::{Cursor, rows};
use crate::page::Table;
use crate::{Language, look, width};

/// Cells from which on a table is wide.
pub(super) const WIDE: usize = 106;

/// Cells that the column has at the least which takes what the others leave.
const LEAST: usize = 12;

/// Stand behind the title of the column by which rows are sorted.
const UP: &str = "▲";
const DOWN: &str = "▼";

/// Stand in the line of titles where more columns are to the left and to the right.
const MORE: [&str; 2] = ["‹", "›"];

/// Stands before a marked row.
const MARK: &str = "●";

/// The column by which rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sorting {
    pub column: String,
    pub descending: bool,
}

impl Sorting {
    pub(crate) fn sign(&self) -> &'static str {
        if self.descending { DOWN } else { UP }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableLayout {
    pub sort: Option<Sorting>,
    /// Names of the columns where the user has moved one; columns that it lacks follow.
    order: Vec<String>,
    /// Columns that the user has chosen, and those that he has hidden.
    chosen: BTreeMap<String, bool>,
    /// The column with the mark among the titles; without one, that of the order.
    mark: Option<String>,
    /// The first column in sight, counted among those that are shown.
    first: usize,
}

/// A line of a table.
pub(crate) enum TableRow {
    /// A row of the source.
    Cells { row: usize, style: Style, marked: bool },
    /// A line in place of a row.
    Text(String, Style),
}

/// A column in its place on the screen.
struct Placed<'c, S: ?Sized> {
    column: &'c Column<S>,
    /// Cells before it.
    before: usize,
    cells: usize,
}

impl TableLayout {
    pub(crate) fn sorted_by(column: &str, descending: bool) -> TableLayout {
        TableLayout { sort: Some(Sorting { column: column.to_owned(), descending }), ..TableLayout::default() }
    }

    /// All columns in the user's order.
    pub(super) fn all<'c, S: ?Sized>(&self, columns: &'c [Column<S>]) -> Vec<&'c Column<S>> {
        let mut all: Vec<&Column<S>> = columns.iter().collect();
        let place = |column: &Column<S>| self.order.iter().position(|id| *id == column.id).unwrap_or(usize::MAX);
        all.sort_by_key(|column| place(column));
        all
    }

    /// True if a table of so many cells shows the column.
    pub(super) fn shows<S: ?Sized>(&self, column: &Column<S>, total: usize) -> bool {
        let usual = match column.shows {
            Shows::Always => true,
            Shows::From(cells) => total >= cells,
            Shows::Never | Shows::OnPaper => false,
        };
        self.chosen.get(&*column.id).copied().unwrap_or(usual)
    }

    /// The columns that a table of so many cells shows, in their order.
    pub(crate) fn shown<'c, S: ?Sized>(&self, columns: &'c [Column<S>], total: usize) -> Vec<&'c Column<S>> {
        self.all(columns).into_iter().filter(|column| self.shows(column, total)).collect()
    }

    /// True if the column is shown or rows are sorted by it, however wide the table is.
    pub(crate) fn uses(&self, id: &str) -> bool {
        self.chosen.get(id) == Some(&true) || self.sort.as_ref().is_some_and(|sort| sort.column == id)
    }

    /// The column with the mark.
    pub(crate) fn marked<'c, S: ?Sized>(&self, columns: &'c [Column<S>], total: usize) -> Option<&'c Column<S>> {
        let shown = self.shown(columns, total);
        let with_id = |id: &str| shown.iter().copied().find(|column| column.id == id);
        let marked = self.mark.as_deref().and_then(with_id);
        marked.or_else(|| with_id(&self.sort.as_ref()?.column)).or_else(|| shown.first().copied())
    }

    /// The columns from the first in sight on that fit.
    fn placed<'c, S: ?Sized>(&self, columns: &'c [Column<S>], total: usize) -> Vec<Placed<'c, S>> {
        let narrow = usize::from(total < WIDE);
        let shown = self.shown(columns, total);
        let first = self.first.min(shown.len().saturating_sub(1));
        let mut placed: Vec<Placed<'_, S>> = Vec::new();
        let mut used = 0;
        for column in &shown[first..] {
            let cells = column.cells[narrow];
            let needed = if cells == 0 { LEAST } else { cells };
            if !placed.is_empty() && used + needed > total {
                break;
            }
            placed.push(Placed { column, before: used, cells: needed });
            used += needed + 1;
        }
        let left = (total + 1).saturating_sub(used);
        if let Some(at) = placed.iter().position(|place| place.column.cells[narrow] == 0) {
            placed[at].cells += left;
            placed[at + 1..].iter_mut().for_each(|place| place.before += left);
        }
        placed
    }

    /// Moves the mark to the column beside it, which comes into sight.
    pub(crate) fn step<S: ?Sized>(&mut self, columns: &[Column<S>], total: usize, right: bool) {
        let shown = self.shown(columns, total);
        let Some(marked) = self.marked(columns, total) else { return };
        let at = shown.iter().position(|column| column.id == marked.id).unwrap_or(0);
        let to = if right { (at + 1).min(shown.len() - 1) } else { at.saturating_sub(1) };
        self.mark = Some(shown[to].id.clone().into_owned());
        self.first = self.first.min(to);
        while self.first < to && !self.placed(columns, total).iter().any(|place| place.column.id == shown[to].id) {
            self.first += 1;
        }
    }

    /// Sorts by a column, or turns the order where it is that column's already. Of numbers the greatest come first.
    pub(crate) fn sort_by<S: ?Sized>(&mut self, column: &Column<S>) {
        let descending = match &self.sort {
            Some(sort) if sort.column == column.id => !sort.descending,
            _ => column.right,
        };
        self.mark = Some(column.id.clone().into_owned());
        self.sort = Some(Sorting { column: column.id.clone().into_owned(), descending });
    }

    pub(crate) fn turn(&mut self) {
        if let Some(sort) = &mut self.sort {
            sort.descending = !sort.descending;
        }
    }

    /// Shows or hides a column; the last one that is shown stays.
    pub(crate) fn toggle<S: ?Sized>(&mut self, columns: &[Column<S>], column: &Column<S>, total: usize) {
        let shows = self.shows(column, total);
        if !shows || self.shown(columns, total).len() > 1 {
            self.chosen.insert(column.id.clone().into_owned(), !shows);
        }
    }

    /// Moves a column one place to the right or to the left, among all columns.
    pub(super) fn shift<S: ?Sized>(&mut self, columns: &[Column<S>], id: &str, right: bool) {
        let mut order: Vec<String> = self.all(columns).iter().map(|column| column.id.clone().into_owned()).collect();
        let Some(at) = order.iter().position(|other| other == id) else { return };
        let to = if right { at + 1 } else { at.wrapping_sub(1) };
        if to < order.len() {
            order.swap(at, to);
            self.order = order;
        }
    }

    /// The column whose title is at a place of the screen; `area` is that of the table.
    pub(crate) fn column_at<'c, S: ?Sized>(
        &self,
        columns: &'c [Column<S>],
        area: Rect,
        gutter: bool,
        at: Position,
    ) -> Option<&'c Column<S>> {
        let left = usize::from(at.x.checked_sub(area.x)?).checked_sub(cells_of_gutter(gutter))?;
        let placed = self.placed(columns, usize::from(area.width).saturating_sub(cells_of_gutter(gutter)));
        let title = placed.into_iter().find(|place| (place.before..=place.before + place.cells).contains(&left));
        title.filter(|_| at.y == area.y).map(|place| place.column)
    }

    /// Draws the titles and below them the lines from the first in sight on. `gutter` leaves room for the signs of marked rows.
    #[allow(clippy::too_many_arguments, reason = "the table, its place, and what is in it")]
    pub(crate) fn draw<S: ?Sized>(
        &self,
        columns: &[Column<S>],
        source: &S,
        language: Language,
        (cursor, count, gutter): (Cursor, usize, bool),
        line: impl Fn(usize) -> TableRow,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let total = usize::from(area.width).saturating_sub(cells_of_gutter(gutter));
        let placed = self.placed(columns, total);
        let mut lines = vec![self.titles(columns, &placed, language, total, gutter)];
        for at in cursor.top..(cursor.top + rows(area)).min(count) {
            let (pieces, style) = match line(at) {
                TableRow::Text(text, style) => (vec![Span::raw(text)], style),
                TableRow::Cells { row, style, marked } => {
                    let sign = if marked { MARK } else { "" };
                    let sign = gutter.then(|| Span::styled(width::left(sign, cells_of_gutter(true)), look::KEY));
                    let cells = placed.iter().enumerate().flat_map(|(i, place)| {
                        let cell = (place.column.cell)(source, row, language);
                        let gap = (i > 0).then(|| Span::raw(" "));
                        gap.into_iter().chain(spans(&cell, place))
                    });
                    (sign.into_iter().chain(cells).collect(), style)
                }
            };
            let mut line = Line::from(pieces).style(style);
            if at == cursor.at {
                let blank = usize::from(area.width).saturating_sub(line.width());
                line.push_span(" ".repeat(blank));
                line.spans.iter_mut().for_each(|span| span.style = span.style.patch(look::SELECTED));
            }
            lines.push(line);
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn titles<S: ?Sized>(
        &self,
        columns: &[Column<S>],
        placed: &[Placed<'_, S>],
        language: Language,
        total: usize,
        gutter: bool,
    ) -> Line<'static> {
        let marked = self.marked(columns, total).map(|column| &*column.id);
        let shown = self.shown(columns, total).len();
        let more_left = self.first > 0 && !placed.is_empty();
        let more_right = self.first.min(shown.saturating_sub(1)) + placed.len() < shown;
        let mut pieces = vec![Span::raw(" ".repeat(cells_of_gutter(gutter)))];
        for (i, place) in placed.iter().enumerate() {
            let sort = self.sort.as_ref().filter(|sort| sort.column == place.column.id);
            let sign = sort.map_or("", Sorting::sign);
            let more = [
                if i == 0 && more_left { MORE[0] } else { "" },
                if i + 1 == placed.len() && more_right { MORE[1] } else { "" },
            ];
            let taken = [more[0], sign, more[1]].iter().map(|sign| width::width(sign)).sum();
            let title = width::cut(place.column.title.to(language), place.cells.saturating_sub(taken));
            let text = format!("{}{title}{sign}", more[0]);
            let room = place.cells.saturating_sub(width::width(more[1]));
            let text = if place.column.right { width::right(&text, room) } else { width::left(&text, room) };
            let style = if marked == Some(&*place.column.id) {
                look::KEY.add_modifier(Modifier::UNDERLINED)
            } else {
                look::DIM
            };
            pieces.extend((i > 0).then(|| Span::raw(" ")));
            pieces.push(Span::styled(text, style));
            pieces.push(Span::styled(more[1], look::KEY));
        }
        Line::from(pieces)
    }

    /// The rows as they are copied: the columns that a wide table shows, in their order.
    pub(crate) fn copied<S: ?Sized>(
        &self,
        columns: &[Column<S>],
        source: &S,
        language: Language,
        rows: impl Iterator<Item = usize>,
    ) -> Table {
        let is_copied = |column: &&Column<S>| match self.chosen.get(&*column.id) {
            _ if column.drawn_only => false,
            Some(chosen) => *chosen,
            None => column.shows == Shows::OnPaper || self.shows(column, usize::MAX),
        };
        let shown: Vec<&Column<S>> = self.all(columns).into_iter().filter(is_copied).collect();
        let row = |row: usize| shown.iter().map(|column| (column.cell)(source, row, language).on_paper()).collect();
        Table {
            header: shown.iter().map(|column| column.title.to(language).to_owned()).collect(),
            rows: rows.map(row).collect(),
        }
    }

    pub(crate) fn remember(&self) -> Json {
        let sort = self.sort.as_ref().map(|sort| json!([sort.column, sort.descending]));
        json!({"order": self.order, "chosen": self.chosen, "sort": sort, "mark": self.mark})
    }

    /// Takes in what a session remembers. What cannot be read changes nothing.
    pub(crate) fn recall(&mut self, memory: &Json) {
        let part = |name: &str| memory.get(name).cloned().unwrap_or_default();
        self.order = serde_json::from_value(part("order")).unwrap_or_default();
        self.chosen = serde_json::from_value(part("chosen")).unwrap_or_default();
        self.mark = serde_json::from_value(part("mark")).unwrap_or_default();
        if let Ok((column, descending)) = serde_json::from_value(part("sort")) {
            self.sort = Some(Sorting { column, descending });
        }
    }
}

pub(super) fn cells_of_gutter(gutter: bool) -> usize {
    if gutter { 2 } else { 0 }
}

/// A cell cut and filled to its column, with what a search found set apart.
fn spans<S: ?Sized>(cell: &Cell<'_>, place: &Placed<'_, S>) -> Vec<Span<'static>> {
    let text = cell.on_screen(place.cells);
    let filled = if place.column.right { width::right(&text, place.cells) } else { width::left(&text, place.cells) };
    let style = cell.style.unwrap_or_default();
    // Hits are places in the text as it is written, and hold only as far as the cell shows the text unchanged.
    let kept = text.bytes().zip(filled.bytes()).take_while(|(a, b)| a == b).count();
    let mut spans = Vec::new();
    let mut from = 0;
    for hit in &cell.hits {
        if hit.start < from
            || hit.end > kept
            || !filled.is_char_boundary(hit.start)
            || !filled.is_char_boundary(hit.end)
        {
            continue;
        }
        spans.push(Span::styled(filled[from..hit.start].to_owned(), style));
        spans.push(Span::styled(filled[hit.clone()].to_owned(), style.patch(look::FOUND)));
        from = hit.end;
    }
    spans.push(Span::styled(filled[from..].to_owned(), style));
    spans
}
