//! Draws the mapping form: the lines of the form, what the first rows would give, and these rows.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::mapping::{FormPart, Mapping, plain};
use super::{draw_field, draw_keys, in_lines, words};
use crate::list::{self, ListColumn};
use crate::{Language, figures, look, width};
use inkstone_corpus::ingest::{Preview, Table};

use inkstone_base::language::{Message, Word};
use inkstone_base::terms::term;

/// Cells of a column of the preview at the most.
const WIDEST: usize = 26;

/// The form, the result, the rows, and the line of keys.
fn panes(area: Rect) -> [Rect; 4] {
    let keys = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    let area = Rect { height: area.height.saturating_sub(1), ..area };
    let form = if area.width >= 110 { 46 } else { 38 };
    let [left, right] = Layout::horizontal([Constraint::Length(form), Constraint::Min(0)]).areas(area);
    let [result, rows] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(right);
    [left, result, rows, keys]
}

/// Lines of the form that are seen.
pub(super) fn form_rows(area: Rect) -> usize {
    let form = panes(area)[0];
    // The frame, the titles of the columns, and three lines of what the marked one is.
    form.height.saturating_sub(2 + 1 + 3) as usize
}

impl Mapping {
    pub(super) fn draw(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let [form, result, rows, keys] = panes(area);
        self.draw_form(language, frame, form);
        self.draw_result(language, frame, result);
        self.draw_rows(language, frame, rows);
        let list: &[(&str, Word)] = if self.editing.is_some() {
            &[("Enter", words::ACCEPT), ("Esc", words::BACK)]
        } else {
            &[
                ("s", words::SAVE),
                ("←/→", words::CHANGE),
                ("Enter", words::TYPE),
                ("j/k", words::LINES),
                ("Esc", words::BACK),
            ]
        };
        draw_keys(list, language, frame, keys);
    }

    fn draw_form(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let file = self.seen.as_ref().map_or(self.draft.path.as_str(), |seen| seen.file.as_str());
        let name = file.rsplit('/').next().unwrap_or_default();
        let title = format!(" {} · {name} ", say(words::SOURCE));
        let block = look::pane(width::cut(&title, area.width.saturating_sub(2).into()), true);
        let inner = look::framed(block, frame, area);
        let [lines, about] = Layout::vertical([Constraint::Min(0), Constraint::Length(3)]).areas(inner);
        let parts = self.parts();
        let columns =
            [ListColumn::text("", 1), ListColumn::text(say(words::FIELD), 13), ListColumn::text(say(words::VALUE), 0)];
        let row = |at: usize| {
            let (sign, value, style) = self.value(parts[at], language);
            (vec![sign.to_owned(), self.label(parts[at], language), value], style)
        };
        list::draw(&columns, parts.len(), self.cursor, row, frame, lines);
        let cells = usize::from(about.width);
        match &self.editing {
            Some(field) => {
                let [first, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(about);
                draw_field("›", field, frame, first);
                let problems = Message::joined(&self.problems, Word(" · ", " · "));
                frame.render_widget(Paragraph::new(in_lines(problems.to(language), cells, look::BAD)), rest);
            }
            None => {
                let (text, style) = match (&self.refused, self.problems.is_empty()) {
                    (Some(word), true) => (say(*word).to_owned(), look::BAD),
                    (Some(word), false) => (
                        format!("{} {}", say(*word), Message::joined(&self.problems, Word(" · ", " · ")).to(language)),
                        look::BAD,
                    ),
                    (None, _) => (say(words::of_part(self.part(), self.field_name(self.part()))).to_owned(), look::DIM),
                };
                frame.render_widget(Paragraph::new(in_lines(&text, cells, style)), about);
            }
        }
    }

    fn label(&self, part: FormPart, language: Language) -> String {
        match part {
            FormPart::Field(_) => self.field_name(part).unwrap_or_default().to_owned(),
            other => words::label(other).to(language).to_owned(),
        }
    }

    /// A sign, the value, and its colour: given by the user, found by itself, or absent.
    fn value(&self, part: FormPart, language: Language) -> (&'static str, String, Style) {
        let seen = self.seen.as_ref();
        if let Some(given) = self.given(part) {
            let wrong = matches!(part, FormPart::Field(_)) && seen.is_some_and(|seen| names(&seen.missing, &given));
            return if wrong { ("✗", given, look::BAD) } else { ("✓", given, look::PLAIN) };
        }
        let found = seen.and_then(|seen| match part {
            FormPart::Format => Some(plain(&seen.format)),
            FormPart::Encoding => seen.encoding.as_ref().map(|encoded| {
                let sure = if encoded.sure < 1.0 {
                    format!("{}{} %{}", Word("（把握 ", " ("), (encoded.sure * 100.0).round(), Word("）", ")"))
                } else {
                    String::new()
                };
                format!("{}{sure}", encoded.name)
            }),
            FormPart::Delimiter => {
                seen.delimiter.map(|one| if one == '\t' { "tab".to_owned() } else { one.to_string() })
            }
            FormPart::TimeFormat => seen.times.iter().max_by_key(|time| time.1).map(|(form, _)| form.clone()),
            FormPart::Field(number) => seen.fields.get(number).and_then(|field| field.column.clone()),
            _ => None,
        });
        match found {
            Some(found) => ("·", found, look::PLAIN),
            None => {
                let field = self.field_name(part).unwrap_or("?");
                let lacks = seen
                    .is_some_and(|seen| seen.missing.iter().any(|missing| missing.en.split(' ').any(|w| w == field)));
                if lacks {
                    ("✗", words::MISSING.to(language).to_owned(), look::BAD)
                } else {
                    (" ", "–".to_owned(), look::DIM)
                }
            }
        }
    }

    fn draw_result(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let trying = if self.waiting() { format!(" {} ", say(words::TRYING)) } else { String::new() };
        let block = look::pane(format!(" {} ", say(words::FIRST_ROWS)), false).title_bottom(trying);
        let inner = look::framed(block, frame, area);
        let lines = match (&self.fault, &self.seen) {
            (Some(fault), _) => in_lines(fault, inner.width.into(), look::BAD),
            (None, None) => vec![Line::styled(say(crate::words::READING), look::DIM)],
            (None, Some(seen)) if !seen.missing.is_empty() => {
                let mut lines = vec![Line::styled(format!("✗ {}", say(words::LACKING)), look::BAD)];
                let missing = seen.missing.iter();
                lines.extend(missing.flat_map(|missing| {
                    in_lines(&format!("· {}", missing.to(language)), inner.width.into(), look::PLAIN)
                }));
                lines.extend(in_lines(say(words::MAP_THEM), inner.width.into(), look::DIM));
                lines
            }
            (None, Some(seen)) if seen.tried == 0 => vec![Line::raw(say(words::NO_ROWS))],
            (None, Some(seen)) => {
                let mut lines = result(seen, self.draft.table, inner.width.into(), language);
                if self.widened {
                    lines.extend(in_lines(say(words::WIDENED), inner.width.into(), look::NOTE));
                }
                lines
            }
        };
        frame.render_widget(Paragraph::new(lines), inner);
    }

    fn draw_rows(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let Some(seen) = &self.seen else { return frame.render_widget(look::pane("", false), area) };
        // The columns begin at the one that feeds the marked field.
        let marked = match self.part() {
            FormPart::Field(number) => seen.fields.get(number).and_then(|field| field.column.as_deref()),
            _ => None,
        };
        let first = marked.and_then(|name| seen.columns.iter().position(|column| column == name)).unwrap_or(0);
        let count = seen.columns.len();
        let place = if count == 0 { 0 } else { first + 1 };
        let title = format!(" {} · {} {place} / {count} ", say(words::PREVIEW), say(words::COLUMN));
        let block = look::pane(width::cut(&title, area.width.saturating_sub(2).into()), false);
        let inner = look::framed(block, frame, area);
        let (mut columns, mut used) = (Vec::new(), 0);
        let rows = usize::from(inner.height.saturating_sub(1));
        for (at, name) in seen.columns.iter().enumerate().skip(first) {
            let cells = seen.rows.iter().take(rows).map(|row| width::width(&cell(row, at)));
            let wide = cells.chain([width::width(name)]).max().unwrap_or(1).clamp(4, WIDEST);
            let left = usize::from(inner.width).saturating_sub(used);
            if left < 4 {
                break;
            }
            columns.push((at, wide.min(left)));
            used += wide + 1;
        }
        let line = |text: &dyn Fn(usize) -> String| -> String {
            let cells = columns.iter().map(|(at, wide)| width::left(&text(*at), *wide));
            cells.collect::<Vec<_>>().join(" ")
        };
        let mut lines = vec![Line::styled(line(&|at| seen.columns[at].clone()), look::KEY)];
        lines.extend(seen.rows.iter().take(rows).map(|row| Line::raw(line(&|at| cell(row, at)))));
        frame.render_widget(Paragraph::new(lines), inner);
    }
}

fn cell(row: &[Option<String>], at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

/// True if what is missing speaks of this column.
fn names(missing: &[Message], column: &str) -> bool {
    missing.iter().any(|missing| missing.en.contains(&format!("{column:?}")))
}

fn result<'a>(seen: &'a Preview, table: Table, cells: usize, language: Language) -> Vec<Line<'a>> {
    let say = |word: Word| word.to(language);
    let rejected = seen.tried - seen.accepted;
    let good = if rejected == 0 { look::GOOD } else { look::PLAIN };
    let bad = if rejected == 0 { look::DIM } else { look::BAD };
    let count = |n: usize| figures::count(n as u64);
    let mut lines = vec![Line::from(vec![
        Span::raw(format!("{} {} · ", say(words::TRIED), count(seen.tried))),
        Span::styled(format!("✓ {} {}", say(words::ACCEPTED), count(seen.accepted)), good),
        Span::styled(format!(" · ✗ {} {}", say(words::REFUSED), count(rejected)), bad),
    ])];
    let mut reasons: Vec<(&String, &usize)> = seen.rejected.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (reason, n) in reasons {
        let text = format!("{} {}", width::right(&count(*n), 5), width::cut(&term(reason), cells.saturating_sub(6)));
        lines.push(Line::styled(text, look::NOTE));
    }
    for (row, column, reason, value) in &seen.examples {
        let row = format!("{} {}", say(words::ROW), figures::count(*row));
        let reason = term(reason);
        let parts: Vec<&str> =
            [row.as_str(), column, &reason, value].into_iter().filter(|part| !part.is_empty()).collect();
        let text = parts.join(" · ");
        lines.push(Line::styled(width::cut(&text, cells), look::DIM));
    }
    if table == Table::Documents && rejected == 0 {
        let times = seen.times.iter().map(|(form, n)| format!("{} {form} × {}", say(words::TIMES), count(*n)));
        lines.extend(times.map(|text| Line::styled(width::cut(&text, cells), look::DIM)));
    }
    if seen.files > 1 {
        lines.push(Line::styled(format!("{} {}", say(words::FILES_IN_ALL), count(seen.files)), look::DIM));
    }
    lines
}
