//! The factor page: the backtest of one factor, read off a date at a time.

mod charts;
mod drill;
mod picture;
mod tracing;
mod view;

use ratatui::layout::Rect;

pub(crate) use drill::{Question, Traced};
pub(crate) use picture::Picture;
pub use tracing::{DocumentsOf, Judgement, JudgementOf, NamesOf, SentencesOf, Tracing};
pub(crate) use view::draw;

use super::commands::Action;
use super::desk::Desk;
use super::page::PageState;
use super::reading::{Reading, Request};
use drill::{Asking, Drill};

/// Trading days of a month, the step of the page keys.
const MONTH: usize = 21;

/// State of the page.
#[derive(Default)]
pub(crate) struct Factor {
    selected: usize,
    asked: Option<String>,
    /// The backtest of the factor asked for, once read; `None` inside: there is none.
    loaded: Option<Result<Option<Box<Picture>>, String>>,
    horizon: usize,
    cursor: Option<usize>,
    chart: LayerChart,
    /// The way down to documents, while it is gone.
    drill: Option<Drill>,
    /// Questions asked on the ways before.
    asked_before: u64,
}

/// What the lower left chart shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LayerChart {
    /// Growth of 1 by layer.
    #[default]
    Wealth,
    /// Mean return by layer at the horizon chosen.
    Means,
    /// Mean RankIC against single days after the trade.
    Decay,
}

impl Factor {
    /// The page, beginning with this factor.
    pub(crate) fn at(selected: usize) -> Factor {
        Factor { selected, ..Factor::default() }
    }

    fn ask(&mut self, factors: &[String], reading: &Reading) {
        self.selected = self.selected.min(factors.len().saturating_sub(1));
        self.asked = factors.get(self.selected).cloned();
        if let Some(name) = &self.asked {
            reading.ask(Request::Factor(name.clone()));
        }
    }

    /// Takes in a backtest, unless another has been asked for since.
    pub(crate) fn take(&mut self, name: &str, picture: Result<Option<Box<Picture>>, String>) {
        if self.asked.as_deref() != Some(name) {
            return;
        }
        self.loaded = Some(picture);
        self.horizon = self.horizon.min(self.horizons().saturating_sub(1));
        let last = self.picture().map_or(0, |p| p.dates.len().saturating_sub(1));
        self.cursor = self.cursor.map(|c| c.min(last));
    }

    /// Whether there is a curve to move along.
    pub(crate) fn has_dates(&self) -> bool {
        self.picture().is_some_and(|p| !p.dates.is_empty())
    }

    /// Holding periods there are.
    pub(crate) fn horizons(&self) -> usize {
        self.picture().map_or(0, |p| p.horizons.len())
    }

    fn picture(&self) -> Option<&Picture> {
        self.loaded.as_ref()?.as_ref().ok()?.as_deref()
    }

    /// Whether there is something below what is shown.
    pub(crate) fn can_drill(&self, there_is_a_way: bool) -> bool {
        match &self.drill {
            Some(drill) => drill.can_open(),
            None => there_is_a_way && self.picture().is_some_and(|p| p.dates_with_names().next().is_some()),
        }
    }

    /// Whether the names of a date are listed.
    pub(crate) fn lists_names(&self) -> bool {
        self.drill.as_ref().is_some_and(Drill::lists_names)
    }

    /// Whether a holding period makes a difference to what is shown.
    pub(crate) fn shows_returns(&self) -> bool {
        self.drill.as_ref().is_none_or(Drill::lists_names)
    }

    /// Takes in what is behind the factor.
    pub(crate) fn take_traced(&mut self, number: u64, traced: Traced) {
        if let Some(drill) = &mut self.drill {
            drill.take(number, traced, self.horizon);
        }
    }

    /// Does what is of the factor as a whole.
    fn show(&mut self, action: Action, factors: &[String], reading: &Reading) {
        let count = factors.len().max(1);
        match action {
            Action::NextFactor => self.select((self.selected + 1) % count, factors, reading),
            Action::PreviousFactor => self.select((self.selected + count - 1) % count, factors, reading),
            Action::Horizon => {
                self.horizon = (self.horizon + 1) % self.horizons().max(1);
                if let Some(drill) = &mut self.drill {
                    drill.sort(self.horizon);
                }
            }
            Action::Layers => {
                self.chart = match self.chart {
                    LayerChart::Wealth => LayerChart::Means,
                    LayerChart::Means => LayerChart::Decay,
                    LayerChart::Decay => LayerChart::Wealth,
                }
            }
            _ => self.step(action),
        }
    }

    fn select(&mut self, factor: usize, factors: &[String], reading: &Reading) {
        self.close();
        (self.selected, self.loaded) = (factor, None);
        self.ask(factors, reading);
    }

    /// Goes down to the names of the date of the cursor, or the last one before it that has some.
    fn open(&mut self, asking: &Asking<'_>) {
        let Some((picture, factor)) = self.picture().zip(self.asked.as_deref()) else { return };
        let dates: Vec<chrono::NaiveDate> = picture.dates_with_names().collect();
        let at = self.cursor.and_then(|i| picture.dates.get(i)).or(dates.last()).copied();
        let Some(at) = at.filter(|_| !dates.is_empty()) else { return };
        let date = dates.partition_point(|date| *date <= at).saturating_sub(1);
        self.drill = Some(Drill::open(factor, dates, date, self.asked_before, asking));
    }

    /// Goes up to the curves, at the date whose names were listed.
    fn close(&mut self) {
        let Some(drill) = self.drill.take() else { return };
        self.asked_before = drill.asked();
        self.cursor = self.picture().and_then(|picture| picture.dates.binary_search(&drill.day()).ok()).or(self.cursor);
    }

    fn step(&mut self, action: Action) {
        let Some(last) = self.picture().and_then(|p| p.dates.len().checked_sub(1)) else { return };
        let at = self.cursor.unwrap_or(last);
        let to = match action {
            Action::Left => at.saturating_sub(1),
            Action::Right => at + 1,
            Action::PageUp => at.saturating_sub(MONTH),
            Action::PageDown => at + MONTH,
            Action::First => 0,
            Action::Last => last,
            _ => return,
        };
        self.cursor = Some(to.min(last));
    }
}

impl PageState for Factor {
    fn reload(&mut self, desk: &Desk<'_>) {
        self.ask(&desk.workspace.factors, desk.reading);
    }

    fn act(&mut self, action: Action, area: Rect, desk: &Desk<'_>) {
        let (workspace, reading) = (desk.workspace, desk.reading);
        let asking = workspace.tracing.as_ref().map(|tracing| Asking { tracing, workspace, events: desk.events });
        match (action, &mut self.drill, &asking) {
            (Action::NextFactor | Action::PreviousFactor | Action::Horizon, ..) => {
                self.show(action, &workspace.factors, reading);
            }
            (Action::Drill, None, Some(asking)) => self.open(asking),
            (_, None, _) => self.show(action, &workspace.factors, reading),
            (Action::Drill, Some(drill), Some(asking)) => drill.down(asking),
            (Action::Left | Action::Right, Some(drill), Some(asking)) => drill.aside(action == Action::Right, asking),
            (Action::Back, Some(drill), _) => {
                if !drill.up() {
                    self.close();
                }
            }
            (_, Some(drill), _) => drill.act(action, self.horizon, area),
        }
    }

    fn arrange(&mut self, area: Rect, _desk: &Desk<'_>) {
        if let Some(drill) = &mut self.drill {
            drill.arrange(area);
        }
    }

    fn waiting(&self) -> bool {
        self.asked.is_some() && self.loaded.is_none() || self.drill.as_ref().is_some_and(Drill::waiting)
    }

    fn can_go_back(&self) -> bool {
        self.drill.is_some()
    }
}
