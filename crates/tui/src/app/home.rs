//! Restores the workbench as it was left, and keeps its state for the next start.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::App;
use crate::Start;
use crate::instance::Instance;
use crate::jobs::{Happening, words};
use crate::kit::Zoom;
use crate::page::Page;
use crate::scribe::Scribe;
use crate::session::{self, FoundSession, Session};

/// Time between two writings of the session.
const REMEMBER_EVERY: Duration = Duration::from_secs(60);

/// The time that the last writing of log and session may take when the workbench is left.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Writes a line where the shell's user sees it; nothing can be done about a terminal that is gone.
fn say_to_shell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl App {
    /// Restores the place of an earlier session, and begins to keep this one.
    pub(super) fn come_back(&mut self, instance: Instance) -> Result<()> {
        self.instance = instance;
        self.keep_session()?;
        let path = self.workspace.project.session();
        let word = match session::read(&path) {
            FoundSession::Nothing => None,
            FoundSession::Session(session) => {
                self.recall(&session);
                None
            }
            FoundSession::Damaged => Some(words::SESSION_DAMAGED),
            FoundSession::Newer => Some(words::SESSION_NEWER),
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.jobs.log.note(Happening::Opened { version, read_only: self.instance.why().is_some() });
        if let Some(word) = word
            && self.instance.keeps_session()
            && let Some(name) = session::set_aside(&path)
        {
            let text = format!("{} {name}", self.say(word));
            self.jobs.log.note(Happening::Warning { text: text.clone() });
            self.notice = Some(text);
        }
        if let Some(why) = self.instance.why() {
            let text = why.sentence(self.language);
            self.jobs.log.note(Happening::Warning { text: text.clone() });
            self.notice = Some(text);
        }
        self.attach();
        Ok(())
    }

    pub(super) fn recall(&mut self, session: &Session) {
        if self.workspace.start == Start::Browse {
            self.page = session.page;
        }
        if let Some(language) = session.language.filter(|_| !self.workspace.language_given) {
            (self.language, self.language_chosen) = (language, true);
        }
        for page in Page::ALL {
            // A run that is started at once is to be seen.
            let seen = page != Page::Jobs || self.workspace.start == Start::Browse;
            if let Some(memory) = session.memory(page).filter(|_| seen) {
                self.with(page, |page, _| {
                    page.recall(memory);
                    page.zoom().into_iter().for_each(|zoom| zoom.set(memory["alone"] == true));
                });
            }
        }
    }

    /// Starts writing the log and the session, where they belong to this workbench.
    pub(super) fn keep_session(&mut self) -> Result<()> {
        if self.instance.keeps_session() && self.jobs.log.scribe().is_none() {
            let project = &self.workspace.project;
            self.jobs.log.keep(Scribe::start(project.log(), project.session())?);
        }
        Ok(())
    }

    /// Writes the session, unless nothing has changed since it was last written.
    pub(super) fn remember(&mut self) {
        self.remembered.1 = Instant::now();
        let Some(scribe) = self.jobs.log.scribe() else { return };
        let mut session = Session::new(self.page, self.language_chosen.then_some(self.language));
        for page in Page::ALL {
            let state = self.state(page);
            let mut memory = state.remember();
            if let (Some(memory), Some(true)) = (memory.as_object_mut(), state.zoom().map(Zoom::is_on)) {
                memory.insert("alone".to_owned(), true.into());
            }
            session.note(page, memory);
        }
        let text = session.text();
        if text != self.remembered.0 {
            scribe.session(text.clone());
            self.remembered.0 = text;
        }
    }

    /// Writes the session when it is time; what the scribe complains of is said once. True when something was said.
    pub(super) fn remember_now_and_then(&mut self) -> bool {
        if self.remembered.1.elapsed() >= REMEMBER_EVERY {
            self.remember();
        }
        let fault = self.jobs.log.scribe().and_then(Scribe::fault);
        let Some(fault) = fault.filter(|fault| self.fault.as_ref() != Some(fault)) else { return false };
        self.notice = Some(format!("{}: {}", self.say(words::SESSION_NOT_KEPT), fault.to(self.language)));
        self.fault = Some(fault);
        true
    }

    /// Notes where the workbench was left, stops the jobs, and waits for them to put away what they hold, at most so long.
    pub fn leave(mut self, patience: Duration) {
        self.remember();
        self.jobs.cancel_all();
        let until = Instant::now() + patience;
        while self.jobs.busy() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            self.jobs.look(&self.workspace);
        }
        if !self.to_detach.is_empty()
            && let Some(detach) = &self.workspace.detach
        {
            // The terminal is the shell's again, and the shell is told.
            match detach(&self.to_detach) {
                Ok(()) => say_to_shell(self.say(words::GOES_ON_BEHIND)),
                Err(error) => say_to_shell(&format!("{}: {error:#}", self.say(words::NOT_DETACHED))),
            }
        }
        if self.jobs.log.scribe().is_some() {
            self.jobs.log.note(Happening::Closed);
        }
        if let Some(scribe) = self.jobs.log.take_scribe() {
            scribe.finish(LAST_WORDS);
        }
    }

    /// After a panic: stops the jobs, and puts the session aside, which may lead to the same panic again.
    pub(crate) fn abandon(mut self, patience: Duration) {
        let path = self.workspace.project.session();
        if let Some(scribe) = self.jobs.log.take_scribe() {
            scribe.finish(LAST_WORDS);
            session::set_aside(&path);
        }
        self.leave(patience);
    }
}
