//! Draws the page and the table on it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::catalogue::PartSlot;
use super::order::By;
use super::{CorpusFocus, CorpusPage, Typing, beside, columns, reader_view, words as own};
use crate::context::PageContext;
use crate::desk::{Desk, PageRequest};
use crate::field::{self, Field};
use crate::kit::TableRow;
use crate::page::Table;
use crate::words;
use crate::{figures, look, width};

/// Rows of the table that are copied at most.
const COPIED: usize = 1000;

/// Table and reader: side by side where there is room for both, else one above the other.
pub(super) fn panes(corpus: &CorpusPage, page: Rect) -> [Rect; 2] {
    let panes = if page.width >= 110 {
        Layout::horizontal([Constraint::Percentage(54), Constraint::Min(0)]).areas(page)
    } else {
        Layout::vertical([Constraint::Percentage(45), Constraint::Min(0)]).areas(page)
    };
    corpus.zoom.areas(panes, corpus.focus as usize, page)
}

/// Documents that the table has room for.
pub(super) fn rows(table: Rect) -> usize {
    table.height.saturating_sub(3) as usize
}

pub(crate) fn draw(context: &PageContext<'_>, corpus: &CorpusPage, frame: &mut Frame<'_>, page: Rect) {
    if let Some(beside) = &corpus.beside {
        return beside::draw(context, beside, frame, page);
    }
    let empty = match &corpus.index {
        None => Some(Line::styled(context.say(words::READING), look::DIM)),
        Some(Err(error)) => Some(Line::styled(error.to_string(), look::BAD)),
        Some(Ok(_)) if corpus.catalogue.len() == 0 => Some(Line::raw(context.say(words::NO_CORPUS))),
        Some(Ok(_)) => None,
    };
    if let Some(line) = empty {
        return look::message(line, look::pane(format!(" {} ", context.say(words::CORPUS)), true), frame, page);
    }
    let [table, reader] = panes(corpus, page);
    draw_table(context, corpus, frame, table);
    reader_view::draw(context, corpus, frame, reader);
}

fn draw_table(context: &PageContext<'_>, corpus: &CorpusPage, frame: &mut Frame<'_>, area: Rect) {
    let cells = area.width.saturating_sub(2) as usize;
    let asked = asked(context, corpus, cells);
    let top = width::cut(&title(context, corpus), cells);
    let block = look::pane(top, corpus.focus == CorpusFocus::Table).title_bottom(Line::from(asked.spans));
    let inner = look::framed(block, frame, area);
    let columns = columns::columns(corpus);
    let lies_below = corpus.table_head.draw_over(&columns, context.language, frame, inner);
    if !lies_below && corpus.len() == 0 {
        let searching = corpus.search.as_ref().is_some_and(super::CorpusSearch::is_under_way);
        let line = Line::styled(context.say(if searching { words::SEARCHING } else { own::NOTHING_PASSES }), look::DIM);
        frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner);
    } else if !lies_below {
        let state = (corpus.cursor, corpus.len(), corpus.has_marks());
        let line = |at: usize| row(corpus, at, cells);
        // Documents in the order of a ranking are sorted by no column.
        let mut layout = corpus.table_head.layout.clone();
        layout.sort = layout.sort.filter(|_| corpus.ranking().is_none());
        layout.draw(&columns, corpus, context.language, state, line, frame, inner);
    }
    if let Some(before) = asked.cursor {
        let last = area.right().saturating_sub(2);
        field::put_cursor(area.x as usize + 1 + before, last, area.bottom().saturating_sub(1), frame);
    }
}

/// The title of the list: number of documents, order and folding.
fn title(context: &PageContext<'_>, corpus: &CorpusPage) -> String {
    let count = |n: usize| figures::count(n as u64);
    let catalogue = &corpus.catalogue;
    let mut position = format!("{} / {}", count((corpus.cursor.at + 1).min(corpus.len())), count(corpus.len()));
    if corpus.len() != catalogue.len() {
        position += &format!(" ({})", count(catalogue.len()));
    }
    let cleaned = corpus.index().is_some_and(|index| index.cleaned);
    let state = context.say(if cleaned { words::CLEANED } else { words::AS_INGESTED });
    let mut pieces = vec![context.say(words::CORPUS).to_owned(), position, state.to_owned()];
    if !catalogue.is_complete() {
        let (read, all) = (count(catalogue.documents_read()), count(catalogue.len()));
        pieces.push(format!("{} {read} / {all}", context.say(own::READ)));
    }
    let damaged = catalogue.faults().count();
    if damaged > 0 {
        pieces.push(format!("{damaged} {}", context.say(own::DAMAGED)));
    }
    if corpus.ranking().is_some() {
        pieces.push(context.say(own::BY_RELEVANCE).to_owned());
    } else if let Some(sort) = corpus.table_head.layout.sort.as_ref().filter(|sort| sort.column != By::Time.id())
        && let Some(by) = By::named(&sort.column)
    {
        pieces.push(format!("{}{}", columns::title(&by).to(context.language), sort.sign()));
    }
    if corpus.folded {
        pieces.push(context.say(own::FOLDED).to_owned());
    }
    if corpus.has_marks() {
        let word = if corpus.only_marked { own::ONLY_MARKED } else { own::MARKED };
        pieces.push(format!("{} {}", context.say(word), count(catalogue.facts.marks.len())));
    }
    if corpus.asked.count.is_some() {
        pieces.push(context.say(own::COUNTING).to_owned());
    }
    format!(" {} ", pieces.join(" · "))
}

/// Filter and search, as the lower edge of the list shows them.
struct LowerEdge {
    spans: Vec<Span<'static>>,
    /// Cells before the cursor, while something is typed.
    cursor: Option<usize>,
}

fn asked(context: &PageContext<'_>, corpus: &CorpusPage, cells: usize) -> LowerEdge {
    let filter_state = match (&corpus.filter_fault, corpus.filter.text().is_empty()) {
        (Some(fault), _) => Span::styled(own::complaint(context.language, fault), look::BAD),
        (None, true) => Span::styled(context.say(own::FILTER_HINT), look::DIM),
        (None, false) => Span::raw(found(context, corpus.len())),
    };
    match &corpus.typing {
        Some(Typing::Filter(_)) => typed(context.say(own::FILTER), "", &corpus.filter, filter_state, cells),
        Some(Typing::Search) => {
            typed(context.say(words::SEARCH), "/", &corpus.query, search_state(context, corpus), cells)
        }
        Some(Typing::Note) => {
            let hint = Span::styled(context.say(own::NOTE_HINT), look::DIM);
            typed(context.say(own::NOTE), "", &corpus.note, hint, cells)
        }
        None => {
            let mut spans = Vec::new();
            if !corpus.filter.text().trim().is_empty() {
                spans.push(Span::raw(format!(" {} ", context.say(own::FILTER))));
                let alone = corpus.search.is_none() && corpus.query_fault.is_none() && corpus.listed.fault.is_none();
                let room =
                    if alone { cells.saturating_sub(width::width(context.say(own::FILTER)) + 3) } else { cells / 2 };
                spans.push(Span::styled(width::cut(corpus.filter.text(), room), look::KEY));
                spans.push(Span::raw(" "));
            }
            if corpus.search.is_some() || corpus.query_fault.is_some() {
                spans.push(Span::raw(format!(" {} ", context.say(words::SEARCH))));
                spans.push(Span::styled(format!("/{} ", width::cut(corpus.query.text(), cells / 3)), look::KEY));
                spans.push(search_state(context, corpus));
                spans.push(Span::raw(" "));
            }
            if let Some(fault) = &corpus.listed.fault {
                spans.push(Span::styled(width::cut(fault, cells / 2), look::BAD));
            }
            LowerEdge { spans, cursor: None }
        }
    }
}

/// A field with its name before it and what is to be said of it behind it.
fn typed(name: &str, sign: &str, field: &Field, state: Span<'static>, cells: usize) -> LowerEdge {
    let before = width::width(name) + 2 + width::width(sign);
    // Half of the line at least is for what is typed, as far as it needs it.
    let state_cells = width::width(&state.content) + 2;
    let room = cells.saturating_sub(before + state_cells).max(cells.saturating_sub(before) / 2).max(1);
    let (seen, at) = field.window(room);
    let left = cells.saturating_sub(before + width::width(&seen) + 3);
    let state = Span::styled(format!("  {} ", width::cut(&state.content, left)), state.style);
    let spans = vec![Span::raw(format!(" {name} ")), Span::styled(format!("{sign}{seen}"), look::KEY), state];
    LowerEdge { spans, cursor: Some(before + at) }
}

fn found(context: &PageContext<'_>, n: usize) -> String {
    format!("{} {}", figures::count(n as u64), context.say(own::HITS))
}

fn search_state(context: &PageContext<'_>, corpus: &CorpusPage) -> Span<'static> {
    if let Some((at, fault)) = &corpus.query_fault {
        return Span::styled(own::at(context.language, *at, fault), look::BAD);
    }
    let Some(search) = &corpus.search else { return Span::styled(context.say(own::SEARCH_HINT), look::DIM) };
    if let Some(fault) = search.fault.as_ref().filter(|_| !search.is_under_way()) {
        return Span::styled(format!("{} · {fault}", found(context, corpus.len())), look::BAD);
    }
    if search.is_under_way() {
        let parts = format!("{}/{} {}", search.done, search.parts, context.say(own::PARTS));
        return Span::styled(format!("{parts} · {}", found(context, search.hits.len())), look::NOTE);
    }
    Span::raw(found(context, corpus.len()))
}

/// A line of the table.
fn row(corpus: &CorpusPage, at: usize, cells: usize) -> TableRow {
    let Some(number) = corpus.number(at) else { return TableRow::Text(String::new(), look::PLAIN) };
    if corpus.catalogue.row(number).is_some() {
        return TableRow::Cells { row: number, style: look::PLAIN, marked: corpus.is_marked(number) };
    }
    match corpus.catalogue.place(number).map(|(part, _)| corpus.catalogue.slot(part)) {
        Some(PartSlot::Damaged(fault)) => TableRow::Text(width::left(fault, cells), look::BAD),
        _ => TableRow::Text("…".to_owned(), look::DIM),
    }
}

/// The rows from the first line in sight on, for copying, or what was counted of a column while that is shown.
pub(super) fn table(corpus: &CorpusPage, desk: &Desk<'_>) -> Table {
    if let Some(counted) = corpus.table_head.over.as_ref().and_then(|over| over.copied(desk.language)) {
        return counted;
    }
    if corpus.len() - corpus.cursor.top > COPIED {
        desk.order(PageRequest::Say(desk.say(own::TABLE_CUT).to_owned()));
    }
    let numbers = (corpus.cursor.top..corpus.len()).take(COPIED).filter_map(|line| corpus.number(line));
    let read = numbers.filter(|number| corpus.catalogue.row(*number).is_some());
    corpus.table_head.layout.copied(&columns::columns(corpus), corpus, desk.language, read)
}
