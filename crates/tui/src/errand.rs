//! Work that a page has started on a thread of its own, and its answer.

use std::sync::mpsc::Sender;

use anyhow::Result;

use super::event::Event;
use super::reading;
use inkstone_base::job::{Ctx, Job, JobState};
use inkstone_base::language::Message;

/// Work on a thread of its own, and its answer. Dropping it cancels the work, so a new errand put
/// in its place ends the old one.
pub(crate) struct Errand<T> {
    job: Option<Job<T>>,
    found: Option<Result<T, Message>>,
}

/// Starts errands where there is no desk: in the forms, and before any project is open.
#[derive(Clone)]
pub(crate) struct Messenger {
    threads: usize,
    seed: u64,
    events: Sender<Event>,
}

impl Messenger {
    /// Errands use so many threads, and report their end to `events`.
    pub(crate) fn new(threads: usize, seed: u64, events: Sender<Event>) -> Messenger {
        Messenger { threads, seed, events }
    }

    /// Starts work on a thread of its own. A panic is an error like others.
    pub(crate) fn send<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
    ) -> Errand<T> {
        Errand::begin(name, Ctx::new(self.threads, self.seed), &self.events, work)
    }
}

impl<T: Send + 'static> Errand<T> {
    /// Starts work on a thread of its own, and reports its end to `events`. A panic is an error
    /// like others.
    pub(super) fn begin(
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

    /// Takes in the answer; true if it has just come. Call it in
    /// [`super::page_state::PageState::arrange`].
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
    /// The answer of an errand that has just ended, or its error; `errand` is then `None`.
    pub(crate) fn arrived(errand: &mut Option<Errand<T>>) -> Option<Result<T, Message>> {
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
    /// An errand that has ended with this answer.
    pub(crate) fn done(found: T) -> Errand<T> {
        Errand { job: None, found: Some(Ok(found)) }
    }

    /// The answer; none before it came and if it failed.
    pub(crate) fn get(&self) -> Option<&T> {
        self.found.as_ref()?.as_ref().ok()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.found.as_mut()?.as_mut().ok()
    }

    /// The error of an errand that failed.
    pub(crate) fn error(&self) -> Option<&Message> {
        self.found.as_ref()?.as_ref().err()
    }

    /// The text of its error in the language of the screen, if it failed.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.error().map(|error| &**error)
    }

    pub(crate) fn waiting(&self) -> bool {
        self.found.is_none()
    }
}
