//! Draws the log.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::log::when;
use super::{JobsPage, view, words};
use crate::context::PageContext;
use crate::field;
use crate::page::Table;
use crate::words as common;
use crate::{figures, look, width};

use inkstone_base::language::Language;

/// Rows at the foot that show the marked line as a whole.
const WHOLE: u16 = 3;

/// Lines of the list that a page has room for.
pub(super) fn rows(jobs: &JobsPage, page: Rect) -> usize {
    let [_, below] = view::split(jobs, page);
    usize::from(below.height.saturating_sub(2 + WHOLE))
}

/// The line of the list at this place.
pub(super) fn line_at(jobs: &JobsPage, at: Position, area: Rect) -> Option<usize> {
    let rows = usize::from(area.height.saturating_sub(2 + WHOLE));
    let row = usize::from(at.y.checked_sub(area.y + 1)?);
    jobs.log.cursor().line_at(row, jobs.log.listed.len()).filter(|_| row < rows)
}

pub(super) fn draw(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, area: Rect) {
    let log = &jobs.log;
    let count = |n: usize| figures::count(n as u64);
    let cursor = log.cursor();
    let before = format!(" {} · ", context.say(words::LOG));
    let place = format!("{} / {}", count((cursor.at + 1).min(log.listed.len())), count(log.listed.len()));
    let mut title = vec![Span::raw(before.clone()), Span::raw(place.clone())];
    if let Some(field) = &log.search {
        let sought = format!(" ({}) · {} /", count(log.len()), context.say(common::SEARCH));
        let x = width::width(&before) + width::width(&place) + width::width(&sought);
        let room = usize::from(area.width).saturating_sub(x + 4);
        let (text, at) = field.window(room);
        title.extend([Span::raw(sought), Span::styled(text, look::KEY)]);
        if log.typing {
            field::put_cursor(usize::from(area.x) + x + at + 1, area.right().saturating_sub(2), area.y, frame);
        }
    }
    title.push(Span::raw(" "));
    let inner = look::framed(look::pane(Line::from(title), true), frame, area);
    if log.listed.is_empty() {
        let message = match (&log.fault, &log.search) {
            (Some(fault), _) => Line::styled(format!("{}: {fault}", context.say(words::LOG_UNREADABLE)), look::BAD),
            (None, Some(_)) if log.len() > 0 => Line::raw(context.say(words::LOG_FOUND_NOTHING)),
            _ => Line::raw(context.say(words::LOG_EMPTY)),
        };
        return frame.render_widget(Paragraph::new(message).wrap(Wrap { trim: false }), inner);
    }
    let wide = usize::from(inner.width);
    let rows = usize::from(inner.height.saturating_sub(WHOLE));
    // Where there is room the year is shown as well.
    let short = if wide < 100 { 5 } else { 0 };
    let mut lines = Vec::new();
    for at in cursor.top..(cursor.top + rows).min(log.listed.len()) {
        let Some(line) = log.line(at) else { continue };
        let (sign, style) = line.event.sign();
        let time = when(line);
        let text = line.event.text(context.language);
        let selected = if at == cursor.at { look::SELECTED } else { look::PLAIN };
        let room = wide.saturating_sub(time.len() - short + 3);
        lines.push(Line::from(vec![
            Span::styled(time[short..].to_owned(), look::DIM),
            Span::styled(format!(" {sign} "), style),
            Span::styled(width::cut(&text, room), style.patch(selected)),
        ]));
    }
    lines.resize(rows, Line::raw(""));
    lines.push(Line::styled("─".repeat(wide), look::DIM));
    if let Some(line) = log.line(cursor.at) {
        let text = line.event.text(context.language);
        let glyphs: Vec<width::Glyph<'_>> = width::glyphs(&text).collect();
        let ranges = width::wrap(&glyphs, wide.max(1));
        let most = usize::from(WHOLE - 1);
        for (row, range) in ranges.iter().take(most).enumerate() {
            let rest = if row + 1 == most { range.start..glyphs.len() } else { range.clone() };
            let text: String =
                glyphs[rest].iter().map(|glyph| if glyph.breaks() { " " } else { &*glyph.text }).collect();
            lines.push(Line::styled(width::cut(&text, wide), line.event.sign().1));
        }
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The lines that are listed.
pub(super) fn table(jobs: &JobsPage, language: Language) -> Table {
    let log = &jobs.log;
    let lines = (0..log.listed.len()).filter_map(|at| log.line(at));
    let rows = lines.map(|line| vec![when(line), line.event.text(language)]).collect();
    Table::new(language, &[words::TIME, words::LINE], rows)
}
