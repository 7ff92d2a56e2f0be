//! From a file to a `[[source]]`: the picker, then the mapping.

use std::path::{Path, PathBuf};

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::FormBench;
use super::mapping::{Mapped, Mapping};
use super::picker::{Picked, Picker};
use crate::Language;
use crate::errand::Messenger;
use inkstone_base::language::Word;
use inkstone_corpus::ingest::Source;

pub(crate) enum SourcingStep {
    Stay,
    /// The user went back.
    Leave,
    Done(Box<Source>),
}

/// The two forms; the picker stands where it was when the mapping is left.
pub(crate) struct Sourcing {
    bench: FormBench,
    messenger: Messenger,
    /// Names that other sources have.
    taken: Vec<String>,
    picker: Picker,
    mapping: Option<Mapping>,
}

impl Sourcing {
    /// Opens in the folder of the configuration.
    pub(crate) fn open(bench: &FormBench, taken: Vec<String>, messenger: &Messenger) -> Sourcing {
        let picker = Picker::open(&bench.folder, messenger.clone());
        Sourcing { bench: bench.clone(), messenger: messenger.clone(), taken, picker, mapping: None }
    }

    /// Opens in the folder of a source that was chosen before, if there is one.
    pub(crate) fn beside(mut self, source: Option<&str>) -> Sourcing {
        let file = source.map(|source| self.bench.folder.join(source));
        if let Some(folder) = file.as_deref().and_then(Path::parent).filter(|folder| folder.is_dir()) {
            self.picker = Picker::open(folder, self.messenger.clone());
        }
        self
    }

    /// Says in the title what is to be chosen.
    pub(crate) fn wanting(mut self, what: Option<Word>) -> Sourcing {
        self.picker.wanted = what;
        self
    }

    pub(crate) fn waiting(&self) -> bool {
        self.picker.waiting() || self.mapping.as_ref().is_some_and(Mapping::waiting)
    }

    pub(crate) fn key(&mut self, key: &KeyEvent) -> SourcingStep {
        match &mut self.mapping {
            Some(mapping) => match mapping.key(key) {
                Mapped::Stay => {}
                Mapped::Leave => self.mapping = None,
                Mapped::Done(source) => return SourcingStep::Done(source),
            },
            None => match self.picker.key(key) {
                Picked::Stay => {}
                Picked::Leave => return SourcingStep::Leave,
                Picked::File(path) => {
                    let path = below(&path, &self.bench.folder);
                    self.mapping = Some(Mapping::open(&path, &self.taken, &self.bench, &self.messenger));
                }
            },
        }
        SourcingStep::Stay
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.mapping {
            Some(mapping) => mapping.paste(text),
            None => self.picker.paste(text),
        }
    }

    pub(crate) fn arrange(&mut self, area: Rect) {
        match &mut self.mapping {
            Some(mapping) => mapping.arrange(area),
            None => self.picker.arrange(area),
        }
    }

    pub(crate) fn draw(&self, language: Language, frame: &mut Frame<'_>, area: Rect) {
        match &self.mapping {
            Some(mapping) => mapping.draw(language, frame, area),
            None => self.picker.draw(language, frame, area),
        }
    }
}

/// A path as the configuration has it: relative to its folder where it is below, with `/`.
fn below(path: &Path, folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let relative: PathBuf = path.strip_prefix(&folder).unwrap_or(path).to_owned();
    let text = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    if text.is_empty() { ".".to_owned() } else { text }
}
