//! A text in lines of a width: where each begins and ends. Glyphs are made of the lines in sight alone, so a text of a mebibyte scrolls
//! as a short one does.

use std::ops::Range;

use crate::width::{self, Glyph};

/// Cells before a line of text: a sign of what is kept, and one of boilerplate.
pub(super) const GUTTER: usize = 2;

/// Wraps a text; bytes of each line, without line breaks, half-open.
pub(super) fn lay_out(text: &str, width: usize) -> Vec<Range<usize>> {
    let glyphs: Vec<Glyph<'_>> = width::glyphs(text).collect();
    let byte = |glyph: usize| glyphs.get(glyph).map_or(text.len(), |glyph| glyph.at);
    width::wrap(&glyphs, width.max(2)).into_iter().map(|line| byte(line.start)..byte(line.end)).collect()
}

pub(super) fn line_of(lines: &[Range<usize>], at: usize) -> usize {
    lines.partition_point(|line| line.start <= at).saturating_sub(1)
}

/// The glyphs of a line with the byte of the text at which each begins.
pub(super) fn glyphs<'t>(text: &'t str, line: &Range<usize>) -> impl Iterator<Item = (Glyph<'t>, usize)> {
    let start = line.start;
    width::glyphs(&text[line.clone()]).map(move |glyph| {
        let at = start + glyph.at;
        (glyph, at)
    })
}

/// The cell of a line at which a byte stands.
pub(super) fn cell_of(text: &str, line: &Range<usize>, at: usize) -> usize {
    glyphs(text, line).take_while(|(_, begins)| *begins < at).map(|(glyph, _)| glyph.width).sum()
}

/// The byte that stands at a cell of a line; behind its end the last one.
pub(super) fn byte_at(text: &str, line: &Range<usize>, cell: usize) -> usize {
    let (mut used, mut found) = (0, line.start);
    for (glyph, at) in glyphs(text, line) {
        found = at;
        used += glyph.width;
        if used > cell {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bytes_of_the_text_and_cells_lead_back_to_them() {
        let text = "公司发布𠮷公告\n\n净利润abc";
        let lines = lay_out(text, 8);
        let shown: Vec<&str> = lines.iter().map(|line| &text[line.clone()]).collect();
        assert_eq!(shown, ["公司发布", "𠮷公告", "", "净利润", "abc"]);
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(line_of(&lines, line.start), number);
        }
        assert_eq!(cell_of(text, &lines[1], lines[1].start + 7), 4);
        assert_eq!(byte_at(text, &lines[1], 4), lines[1].start + 7);
        assert_eq!(byte_at(text, &lines[1], 5), lines[1].start + 7, "the right half of a character is the character");
        assert_eq!(byte_at(text, &lines[1], 99), lines[1].start + 7);
        assert_eq!(byte_at(text, &lines[2], 3), lines[2].start);
    }
}
