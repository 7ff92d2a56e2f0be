//! One job: what it is, where it stands, and what its stages have said.

use std::time::Duration;

use crate::desk::Work;
use crate::page::Page;
use crate::{Runner, Workspace, reading};
use inkstone_base::data::Report;
use inkstone_base::expected::RunShare;
use inkstone_base::job::{Ctx, Job, JobState, StageProgress, StageState};
use inkstone_base::language::Message;

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Waiting,
    Running,
    /// Held; goes on when it is told to.
    Paused,
    /// Asked to stop, and on its way to do so.
    Stopping,
    Done,
    /// Ended with this chain of errors.
    Failed(Message),
    Cancelled,
}

pub struct JobEntry {
    pub id: u64,
    pub name: String,
    /// The command that does the same without a screen.
    pub command: String,
    pub from: Page,
    pub(crate) phase: Phase,
    /// The reason why it failed, from what it was about to what went wrong.
    pub causes: Vec<Message>,
    /// The stages as they stood at the last look.
    pub stages: Vec<StageProgress>,
    /// Time at work at the last look; pauses are left out.
    pub worked: Duration,
    /// Progress of the whole job, where its stages are known beforehand.
    pub course: Option<RunShare>,
    pub(crate) writes: bool,
    /// The work, until it begins: what it holds goes when it has ended.
    run: Option<Runner>,
    job: Option<Job<Vec<Report>>>,
    /// By stage: whether its end was noted in the log.
    logged: Vec<bool>,
}

impl JobEntry {
    pub(super) fn new(id: u64, work: Work, from: Page) -> JobEntry {
        let Work { name, command, writes, run } = work;
        JobEntry {
            id,
            name,
            command,
            from,
            phase: Phase::Waiting,
            causes: Vec::new(),
            stages: Vec::new(),
            worked: Duration::ZERO,
            course: None,
            writes,
            run: Some(run),
            job: None,
            logged: Vec::new(),
        }
    }

    /// True if it has begun and not ended.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Paused | Phase::Stopping)
    }

    pub fn is_open(&self) -> bool {
        self.phase == Phase::Waiting || self.is_under_way()
    }

    /// True if it keeps others that write from beginning.
    pub(super) fn keeps_others(&self) -> bool {
        self.writes && self.is_under_way()
    }

    /// True if it has to wait while [`JobEntry::keeps_others`] holds for another job.
    pub(super) fn writes(&self) -> bool {
        self.writes
    }

    /// The setting that the error of a failed job names, as `backtest.horizons`.
    pub(crate) fn setting(&self) -> Option<String> {
        let Phase::Failed(error) = &self.phase else { return None };
        named_setting(&error.en)
    }

    /// The share done of the job, or of the stage at work where the stages of the job are not known beforehand; 1 after a good end; none if
    /// unknown.
    pub fn share(&self) -> Option<f64> {
        if self.phase == Phase::Done {
            return Some(1.0);
        }
        if let Some(course) = &self.course {
            return Some(course.done);
        }
        self.stage()?.share
    }

    /// The time left of the job, or of the stage at work where the stages of the job are not known beforehand.
    pub(super) fn left(&self) -> Option<Duration> {
        match &self.course {
            Some(course) => course.left,
            None => self.stage()?.eta(),
        }
    }

    /// The stage at work, else the newest.
    pub fn stage(&self) -> Option<&StageProgress> {
        let at_work = |stage: &&StageProgress| matches!(stage.state, StageState::Running);
        self.stages.iter().rfind(at_work).or(self.stages.last())
    }

    /// Starts the job on a thread of its own. A job that writes holds the lock of the project meanwhile.
    pub(super) fn begin(&mut self, workspace: &Workspace) {
        let Some(run) = self.run.take() else { return };
        let name = self.name.clone();
        let project = self.writes.then(|| workspace.project.clone());
        let work = move |ctx: &Ctx| {
            let _held = project.map(|project| project.lock_for(&name)).transpose()?;
            run(ctx)
        };
        let ctx = Ctx::new(workspace.threads, workspace.seed);
        match ctx.and_then(|ctx| Job::spawn(&self.name, ctx, work)) {
            Ok(job) => (self.job, self.phase) = (Some(job), Phase::Running),
            Err(error) => self.fail(error),
        }
    }

    /// Holds it, or lets it go on; whether that changed anything.
    pub(super) fn pause(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        let paused = match self.phase {
            Phase::Running => true,
            Phase::Paused => false,
            _ => return false,
        };
        job.ctx().pause(paused);
        self.phase = if paused { Phase::Paused } else { Phase::Running };
        true
    }

    pub(super) fn cancel(&mut self) {
        if let Some(job) = &self.job {
            job.cancel();
            self.phase = Phase::Stopping;
        }
    }

    /// Updates its progress; true if it has just ended.
    pub(super) fn look(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        // The state first: what a job that has ended did is then wholly in its progress.
        let state = job.poll();
        self.stages = job.ctx().progress().stages();
        self.worked = job.ctx().progress().worked();
        self.course = job.ctx().progress().share();
        match state {
            JobState::Running => return false,
            JobState::Done(_) => self.phase = Phase::Done,
            JobState::Failed(error) => self.fail(error),
            JobState::Cancelled => self.phase = Phase::Cancelled,
        }
        self.job = None;
        true
    }

    fn fail(&mut self, error: anyhow::Error) {
        self.causes = Message::causes_of(&error);
        self.phase = Phase::Failed(reading::chain(error));
    }

    /// Reports of the stages that have ended well since the last call, with what each said of itself.
    pub(super) fn news(&mut self) -> Vec<(Report, String)> {
        self.logged.resize(self.stages.len(), false);
        let mut news = Vec::new();
        for (stage, logged) in self.stages.iter().zip(&mut self.logged) {
            if let StageState::Done(report) = &stage.state
                && !std::mem::replace(logged, true)
            {
                news.push((Report::clone(report), stage.note.clone()));
            }
        }
        news
    }

    /// A job as it would stand, for pictures.
    #[cfg(test)]
    pub(crate) fn posed(id: u64, name: &str, phase: Phase, stages: Vec<StageProgress>, worked: Duration) -> JobEntry {
        let run: Runner = std::sync::Arc::new(|_| Ok(Vec::new()));
        let work = Work { name: name.to_owned(), command: "inkstone run --headless".to_owned(), writes: true, run };
        let causes = match &phase {
            Phase::Failed(error) => {
                let causes = error.zh.split(": ").zip(error.en.split(": "));
                causes.map(|(zh, en)| Message { zh: zh.to_owned(), en: en.to_owned() }).collect()
            }
            _ => Vec::new(),
        };
        JobEntry { phase, causes, stages, worked, ..JobEntry::new(id, work, Page::Jobs) }
    }
}

/// A stage as its report left it.
pub(super) fn ended(report: Report) -> StageProgress {
    StageProgress {
        name: report.stage.clone(),
        unit: "rows",
        done: report.rows_in,
        total: None,
        share: None,
        note: String::new(),
        elapsed: Duration::from_secs_f64(report.seconds.max(0.0)),
        state: StageState::Done(Box::new(report)),
    }
}

/// The first `[section] key` of a text, as `section.key`.
fn named_setting(text: &str) -> Option<String> {
    let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.match_indices('[').find_map(|(at, _)| {
        let (section, rest) = text[at + 1..].split_once("] ")?;
        let key = &rest[..rest.find(|c| !is_key(c)).unwrap_or(rest.len())];
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| is_key(c) || c == '.');
        (is_name(section) && !key.is_empty()).then(|| format!("{section}.{key}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_setting_by_section_and_key() {
        let setting = |text| named_setting(text).unwrap_or_default();
        assert_eq!(setting("[backtest] horizons: 36.5 % of the returns (limit 35.0 %, max_loss)"), "backtest.horizons");
        assert_eq!(setting("40 % lost, more than the limit ([ingest] max_loss): 3 × no time"), "ingest.max_loss");
        assert_eq!(setting("[[source]] \"a\": no file; see [64, 128] or [x]"), "");
    }
}
