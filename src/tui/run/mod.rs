//! The run page: the stages of a run as they come along, what they said, and the rows that ingest set aside.

mod view;

use std::time::{Duration, Instant};

pub(crate) use view::draw;

use ratatui::layout::Rect;

use super::commands::Action;
use super::desk::Desk;
use super::page::PageState;
use super::reading::{self, Rejects, Request};
use crate::data::Report;
use crate::job::{Job, JobState, StageProgress, StageState};

/// State of the page.
#[derive(Default)]
pub(crate) struct Run {
    job: Option<Job<Vec<Report>>>,
    pub(crate) phase: Phase,
    began: Option<Instant>,
    /// How long the run took, once it has ended.
    took: Option<Duration>,
    /// The stages as they stood at the last look.
    pub(crate) stages: Vec<StageProgress>,
    /// The stage whose particulars are shown; `None`: the newest.
    selected: Option<usize>,
    list: Option<RejectList>,
    /// Lines of the particulars that are above the sight.
    scroll: usize,
    page: usize,
}

/// Where the run stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Phase {
    /// None was started here.
    #[default]
    Never,
    /// Under way.
    Running,
    /// Asked to stop, and on its way to do so.
    Stopping,
    /// Ended well.
    Done,
    /// Ended with this chain of errors.
    Failed(String),
    /// Stopped at the user's wish.
    Cancelled,
}

struct RejectList {
    rejects: Option<Result<Rejects, String>>,
    cursor: usize,
}

impl Run {
    /// Whether a run is under way.
    pub(crate) fn busy(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Stopping)
    }

    /// Follows a run that was just started; an error means that it could not be.
    pub(crate) fn follow(&mut self, job: anyhow::Result<Job<Vec<Report>>>) {
        *self = Run { page: self.page, ..Run::default() };
        match job {
            Ok(job) => (self.job, self.phase, self.began) = (Some(job), Phase::Running, Some(Instant::now())),
            Err(error) => self.phase = Phase::Failed(reading::chain(error)),
        }
    }

    /// Takes in what the stages said when they last ran, unless a run was started meanwhile.
    pub(crate) fn take_reports(&mut self, reports: Vec<Report>) {
        if self.phase == Phase::Never {
            self.stages = reports.into_iter().map(ended).collect();
        }
    }

    /// Asks the run to stop.
    pub(crate) fn cancel(&mut self) {
        if let Some(job) = &self.job {
            job.cancel();
            self.phase = Phase::Stopping;
        }
    }

    /// Looks how far the run has come; true when it has just ended.
    pub(crate) fn look(&mut self) -> bool {
        let Some(job) = &self.job else { return false };
        // The state first: what a run that has ended did is then wholly in its progress.
        let state = job.poll();
        self.stages = job.ctx().progress().stages();
        self.phase = match state {
            JobState::Running => return false,
            JobState::Done(_) => Phase::Done,
            JobState::Failed(error) => Phase::Failed(reading::chain(error)),
            JobState::Cancelled => Phase::Cancelled,
        };
        self.job = None;
        self.took = self.began.map(|began| began.elapsed());
        true
    }

    fn step(&mut self, action: Action) {
        let before = self.selected();
        if self.list.is_none() && matches!(action, Action::PageDown | Action::PageUp) {
            return self.scroll_particulars(action);
        }
        let (cursor, len) = match &mut self.list {
            Some(list) => {
                let len = list.rejects.as_ref().map_or(0, |r| r.as_ref().map_or(0, |r| r.rows.len()));
                (&mut list.cursor, len)
            }
            None => {
                let len = self.stages.len();
                (self.selected.get_or_insert(len.saturating_sub(1)), len)
            }
        };
        let page = self.page.max(1);
        *cursor = match action {
            Action::Down => *cursor + 1,
            Action::Up => cursor.saturating_sub(1),
            Action::PageDown => *cursor + page,
            Action::PageUp => cursor.saturating_sub(page),
            Action::First => 0,
            Action::Last => usize::MAX,
            _ => *cursor,
        }
        .min(len.saturating_sub(1));
        // At the newest stage the selection follows the run again.
        if self.list.is_none() && self.selected == Some(len.saturating_sub(1)) {
            self.selected = None;
        }
        if self.selected() != before {
            self.scroll = 0;
        }
    }

    fn scroll_particulars(&mut self, action: Action) {
        let lines = match self.stages.get(self.selected()).map(|s| &s.state) {
            Some(StageState::Done(report)) => report.dropped.len() + report.facts.len(),
            _ => 0,
        };
        let step = (self.page / 2).max(1);
        self.scroll = match action {
            Action::PageDown => (self.scroll + step).min(lines),
            _ => self.scroll.saturating_sub(step),
        };
    }

    /// Takes in the rejects.
    pub(crate) fn take_rejects(&mut self, rejects: Result<Rejects, String>) {
        if let Some(list) = &mut self.list {
            list.rejects = Some(rejects);
        }
    }

    fn selected(&self) -> usize {
        let last = self.stages.len().saturating_sub(1);
        self.selected.unwrap_or(last).min(last)
    }
}

impl PageState for Run {
    fn reload(&mut self, _desk: &Desk<'_>) {}

    fn act(&mut self, action: Action, _area: Rect, desk: &Desk<'_>) {
        match action {
            Action::Rejects if self.list.is_none() => {
                self.list = Some(RejectList { rejects: None, cursor: 0 });
                desk.reading.ask(Request::Rejects);
            }
            Action::Rejects | Action::Back => self.list = None,
            _ => self.step(action),
        }
    }

    fn arrange(&mut self, area: Rect, _desk: &Desk<'_>) {
        self.page = area.height.saturating_sub(6) as usize;
    }

    fn waiting(&self) -> bool {
        self.list.as_ref().is_some_and(|l| l.rejects.is_none())
    }

    fn can_go_back(&self) -> bool {
        self.list.is_some()
    }
}

/// A stage as its report left it.
fn ended(report: Report) -> StageProgress {
    StageProgress {
        name: report.stage.clone(),
        unit: "rows",
        done: report.rows_in,
        total: None,
        note: String::new(),
        elapsed: Duration::from_secs_f64(report.seconds.max(0.0)),
        state: StageState::Done(Box::new(report)),
    }
}
