//! The factor page: the backtest of one factor, read off a date or a quantile at a time, and what is behind it.

mod checks;
mod compare;
mod drill;
mod figures;
mod memory;
mod picture;
#[cfg(test)]
mod screens;
mod tear_sheet;
mod tracing;
mod view;
mod words;

use std::sync::Arc;

use chrono::NaiveDate;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use tracing::{Judgement, JudgementOf, PlantedOf, PlantedTruth, Tracing};

use super::action::Action;
use super::context::PageContext;
use super::desk::{Desk, PageRequest, Work};
use super::errand::Errand;
use super::kit::Zoom;
use super::page::{Chart, Page, Table, WantedStock, turns};
use super::page_state::PageState;
use checks::Checks;
use compare::FactorMatrix;
use drill::{Drill, HoldingPeriod, Way};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::shell::quoted;
use inkstone_report::{FactorReport, factor_charts};
use memory::FactorMemory;
use picture::BacktestPicture;
use tear_sheet::TearSheet;

/// The chart of layers among the charts of the front.
const LAYERS: usize = 2;

/// Trading days of a month, the step of the page keys.
const MONTH: usize = 21;

/// The backtest of a factor; none inside: there is none.
type PictureErrand = Errand<Option<Box<BacktestPicture>>>;

#[derive(Default)]
pub struct FactorPage {
    selected: usize,
    name: Option<String>,
    /// The content shown, and what was asked for anew.
    loaded: Option<PictureErrand>,
    coming: Option<PictureErrand>,
    horizon: usize,
    cursor: Option<usize>,
    chart: LayerChart,
    focus: FactorFocus,
    zoom: Zoom,
    /// The chart that has the whole page in a zoom: RankIC, its sum, layers, long-short.
    chart_at: usize,
    /// The quantile whose bar is marked, from 0; the highest until one is chosen.
    bar: Option<usize>,
    /// The way down to words, while it is gone.
    drill: Option<Drill>,
    /// Columns and orders of the lists on that way, as the user has them.
    tables: Value,
    /// The verdicts of the linter, while they are listed.
    checks: Option<Checks>,
    sheet: Option<TearSheet>,
    /// All factors beside one another, while they are compared.
    matrix: Option<FactorMatrix>,
    /// The factor whose tables were read behind, and that reading.
    prepared: Option<String>,
    preparing: Option<Errand<()>>,
    /// The place in an earlier session, until the backtest is there.
    memory: Option<FactorMemory>,
}

turns! {
    /// The content of the lower left chart.
    enum LayerChart {
        /// Growth of 1 by layer.
        #[default]
        Wealth = "wealth",
        /// Mean return by layer at the horizon chosen.
        Means = "means",
        /// Mean RankIC against single days after the trade.
        Decay = "decay",
    }
}

/// Which pane of the front the arrows go along, and Enter goes down from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FactorFocus {
    /// The dates of the curves.
    #[default]
    Dates,
    /// The bars of the quantiles.
    Layers,
}

impl FactorPage {
    pub fn at(selected: usize) -> FactorPage {
        FactorPage { selected, ..FactorPage::default() }
    }

    fn ask(&mut self, desk: &Desk<'_>) {
        let factors = &desk.workspace.factors;
        self.selected = self.selected.min(factors.len().saturating_sub(1));
        self.name = factors.get(self.selected).cloned();
        self.coming = self.name.clone().map(|name| {
            let workspace = desk.workspace.clone();
            desk.errand("a backtest", move |_| BacktestPicture::read(&workspace, &name))
        });
    }

    /// Takes in the answers that have come, and goes where an earlier session was.
    fn take(&mut self, desk: &Desk<'_>) {
        if !self.coming.as_mut().is_some_and(Errand::look) {
            return;
        }
        self.loaded = self.coming.take();
        let memory = self.memory.take().unwrap_or_default();
        let Some(picture) = self.picture() else { return };
        let days = |days: usize| picture.horizons.iter().position(|horizon| horizon.days == days);
        let horizon = memory.horizon.and_then(days).unwrap_or(self.horizon);
        let cursor = memory.date.and_then(|date| picture.dates.binary_search(&date).ok()).or(self.cursor);
        let last = picture.dates.len().checked_sub(1);
        self.cursor = cursor.zip(last).map(|(at, last)| at.min(last));
        self.horizon = horizon.min(self.horizons().saturating_sub(1));
        if let Some(way) = memory.way {
            self.go_along(way, desk);
        }
        if self.layers() == 0 {
            self.focus = FactorFocus::Dates;
        }
    }

    /// Goes down the way that an earlier session went.
    fn go_along(&mut self, way: Way, desk: &Desk<'_>) {
        let Some((picture, factor)) = self.picture().zip(self.name.as_deref()) else { return };
        let drill = match way {
            Way { quantile: Some(quantile), .. } => Drill::of_quantile(factor, &self.tables, quantile, desk),
            Way { date: Some(date), .. } => {
                let dates: Vec<NaiveDate> = picture.dates_with_names().collect();
                let at = dates.binary_search(&date).ok();
                at.and_then(|at| Drill::of_date(factor, &self.tables, dates, at, desk))
            }
            _ => None,
        };
        self.drill = drill.map(|drill| drill.along(way));
    }

    /// Holding periods there are.
    pub fn horizons(&self) -> usize {
        self.picture().map_or(0, |p| p.horizons.len())
    }

    /// The holding period that the page shows.
    fn holding_period(&self) -> HoldingPeriod {
        let chosen = self.picture().and_then(|picture| picture.horizons.get(self.horizon));
        HoldingPeriod { at: self.horizon, days: chosen.map(|horizon| horizon.days) }
    }

    /// Quantiles that have a bar.
    fn layers(&self) -> usize {
        self.picture().and_then(|p| p.horizons.get(self.horizon)).map_or(0, |horizon| horizon.layers.len())
    }

    /// The quantile whose bar is marked, from 0.
    fn bar(&self) -> usize {
        let last = self.layers().saturating_sub(1);
        self.bar.map_or(last, |bar| bar.min(last))
    }

    fn picture(&self) -> Option<&BacktestPicture> {
        self.loaded.as_ref()?.get()?.as_deref()
    }

    /// True if the curves are shown, and nothing lies over them.
    pub(crate) fn is_front(&self) -> bool {
        let over = self.checks.is_some() || self.sheet.is_some() || self.matrix.is_some();
        self.drill.is_none() && !over && self.picture().is_some()
    }

    /// True if there is something below what is marked.
    pub(crate) fn can_drill(&self, there_is_a_way: bool) -> bool {
        match (&self.drill, &self.matrix) {
            (_, Some(matrix)) => matrix.can_open(),
            (Some(drill), _) => drill.can_open(),
            _ if !there_is_a_way || !self.is_front() => false,
            _ if self.focus == FactorFocus::Layers => self.layers() > 0,
            _ => self.picture().is_some_and(|p| p.dates_with_names().next().is_some()),
        }
    }

    /// True if there is something to the left and right of what is shown.
    pub(crate) fn can_go_aside(&self) -> bool {
        match &self.drill {
            _ if self.matrix.is_some() || self.checks.is_some() => true,
            Some(drill) => drill.has_beside(),
            None => self.is_front() && self.picture().is_some_and(|p| !p.dates.is_empty()),
        }
    }

    /// True if the list of quantiles can be opened, or stocks be limited to one of them.
    pub(crate) fn can_choose_layer(&self) -> bool {
        match &self.drill {
            Some(drill) => drill.can_filter(),
            None => self.is_front() && self.layers() > 0,
        }
    }

    /// True if a holding period makes a difference to what is shown.
    pub(crate) fn shows_returns(&self) -> bool {
        let over = self.checks.is_some() || self.sheet.is_some() || self.matrix.is_some();
        !over && self.drill.as_ref().is_none_or(Drill::lists_returns)
    }

    /// Does a command on the factor as a whole.
    fn show(&mut self, action: Action, desk: &Desk<'_>) {
        let count = desk.workspace.factors.len().max(1);
        match action {
            Action::NextFactor => self.select((self.selected + 1) % count, desk),
            Action::PreviousFactor => self.select((self.selected + count - 1) % count, desk),
            Action::Horizon => {
                self.horizon = (self.horizon + 1) % self.horizons().max(1);
            }
            Action::Layers => {
                self.chart = self.chart.next();
                // The bars that the arrows went along are not there any more.
                (self.focus, self.chart_at) = (FactorFocus::Dates, LAYERS);
            }
            Action::Quantile => match self.focus {
                FactorFocus::Dates => {
                    (self.focus, self.chart, self.chart_at) = (FactorFocus::Layers, LayerChart::Means, LAYERS);
                }
                FactorFocus::Layers => self.focus = FactorFocus::Dates,
            },
            Action::Drill => self.open(desk),
            _ => self.step(action),
        }
    }

    pub(crate) fn select(&mut self, factor: usize, desk: &Desk<'_>) {
        self.close();
        (self.selected, self.loaded, self.checks, self.sheet) = (factor, None, None, None);
        self.ask(desk);
    }

    /// Goes down: to the dates of the quantile whose bar is marked, or to the names of the date of the cursor or the last one before it
    /// that has some.
    fn open(&mut self, desk: &Desk<'_>) {
        let Some((picture, factor)) = self.picture().zip(self.name.as_deref()) else { return };
        if self.focus == FactorFocus::Layers {
            let quantile = u16::try_from(self.bar() + 1).unwrap_or(u16::MAX);
            self.drill = Drill::of_quantile(factor, &self.tables, quantile, desk);
            return;
        }
        let dates: Vec<NaiveDate> = picture.dates_with_names().collect();
        let at = self.cursor.and_then(|i| picture.dates.get(i)).or(dates.last()).copied();
        let Some(at) = at.filter(|_| !dates.is_empty()) else { return };
        let date = dates.partition_point(|date| *date <= at).saturating_sub(1);
        self.drill = Drill::of_date(factor, &self.tables, dates, date, desk);
    }

    /// Goes up to the curves, at the date whose names were listed.
    fn close(&mut self) {
        let Some(drill) = self.drill.take() else { return };
        self.tables = drill.tables();
        let at = drill.day().zip(self.picture()).and_then(|(day, picture)| picture.dates.binary_search(&day).ok());
        self.cursor = at.or(self.cursor);
    }

    fn step(&mut self, action: Action) {
        let Some(last) = self.picture().and_then(|p| p.dates.len().checked_sub(1)) else { return };
        let of_layers = self.focus == FactorFocus::Layers;
        let (at, last) =
            if of_layers { (self.bar(), self.layers().saturating_sub(1)) } else { (self.cursor.unwrap_or(last), last) };
        let to = match action {
            Action::Left => at.saturating_sub(1),
            Action::Right => at + 1,
            Action::PageUp => at.saturating_sub(MONTH),
            Action::PageDown => at + MONTH,
            Action::First => 0,
            Action::Last => last,
            _ => return,
        };
        *(if of_layers { &mut self.bar } else { &mut self.cursor }) = Some(to.min(last));
    }

    /// Lists the verdicts of the linter; where there are none yet, or they are listed already, it is started.
    fn check(&mut self, desk: &Desk<'_>) {
        let Some(picture) = self.picture() else { return };
        let known = picture.verdicts.as_ref().is_ok_and(|verdicts| !verdicts.is_empty());
        if !known || self.checks.is_some() {
            self.start("lint", words::JOB_LINT, desk);
        }
        self.checks.get_or_insert_default();
    }

    /// Starts the pipeline up to a stage.
    fn start(&self, stage: &'static str, name: Word, desk: &Desk<'_>) {
        let Some(run) = desk.workspace.stages.clone() else {
            return desk.order(PageRequest::Say(desk.say(words::NO_STAGES).to_owned()));
        };
        let (name, command) = (desk.say(name).to_owned(), desk.headless(stage, ""));
        desk.order(PageRequest::Say(format!("{name}: {}", desk.say(words::STARTED))));
        desk.order(PageRequest::Start(Work {
            name,
            command,
            writes: true,
            run: Arc::new(move |ctx: &Ctx| run(stage, ctx)),
        }));
    }

    fn click_front(&mut self, at: Position, page: Rect) {
        let Some((picture, horizon)) = self.picture().and_then(|p| Some((p, p.horizons.get(self.horizon)?))) else {
            return;
        };
        let Some((chart, clicked)) = view::place(self, picture, horizon, at, page) else { return };
        match clicked {
            view::ClickedFactor::Date(date) => {
                let last = picture.dates.len().saturating_sub(1);
                let at = picture.dates.partition_point(|there| *there < date).min(last);
                (self.cursor, self.focus) = (Some(at), FactorFocus::Dates);
            }
            view::ClickedFactor::Bar(bar) => (self.bar, self.focus) = (Some(bar), FactorFocus::Layers),
        }
        self.chart_at = chart;
    }
}

impl PageState for FactorPage {
    fn reload(&mut self, desk: &Desk<'_>) {
        let remembered = self.memory.as_ref().and_then(|memory| memory.factor.as_ref());
        let at = remembered.and_then(|name| desk.workspace.factors.iter().position(|factor| factor == name));
        self.selected = at.unwrap_or(self.selected);
        // A run may have written its tables anew.
        self.prepared = None;
        self.ask(desk);
    }

    fn shown(&mut self, desk: &Desk<'_>) {
        let Some(tracing) = &desk.workspace.tracing else { return };
        let Some(name) =
            self.name.clone().filter(|name| self.picture().is_some() && self.prepared.as_ref() != Some(name))
        else {
            return;
        };
        let prepare = tracing.prepare.clone();
        self.prepared = Some(name.clone());
        // Nobody waits for it: who goes down earlier reads the same tables.
        self.preparing = Some(desk.errand("tables of a factor", move |ctx| prepare(&name, ctx)));
    }

    fn draw(&self, context: &PageContext<'_>, frame: &mut Frame<'_>, area: Rect) {
        view::draw(context, self, frame, area);
    }

    fn can(&self, action: Action, context: &PageContext<'_>) -> bool {
        match action {
            Action::Drill => self.can_drill(context.workspace.tracing.is_some()),
            Action::Sort => self.checks.is_some() || self.drill.as_ref().is_some_and(Drill::is_list),
            Action::Quantile => self.can_choose_layer(),
            Action::NextFactor | Action::PreviousFactor => context.workspace.factors.len() > 1,
            Action::Horizon => self.horizons() > 1 && self.shows_returns(),
            Action::Frequencies | Action::Summary | Action::ChooseColumns | Action::HideColumn | Action::OnlyMarked => {
                self.checks.is_some() || self.drill.as_ref().is_some_and(Drill::has_rows)
            }
            Action::Layers => self.is_front() || self.matrix.is_some(),
            Action::Compare => self.matrix.is_some() || self.is_front() && context.workspace.factors.len() > 1,
            Action::Checks => self.is_front() || self.checks.is_some() && self.picture().is_some(),
            Action::TearSheet => self.is_front() || self.sheet.is_some(),
            Action::Export | Action::Report => !context.busy_from(Page::Factor) && context.workspace.stages.is_some(),
            _ => self.can_go_aside(),
        }
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        let is_list = self.checks.is_some() || self.drill.as_ref().is_some_and(Drill::is_list);
        let action = if action == Action::MarkRow && !is_list { Action::PageDown } else { action };
        if let Some(sheet) = &mut self.sheet {
            let picture = self.loaded.as_ref().and_then(|loaded| loaded.get()?.as_deref());
            match (action, picture) {
                (Action::TearSheet | Action::Back, _) => self.sheet = None,
                (Action::NextFactor | Action::PreviousFactor, _) => self.show(action, desk),
                (_, Some(picture)) => sheet.step(action, &picture.outcome, area, desk),
                (_, None) => {}
            }
            return;
        }
        if let Some(matrix) = &mut self.matrix {
            match action {
                Action::Compare => self.matrix = None,
                Action::Back => {
                    if !matrix.up() {
                        self.matrix = None;
                    }
                }
                _ => matrix.step(action),
            }
            return;
        }
        match (action, &mut self.checks, &mut self.drill) {
            (Action::Compare, ..) => self.matrix = Some(FactorMatrix::open(self.name.as_deref(), desk)),
            (Action::TearSheet, None, None) => self.sheet = Some(TearSheet::default()),
            (Action::Export, ..) => self.start("export", words::JOB_EXPORT, desk),
            (Action::Report, ..) => self.start("report", words::JOB_REPORT, desk),
            (Action::Checks, ..) => self.check(desk),
            (Action::NextFactor | Action::PreviousFactor | Action::Horizon, ..) => self.show(action, desk),
            (_, Some(checks), _) => {
                if !checks.act(action) && action == Action::Back {
                    self.checks = None;
                }
            }
            (_, None, None) => self.show(action, desk),
            (Action::Drill, _, Some(drill)) if !drill.is_open() => drill.down(desk),
            (Action::Left | Action::Right, _, Some(drill)) if drill.goes_aside() => {
                drill.aside(action == Action::Right, desk);
            }
            (_, _, Some(drill)) => {
                let done = drill.act(action, area);
                if !done && action == Action::Back && !drill.up() {
                    self.close();
                }
            }
        }
    }

    fn arrange(&mut self, area: Rect, desk: &Desk<'_>) {
        self.take(desk);
        if let Some(matrix) = &mut self.matrix {
            matrix.look();
        }
        let picture = self.loaded.as_ref().and_then(|loaded| loaded.get()?.as_deref());
        if let Some(checks) = &mut self.checks {
            let verdicts = picture.and_then(|picture| picture.verdicts.as_deref().ok());
            checks.arrange(verdicts.unwrap_or_default(), area, desk);
        }
        let held = self.holding_period();
        if let Some(drill) = &mut self.drill {
            drill.arrange(area, held, self.zoom.is_on(), desk);
        }
    }

    fn waiting(&self) -> bool {
        let comparing = self.matrix.as_ref().is_some_and(FactorMatrix::waiting);
        self.coming.is_some() || comparing || self.drill.as_ref().is_some_and(Drill::waiting)
    }

    fn zoom(&self) -> Option<&Zoom> {
        let is_list = matches!(&self.drill, Some(drill) if drill.is_list());
        Some(&self.zoom).filter(|_| self.is_front() || is_list)
    }

    fn can_go_back(&self) -> bool {
        self.drill.is_some() || self.checks.is_some() || self.sheet.is_some() || self.matrix.is_some()
    }

    fn click(&mut self, at: Position, area: Rect, _desk: &Desk<'_>) {
        match (&mut self.checks, &mut self.drill) {
            (Some(checks), _) => checks.click(at),
            (None, Some(drill)) => drill.click(at, area),
            (None, None) if self.sheet.is_some() || self.matrix.is_some() => {}
            (None, None) => self.click_front(at, area),
        }
    }

    fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        if let Some(matrix) = &self.matrix {
            return matrix.table(desk);
        }
        let picture = self.picture()?;
        match (&self.checks, &self.drill) {
            (Some(checks), _) => Some(checks.table()),
            (None, Some(drill)) => drill.table(desk),
            (None, None) if self.sheet.is_some() => Some(tear_sheet::table(&picture.outcome, desk)),
            (None, None) => Some(view::years(picture, desk)),
        }
    }

    fn stock(&self) -> Option<WantedStock> {
        self.drill.as_ref()?.stock()
    }

    fn charts(&self, desk: &Desk<'_>) -> Vec<Chart> {
        let Some(picture) = self.picture().filter(|_| self.is_front()) else { return Vec::new() };
        let page = FactorReport {
            outcome: &picture.outcome,
            events: picture.events.as_ref(),
            verdicts: picture.verdicts.as_deref().unwrap_or_default(),
            looks: None,
            beside: None,
            newest: None,
            experiments: &[],
            manifest: &Value::Null,
            note: desk.workspace.note.as_deref().unwrap_or_default(),
        };
        let name = |stem: &str| format!("{}-{}", picture.outcome.factor, stem.replace('_', "-"));
        let charts = factor_charts(&page, desk.language).unwrap_or_default().into_iter();
        charts.map(|(stem, svg)| Chart { name: name(&stem), svg }).collect()
    }

    fn section(&self, _desk: &Desk<'_>) -> Option<(&'static str, String)> {
        Some(("factor", self.name.clone()?))
    }

    fn command(&self, desk: &Desk<'_>) -> Option<String> {
        if let Some([a, b]) = self.matrix.as_ref().and_then(FactorMatrix::words) {
            return Some(desk.headless(&format!("compare {} {}", quoted(&a), quoted(&b)), ""));
        }
        let flags = self.drill.as_ref().map(Drill::flags);
        Some(match (flags, &self.name) {
            _ if self.checks.is_some() => desk.headless("lint", ""),
            (Some(flags), Some(name)) => desk.headless(&format!("trace {}", quoted(name)), &flags),
            (_, Some(_)) => desk.headless("backtest", ""),
            (_, None) => return None,
        })
    }

    fn remember(&self) -> Value {
        let memory = FactorMemory {
            factor: self.name.clone(),
            horizon: self.holding_period().days,
            date: self.cursor.and_then(|at| self.picture()?.dates.get(at).copied()),
            chart: self.chart,
            focus: self.focus,
            bar: self.bar,
            way: self.drill.as_ref().map(Drill::way),
            tables: self.drill.as_ref().map_or_else(|| self.tables.clone(), Drill::tables),
        };
        serde_json::to_value(memory).unwrap_or_default()
    }

    fn recall(&mut self, memory: &Value) {
        let Ok(memory) = FactorMemory::deserialize(memory) else { return };
        (self.chart, self.focus, self.bar) = (memory.chart, memory.focus, memory.bar);
        self.tables = memory.tables.clone();
        if self.focus == FactorFocus::Layers {
            self.chart = LayerChart::Means;
        }
        self.memory = Some(memory);
    }
}
