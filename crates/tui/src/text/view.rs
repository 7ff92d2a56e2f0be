//! Draws the page: the text with what the selected strategy keeps of it, beside it the tokens, below the strategies.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::bench::Tradable;
use super::shown::ShownText;
use super::{TextFocus, TextPage, Typing, TypingFor, lines, list, strips, words};
use crate::context::PageContext;
use crate::errand::Errand;
use crate::experiments::text::{KeptEnd, holds, share};
use crate::field;
use crate::words as shared;
use crate::{Kept, figures, look, width};
use inkstone_corpus::structure::{Section, Sentence};
use inkstone_market::OffCalendar;
use inkstone_report as report;

/// Columns from which text and tokens stand side by side, with the strategies below.
const WIDE: u16 = 110;
/// Cells of a document's title in the head of its text, at the least.
const LEAST_TITLE: usize = 8;

/// The areas of the text, the tokens and the strategies; one that is not shown is empty.
pub(super) fn panes(area: Rect, page: &TextPage) -> [Rect; 3] {
    let panes = if area.width >= WIDE {
        let strategies = page.shown.as_ref().map_or(0, |shown| shown.listed.len());
        let most = (area.height * 2 / 5).max(5);
        let height = u16::try_from(strategies + 3).unwrap_or(u16::MAX).clamp(5, most);
        let [above, list] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
        let [text, cuts] = Layout::horizontal([Constraint::Percentage(60), Constraint::Min(0)]).areas(above);
        [text, cuts, list]
    } else {
        let share = if page.focus == TextFocus::Text { 35 } else { 48 };
        let [text, below] = Layout::vertical([Constraint::Min(0), Constraint::Percentage(share)]).areas(area);
        match page.focus {
            TextFocus::Strategies => [text, Rect::default(), below],
            TextFocus::Text | TextFocus::Cuts => [text, below, Rect::default()],
        }
    };
    page.zoom.areas(panes, page.focus as usize, area)
}

pub(super) fn text_width(pane: Rect) -> usize {
    (look::inside(pane).width as usize).saturating_sub(lines::GUTTER)
}

/// Lines of text in sight.
pub(super) fn text_rows(pane: Rect) -> usize {
    look::inside(pane).height as usize
}

pub(crate) fn draw(context: &PageContext<'_>, page: &TextPage, frame: &mut Frame<'_>, area: Rect) {
    let Some(shown) = &page.shown else {
        let fault = page.asked.as_ref().and_then(Errand::fault);
        let line = match (fault, &page.asked) {
            (Some(fault), _) => Line::styled(width::cut(fault, 2000), look::BAD),
            _ if context.workspace.text.is_none() => Line::raw(context.say(words::NO_WAY)),
            (None, Some(asked)) if asked.waiting() => Line::styled(context.say(shared::READING), look::DIM),
            _ => Line::raw(context.say(words::NO_TEXT)),
        };
        look::message(line, look::pane(format!(" {} ", context.say(words::ORIGINAL)), true), frame, area);
        return draw_field(context, page, frame, look::inside(area));
    };
    let [text, cuts, list] = panes(area, page);
    if !text.is_empty() {
        draw_text(context, page, shown, frame, text);
    }
    if !cuts.is_empty() {
        strips::draw(context, page, shown, frame, cuts);
    }
    if !list.is_empty() {
        list::draw(context, page, shown, frame, list);
    }
}

fn draw_text(context: &PageContext<'_>, page: &TextPage, shown: &ShownText, frame: &mut Frame<'_>, pane: Rect) {
    let all = shown.lines().len();
    let rows = text_rows(pane);
    let seen = format!(" {}/{} ", figures::count((shown.top + rows).min(all) as u64), figures::count(all as u64));
    let place = match shown.place {
        Some(_) => {
            let count = |n: usize| figures::count(n as u64);
            // Of a list of page 1 its length, then that of the corpus.
            match page.list_with(shown.number) {
                Some((list, at)) if list.len() < shown.count => {
                    format!(" {} / {} ({}) ", count(at + 1), count(list.len()), count(shown.count))
                }
                Some((list, at)) => format!(" {} / {} ", count(at + 1), count(list.len())),
                None => format!(" {} / {} ", count(shown.number + 1), count(shown.count)),
            }
        }
        None => String::new(),
    };
    let room = (pane.width as usize).saturating_sub(3 + width::width(&place));
    let block = look::pane(head(context, shown, room), page.focus == TextFocus::Text)
        .title_top(Line::styled(place, look::DIM).right_aligned())
        .title_bottom(foot(context, shown, (pane.width as usize).saturating_sub(width::width(&seen) + 4)))
        .title_bottom(Line::styled(seen, look::DIM).right_aligned());
    let inner = look::inside(pane);
    frame.render_widget(block, pane);
    if shown.text().trim().is_empty() {
        let line = Paragraph::new(context.say(words::BLANK)).wrap(Wrap { trim: false });
        frame.render_widget(line, inner);
    } else if all == 0 {
        let fault = shown.lines.as_ref().and_then(Errand::fault);
        let line = fault
            .map_or_else(|| Line::styled(context.say(words::LAYING_OUT), look::DIM), |f| Line::styled(f, look::BAD));
        frame.render_widget(line, inner);
    } else {
        let kept = shown.kept.as_ref().and_then(Errand::get).and_then(|rows| rows.get(page.strategy.at)?.kept.as_ref());
        let lines = shown.lines().iter().skip(shown.top).take(rows);
        let lines: Vec<Line<'_>> = lines.map(|line| text_line(context, shown, kept, line, text_width(pane))).collect();
        frame.render_widget(Paragraph::new(lines), inner);
    }
    draw_field(context, page, frame, inner);
}

/// A line of text behind two signs: how much of it is kept, and whether it is boilerplate.
fn text_line(
    context: &PageContext<'_>,
    shown: &ShownText,
    kept: Option<&Kept>,
    line: &std::ops::Range<usize>,
    columns: usize,
) -> Line<'static> {
    let cursor = shown.cursor();
    let glyphs: Vec<(String, usize)> =
        lines::glyphs(shown.text(), line).map(|(glyph, at)| (glyph.text.into_owned(), at)).collect();
    let sign = match kept.map(|kept| share(&glyphs, &kept.ranges)) {
        Some(KeptEnd::Whole) => "┃",
        Some(KeptEnd::Part) => "╏",
        Some(KeptEnd::None) | None => " ",
    };
    let is_boilerplate = |at: usize| shown.sentence_at(at).is_some_and(goes_as_boilerplate);
    let boilerplate = glyphs.iter().any(|(text, at)| !text.trim().is_empty() && is_boilerplate(*at));
    let mut spans = vec![Span::styled(sign, look::KEY), Span::styled(if boilerplate { "░" } else { " " }, look::NOTE)];
    let used: usize = glyphs.iter().map(|(text, _)| width::width(text)).sum();
    let style = |at: usize| match kept {
        _ if cursor.contains(&at) => look::SELECTED,
        Some(kept) if !holds(&kept.ranges, at) => look::DIM,
        _ => look::PLAIN,
    };
    spans.extend(look::runs(glyphs.iter().map(|(text, at)| (text, style(*at)))));
    // Behind the end of boilerplate stands why it is that, where there is room.
    let ends = boilerplate && !is_boilerplate(line.end) || line.end == shown.text().len();
    if boilerplate
        && ends
        && let Some(reason) = reason(context, shown, line.start)
    {
        let reason = format!("  ({reason})");
        if used + width::width(&reason) <= columns {
            spans.push(Span::styled(reason, look::NOTE));
        }
    }
    Line::from(spans)
}

/// True if strategies without boilerplate drop a sentence.
fn goes_as_boilerplate(sentence: &Sentence) -> bool {
    sentence.boilerplate || sentence.section == Section::Disclaimer
}

/// The reason why a sentence is dropped as boilerplate, and how many documents have it where that is known.
fn reason(context: &PageContext<'_>, shown: &ShownText, at: usize) -> Option<String> {
    let sentence = shown.sentence_at(at).filter(|sentence| goes_as_boilerplate(sentence))?;
    if !sentence.boilerplate {
        return Some(context.say(report::section(sentence.section)).to_owned());
    }
    let count = shown
        .documents_with(at)
        .map(|count| format!(" · {} {}", figures::count(u64::from(count)), context.say(words::APPEARS)));
    Some(format!("{}{}", context.say(words::BOILERPLATE), count.unwrap_or_default()))
}

/// The line about the text: its kind, title, length, time of publication and first trading day.
fn head(context: &PageContext<'_>, shown: &ShownText, room: usize) -> String {
    let document = &shown.subject.document;
    let size = format!("{} {}", figures::count(shown.characters as u64), context.say(words::CHARACTERS_AT));
    if shown.place.is_none() {
        return width::cut(&format!(" {} · {} · {size} ", context.say(words::ORIGINAL), context.say(words::OWN)), room);
    }
    let published = document.published_at.format("%Y-%m-%d %H:%M");
    let tradable = match shown.about.tradable {
        Tradable::Unknown => String::new(),
        Tradable::From(day) => format!(" → {} {day}", context.say(words::TRADABLE)),
        Tradable::Never(OffCalendar::Early) => format!(" → {}", context.say(words::TOO_EARLY)),
        Tradable::Never(OffCalendar::Late) => format!(" → {}", context.say(words::TOO_LATE)),
    };
    let kind = context.say(shared::kind(document.kind));
    let rest = format!("{size} · {published}{tradable}");
    // The title is the first line of the text as well, and the length stands beside the tokens: they give way, dates do not.
    let left = room.saturating_sub(width::width(kind) + width::width(&rest) + 8);
    if !document.title.is_empty() && left >= LEAST_TITLE {
        return format!(" {kind} · {} · {rest} ", width::cut(&document.title, left));
    }
    let shorter = [format!(" {kind} · {rest} "), format!(" {published}{tradable} "), format!(" {published} ")];
    shorter.into_iter().find(|head| width::width(head) <= room).unwrap_or_default()
}

/// The line about the cursor: its section, and why that may be dropped; or a fault in reading the
/// text.
fn foot<'a>(context: &PageContext<'_>, shown: &ShownText, room: usize) -> Line<'a> {
    if let Some(fault) = &shown.fault {
        return Line::styled(width::cut(&format!(" {fault} "), room), look::BAD);
    }
    let at = shown.cursor().start;
    let Some(sentence) = shown.sentence_at(at) else { return Line::default() };
    let reason = reason(context, shown, at).map(|reason| format!(" · ░ {reason}")).unwrap_or_default();
    Line::styled(width::cut(&format!(" {}{reason} ", context.say(report::section(sentence.section))), room), look::DIM)
}

/// Draws the line of text that is typed over the top of an area.
fn draw_field(context: &PageContext<'_>, page: &TextPage, frame: &mut Frame<'_>, area: Rect) {
    let Some(Typing { field, .. }) = page.typing.as_ref().filter(|typing| typing.what == TypingFor::Text) else {
        return;
    };
    let area = Rect { height: area.height.min(2), ..area };
    frame.render_widget(Clear, area);
    let [head, hint] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    field::draw(Span::styled(context.say(words::OWN_PROMPT), look::KEY), field, look::PLAIN, frame, head);
    frame.render_widget(Line::styled(width::cut(context.say(words::OWN_HINT), area.width as usize), look::DIM), hint);
}
