//! The list of models, and the particulars of the one that is marked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::view::{BRIEF, list_areas};
use super::{OnnxPage, words};
use crate::context::PageContext;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::{Language, figures, look, sentences, width};
use inkstone_onnx::{Description, Head, Listed, OnnxParams, Output, Pooling};

use inkstone_base::language::Word;

pub(super) fn draw(context: &PageContext<'_>, onnx: &OnnxPage, frame: &mut Frame<'_>, area: Rect) {
    let models = onnx.models();
    let count = |n: usize| figures::count(n as u64);
    let place = format!("{} / {}", count((onnx.table.line() + 1).min(models.len())), count(onnx.table.len()));
    let about = onnx.table.about();
    let block = look::pane(format!(" {} · {place}{about} ", context.say(words::LIST)), !onnx.inside);
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
    onnx.table.draw(frame, rows);
    if let Some(listed) = onnx.marked() {
        draw_particulars(context, onnx, listed, frame, particulars);
    }
}

/// Lists the models, with the hashes of their files as far as those are known.
pub(super) fn fill(
    sheet: &mut ListSheet,
    models: &[Listed],
    hashes: Option<&BTreeMap<PathBuf, String>>,
    language: Language,
) {
    let (cells_of_uses, cells_of_can) = if language == Language::Zh { (4, 15) } else { (8, 20) };
    sheet.fill(hashes.is_some(), language, || {
        let columns = vec![
            text("model", words::MODEL, 0),
            text("can", words::CAN, cells_of_can),
            text("precision", words::PRECISION, 9),
            number("megabytes", words::MEGABYTES, 7),
            number("hidden", words::HIDDEN, 4).at_least(70),
            number("length", words::LENGTH, 6).at_least(70),
            number("vocabulary", words::VOCABULARY, 7).at_least(70),
            // A narrow list leaves this to the particulars below it.
            number("uses", words::USES, cells_of_uses).at_least(70),
            text("hash", words::HASH, 12).at_least(110),
        ];
        let row = |listed: &Listed| {
            let shown = &*listed.shown;
            // Of a model in a folder of its own the folder says enough; ends of paths tell models apart.
            let model =
                Cell::text(shown.to_owned()).shown(shown.strip_suffix("/model.onnx").unwrap_or(shown)).with_end();
            let mut cells = vec![model];
            match &listed.found {
                Ok(found) => {
                    let count = |number: Option<usize>| Cell::count(number.map(|number| number as u64));
                    cells.extend([
                        Cell::text(abilities(found, language)),
                        Cell::text(found.header.precision()),
                        Cell::number(found.bytes as f64 / 1e6, |size| figures::number(size, 1)),
                        count(found.hidden()),
                        count(found.limit),
                        count(size_of_vocabulary(found)),
                    ]);
                }
                Err(_) => {
                    cells.push(Cell::text(words::UNREADABLE.to(language)));
                    cells.resize(7, Cell::text(""));
                }
            }
            let hash = hashes.and_then(|hashes| hashes.get(&listed.file)).cloned();
            cells.extend([
                Cell::text(uses(listed)).shown(listed.uses.len().to_string()),
                Cell::text(hash.unwrap_or_default()),
            ]);
            let style = if listed.found.is_ok() { look::PLAIN } else { look::BAD };
            SheetRow { key: shown.to_owned(), style, cells }
        };
        (columns, models.iter().map(row).collect())
    });
}

fn size_of_vocabulary(found: &Description) -> Option<usize> {
    let vocabulary = found.vocabulary.as_ref().and_then(|vocabulary| vocabulary.as_ref().ok());
    vocabulary.map(|vocabulary| vocabulary.size)
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
