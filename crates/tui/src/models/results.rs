//! A question and its answer: words with bars, a text as heat, words in the plane.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::asked::FREQUENT;
use super::bench::{Answer, Tool};
use super::keys::END;
use super::plane::{PlaneColours, ShownPlane};
use super::state::ModelsPage;
use super::view::ABOVE_RESULTS;
use super::{heat, plane, words};
use crate::context::PageContext;
use crate::field;
use crate::list::{self, ListColumn};
use crate::{bars, figures, look, width};

use inkstone_base::language::Word;

pub(super) fn draw(context: &PageContext<'_>, models: &ModelsPage, tool: Tool, frame: &mut Frame<'_>, area: Rect) {
    let model = models.card().map(|card| card.name.as_str()).unwrap_or_default();
    let name = context.say(words::tool(tool));
    let room = (area.width as usize).saturating_sub(width::width(name) + 8);
    let mut block = look::pane(format!(" {name} · {} ", width::cut(model, room)), true);
    if let Some(text) = below(context, models, area.width.saturating_sub(4) as usize) {
        block = block.title_bottom(Line::styled(format!(" {text} "), look::DIM));
    }
    let inner = look::framed(block, frame, area);
    let [asked, results] = Layout::vertical([Constraint::Length(ABOVE_RESULTS), Constraint::Min(0)]).areas(inner);
    draw_field(context, models, tool, frame, asked);
    let line = match (models.answer(), models.fault()) {
        (Some(answer), _) => return draw_answer(context, models, answer, frame, results),
        (None, Some(fault)) => Line::styled(fault, look::BAD),
        (None, None) if models.is_asking() => Line::styled(context.say(words::ASKING), look::DIM),
        (None, None) => Line::styled(context.say(words::hint(tool)), look::DIM),
    };
    frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), results);
}

/// The text typed, with the cursor of the terminal in it.
fn draw_field(context: &PageContext<'_>, models: &ModelsPage, tool: Tool, frame: &mut Frame<'_>, area: Rect) {
    let before = match tool {
        Tool::Nearest => context.say(words::WORD).to_owned(),
        Tool::Analogy => "A B C".to_owned(),
        Tool::Plane => context.say(words::PLANE).to_owned(),
        Tool::Following | Tool::Surprise => context.say(words::TEXT).to_owned(),
    };
    let before = Span::styled(format!("{before} › "), look::DIM);
    let field = models.text(tool);
    if models.typing {
        return field::draw(before, field, look::KEY, frame, area);
    }
    // An empty plane is that of the most frequent words.
    let text = match tool {
        Tool::Plane if field.text().is_empty() => {
            Span::styled(format!("{FREQUENT} {}", context.say(words::MOST_FREQUENT)), look::DIM)
        }
        _ => {
            let room = (area.width as usize).saturating_sub(width::width(&before.content) + 1);
            Span::styled(width::cut(field.text(), room), look::STRONG)
        }
    };
    frame.render_widget(Line::from(vec![before, text]), area);
}

/// The line of the lower frame: what an answer rests on, or what Enter does.
fn below(context: &PageContext<'_>, models: &ModelsPage, wide: usize) -> Option<String> {
    let text = match models.answer()? {
        Answer::Near { made, words: found } => {
            let mut text = if found.is_empty() { String::new() } else { context.say(words::GO_ON_NEAREST).to_owned() };
            if !made.is_empty() {
                text = format!("{}: {} · {text}", made.join(", "), context.say(words::MADE_OF_PARTS));
            }
            text
        }
        Answer::Unknown(..) => context.say(words::GO_ON_NEAREST).to_owned(),
        Answer::Following { unknown, .. } => {
            let mut text = context.say(words::GO_ON_FOLLOWING).to_owned();
            if !unknown.is_empty() {
                text = format!("{}: {} · {text}", context.say(words::NOT_KNOWN), unknown.join(", "));
            }
            text
        }
        Answer::Surprise(_) => return None,
        Answer::Plane(shown) => {
            let kept = figures::percent(shown.kept);
            let method = match shown.explained {
                Some(shares) => {
                    let [x, y] = shares.map(figures::percent);
                    format!("PCA {} {x} + {y}", context.say(words::VARIANCE))
                }
                None => "t-SNE".to_owned(),
            };
            let mut text = format!(
                "{method} · {} {kept} · {} {}",
                context.say(words::KEPT),
                figures::count(shown.points.len() as u64),
                context.say(words::WORDS_UNIT)
            );
            match models.plane_view.colours {
                PlaneColours::Plain => {}
                PlaneColours::Clusters => text += &format!(" · {}", context.say(words::BY_CLUSTER)),
                PlaneColours::Tone => text += &format!(" · {}", context.say(words::BY_TONE)),
            }
            if models.plane_view.zoom > 0 {
                text += &format!(" · ×{}", 1u32 << models.plane_view.zoom);
            }
            format!("{text} · {}", context.say(words::GO_ON_NEAREST))
        }
    };
    (!text.is_empty()).then(|| width::cut(&text, wide))
}

fn draw_answer(context: &PageContext<'_>, models: &ModelsPage, answer: &Answer, frame: &mut Frame<'_>, area: Rect) {
    match answer {
        Answer::Near { words: found, .. } if found.is_empty() => {
            frame.render_widget(Line::raw(context.say(words::NOTHING_NEAR)), area);
        }
        Answer::Near { words: found, .. } => {
            let most = found.iter().map(|(_, cosine)| f64::from(*cosine)).fold(0.0, f64::max);
            let row = |at: usize| {
                let (word, cosine) = &found[at];
                let cosine = f64::from(*cosine);
                (word.clone(), figures::number(cosine, 4), cosine / most.max(1e-9))
            };
            draw_bars(context, models, words::COSINE, found.len(), &row, frame, area);
        }
        Answer::Following { next, .. } => {
            let most = next.first().map_or(1.0, |(_, p)| *p);
            let row = |at: usize| {
                let (word, p) = &next[at];
                let word = if word == END { format!("{END} {}", context.say(words::END)) } else { word.clone() };
                (word, figures::number(100.0 * p, 2), p / most.max(1e-300))
            };
            draw_bars(context, models, words::PROBABILITY, next.len(), &row, frame, area);
        }
        Answer::Unknown(word, alike) => draw_unknown(context, models, word, alike, frame, area),
        Answer::Surprise(tokens) => heat::draw(context, tokens, models.result.at, frame, area),
        Answer::Plane(found) => {
            let (view, marked) = (models.plane_view, models.result.at);
            let shown = ShownPlane { plane: found, view, marked, red_up: context.workspace.red_up };
            plane::draw(shown, frame, area);
        }
    }
}

/// Words with a number and a bar of its share of the largest.
fn draw_bars(
    context: &PageContext<'_>,
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
        ListColumn::text(context.say(words::WORD), 0),
        ListColumn::number(context.say(number), 9),
        ListColumn::text("", bar_cells),
    ];
    let line = |at: usize| {
        let (word, number, share) = row(at);
        (vec![(at + 1).to_string(), word, number, bars::lying(share, bar_cells)], Style::new())
    };
    list::draw(&columns, count, models.result, line, frame, area);
}

fn draw_unknown(
    context: &PageContext<'_>,
    models: &ModelsPage,
    word: &str,
    alike: &[String],
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let word = width::cut(word, 30);
    let message = Line::styled(format!("✗ {}: {word}", context.say(words::UNKNOWN_WORD)), look::BAD);
    if alike.is_empty() {
        let lines = vec![message, Line::raw(context.say(words::NOTHING_ALIKE))];
        return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
    }
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    frame.render_widget(message, head);
    let columns = [ListColumn::number("#", 4), ListColumn::text(context.say(words::ALIKE), 0)];
    let line = |at: usize| (vec![(at + 1).to_string(), alike[at].clone()], Style::new());
    list::draw(&columns, alike.len(), models.result, line, frame, list);
}
