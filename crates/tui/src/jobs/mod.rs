//! The page of jobs: all that was started in this session, the stages of one job as they come along, the log, and the rows that ingest
//! set aside.
//!
//! Jobs that write the project run one at a time: the others wait in the queue and begin in their turn. Jobs that only read begin at once.

mod entry;
mod log;
mod log_view;
mod rejects;
#[cfg(test)]
mod screens;
mod stage_view;
mod view;
pub(crate) mod words;

pub(crate) use entry::JobEntry;
pub(crate) use entry::Phase;
pub(crate) use log::Happening;
pub(crate) use log::JobLog;
pub(crate) use view::{state, word};

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde_json::{Value, json};

use self::rejects::RejectPane;
use super::Workspace;
use super::action::Action;
use super::context::PageContext;
use super::desk::{Desk, Work};
use super::errand::Errand;
use super::field::Field;
use super::kit::Zoom;
use super::list::moved;
use super::page::{Page, Table, turns};
use super::page_state::PageState;
use inkstone_base::data::Report;
use inkstone_base::job::{StageProgress, StageState};

/// Jobs that the list keeps; the oldest that have ended are left out.
const KEPT: usize = 100;

turns! {
    /// The pane below the list of jobs.
    pub(crate) enum Pane {
        #[default]
        Stages = "stages",
        Log = "log",
        /// Rows that ingest set aside, alone on the page.
        Rejects = "rejects",
    }
}

#[derive(Default)]
pub struct JobsPage {
    list: Vec<JobEntry>,
    next: u64,
    /// The job that is looked at; `None`: the one under way, else the newest.
    selected: Option<u64>,
    /// The reports of the last run before this session, on their way.
    pub(crate) last: Option<Errand<Vec<Report>>>,
    last_run: Vec<StageProgress>,
    /// The stage whose particulars are shown; `None`: the newest.
    stage: Option<usize>,
    pub(crate) pane: Pane,
    zoom: Zoom,
    rejects: Option<RejectPane>,
    /// Columns of the lists of rejects, as an earlier session left them.
    recalled: Value,
    pub log: JobLog,
    /// Lines of the particulars that are above the sight.
    scroll: usize,
    rows: usize,
}

/// A job that has just ended.
pub struct Ended {
    pub from: Page,
    pub(crate) phase: Phase,
}

/// The news of a look at the jobs.
#[derive(Default)]
pub struct JobNews {
    pub ended: Vec<Ended>,
    /// Pages that have something new to show, made by stages that have just ended.
    pub pages: BTreeSet<Page>,
}

/// The pages that show what the stage of this name makes.
fn pages_of(stage: &str) -> &'static [Page] {
    match stage.split(' ').next().unwrap_or_default() {
        "ingest" | "clean" | "link" | "structure" => &[Page::Corpus, Page::Text],
        "extract" => &[Page::Features, Page::Models],
        "backtest" | "lint" => &[Page::Factor, Page::Ledger],
        _ => &[],
    }
}

impl JobsPage {
    pub fn busy(&self) -> bool {
        self.list.iter().any(JobEntry::is_open)
    }

    /// All jobs of this session, the newest last.
    pub fn list(&self) -> &[JobEntry] {
        &self.list
    }

    /// The job that keys to pause and to stop are about: the one selected if it has not ended, where its page is shown, else the one
    /// under way.
    pub fn target(&self, here: bool) -> Option<&JobEntry> {
        let selected = self.selected().filter(|job| here && job.is_open());
        selected.or_else(|| self.under_way())
    }

    pub fn job(&self, id: u64) -> Option<&JobEntry> {
        self.list.iter().find(|job| job.id == id)
    }

    fn under_way(&self) -> Option<&JobEntry> {
        self.list.iter().find(|job| job.is_under_way())
    }

    /// Puts a job into the queue; it begins at once unless others that write are before it. True when it has to wait.
    pub fn add(&mut self, work: Work, from: Page, workspace: &Workspace) -> bool {
        let id = self.next;
        self.next += 1;
        self.list.push(JobEntry::new(id, work, from));
        if self.list.len() > KEPT
            && let Some(oldest) = self.list.iter().position(|job| !job.is_open())
        {
            self.list.remove(oldest);
        }
        self.follow(None);
        self.go_on(workspace);
        let waits = self.job(id).filter(|job| job.phase == Phase::Waiting).map(|job| job.name.clone());
        let waiting = waits.is_some();
        if let Some(job) = waits {
            self.log.note(Happening::Queued { job });
        }
        waiting
    }

    /// Starts the waiting jobs that may start.
    fn go_on(&mut self, workspace: &Workspace) {
        for at in 0..self.list.len() {
            let kept = self.list[at].writes() && self.list.iter().any(JobEntry::keeps_others);
            if self.list[at].phase == Phase::Waiting && !kept {
                let job = &mut self.list[at];
                job.begin(workspace);
                self.log.note(Happening::Started { job: job.name.clone(), command: job.command.clone() });
                if let Phase::Failed(error) = &job.phase {
                    self.log.note(Happening::Failed { job: job.name.clone(), seconds: 0.0, error: error.clone() });
                }
            }
        }
    }

    /// Reads what the stages said when they last ran.
    pub(crate) fn read_last_run(desk: &Desk<'_>) -> Errand<Vec<Report>> {
        let reports = desk.workspace.reports.clone();
        desk.errand("reports of the last run", move |_| Ok(reports()))
    }

    /// Asks a job to stop; one that waits is taken out of the queue.
    pub fn cancel(&mut self, id: u64) {
        let Some(at) = self.list.iter().position(|job| job.id == id) else { return };
        if self.list[at].phase == Phase::Waiting {
            let job = self.list.remove(at);
            self.log.note(Happening::Removed { job: job.name });
            self.follow(None);
        } else {
            self.list[at].cancel();
        }
    }

    /// Asks all jobs to stop, and empties the queue.
    pub(crate) fn cancel_all(&mut self) {
        for id in self.list.iter().filter(|job| job.is_open()).map(|job| job.id).collect::<Vec<_>>() {
            self.cancel(id);
        }
    }

    /// Holds a job, or lets it go on; how it stands then, where that changed.
    pub fn pause(&mut self, id: u64) -> Option<Phase> {
        let job = self.list.iter_mut().find(|job| job.id == id)?;
        if !job.pause() {
            return None;
        }
        let (name, phase) = (job.name.clone(), job.phase.clone());
        let paused = phase == Phase::Paused;
        self.log.note(if paused { Happening::Paused { job: name } } else { Happening::WentOn { job: name } });
        Some(phase)
    }

    /// Updates the progress of all jobs and starts those that can start now.
    pub fn look(&mut self, workspace: &Workspace) -> JobNews {
        let mut news = JobNews::default();
        for job in &mut self.list {
            let over = job.look();
            for (report, note) in job.news() {
                if !report.unchanged {
                    news.pages.extend(pages_of(&report.stage));
                }
                self.log.note(Happening::Stage(Box::new(log::StageFigures::new(&job.name, &report, note))));
            }
            if over {
                self.log.note(how_it_ended(job));
                news.ended.push(Ended { from: job.from, phase: job.phase.clone() });
            }
        }
        if !news.ended.is_empty() {
            self.go_on(workspace);
        }
        news
    }

    /// Looks at a job, or at the one under way.
    fn follow(&mut self, id: Option<u64>) {
        (self.selected, self.stage, self.scroll) = (id, None, 0);
    }

    pub fn selected(&self) -> Option<&JobEntry> {
        let chosen = self.selected.and_then(|id| self.job(id));
        chosen.or_else(|| self.under_way()).or(self.list.last())
    }

    fn stages(&self) -> &[StageProgress] {
        self.selected().map_or(&self.last_run, |job| &job.stages)
    }

    fn selected_stage(&self) -> usize {
        let last = self.stages().len().saturating_sub(1);
        self.stage.unwrap_or(last).min(last)
    }

    fn next_job(&mut self, action: Action) {
        let at = self.selected().and_then(|job| self.list.iter().position(|other| other.id == job.id)).unwrap_or(0);
        let to = if action == Action::NextJob { at + 1 } else { at.saturating_sub(1) };
        if let Some(job) = self.list.get(to) {
            self.follow(Some(job.id));
        }
    }

    fn step(&mut self, action: Action) {
        if matches!(action, Action::PageDown | Action::PageUp) {
            return self.scroll_particulars(action);
        }
        let (before, count) = (self.selected_stage(), self.stages().len());
        // At the newest stage the selection follows the job again.
        self.stage = Some(moved(before, action, count, 1)).filter(|at| at + 1 < count);
        if self.selected_stage() != before {
            self.scroll = 0;
        }
    }

    fn scroll_particulars(&mut self, action: Action) {
        let lines = match self.stages().get(self.selected_stage()).map(|s| &s.state) {
            Some(StageState::Done(report)) => report.dropped.len() + report.facts.len(),
            _ => 0,
        };
        let causes = self.selected().map_or(0, |job| job.causes.len());
        let step = (self.rows / 2).max(1);
        self.scroll = match action {
            Action::PageDown => (self.scroll + step).min(lines + causes),
            _ => self.scroll.saturating_sub(step),
        };
    }

    fn show(&mut self, pane: Pane, desk: &Desk<'_>) {
        if let Some(rejects) = self.rejects.take() {
            self.recalled = rejects.remember();
        }
        self.pane = pane;
        if pane == Pane::Rejects {
            let mut rejects = RejectPane::new(desk);
            rejects.recall(&self.recalled);
            self.rejects = Some(rejects);
        }
    }

    /// Jobs that a test wants to see in the place of others.
    #[cfg(test)]
    pub(crate) fn pose(&mut self, jobs: Vec<JobEntry>) {
        self.list = jobs;
        self.follow(None);
    }
}

fn how_it_ended(job: &JobEntry) -> Happening {
    let (name, seconds) = (job.name.clone(), job.worked.as_secs_f64());
    match &job.phase {
        Phase::Failed(error) => Happening::Failed { job: name, seconds, error: error.clone() },
        Phase::Cancelled => Happening::Cancelled { job: name, seconds },
        _ => Happening::Done { job: name, seconds, stages: job.stages.len() },
    }
}

impl PageState for JobsPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        self.log.read_earlier(desk);
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, _: &PageContext<'_>) -> bool {
        match action {
            Action::NextJob | Action::PreviousJob => self.list.len() > 1,
            Action::OpenReject => self.rejects.as_ref().is_some_and(RejectPane::can_open),
            _ if action.is_of_table() => self.rejects.as_ref().is_some_and(RejectPane::has_rows),
            _ => true,
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        if let Some(rejects) = &mut self.rejects
            && rejects.act(action)
        {
            return;
        }
        let action = if action == Action::MarkRow { Action::PageDown } else { action };
        match (action, self.pane) {
            (Action::Rejects, pane) => {
                self.show(if pane == Pane::Rejects { Pane::Stages } else { Pane::Rejects }, desk);
            }
            (Action::Panes, pane) => self.show(pane.next(), desk),
            (Action::NextJob | Action::PreviousJob, _) => self.next_job(action),
            (Action::FindInLog, _) => {
                self.show(Pane::Log, desk);
                self.log.search.get_or_insert_default();
                self.log.typing = true;
            }
            (Action::Back, Pane::Log) if self.log.search.is_some() => self.leave_field(desk),
            (Action::Back, _) => self.show(Pane::Stages, desk),
            (_, Pane::Stages) => self.step(action),
            (_, Pane::Log) => self.log.step(action, log_view::rows(self, area)),
            (_, Pane::Rejects) => {}
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        if let Some(Ok(reports)) = Errand::arrived(&mut self.last) {
            self.last_run = reports.into_iter().map(entry::ended).collect();
        }
        self.rows = area.height.saturating_sub(6) as usize;
        if self.pane == Pane::Rejects && self.rejects.is_none() {
            // The page was left with them in an earlier session.
            self.show(Pane::Rejects, desk);
        }
        if let Some(rejects) = &mut self.rejects {
            rejects.arrange(area, desk.language);
        }
        let rows = log_view::rows(self, area);
        self.log.arrange(desk.language, rows);
    }

    fn waiting(&self) -> bool {
        self.last.is_some() || self.rejects.as_ref().is_some_and(RejectPane::waiting) || self.log.waiting()
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom).filter(|_| self.pane != Pane::Rejects)
    }

    fn is_typing(&self) -> bool {
        self.log.typing
    }

    fn field(&mut self) -> Option<&mut Field> {
        self.log.search.as_mut().filter(|_| self.log.typing)
    }

    fn typed(&mut self, _desk: &Desk<'_>) {
        self.log.seek_anew();
    }

    fn accept(&mut self, _desk: &Desk<'_>) {
        self.log.typing = false;
        if self.log.search.as_ref().is_some_and(|field| field.text().is_empty()) {
            self.log.search = None;
        }
    }

    fn leave_field(&mut self, _desk: &Desk<'_>) {
        (self.log.search, self.log.typing) = (None, false);
        self.log.seek_anew();
    }

    fn can_go_back(&self) -> bool {
        self.pane != Pane::Stages
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        if let Some(rejects) = &mut self.rejects {
            return rejects.click(at);
        }
        match view::line_at(self, at, area) {
            Some(view::ClickedJob::Job(id)) => self.follow(Some(id)),
            Some(view::ClickedJob::Stage(stage)) => {
                self.stage = Some(stage).filter(|stage| stage + 1 < self.stages().len());
                self.scroll = 0;
            }
            Some(view::ClickedJob::Line(line)) => self.log.mark(line),
            None => {}
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        match self.pane {
            Pane::Stages => Some(stage_view::table(self, desk.language)),
            Pane::Log => Some(log_view::table(self, desk.language)),
            Pane::Rejects => self.rejects.as_ref()?.table(),
        }
    }

    fn command(&self, _desk: &Desk<'_>) -> Option<String> {
        self.selected().map(|job| job.command.clone())
    }

    fn remember(&self) -> Value {
        let rejects = self.rejects.as_ref().map_or_else(|| self.recalled.clone(), RejectPane::remember);
        json!({"pane": self.pane, "search": self.log.search.as_ref().map(Field::text), "rejects": rejects})
    }

    fn recall(&mut self, memory: &Value) {
        self.pane = serde_json::from_value(memory["pane"].clone()).unwrap_or_default();
        self.recalled = memory["rejects"].clone();
        self.log.search = memory["search"].as_str().filter(|text| !text.is_empty()).map(Field::new);
    }
}
