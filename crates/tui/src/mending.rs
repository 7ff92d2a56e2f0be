//! The settings on a configuration that cannot be read: shown in place of the workbench, which opens once the configuration is saved without
//! a fault.

use std::sync::mpsc::Sender;

use crossterm::event::{KeyCode, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::crash::Whereabouts;
use super::errand::{Errand, Messenger};
use super::event::Event;
use super::forms::{FormBench, FormOutcome, SettingsForm};
use super::scene::Scene;
use super::theme::{Depth, Shade, Theme};
use super::{Language, Reopen, Workspace};

/// The functions behind the settings of a configuration that cannot be read.
#[derive(Clone)]
pub struct MendingBench {
    pub forms: FormBench,
    /// Opens the workbench on the configuration as it is now.
    pub open: Reopen,
    pub language: Language,
    /// Worker threads; 0 takes every core.
    pub threads: usize,
}

pub struct Mending {
    bench: MendingBench,
    messenger: Messenger,
    settings: SettingsForm,
    theme: Theme,
    size: Rect,
    opening: Option<Errand<Workspace>>,
    opened: Option<Workspace>,
    quit: bool,
}

impl Mending {
    /// The settings at the first fault, on a screen of this size; errands report to `events`.
    pub fn new(bench: MendingBench, size: (u16, u16), events: Sender<Event>) -> Mending {
        let messenger = Messenger::new(bench.threads, 1, events);
        Mending {
            settings: SettingsForm::at_fault(&bench.forms, messenger.clone()),
            messenger,
            theme: Theme::new(Shade::Auto, Depth::Auto, None, |name| std::env::var(name).ok()),
            size: Rect::new(0, 0, size.0, size.1),
            opening: None,
            opened: None,
            quit: false,
            bench,
        }
    }

    /// The workspace that was opened; none if the user left.
    pub fn into_opened(self) -> Option<Workspace> {
        self.opened
    }

    pub fn waiting(&self) -> bool {
        self.opening.is_some() || self.settings.waiting()
    }

    fn arrange(&mut self) {
        if self.settings.arrange(self.size) {
            let (open, language) = (self.bench.open.clone(), self.bench.language);
            self.opening = Some(self.messenger.send("open a project", move |_| Ok(Workspace { language, ..open()? })));
        }
        match Errand::arrived(&mut self.opening) {
            Some(Ok(workspace)) => self.opened = Some(workspace),
            Some(Err(fault)) => self.settings.tell(fault),
            None => {}
        }
    }
}

impl Scene for Mending {
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => return false,
            Event::Key(key) if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') => {
                self.quit = true;
            }
            Event::Key(key) => match self.settings.key(&key) {
                FormOutcome::Stay => {}
                FormOutcome::Leave => self.quit = true,
                FormOutcome::Language => {
                    self.bench.language = if self.bench.language == Language::Zh { Language::En } else { Language::Zh };
                }
            },
            Event::Paste(text) => self.settings.paste(&text),
            Event::Resize(width, height) => self.size = Rect::new(0, 0, width, height),
            Event::End => self.quit = true,
            Event::Back => {}
            _ => return false,
        }
        self.arrange();
        true
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        self.settings.draw(self.bench.language, frame, frame.area());
        self.theme.paint(frame.buffer_mut());
    }

    fn place(&self) -> Whereabouts {
        Whereabouts { page: "Settings", size: (self.size.width, self.size.height), typing: true }
    }

    fn is_over(&self) -> bool {
        self.quit || self.opened.is_some()
    }
}
