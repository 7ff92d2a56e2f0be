//! Wraps sentences to a width as Chinese is wrapped: between characters, and never through a wide one.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::width::{self, Glyph};

/// Characters of a text that are wrapped at the most: what comes from files may be a file.
const MOST: usize = 4000;

/// The lines of a text of any length, each of at most `cells` cells. Control characters are shown as symbols.
pub(crate) fn lines(text: &str, cells: usize) -> Vec<String> {
    let glyphs: Vec<Glyph<'_>> = width::glyphs(text).collect();
    let line = |range: Range<usize>| {
        // The blank between two words that are parted stands on neither line.
        let goes_on = range.start > 0 && !glyphs[range.start - 1].breaks();
        let blank = goes_on && glyphs[range.clone()].first().is_some_and(|glyph| glyph.text == " ");
        glyphs[range.start + usize::from(blank)..range.end].iter().map(|glyph| &*glyph.text).collect()
    };
    width::wrap(&glyphs, cells.max(2)).into_iter().map(line).collect()
}

/// The lines of the first [`MOST`] characters of a text.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    lines(text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end]), cells)
}

/// Draws texts one below the other.
pub(crate) fn draw<'a>(texts: impl IntoIterator<Item = (&'a str, Style)>, frame: &mut Frame<'_>, area: Rect) {
    let wrapped = texts
        .into_iter()
        .flat_map(|(text, style)| wrap(text, area.width.into()).into_iter().map(move |line| Line::styled(line, style)));
    frame.render_widget(Paragraph::new(wrapped.collect::<Vec<_>>()), area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_wide_characters_and_escape_what_a_terminal_obeys() {
        let text = "特征库正由工作台里的任务使用，按 u 再试。";
        for cells in 2..50 {
            let lines = wrap(text, cells);
            assert!(lines.iter().all(|line| width::width(line) <= cells.max(3)), "{cells}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\n b", 7), ["a", " b"], "an indent stays");
        assert_eq!(wrap("a\u{1b}[31m", 9), ["a␛[31m"]);
        assert!(wrap(&"长".repeat(1_000_000), 40).len() < 300);
    }
}
