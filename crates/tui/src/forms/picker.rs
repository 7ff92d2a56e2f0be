//! The file picker: a folder, the files in it that ingest can read, and a path that is typed.

use std::path::{Path, PathBuf};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::folder::{Item, ItemKind, completed, home, look_up, read};
use super::{PAGE, draw_field, draw_keys, motion, words};
use crate::errand::{Errand, Messenger};
use crate::field::Field;
use crate::list::{self, Cursor, ListColumn};
use crate::{Language, figures, look, width};

use inkstone_base::language::{Message, Word};

pub(super) enum Picked {
    Stay,
    Leave,
    File(PathBuf),
}

pub(super) struct Picker {
    messenger: Messenger,
    folder: PathBuf,
    items: Errand<Vec<Item>>,
    /// Letters that names must have.
    filter: Option<Field>,
    /// A path that is typed.
    path: Option<Field>,
    /// A path that was typed and is looked up.
    going: Option<Errand<PathBuf>>,
    completing: Option<Errand<Option<String>>>,
    fault: Option<Message>,
    cursor: Cursor,
    /// Entry to stand on when the list has come: the folder that was left.
    came_from: Option<String>,
    /// Kind of data that the user chooses, for the title.
    pub(super) wanted: Option<Word>,
}

/// True if a text that is typed behind a folder is a path of its own: a slash behind a slash, `~`, or a pasted path from the root on.
fn begins_anew(field: &Field, text: &str) -> bool {
    let text = text.trim_start();
    (text.starts_with('/') || text.starts_with('~')) && (field.text().is_empty() || field.text().ends_with('/'))
}

impl Picker {
    pub(super) fn open(folder: &Path, messenger: Messenger) -> Picker {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let items = read(&folder, &messenger);
        Picker {
            messenger,
            folder,
            items,
            filter: None,
            path: None,
            going: None,
            completing: None,
            fault: None,
            cursor: Cursor::default(),
            came_from: None,
            wanted: None,
        }
    }

    pub(super) fn waiting(&self) -> bool {
        self.items.waiting() || self.going.is_some() || self.completing.is_some()
    }

    fn enter(&mut self, folder: PathBuf) {
        self.items = read(&folder, &self.messenger);
        self.folder = folder;
        (self.filter, self.fault, self.cursor) = (None, None, Cursor::default());
    }

    fn up(&mut self) {
        self.came_from = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        if let Some(above) = self.folder.parent().map(Path::to_owned) {
            self.enter(above);
        }
    }

    /// Entries with the letters of the filter, in the order of the folder.
    fn shown(&self) -> Vec<&Item> {
        let letters = self.filter.as_ref().map(|field| field.text().to_lowercase()).unwrap_or_default();
        let has = |item: &&Item| letters.is_empty() || item.name.to_lowercase().contains(&letters);
        self.items.get().map_or(Vec::new(), |items| items.iter().filter(has).collect())
    }

    pub(super) fn arrange(&mut self, area: Rect) {
        if self.items.look() {
            let from = self.came_from.take();
            self.cursor.at = self.shown().iter().position(|item| Some(&item.name) == from.as_ref()).unwrap_or(0);
        }
        match Errand::arrived(&mut self.going) {
            Some(Ok(path)) => {
                self.path = None;
                self.enter(path);
            }
            Some(Err(fault)) => self.fault = Some(fault),
            None => {}
        }
        if let (Some(Ok(Some(text))), Some(field)) = (Errand::arrived(&mut self.completing), &mut self.path) {
            *field = Field::new(text);
        }
        let count = self.shown().len();
        self.cursor.arrange(count, list::rows(panes(area)[1]));
    }

    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.path {
            Some(field) if begins_anew(field, text) => *field = Field::new(text.trim()),
            Some(field) => field.insert(text),
            None => self.filter.get_or_insert_with(Field::default).insert(text),
        }
    }

    pub(super) fn key(&mut self, key: &KeyEvent) -> Picked {
        if self.path.is_some() {
            return self.key_of_path(key);
        }
        let filtering = self.filter.is_some();
        let plain = (key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT)).is_empty();
        // Letters filter the names: all of them while a filter is typed, before that those that mean nothing else.
        let moves = match key.code {
            KeyCode::Char('j' | 'k') => !filtering,
            KeyCode::Char(_) => false,
            _ => true,
        };
        if let Some(action) = motion(key.code).filter(|_| moves) {
            let count = self.shown().len();
            self.cursor.step(action, count, PAGE);
            return Picked::Stay;
        }
        match key.code {
            KeyCode::Esc if filtering => self.filter = None,
            KeyCode::Esc => return Picked::Leave,
            KeyCode::Char('q') if !filtering => return Picked::Leave,
            KeyCode::Left => self.up(),
            KeyCode::Char('h') | KeyCode::Backspace if !filtering => self.up(),
            KeyCode::Tab => self.path = Some(Field::new(with_slash(&self.folder))),
            KeyCode::Char(' ') => return self.choose(true),
            KeyCode::Enter | KeyCode::Right => return self.choose(false),
            KeyCode::Char('l') if !filtering => return self.choose(false),
            KeyCode::Char('/') if !filtering => self.filter = Some(Field::default()),
            _ if filtering || plain && matches!(key.code, KeyCode::Char(_)) => {
                let field = self.filter.get_or_insert_with(Field::default);
                let changed = field.key(key) == Some(true);
                if changed {
                    self.cursor = Cursor::default();
                }
                if field.text().is_empty() && matches!(key.code, KeyCode::Backspace) {
                    self.filter = None;
                }
            }
            _ => {}
        }
        Picked::Stay
    }

    /// Takes what is marked: a file; a folder to look into, or, where the whole is meant, as a source.
    fn choose(&mut self, whole: bool) -> Picked {
        let Some((sort, path)) = self.shown().get(self.cursor.at).map(|item| (item.sort.clone(), item.path.clone()))
        else {
            return Picked::Stay;
        };
        match sort {
            ItemKind::Folder(_) if whole => return Picked::File(path),
            ItemKind::Folder(_) => self.enter(path),
            ItemKind::Lost(why) => self.fault = Some(why),
            ItemKind::Usable(_) | ItemKind::Other => return Picked::File(path),
        }
        Picked::Stay
    }

    fn key_of_path(&mut self, key: &KeyEvent) -> Picked {
        let Some(field) = &mut self.path else { return Picked::Stay };
        match key.code {
            KeyCode::Esc => (self.path, self.fault) = (None, None),
            KeyCode::Tab => {
                let (folder, typed) = (self.folder.clone(), field.text().to_owned());
                self.completing = Some(self.messenger.send("complete a path", move |_| Ok(completed(&folder, &typed))));
            }
            KeyCode::Enter => {
                let path = self.folder.join(home(field.text()));
                // A file is told from a folder where it may take its time.
                if path.extension().is_some() {
                    return Picked::File(path);
                }
                self.going = Some(self.messenger.send("look up a path", move |_| look_up(path)));
            }
            KeyCode::Char(one @ ('/' | '~')) if begins_anew(field, &one.to_string()) => {
                (*field, self.fault) = (Field::new(one), None);
            }
            _ => {
                if field.key(key) == Some(true) {
                    self.fault = None;
                }
            }
        }
        Picked::Stay
    }

    pub(super) fn draw(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        let say = |word: Word| word.to(language);
        let [head, body, foot, keys] = panes_with_frame(area);
        let wanted = self.wanted.map(|word| format!("· {} ", say(word))).unwrap_or_default();
        let block = look::pane(format!(" {} {wanted}", say(words::CHOOSE_FILE)), true);
        frame.render_widget(block, frame_of(area));
        match (&self.path, &self.filter) {
            (Some(path), _) => draw_field(say(words::PATH), path, frame, head),
            (None, Some(filter)) => draw_field(say(words::FILTER), filter, frame, head),
            (None, None) => {
                let folder = self.folder.display().to_string();
                frame.render_widget(Line::styled(width::cut(&folder, head.width.into()), look::STRONG), head);
            }
        }
        let shown = self.shown();
        if let Some(fault) = self.items.fault() {
            frame.render_widget(Paragraph::new(Line::styled(fault, look::BAD)).wrap(Wrap { trim: false }), body);
        } else if self.items.waiting() {
            frame.render_widget(Line::styled(say(crate::words::READING), look::DIM), body);
        } else if shown.is_empty() {
            let empty = if self.filter.is_some() { words::NO_SUCH_NAME } else { words::EMPTY_FOLDER };
            frame.render_widget(Line::raw(say(empty)), body);
        } else {
            let columns = [
                ListColumn::text("", 1),
                ListColumn::text(say(words::FILE_NAME), 0),
                ListColumn::text(say(words::FILE_SORT), 12),
                ListColumn::number(say(words::FILE_SIZE), 9),
                ListColumn::text(say(words::FILE_CHANGED), 16),
            ];
            let row = |at: usize| {
                let item = shown[at];
                let (sign, sort, style) = match &item.sort {
                    ItemKind::Folder(0) => (" ", say(words::FOLDER).to_owned(), look::STRONG),
                    ItemKind::Folder(count) => ("●", format!("{} {count}", say(words::PAPERS)), look::STRONG),
                    ItemKind::Usable(kind) => ("●", kind.clone(), look::PLAIN),
                    ItemKind::Other => (" ", String::new(), look::DIM),
                    ItemKind::Lost(_) => ("✗", say(words::LOST).to_owned(), look::BAD),
                };
                let slash = if matches!(item.sort, ItemKind::Folder(_)) { "/" } else { "" };
                let link = if item.link { " →" } else { "" };
                let size = matches!(item.sort, ItemKind::Usable(_) | ItemKind::Other).then(|| bytes(item.size));
                let changed = item.changed.map(|time| time.format("%Y-%m-%d %H:%M").to_string());
                let name = format!("{}{slash}{link}", item.name);
                (vec![sign.to_owned(), name, sort, size.unwrap_or_default(), changed.unwrap_or_default()], style)
            };
            list::draw(&columns, shown.len(), self.cursor, row, frame, body);
        }
        let line = match &self.fault {
            Some(fault) => Line::styled(width::cut(fault, foot.width.into()), look::BAD),
            None => Line::styled(
                format!("{} / {}  ● {}", (self.cursor.at + 1).min(shown.len()), shown.len(), say(words::CAN_BE_READ)),
                look::DIM,
            ),
        };
        frame.render_widget(line, foot);
        let list: &[(&str, Word)] = if self.path.is_some() {
            &[("Enter", words::GO), ("Tab", words::COMPLETE), ("Esc", words::BACK)]
        } else {
            &[
                ("Enter", words::TAKE),
                ("Space", words::TAKE_FOLDER),
                ("←/h", words::UP),
                ("/", words::FILTER),
                ("Tab", words::TYPE_PATH),
                ("Esc", words::BACK),
            ]
        };
        draw_keys(list, language, frame, keys);
    }
}

fn frame_of(area: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(1), ..area }
}

/// The line of the path, and the list.
fn panes(area: Rect) -> [Rect; 2] {
    let [head, body, ..] = panes_with_frame(area);
    [head, body]
}

fn panes_with_frame(area: Rect) -> [Rect; 4] {
    let line = Constraint::Length(1);
    let framed = frame_of(area);
    let [head, body, foot] = Layout::vertical([line, Constraint::Min(0), line]).areas(look::inside(framed));
    [head, body, foot, Rect { y: framed.bottom(), height: area.height.min(1), ..area }]
}

/// A size in the unit that people say.
fn bytes(size: u64) -> String {
    match size {
        0..10_000 => format!("{} B", figures::count(size)),
        10_000..10_000_000 => format!("{} KB", figures::count(size / 1000)),
        10_000_000..10_000_000_000 => format!("{} MB", figures::count(size / 1_000_000)),
        _ => format!("{} GB", figures::count(size / 1_000_000_000)),
    }
}

fn with_slash(folder: &Path) -> String {
    let text = folder.display().to_string();
    if text.ends_with('/') { text } else { text + "/" }
}
