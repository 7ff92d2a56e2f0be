//! Lists: the marked line, the lines in sight, and rows drawn in columns.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::action::Action;
use super::{look, width};

/// The marked line of a list, and the first line in sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub at: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves the mark among `count` lines; `page` of them are visible.
    pub(crate) fn step(&mut self, action: Action, count: usize, page: usize) {
        self.at = moved(self.at, action, count, page);
    }

    /// Brings the marked line into sight of `rows` rows.
    pub(crate) fn arrange(&mut self, count: usize, rows: usize) {
        self.at = self.at.min(count.saturating_sub(1));
        self.top = self.top.clamp((self.at + 1).saturating_sub(rows.max(1)), self.at);
    }

    /// The line `row` rows below the first line in sight; none behind the end of the list.
    pub(crate) fn line_at(&self, row: usize, count: usize) -> Option<usize> {
        Some(self.top + row).filter(|line| *line < count)
    }

    /// Marks the line at a position of the screen; true if there is one. `list` is the area of the list, its line of titles included.
    pub(crate) fn click(&mut self, at: Position, list: Rect, count: usize) -> bool {
        let row = at.y.checked_sub(list.y + 1).filter(|_| at.y < list.bottom());
        let line = row.and_then(|row| self.line_at(row.into(), count));
        self.at = line.unwrap_or(self.at);
        line.is_some()
    }
}

/// The line that a key leads to from the line `at` of `count` lines; `page` of them are visible.
pub(crate) fn moved(at: usize, action: Action, count: usize, page: usize) -> usize {
    let last = count.saturating_sub(1);
    let to = match action {
        Action::Down => at.saturating_add(1),
        Action::Up => at.saturating_sub(1),
        Action::PageDown => at.saturating_add(page),
        Action::PageUp => at.saturating_sub(page),
        Action::First => 0,
        Action::Last => last,
        Action::Line(number) => number.saturating_sub(1),
        _ => at,
    };
    to.min(last)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListColumn<'a> {
    /// Title with the unit.
    pub title: &'a str,
    /// Width in cells; 0 takes the rest of the line, which one column at most may do.
    pub cells: usize,
    /// True for numbers, which are aligned to the right.
    pub right: bool,
}

impl<'a> ListColumn<'a> {
    pub(crate) fn text(title: &'a str, cells: usize) -> ListColumn<'a> {
        ListColumn { title, cells, right: false }
    }

    pub(crate) fn number(title: &'a str, cells: usize) -> ListColumn<'a> {
        ListColumn { title, cells, right: true }
    }
}

/// Rows that fit into an area below the line of titles.
pub(crate) fn rows(area: Rect) -> usize {
    area.height.saturating_sub(1) as usize
}

/// Draws a line of titles and below it the rows from the first line in sight on. `row` gives the cells of a line and its style.
///
/// Columns that do not fit are left out from the right: a number is never cut.
pub(crate) fn draw(
    columns: &[ListColumn<'_>],
    count: usize,
    cursor: Cursor,
    row: impl Fn(usize) -> (Vec<String>, Style),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let total = area.width as usize;
    let mut shown = columns.len();
    let needed = |shown: usize| columns[..shown].iter().map(|column| column.cells.max(6) + 1).sum::<usize>();
    while shown > 1 && needed(shown) > total + 1 {
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
