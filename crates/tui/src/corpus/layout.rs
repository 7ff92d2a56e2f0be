//! A document's body as lines of the reader: wrapped by display width, tokens set apart, marked passages coloured and signed.
//!
//! A layout is a list of byte ranges, a line each, which is made once for a width; the pieces of a line with their colours are made when
//! it comes into sight. A body of megabytes is wrapped some kilobytes at a time, so that it takes no memory but that of its lines.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::style::{Modifier, Style};

use super::document::DocumentText;
use crate::look;
use crate::width::{self, Glyph};
use crate::{Mark, Meaning};

/// Bytes that are wrapped at once.
const CHUNK: usize = 1 << 16;

/// Cells at the left of each line, for the signs of hits and of boilerplate.
pub(super) const GUTTER: usize = 2;

/// Stands beside a line with something that the search found.
pub(crate) const HIT: &str = "»";

/// Stands beside a line of boilerplate.
pub(crate) const BOILERPLATE: &str = "░";

/// Stand around a name, and after words of good and of bad tone.
pub(super) const NAME: [&str; 2] = ["‹", "›"];
pub(super) const GOOD: &str = "⁺";
pub(super) const BAD: &str = "⁻";

/// Lines as bytes of the body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LineLayout(Vec<Range<u32>>);

impl LineLayout {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn line(&self, line: usize) -> Option<Range<usize>> {
        self.0.get(line).map(|range| range.start as usize..range.end as usize)
    }

    pub(crate) fn line_of(&self, byte: usize) -> usize {
        self.0.partition_point(|line| line.start as usize <= byte).saturating_sub(1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// Text that belongs to no token and no mark.
    Plain,
    /// A token; neighbours differ in the flag.
    Token(bool),
    /// The stroke between two tokens.
    Stroke,
    Marked(Meaning),
    /// A hit of the search; true for the one that was jumped to.
    Hit(bool),
}

impl PieceKind {
    pub(crate) fn style(self, red_up: bool) -> Style {
        match self {
            PieceKind::Plain => look::PLAIN,
            PieceKind::Token(even) => look::TOKENS[usize::from(even)],
            PieceKind::Stroke => look::DIM,
            PieceKind::Marked(Meaning::Name) => look::NAME,
            PieceKind::Marked(Meaning::Positive) => look::of_sign(1.0, red_up),
            PieceKind::Marked(Meaning::Negative) => look::of_sign(-1.0, red_up),
            PieceKind::Marked(Meaning::Boilerplate) => look::DIM,
            PieceKind::Hit(here) => {
                look::SELECTED.add_modifier(if here { Modifier::BOLD } else { Modifier::UNDERLINED })
            }
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyLine {
    /// True if the search found something in it.
    pub hit: bool,
    pub boilerplate: bool,
    pub pieces: Vec<(String, PieceKind)>,
}

/// Wraps the body to lines of `width` cells, the signs of its marks and the strokes between its tokens among them.
pub(crate) fn lay_out(text: &DocumentText, width: usize) -> LineLayout {
    let body = &text.document.body;
    let mut lines = LineLayout::default();
    let mut at = 0;
    while at < body.len() && u32::try_from(body.len()).is_ok() {
        let mut end = (at + CHUNK).min(body.len());
        while !body.is_char_boundary(end) {
            end -= 1;
        }
        // Whole paragraphs if there are any, else all lines but the last one, which goes on.
        let paragraphs = end == body.len() || body[at..end].contains('\n');
        if let Some(newline) = body[at..end].rfind('\n').filter(|_| end < body.len()) {
            end = at + newline + 1;
        }
        let glyphs: Vec<Glyph<'_>> = signed(text, at..end).map(|(glyph, _)| glyph).collect();
        let chunk_end = end;
        let place = |glyph: usize| glyphs.get(glyph).map_or(chunk_end, |glyph| glyph.at);
        let mut wrapped = width::wrap(&glyphs, width.max(2));
        if !paragraphs && wrapped.len() > 1 {
            end = wrapped.pop().map_or(end, |last| place(last.start));
        }
        // The offsets fit, as the length of the body does.
        lines.0.extend(wrapped.into_iter().map(|line| place(line.start) as u32..place(line.end) as u32));
        at = end;
    }
    if lines.0.is_empty() {
        lines.0.push(0..0);
    }
    lines
}

/// A line in its colours; `hits` are the passages that the search found, and `here` the one that was jumped to.
pub(crate) fn line(text: &DocumentText, bytes: Range<usize>, hits: &[Range<usize>], here: Option<usize>) -> BodyLine {
    let first = hits.partition_point(|hit| hit.end <= bytes.start);
    let hits = || (first..).zip(&hits[first..]).take_while(|(_, hit)| hit.start < bytes.end);
    let boiled = text.marks.iter().filter(|mark| mark.meaning == Meaning::Boilerplate);
    let boilerplate = boiled.take_while(|mark| mark.range.start < bytes.end).any(|mark| mark.range.end > bytes.start);
    let mut line = BodyLine { hit: hits().next().is_some(), boilerplate, pieces: Vec::new() };
    for (glyph, sort) in signed(text, bytes.clone()) {
        let hit = hits().find(|(_, hit)| hit.contains(&glyph.at)).map(|(i, _)| PieceKind::Hit(here == Some(i)));
        let sort = if sort == PieceKind::Stroke { sort } else { hit.unwrap_or(sort) };
        match line.pieces.last_mut() {
            Some((piece, last)) if *last == sort => piece.push_str(&glyph.text),
            _ => line.pieces.push((glyph.text.into_owned(), sort)),
        }
    }
    line
}

/// The glyphs of some bytes of the body with what they are: a stroke where a token ends and the next begins without a gap, and the signs
/// of marks as part of the glyphs where these begin and end.
fn signed(text: &DocumentText, bytes: Range<usize>) -> impl Iterator<Item = (Glyph<'_>, PieceKind)> {
    let piece = &text.document.body[bytes.clone()];
    // Boilerplate is signed at the left; it encloses other marks, which tell more.
    let of_words = |mark: &&Mark| mark.meaning != Meaning::Boilerplate;
    let near = |mark: &&Mark| mark.range.start < bytes.end && mark.range.end > bytes.start;
    let marks: Vec<&Mark> = text.marks.iter().filter(near).collect();
    let words: Vec<&Mark> = marks.iter().copied().filter(of_words).collect();
    let mut token = text.tokens.partition_point(|token| token.end <= bytes.start);
    // Where a line begins, its beginning sets tokens apart as well as a stroke does.
    let mut gap = true;
    let mut glyphs = width::glyphs(piece).peekable();
    let mut waiting = None;
    std::iter::from_fn(move || {
        if let Some(next) = waiting.take() {
            return Some(next);
        }
        let mut glyph = glyphs.next()?;
        glyph.at += bytes.start;
        let at = glyph.at;
        let end = glyphs.peek().map_or(bytes.end, |next| next.at + bytes.start);
        while text.tokens.get(token).is_some_and(|token| token.end <= at) {
            token += 1;
        }
        let within = text.tokens.get(token).filter(|token| token.contains(&at));
        let begins = within.is_some_and(|within| within.start == at);
        let touches = token > 0 && text.tokens.get(token - 1).is_some_and(|before| before.end == at);
        let stroke = begins && touches && !gap && !glyph.breaks();
        gap = glyph.breaks();
        let plain = if within.is_some() { PieceKind::Token(token % 2 == 1) } else { PieceKind::Plain };
        let meaning = meaning_at(&words, at).or_else(|| meaning_at(&marks, at));
        if !glyph.breaks() {
            sign(&mut glyph, &words, meaning, end);
        }
        let drawn = (glyph, meaning.map_or(plain, PieceKind::Marked));
        if stroke {
            waiting = Some(drawn);
            return Some((Glyph { text: Cow::Borrowed("/"), width: 1, at }, PieceKind::Stroke));
        }
        Some(drawn)
    })
}

/// Puts the signs of the marks that begin or end at a glyph to it, if they are those that it shows.
fn sign(glyph: &mut Glyph<'_>, marks: &[&Mark], meaning: Option<Meaning>, end: usize) {
    for mark in marks.iter().filter(|mark| Some(mark.meaning) == meaning && mark.range.contains(&glyph.at)) {
        let (begins, ends) = (mark.range.start == glyph.at, mark.range.end <= end);
        let signs = match mark.meaning {
            Meaning::Name => [begins.then_some(NAME[0]), ends.then_some(NAME[1])],
            Meaning::Positive => [None, ends.then_some(GOOD)],
            Meaning::Negative => [None, ends.then_some(BAD)],
            Meaning::Boilerplate => [None, None],
        };
        let [before, after] = signs.map(Option::unwrap_or_default);
        if !(before.is_empty() && after.is_empty()) {
            glyph.text = Cow::Owned(format!("{before}{}{after}", glyph.text));
            glyph.width += usize::from(!before.is_empty()) + usize::from(!after.is_empty());
        }
    }
}

/// A name wins over a tone word inside it, as 平安 in a bank's name is no good news.
fn meaning_at(marks: &[&Mark], at: usize) -> Option<Meaning> {
    let here = marks.iter().filter(|mark| mark.range.contains(&at)).map(|mark| mark.meaning);
    here.min_by_key(|meaning| *meaning != Meaning::Name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_base::data::Document;

    fn text(body: &str, tokens: &[&str]) -> DocumentText {
        let mut at = 0;
        let tokens = tokens.iter().map(|t| {
            let start = at + body[at..].find(t).unwrap();
            at = start + t.len();
            start..at
        });
        let tokens = tokens.collect();
        DocumentText {
            document: Document { body: body.into(), ..Document::default() },
            tokens,
            ..DocumentText::default()
        }
    }

    fn marked(body: &str, marks: &[(Range<usize>, Meaning)]) -> DocumentText {
        let marks = marks.iter().map(|(range, meaning)| Mark { range: range.clone(), meaning: *meaning });
        DocumentText { marks: marks.collect(), ..text(body, &[]) }
    }

    fn lines(text: &DocumentText, width: usize) -> Vec<BodyLine> {
        let layout = lay_out(text, width);
        (0..layout.len()).map(|i| line(text, layout.line(i).unwrap(), &[], None)).collect()
    }

    fn plain(text: &DocumentText, width: usize) -> Vec<String> {
        lines(text, width).iter().map(|line| line.pieces.iter().map(|piece| piece.0.as_str()).collect()).collect()
    }

    #[test]
    fn strokes_stand_between_touching_tokens_only() {
        let text = text("公司拟回购 股份", &["公司", "拟", "回购", "股份"]);
        assert_eq!(plain(&text, 40), ["公司/拟/回购 股份"]);
        let sorts: Vec<PieceKind> = lines(&text, 40)[0].pieces.iter().map(|p| p.1).collect();
        let (even, odd) = (PieceKind::Token(false), PieceKind::Token(true));
        assert_eq!(sorts, [even, PieceKind::Stroke, odd, PieceKind::Stroke, even, PieceKind::Plain, odd]);
    }

    #[test]
    fn lines_stay_within_the_width_with_strokes_signs_and_all() {
        let cut = text("公司拟回购股份", &["公司", "拟", "回购", "股份"]);
        assert_eq!(plain(&cut, 6), ["公司", "拟/回", "购/股", "份"]);
        let signed =
            marked("瑞禾大涨，亏损", &[(0..6, Meaning::Name), (6..12, Meaning::Positive), (15..21, Meaning::Negative)]);
        assert_eq!(plain(&signed, 40), ["‹瑞禾›大涨⁺，亏损⁻"]);
        for width in 4..20 {
            for line in plain(&signed, width) {
                assert!(width::width(&line) <= width, "{line:?} in {width}");
            }
            assert_eq!(plain(&signed, width).concat(), "‹瑞禾›大涨⁺，亏损⁻");
        }
    }

    #[test]
    fn a_name_wins_over_the_tone_word_in_it_and_both_over_boilerplate() {
        let mut marks = [
            (0..12, Meaning::Name),
            (0..6, Meaning::Positive),
            (12..18, Meaning::Positive),
            (12..24, Meaning::Boilerplate),
        ];
        marks.sort_by_key(|mark| mark.0.start);
        let text = marked("平安银行大涨如下", &marks);
        let line = &lines(&text, 40)[0];
        let piece = |text: &str, meaning| (text.to_owned(), PieceKind::Marked(meaning));
        let expected = [
            piece("‹平安银行›", Meaning::Name),
            piece("大涨⁺", Meaning::Positive),
            piece("如下", Meaning::Boilerplate),
        ];
        assert_eq!(line.pieces, expected);
        assert!(line.boilerplate && !lines(&marked("平安", &[]), 40)[0].boilerplate);
    }

    #[test]
    fn what_was_found_is_marked_on_every_line_that_has_some_of_it() {
        let text = text("公司拟回购股份", &[]);
        let layout = lay_out(&text, 8);
        let found = [9..21];
        let drawn: Vec<BodyLine> =
            (0..layout.len()).map(|i| line(&text, layout.line(i).unwrap(), &found, Some(0))).collect();
        assert_eq!(drawn[0].pieces, [("公司拟".to_owned(), PieceKind::Plain), ("回".to_owned(), PieceKind::Hit(true))]);
        assert_eq!(drawn[1].pieces, [("购股份".to_owned(), PieceKind::Hit(true))]);
        assert!(drawn.iter().all(|line| line.hit));
        assert_eq!((layout.line_of(9), layout.line_of(12), layout.line_of(500)), (0, 1, 1));
        assert!(!line(&text, 0..9, &found, None).hit);
    }

    #[test]
    fn a_body_is_laid_out_the_same_however_it_is_cut_into_chunks() {
        let long = "净利润同比增长12.4%，𠮷😀\u{1b}[31m".repeat(10_000);
        for body in [long.clone(), long.replace('，', "\n")] {
            let text = text(&body, &[]);
            let glyphs: Vec<Glyph<'_>> = width::glyphs(&body).collect();
            let expected = width::wrap(&glyphs, 37);
            let layout = lay_out(&text, 37);
            assert_eq!(layout.len(), expected.len());
            let starts: Vec<usize> = expected.iter().map(|line| glyphs[line.start].at).collect();
            assert_eq!((0..layout.len()).map(|i| layout.line(i).unwrap().start).collect::<Vec<_>>(), starts);
        }
    }

    #[test]
    fn nothing_and_breaks_alone_are_lines_too() {
        assert_eq!(plain(&text("", &[]), 10), [""]);
        assert_eq!(plain(&text("一\n\n二\n", &[]), 10), ["一", "", "二"]);
        assert_eq!(lay_out(&text("瑞禾", &[]), 0).len(), 2, "a width without room for a character still has an end");
    }
}
