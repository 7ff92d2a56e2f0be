//! The rows that ingest set aside: first how many for which reason and of which file, then the rows of a group, each with its text.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use serde_json::Value as Json;

use crate::action::Action;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::page::Table;
use crate::reading::{self, Reject, RejectGroup, Rejects};
use crate::words;
use crate::{Language, figures, look, width};

use inkstone_base::terms::term;

/// Lines of the pane that shows one reject as a whole.
const WHOLE: u16 = 6;

pub(super) struct RejectPane {
    asked: Errand<Rejects>,
    groups: ListSheet,
    rows: ListSheet,
    /// The group whose rows are listed.
    open: Option<usize>,
}

fn file_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
}

/// Lists the groups.
fn fill_groups(sheet: &mut ListSheet, groups: &[RejectGroup], language: Language) {
    sheet.fill((), language, || {
        let columns = vec![
            text("reason", words::REASON, 0),
            text("file", words::FILE, 24),
            number("count", words::ROWS_REJECTED, 10),
        ];
        let row = |group: &RejectGroup| {
            let cells = vec![
                Cell::text(term(&group.reason).to(language).to_owned()),
                Cell::text(group.file.clone()).shown(file_name(&group.file)),
                Cell::count(Some(group.count)),
            ];
            SheetRow { key: format!("{}\n{}", group.reason, group.file), style: look::PLAIN, cells }
        };
        (columns, groups.iter().map(row).collect())
    });
}

/// Lists the rows of a group.
fn fill_rows(sheet: &mut ListSheet, rows: &[&Reject], group: usize, language: Language) {
    sheet.fill(group, language, || {
        let columns = vec![
            text("file", words::FILE, 24),
            number("row", words::ROW, 8),
            text("column", words::COLUMN, 14),
            text("value", words::WORTH, 0),
            text("reason", words::REASON, 24).where_wide(),
        ];
        let row = |reject: &&Reject| {
            let cells = vec![
                Cell::text(reject.file.clone()).shown(file_name(&reject.file)),
                Cell::count(reject.row),
                Cell::text(reject.column.clone().unwrap_or_default()),
                Cell::text(reject.value.clone().unwrap_or_default()),
                Cell::text(term(&reject.reason).to(language).to_owned()),
            ];
            SheetRow { key: format!("{}#{:?}", reject.file, reject.row), style: look::PLAIN, cells }
        };
        (columns, rows.iter().map(row).collect())
    });
}

/// The list, and the reject at its cursor.
fn areas(page: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Min(0), Constraint::Length(WHOLE)]).areas(page)
}

impl RejectPane {
    /// Reads the rejects.
    pub(super) fn new(desk: &Desk<'_>) -> RejectPane {
        let project = desk.workspace.project.clone();
        let asked = desk.errand("rows that were set aside", move |_| reading::rejects(&project));
        RejectPane { asked, groups: ListSheet::sorted_by("count", true), rows: ListSheet::default(), open: None }
    }

    pub(super) fn waiting(&self) -> bool {
        self.asked.waiting()
    }

    pub(super) fn has_rows(&self) -> bool {
        self.asked.get().is_some_and(|rejects| !rejects.groups.is_empty())
    }

    pub(super) fn can_open(&self) -> bool {
        self.has_rows() && self.open.is_none()
    }

    /// The rows of a group.
    fn of_group(&self, group: usize) -> Vec<&Reject> {
        let Some(rejects) = self.asked.get() else { return Vec::new() };
        let group = &rejects.groups[group];
        rejects.rows.iter().filter(|row| row.reason == group.reason && row.file == group.file).collect()
    }

    /// The list that is shown.
    fn list(&self) -> &ListSheet {
        if self.open.is_some() { &self.rows } else { &self.groups }
    }

    fn list_mut(&mut self) -> &mut ListSheet {
        if self.open.is_some() { &mut self.rows } else { &mut self.groups }
    }

    /// Does an action; false where it is none of the pane.
    pub(super) fn act(&mut self, action: Action) -> bool {
        if self.asked.get().is_none() {
            return false;
        }
        let done = self.list_mut().act(action);
        match action {
            _ if done => {}
            Action::Back if self.open.is_some() => self.open = None,
            Action::OpenReject if self.open.is_none() && self.groups.selected().is_some() => {
                self.open = self.groups.selected();
                self.rows.empty();
            }
            _ => return false,
        }
        true
    }

    pub(super) fn arrange(&mut self, page: Rect, language: Language) {
        self.asked.look();
        if let Some(rejects) = self.asked.get() {
            fill_groups(&mut self.groups, &rejects.groups, language);
        }
        if let Some(group) = self.open {
            let mut sheet = std::mem::take(&mut self.rows);
            fill_rows(&mut sheet, &self.of_group(group), group, language);
            self.rows = sheet;
        }
        self.list_mut().arrange(look::inside(areas(page)[0]));
    }

    pub(super) fn click(&mut self, at: Position) {
        self.list_mut().click(at);
    }

    pub(super) fn table(&self) -> Option<Table> {
        self.asked.get().map(|_| self.list().copied())
    }

    pub(super) fn remember(&self) -> Json {
        serde_json::json!({"groups": self.groups.remember(), "rows": self.rows.remember()})
    }

    pub(super) fn recall(&mut self, memory: &Json) {
        self.groups.recall(&memory["groups"]);
        self.rows.recall(&memory["rows"]);
    }

    pub(super) fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, page: Rect) {
        let line = match self.asked.get() {
            None => context.outstanding(&self.asked).unwrap_or_default(),
            Some(rejects) if rejects.groups.is_empty() => Line::raw(context.say(words::NO_REJECTS)),
            Some(rejects) => return self.draw_list(context, rejects, frame, page),
        };
        look::message(line, look::pane(format!(" {} ", context.say(words::REJECTS)), true), frame, page);
    }

    fn draw_list(&self, context: &PageContext<'_>, rejects: &Rejects, frame: &mut Frame<'_>, page: Rect) {
        let [above, below] = areas(page);
        let (language, count) = (context.language, |n: usize| figures::count(n as u64));
        let (list, about) = (self.list(), self.list().about());
        let place = format!("{} / {}", count((list.line() + 1).min(list.len())), count(list.len()));
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
        list.draw(frame, inner);
        let shown = match self.open {
            Some(group) => self.rows.selected().and_then(|row| self.of_group(group).get(row).copied()),
            None => self.groups.selected().and_then(|group| self.of_group(group).first().copied()),
        };
        if let Some(reject) = shown {
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
