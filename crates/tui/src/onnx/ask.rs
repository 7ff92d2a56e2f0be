//! The view of a question to the model: what stands behind a mask, which class, how near.

use std::path::PathBuf;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{OnnxPage, words};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::field;
use crate::page::Table;
use crate::{bars, figures, look, width};
use inkstone_onnx::{Answered, Description, Head, Question, Reply};

use inkstone_base::language::Word;

/// Texts that stand for a mask, whatever the model's own token.
const MASKS: [&str; 2] = ["[MASK]", "<mask>"];
/// Cells of the line in front of what is typed.
const PROMPT: &str = "/ ";
/// Cells that the tokens behind a mask take at the least, their probabilities and bars with them.
const GUESSES: usize = 24;

/// The last question to a model.
pub(super) struct Asked {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// True if a mask was asked for that the model cannot fill in.
    pub(super) unmasked: bool,
    pub(super) question: Option<Question>,
    /// The answer, or why the question cannot be put.
    pub(super) reply: Result<Errand<Answered>, Word>,
}

impl Asked {
    pub(super) fn waiting(&self) -> bool {
        self.reply.as_ref().is_ok_and(Errand::waiting)
    }
}

fn masks(found: &Description) -> impl Iterator<Item = &str> {
    MASKS.into_iter().chain(found.mask())
}

pub(super) fn is_masked(text: &str, found: &Description) -> bool {
    masks(found).any(|mask| text.contains(mask))
}

/// The question that a text means to a model, or a hint on what to type.
pub(super) fn question(text: &str, found: &Description) -> Result<Question, Word> {
    let can = |head: fn(&Head) -> bool| found.heads.iter().any(head);
    let text = text.trim();
    if text.is_empty() {
        return Err(words::NEEDS_TEXT);
    }
    let fills = can(|head| *head == Head::Masks);
    if fills && is_masked(text, found) {
        let own = found.mask().unwrap_or(MASKS[0]);
        return Ok(Question::Fill(MASKS.iter().fold(text.to_owned(), |text, mask| text.replace(mask, own))));
    }
    let vectors = can(|head| matches!(head, Head::Vectors { .. }));
    let two = text.split_once('|').map(|(a, b)| (a.trim(), b.trim())).filter(|(a, b)| !a.is_empty() && !b.is_empty());
    if let Some((a, b)) = two.filter(|_| vectors) {
        return Ok(Question::Compare(a.to_owned(), b.to_owned()));
    }
    if can(|head| matches!(head, Head::Classes(_))) {
        return Ok(Question::Classify(text.to_owned()));
    }
    if can(|head| *head == Head::Labels) {
        return Ok(Question::Names(text.to_owned()));
    }
    Err(match (fills, vectors) {
        (true, _) => words::NEEDS_MASK,
        (_, true) => words::NEEDS_TWO,
        _ if can(|head| *head == Head::Next) => words::CAN_NEXT,
        _ => words::CAN_NOTHING,
    })
}

impl OnnxPage {
    /// The question to the marked model.
    pub(super) fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref().filter(|asked| self.marked().is_some_and(|listed| listed.file == asked.file))
    }

    fn answer(&self) -> Option<&Answered> {
        self.asked()?.reply.as_ref().ok()?.get()
    }
}

pub(super) fn count(onnx: &OnnxPage) -> usize {
    match onnx.answer().map(|answered| &answered.reply) {
        Some(Reply::Fill(masks)) => masks.iter().map(Vec::len).max().unwrap_or(0),
        Some(Reply::Classify(classes)) => classes.len(),
        Some(Reply::Names(names)) => names.len(),
        Some(Reply::Compare(_)) => 1,
        None => 0,
    }
}

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let lines = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [prompt, body, state] = Layout::vertical(lines).areas(area);
    if let Some(field) = &onnx.field {
        field::draw(Span::styled(PROMPT, look::KEY), field, look::PLAIN, frame, prompt);
    } else if let Some(asked) = onnx.asked() {
        let text = width::cut(&asked.text, usize::from(prompt.width).saturating_sub(PROMPT.len()));
        frame
            .render_widget(Line::from(vec![Span::styled(PROMPT, look::DIM), Span::styled(text, look::STRONG)]), prompt);
    } else {
        frame.render_widget(Line::styled(context.say(words::PRESS_SLASH), look::DIM), prompt);
    }
    let Some(asked) = onnx.asked() else { return draw_hints(context, onnx, frame, body) };
    let message = |text: &str, style: Style, frame: &mut Frame<'_>| {
        let text = width::cut(text, 4 * usize::from(body.width));
        frame.render_widget(Paragraph::new(Line::styled(text, style)).wrap(Wrap { trim: true }), body);
    };
    let reply = match &asked.reply {
        Err(word) => return message(context.say(*word), look::NOTE, frame),
        Ok(reply) => reply,
    };
    if let Some(fault) = reply.fault() {
        return message(&format!("✗ {fault}"), look::BAD, frame);
    }
    let Some(answered) = reply.get() else { return message(context.say(words::THINKING), look::DIM, frame) };
    let body = if asked.unmasked {
        let [note, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(body);
        let text = width::cut(context.say(words::NO_MASK_HEAD), usize::from(note.width));
        frame.render_widget(Line::styled(text, look::NOTE), note);
        body
    } else {
        body
    };
    draw_reply(context, onnx, &answered.reply, frame, body);
    let took = format!("{} · {:.1} ms", answered.ran.device, 1e3 * answered.took.as_secs_f64());
    frame.render_widget(Line::styled(took, look::DIM), state);
}

fn draw_hints(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let Some(Ok(found)) = onnx.marked().map(|listed| listed.found.as_ref()) else { return };
    let hint = |head: &Head| match head {
        Head::Masks => (words::CAN_FILL, true),
        Head::Vectors { .. } => (words::CAN_COMPARE, true),
        Head::Classes(_) => (words::CAN_CLASSIFY, true),
        Head::Labels => (words::CAN_NAME, true),
        Head::Next => (words::CAN_NEXT, false),
        Head::Writes => (words::CAN_NOTHING, false),
    };
    let mut hints: Vec<(Word, bool)> = found.heads.iter().map(hint).collect();
    // The purpose of the page stands first.
    hints.sort_by_key(|(word, _)| *word != words::CAN_FILL);
    let lines = hints.into_iter().map(|(word, can)| {
        let sign = if can { "· " } else { "✗ " };
        Line::raw(format!("{sign}{}", context.say(word)))
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).wrap(Wrap { trim: false }), area);
}

fn draw_reply(context: &PageContext<'_>, onnx: &OnnxPage, reply: &Reply, frame: &mut Frame<'_>, area: Rect) {
    let (top, room) = (onnx.scroll.top, usize::from(area.height));
    let cells = usize::from(area.width);
    let lines: Vec<Line<'_>> = match reply {
        Reply::Fill(masks) => {
            let shown = masks.len().min((cells / GUESSES).max(1));
            let wide = (cells / shown.max(1)).min(52);
            let heads =
                (0..shown).map(|mask| width::left(&format!("{} {}", context.say(words::MASK_NUMBER), mask + 1), wide));
            let more = masks.len() - shown;
            let mut head = heads.collect::<String>();
            if more > 0 {
                head = format!("{}+{more} {}", width::left(&head, cells / 2), context.say(words::MORE_MASKS));
            }
            let rows = (top..count(onnx)).take(room.saturating_sub(1)).map(|row| {
                Line::from_iter(masks.iter().take(shown).flat_map(|guesses| match guesses.get(row) {
                    Some(guess) => probability(&guess.token, guess.p, 8, wide, row == 0),
                    None => vec![Span::raw(" ".repeat(wide))],
                }))
            });
            std::iter::once(Line::styled(width::cut(&head, cells), look::DIM)).chain(rows).collect()
        }
        Reply::Classify(classes) => {
            let best = classes.iter().map(|(_, p)| *p).fold(f64::NAN, f64::max);
            let label = classes.iter().map(|(name, _)| width::width(name)).max().unwrap_or(0).clamp(8, 24);
            let rows = classes.iter().skip(top).take(room);
            rows.map(|(name, p)| Line::from(probability(name, *p, label, cells.min(64), *p == best))).collect()
        }
        Reply::Compare(cosine) if cosine.is_nan() => vec![Line::styled(context.say(words::NOT_A_NUMBER), look::NOTE)],
        Reply::Compare(cosine) => {
            let head = format!("{} {}  ", context.say(words::COSINE), figures::signed(*cosine, 4));
            let room = cells.min(64).saturating_sub(width::width(&head));
            let bar = bars::lying(cosine.max(0.0), room);
            vec![Line::from(vec![Span::styled(head, look::STRONG), Span::styled(bar, look::KEY)])]
        }
        Reply::Names(names) if names.is_empty() => vec![Line::styled(context.say(words::NO_NAMES), look::DIM)],
        Reply::Names(names) => {
            let rows = names.iter().skip(top).take(room);
            let line = |(kind, name, p): &(String, String, f64)| {
                let mut spans = vec![Span::styled(width::left(kind, 10), look::KEY)];
                spans.extend(probability(name, *p, 24, cells.saturating_sub(10).min(64), false));
                Line::from(spans)
            };
            rows.map(line).collect()
        }
    };
    frame.render_widget(Paragraph::new(lines), area);
}

/// A name, its probability and a bar, in exactly so many cells.
fn probability(name: &str, p: f64, label: usize, cells: usize, best: bool) -> Vec<Span<'static>> {
    let number = if p.is_nan() { "–".to_owned() } else { format!("{:.2} %", 100.0 * p) };
    let text = format!("{} {} ", width::left(name, label), width::right(&number, 8));
    let bar = width::left(&bars::lying(p, cells.saturating_sub(label + 12)), cells.saturating_sub(label + 10));
    let style = if best { look::STRONG } else { look::PLAIN };
    vec![Span::styled(text, style), Span::styled(bar, if best { look::GOOD } else { look::KEY })]
}

/// The answer to be copied.
pub(super) fn table(onnx: &OnnxPage, desk: &Desk<'_>) -> Option<Table> {
    let table = |header: &[Word], rows| Table::new(desk.language, header, rows);
    Some(match &onnx.answer()?.reply {
        Reply::Fill(masks) => {
            let row = |(mask, guess): (usize, &inkstone_onnx::Guess)| {
                vec![(mask + 1).to_string(), guess.token.clone(), guess.p.to_string()]
            };
            let guesses = masks.iter().enumerate();
            let guesses = guesses.flat_map(|(mask, guesses)| guesses.iter().map(move |guess| (mask, guess)));
            table(&[words::MASK_NUMBER, words::TOKEN, words::PROBABILITY], guesses.map(row).collect())
        }
        Reply::Classify(classes) => {
            let rows = classes.iter().map(|(name, p)| vec![name.clone(), p.to_string()]).collect();
            table(&[words::KIND, words::PROBABILITY], rows)
        }
        Reply::Compare(cosine) => table(&[words::COSINE], vec![vec![cosine.to_string()]]),
        Reply::Names(names) => {
            let row = |(kind, name, p): &(String, String, f64)| vec![kind.clone(), name.clone(), p.to_string()];
            table(&[words::KIND, words::NAME, words::PROBABILITY], names.iter().map(row).collect())
        }
    })
}
