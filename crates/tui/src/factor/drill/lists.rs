//! Draws the lists: dates of a quantile, names of a date, documents of a name.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::days::Days;
use super::documents::Documents;
use super::names::{NameOrder, Names};
use super::view::{draw_waiting, mark, panes};
use crate::charts::signed_bar;
use crate::context::PageContext;
use crate::factor::words as own;
use crate::list::{self, ListColumn};
use crate::{figures, look, width, words};
use inkstone_lab::factor::{TracedCell, TracedDate, TracedDay, TracedDocument, TracedName};

use inkstone_base::language::Language;

/// Width from which a list has room for more columns.
const WIDE: usize = 110;

/// The holding period that the page shows.
#[derive(Clone, Copy)]
pub(in crate::factor) struct HoldingPeriod {
    /// Number of the period among the factor's periods, from 0.
    pub(in crate::factor) at: usize,
    /// Trading days of the period; none before the factor is read.
    pub(in crate::factor) days: Option<usize>,
}

impl HoldingPeriod {
    /// The number of the period in a list of so many periods, and the name of the period, such as `5d`.
    fn among(self, horizons: usize) -> (usize, String) {
        (self.at.min(horizons.saturating_sub(1)), self.days.map(|days| format!("{days}d")).unwrap_or_default())
    }
}

pub(super) fn draw_days(
    context: &PageContext<'_>,
    held: HoldingPeriod,
    days: &Days,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [_, area, below] = panes(page);
    let Some(all) = days.asked.get() else {
        return draw_waiting(context, &days.asked, format!(" Q{} ", days.quantile), frame, area);
    };
    let order = context.say(if days.by_return { words::BY_RETURN } else { own::LATEST_FIRST });
    let count = figures::count(all.len() as u64);
    let block = look::pane(format!(" Q{} · {count} {} · {order} ", days.quantile, context.say(own::DATES_UNIT)), true);
    let inner = look::framed(block, frame, area);
    if all.is_empty() {
        let line = Line::raw(context.say(own::NO_DATES));
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner);
    }
    let (horizon, held) = held.among(all[0].returns.len());
    let earned_title = format!("{}{held} %", context.say(own::MEAN_RETURN));
    let up = format!("{} %", context.say(own::UP));
    let date = format!(" {}", context.say(own::DATE));
    let columns = [
        ListColumn::text(&date, 11),
        ListColumn::number(context.say(words::NAMES_UNIT), 5),
        ListColumn::number(context.say(words::WORTH), 9),
        ListColumn::number(&earned_title, 14),
        ListColumn::number(&up, 10),
        ListColumn::number(context.say(own::NEW_DOCUMENTS), 9),
        ListColumn::text("", 0),
    ];
    let earned_of = |day: &TracedDay| day.returns.get(horizon).copied().unwrap_or(f64::NAN);
    let room = (inner.width as usize).saturating_sub(64).min(40);
    let largest = all.iter().map(|day| earned_of(day).abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let row = |at: usize| {
        let day = &all[days.listed[at]];
        let earned = earned_of(day);
        let cells = vec![
            format!("{}{}", mark(at == days.cursor.at), day.date),
            figures::count(day.names as u64),
            figures::number(day.value, 3),
            figures::signed(100.0 * earned, 2),
            figures::number(100.0 * day.hits.get(horizon).copied().unwrap_or(f64::NAN), 0),
            figures::count(day.documents as u64),
            signed_bar(earned, largest, room),
        ];
        (cells, look::of_sign(earned, context.workspace.red_up))
    };
    list::draw(&columns, days.listed.len(), days.cursor, row, frame, inner);
    let about = format!(" {}", context.say(own::EACH_ALIKE));
    frame.render_widget(Line::styled(width::cut(&about, below.width as usize), look::DIM), below);
}

pub(super) fn draw_names(
    context: &PageContext<'_>,
    held: HoldingPeriod,
    names: &Names,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [_, area, below] = panes(page);
    let Some(date) = names.asked.get() else {
        return draw_waiting(context, &names.asked, format!(" {} ", names.day()), frame, area);
    };
    let quantile = if names.quantile > 0 { format!(" · Q{}", names.quantile) } else { String::new() };
    let order = context.say(match names.order {
        NameOrder::Value => words::BY_VALUE,
        NameOrder::Return => words::BY_RETURN,
        NameOrder::Documents => words::BY_DOCUMENTS,
    });
    let count = figures::count(names.listed.len() as u64);
    let title = format!(" {}{quantile} · {count} {} · {order} ", date.date, context.say(words::NAMES_UNIT));
    let block =
        look::pane(title, true).title_bottom(Line::styled(format!(" {} ", alignment(context, date)), look::DIM));
    let inner = look::framed(block, frame, area);
    let (horizon, held) = held.among(date.horizons.len());
    let earned_title = format!("{}{held} %", context.say(words::RETURN));
    let code = format!(" {}", context.say(words::CODE));
    let mut columns = vec![
        ListColumn::text(&code, 10),
        ListColumn::text(context.say(words::NAME), 8),
        ListColumn::number("Q", 3),
        ListColumn::number(context.say(words::WORTH), 8),
        ListColumn::number(context.say(words::DOCUMENTS_SHORT), 5),
        ListColumn::number(context.say(words::FIRST), 4),
        ListColumn::number(&earned_title, 9),
        ListColumn::text(context.say(words::TOP_DOCUMENT), 0),
    ];
    let wide = inner.width as usize >= WIDE;
    if wide {
        columns.insert(4, ListColumn::number(context.say(words::RAW), 9));
    }
    let row = |at: usize| {
        let name = &date.names[names.listed[at]];
        let earned = name.returns.get(horizon).copied().unwrap_or(f64::NAN);
        let mut cells = vec![
            format!("{}{}", mark(at == names.cursor.at), name.code),
            name.name.clone(),
            if name.quantile > 0 { format!("Q{}", name.quantile) } else { "–".to_owned() },
            figures::number(name.value, 3),
            figures::count(name.documents as u64),
            figures::count(name.first_mentions as u64),
            return_of(name, earned),
            name.title.clone(),
        ];
        if wide {
            cells.insert(4, figures::number(name.raw, 3));
        }
        (cells, look::of_sign(earned, context.workspace.red_up))
    };
    list::draw(&columns, names.listed.len(), names.cursor, row, frame, inner);
    if let Some(name) = names.marked() {
        let about = width::cut(&about_name(context, date, name), below.width as usize);
        frame.render_widget(Line::styled(about, look::NOTE), below);
    }
}

/// A return in per cent, or a sign that the name could not be traded.
fn return_of(name: &TracedName, earned: f64) -> String {
    match name.blocked {
        Some(_) if earned.is_nan() => "⊘".to_owned(),
        _ if earned.is_nan() => "–".to_owned(),
        _ => figures::signed(100.0 * earned, 1),
    }
}

/// At which price of which day the returns begin.
fn alignment(context: &PageContext<'_>, date: &TracedDate) -> String {
    let price = context.say(match date.price.as_str() {
        "close" => words::CLOSE,
        "vwap" => words::VWAP,
        _ => words::OPEN,
    });
    match (date.entry, context.language) {
        (Some(entry), Language::Zh) => format!("收益自 {entry} {price}起"),
        (Some(entry), Language::En) => format!("returns from the {price} of {entry}"),
        (None, Language::Zh) => "日历到此为止，尚无买入日".to_owned(),
        (None, Language::En) => "the calendar ends before the day of entry".to_owned(),
    }
}

/// The figures of the marked stock that the list has no column for.
fn about_name(context: &PageContext<'_>, date: &TracedDate, name: &TracedName) -> String {
    let mut parts = vec![format!("#{}", name.rank)];
    if let Some(known_at) = name.known_at {
        parts.push(format!("{} {}", context.say(words::KNOWN_AT), known_at.format("%Y-%m-%d %H:%M:%S")));
    }
    parts.push(format!("{} {}", context.say(words::RAW), figures::number(name.raw, 4)));
    parts
        .extend(name.blocked.as_deref().or(date.without_quantiles.as_deref()).map(|why| reason(context.language, why)));
    format!(" {}", parts.join(" · "))
}

/// The reason why a value was not used, in the language of the screen.
fn reason(language: Language, why: &str) -> String {
    let chinese = match why {
        "no trading day to enter on" => "没有可买入的交易日",
        "value of the benchmark" => "基准自身",
        "not known before the return begins" => "收益开始之前尚不可知，已剔除",
        "not traded on the day of entry" => "买入日停牌",
        "locked at the upper limit on the day of entry" => "买入日涨停，买不进",
        "one price all day, the upper limit, on the day of entry" => "买入日一字涨停，买不进",
        "listed for too few days on the day of entry" => "买入日上市天数不足",
        "no later price at a horizon" => "持有期末尚无价格",
        "date with too few names" => "当日股票太少，不分层",
        "date whose quantiles have no distinct edges" => "当日的值太少不同，分不出层",
        "no value that could be used" => "当日没有可用的值",
        other => other,
    };
    if language == Language::Zh { chinese.to_owned() } else { why.to_owned() }
}

pub(super) fn draw_documents(context: &PageContext<'_>, documents: &Documents, frame: &mut Frame<'_>, page: Rect) {
    let [_, area, below] = panes(page);
    let Some(cells) = documents.asked.get() else {
        return draw_waiting(context, &documents.asked, format!(" {} ", documents.code), frame, area);
    };
    let count = figures::count(documents.all().count() as u64);
    let title = format!(" {} · {count} {} ", documents.code, context.say(words::DOCUMENTS));
    let mut block = look::pane(title, true);
    if let Some((cell, _)) = documents.marked() {
        block = block.title_bottom(Line::styled(format!(" {} ", about_reading(context, cell)), look::DIM));
    }
    let inner = look::framed(block, frame, area);
    if cells.iter().all(|cell| cell.documents.is_empty()) {
        let line = Line::raw(context.say(words::NO_DOCUMENTS_BEHIND));
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner);
    }
    let mut columns = vec![
        ListColumn::text("", 3),
        ListColumn::number(context.say(words::GAVE), 8),
        ListColumn::number(context.say(words::WORTH), 7),
        ListColumn::number(context.say(words::WEIGHT), 6),
        ListColumn::number(context.say(words::AGE), width::width(context.say(words::AGE))),
        ListColumn::text(context.say(words::TIME), 11),
        ListColumn::text(context.say(words::KIND), 4),
        ListColumn::text(context.say(words::FIRST_SHORT), 2),
        ListColumn::text(context.say(words::TITLE), 0),
    ];
    let wide = inner.width as usize >= WIDE;
    if wide {
        columns.insert(8, ListColumn::text(context.say(words::SOURCE), 12));
    }
    let rows: Vec<(&TracedCell, &TracedDocument)> = documents.all().collect();
    let row = |at: usize| {
        let (cell, document) = rows[at];
        // Several readings may have taken it; this one did.
        let reading = if cells.len() > 1 { cell.reading.to_string() } else { String::new() };
        let mut cells = vec![
            format!("{}{}", mark(at == documents.cursor.at), width::right(&reading, 2)),
            figures::signed(document.contribution, 4),
            figures::number(document.value, 3),
            figures::number(document.weight, 3),
            document.age.to_string(),
            document.published_at.format("%m-%d %H:%M").to_string(),
            context.say(words::kind(document.kind)).to_owned(),
            context.say(if document.first { words::FIRST_SHORT } else { words::REPEAT }).to_owned(),
            document.title.clone(),
        ];
        if wide {
            cells.insert(8, document.source.clone());
        }
        (cells, look::of_sign(document.contribution, context.workspace.red_up))
    };
    list::draw(&columns, rows.len(), documents.cursor, row, frame, inner);
    if let Some((_, document)) = documents.marked() {
        let about = width::cut(&about_document(context, document), below.width as usize);
        frame.render_widget(Line::styled(about, look::NOTE), below);
    }
}

/// The reading that a document is of: `mean(tone) = +0.3200`.
fn about_reading(context: &PageContext<'_>, cell: &TracedCell) -> String {
    let mut text = format!(
        "{} {}: {}({}) = {} · {}",
        context.say(words::READING_OF),
        cell.reading,
        cell.aggregate,
        cell.reads.join(", "),
        figures::signed(cell.value, 4),
        cell.date
    );
    if cell.control {
        text += &format!(" · {}", context.say(words::REGRESSED_OUT));
    }
    if !cell.adds_up {
        text += &format!(" · {}", context.say(words::NOT_SHARED_OUT));
    }
    text
}

fn about_document(context: &PageContext<'_>, document: &TracedDocument) -> String {
    let published = document.published_at.format("%Y-%m-%d %H:%M:%S");
    let mut text = format!(" {} · {published} → {}", document.doc_id, document.trade_date);
    if let Some(first) = &document.repeats {
        text += &format!(" · {} {first}", context.say(words::REPEATS));
    }
    text
}
