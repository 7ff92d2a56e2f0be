//! Draws an experiment: its finding, its cells, the frontier, and what each setting does.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};

use super::grid::{self, GridTable};
use super::words as own;
use super::{ExperimentsPage, ExperimentsView, effects, page};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::jobs::{self, Phase};
use crate::kit::{Cell as TableCell, SheetColumn, SheetRow, number, text};
use crate::page::Page;
use crate::view::page_area;
use crate::{figures, look, width, words};
use inkstone_base::bootstrap::Comparison;
use inkstone_features::experiment::{Cell, Findings};
use inkstone_report as report;
use inkstone_report::{CellStanding, DECIMALS, TextTone};

/// Lines of the finding with its frame, and where there is room for more.
const FINDING: [u16; 2] = [5, 7];
/// Height of a page that has room for more.
const TALL: u16 = 30;

/// Width from which views stand side by side.
const SIDE_BY_SIDE: u16 = 110;

/// Colours of families of strategies; more than these share them.
const SERIES: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::Blue, Color::Red];

/// The finding, and the area of each view; that of a view that is not seen is empty.
fn panes(page: Rect, view: ExperimentsView, experiments: &ExperimentsPage) -> (Rect, [Rect; 4]) {
    let (effects, alone) = (experiments.effects(), experiments.zoom.is_on());
    let height = if alone { 0 } else { FINDING[usize::from(page.height >= TALL)] };
    let [finding, below] = Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(page);
    if page.width >= SIDE_BY_SIDE && page.height >= TALL && !alone {
        let [list, right] = Layout::horizontal([Constraint::Percentage(52), Constraint::Min(0)]).areas(below);
        let [frontier, grid] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]).areas(right);
        // Its frame and the heads of its columns stand around the effects.
        let tall = if effects > 0 { (effects as u16).saturating_add(3).min(list.height / 2) } else { 0 };
        let [list, effects] = Layout::vertical([Constraint::Min(0), Constraint::Length(tall)]).areas(list);
        return (finding, [list, grid, frontier, effects]);
    }
    (finding, ExperimentsView::ALL.map(|other| if other == view { below } else { Rect::default() }))
}

/// Lines that the grid has room for.
pub(super) fn grid_rows(page: Rect, experiments: &ExperimentsPage) -> usize {
    let (_, [_, grid, ..]) = panes(page, ExperimentsView::Grid, experiments);
    grid::rows(look::inside(grid))
}

/// The list with its line of titles.
pub(super) fn list_area(page: Rect, experiments: &ExperimentsPage) -> Rect {
    let (_, [list, ..]) = panes(page, ExperimentsView::List, experiments);
    look::inside(list)
}

/// The row and column of the grid at a place of the page.
pub(super) fn place(experiments: &ExperimentsPage, at: Position, page: Rect) -> Option<(usize, usize)> {
    let (_, [_, grid, ..]) = panes(page, experiments.view, experiments);
    grid::place_at(experiments.table.as_ref()?, experiments.row, experiments.column, at, look::inside(grid))
}

/// True if the list is seen at a place of the page.
pub(super) fn is_on_list(experiments: &ExperimentsPage, at: Position, page: Rect) -> bool {
    let (_, [list, ..]) = panes(page, experiments.view, experiments);
    list.contains(at)
}

pub(crate) fn draw(context: &PageContext<'_>, experiments: &ExperimentsPage, frame: &mut Frame<'_>, area: Rect) {
    if let (Some(open), Some(findings)) = (&experiments.open, experiments.findings()) {
        let differing = experiments.difference(context, open.number);
        return page::draw(context, findings, (open, differing), frame, area);
    }
    if let Some(table) = &experiments.table {
        return draw_experiment(context, experiments, table, frame, area);
    }
    let fault = experiments.loaded.as_ref().and_then(|loaded| loaded.fault());
    let message = match fault {
        Some(error) => vec![Line::styled(error.to_owned(), look::BAD)],
        None if context.workspace.laboratory.is_none() => vec![Line::raw(context.say(words::NO_LABORATORY))],
        None if experiments.loaded.is_none() => vec![Line::styled(context.say(words::READING), look::DIM)],
        None => {
            let planned = context.workspace.laboratory.iter().flat_map(|laboratory| &laboratory.planned);
            let line = |(name, cells): &(String, usize)| {
                Line::styled(format!("  {name}: {cells} {}", context.say(own::CELLS)), look::DIM)
            };
            [Line::raw(context.say(words::NO_EXPERIMENT))].into_iter().chain(planned.map(line)).collect()
        }
    };
    let lines = state(context).unwrap_or(message);
    look::message(lines, look::pane(format!(" {} ", context.say(words::EXPERIMENTS)), true), frame, area);
}

/// The names of the views; where one is seen at a time, the one that is shown stands out.
fn tabs<'a>(context: &PageContext<'_>, experiments: &ExperimentsPage, of: ExperimentsView) -> Line<'a> {
    let (_, [list, grid, ..]) = panes(page_area(context.screen), experiments.view, experiments);
    let side_by_side = !list.is_empty() && !grid.is_empty();
    let is_there = |view: &ExperimentsView| *view != ExperimentsView::Effects || experiments.effects() > 0;
    let mut spans = vec![Span::raw(" ")];
    for view in ExperimentsView::ALL.into_iter().filter(is_there).filter(|view| !side_by_side || *view == of) {
        let name = context.say(match view {
            ExperimentsView::List => own::LIST,
            ExperimentsView::Grid => own::GRID,
            ExperimentsView::Frontier => own::FRONTIER,
            ExperimentsView::Effects => own::EFFECTS,
        });
        let here = view == of;
        let text = if here && !side_by_side { format!("[{name}] ") } else { format!("{name} ") };
        spans.push(Span::styled(text, if here { look::STRONG } else { look::DIM }));
    }
    Line::from(spans)
}

/// The text on a run that was started here, while it is under way and where it failed.
fn state<'a>(context: &PageContext<'_>) -> Option<Vec<Line<'a>>> {
    let job = context.last_job_from(Page::Experiments)?;
    match &job.phase {
        Phase::Waiting | Phase::Running | Phase::Paused | Phase::Stopping => {
            let mut lines = vec![Line::styled(context.say(jobs::word(&job.phase)), look::KEY)];
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
            Line::styled(error.to_string(), look::BAD),
            Line::styled(context.say(words::AFTER_EXPERIMENT_FAILED), look::DIM),
        ]),
        Phase::Cancelled => Some(vec![Line::styled(context.say(words::AFTER_CANCEL), look::NOTE)]),
        Phase::Done => None,
    }
}

fn draw_experiment(
    context: &PageContext<'_>,
    experiments: &ExperimentsPage,
    table: &GridTable,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let (above, areas) = panes(area, experiments.view, experiments);
    let block = look::pane(title(context, experiments), false);
    let inner = block.inner(above);
    let findings = experiments.findings();
    // Why a cell was skipped seldom fits below the grid.
    let finding = || match (grid::skipped(experiments), findings) {
        (Some(why), _) => clipped(&why, inner),
        (None, Some(findings)) => clipped(&report::finding(findings, context.language), inner),
        (None, None) => clipped(context.say(own::PROVISIONAL), inner),
    };
    let lines = state(context).unwrap_or_else(finding);
    if !above.is_empty() {
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), above);
    }
    for (view, area) in ExperimentsView::ALL.into_iter().zip(areas).filter(|(_, area)| !area.is_empty()) {
        let block = look::pane(tabs(context, experiments, view), experiments.view == view);
        match (view, findings) {
            (ExperimentsView::Grid, _) => grid::draw(context, experiments, table, block, frame, area),
            (_, None) => look::message(context.say(own::NOT_COMPARED), block, frame, area),
            (ExperimentsView::List, Some(findings)) => draw_list(context, experiments, findings, block, frame, area),
            (ExperimentsView::Frontier, Some(findings)) => {
                draw_frontier(context, experiments, findings, block, frame, area);
            }
            (ExperimentsView::Effects, Some(findings)) => effects::draw(context, findings, block, frame, area),
        }
    }
}

/// A text in the lines of an area; where it is longer, the last one says so.
fn clipped<'a>(text: &str, area: Rect) -> Vec<Line<'a>> {
    let (width, height) = (area.width as usize, area.height as usize);
    let mut lines: Vec<String> =
        report::wrapped(text, width, TextTone::Plain).iter().map(ToString::to_string).collect();
    if lines.len() > height {
        lines.truncate(height);
        if let Some(last) = lines.last_mut() {
            *last = width::cut(&format!("{}…", width::cut(last, width.saturating_sub(1)).trim_end_matches('…')), width);
        }
    }
    lines.into_iter().map(Line::raw).collect()
}

fn title<'a>(context: &PageContext<'_>, experiments: &ExperimentsPage) -> Line<'a> {
    let mut spans = vec![Span::raw(format!(" {} ", context.say(words::EXPERIMENT)))];
    let count = experiments.names().len();
    if count > 1 {
        spans.push(Span::styled(format!("{}/{count} ", experiments.selected + 1), look::DIM));
    }
    let name = width::cut(experiments.name().unwrap_or_default(), 30);
    spans.push(Span::styled(format!("{name} "), look::KEY.patch(look::STRONG)));
    if let Some(findings) = experiments.findings() {
        let documents = figures::count(findings.documents);
        spans.push(Span::styled(format!("· {documents} {} ", context.say(words::DOCUMENTS)), look::DIM));
    }
    Line::from(spans)
}

pub(super) fn style(tone: TextTone) -> Style {
    match tone {
        TextTone::Plain => look::PLAIN,
        TextTone::Dim => look::DIM,
        TextTone::Strong | TextTone::Frontier => look::STRONG,
        TextTone::Baseline | TextTone::Below => look::NOTE,
        TextTone::Above => look::KEY,
        TextTone::Series(family) => Style::new().fg(SERIES[family % SERIES.len()]).patch(look::STRONG),
    }
}

/// Columns and rows of the list of cells in this order, in a table so wide.
pub(super) fn sheet(
    findings: &Findings,
    order: &[usize],
    width: u16,
    desk: &Desk<'_>,
) -> (Vec<SheetColumn>, Vec<SheetRow>) {
    let total = usize::from(width);
    let others = 29 + if total >= 55 { 8 } else { 0 } + if total >= 67 { 20 } else { 0 };
    let mut columns = vec![
        text("mark", String::new(), 2).on_screen(),
        text("cell", own::CELL, 0).on_screen(),
        text("feature", own::FEATURE, 12).on_paper(),
    ];
    columns.extend(findings.vary.iter().map(|name| text(format!("vary-{name}"), name.clone(), 12).on_paper()));
    columns.extend([
        number("figure", report::measure(findings, desk.language).to_owned(), 9),
        number("difference", words::FIGURE_DIFFERENCE, 8),
        number("interval", words::INTERVAL, 19).at_least(67).on_screen(),
        number("low", own::LOW, 9).on_paper(),
        number("high", own::HIGH, 9).on_paper(),
        number("p", words::P_ADJUSTED, 7).at_least(55),
        number("best", own::MAY_BE_BEST, 8).on_paper(),
        number("tokens", words::TOKENS, 6),
        number("seconds", own::SECONDS, 8).on_paper(),
    ]);
    let row = |at: &usize| {
        let cell = &findings.cells[*at];
        let (mark, series) = report::mark_of(findings, cell);
        let against = |of: fn(&Comparison) -> f64| cell.against.as_ref().map_or(f64::NAN, of);
        let signed = |value| figures::signed(value, DECIMALS);
        let plain = |value| figures::number(value, DECIMALS);
        let interval = cell.against.map_or_else(|| "–".to_owned(), |against| report::interval(against.interval));
        let mut cells = vec![
            TableCell::text("")
                .shown(format!("{mark}{}", if cell.on_frontier { "─" } else { " " }))
                .styled(style(series)),
            TableCell::text(label(findings, cell, total.saturating_sub(others))),
            TableCell::text(cell.feature.clone()),
        ];
        cells.extend(
            (0..findings.vary.len()).map(|at| TableCell::text(cell.values.get(at).cloned().unwrap_or_default())),
        );
        cells.extend([
            TableCell::number(cell.figure, plain),
            TableCell::number(against(|c| c.difference), signed),
            TableCell::number(against(|c| c.interval.low), signed).shown(interval),
            TableCell::number(against(|c| c.interval.low), signed),
            TableCell::number(against(|c| c.interval.high), signed),
            TableCell::number(against(|c| c.p_adjusted), figures::probability),
            TableCell::number(cell.p_best.unwrap_or(f64::NAN), figures::probability),
            TableCell::number(cell.cost.tokens_a_document(), |_| String::new()).shown(report::tokens(cell)),
            TableCell::number(cell.cost.seconds, |seconds| figures::number(seconds, 1)),
        ]);
        let tone = match report::standing(findings, cell) {
            CellStanding::Baseline => style(TextTone::Baseline),
            CellStanding::Above => style(TextTone::Above),
            CellStanding::Below => look::DIM,
            CellStanding::NotShown => look::PLAIN,
        };
        SheetRow { key: super::key(&cell.feature, &cell.setting), style: tone, cells }
    };
    (columns, order.iter().map(row).collect())
}

fn draw_list(
    context: &PageContext<'_>,
    experiments: &ExperimentsPage,
    findings: &Findings,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let position = format!(" {} {} ", context.say(words::CELLS), experiments.list.place(""));
    let mut block = block.title_top(Line::styled(position, look::DIM).right_aligned());
    if let Some(cell) = experiments.cell() {
        block = block
            .title_bottom(Line::styled(format!(" {} ", cost(context, cell, findings.may_be_best(cell))), look::DIM));
    }
    let inner = look::framed(block, frame, area);
    experiments.list.draw(frame, inner);
}

/// The name of a cell; where it does not fit in, with the values of its settings alone, which tell cells apart.
fn label(findings: &Findings, cell: &Cell, room: usize) -> String {
    let full = report::label(findings, cell);
    if width::width(&full) <= room || cell.values.len() < 2 {
        return full;
    }
    let several = findings.cells.iter().any(|other| other.feature != cell.feature);
    let feature = several.then_some(&cell.feature);
    feature.into_iter().chain(&cell.values).map(String::as_str).collect::<Vec<&str>>().join(" · ")
}

fn cost(context: &PageContext<'_>, cell: &Cell, may_be_best: bool) -> String {
    let mut text = format!("{} s", figures::number(cell.cost.seconds, 1));
    if !cell.cost.device.is_empty() {
        text += &format!(" · {}", width::cut(&cell.cost.device, 12));
    }
    if may_be_best {
        text += &format!(" · {}", context.say(own::MAY_BE_BEST));
    }
    if cell.cost.nothing_kept > 0 {
        text += &format!(" · {} {}", context.say(words::NOTHING_KEPT), figures::count(cell.cost.nothing_kept));
    }
    text
}

fn draw_frontier(
    context: &PageContext<'_>,
    experiments: &ExperimentsPage,
    findings: &Findings,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let measure = report::measure(findings, context.language);
    let axes = format!(" {} {measure} · {} ", context.say(own::UP_AXIS), context.say(own::ACROSS_AXIS));
    let mut block = block.title_top(Line::styled(axes, look::DIM).right_aligned());
    if let Some(cell) = experiments.cell() {
        let (mark, series) = report::mark_of(findings, cell);
        let figure = figures::number(cell.figure, DECIMALS);
        let room = (area.width as usize).saturating_sub(30);
        let name = width::cut(&report::label(findings, cell), room);
        block = block.title_bottom(Line::from(vec![
            Span::styled(format!(" {mark} "), style(series)),
            Span::raw(format!("{name} {figure} · {} ", report::tokens(cell))),
        ]));
    }
    let inner = look::framed(block, frame, area);
    let (width, height) = (inner.width as usize, inner.height as usize);
    // The legend has what the chart can spare.
    let legend = report::frontier_legend(findings, width, context.language);
    let legend = if height >= legend.len() + 9 { legend } else { Vec::new() };
    let chart = report::frontier_chart(findings, width, height - legend.len(), context.language);
    if chart.is_empty() {
        return frame.render_widget(Paragraph::new(context.say(own::NO_FRONTIER)).wrap(Wrap { trim: false }), inner);
    }
    let lines: Vec<Line<'_>> = chart
        .into_iter()
        .chain(legend)
        .map(|line| Line::from_iter(line.0.into_iter().map(|piece| Span::styled(piece.text, style(piece.tone)))))
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}
