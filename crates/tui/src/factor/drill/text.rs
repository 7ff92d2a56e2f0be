//! Draws a document's text with the sentences that moved its value, and the words of one sentence.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::sentences::{SentenceLine, Sentences};
use super::tokens::{self, WordWeights};
use super::view::{MARGIN, draw_waiting, mark, panes, text_panes};
use crate::charts::signed_bar;
use crate::context::PageContext;
use crate::factor::words as own;
use crate::list::{self, ListColumn};
use crate::{figures, look, sentences, width, words};
use inkstone_features::extract::{ExplainedBy, ExplainedText, ExplainedWord};

use inkstone_base::language::Language;

pub(super) fn draw_text(context: &PageContext<'_>, sentences: &Sentences, frame: &mut Frame<'_>, page: Rect) {
    let [_, text, below] = text_panes(page);
    let Some(all) = sentences.asked.get() else {
        return draw_waiting(context, &sentences.asked, format!(" {} ", sentences.doc_id), frame, text);
    };
    let Some(explained) = sentences.explained() else {
        let block = look::pane(format!(" {} ", sentences.doc_id), true);
        return look::message(context.say(words::NOTHING_READ_OF_MODELS), block, frame, text);
    };
    let place = if all.len() > 1 { format!("{}/{} ", sentences.column + 1, all.len()) } else { String::new() };
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
    let style_of = |given: f64| match given {
        0.0 => plain,
        given => look::of_sign(given, red_up).patch(look::STRONG),
    };
    let mut run: Option<(Style, String)> = None;
    for (glyph, given) in &line.glyphs {
        match run.as_mut().filter(|run| run.0 == style_of(*given)) {
            Some(run) => run.1 += glyph,
            None => {
                spans.extend(run.take().map(|(style, text)| Span::styled(text, style)));
                run = Some((style_of(*given), glyph.clone()));
            }
        }
    }
    spans.extend(run.map(|(style, text)| Span::styled(text, style)));
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
    let note = if context.language == Language::Zh { &explained.note.0 } else { &explained.note.1 };
    let mut lines = vec![words_line];
    if !explained.inputs.is_empty() {
        let inputs = explained.inputs.iter();
        let texts = inputs.map(|part| (format!("{} {}", part.input, figures::signed(part.value, 4)), part.value));
        lines.push(parts_line(context, texts, columns));
    }
    lines.extend(sentences::lines(note, columns).into_iter().take(3).map(|line| Line::styled(line, look::NOTE)));
    lines.push(Line::styled(width::cut(&explained.formula, columns), look::DIM));
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

/// The words of one sentence with their weights; where there are none, why.
pub(super) fn draw_tokens(
    context: &PageContext<'_>,
    sentences: &Sentences,
    tokens: &WordWeights,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [_, area, below] = panes(page);
    let Some((explained, sentence)) = sentences.explained().zip(sentences.sentence()) else { return };
    let all = &sentence.words;
    let count = figures::count(all.len() as u64);
    let title = format!(" {} · {} · {count} ", value_of(explained), context.say(own::WORDS_LEVEL));
    let sum = format!(" {} {} ", context.say(own::WHOLE_WEIGHT), figures::signed(sentence.value, 4));
    let block = look::pane(title, true)
        .title_top(Line::styled(width::cut(&format!(" {} ", sentences.doc_id), 30), look::DIM).right_aligned())
        .title_bottom(Line::styled(sum, look::KEY));
    let inner = look::framed(block, frame, area);
    let note = if context.language == Language::Zh { &explained.note.0 } else { &explained.note.1 };
    if all.is_empty() {
        let lines = vec![
            Line::raw(context.say(own::NO_TOKENS)),
            Line::styled(note.clone(), look::NOTE),
            Line::default(),
            Line::styled(width::cut(&sentence.text, 4 * inner.width as usize), look::DIM),
        ];
        return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
    }
    let titles = [own::WORD, own::WEIGHT_OF_WORD, own::SHARE, own::NEGATED, own::DEGREE, own::TIMES];
    let [word, weight, share, negated, degree, times] = titles.map(|title| context.say(title));
    let (word, share) = (format!(" {word}"), format!("{share} %"));
    let columns = [
        ListColumn::text(&word, 17),
        ListColumn::number(weight, 9),
        ListColumn::number(&share, 8),
        ListColumn::text(negated, 7),
        ListColumn::number(degree, 6),
        ListColumn::number(times, 5),
        ListColumn::text("", 0),
    ];
    let largest = all.iter().map(|word| word.value.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let total = tokens::total(all);
    let room = (inner.width as usize).saturating_sub(60).clamp(12, 40);
    let row = |at: usize| {
        let word = &all[tokens.order[at]];
        let cells = vec![
            format!("{}{}", mark(at == tokens.cursor.at), word.word),
            figures::signed(word.value, 4),
            figures::number(100.0 * tokens::share(word, total), 1),
            if word.negated { context.say(own::YES).to_owned() } else { String::new() },
            if word.degree == 1.0 {
                String::new()
            } else {
                format!("×{}", figures::number(f64::from(word.degree), 1))
            },
            figures::count(word.places.len() as u64),
            signed_bar(word.value, largest, room),
        ];
        (cells, look::of_sign(word.value, context.workspace.red_up))
    };
    list::draw(&columns, tokens.order.len(), tokens.cursor, row, frame, inner);
    let about = width::cut(&format!(" {note}  {}", explained.formula), below.width as usize);
    frame.render_widget(Line::styled(about, look::DIM), below);
}
