//! A line of text that the user types: a search, a word, a path.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use inkstone_base::width;

/// The sign that stands for a line break in a field that keeps them.
const LINE_BREAK: &str = "↵";

/// The text, and where the next character goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// In bytes, between graphemes.
    cursor: usize,
    /// True if line breaks of what is put in are kept, as [`LINE_BREAK`].
    keeps_lines: bool,
    /// True if all of the text is selected: what is put in takes its place.
    selected: bool,
}

impl Field {
    /// A field that holds a text, with the cursor at its end.
    pub fn new(text: impl Into<String>) -> Field {
        let text = text.into();
        Field { cursor: text.len(), text, ..Field::default() }
    }

    /// A field that keeps the line breaks of what is pasted into it.
    pub fn of_lines(text: &str) -> Field {
        let mut field = Field { keeps_lines: true, ..Field::default() };
        field.insert(text);
        field
    }

    /// The text with its line breaks.
    pub fn lines(&self) -> String {
        if self.keeps_lines { self.text.replace(LINE_BREAK, "\n") } else { self.text.clone() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Selects the whole text, so that what is typed next takes its place; a key that moves the cursor keeps it.
    pub fn select_all(&mut self) {
        self.selected = !self.text.is_empty();
        self.cursor = self.text.len();
    }

    /// Puts the cursor at the end, with nothing selected.
    pub fn go_to_end(&mut self) {
        (self.selected, self.cursor) = (false, self.text.len());
    }

    /// Puts a text in at the cursor, or in the place of what is selected. What a terminal would obey becomes a space, line breaks too unless
    /// the field keeps them.
    pub fn insert(&mut self, text: &str) {
        if std::mem::take(&mut self.selected) {
            self.remove(0);
        }
        let text = match self.keeps_lines {
            true => text.replace("\r\n", "\n").replace(['\n', '\r'], LINE_BREAK),
            false => text.to_owned(),
        };
        let text = text.replace(char::is_control, " ");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Does what a key does to a line of text; `None` where it does nothing to one, else whether the text has changed.
    pub fn key(&mut self, key: &KeyEvent) -> Option<bool> {
        let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        if let (KeyCode::Char(one), KeyModifiers::NONE) = (key.code, held) {
            self.insert(one.encode_utf8(&mut [0; 4]));
            return Some(true);
        }
        let before = self.text.len();
        let selected = std::mem::take(&mut self.selected);
        match (key.code, held) {
            (KeyCode::Backspace | KeyCode::Delete, _) if selected => self.remove(0),
            (KeyCode::Char('u'), KeyModifiers::CONTROL) => self.remove(0),
            (KeyCode::Char('w'), KeyModifiers::CONTROL) => self.remove(self.word_before()),
            (KeyCode::Char('a'), KeyModifiers::CONTROL) | (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::Char('e'), KeyModifiers::CONTROL) | (KeyCode::End, _) => self.cursor = self.text.len(),
            (KeyCode::Left, _) => self.cursor = self.before(),
            (KeyCode::Right, _) => self.cursor = self.after(),
            (KeyCode::Backspace, _) => self.remove(self.before()),
            (KeyCode::Delete, _) => {
                let after = self.after();
                self.text.replace_range(self.cursor..after, "");
            }
            _ => return None,
        }
        Some(self.text.len() != before)
    }

    /// The part of the text that is seen in so many cells, and the cell of the cursor, which is
    /// always in sight.
    pub fn window(&self, cells: usize) -> (String, usize) {
        let (mut start, mut used) = (self.cursor, 0);
        for (at, grapheme) in self.text[..self.cursor].grapheme_indices(true).rev() {
            let wide = width::width(grapheme);
            if used + wide >= cells.max(1) {
                break;
            }
            (start, used) = (at, used + wide);
        }
        (width::cut(&self.text[start..], cells), used)
    }

    fn remove(&mut self, from: usize) {
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |last| last.0)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].graphemes(true).next().map_or(self.cursor, |next| self.cursor + next.len())
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.cursor].split_word_bound_indices();
        words.rfind(|(_, word)| !word.trim().is_empty()).map_or(0, |last| last.0)
    }
}

/// Draws a field behind its prompt, and the cursor in it. Selected text is drawn reversed.
pub(crate) fn draw(prompt: Span<'_>, field: &Field, style: Style, frame: &mut Frame<'_>, area: Rect) {
    let before = width::width(&prompt.content);
    let (seen, at) = field.window(usize::from(area.width).saturating_sub(before + 1));
    let style = if field.selected { style.add_modifier(Modifier::REVERSED) } else { style };
    frame.render_widget(
        Line::from(vec![prompt, Span::styled(seen, style)]),
        Rect { height: area.height.min(1), ..area },
    );
    put_cursor(usize::from(area.x) + before + at, area.right().saturating_sub(1), area.y, frame);
}

/// Puts the terminal's cursor where text is typed, at the column `last` at most. Input methods open their window there.
pub(crate) fn put_cursor(column: usize, last: u16, row: u16, frame: &mut Frame<'_>) {
    frame.set_cursor_position(Position::new(u16::try_from(column).unwrap_or(u16::MAX).min(last), row));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(field: &mut Field, code: KeyCode) -> Option<bool> {
        field.key(&KeyEvent::from(code))
    }

    #[test]
    fn what_is_typed_goes_in_at_the_cursor_and_goes_by_whole_characters() {
        let mut field = Field::new("回购股份");
        assert_eq!(press(&mut field, KeyCode::Left), Some(false));
        assert_eq!(press(&mut field, KeyCode::Backspace), Some(true));
        assert_eq!(press(&mut field, KeyCode::Char('e')), Some(true));
        field.insert("\u{301}\n\u{1b}");
        assert_eq!(field.text(), "回购e\u{301}  份");
        assert_eq!(
            (press(&mut field, KeyCode::Backspace), press(&mut field, KeyCode::Backspace)),
            (Some(true), Some(true))
        );
        assert_eq!(press(&mut field, KeyCode::Backspace), Some(true));
        assert_eq!(field.text(), "回购份", "a letter goes with its accent");
        assert_eq!(press(&mut field, KeyCode::Delete), Some(true));
        assert_eq!(press(&mut field, KeyCode::Enter), None);
        assert_eq!(field.key(&KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL)), Some(true));
        assert_eq!(field, Field::default());
    }

    #[test]
    fn what_is_typed_takes_the_place_of_selected_text() {
        let selected = || {
            let mut field = Field::new("回购");
            field.select_all();
            field
        };
        let after = |code| {
            let mut field = selected();
            press(&mut field, code);
            press(&mut field, KeyCode::Char('增'));
            field.text
        };
        assert_eq!(after(KeyCode::Char('减')), "减增");
        assert_eq!(after(KeyCode::Backspace), "增");
        assert_eq!((after(KeyCode::Left), after(KeyCode::End)), ("回增购".to_owned(), "回购增".to_owned()));
        let mut pasted = selected();
        pasted.insert("减持");
        assert_eq!(pasted, Field::new("减持"));
    }

    #[test]
    fn a_field_of_lines_keeps_the_breaks_of_what_is_pasted() {
        let mut field = Field::of_lines("标题\r\n评级：买入\n");
        field.insert("风险\t提示");
        assert_eq!(field.text(), "标题↵评级：买入↵风险 提示");
        assert_eq!(field.lines(), "标题\n评级：买入\n风险 提示");
        assert_eq!(Field::new("a↵b").lines(), "a↵b");
    }

    #[test]
    fn the_cursor_is_in_sight_however_long_the_text() {
        let field = Field::new("公司拟以自有资金回购股份");
        let (seen, at) = field.window(9);
        assert!(at < 9 && width::width(&seen) <= 9, "{seen:?} {at}");
        assert_eq!(Field::new("回购").window(9), ("回购".to_owned(), 4));
    }
}
