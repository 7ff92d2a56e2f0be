//! Draws the page of the ledger: the list, and below it one pane or, where there is room, three.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::shelf::Shelf;
use super::words as w;
use super::{Deletion, LedgerFocus, LedgerPage, LedgerView, against, particulars, worth};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::field;
use crate::words::Word;
use crate::{figures, look, sentences, width};
use inkstone_lab::ledger::{BookTrial, EntryKind};
use inkstone_market::Price;

use inkstone_base::language::Language;

/// Columns and rows from which all panes stand side by side.
const LARGE: (u16, u16) = (110, 28);

fn is_large(page: Rect) -> bool {
    page.width >= LARGE.0 && page.height >= LARGE.1
}

/// The list, particulars, worth and histogram; without room for all, one of the views is seen.
fn panes(state: &LedgerPage, page: Rect) -> [Rect; 4] {
    let share = if is_large(page) { 40 } else { 45 };
    let [list, below] = Layout::vertical([Constraint::Percentage(share), Constraint::Min(0)]).areas(page);
    let mut panes = [list, Rect::default(), Rect::default(), Rect::default()];
    let view = 1 + state.view as usize;
    if is_large(page) && state.deletion.is_none() {
        let [left, right] = Layout::horizontal([Constraint::Percentage(54), Constraint::Min(0)]).areas(below);
        let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(9)]).areas(right);
        panes[1..].copy_from_slice(&[left, upper, lower]);
    } else {
        panes[view] = below;
    }
    let is_below = state.focus == LedgerFocus::Below || state.deletion.is_some();
    state.zoom.areas(panes, if is_below { view } else { 0 }, page)
}

pub(super) fn list_area(state: &LedgerPage, page: Rect) -> Rect {
    look::inside(panes(state, page)[0])
}

/// The view that was pressed; none for the list.
pub(super) fn view_at(state: &LedgerPage, at: Position, page: Rect) -> Option<LedgerView> {
    let place = panes(state, page)[1..].iter().position(|area| area.contains(at))?;
    Some(LedgerView::ALL[place])
}

/// The lines of a view in a pane like this, and the place of its text; none for what is no text.
fn text(
    language: Language,
    state: &LedgerPage,
    shelf: &Shelf,
    view: LedgerView,
    inner: Rect,
) -> Option<(Vec<String>, Rect)> {
    let cells = usize::from(inner.width);
    match (view, state.selected()) {
        (LedgerView::Particulars, trial) => match (state.marked(), trial?) {
            (Some(marked), trial) => Some((against::lines(language, marked, trial, cells), inner)),
            (None, trial) => {
                let [text, _] = particulars::areas(inner, trial);
                Some((particulars::lines(language, trial, text.width.into()), text))
            }
        },
        (LedgerView::Worth, trial) => Some((worth::lines(language, shelf, trial, cells), inner)),
        (LedgerView::Histogram, _) => None,
    }
}

/// The last line to which the pane below can be scrolled.
pub(super) fn last_scroll(state: &LedgerPage, page: Rect, desk: &Desk<'_>) -> usize {
    let inner = look::inside(panes(state, page)[1 + state.view as usize]);
    let text = state.shelf().and_then(|shelf| text(desk.language, state, shelf, state.view, inner));
    text.map_or(0, |(lines, area)| lines.len().saturating_sub(area.height.into()))
}

pub(crate) fn draw(context: &PageContext<'_>, state: &LedgerPage, frame: &mut Frame<'_>, page: Rect) {
    let fault = state.asked.as_ref().and_then(Errand::fault);
    let text = match (&state.shelf, fault) {
        _ if context.workspace.ledger.is_none() => vec![(context.say(w::NO_BENCH), look::PLAIN)],
        (None, Some(fault)) => vec![(fault, look::BAD), (context.say(w::AGAIN), look::NOTE)],
        (None, None) => vec![(context.say(w::READING), look::DIM)],
        (Some(Some(shelf)), _) if !shelf.book.trials.is_empty() || !shelf.book.problems.is_empty() => {
            return draw_all(context, state, shelf, fault, frame, page);
        }
        (Some(_), _) => vec![(context.say(w::NO_LEDGER), look::PLAIN)],
    };
    let inner = look::framed(look::pane(format!(" {} ", context.say(w::LEDGER)), true), frame, page);
    sentences::draw(text, frame, inner);
}

fn draw_all(
    context: &PageContext<'_>,
    state: &LedgerPage,
    shelf: &Shelf,
    fault: Option<&str>,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let panes = panes(state, page);
    if !panes[0].is_empty() {
        draw_list(context, state, shelf, fault, frame, panes[0]);
    }
    if let Some(deletion) = &state.deletion {
        return draw_deletion(context, deletion, frame, panes[1 + state.view as usize]);
    }
    let mut tabs = look::tabs(LedgerView::ALL.map(|view| (name(context, view), view == state.view)));
    tabs.push(Span::raw(" "));
    for (view, area) in LedgerView::ALL.into_iter().zip(&panes[1..]).filter(|(_, area)| !area.is_empty()) {
        let focused = state.focus == LedgerFocus::Below && view == state.view;
        let title = if is_large(page) { format!(" {} ", name(context, view)).into() } else { Line::from(tabs.clone()) };
        let inner = look::framed(look::pane(title, focused), frame, *area);
        draw_view(context, state, shelf, view, frame, inner);
    }
}

fn name(context: &PageContext<'_>, view: LedgerView) -> &'static str {
    context.say(match view {
        LedgerView::Particulars => w::PARTICULARS,
        LedgerView::Worth => w::SUMMARY,
        LedgerView::Histogram => w::HISTOGRAM,
    })
}

fn draw_view(
    context: &PageContext<'_>,
    state: &LedgerPage,
    shelf: &Shelf,
    view: LedgerView,
    frame: &mut Frame<'_>,
    inner: Rect,
) {
    let alone = view == LedgerView::Particulars && state.marked().is_none();
    if let Some((lines, area)) = text(context.language, state, shelf, view, inner) {
        let style = |at: usize| if at == 0 && alone { look::STRONG } else { look::PLAIN };
        let lines = lines.into_iter().enumerate().map(|(at, line)| Line::styled(line, style(at)));
        let scroll = if view == state.view { state.scroll } else { 0 };
        frame.render_widget(Paragraph::new(lines.skip(scroll).collect::<Vec<_>>()), area);
    }
    match state.selected() {
        Some(trial) if alone => particulars::draw_wealth(context, trial, frame, inner),
        trial if view == LedgerView::Histogram => worth::draw_histogram(context, shelf, trial, frame, inner),
        _ => {}
    }
}

fn draw_list(
    context: &PageContext<'_>,
    state: &LedgerPage,
    shelf: &Shelf,
    fault: Option<&str>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let (book, count) = (&shelf.book, |n: usize| figures::count(n as u64));
    let rows = state.table.len();
    let place = count((state.table.line() + 1).min(rows));
    let of_all = if rows < book.trials.len() { format!(" ({})", count(book.trials.len())) } else { String::new() };
    let mut title = vec![Span::raw(format!(
        " {} {place} / {}{of_all} {}{} ",
        context.say(w::LEDGER),
        count(rows),
        context.say(w::TRIALS),
        state.table.about()
    ))];
    if state.filtering || !state.filter.text().is_empty() {
        title.push(Span::raw(format!("· {} ", context.say(w::FILTER))));
        let before: usize = title.iter().map(|span| width::width(&span.content)).sum();
        let (seen, at) = state.filter.window((area.width as usize / 3).max(8));
        title.push(Span::styled(format!("/{seen} "), look::KEY));
        if state.filtering {
            field::put_cursor(area.x as usize + before + 2 + at, area.right().saturating_sub(2), area.y, frame);
        }
    }
    let used: usize = title.iter().map(|span| width::width(&span.content)).sum();
    let seal = match book.problems.as_slice() {
        [] => Span::styled(format!("· {} ", context.say(w::INTACT)), look::GOOD),
        [first, rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!(" · {} {}", context.say(w::MORE), rest.len()) };
            Span::styled(format!("· {}: {}{more} ", context.say(w::BROKEN), first.to(context.language)), look::BAD)
        }
    };
    let room = (area.width as usize).saturating_sub(used + 2);
    title.push(Span::styled(width::cut(&seal.content, room), seal.style));
    let mut block = look::pane(Line::from(title), state.focus == LedgerFocus::List && state.deletion.is_none());
    if let Some(fault) = fault {
        let text = format!("{fault} {}", context.say(w::AGAIN));
        let text = width::cut(&text, (area.width as usize).saturating_sub(4));
        block = block.title_bottom(Line::styled(format!(" {text} "), look::NOTE));
    } else if state.asked.as_ref().is_some_and(Errand::waiting) {
        block = block.title_bottom(Line::styled(format!(" {} ", context.say(w::READING)), look::DIM));
    }
    let inner = look::framed(block, frame, area);
    if rows == 0 && !state.table.is_open() {
        return sentences::draw([(context.say(w::NOTHING_LEFT), look::PLAIN)], frame, inner);
    }
    state.table.draw(frame, inner);
}

pub(super) fn kind(kind: EntryKind) -> Word {
    match kind {
        EntryKind::Backtest => w::BACKTEST,
        EntryKind::Cell => w::CELL,
    }
}

/// Name of the entry, or the reason why it has none.
pub(super) fn called(language: Language, trial: &BookTrial) -> String {
    match (&trial.entry.details, &trial.entry.deleted) {
        (Some(details), _) if details.figures.lookahead => format!("⚠ {}", details.factor),
        (Some(details), _) => details.factor.clone(),
        (None, Some(deletion)) => format!("✗ {}: {}", w::DELETED.to(language), deletion.reason),
        (None, None) => format!("✗ {}", w::GONE.to(language)),
    }
}

/// Horizon, delay and price in short: `5d t+1 open`.
pub(super) fn rules(language: Language, trial: &BookTrial) -> String {
    let horizon = trial.rank_ic().map_or_else(String::new, |(horizon, _)| format!("{horizon}d "));
    let Some(rules) = trial.rules() else { return horizon };
    let price = match rules.traded_price() {
        Price::Open => w::OPEN,
        Price::Close => w::CLOSE,
        Price::Vwap => w::VWAP,
    };
    format!("{horizon}t{:+} {}", rules.delay_days(), price.to(language))
}

fn draw_deletion(context: &PageContext<'_>, deletion: &Deletion, frame: &mut Frame<'_>, area: Rect) {
    let title = format!("{} #{} {}", context.say(w::DELETE), deletion.entry, deletion.name);
    let title = width::cut(&title, (area.width as usize).saturating_sub(4));
    let block = look::pane(Line::styled(format!(" {title} "), look::STRONG), true);
    let inner = look::framed(block, frame, area);
    let [head, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    let name = Span::raw(format!("{}: ", context.say(w::REASON)));
    if deletion.errand.is_none() {
        field::draw(name, &deletion.reason, look::KEY, frame, head);
    } else {
        frame.render_widget(Line::from(vec![name, Span::styled(deletion.reason.text(), look::KEY)]), head);
    }
    let others = format!("{} {}", context.say(w::OTHER_RUNS), deletion.others);
    let end = match &deletion.errand {
        None => (context.say(w::HOW), look::NOTE),
        Some(errand) => errand.fault().map_or((context.say(w::DELETING), look::DIM), |fault| (fault, look::BAD)),
    };
    let mut texts = vec![
        (context.say(w::TYPE_REASON), look::DIM),
        ("", look::PLAIN),
        (context.say(w::WHAT_GOES), look::PLAIN),
        (context.say(w::WHAT_STAYS), look::PLAIN),
    ];
    texts.extend((deletion.others > 0).then_some((&*others, look::PLAIN)));
    texts.push(end);
    sentences::draw(texts, frame, below);
}
