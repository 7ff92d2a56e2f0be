//! The picture of the way down: breadcrumbs, the list or text of the level, and a line on what is marked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::names::Order;
use super::sentences::{Piece, Sentences};
use super::{Asked, Drill};
use crate::extract::{ExplainedBy, ExplainedText};
use crate::factor::{TracedCell, TracedDate, TracedDocument, TracedName};
use crate::language::Language;
use crate::tui::app::App;
use crate::tui::words;
use crate::tui::{figures, look, width};

/// Lines of the words below a text, with their frame.
const WORDS: u16 = 7;
/// Cells before a line of a text: the mark, what the sentence gave, a space.
const MARGIN: usize = 11;
/// Width from which a list has room for more columns.
const WIDE: usize = 110;

/// Breadcrumbs, the level, a line on what is marked.
fn panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(page)
}

/// Breadcrumbs, text, words.
fn text_panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(WORDS)]).areas(page)
}

/// Lines that a list has room for.
pub(super) fn rows(page: Rect) -> usize {
    panes(page)[1].height.saturating_sub(3) as usize
}

/// Lines of text that the page has room for.
pub(super) fn text_rows(page: Rect) -> usize {
    text_panes(page)[1].height.saturating_sub(2) as usize
}

/// Cells of a line of text.
pub(super) fn text_width(page: Rect) -> usize {
    (page.width as usize).saturating_sub(2 + MARGIN).max(2)
}

/// Draws the level that was reached.
pub(in crate::tui::factor) fn draw(app: &App, drill: &Drill, frame: &mut Frame<'_>, page: Rect) {
    let [crumbs, ..] = panes(page);
    frame.render_widget(breadcrumbs(app, drill, crumbs.width as usize), crumbs);
    match (&drill.sentences, &drill.documents) {
        (Some(sentences), _) => draw_text(app, sentences, frame, page),
        (None, Some(documents)) => draw_documents(app, documents, frame, page),
        (None, None) => draw_names(app, drill, frame, page),
    }
}

/// Where one is: `因子 tone › 2024-03-15 › 300731.SZ 启澜生物 › 公告 › 第 2 句`.
fn breadcrumbs<'a>(app: &App, drill: &Drill, columns: usize) -> Line<'a> {
    let mut crumbs = vec![format!("{} {}", app.say(words::FACTOR), drill.factor), drill.day().to_string()];
    if let Some(documents) = &drill.documents {
        crumbs.push(format!("{} {}", documents.code, documents.name).trim_end().to_owned());
    }
    if let Some(sentences) = &drill.sentences {
        crumbs.push(app.say(words::kind(sentences.kind)).to_owned());
        if sentences.explained().is_some_and(|explained| !explained.sentences.is_empty()) {
            crumbs.push(match app.language {
                Language::Zh => format!("第 {} 句", sentences.at + 1),
                Language::En => format!("sentence {}", sentences.at + 1),
            });
        }
    }
    let last = crumbs.pop().unwrap_or_default();
    let before: String = crumbs.iter().map(|crumb| format!("{crumb} › ")).collect();
    let room = columns.saturating_sub(1 + width::width(&last));
    Line::from(vec![
        Span::styled(format!(" {}", width::cut(&before, room)), look::DIM),
        Span::styled(width::cut(&last, columns.saturating_sub(1)), look::STRONG),
    ])
}

/// A pane that says that something is looked for, or why it was not found.
fn draw_waiting<T>(app: &App, asked: &Asked<T>, title: String, frame: &mut Frame<'_>, area: Rect) {
    let line = match &asked.found {
        Some(Err(error)) => Line::styled(error.clone(), look::BAD),
        _ => Line::styled(app.say(words::READING), look::DIM),
    };
    frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(look::pane(title, true)), area);
}

/// Fields of a line, each in its width; below 0 the text is at the left. A space stands between them.
fn fields(parts: &[(&str, isize)]) -> String {
    let field = |(text, wide): &(&str, isize)| match *wide {
        wide if wide < 0 => width::left(text, wide.unsigned_abs()),
        wide => width::right(text, wide as usize),
    };
    parts.iter().map(field).collect::<Vec<_>>().join(" ")
}

fn mark(marked: bool) -> &'static str {
    if marked { "▶" } else { " " }
}

fn draw_names(app: &App, drill: &Drill, frame: &mut Frame<'_>, page: Rect) {
    let [_, list, below] = panes(page);
    let names = &drill.names;
    let Some(date) = names.asked.get() else {
        return draw_waiting(app, &names.asked, format!(" {} ", drill.day()), frame, list);
    };
    let horizon = app.factor.horizon.min(date.horizons.len().saturating_sub(1));
    let quantile = if names.quantile > 0 { format!(" · Q{}", names.quantile) } else { String::new() };
    let order = app.say(match names.order {
        Order::Value => words::BY_VALUE,
        Order::Return => words::BY_RETURN,
        Order::Documents => words::BY_DOCUMENTS,
    });
    let count = figures::count(names.listed.len() as u64);
    let title = format!(" {}{quantile} · {count} {} · {order} ", date.date, app.say(words::NAMES_UNIT));
    let block = look::pane(title, true).title_bottom(Line::styled(format!(" {} ", alignment(app, date)), look::DIM));
    let inner = block.inner(list);
    frame.render_widget(block, list);
    let columns = inner.width as usize;
    let wide = columns >= WIDE;
    let held = date.horizons.get(horizon).copied().unwrap_or(0);
    let earned = format!("{}{held}d", app.say(words::RETURN));
    let said = [words::CODE, words::NAME, words::RAW, words::DOCUMENTS_SHORT, words::FIRST, words::TOP_DOCUMENT];
    let [code, name, raw, documents, first, top] = said.map(|word| app.say(word));
    let line = |[code, name, q, value, raw, documents, first, earned, title]: [&str; 9]| {
        let mut parts = vec![(code, -9isize), (name, -8), (q, 3), (value, 8)];
        if wide {
            parts.push((raw, 9));
        }
        parts.extend([(documents, 4), (first, 4), (earned, 9)]);
        let taken: usize = parts.iter().map(|part| part.1.unsigned_abs() + 1).sum();
        let rest = columns.saturating_sub(taken + 1);
        (fields(&parts), width::left(title, rest))
    };
    let (head, of_title) = line([code, name, "Q", app.say(words::WORTH), raw, documents, first, &earned, top]);
    let mut lines = vec![Line::styled(format!(" {head} {of_title}"), look::DIM)];
    let shown = names.listed.iter().enumerate().skip(names.cursor.top).take(inner.height.saturating_sub(1) as usize);
    for (at, &place) in shown {
        let name = &date.names[place];
        let earned = name.returns.get(horizon).copied().unwrap_or(f64::NAN);
        let text = [
            name.code.clone(),
            name.name.clone(),
            if name.quantile > 0 { format!("Q{}", name.quantile) } else { "–".to_owned() },
            figures::number(name.value, 3),
            figures::number(name.raw, 3),
            figures::count(name.documents as u64),
            figures::count(name.first_mentions as u64),
            return_of(name, earned),
            name.title.clone(),
        ];
        let (fields, title) = line(text.each_ref().map(String::as_str));
        let marked = at == names.cursor.at;
        let style = if marked { look::SELECTED } else { look::PLAIN };
        let earned = look::of_sign(earned, app.workspace.red_up).patch(style);
        // The return stands at the end of the fields.
        let cut = fields.char_indices().rev().nth(8).map_or(0, |c| c.0);
        lines.push(Line::from(vec![
            Span::raw(mark(marked)),
            Span::styled(fields[..cut].to_owned(), style),
            Span::styled(fields[cut..].to_owned(), earned),
            Span::styled(format!(" {title}"), style),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), inner);
    if let Some(name) = names.marked() {
        frame.render_widget(
            Line::styled(width::cut(&about_name(app, date, name), below.width as usize), look::NOTE),
            below,
        );
    }
}

/// A return, or a sign that the name could not be traded.
fn return_of(name: &TracedName, earned: f64) -> String {
    match name.blocked {
        Some(_) if earned.is_nan() => "⊘".to_owned(),
        _ if earned.is_nan() => "–".to_owned(),
        _ => format!("{} %", figures::signed(100.0 * earned, 1)),
    }
}

/// At which price of which day the returns begin.
fn alignment(app: &App, date: &TracedDate) -> String {
    let price = app.say(match date.price.as_str() {
        "close" => words::CLOSE,
        "vwap" => words::VWAP,
        _ => words::OPEN,
    });
    match (date.entry, app.language) {
        (Some(entry), Language::Zh) => format!("收益自 {entry} {price}起"),
        (Some(entry), Language::En) => format!("returns from the {price} of {entry}"),
        (None, Language::Zh) => "日历到此为止，尚无买入日".to_owned(),
        (None, Language::En) => "the calendar ends before the day of entry".to_owned(),
    }
}

/// What the list has no column for.
fn about_name(app: &App, date: &TracedDate, name: &TracedName) -> String {
    let mut parts = vec![format!("#{}", name.rank)];
    if let Some(known_at) = name.known_at {
        parts.push(format!("{} {}", app.say(words::KNOWN_AT), known_at.format("%Y-%m-%d %H:%M:%S")));
    }
    parts.push(format!("{} {}", app.say(words::RAW), figures::number(name.raw, 4)));
    parts.extend(name.blocked.as_deref().or(date.without_quantiles.as_deref()).map(|why| reason(app.language, why)));
    format!(" {}", parts.join(" · "))
}

/// Why a value was not used, in the language of the screen.
fn reason(language: Language, why: &str) -> String {
    let chinese = match why {
        "no trading day to enter on" => "没有可买入的交易日",
        "value of the benchmark" => "基准自身",
        "not known before the return begins" => "收益开始之前尚不可知，被拒",
        "not traded on the day of entry" => "买入日停牌",
        "locked at the upper limit on the day of entry" => "买入日涨停，买不进",
        "one price all day, the upper limit, on the day of entry" => "买入日一字涨停，买不进",
        "listed for too few days on the day of entry" => "买入日上市天数不足",
        "no later price at a horizon" => "持有期末尚无价格",
        "date with too few names" => "当日名字太少，不分层",
        "date whose quantiles have no distinct edges" => "当日的值太少不同，分不出层",
        "no value that could be used" => "当日没有可用的值",
        other => other,
    };
    if language == Language::Zh { chinese.to_owned() } else { why.to_owned() }
}

fn draw_documents(app: &App, documents: &super::documents::Documents, frame: &mut Frame<'_>, page: Rect) {
    let [_, list, below] = panes(page);
    let Some(cells) = documents.asked.get() else {
        return draw_waiting(app, &documents.asked, format!(" {} ", documents.code), frame, list);
    };
    let count = figures::count(documents.all().count() as u64);
    let title = format!(" {} · {count} {} ", documents.code, app.say(words::DOCUMENTS));
    let mut block = look::pane(title, true);
    if let Some((cell, _)) = documents.marked() {
        block = block.title_bottom(Line::styled(format!(" {} ", about_reading(app, cell)), look::DIM));
    }
    let inner = block.inner(list);
    frame.render_widget(block, list);
    if cells.iter().all(|cell| cell.documents.is_empty()) {
        let line = Line::raw(app.say(words::NO_DOCUMENTS_BEHIND));
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), inner);
    }
    let columns = inner.width as usize;
    let wide = columns >= WIDE;
    let several = cells.len() > 1;
    let line = |[reading, gave, value, weight, age, time, kind, first, source, title]: [&str; 10]| {
        let mut parts = vec![(gave, 8isize), (value, 7), (weight, 6), (age, 3), (time, -11), (kind, -4), (first, -2)];
        if wide {
            parts.push((source, -12));
        }
        if several {
            parts.insert(0, (reading, 2));
        }
        let taken: usize = parts.iter().map(|part| part.1.unsigned_abs() + 1).sum();
        let rest = columns.saturating_sub(taken + 1);
        parts.push((title, -(rest as isize)));
        fields(&parts)
    };
    let said = [words::GAVE, words::WORTH, words::WEIGHT, words::AGE, words::TIME, words::KIND, words::FIRST_SHORT];
    let [gave, value, weight, age, time, kind_head, first] = said.map(|word| app.say(word));
    let (source, title) = (app.say(words::SOURCE), app.say(words::TITLE));
    let head = line(["", gave, value, weight, age, time, kind_head, first, source, title]);
    let mut lines = vec![Line::styled(format!(" {head}"), look::DIM)];
    let shown = documents.all().enumerate().skip(documents.cursor.top).take(inner.height.saturating_sub(1) as usize);
    for (at, (cell, document)) in shown {
        let text = [
            cell.reading.to_string(),
            figures::signed(document.contribution, 4),
            figures::number(document.value, 3),
            figures::number(document.weight, 3),
            document.age.to_string(),
            document.published_at.format("%m-%d %H:%M").to_string(),
            app.say(words::kind(document.kind)).to_owned(),
            app.say(if document.first { words::IS_FIRST } else { words::REPEAT }).to_owned(),
            document.source.clone(),
            document.title.clone(),
        ];
        let marked = at == documents.cursor.at;
        let style = look::of_sign(document.contribution, app.workspace.red_up);
        let style = if marked { style.patch(look::SELECTED) } else { style };
        let text = line(text.each_ref().map(String::as_str));
        lines.push(Line::from(vec![Span::raw(mark(marked)), Span::styled(text, style)]));
    }
    frame.render_widget(Paragraph::new(lines), inner);
    if let Some((_, document)) = documents.marked() {
        let about = width::cut(&about_document(app, document), below.width as usize);
        frame.render_widget(Line::styled(about, look::NOTE), below);
    }
}

/// The reading that a document is of: `mean(tone) = +0.3200`.
fn about_reading(app: &App, cell: &TracedCell) -> String {
    let mut text = format!(
        "{} {}: {}({}) = {} · {}",
        app.say(words::READING_OF),
        cell.reading,
        cell.aggregate,
        cell.reads.join(", "),
        figures::signed(cell.value, 4),
        cell.date
    );
    if cell.control {
        text += &format!(" · {}", app.say(words::REGRESSED_OUT));
    }
    if !cell.adds_up {
        text += &format!(" · {}", app.say(words::NOT_SHARED_OUT));
    }
    text
}

fn about_document(app: &App, document: &TracedDocument) -> String {
    let published = document.published_at.format("%Y-%m-%d %H:%M:%S");
    let mut text = format!(" {} · {published} → {}", document.doc_id, document.trade_date);
    if let Some(first) = &document.repeats {
        text += &format!(" · {} {first}", app.say(words::REPEATS));
    }
    text
}

fn draw_text(app: &App, sentences: &Sentences, frame: &mut Frame<'_>, page: Rect) {
    let [_, text, below] = text_panes(page);
    let Some(all) = sentences.asked.get() else {
        return draw_waiting(app, &sentences.asked, format!(" {} ", sentences.doc_id), frame, text);
    };
    let Some(explained) = sentences.explained() else {
        let block = look::pane(format!(" {} ", sentences.doc_id), true);
        let line = Line::raw(app.say(words::NOTHING_READ_OF_MODELS));
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(block), text);
    };
    let place = if all.len() > 1 { format!("{}/{} ", sentences.column + 1, all.len()) } else { String::new() };
    let title = format!(" {place}{}.{} · {} ", explained.feature, explained.column, explained.model);
    let score = format!(" {} {} ", app.say(words::SCORE), figures::signed(score_of(explained), 4));
    let mut block = look::pane(title, true)
        .title_top(Line::styled(width::cut(&format!(" {} ", sentences.doc_id), 30), look::DIM).right_aligned())
        .title_bottom(Line::styled(score, look::KEY));
    if explained.by == ExplainedBy::Words {
        block = block.title_bottom(Line::styled(rest_of(app, explained), look::DIM).right_aligned());
    }
    let inner = block.inner(text);
    frame.render_widget(block, text);
    let shown = sentences.lines.iter().skip(sentences.top).take(inner.height as usize);
    let lines: Vec<Line<'_>> = shown.map(|line| text_line(app, sentences, explained, line)).collect();
    frame.render_widget(Paragraph::new(lines), inner);
    draw_words(app, sentences, explained, frame, below);
}

/// The value as it was found, or where nothing was, as it is kept.
fn score_of(explained: &ExplainedText) -> f64 {
    if explained.score.is_nan() { explained.kept } else { explained.score }
}

fn rest_of(app: &App, explained: &ExplainedText) -> String {
    let [intercept, rest] = [explained.intercept, explained.rest].map(|value| figures::signed(value, 4));
    format!(" {} {intercept} · {} {rest} ", app.say(words::INTERCEPT), app.say(words::REST))
}

/// A line of a text after what its sentence gave, words in the colours of gain and loss.
fn text_line<'a>(app: &App, sentences: &Sentences, explained: &ExplainedText, line: &'a Piece) -> Line<'a> {
    let red_up = app.workspace.red_up;
    let marked = line.sentence == sentences.at;
    let value = explained.sentences.get(line.sentence).map_or(f64::NAN, |sentence| sentence.value);
    let gave = match (line.first, explained.by) {
        (true, ExplainedBy::Words | ExplainedBy::Omission) if value != 0.0 => figures::signed(value, 4),
        _ => String::new(),
    };
    let mut spans = vec![
        Span::styled(mark(marked && line.first), look::KEY),
        Span::styled(format!("{} ", width::right(&gave, MARGIN - 2)), look::of_sign(value, red_up)),
    ];
    // Without words the sentence as a whole has the colour.
    let whole = if explained.by == ExplainedBy::Omission { look::of_sign(value, red_up) } else { look::PLAIN };
    let plain = if marked { whole.patch(look::STRONG) } else { whole };
    let of = |given: f64| match given {
        0.0 => plain,
        given => look::of_sign(given, red_up).patch(look::STRONG),
    };
    let mut run: Option<(Style, String)> = None;
    for (glyph, given) in &line.glyphs {
        match run.as_mut().filter(|run| run.0 == of(*given)) {
            Some(run) => run.1 += glyph,
            None => {
                spans.extend(run.take().map(|(style, text)| Span::styled(text, style)));
                run = Some((of(*given), glyph.clone()));
            }
        }
    }
    spans.extend(run.map(|(style, text)| Span::styled(text, style)));
    Line::from(spans)
}

/// The words of the sentence that is looked at, and how they were found.
fn draw_words(app: &App, sentences: &Sentences, explained: &ExplainedText, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(format!(" {} ", app.say(words::WORDS_THAT_MOVED)), false);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let columns = inner.width as usize;
    let mut spans = Vec::new();
    let mut used = 0;
    let of_sentence = explained.sentences.get(sentences.at).map_or(&[][..], |sentence| &sentence.words);
    for (number, word) in of_sentence.iter().enumerate() {
        let mut text = format!("{} {}", word.word, figures::signed(word.value, 4));
        if word.negated {
            text += &format!(" {}", app.say(words::NEGATED));
        }
        if word.degree != 1.0 {
            text += &format!(" ×{}", figures::number(f64::from(word.degree), 1));
        }
        let wide = width::width(&text) + 3;
        if used + wide > columns {
            spans.push(Span::styled(format!("+{}", of_sentence.len() - number), look::DIM));
            break;
        }
        used += wide;
        spans.push(Span::styled(width::cut(&text, columns), look::of_sign(word.value, app.workspace.red_up)));
        spans.push(Span::raw("   "));
    }
    if of_sentence.is_empty() {
        spans.push(Span::styled(app.say(words::NO_WORDS), look::DIM));
    }
    let note = if app.language == Language::Zh { &explained.note.0 } else { &explained.note.1 };
    let mut lines = vec![Line::from(spans)];
    lines.extend(wrapped(note, columns).into_iter().take(3).map(|line| Line::styled(line, look::NOTE)));
    lines.push(Line::styled(width::cut(&explained.formula, columns), look::DIM));
    frame.render_widget(Paragraph::new(lines), inner);
}

fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let glyphs: Vec<width::Glyph<'_>> = width::glyphs(text).collect();
    let line = |range: std::ops::Range<usize>| glyphs[range].iter().map(|glyph| &*glyph.text).collect();
    width::wrap(&glyphs, columns.max(2)).into_iter().map(line).collect()
}
