//! The settings: every key of the configuration, its value, its default and what it is.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;

use super::value::{Editing, members, numbered, plain, quoted, section_of};
use super::{
    Change, FormBench, PAGE, SettingEntry, SettingGroup, Sheet, Sourcing, SourcingStep, is_below, motion,
    settings_view, words,
};
use crate::action::Action;
use crate::errand::{Errand, Messenger};
use crate::list::Cursor;

use inkstone_base::language::{Message, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormOutcome {
    Stay,
    Leave,
    /// The other language is wanted.
    Language,
}

/// The message about the last action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Notice {
    Good(Word),
    Bad(Word),
    Fault(Message),
}

pub(crate) struct SettingsForm {
    bench: FormBench,
    messenger: Messenger,
    reading: Option<Errand<Sheet>>,
    saving: Option<Errand<Sheet>>,
    pub(super) sheet: Option<Sheet>,
    /// The reason why it could not be read.
    pub(super) fault: Option<Message>,
    on_disk: String,
    /// Texts before each change.
    past: Vec<Sheet>,
    /// True if the keys of a section have the focus, not the list of sections.
    pub(super) in_keys: bool,
    pub(super) groups: Cursor,
    pub(super) keys: Cursor,
    pub(super) editing: Option<Editing>,
    pub(super) message: Option<Notice>,
    /// True if keys that matter to other models are shown.
    pub(super) all: bool,
    /// True if the next Esc drops what was changed.
    leaving: bool,
    sourcing: Option<Sourcing>,
    /// Says that another process has the project, so that nothing is changed here.
    pub(super) read_only: bool,
    /// True if the first key that is wrong is to be marked as soon as the configuration is read.
    seeks_fault: bool,
    /// The path of a key to stand on once the configuration has been read.
    seeks: Option<String>,
}

impl SettingsForm {
    /// Opens the form and reads the configuration, which is only shown where `read_only`.
    pub(crate) fn open(bench: &FormBench, messenger: Messenger, read_only: bool) -> SettingsForm {
        let mut settings = SettingsForm {
            bench: bench.clone(),
            messenger,
            reading: None,
            saving: None,
            sheet: None,
            fault: None,
            on_disk: String::new(),
            past: Vec::new(),
            in_keys: false,
            groups: Cursor::default(),
            keys: Cursor::default(),
            editing: None,
            message: None,
            all: false,
            leaving: false,
            sourcing: None,
            read_only,
            seeks_fault: false,
            seeks: None,
        };
        settings.read();
        settings
    }

    /// Opens the form at a key, as `backtest.horizons`.
    pub(crate) fn at_key(self, path: String) -> SettingsForm {
        SettingsForm { seeks: Some(path), ..self }
    }

    /// Opens the form on a configuration with faults, at the first key that is wrong.
    pub(crate) fn at_fault(bench: &FormBench, messenger: Messenger) -> SettingsForm {
        SettingsForm { seeks_fault: true, ..SettingsForm::open(bench, messenger, false) }
    }

    fn read(&mut self) {
        let read = self.bench.read.clone();
        self.reading = Some(self.messenger.send("read the configuration", move |_| read()));
    }

    pub(crate) fn waiting(&self) -> bool {
        self.reading.is_some() || self.saving.is_some() || self.sourcing.as_ref().is_some_and(Sourcing::waiting)
    }

    /// The way from a file to a source, while it lies over the form.
    pub(super) fn sourcing(&self) -> Option<&Sourcing> {
        self.sourcing.as_ref()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.sheet.as_ref().is_some_and(|sheet| sheet.text != self.on_disk)
    }

    pub(super) fn file(&self) -> String {
        self.bench.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(super) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Takes in the answers that have come, and puts marked lines into sight; true when the file has just been written.
    pub(crate) fn arrange(&mut self, area: Rect) -> bool {
        match Errand::arrived(&mut self.reading) {
            Some(Ok(sheet)) => {
                self.on_disk.clone_from(&sheet.text);
                (self.sheet, self.fault) = (Some(sheet), None);
                self.past.clear();
                if std::mem::take(&mut self.seeks_fault) {
                    self.mark_first_fault();
                } else if let Some(path) = self.seeks.take() {
                    self.mark(&path);
                }
            }
            Some(Err(fault)) => self.fault = Some(fault),
            None => {}
        }
        let mut saved = false;
        match Errand::arrived(&mut self.saving) {
            Some(Ok(sheet)) => {
                self.on_disk.clone_from(&sheet.text);
                // The former value is now a change of the value in the file.
                self.past.iter_mut().for_each(|past| past.stood = sheet.stood);
                (self.sheet, self.message) = (Some(sheet), Some(Notice::Good(words::SAVED)));
                saved = true;
            }
            Some(Err(fault)) => self.message = Some(Notice::Fault(fault)),
            None => {}
        }
        if let Some(sourcing) = &mut self.sourcing {
            sourcing.arrange(area);
        }
        let (groups, keys) = settings_view::rows(area);
        self.groups.arrange(self.sheet.as_ref().map_or(0, |sheet| sheet.groups.len()), groups);
        self.keys.arrange(self.entries().len(), keys);
        saved
    }

    pub(super) fn group(&self) -> Option<&SettingGroup> {
        self.sheet.as_ref()?.groups.get(self.groups.at)
    }

    /// The keys that are listed.
    pub(super) fn entries(&self) -> Vec<&SettingEntry> {
        let shown = |entry: &&SettingEntry| self.all || !entry.aside || entry.value.is_some();
        self.group().map_or(Vec::new(), |group| group.entries.iter().filter(shown).collect())
    }

    /// The key that is marked, and its path.
    pub(super) fn entry(&self) -> Option<(&SettingEntry, String)> {
        let entry = self.entries().get(self.keys.at).copied()?;
        Some((entry, format!("{}.{}", self.group()?.path, entry.key)))
    }

    /// Problems of a key or a section and what is below it.
    pub(super) fn faults_of(&self, path: &str) -> Vec<&str> {
        let faults = self.sheet.as_ref().map_or(&[][..], |sheet| sheet.faults.as_slice());
        faults.iter().filter(|fault| is_below(&fault.path, path)).map(|fault| &*fault.message).collect()
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match (&mut self.sourcing, &mut self.editing) {
            (Some(sourcing), _) => sourcing.paste(text),
            (None, Some(editing)) if editing.choosing.is_none() => {
                editing.field.insert(text);
                self.check_typed();
            }
            _ => {}
        }
    }

    /// Says what went wrong with what was saved.
    pub(crate) fn tell(&mut self, fault: Message) {
        self.message = Some(Notice::Fault(fault));
    }

    pub(crate) fn key(&mut self, key: &KeyEvent) -> FormOutcome {
        if let Some(sourcing) = &mut self.sourcing {
            match sourcing.key(key) {
                SourcingStep::Stay => {}
                SourcingStep::Leave => self.sourcing = None,
                SourcingStep::Done(source) => {
                    self.sourcing = None;
                    self.change(&Change::Source(source), words::ADDED);
                }
            }
            return FormOutcome::Stay;
        }
        if self.editing.is_some() {
            self.key_of_field(key);
            return FormOutcome::Stay;
        }
        let leaving = std::mem::take(&mut self.leaving);
        self.message = None;
        if let Some(action) = motion(key.code) {
            self.step(action);
            return FormOutcome::Stay;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Left | KeyCode::Char('h') if self.in_keys => self.in_keys = false,
            KeyCode::Esc | KeyCode::Char('q' | ',') if self.is_changed() && !leaving => {
                (self.leaving, self.message) = (true, Some(Notice::Bad(words::LEAVE_UNSAVED)));
            }
            KeyCode::Esc | KeyCode::Char('q' | ',') => return FormOutcome::Leave,
            KeyCode::Char('L') => return FormOutcome::Language,
            KeyCode::Tab => self.in_keys = !self.in_keys && !self.entries().is_empty(),
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') if !self.in_keys => {
                self.in_keys = !self.entries().is_empty();
            }
            KeyCode::Enter | KeyCode::Delete | KeyCode::Char(' ' | 'e' | 'd' | 'a' | 'D' | 'u' | 's')
                if self.read_only =>
            {
                self.message = Some(Notice::Bad(words::READ_ONLY));
            }
            KeyCode::Enter | KeyCode::Char(' ') => self.edit(true),
            KeyCode::Char('e') => self.edit(false),
            KeyCode::Char('d') | KeyCode::Delete => self.take_default(),
            KeyCode::Char('a') => self.add(),
            KeyCode::Char('D') => self.remove(),
            KeyCode::Char('v') => self.all = !self.all,
            KeyCode::Char('u') => {
                if let Some(sheet) = self.past.pop() {
                    self.sheet = Some(sheet);
                }
            }
            KeyCode::Char('R') => self.read(),
            KeyCode::Char('s') => self.save(),
            _ => {}
        }
        FormOutcome::Stay
    }

    fn step(&mut self, action: Action) {
        if self.in_keys {
            let count = self.entries().len();
            self.keys.step(action, count, PAGE);
        } else {
            let count = self.sheet.as_ref().map_or(0, |sheet| sheet.groups.len());
            self.groups.step(action, count, PAGE);
            self.keys = Cursor::default();
        }
    }

    /// Makes a change and takes it; true when it could be made.
    fn change(&mut self, change: &Change, done: Word) -> bool {
        let Some(sheet) = &self.sheet else { return false };
        match (self.bench.change)(sheet, change) {
            Ok(changed) => {
                self.message = Some(Notice::Good(done));
                self.past.extend(self.sheet.replace(changed));
                true
            }
            Err(error) => {
                self.message = Some(Notice::Fault(Message::of_error(&error)));
                false
            }
        }
    }

    /// Toggles, goes to the next choice, or opens the field.
    fn edit(&mut self, at_once: bool) {
        let Some((entry, path)) = self.entry() else { return };
        let written = entry.value.as_deref().or(entry.default.as_deref());
        let like = written.or(entry.example.as_deref()).unwrap_or("\"\"");
        let textual = like.starts_with(['"', '\'']);
        let next = match like {
            "true" => Some("false".to_owned()),
            "false" => Some("true".to_owned()),
            _ if entry.choices.is_empty() => None,
            list if list.starts_with('[') => {
                if at_once && members(written.unwrap_or("[]")).is_some() {
                    self.editing = Some(Editing::choosing(written.unwrap_or("[]"), &entry.choices));
                    return;
                }
                None
            }
            _ => {
                let now = plain(like);
                let at = entry.choices.iter().position(|choice| *choice == now).filter(|_| written.is_some());
                let next = at.map_or(0, |at| (at + 1) % entry.choices.len());
                Some(quoted(&entry.choices[next]))
            }
        };
        match next.filter(|_| at_once) {
            Some(next) => drop(self.set(path, next)),
            None => {
                let text = written.map(|written| if textual { plain(written) } else { written.to_owned() });
                self.editing = Some(Editing::new(text.unwrap_or_default(), textual));
            }
        }
    }

    /// Gives a key a value, and shows the fault if it is refused.
    fn set(&mut self, path: String, value: String) -> bool {
        match self.tried(&path, &value) {
            Ok(sheet) => {
                self.past.extend(self.sheet.replace(sheet));
                true
            }
            Err(faults) => {
                self.message = Some(Notice::Fault(Message::joined(&faults, Word(" · ", " · "))));
                false
            }
        }
    }

    /// The text with a key changed; fails with what is wrong with the value.
    fn tried(&self, path: &str, value: &str) -> Result<Sheet, Vec<Message>> {
        let Some(sheet) = &self.sheet else { return Err(Vec::new()) };
        let change = Change::Set(path.to_owned(), value.to_owned());
        let changed = (self.bench.change)(sheet, &change).map_err(|error| vec![Message::of_error(&error)])?;
        let own = changed.faults.iter().filter(|fault| is_below(&fault.path, path) || fault.path.is_empty());
        let faults: Vec<Message> = own.map(|fault| fault.message.clone()).collect();
        if faults.is_empty() { Ok(changed) } else { Err(faults) }
    }

    fn key_of_field(&mut self, key: &KeyEvent) {
        let Some(editing) = &mut self.editing else { return };
        match key.code {
            KeyCode::Esc => self.editing = None,
            KeyCode::Enter => {
                let value = editing.value();
                if let Some((_, path)) = self.entry()
                    && self.set(path, value)
                {
                    (self.editing, self.message) = (None, None);
                }
                self.check_typed();
            }
            code if editing.choosing.is_some() => {
                if editing.choose(code) {
                    self.check_typed();
                }
            }
            _ => {
                if editing.field.key(key) == Some(true) {
                    self.check_typed();
                }
            }
        }
    }

    /// Looks at once at what is typed.
    fn check_typed(&mut self) {
        let (Some(editing), Some((_, path))) = (&self.editing, self.entry()) else { return };
        let faults = self.tried(&path, &editing.value()).err().unwrap_or_default();
        if let Some(editing) = &mut self.editing {
            editing.faults = faults;
        }
    }

    fn take_default(&mut self) {
        let Some((entry, path)) = self.entry().filter(|(entry, _)| self.in_keys && entry.value.is_some()) else {
            return;
        };
        let repeated = path.contains('[');
        let change = match &entry.default {
            // The template writes every default down, and so do files that were made from it.
            Some(default) if !repeated => Change::Set(path, default.clone()),
            _ => Change::Unset(path),
        };
        self.change(&change, words::TO_DEFAULT);
    }

    /// Adds one more of the section that is marked: a source by way of its file, others as an example.
    fn add(&mut self) {
        let Some(section) = self.group().map(|group| section_of(&group.path).to_owned()) else { return };
        let sheet = self.sheet.as_ref();
        let sisters = |group: &&SettingGroup| section_of(&group.path) == section;
        if section == "source" {
            let names = sheet.map_or(Vec::new(), |sheet| {
                sheet.groups.iter().filter(sisters).filter_map(|group| group.name.clone()).collect()
            });
            self.sourcing = Some(Sourcing::open(&self.bench, names, &self.messenger));
        } else if self.change(&Change::Example(section.clone()), words::ADDED) {
            let groups = self.sheet.as_ref().map_or(&[][..], |sheet| sheet.groups.as_slice());
            let last = groups.iter().rposition(|group| section_of(&group.path) == section);
            (self.groups.at, self.keys) = (last.unwrap_or(self.groups.at), Cursor::default());
        }
    }

    /// Opens the way from a file to a source.
    pub(crate) fn choose_source(&mut self) {
        self.sourcing = Some(Sourcing::open(&self.bench, Vec::new(), &self.messenger));
    }

    fn remove(&mut self) {
        let Some((section, number)) = self.group().and_then(|group| numbered(&group.path)) else { return };
        self.change(&Change::Remove(section.to_owned(), number), words::REMOVED);
        self.in_keys = false;
    }

    /// Marks the first key that is wrong.
    fn mark_first_fault(&mut self) {
        let fault = self.sheet.as_ref().and_then(|sheet| sheet.faults.first());
        if let Some(path) = fault.map(|fault| fault.path.clone()) {
            self.mark(&path);
        }
    }

    /// Moves to the key at a path.
    fn mark(&mut self, path: &str) {
        let Some(sheet) = self.sheet.clone() else { return };
        let longest = |group: &(usize, &SettingGroup)| group.1.path.len();
        let groups = sheet.groups.iter().enumerate().filter(|(_, group)| is_below(path, &group.path));
        if let Some((at, group)) = groups.max_by_key(longest) {
            (self.groups.at, self.in_keys) = (at, true);
            let key = |entry: &&SettingEntry| is_below(path, &format!("{}.{}", group.path, entry.key));
            self.keys.at = self.entries().iter().position(key).unwrap_or(0);
        }
    }

    fn save(&mut self) {
        let Some(sheet) = self.sheet.clone().filter(|_| self.saving.is_none()) else { return };
        if !sheet.faults.is_empty() {
            self.message = Some(Notice::Bad(words::MEND_FIRST));
            return self.mark_first_fault();
        }
        let save = self.bench.save.clone();
        self.saving = Some(self.messenger.send("save the configuration", move |_| save(&sheet)));
    }
}
