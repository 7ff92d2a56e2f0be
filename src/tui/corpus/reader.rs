//! A document's body as lines of the reader: wrapped by display width, tokens set apart, marked passages coloured.

use std::borrow::Cow;

use ratatui::style::Style;

use crate::tui::look;
use crate::tui::reading::Text;
use crate::tui::width::{self, Glyph};
use crate::tui::{Mark, Meaning};

/// A line: pieces of text with their colours.
pub(crate) type ReaderLine = Vec<(String, Sort)>;

/// What a piece of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Text that belongs to no token and no mark.
    Plain,
    /// A token; neighbours differ in the flag.
    Token(bool),
    /// The stroke between two tokens.
    Stroke,
    /// A marked passage.
    Marked(Meaning),
}

impl Sort {
    /// How it looks.
    pub(crate) fn style(self, red_up: bool) -> Style {
        match self {
            Sort::Plain => look::PLAIN,
            Sort::Token(even) => look::TOKENS[usize::from(even)],
            Sort::Stroke => look::DIM,
            Sort::Marked(Meaning::Name) => look::NAME,
            Sort::Marked(Meaning::Positive) => look::of_sign(1.0, red_up),
            Sort::Marked(Meaning::Negative) => look::of_sign(-1.0, red_up),
        }
    }
}

/// Wraps the body to `width` cells. With tokens, a `/` stands where one ends and the next begins without a gap.
pub(crate) fn lay_out(text: &Text, width: usize) -> Vec<ReaderLine> {
    let body = &text.document.body;
    let mut glyphs: Vec<Glyph<'_>> = Vec::with_capacity(body.len() / 2);
    let mut sorts: Vec<Sort> = Vec::with_capacity(body.len() / 2);
    let mut token = 0;
    for glyph in width::glyphs(body) {
        while text.tokens.get(token).is_some_and(|t| t.end <= glyph.at) {
            token += 1;
        }
        let within = text.tokens.get(token).is_some_and(|t| t.contains(&glyph.at));
        let begins = within && text.tokens[token].start == glyph.at;
        let inside = glyphs.last().is_some_and(|g| !g.breaks()) && !glyph.breaks();
        if begins && inside && token > 0 && text.tokens[token - 1].end == glyph.at {
            glyphs.push(Glyph { text: Cow::Borrowed("/"), width: 1, at: glyph.at });
            sorts.push(Sort::Stroke);
        }
        let plain = if within { Sort::Token(token % 2 == 1) } else { Sort::Plain };
        sorts.push(meaning_at(&text.marks, glyph.at).map_or(plain, Sort::Marked));
        glyphs.push(glyph);
    }
    let mut lines = Vec::new();
    for mut line in width::wrap(&glyphs, width) {
        let mut pieces: ReaderLine = Vec::new();
        // The end of a line sets tokens apart as well as a stroke does.
        if sorts.get(line.start) == Some(&Sort::Stroke) {
            line.start += 1;
        }
        for i in line {
            match pieces.last_mut() {
                Some((piece, sort)) if *sort == sorts[i] => piece.push_str(&glyphs[i].text),
                _ => pieces.push((glyphs[i].text.clone().into_owned(), sorts[i])),
            }
        }
        lines.push(pieces);
    }
    lines
}

/// A name wins over a tone word inside it, as 平安 in a bank's name is no good news.
fn meaning_at(marks: &[Mark], at: usize) -> Option<Meaning> {
    let here = marks.iter().filter(|m| m.range.contains(&at)).map(|m| m.meaning);
    here.min_by_key(|m| *m != Meaning::Name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Document;
    use crate::tui::Cut;

    fn text(body: &str, tokens: &[&str]) -> Text {
        let mut at = 0;
        let tokens = tokens.iter().map(|t| {
            let start = at + body[at..].find(t).unwrap();
            at = start + t.len();
            start..at
        });
        let tokens = tokens.collect();
        let document = Document { body: body.into(), ..Document::default() };
        Text { place: (0, 0), document, first: None, cut: Some(Cut::Words), tokens, marks: Vec::new(), fault: None }
    }

    fn plain(lines: &[ReaderLine]) -> Vec<String> {
        lines.iter().map(|l| l.iter().map(|p| p.0.as_str()).collect()).collect()
    }

    #[test]
    fn strokes_stand_between_touching_tokens_only() {
        let text = text("公司拟回购 股份", &["公司", "拟", "回购", "股份"]);
        assert_eq!(plain(&lay_out(&text, 40)), ["公司/拟/回购 股份"]);
        let sorts: Vec<Sort> = lay_out(&text, 40)[0].iter().map(|p| p.1).collect();
        let (even, odd) = (Sort::Token(false), Sort::Token(true));
        assert_eq!(sorts, [even, Sort::Stroke, odd, Sort::Stroke, even, Sort::Plain, odd]);
    }

    #[test]
    fn lines_stay_within_the_width_with_strokes_and_all() {
        let text = text("公司拟回购股份", &["公司", "拟", "回购", "股份"]);
        assert_eq!(plain(&lay_out(&text, 6)), ["公司/", "拟/回", "购/股", "份"]);
    }

    #[test]
    fn a_name_wins_over_the_tone_word_in_it() {
        let mut text = text("平安银行大涨", &[]);
        let mark = |range, meaning| Mark { range, meaning };
        text.marks = vec![mark(0..6, Meaning::Positive), mark(0..12, Meaning::Name), mark(12..18, Meaning::Positive)];
        let name = ("平安银行".to_owned(), Sort::Marked(Meaning::Name));
        assert_eq!(lay_out(&text, 40), [[name, ("大涨".to_owned(), Sort::Marked(Meaning::Positive))]]);
    }
}
