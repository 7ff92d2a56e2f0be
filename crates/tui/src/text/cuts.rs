//! Where tokens lie: which one a byte is in, the next and the one before, and those of another tokeniser that share its bytes.

use std::ops::Range;

use super::bench::Tokens;
use crate::corpus::{self, DocumentText, PieceKind};
use crate::{Mark, Meaning};
use inkstone_base::data::Document;

/// A line: pieces of text and what each of them is.
pub(super) type MarkedLine = Vec<(String, PieceKind)>;

/// Bytes of a token, at the most, that are looked at around the cursor.
const LONGEST: usize = 4096;

/// The token that a byte is in, else the one before it, else the first.
pub(super) fn token_at(ranges: &[Range<usize>], at: usize) -> Option<usize> {
    let behind = ranges.partition_point(|range| range.start <= at);
    (!ranges.is_empty()).then(|| behind.saturating_sub(1))
}

/// The first token that begins behind where this one begins.
pub(super) fn next(ranges: &[Range<usize>], token: usize) -> Option<usize> {
    let start = ranges.get(token)?.start;
    let next = ranges.partition_point(|range| range.start <= start);
    (next < ranges.len()).then_some(next)
}

/// The last token that begins before this one does.
pub(super) fn previous(ranges: &[Range<usize>], token: usize) -> Option<usize> {
    let start = ranges.get(token)?.start;
    ranges.partition_point(|range| range.start < start).checked_sub(1)
}

/// The tokens that have some of these bytes: numbers, half-open.
pub(super) fn sharing(ranges: &[Range<usize>], bytes: &Range<usize>) -> Range<usize> {
    let first = ranges.partition_point(|range| range.end <= bytes.start);
    let last = ranges.partition_point(|range| range.start < bytes.end);
    first..last.max(first)
}

/// Tokens around the cursor in lines of a width, strokes between them, and the tokens that share its bytes marked, as are, as if they were
/// boilerplate, those that `other` cuts otherwise. They begin at byte `from`, further on where the marked ones would not be in sight of
/// so many rows.
pub(super) fn strip(
    text: &str,
    (tokens, other): (&Tokens, Option<&Tokens>),
    from: usize,
    cursor: &Range<usize>,
    (width, rows): (usize, usize),
) -> Vec<MarkedLine> {
    let from = text.floor_char_boundary(from.min(cursor.start));
    let cursor = cursor.start..cursor.end.min(cursor.start + LONGEST);
    // No line of tokens takes more than four bytes a cell, save for what takes no room at all.
    let end = text.ceil_char_boundary((cursor.end.max(from) + rows * width * 4).min(text.len()));
    let first = tokens.ranges.partition_point(|range| range.end <= from);
    let inside = tokens.ranges[first..].iter().take_while(|range| range.start < end);
    let clipped = |range: &Range<usize>| range.start.max(from) - from..range.end.min(end) - from;
    let shared = &tokens.ranges[sharing(&tokens.ranges, &cursor)];
    let marked = match (shared.first(), shared.last()) {
        (Some(first), Some(last)) => clipped(first).start..clipped(last).end,
        _ => 0..0,
    };
    let cut_alike = |range: &Range<usize>, other: &Tokens| {
        let at = other.ranges.partition_point(|token| token.start < range.start);
        other.ranges[at..].iter().take_while(|token| token.start == range.start).any(|token| token == range)
    };
    let differing = inside.clone().filter(|range| other.is_some_and(|other| !cut_alike(range, other)));
    let differing = differing.map(|range| Mark { range: clipped(range), meaning: Meaning::Boilerplate });
    let mut marks: Vec<Mark> = differing.chain([Mark { range: marked, meaning: Meaning::Name }]).collect();
    marks.sort_by_key(|mark| mark.range.start);
    let window = DocumentText {
        document: Document { body: text[from..end].to_owned(), ..Document::default() },
        tokens: inside.map(clipped).collect(),
        marks,
        ..DocumentText::default()
    };
    let layout = corpus::lay_out(&window, width.max(2));
    let pieces = |number| Some(corpus::line(&window, layout.line(number)?, &[], None).pieces);
    let mut lines: Vec<MarkedLine> = (0..layout.len()).filter_map(pieces).collect();
    let is_marked = |line: &MarkedLine| line.iter().any(|(_, sort)| matches!(sort, PieceKind::Marked(Meaning::Name)));
    let last = lines.iter().rposition(is_marked).unwrap_or(0);
    let first = lines.iter().position(is_marked).unwrap_or(0);
    // The beginning of what is marked stays in sight, its end where there is room.
    let top = (last + 1).saturating_sub(rows).min(first);
    lines.drain(..top);
    lines.truncate(rows);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(ranges: &[Range<usize>]) -> Tokens {
        Tokens { ranges: ranges.to_vec(), ids: Vec::new(), specials: 0 }
    }

    fn plain(lines: &[MarkedLine]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|piece| piece.0.as_str()).collect()).collect()
    }

    fn marked(lines: &[MarkedLine]) -> String {
        let pieces = lines.iter().flatten().filter(|piece| matches!(piece.1, PieceKind::Marked(Meaning::Name)));
        pieces.map(|piece| piece.0.as_str()).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_cursor_goes_from_token_to_token_also_where_several_are_in_one_place() {
        let ranges = [0..3, 3..6, 3..6, 3..6, 7..9];
        let at = |byte| token_at(&ranges, byte);
        assert_eq!([at(0), at(2), at(4), at(6), at(8), at(99)], [Some(0), Some(0), Some(3), Some(3), Some(4), Some(4)]);
        assert_eq!(token_at(&[], 3), None);
        assert_eq!(token_at(std::slice::from_ref(&(2..3)), 0), Some(0), "before the first token it is the first");
        assert_eq!([next(&ranges, 0), next(&ranges, 1), next(&ranges, 4)], [Some(1), Some(4), None]);
        assert_eq!([previous(&ranges, 4), previous(&ranges, 3), previous(&ranges, 0)], [Some(3), Some(0), None]);
        assert_eq!(sharing(&ranges, &(2..4)), 0..4);
        assert_eq!(sharing(&ranges, &(6..7)), 4..4, "what lies between tokens is in none");
    }

    #[test]
    fn strips_of_two_tokenisers_show_the_same_bytes() {
        let text = "公司拟回购股份";
        let words = tokens(&[0..6, 6..9, 9..15, 15..21]);
        let characters = tokens(&[0..3, 3..6, 6..9, 9..12, 12..15, 15..18, 18..21]);
        let cursor = 9..15;
        let shown = strip(text, (&words, Some(&words)), 0, &cursor, (40, 3));
        assert_eq!((plain(&shown), marked(&shown)), (vec!["公司/拟/‹回购›/股份".to_owned()], "‹回购›".to_owned()));
        let shown = strip(text, (&characters, Some(&words)), 0, &cursor, (40, 3));
        assert_eq!((plain(&shown), marked(&shown)), (vec!["公/司/拟/‹回/购›/股/份".to_owned()], "‹回,购›".to_owned()));
        let otherwise = |(_, sort): &&(String, PieceKind)| *sort == PieceKind::Marked(Meaning::Boilerplate);
        let differing: Vec<&str> = shown[0].iter().filter(otherwise).map(|piece| piece.0.as_str()).collect();
        assert_eq!(differing, ["公", "司", "股", "份"], "拟 alone is a word as well");
    }

    #[test]
    fn what_is_marked_is_in_sight_of_the_rows_that_there_are() {
        let text = "公司拟回购股份".repeat(30);
        let characters: Vec<Range<usize>> = (0..text.len() / 3).map(|i| 3 * i..3 * i + 3).collect();
        let lines = strip(&text, (&tokens(&characters), None), 0, &(300..306), (10, 2));
        assert_eq!((lines.len(), marked(&lines)), (2, "‹拟,回›".to_owned()));
        let one_token =
            strip(&text, (&tokens(std::slice::from_ref(&(0..text.len()))), None), 0, &(0..text.len()), (10, 2));
        assert_eq!(one_token.len(), 2, "a token of any length is cut at the rows");
    }
}
