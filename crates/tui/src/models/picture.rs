//! Draws the form, and a training under way.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph, Wrap};

use super::course::{Course, End, KeptCurve};
use super::form::{Form, FormRow};
use super::words;
use crate::context::PageContext;
use crate::field;
use crate::words as shared;
use crate::{figures, look, width};
use inkstone_base::job::StageProgress;

/// Lines below the form: what is wrong with all of it.
pub(super) const BELOW_FORM: u16 = 1;
/// Cells of the name of a line.
const NAME: usize = 13;
/// Lines above the curve.
const HEAD: u16 = 4;

pub(super) fn draw_form(context: &PageContext<'_>, form: &Form, frame: &mut Frame<'_>, area: Rect) {
    let keys = Line::styled(format!(" {} ", context.say(words::TRAIN_KEYS)), look::DIM);
    let block = look::pane(format!(" {} ", context.say(words::TRAIN)), true).title_bottom(keys);
    let inner = look::framed(block, frame, area);
    let [lines, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(BELOW_FORM)]).areas(inner);
    let wide = lines.width as usize;
    let value = (wide / 3).clamp(24, 40);
    let rows = form.rows();
    let shown = rows.iter().enumerate().skip(form.cursor.top).take(lines.height as usize);
    let drawn: Vec<Line<'_>> = shown.map(|(at, row)| line(context, form, (at, *row), value, wide)).collect();
    frame.render_widget(Paragraph::new(drawn), lines);
    if form.typing {
        let (_, cursor) = form.held(form.row()).window(value);
        let row = lines.y as usize + form.cursor.at.saturating_sub(form.cursor.top);
        let (column, last) = (lines.x as usize + 2 + NAME + cursor, lines.right().saturating_sub(1));
        field::put_cursor(column, last, u16::try_from(row).unwrap_or(u16::MAX), frame);
    }
    let message = match form.whole_fault() {
        Some(fault) => Line::styled(width::cut(&format!("✗ {fault}"), wide), look::BAD),
        None if form.checked.as_ref().is_some_and(|checked| checked.waiting()) => {
            Line::styled(context.say(words::CHECKING), look::DIM)
        }
        None if context.busy() => Line::styled(context.say(words::JOB_BUSY), look::NOTE),
        None => Line::default(),
    };
    frame.render_widget(message, below);
}

/// A line: its name, what it holds, and what it means or what is wrong with it.
fn line<'a>(
    context: &PageContext<'_>,
    form: &Form,
    (at, row): (usize, FormRow),
    value: usize,
    wide: usize,
) -> Line<'a> {
    let field = form.held(row);
    let here = at == form.cursor.at;
    let name = if row == FormRow::Kind { context.say(words::MODEL) } else { form.flag(row) };
    let mark = if here { "▸ " } else { "  " };
    let held = match row {
        _ if here && form.typing => field.window(value).0,
        FormRow::Kind => format!("‹ {} ›", form.kind_name()),
        FormRow::Format => format!("‹ {} ›", form.format().unwrap_or_else(|| context.say(words::BY_NAME))),
        _ if form.chooses(row) => format!("‹ {} ›", choice(context, field.text())),
        FormRow::Until if field.text().is_empty() => context.say(words::NO_LIMIT).to_owned(),
        _ => field.text().to_owned(),
    };
    let rest = wide.saturating_sub(2 + NAME + value + 1);
    let (message, style) = match form.fault(row, context.language) {
        Some(fault) => (format!("✗ {fault}"), look::BAD),
        None => {
            let corpus = context.workspace.models.as_ref().map(|bench| bench.corpus.as_str());
            let text = match row {
                FormRow::Input if corpus == Some(field.text()) => context.say(words::THIS_CORPUS),
                FormRow::Until => context.say(words::A_TIME),
                _ => form.about(row, context.language),
            };
            (text.to_owned(), look::DIM)
        }
    };
    let of_value = match (here, form.typing) {
        (true, true) => look::KEY,
        (true, false) => look::SELECTED,
        (false, _) => look::PLAIN,
    };
    Line::from(vec![
        Span::styled(mark, look::KEY),
        Span::styled(width::left(name, NAME), look::STRONG),
        Span::styled(width::left(&held, value), of_value),
        Span::styled(format!(" {}", width::cut(&message, rest)), style),
    ])
}

/// A choice as it is shown: a switch by a word, a flag without a value by a dash.
fn choice<'a>(context: &PageContext<'_>, value: &'a str) -> &'a str {
    match value {
        "on" => context.say(shared::YES),
        "off" => context.say(shared::NO),
        "" => "–",
        other => other,
    }
}

pub(super) fn draw_course(
    context: &PageContext<'_>,
    course: &Course,
    kept: Option<&KeptCurve>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let title = width::cut(&format!("{} → {}", course.kind, course.output), area.width.saturating_sub(4) as usize);
    let mut block = look::pane(format!(" {title} "), true);
    let after = match course.end {
        Some(End::Done) => Some(words::AFTER_DONE),
        Some(End::Failed(_) | End::Lost | End::Cancelled) => Some(words::AFTER_FAILED),
        None => None,
    };
    if let Some(word) = after {
        block = block.title_bottom(Line::styled(format!(" {} ", context.say(word)), look::KEY));
    }
    let inner = look::framed(block, frame, area);
    let why = match &course.end {
        Some(End::Failed(why)) => Some(why.to(context.language)),
        Some(End::Lost) => Some(context.say(words::LOST)),
        _ => None,
    };
    if let Some(why) = why {
        let lines = vec![Line::styled(context.say(words::FAILED), look::BAD), Line::styled(why, look::BAD)];
        return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }
    let [head, curve] = Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0)]).areas(inner);
    frame.render_widget(Paragraph::new(about(context, course, head.width as usize)), head);
    if course.curve.len() > 1 {
        draw_curve(context, course, kept, frame, curve);
    } else if course.stage.is_some() && course.end.is_some() && course.curve.is_empty() {
        frame.render_widget(Line::styled(context.say(words::NO_LOSS), look::DIM), curve);
    }
}

/// The state, the progress and the speed of a training.
fn about<'a>(context: &PageContext<'_>, course: &Course, wide: usize) -> Vec<Line<'a>> {
    let (word, style) = match &course.end {
        // The text is read before anybody knows how many words it has.
        None if course.stage.as_ref().is_none_or(|stage| stage.total.is_none()) => (words::READING_TEXT, look::KEY),
        None => (words::TRAINING, look::KEY),
        Some(End::Done) => (words::DONE, look::GOOD),
        Some(End::Cancelled) => (words::CANCELLED, look::NOTE),
        Some(End::Failed(_) | End::Lost) => (words::FAILED, look::BAD),
    };
    let mut state = vec![Span::styled(context.say(word), style.patch(look::STRONG))];
    if let Some(epoch) = course.epoch() {
        state.push(Span::raw(format!(" · {} {epoch}", context.say(words::EPOCH))));
    }
    if let Some((_, loss)) = course.curve.last() {
        state.push(Span::raw(format!(" · {} ", context.say(words::LOSS))));
        state.push(Span::styled(figures::number(*loss, 4), look::STRONG));
    }
    let Some(stage) = &course.stage else { return vec![Line::from(state)] };
    let unit = match stage.unit {
        "words" => context.say(words::WORDS),
        "pairs" => context.say(words::UNIT_PAIRS),
        "docs" => context.say(words::UNIT_DOCS),
        other => other,
    };
    let total = stage.total.map(|total| format!(" / {}", figures::count(total))).unwrap_or_default();
    let done = format!("{}{total} {unit}", figures::count(stage.done));
    // The unit belongs to the rate: `812.3k words/s`.
    let rate = figures::rate(stage.rate());
    let rate = rate.strip_suffix("/s").map_or(rate.clone(), |number| format!("{number} {unit}/s"));
    let mut pace = format!("{rate} · {} {}", context.say(words::ELAPSED), figures::span(stage.elapsed));
    if let Some(left) = stage.eta().filter(|_| course.end.is_none()) {
        pace += &format!(" · {} {}", context.say(words::LEFT), figures::span(left));
    }
    vec![Line::from(state), Line::from(gauge(stage, &done, wide)), Line::raw(width::cut(&pace, wide)), Line::raw("")]
}

/// A bar of what is done, with the numbers behind it.
fn gauge<'a>(stage: &StageProgress, done: &str, wide: usize) -> Vec<Span<'a>> {
    let Some(share) = stage.share else { return vec![Span::raw(done.to_owned())] };
    let percent = format!(" {:>5}  ", format!("{:.0} %", 100.0 * share));
    let cells = wide.saturating_sub(width::width(&percent) + width::width(done)).min(40);
    let full = (share * cells as f64).round() as usize;
    vec![
        Span::styled("█".repeat(full), look::KEY),
        Span::styled("░".repeat(cells - full), look::DIM),
        Span::raw(format!("{percent}{done}")),
    ]
}

/// The loss over what was done, and that of the training that was kept.
fn draw_curve(context: &PageContext<'_>, course: &Course, kept: Option<&KeptCurve>, frame: &mut Frame<'_>, area: Rect) {
    if area.height < 4 {
        return;
    }
    let kept = kept.filter(|kept| kept.points != course.curve);
    let [names, area] =
        Layout::vertical([Constraint::Length(u16::from(kept.is_some())), Constraint::Min(0)]).areas(area);
    if let Some(kept) = kept {
        let last = kept.points.last().map_or(f64::NAN, |(_, loss)| *loss);
        let off = course.curve.last().map_or(f64::NAN, |(_, loss)| *loss) - last;
        let text = format!("{} {} ({})", kept.name, figures::number(last, 4), figures::signed(off, 4));
        let name = Span::styled(format!("┄ {} {text}", context.say(words::KEPT_CURVE)), look::NOTE);
        frame.render_widget(Line::from(name), names);
    }
    let beside = kept.map_or(&[][..], |kept| &kept.points);
    let losses = course.curve.iter().chain(beside).map(|(_, loss)| *loss);
    let (least, most) = losses.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), loss| (a.min(loss), b.max(loss)));
    let room = ((most - least) * 0.05).max(1e-6);
    let total = course.stage.as_ref().and_then(|stage| stage.total).map(|total| total as f64);
    let last = course.curve.last().map_or(1.0, |(done, _)| *done);
    let beside_end = beside.last().map_or(0.0, |(done, _)| *done);
    let end = total.unwrap_or(last).max(last).max(beside_end).max(1.0);
    let (low, high) = (least - room, most + room);
    let line = |points| Dataset::default().marker(look::marker()).graph_type(GraphType::Line).data(points);
    // The dots of the other one stand alone, for screens without colours.
    let sets =
        vec![line(beside).graph_type(GraphType::Scatter).style(look::NOTE), line(&course.curve).style(look::KEY)];
    let number = |value: f64| Line::raw(figures::number(value, 3));
    let count = |value: f64| Line::raw(figures::count(value as u64));
    let x = Axis::default().bounds([0.0, end]).labels([count(0.0), count(end / 2.0), count(end)]).style(look::DIM);
    let y = Axis::default()
        .bounds([low, high])
        .labels([number(low), number((low + high) / 2.0), number(high)])
        .title(Span::styled(context.say(words::LOSS), look::DIM))
        .style(look::DIM);
    frame.render_widget(Chart::new(sets).x_axis(x).y_axis(y), area);
}
