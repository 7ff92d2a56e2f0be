//! Something that a page has asked for: the thread that looks for it, and what it found.

use std::sync::mpsc::Sender;

use anyhow::Result;

use super::Workspace;
use super::event::Event;
use super::reading;
use inkstone_base::job::{Ctx, Job, JobState};

/// Something asked for. Dropping it ends the thread: whoever asks anew puts the new errand in the place of the old one.
pub(crate) struct Errand<T> {
    job: Option<Job<T>>,
    found: Option<Result<T, String>>,
}

/// Sends errands where there is no desk: the forms, and the screen before any project is open.
#[derive(Clone)]
pub(crate) struct Messenger {
    threads: usize,
    seed: u64,
    events: Sender<Event>,
}

impl Messenger {
    /// Errands take so many threads, and `events` hears when one has come back.
    pub(crate) fn new(threads: usize, seed: u64, events: Sender<Event>) -> Messenger {
        Messenger { threads, seed, events }
    }

    /// Sends a thread of its own. A panic is an error like others.
    pub(crate) fn send<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
    ) -> Errand<T> {
        Errand::begin(name, Ctx::new(self.threads, self.seed), &self.events, work)
    }
}

impl<T: Send + 'static> Errand<T> {
    /// Sends a thread of its own; `events` hears when it has come back. A panic is an error like others.
    pub(super) fn start(
        name: &str,
        workspace: &Workspace,
        events: &Sender<Event>,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
    ) -> Errand<T> {
        Errand::begin(name, Ctx::new(workspace.threads, workspace.seed), events, work)
    }

    fn begin(
        name: &str,
        ctx: Result<Ctx>,
        events: &Sender<Event>,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
    ) -> Errand<T> {
        let events = events.clone();
        // Nobody is left to hear it when the workbench has been closed meanwhile.
        let back = move || drop(events.send(Event::Back));
        let job = ctx.and_then(|ctx| Job::spawn_then(name, ctx, work, back));
        match job {
            Ok(job) => Errand { job: Some(job), found: None },
            Err(error) => Errand { job: None, found: Some(Err(reading::chain(error))) },
        }
    }

    /// Takes in what was found; true when it has just come. To be called in [`super::page::PageState::arrange`].
    pub(crate) fn look(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        self.found = Some(match job.poll() {
            JobState::Running => return false,
            JobState::Done(found) => Ok(found),
            JobState::Failed(error) => Err(reading::chain(error)),
            JobState::Cancelled => return false,
        });
        self.job = None;
        true
    }
}

impl<T: Send + 'static> Errand<T> {
    /// What an errand has just brought, or why it failed; the errand is then gone.
    pub(crate) fn arrived(errand: &mut Option<Errand<T>>) -> Option<Result<T, String>> {
        errand.as_mut()?.look().then(|| errand.take()?.found).flatten()
    }
}

impl<T: Default + Send + 'static> Errand<T> {
    /// The answer, if it has just come. The errand stays and keeps its error.
    pub(crate) fn take_new(errand: &mut Option<Errand<T>>) -> Option<T> {
        let errand = errand.as_mut()?;
        if errand.look() { errand.get_mut().map(std::mem::take) } else { None }
    }
}

impl<T> Errand<T> {
    /// What there is already, as if it had been asked for.
    pub(crate) fn done(found: T) -> Errand<T> {
        Errand { job: None, found: Some(Ok(found)) }
    }

    /// What was found; none before it came and where it failed.
    pub(crate) fn get(&self) -> Option<&T> {
        self.found.as_ref()?.as_ref().ok()
    }

    /// What was found, to be changed.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.found.as_mut()?.as_mut().ok()
    }

    /// Why it failed, as the screen says it.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.found.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Whether it has not come back yet.
    pub(crate) fn waiting(&self) -> bool {
        self.found.is_none()
    }
}
