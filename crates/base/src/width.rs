//! Text on a grid of cells: width, line breaks, cutting. A Chinese character takes two cells.
//!
//! The unit is the grapheme cluster, which is what a terminal draws as one; offsets are bytes into the given text.
//! Control and invisible characters are shown as what they are and never reach the terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A grapheme cluster as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Glyph<'a> {
    /// Text to draw; empty for a line break.
    pub text: Cow<'a, str>,
    /// Cells it takes.
    pub width: usize,
    /// Offset in the text, in bytes.
    pub at: usize,
}

impl Glyph<'_> {
    /// True for a line break.
    pub fn breaks(&self) -> bool {
        self.text.is_empty()
    }

    /// True for a closing mark, with which no line may begin.
    fn closes(&self) -> bool {
        matches!(
            &*self.text,
            "，" | "。"
                | "、"
                | "；"
                | "："
                | "？"
                | "！"
                | "）"
                | "》"
                | "〉"
                | "」"
                | "』"
                | "】"
                | "”"
                | "’"
                | "…"
                | "—"
                | ","
                | ";"
                | "!"
                | "?"
                | ")"
                | "]"
                | "}"
        )
    }

    /// True for an opening mark, with which no line may end.
    fn opens(&self) -> bool {
        matches!(&*self.text, "（" | "《" | "〈" | "「" | "『" | "【" | "“" | "‘" | "(" | "[" | "{")
    }

    /// True for a character of a Latin word or number, which is not broken between two lines.
    fn joins(&self) -> bool {
        self.text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'%')) && !self.breaks()
    }

    /// True for a sign that belongs to the word or number behind it, as in `+0.25` and `tfidf:64`.
    fn leads(&self) -> bool {
        matches!(&*self.text, "+" | "-" | "−" | "±" | ":" | "@" | "=" | "/" | "#" | "¥" | "$" | "<" | ">")
    }

    /// True for a sign that belongs to the word before it, as in `tfidf:64` and `TF-IDF`.
    fn follows(&self) -> bool {
        matches!(&*self.text, ":" | "@" | "=" | "/" | "-")
    }

    /// True if a line may end with this glyph and the next one begin with `next`.
    fn parts_from(&self, next: &Glyph<'_>) -> bool {
        let word = (self.joins() && (next.joins() || next.follows())) || (self.leads() && next.joins());
        !(next.closes() || self.opens() || word)
    }
}

/// The glyphs of a text in order.
pub fn glyphs(text: &str) -> impl Iterator<Item = Glyph<'_>> {
    text.grapheme_indices(true).flat_map(|(at, cluster)| {
        let width = cluster.width();
        let harmless = !cluster.chars().any(invisible);
        if harmless && (1..=2).contains(&width) {
            return vec![Glyph { text: Cow::Borrowed(cluster), width, at }];
        }
        // A cluster that is no single picture (control characters, joined vowel signs) is shown in its pieces.
        cluster.char_indices().filter_map(|(i, c)| glyph_of(c, at + i)).collect()
    })
}

fn glyph_of(c: char, at: usize) -> Option<Glyph<'static>> {
    let text: Cow<'static, str> = match c {
        '\n' => Cow::Borrowed(""),
        '\r' => return None,
        '\t' => Cow::Borrowed(" "),
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('?').to_string().into(),
        '\u{7f}' => Cow::Borrowed("␡"),
        c if invisible(c) || c.width().unwrap_or(0) == 0 => format!("<{:04X}>", c as u32).into(),
        c => c.to_string().into(),
    };
    let width = text.width();
    Some(Glyph { text, width, at })
}

/// A text for a terminal: characters that the terminal would obey are shown as signs, line breaks and tabs stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| invisible(c) && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match glyph_of(c, 0) {
            Some(glyph) if obeyed(c) => out.push_str(&glyph.text),
            None => {}
            Some(_) => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A JSON text with the same meaning, in which the characters that a terminal would obey are escaped.
pub fn shown_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside of strings JSON has line ends alone; inside of them it escapes all other control characters below a space.
        if invisible(c) && c != '\n' {
            out.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes text to a terminal as [`shown`] gives it, in pieces of any length.
pub struct Screened<W> {
    out: W,
    /// The beginning of a character whose end has not come.
    begun: Vec<u8>,
}

impl<W: Write> Screened<W> {
    pub fn new(out: W) -> Screened<W> {
        Screened { out, begun: Vec::new() }
    }
}

impl<W: Write> Write for Screened<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let complete = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let text = String::from_utf8_lossy(&self.begun[..complete]);
        self.out.write_all(shown(&text).as_bytes())?;
        self.begun.drain(..complete);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Characters that a terminal obeys or hides instead of drawing. The joiner of emoji is left to its cluster.
pub fn invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Cells that the text takes on one line.
pub fn width(text: &str) -> usize {
    glyphs(text).map(|g| g.width).sum()
}

/// Lines of glyph numbers, half-open; a line is at most `width` cells unless one glyph alone is wider.
///
/// Chinese breaks anywhere but before a closing mark and behind an opening one; a Latin word or a number with its sign moves to the next
/// line as a whole when it fits there.
pub fn wrap(glyphs: &[Glyph<'_>], width: usize) -> Vec<std::ops::Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (i, glyph) in glyphs.iter().enumerate() {
        if glyph.breaks() {
            lines.push(start..i);
            (start, used) = (i + 1, 0);
            continue;
        }
        if used + glyph.width > width && i > start {
            let last = (start + 1..=i).rev().find(|at| glyphs[at - 1].parts_from(&glyphs[*at]));
            let from = last.unwrap_or(i);
            lines.push(start..from);
            start = from;
            used = glyphs[from..i].iter().map(|g| g.width).sum();
        }
        used += glyph.width;
    }
    if start < glyphs.len() || lines.is_empty() {
        lines.push(start..glyphs.len());
    }
    lines
}

/// The text on one line of at most `width` cells, ending in `…` when something was left out.
pub fn cut(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    // Where the text is shortened to if it turns out not to fit: the last place with room for the ellipsis.
    let mut room = 0;
    for glyph in glyphs(text) {
        let (piece, cells) = if glyph.breaks() { (" ", 1) } else { (&*glyph.text, glyph.width) };
        if used + cells > width {
            shown.truncate(room);
            if width > 0 {
                shown.push('…');
            }
            return shown;
        }
        shown.push_str(piece);
        used += cells;
        if used < width {
            room = shown.len();
        }
    }
    shown
}

/// The text cut or filled with spaces on the right to exactly `width` cells.
pub fn left(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let gap = width.saturating_sub(self::width(&text));
    text + &" ".repeat(gap)
}

/// The text cut or filled with spaces on the left to exactly `width` cells.
pub fn right(text: &str, width: usize) -> String {
    let text = cut(text, width);
    " ".repeat(width.saturating_sub(self::width(&text))) + &text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, width: usize) -> Vec<String> {
        let glyphs: Vec<Glyph<'_>> = glyphs(text).collect();
        wrap(&glyphs, width).into_iter().map(|l| glyphs[l].iter().map(|g| &*g.text).collect()).collect()
    }

    #[test]
    fn chinese_breaks_anywhere_and_latin_words_stay_whole() {
        assert_eq!(lines("公司发布ABC公告", 9), ["公司发布", "ABC公告"]);
        assert_eq!(lines("增长120.5%，超预期", 8), ["增长", "120.5%，", "超预期"]);
        assert_eq!(lines("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(lines("公司发布。公告", 8), ["公司发", "布。公告"]);
        assert_eq!(lines("公司发布（公告", 10), ["公司发布", "（公告"]);
        assert_eq!(lines("他说好。”公告", 8), ["他说", "好。”公", "告"]);
        assert_eq!(lines("差别 +0.2489 显著", 10), ["差别 ", "+0.2489 显", "著"]);
        assert_eq!(lines("用 tfidf:64 和", 9), ["用 ", "tfidf:64 ", "和"]);
        assert_eq!(lines("区间[0.0024, 1]", 8), ["区间", "[0.0024,", " 1]"]);
        assert_eq!(lines("添加 TF-IDF", 8), ["添加 ", "TF-IDF"]);
        assert_eq!(lines("一\n\n二", 4), ["一", "", "二"]);
        assert_eq!(lines("", 4), [""]);
    }

    #[test]
    fn cutting_counts_cells_and_leaves_room_for_the_ellipsis() {
        assert_eq!(cut("平安银行", 8), "平安银行");
        assert_eq!(cut("平安银行", 7), "平安银…");
        assert_eq!(cut("平安银行", 6), "平安…");
        assert_eq!(left("平安", 6), "平安  ");
        assert_eq!(right("平安", 7), "   平安");
        assert_eq!(right("12,345", 8), "  12,345");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(cut("a\u{1b}[31m\u{202e}b\u{200b}", 40), "a␛[31m<202E>b<200B>");
        assert_eq!(cut("甲\r\n乙\t丙", 40), "甲 乙 丙");
        assert_eq!(width("👨‍👩‍👧"), 2);
    }

    #[test]
    fn what_goes_to_a_terminal_keeps_its_lines_and_nothing_that_is_obeyed() {
        assert_eq!(shown("公司\t公告\n👨‍👩‍👧"), "公司\t公告\n👨‍👩‍👧");
        assert_eq!(shown("a\u{1b}]52;c;x\u{7}\r\nb\u{9b}2J\u{202e}\u{7f}"), "a␛]52;c;x␇\nb<009B>2J<202E>␡");
    }

    #[test]
    fn json_means_the_same_when_it_is_shown() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[2J\u{7f}\u{85}\u{2028}\u{202e}\u{feff}平安\n👨‍👩‍👧"});
        let shown = shown_json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(!shown.contains(|c| invisible(c) && c != '\n') && shown.contains("\\u009b") && shown.contains("平安"));
    }

    #[test]
    fn pieces_that_end_inside_of_a_character_are_put_together() {
        let mut out = Screened::new(Vec::new());
        "平\u{9b}安\u{1b}[0m\n".bytes().for_each(|byte| out.write_all(&[byte]).unwrap());
        out.write_all(b"\xff.").unwrap();
        assert_eq!(String::from_utf8(out.out).unwrap(), "平<009B>安␛[0m\n\u{fffd}.");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_page_and_nothing_is_lost(text in "(\\PC|[a-z0-9.%]{1,9}|[一-龥]|[\n\t\u{0}-\u{8f}]){0,60}", width in 8usize..40) {
            let glyphs: Vec<Glyph<'_>> = glyphs(&text).collect();
            let lines = wrap(&glyphs, width);
            for line in &lines {
                prop_assert!(glyphs[line.clone()].iter().map(|g| g.width).sum::<usize>() <= width);
            }
            let kept: usize = lines.iter().map(|l| l.len()).sum();
            prop_assert_eq!(kept, glyphs.iter().filter(|g| !g.breaks()).count());
            prop_assert!(glyphs.iter().all(|g| text.is_char_boundary(g.at)));
        }

        #[test]
        fn fields_are_exactly_as_wide_as_their_column(text in "(\\PC|[一-龥]|[\u{0}-\u{1f}]){0,30}", columns in 0usize..40) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
            prop_assert_eq!(width(&left(&text, columns)), columns);
            prop_assert_eq!(width(&right(&text, columns)), columns);
        }
    }
}
