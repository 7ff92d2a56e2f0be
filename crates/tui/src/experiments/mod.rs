//! The page of experiments: the cells of an experiment as a list, as the grid that fills and with their frontier, what each setting does,
//! and one document as the cells read it.

mod effects;
mod grid;
mod list;
mod open;
mod page;
#[cfg(test)]
mod screens;
pub(crate) mod text;
mod words;

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::action::Action;
use super::context::PageContext;
use super::desk::{Desk, PageRequest, Work};
use super::errand::Errand;
use super::kit::{ListSheet, Zoom};
use super::list::Cursor;
use super::page::{Chart, Page, Table, turns};
use super::page_state::PageState;
use crate::figures;
use crate::words as common;
use inkstone_features::experiment::{Cell, Findings, Grid};
use inkstone_report::{best_first, frontier_svg};
use open::Open;

/// Time between two readings of the grid while a job is under way, and between two looks for a reason to stop waiting.
const AGAIN: Duration = Duration::from_millis(700);
const LOOK: Duration = Duration::from_millis(50);

/// Documents that the marked cell scores apart from another one.
struct Differing {
    /// The setting of that other one.
    beside: String,
    found: Errand<Vec<(usize, f64)>>,
}

#[derive(Default)]
pub struct ExperimentsPage {
    /// The content shown, and what was asked for anew.
    loaded: Option<Errand<Vec<Findings>>>,
    coming: Option<Errand<Vec<Findings>>>,
    grids: Option<Errand<Vec<Grid>>>,
    /// The grids as they will be, asked for again and again while a job is under way.
    next_grids: Option<Errand<Vec<Grid>>>,
    /// The experiment shown, of all that were run or are being run.
    selected: usize,
    view: ExperimentsView,
    zoom: Zoom,
    /// True if the grid is shown in place of the list until the list has something.
    for_now: bool,
    /// Numbers of its cells as listed, the best first.
    order: Vec<usize>,
    list: ListSheet,
    /// The grid of its cells, with the marked row and column.
    table: Option<grid::GridTable>,
    row: Cursor,
    column: usize,
    open: Option<Open>,
    /// The documents that two cells score farthest apart, and whether the first of them is to be shown.
    differing: Option<Differing>,
    seeking: bool,
    /// The place in an earlier session, until the findings are there.
    memory: Option<ExperimentsMemory>,
}

turns! {
    /// The content shown of an experiment, or where there is room for all, which pane has the focus.
    enum ExperimentsView {
        #[default]
        List = "list",
        Grid = "grid",
        Frontier = "frontier",
        Effects = "effects",
    }
}

/// The memory of the page in a session. Values that no longer fit are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ExperimentsMemory {
    experiment: String,
    view: ExperimentsView,
    feature: String,
    setting: String,
    document: Option<usize>,
    /// Columns and order of the list, as the user has them.
    table: Value,
}

impl ExperimentsPage {
    /// Takes in findings and grids; the experiment that was shown stays the one shown.
    fn take(&mut self, desk: &Desk<'_>) {
        let (name, cell) = (self.name().map(str::to_owned), self.marked());
        let found = self.coming.as_mut().is_some_and(Errand::look);
        if found {
            self.loaded = self.coming.take();
            self.list.empty();
        }
        let filled = self.next_grids.as_mut().is_some_and(Errand::look);
        if filled {
            self.grids = self.next_grids.take();
        }
        if !found && !filled {
            return;
        }
        let memory = self.memory.take_if(|_| found);
        let (name, cell) = match &memory {
            Some(memory) => (Some(memory.experiment.clone()), Some((memory.feature.clone(), memory.setting.clone()))),
            None => (name, cell),
        };
        self.selected = self.names().iter().position(|there| Some(*there) == name.as_deref()).unwrap_or(0);
        self.lay_out(cell, desk);
        // While an experiment runs for the first time there is a grid alone; the list is shown once it has something.
        let only_grid = self.findings().is_none() && self.table.is_some();
        if only_grid && self.view == ExperimentsView::List {
            (self.view, self.for_now) = (ExperimentsView::Grid, true);
        } else if !only_grid && std::mem::take(&mut self.for_now) {
            self.view = ExperimentsView::List;
        }
    }

    /// Lays the experiment out anew, this cell being marked where there is still one.
    fn lay_out(&mut self, cell: Option<(String, String)>, desk: &Desk<'_>) {
        self.order = self.findings().map(best_first).unwrap_or_default();
        self.fill(0, desk);
        let name = self.name().map(str::to_owned);
        let kept = self
            .grids
            .as_ref()
            .and_then(Errand::get)
            .and_then(|grids| grids.iter().find(|grid| Some(&grid.name) == name.as_ref()).cloned());
        self.table = kept.or_else(|| self.findings().map(grid::of_findings)).map(grid::GridTable::new);
        if let Some((feature, setting)) = cell {
            self.mark(&feature, &setting);
        } else {
            self.mark_of_list();
        }
    }

    /// Makes the rows of the list for a table so wide.
    fn fill(&mut self, width: u16, desk: &Desk<'_>) {
        let mut list = std::mem::take(&mut self.list);
        match self.findings() {
            Some(findings) => {
                let source = (&findings.name, self.order.len(), width);
                list.fill(source, desk.language, || list::sheet(findings, &self.order, width, desk));
            }
            None => list.empty(),
        }
        self.list = list;
    }

    /// Marks a cell in the list and in the grid, wherever it stands.
    fn mark(&mut self, feature: &str, setting: &str) {
        self.list.go_to(&key(feature, setting));
        let place = self.table.as_ref().and_then(|table| table.place_of(feature, setting));
        (self.row.at, self.column) = place.unwrap_or((self.row.at, self.column));
    }

    /// Marks in the grid what is marked in the list.
    fn mark_of_list(&mut self) {
        let marked = self.cell().map(|cell| (cell.feature.clone(), cell.setting.clone()));
        if let Some((feature, setting)) = marked {
            self.mark(&feature, &setting);
        }
    }

    /// The cell that is marked: of the grid, where there is one.
    fn marked(&self) -> Option<(String, String)> {
        let of_grid = self.table.as_ref().and_then(|table| table.at(self.row.at, self.column));
        let of_grid = of_grid.map(|cell| (cell.feature.clone(), cell.setting.clone()));
        of_grid.or_else(|| self.cell().map(|cell| (cell.feature.clone(), cell.setting.clone())))
    }

    /// The number of the cell that the list marks.
    fn number(&self) -> Option<usize> {
        self.order.get(self.list.selected()?).copied()
    }

    /// The cell that the list marks.
    fn cell(&self) -> Option<&Cell> {
        self.findings()?.cells.get(self.number()?)
    }

    fn all(&self) -> &[Findings] {
        self.loaded.as_ref().and_then(Errand::get).map_or(&[], Vec::as_slice)
    }

    /// Names of the experiments that were run or are being run for the first time.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.all().iter().map(|findings| findings.name.as_str()).collect();
        let grids = self.grids.as_ref().and_then(Errand::get).map_or(&[][..], Vec::as_slice);
        names.extend(
            grids
                .iter()
                .map(|grid| grid.name.as_str())
                .filter(|name| self.all().iter().all(|findings| findings.name != *name)),
        );
        names
    }

    fn name(&self) -> Option<&str> {
        self.names().get(self.selected).copied()
    }

    /// The findings of the experiment shown; none while it runs for the first time.
    fn findings(&self) -> Option<&Findings> {
        self.all().get(self.selected)
    }

    /// Values whose effects are known.
    fn effects(&self) -> usize {
        self.findings().map_or(0, |findings| findings.effects.len())
    }

    /// True if the cells of an experiment can be looked at in several ways.
    pub(crate) fn has_views(&self) -> bool {
        self.open.is_none() && self.table.is_some()
    }

    pub(crate) fn can_open(&self) -> bool {
        self.open.is_none() && !self.order.is_empty()
    }

    /// True if a document has another strategy, or the grid another column.
    pub(crate) fn has_beside(&self) -> bool {
        match &self.open {
            Some(_) => true,
            None if self.is_on_list() => true,
            None => {
                self.view == ExperimentsView::Grid && self.table.as_ref().is_some_and(|table| table.columns.len() > 1)
            }
        }
    }

    /// True if there is another experiment, or another document, to go to.
    pub(crate) fn has_next(&self) -> bool {
        match &self.open {
            Some(open) => open.truncated().is_some_and(|truncated| truncated.documents > 1),
            None => self.names().len() > 1,
        }
    }

    /// Looks for the documents that the marked cell scores farthest from the baseline; of the baseline itself, from the best other cell.
    fn open_differing(&mut self, desk: &Desk<'_>) {
        let Some((findings, cell)) = self.findings().zip(self.number()) else { return };
        let rest = std::iter::once(findings.baseline).chain(self.order.iter().copied());
        let other = rest.filter(|other| *other != cell).find(|other| findings.cells[*other].set.is_some());
        let sets = other.and_then(|other| Some([findings.cells[cell].set?, findings.cells[other].set?]));
        let name = findings.name.clone();
        let beside = other.map(|other| findings.cells[other].clone());
        let (Some(laboratory), Some(sets)) = (&desk.workspace.laboratory, sets) else {
            return self.show(0, None, desk);
        };
        let find = laboratory.differing.clone();
        let found = desk.errand("documents that differ", move |ctx| find(&name, sets, ctx));
        self.differing = Some(Differing { beside: beside.map(|cell| cell.setting).unwrap_or_default(), found });
        self.seeking = true;
    }

    /// Shows the document that differs most, once that is known; the first one where none does.
    fn take_differing(&mut self, desk: &Desk<'_>) {
        if let Some(differing) = &mut self.differing {
            differing.found.look();
        }
        if self.seeking && !self.differing.as_ref().is_some_and(|differing| differing.found.waiting()) {
            self.seeking = false;
            let first = self.differing.as_ref().and_then(|differing| differing.found.get()?.first().copied());
            self.show(first.map_or(0, |(number, _)| number), None, desk);
        }
    }

    /// The difference of a document's scores, and its place among those that differ: `得分差 +0.3100（对 head:128）1/500`.
    fn difference(&self, context: &PageContext<'_>, number: usize) -> Option<String> {
        let Differing { beside, found } = self.differing.as_ref()?;
        let list = found.get()?;
        let at = list.iter().position(|(other, _)| *other == number)?;
        let off = figures::signed(list[at].1, 4);
        Some(format!(
            "{} {off} ({} {beside}) {}/{}",
            context.say(words::SCORED_APART),
            context.say(words::FROM),
            at + 1,
            list.len()
        ))
    }

    fn show(&mut self, number: usize, strategy: Option<usize>, desk: &Desk<'_>) {
        let name = self.findings().map(|findings| findings.name.clone());
        let Some((name, laboratory)) = name.zip(desk.workspace.laboratory.as_ref()) else { return };
        let find = laboratory.document.clone();
        let document = desk.errand("a document", move |_| Ok(find(&name, number)?.map(Box::new)));
        self.open = Some(Open::new(number, document, strategy));
    }

    /// Asks for the grids: at once, or after a while.
    fn ask_grids(&mut self, at_once: bool, desk: &Desk<'_>) {
        let Some(laboratory) = &desk.workspace.laboratory else { return };
        let find = laboratory.grids.clone();
        self.next_grids = Some(desk.errand("grids of experiments", move |ctx| {
            let waits = if at_once { 0 } else { AGAIN.as_millis() / LOOK.as_millis() };
            for _ in 0..waits {
                ctx.check()?;
                std::thread::sleep(LOOK);
            }
            find()
        }));
    }

    fn step(&mut self, action: Action, page: Rect) {
        if self.view == ExperimentsView::Grid {
            let Some(table) = &self.table else { return };
            let beside = match action {
                Action::NextStrategy => Some(true),
                Action::PreviousStrategy => Some(false),
                _ => None,
            };
            let rows = list::grid_rows(page, self).max(1);
            self.row.step(action, table.rows.len(), rows);
            self.column = table.column_near(self.row.at, self.column, beside);
            if let Some((feature, setting)) = self.marked() {
                self.mark(&feature, &setting);
            }
            return;
        }
        if self.list.act(action) {
            self.mark_of_list();
        }
    }

    /// True if keys go to the list.
    fn is_on_list(&self) -> bool {
        self.open.is_none() && self.view == ExperimentsView::List && self.findings().is_some()
    }
}

/// The name of a cell among the rows of the list.
fn key(feature: &str, setting: &str) -> String {
    format!("{feature}\n{setting}")
}

impl PageState for ExperimentsPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        let Some(laboratory) = &desk.workspace.laboratory else { return };
        let find = laboratory.findings.clone();
        self.coming = Some(desk.errand("findings of experiments", move |_| find()));
        self.ask_grids(true, desk);
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        list::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, context: &PageContext<'_>) -> bool {
        match action {
            Action::OpenDocument => self.can_open(),
            Action::View => self.has_views(),
            _ if action.is_of_table() => self.is_on_list(),
            Action::PreviousStrategy | Action::NextStrategy => self.has_beside(),
            Action::RunExperiments => !context.busy_from(Page::Experiments) && context.workspace.laboratory.is_some(),
            _ => self.has_next(),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        let on_list = self.is_on_list();
        let action = match action {
            Action::PreviousStrategy if on_list => Action::ColumnLeft,
            Action::NextStrategy if on_list => Action::ColumnRight,
            Action::MarkRow if !on_list => Action::PageDown,
            other => other,
        };
        if on_list && self.list.is_open() && self.list.act(action) {
            return;
        }
        match (action, &mut self.open) {
            (Action::RunExperiments, _) => {
                let Some(laboratory) = &desk.workspace.laboratory else { return };
                let name = desk.say(common::EXPERIMENTS).to_owned();
                let run = laboratory.run.clone();
                let command = desk.headless("experiment", "");
                desk.order(PageRequest::Start(Work { name, command, writes: true, run }));
                if self.findings().is_none() {
                    // Until all cells were read there is only the grid to look at.
                    self.view = ExperimentsView::Grid;
                }
            }
            (Action::OpenDocument, None) => self.open_differing(desk),
            (Action::View, None) => {
                self.for_now = false;
                // A view of no effects gives way to the list when the page is arranged.
                self.view = self.view.next();
            }
            (Action::Back, Some(_)) => (self.open, self.differing) = (None, None),
            (Action::Next | Action::Previous, Some(open)) => {
                let documents = open.truncated().map_or(0, |truncated| truncated.documents);
                let (number, strategy) = (open.number, open.strategy);
                let on = action == Action::Next;
                let step = |at: usize| if on { at + 1 } else { at.wrapping_sub(1) };
                // Along the documents that differ, where this one is among them.
                let list = self.differing.as_ref().and_then(|differing| differing.found.get());
                let place = list.and_then(|list| Some((list, list.iter().position(|(other, _)| *other == number)?)));
                let to = match place {
                    Some((list, at)) => list.get(step(at)).map_or(usize::MAX, |(number, _)| *number),
                    None => step(number),
                };
                if to >= documents {
                    return desk.order(PageRequest::Say(desk.say(common::NO_OTHER_DOCUMENT).to_owned()));
                }
                self.show(to, strategy, desk);
            }
            (Action::Next | Action::Previous, None) => {
                let count = self.names().len().max(1);
                let step = if action == Action::Next { 1 } else { count - 1 };
                self.selected = (self.selected + step) % count;
                (self.row, self.column) = (Cursor::default(), 0);
                self.lay_out(None, desk);
            }
            (_, Some(open)) => open.step(action, area),
            (_, None) => self.step(action, area),
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        let remembered = self.memory.as_ref().and_then(|memory| Some((memory.experiment.clone(), memory.document?)));
        self.take(desk);
        self.take_differing(desk);
        let there = |(name, _): &(String, usize)| self.findings().is_some_and(|findings| findings.name == *name);
        if let Some((_, number)) = remembered.filter(|left| self.memory.is_none() && there(left)) {
            self.show(number, None, desk);
        }
        // A grid fills while a job is under way, whoever started it.
        if desk.busy && self.next_grids.is_none() {
            self.ask_grids(false, desk);
        }
        if self.view == ExperimentsView::Effects && self.effects() == 0 {
            self.view = ExperimentsView::List;
        }
        let shown = list::list_area(area, self);
        self.fill(shown.width, desk);
        self.list.arrange(shown);
        let (rows, columns) = self.table.as_ref().map_or((0, 0), |table| (table.rows.len(), table.columns.len()));
        self.row.arrange(rows, list::grid_rows(area, self));
        self.column = self.column.min(columns.saturating_sub(1));
        let wanted = self.number();
        if let Some(open) = &mut self.open {
            if open.document.look() {
                open.take(&self.order, wanted);
            }
            open.arrange(area);
        }
    }

    fn waiting(&self) -> bool {
        self.coming.is_some() || self.seeking || self.open.as_ref().is_some_and(|open| open.document.waiting())
    }

    fn zoom(&self) -> Option<&Zoom> {
        Some(&self.zoom).filter(|_| self.has_views())
    }

    fn can_go_back(&self) -> bool {
        self.open.is_some() || self.is_on_list() && self.list.is_open()
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        if self.open.is_some() {
            return;
        }
        if list::is_on_list(self, at, area) {
            if self.list.click(at) {
                self.mark_of_list();
            }
        } else if let Some((row, column)) = list::place(self, at, area) {
            (self.row.at, self.column) = (row, column);
            if let Some((feature, setting)) = self.marked() {
                self.mark(&feature, &setting);
            }
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        match (&self.open, self.view) {
            (Some(open), _) => Some(page::copied(self.findings()?, open.truncated()?, desk.language)),
            (None, ExperimentsView::Grid) => Some(grid::copied(self.table.as_ref()?, desk.language)),
            (None, ExperimentsView::Effects) => Some(effects::copied(self.findings()?, desk.language)),
            (None, ExperimentsView::List | ExperimentsView::Frontier) => self.findings().map(|_| self.list.copied()),
        }
    }

    fn charts(&self, desk: &Desk<'_>) -> Vec<Chart> {
        let Some(findings) = self.findings().filter(|_| self.open.is_none()) else { return Vec::new() };
        let svg = frontier_svg(findings, desk.language).ok().flatten();
        svg.map(|svg| Chart { name: format!("{}-frontier", findings.name), svg }).into_iter().collect()
    }

    fn section(&self, _desk: &Desk<'_>) -> Option<(&'static str, String)> {
        Some(("experiment", self.name()?.to_owned()))
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        desk.workspace.laboratory.as_ref().map(|_| desk.headless("experiment", ""))
    }

    fn remember(&self) -> Value {
        let (feature, setting) = self.marked().unwrap_or_default();
        let memory = ExperimentsMemory {
            experiment: self.name().unwrap_or_default().to_owned(),
            view: self.view,
            feature,
            setting,
            document: self.open.as_ref().map(|open| open.number),
            table: self.list.remember(),
        };
        serde_json::to_value(memory).unwrap_or_default()
    }

    fn recall(&mut self, memory: &Value) {
        let Ok(memory) = ExperimentsMemory::deserialize(memory) else { return };
        self.view = memory.view;
        self.list.recall(&memory.table);
        self.memory = Some(memory);
    }
}
