//! Colours and frames. Only the sixteen colours of every terminal, so that the user's own palette holds.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

use inkstone_base::language::is_kernel_console;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const KEY: Style = Style::new().fg(Color::Cyan);
pub(crate) const NOTE: Style = Style::new().fg(Color::Yellow);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
pub(crate) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
/// A passage that a search found.
pub(crate) const FOUND: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
pub(crate) const NAME: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::UNDERLINED);
pub(crate) const TOKENS: [Style; 2] = [Style::new().fg(Color::Cyan), Style::new().fg(Color::Blue)];

/// The marks of lines in charts: braille, or on the console of the kernel, which has no braille, dots.
pub(crate) fn marker() -> Marker {
    if is_kernel_console() { Marker::Dot } else { Marker::Braille }
}

/// A frame around a part of the page; the one with the focus is bright.
pub(crate) fn pane<'a>(title: impl Into<Line<'a>>, focused: bool) -> Block<'a> {
    let border = if focused { Style::new().fg(Color::Cyan) } else { DIM };
    Block::bordered().border_type(BorderType::Plain).border_style(border).title(title)
}

/// The inside of a frame around an area.
pub(crate) fn inside(area: Rect) -> Rect {
    pane("", true).inner(area)
}

/// Draws a frame and gives its inside.
pub(crate) fn framed(block: Block<'_>, frame: &mut Frame<'_>, area: Rect) -> Rect {
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// Draws wrapped text in a frame.
pub(crate) fn message<'a>(text: impl Into<Text<'a>>, block: Block<'a>, frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
}

/// Columns of a line, with a cell between them.
pub(crate) fn columns<'a>(columns: impl IntoIterator<Item = Span<'a>>) -> Line<'a> {
    let spaced = columns.into_iter().enumerate().flat_map(|(at, column)| {
        let gap = (at > 0).then(|| Span::raw(" "));
        gap.into_iter().chain([column])
    });
    Line::from_iter(spaced)
}

/// Pieces of a text as spans: those beside one another that have the same style become one.
pub(crate) fn runs<T: AsRef<str>>(pieces: impl IntoIterator<Item = (T, Style)>) -> Vec<Span<'static>> {
    let mut runs: Vec<Span<'static>> = Vec::new();
    for (text, style) in pieces {
        match runs.last_mut().filter(|last| last.style == style) {
            Some(last) => last.content.to_mut().push_str(text.as_ref()),
            None => runs.push(Span::styled(text.as_ref().to_owned(), style)),
        }
    }
    runs
}

/// The names of the views of a pane, the chosen one in brackets.
pub(crate) fn tabs<'a>(names: impl IntoIterator<Item = (&'a str, bool)>) -> Vec<Span<'a>> {
    let tab = |(name, chosen)| match chosen {
        true => Span::styled(format!("[{name}]"), STRONG),
        false => Span::styled(format!(" {name} "), DIM),
    };
    std::iter::once(Span::raw(" ")).chain(names.into_iter().map(tab)).collect()
}

/// The colour of a gain or a loss.
pub(crate) fn of_sign(value: f64, red_up: bool) -> Style {
    if !value.is_finite() || value == 0.0 {
        PLAIN
    } else if (value > 0.0) == red_up {
        BAD
    } else {
        GOOD
    }
}
