//! Draws the tokens: a strip of lines for each tokeniser, all of them around the same bytes.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::shown::ShownText;
use super::{TextFocus, TextPage, cuts, lines, words};
use crate::context::PageContext;
use crate::corpus::PieceKind;
use crate::{Meaning, figures, look, sentences, width};

/// Lines below the strips that tell of the token under the cursor.
const ABOUT: u16 = 2;
/// Lines of a pane from which one of them is left empty before what is told of the token.
const TALL: u16 = 14;
/// Rows of a strip for each line of text that it shows before the one of the cursor.
const BEFORE: usize = 5;
/// Lines of a strip at the least: its name and two of tokens.
const LEAST: u16 = 3;

/// The strips of a pane, each with its tokeniser: all where there is room, else some with the one in focus.
fn strips(pane: Rect, tokeniser: usize, count: usize) -> Vec<(usize, Rect)> {
    let inner = look::inside(pane);
    let gap = u16::from(inner.height >= TALL);
    let height = inner.height.saturating_sub(ABOUT + gap);
    let shown = ((height / LEAST) as usize).clamp(1, count.max(1)).min(count);
    let first = (tokeniser + 1).saturating_sub(shown);
    let areas = Layout::vertical(vec![Constraint::Fill(1); shown]).split(Rect { height, ..inner });
    (first..).zip(areas.iter().copied()).collect()
}

/// The tokeniser whose strip is at a place of the pane.
pub(super) fn strip_at(pane: Rect, tokeniser: usize, count: usize, at: Position) -> Option<usize> {
    strips(pane, tokeniser, count).into_iter().find(|(_, area)| area.contains(at)).map(|found| found.0)
}

pub(super) fn draw(context: &PageContext<'_>, page: &TextPage, shown: &ShownText, frame: &mut Frame<'_>, pane: Rect) {
    let Some(bench) = &context.workspace.text else { return };
    let count = bench.tokenisers.len();
    let name = bench.tokenisers.get(page.tokeniser).map_or("", |tokeniser| &tokeniser.name);
    let title = format!(" {} · {} {}/{count} ", context.say(words::CUTS), width::cut(name, 20), page.tokeniser + 1);
    frame.render_widget(look::pane(title, page.focus == TextFocus::Cuts), pane);
    let strips = strips(pane, page.tokeniser, count);
    // All strips begin where a line of the text does, so that they stay in step.
    let least = strips.iter().map(|strip| strip.1.height as usize).min().unwrap_or(0);
    let cursor = shown.cursor().start;
    let line = lines::line_of(shown.lines(), cursor).saturating_sub(least.saturating_sub(1) / BEFORE);
    let from = shown.lines().get(line).map_or(cursor, |line| line.start);
    for (tokeniser, area) in strips {
        draw_strip(context, page, shown, (tokeniser, from), frame, area);
    }
    let inner = look::inside(pane);
    let about = Rect { y: inner.bottom().saturating_sub(ABOUT), height: ABOUT.min(inner.height), ..inner };
    frame.render_widget(Paragraph::new(under(context, shown, about.width as usize).to_vec()), about);
}

/// The strip of a tokeniser, from a byte of the text on.
fn draw_strip(
    context: &PageContext<'_>,
    page: &TextPage,
    shown: &ShownText,
    (tokeniser, from): (usize, usize),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let Some(of) = context.workspace.text.as_ref().and_then(|bench| bench.tokenisers.get(tokeniser)) else { return };
    let focused = tokeniser == page.tokeniser;
    let total = area.width as usize;
    let cursor = shown.cursor();
    let place =
        shown.tokens(tokeniser).map(|tokens| place(tokens.ranges.len(), cuts::sharing(&tokens.ranges, &cursor)));
    let place = place.unwrap_or_default();
    let sign = if focused { "▶ " } else { "  " };
    let name = width::left(&format!("{sign}{}", of.name), total.saturating_sub(width::width(&place)));
    let style = if focused { look::STRONG } else { look::PLAIN };
    let mut strip = vec![Line::from(vec![Span::styled(name, style), Span::styled(place, look::DIM)])];
    let rows = (area.height as usize).saturating_sub(1);
    let cut = shown.cuts.get(tokeniser);
    match (shown.tokens(tokeniser), cut.and_then(|cut| cut.fault())) {
        (Some(tokens), _) if tokens.ranges.is_empty() => {
            strip.push(Line::styled(format!("  {}", context.say(words::NO_TOKENS)), look::DIM));
        }
        (Some(tokens), _) => {
            let text = shown.text();
            let room = (total.saturating_sub(2), rows);
            // Tokens that the tokeniser in focus cuts otherwise have a colour.
            let other = shown.tokens(page.tokeniser).filter(|_| !focused).map(|other| &**other);
            for pieces in cuts::strip(text, (tokens, other), from, &cursor, room) {
                let spans = pieces.into_iter().map(|(piece, sort)| {
                    let style = match sort {
                        PieceKind::Marked(Meaning::Boilerplate) => look::NOTE,
                        PieceKind::Marked(_) => look::SELECTED,
                        sort => sort.style(context.workspace.red_up),
                    };
                    Span::styled(piece, style)
                });
                strip.push(Line::from_iter(std::iter::once(Span::raw("  ")).chain(spans)));
            }
        }
        (None, Some(fault)) => {
            let lines = sentences::lines(fault, total.saturating_sub(2)).into_iter();
            strip.extend(lines.map(|line| Line::styled(format!("  {line}"), look::BAD)));
        }
        (None, None) => strip.push(Line::styled(format!("  {}", context.say(words::CUTTING)), look::DIM)),
    }
    strip.truncate(area.height as usize);
    frame.render_widget(Paragraph::new(strip), area);
}

/// Which of the tokens are under the cursor: `57 / 812`, `120–123 / 1,842`.
fn place(count: usize, sharing: std::ops::Range<usize>) -> String {
    let all = figures::count(count as u64);
    let number = |n: usize| figures::count(n as u64);
    match sharing.len() {
        0 => format!("– / {all} "),
        1 => format!("{} / {all} ", number(sharing.end)),
        _ => format!("{}–{} / {all} ", number(sharing.start + 1), number(sharing.end)),
    }
}

/// The lines about the token under the cursor.
fn under<'a>(context: &PageContext<'_>, shown: &ShownText, columns: usize) -> [Line<'a>; 2] {
    let Some(under) = &shown.under else { return [Line::default(), Line::default()] };
    let range = |range: &std::ops::Range<usize>| {
        format!("{}..{}", figures::count(range.start as u64), figures::count(range.end as u64))
    };
    let places = format!(
        " {} {} · {} {}",
        context.say(words::BYTES),
        range(&under.bytes),
        context.say(words::CHARACTERS_AT),
        range(&under.characters)
    );
    // The beginning of a long token is enough to know it by.
    let long = under.bytes.len().min(400);
    let written = &shown.text()[under.bytes.start..shown.text().floor_char_boundary(under.bytes.start + long)];
    let token = width::cut(written, columns.saturating_sub(width::width(&places) + 1));
    let mut facts = Vec::new();
    let described = &under.described;
    if let Some(tag) = &described.tag {
        facts.push(format!("{} {tag}", context.say(words::TAG)));
    }
    if let Some(known) = described.known {
        facts.push(context.say(if known { words::IN_DICTIONARY } else { words::NOT_IN_DICTIONARY }).to_owned());
    }
    if let Some(id) = under.id {
        facts.push(format!("{} {id}", context.say(words::ID)));
    }
    if let Some(written) = &described.written {
        facts.push(format!("{} {written}", context.say(words::WRITTEN)));
    }
    facts.push(context.say(words::TIMES_HERE).replace("{}", &figures::count(under.times as u64)));
    let known = width::cut(&format!(" {}", facts.join(" · ")), columns);
    [
        Line::from(vec![Span::raw(" "), Span::styled(token, look::KEY), Span::styled(places, look::DIM)]),
        Line::styled(known, look::DIM),
    ]
}
