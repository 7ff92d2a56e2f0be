//! Draws a stock: the charts above, its documents below.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::StockPage;
use super::axis::TimeAxis;
use super::words as own;
use crate::charts::{Axes, Curve, draw_lines, layer_style};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::list::{self, ListColumn};
use crate::page::WantedStock;
use crate::page::{Table, exact};
use crate::words::{self, Word};
use crate::{bars, field, figures, look, width};
use inkstone_base::data::Kind;
use inkstone_lab::stock::{AFTER, DayState, Stock, StockDocument};

/// Cells at the left of the charts: the numbers and the line beside them.
const SCALE: u16 = 8;
const KINDS: [Kind; 4] = [Kind::News, Kind::Report, Kind::Announcement, Kind::Post];
/// Height from which the list of documents is longer.
const TALL: u16 = 32;
/// Width from which there is room to say how prices are adjusted.
const WIDE: u16 = 100;

/// The charts with their frame, and the documents with theirs.
fn panes(page: Rect) -> [Rect; 2] {
    let below = if page.height >= TALL { 13 } else { 8 };
    Layout::vertical([Constraint::Min(0), Constraint::Length(below)]).areas(page)
}

/// The list of documents with its line of titles; the two lines below it speak of the marked one.
pub(super) fn list_area(page: Rect) -> Rect {
    let inner = look::inside(panes(page)[1]);
    Rect { height: inner.height.saturating_sub(2), ..inner }
}

pub(super) fn rows(page: Rect) -> usize {
    list::rows(list_area(page))
}

/// The axis of the charts inside their frame.
fn axis(page: &StockPage, stock: &Stock, inner: Rect) -> TimeAxis {
    TimeAxis { days: page.window(stock), columns: usize::from(inner.width.saturating_sub(SCALE)).max(1) }
}

/// The trading day at a place of the charts.
pub(super) fn day_at(page: &StockPage, stock: &Stock, at: Position, area: Rect) -> Option<usize> {
    let inner = look::inside(panes(area)[0]);
    let column = at.x.checked_sub(inner.x + SCALE).filter(|_| inner.contains(at))?;
    axis(page, stock, inner).days_of(column.into()).next()
}

pub(super) fn draw(context: &PageContext<'_>, page: &StockPage, frame: &mut Frame<'_>, area: Rect) {
    if page.typing.is_some() {
        return draw_search(context, page, frame, area);
    }
    let title = format!(" {} ", context.say(words::STOCK));
    let (Some(code), Some(loaded)) = (page.code(), &page.loaded) else {
        let word = if page.coming.is_some() || page.linked.is_some() { words::READING } else { own::NO_STOCK };
        return look::message(Line::styled(context.say(word), look::DIM), look::pane(title, true), frame, area);
    };
    let stock = match (loaded.get(), loaded.fault()) {
        (Some(stock), _) => stock,
        (None, fault) => {
            let fault = Line::styled(fault.unwrap_or_default().to_owned(), look::BAD);
            return look::message(fault, look::pane(format!(" {code} "), true), frame, area);
        }
    };
    let [charts, documents] = panes(area);
    draw_charts(context, page, stock, frame, charts);
    draw_documents(context, page, stock, frame, documents);
}

fn draw_search(context: &PageContext<'_>, page: &StockPage, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(format!(" {} ", context.say(words::STOCK)), true)
        .title_bottom(format!(" {} ", context.say(own::FIND_HINT)));
    let inner = look::framed(block, frame, area);
    let [line, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    if let Some(typed) = &page.typing {
        field::draw(Span::styled(context.say(own::FIND), look::KEY), typed, look::PLAIN, frame, line);
    }
    let list = page.list.as_ref();
    let note = match (list.and_then(|list| list.get()), list.and_then(|list| list.fault())) {
        (None, Some(fault)) => Some((fault.to_owned(), look::BAD)),
        (None, None) => Some((context.say(words::READING).to_owned(), look::DIM)),
        (Some(_), _) => None,
    };
    if let Some((text, style)) = note {
        return frame.render_widget(Line::styled(text, style), below);
    }
    let found = page.found();
    let nothing = page.typing.as_ref().is_some_and(|field| !field.text().trim().is_empty()) && found.is_empty();
    let mut lines: Vec<Line<'_>> =
        found.iter().take(usize::from(below.height)).map(|(code, name)| Line::raw(format!("{code} {name}"))).collect();
    if nothing {
        lines.push(Line::styled(context.say(own::NONE_FOUND), look::DIM));
    }
    if let Some(first) = lines.first_mut().filter(|_| !nothing) {
        *first = first.clone().style(look::SELECTED);
    }
    frame.render_widget(Paragraph::new(lines), below);
}

/// The sign and the colour of a document on the axis.
fn sign(kind: Kind) -> (char, Style) {
    match kind {
        Kind::News => ('•', look::KEY),
        Kind::Report => ('◆', look::NOTE),
        Kind::Announcement => ('■', Style::new().fg(Color::Magenta)),
        Kind::Post => ('○', Style::new().fg(Color::Blue)),
    }
}

fn title(context: &PageContext<'_>, page: &StockPage, stock: &Stock, axis: &TimeAxis) -> String {
    let mut parts = vec![[&*stock.code, &*stock.name].join(" ").trim_end().to_owned()];
    let WantedStock { codes, at, .. } = &page.wanted;
    if codes.len() > 1 {
        parts.push(format!("{}/{}", at + 1, codes.len()));
    }
    let there = |t: &usize| stock.close[*t].is_finite();
    if let Some((first, last)) = axis.days.clone().find(there).zip(axis.days.clone().rfind(there)) {
        let change = 100.0 * (stock.close[last] / stock.close[first] - 1.0);
        let close = figures::number(stock.close[last], 2);
        parts.push(format!("{} {close} ({} %)", context.say(own::CLOSE), figures::signed(change, 1)));
        let [from, to] = [first, last].map(|t| stock.dates[t]);
        parts.push(format!("{from}..{to} {} {}", axis.days.len(), context.say(own::DAYS)));
    }
    format!(" {} ", parts.join(" · "))
}

fn draw_charts(context: &PageContext<'_>, page: &StockPage, stock: &Stock, frame: &mut Frame<'_>, area: Rect) {
    let axis = axis(page, stock, look::inside(area));
    let mut legend = vec![Span::raw(" ")];
    legend.extend(KINDS.map(|kind| {
        let (sign, style) = sign(kind);
        Span::styled(format!("{sign} {}  ", context.say(words::kind(kind))), style)
    }));
    legend.push(Span::styled(format!("{} ", context.say(own::SEVERAL)), look::DIM));
    let block =
        look::pane(width::cut(&title(context, page, stock, &axis), usize::from(area.width.saturating_sub(2))), true)
            .title_bottom(Line::from(legend));
    let mut about =
        stock.factor.iter().map(|factor| format!("{} {}", context.say(words::FACTOR), factor.name)).collect::<Vec<_>>();
    if area.width >= WIDE {
        about.push(context.say(own::ADJUSTED).to_owned());
    }
    let about = Line::styled(format!(" {} ", about.join(" · ")), look::DIM).right_aligned();
    let block = if about.width() > 2 { block.title_bottom(about) } else { block };
    let inner = look::framed(block, frame, area);
    if stock.close.iter().all(|close| close.is_nan()) {
        return frame.render_widget(Line::raw(context.say(own::NO_PRICES)), inner);
    }
    let special = |state: &DayState| matches!(state, DayState::Suspended | DayState::UpLimit | DayState::DownLimit);
    let has_states = stock.states[axis.days.clone()].iter().any(special);
    let spare = inner.height.saturating_sub(4 + u16::from(has_states));
    let volume = if spare >= 14 { 3 } else { 1 };
    let factor = (spare.saturating_sub(volume) * 2 / 5).max(2);
    let [prices, marks, states, volumes, values, layers, dates] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(1),
        Constraint::Length(u16::from(has_states)),
        Constraint::Length(volume),
        Constraint::Length(factor),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(inner);
    let at = stock.documents.get(page.cursor.at).and_then(|document| document.day);
    // Days without trade have no price, even where vendors repeat the last one.
    let traded = |t: usize| {
        if special(&stock.states[t]) && stock.states[t] == DayState::Suspended { f64::NAN } else { stock.close[t] }
    };
    let close: Vec<f64> = (0..stock.dates.len()).map(traded).collect();
    let low = close[axis.days.clone()].iter().copied().filter(|close| close.is_finite()).fold(f64::INFINITY, f64::min);
    draw_series(&axis, &close, at, (low, look::KEY), frame, prices);
    draw_cells(context.say(words::DOCUMENTS_SHORT), &axis, frame, marks, |column| mark(page, stock, &axis, column));
    draw_cells("", &axis, frame, states, |column| state(context, stock, &axis, column));
    draw_volume(context, stock, &axis, frame, volumes);
    match &stock.factor {
        Some(factor) if factor.values[axis.days.clone()].iter().all(|value| value.is_nan()) => {
            let line = format!("{} {}: {}", context.say(words::FACTOR), factor.name, context.say(own::NO_VALUES));
            frame.render_widget(Line::styled(line, look::DIM), values);
        }
        Some(factor) => {
            draw_series(&axis, &factor.values, at, (0.0, look::NOTE), frame, values);
            draw_cells(context.say(own::LAYER), &axis, frame, layers, |column| {
                let layer = axis.days_of(column).rev().map(|t| factor.layers[t]).find(|layer| *layer > 0)?;
                let style = layer_style(usize::from(layer) - 1, factor.count, context.workspace.red_up);
                Some((char::from_digit(u32::from(layer) % 10, 10)?, style))
            });
        }
        None => {
            let name = page.factor.as_deref().unwrap_or_default();
            let line = format!("{} {name}: {}", context.say(words::FACTOR), context.say(own::NOT_BUILT));
            frame.render_widget(Line::styled(line, look::DIM), values);
        }
    }
    frame.render_widget(Line::styled(date_line(stock, &axis), look::DIM), dates);
}

/// A number of a scale, as wide as all others, and never the zero below zero.
fn scale(value: f64) -> String {
    format!("{:>7.2}", (100.0 * value).round() / 100.0 + 0.0)
}

/// A curve with a stroke at the marked day.
fn draw_series(
    axis: &TimeAxis,
    values: &[f64],
    at: Option<usize>,
    (base, style): (f64, Style),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let curve = |points| Curve { name: String::new(), points, style };
    let curves: Vec<Curve> = axis.stretches(values).into_iter().map(curve).collect();
    let axes = Axes { base, scale, dates: false };
    let cursor = at.filter(|at| axis.days.contains(at)).map(TimeAxis::place);
    draw_lines(&curves, cursor, axis.span(), &axes, Block::new(), frame, area);
}

/// A line of signs along the axis, with a word at the left.
fn draw_cells(
    word: &str,
    axis: &TimeAxis,
    frame: &mut Frame<'_>,
    area: Rect,
    cell: impl Fn(usize) -> Option<(char, Style)>,
) {
    let mut line = vec![Span::styled(format!("{} ", width::right(word, usize::from(SCALE) - 1)), look::DIM)];
    line.extend((0..axis.columns).map(|column| match cell(column) {
        Some((sign, style)) => Span::styled(sign.to_string(), style),
        None => Span::raw(" "),
    }));
    frame.render_widget(Line::from(line), area);
}

/// The documents of a column: the sign of one, the number of several; the marked one stands out.
fn mark(page: &StockPage, stock: &Stock, axis: &TimeAxis, column: usize) -> Option<(char, Style)> {
    let here = |document: &&StockDocument| document.day.and_then(|day| axis.column(day)) == Some(column);
    let kinds: Vec<Kind> = stock.documents.iter().filter(here).map(|document| document.kind).collect();
    let (sign, style) = sign(*kinds.first()?);
    let sign = match kinds.len() {
        1 => sign,
        several => u32::try_from(several).ok().and_then(|several| char::from_digit(several, 10)).unwrap_or('+'),
    };
    let marked = stock.documents.get(page.cursor.at).filter(here).is_some();
    Some((sign, if marked { style.patch(look::SELECTED) } else { style }))
}

/// The sign of the days of a column that were not traded freely.
fn state(context: &PageContext<'_>, stock: &Stock, axis: &TimeAxis, column: usize) -> Option<(char, Style)> {
    let red_up = context.workspace.red_up;
    axis.days_of(column).find_map(|t| match stock.states[t] {
        DayState::Suspended => Some(('×', look::DIM)),
        DayState::UpLimit => Some(('▲', look::of_sign(1.0, red_up))),
        DayState::DownLimit => Some(('▼', look::of_sign(-1.0, red_up))),
        DayState::Absent | DayState::Traded => None,
    })
}

/// Bars of the mean volume of each column, in the colour of its last move.
fn draw_volume(context: &PageContext<'_>, stock: &Stock, axis: &TimeAxis, frame: &mut Frame<'_>, area: Rect) {
    let volumes: Vec<f64> = (0..axis.columns)
        .map(|column| inkstone_base::stats::mean(axis.days_of(column).map(|t| stock.volume[t])))
        .collect();
    let top = volumes.iter().copied().filter(|volume| volume.is_finite()).fold(0.0, f64::max);
    let rows = usize::from(area.height);
    for (row, bars) in bars::upright(&volumes, top, rows, 1, 0).into_iter().enumerate() {
        let (line, bars) = (Rect { y: area.y + row as u16, height: 1, ..area }, bars.chars().collect::<Vec<char>>());
        draw_cells(if row == 0 { context.say(own::VOLUME) } else { "" }, axis, frame, line, |column| {
            let last = axis.days_of(column).next_back()?;
            let before = last.checked_sub(1).map_or(f64::NAN, |before| stock.close[before]);
            Some((bars[column], look::of_sign(stock.close[last] - before, context.workspace.red_up)))
        });
    }
}

/// Dates below the axis, as many as have room.
fn date_line(stock: &Stock, axis: &TimeAxis) -> String {
    const DATE: usize = 10;
    let count = (axis.columns / (2 * DATE)).clamp(1, 6);
    let mut line = " ".repeat(SCALE.into());
    for k in 0..count {
        let at = k * (axis.columns.saturating_sub(DATE)) / (count - 1).max(1);
        let used = width::width(&line) - usize::from(SCALE);
        let column = if k + 1 == count && count > 1 { axis.columns - 1 } else { at };
        let date = axis.days_of(column).next().map(|t| stock.dates[t].to_string()).unwrap_or_default();
        line += &" ".repeat(at.saturating_sub(used));
        line += &date;
    }
    line
}

/// The title of a document, or else its first words.
fn named(document: &StockDocument) -> &str {
    if document.title.is_empty() { &document.words } else { &document.title }
}

fn per_cent(value: f64) -> String {
    if value.is_nan() { "–".to_owned() } else { figures::signed(100.0 * value, 2) }
}

fn draw_documents(context: &PageContext<'_>, page: &StockPage, stock: &Stock, frame: &mut Frame<'_>, area: Rect) {
    let count = stock.documents.len();
    let place = if count > 0 { page.cursor.at + 1 } else { 0 };
    let title = format!(" {} {place}/{count} ", context.say(words::DOCUMENTS_SHORT));
    let below = Line::styled(format!(" {} ", context.say(own::ABNORMAL)), look::DIM);
    let inner = look::framed(look::pane(title, false).title_bottom(below), frame, area);
    let list = Rect { height: inner.height.saturating_sub(2), ..inner };
    if count == 0 {
        return frame.render_widget(Line::raw(context.say(own::NO_DOCUMENTS)), inner);
    }
    let ends = AFTER.map(|end| context.say(own::AFTER).replace("{}", &end.to_string()));
    let time = format!(" {}", context.say(words::TIME));
    let kind = KINDS.map(|kind| width::width(context.say(words::kind(kind)))).into_iter().max().unwrap_or(0);
    let mut columns = vec![
        ListColumn::text(&time, 17),
        ListColumn::text(context.say(words::KIND), kind),
        ListColumn::text(context.say(words::TITLE), 0),
        ListColumn::number(context.say(own::ON_DAY), 6),
    ];
    columns.extend(ends.iter().map(|end| ListColumn::number(end, 7)));
    let row = |at: usize| {
        let document = &stock.documents[at];
        let mut cells = vec![
            format!(" {}", document.published_at.format("%Y-%m-%d %H:%M")),
            context.say(words::kind(document.kind)).to_owned(),
            named(document).to_owned(),
            per_cent(document.returns.day),
        ];
        cells.extend(document.returns.after.iter().map(|after| per_cent(*after)));
        (cells, if document.repeats || document.title.is_empty() { look::DIM } else { look::PLAIN })
    };
    list::draw(&columns, count, page.cursor, row, frame, list);
    let Some(document) = stock.documents.get(page.cursor.at) else { return };
    let wide = usize::from(inner.width);
    let lines = [about(context, stock, document), factor_line(context, stock, document)];
    for (text, y) in lines.into_iter().zip(list.bottom()..) {
        let line = Rect { y, height: 1, ..inner };
        frame.render_widget(Line::styled(width::cut(&format!(" {text}"), wide), look::NOTE), line);
    }
}

/// The moment of a document and the day from which it can be traded on.
fn about(context: &PageContext<'_>, stock: &Stock, document: &StockDocument) -> String {
    let mut parts = vec![document.published_at.format("%Y-%m-%d %H:%M:%S").to_string()];
    let early = stock.dates.first().is_some_and(|first| document.published_at.date() < *first);
    parts.push(match document.tradable {
        Some(date) => format!("{} {date}", context.say(own::TRADABLE)),
        None => context.say(if early { own::BEFORE_TABLE } else { own::NOT_TRADABLE }).to_owned(),
    });
    if document.repeats {
        parts.push(context.say(own::REPEATED).to_owned());
    }
    if let Some(state) = document.day.map(|day| stock.states[day]) {
        let word = match state {
            DayState::Suspended => Some(own::SUSPENDED),
            DayState::UpLimit => Some(own::UP_LIMIT),
            DayState::DownLimit => Some(own::DOWN_LIMIT),
            DayState::Absent | DayState::Traded => None,
        };
        parts.extend(word.map(|word| format!("{} {}", context.say(own::ON_DAY), context.say(word))));
    }
    parts.push(named(document).to_owned());
    parts.join(" · ")
}

/// The factor before and after a document: `tone 文档前 -0.50 Q1 → 当日 +0.25 Q5`.
fn factor_line(context: &PageContext<'_>, stock: &Stock, document: &StockDocument) -> String {
    let Some((factor, [before, after])) = stock.factor.as_ref().zip(stock.factor_around(document)) else {
        return String::new();
    };
    let value = |(value, layer): (f64, u16)| match (value.is_nan(), layer) {
        (true, _) => "–".to_owned(),
        (false, 0) => figures::signed(value, 4),
        (false, layer) => format!("{} Q{layer}", figures::signed(value, 4)),
    };
    let [earlier, then] = [own::BEFORE, own::THEN].map(|word| context.say(word));
    format!("{} {earlier} {} → {then} {}", factor.name, value(before), value(after))
}

/// The documents as they are copied.
pub(super) fn table(stock: &Stock, desk: &Desk<'_>) -> Table {
    let words: [Word; 8] = [
        own::ID,
        words::TIME,
        words::KIND,
        words::TITLE,
        own::TRADE_DATE,
        own::TRADABLE,
        own::FACTOR_BEFORE,
        own::FACTOR_AFTER,
    ];
    let row = |document: &StockDocument| {
        let [before, after] = stock.factor_around(document).unwrap_or([(f64::NAN, 0); 2]);
        let mut row = vec![
            document.doc_id.clone(),
            document.published_at.to_string(),
            desk.say(words::kind(document.kind)).to_owned(),
            document.title.clone(),
            document.day.map(|day| stock.dates[day].to_string()).unwrap_or_default(),
            document.tradable.map(|date| date.to_string()).unwrap_or_default(),
            exact(before.0),
            exact(after.0),
            exact(document.returns.day),
        ];
        row.extend(document.returns.after.iter().map(|after| exact(*after)));
        row
    };
    let mut table = Table::new(desk.language, &words, stock.documents.iter().map(row).collect());
    table.header.push(desk.say(own::ON_DAY).to_owned());
    table.header.extend(AFTER.map(|end| desk.say(own::AFTER).replace("{}", &end.to_string())));
    table
}
