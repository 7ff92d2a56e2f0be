//! The first screen: what can be done in a folder without a project. A demo, a file of one's own, the guide.
//!
//! It is a scene of its own before the workbench; whatever is chosen ends in a [`Workspace`], which the same terminal shows
//! next. What goes wrong on the way is said here, and another choice can be made.

mod chain;
mod guide;
mod view;
pub(crate) mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use anyhow::Result;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::crash::Whereabouts;
use super::errand::{Errand, Messenger};
use super::event::Event;
use super::forms::{FormBench, Sourcing, SourcingStep};
use super::scene::Scene;
use super::theme::{Depth, Shade, Theme};
use super::{Language, Reopen, Workspace};
use chain::{Chain, ChainStep};
use guide::Guide;
use inkstone_corpus::ingest::Source;

use inkstone_base::language::Message;

/// Opens a project that begins with these sources, and with a feature and a factor of tone if so.
pub type Begin = Arc<dyn Fn(&[Source], bool) -> Result<Workspace> + Send + Sync>;

/// The functions behind the first screen.
#[derive(Clone)]
pub struct WelcomeBench {
    pub demo: Reopen,
    /// Projects within the folder, by the name of their folder, the one that was changed last first.
    pub projects: Vec<(String, Reopen)>,
    /// Writes a configuration with this source and opens it.
    pub begin: Begin,
    /// The functions behind the forms, on the configuration that is not there yet.
    pub forms: FormBench,
    /// Language to begin with; a key changes it.
    pub language: Language,
    /// Worker threads; 0 takes every core.
    pub threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Demo,
    File,
    Guide,
    /// The project of this number.
    Project(usize),
}

pub struct Welcome {
    bench: WelcomeBench,
    messenger: Messenger,
    language: Language,
    theme: Theme,
    size: Rect,
    /// The folder without a project, from the root on.
    folder: PathBuf,
    marked: usize,
    guide: Option<Guide>,
    sourcing: Option<Sourcing>,
    /// The sources that were chosen so far, and what is asked next.
    chain: Option<Chain>,
    opening: Option<Errand<Workspace>>,
    opened: Option<Workspace>,
    fault: Option<Message>,
    quit: bool,
}

impl Welcome {
    /// The screen at this size; errands report to `events`.
    pub fn new(bench: WelcomeBench, size: (u16, u16), events: Sender<Event>) -> Welcome {
        let folder = std::path::absolute(&bench.forms.folder).unwrap_or_else(|_| bench.forms.folder.clone());
        Welcome {
            folder,
            messenger: Messenger::new(bench.threads, 1, events),
            language: bench.language,
            theme: Theme::new(Shade::Auto, Depth::Auto, None, |name| std::env::var(name).ok()),
            size: Rect::new(0, 0, size.0, size.1),
            marked: 0,
            guide: None,
            sourcing: None,
            chain: None,
            opening: None,
            opened: None,
            fault: None,
            quit: false,
            bench,
        }
    }

    /// The workspace that was opened; none if the user left.
    pub fn into_opened(self) -> Option<Workspace> {
        self.opened
    }

    pub fn waiting(&self) -> bool {
        self.opening.is_some() || self.sourcing.as_ref().is_some_and(Sourcing::waiting)
    }

    fn open(&mut self, open: impl FnOnce() -> Result<Workspace> + Send + 'static) {
        // The language that was chosen here goes on.
        let language = self.language;
        self.fault = None;
        self.opening = Some(self.messenger.send("open a project", move |_| Ok(Workspace { language, ..open()? })));
    }

    fn choices(&self) -> Vec<Choice> {
        let projects = (0..self.bench.projects.len()).map(Choice::Project);
        [Choice::Demo, Choice::File, Choice::Guide].into_iter().chain(projects).collect()
    }

    fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Demo => {
                let demo = self.bench.demo.clone();
                self.open(move || demo());
            }
            Choice::Project(number) => {
                if let Some((_, project)) = self.bench.projects.get(number).cloned() {
                    self.open(move || project());
                }
            }
            Choice::File => self.sourcing = Some(Sourcing::open(&self.bench.forms, Vec::new(), &self.messenger)),
            Choice::Guide => self.guide = Some(Guide::default()),
        }
    }

    fn key(&mut self, key: &KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            self.quit = true;
        } else if self.opening.is_some() {
            // Esc gives up; what is under way ends by itself.
            if key.code == KeyCode::Esc {
                self.opening = None;
            }
        } else if let Some(sourcing) = &mut self.sourcing {
            match sourcing.key(key) {
                SourcingStep::Stay => {}
                SourcingStep::Leave => self.sourcing = None,
                SourcingStep::Done(source) => {
                    self.sourcing = None;
                    match &mut self.chain {
                        Some(chain) => chain.add(*source),
                        None => self.chain = Some(Chain::new(*source)),
                    }
                }
            }
        } else if key.code == KeyCode::Char('L') {
            self.language = if self.language == Language::Zh { Language::En } else { Language::Zh };
        } else if let Some(chain) = &mut self.chain {
            match chain.key(key) {
                ChainStep::Stay => {}
                ChainStep::Leave => self.chain = None,
                ChainStep::Choose => {
                    let sourcing = Sourcing::open(&self.bench.forms, chain.names(), &self.messenger);
                    let before = chain.sources.last().map(|source| source.path.as_str());
                    self.sourcing = Some(sourcing.beside(before).wanting(chain.wanted()));
                }
                ChainStep::Begin(with_tone) => {
                    let (begin, sources) = (self.bench.begin.clone(), chain.sources.clone());
                    self.open(move || begin(&sources, with_tone));
                }
            }
        } else if let Some(guide) = &mut self.guide {
            if !guide.key(key) {
                self.guide = None;
            }
        } else {
            self.key_of_choices(key);
        }
    }

    fn key_of_choices(&mut self, key: &KeyEvent) {
        let choices = self.choices();
        let last = choices.len() - 1;
        match key.code {
            KeyCode::Char(digit @ '1'..='9') => self.choose(Choice::Project(digit as usize - '1' as usize)),
            KeyCode::Char('d') => self.choose(Choice::Demo),
            KeyCode::Char('o') => self.choose(Choice::File),
            KeyCode::Char('g' | '?') => self.choose(Choice::Guide),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => self.marked = (self.marked + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => self.marked = self.marked.saturating_sub(1),
            KeyCode::Enter => self.choose(choices[self.marked]),
            KeyCode::Char('q') | KeyCode::Esc => self.quit = true,
            _ => {}
        }
    }

    fn arrange(&mut self) {
        match Errand::arrived(&mut self.opening) {
            Some(Ok(workspace)) => self.opened = Some(workspace),
            Some(Err(fault)) => (self.fault, self.chain) = (Some(fault), None),
            None => {}
        }
        let area = self.size;
        if let Some(sourcing) = &mut self.sourcing {
            sourcing.arrange(area);
        }
        if let Some(guide) = &mut self.guide {
            guide.arrange(self.language, area);
        }
    }
}

impl Scene for Welcome {
    fn take(&mut self, event: Event) -> bool {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(&key),
            Event::Paste(text) => {
                if let Some(sourcing) = &mut self.sourcing {
                    sourcing.paste(&text);
                }
            }
            Event::Resize(width, height) => self.size = Rect::new(0, 0, width, height),
            Event::End => self.quit = true,
            Event::Back => {}
            _ => return false,
        }
        self.arrange();
        true
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        view::draw(self, frame);
        self.theme.paint(frame.buffer_mut());
    }

    fn place(&self) -> Whereabouts {
        // The meaning of keys on this page is not looked up: none of their letters is kept.
        Whereabouts { page: "Welcome", size: (self.size.width, self.size.height), typing: true }
    }

    fn is_over(&self) -> bool {
        self.quit || self.opened.is_some()
    }
}
