//! The workbench and its jobs: started, held, stopped, looked at.

use super::{App, Dialog, PendingQuestion};
use crate::Start;
use crate::desk::Work;
use crate::jobs::{JobEntry, JobNews, Phase, words};
use crate::page::Page;
use crate::words as common;
use inkstone_base::language::Message;
use inkstone_base::shell::quoted;

impl App {
    pub fn busy(&self) -> bool {
        self.jobs.busy()
    }

    /// True if there is a job that can be held, or one that is held.
    pub(crate) fn can_pause(&self) -> bool {
        let target = self.jobs.target(self.page == Page::Jobs);
        target.is_some_and(|job| matches!(job.phase, Phase::Running | Phase::Paused))
    }

    /// True if the job that the keys are about is held.
    pub(crate) fn is_paused(&self) -> bool {
        self.jobs.target(self.page == Page::Jobs).is_some_and(|job| job.phase == Phase::Paused)
    }

    /// True if there is a job that can be stopped or taken out of the queue.
    pub(crate) fn can_cancel(&self) -> bool {
        self.jobs.target(self.page == Page::Jobs).is_some_and(|job| job.phase != Phase::Stopping)
    }

    pub(super) fn answer(&mut self, yes: bool) {
        let Some(Dialog::Question(question)) = self.dialog.take() else { return };
        match question {
            PendingQuestion::Library => self.answer_for_library(yes),
            _ if !yes => {}
            PendingQuestion::Cancel(id) => self.stop(id),
            PendingQuestion::Quit => {
                self.jobs.cancel_all();
                self.quit = true;
            }
        }
    }

    /// Stops a job; where the job follows a detached run, that run.
    fn stop(&mut self, id: u64) {
        match self.attached.as_ref().filter(|(job, _)| *job == id).map(|(_, run)| (run.stop)()) {
            None => self.jobs.cancel(id),
            Some(Ok(())) => {}
            Some(Err(error)) => self.notice = Some(Message::of_error(&error).to(self.language).to_owned()),
        }
    }

    /// True if jobs can go on in a process of their own.
    pub(crate) fn can_detach(&self) -> bool {
        self.workspace.detach.is_some() && self.instance.why().is_none() && self.instance.keeps_session()
    }

    /// True if nothing is under way here but following a detached run.
    pub(super) fn only_follows(&self) -> bool {
        self.open_jobs().next().is_none()
    }

    /// The jobs that have not ended, but for the one that follows a detached run.
    fn open_jobs(&self) -> impl Iterator<Item = &JobEntry> {
        let attached = self.attached.as_ref().map(|(id, _)| *id);
        self.jobs.list().iter().filter(move |job| job.is_open() && Some(job.id) != attached)
    }

    /// Leaves the workbench; its jobs are stopped, and go on in a process of their own where they were stopped.
    pub(super) fn detach(&mut self) {
        self.dialog = None;
        self.to_detach = self.open_jobs().filter(|job| job.writes).map(|job| job.command.clone()).collect();
        self.jobs.cancel_all();
        self.quit = true;
    }

    /// Begins a job that follows a detached run, where there is one.
    pub(super) fn attach(&mut self) {
        let found = self.workspace.detached.as_ref().and_then(|find| find());
        let Some(run) = found.filter(|_| self.attached.is_none()) else { return };
        let name = self.say(words::DETACHED_RUN).to_owned();
        let command = format!("tail -f {}", quoted(&run.log.display().to_string()));
        self.begin(Work { name, command, writes: false, run: run.follow.clone() }, Page::Jobs);
        self.attached = self.jobs.list().last().map(|job| (job.id, run));
        self.notice = Some(self.say(words::ATTACHED).to_owned());
        self.page = Page::Jobs;
    }

    /// Asks whether the library that the configuration names may be loaded, where that is not known.
    pub(crate) fn ask_for_library(&mut self) {
        if self.workspace.unknown_library.is_some() {
            self.dialog = Some(Dialog::Question(PendingQuestion::Library));
        }
    }

    /// Keeps a yes. After a no the library stays unknown, and whatever needs it says so. The run that has waited for the answer begins.
    fn answer_for_library(&mut self, yes: bool) {
        if yes && let Some(library) = self.workspace.unknown_library.take() {
            match (library.agree)() {
                Ok(()) => self.reload(),
                Err(error) => self.notice = Some(format!("{error:#}")),
            }
        }
        if self.workspace.start != Start::Browse {
            self.start();
        }
    }

    pub(super) fn cancel(&mut self) {
        let Some(job) = self.jobs.target(self.page == Page::Jobs) else { return };
        let id = job.id;
        if job.phase == Phase::Waiting {
            // It has done nothing that could be lost.
            self.notice = Some(format!("{}: {}", job.name, self.say(words::REMOVED)));
            self.jobs.cancel(id);
        } else {
            self.dialog = Some(Dialog::Question(PendingQuestion::Cancel(id)));
        }
    }

    pub(super) fn pause(&mut self) {
        let Some(id) = self.jobs.target(self.page == Page::Jobs).map(|job| job.id) else { return };
        if let Some(phase) = self.jobs.pause(id) {
            let word = if phase == Phase::Paused { words::HELD } else { words::GOES_ON };
            self.notice = Some(self.say(word).to_owned());
        }
    }

    pub(crate) fn start(&mut self) {
        let (command, run) = (self.workspace.command.clone(), self.workspace.run.clone());
        let name = self.say(common::PIPELINE).to_owned();
        if self.begin(Work { name, command, writes: true, run }, Page::Jobs) {
            self.page = Page::Jobs;
        }
    }

    /// Starts a job that looks on while other processes work on plans.
    pub(super) fn watch(&mut self) {
        let Some(run) = self.workspace.watch.clone() else { return };
        let plans = self.workspace.project.plans();
        let command = format!(
            "for plan in {}/*.json; do inkstone work \"$plan\" --watch; done",
            quoted(&plans.display().to_string())
        );
        let name = self.say(words::WORKERS).to_owned();
        self.begin(Work { name, command, writes: false, run }, Page::Jobs);
    }

    /// Puts a job into the queue. Returns false, with a notice, if the job writes and this workbench may only read.
    pub fn begin(&mut self, work: Work, from: Page) -> bool {
        if work.writes && !self.may_write() {
            return false;
        }
        if self.jobs.add(work, from, &self.workspace) {
            self.notice = Some(self.say(words::QUEUED).to_owned());
        }
        true
    }

    /// True if jobs that write may be started. Where another process had the project, it is asked for once more.
    pub(crate) fn may_write(&mut self) -> bool {
        if self.instance.why().is_none() {
            return true;
        }
        let free = self.instance.ask(&self.workspace.project);
        let kept = self.keep_session();
        self.notice = Some(match (self.instance.why(), kept) {
            (Some(why), _) => why.sentence(self.language),
            (None, Err(error)) => format!("{}: {error:#}", self.say(words::SESSION_NOT_KEPT)),
            (None, Ok(())) => self.say(words::WRITES_AGAIN).to_owned(),
        });
        free
    }

    /// Looks at the jobs; true when there is something new to see.
    pub(super) fn look(&mut self) -> bool {
        let busy = self.jobs.busy();
        let JobNews { ended, pages } = self.jobs.look(&self.workspace);
        if ended.is_empty() && !pages.is_empty() {
            // A run goes on, and what its stages have made so far can be looked at.
            for page in pages {
                self.with(page, |page, desk| page.reload(desk));
            }
            self.arrange();
        }
        if !ended.is_empty() {
            // A question about a job that has ended meanwhile needs no answer.
            let answered = match &self.dialog {
                Some(Dialog::Question(PendingQuestion::Cancel(id))) => {
                    !self.jobs.job(*id).is_some_and(JobEntry::is_open)
                }
                Some(Dialog::Question(PendingQuestion::Quit)) => !self.jobs.busy(),
                _ => false,
            };
            if answered {
                self.dialog = None;
            }
            if self.attached.as_ref().is_some_and(|(id, _)| !self.jobs.job(*id).is_some_and(JobEntry::is_open)) {
                self.attached = None;
                self.may_write();
            }
            self.reload();
            let done = ended.iter().any(|job| job.from == Page::Jobs && job.phase == Phase::Done);
            if self.then_factor && done && !self.workspace.factors.is_empty() {
                self.page = Page::Factor;
            }
            self.job_has_ended(done);
            self.arrange();
            self.remember();
        } else if busy {
            self.models.look_at_course();
        }
        self.look_at_configuration();
        let has_news = self.look_for_news();
        let has_fault = self.remember_now_and_then();
        busy || has_news || has_fault
    }
}
