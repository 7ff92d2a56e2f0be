//! Draws the reader.

use chrono::TimeDelta;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::document::DocumentText;
use super::layout::{BAD, BOILERPLATE, GOOD, HIT, NAME, PieceKind};
use super::{CorpusFocus, CorpusPage, words as own};
use crate::context::PageContext;
use crate::words;
use crate::{Meaning, TokenUnit, figures, look, width};

/// Lines that say what document it is.
const HEAD: u16 = 1;

/// Lines of the text that the reader has room for.
pub(super) fn room(reader: Rect) -> usize {
    reader.height.saturating_sub(2 + HEAD) as usize
}

pub(super) fn draw(context: &PageContext<'_>, corpus: &CorpusPage, frame: &mut Frame<'_>, area: Rect) {
    let focused = corpus.focus == CorpusFocus::Reader;
    let reader = &corpus.reader;
    let Some(shown) = reader.shown() else {
        let fault = reader.fault().or_else(|| corpus.fault_here()).unwrap_or_default();
        return look::message(Line::styled(fault, look::BAD), look::pane("", focused), frame, area);
    };
    let text = &*shown.text;
    let cells = area.width.saturating_sub(2) as usize;
    let block = look::pane(width::cut(&format!(" {} ", title(context, text)), cells), focused);
    let inner = block.inner(area);
    let [head, body] = Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0)]).areas(inner);
    let seen = (reader.scroll + body.height as usize).min(reader.lines());
    let place = match reader.hits() {
        (_, 0) => format!(" {seen}/{} ", reader.lines()),
        (hit, hits) => {
            format!(" {} {}/{hits} · {seen}/{} ", context.say(own::A_HIT), hit.unwrap_or(0), reader.lines())
        }
    };
    let left = cells.saturating_sub(width::width(&place));
    let footer = match &text.fault {
        Some(fault) => Line::styled(width::cut(&format!(" {fault} "), left), look::BAD),
        None => legend(context, text, reader.hits().1 > 0, left),
    };
    let block = block.title_bottom(footer).title_bottom(Line::raw(place).right_aligned());
    let lines =
        (reader.scroll..reader.lines()).take(body.height as usize).filter_map(|at| reader.line(at)).map(|line| {
            let hit = Span::styled(if line.hit { HIT } else { " " }, look::KEY);
            let boilerplate = Span::styled(if line.boilerplate { BOILERPLATE } else { " " }, look::DIM);
            let pieces =
                line.pieces.into_iter().map(|(piece, sort)| Span::styled(piece, sort.style(context.workspace.red_up)));
            Line::from_iter([hit, boilerplate].into_iter().chain(pieces))
        });
    let lines: Vec<Line<'_>> = lines.collect();
    frame.render_widget(block, area);
    let note = corpus.number(corpus.cursor.at).map_or("", |n| corpus.catalogue.note(n));
    let note = if note.is_empty() { String::new() } else { format!("{}: {note} · ", context.say(own::NOTE)) };
    let left = usize::from(head.width).saturating_sub(width::width(&note));
    let about = Span::styled(width::cut(&about(context, corpus, text), left), look::DIM);
    frame.render_widget(Line::from(vec![Span::styled(width::cut(&note, head.width.into()), look::NOTE), about]), head);
    frame.render_widget(Paragraph::new(lines), body);
}

fn title<'a>(context: &PageContext<'_>, text: &'a DocumentText) -> &'a str {
    if text.document.title.is_empty() { context.say(own::NO_TITLE) } else { &text.document.title }
}

/// When it was published and ingested, what it is, how long, what it repeats, and by whom.
fn about(context: &PageContext<'_>, corpus: &CorpusPage, text: &DocumentText) -> String {
    let document = &text.document;
    let tokens = figures::count(text.tokens.len() as u64);
    let size = match corpus.reader.shown().and_then(|shown| shown.wanted.cut) {
        None => format!("{} {}", figures::count(text.characters as u64), context.say(words::CHARACTERS)),
        Some(TokenUnit::Characters) => format!("{} {tokens}", context.say(words::CUT_CHARACTERS)),
        Some(TokenUnit::Words) => format!("{} {tokens}", context.say(words::CUT_WORDS)),
    };
    let by = [document.org.as_deref(), document.author.as_deref(), document.rating.as_deref()];
    let by: String = by.into_iter().flatten().filter(|s| !s.is_empty()).map(|s| format!(" · {s}")).collect();
    let first = text.first.as_ref().map(|f| format!(" · {} {f}", context.say(words::REPEATS))).unwrap_or_default();
    let time = document.published_at.format("%Y-%m-%d %H:%M:%S");
    let delay = document.ingested_at.map(|at| delay(context, at - document.published_at)).unwrap_or_default();
    format!("{time}{delay} · {} · {size}{first}{by}", context.say(words::kind(document.kind)))
}

/// The time from publication to ingestion, in its largest whole unit.
fn delay(context: &PageContext<'_>, delay: TimeDelta) -> String {
    let seconds = delay.num_seconds();
    let (size, unit) = match seconds.abs() {
        0..120 => (1, own::SECONDS),
        120..7_200 => (60, own::MINUTES),
        7_200..172_800 => (3_600, own::HOURS),
        _ => (86_400, own::DAYS),
    };
    format!(" · {} {:+} {}", context.say(own::INGESTED), seconds / size, context.say(unit))
}

/// The legend of the signs and colours that the document has, as far as so many cells have room.
fn legend(context: &PageContext<'_>, text: &DocumentText, hits: bool, cells: usize) -> Line<'static> {
    let has = |meaning| text.marks.iter().any(|mark| mark.meaning == meaning);
    let style = |meaning| PieceKind::Marked(meaning).style(context.workspace.red_up);
    let mut entries: Vec<Span<'static>> = Vec::new();
    for meaning in [Meaning::Name, Meaning::Positive, Meaning::Negative, Meaning::Boilerplate] {
        if has(meaning) {
            let entry = match meaning {
                Meaning::Name => format!("{}{}{}", NAME[0], context.say(words::NAME), NAME[1]),
                Meaning::Positive => format!("{}{GOOD}", context.say(own::GOOD_TONE)),
                Meaning::Negative => format!("{}{BAD}", context.say(own::BAD_TONE)),
                Meaning::Boilerplate => format!("{BOILERPLATE}{}", context.say(own::BOILERPLATE)),
            };
            entries.push(Span::styled(entry, style(meaning)));
        }
    }
    if hits {
        entries.push(Span::styled(format!("{HIT}{}", context.say(own::A_HIT)), look::KEY));
    }
    let mut used = 1;
    entries.retain(|entry| {
        used += width::width(&entry.content) + 1;
        used <= cells
    });
    if entries.is_empty() {
        return Line::default();
    }
    let spaced = entries.into_iter().flat_map(|entry| [Span::raw(" "), entry]);
    Line::from_iter(spaced.chain([Span::raw(" ")]))
}
