//! Characters whose width terminals disagree on.
//!
//! East Asian fonts draw frames, arrows, quotation marks and the like (Unicode's ambiguous width) in two cells, others in one. On a
//! terminal that takes two, every line with such a character would be pushed out of its place. There, each is drawn as one that all
//! terminals draw in one cell.

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthChar;

/// Substitutes for ambiguous characters: those of frames and charts, and those of Chinese
/// punctuation.
const INSTEAD: &[(&str, &str)] = &[
    ("─━═┄╌", "-"),
    ("│┃║┆╎╏", "|"),
    ("┌┐└┘├┤┬┴┼┏┓┗┛╔╗╚╝╭╮╰╯╞╡╪", "+"),
    ("█▉▊▋▌▓▇▆▅▄▃▂▁▀▐■◆●★", "#"),
    ("▍▎▏▒░□◇○☆", ":"),
    ("▶▷►", ">"),
    ("◀◁◄", "<"),
    ("▲△↑", "^"),
    ("▼▽↓", "v"),
    ("→⇒", ">"),
    ("←⇐", "<"),
    ("“”″„", "\""),
    ("‘’′", "'"),
    ("…‥", "⋯"),
    ("—―–‖", "-"),
    ("·•‧∙", "⋅"),
    ("×", "x"),
    ("÷", "/"),
    ("±", "~"),
    ("°º", "o"),
    ("≈∼", "~"),
    ("≤", "<"),
    ("≥", ">"),
    ("√", "v"),
    ("§", "S"),
    ("¶", "P"),
];

/// Puts characters that all terminals agree on in the place of those that they do not.
pub(crate) fn narrow(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let mut characters = cell.symbol().chars();
        let Some(first) = characters.next().filter(|first| is_ambiguous(*first)) else { continue };
        let instead = INSTEAD.iter().find(|(from, _)| from.contains(first)).map_or("?", |(_, to)| to);
        cell.set_symbol(instead);
    }
}

/// True if a terminal may draw it in one cell or in two.
fn is_ambiguous(character: char) -> bool {
    !character.is_ascii() && character.width() == Some(1) && character.width_cjk() == Some(2)
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn nothing_ambiguous_is_left_and_chinese_stays() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 1));
        buffer.set_string(0, 0, "┌“回购”→±½…", Style::new());
        narrow(&mut buffer);
        let drawn: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert!(drawn.starts_with("+\"回") && drawn.contains("购") && drawn.contains("\">~?⋯"), "{drawn}");
        assert!(!drawn.chars().any(is_ambiguous), "{drawn}");
    }

    #[test]
    fn what_stands_instead_is_of_one_cell_everywhere() {
        for (from, to) in INSTEAD {
            for one in from.chars() {
                assert_eq!(one.width(), Some(1), "{one} is no character of one cell");
            }
            assert!(!to.chars().any(is_ambiguous), "{to} is ambiguous itself");
        }
    }
}
