//! Draws the neighbours of a document.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::FeaturesPage;
use super::listing::FeatureSet;
use super::near::NearPane;
use super::view::draw_outstanding;
use super::words as w;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::field::{self, Field};
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::{figures, look, sentences, width, words};
use inkstone_features::inspect::{Found, ListedDocument, Near, NearMeasure, Neighbours, Nothing};
use inkstone_store::RowKind;

/// Lines above the list.
const HEAD: u16 = 2;

/// The areas of the question and of the list.
pub(super) fn areas(inner: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0)]).areas(inner)
}

pub(super) fn draw(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    set: &FeatureSet,
    frame: &mut Frame<'_>,
    inner: Rect,
) {
    let near = &state.near;
    if let Some(field) = &near.field {
        return draw_field(context, field, frame, inner);
    }
    if near.found.is_some() {
        return draw_found(context, state, frame, inner);
    }
    let Some(reading) = set.id.and_then(|id| near.neighbours(id)) else {
        return sentences::draw([(context.say(w::ASK_NEAR), look::PLAIN)], frame, inner);
    };
    if draw_outstanding(context, &set.name, reading, frame, inner) {
        return;
    }
    let Some(neighbours) = reading.errand.get() else { return };
    let [head, below] = areas(inner);
    let room = head.width as usize;
    let query = neighbours
        .query
        .as_ref()
        .map(|query| format!("{} {} {} {}", context.say(w::QUERY), minute(query), codes(query), title(context, query)));
    let lines = vec![
        Line::styled(width::cut(&query.unwrap_or_default(), room), look::STRONG),
        Line::from(rules(context, state, set, neighbours, room)),
    ];
    frame.render_widget(Paragraph::new(lines), head);
    if let Some(nothing) = neighbours.nothing {
        let text = context.say(match nothing {
            Nothing::NoRows => w::NO_ROWS,
            Nothing::NoRow => w::NO_ROW,
            Nothing::Alone => w::ALONE,
        });
        return sentences::draw([(text, look::NOTE)], frame, below);
    }
    state.below.draw(frame, below);
}

/// Lists the neighbours of a document.
pub(super) fn fill(sheet: &mut ListSheet, near: &NearPane, set: &FeatureSet, neighbours: &Neighbours, desk: &Desk<'_>) {
    sheet.fill((set.id.map(|id| id.hex()), near.question(), neighbours.compared), desk.language, || {
        let columns = vec![
            number("rank", "#".to_owned(), 3).on_screen(),
            number("distance", measure(near.measure), 8),
            text("time", w::PUBLISHED, 16),
            text("codes", w::CODE, 13),
            text("repeats", words::REPEAT, 2).on_screen(),
            text("title", w::TITLE, 0),
            text("id", "doc_id".to_owned(), 16).on_paper(),
        ];
        let row = |(at, found): (usize, &Near)| {
            let document = &found.document;
            let [time, codes, title] = cells(document, desk);
            let cells = vec![
                Cell::count(Some(at as u64 + 1)),
                Cell::number(f64::from(found.value), |value| figures::number(value, 4)),
                time,
                codes,
                Cell::text(if found.repeats { desk.say(words::REPEAT) } else { "" }),
                title,
                Cell::text(document.doc_id.clone()),
            ];
            SheetRow { key: document.doc_id.clone(), style: look::PLAIN, cells }
        };
        (columns, neighbours.found.iter().enumerate().map(row).collect())
    });
}

/// Lists documents that were found by words.
pub(super) fn fill_found(sheet: &mut ListSheet, words: &str, found: &Found, desk: &Desk<'_>) {
    sheet.fill((words, found.total, found.documents.len()), desk.language, || {
        let columns = vec![text("time", w::PUBLISHED, 16), text("codes", w::CODE, 13), text("title", w::TITLE, 0)];
        let row = |document: &ListedDocument| SheetRow {
            key: document.doc_id.clone(),
            style: look::PLAIN,
            cells: cells(document, desk).to_vec(),
        };
        (columns, found.documents.iter().map(row).collect())
    });
}

/// Time, codes and title of a document.
fn cells(document: &ListedDocument, desk: &Desk<'_>) -> [Cell<'static>; 3] {
    let title = if document.title.trim().is_empty() { desk.say(w::NO_TITLE) } else { &document.title };
    [
        Cell::of(Value::Time(document.published_at)),
        Cell::text(document.codes.clone()).shown(codes(document)),
        Cell::text(title.to_owned()),
    ]
}

fn measure(measure: NearMeasure) -> crate::words::Word {
    match measure {
        NearMeasure::Cosine => w::COSINE,
        NearMeasure::Euclid => w::EUCLID,
    }
}

/// By what was compared, with whom, and how many came too late.
fn rules<'a>(
    context: &PageContext<'_>,
    state: &FeaturesPage,
    set: &FeatureSet,
    neighbours: &Neighbours,
    room: usize,
) -> Vec<Span<'a>> {
    let near = &state.near;
    let by = context.say(measure(near.measure));
    let whom = if near.any_time {
        Span::styled(context.say(w::ANY_TIME), look::NOTE)
    } else {
        Span::styled(format!("✓ {}", context.say(w::PAST_ONLY)), look::GOOD)
    };
    let mut counts = format!(" · {} {}", context.say(w::COMPARED), figures::count(neighbours.compared));
    if neighbours.later > 0 {
        counts += &format!(" · {} {}", context.say(w::LATER), figures::count(neighbours.later));
    }
    if set.kind == Some(RowKind::Dense { dim: 1 }) && near.measure == NearMeasure::Cosine {
        counts = format!(" · {}", context.say(w::ONE_COLUMN));
    }
    let used = width::width(by) + 3 + width::width(&whom.content);
    let counts = Span::styled(width::cut(&counts, room.saturating_sub(used)), look::DIM);
    vec![Span::raw(format!("{by} · ")), whom, counts]
}

fn draw_field(context: &PageContext<'_>, field: &Field, frame: &mut Frame<'_>, inner: Rect) {
    let [head, hint] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    field::draw(Span::raw(format!("{} /", context.say(w::FIND))), field, look::KEY, frame, head);
    frame.render_widget(Line::styled(context.say(w::TYPE_TO_FIND), look::DIM), hint);
}

fn draw_found(context: &PageContext<'_>, state: &FeaturesPage, frame: &mut Frame<'_>, inner: Rect) {
    let near = &state.near;
    let Some((text, found)) = &near.found else { return };
    let [head, below] = areas(inner);
    let room = inner.width as usize;
    let found = match (found.get(), found.fault()) {
        (_, Some(fault)) => return sentences::draw([(fault, look::BAD)], frame, inner),
        (None, None) => return sentences::draw([(context.say(w::FINDING), look::DIM)], frame, inner),
        (Some(found), None) if found.documents.is_empty() => {
            let text = format!("{} {:?}", context.say(w::NONE_FOUND), width::cut(text, room));
            return sentences::draw([(&*text, look::NOTE)], frame, inner);
        }
        (Some(found), None) => found,
    };
    let count = |n: usize| figures::count(n as u64);
    let place =
        format!("/{} · {} / {}", width::cut(text, 30), count(state.below.line() + 1), figures::count(found.total));
    let lines = vec![
        Line::styled(width::cut(&place, room), look::KEY),
        Line::styled(width::cut(context.say(w::CHOOSE), room), look::DIM),
    ];
    frame.render_widget(Paragraph::new(lines), head);
    state.below.draw(frame, below);
}

fn minute(document: &ListedDocument) -> String {
    document.published_at.format("%Y-%m-%d %H:%M").to_string()
}

/// The first code, and how many more.
fn codes(document: &ListedDocument) -> String {
    let mut codes = document.codes.split(',').filter(|code| !code.is_empty());
    let first = codes.next().unwrap_or("–");
    match codes.count() {
        0 => first.to_owned(),
        more => format!("{first} +{more}"),
    }
}

fn title(context: &PageContext<'_>, document: &ListedDocument) -> String {
    if document.title.trim().is_empty() { context.say(w::NO_TITLE).to_owned() } else { document.title.clone() }
}
