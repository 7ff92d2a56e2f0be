//! Draws the way down: breadcrumbs, the list or text of the level, and a line on what is marked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};

use super::{Drill, DrillLevel, lists, text};
use crate::context::PageContext;
use crate::{look, width, words};

use inkstone_base::language::Language;

/// Lines of the words below a text, with their frame.
const WORDS: u16 = 7;
/// Cells before a line of a text: the mark, what the sentence gave, a space.
pub(super) const MARGIN: usize = 11;

/// Breadcrumbs, the level, a line on what is marked.
pub(super) fn panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(page)
}

/// Breadcrumbs, text, words.
pub(super) fn text_panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(WORDS)]).areas(page)
}

/// The list, and the next level of the marked line, which is empty unless it is shown.
pub(super) fn split(ahead: bool, area: Rect) -> [Rect; 2] {
    let share = if ahead { 58 } else { 100 };
    Layout::horizontal([Constraint::Percentage(share), Constraint::Min(0)]).areas(area)
}

/// Lines of text that the page has room for.
pub(super) fn text_rows(page: Rect) -> usize {
    look::inside(text_panes(page)[1]).height as usize
}

/// The line of text at a place of the page, from the first one seen.
pub(super) fn text_row_at(at: Position, page: Rect) -> Option<usize> {
    let inner = look::inside(text_panes(page)[1]);
    inner.contains(at).then(|| usize::from(at.y - inner.y))
}

/// Cells of a line of text.
pub(super) fn text_width(page: Rect) -> usize {
    (page.width as usize).saturating_sub(2 + MARGIN).max(2)
}

pub(in crate::factor) fn draw(
    context: &PageContext<'_>,
    drill: &Drill,
    zoomed: bool,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [crumbs, ..] = panes(page);
    frame.render_widget(breadcrumbs(context, drill, crumbs.width as usize), crumbs);
    match (drill.level(), drill) {
        (DrillLevel::Sentences, Drill { sentences: Some(sentences), .. }) => {
            text::draw_text(context, sentences, frame, page)
        }
        (DrillLevel::Tokens, Drill { sentences: Some(sentences), .. })
            if sentences.sentence().is_some_and(|sentence| sentence.words.is_empty()) =>
        {
            text::draw_without_words(context, sentences, frame, page);
        }
        _ => lists::draw(context, drill, zoomed, frame, page),
    }
}

/// The path down: `因子 tone › Q5 › 2024-03-15 › 300731.SZ 启澜生物 › 公告 › 第 2 句 › 词`.
fn breadcrumbs<'a>(context: &PageContext<'_>, drill: &Drill, columns: usize) -> Line<'a> {
    let mut crumbs = vec![format!("{} {}", context.say(words::FACTOR), drill.factor)];
    crumbs.extend(drill.quantile().map(|quantile| format!("Q{quantile}")));
    crumbs.extend(drill.day().map(|day| day.to_string()));
    if let Some(documents) = &drill.documents {
        crumbs.push(format!("{} {}", documents.code, documents.name).trim_end().to_owned());
    }
    if let Some(sentences) = &drill.sentences {
        crumbs.push(context.say(words::kind(sentences.kind)).to_owned());
        if sentences.sentence().is_some() {
            crumbs.push(match context.language {
                Language::Zh => format!("第 {} 句", sentences.at + 1),
                Language::En => format!("sentence {}", sentences.at + 1),
            });
        }
    }
    crumbs.extend(drill.words.as_ref().map(|_| context.say(super::super::words::WORDS_LEVEL).to_owned()));
    let last = crumbs.pop().unwrap_or_default();
    let before: String = crumbs.iter().map(|crumb| format!("{crumb} › ")).collect();
    let room = columns.saturating_sub(1 + width::width(&last));
    Line::from(vec![
        Span::styled(format!(" {}", width::cut(&before, room)), look::DIM),
        Span::styled(width::cut(&last, columns.saturating_sub(1)), look::STRONG),
    ])
}

/// The sign of the marked line, which also stands where there are no colours.
pub(super) fn mark(marked: bool) -> &'static str {
    if marked { "▶" } else { " " }
}
