//! Draws the neighbours of a document.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::FeaturesPage;
use super::listing::FeatureSet;
use super::view::draw_outstanding;
use super::words as w;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::field::{self, Field};
use crate::list::{self, ListColumn};
use crate::page::Table;
use crate::{figures, look, sentences, width, words};
use inkstone_features::inspect::{ListedDocument, NearMeasure, Neighbours, Nothing};
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
    let columns = [
        ListColumn::number("#", 3),
        ListColumn::number(context.say(measure(near.measure)), 8),
        ListColumn::text(context.say(w::PUBLISHED), 16),
        ListColumn::text(context.say(w::CODE), 13),
        ListColumn::text(context.say(words::REPEAT), 2),
        ListColumn::text(context.say(w::TITLE), 0),
    ];
    let row = |at: usize| {
        let found = &neighbours.found[at];
        let document = &found.document;
        let repeats = if found.repeats { context.say(words::REPEAT) } else { "" };
        let cells = vec![
            (at + 1).to_string(),
            figures::number(f64::from(found.value), 4),
            minute(document),
            codes(document),
            repeats.to_owned(),
            title(context, document),
        ];
        (cells, look::PLAIN)
    };
    list::draw(&columns, neighbours.found.len(), near.cursor, row, frame, below);
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
    let place = format!("/{} · {} / {}", width::cut(text, 30), count(near.choice.at + 1), figures::count(found.total));
    let lines = vec![
        Line::styled(width::cut(&place, room), look::KEY),
        Line::styled(width::cut(context.say(w::CHOOSE), room), look::DIM),
    ];
    frame.render_widget(Paragraph::new(lines), head);
    let columns = [
        ListColumn::text(context.say(w::PUBLISHED), 16),
        ListColumn::text(context.say(w::CODE), 13),
        ListColumn::text(context.say(w::TITLE), 0),
    ];
    let row = |at: usize| {
        let document = &found.documents[at];
        (vec![minute(document), codes(document), title(context, document)], look::PLAIN)
    };
    list::draw(&columns, found.documents.len(), near.choice, row, frame, below);
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

pub(super) fn table(state: &FeaturesPage, desk: &Desk<'_>) -> Option<Table> {
    let neighbours = state.near.neighbours(state.selected()?.id?)?.errand.get()?;
    let header = [measure(state.near.measure), w::PUBLISHED, w::CODE, w::TITLE];
    let row = |found: &inkstone_features::inspect::Near| {
        let document = &found.document;
        let time = document.published_at.format("%Y-%m-%d %H:%M:%S").to_string();
        vec![found.value.to_string(), time, document.codes.clone(), document.title.clone(), document.doc_id.clone()]
    };
    let mut table = Table::new(desk.language, &header, neighbours.found.iter().map(row).collect());
    table.header.push("doc_id".to_owned());
    Some(table)
}
