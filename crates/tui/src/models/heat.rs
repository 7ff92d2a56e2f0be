//! A text with the surprise of each token below it: a colour, a line under the token, and a bar with the bits.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::bench::Surprised;
use super::words;
use crate::context::PageContext;
use crate::{figures, look, width};

/// Lines of a row: tokens, figures, and a line between.
const ROW: u16 = 3;
/// Lines below the text: the sum, and what the signs mean.
const BELOW: u16 = 2;
/// Cells of a token at the most.
const WIDEST: usize = 24;
/// Bits from which a token is of the second, third and fourth level.
const LEVELS: [f64; 3] = [4.0, 8.0, 12.0];
const SIGNS: [char; 4] = ['▁', '▃', '▅', '█'];

/// The level of a token's surprise, from 0.
fn level(bits: f64) -> usize {
    LEVELS.iter().filter(|least| bits >= **least).count()
}

fn style(level: usize) -> Style {
    let underlined = Modifier::UNDERLINED;
    match level {
        0 => look::PLAIN,
        1 => Style::new().fg(Color::Cyan),
        2 => Style::new().fg(Color::Yellow).add_modifier(underlined),
        _ => Style::new().fg(Color::Red).add_modifier(underlined).add_modifier(Modifier::BOLD),
    }
}

fn figure(token: &Surprised) -> String {
    let bits = if token.bits.is_finite() { figures::number(token.bits, 1) } else { "∞".to_owned() };
    format!("{}{bits}{}", SIGNS[level(token.bits)], if token.unknown { "?" } else { "" })
}

fn cells(token: &Surprised) -> usize {
    width::width(&token.token).min(WIDEST).max(width::width(&figure(token)))
}

/// The tokens in rows of so many cells: where each row begins and ends.
pub(super) fn rows(tokens: &[Surprised], wide: usize) -> Vec<std::ops::Range<usize>> {
    let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let cells = cells(token);
        if used > 0 && used + cells > wide {
            rows.push(start..at);
            (start, used) = (at, 0);
        }
        used += cells + 1;
    }
    if start < tokens.len() {
        rows.push(start..tokens.len());
    }
    rows
}

/// Rows that so many lines have room for.
pub(super) fn room(lines: u16) -> usize {
    (lines.saturating_sub(BELOW) / ROW).max(1) as usize
}

/// Draws the text from a row on.
pub(super) fn draw(context: &PageContext<'_>, tokens: &[Surprised], top: usize, frame: &mut Frame<'_>, area: Rect) {
    let [text, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(BELOW)]).areas(area);
    let rows = rows(tokens, text.width as usize);
    let mut lines = Vec::new();
    for row in rows.iter().skip(top).take(room(area.height)) {
        let mut above = Vec::new();
        let mut figures = Vec::new();
        for token in &tokens[row.clone()] {
            let style = style(level(token.bits));
            let shown = width::cut(&token.token, WIDEST);
            let gap = (cells(token) + 1).saturating_sub(width::width(&shown));
            above.extend([Span::styled(shown, style), Span::raw(" ".repeat(gap))]);
            let under = style.remove_modifier(Modifier::UNDERLINED);
            figures.push(Span::styled(width::left(&figure(token), cells(token) + 1), under));
        }
        lines.extend([Line::from(above), Line::from(figures), Line::raw("")]);
    }
    frame.render_widget(Paragraph::new(lines), text);
    frame.render_widget(Paragraph::new(vec![total(context, tokens), legend(context, rows.len(), top, area)]), below);
}

/// The perplexity of the whole text.
fn total<'a>(context: &PageContext<'_>, tokens: &[Surprised]) -> Line<'a> {
    let n = tokens.len().max(1) as f64;
    let mean = tokens.iter().map(|token| token.bits).sum::<f64>() / n;
    let unknown = tokens.iter().filter(|token| token.unknown).count();
    let mut text = format!(
        " · {} {} {} · {} {}",
        figures::number(mean, 2),
        context.say(words::BITS),
        context.say(words::PER_TOKEN),
        figures::count(tokens.len() as u64),
        context.say(words::TOKENS),
    );
    if unknown > 0 {
        text += &format!(" · {} {unknown}", context.say(words::OUTSIDE));
    }
    Line::from(vec![
        Span::raw(format!("{} ", context.say(words::SURPRISE))),
        Span::styled(figures::number(mean.exp2(), 1), look::STRONG.patch(look::KEY)),
        Span::raw(text),
    ])
}

fn legend<'a>(context: &PageContext<'_>, rows: usize, top: usize, area: Rect) -> Line<'a> {
    let mut spans = Vec::new();
    for (level, sign) in SIGNS.into_iter().enumerate() {
        let least = if level == 0 { 0.0 } else { LEVELS[level - 1] };
        let range = match LEVELS.get(level) {
            Some(most) => format!("{least:.0}–{most:.0}"),
            None => format!("≥ {least:.0}"),
        };
        spans.push(Span::styled(format!("{sign} {range}  "), style(level).remove_modifier(Modifier::UNDERLINED)));
    }
    spans.push(Span::styled(format!("{}  ? {}", context.say(words::BITS), context.say(words::OUTSIDE)), look::DIM));
    let room = room(area.height);
    if rows > room {
        spans.push(Span::styled(format!("  {}–{}/{rows}", top + 1, (top + room).min(rows)), look::DIM));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(token: &str, bits: f64) -> Surprised {
        Surprised { token: token.to_owned(), bits, order: None, unknown: false }
    }

    #[test]
    fn rows_hold_every_token_once_and_none_is_too_wide() {
        let tokens: Vec<Surprised> =
            ["公司", "拟", "以自有资金", "回购", "股份", "a", "</s>"].map(|text| token(text, 9.5)).to_vec();
        let rows = rows(&tokens, 15);
        assert_eq!(rows.iter().cloned().flatten().collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
        for row in &rows {
            let wide: usize = tokens[row.clone()].iter().map(|token| cells(token) + 1).sum();
            assert!(wide <= 16, "{row:?} takes {wide}");
        }
        assert!(super::rows(&[], 15).is_empty());
        assert_eq!(super::rows(&[token(&"长".repeat(99), 1.0)], 10).len(), 1);
    }

    #[test]
    fn levels_begin_at_their_bits() {
        assert_eq!([0.0, 3.9, 4.0, 8.0, 12.0, f64::INFINITY].map(level), [0, 0, 1, 2, 3, 3]);
    }
}
