//! Writes a report when the workbench itself panics: what happened, without a word that the user typed.

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result};
use chrono::{Local, SecondsFormat};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};

use super::event::Event;
use super::words;
use inkstone_base::disk;
use inkstone_base::language::Language;
use inkstone_base::message;

const EVENTS: usize = 50;

/// The page and the state of the workbench, for a report.
#[derive(Clone, Copy, Debug)]
pub struct Whereabouts {
    /// The page that is shown, in English.
    pub page: &'static str,
    /// Columns and rows.
    pub size: (u16, u16),
    pub typing: bool,
}

/// Notes what the workbench goes through. Clones share what is noted.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<CrashRecord>>);

#[derive(Default)]
struct CrashRecord {
    /// The folder of reports; none before a project is open.
    folder: Option<PathBuf>,
    page: &'static str,
    size: (u16, u16),
    events: VecDeque<String>,
}

impl Recorder {
    /// From now on reports go into this folder.
    pub(crate) fn works_in(&self, folder: &Path) {
        if let Ok(mut record) = self.0.lock() {
            record.folder = Some(folder.to_owned());
        }
    }

    /// Notes an event before it is taken in. Of what is typed into a field, only that something was.
    pub fn note(&self, place: Whereabouts, event: &Event) {
        let text = match event {
            Event::Tick => return,
            Event::Key(key) => key_text(key, place.typing),
            Event::Paste(text) => format!("pasted {} characters", text.chars().count()),
            Event::Mouse(mouse) => {
                let what = match mouse.kind {
                    MouseEventKind::ScrollDown => "wheel down",
                    MouseEventKind::ScrollUp => "wheel up",
                    MouseEventKind::Down(_) => "mouse pressed",
                    _ => "mouse",
                };
                format!("{what} at {},{}", mouse.column, mouse.row)
            }
            Event::Resize(width, height) => format!("resized to {width} x {height}"),
            Event::Back => "an errand came back".to_owned(),
            Event::End => "told to end".to_owned(),
        };
        let page = place.page;
        if let Ok(mut record) = self.0.lock() {
            record.page = page;
            record.size = place.size;
            if record.events.len() == EVENTS {
                record.events.pop_front();
            }
            record.events.push_back(format!("{page}: {text}"));
        }
    }

    /// Writes a report of a panic with this message, and gives the file. Where the project's folder cannot be written, the system's
    /// folder of temporary files has it.
    pub fn report(&self, message: &str, backtrace: &Backtrace) -> Result<PathBuf> {
        // A panic within `note` holds the lock; a report without events is better than none.
        let text = self.0.try_lock().ok().map(|record| (written(&record, message, backtrace), record.folder.clone()));
        let (text, folder) = text.unwrap_or_else(|| (written(&CrashRecord::default(), message, backtrace), None));
        let name = format!("crash-{}-", Local::now().format("%Y%m%d-%H%M%S"));
        let save = |folder: &Path| {
            let cannot = || message!("无法在 {} 写报告", "cannot write a report in {}", folder.display());
            disk::make_dir(folder)?;
            // A new file with letters that nobody can foretell, which its owner alone may read: others put no link in its place.
            let made = tempfile::Builder::new().prefix(&name).suffix(".txt").tempfile_in(folder);
            let mut file = made.with_context(cannot)?;
            file.write_all(text.as_bytes()).with_context(cannot)?;
            Ok(file.keep().with_context(cannot)?.1)
        };
        folder.map_or_else(
            || save(&std::env::temp_dir()),
            |folder| save(&folder).or_else(|_| save(&std::env::temp_dir())),
        )
    }
}

/// A key in words; a character that goes into a field is not told.
fn key_text(key: &KeyEvent, typing: bool) -> String {
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(_) if typing && held.is_empty() => "a character was typed".to_owned(),
        code => format!("key {}", crate::commands::KeyPress::from(&KeyEvent::new(code, held))),
    }
}

fn written(record: &CrashRecord, message: &str, backtrace: &Backtrace) -> String {
    let mut text = String::new();
    let (width, height) = record.size;
    // Nothing fails that is written to memory.
    let _ = writeln!(text, "Inkstone {} ended by an error of its own.\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "time      {}", Local::now().to_rfc3339_opts(SecondsFormat::Secs, false));
    let _ = writeln!(text, "system    {} {}", std::env::consts::OS, std::env::consts::ARCH);
    let _ = writeln!(text, "terminal  {width} x {height}");
    let _ = writeln!(text, "page      {}", record.page);
    let _ =
        writeln!(text, "\nmessage\n{message}\n\nlast events, the newest last; what was typed into fields is left out");
    for event in &record.events {
        let _ = writeln!(text, "{event}");
    }
    let _ = writeln!(text, "\nbacktrace\n{backtrace}");
    text
}

type PanicHook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The panic hook while the workbench has the screen. Dropping this restores the one before.
pub(crate) struct Hook(Arc<PanicHook>);

impl Hook {
    /// A panic of this thread gives the terminal back and writes a report; of other threads, whose panics are caught by their jobs and
    /// shown on the page, nothing is printed, which would only spoil the picture.
    pub(crate) fn set(recorder: Recorder, give_back: impl Fn() + Sync + Send + 'static) -> Hook {
        let before: Arc<PanicHook> = Arc::new(panic::take_hook());
        let (hook, owner) = (before.clone(), thread::current().id());
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() != owner {
                return;
            }
            let backtrace = Backtrace::force_capture();
            give_back();
            let report = recorder.report(&info.to_string(), &backtrace);
            hook(info);
            // Nobody reads a closed stderr.
            let _ = writeln!(std::io::stderr(), "{}", where_it_is(&report));
        }));
        Hook(before)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // While a panic unwinds, the hook cannot be changed, and need not be.
        if !thread::panicking() {
            let before = self.0.clone();
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

/// The message printed about a report after the terminal has been restored.
fn where_it_is(report: &Result<PathBuf>) -> String {
    let [zh, en] = Language::ALL.map(|language| match report {
        Ok(path) => format!("{}: {}", words::CRASHED.to(language), path.display()),
        Err(error) => format!("{}: {error:#}", words::CRASHED_SILENTLY.to(language)),
    });
    format!("{zh}\n{en}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Bench, LARGE, empty, filled};
    use crate::scene::Scene;

    fn recorder(folder: &Path) -> Recorder {
        let recorder = Recorder::default();
        recorder.works_in(folder);
        recorder
    }

    #[test]
    fn a_report_says_where_and_when_but_not_what_was_typed() {
        let dir = filled();
        let mut bench = Bench::open(&dir, |_| ());
        bench.screen(LARGE, "");
        let recorder = recorder(dir.path());
        for key in crate::commands::sequence("1j/秘密secret<enter>G").unwrap() {
            recorder.note(bench.app.place(), &Event::Key(key));
            bench.app.take(Event::Key(key));
        }
        recorder.note(bench.app.place(), &Event::Paste("password".to_owned()));
        let path = recorder.report("panicked at 'no such row'", &Backtrace::force_capture()).unwrap();
        assert!(path.starts_with(dir.path()), "{}", path.display());
        let text = std::fs::read_to_string(path).unwrap();
        let version = concat!("Inkstone ", env!("CARGO_PKG_VERSION"));
        for part in [
            version,
            "120 x 40",
            "page      Corpus",
            "'no such row'",
            "Corpus: key j",
            "key G",
            "backtrace\n",
            "time      20",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert_eq!(text.matches("a character was typed").count(), 8);
        assert!(text.contains("pasted 8 characters"), "{text}");
        for secret in ["秘", "密", "secret", "key s", "password"] {
            assert!(!text.contains(secret), "{secret:?} is in\n{text}");
        }
    }

    #[test]
    fn only_the_last_events_are_kept() {
        let dir = empty();
        let bench = Bench::open(&dir, |_| ());
        let recorder = recorder(dir.path());
        for width in 0..200 {
            recorder.note(bench.app.place(), &Event::Resize(width, 24));
        }
        let path = recorder.report("x", &Backtrace::disabled()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.matches("resized to").count(), EVENTS);
        assert!(text.contains("resized to 199 x 24") && !text.contains("resized to 149 x 24"));
    }

    #[cfg(unix)]
    #[test]
    fn a_report_is_private_and_under_a_name_that_nobody_can_foretell() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        // Files that have the expected names of the next seconds are left alone.
        let theirs = dir.path().join("theirs");
        std::fs::write(&theirs, "mine").unwrap();
        for second in 0..5 {
            let at = Local::now() + chrono::Duration::seconds(second);
            let link = dir.path().join(format!("crash-{}.txt", at.format("%Y%m%d-%H%M%S")));
            std::os::unix::fs::symlink(&theirs, link).unwrap();
        }
        let recorder = recorder(dir.path());
        let reports = [(); 2].map(|()| recorder.report("x", &Backtrace::disabled()).unwrap());
        assert_ne!(reports[0], reports[1]);
        for report in reports {
            assert_eq!(std::fs::symlink_metadata(report).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(std::fs::read(&theirs).unwrap(), b"mine");
    }

    #[test]
    fn a_project_that_cannot_be_written_leaves_its_report_among_the_temporary_files() {
        let dir = empty();
        let blocked = dir.path().join("file");
        std::fs::write(&blocked, "").unwrap();
        let recorder = recorder(&blocked.join("project"));
        let path = recorder.report("x", &Backtrace::disabled()).unwrap();
        assert!(path.starts_with(std::env::temp_dir()));
        std::fs::remove_file(path).unwrap();
        let place_of_report = where_it_is(&Ok(PathBuf::from("crash.txt")));
        assert!(
            place_of_report.contains("报告在: crash.txt") && place_of_report.contains("the report is: crash.txt"),
            "{place_of_report}"
        );
    }
}
