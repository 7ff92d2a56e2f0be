//! Two documents side by side: what both say stands in one row, what only one says is coloured and underlined.
//!
//! Sentences are compared first, and the characters of those that differ.

use std::ops::Range;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::{CorpusPage, words as own};
use crate::action::Action;
use crate::context::PageContext;
use crate::desk::{Desk, PageRequest};
use crate::errand::Errand;
use crate::experiments::text::{TextLine, holds, lay_out};
use crate::list::moved;
use crate::words;
use crate::{figures, look, width};
use inkstone_base::data::Document;

/// Time after which a comparison is as fine as it has become.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stretch of both documents: what stands on each side, and the bytes of it that the other one has not.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stretch {
    sides: [(String, Vec<Range<usize>>); 2],
}

/// Two documents, compared.
pub(super) struct ComparedDocuments {
    documents: [Document; 2],
    stretches: Vec<Stretch>,
    /// Share of the characters of both that stand in both.
    alike: f64,
}

/// The comparison, while it is open.
pub(super) struct DocumentsBeside {
    pub(super) asked: Errand<ComparedDocuments>,
    scroll: usize,
}

impl ComparedDocuments {
    pub(super) fn new(documents: [Document; 2]) -> ComparedDocuments {
        let texts = [0, 1].map(|side| format!("{}\n{}", documents[side].title, documents[side].body));
        let stretches = compare(&texts[0], &texts[1]);
        let sides = || stretches.iter().flat_map(|stretch| &stretch.sides);
        let all: usize = sides().map(|(text, _)| text.chars().count()).sum();
        let other: usize =
            sides().flat_map(|(text, ranges)| ranges.iter().map(|range| text[range.clone()].chars().count())).sum();
        let alike = if all > 0 { 1.0 - other as f64 / all as f64 } else { 1.0 };
        ComparedDocuments { documents, stretches, alike }
    }
}

/// The sentences of a text, each with the marks that end it.
fn sentences(text: &str) -> Vec<&str> {
    text.split_inclusive(['。', '！', '？', '；', '\n']).collect()
}

fn compare(left: &str, right: &str) -> Vec<Stretch> {
    let (left, right) = (sentences(left), sentences(right));
    let until = Some(Instant::now() + PATIENCE);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &left, &right, until);
    let stretch = |op: &DiffOp| {
        let [one, other] = [left[op.old_range()].concat(), right[op.new_range()].concat()];
        let ranges = match op {
            DiffOp::Equal { .. } => [Vec::new(), Vec::new()],
            _ => differing(&one, &other, until),
        };
        let [of_one, of_other] = ranges;
        Stretch { sides: [(one, of_one), (other, of_other)] }
    };
    ops.iter().map(stretch).collect()
}

/// The bytes of two texts that the other one has not.
fn differing(left: &str, right: &str, until: Option<Instant>) -> [Vec<Range<usize>>; 2] {
    let [one, other] = [left, right].map(|text| text.chars().collect::<Vec<char>>());
    let places = |text: &str| text.char_indices().map(|(at, _)| at).chain([text.len()]).collect::<Vec<usize>>();
    let [of_left, of_right] = [places(left), places(right)];
    let mut found = [Vec::new(), Vec::new()];
    for op in capture_diff_slices_deadline(Algorithm::Myers, &one, &other, until) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        for (found, range, places) in found
            .iter_mut()
            .zip([op.old_range(), op.new_range()])
            .zip([&of_left, &of_right])
            .map(|((a, b), c)| (a, b, c))
        {
            if !range.is_empty() {
                found.push(places[range.start]..places[range.end]);
            }
        }
    }
    found
}

impl DocumentsBeside {
    pub(super) fn new(asked: Errand<ComparedDocuments>) -> DocumentsBeside {
        DocumentsBeside { asked, scroll: 0 }
    }

    pub(super) fn step(&mut self, action: Action, page: Rect) {
        let rows = usize::from(look::inside(page).height.saturating_sub(1)).max(1);
        let count = self.asked.get().map_or(0, |compared| lines(compared, column(page)).len());
        self.scroll = moved(self.scroll, action, count.saturating_sub(rows) + 1, rows);
    }
}

/// Cells of a column of text.
fn column(page: Rect) -> usize {
    (usize::from(page.width).saturating_sub(5) / 2).max(2)
}

/// The rows of both columns.
fn lines(compared: &ComparedDocuments, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for Stretch { sides } in &compared.stretches {
        let laid = sides.each_ref().map(|(text, _)| lay_out(text.trim_end_matches('\n'), columns));
        for row in 0..laid[0].len().max(laid[1].len()) {
            let mut line = Vec::new();
            for (side, style) in [(0, look::BAD), (1, look::GOOD)] {
                let nothing = TextLine::new();
                let text = laid[side].get(row).unwrap_or(&nothing);
                let other = style.add_modifier(Modifier::UNDERLINED);
                let style = |at: usize| if holds(&sides[side].1, at) { other } else { look::PLAIN };
                line.extend(look::runs(text.iter().map(|(glyph, at)| (glyph, style(*at)))));
                let used: usize = text.iter().map(|(glyph, _)| width::width(glyph)).sum();
                if side == 0 {
                    line.push(Span::styled(format!("{} │ ", " ".repeat(columns.saturating_sub(used))), look::DIM));
                }
            }
            lines.push(Line::from(line));
        }
    }
    lines
}

pub(super) fn draw(context: &PageContext<'_>, beside: &DocumentsBeside, frame: &mut Frame<'_>, page: Rect) {
    let below = Line::styled(format!(" {} ", context.say(own::BESIDE_KEYS)), look::DIM);
    let Some(compared) = beside.asked.get() else {
        let line = context.outstanding(&beside.asked).unwrap_or_default();
        return look::message(line, look::pane(format!(" {} ", context.say(own::BESIDE)), true), frame, page);
    };
    let alike = format!("{} {}", figures::percent(compared.alike), context.say(own::ALIKE));
    let block = look::pane(format!(" {} · {alike} ", context.say(own::BESIDE)), true).title_bottom(below);
    let inner = look::framed(block, frame, page);
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    let columns = column(page);
    let about = compared.documents.each_ref().map(|document| {
        let time = document.published_at.format("%Y-%m-%d %H:%M");
        let codes: Vec<&str> = document.codes.iter().map(|code| code.as_str()).collect();
        format!("{time} {} {}", context.say(words::kind(document.kind)), codes.join(","))
    });
    let [left, right] = about.map(|about| width::left(&about, columns));
    frame.render_widget(Line::styled(format!("{left} │ {right}"), look::DIM), head);
    let shown = lines(compared, columns).into_iter().skip(beside.scroll).take(body.height.into());
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), body);
}

impl CorpusPage {
    /// Marks the document at the cursor, or compares it with the one that is marked.
    pub(super) fn compare(&mut self, desk: &Desk<'_>) {
        let Some(number) = self.number(self.cursor.at) else { return };
        let places = |one: usize| Some([self.catalogue.place(one)?, self.catalogue.place(number)?]);
        match self.marked.take().filter(|marked| *marked != number).and_then(places).zip(self.index().cloned()) {
            Some((places, index)) => {
                let shelf = self.shelf.clone();
                let read = move |place| shelf.document(&index, place);
                let work = move |_: &_| Ok(ComparedDocuments::new([read(places[0])?, read(places[1])?]));
                self.beside = Some(DocumentsBeside::new(desk.errand("documents compared", work)));
            }
            None => {
                self.marked = Some(number);
                desk.order(PageRequest::Say(desk.say(own::TO_COMPARE).to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, body: &str) -> Document {
        Document { title: title.into(), body: body.into(), ..Document::default() }
    }

    #[test]
    fn what_both_say_stands_in_one_row_and_the_rest_is_told_apart() {
        let left = document("回购进展", "公司已回购120万股。价格不高于十元。");
        let right = document("回购进展", "公司已回购150万股。价格不高于十元。另有增持。");
        let compared = ComparedDocuments::new([left, right]);
        let differs = |side: usize| -> String {
            let sides = compared.stretches.iter().map(|stretch| &stretch.sides[side]);
            sides.flat_map(|(text, ranges)| ranges.iter().map(|range| &text[range.clone()])).collect()
        };
        assert_eq!((differs(0), differs(1)), ("2".to_owned(), "5另有增持。".to_owned()));
        assert!((compared.alike - (1.0 - 7.0 / 49.0)).abs() < 0.02, "{}", compared.alike);
        let rows: Vec<String> = lines(&compared, 30).iter().map(|line| line.to_string()).collect();
        assert!(rows.iter().any(|row| row.matches("价格不高于十元。").count() == 2), "{rows:#?}");
        assert!(rows.iter().all(|row| row.contains(" │ ")));
    }

    #[test]
    fn a_document_is_wholly_like_itself_and_an_empty_one_is_no_fault() {
        let same = document("一", "甲。乙。");
        let compared = ComparedDocuments::new([same.clone(), same]);
        assert_eq!(compared.alike, 1.0);
        assert!(compared.stretches.iter().all(|stretch| stretch.sides.iter().all(|(_, ranges)| ranges.is_empty())));
        assert_eq!(ComparedDocuments::new([document("", ""), document("", "")]).alike, 1.0);
    }
}
