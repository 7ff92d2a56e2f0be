//! Draws the settings: sections, their keys, and a description of the marked one.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::settings::{Notice, SettingsForm};
use super::value::{Choosing, plain, section_of};
use super::{SettingEntry, SettingGroup, draw_field, draw_keys, in_lines, words};
use crate::list::{self, ListColumn};
use crate::{Language, look, width};

use inkstone_base::language::Word;

/// Sections and their Chinese names.
const NAMES: &[(&str, &str)] = &[
    ("project", "项目"),
    ("source", "数据源"),
    ("ingest", "导入"),
    ("vault", "封存期"),
    ("clean", "清洗"),
    ("link", "链接公司"),
    ("structure", "结构"),
    ("tokenizer", "切词"),
    ("market", "交易日"),
    ("rewrite", "改写"),
    ("event", "事件"),
    ("feature", "特征"),
    ("factor", "因子"),
    ("backtest", "回测"),
    ("events", "事件研究"),
    ("lint", "未来函数检查"),
    ("experiment", "对比实验"),
    ("export", "导出"),
    ("report", "报告"),
    ("on", "通知"),
    ("onnx", "上下文模型"),
    ("ui", "界面"),
];

/// Sections, keys, what the marked key is, and the line of keys.
fn panes(area: Rect) -> [Rect; 4] {
    let keys = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    let area = Rect { height: area.height.saturating_sub(1), ..area };
    let left = if area.width >= 110 { 30 } else { 24 };
    let [groups, right] = Layout::horizontal([Constraint::Length(left), Constraint::Min(0)]).areas(area);
    let about = if area.height >= 30 { 10 } else { 8 };
    let [list, about] = Layout::vertical([Constraint::Min(0), Constraint::Length(about)]).areas(right);
    [groups, list, about, keys]
}

/// Lines of sections and of keys that are seen.
pub(super) fn rows(area: Rect) -> (usize, usize) {
    let [groups, list, ..] = panes(area);
    (groups.height.saturating_sub(2).into(), list.height.saturating_sub(3).into())
}

/// Draws the members that a list may have, those that it has with a cross; the number of lines.
fn draw_choices(choosing: &Choosing, frame: &mut Frame<'_>, area: Rect) -> u16 {
    let wide = usize::from(area.width);
    let (mut lines, mut used) = (vec![Line::default()], 0);
    for (at, member) in choosing.choices.iter().enumerate() {
        let sign = if choosing.chosen.contains(member) { 'x' } else { ' ' };
        let text = width::cut(&format!("[{sign}] {member}"), wide.saturating_sub(2));
        let cells = width::width(&text) + 2;
        if used > 0 && used + cells > wide {
            lines.push(Line::default());
            used = 0;
        }
        used += cells;
        let style = if at == choosing.at { look::SELECTED } else { look::PLAIN };
        if let Some(line) = lines.last_mut() {
            line.push_span(Span::styled(text, style));
            line.push_span(Span::raw("  "));
        }
    }
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
    frame.render_widget(Paragraph::new(lines), Rect { height: count, ..area });
    count
}

impl SettingsForm {
    pub(crate) fn draw(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        frame.render_widget(Clear, area);
        if let Some(sourcing) = self.sourcing() {
            return sourcing.draw(language, frame, area);
        }
        let say = |word: Word| word.to(language);
        let [groups, list, about, keys] = panes(area);
        let Some(sheet) = &self.sheet else {
            let (text, style) = match &self.fault {
                Some(fault) => (&**fault, look::BAD),
                None => (say(crate::words::READING), look::DIM),
            };
            let block = look::pane(format!(" {} ", say(words::SETTINGS)), true);
            let area = Rect { height: area.height.saturating_sub(1), ..area };
            let lines = in_lines(text, area.width.saturating_sub(2).into(), style);
            frame.render_widget(Paragraph::new(lines).block(block), area);
            return draw_keys(&[("Esc", words::LEAVE)], language, frame, keys);
        };
        self.draw_groups(&sheet.groups, language, frame, groups);
        self.draw_list(language, frame, list);
        self.draw_about(language, frame, about);
        let list: &[(&str, Word)] = if self.editing.as_ref().is_some_and(|editing| editing.choosing.is_some()) {
            &[("Space", words::TAKE), ("←/→", words::LINES), ("Enter", words::ACCEPT), ("Esc", words::BACK)]
        } else if self.editing.is_some() {
            &[("Enter", words::ACCEPT), ("Esc", words::BACK)]
        } else if self.read_only && self.in_keys {
            &[("v", words::ALL_KEYS), ("Esc", words::BACK)]
        } else if self.read_only {
            &[("Enter", words::SECTION), ("R", words::REREAD), ("Esc", words::LEAVE)]
        } else if self.in_keys {
            &[
                ("Enter", words::EDIT),
                ("e", words::TYPE),
                ("d", words::TO_DEFAULT),
                ("s", words::SAVE),
                ("u", words::UNDO),
                ("v", words::ALL_KEYS),
                ("Esc", words::BACK),
            ]
        } else {
            &[
                ("Enter", words::SECTION),
                ("a", words::ADD),
                ("D", words::REMOVE),
                ("s", words::SAVE),
                ("u", words::UNDO),
                ("R", words::REREAD),
                ("Esc", words::LEAVE),
            ]
        };
        draw_keys(list, language, frame, keys);
    }

    fn draw_groups(&self, groups: &[SettingGroup], language: Language, frame: &mut Frame<'_>, area: Rect) {
        let title = words::SECTIONS.to(language);
        let place = format!(" {} / {} ", (self.groups.at + 1).min(groups.len()), groups.len());
        let block = look::pane(format!(" {title} "), !self.in_keys).title_bottom(place);
        let inner = look::framed(block, frame, area);
        let cells = usize::from(inner.width);
        let mut lines = Vec::new();
        for (at, group) in groups.iter().enumerate().skip(self.groups.top).take(inner.height.into()) {
            let wrong = !self.faults_of(&group.path).is_empty() && group.count.is_none();
            let text = match (&group.name, group.count) {
                (_, Some(count)) => format!("{} ({count})", title_of(&group.path, language)),
                (Some(name), None) => format!("  {name}"),
                (None, None) if group.path.contains('[') => format!("  {}", group.path),
                (None, None) => title_of(&group.path, language),
            };
            let style = if wrong { look::BAD } else { look::PLAIN };
            let style = if at == self.groups.at { style.patch(look::SELECTED) } else { style };
            let sign = if wrong { "✗" } else { " " };
            lines.push(Line::styled(width::left(&format!("{sign}{text}"), cells), style));
        }
        frame.render_widget(Paragraph::new(lines), inner);
    }

    fn draw_list(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let path = self.group().map(|group| group.path.as_str()).unwrap_or_default();
        let state = if self.read_only {
            format!(" · {}", say(crate::jobs::words::READ_ONLY))
        } else if self.is_saving() {
            format!(" · {}", say(words::SAVING))
        } else if self.is_changed() {
            format!(" · {}", say(words::UNSAVED))
        } else {
            String::new()
        };
        let title = format!(" {} · {}{state} ", self.file(), path);
        let block = look::pane(width::cut(&title, area.width.saturating_sub(2).into()), self.in_keys);
        let faults = self.sheet.as_ref().map_or(0, |sheet| sheet.faults.len());
        let block = if faults > 0 {
            let words = say(if faults == 1 { words::FAULT } else { words::FAULTS });
            block.title_bottom(Line::styled(format!(" ✗ {faults} {words} "), look::BAD))
        } else {
            block
        };
        let inner = look::framed(block, frame, area);
        let entries = self.entries();
        if entries.is_empty() {
            let none = self.group().is_none_or(|group| group.count == Some(0));
            return frame.render_widget(Line::raw(say(if none { words::NO_KEYS } else { words::CHOOSE_ONE })), inner);
        }
        let wide = if inner.width >= 70 { 30 } else { 20 };
        let columns = [
            ListColumn::text("", 1),
            ListColumn::text(say(words::KEY), wide),
            ListColumn::text(say(words::VALUE), 0),
            ListColumn::text(say(words::DEFAULT), if inner.width >= 70 { 22 } else { 14 }),
        ];
        let row = |at: usize| {
            let entry = entries[at];
            let wrong = !self.faults_of(&format!("{path}.{}", entry.key)).is_empty();
            let own = entry.value.is_some() && entry.value != entry.default;
            let (sign, style) = match (wrong, own) {
                (true, _) => ("✗", look::BAD),
                (false, true) => ("•", look::PLAIN),
                (false, false) => (" ", if entry.value.is_some() { look::PLAIN } else { look::DIM }),
            };
            let value = entry.value.as_deref().map_or_else(|| "–".to_owned(), shown);
            let default = entry.default.as_deref().map_or_else(|| "–".to_owned(), shown);
            (vec![sign.to_owned(), entry.key.clone(), value, default], style)
        };
        list::draw(&columns, entries.len(), self.keys, row, frame, inner);
    }

    fn draw_about(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let title = match self.entry() {
            Some((_, path)) => format!(" {path} "),
            None => String::new(),
        };
        let block = look::pane(width::cut(&title, area.width.saturating_sub(2).into()), self.editing.is_some());
        let mut inner = look::framed(block, frame, area);
        let cells = usize::from(inner.width);
        let mut lines: Vec<Line<'_>> = Vec::new();
        let mut add = |text: String, style| lines.extend(in_lines(&text, cells, style));
        if let Some(editing) = &self.editing {
            let shown = match &editing.choosing {
                Some(choosing) => draw_choices(choosing, frame, inner),
                None => {
                    draw_field("›", &editing.field, frame, Rect { height: inner.height.min(1), ..inner });
                    1
                }
            };
            inner = Rect { y: inner.y + shown, height: inner.height.saturating_sub(shown), ..inner };
            for fault in &editing.faults {
                add(format!("✗ {} {fault}", say(words::NOT_TAKEN)), look::BAD);
            }
        }
        match &self.message {
            Some(Notice::Good(word)) => add(say(*word).to_owned(), look::NOTE),
            Some(Notice::Bad(word)) => add(say(*word).to_owned(), look::BAD),
            Some(Notice::Fault(fault)) if self.editing.is_none() => add(format!("✗ {fault}"), look::BAD),
            _ => {}
        }
        match self.entry() {
            Some((entry, path)) => {
                if self.editing.is_none() {
                    self.faults_of(&path).iter().for_each(|fault| add(format!("✗ {fault}"), look::BAD));
                }
                about(entry, language).into_iter().for_each(|text| add(text, look::PLAIN));
            }
            None => {
                let path = self.group().map(|group| group.path.as_str()).unwrap_or_default();
                self.faults_of(path).iter().for_each(|fault| add(format!("✗ {fault}"), look::BAD));
            }
        }
        // An error of a whole section, or of the file, stands with every key of the section.
        let path = self.group().map(|group| group.path.clone()).unwrap_or_default();
        let faults = self.sheet.as_ref().map_or(&[][..], |sheet| sheet.faults.as_slice());
        for fault in faults.iter().filter(|fault| fault.path == path || fault.path.is_empty()) {
            add(format!("✗ {}: {}", fault.line, fault.message), look::BAD);
        }
        frame.render_widget(Paragraph::new(lines), inner);
    }
}

/// The description of a key in the language of the screen, if there is one, and the values that it
/// can have.
fn about(entry: &SettingEntry, language: Language) -> Vec<String> {
    let say = |word: Word| word.to(language);
    let [chinese, english] = &entry.description;
    let description = if language == Language::Zh && !chinese.is_empty() { chinese } else { english };
    let mut lines = Vec::new();
    if !description.is_empty() {
        lines.push(description.clone());
    }
    if !entry.choices.is_empty() {
        lines.push(format!("{}: {}", say(words::CHOICES), entry.choices.join(" | ")));
    }
    match (&entry.default, &entry.example) {
        (Some(default), _) => lines.push(format!("{}: {}", say(words::DEFAULT), shown(default))),
        (None, Some(example)) => lines.push(format!("{}: {}", say(words::EXAMPLE), shown(example))),
        (None, None) => {}
    }
    lines
}

/// A value on one line: a text without quotes, unless nothing would be seen of it.
fn shown(value: &str) -> String {
    let text = plain(value);
    let plain = if text.is_empty() { value.to_owned() } else { text };
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn title_of(path: &str, language: Language) -> String {
    let name = section_of(path);
    match NAMES.iter().find(|(known, _)| *known == name) {
        Some((_, chinese)) if language == Language::Zh => format!("{name} {chinese}"),
        _ => name.to_owned(),
    }
}
