//! The grid of an experiment as it fills: the values of a setting down, features and the values of another across.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::ExperimentsPage;
use super::words as own;
use crate::context::PageContext;
use crate::jobs::JobEntry;
use crate::list::Cursor;
use crate::page::Page;
use crate::{figures, look, width};
use inkstone_base::job::StageState;
use inkstone_corpus::truncate::Strategy;
use inkstone_features::experiment::{CellState, Findings, Grid, GridCell, TRUNCATE, setting_names};
use inkstone_report::DECIMALS;

/// Cells of a column: a sign, a space, a figure, a space.
const COLUMN: usize = 10;
/// Lines above the grid: models, lengths.
const HEADS: u16 = 2;

/// The grid laid out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GridTable {
    pub(super) grid: Grid,
    /// The labels of the rows: families of strategies, values of the first setting, or all settings of a cell.
    pub(super) rows: Vec<String>,
    /// The feature of each column, and the length where rows are families, or the value of the second setting.
    pub(super) columns: Vec<(String, String)>,
    /// Numbers of the cells, row by row.
    pub(super) places: Vec<Vec<Option<usize>>>,
}

impl GridTable {
    /// Lays a grid out: two settings as a matrix; strategies of truncation alone as families by lengths, unless two would fall together
    /// or there is one length alone; features alone one below the other; all others as a list of cells.
    pub(super) fn new(grid: Grid) -> GridTable {
        if grid.vary.is_empty() {
            let rows: Vec<String> = grid.cells.iter().map(|cell| cell.feature.clone()).collect();
            let places = (0..rows.len()).map(|number| vec![Some(number)]).collect();
            return GridTable { grid, rows, columns: vec![Default::default()], places };
        }
        let by_setting = |cell: &GridCell| (cell.setting.clone(), String::new(), 0);
        if grid.vary.len() == 2 {
            let mut seconds: Vec<&String> = Vec::new();
            for cell in &grid.cells {
                seconds.extend(cell.values.get(1).filter(|value| !seconds.contains(value)));
            }
            let by_both = |cell: &GridCell| match cell.values.as_slice() {
                [first, second] => {
                    let name = setting_names(&grid.vary[..1], std::slice::from_ref(first));
                    (name, second.clone(), seconds.iter().position(|other| *other == second).unwrap_or(0))
                }
                _ => by_setting(cell),
            };
            return GridTable { grid: grid.clone(), ..GridTable::laid_out(&grid, by_both) };
        }
        if grid.vary.len() != 1 || grid.vary[0] != TRUNCATE {
            return GridTable { grid: grid.clone(), ..GridTable::laid_out(&grid, by_setting) };
        }
        let by_length = |cell: &GridCell| match cell.setting.parse::<Strategy>() {
            Ok(strategy) => {
                let limit = strategy.limit(0);
                (
                    strategy.family(),
                    limit.map_or("–".to_owned(), |limit| limit.to_string()),
                    limit.unwrap_or(usize::MAX),
                )
            }
            Err(_) => by_setting(cell),
        };
        let table = GridTable::laid_out(&grid, by_length);
        let several =
            table.columns.iter().map(|(_, length)| length).collect::<std::collections::BTreeSet<_>>().len() > 1;
        let placed = table.places.iter().flatten().flatten().count();
        let table = if several && placed == grid.cells.len() { table } else { GridTable::laid_out(&grid, by_setting) };
        GridTable { grid, ..table }
    }

    fn laid_out(grid: &Grid, place: impl Fn(&GridCell) -> (String, String, usize)) -> GridTable {
        let (mut rows, mut features): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut lengths: Vec<(usize, String)> = Vec::new();
        let placed: Vec<(String, String, usize)> = grid.cells.iter().map(place).collect();
        for (cell, (row, length, size)) in grid.cells.iter().zip(&placed) {
            if !rows.contains(row) {
                rows.push(row.clone());
            }
            if !features.contains(&cell.feature.as_str()) {
                features.push(&cell.feature);
            }
            if !lengths.iter().any(|(_, known)| known == length) {
                lengths.push((*size, length.clone()));
            }
        }
        lengths.sort();
        let columns: Vec<(String, String)> = features
            .iter()
            .flat_map(|feature| lengths.iter().map(move |(_, length)| ((*feature).to_owned(), length.clone())))
            .filter(|(feature, length)| {
                // A length that a model does not have takes no column.
                grid.cells.iter().zip(&placed).any(|(cell, at)| cell.feature == *feature && at.1 == *length)
            })
            .collect();
        let mut places = vec![vec![None; columns.len()]; rows.len()];
        for (number, (cell, (row, length, _))) in grid.cells.iter().zip(&placed).enumerate() {
            let row = rows.iter().position(|known| known == row);
            let column = columns.iter().position(|(feature, known)| *feature == cell.feature && known == length);
            if let Some((row, column)) = row.zip(column) {
                places[row][column] = Some(number);
            }
        }
        GridTable { grid: Grid::default(), rows, columns, places }
    }

    pub(super) fn place_of(&self, feature: &str, setting: &str) -> Option<(usize, usize)> {
        let number = self.grid.cells.iter().position(|cell| cell.feature == feature && cell.setting == setting)?;
        let column = |row: &Vec<Option<usize>>| row.iter().position(|place| *place == Some(number));
        self.places.iter().enumerate().find_map(|(row, places)| Some((row, column(places)?)))
    }

    /// The column nearest to `column` in which the row has a cell, or with `beside` the next such column to its left (false) or right
    /// (true); `column` itself where there is none.
    pub(super) fn column_near(&self, row: usize, column: usize, beside: Option<bool>) -> usize {
        let places = self.places.get(row).map_or(&[][..], Vec::as_slice);
        let mut there = places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(at, _)| at);
        let found = match beside {
            Some(true) => there.find(|at| *at > column),
            Some(false) => there.take_while(|at| *at < column).last(),
            None => there.min_by_key(|at| at.abs_diff(column)),
        };
        found.unwrap_or(column)
    }

    /// The cell at a place.
    pub(super) fn at(&self, row: usize, column: usize) -> Option<&GridCell> {
        self.grid.cells.get((*self.places.get(row)?.get(column)?)?)
    }
}

/// The grid that findings came of, for experiments that ran before grids were kept.
pub(super) fn of_findings(findings: &Findings) -> Grid {
    let cell = |feature: &str, values: &[String], state: CellState| GridCell {
        state,
        ..GridCell::new(feature, &findings.vary, values.to_vec())
    };
    let done = findings.cells.iter().map(|done| {
        let figure = Some(done.figure).filter(|figure| figure.is_finite());
        cell(&done.feature, &done.values, CellState::Done(figure))
    });
    let skipped = findings
        .skipped
        .iter()
        .map(|skipped| cell(&skipped.feature, &skipped.values, CellState::Skipped(skipped.reason.clone())));
    let cells = done.chain(skipped).collect();
    Grid { name: findings.name.clone(), measure: findings.measure.clone(), vary: findings.vary.clone(), cells }
}

/// Cells that the names of the rows take.
fn names(table: &GridTable, total: usize) -> usize {
    let longest = table.rows.iter().map(|row| width::width(row)).max().unwrap_or(0);
    longest.clamp(8, (total / 3).max(8)) + 1
}

/// The first column that is seen, so that the marked one is, and how many are.
fn seen(table: &GridTable, marked: usize, total: usize) -> (usize, usize) {
    let room = (total.saturating_sub(names(table, total)) / COLUMN).max(1);
    (marked.saturating_sub(room - 1), room.min(table.columns.len()))
}

/// Rows that an area has room for.
pub(super) fn rows(inner: Rect) -> usize {
    inner.height.saturating_sub(HEADS) as usize
}

/// The row and the column at a place.
pub(super) fn place_at(
    table: &GridTable,
    cursor: Cursor,
    marked: usize,
    at: Position,
    inner: Rect,
) -> Option<(usize, usize)> {
    let total = inner.width as usize;
    let row = cursor.line_at(usize::from(at.y.checked_sub(inner.y + HEADS)?), table.rows.len())?;
    let x = usize::from(at.x.checked_sub(inner.x)?).checked_sub(names(table, total))?;
    let (first, shown) = seen(table, marked, total);
    let column = first + x / COLUMN;
    (inner.contains(at) && column < first + shown).then_some((row, column))
}

/// Draws the grid.
pub(super) fn draw(
    context: &PageContext<'_>,
    experiments: &ExperimentsPage,
    table: &GridTable,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let tally = format!(" {} ", tally(context, table));
    let room = (area.width as usize).saturating_sub(width::width(&tally) + 6);
    let about = width::cut(&about(context, experiments, table), room);
    let block = block.title_bottom(Line::styled(tally, look::DIM));
    let block = block.title_bottom(Line::raw(format!(" {about} ")).right_aligned());
    let inner = look::framed(block, frame, area);
    let total = inner.width as usize;
    let (first, shown) = seen(table, experiments.column, total);
    let named = names(table, total);
    let head = |text: &dyn Fn(usize) -> String| {
        let cells: String = (first..first + shown).map(|at| width::right(&text(at), COLUMN - 1) + " ").collect();
        Line::styled(width::cut(&(" ".repeat(named) + &cells), total), look::DIM)
    };
    let model = |at: usize| {
        let name = &table.columns[at].0;
        let repeats = at > first && table.columns[at - 1].0 == *name;
        if repeats { String::new() } else { width::cut(name, COLUMN - 1) }
    };
    let mut lines = vec![head(&model), head(&|at| table.columns[at].1.clone())];
    let top = experiments.row.top;
    for row in top..(top + rows(inner)).min(table.rows.len()) {
        let here = row == experiments.row.at;
        let mark = if here { "▶" } else { " " };
        let name = width::left(&format!("{mark}{}", table.rows[row]), named);
        let mut spans = vec![Span::styled(name, if here { look::STRONG } else { look::PLAIN })];
        for column in first..first + shown {
            let (text, style) = shown_of(context, experiments, table, row, column);
            let style = if here && column == experiments.column { style.patch(look::SELECTED) } else { style };
            spans.extend([Span::styled(width::right(&text, COLUMN - 1), style), Span::raw(" ")]);
        }
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The job that reads the cells, while it is under way.
fn job<'a>(context: &'a PageContext<'_>) -> Option<&'a JobEntry> {
    context.last_job_from(Page::Experiments).filter(|job| job.is_under_way())
}

/// A cell in a sign and a figure.
fn shown_of(
    context: &PageContext<'_>,
    experiments: &ExperimentsPage,
    table: &GridTable,
    row: usize,
    column: usize,
) -> (String, Style) {
    let Some(cell) = table.at(row, column) else { return (String::new(), look::DIM) };
    match &cell.state {
        CellState::Waiting => ("·".to_owned(), look::DIM),
        CellState::Running if job(context).is_some() => (format!("▶ {}", under_way(context, cell)), look::KEY),
        // It was being read when the run was stopped.
        CellState::Running => ("·".to_owned(), look::DIM),
        CellState::Skipped(_) => (context.say(own::SKIPPED).to_owned(), look::DIM),
        CellState::Done(own) => {
            // Once all were read, what counts is what was compared.
            let compared = experiments.findings().filter(|_| job(context).is_none());
            let found = compared.and_then(|findings| {
                findings.cells.iter().find(|other| other.feature == cell.feature && other.setting == cell.setting)
            });
            let figure = found.map_or(own.unwrap_or(f64::NAN), |found| found.figure);
            let sign = if found.is_some_and(|found| found.on_frontier) { "─" } else { "✓" };
            let style = if sign == "─" { look::STRONG } else { look::PLAIN };
            (format!("{sign} {}", figures::number(figure, DECIMALS)), style)
        }
    }
}

/// The progress of reading a cell, as its stage notes it.
fn under_way(context: &PageContext<'_>, cell: &GridCell) -> String {
    let stage = job(context).and_then(|job| job.stages.iter().rfind(|stage| stage.name == cell.stage));
    let running = stage.filter(|stage| matches!(stage.state, StageState::Running));
    running.and_then(|stage| stage.share).map_or("…".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

/// The number of cells by state: `已完成 12/30 · 等待 17 · 正在读 bert · head:128`.
fn tally(context: &PageContext<'_>, table: &GridTable) -> String {
    let cells = &table.grid.cells;
    let count = |is: fn(&CellState) -> bool| cells.iter().filter(|cell| is(&cell.state)).count();
    let done = count(|state| matches!(state, CellState::Done(_)));
    let skipped = count(|state| matches!(state, CellState::Skipped(_)));
    let mut text = format!("{} {done}/{}", context.say(own::CELLS_DONE), cells.len());
    if skipped > 0 {
        text += &format!(" · {} {skipped}", context.say(own::CELLS_SKIPPED));
    }
    let left = cells.len() - done - skipped;
    if left > 0 {
        text += &format!(" · {} {left}", context.say(own::CELLS_LEFT));
    }
    let running = cells.iter().find(|cell| cell.state == CellState::Running && job(context).is_some());
    if let Some(cell) = running {
        text += &format!(" · {} {}", context.say(own::READ_NOW), cell.name());
    }
    text
}

/// The cell that is marked, and why it could not be read; nothing where another one is being read, which the tally names.
fn about(context: &PageContext<'_>, experiments: &ExperimentsPage, table: &GridTable) -> String {
    let is_running = |cell: &GridCell| cell.state == CellState::Running;
    let Some(cell) = table.at(experiments.row.at, experiments.column) else { return String::new() };
    match &cell.state {
        CellState::Skipped(why) => format!("{}: {why}", cell.name()),
        _ if job(context).is_some() && table.grid.cells.iter().any(is_running) => String::new(),
        _ => cell.name(),
    }
}

/// The cell that is marked in the grid and why it was skipped; none if it was not, or if another view is seen.
pub(super) fn skipped(experiments: &ExperimentsPage) -> Option<String> {
    let table = experiments.table.as_ref().filter(|_| experiments.view == super::ExperimentsView::Grid)?;
    let cell = table.at(experiments.row.at, experiments.column)?;
    let CellState::Skipped(why) = &cell.state else { return None };
    Some(format!("{}: {why}", cell.name()))
}

pub(super) fn copied(table: &GridTable, language: inkstone_base::language::Language) -> crate::page::Table {
    let mut header = vec![own::CELL.to(language).to_owned()];
    header.extend(table.columns.iter().map(|(feature, length)| format!("{feature} {length}").trim().to_owned()));
    let text = |row: usize, column: usize| match table.at(row, column).map(|cell| &cell.state) {
        Some(CellState::Done(Some(figure))) => figure.to_string(),
        _ => String::new(),
    };
    let row = |row: usize| {
        let cells = (0..table.columns.len()).map(|column| text(row, column));
        std::iter::once(table.rows[row].clone()).chain(cells).collect()
    };
    crate::page::Table { header, rows: (0..table.rows.len()).map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(strategies: &[&str]) -> Grid {
        of(&["tone", "bert"], &[TRUNCATE], &strategies.iter().map(|text| vec![*text]).collect::<Vec<_>>())
    }

    fn of(features: &[&str], paths: &[&str], combinations: &[Vec<&str>]) -> Grid {
        let vary: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let mut cells = Vec::new();
        for feature in features {
            for values in combinations {
                cells.push(GridCell::new(feature, &vary, values.iter().map(|value| (*value).to_owned()).collect()));
            }
        }
        Grid { name: "long".into(), measure: "rank_ic".into(), vary, cells }
    }

    #[test]
    fn two_settings_are_a_matrix_and_others_a_list() {
        let pairs = [vec!["last", "mean"], vec!["last", "cls"], vec!["last:4", "mean"], vec!["last:4", "cls"]];
        let matrix = GridTable::new(of(&["bert"], &["onnx.layers", "onnx.pooling"], &pairs));
        assert_eq!(matrix.rows, ["layers=last", "layers=last:4"]);
        assert_eq!(matrix.columns, [("bert".to_owned(), "mean".to_owned()), ("bert".to_owned(), "cls".to_owned())]);
        assert_eq!(matrix.places, [[Some(0), Some(1)], [Some(2), Some(3)]]);
        let one = GridTable::new(of(&["bert", "words"], &["model"], &[vec!["svm"], vec!["bayes"]]));
        assert_eq!((one.rows, one.columns.len()), (vec!["model=svm".to_owned(), "model=bayes".to_owned()], 2));
        let three = GridTable::new(of(&["bert"], &["a.x", "b", "c"], &[vec!["1", "2", "3"], vec!["1", "2", "4"]]));
        assert_eq!(three.rows, ["x=1 · b=2 · c=3", "x=1 · b=2 · c=4"]);
        let eras = GridTable::new(of(&["onehot", "lsa"], &[], &[vec![]]));
        assert_eq!((eras.rows, eras.columns.len()), (vec!["onehot".to_owned(), "lsa".to_owned()], 1));
        assert_eq!(eras.places, [[Some(0)], [Some(1)]]);
    }

    #[test]
    fn families_stand_by_lengths_and_strategies_of_their_own_as_they_are() {
        let table = GridTable::new(grid(&["head:512", "head:128", "tail:512"]));
        assert_eq!(table.rows, ["head", "tail"]);
        let columns: Vec<String> = table.columns.iter().map(|(model, length)| format!("{model} {length}")).collect();
        assert_eq!(columns, ["tone 128", "tone 512", "bert 128", "bert 512"], "lengths grow from left to right");
        assert_eq!(table.places, [[Some(1), Some(0), Some(4), Some(3)], [None, Some(2), None, Some(5)]]);
        assert_eq!(table.place_of("bert", "tail:512"), Some((1, 3)));
        assert_eq!(table.place_of("bert", "none"), None);
        // Tail has no cell of 128 tokens: it is stepped over.
        assert_eq!([Some(true), Some(false), None].map(|to| table.column_near(1, 1, to)), [3, 1, 1]);
        assert_eq!((table.column_near(1, 0, None), table.column_near(1, 3, Some(false))), (1, 1));
        assert_eq!(table.column_near(9, 2, None), 2);
        let alone = GridTable::new(grid(&["head:512", "tail:512"]));
        assert_eq!((alone.rows, alone.columns.len()), (vec!["head:512".to_owned(), "tail:512".to_owned()], 2));
        // Tokens and characters would fall into one place.
        let apart = GridTable::new(grid(&["head:512", "head:512c", "head:128"]));
        assert_eq!(apart.rows.len(), 3, "{apart:?}");
        assert_eq!(GridTable::new(Grid::default()).rows.len(), 0);
    }
}
