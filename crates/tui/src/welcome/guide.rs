//! The guide: a text of a few screens, laid out for the width there is.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::words;
use crate::{Language, look, sentences, width};

const CHINESE: &str = include_str!("../../../../assets/guide.zh.md");
const ENGLISH: &str = include_str!("../../../../assets/guide.en.md");

/// Cells of a line at the most: longer ones are hard to read.
const WIDEST: u16 = 92;

/// The guide from a line on.
#[derive(Clone, Debug, Default)]
pub(super) struct Guide {
    top: usize,
    /// Lines that the last layout had, and rows that it had room for.
    lines: usize,
    rows: usize,
}

impl Guide {
    /// Scrolls; false where the key leaves the guide.
    pub(super) fn key(&mut self, key: &KeyEvent) -> bool {
        let page = self.rows.saturating_sub(1).max(1);
        let last = self.lines.saturating_sub(self.rows);
        self.top = match key.code {
            KeyCode::Down | KeyCode::Char('j') => self.top + 1,
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top + page,
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Esc | KeyCode::Char('q') => return false,
            _ => self.top,
        }
        .min(last);
        true
    }

    /// Lays the text out for the size of the screen.
    pub(super) fn arrange(&mut self, language: Language, screen: Rect) {
        let inner = look::inside(area(screen));
        self.rows = inner.height.into();
        self.lines = lines(language, inner.width.saturating_sub(2).into()).len();
        self.top = self.top.min(self.lines.saturating_sub(self.rows));
    }

    pub(super) fn draw(&self, language: Language, frame: &mut Frame<'_>, screen: Rect) {
        let area = area(screen);
        let seen = (self.top + self.rows).min(self.lines);
        let block = look::pane(format!(" {} ", words::GUIDE.to(language)), true)
            .title_bottom(format!(" {} ", words::GUIDE_KEYS.to(language)))
            .title_bottom(Line::raw(format!(" {seen} / {} ", self.lines)).right_aligned());
        let inner = look::framed(block, frame, area);
        let text = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let lines = lines(language, text.width.into()).into_iter().skip(self.top).take(text.height.into());
        frame.render_widget(
            Paragraph::new(lines.map(|(text, style)| Line::styled(text, style)).collect::<Vec<_>>()),
            text,
        );
    }
}

fn area(screen: Rect) -> Rect {
    let wide = screen.width.min(WIDEST);
    Rect { x: screen.x + (screen.width - wide) / 2, width: wide, ..screen }
}

/// The lines of the guide, in so many cells: headings, paragraphs, points, and lines to type as they are.
fn lines(language: Language, cells: usize) -> Vec<(String, Style)> {
    let text = if language == Language::Zh { CHINESE } else { ENGLISH };
    let mut lines = Vec::new();
    for line in text.lines() {
        let (first, rest, body, style) = if let Some(heading) = line.strip_prefix('#') {
            ("", "", heading.trim_start_matches('#').trim(), look::STRONG)
        } else if let Some(point) = line.strip_prefix("- ") {
            ("· ", "  ", point, look::PLAIN)
        } else if let Some(code) = line.strip_prefix("    ") {
            ("    ", "    ", code, look::KEY)
        } else {
            ("", "", line, look::PLAIN)
        };
        let room = cells.saturating_sub(width::width(first));
        for (at, text) in sentences::lines(body, room).into_iter().enumerate() {
            lines.push((format!("{}{}", if at == 0 { first } else { rest }, text.trim_start()), style));
        }
    }
    lines
}
