//! Draws the page and the table on it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::catalogue::{CatalogueRow, PartSlot};
use super::load::time_of;
use super::order::By;
use super::{CorpusFocus, CorpusPage, Typing, beside, reader_view, words as own};
use crate::context::PageContext;
use crate::desk::{Desk, PageRequest};
use crate::field::{self, Field};
use crate::page::Table;
use crate::words;
use crate::{figures, look, width};

/// Rows of the table that are copied at most.
const COPIED: usize = 1000;

/// Table and reader: side by side where there is room for both, else one above the other.
pub(super) fn panes(page: Rect) -> [Rect; 2] {
    if page.width >= 110 {
        Layout::horizontal([Constraint::Percentage(54), Constraint::Min(0)]).areas(page)
    } else {
        Layout::vertical([Constraint::Percentage(45), Constraint::Min(0)]).areas(page)
    }
}

/// Documents that the table has room for.
pub(super) fn rows(table: Rect) -> usize {
    table.height.saturating_sub(3) as usize
}

/// The column in whose title a place on the screen is.
pub(super) fn column_at(table: Rect, at: Position) -> Option<By> {
    if at.y != table.y + 1 {
        return None;
    }
    let mut left = usize::from(at.x.checked_sub(table.x + 1)?);
    for (by, cells) in COLUMNS.into_iter().zip(widths(table.width.saturating_sub(2) as usize)) {
        if left <= cells {
            return Some(by);
        }
        left -= cells + 1;
    }
    None
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
    let [table, reader] = panes(page);
    draw_table(context, corpus, frame, table);
    reader_view::draw(context, corpus, frame, reader);
}

fn draw_table(context: &PageContext<'_>, corpus: &CorpusPage, frame: &mut Frame<'_>, area: Rect) {
    let cells = area.width.saturating_sub(2) as usize;
    let asked = asked(context, corpus, cells);
    let top = width::cut(&title(context, corpus), cells);
    let block = look::pane(top, corpus.focus == CorpusFocus::Table).title_bottom(Line::from(asked.spans));
    let inner = look::framed(block, frame, area);
    let titles = COLUMNS.map(|by| {
        let arrow = if corpus.order.by == by { arrow(corpus) } else { "" };
        format!("{}{arrow}", context.say(if by == By::Repeats { words::REPEAT } else { own::order(by) }))
    });
    let mut lines = vec![Line::styled(line(&titles, cells), look::DIM)];
    for at in corpus.cursor.top..(corpus.cursor.top + rows(area)).min(corpus.len()) {
        let (text, style) = row(context, corpus, at, cells);
        lines.push(Line::styled(text, if at == corpus.cursor.at { style.patch(look::SELECTED) } else { style }));
    }
    if corpus.len() == 0 {
        let searching = corpus.search.as_ref().is_some_and(super::CorpusSearch::is_under_way);
        lines
            .push(Line::styled(context.say(if searching { words::SEARCHING } else { own::NOTHING_PASSES }), look::DIM));
    }
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    if let Some(before) = asked.cursor {
        let last = area.right().saturating_sub(2);
        field::put_cursor(area.x as usize + 1 + before, last, area.bottom().saturating_sub(1), frame);
    }
}

fn arrow(corpus: &CorpusPage) -> &'static str {
    if corpus.order.descending { "↓" } else { "↑" }
}

/// The title of the list: number of documents, order and folding.
fn title(context: &PageContext<'_>, corpus: &CorpusPage) -> String {
    let count = |n: usize| figures::count(n as u64);
    let catalogue = &corpus.catalogue;
    let mut position = format!("{} / {}", count((corpus.cursor.at + 1).min(corpus.len())), count(corpus.len()));
    if corpus.listed.now.is_some() {
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
    if corpus.order != super::SortOrder::default() {
        pieces.push(format!("{}{}", context.say(own::order(corpus.order.by)), arrow(corpus)));
    }
    if corpus.folded {
        pieces.push(context.say(own::FOLDED).to_owned());
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

const COLUMNS: [By; 5] = [By::Time, By::Code, By::Kind, By::Repeats, By::Title];

/// Cells of the columns; the title takes what is left.
fn widths(total: usize) -> [usize; 5] {
    let fixed = [16, 13, 5, 4];
    let rest = total.saturating_sub(fixed.iter().sum::<usize>() + fixed.len());
    [fixed[0], fixed[1], fixed[2], fixed[3], rest]
}

fn line(cells: &[String; 5], total: usize) -> String {
    let cells: Vec<String> = cells.iter().zip(widths(total)).map(|(cell, cells)| width::left(cell, cells)).collect();
    width::left(&cells.join(" "), total)
}

/// A line of the table, and how it looks.
fn row(context: &PageContext<'_>, corpus: &CorpusPage, at: usize, total: usize) -> (String, Style) {
    let Some(number) = corpus.number(at) else { return (String::new(), look::PLAIN) };
    if let Some(row) = corpus.catalogue.row(number) {
        return (line(&cells(context, corpus, number, row), total), look::PLAIN);
    }
    match corpus.catalogue.place(number).map(|(part, _)| corpus.catalogue.slot(part)) {
        Some(PartSlot::Damaged(fault)) => (width::left(fault, total), look::BAD),
        _ => ("…".to_owned(), look::DIM),
    }
}

fn cells(context: &PageContext<'_>, corpus: &CorpusPage, number: usize, row: CatalogueRow<'_>) -> [String; 5] {
    let mut codes = row.codes.split(',').filter(|c| !c.is_empty());
    let first = codes.next().unwrap_or("–");
    let more = codes.count();
    let codes = if more > 0 { format!("{first} +{more}") } else { first.to_owned() };
    let time = time_of(row.time).format("%Y-%m-%d %H:%M").to_string();
    let below = is_below(corpus, number);
    let title = if row.title.is_empty() { context.say(own::NO_TITLE) } else { row.title };
    let title = if below { format!("└ {title}") } else { title.to_owned() };
    let repeats = match count_of(corpus, number) {
        Some(count) => format!("×{count}"),
        None if row.repeats => context.say(words::REPEAT).to_owned(),
        None => String::new(),
    };
    [time, codes, context.say(words::kind(row.kind)).to_owned(), repeats, title]
}

fn count_of(corpus: &CorpusPage, number: usize) -> Option<u32> {
    let listing = corpus.listed.now.as_ref()?;
    listing.counts.get(&u32::try_from(number).ok()?).copied()
}

fn is_below(corpus: &CorpusPage, number: usize) -> bool {
    let listing = corpus.listed.now.as_ref();
    listing.zip(u32::try_from(number).ok()).is_some_and(|(listing, number)| listing.below.contains(&number))
}

/// The rows from the first line in sight on, for copying.
pub(super) fn table(corpus: &CorpusPage, desk: &Desk<'_>) -> Table {
    let header = COLUMNS.map(|by| desk.say(own::order(by)).to_owned()).to_vec();
    let numbers = (corpus.cursor.top..corpus.len()).take(COPIED).filter_map(|line| corpus.number(line));
    let rows = numbers.filter_map(|number| {
        let row = corpus.catalogue.row(number)?;
        let time = time_of(row.time).format("%Y-%m-%d %H:%M:%S").to_string();
        let repeats = match count_of(corpus, number) {
            Some(count) => count.to_string(),
            None => u32::from(row.repeats).to_string(),
        };
        Some(vec![time, row.codes.to_owned(), row.kind.name().to_owned(), repeats, row.title.to_owned()])
    });
    if corpus.len() - corpus.cursor.top > COPIED {
        desk.order(PageRequest::Say(desk.say(own::TABLE_CUT).to_owned()));
    }
    Table { header, rows: rows.collect() }
}
