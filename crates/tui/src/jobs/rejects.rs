//! The rows that ingest set aside: first how many for which reason and of which file, then the rows of a group, each with its text.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use serde_json::Value as Json;

use crate::action::Action;
use crate::context::PageContext;
use crate::kit::{Cell, Column, TableKind, TableView};
use crate::page::Table;
use crate::reading::{Reject, RejectGroup, Rejects};
use crate::words;
use crate::{Language, figures, look, width};

use inkstone_base::language::Message;
use inkstone_base::terms::term;

/// Lines of the pane that shows one reject as a whole.
const WHOLE: u16 = 6;

pub(super) struct RejectPane {
    /// None while they are read.
    rejects: Option<Result<Rejects, Message>>,
    groups: TableView,
    rows: TableView,
    /// The group whose rows are listed.
    open: Option<usize>,
}

impl Default for RejectPane {
    fn default() -> RejectPane {
        let groups = TableView::sorted_by("count", true);
        RejectPane { rejects: None, groups, rows: TableView::default(), open: None }
    }
}

fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
}

fn groups() -> TableKind<[RejectGroup]> {
    let columns = vec![
        Column::text("reason", words::REASON, 0, |groups: &[RejectGroup], row, language| {
            Cell::text(term(&groups[row].reason).to(language).to_owned())
        }),
        Column::text("file", words::FILE, 24, |groups: &[RejectGroup], row, _| {
            Cell::text(&*groups[row].file).shown(file_name(&groups[row].file))
        }),
        Column::number("count", words::ROWS_REJECTED, 10, |groups: &[RejectGroup], row, _| {
            Cell::count(Some(groups[row].count))
        }),
    ];
    TableKind { columns, key: |groups, row| format!("{}\n{}", groups[row].reason, groups[row].file) }
}

fn rows() -> TableKind<[Reject]> {
    let columns = vec![
        Column::text("file", words::FILE, 24, |rejects: &[Reject], row, _| {
            Cell::text(&*rejects[row].file).shown(file_name(&rejects[row].file))
        }),
        Column::number("row", words::ROW, 8, |rejects: &[Reject], row, _| Cell::count(rejects[row].row)),
        Column::text("column", words::COLUMN, 14, |rejects: &[Reject], row, _| {
            Cell::text(rejects[row].column.as_deref().unwrap_or_default())
        }),
        Column::text("value", words::REJECTED_VALUE, 0, |rejects: &[Reject], row, _| {
            Cell::text(rejects[row].value.as_deref().unwrap_or_default())
        }),
        Column::text("reason", words::REASON, 24, |rejects: &[Reject], row, language| {
            Cell::text(term(&rejects[row].reason).to(language).to_owned())
        })
        .where_wide(),
    ];
    TableKind { columns, key: |rejects, row| format!("{}#{:?}", rejects[row].file, rejects[row].row) }
}

/// The list, and the reject at its cursor.
fn areas(page: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Min(0), Constraint::Length(WHOLE)]).areas(page)
}

fn inside(page: Rect) -> Rect {
    look::inside(areas(page)[0])
}

impl RejectPane {
    pub(super) fn waiting(&self) -> bool {
        self.rejects.is_none()
    }

    fn read(&self) -> Option<&Rejects> {
        self.rejects.as_ref()?.as_ref().ok()
    }

    pub(super) fn has_rows(&self) -> bool {
        self.read().is_some_and(|rejects| !rejects.groups.is_empty())
    }

    pub(super) fn can_open(&self) -> bool {
        self.has_rows() && self.open.is_none()
    }

    pub(super) fn take(&mut self, rejects: Result<Rejects, Message>, language: Language) {
        if let Ok(rejects) = &rejects {
            self.groups.list(&groups(), &rejects.groups, (0..rejects.groups.len()).collect(), language);
        }
        self.rejects = Some(rejects);
    }

    /// Does an action; false where it is none of the pane.
    pub(super) fn act(&mut self, action: Action, page: Rect, language: Language) -> bool {
        let Some(Ok(rejects)) = &self.rejects else { return false };
        let area = inside(page);
        if self.open.is_some() {
            let done = self.rows.act(action, &rows(), &rejects.rows, language, area);
            let back = !done && action == Action::Back;
            self.open = self.open.filter(|_| !back);
            return done || back;
        }
        if self.groups.act(action, &groups(), &rejects.groups, language, area) {
            return true;
        }
        if action == Action::OpenReject
            && let Some(at) = self.groups.selected()
        {
            let group = &rejects.groups[at];
            let of_group =
                |row: &usize| rejects.rows[*row].reason == group.reason && rejects.rows[*row].file == group.file;
            self.rows.cursor = Default::default();
            self.rows.list(&rows(), &rejects.rows, (0..rejects.rows.len()).filter(of_group).collect(), language);
            self.open = Some(at);
            return true;
        }
        false
    }

    pub(super) fn arrange(&mut self, page: Rect, language: Language) {
        self.groups.arrange(&groups(), language, inside(page));
        self.rows.arrange(&rows(), language, inside(page));
    }

    pub(super) fn click(&mut self, at: Position, page: Rect, language: Language) {
        let Some(Ok(rejects)) = &self.rejects else { return };
        match self.open {
            Some(_) => self.rows.click(at, &rows(), &rejects.rows, language, inside(page)),
            None => self.groups.click(at, &groups(), &rejects.groups, language, inside(page)),
        };
    }

    pub(super) fn table(&self, language: Language) -> Option<Table> {
        let rejects = self.read()?;
        Some(match self.open {
            Some(_) => self.rows.copied(&rows(), &rejects.rows, language),
            None => self.groups.copied(&groups(), &rejects.groups, language),
        })
    }

    pub(super) fn remember(&self) -> Json {
        serde_json::json!({"groups": self.groups.remember(), "rows": self.rows.remember()})
    }

    pub(super) fn recall(&mut self, memory: &Json) {
        self.groups.recall(&memory["groups"]);
        self.rows.recall(&memory["rows"]);
    }

    pub(super) fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, page: Rect) {
        let line = match &self.rejects {
            None => Line::styled(context.say(words::READING), look::DIM),
            Some(Err(error)) => Line::styled(error.to_string(), look::BAD),
            Some(Ok(rejects)) if rejects.groups.is_empty() => Line::raw(context.say(words::NO_REJECTS)),
            Some(Ok(rejects)) => return self.draw_list(context, rejects, frame, page),
        };
        look::message(line, look::pane(format!(" {} ", context.say(words::REJECTS)), true), frame, page);
    }

    fn draw_list(&self, context: &PageContext<'_>, rejects: &Rejects, frame: &mut Frame<'_>, page: Rect) {
        let [above, below] = areas(page);
        let (language, count) = (context.language, |n: usize| figures::count(n as u64));
        let (list, about) = match self.open {
            Some(_) => (&self.rows, self.rows.about(&rows(), language)),
            None => (&self.groups, self.groups.about(&groups(), language)),
        };
        let place = format!("{} / {}", count((list.cursor.at + 1).min(list.len())), count(list.len()));
        let title = match self.open.and_then(|at| rejects.groups.get(at)) {
            Some(group) => {
                let (reason, file) = (term(&group.reason).to(language).to_owned(), file_name(&group.file));
                let kept = self.rows.len() as u64;
                let first = if kept < group.count && !self.rows.is_open() {
                    format!(
                        " ({} {} / {})",
                        context.say(words::SHOWN_FIRST),
                        figures::count(kept),
                        figures::count(group.count)
                    )
                } else {
                    String::new()
                };
                format!("{} › {reason} · {file} {place}{first}", context.say(words::REJECTS))
            }
            None => {
                let total = figures::count(rejects.total);
                format!("{} {total} · {} {place}", context.say(words::REJECTS), context.say(words::REJECT_GROUPS))
            }
        };
        let title = width::cut(&format!(" {title}{about} "), usize::from(above.width.saturating_sub(2)));
        let inner = look::framed(look::pane(title, true), frame, above);
        let plain = |_: usize| look::PLAIN;
        let shown = match self.open {
            Some(_) => {
                self.rows.draw(&rows(), &rejects.rows, language, plain, frame, inner);
                self.rows.selected()
            }
            None => {
                self.groups.draw(&groups(), &rejects.groups, language, plain, frame, inner);
                let group = self.groups.selected().map(|at| &rejects.groups[at]);
                group.and_then(|group| {
                    rejects.rows.iter().position(|row| row.reason == group.reason && row.file == group.file)
                })
            }
        };
        if let Some(reject) = shown.and_then(|row| rejects.rows.get(row)) {
            draw_reject(context, reject, frame, below);
        }
    }
}

fn draw_reject(context: &PageContext<'_>, reject: &Reject, frame: &mut Frame<'_>, area: Rect) {
    let inside = area.width.saturating_sub(2) as usize;
    let mut lines = Vec::new();
    if let Some(value) = &reject.value {
        lines.push(Line::raw(width::cut(&format!("{} {value}", context.say(words::VALUE)), inside)));
    }
    if let Some(raw) = &reject.raw {
        lines.push(Line::styled(width::cut(raw, inside * 3), look::DIM));
    }
    let row = reject.row.map(|row| format!("#{row}")).unwrap_or_default();
    let title = format!(" {}{row} · {} ", reject.file, term(&reject.reason).to(context.language));
    look::message(lines, look::pane(width::cut(&title, inside), false), frame, area);
}
