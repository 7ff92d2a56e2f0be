//! The picture: a line of tabs, the page, a line of status, a line of keys; help and questions over it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::app::{App, Dialog, Question};
use super::commands::{COMMANDS, Key};
use super::page::Page;
use super::run::Phase;
use super::words;
use super::{Language, corpus, experiments, factor, features, ledger, look, models, onnx, run, text, width};

/// Columns and rows below which nothing can be read.
const LEAST: (u16, u16) = (60, 16);

/// Columns from which the first line has room for the name of the program.
const WIDE: usize = 100;

/// Cells at the end of the first line that tabs leave to the note and the title.
const LEAST_NOTE: usize = 12;

/// Where the page is on a screen of this size.
pub(crate) fn page_area(size: Rect) -> Rect {
    areas(size)[1]
}

fn areas(size: Rect) -> [Rect; 4] {
    let line = Constraint::Length(1);
    Layout::vertical([line, Constraint::Min(0), line, line]).areas(size)
}

/// Draws everything.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>) {
    let screen = frame.area();
    if screen.width < LEAST.0 || screen.height < LEAST.1 {
        let text = Paragraph::new(app.say(words::TOO_SMALL)).wrap(Wrap { trim: true });
        return frame.render_widget(text, screen);
    }
    let [tabs, page, status, keys] = areas(screen);
    frame.render_widget(tab_line(app, tabs.width as usize), tabs);
    match app.page {
        Page::Corpus => corpus::draw(app, frame, page),
        Page::Text => text::draw(app, frame, page),
        Page::Models => models::draw(app, frame, page),
        Page::Onnx => onnx::draw(app, frame, page),
        Page::Features => features::draw(app, frame, page),
        Page::Experiments => experiments::draw(app, frame, page),
        Page::Factor => factor::draw(app, frame, page),
        Page::Ledger => ledger::draw(app, frame, page),
        Page::Jobs => run::draw(app, frame, page),
    }
    frame.render_widget(status_line(app, status.width as usize), status);
    frame.render_widget(key_line(app, keys.width as usize), keys);
    match &app.dialog {
        Some(Dialog::Help(top)) => draw_help(app, *top, frame, screen),
        Some(Dialog::Question(question)) => draw_question(app, *question, frame, screen),
        None => {}
    }
}

fn tab_line<'a>(app: &App, columns: usize) -> Line<'a> {
    // Where there is no room for all names, only the page that is shown has one.
    let names: usize = Page::ALL.iter().map(|page| width::width(app.say(page.name())) + 3).sum();
    let brand = if columns >= WIDE { " Inkstone " } else { " 砚 " };
    let room = width::width(brand) + names + LEAST_NOTE <= columns;
    let mut spans = vec![Span::styled(brand, look::STRONG)];
    for (i, page) in Page::ALL.into_iter().enumerate() {
        let here = page == app.page;
        let name = if here || room { app.say(page.name()) } else { "" };
        spans.push(Span::styled(format!(" {}{name} ", i + 1), if here { look::SELECTED } else { look::PLAIN }));
    }
    let used = |spans: &[Span<'_>]| spans.iter().map(|s| width::width(&s.content)).sum::<usize>();
    // What matters most stands first and is left out last: that the data is not what it seems, a job, the project, the language.
    let state = match app.run.phase {
        Phase::Running | Phase::Stopping => Some(Span::styled(app.say(words::JOB_RUNNING), look::KEY)),
        Phase::Failed(_) => Some(Span::styled(app.say(words::JOB_FAILED), look::BAD)),
        _ => None,
    };
    let left = columns.saturating_sub(used(&spans) + 1);
    let note = app.workspace.note.as_ref().map(|note| Span::styled(width::cut(note, left.min(28)), look::NOTE));
    let title = Span::raw(width::cut(&app.workspace.title, 20));
    let language = Span::raw(if app.language == Language::Zh { "zh" } else { "en" });
    let mut end: Vec<Span<'_>> = Vec::new();
    for span in [note, state, Some(title), Some(language)].into_iter().flatten() {
        let gap = if end.is_empty() { "" } else { " · " };
        if used(&end) + width::width(gap) + width::width(&span.content) > left {
            break;
        }
        end.extend([Span::raw(gap), span]);
    }
    let gap = columns.saturating_sub(used(&spans) + used(&end));
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(end);
    Line::from(spans)
}

fn status_line<'a>(app: &App, columns: usize) -> Line<'a> {
    let (text, style) = match &app.notice {
        Some(notice) => (format!(" {notice}"), look::NOTE),
        None => (format!(" {}: {}", app.say(words::NO_SCREEN), app.command()), look::DIM),
    };
    Line::styled(width::cut(&text, columns), style)
}

/// The keys of the page that do something now; those that find no room are in the help.
fn key_line<'a>(app: &App, columns: usize) -> Line<'a> {
    if app.typing() {
        return Line::styled(app.say(words::SEARCH_KEYS), look::KEY);
    }
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    let shown = COMMANDS.iter().filter(|c| c.bar && c.pages.contains(&app.page) && (c.enabled)(app));
    for command in shown {
        let Some(key) = app.keymap.keys(command).first().map(Key::to_string) else { continue };
        let name = app.say(command.name);
        let wide = width::width(&key) + width::width(name) + 3;
        if used + wide > columns {
            break;
        }
        used += wide;
        spans.extend([Span::styled(key, look::KEY), Span::raw(format!(" {name}  "))]);
    }
    Line::from(spans)
}

fn help_area(screen: Rect) -> Rect {
    screen.centered(Constraint::Max(96), Constraint::Max(34))
}

/// Lines of help on a page.
pub(crate) fn help_lines(page: Page) -> usize {
    COMMANDS.iter().filter(|c| c.pages.contains(&page)).count()
}

/// Lines of help that a screen shows.
pub(crate) fn help_room(screen: Rect) -> usize {
    help_area(screen).height.saturating_sub(2) as usize
}

fn draw_help(app: &App, top: usize, frame: &mut Frame<'_>, screen: Rect) {
    let area = help_area(screen);
    let inside = area.width.saturating_sub(2) as usize;
    let commands = COMMANDS.iter().filter(|c| c.pages.contains(&app.page));
    let lines: Vec<Line<'_>> = commands
        .skip(top)
        .take(help_room(screen))
        .map(|command| {
            let keys: Vec<String> = app.keymap.keys(command).iter().map(Key::to_string).collect();
            let style = if (command.enabled)(app) { look::PLAIN } else { look::DIM };
            Line::from(vec![
                Span::styled(format!(" {}  ", width::left(&keys.join(" "), 14)), look::KEY),
                Span::styled(width::cut(app.say(command.help), inside.saturating_sub(17)), style),
            ])
        })
        .collect();
    let title = format!(" {} · {} ", app.say(words::HELP), app.say(app.page.name()));
    let block = look::pane(title, true).title_bottom(format!(" {} ", app.say(words::HELP_HINT)));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_question(app: &App, question: Question, frame: &mut Frame<'_>, screen: Rect) {
    let text = app.say(match question {
        Question::Cancel => words::ASK_CANCEL,
        Question::Quit => words::ASK_QUIT,
    });
    let area = screen.centered(Constraint::Max(56), Constraint::Length(6));
    let lines = vec![Line::raw(text), Line::styled(app.say(words::YES_NO), look::KEY)];
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(look::pane("", true)), area);
}
