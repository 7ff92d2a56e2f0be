//! All factors beside one another as a matrix, and two of them over one another.

use anyhow::Result;
use chrono::NaiveDate;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::picture::growth;
use super::words as own;
use crate::action::Action;
use crate::charts::{Axes, Curve, draw_curves, points};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::list::moved;
use crate::page::{Table, exact};
use crate::{figures, look, width};
use inkstone_base::disk;
use inkstone_lab::backtest::{Comparison, FactorPair, IC_WINDOW, Outcome, compare};
use inkstone_tables::project::Project;

/// Cells of a number of the matrix, and of a name before it.
const CELL: usize = 9;
const NAME: usize = 14;

/// Growth of 1 of a factor's long-short portfolio after costs.
struct Wealth {
    dates: Vec<NaiveDate>,
    values: Vec<f64>,
}

/// The factors of the project, compared two by two.
pub(super) struct ComparedFactors {
    found: Comparison,
    /// By factor.
    wealth: Vec<Wealth>,
}

/// The comparison, while it is open.
pub(super) struct FactorMatrix {
    asked: Errand<ComparedFactors>,
    row: usize,
    column: usize,
    /// True if the matrix shows correlations of RankICs, not of values.
    of_ic: bool,
    /// True if the two factors of the marked cell are shown.
    pair: bool,
}

impl FactorMatrix {
    /// Compares the factors of the project that have been tested; the row of `factor` is marked.
    pub(super) fn open(factor: Option<&str>, desk: &Desk<'_>) -> FactorMatrix {
        let (project, all) = (desk.workspace.project.clone(), desk.workspace.factors.clone());
        let tested: Vec<String> = all.into_iter().filter(|name| project.backtest_names(name).exists()).collect();
        let row = tested.iter().position(|name| Some(name.as_str()) == factor).unwrap_or(0);
        let column = usize::from(row == 0);
        let asked = desk.errand("factors compared", move |ctx| {
            let found = compare(&project, &tested, ctx)?;
            let wealth = tested.iter().map(|name| wealth(&project, name)).collect::<Result<_>>()?;
            Ok(ComparedFactors { found, wealth })
        });
        FactorMatrix { asked, row, column, of_ic: false, pair: false }
    }

    pub(super) fn look(&mut self) {
        self.asked.look();
    }

    pub(super) fn waiting(&self) -> bool {
        self.asked.waiting()
    }

    fn count(&self) -> usize {
        self.asked.get().map_or(0, |compared| compared.found.factors.len())
    }

    pub(super) fn can_open(&self) -> bool {
        !self.pair && self.marked().is_some()
    }

    fn marked(&self) -> Option<&FactorPair> {
        self.asked.get()?.found.pair(self.row, self.column)
    }

    /// Goes back from two factors to the matrix; false where that is left.
    pub(super) fn up(&mut self) -> bool {
        std::mem::take(&mut self.pair)
    }

    pub(super) fn step(&mut self, action: Action) {
        let count = self.count();
        match action {
            Action::Drill => self.pair = self.marked().is_some(),
            Action::Layers => self.of_ic = !self.of_ic,
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = moved(self.column, Action::Down, count, 1),
            // Two factors: another second one, which is never the first.
            Action::NextFactor | Action::PreviousFactor if count > 1 => {
                let by = if action == Action::NextFactor { 1 } else { count - 1 };
                let next = (self.column + by) % count;
                self.column = if next == self.row { (next + by) % count } else { next };
            }
            _ if !self.pair => self.row = moved(self.row, action, count, count),
            _ => {}
        }
    }

    /// The command that compares the same two.
    pub(super) fn words(&self) -> Option<[String; 2]> {
        self.marked().map(|pair| [pair.a.clone(), pair.b.clone()])
    }

    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        let compared = self.asked.get()?;
        let header = [
            own::FACTOR_A,
            own::FACTOR_B,
            own::VALUE_CORRELATION,
            own::IC_CORRELATION,
            own::TOP_OVERLAP,
            own::DATES_UNIT,
        ];
        let row = |pair: &FactorPair| {
            vec![
                pair.a.clone(),
                pair.b.clone(),
                exact(pair.mean_correlation),
                exact(pair.ic_correlation),
                exact(pair.mean_overlap),
                pair.dates.len().to_string(),
            ]
        };
        Some(Table::new(desk.language, &header, compared.found.pairs.iter().map(row).collect()))
    }
}

fn wealth(project: &Project, name: &str) -> Result<Wealth> {
    let book = disk::read_json::<Outcome>(&project.backtest(name))?.long_short;
    Ok(Wealth { values: growth(&book.net), dates: book.dates })
}

pub(super) fn draw(context: &PageContext<'_>, matrix: &FactorMatrix, frame: &mut Frame<'_>, page: Rect) {
    let title = format!(" {} ", context.say(own::COMPARED));
    let Some(compared) = matrix.asked.get() else {
        let line = context.outstanding(&matrix.asked).unwrap_or_default();
        return look::message(line, look::pane(title, true), frame, page);
    };
    match matrix.marked().filter(|_| matrix.pair) {
        Some(pair) => draw_pair(context, matrix, compared, pair, frame, page),
        None if compared.found.factors.len() < 2 => {
            look::message(context.say(own::ONE_FACTOR), look::pane(title, true), frame, page);
        }
        None => draw_matrix(context, matrix, compared, frame, page),
    }
}

/// The colour of a correlation: none where it is small.
fn style(value: f64, red_up: bool) -> Style {
    match value.abs() {
        size if size < 0.1 || size.is_nan() => look::DIM,
        size if size < 0.3 => look::PLAIN,
        size if size < 0.7 => look::of_sign(value, red_up),
        _ => look::of_sign(value, red_up).patch(look::STRONG),
    }
}

fn draw_matrix(
    context: &PageContext<'_>,
    matrix: &FactorMatrix,
    compared: &ComparedFactors,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let measure = context.say(if matrix.of_ic { own::IC_CORRELATION } else { own::VALUE_CORRELATION });
    let title = format!(" {} · {measure} ", context.say(own::COMPARED));
    let below = Line::styled(format!(" {} ", context.say(own::COMPARED_KEYS)), look::DIM);
    let inner = look::framed(look::pane(title, true).title_bottom(below), frame, page);
    let [table, about] = Layout::vertical([Constraint::Min(0), Constraint::Length(2)]).areas(inner);
    let factors = &compared.found.factors;
    // Columns and rows around the marked cell, where not all have room.
    let columns = (usize::from(table.width).saturating_sub(NAME) / (CELL + 1)).max(1);
    let rows = usize::from(table.height).saturating_sub(1).max(1);
    let [left, top] = [(matrix.column, columns), (matrix.row, rows)].map(|(at, room)| (at + 1).saturating_sub(room));
    let across = || factors.iter().enumerate().skip(left).take(columns);
    let head = across().map(|(_, name)| format!(" {}", width::right(name, CELL))).collect::<String>();
    let mut lines = vec![Line::styled(format!("{}{head}", " ".repeat(NAME)), look::DIM)];
    for (row, name) in factors.iter().enumerate().skip(top).take(rows) {
        let mut line = vec![Span::styled(
            width::left(&format!(" {name}"), NAME),
            if row == matrix.row { look::STRONG } else { look::PLAIN },
        )];
        for (column, _) in across() {
            let pair = compared.found.pair(row, column);
            let value = pair.map(|pair| if matrix.of_ic { pair.ic_correlation } else { pair.mean_correlation });
            let text = value.map_or_else(|| "1".to_owned(), |value| figures::signed(value, 3));
            let style = value.map_or(look::DIM, |value| style(value, context.workspace.red_up));
            let marked = (row, column) == (matrix.row, matrix.column);
            line.push(Span::raw(" "));
            line.push(Span::styled(
                width::right(&text, CELL),
                if marked { style.patch(look::SELECTED) } else { style },
            ));
        }
        lines.push(Line::from(line));
    }
    frame.render_widget(Paragraph::new(lines), table);
    if let Some(pair) = matrix.marked() {
        let lines = facts(context, pair).map(|fact| Line::styled(width::cut(&fact, about.width.into()), look::NOTE));
        frame.render_widget(Paragraph::new(lines.to_vec()), about);
    }
}

/// Two lines on a pair: what it is, and its figures.
fn facts(context: &PageContext<'_>, pair: &FactorPair) -> [String; 2] {
    let last = |values: &[f64]| figures::signed(values.iter().rfind(|v| v.is_finite()).copied().unwrap_or(f64::NAN), 3);
    let names = pair.names.iter().sum::<u32>() as f64 / pair.names.len().max(1) as f64;
    let values = format!(
        " {} × {} · {} {} ({} {}) · {} {} · {} {}",
        pair.a,
        pair.b,
        context.say(own::VALUE_CORRELATION),
        figures::signed(pair.mean_correlation, 3),
        context.say(own::LAST),
        last(&pair.correlations),
        figures::count(pair.dates.len() as u64),
        context.say(own::DATES_UNIT),
        figures::number(names, 0),
        context.say(own::SHARED_NAMES),
    );
    let other = format!(
        " {} {} ({}d, {} {}) · {} {}",
        context.say(own::IC_CORRELATION),
        figures::signed(pair.ic_correlation, 3),
        pair.horizon,
        figures::count(pair.ic_dates as u64),
        context.say(own::DATES_UNIT),
        context.say(own::TOP_OVERLAP),
        figures::percent(pair.mean_overlap),
    );
    [values, other]
}

fn draw_pair(
    context: &PageContext<'_>,
    matrix: &FactorMatrix,
    compared: &ComparedFactors,
    pair: &FactorPair,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [above, below, about] =
        Layout::vertical([Constraint::Percentage(50), Constraint::Min(0), Constraint::Length(2)]).areas(page);
    let [values, ics, tops] = Layout::horizontal([Constraint::Fill(1); 3]).areas(below);
    let places = [matrix.row.min(matrix.column), matrix.row.max(matrix.column)];
    let curve = |(place, style): (usize, Style)| {
        let Wealth { dates, values } = &compared.wealth[place];
        Curve { name: compared.found.factors[place].clone(), points: points(dates, values), style }
    };
    let curves: Vec<Curve> = places.into_iter().zip([look::KEY, look::NOTE]).map(curve).collect();
    let mut title = vec![Span::raw(format!(" {} · ", context.say(own::BOTH_WEALTH)))];
    title.extend(curves.iter().map(|curve| Span::styled(format!("{} ", curve.name), curve.style)));
    draw_curves(&curves, None, &Axes::plain(1.0), look::pane(Line::from(title), true), frame, above);
    for (title, dates, values, area) in [
        (context.say(own::VALUE_CORRELATION).to_owned(), &pair.dates, &pair.correlations, values),
        (
            format!("{} · {IC_WINDOW} {}", context.say(own::ROLLING_IC), context.say(own::DATES_UNIT)),
            &pair.ic_ends,
            &pair.ic_correlations,
            ics,
        ),
        (context.say(own::TOP_OVERLAP).to_owned(), &pair.dates, &pair.overlaps, tops),
    ] {
        let curve = Curve { name: String::new(), points: points(dates, values), style: look::KEY };
        let block = look::pane(format!(" {title} "), false);
        draw_curves(&[curve], None, &Axes::plain(0.0), block, frame, area);
    }
    let lines = facts(context, pair).map(|fact| Line::styled(width::cut(&fact, about.width.into()), look::NOTE));
    frame.render_widget(Paragraph::new(lines.to_vec()), about);
}
