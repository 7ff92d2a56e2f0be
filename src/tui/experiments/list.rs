//! The picture of an experiment: its finding, its cells, and the frontier.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::{Experiments, page};
use crate::experiment::{Cell, Findings};
use crate::report::{self, DECIMALS, Standing, Tone};
use crate::tui::app::App;
use crate::tui::jobs::{self, Phase};
use crate::tui::page::Page;
use crate::tui::{figures, look, width, words};

/// Lines of the finding with its frame, and where there is room for more.
const FINDING: [u16; 2] = [5, 7];
/// Height of a page that has room for more.
const TALL: u16 = 30;

/// Colours of families of strategies; more than these share them.
const SERIES: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::Blue, Color::Red];

/// Finding, list and chart.
fn panes(page: Rect) -> [Rect; 3] {
    let [finding, below] =
        Layout::vertical([Constraint::Length(FINDING[usize::from(page.height >= TALL)]), Constraint::Min(0)])
            .areas(page);
    let share = if page.width >= 110 { 52 } else { 55 };
    let [list, chart] = Layout::horizontal([Constraint::Percentage(share), Constraint::Min(0)]).areas(below);
    [finding, list, chart]
}

/// Cells that the list has room for.
pub(super) fn rows(page: Rect) -> usize {
    panes(page)[1].height.saturating_sub(3) as usize
}

/// Draws the page.
pub(crate) fn draw(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let experiments = &app.experiments;
    let message = match (&experiments.loaded, experiments.findings()) {
        (_, Some(findings)) => return draw_experiment(app, experiments, findings, frame, area),
        (Some(Err(error)), _) => vec![Line::styled(error.clone(), look::BAD)],
        (None, _) if experiments.asked => vec![Line::styled(app.say(words::READING), look::DIM)],
        _ if app.workspace.laboratory.is_none() => vec![Line::raw(app.say(words::NO_LABORATORY))],
        _ => vec![Line::raw(app.say(words::NO_EXPERIMENT))],
    };
    let lines = state(app).unwrap_or(message);
    let block = look::pane(format!(" {} ", app.say(words::EXPERIMENTS)), true);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

/// What is said of a run that was started here, while it is under way and where it failed.
fn state<'a>(app: &App) -> Option<Vec<Line<'a>>> {
    let job = app.jobs.last_from(Page::Experiments)?;
    match &job.phase {
        Phase::Waiting | Phase::Running | Phase::Paused | Phase::Stopping => {
            let mut lines = vec![Line::styled(app.say(jobs::word(&job.phase)), look::KEY)];
            if let Some(stage) = job.stage() {
                let total = stage.total.map(|total| format!(" / {}", figures::count(total))).unwrap_or_default();
                let mut text = format!("{} {}{total} {}", stage.name, figures::count(stage.done), stage.unit);
                if !stage.note.is_empty() {
                    text += &format!(" · {}", stage.note);
                }
                lines.push(Line::raw(format!("{text} · {}", figures::span(stage.elapsed))));
            }
            Some(lines)
        }
        Phase::Failed(error) => Some(vec![
            Line::styled(error.clone(), look::BAD),
            Line::styled(app.say(words::AFTER_EXPERIMENT_FAILED), look::DIM),
        ]),
        Phase::Cancelled => Some(vec![Line::styled(app.say(words::AFTER_CANCEL), look::NOTE)]),
        Phase::Done => None,
    }
}

fn draw_experiment(app: &App, experiments: &Experiments, findings: &Findings, frame: &mut Frame<'_>, area: Rect) {
    if let Some(open) = &experiments.open {
        return page::draw(app, findings, open, frame, area);
    }
    let [finding, list, chart] = panes(area);
    let block = look::pane(title(app, experiments, findings), false);
    let inner = block.inner(finding);
    let lines = state(app).unwrap_or_else(|| told(&report::finding(findings, app.language), inner));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), finding);
    draw_list(app, experiments, findings, frame, list);
    draw_chart(app, findings, frame, chart);
}

/// A text in the lines of an area; where it is longer, the last one says so.
fn told<'a>(text: &str, area: Rect) -> Vec<Line<'a>> {
    let (width, height) = (area.width as usize, area.height as usize);
    let mut lines: Vec<String> = report::wrapped(text, width, Tone::Plain).iter().map(ToString::to_string).collect();
    if lines.len() > height {
        lines.truncate(height);
        if let Some(last) = lines.last_mut() {
            *last = width::cut(&format!("{}…", width::cut(last, width.saturating_sub(1)).trim_end_matches('…')), width);
        }
    }
    lines.into_iter().map(Line::raw).collect()
}

fn title<'a>(app: &App, experiments: &Experiments, findings: &Findings) -> Line<'a> {
    let mut spans = vec![Span::raw(format!(" {} ", app.say(words::EXPERIMENT)))];
    if experiments.all().len() > 1 {
        spans.push(Span::styled(format!("{}/{} ", experiments.selected + 1, experiments.all().len()), look::DIM));
    }
    spans.push(Span::styled(format!("{} ", width::cut(&findings.name, 30)), look::KEY.patch(look::STRONG)));
    let documents = figures::count(findings.documents);
    spans.push(Span::styled(format!("· {documents} {} ", app.say(words::DOCUMENTS)), look::DIM));
    Line::from(spans)
}

/// The style of a tone.
fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => look::PLAIN,
        Tone::Dim => look::DIM,
        Tone::Strong | Tone::Frontier => look::STRONG,
        Tone::Baseline | Tone::Below => look::NOTE,
        Tone::Above => look::KEY,
        Tone::Series(family) => Style::new().fg(SERIES[family % SERIES.len()]).patch(look::STRONG),
    }
}

/// Cells of the columns behind the name: figure, difference, and as the width permits its interval, tokens, corrected p.
struct Columns {
    name: usize,
    interval: bool,
    p: bool,
}

/// Cells of a figure, a difference, an interval, a number of tokens and a probability, each with a space before it.
const WIDE: [usize; 5] = [9, 9, 20, 7, 8];

impl Columns {
    fn of(total: usize) -> Columns {
        let least = 2 + 12 + WIDE[0] + WIDE[1] + WIDE[3];
        let p = total >= least + WIDE[4] + 8;
        let interval = total >= least + WIDE[4] + WIDE[2];
        let taken = 2 + WIDE[0] + WIDE[1] + WIDE[3] + if p { WIDE[4] } else { 0 } + if interval { WIDE[2] } else { 0 };
        Columns { name: total.saturating_sub(taken), interval, p }
    }

    fn line(&self, name: &str, [figure, difference, interval, tokens, p]: [&str; 5]) -> String {
        let mut line = width::left(name, self.name);
        line += &width::right(figure, WIDE[0]);
        line += &width::right(difference, WIDE[1]);
        if self.interval {
            line += &width::right(interval, WIDE[2]);
        }
        if self.p {
            line += &width::right(p, WIDE[4]);
        }
        line + &width::right(tokens, WIDE[3])
    }
}

fn draw_list(app: &App, experiments: &Experiments, findings: &Findings, frame: &mut Frame<'_>, area: Rect) {
    let position = format!("{} / {}", experiments.cursor + 1, experiments.order.len());
    let mut block = look::pane(format!(" {} · {position} ", app.say(words::CELLS)), true);
    if let Some(cell) = experiments.order.get(experiments.cursor).and_then(|n| findings.cells.get(*n)) {
        block = block.title_bottom(Line::styled(format!(" {} ", cost(app, cell)), look::DIM));
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let columns = Columns::of(inner.width as usize);
    let heads = [words::FIGURE_DIFFERENCE, words::INTERVAL, words::TOKENS, words::P_ADJUSTED].map(|word| app.say(word));
    let measure = report::measure(findings, app.language);
    let head = columns.line(app.say(words::STRATEGY), [measure, heads[0], heads[1], heads[2], heads[3]]);
    let mut lines = vec![Line::styled(format!("  {head}"), look::DIM)];
    let shown =
        experiments.order.iter().enumerate().skip(experiments.top).take(inner.height.saturating_sub(1) as usize);
    for (at, &number) in shown {
        let cell = &findings.cells[number];
        let (mark, series) = report::mark_of(findings, cell);
        let against = cell.against;
        let [difference, interval, p] = [
            against.map(|c| figures::signed(c.difference, DECIMALS)),
            against.map(|c| report::interval(c.interval)),
            against.map(|c| report::probability(c.p_adjusted)),
        ]
        .map(|text| text.unwrap_or_else(|| "–".to_owned()));
        let figure = figures::number(cell.figure, DECIMALS);
        let fields = [figure.as_str(), &difference, &interval, &report::tokens(cell), &p];
        let line = columns.line(&report::label(findings, cell), fields);
        let tone = match report::standing(findings, cell) {
            Standing::Baseline => style(Tone::Baseline),
            Standing::Above => style(Tone::Above),
            Standing::Below => look::DIM,
            Standing::NotShown => look::PLAIN,
        };
        let selected = if at == experiments.cursor { look::SELECTED } else { look::PLAIN };
        let front = if cell.on_frontier { "─" } else { " " };
        lines.push(Line::from(vec![
            Span::styled(mark.to_string(), style(series)),
            Span::styled(front, look::STRONG),
            Span::styled(line, tone.patch(selected)),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// What the selected cell costs.
fn cost(app: &App, cell: &Cell) -> String {
    let mut text = format!("{} s", figures::number(cell.cost.seconds, 1));
    if !cell.cost.device.is_empty() {
        text += &format!(" · {}", width::cut(&cell.cost.device, 12));
    }
    if cell.cost.nothing_kept > 0 {
        text += &format!(" · {} {}", app.say(words::NOTHING_KEPT), figures::count(cell.cost.nothing_kept));
    }
    text
}

fn draw_chart(app: &App, findings: &Findings, frame: &mut Frame<'_>, area: Rect) {
    let block = look::pane(format!(" {} ", app.say(words::FRONTIER)), false);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let chart = report::frontier_chart(findings, inner.width as usize, inner.height as usize, app.language);
    let lines: Vec<Line<'_>> = chart
        .into_iter()
        .map(|line| Line::from_iter(line.0.into_iter().map(|piece| Span::styled(piece.text, style(piece.tone)))))
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}
