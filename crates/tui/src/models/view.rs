//! Draws the page: the list, and below or beside it a card, a question, the form or a training.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::bench::{ModelCard, Surprised};
use super::state::{Below, ModelsPage};
use super::{card, heat, picture, results, words};
use crate::context::PageContext;
use crate::kit::Zoom;
use crate::list::{self, ListColumn};
use crate::page::Table;
use crate::{figures, look};

use inkstone_base::language::Language;

/// Columns from which list and what is done stand side by side.
const BESIDE: u16 = 110;
/// Cells of the list there.
const LIST: u16 = 54;
/// Cells from which the list has all its columns.
const ROOMY: u16 = 70;
/// Height of a page that has room for the form below the list.
const TALL: u16 = 30;
/// Lines of a list above something else, at the least.
const LEAST: u16 = 7;

/// Lines of a tool above its results, the frame left out: what is asked.
pub(super) const ABOVE_RESULTS: u16 = 1;

pub(super) struct ModelPanes {
    pub(super) list: Rect,
    pub(super) below: Rect,
}

pub(super) fn panes(page: Rect, below: Below, zoom: &Zoom) -> ModelPanes {
    let focus = usize::from(below != Below::Card);
    let areas = if page.width >= BESIDE {
        Layout::horizontal([Constraint::Length(LIST), Constraint::Min(0)]).areas(page)
    } else if page.height < TALL && matches!(below, Below::Form | Below::Course) {
        // A form cut through its middle would be worse than a list out of sight.
        [Rect { height: 0, ..page }, page]
    } else {
        Layout::vertical([Constraint::Length(LEAST.max(page.height / 3)), Constraint::Min(0)]).areas(page)
    };
    let [list, below] = zoom.areas(areas, focus, page);
    ModelPanes { list, below }
}

/// Files that the list has room for.
pub(super) fn list_rows(list: Rect) -> usize {
    list.height.saturating_sub(3) as usize
}

/// Words of an answer that there is room for.
pub(super) fn result_rows(below: Rect) -> usize {
    below.height.saturating_sub(3 + ABOVE_RESULTS) as usize
}

/// Lines of the form that there is room for.
pub(super) fn form_rows(below: Rect) -> usize {
    below.height.saturating_sub(2 + picture::BELOW_FORM) as usize
}

/// Rows that tokens take in the pane below.
pub(super) fn heat_rows(tokens: &[Surprised], below: Rect) -> usize {
    heat::rows(tokens, below.width.saturating_sub(2) as usize).len()
}

/// Rows of tokens that there is room for.
pub(super) fn heat_room(below: Rect) -> usize {
    heat::room(below.height.saturating_sub(2 + ABOVE_RESULTS))
}

pub(crate) fn draw(context: &PageContext<'_>, models: &ModelsPage, frame: &mut Frame<'_>, page: Rect) {
    if context.workspace.models.is_none() {
        let block = look::pane(format!(" {} ", context.say(context.page.name())), true);
        return look::message(context.say(words::NO_BENCH), block, frame, page);
    }
    let empty = match (&models.list, models.cards.is_empty()) {
        _ if matches!(models.below, Below::Form | Below::Course) => None,
        (Some(list), _) if list.fault().is_some() => list.fault().map(|why| Line::styled(why, look::BAD)),
        (Some(list), true) if list.waiting() => Some(Line::styled(context.say(words::LOOKING), look::DIM)),
        (_, true) => Some(Line::raw(context.say(words::NO_MODELS))),
        _ => None,
    };
    if let Some(line) = empty {
        return look::message(line, look::pane(list_title(context, models), true), frame, page);
    }
    let ModelPanes { list, below } = panes(page, models.below, &models.zoom);
    if list.height > 0 {
        draw_list(context, models, frame, list);
    }
    match models.below {
        Below::Card => card::draw(context, models, frame, below),
        Below::Tool(tool) => results::draw(context, models, tool, frame, below),
        Below::Form => picture::draw_form(context, &models.form, frame, below),
        Below::Course => {
            if let Some(course) = &models.course {
                picture::draw_course(context, course, models.kept.as_ref(), frame, below);
            }
        }
    }
}

fn list_title<'a>(context: &PageContext<'_>, models: &ModelsPage) -> Line<'a> {
    let mut spans = vec![Span::raw(format!(" {}", context.say(context.page.name())))];
    if !models.cards.is_empty() {
        spans.push(Span::raw(format!(" · {} / {}", models.cursor.at + 1, models.cards.len())));
    }
    // A training goes on while others are looked at.
    if let Some(course) = models.course.as_ref().filter(|course| course.end.is_none()) {
        let loss = course.curve.last().map(|(_, loss)| format!(" {}", figures::number(*loss, 4))).unwrap_or_default();
        spans.push(Span::styled(format!(" · {} {}{loss}", context.say(words::TRAINING), course.kind), look::KEY));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}

fn draw_list(context: &PageContext<'_>, models: &ModelsPage, frame: &mut Frame<'_>, area: Rect) {
    let inner = look::framed(look::pane(list_title(context, models), models.below == Below::Card), frame, area);
    let columns = [
        ListColumn::text(context.say(words::NAME), 0),
        ListColumn::text(context.say(words::KIND), 9),
        ListColumn::text(context.say(words::UNTIL), 10),
        ListColumn::number(context.say(words::SIZE), 7),
        ListColumn::number(context.say(words::DIM), 7),
        ListColumn::number(context.say(words::WORDS), 9),
        ListColumn::number(context.say(words::DOCUMENTS), 9),
    ];
    // Beside something else the names need the room; the card has the sizes.
    let columns = if inner.width < ROOMY { &columns[..4] } else { &columns[..] };
    let row = |at: usize| {
        let card = &models.cards[at];
        (cells(card), if card.fault.is_some() { look::BAD } else { look::PLAIN })
    };
    list::draw(columns, models.cards.len(), models.cursor, row, frame, inner);
}

fn cells(card: &ModelCard) -> Vec<String> {
    let count = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), figures::count);
    // A sign repeats what colour tells.
    let kind = if card.fault.is_some() { format!("✗ {}", card.kind) } else { card.kind.clone() };
    vec![
        card.name.clone(),
        kind,
        until(card),
        megabytes(card.bytes),
        count(card.dim),
        count(card.words),
        count(card.documents),
    ]
}

fn until(card: &ModelCard) -> String {
    card.fitted_until.map_or_else(|| "–".to_owned(), |time| time.date().to_string())
}

/// Bytes in millions, as exactly as there is room.
pub(super) fn megabytes(bytes: u64) -> String {
    let millions = bytes as f64 / 1e6;
    figures::number(millions, if millions < 10.0 { 2 } else { 1 })
}

pub(super) fn list_table(cards: &[ModelCard], language: Language) -> Table {
    let header = [
        words::NAME,
        words::KIND,
        words::UNTIL,
        words::SIZE,
        words::DIM,
        words::WORDS,
        words::DOCUMENTS,
        words::TOKENS,
    ];
    let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
    let row = |card: &ModelCard| {
        vec![
            card.path.display().to_string(),
            card.kind.clone(),
            card.fitted_until.map(|time| time.to_string()).unwrap_or_default(),
            card.bytes.to_string(),
            number(card.dim),
            number(card.words),
            number(card.documents),
            number(card.tokens),
        ]
    };
    let mut table = Table::new(language, &header, cards.iter().map(row).collect());
    table.header[3] = "bytes".to_owned();
    table
}
