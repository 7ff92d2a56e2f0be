//! Draws one job: its stages as bars with their counts, and what the selected stage said or why the job failed.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;

use super::{JobEntry, JobsPage, Phase, view, words};
use crate::action::Action;
use crate::commands::{COMMANDS, KeyPress};
use crate::context::PageContext;
use crate::page::{Page, Table};
use crate::words as common;
use crate::words::Word;
use crate::{bars, figures, look, sentences, width};
use inkstone_base::data::{Report, message_of};
use inkstone_base::job::{StageProgress, StageState};
use inkstone_base::language::Language;
use inkstone_base::terms::{self, term};

/// Characters of a cause that are shown.
const MOST: usize = 2000;

/// The stages, and what is said of one of them.
fn split(jobs: &JobsPage, area: Rect) -> [Rect; 2] {
    let wanted = u16::try_from(jobs.stages().len()).unwrap_or(u16::MAX).saturating_add(3);
    // The particulars need a few lines, more of them when something has gone wrong.
    let left =
        area.height.saturating_sub(if jobs.selected().is_some_and(|job| !job.causes.is_empty()) { 9 } else { 6 });
    let rows = wanted.clamp(4, left.max(4));
    Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(area)
}

/// The first stage that is in sight of so many rows.
fn first_stage(jobs: &JobsPage, rows: usize) -> usize {
    (jobs.selected_stage() + 1).saturating_sub(rows.max(1))
}

/// The stage whose line is at this place.
pub(super) fn line_at(jobs: &JobsPage, at: Position, area: Rect) -> Option<usize> {
    let [stages, _] = split(jobs, area);
    let rows = usize::from(stages.height.saturating_sub(3));
    let row = usize::from(at.y.checked_sub(stages.y + 2)?);
    Some(first_stage(jobs, rows) + row).filter(|stage| row < rows && *stage < jobs.stages().len())
}

pub(super) fn draw(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, area: Rect) {
    let [above, below] = split(jobs, area);
    draw_stages(context, jobs, frame, above);
    draw_particulars(context, jobs, frame, below);
}

fn title<'a>(context: &PageContext<'_>, jobs: &JobsPage) -> Line<'a> {
    let Some(job) = jobs.selected() else {
        return Line::from(vec![
            Span::raw(format!(" {} · ", context.say(common::PIPELINE))),
            Span::styled(context.say(common::LAST_RUN), look::DIM),
            Span::raw(" "),
        ]);
    };
    let (_, word, style) = view::standing(&job.phase);
    let mut title =
        vec![Span::raw(format!(" {} · ", width::cut(&job.name, 40))), Span::styled(context.say(word), style)];
    if job.phase != Phase::Waiting {
        title.push(Span::raw(format!(" · {}", figures::span(job.worked))));
    }
    let notes = job.stages.iter().filter(|stage| matches!(stage.state, StageState::Running)).map(|stage| &stage.note);
    for note in notes.filter(|note| !note.is_empty()) {
        title.push(Span::raw(format!(" · {}", width::cut(terms::note(note).to(context.language), 60))));
    }
    title.push(Span::raw(" "));
    Line::from(title)
}

/// Cells of a name and of a bar below which they say nothing.
const LEAST_NAME: usize = 8;
const LEAST_BAR: usize = 6;

/// Cells of the columns stage, bar, rows, out, dropped, rate, time; names and counts are not cut where there is room.
fn columns(total: usize, stages: &[StageProgress]) -> [usize; 7] {
    let widest = |measure: fn(&StageProgress) -> usize, least: usize, most: usize| {
        stages.iter().map(measure).max().unwrap_or(least).clamp(least, most)
    };
    let name = widest(|s| width::width(&term(&s.name)), 10, 24);
    let rows = widest(|s| rows(s).len(), 9, 19);
    let time = 8;
    // A column that does not fit is left out, not cut: first the rate, then the rows dropped, then those out.
    let mut further = [9, 7, 8];
    for column in (0..further.len()).rev() {
        if LEAST_NAME + LEAST_BAR + rows + further.iter().sum::<usize>() + time + 6 > total {
            further[column] = 0;
        }
    }
    let [out, dropped, rate] = further;
    let others = rows + out + dropped + rate + time + 6;
    // A bar of less says nothing; then the name gives way.
    let name = name.min(total.saturating_sub(others + LEAST_BAR)).max(LEAST_NAME);
    [name, total.saturating_sub(name + others).max(LEAST_BAR), rows, out, dropped, rate, time]
}

/// The rows a stage has read: `done/total` while it runs, then the rows that came in.
fn rows(stage: &StageProgress) -> String {
    match (&stage.state, stage.total) {
        (StageState::Done(report), _) => figures::count(report.rows_in),
        (_, Some(total)) => format!("{}/{}", figures::count(stage.done), figures::count(total)),
        (_, None) => figures::count(stage.done),
    }
}

fn draw_stages(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(title(context, jobs), true);
    let inner = block.inner(area);
    let stages = jobs.stages();
    let widths = columns(inner.width as usize, stages);
    let names =
        [common::STAGE, common::PROGRESS, common::ROWS, common::OUT, common::DROPPED, common::RATE, common::TIME_LEFT];
    let mut header: Vec<String> = Vec::new();
    for (i, (name, columns)) in names.into_iter().zip(widths).enumerate() {
        let name = context.say(name);
        header.push(if i < 2 { width::left(name, columns) } else { width::right(name, columns) });
    }
    let mut lines = vec![Line::styled(header.join(" "), look::DIM)];
    let room = inner.height.saturating_sub(1) as usize;
    let phase = jobs.selected().map(|job| &job.phase);
    for (i, stage) in stages.iter().enumerate().skip(first_stage(jobs, room)).take(room) {
        lines.push(stage_line(context, phase, stage, widths, i == jobs.selected_stage()));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn stage_line<'a>(
    context: &PageContext<'_>,
    phase: Option<&Phase>,
    stage: &StageProgress,
    widths: [usize; 7],
    selected: bool,
) -> Line<'a> {
    // A stage that panicked has had no time to say so: once its job has ended, none is at work.
    let over = matches!(phase, None | Some(Phase::Done | Phase::Failed(_) | Phase::Cancelled));
    let broken = over && matches!(stage.state, StageState::Running);
    let state = if broken { &StageState::Failed } else { &stage.state };
    let word = |word: Word| width::left(context.say(word), widths[1]);
    let (bar, out, dropped, time, style) = match state {
        StageState::Running => {
            let time = stage.eta().map_or_else(
                || figures::span(stage.elapsed),
                |eta| format!("{}{}", context.say(words::LEFT), figures::span(eta)),
            );
            let style = if phase == Some(&Phase::Running) { look::KEY } else { look::NOTE };
            (bar(stage.share, stage.elapsed.as_millis(), widths[1]), String::new(), None, time, style)
        }
        StageState::Done(report) if report.unchanged => {
            let (out, dropped) = (figures::count(report.rows_out), Some(report.dropped_rows()));
            let long = context.say(common::UNCHANGED);
            let unchanged = if width::width(long) > widths[1] { common::UNCHANGED_SHORT } else { common::UNCHANGED };
            (word(unchanged), out, dropped, figures::span(stage.elapsed), look::DIM)
        }
        StageState::Done(report) if report.left_out().is_some() => {
            (word(common::LEFT_OUT), String::new(), None, figures::span(stage.elapsed), look::BAD)
        }
        StageState::Done(report) => {
            let out = figures::count(report.rows_out);
            (bar(Some(1.0), 0, widths[1]), out, Some(report.dropped_rows()), figures::span(stage.elapsed), look::GOOD)
        }
        StageState::Failed if matches!(phase, Some(Phase::Stopping | Phase::Cancelled)) => {
            (word(common::CANCELLED), String::new(), None, figures::span(stage.elapsed), look::NOTE)
        }
        StageState::Failed => (word(common::FAILED), String::new(), None, figures::span(stage.elapsed), look::BAD),
    };
    let name = if selected { look::SELECTED } else { look::PLAIN };
    let dropped_style = if dropped > Some(0) { look::NOTE } else { look::DIM };
    let dropped = dropped.map(figures::count).unwrap_or_default();
    look::columns([
        Span::styled(width::left(&term(&stage.name), widths[0]), name),
        Span::styled(bar, style),
        Span::raw(width::right(&rows(stage), widths[2])),
        Span::raw(width::right(&out, widths[3])),
        Span::styled(width::right(&dropped, widths[4]), dropped_style),
        Span::raw(width::right(&figures::rate(stage.rate()), widths[5])),
        Span::raw(width::right(&time, widths[6])),
    ])
}

/// A bar of `columns` cells in eighths; without a known total, a mark that wanders with the time.
pub(super) fn bar(share: Option<f64>, millis: u128, columns: usize) -> String {
    let Some(share) = share else {
        let at = usize::try_from(millis / 200).unwrap_or(0) % columns.max(1);
        return (0..columns).map(|i| if i == at { '█' } else { '·' }).collect();
    };
    width::left(&bars::lying(share, columns), columns)
}

/// Draws the selected stage: its losses by reason and its findings, or the error of the job.
fn draw_particulars(context: &PageContext<'_>, jobs: &JobsPage, frame: &mut Frame<'_>, area: Rect) {
    let mut lines: Vec<Line<'_>> = match jobs.selected() {
        Some(job) => about_job(context, job, usize::from(area.width.saturating_sub(2))),
        None => vec![Line::styled(context.say(common::AFTER_LAST_RUN), look::DIM)],
    };
    let stage = jobs.stages().get(jobs.selected_stage());
    if let Some(StageState::Done(report)) = stage.map(|s| &s.state) {
        lines.extend(report_lines(context, report));
    }
    let name = stage.map(|stage| term(&stage.name)).unwrap_or_default();
    let lines: Vec<Line<'_>> = lines.into_iter().skip(jobs.scroll).collect();
    let title = format!(" {} {} ", context.say(common::PARTICULARS), width::cut(&name, 40));
    look::message(lines, look::pane(title, false), frame, area);
}

/// The sentences about a job: the keys that apply now, and after a failure its causes.
fn about_job<'a>(context: &PageContext<'_>, job: &JobEntry, columns: usize) -> Vec<Line<'a>> {
    let dim = |word: Word| vec![Line::styled(context.say(word), look::DIM)];
    match &job.phase {
        Phase::Waiting => dim(words::WHILE_WAITING),
        Phase::Running => dim(words::WHILE_RUNNING),
        Phase::Paused => vec![Line::styled(context.say(words::WHILE_PAUSED), look::NOTE)],
        Phase::Stopping => vec![Line::styled(context.say(words::WHILE_STOPPING), look::NOTE)],
        Phase::Cancelled => vec![Line::styled(context.say(common::AFTER_CANCEL), look::NOTE)],
        Phase::Done if job.from == Page::Jobs => dim(common::AFTER_RUN),
        Phase::Done => Vec::new(),
        Phase::Failed(error) => {
            let mut lines = Vec::new();
            for (depth, cause) in job.causes.iter().enumerate() {
                let before =
                    if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat((depth - 1).min(4))) };
                let room = columns.saturating_sub(width::width(&before));
                let shown: String = cause.chars().take(MOST).collect();
                for (at, text) in sentences::lines(&shown, room).into_iter().enumerate() {
                    let before = if at == 0 { before.clone() } else { " ".repeat(width::width(&before)) };
                    lines.push(Line::from(vec![Span::styled(before, look::DIM), Span::styled(text, look::BAD)]));
                }
            }
            lines.push(Line::from(vec![
                Span::styled(format!("{}: ", context.say(words::WAY_OUT)), look::KEY),
                Span::raw(way_out(context, job, &error.en)),
            ]));
            lines.push(Line::raw(""));
            lines
        }
    }
}

/// The way out of an error: a key to press, or a setting to change.
fn way_out(context: &PageContext<'_>, job: &JobEntry, error: &str) -> String {
    let has = |texts: &[&str]| texts.iter().any(|text| error.contains(text));
    let word = if has(&["by another run", "could not acquire lock"]) {
        words::OUT_HELD
    } else if has(&["and Inkstone did not make that folder", "is Inkstone's folder for something else"]) {
        words::OUT_FOLDER
    } else if has(&["No space left", "os error 28", "os error 112", "Disk quota"]) {
        words::OUT_DISK
    } else if has(&["Permission denied", "Read-only file system", "os error 13", "os error 30"]) {
        words::OUT_PERMISSION
    } else if has(&["internal error: "]) {
        words::OUT_INTERNAL
    } else if let Some(setting) = job.setting().filter(|_| job.from == Page::Jobs) {
        let key = COMMANDS.iter().find(|command| command.action == Action::Settings);
        let key =
            key.and_then(|command| context.keymap.keys(command).first()).map(KeyPress::to_string).unwrap_or_default();
        return context.say(words::OUT_SETTING).replace("{,}", &key).replace("{}", &setting);
    } else if has(&["workbench.toml", "[[source]]", "[[feature]]", "[[factor]]", "the configuration"]) {
        words::OUT_SOURCE
    } else if job.from == Page::Jobs {
        common::AFTER_FAILURE
    } else {
        let page = crate::commands::shows(job.from).and_then(|command| context.keymap.keys(command).first());
        return format!("{} {}", context.say(words::OUT_PAGE), page.map(KeyPress::to_string).unwrap_or_default());
    };
    context.say(word).to_owned()
}

fn report_lines<'a>(context: &PageContext<'_>, report: &Report) -> Vec<Line<'a>> {
    let count = |word: Word, n: u64| format!("{} {}", context.say(word), figures::count(n));
    let mut lines = vec![Line::raw(format!(
        "{}  {}  {}  {:.1} s",
        count(common::IN, report.rows_in),
        count(common::OUT, report.rows_out),
        count(common::DROPPED, report.dropped_rows()),
        report.seconds
    ))];
    let names = report.dropped.keys().chain(report.facts.keys()).map(|name| width::width(&term(name)));
    let columns = names.max().unwrap_or(0).clamp(24, 56);
    let pair = |name: &str, value: String, style: Style| {
        let name = format!("  {} ", width::left(&term(name), columns));
        Line::from(vec![Span::styled(name, look::DIM), Span::styled(value, style)])
    };
    let mut reasons: Vec<(&String, &u64)> = report.dropped.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (reason, n) in reasons {
        lines.push(pair(reason, width::right(&figures::count(*n), 12), look::NOTE));
    }
    for (name, value) in &report.facts {
        lines.push(pair(name, fact(context, value), look::PLAIN));
    }
    lines
}

/// A finding in words: text and numbers as they are, lists and tables as JSON.
fn fact(context: &PageContext<'_>, value: &Value) -> String {
    match value {
        Value::Bool(holds) => context.say(if *holds { common::YES } else { common::NO }).to_owned(),
        Value::String(text) => width::cut(text, 400),
        Value::Object(_) if message_of(value).is_some() => width::cut(&message_of(value).unwrap_or_default(), 400),
        Value::Number(n) if n.is_u64() => width::right(&figures::count(n.as_u64().unwrap_or_default()), 12),
        Value::Number(n) => width::right(&figures::number(n.as_f64().unwrap_or(f64::NAN), 4), 12),
        other => width::cut(&other.to_string(), 400),
    }
}

/// The stages as a table: counts and seconds, unrounded.
pub(super) fn table(jobs: &JobsPage, language: Language) -> Table {
    let header = [common::STAGE, common::IN, common::OUT, common::DROPPED, words::SECONDS];
    let row = |stage: &StageProgress| {
        let [rows_in, out, dropped] = match &stage.state {
            StageState::Done(report) => [report.rows_in, report.rows_out, report.dropped_rows()].map(|n| n.to_string()),
            _ => [stage.done.to_string(), String::new(), String::new()],
        };
        vec![
            term(&stage.name).to(language).to_owned(),
            rows_in,
            out,
            dropped,
            format!("{}", stage.elapsed.as_secs_f64()),
        ]
    };
    Table::new(language, &header, jobs.stages().iter().map(row).collect())
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_bar_fills_its_columns_in_eighths() {
        assert_eq!(bar(Some(0.5), 0, 4), "██  ");
        assert_eq!(bar(Some(0.53125), 0, 4), "██▏ ");
        assert_eq!(bar(Some(2.0), 0, 4), "████");
        assert_eq!(bar(None, 400, 4), "··█·");
    }

    #[test]
    fn columns_fit_every_screen_and_the_last_one_is_never_cut() {
        let stage = |name: &str, rows: u64| StageProgress {
            name: name.to_owned(),
            unit: "docs",
            done: rows,
            total: None,
            share: None,
            note: String::new(),
            elapsed: std::time::Duration::from_secs(1),
            state: StageState::Running,
        };
        let stages = [stage("extract placebo · masked", 4_300_000), stage("clean", 9)];
        for total in 58..200 {
            let [.., rate, time] = columns(total, &stages);
            let widths = columns(total, &stages);
            assert_eq!(widths.iter().sum::<usize>() + 6, total, "{widths:?}");
            assert_eq!((time, rate == 0 || rate == 8), (8, true), "{widths:?}");
        }
    }
}
