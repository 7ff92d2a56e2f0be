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

/// A line in pieces that are kept or dropped as a whole.
pub(crate) fn pieces(line: &TextLine, kept: &[Range<usize>]) -> Vec<(String, bool)> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    for (text, at) in line {
        let is_kept = holds(kept, *at);
        match pieces.last_mut().filter(|last| last.1 == is_kept) {
            Some(last) => last.0 += text,
            None => pieces.push((text.clone(), is_kept)),
        }
    }
    pieces
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
    use super::*;

    #[test]
    fn pieces_are_what_is_kept_and_what_is_not() {
        let lines = lay_out("公司发布公告\n风险提示：abc", 8);
        let kept = [3..12, 19..28];
        let texts: Vec<Vec<(&str, bool)>> = lines
            .iter()
            .map(|line| {
                pieces(line, &kept)
                    .into_iter()
                    .map(|(text, kept)| (Box::leak(text.into_boxed_str()) as &str, kept))
                    .collect()
            })
            .collect();
        assert_eq!(texts[0], [("公", false), ("司发布", true)]);
        assert_eq!(texts[1], [("公告", false)]);
        assert_eq!(texts[2], [("风险提", true)]);
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
