//! Draws the page of jobs: the list above, below it the stages of a job or the log; and the word on jobs in the first line.

use inkstone_base::terms::term;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{JobEntry, JobsPage, Pane, Phase, log_view, stage_view, words};
use crate::context::PageContext;
use crate::words as common;
use crate::words::Word;
use crate::{figures, look, width};
use inkstone_base::job::StageProgress;

/// Rows of a page from which the list of jobs may be longer.
const TALL: u16 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClickedJob {
    Job(u64),
    Stage(usize),
    Line(usize),
}

/// The list of jobs, and what is below it.
pub(super) fn split(jobs: &JobsPage, page: Rect) -> [Rect; 2] {
    if jobs.zoom.is_on() {
        return [Rect { height: 0, ..page }, page];
    }
    let most = if page.height >= TALL { 10 } else { 4 };
    let rows = match jobs.list.len() {
        0 => 0,
        n => u16::try_from(n).unwrap_or(u16::MAX).min(most) + 2,
    };
    Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(page)
}

/// The first job of the list that is in sight of so many rows.
fn first_job(jobs: &JobsPage, rows: usize) -> usize {
    let selected = jobs.selected().and_then(|job| jobs.list.iter().position(|other| other.id == job.id));
    // Without a reason to look elsewhere, the newest.
    let last = jobs.list.len().saturating_sub(rows);
    selected.unwrap_or(0).min(last)
}

pub(super) fn line_at(jobs: &JobsPage, at: Position, page: Rect) -> Option<ClickedJob> {
    let [list, below] = split(jobs, page);
    let rows = usize::from(list.height.saturating_sub(2));
    if list.contains(at) {
        let row = usize::from(at.y.checked_sub(list.y + 1)?);
        return jobs.list.get(first_job(jobs, rows) + row).filter(|_| row < rows).map(|job| ClickedJob::Job(job.id));
    }
    match jobs.pane {
        Pane::Log => log_view::line_at(jobs, at, below).map(ClickedJob::Line),
        _ => stage_view::line_at(jobs, at, below).map(ClickedJob::Stage),
    }
}

pub(crate) fn draw(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, page: Rect) {
    if let Some(rejects) = &jobs.rejects {
        return rejects.draw(context, frame, page);
    }
    let [list, below] = split(jobs, page);
    if !list.is_empty() {
        draw_list(context, jobs, frame, list);
    }
    match jobs.pane {
        Pane::Log => log_view::draw(context, jobs, frame, below),
        _ if jobs.selected().is_none() && jobs.last_run.is_empty() => {
            let next = match context.read_only {
                Some(why) => Line::styled(why.sentence(context.language), look::NOTE),
                None => Line::raw(context.say(common::NO_RUN)),
            };
            let lines = vec![next, Line::raw(""), Line::styled(&*context.workspace.command, look::DIM)];
            let title = format!(" {} · {} ", context.say(common::JOBS), context.say(common::NOT_STARTED));
            look::message(lines, look::pane(title, true), frame, below);
        }
        _ => stage_view::draw(context, jobs, frame, below),
    }
}

pub(crate) fn word(phase: &Phase) -> Word {
    standing(phase).1
}

/// A sign for screens without colours, a word, and the colour.
pub(super) fn standing(phase: &Phase) -> (&'static str, Word, Style) {
    match phase {
        Phase::Waiting => ("·", words::WAITING, look::DIM),
        Phase::Running => (">", common::RUNNING, look::KEY),
        Phase::Paused => ("‖", words::PAUSED, look::NOTE),
        Phase::Stopping => ("■", common::STOPPING, look::NOTE),
        Phase::Done => ("✓", common::DONE, look::GOOD),
        Phase::Failed(_) => ("✗", common::FAILED, look::BAD),
        Phase::Cancelled => ("■", common::CANCELLED, look::NOTE),
    }
}

fn draw_list(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, area: Rect) {
    let count = |is: fn(&JobEntry) -> bool| jobs.list.iter().filter(|job| is(job)).count();
    let parts = [
        (count(JobEntry::is_under_way), common::RUNNING),
        (count(|job| job.phase == Phase::Waiting), words::WAITING),
        (count(|job| !job.is_open()), words::ENDED),
    ];
    let mut title = format!(" {}", context.say(common::JOBS));
    for (n, word) in parts.into_iter().filter(|part| part.0 > 0) {
        title += &format!(" · {n} {}", context.say(word));
    }
    let inner = look::framed(look::pane(format!("{title} "), false), frame, area);
    let rows = usize::from(inner.height);
    let top = first_job(jobs, rows);
    let selected = jobs.selected().map(|job| job.id);
    let names = jobs.list.iter().map(|job| width::width(&job.name)).max().unwrap_or(0);
    let columns = JobColumns::new(usize::from(inner.width), names);
    let lines = jobs.list.iter().skip(top).take(rows);
    let lines = lines.map(|job| columns.line(context, job, Some(job.id) == selected));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inner);
}

/// Cells of the name, the bar and the stage of a line of the list.
struct JobColumns {
    name: usize,
    bar: usize,
    stage: usize,
}

/// Cells of the sign, the share, the state, the time at work and the time left, with the gaps between all columns.
const FIXED: usize = 2 + 4 + 9 + 8 + 8 + 6;

impl JobColumns {
    fn new(total: usize, names: usize) -> JobColumns {
        let left = total.saturating_sub(FIXED);
        let name = names.clamp(8, left / 2);
        // A stage with its number needs more than a bar does.
        let stage = (left - name) * 3 / 5;
        let bar = (left - name - stage).min(40);
        JobColumns { name, bar, stage: left - name - bar }
    }

    fn line<'a>(&self, context: &PageContext<'_>, job: &JobEntry, selected: bool) -> Line<'a> {
        let (sign, word, style) = standing(&job.phase);
        let share = job.share();
        let stage = job.stage().filter(|_| job.is_under_way() || matches!(job.phase, Phase::Failed(_)));
        let bar = match job.phase {
            Phase::Waiting => " ".repeat(self.bar),
            _ if job.is_under_way() => stage_view::bar(share, job.worked.as_millis(), self.bar),
            _ => stage_view::bar(Some(share.unwrap_or(0.0)), 0, self.bar),
        };
        let percent = share.filter(|_| job.phase != Phase::Waiting).map(|share| format!("{:.0}%", 100.0 * share));
        let worked = if job.phase == Phase::Waiting { String::new() } else { figures::span(job.worked) };
        let left = Some(job).filter(|job| job.is_under_way()).and_then(JobEntry::left);
        let left = left.map(|left| format!("{}{}", context.say(words::LEFT), figures::span(left))).unwrap_or_default();
        let name = if selected { look::SELECTED } else { look::PLAIN };
        look::columns([
            Span::styled(sign, style),
            Span::styled(width::left(&job.name, self.name), name),
            Span::styled(bar, style),
            Span::raw(width::right(&percent.unwrap_or_default(), 4)),
            Span::styled(width::left(&stage_of(job, stage), self.stage), look::DIM),
            Span::styled(width::left(context.say(word), 9), style),
            Span::raw(width::right(&worked, 8)),
            Span::raw(width::right(&left, 8)),
        ])
    }
}

/// The stage at work with its number: `9/35 clean`.
fn stage_of(job: &JobEntry, stage: Option<&StageProgress>) -> String {
    let name = stage.map(|stage| term(&stage.name)).unwrap_or_default();
    match job.course.filter(|_| job.is_under_way()) {
        Some(course) => format!("{}/{} {name}", course.stage, course.stages),
        None => name.to_string(),
    }
}

/// The state of the jobs for the first line: `63% 9/35 12s left`, `2 jobs · 63%`, or that the newest has failed; without the stage and the
/// time where it is to be `short`.
pub(crate) fn state<'a>(context: &PageContext<'_>, short: bool) -> Option<Span<'a>> {
    let open: Vec<&JobEntry> = context.jobs.iter().filter(|job| job.is_open()).collect();
    let at_work = open.iter().find(|job| job.is_under_way()).or(open.first());
    let Some(job) = at_work else {
        let newest = context.jobs.last().filter(|job| matches!(job.phase, Phase::Failed(_)))?;
        return Some(Span::styled(
            format!("✗ {} {}", width::cut(&newest.name, 12), context.say(words::FAILED_SHORT)),
            look::BAD,
        ));
    };
    let name = match open.len() {
        // What a whole run is at says more than its name.
        1 if job.phase == Phase::Running && job.course.is_some() => String::new(),
        1 => width::cut(&job.name, 12),
        n => format!("{n} {}", context.say(words::JOB_UNIT)),
    };
    let state = match (&job.phase, job.share()) {
        (Phase::Running, Some(share)) => {
            let course = if short { String::new() } else { course_of(context, job) };
            format!("{:.0}%{course}", 100.0 * share)
        }
        (Phase::Paused, share) => {
            let percent = share.map(|share| format!(" {:.0}%", 100.0 * share)).unwrap_or_default();
            format!("‖ {}{percent}", context.say(words::PAUSED))
        }
        (phase, _) => context.say(standing(phase).1).to_owned(),
    };
    let between = match open.len() {
        _ if name.is_empty() => "",
        1 => " ",
        _ => " · ",
    };
    let style = if job.phase == Phase::Running { look::KEY } else { look::NOTE };
    Some(Span::styled(format!("{name}{between}{state}"), style))
}

/// Number of the stage and time left of a job whose stages are known beforehand: ` 9/35 余12s`.
fn course_of(context: &PageContext<'_>, job: &JobEntry) -> String {
    let Some(course) = &job.course else { return String::new() };
    let left = course
        .left
        .map(|left| format!(" {}", context.say(words::TIME_TO_GO).replace("{}", &figures::span(left))))
        .unwrap_or_default();
    format!(" {}/{}{left}", course.stage, course.stages)
}
