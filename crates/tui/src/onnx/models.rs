//! The list of models, and the particulars of the one that is marked.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::view::{BRIEF, list_areas};
use super::{OnnxPage, words};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::list::{self, ListColumn};
use crate::page::Table;
use crate::{Language, figures, look, sentences, width};
use inkstone_onnx::{Description, Head, Listed, OnnxParams, Output, Pooling};

use inkstone_base::language::Word;

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let models = onnx.models();
    let count = |n: usize| figures::count(n as u64);
    let place = format!("{} / {}", count((onnx.cursor.at + 1).min(models.len())), count(models.len()));
    let block = look::pane(format!(" {} · {place} ", context.say(words::LIST)), !onnx.inside);
    let empty = match &onnx.models {
        None => Some(Line::styled(context.say(words::SEARCHING), look::DIM)),
        Some(models) if models.waiting() => Some(Line::styled(context.say(words::SEARCHING), look::DIM)),
        Some(models) if models.get().is_some_and(Vec::is_empty) => Some(Line::raw(context.say(words::NO_MODELS))),
        Some(models) => models.fault().map(|fault| Line::styled(format!("✗ {fault}"), look::BAD)),
    };
    if let Some(line) = empty {
        return frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }).block(block), area);
    }
    frame.render_widget(block, area);
    let [rows, particulars] = list_areas(onnx, area);
    let wide = rows.width >= 70;
    let mut columns = vec![
        ListColumn::text(context.say(words::MODEL), 0),
        ListColumn::text(context.say(words::CAN), 15),
        ListColumn::text(context.say(words::PRECISION), 9),
        ListColumn::number(context.say(words::MEGABYTES), 7),
    ];
    if wide {
        columns.extend([
            ListColumn::number(context.say(words::HIDDEN), 4),
            ListColumn::number(context.say(words::LENGTH), 6),
            ListColumn::number(context.say(words::VOCABULARY), 7),
        ]);
    }
    // A narrow list leaves this to the particulars below it.
    if wide {
        columns
            .push(ListColumn::number(context.say(words::USES), if context.language == Language::Zh { 4 } else { 8 }));
    }
    let row = |at: usize| {
        let listed = &models[at];
        let [_, can, precision, bytes, hidden, limit, vocabulary, uses] = cells(listed, context.language);
        let mut row = vec![name(&listed.shown, name_cells(&columns, rows)), can, precision, bytes];
        if wide {
            row.extend([hidden, limit, vocabulary, uses]);
        }
        (row, if listed.found.is_ok() { look::PLAIN } else { look::BAD })
    };
    list::draw(&columns, models.len(), onnx.cursor, row, frame, rows);
    if let Some(listed) = onnx.marked() {
        draw_particulars(context, onnx, listed, frame, particulars);
    }
}

/// Cells that are left to the names of models.
fn name_cells(columns: &[ListColumn<'_>], rows: Rect) -> usize {
    let others: usize = columns.iter().map(|column| column.cells + 1).sum();
    (usize::from(rows.width) + 1).saturating_sub(others).max(6)
}

/// The name of a model in the list: its folder if the file is called `model.onnx`; cut at the front, as ends tell models apart.
fn name(shown: &str, cells: usize) -> String {
    let name = shown.strip_suffix("/model.onnx").unwrap_or(shown);
    if width::width(name) <= cells {
        return name.to_owned();
    }
    let starts = name.char_indices().map(|(at, _)| &name[at..]);
    starts.into_iter().find(|end| width::width(end) < cells).map_or(String::new(), |end| format!("…{end}"))
}

/// The abilities of a model, a word each.
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
        let unreadable = words::UNREADABLE.to(language).to_owned();
        return [listed.shown.clone(), unreadable, none(), none(), none(), none(), none(), uses];
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

/// The pooling of a feature: its own, else the one that the folder says.
fn pooling(listed: &Listed, params: &OnnxParams) -> String {
    let published = listed.found.as_ref().ok().and_then(|found| found.published.as_ref().ok());
    let stated = published.and_then(|settled| settled.iter().find(|one| one.setting == "pooling"));
    let pooling = params.pooling.as_ref().map(ToString::to_string).or(stated.map(|one| one.value.clone()));
    pooling.unwrap_or_else(|| Pooling::default().to_string())
}

/// The features that read a model and the output they read: `bert=scores`, `vector=mean-text
/// first+last`.
fn uses(listed: &Listed) -> String {
    let how = |(name, params): &(String, OnnxParams)| {
        let read = match params.output {
            Output::Scores => "scores".to_owned(),
            Output::Entities => "entities".to_owned(),
            Output::Surprise => "surprise".to_owned(),
            Output::Weights => "weights".to_owned(),
            Output::Answer => "answer".to_owned(),
            Output::Embedding => format!("{} {}", pooling(listed, params), params.layers),
        };
        format!("{name}={read}")
    };
    listed.uses.iter().map(how).collect::<Vec<_>>().join(", ")
}

/// The particulars of a model, each with its name.
fn particulars(
    context: &PageContext<'_>,
    onnx: &OnnxPage,
    listed: &Listed,
    found: &Description,
) -> Vec<(Word, String, Style)> {
    let plain = |word: Word, text: String| (word, text, look::PLAIN);
    let layers = found.layers().map_or(String::new(), |n| format!(" · {n} {}", context.say(words::LAYERS)));
    let family = if found.family.is_empty() { "–" } else { &found.family };
    let weights: u64 = found.header.weights.values().sum();
    let nodes = figures::count(found.header.nodes);
    let uses = uses(listed);
    let uses = if uses.is_empty() { context.say(words::NOT_USED).to_owned() } else { uses };
    let opset = found.header.opset.map_or(String::new(), |opset| format!(" · opset {opset}"));
    let or_none = |number: Option<usize>| number.map_or("–".to_owned(), |number| figures::count(number as u64));
    let mut lines = vec![
        plain(words::PATH, listed.file.display().to_string()),
        plain(words::FAMILY, format!("{family}{layers} · {} {}", context.say(words::HIDDEN), or_none(found.hidden()))),
        plain(
            words::WEIGHTS,
            format!(
                "{} · {} · {nodes} {}",
                figures::count(weights),
                found.header.precision(),
                context.say(words::NODES)
            ),
        ),
        plain(words::LENGTH, or_none(found.limit)),
        plain(words::USES, uses),
        plain(words::HASH, short(onnx.hash(listed), 32)),
        plain(words::WRITTEN_BY, format!("{}{opset}", found.header.producer)),
    ];
    match &found.vocabulary {
        Some(Ok(vocabulary)) => {
            let mask = vocabulary
                .mask
                .as_deref()
                .map_or(String::new(), |mask| format!(" · {} {mask}", context.say(words::MASK_NUMBER)));
            lines.insert(4, plain(words::VOCABULARY, format!("{}{mask}", figures::count(vocabulary.size as u64))));
        }
        Some(Err(error)) => lines.insert(4, (words::TOKENIZER, format!("✗ {error}"), look::BAD)),
        None => {}
    }
    match &found.published {
        Ok(stated) if stated.is_empty() => {}
        Ok(stated) => {
            let stated: Vec<String> = stated.iter().map(ToString::to_string).collect();
            lines.insert(4, plain(words::FOLDER_SAYS, stated.join(" · ")));
        }
        Err(error) => lines.insert(4, (words::FOLDER_SAYS, format!("✗ {error}"), look::BAD)),
    }
    if !found.labels.is_empty() {
        lines.insert(5.min(lines.len()), plain(words::LABELS, found.labels.join(" ")));
    }
    lines
}

/// The beginning of a hash; the whole of it is in the table that is copied.
fn short(hash: Option<&str>, digits: usize) -> String {
    hash.map_or("…".to_owned(), |hash| format!("{}…", hash.get(..digits).unwrap_or(hash)))
}

fn draw_particulars(context: &PageContext<'_>, onnx: &OnnxPage, listed: &Listed, frame: &mut Frame<'_>, area: Rect) {
    let found = match &listed.found {
        Ok(found) => found,
        Err(error) => {
            let cells = usize::from(area.width);
            let rule = (area.height > BRIEF).then(|| Line::styled("─".repeat(cells), look::DIM));
            let text = width::cut(&format!("✗ {error}"), cells * usize::from(area.height));
            let lines: Vec<Line<'_>> = rule.into_iter().chain([Line::styled(text, look::BAD)]).collect();
            return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
        }
    };
    let cells = usize::from(area.width);
    let all = particulars(context, onnx, listed, found);
    if area.height <= BRIEF {
        // Errors and uses come before mere facts.
        let joined = |wanted: &[Word]| {
            let named = all.iter().filter(|(word, _, _)| wanted.contains(word));
            named.map(|(word, text, _)| format!("{} {text}", context.say(*word))).collect::<Vec<_>>().join(" · ")
        };
        let hash = short(onnx.hash(listed), 12);
        let first = joined(&[words::TOKENIZER, words::FOLDER_SAYS, words::USES]);
        let second = format!("{} {hash} · {}", context.say(words::HASH), joined(&[words::FAMILY, words::LABELS]));
        let wrong = all.iter().any(|(_, _, style)| *style == look::BAD);
        let lines = [(first, if wrong { look::BAD } else { look::PLAIN }), (second, look::DIM)];
        let lines: Vec<Line<'_>> = lines.map(|(text, style)| Line::styled(width::cut(&text, cells), style)).into();
        return frame.render_widget(Paragraph::new(lines), area);
    }
    let label = all.iter().map(|(word, _, _)| width::width(context.say(*word))).max().unwrap_or(0) + 1;
    let indent = " ".repeat(label);
    let mut lines = vec![Line::styled("─".repeat(cells), look::DIM)];
    for (word, text, style) in &all {
        for (at, piece) in sentences::lines(text, cells.saturating_sub(label)).into_iter().enumerate() {
            let head = if at == 0 { width::left(context.say(*word), label) } else { indent.clone() };
            lines.push(Line::from(vec![Span::styled(head, look::DIM), Span::styled(piece, *style)]));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The models to be copied, with what there is no room for on the screen.
pub(super) fn table(onnx: &OnnxPage, desk: &Desk<'_>) -> Table {
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
    Table::new(desk.language, &header, onnx.models().iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::invented::{listed, vectors};
    use super::*;
    use inkstone_onnx::Settled;

    #[test]
    fn the_pooling_of_a_feature_is_its_own_or_the_folders() {
        let mut model = listed("models/bge/onnx/model.onnx", vec![vectors()], &[("near", Output::Embedding)]);
        assert_eq!(uses(&model), "near=mean last");
        let stated = Settled {
            setting: "pooling",
            value: "cls".to_owned(),
            from: Some("1_Pooling/config.json".to_owned()),
            against: None,
        };
        model.found.as_mut().unwrap().published = Ok(vec![stated]);
        assert_eq!(uses(&model), "near=cls last");
        model.uses[0].1.pooling = Some("max".parse().unwrap());
        assert_eq!(uses(&model), "near=max last");
    }
}
