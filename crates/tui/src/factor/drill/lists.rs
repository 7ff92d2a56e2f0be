//! Draws the lists: dates of a quantile, names of a date, documents of a name, words of a sentence; beside the list, where there is room,
//! the next level of the marked line.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::ahead::Ahead;
use super::text::about_words;
use super::view::{panes, split};
use super::{Drill, DrillLevel};
use crate::context::PageContext;
use crate::factor::words as own;
use crate::{figures, look, width, words};
use inkstone_lab::factor::{TracedCell, TracedDate, TracedDocument, TracedName, TracedNeighbour};

use inkstone_base::language::{Language, Word};

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
    pub(super) fn among(self, horizons: usize) -> (usize, String) {
        (self.at.min(horizons.saturating_sub(1)), self.days.map(|days| format!("{days}d")).unwrap_or_default())
    }
}

/// Cells of the bars of a list so wide, whose other columns take `others`.
pub(super) fn bar_cells(width: u16, others: usize, least: usize) -> usize {
    usize::from(width).saturating_sub(others).clamp(least, 40)
}

/// The texts around a list.
#[derive(Default)]
struct ListFrame {
    title: String,
    /// The text at the right of the title.
    right: String,
    bottom: Option<(String, Style)>,
    /// The line in place of a list without rows.
    empty: Option<Word>,
    /// The line below the list, about the marked line.
    about: (String, Style),
    /// The line in place of a list that is still being read.
    outstanding: Option<Line<'static>>,
}

fn frame_of(context: &PageContext<'_>, drill: &Drill) -> ListFrame {
    let dim = |text: String| (text, look::DIM);
    match (drill.level(), drill) {
        (DrillLevel::Days, Drill { days: Some(days), .. }) => ListFrame {
            title: days.title(context),
            empty: days.asked.get().filter(|days| days.is_empty()).map(|_| own::NO_DATES),
            about: dim(format!(" {}", context.say(own::EACH_ALIKE))),
            outstanding: context.outstanding(&days.asked),
            ..ListFrame::default()
        },
        (DrillLevel::Names, Drill { names: Some(names), .. }) => {
            let about = names.asked.get().zip(names.marked()).map(|(date, name)| about_name(context, date, name));
            ListFrame {
                title: names.title(context),
                bottom: names.asked.get().map(|date| dim(alignment(context, date))),
                about: (about.unwrap_or_default(), look::NOTE),
                outstanding: context.outstanding(&names.asked),
                ..ListFrame::default()
            }
        }
        (DrillLevel::Documents, Drill { documents: Some(documents), .. }) => {
            let marked = documents.marked();
            let none = documents.asked.get().filter(|cells| cells.iter().all(|cell| cell.documents.is_empty()));
            ListFrame {
                title: documents.title(context),
                bottom: marked.map(|(cell, _)| dim(about_reading(context, cell))),
                empty: none.map(|_| words::NO_DOCUMENTS_BEHIND),
                about: (marked.map(|(_, document)| about_document(context, document)).unwrap_or_default(), look::NOTE),
                outstanding: context.outstanding(&documents.asked),
                ..ListFrame::default()
            }
        }
        (_, Drill { sentences: Some(sentences), .. }) => {
            let (title, sum, about) = about_words(context, sentences).unwrap_or_default();
            let right = width::cut(&format!(" {} ", sentences.doc_id), 30);
            ListFrame { title, right, bottom: Some((sum, look::KEY)), about: dim(about), ..ListFrame::default() }
        }
        _ => ListFrame::default(),
    }
}

/// Draws the list of the level.
pub(super) fn draw(context: &PageContext<'_>, drill: &Drill, zoomed: bool, frame: &mut Frame<'_>, page: Rect) {
    let [_, area, below] = panes(page);
    let [list, beside] = split(drill.looks_ahead(page, zoomed), area);
    let around = frame_of(context, drill);
    let mut block = look::pane(around.title, true).title_top(Line::styled(around.right, look::DIM).right_aligned());
    if let Some((text, style)) = around.bottom {
        block = block.title_bottom(Line::styled(format!(" {} ", text.trim()), style));
    }
    let inner = look::framed(block, frame, list);
    let instead = around.outstanding.or(around.empty.map(|word| Line::raw(context.say(word))));
    match (instead, drill.sheet()) {
        (Some(line), _) => frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner),
        (None, Some(sheet)) => sheet.draw(frame, inner),
        (None, None) => {}
    }
    let about = width::cut(&around.about.0, below.width as usize);
    frame.render_widget(Line::styled(about, around.about.1), below);
    if let Some(ahead) = drill.ahead.as_ref().filter(|_| !beside.is_empty()) {
        draw_ahead(context, ahead, frame, beside);
    }
}

/// Draws the next level of the marked line.
fn draw_ahead(context: &PageContext<'_>, ahead: &Ahead, frame: &mut Frame<'_>, area: Rect) {
    match ahead {
        Ahead::Documents(_, documents) => {
            let title = width::cut(&documents.title(context), usize::from(area.width.saturating_sub(2)));
            let inner = look::framed(look::pane(title, false), frame, area);
            match context.outstanding(&documents.asked) {
                Some(line) => frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner),
                None => documents.sheet.draw(frame, inner),
            }
        }
        Ahead::Text { title, asked, lines, .. } => {
            let title = width::cut(&format!(" {title} "), usize::from(area.width.saturating_sub(2)));
            let inner = look::framed(look::pane(title, false), frame, area);
            let lines = match context.outstanding(asked) {
                Some(line) => vec![line],
                None => lines.iter().take(usize::from(inner.height)).map(|line| Line::raw(line.as_str())).collect(),
            };
            frame.render_widget(Paragraph::new(lines), inner);
        }
    }
}

/// A return in per cent, or a sign that the name could not be traded.
pub(super) fn return_of(name: &TracedName, earned: f64) -> String {
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
    if let Some(neighbour) = &cell.neighbour {
        let TracedNeighbour { code, name, share } = neighbour;
        text += &format!(" · {} {code} {name} × {}", context.say(words::NEIGHBOUR), figures::number(*share, 3));
    }
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
