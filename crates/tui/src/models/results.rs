//! A question and its answer: words with bars, a text as heat, words in the plane.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::asked::FREQUENT;
use super::bench::{Answer, Tool};
use super::keys::END;
use super::state::ModelsPage;
use super::view::ABOVE_RESULTS;
use super::{heat, plane, words};
use crate::app::App;
use crate::field;
use crate::list::{self, ListColumn};
use crate::{bars, figures, look, width};
use inkstone_base::language::Word;

pub(super) fn draw(app: &App, models: &ModelsPage, tool: Tool, frame: &mut Frame<'_>, area: Rect) {
    let model = models.card().map(|card| card.name.as_str()).unwrap_or_default();
    let name = app.say(words::tool(tool));
    let room = (area.width as usize).saturating_sub(width::width(name) + 8);
    let mut block = look::pane(format!(" {name} · {} ", width::cut(model, room)), true);
    if let Some(text) = below(app, models, area.width.saturating_sub(4) as usize) {
        block = block.title_bottom(Line::styled(format!(" {text} "), look::DIM));
    }
    let inner = look::framed(block, frame, area);
    let [asked, results] = Layout::vertical([Constraint::Length(ABOVE_RESULTS), Constraint::Min(0)]).areas(inner);
    draw_field(app, models, tool, frame, asked);
    let line = match (models.answer(), models.fault()) {
        (Some(answer), _) => return draw_answer(app, models, answer, frame, results),
        (None, Some(fault)) => Line::styled(fault, look::BAD),
        (None, None) if models.is_asking() => Line::styled(app.say(words::ASKING), look::DIM),
        (None, None) => Line::styled(app.say(words::hint(tool)), look::DIM),
    };
    frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), results);
}

/// The text typed, with the cursor of the terminal in it.
fn draw_field(app: &App, models: &ModelsPage, tool: Tool, frame: &mut Frame<'_>, area: Rect) {
    let before = match tool {
        Tool::Nearest => app.say(words::WORD).to_owned(),
        Tool::Analogy => "A B C".to_owned(),
        Tool::Plane => app.say(words::PLANE).to_owned(),
        Tool::Following | Tool::Surprise => app.say(words::TEXT).to_owned(),
    };
    let before = Span::styled(format!("{before} › "), look::DIM);
    let field = models.text(tool);
    if models.typing {
        return field::draw(before, field, look::KEY, frame, area);
    }
    // An empty plane is that of the most frequent words.
    let text = match tool {
        Tool::Plane if field.text().is_empty() => {
            Span::styled(format!("{FREQUENT} {}", app.say(words::MOST_FREQUENT)), look::DIM)
        }
        _ => {
            let room = (area.width as usize).saturating_sub(width::width(&before.content) + 1);
            Span::styled(width::cut(field.text(), room), look::STRONG)
        }
    };
    frame.render_widget(Line::from(vec![before, text]), area);
}

/// The line of the lower frame: what an answer rests on, or what Enter does.
fn below(app: &App, models: &ModelsPage, wide: usize) -> Option<String> {
    let text = match models.answer()? {
        Answer::Near { made, words: found } => {
            let mut text = if found.is_empty() { String::new() } else { app.say(words::GO_ON_NEAREST).to_owned() };
            if !made.is_empty() {
                text = format!("{}: {} · {text}", made.join(", "), app.say(words::MADE_OF_PARTS));
            }
            text
        }
        Answer::Unknown(..) => app.say(words::GO_ON_NEAREST).to_owned(),
        Answer::Following { unknown, .. } => {
            let mut text = app.say(words::GO_ON_FOLLOWING).to_owned();
            if !unknown.is_empty() {
                text = format!("{}: {} · {text}", app.say(words::NOT_KNOWN), unknown.join(", "));
            }
            text
        }
        Answer::Surprise(_) => return None,
        Answer::Plane(shown) => {
            let [x, y] = shown.explained.map(figures::percent);
            let kept = figures::percent(shown.kept);
            format!(
                "PCA {} {x} + {y} · {} {kept} · {} {}",
                app.say(words::VARIANCE),
                app.say(words::KEPT),
                figures::count(shown.points.len() as u64),
                app.say(words::WORDS_UNIT)
            )
        }
    };
    (!text.is_empty()).then(|| width::cut(&text, wide))
}

fn draw_answer(app: &App, models: &ModelsPage, answer: &Answer, frame: &mut Frame<'_>, area: Rect) {
    match answer {
        Answer::Near { words: found, .. } if found.is_empty() => {
            frame.render_widget(Line::raw(app.say(words::NOTHING_NEAR)), area);
        }
        Answer::Near { words: found, .. } => {
            let most = found.iter().map(|(_, cosine)| f64::from(*cosine)).fold(0.0, f64::max);
            let row = |at: usize| {
                let (word, cosine) = &found[at];
                let cosine = f64::from(*cosine);
                (word.clone(), figures::number(cosine, 4), cosine / most.max(1e-9))
            };
            draw_bars(app, models, words::COSINE, found.len(), &row, frame, area);
        }
        Answer::Following { next, .. } => {
            let most = next.first().map_or(1.0, |(_, p)| *p);
            let row = |at: usize| {
                let (word, p) = &next[at];
                let word = if word == END { format!("{END} {}", app.say(words::END)) } else { word.clone() };
                (word, figures::number(100.0 * p, 2), p / most.max(1e-300))
            };
            draw_bars(app, models, words::PROBABILITY, next.len(), &row, frame, area);
        }
        Answer::Unknown(word, alike) => draw_unknown(app, models, word, alike, frame, area),
        Answer::Surprise(tokens) => heat::draw(app, tokens, models.result.at, frame, area),
        Answer::Plane(shown) => plane::draw(shown, frame, area),
    }
}

/// Words with a number and a bar of its share of the largest.
fn draw_bars(
    app: &App,
    models: &ModelsPage,
    number: Word,
    count: usize,
    row: &dyn Fn(usize) -> (String, String, f64),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let wide = (area.width as usize).saturating_sub(4 + 9 + 3);
    // A bar does not touch the frame.
    let bar_cells = (wide / 2).saturating_sub(1);
    let columns = [
        ListColumn::number("#", 4),
        ListColumn::text(app.say(words::WORD), 0),
        ListColumn::number(app.say(number), 9),
        ListColumn::text("", bar_cells),
    ];
    let line = |at: usize| {
        let (word, number, share) = row(at);
        (vec![(at + 1).to_string(), word, number, bars::lying(share, bar_cells)], Style::new())
    };
    list::draw(&columns, count, models.result, line, frame, area);
}

fn draw_unknown(app: &App, models: &ModelsPage, word: &str, alike: &[String], frame: &mut Frame<'_>, area: Rect) {
    let word = width::cut(word, 30);
    let message = Line::styled(format!("✗ {}: {word}", app.say(words::UNKNOWN_WORD)), look::BAD);
    if alike.is_empty() {
        let lines = vec![message, Line::raw(app.say(words::NOTHING_ALIKE))];
        return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
    }
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    frame.render_widget(message, head);
    let columns = [ListColumn::number("#", 4), ListColumn::text(app.say(words::ALIKE), 0)];
    let line = |at: usize| (vec![(at + 1).to_string(), alike[at].clone()], Style::new());
    list::draw(&columns, alike.len(), models.result, line, frame, list);
}
