//! Draws the rows that ingest set aside.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;

use super::JobsPage;
use crate::context::PageContext;
use crate::list::{self, Cursor, ListColumn};
use crate::page::Table;
use crate::reading::{REJECTS_SHOWN, Reject, Rejects};
use crate::words;
use crate::{figures, look, width};

use inkstone_base::language::Language;
use inkstone_base::terms::term;

/// Rows of the pane that shows one reject as a whole.
const WHOLE: u16 = 6;

/// Lines of the list that a page has room for.
fn room(page: Rect) -> usize {
    usize::from(page.height.saturating_sub(WHOLE + 3))
}

/// The first line in sight.
fn first(cursor: usize, rows: usize) -> usize {
    (cursor + 1).saturating_sub(rows)
}

fn read(jobs: &JobsPage) -> Option<&Rejects> {
    jobs.rejects.as_ref()?.rejects.as_ref()?.as_ref().ok()
}

/// The reject whose line is at this place.
pub(super) fn line_at(jobs: &JobsPage, at: Position, page: Rect) -> Option<usize> {
    let (list, rows) = (jobs.rejects.as_ref()?, room(page));
    let row = usize::from(at.y.checked_sub(page.y + 2)?);
    let line = first(list.cursor, rows) + row;
    Some(line).filter(|line| row < rows && read(jobs).is_some_and(|rejects| *line < rejects.rows.len()))
}

pub(super) fn table(jobs: &JobsPage, language: Language) -> Option<Table> {
    let header = [words::FILE, words::ROW, words::COLUMN, words::REASON, words::VALUE];
    let cell = |text: &Option<String>| text.clone().unwrap_or_default();
    let row = |reject: &Reject| {
        let number = reject.row.map(|row| row.to_string()).unwrap_or_default();
        vec![
            reject.file.clone(),
            number,
            cell(&reject.column),
            term(&reject.reason).to(language).to_owned(),
            cell(&reject.value),
        ]
    };
    Some(Table {
        header: header.map(|word| word.to(language).trim_end_matches(['：', ':']).to_owned()).to_vec(),
        rows: read(jobs)?.rows.iter().map(row).collect(),
    })
}

pub(super) fn draw(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, page: Rect) {
    let Some(list) = &jobs.rejects else { return };
    let rejects = match &list.rejects {
        None => Err(Line::styled(context.say(words::READING), look::DIM)),
        Some(Err(error)) => Err(Line::styled(error.to_string(), look::BAD)),
        Some(Ok(rejects)) if rejects.rows.is_empty() => Err(Line::raw(context.say(words::NO_REJECTS))),
        Some(Ok(rejects)) => Ok(rejects),
    };
    match rejects {
        Err(line) => {
            look::message(line, look::pane(format!(" {} ", context.say(words::REJECTS)), true), frame, page);
        }
        Ok(rejects) => draw_list(context, rejects, list.cursor, frame, page),
    }
}

fn draw_list(context: &PageContext<'_>, rejects: &Rejects, cursor: usize, frame: &mut Frame<'_>, page: Rect) {
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(WHOLE)]).areas(page);
    let mut title = format!(
        " {} {} / {} ",
        context.say(words::REJECTS),
        figures::count(cursor as u64 + 1),
        figures::count(rejects.total)
    );
    if rejects.total > REJECTS_SHOWN as u64 {
        title += &format!("({} {}) ", context.say(words::SHOWN_FIRST), figures::count(REJECTS_SHOWN as u64));
    }
    let inner = look::framed(look::pane(title, true), frame, above);
    let columns = [
        ListColumn::text(context.say(words::FILE), 24),
        ListColumn::number(context.say(words::ROW), 8),
        ListColumn::text(context.say(words::COLUMN), 14),
        ListColumn::text(context.say(words::REASON), 0),
    ];
    let row = |at: usize| {
        let reject = &rejects.rows[at];
        let file = reject.file.rsplit('/').next().unwrap_or_default();
        let row = reject.row.map(figures::count).unwrap_or_default();
        let column = reject.column.clone().unwrap_or_default();
        (vec![file.to_owned(), row, column, term(&reject.reason).to(context.language).to_owned()], look::PLAIN)
    };
    let marked = Cursor { at: cursor, top: first(cursor, room(page)) };
    list::draw(&columns, rejects.rows.len(), marked, row, frame, inner);
    if let Some(reject) = rejects.rows.get(cursor) {
        draw_reject(context, reject, frame, below);
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
    let block = look::pane(width::cut(&format!(" {} · {} ", reject.file, term(&reject.reason)), inside), false);
    look::message(lines, block, frame, area);
}
