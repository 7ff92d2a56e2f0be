//! Colours and frames. Only the sixteen colours of every terminal, so that the user's own palette holds.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const KEY: Style = Style::new().fg(Color::Cyan);
pub(crate) const NOTE: Style = Style::new().fg(Color::Yellow);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
pub(crate) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(crate) const NAME: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::UNDERLINED);
pub(crate) const TOKENS: [Style; 2] = [Style::new().fg(Color::Cyan), Style::new().fg(Color::Blue)];

/// A frame around a part of the page; the one with the focus is bright.
pub(crate) fn pane<'a>(title: impl Into<Line<'a>>, focused: bool) -> Block<'a> {
    let border = if focused { Style::new().fg(Color::Cyan) } else { DIM };
    Block::bordered().border_type(BorderType::Plain).border_style(border).title(title)
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
