//! Draws one document: what each strategy keeps of it, side by side where there is room.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::open::Open;
use super::text::{self, KeptEnd, TextLine};
use crate::context::PageContext;
use crate::page::{Table, exact};
use crate::{Kept, Truncated, figures, look, width, words};
use inkstone_features::experiment::Findings;
use inkstone_report as report;

use inkstone_base::language::Language;

/// Least cells of a column with its frame.
const LEAST: u16 = 40;
/// Columns at most: more would have no room for sentences.
const MOST: usize = 3;
/// Lines of the head, and of the sections above the text.
const HEAD: u16 = 1;
const SECTIONS: u16 = 2;
/// Lines around the text, those of the frame with them.
const AROUND: u16 = HEAD + SECTIONS + 2;

/// Strategies that stand side by side on a page of this width.
pub(super) fn columns(width: u16, strategies: usize) -> usize {
    ((width / LEAST) as usize).clamp(1, MOST).min(strategies.max(1))
}

/// Cells of a line of text: a column without its frame, the sign before the line, and the space behind it.
pub(super) fn text_width(page: Rect, columns: usize) -> usize {
    (page.width as usize / columns.max(1)).saturating_sub(4).max(2)
}

/// Lines of text on the page.
pub(super) fn rows(page: Rect) -> usize {
    page.height.saturating_sub(AROUND) as usize
}

/// Draws the document, with what is said of how two cells score it.
pub(super) fn draw(
    context: &PageContext<'_>,
    findings: &Findings,
    (open, differing): (&Open, Option<String>),
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let truncated = match open.truncated() {
        Some(truncated) => truncated,
        None => {
            let none = || Line::raw(context.say(words::NO_SUCH_DOCUMENT));
            let line = context.outstanding(&open.document).unwrap_or_else(none);
            return look::message(line, look::pane(format!(" {} ", context.say(words::DOCUMENT)), true), frame, page);
        }
    };
    let [head, below] = Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0)]).areas(page);
    let count = |n: usize| figures::count(n as u64);
    let mut place =
        format!(" {} {} / {} · ", context.say(words::DOCUMENT), count(open.number + 1), count(truncated.documents));
    place.extend(differing.map(|differing| format!("{differing} · ")));
    let room = (head.width as usize).saturating_sub(width::width(&place));
    let title = Line::from(vec![
        Span::styled(place, look::DIM),
        Span::styled(width::cut(&truncated.title, room), look::STRONG),
    ]);
    frame.render_widget(title, head);
    let strategies = &truncated.strategies;
    if strategies.is_empty() {
        return look::message(context.say(words::NO_STRATEGY), look::pane("", true), frame, below);
    }
    let columns = columns(page.width, strategies.len());
    // The selected strategy is in the first column, until there are none left to stand beside it.
    let selected = open.strategy.unwrap_or(0);
    let first = selected.min(strategies.len() - columns);
    let areas = Layout::horizontal(vec![Constraint::Length(page.width / columns as u16); columns]).split(below);
    for (number, area) in (first..).zip(areas.iter()) {
        let place = format!(" {}/{} ", number + 1, strategies.len());
        let column = StrategyColumn { kept: &strategies[number], place, focused: number == selected };
        draw_column(context, findings, open, &column, frame, *area);
    }
}

struct StrategyColumn<'a> {
    kept: &'a Kept,
    /// Which of the strategies it is.
    place: String,
    focused: bool,
}

fn draw_column(
    context: &PageContext<'_>,
    findings: &Findings,
    open: &Open,
    column: &StrategyColumn<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let StrategyColumn { kept, place, focused } = column;
    let name = findings.cells.get(kept.cell).map(|cell| report::label(findings, cell)).unwrap_or_default();
    let room = (area.width as usize).saturating_sub(4 + width::width(place));
    let block = look::pane(format!(" {} ", width::cut(&name, room)), *focused)
        .title_top(Line::styled(place.as_str(), look::DIM).right_aligned())
        .title_bottom(Line::raw(format!(" {} ", tokens(context, kept))))
        .title_bottom(Line::styled(score(context, kept), look::KEY).right_aligned());
    let inner = look::framed(block, frame, area);
    let fault = open.truncated().and_then(|truncated| truncated.without_scores.as_ref());
    let [sections, body] = Layout::vertical([Constraint::Length(SECTIONS), Constraint::Min(0)]).areas(inner);
    let wide = sections.width as usize;
    let shares = shares(context, kept, wide).into_iter().map(|line| Line::styled(line, look::DIM));
    let mut shares: Vec<Line<'_>> = shares.collect();
    if let Some(fault) = fault {
        // The last of these lines gives way to why there is no score.
        shares.resize(usize::from(SECTIONS), Line::raw(""));
        shares[usize::from(SECTIONS) - 1] =
            Line::styled(width::cut(&format!("{}: {fault}", context.say(words::NO_SCORES)), wide), look::NOTE);
    }
    frame.render_widget(Paragraph::new(shares), sections);
    if kept.ranges.is_empty() {
        return frame.render_widget(Line::styled(context.say(words::KEEPS_NOTHING), look::NOTE), body);
    }
    let shown = open.lines.iter().skip(open.scroll).take(body.height as usize);
    frame.render_widget(Paragraph::new(shown.map(|line| text_line(line, kept)).collect::<Vec<_>>()), body);
}

/// A line of text after a sign of how much of it is kept, for screens that have no colours.
fn text_line<'a>(line: &TextLine, kept: &Kept) -> Line<'a> {
    let sign = match text::share(line, &kept.ranges) {
        KeptEnd::Whole => Span::styled("┃", look::KEY),
        KeptEnd::Part => Span::styled("╏", look::KEY),
        KeptEnd::None => Span::raw(" "),
    };
    let style = |at: usize| if text::holds(&kept.ranges, at) { look::PLAIN } else { look::DIM };
    let pieces = look::runs(line.iter().map(|(text, at)| (text, style(*at))));
    Line::from_iter(std::iter::once(sign).chain(pieces))
}

/// Tokens kept of all, and windows where there are several: `510/1,803 · 4 windows`.
fn tokens(context: &PageContext<'_>, kept: &Kept) -> String {
    let count = |n: usize| figures::count(n as u64);
    let mut text = format!("{}/{} {}", count(kept.kept), count(kept.all), context.say(words::TOKENS));
    if kept.windows > 1 {
        text += &format!(" · {} {}", count(kept.windows), context.say(words::WINDOWS));
    }
    text
}

fn score(context: &PageContext<'_>, kept: &Kept) -> String {
    kept.score.map(|score| format!(" {} {} ", context.say(words::SCORE), figures::signed(score, 4))).unwrap_or_default()
}

/// The tokens that strategies keep of the document, for copying.
pub(super) fn copied(findings: &Findings, truncated: &Truncated, language: Language) -> Table {
    let header = [super::words::CELL, super::words::KEEPS, words::TOKENS, words::WINDOWS, words::SCORE];
    let row = |kept: &Kept| {
        let name = findings.cells.get(kept.cell).map(|cell| report::label(findings, cell)).unwrap_or_default();
        let score = exact(kept.score.unwrap_or(f64::NAN));
        vec![name, kept.kept.to_string(), kept.all.to_string(), kept.windows.to_string(), score]
    };
    Table::new(language, &header, truncated.strategies.iter().map(row).collect())
}

/// The share of each section that is kept, in lines of at most this many cells: `title 100% risk
/// 0%`.
fn shares(context: &PageContext<'_>, kept: &Kept, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for share in &kept.sections {
        let percent = 100.0 * share.kept as f64 / share.tokens.max(1) as f64;
        let text = format!("{} {percent:.0}%", context.say(report::section(share.section)));
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = text,
            Some(line) if width::width(line) + 1 + width::width(&text) <= columns => *line += &format!(" {text}"),
            _ => lines.push(text),
        }
    }
    lines
}
