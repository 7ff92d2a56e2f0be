//! The card of a model file: its data, size, tools and parameters.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::bench::{ModelCard, Tool};
use super::state::ModelsPage;
use super::view::megabytes;
use super::words;
use crate::action::Action;
use crate::commands::{COMMANDS, KeyPress};
use crate::context::PageContext;
use crate::{figures, look, width};

/// Heights of a little bar.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Passes whose losses are drawn.
const PASSES: usize = 48;

pub(super) fn draw(context: &PageContext<'_>, models: &ModelsPage, frame: &mut Frame<'_>, area: Rect) {
    let Some(card) = models.card() else { return frame.render_widget(look::pane("", false), area) };
    let room = (area.width as usize).saturating_sub(4);
    let block = look::pane(format!(" {} ", width::cut(&card.name, room)), false);
    let inner = block.inner(area);
    let mut lines = vec![Line::styled(width::cut(&sizes(context, card), inner.width as usize), look::STRONG)];
    if let Some(fault) = &card.fault {
        lines.push(Line::styled(format!("✗ {}: {fault}", context.say(words::BROKEN)), look::BAD));
    } else {
        lines.push(seen(context, card));
    }
    if let Some(line) = losses(context, card, inner.width as usize) {
        lines.push(line);
    }
    if card.fault.is_none() {
        lines.push(tools(context, card));
    }
    if !card.params.is_empty() {
        lines.push(Line::raw(""));
        lines.extend(params(card, inner.width as usize));
    }
    look::message(lines, block, frame, area);
}

fn sizes(context: &PageContext<'_>, card: &ModelCard) -> String {
    let mut parts = vec![card.kind.clone(), format!("{} MB", megabytes(card.bytes))];
    let mut counted = |n: Option<u64>, unit| {
        if let Some(n) = n {
            parts.push(format!("{} {}", figures::count(n), context.say(unit)));
        }
    };
    let of_grams = card.tools.contains(&Tool::Following);
    counted(card.dim, if of_grams { words::ORDER_UNIT } else { words::DIM_UNIT });
    counted(card.words, if card.tools.is_empty() { words::COLUMNS_UNIT } else { words::WORDS_UNIT });
    parts.join(" · ")
}

/// Until when its text was, and how much of it there was.
fn seen<'a>(context: &PageContext<'_>, card: &ModelCard) -> Line<'a> {
    let Some(until) = card.fitted_until else { return Line::styled(context.say(words::NEVER_SAID), look::NOTE) };
    let until = until.format("%Y-%m-%d %H:%M:%S").to_string();
    let mut text = String::new();
    let counts = [(card.documents, words::DOCUMENTS_UNIT), (card.tokens, words::TOKENS_UNIT)];
    for (count, unit) in counts.into_iter().filter_map(|(count, unit)| Some((count?, unit))) {
        let gap = if text.is_empty() { format!(" · {} ", context.say(words::FITTED_ON)) } else { ", ".to_owned() };
        text += &format!("{gap}{} {}", figures::count(count), context.say(unit));
    }
    Line::from(vec![
        Span::raw(format!("{} ", context.say(words::SEEN_UNTIL))),
        Span::styled(until, look::KEY.patch(look::STRONG)),
        Span::raw(text),
    ])
}

/// The losses of its passes, first to last.
fn losses<'a>(context: &PageContext<'_>, card: &ModelCard, wide: usize) -> Option<Line<'a>> {
    let (first, last) = (card.losses.first()?, card.losses.last()?);
    let shown = &card.losses[card.losses.len().saturating_sub(PASSES.min(wide / 3))..];
    let (least, most) = shown.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), l| (a.min(*l), b.max(*l)));
    let height = |loss: &f64| {
        let share = if most > least { (loss - least) / (most - least) } else { 0.0 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    let bars: String = shown.iter().map(height).collect();
    let ends = format!("{} → {}", figures::number(*first, 4), figures::number(*last, 4));
    Some(Line::from(vec![
        Span::styled(format!("{} ", context.say(words::LOSSES)), look::DIM),
        Span::raw(format!("{ends}  ")),
        Span::styled(bars, look::KEY),
    ]))
}

fn tools<'a>(context: &PageContext<'_>, card: &ModelCard) -> Line<'a> {
    if card.tools.is_empty() {
        return Line::styled(context.say(words::NO_TOOLS), look::DIM);
    }
    let mut spans = vec![Span::styled(format!("{}  ", context.say(words::ASK_IT)), look::DIM)];
    for tool in &card.tools {
        let command = COMMANDS.iter().find(|command| command.action == action(*tool));
        let key = command
            .and_then(|command| context.keymap.keys(command).first())
            .map(KeyPress::to_string)
            .unwrap_or_default();
        spans.extend([Span::styled(key, look::KEY), Span::raw(format!(" {}  ", context.say(words::tool(*tool))))]);
    }
    Line::from(spans)
}

fn action(tool: Tool) -> Action {
    match tool {
        Tool::Nearest => Action::Nearest,
        Tool::Analogy => Action::Analogy,
        Tool::Plane => Action::Plane,
        Tool::Following => Action::Following,
        Tool::Surprise => Action::Surprise,
    }
}

/// The parameters of the fit, as many to a line as fit.
fn params<'a>(card: &ModelCard, wide: usize) -> Vec<Line<'a>> {
    const CELL: usize = 25;
    let columns = (wide / CELL).max(1);
    let cell = |(name, value): &(String, String)| {
        let name = format!("{} ", width::cut(name, CELL - 4));
        let value = width::left(value, (CELL - 1).saturating_sub(width::width(&name)));
        [Span::styled(name, look::DIM), Span::raw(format!("{value} "))]
    };
    card.params.chunks(columns).map(|row| Line::from_iter(row.iter().flat_map(cell))).collect()
}
