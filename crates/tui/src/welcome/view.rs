//! Draws the first screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Choice, Welcome, words};
use crate::{look, sentences, width};

use inkstone_base::language::Word;

/// Cells of the box at the most.
const WIDEST: u16 = 92;

pub(super) fn draw(welcome: &Welcome, frame: &mut Frame<'_>) {
    let screen = frame.area();
    if let Some(sourcing) = welcome.sourcing.as_ref().filter(|_| welcome.opening.is_none()) {
        return sourcing.draw(welcome.language, frame, screen);
    }
    if let Some(chain) = welcome.chain.as_ref().filter(|_| welcome.opening.is_none()) {
        return chain.draw(welcome.language, frame, screen);
    }
    if let Some(guide) = &welcome.guide {
        return guide.draw(welcome.language, frame, screen);
    }
    draw_choices(welcome, frame, screen);
}

fn draw_choices(welcome: &Welcome, frame: &mut Frame<'_>, screen: Rect) {
    let say = |word: Word| word.to(welcome.language);
    let wide = screen.width.min(WIDEST);
    let cells = usize::from(wide.saturating_sub(6));
    let mut lines: Vec<(String, ratatui::style::Style)> = vec![(String::new(), look::PLAIN)];
    let mut add = |text: &str, style, indent: usize| {
        let wrapped = sentences::lines(text, cells.saturating_sub(indent)).into_iter();
        lines.extend(wrapped.map(|line| (format!("{}{line}", " ".repeat(indent)), style)));
    };
    add(say(words::WHAT), look::PLAIN, 0);
    add("", look::PLAIN, 0);
    add(say(words::NO_PROJECT), look::DIM, 0);
    add(&welcome.folder.display().to_string(), look::DIM, 0);
    add("", look::PLAIN, 0);
    for (at, choice) in welcome.choices().into_iter().enumerate() {
        let marked = at == welcome.marked;
        let sign = if marked { "▶" } else { " " };
        let style = if marked { look::SELECTED } else { look::STRONG };
        let (key, name, help) = match choice {
            Choice::Demo => ("d", words::DEMO, words::OF_DEMO),
            Choice::File => ("o", words::OPEN, words::OF_OPEN),
            Choice::Guide => ("g", words::READ, words::OF_READ),
            Choice::Project(number) => {
                let name = width::shown(&welcome.bench.projects[number].0);
                add(&format!("{sign}  {}    {} {name}", number + 1, say(words::PROJECT)), style, 0);
                continue;
            }
        };
        add(&format!("{sign}  {key}    {}", say(name)), style, 0);
        add(say(help), look::PLAIN, 8);
        add("", look::PLAIN, 0);
    }
    if !welcome.bench.projects.is_empty() {
        add("", look::PLAIN, 0);
    }
    match (&welcome.opening, &welcome.fault) {
        (Some(_), _) => add(say(words::OPENING), look::NOTE, 0),
        (None, Some(fault)) => add(&format!("✗ {} {fault}", say(words::FAILED)), look::BAD, 0),
        (None, None) => {}
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2).min(screen.height.saturating_sub(1));
    let [body, keys] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(screen);
    let area = body.centered(Constraint::Length(wide), Constraint::Length(height));
    let block = look::pane(Line::styled(format!(" {} ", words::NAME), look::STRONG), true);
    let inner = look::framed(block, frame, area);
    let text = Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner };
    let lines = lines.into_iter().map(|(line, style)| Line::from(Span::styled(line, style)));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), text);
    let list = [("j/k", words::MOVE), ("Enter", words::CHOOSE), ("L", words::LANGUAGE), ("q", words::LEAVE)];
    let spans =
        list.into_iter().flat_map(|(key, word)| [Span::styled(key, look::KEY), Span::raw(format!(" {}  ", say(word)))]);
    frame.render_widget(Line::from_iter(std::iter::once(Span::raw(" ")).chain(spans)), keys);
}
