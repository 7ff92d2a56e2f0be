//! The picture of the rows that ingest set aside.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::Jobs;
use crate::app::App;
use crate::page::Table;
use crate::reading::{REJECTS_SHOWN, Reject, Rejects};
use crate::words;
use crate::{figures, look, width};
use inkstone_base::language::Language;

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

fn read(jobs: &Jobs) -> Option<&Rejects> {
    jobs.rejects.as_ref()?.rejects.as_ref()?.as_ref().ok()
}

/// The reject whose line is at this place.
pub(super) fn line_at(jobs: &Jobs, at: Position, page: Rect) -> Option<usize> {
    let (list, rows) = (jobs.rejects.as_ref()?, room(page));
    let row = usize::from(at.y.checked_sub(page.y + 2)?);
    let line = first(list.cursor, rows) + row;
    Some(line).filter(|line| row < rows && read(jobs).is_some_and(|rejects| *line < rejects.rows.len()))
}

/// The rejects as a table.
pub(super) fn table(jobs: &Jobs, language: Language) -> Option<Table> {
    let header = [words::FILE, words::ROW, words::COLUMN, words::REASON, words::VALUE];
    let cell = |text: &Option<String>| text.clone().unwrap_or_default();
    let row = |reject: &Reject| {
        let number = reject.row.map(|row| row.to_string()).unwrap_or_default();
        vec![reject.file.clone(), number, cell(&reject.column), reject.reason.clone(), cell(&reject.value)]
    };
    Some(Table {
        header: header.map(|word| word.to(language).trim_end_matches(['：', ':']).to_owned()).to_vec(),
        rows: read(jobs)?.rows.iter().map(row).collect(),
    })
}

/// Draws them.
pub(super) fn draw(app: &App, jobs: &Jobs, frame: &mut Frame<'_>, page: Rect) {
    let Some(list) = &jobs.rejects else { return };
    let rejects = match &list.rejects {
        None => Err(Line::styled(app.say(words::READING), look::DIM)),
        Some(Err(error)) => Err(Line::styled(error.as_str(), look::BAD)),
        Some(Ok(rejects)) if rejects.rows.is_empty() => Err(Line::raw(app.say(words::NO_REJECTS))),
        Some(Ok(rejects)) => Ok(rejects),
    };
    match rejects {
        Err(line) => {
            let block = look::pane(format!(" {} ", app.say(words::REJECTS)), true);
            frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(block), page);
        }
        Ok(rejects) => draw_list(app, rejects, list.cursor, frame, page),
    }
}

fn draw_list(app: &App, rejects: &Rejects, cursor: usize, frame: &mut Frame<'_>, page: Rect) {
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(WHOLE)]).areas(page);
    let mut title = format!(
        " {} {} / {} ",
        app.say(words::REJECTS),
        figures::count(cursor as u64 + 1),
        figures::count(rejects.total)
    );
    if rejects.total > REJECTS_SHOWN as u64 {
        title += &format!("({} {}) ", app.say(words::SHOWN_FIRST), figures::count(REJECTS_SHOWN as u64));
    }
    let block = look::pane(title, true);
    let inner = block.inner(above);
    let reason = (inner.width as usize).saturating_sub(24 + 8 + 14 + 3);
    let line = |file: &str, row: &str, column: &str, why: &str| {
        let row = width::right(row, 8);
        format!("{} {row} {} {}", width::left(file, 24), width::left(column, 14), width::left(why, reason))
    };
    let header = [words::FILE, words::ROW, words::COLUMN, words::REASON].map(|w| app.say(w));
    let mut lines = vec![Line::styled(line(header[0], header[1], header[2], header[3]), look::DIM)];
    let (room, top) = (room(page), first(cursor, room(page)));
    for (i, reject) in rejects.rows.iter().enumerate().skip(top).take(room) {
        let file = reject.file.rsplit('/').next().unwrap_or_default();
        let row = reject.row.map(figures::count).unwrap_or_default();
        let text = line(file, &row, reject.column.as_deref().unwrap_or_default(), &reject.reason);
        lines.push(Line::styled(text, if i == cursor { look::SELECTED } else { look::PLAIN }));
    }
    frame.render_widget(Paragraph::new(lines).block(block), above);
    if let Some(reject) = rejects.rows.get(cursor) {
        draw_reject(app, reject, frame, below);
    }
}

fn draw_reject(app: &App, reject: &Reject, frame: &mut Frame<'_>, area: Rect) {
    let inside = area.width.saturating_sub(2) as usize;
    let mut lines = Vec::new();
    if let Some(value) = &reject.value {
        lines.push(Line::raw(width::cut(&format!("{} {value}", app.say(words::VALUE)), inside)));
    }
    if let Some(raw) = &reject.raw {
        lines.push(Line::styled(width::cut(raw, inside * 3), look::DIM));
    }
    let block = look::pane(width::cut(&format!(" {} · {} ", reject.file, reject.reason), inside), false);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}
