//! The picture of the run page.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::Value;

use super::{Phase, RejectList, Run};
use crate::data::Report;
use crate::job::{StageProgress, StageState};
use crate::tui::app::App;
use crate::tui::reading::{REJECTS_SHOWN, Reject, Rejects};
use crate::tui::words::{self, Word};
use crate::tui::{figures, look, width};

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, page: Rect) {
    let run = &app.run;
    if let Some(list) = &run.list {
        return draw_rejects(app, list, run.page, frame, page);
    }
    if run.phase == Phase::Never && run.stages.is_empty() {
        let lines =
            vec![Line::raw(app.say(words::NO_RUN)), Line::raw(""), Line::styled(&*app.workspace.command, look::DIM)];
        let block = look::pane(title(app, run), true);
        return frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), page);
    }
    let wanted = u16::try_from(run.stages.len()).unwrap_or(u16::MAX).saturating_add(3);
    let rows = wanted.clamp(4, page.height / 2 + 2);
    let [above, below] = Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(page);
    draw_stages(app, run, frame, above);
    draw_particulars(app, run, frame, below);
}

fn title<'a>(app: &App, run: &Run) -> Line<'a> {
    let (word, style) = match run.phase {
        Phase::Never if run.stages.is_empty() => (words::NOT_STARTED, look::DIM),
        Phase::Never => (words::LAST_RUN, look::DIM),
        Phase::Running => (words::RUNNING, look::KEY),
        Phase::Stopping => (words::STOPPING, look::NOTE),
        Phase::Done => (words::DONE, look::PLAIN),
        Phase::Failed(_) => (words::FAILED, look::BAD),
        Phase::Cancelled => (words::CANCELLED, look::NOTE),
    };
    let state = Span::styled(app.say(word).to_owned(), style);
    let mut title = vec![Span::raw(format!(" {} · ", app.say(words::RUN))), state];
    if let Some(took) = run.took {
        title.push(Span::raw(format!(" · {}", figures::span(took))));
    }
    let notes = run.stages.iter().filter(|stage| matches!(stage.state, StageState::Running)).map(|stage| &stage.note);
    for note in notes.filter(|note| !note.is_empty()) {
        title.push(Span::raw(format!(" · {note}")));
    }
    title.push(Span::raw(" "));
    Line::from(title)
}

/// Cells of the columns stage, bar, rows, out, dropped, rate, time; names and counts are not cut where there is room.
fn columns(total: usize, stages: &[StageProgress]) -> [usize; 7] {
    let widest = |of: fn(&StageProgress) -> usize, least: usize, most: usize| {
        stages.iter().map(of).max().unwrap_or(least).clamp(least, most)
    };
    let name = widest(|s| width::width(&s.name), 10, 24);
    let rows = widest(|s| rows(s).len(), 9, 19);
    let (out, dropped, rate, time) = (9, 7, 8, 8);
    let bar = total.saturating_sub(name + rows + out + dropped + rate + time + 6);
    // A bar of less says nothing; then the name gives way.
    let short = 6usize.saturating_sub(bar);
    [name.saturating_sub(short), bar.max(6), rows, out, dropped, rate, time]
}

/// What a stage has worked on: of how much while it runs, then all that came in.
fn rows(stage: &StageProgress) -> String {
    match (&stage.state, stage.total) {
        (StageState::Done(report), _) => figures::count(report.rows_in),
        (_, Some(total)) => format!("{}/{}", figures::count(stage.done), figures::count(total)),
        (_, None) => figures::count(stage.done),
    }
}

fn draw_stages(app: &App, run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(title(app, run), true);
    let inner = block.inner(area);
    let widths = columns(inner.width as usize, &run.stages);
    let names = [words::STAGE, words::PROGRESS, words::ROWS, words::OUT, words::DROPPED, words::RATE, words::TIME_LEFT];
    let mut header: Vec<String> = Vec::new();
    for (i, (name, columns)) in names.into_iter().zip(widths).enumerate() {
        let name = app.say(name);
        header.push(if i < 2 { width::left(name, columns) } else { width::right(name, columns) });
    }
    let mut lines = vec![Line::styled(header.join(" "), look::DIM)];
    let room = inner.height.saturating_sub(1) as usize;
    let top = (run.selected() + 1).saturating_sub(room);
    for (i, stage) in run.stages.iter().enumerate().skip(top).take(room) {
        lines.push(stage_line(app, stage, widths, i == run.selected()));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn stage_line<'a>(app: &App, stage: &StageProgress, widths: [usize; 7], selected: bool) -> Line<'a> {
    // A stage that panicked has had no time to say so: once the run has ended, none is at work.
    let broken = !app.run.busy() && matches!(stage.state, StageState::Running);
    let state = if broken { &StageState::Failed } else { &stage.state };
    let (bar, out, dropped, time, style) = match state {
        StageState::Running => {
            let share = stage.total.filter(|t| *t > 0).map(|t| stage.done as f64 / t as f64);
            let time =
                stage.eta().map_or_else(|| figures::span(stage.elapsed), |eta| format!("-{}", figures::span(eta)));
            (bar(share, stage.elapsed.as_millis(), widths[1]), String::new(), None, time, look::KEY)
        }
        StageState::Done(report) if report.unchanged => {
            let bar = width::left(app.say(words::UNCHANGED), widths[1]);
            (bar, figures::count(report.rows_out), Some(report.dropped_rows()), figures::span(stage.elapsed), look::DIM)
        }
        StageState::Done(report) => {
            let out = figures::count(report.rows_out);
            (bar(Some(1.0), 0, widths[1]), out, Some(report.dropped_rows()), figures::span(stage.elapsed), look::GOOD)
        }
        StageState::Failed if matches!(app.run.phase, Phase::Stopping | Phase::Cancelled) => {
            let bar = width::left(app.say(words::CANCELLED), widths[1]);
            (bar, String::new(), None, figures::span(stage.elapsed), look::NOTE)
        }
        StageState::Failed => {
            let bar = width::left(app.say(words::FAILED), widths[1]);
            (bar, String::new(), None, figures::span(stage.elapsed), look::BAD)
        }
    };
    let name = if selected { look::SELECTED } else { look::PLAIN };
    let dropped_style = if dropped > Some(0) { look::NOTE } else { look::DIM };
    let dropped = dropped.map(figures::count).unwrap_or_default();
    let gap = || Span::raw(" ");
    Line::from(vec![
        Span::styled(width::left(&stage.name, widths[0]), name),
        gap(),
        Span::styled(bar, style),
        gap(),
        Span::raw(width::right(&rows(stage), widths[2])),
        gap(),
        Span::raw(width::right(&out, widths[3])),
        gap(),
        Span::styled(width::right(&dropped, widths[4]), dropped_style),
        gap(),
        Span::raw(width::right(&figures::rate(stage.rate()), widths[5])),
        gap(),
        Span::raw(width::right(&time, widths[6])),
    ])
}

/// A bar of `columns` cells in eighths; without a known total, a mark that wanders with the time.
fn bar(share: Option<f64>, millis: u128, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let Some(share) = share else {
        let at = usize::try_from(millis / 200).unwrap_or(0) % columns.max(1);
        return (0..columns).map(|i| if i == at { '█' } else { '·' }).collect();
    };
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * columns as f64) as usize;
    let mut bar: String = std::iter::repeat_n('█', eighths / 8).collect();
    if eighths / 8 < columns {
        bar.push(EIGHTHS[eighths % 8]);
        bar.extend(std::iter::repeat_n(' ', columns - eighths / 8 - 1));
    }
    bar
}

/// What the selected stage said: its losses by reason and its findings; or why the run failed.
fn draw_particulars(app: &App, run: &Run, frame: &mut Frame<'_>, area: Rect) {
    let mut lines: Vec<Line<'_>> = Vec::new();
    if let Phase::Failed(error) = &run.phase {
        lines.extend(error.lines().map(|l| Line::styled(l, look::BAD)));
        lines.push(Line::styled(app.say(words::AFTER_FAILURE), look::DIM));
        lines.push(Line::raw(""));
    }
    match run.phase {
        Phase::Cancelled => lines.push(Line::styled(app.say(words::AFTER_CANCEL), look::NOTE)),
        Phase::Done => lines.push(Line::styled(app.say(words::AFTER_RUN), look::DIM)),
        Phase::Never => lines.push(Line::styled(app.say(words::AFTER_LAST_RUN), look::DIM)),
        _ => {}
    }
    let stage = run.stages.get(run.selected());
    if let Some(StageState::Done(report)) = stage.map(|s| &s.state) {
        lines.extend(report_lines(app, report));
    }
    let name = stage.map_or("", |s| s.name.as_str());
    let lines: Vec<Line<'_>> = lines.into_iter().skip(run.scroll).collect();
    let block = look::pane(format!(" {} {name} ", app.say(words::PARTICULARS)), false);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn report_lines<'a>(app: &App, report: &Report) -> Vec<Line<'a>> {
    let count = |word: Word, n: u64| format!("{} {}", app.say(word), figures::count(n));
    let mut lines = vec![Line::raw(format!(
        "{}  {}  {}  {:.1} s",
        count(words::IN, report.rows_in),
        count(words::OUT, report.rows_out),
        count(words::DROPPED, report.dropped_rows()),
        report.seconds
    ))];
    let names = report.dropped.keys().chain(report.facts.keys()).map(|name| width::width(name));
    let columns = names.max().unwrap_or(0).clamp(24, 56);
    let pair = |name: &str, value: String, style: Style| {
        let name = format!("  {} ", width::left(name, columns));
        Line::from(vec![Span::styled(name, look::DIM), Span::styled(value, style)])
    };
    let mut reasons: Vec<(&String, &u64)> = report.dropped.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (reason, n) in reasons {
        lines.push(pair(reason, width::right(&figures::count(*n), 12), look::NOTE));
    }
    for (name, value) in &report.facts {
        lines.push(pair(name, fact(value), look::PLAIN));
    }
    lines
}

/// A finding in words: text and numbers as they are, lists and tables as JSON.
fn fact(value: &Value) -> String {
    match value {
        Value::String(text) => width::cut(text, 400),
        Value::Number(n) if n.is_u64() => width::right(&figures::count(n.as_u64().unwrap_or_default()), 12),
        Value::Number(n) => width::right(&figures::number(n.as_f64().unwrap_or(f64::NAN), 4), 12),
        other => width::cut(&other.to_string(), 400),
    }
}

fn draw_rejects(app: &App, list: &RejectList, rows: usize, frame: &mut Frame<'_>, page: Rect) {
    let rejects = match &list.rejects {
        None => Err(Line::styled(app.say(words::READING), look::DIM)),
        Some(Err(error)) => Err(Line::styled(error.as_str(), look::BAD)),
        Some(Ok(rejects)) if rejects.rows.is_empty() => Err(Line::raw(app.say(words::NO_REJECTS))),
        Some(Ok(rejects)) => Ok(rejects),
    };
    match rejects {
        Err(line) => {
            let block = look::pane(format!(" {} ", app.say(words::REJECTS)), true);
            frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }).block(block), page);
        }
        Ok(rejects) => draw_reject_list(app, rejects, list.cursor, rows, frame, page),
    }
}

fn draw_reject_list(app: &App, rejects: &Rejects, cursor: usize, rows: usize, frame: &mut Frame<'_>, page: Rect) {
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(6)]).areas(page);
    let mut title = format!(
        " {} {} / {} ",
        app.say(words::REJECTS),
        figures::count(cursor as u64 + 1),
        figures::count(rejects.total)
    );
    if rejects.total > REJECTS_SHOWN as u64 {
        title += &format!("({} {}) ", app.say(words::SHOWN_FIRST), figures::count(REJECTS_SHOWN as u64));
    }
    let block = look::pane(title, true);
    let inner = block.inner(above);
    let reason = (inner.width as usize).saturating_sub(24 + 8 + 14 + 3);
    let line = |file: &str, row: &str, column: &str, why: &str| {
        let row = width::right(row, 8);
        format!("{} {row} {} {}", width::left(file, 24), width::left(column, 14), width::left(why, reason))
    };
    let header = [words::FILE, words::ROW, words::COLUMN, words::REASON].map(|w| app.say(w));
    let mut lines = vec![Line::styled(line(header[0], header[1], header[2], header[3]), look::DIM)];
    let room = (inner.height.saturating_sub(1) as usize).min(rows.max(1) + 6);
    let top = (cursor + 1).saturating_sub(room);
    for (i, reject) in rejects.rows.iter().enumerate().skip(top).take(room) {
        let file = reject.file.rsplit('/').next().unwrap_or_default();
        let row = reject.row.map(figures::count).unwrap_or_default();
        let text = line(file, &row, reject.column.as_deref().unwrap_or_default(), &reject.reason);
        lines.push(Line::styled(text, if i == cursor { look::SELECTED } else { look::PLAIN }));
    }
    frame.render_widget(Paragraph::new(lines).block(block), above);
    if let Some(reject) = rejects.rows.get(cursor) {
        draw_reject(app, reject, frame, below);
    }
}

fn draw_reject(app: &App, reject: &Reject, frame: &mut Frame<'_>, area: Rect) {
    let inside = area.width.saturating_sub(2) as usize;
    let mut lines = Vec::new();
    if let Some(value) = &reject.value {
        lines.push(Line::raw(width::cut(&format!("{} {value}", app.say(words::VALUE)), inside)));
    }
    if let Some(raw) = &reject.raw {
        lines.push(Line::styled(width::cut(raw, inside * 3), look::DIM));
    }
    let block = look::pane(width::cut(&format!(" {} · {} ", reject.file, reject.reason), inside), false);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
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
}
