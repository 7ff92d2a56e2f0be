//! What lies over a table: the choice of columns, the frequencies of a column, or its summary.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::column::{Column, Title};
use super::count::{Frequencies, Group};
use super::head::Step;
use super::layout::TableLayout;
use super::summary::Summary;
use super::words as w;
use crate::action::Action;
use crate::list::{self, Cursor, ListColumn};
use crate::page::{Table, exact};
use crate::{Language, bars, figures, look, width};

/// Cells of the longest bar.
const BAR: usize = 20;

/// A choice of columns, or what was counted of one; the cursor is on one of its lines.
pub(crate) struct Overlay {
    pub cursor: Cursor,
    pub content: Content,
}

pub(crate) enum Content {
    Columns,
    Frequencies { column: String, title: Title, found: Frequencies },
    Summary { column: String, title: Title, found: Summary },
}

impl Overlay {
    pub(crate) fn new(content: Content) -> Overlay {
        Overlay { cursor: Cursor::default(), content }
    }

    fn count<S: ?Sized>(&self, columns: &[Column<S>], language: Language) -> usize {
        match &self.content {
            Content::Columns => columns.len(),
            Content::Frequencies { found, .. } => found.lines.len(),
            Content::Summary { found, .. } => found.lines(language).len(),
        }
    }

    /// The table of the overlay, its line of titles included, below the line that says what it is.
    fn areas(area: Rect) -> [Rect; 2] {
        Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area)
    }

    /// Does an action; none if the overlay is to be closed. `area` is that of the table.
    pub(crate) fn act<S: ?Sized>(
        &mut self,
        action: Action,
        columns: &[Column<S>],
        layout: &mut TableLayout,
        language: Language,
        area: Rect,
    ) -> Option<Step> {
        let rows = list::rows(Overlay::areas(area)[1]).max(1);
        let total = usize::from(area.width);
        match (action, &self.content) {
            (Action::Back, _) => return None,
            (Action::ChooseColumns, Content::Columns) => return None,
            (Action::Frequencies, Content::Frequencies { .. }) => return None,
            (Action::Summary, Content::Summary { .. }) => return None,
            (Action::ChooseColumns | Action::Frequencies | Action::Summary, _) => return Some(Step::Passed),
            (Action::MarkRow | Action::SortTable | Action::ColumnLeft | Action::ColumnRight, Content::Columns) => {
                let all = layout.all(columns);
                let Some(column) = all.get(self.cursor.at).copied() else { return Some(Step::Done) };
                match action {
                    Action::MarkRow => layout.toggle(columns, column, total),
                    Action::SortTable => {
                        layout.sort_by(column);
                        return Some(Step::Sort);
                    }
                    _ => {
                        let right = action == Action::ColumnRight;
                        layout.shift(columns, &column.id, right);
                        self.cursor.step(if right { Action::Down } else { Action::Up }, columns.len(), rows);
                    }
                }
            }
            (_, Content::Columns) if action.is_enter() => return None,
            (_, Content::Summary { .. }) if action.is_enter() => return None,
            (_, Content::Frequencies { column, found, .. }) if action.is_enter() => {
                return Some(match found.lines.get(self.cursor.at) {
                    Some((group, _)) if !matches!(group, Group::Others(_)) => Step::Only(column.clone(), group.clone()),
                    _ => Step::Done,
                });
            }
            _ if action.is_move() => self.cursor.step(action, self.count(columns, language), rows),
            (Action::MarkRow | Action::SortTable | Action::TurnOrder | Action::ColumnLeft | Action::ColumnRight, _) => {
            }
            _ => return Some(Step::Passed),
        }
        self.arrange(columns, language, area);
        Some(Step::Done)
    }

    /// The frequencies or the summary as a table to copy; none for a choice of columns.
    pub(crate) fn copied(&self, language: Language) -> Option<Table> {
        match &self.content {
            Content::Columns => None,
            Content::Frequencies { title, found, .. } => {
                let row = |(group, n): &(Group, u64)| {
                    let share = 100.0 * *n as f64 / found.rows.max(1) as f64;
                    vec![group.label(language), n.to_string(), exact(share)]
                };
                let header = [w::ROWS, w::SHARE].map(|word| word.to(language).to_owned());
                let header = std::iter::once(title.to(language).to_owned()).chain(header).collect();
                Some(Table { header, rows: found.lines.iter().map(row).collect() })
            }
            Content::Summary { title, found, .. } => {
                let rows = found.lines(language).into_iter().map(|(name, value)| vec![name, value]).collect();
                Some(Table { header: vec![String::new(), title.to(language).to_owned()], rows })
            }
        }
    }

    pub(crate) fn arrange<S: ?Sized>(&mut self, columns: &[Column<S>], language: Language, area: Rect) {
        let count = self.count(columns, language);
        self.cursor.arrange(count, list::rows(Overlay::areas(area)[1]));
    }

    pub(crate) fn click<S: ?Sized>(&mut self, at: Position, columns: &[Column<S>], language: Language, area: Rect) {
        let count = self.count(columns, language);
        self.cursor.click(at, Overlay::areas(area)[1], count);
    }

    pub(crate) fn draw<S: ?Sized>(
        &self,
        columns: &[Column<S>],
        layout: &TableLayout,
        language: Language,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let [head, table] = Overlay::areas(area);
        let say = |word: crate::words::Word| word.to(language);
        let (name, hint) = match &self.content {
            Content::Columns => (say(w::COLUMNS).to_owned(), w::COLUMNS_HINT),
            Content::Frequencies { title, found, .. } => {
                let about = format!("{} · {}", say(w::FREQUENCIES), title.to(language));
                (
                    format!("{about} · {} {}", figures::count(found.lines.len() as u64), say(w::VALUES)),
                    w::FREQUENCIES_HINT,
                )
            }
            Content::Summary { title, .. } => {
                (format!("{} · {}", say(w::SUMMARY), title.to(language)), w::SUMMARY_HINT)
            }
        };
        let text = format!("{name} · {}", say(hint));
        let head_line = Line::styled(width::cut(&text, usize::from(head.width)), look::NOTE);
        frame.render_widget(Paragraph::new(head_line), head);
        match &self.content {
            Content::Columns => {
                let all = layout.all(columns);
                let row = |at: usize| {
                    let shows = layout.shows(all[at], usize::from(area.width));
                    let sort = layout.sort.as_ref().filter(|sort| sort.column == all[at].id);
                    let sign = sort.map_or("", |sort| sort.sign());
                    let text = format!("{}{sign}", all[at].title.to(language));
                    (
                        vec![if shows { "[x]" } else { "[ ]" }.to_owned(), text],
                        if shows { look::PLAIN } else { look::DIM },
                    )
                };
                let titles = [ListColumn::text("", 3), ListColumn::text(say(w::COLUMNS), 0)];
                list::draw(&titles, all.len(), self.cursor, row, frame, table);
            }
            Content::Frequencies { found, .. } => draw_frequencies(found, self.cursor, language, frame, table),
            Content::Summary { found, .. } => {
                let lines = found.lines(language);
                let row = |at: usize| (vec![lines[at].0.clone(), lines[at].1.clone()], look::PLAIN);
                let titles = [ListColumn::text("", 20), ListColumn::text(say(w::VALUE), 0)];
                list::draw(&titles, lines.len(), self.cursor, row, frame, table);
            }
        }
    }
}

fn draw_frequencies(found: &Frequencies, cursor: Cursor, language: Language, frame: &mut Frame<'_>, area: Rect) {
    let bar = if area.width >= 60 { BAR } else { 8 };
    let most = found.lines.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1) as f64;
    let titles = [
        ListColumn::text(w::VALUE.to(language), 0),
        ListColumn::number(w::ROWS.to(language), 9),
        ListColumn::number(w::SHARE.to(language), 7),
        ListColumn::text(w::BAR.to(language), bar),
    ];
    let row = |at: usize| {
        let (group, n) = &found.lines[at];
        let share = 100.0 * *n as f64 / found.rows.max(1) as f64;
        let cells = vec![
            group.label(language),
            figures::count(*n),
            figures::number(share, 1),
            bars::lying(*n as f64 / most, bar),
        ];
        (cells, if *group == Group::Missing { look::DIM } else { look::PLAIN })
    };
    list::draw(&titles, found.lines.len(), cursor, row, frame, area);
}
