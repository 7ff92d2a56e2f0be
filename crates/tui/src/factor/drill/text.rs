//! Draws a document's text with the sentences that moved its value, and the words of one sentence.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::sentences::{SentenceLine, Sentences};
use super::view::{MARGIN, mark, panes, text_panes};
use crate::context::PageContext;
use crate::factor::words as own;
use crate::{figures, look, sentences, width, words};
use inkstone_features::extract::{ExplainedBy, ExplainedText, ExplainedWord};

use inkstone_base::language::Language;

pub(super) fn draw_text(context: &PageContext<'_>, sentences: &Sentences, frame: &mut Frame<'_>, page: Rect) {
    let [_, text, below] = text_panes(page);
    if let Some(line) = context.outstanding(&sentences.asked) {
        return look::message(line, look::pane(format!(" {} ", sentences.doc_id), true), frame, text);
    }
    let all = sentences.asked.get().map_or(0, Vec::len);
    let Some(explained) = sentences.explained() else {
        let block = look::pane(format!(" {} ", sentences.doc_id), true);
        return look::message(context.say(words::NOTHING_READ_OF_MODELS), block, frame, text);
    };
    let place = if all > 1 { format!("{}/{} ", sentences.column + 1, all) } else { String::new() };
    let title = format!(" {place}{} · {} ", value_of(explained), explained.model);
    let score = format!(" {} {} ", context.say(words::SCORE), figures::signed(score_of(explained), 4));
    let mut block = look::pane(title, true)
        .title_top(Line::styled(width::cut(&format!(" {} ", sentences.doc_id), 30), look::DIM).right_aligned())
        .title_bottom(Line::styled(score, look::KEY));
    if explained.by == ExplainedBy::Words {
        block = block.title_bottom(Line::styled(rest_of(context, explained), look::DIM).right_aligned());
    }
    let inner = look::framed(block, frame, text);
    let shown = sentences.lines.iter().skip(sentences.top).take(inner.height as usize);
    let lines: Vec<Line<'_>> = shown.map(|line| text_line(context, sentences, explained, line)).collect();
    frame.render_widget(Paragraph::new(lines), inner);
    draw_words(context, sentences, explained, frame, below);
}

/// The value that is taken apart; of the text of an input the score of the model that learns on it.
fn value_of(explained: &ExplainedText) -> String {
    let ExplainedText { feature, column, of, .. } = explained;
    if of.is_empty() { format!("{feature}.{column}") } else { format!("{of} ← {feature}") }
}

/// The value as it was found, or where nothing was, as it is kept.
fn score_of(explained: &ExplainedText) -> f64 {
    if explained.score.is_nan() { explained.kept } else { explained.score }
}

fn rest_of(context: &PageContext<'_>, explained: &ExplainedText) -> String {
    let [intercept, rest] = [explained.intercept, explained.rest].map(|value| figures::signed(value, 4));
    format!(" {} {intercept} · {} {rest} ", context.say(words::INTERCEPT), context.say(words::REST))
}

/// A line of a text after what its sentence gave, words in the colours of gain and loss.
fn text_line<'a>(
    context: &PageContext<'_>,
    sentences: &Sentences,
    explained: &ExplainedText,
    line: &'a SentenceLine,
) -> Line<'a> {
    let red_up = context.workspace.red_up;
    let marked = line.sentence == sentences.at;
    let value = explained.sentences.get(line.sentence).map_or(f64::NAN, |sentence| sentence.value);
    let gave = match (line.first, explained.by) {
        (true, ExplainedBy::Words | ExplainedBy::Omission) if value != 0.0 => figures::signed(value, 4),
        _ => String::new(),
    };
    let mut spans = vec![
        Span::styled(mark(marked && line.first), look::KEY),
        Span::styled(format!("{} ", width::right(&gave, MARGIN - 2)), look::of_sign(value, red_up)),
    ];
    // Without words the sentence as a whole has the colour.
    let base = if explained.by == ExplainedBy::Omission { look::of_sign(value, red_up) } else { look::PLAIN };
    let plain = if marked { base.patch(look::STRONG) } else { base };
    spans.extend(look::runs(line.glyphs.iter().map(|(glyph, given)| match given {
        0.0 => (glyph, plain),
        given => (glyph, look::of_sign(*given, red_up).patch(look::STRONG)),
    })));
    Line::from(spans)
}

/// The words of the sentence that is looked at, and how they were found.
fn draw_words(
    context: &PageContext<'_>,
    sentences: &Sentences,
    explained: &ExplainedText,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let block = look::pane(format!(" {} ", context.say(words::WORDS_THAT_MOVED)), false);
    let inner = look::framed(block, frame, area);
    let columns = inner.width as usize;
    let of_sentence = explained.sentences.get(sentences.at).map_or(&[][..], |sentence| &sentence.words);
    let word_text = |word: &ExplainedWord| {
        let mut text = format!("{} {}", word.word, figures::signed(word.value, 4));
        if word.negated {
            text += &format!(" {}", context.say(words::NEGATED));
        }
        if word.degree != 1.0 {
            text += &format!(" ×{}", figures::number(f64::from(word.degree), 1));
        }
        (text, word.value)
    };
    let mut words_line = parts_line(context, of_sentence.iter().map(word_text), columns);
    if of_sentence.is_empty() {
        words_line.push_span(Span::styled(context.say(words::NO_WORDS), look::DIM));
    }
    let note = note_of(context, explained);
    let mut lines = vec![words_line];
    if !explained.inputs.is_empty() {
        let inputs = explained.inputs.iter();
        let texts = inputs.map(|part| (format!("{} {}", part.input, figures::signed(part.value, 4)), part.value));
        lines.push(parts_line(context, texts, columns));
    }
    lines.extend(sentences::lines(note, columns).into_iter().take(3).map(|line| Line::styled(line, look::NOTE)));
    lines.push(Line::styled(width::cut(explained.formula.to(context.language), columns), look::DIM));
    frame.render_widget(Paragraph::new(lines), inner);
}

/// Parts of a score side by side in the colours of gain and loss, as many as fit, and the number of the others.
fn parts_line(
    context: &PageContext<'_>,
    parts: impl ExactSizeIterator<Item = (String, f64)>,
    columns: usize,
) -> Line<'static> {
    let (count, mut used) = (parts.len(), 0);
    let mut spans = Vec::new();
    for (number, (text, value)) in parts.enumerate() {
        let wide = width::width(&text) + 3;
        if used + wide > columns {
            spans.push(Span::styled(format!("+{}", count - number), look::DIM));
            break;
        }
        used += wide;
        spans.push(Span::styled(width::cut(&text, columns), look::of_sign(value, context.workspace.red_up)));
        spans.push(Span::raw("   "));
    }
    Line::from(spans)
}

/// Title, sum of the weights and particulars of the list of words of a sentence.
pub(super) fn about_words(context: &PageContext<'_>, sentences: &Sentences) -> Option<(String, String, String)> {
    let (explained, sentence) = sentences.explained().zip(sentences.sentence())?;
    let count = figures::count(sentence.words.len() as u64);
    let title = format!(" {} · {} · {count} ", value_of(explained), context.say(own::WORDS_LEVEL));
    let sum = format!("{} {}", context.say(own::WHOLE_WEIGHT), figures::signed(sentence.value, 4));
    Some((title, sum, format!(" {}  {}", note_of(context, explained), explained.formula.to(context.language))))
}

fn note_of<'a>(context: &PageContext<'_>, explained: &'a ExplainedText) -> &'a str {
    if context.language == Language::Zh { &explained.note.0 } else { &explained.note.1 }
}

/// Says why a sentence has no words with weights.
pub(super) fn draw_without_words(context: &PageContext<'_>, sentences: &Sentences, frame: &mut Frame<'_>, page: Rect) {
    let Some((explained, sentence)) = sentences.explained().zip(sentences.sentence()) else { return };
    let Some((title, sum, about)) = about_words(context, sentences) else { return };
    let [_, area, below] = panes(page);
    let block = look::pane(title, true)
        .title_top(Line::styled(width::cut(&format!(" {} ", sentences.doc_id), 30), look::DIM).right_aligned())
        .title_bottom(Line::styled(format!(" {sum} "), look::KEY));
    let lines = vec![
        Line::raw(context.say(own::NO_TOKENS)),
        Line::styled(note_of(context, explained), look::NOTE),
        Line::default(),
        Line::styled(width::cut(&sentence.text, 4 * usize::from(area.width)), look::DIM),
    ];
    look::message(lines, block, frame, area);
    frame.render_widget(Line::styled(width::cut(&about, below.width as usize), look::DIM), below);
}
