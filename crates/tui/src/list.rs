//! Lists: the marked line and what is in sight of them, and lines of columns drawn to the width there is.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::commands::Action;
use super::{look, width};

/// A line of a list that is marked, and the first that is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub at: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves among `count` lines, of which a page shows so many.
    pub(crate) fn step(&mut self, action: Action, count: usize, page: usize) {
        let last = count.saturating_sub(1);
        let at = match action {
            Action::Down => self.at.saturating_add(1),
            Action::Up => self.at.saturating_sub(1),
            Action::PageDown => self.at.saturating_add(page),
            Action::PageUp => self.at.saturating_sub(page),
            Action::First => 0,
            Action::Last => last,
            _ => self.at,
        };
        self.at = at.min(last);
    }

    /// Brings the marked line into sight of so many rows.
    pub(crate) fn arrange(&mut self, count: usize, rows: usize) {
        self.at = self.at.min(count.saturating_sub(1));
        self.top = self.top.clamp((self.at + 1).saturating_sub(rows.max(1)), self.at);
    }

    /// The line at this row below the first one seen, if the list has it.
    pub(crate) fn line_at(&self, row: usize, count: usize) -> Option<usize> {
        Some(self.top + row).filter(|line| *line < count)
    }
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    /// What stands above it, the unit with it.
    pub title: &'a str,
    /// Cells that it takes; 0 takes what the others leave. One column at most may do so.
    pub cells: usize,
    /// Whether its cells stand at the right, as numbers do.
    pub right: bool,
}

impl<'a> Column<'a> {
    /// A column of text.
    pub(crate) fn text(title: &'a str, cells: usize) -> Column<'a> {
        Column { title, cells, right: false }
    }

    /// A column of numbers.
    pub(crate) fn number(title: &'a str, cells: usize) -> Column<'a> {
        Column { title, cells, right: true }
    }
}

/// Rows of a list that an area has room for, below the line of titles.
pub(crate) fn rows(area: Rect) -> usize {
    area.height.saturating_sub(1) as usize
}

/// Draws a line of titles and below it the rows from the cursor's first one on. `row` gives the cells of a line and its style.
///
/// Columns that find no room are left out from the right, never cut through the middle of a number.
pub(crate) fn draw(
    columns: &[Column<'_>],
    count: usize,
    cursor: Cursor,
    row: impl Fn(usize) -> (Vec<String>, Style),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let total = area.width as usize;
    let mut shown = columns.len();
    let taken = |shown: usize| columns[..shown].iter().map(|column| column.cells.max(6) + 1).sum::<usize>();
    while shown > 1 && taken(shown) > total + 1 {
        shown -= 1;
    }
    let columns = &columns[..shown];
    let fixed: usize = columns.iter().map(|column| column.cells).sum::<usize>() + shown.saturating_sub(1);
    let line = |cells: &[String]| {
        let cells: Vec<String> = columns
            .iter()
            .zip(cells)
            .map(|(column, cell)| {
                let wide = if column.cells == 0 { total.saturating_sub(fixed) } else { column.cells };
                if column.right { width::right(cell, wide) } else { width::left(cell, wide) }
            })
            .collect();
        width::left(&cells.join(" "), total)
    };
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let mut lines = vec![Line::styled(line(&titles), look::DIM)];
    for at in cursor.top..(cursor.top + rows(area)).min(count) {
        let (cells, style) = row(at);
        let style = if at == cursor.at { style.patch(look::SELECTED) } else { style };
        lines.push(Line::styled(line(&cells), style));
    }
    frame.render_widget(Paragraph::new(lines), area);
}
