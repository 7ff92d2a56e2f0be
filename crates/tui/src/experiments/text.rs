//! The text of a document in lines, and which parts of a line a strategy keeps.

use std::ops::Range;

use inkstone_base::width::{self, Glyph};

/// A line of text: what is drawn, each with the byte at which it begins in the document.
pub(crate) type TextLine = Vec<(String, usize)>;

/// The part of a line that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptEnd {
    Whole,
    Part,
    None,
}

/// The text in lines of at most `width` cells.
pub(crate) fn lay_out(text: &str, width: usize) -> Vec<TextLine> {
    let glyphs: Vec<Glyph<'_>> = width::glyphs(text).collect();
    let line = |range: Range<usize>| glyphs[range].iter().map(|glyph| (glyph.text.to_string(), glyph.at)).collect();
    width::wrap(&glyphs, width.max(2)).into_iter().map(line).collect()
}

/// True if the byte is in one of the ranges, which ascend.
pub(crate) fn holds(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

/// The part of a line that is kept; spaces do not count.
pub(crate) fn share(line: &TextLine, kept: &[Range<usize>]) -> KeptEnd {
    let mut there = line.iter().filter(|(text, _)| !text.trim().is_empty()).map(|(_, at)| holds(kept, *at));
    match (there.clone().any(|kept| kept), there.all(|kept| kept)) {
        (false, _) => KeptEnd::None,
        (true, true) => KeptEnd::Whole,
        (true, false) => KeptEnd::Part,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;
    use crate::look;

    #[test]
    fn lines_are_kept_whole_in_part_or_not_at_all() {
        let lines = lay_out("公司发布公告\n风险提示：abc", 8);
        let kept = [3..12, 19..28];
        let style = |at: usize| if holds(&kept, at) { look::PLAIN } else { look::DIM };
        let runs = |line: &TextLine| look::runs(line.iter().map(|(text, at)| (text, style(*at))));
        assert_eq!(runs(&lines[0]), [Span::styled("公", look::DIM), Span::styled("司发布", look::PLAIN)]);
        assert_eq!(runs(&lines[1]), [Span::styled("公告", look::DIM)]);
        assert_eq!(runs(&lines[2]), [Span::styled("风险提", look::PLAIN)]);
        let shares: Vec<KeptEnd> = lines.iter().map(|line| share(line, &kept)).collect();
        assert_eq!(shares[..3], [KeptEnd::Part, KeptEnd::None, KeptEnd::Whole]);
        assert_eq!(share(&lines[0], &[0..40]), KeptEnd::Whole);
        assert_eq!(share(&Vec::new(), &[0..40]), KeptEnd::None);
    }

    #[test]
    fn a_byte_is_held_by_the_range_around_it() {
        let ranges = [2..4, 6..9];
        let held: Vec<usize> = (0..12).filter(|at| holds(&ranges, *at)).collect();
        assert_eq!(held, [2, 3, 6, 7, 8]);
    }
}
