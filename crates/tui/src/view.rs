//! Draws the screen: a line of tabs, the page, a line of status, a line of keys; help and questions over it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::action::Action;
use super::app::{App, Dialog, PendingQuestion};
use super::commands::{COMMANDS, Command, KeyPress, Palette, PaletteEntry, leads_there};
use super::narrow::narrow;
use super::page::Page;
use super::words;
use super::{Language, field, jobs, look, tour, width};

/// Columns and rows below which nothing can be read.
const LEAST: (u16, u16) = (60, 16);

/// Columns from which the first line has room for the name of the program.
const WIDE: usize = 100;

/// Cells at the end of the first line that tabs leave to the note and the title.
const LEAST_NOTE: usize = 12;

/// Cells that the reason why nothing can be written takes at the least.
const SHORT_WHY: usize = 20;

/// Cells of the note at the most.
const MOST_NOTE: usize = 28;

/// The area of the page on a screen of this size.
pub(crate) fn page_area(size: Rect) -> Rect {
    areas(size)[1]
}

fn areas(size: Rect) -> [Rect; 4] {
    let line = Constraint::Length(1);
    Layout::vertical([line, Constraint::Min(0), line, line]).areas(size)
}

/// Draws everything, in the colours and with the characters of this terminal.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>) {
    compose(app, frame);
    if app.workspace.wide_ambiguous {
        narrow(frame.buffer_mut());
    }
    app.theme.paint(frame.buffer_mut());
}

/// Draws everything as pages see it.
pub(crate) fn compose(app: &App, frame: &mut Frame<'_>) {
    let _guard = app.language.on_this_thread();
    lay_out(app, frame);
    free_bars(frame.buffer_mut());
    disarm(frame.buffer_mut());
}

/// Takes bars out of lines in reverse video, where a full block would be a hole: the bar and the rest of its track stand as elsewhere.
fn free_bars(buffer: &mut Buffer) {
    let columns = usize::from(buffer.area.width).max(1);
    for row in buffer.content.chunks_mut(columns) {
        let mut in_bar = false;
        for cell in row {
            let block = matches!(cell.symbol().chars().next(), Some('\u{2580}'..='\u{259f}'));
            in_bar = cell.modifier.contains(Modifier::REVERSED) && (block || in_bar && cell.symbol() == " ");
            if in_bar {
                cell.modifier.remove(Modifier::REVERSED);
            }
        }
    }
}

/// Greatest number of bytes of one cell: a family of emoji takes 25.
const CLUSTER: usize = 64;

/// The last check before the terminal. Pages escape control characters; a cell in which one is left becomes U+FFFD. A cell that holds
/// too many combining marks keeps its base character alone.
fn disarm(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        if symbol.len() > 1 && symbol.chars().any(width::invisible) {
            cell.set_char('\u{fffd}');
        } else if symbol.len() > CLUSTER {
            let letter = symbol.chars().next().unwrap_or(' ');
            cell.set_char(letter);
        }
    }
}

fn lay_out(app: &App, frame: &mut Frame<'_>) {
    let screen = frame.area();
    if screen.width < LEAST.0 || screen.height < LEAST.1 {
        let glyphs: Vec<width::Glyph<'_>> = width::glyphs(app.say(words::TOO_SMALL)).collect();
        let line = |range: std::ops::Range<usize>| glyphs[range].iter().map(|glyph| &*glyph.text).collect::<String>();
        let lines = width::wrap(&glyphs, usize::from(screen.width)).into_iter().map(|range| Line::raw(line(range)));
        // A glyph that is wider than the screen itself is not drawn at all.
        let lines = lines.filter(|line| line.width() <= usize::from(screen.width));
        return frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), screen);
    }
    let [tabs, page, status, keys] = areas(screen);
    frame.render_widget(tab_line(app, tabs.width as usize), tabs);
    app.state(app.page).draw(&app.context(), frame, page);
    frame.render_widget(status_line(app, status.width as usize), status);
    frame.render_widget(key_line(app), keys);
    if let Some(step) = app.over.tour {
        tour::draw(app, step, frame, page);
    }
    match &app.dialog {
        Some(Dialog::Help(top)) => draw_help(app, *top, frame, screen),
        Some(Dialog::Question(question)) => draw_question(app, *question, frame, screen),
        Some(Dialog::Palette(palette)) => draw_palette(app, palette, frame, screen),
        Some(Dialog::Settings) => app.draw_settings(frame, settings_area(screen)),
        None => {}
    }
}

/// The area of the settings: all of the screen but the line of tabs.
pub(crate) fn settings_area(screen: Rect) -> Rect {
    let [tabs, ..] = areas(screen);
    Rect { y: tabs.bottom(), height: screen.height.saturating_sub(tabs.height), ..screen }
}

fn tabs(app: &App) -> (&'static str, Vec<(Page, String)>) {
    let columns = usize::from(app.size.width);
    // Where there is no room for all names, only the page that is shown has one.
    let names: usize = Page::tabs().iter().map(|page| width::width(app.say(page.name())) + 3).sum();
    let brand = if columns >= WIDE { " Inkstone " } else { " 砚 " };
    let room = width::width(brand) + names + wanted(app) <= columns;
    let text = |(i, page): (usize, &Page)| {
        let page = *page;
        let name = if page == app.page || room { app.say(page.name()) } else { "" };
        (page, format!(" {}{name} ", i + 1))
    };
    (brand, Page::tabs().iter().enumerate().map(text).collect())
}

/// Cells at the end of the first line that tabs leave to what the user must know.
fn wanted(app: &App) -> usize {
    let state = jobs::state(&app.context(), true).map(|state| width::width(&state.content));
    let why = app.instance.why().and_then(|why| why.within(app.language, SHORT_WHY)).map(|why| width::width(&why));
    if state.is_none() && why.is_none() {
        return LEAST_NOTE;
    }
    let note = app.workspace.note.as_ref().map(|note| width::width(note).min(LEAST_NOTE));
    [note, state, why].into_iter().flatten().map(|cells| cells + 3).sum()
}

/// The page whose tab is at this column of the first line.
pub(crate) fn tab_at(app: &App, column: u16) -> Option<Page> {
    let (brand, tabs) = tabs(app);
    let mut end = width::width(brand);
    if usize::from(column) < end {
        return None;
    }
    tabs.into_iter().find_map(|(page, text)| {
        end += width::width(&text);
        (usize::from(column) < end).then_some(page)
    })
}

fn tab_line<'a>(app: &App, columns: usize) -> Line<'a> {
    let (brand, tabs) = tabs(app);
    let mut spans = vec![Span::styled(brand, look::STRONG)];
    for (page, text) in tabs {
        spans.push(Span::styled(text, if page == app.page { look::SELECTED } else { look::PLAIN }));
    }
    let used = |spans: &[Span<'_>]| spans.iter().map(|s| width::width(&s.content)).sum::<usize>();
    // What matters most stands first and is left out last: that the data is not what it seems, that nothing can be written, a job, the
    // project, the language.
    let left = columns.saturating_sub(used(&spans) + 1);
    let least = app.workspace.note.as_ref().map_or(0, |note| width::width(note).min(LEAST_NOTE) + 3);
    let fits = |state: &Span<'_>| width::width(&state.content) + least <= left;
    let state = jobs::state(&app.context(), false).filter(fits).or_else(|| jobs::state(&app.context(), true));
    // The note is cut before a job, or the reason why nothing can be written, is left out.
    let of_state = state.as_ref().map_or(0, |state| width::width(&state.content) + 3);
    let short = app.instance.why().and_then(|why| why.within(app.language, SHORT_WHY));
    let of_why = short.map_or(0, |why| width::width(&why) + 3);
    let of_note = left.saturating_sub(of_state + of_why).max(LEAST_NOTE).min(left).min(MOST_NOTE);
    let note = app.workspace.note.as_ref().map(|note| Span::styled(width::cut(note, of_note), look::NOTE));
    let room = left.saturating_sub(note.as_ref().map_or(0, |note| width::width(&note.content) + 3) + of_state);
    let why = app.instance.why().and_then(|why| why.within(app.language, room));
    let why = why.map(|text| Span::styled(text, look::BAD));
    let title = Span::raw(width::cut(&app.workspace.title, 20));
    let language = Span::raw(if app.language == Language::Zh { "zh" } else { "en" });
    let mut end: Vec<Span<'_>> = Vec::new();
    for span in [note, why, state, Some(title), Some(language)].into_iter().flatten() {
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

/// The keys of the page that do something now, each with a word, as far as there is room; the others are in the help. The way back,
/// the palette and the help itself always have room.
fn shown_keys(app: &App) -> Vec<(Action, String, &'static str)> {
    let entry = |command: &Command| {
        let key = app.keymap.keys(command).first()?.to_string();
        let resumes = command.action == Action::Pause && app.is_paused();
        Some((command.action, key, app.say(if resumes { jobs::words::RESUME } else { command.name })))
    };
    let wide = |(_, key, name): &(Action, String, &'static str)| width::width(key) + width::width(name) + 3;
    let known = COMMANDS.iter().filter(|c| c.is_in_bar(app.page) && app.can(c));
    let (always, others): (Vec<_>, Vec<_>) =
        known.filter_map(entry).partition(|entry| matches!(entry.0, Action::Back | Action::Palette | Action::Help));
    let mut left = usize::from(app.size.width).saturating_sub(1 + always.iter().map(wide).sum::<usize>());
    let mut shown = Vec::new();
    for entry in others {
        let Some(rest) = left.checked_sub(wide(&entry)) else { break };
        left = rest;
        shown.push(entry);
    }
    shown.extend(always);
    shown
}

/// The command whose key is shown at this column of the last line.
pub(crate) fn key_at(app: &App, column: u16) -> Option<Action> {
    let mut end = 1;
    shown_keys(app).into_iter().find_map(|(action, key, name)| {
        end += width::width(&key) + width::width(name) + 3;
        (usize::from(column) < end).then_some(action)
    })
}

fn key_line<'a>(app: &App) -> Line<'a> {
    if app.typing() && app.dialog.is_none() {
        return Line::styled(app.say(words::SEARCH_KEYS), look::KEY);
    }
    let mut spans = vec![Span::raw(" ")];
    for (_, key, name) in shown_keys(app) {
        spans.extend([Span::styled(key, look::KEY), Span::raw(format!(" {name}  "))]);
    }
    Line::from(spans)
}

/// Makes room for what lies over the page. A wide character that would reach into it from the left goes as a whole.
pub(crate) fn clear(frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Clear, area);
    for y in area.top()..area.bottom() {
        let before = area.x.checked_sub(1).and_then(|x| frame.buffer_mut().cell_mut((x, y)));
        if let Some(cell) = before.filter(|cell| width::width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
}

fn palette_area(screen: Rect) -> Rect {
    screen.centered(Constraint::Max(76), Constraint::Max(20))
}

/// Commands that the palette has room for.
pub(crate) fn palette_rows(screen: Rect) -> usize {
    usize::from(palette_area(screen).height.saturating_sub(3))
}

/// The row of the palette's list at a place of the screen.
pub(crate) fn palette_line(screen: Rect, at: Position) -> Option<usize> {
    let area = palette_area(screen);
    let first = area.y + 2;
    let inside = area.contains(at) && at.y >= first && at.y + 1 < area.bottom();
    inside.then(|| usize::from(at.y - first))
}

fn draw_palette(app: &App, palette: &Palette, frame: &mut Frame<'_>, screen: Rect) {
    let area = palette_area(screen);
    let block = look::pane(format!(" {} · {} ", app.say(words::PALETTE), palette.found.len()), true)
        .title_bottom(format!(" {} ", app.say(words::PALETTE_HINT)));
    let inner = block.inner(area);
    clear(frame, area);
    frame.render_widget(block, area);
    let [line, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    field::draw(Span::styled("› ", look::KEY), &palette.field, look::PLAIN, frame, line);
    if palette.found.is_empty() {
        return frame.render_widget(Line::styled(app.say(words::PALETTE_EMPTY), look::DIM), list);
    }
    let wide = usize::from(list.width);
    let rows = palette.found.iter().enumerate().skip(palette.cursor.top).take(usize::from(list.height));
    let lines = rows.map(|(at, entry)| {
        let marked = |style: Style| if at == palette.cursor.at { style.patch(look::SELECTED) } else { style };
        let place = |page: Page, text: String| {
            let text = format!("{} {text}", width::left(&format!("{} ›", app.say(page.name())), 20));
            Line::styled(width::left(&text, wide), marked(look::PLAIN))
        };
        let command = match entry {
            PaletteEntry::Command(at) => &COMMANDS[*at],
            PaletteEntry::Line(line) => return place(app.page, format!("{} {line}", app.say(words::LINE))),
            PaletteEntry::Factor(number) => return place(Page::Factor, app.workspace.factors[*number].clone()),
            PaletteEntry::Documents(text) => {
                return place(Page::Corpus, format!("{} {text}", app.say(words::FILTER_BY)));
            }
            PaletteEntry::Stocks(text) => return place(Page::Stock, text.clone()),
        };
        let here = command.pages.contains(&app.page);
        let key = app.keymap.keys(command).first().map(KeyPress::to_string).unwrap_or_default();
        // A command of another page says which.
        let page = if here { None } else { leads_there(command) };
        let name = match page {
            Some(page) => format!("{} › {}", app.say(page.name()), app.say(command.name)),
            None => app.say(command.name).to_owned(),
        };
        let help = width::left(app.say(command.help), wide.saturating_sub(32));
        let text = format!("{} {} {help}", width::left(&name, 20), width::left(&key, 9));
        let style = if here && app.can(command) { look::PLAIN } else { look::DIM };
        Line::styled(text, marked(style))
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), list);
}

fn help_area(screen: Rect) -> Rect {
    screen.centered(Constraint::Max(96), Constraint::Max(34))
}

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
            let keys: Vec<String> = app.keymap.keys(command).iter().map(KeyPress::to_string).collect();
            let style = if app.can(command) { look::PLAIN } else { look::DIM };
            Line::from(vec![
                Span::styled(format!(" {}  ", width::left(&keys.join(" "), 14)), look::KEY),
                Span::styled(width::cut(app.say(command.help), inside.saturating_sub(17)), style),
            ])
        })
        .collect();
    let title = format!(" {} · {} ", app.say(words::HELP), app.say(app.page.name()));
    let block = look::pane(title, true).title_bottom(format!(" {} ", app.say(words::HELP_HINT)));
    clear(frame, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_question(app: &App, question: PendingQuestion, frame: &mut Frame<'_>, screen: Rect) {
    let library = app.workspace.unknown_library.as_ref();
    let (title, text) = match question {
        PendingQuestion::Cancel(id) => (app.jobs.job(id).map(|job| job.name.as_str()), jobs::words::ASK_CANCEL),
        PendingQuestion::Quit if app.can_detach() => (None, jobs::words::ASK_QUIT_OR_DETACH),
        PendingQuestion::Quit => (None, jobs::words::ASK_QUIT),
        PendingQuestion::Library if library.is_some_and(|library| library.changed) => {
            (Some("ONNX Runtime"), words::ASK_CHANGED_LIBRARY)
        }
        PendingQuestion::Library => (Some("ONNX Runtime"), words::ASK_LIBRARY),
    };
    let title = title.map(|name| format!(" {} ", width::cut(name, 40))).unwrap_or_default();
    let answers = match question {
        PendingQuestion::Quit if app.can_detach() => jobs::words::YES_NO_DETACH,
        _ => words::YES_NO,
    };
    let mut lines = vec![Line::raw(app.say(text)), Line::styled(app.say(answers), look::KEY)];
    let mut height = 6;
    if let Some(library) = library.filter(|_| question == PendingQuestion::Library) {
        // The end of a path says more than its beginning.
        let path = library.file.display().to_string();
        let lost = width::width(&path).saturating_sub(3 * 52);
        let path: String = path.chars().skip(lost).collect();
        lines.insert(1, Line::styled(if lost > 0 { format!("…{path}") } else { path }, look::DIM));
        height = 12;
    }
    let area = screen.centered(Constraint::Max(56), Constraint::Length(height));
    clear(frame, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(look::pane(title, true)), area);
}
