//! The sentences of a document, in lines, with the words that moved its value.

use ratatui::layout::{Position, Rect};

use super::view;
use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::factor::words;
use crate::list::moved;
use crate::page::{Table, exact};
use inkstone_base::data::Kind;
use inkstone_base::width::{self, Glyph};
use inkstone_features::extract::{ExplainedSentence, ExplainedText};

/// A line of a sentence: what is drawn, and what the word that it belongs to gave; 0 for none.
pub(super) struct SentenceLine {
    pub(super) sentence: usize,
    /// True if the sentence begins here.
    pub(super) first: bool,
    pub(super) glyphs: Vec<(String, f64)>,
}

pub(super) struct Sentences {
    pub(super) kind: Kind,
    pub(super) doc_id: String,
    pub(super) asked: Errand<Vec<ExplainedText>>,
    /// Which of the columns is explained.
    pub(super) column: usize,
    /// The sentence that is looked at.
    pub(super) at: usize,
    pub(super) lines: Vec<SentenceLine>,
    laid_out: Option<(usize, usize)>,
    pub(super) top: usize,
}

impl Sentences {
    pub(super) fn new(kind: Kind, doc_id: String, asked: Errand<Vec<ExplainedText>>) -> Sentences {
        Sentences { kind, doc_id, asked, column: 0, at: 0, lines: Vec::new(), laid_out: None, top: 0 }
    }

    pub(super) fn explained(&self) -> Option<&ExplainedText> {
        self.asked.get()?.get(self.column)
    }

    fn sentences(&self) -> &[ExplainedSentence] {
        self.explained().map_or(&[], |explained| &explained.sentences)
    }

    pub(super) fn sentence(&self) -> Option<&ExplainedSentence> {
        self.sentences().get(self.at)
    }

    /// Looks at the sentence that the mouse was pressed on.
    pub(super) fn click(&mut self, at: Position, page: Rect) {
        let line = view::text_row_at(at, page).and_then(|row| self.lines.get(self.top + row));
        self.at = line.map_or(self.at, |line| line.sentence);
    }

    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        let header = [words::SENTENCE, words::WEIGHT_OF_WORD, words::WORD, words::TEXT_OF];
        let row = |(number, sentence): (usize, &ExplainedSentence)| {
            let words: Vec<String> =
                sentence.words.iter().map(|word| format!("{} {:+}", word.word, word.value)).collect();
            vec![(number + 1).to_string(), exact(sentence.value), words.join("; "), sentence.text.clone()]
        };
        Some(Table::new(desk.language, &header, self.explained()?.sentences.iter().enumerate().map(row).collect()))
    }

    pub(super) fn aside(&mut self, on: bool) {
        let count = self.asked.get().map_or(0, Vec::len).max(1);
        self.column = (self.column + if on { 1 } else { count - 1 }) % count;
        self.begin();
    }

    fn begin(&mut self) {
        let size = |sentence: &ExplainedSentence| if sentence.value.is_nan() { 0.0 } else { sentence.value.abs() };
        let sentences = self.sentences();
        let largest = (0..sentences.len()).rev().max_by(|a, b| size(&sentences[*a]).total_cmp(&size(&sentences[*b])));
        (self.at, self.top, self.laid_out) = (largest.unwrap_or(0), 0, None);
    }

    pub(super) fn step(&mut self, action: Action, page: Rect) {
        // A page of sentences is what is seen of them.
        let rows = view::text_rows(page);
        let seen = self.lines.iter().skip(self.top).take(rows).filter(|line| line.first).count().max(1);
        self.at = moved(self.at, action, self.sentences().len(), seen);
    }

    /// Lays the text out for the page and brings the sentence into sight.
    pub(super) fn arrange(&mut self, page: Rect) {
        if self.asked.look() {
            self.begin();
        }
        let width = view::text_width(page);
        if self.laid_out != Some((width, self.column)) {
            self.lines =
                self.sentences().iter().enumerate().flat_map(|(number, s)| lay_out(number, s, width)).collect();
            self.laid_out = Some((width, self.column));
        }
        let rows = view::text_rows(page).max(1);
        let marked = |line: &SentenceLine| line.sentence == self.at;
        let first = self.lines.iter().position(marked).unwrap_or(0);
        let last = self.lines.iter().rposition(marked).unwrap_or(0);
        // Its end is in sight, and before that its beginning.
        self.top = self.top.max((last + 1).saturating_sub(rows)).min(first);
    }
}

/// The lines of a sentence, at most `width` cells each.
fn lay_out(number: usize, sentence: &ExplainedSentence, width: usize) -> Vec<SentenceLine> {
    let glyphs: Vec<Glyph<'_>> = width::glyphs(&sentence.text).collect();
    // The word that gave most colours what several hold.
    let given = |at: usize| {
        let holds =
            |word: &&inkstone_features::extract::ExplainedWord| word.places.iter().any(|place| place.contains(&at));
        sentence.words.iter().find(holds).map_or(0.0, |word| word.value)
    };
    let lines = width::wrap(&glyphs, width.max(2)).into_iter().enumerate();
    lines
        .map(|(line, range)| SentenceLine {
            sentence: number,
            first: line == 0,
            glyphs: glyphs[range].iter().map(|glyph| (glyph.text.to_string(), given(glyph.at))).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_features::extract::ExplainedWord;

    #[test]
    fn words_are_coloured_where_they_stand_and_lines_break_as_ever() {
        let word =
            |places: Vec<std::ops::Range<usize>>, value| ExplainedWord { value, places, ..ExplainedWord::default() };
        let sentence = ExplainedSentence {
            text: "业绩大幅下滑。".into(),
            words: vec![word(vec![12..18], -0.5), word(vec![6..18], 0.25)],
            ..ExplainedSentence::default()
        };
        let lines = lay_out(3, &sentence, 8);
        let drawn: Vec<(bool, String)> =
            lines.iter().map(|l| (l.first, l.glyphs.iter().map(|g| g.0.as_str()).collect())).collect();
        assert_eq!(drawn, [(true, "业绩大幅".into()), (false, "下滑。".into())]);
        assert_eq!(lines[0].glyphs.iter().map(|g| g.1).collect::<Vec<_>>(), [0.0, 0.0, 0.25, 0.25]);
        assert_eq!(lines[1].glyphs.iter().map(|g| g.1).collect::<Vec<_>>(), [-0.5, -0.5, 0.0]);
    }
}
