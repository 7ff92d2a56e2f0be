//! The base of screen tests: a workbench without a terminal, keys, and, for tests of this crate, a project of invented text.

#[cfg(test)]
mod filled;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
#[cfg(test)]
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tempfile::TempDir;

use super::app::App;
use super::commands::sequence;
use super::event::Event;
use super::{Language, Mark, Meaning, Start, TokenUnit, Workspace, view, width};
use inkstone_tables::project::Project;

#[cfg(test)]
pub(crate) use filled::{filled, outcome};

/// The least screen that the pages are made for.
pub const SMALL: (u16, u16) = (80, 24);
pub const LARGE: (u16, u16) = (120, 40);
pub const SOON: Duration = Duration::from_secs(30);

pub struct Bench {
    pub app: App,
    events: Receiver<Event>,
    _dir: Arc<TempDir>,
}

impl Bench {
    /// A workbench that neither remembers nor keeps anything.
    pub fn open(dir: &Arc<TempDir>, change: impl FnOnce(&mut Workspace)) -> Bench {
        Bench::with(dir, change, App::new)
    }

    /// A workbench as it is opened on a terminal: where it was left.
    pub fn come_back(dir: &Arc<TempDir>, change: impl FnOnce(&mut Workspace)) -> Bench {
        let mut bench = Bench::with(dir, change, App::remembering);
        bench.settle();
        bench
    }

    /// Leaves the workbench as the terminal does.
    pub fn leave(self) {
        self.app.leave(SOON);
    }

    fn with(
        dir: &Arc<TempDir>,
        change: impl FnOnce(&mut Workspace),
        open: impl FnOnce(Workspace, (u16, u16), Sender<Event>) -> Result<App>,
    ) -> Bench {
        let mut workspace = Workspace {
            title: "砚台样例".to_owned(),
            project: Project::new(dir.path()),
            factors: vec!["tone".to_owned(), "tfidf".to_owned()],
            run: Arc::new(|_| Ok(Vec::new())),
            stages: None,
            watch: None,
            start: Start::Browse,
            threads: 1,
            seed: 1,
            tokeniser: Arc::new(|text, cut| Ok(cut_in_pieces(text, if cut == TokenUnit::Characters { 1 } else { 2 }))),
            marker: Some(Arc::new(|_, _, document| Ok(names_in(&document.body)))),
            reports: Arc::new(Vec::new),
            text: None,
            models: None,
            onnx: None,
            unknown_library: None,
            features: None,
            ledger: None,
            laboratory: None,
            tracing: None,
            judgement: None,
            planted: None,
            stock: None,
            language: Language::Zh,
            language_given: false,
            note: Some("合成数据".to_owned()),
            command: "inkstone run --headless".to_owned(),
            flags: String::new(),
            red_up: true,
            csv_formulas: inkstone_base::disk::Formulas::Keep,
            pictures: dir.path().join("pictures"),
            reports_folder: dir.path().join("reports"),
            detach: None,
            news: None,
            detached: None,
            shade: super::Shade::Dark,
            own_colours: None,
            depth: super::Depth::Sixteen,
            wide_ambiguous: false,
            mouse: false,
            forms: None,
            reopen: None,
            keys: std::collections::BTreeMap::new(),
        };
        change(&mut workspace);
        let (sender, events) = channel();
        let app = open(workspace, SMALL, sender).unwrap();
        Bench { app, events, _dir: dir.clone() }
    }

    /// Takes in events until nothing is outstanding.
    pub fn settle(&mut self) {
        let until = Instant::now() + SOON;
        while self.app.waiting() {
            assert!(Instant::now() < until, "an answer never came");
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(20)) {
                self.app.take(event);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn take_what_came(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.app.take(event);
        }
        self.app.take(Event::Tick);
    }

    #[cfg(test)]
    pub(crate) fn click(&mut self, column: u16, row: u16) {
        let kind = MouseEventKind::Down(MouseButton::Left);
        self.app.take(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self.settle();
    }

    #[cfg(test)]
    pub(crate) fn wheel(&mut self, column: u16, row: u16, down: bool) {
        let kind = if down { MouseEventKind::ScrollDown } else { MouseEventKind::ScrollUp };
        self.app.take(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self.settle();
    }

    /// Looks at the run until it has ended, then settles.
    pub fn finish(&mut self) {
        let until = Instant::now() + SOON;
        while self.app.busy() {
            assert!(Instant::now() < until, "the run never ended");
            std::thread::sleep(Duration::from_millis(5));
            self.app.take(Event::Tick);
        }
        self.settle();
    }

    /// Looks at the run until something is so.
    pub fn wait_until(&mut self, so: impl Fn(&App) -> bool) {
        let until = Instant::now() + SOON;
        while !so(&self.app) {
            assert!(Instant::now() < until, "it never came to be so");
            std::thread::sleep(Duration::from_millis(5));
            self.app.take(Event::Tick);
        }
    }

    /// Takes in events until something is so.
    #[cfg(test)]
    pub(crate) fn take_until(&mut self, so: impl Fn(&App) -> bool) {
        let until = Instant::now() + SOON;
        while !so(&self.app) {
            assert!(Instant::now() < until, "it never came to be so");
            if let Ok(event) = self.events.recv_timeout(Duration::from_millis(20)) {
                self.app.take(event);
            }
        }
    }

    /// Presses keys one after the other: `jj<enter>/回购<esc>`.
    pub fn press(&mut self, keys: &str) {
        self.press_then(keys, Bench::settle);
    }

    /// The same without waiting for answers.
    pub fn press_at_once(&mut self, keys: &str) {
        self.press_then(keys, |_| ());
    }

    fn press_then(&mut self, keys: &str, then: impl Fn(&mut Bench)) {
        for key in sequence(keys).unwrap() {
            self.app.take(Event::Key(key));
            then(self);
        }
    }

    pub fn screen(&mut self, (columns, rows): (u16, u16), keys: &str) -> String {
        self.app.take(Event::Resize(columns, rows));
        self.settle();
        self.press(keys);
        self.picture((columns, rows))
    }

    pub fn picture(&self, (columns, rows): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view::draw(&self.app, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut picture = String::new();
        for y in 0..rows {
            let mut line = String::new();
            let mut x = 0;
            while x < columns {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(width::width(symbol)).unwrap().max(1);
            }
            assert_eq!(width::width(&line), usize::from(columns), "line {y} is not as wide as the screen: {line}");
            picture += line.trim_end();
            picture.push('\n');
        }
        picture
    }
}

/// Tokens of so many characters; a stand-in for a segmenter, whose own tests are elsewhere.
pub(crate) fn cut_in_pieces(text: &str, length: usize) -> Vec<std::ops::Range<usize>> {
    let bounds: Vec<usize> = text.char_indices().map(|c| c.0).chain([text.len()]).collect();
    (0..bounds.len() - 1).step_by(length).map(|i| bounds[i]..bounds[(i + length).min(bounds.len() - 1)]).collect()
}

fn names_in(body: &str) -> Vec<Mark> {
    let name = "瑞禾电气";
    body.match_indices(name).map(|(at, _)| Mark { range: at..at + name.len(), meaning: Meaning::Name }).collect()
}

pub fn empty() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}
