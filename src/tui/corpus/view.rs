//! The picture of the corpus page.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Corpus, Focus};
use crate::tui::app::App;
use crate::tui::reading::Row;
use crate::tui::words;
use crate::tui::{Cut, figures, look, width};

/// Lines of the reader that say what document it is.
pub(super) const HEAD: u16 = 1;

/// Table and reader: side by side where there is room for both, else one above the other.
pub(super) fn panes(page: Rect) -> [Rect; 2] {
    if page.width >= 110 {
        Layout::horizontal([Constraint::Percentage(54), Constraint::Min(0)]).areas(page)
    } else {
        Layout::vertical([Constraint::Percentage(45), Constraint::Min(0)]).areas(page)
    }
}

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, page: Rect) {
    let corpus = &app.corpus;
    let empty = match &corpus.index {
        None => Some(Line::styled(app.say(words::READING), look::DIM)),
        Some(Err(error)) => Some(Line::styled(error.as_str(), look::BAD)),
        Some(Ok(index)) if index.len() == 0 => Some(Line::raw(app.say(words::NO_CORPUS))),
        Some(Ok(_)) => None,
    };
    if let Some(line) = empty {
        let block = look::pane(format!(" {} ", app.say(words::CORPUS)), true);
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(block), page);
    }
    let [table, reader] = panes(page);
    draw_table(app, corpus, frame, table);
    draw_reader(app, corpus, frame, reader);
}

fn draw_table(app: &App, corpus: &Corpus, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(title(app, corpus), corpus.focus == Focus::Table);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let widths = Widths::of(inner.width as usize);
    let header = [words::TIME, words::CODE, words::KIND, words::REPEAT, words::TITLE].map(|w| app.say(w).to_owned());
    let mut lines = vec![Line::styled(widths.line(&header), look::DIM)];
    for at in corpus.top..(corpus.top + inner.height.saturating_sub(1) as usize).min(corpus.len()) {
        let style = if at == corpus.cursor { look::SELECTED } else { look::PLAIN };
        lines.push(match corpus.place(at).map(|(part, row)| (corpus.parts.get(&part), row)) {
            Some((Some(Ok(rows)), row)) if row < rows.len() => {
                Line::styled(widths.line(&cells(app, &rows[row])), style)
            }
            Some((Some(Err(error)), _)) => Line::styled(width::cut(error, inner.width as usize), look::BAD),
            _ => Line::styled("…", look::DIM),
        });
    }
    frame.render_widget(Paragraph::new(lines), inner);
    if let Some(search) = corpus.search.as_ref().filter(|s| s.typing) {
        // The cursor stands where the text goes, or an input method opens its window in the wrong corner.
        let before = width::width(app.say(words::SEARCH)) + 4 + search.query.cells_before();
        let x = (area.x as usize + before).min(area.right().saturating_sub(2) as usize);
        frame.set_cursor_position(Position::new(u16::try_from(x).unwrap_or(u16::MAX), area.y));
    }
}

fn title<'a>(app: &App, corpus: &Corpus) -> Line<'a> {
    let count = |n: usize| figures::count(n as u64);
    let total = corpus.index().map_or(0, |i| i.len());
    let position = format!("{} / {}", count((corpus.cursor + 1).min(corpus.len())), count(corpus.len()));
    let Some(search) = &corpus.search else {
        let cleaned = corpus.index().is_some_and(|i| i.cleaned);
        let state = app.say(if cleaned { words::CLEANED } else { words::AS_INGESTED });
        return Line::raw(format!(" {} · {position} · {state} ", app.say(words::CORPUS)));
    };
    let state = match (&search.fault, &search.job) {
        (Some(fault), _) => Span::styled(fault.clone(), look::BAD),
        (None, Some(_)) => Span::styled(app.say(words::SEARCHING).to_owned(), look::DIM),
        (None, None) if search.query.text().is_empty() => {
            Span::styled(app.say(words::TYPE_TO_SEARCH).to_owned(), look::DIM)
        }
        (None, None) => Span::raw(format!("{position} ({})", count(total))),
    };
    let query = format!("/{} ", width::cut(search.query.text(), 40));
    Line::from(vec![
        Span::raw(format!(" {} ", app.say(words::SEARCH))),
        Span::styled(query, look::KEY),
        state,
        Span::raw(" "),
    ])
}

/// Columns of the table; the title takes what is left.
struct Widths([usize; 5]);

impl Widths {
    fn of(total: usize) -> Widths {
        let fixed = [16, 13, 4, 2];
        let rest = total.saturating_sub(fixed.iter().sum::<usize>() + fixed.len());
        Widths([fixed[0], fixed[1], fixed[2], fixed[3], rest])
    }

    fn line(&self, cells: &[String; 5]) -> String {
        let cells: Vec<String> = cells.iter().zip(self.0).map(|(cell, columns)| width::left(cell, columns)).collect();
        cells.join(" ")
    }
}

fn cells(app: &App, row: &Row) -> [String; 5] {
    let mut codes = row.codes.split(',').filter(|c| !c.is_empty());
    let first = codes.next().unwrap_or("–");
    let more = codes.count();
    let codes = if more > 0 { format!("{first} +{more}") } else { first.to_owned() };
    let repeats = if row.repeats { app.say(words::REPEAT) } else { "" };
    let time = row.published_at.format("%Y-%m-%d %H:%M").to_string();
    [time, codes, app.say(words::kind(row.kind)).to_owned(), repeats.to_owned(), row.title.clone()]
}

fn draw_reader(app: &App, corpus: &Corpus, frame: &mut Frame<'_>, area: Rect) {
    let focused = corpus.focus == Focus::Reader;
    let text = match &corpus.text {
        Some(Ok(text)) => text,
        Some(Err(error)) => {
            let line = Paragraph::new(Line::styled(error.as_str(), look::BAD)).wrap(Wrap { trim: false });
            return frame.render_widget(line.block(look::pane("", focused)), area);
        }
        None => return frame.render_widget(look::pane("", focused), area),
    };
    let document = &text.document;
    let characters = figures::count(document.body.chars().count() as u64);
    let tokens = figures::count(text.tokens.len() as u64);
    let size = match text.cut {
        None => format!("{characters} {}", app.say(words::CHARACTERS)),
        Some(Cut::Characters) => format!("{} {tokens}", app.say(words::CUT_CHARACTERS)),
        Some(Cut::Words) => format!("{} {tokens}", app.say(words::CUT_WORDS)),
    };
    let by = [document.org.as_deref(), document.author.as_deref(), document.rating.as_deref()];
    let by: String = by.into_iter().flatten().filter(|s| !s.is_empty()).map(|s| format!(" · {s}")).collect();
    let first = text.first.as_ref().map(|f| format!(" · {} {f}", app.say(words::REPEATS))).unwrap_or_default();
    let title = width::cut(&format!(" {} ", document.title), area.width.saturating_sub(2) as usize);
    let block = look::pane(title, focused);
    let inner = block.inner(area);
    let [head, body] = Layout::vertical([Constraint::Length(HEAD), Constraint::Min(0)]).areas(inner);
    let time = document.published_at.format("%Y-%m-%d %H:%M:%S");
    let about = format!("{time} · {} · {size}{first}{by}", app.say(words::kind(document.kind)));
    let seen = (corpus.scroll + body.height as usize).min(corpus.lines.len());
    let mut block = block.title_bottom(Line::raw(format!(" {seen}/{} ", corpus.lines.len())).right_aligned());
    if let Some(fault) = &text.fault {
        block = block.title_bottom(Line::styled(width::cut(fault, inner.width as usize / 2), look::BAD));
    }
    let lines = corpus.lines.iter().skip(corpus.scroll).take(body.height as usize).map(|line| {
        let spans = line.iter().map(|(piece, sort)| Span::styled(piece.as_str(), sort.style(app.workspace.red_up)));
        Line::from_iter(spans)
    });
    frame.render_widget(block, area);
    frame.render_widget(Line::styled(width::cut(&about, head.width as usize), look::DIM), head);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
}
