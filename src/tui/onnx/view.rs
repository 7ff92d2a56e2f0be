//! The picture of the page: the machine in a few lines, the models, and the view of the one that is marked.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Onnx, Pane, ask, meters, tensors, words};
use crate::language::Word;
use crate::model::onnx::runtime::Machine;
use crate::model::onnx::{Description, Head, Listed, Output};
use crate::tui::app::App;
use crate::tui::desk::Desk;
use crate::tui::list::{self, Column};
use crate::tui::page::Table;
use crate::tui::{Language, figures, look, width};

/// Columns from which list and view stand side by side.
const WIDE: u16 = 110;
/// Models that the list shows at the least, and at the most where the view is below it.
const LISTED: (u16, u16) = (1, 5);
/// Lines of particulars below the list: of a narrow page, of a wide one.
const PARTICULARS: (u16, u16) = (2, 13);

/// The lines about the machine, the list with its particulars, and the view.
fn areas(onnx: &Onnx, page: Rect) -> [Rect; 3] {
    let machine = if onnx.lacks_library() { 4 } else { 2 };
    let [machine, rest] = Layout::vertical([Constraint::Length(machine), Constraint::Min(0)]).areas(page);
    let [list, pane] = if page.width >= WIDE {
        Layout::horizontal([Constraint::Percentage(52), Constraint::Min(0)]).areas(rest)
    } else {
        let count = u16::try_from(onnx.models().len()).unwrap_or(u16::MAX).clamp(LISTED.0, LISTED.1);
        // Whoever works in the view has the room of it; the model that is marked stays in sight.
        let rows = if onnx.inside { LISTED.0 } else { count + PARTICULARS.0 };
        Layout::vertical([Constraint::Length(rows + 3), Constraint::Min(0)]).areas(rest)
    };
    [machine, list, pane]
}

/// Where list and view are.
pub(super) fn panes(onnx: &Onnx, page: Rect) -> (Rect, Rect) {
    let [_, list, pane] = areas(onnx, page);
    (list, pane)
}

/// The inside of the view.
pub(super) fn inner(onnx: &Onnx, page: Rect) -> Rect {
    panes(onnx, page).1.inner(Margin::new(1, 1))
}

/// The list and, below it, the particulars of the model that is marked.
fn list_areas(onnx: &Onnx, list: Rect) -> [Rect; 2] {
    let inside = list.inner(Margin::new(1, 1));
    let lines = match (list.width < WIDE / 2 || inside.width >= 70, onnx.inside) {
        (true, true) => 0,
        (true, false) => PARTICULARS.0,
        (false, _) => PARTICULARS.1.min(inside.height / 2),
    };
    Layout::vertical([Constraint::Min(0), Constraint::Length(lines)]).areas(inside)
}

/// Models that the list has room for.
pub(super) fn list_rows(onnx: &Onnx, page: Rect) -> usize {
    list::rows(list_areas(onnx, panes(onnx, page).0)[0])
}

/// A share of 1 as a bar of at most so many cells, in eighths of a cell.
pub(super) fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, page: Rect) {
    let onnx = &app.onnx;
    if app.workspace.onnx.is_none() {
        let block = look::pane(format!(" {} ", app.say(app.page.name())), true);
        let text = Paragraph::new(app.say(words::NO_BENCH)).wrap(Wrap { trim: true });
        return frame.render_widget(text.block(block), page);
    }
    let [machine, list, pane] = areas(onnx, page);
    draw_machine(app, frame, machine);
    draw_list(app, frame, list);
    draw_pane(app, frame, pane);
}

fn draw_machine(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let cells = usize::from(area.width);
    let titled = |title: Word, text: &str, style: Style| {
        let head = format!(" {} ", app.say(title));
        let text = width::cut(text, cells.saturating_sub(width::width(&head)));
        Line::from(vec![Span::styled(head, look::DIM), Span::styled(text, style)])
    };
    let Some(machine) = app.onnx.machine() else {
        let fault = app.onnx.machine.as_ref().and_then(|machine| machine.fault());
        let (text, style) = fault.map_or((app.say(words::LOOKING), look::DIM), |fault| (fault, look::BAD));
        return frame.render_widget(Line::styled(format!(" {}", width::cut(text, cells)), style), area);
    };
    let devices = titled(words::DEVICE, &devices(app, machine), look::PLAIN);
    match &machine.library {
        Ok(library) => {
            let text = format!("ONNX Runtime {} · {}", library.version, library.file.display());
            frame.render_widget(Paragraph::new(vec![titled(words::LIBRARY, &text, look::PLAIN), devices]), area);
        }
        Err(error) => {
            let lines = [Constraint::Length(2), Constraint::Length(1), Constraint::Length(1)];
            let [fault, mend, rest] = Layout::vertical(lines).areas(area);
            let text = format!("{}: {error}", app.say(words::NO_LIBRARY));
            let glyphs: Vec<_> = width::glyphs(&text).collect();
            let lines =
                width::wrap(&glyphs, cells.saturating_sub(4).max(1)).into_iter().enumerate().map(|(at, range)| {
                    let sign = if at == 0 { " ✗ " } else { "   " };
                    let piece: String = glyphs[range].iter().map(|glyph| &*glyph.text).collect();
                    Line::styled(format!("{sign}{piece}"), look::BAD)
                });
            frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), fault);
            frame.render_widget(titled(words::MEND, machine.mend().unwrap_or_default(), look::KEY), mend);
            frame.render_widget(devices, rest);
        }
    }
}

/// The processor, what the configuration asks for, and CUDA with its devices or what it lacks.
fn devices(app: &App, machine: &Machine) -> String {
    let set = app.workspace.onnx.as_ref().map_or(String::new(), |bench| bench.place.device.to_string());
    let mut said = format!("cpu {} {} · {} {set}", machine.cores, app.say(words::CORES), app.say(words::SET_TO));
    let names = machine.devices.iter().enumerate().map(|(number, name)| format!("cuda:{number} {name}"));
    let names: Vec<String> = names.collect();
    match &machine.cuda_lacks {
        Some(lacks) if lacks.is_empty() => said += &format!(" · ✓ CUDA {}", names.join(", ")),
        Some(lacks) => {
            let mend = machine.mend().map_or(String::new(), |mend| format!(" → {mend}"));
            let names = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
            said += &format!(" · ✗ CUDA{names}{mend} · {} {}", app.say(words::LACKS), lacks.join(", "));
        }
        None if names.is_empty() => {}
        None => said += &format!(" · {}", names.join(", ")),
    }
    said
}

fn draw_list(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let onnx = &app.onnx;
    let models = onnx.models();
    let count = |n: usize| figures::count(n as u64);
    let place = format!("{} / {}", count((onnx.cursor.at + 1).min(models.len())), count(models.len()));
    let block = look::pane(format!(" {} · {place} ", app.say(words::LIST)), !onnx.inside);
    let empty = match &onnx.models {
        None => Some(Line::styled(app.say(words::SEARCHING), look::DIM)),
        Some(models) if models.waiting() => Some(Line::styled(app.say(words::SEARCHING), look::DIM)),
        Some(models) if models.get().is_some_and(Vec::is_empty) => Some(Line::raw(app.say(words::NO_MODELS))),
        Some(models) => models.fault().map(|fault| Line::styled(format!("✗ {fault}"), look::BAD)),
    };
    if let Some(line) = empty {
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }).block(block), area);
    }
    frame.render_widget(block, area);
    let [rows, particulars] = list_areas(onnx, area);
    let wide = rows.width >= 70;
    let mut columns = vec![
        Column::text(app.say(words::MODEL), 0),
        Column::text(app.say(words::CAN), 15),
        Column::text(app.say(words::PRECISION), 9),
        Column::number(app.say(words::MEGABYTES), 7),
    ];
    if wide {
        columns.extend([
            Column::number(app.say(words::HIDDEN), 4),
            Column::number(app.say(words::LENGTH), 6),
            Column::number(app.say(words::VOCABULARY), 7),
        ]);
    }
    // A narrow list leaves this to the particulars below it.
    if wide {
        columns.push(Column::number(app.say(words::USES), if app.language == Language::Zh { 4 } else { 8 }));
    }
    let row = |at: usize| {
        let listed = &models[at];
        let [_, can, precision, bytes, hidden, limit, vocabulary, uses] = cells(listed, app.language);
        let mut row = vec![name(&listed.shown, name_cells(&columns, rows)), can, precision, bytes];
        if wide {
            row.extend([hidden, limit, vocabulary, uses]);
        }
        (row, if listed.found.is_ok() { look::PLAIN } else { look::BAD })
    };
    list::draw(&columns, models.len(), onnx.cursor, row, frame, rows);
    if let Some(listed) = onnx.marked() {
        draw_particulars(app, listed, frame, particulars);
    }
}

/// Cells that are left to the names of models.
fn name_cells(columns: &[Column<'_>], rows: Rect) -> usize {
    let others: usize = columns.iter().map(|column| column.cells + 1).sum();
    (usize::from(rows.width) + 1).saturating_sub(others).max(6)
}

/// How the list calls a model: by its folder where its file is called as in every export, and by the end of that where there is no
/// room, as ends tell models apart better than beginnings.
fn name(shown: &str, cells: usize) -> String {
    let name = shown.strip_suffix("/model.onnx").unwrap_or(shown);
    if width::width(name) <= cells {
        return name.to_owned();
    }
    let starts = name.char_indices().map(|(at, _)| &name[at..]);
    starts.into_iter().find(|end| width::width(end) < cells).map_or(String::new(), |end| format!("…{end}"))
}

/// What a model can do, in a word each.
fn abilities(found: &Description, language: Language) -> String {
    let word = |head: &Head| match head {
        Head::Vectors { .. } => words::VECTORS,
        Head::Classes(_) => words::CLASSES,
        Head::Labels => words::NAMES,
        Head::Masks => words::MASKS,
        Head::Next => words::NEXT,
        Head::Writes => words::WRITES,
    };
    found.heads.iter().map(|head| word(head).to(language)).collect::<Vec<_>>().join(" ")
}

/// A model as a row: name, abilities, precision, megabytes, length of vectors, of windows, vocabulary, number of features.
fn cells(listed: &Listed, language: Language) -> [String; 8] {
    let uses = listed.uses.len().to_string();
    let Ok(found) = &listed.found else {
        let none = String::new;
        let said = words::UNREADABLE.to(language).to_owned();
        return [listed.shown.clone(), said, none(), none(), none(), none(), none(), uses];
    };
    let or_none = |number: Option<usize>| number.map_or("–".to_owned(), |number| figures::count(number as u64));
    let vocabulary = found.vocabulary.as_ref().and_then(|vocabulary| vocabulary.as_ref().ok());
    [
        listed.shown.clone(),
        abilities(found, language),
        found.header.precision(),
        figures::number(found.bytes as f64 / 1e6, 1),
        or_none(found.hidden()),
        or_none(found.limit),
        or_none(vocabulary.map(|vocabulary| vocabulary.size)),
        uses,
    ]
}

/// How features read a model: `bert=scores`, `vector=mean-text first+last`.
fn uses(listed: &Listed) -> String {
    let how = |(name, params): &(String, crate::model::onnx::OnnxParams)| {
        let read = match params.output {
            Output::Scores => "scores".to_owned(),
            Output::Entities => "entities".to_owned(),
            Output::Surprise => "surprise".to_owned(),
            Output::Embedding => format!("{} {}", params.pooling, params.layers),
        };
        format!("{name}={read}")
    };
    listed.uses.iter().map(how).collect::<Vec<_>>().join(", ")
}

/// The particulars of a model, each with its name.
fn particulars(app: &App, listed: &Listed, found: &Description) -> Vec<(Word, String, Style)> {
    let plain = |word: Word, text: String| (word, text, look::PLAIN);
    let layers = found.layers().map_or(String::new(), |n| format!(" · {n} {}", app.say(words::LAYERS)));
    let family = if found.family.is_empty() { "–" } else { &found.family };
    let weights: u64 = found.header.weights.values().sum();
    let nodes = figures::count(found.header.nodes);
    let uses = uses(listed);
    let uses = if uses.is_empty() { app.say(words::NOT_USED).to_owned() } else { uses };
    let opset = found.header.opset.map_or(String::new(), |opset| format!(" · opset {opset}"));
    let or_none = |number: Option<usize>| number.map_or("–".to_owned(), |number| figures::count(number as u64));
    let mut said = vec![
        plain(words::PATH, listed.file.display().to_string()),
        plain(words::FAMILY, format!("{family}{layers} · {} {}", app.say(words::HIDDEN), or_none(found.hidden()))),
        plain(
            words::WEIGHTS,
            format!("{} · {} · {nodes} {}", figures::count(weights), found.header.precision(), app.say(words::NODES)),
        ),
        plain(words::LENGTH, or_none(found.limit)),
        plain(words::USES, uses),
        plain(words::HASH, short(app.onnx.hash(listed), 32)),
        plain(words::WRITTEN_BY, format!("{}{opset}", found.header.producer)),
    ];
    match &found.vocabulary {
        Some(Ok(vocabulary)) => {
            let mask = vocabulary
                .mask
                .as_deref()
                .map_or(String::new(), |mask| format!(" · {} {mask}", app.say(words::MASK_TOKEN)));
            said.insert(4, plain(words::VOCABULARY, format!("{}{mask}", figures::count(vocabulary.size as u64))));
        }
        Some(Err(error)) => said.insert(4, (words::TOKENIZER, format!("✗ {error}"), look::BAD)),
        None => {}
    }
    if !found.labels.is_empty() {
        said.insert(5.min(said.len()), plain(words::LABELS, found.labels.join(" ")));
    }
    said
}

/// The beginning of a hash; the whole of it is in the table that is copied.
fn short(hash: Option<&str>, digits: usize) -> String {
    hash.map_or("…".to_owned(), |hash| format!("{}…", hash.get(..digits).unwrap_or(hash)))
}

fn draw_particulars(app: &App, listed: &Listed, frame: &mut Frame<'_>, area: Rect) {
    let found = match &listed.found {
        Ok(found) => found,
        Err(error) => {
            let cells = usize::from(area.width);
            let rule = (area.height > PARTICULARS.0).then(|| Line::styled("─".repeat(cells), look::DIM));
            let text = width::cut(&format!("✗ {error}"), cells * usize::from(area.height));
            let lines: Vec<Line<'_>> = rule.into_iter().chain([Line::styled(text, look::BAD)]).collect();
            return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
        }
    };
    let cells = usize::from(area.width);
    let all = particulars(app, listed, found);
    if area.height <= PARTICULARS.0 {
        // What is wrong and what it is for come before what is merely good to know.
        let of = |wanted: &[Word]| {
            let named = all.iter().filter(|(word, _, _)| wanted.contains(word));
            named.map(|(word, text, _)| format!("{} {text}", app.say(*word))).collect::<Vec<_>>().join(" · ")
        };
        let hash = short(app.onnx.hash(listed), 12);
        let first = of(&[words::TOKENIZER, words::USES]);
        let second = format!("{} {hash} · {}", app.say(words::HASH), of(&[words::FAMILY, words::LABELS]));
        let wrong = all.iter().any(|(_, _, style)| *style == look::BAD);
        let lines = [(first, if wrong { look::BAD } else { look::PLAIN }), (second, look::DIM)];
        let lines: Vec<Line<'_>> = lines.map(|(text, style)| Line::styled(width::cut(&text, cells), style)).into();
        return frame.render_widget(Paragraph::new(lines), area);
    }
    let label = all.iter().map(|(word, _, _)| width::width(app.say(*word))).max().unwrap_or(0) + 1;
    let indent = " ".repeat(label);
    let mut lines = vec![Line::styled("─".repeat(cells), look::DIM)];
    for (word, text, style) in &all {
        let glyphs: Vec<_> = width::glyphs(text).collect();
        for (at, range) in width::wrap(&glyphs, cells.saturating_sub(label).max(1)).into_iter().enumerate() {
            let head = if at == 0 { width::left(app.say(*word), label) } else { indent.clone() };
            let piece: String = glyphs[range].iter().map(|glyph| &*glyph.text).collect();
            lines.push(Line::from(vec![Span::styled(head, look::DIM), Span::styled(piece, *style)]));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_pane(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let onnx = &app.onnx;
    let mut title = vec![Span::raw(" ")];
    for pane in Pane::ALL {
        let name = app.say(pane.name());
        title.push(if pane == onnx.pane {
            Span::styled(format!("[{name}]"), look::STRONG)
        } else {
            Span::styled(format!(" {name} "), look::DIM)
        });
    }
    title.push(Span::styled(format!(" {} ", app.say(words::SWITCH)), look::DIM));
    let block = look::pane(Line::from(title), onnx.inside);
    let inner = block.inner(area);
    let (count, room) = (
        match onnx.pane {
            Pane::Tensors => tensors::count(onnx),
            Pane::Meters => 0,
            Pane::Ask => ask::count(onnx),
        },
        list::rows(inner),
    );
    let seen = format!(" {}/{count} ", (onnx.scroll.top + room).min(count));
    let block = if count > room { block.title_bottom(Line::raw(seen).right_aligned()) } else { block };
    frame.render_widget(block, area);
    if onnx.models().is_empty() {
        return;
    }
    if !onnx.has_model() {
        return frame.render_widget(Line::styled(app.say(words::NO_MODEL_HERE), look::DIM), inner);
    }
    match onnx.pane {
        Pane::Tensors => tensors::draw(app, frame, inner),
        Pane::Meters => meters::draw(app, frame, inner),
        Pane::Ask => ask::draw(app, frame, inner),
    }
}

/// The models to be copied, with what there is no room for on the screen.
pub(super) fn table(onnx: &Onnx, desk: &Desk<'_>) -> Table {
    let header = [
        words::MODEL,
        words::CAN,
        words::PRECISION,
        words::MEGABYTES,
        words::HIDDEN,
        words::LENGTH,
        words::VOCABULARY,
        words::USES,
        words::HASH,
    ];
    let row = |listed: &Listed| {
        let mut row = cells(listed, desk.language).to_vec();
        if let Ok(found) = &listed.found {
            let number = |number: Option<usize>| number.map_or(String::new(), |number| number.to_string());
            let vocabulary = found.vocabulary.as_ref().and_then(|vocabulary| vocabulary.as_ref().ok());
            row[3] = (found.bytes as f64 / 1e6).to_string();
            row[4] = number(found.hidden());
            row[5] = number(found.limit);
            row[6] = number(vocabulary.map(|vocabulary| vocabulary.size));
        }
        row[7] = uses(listed);
        row.push(onnx.hash(listed).unwrap_or_default().to_owned());
        row
    };
    Table {
        header: header.map(|word| desk.say(word).to_owned()).to_vec(),
        rows: onnx.models().iter().map(row).collect(),
    }
}
