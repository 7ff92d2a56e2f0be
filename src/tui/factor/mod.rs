//! The factor page: the backtest of one factor, read off a date at a time.

mod charts;
mod picture;
mod view;

pub(crate) use picture::Picture;
pub(crate) use view::draw;

use super::commands::Action;
use super::reading::{Reading, Request};

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

    /// Reads the selected factor anew.
    pub(crate) fn reload(&mut self, factors: &[String], reading: &Reading) {
        self.selected = self.selected.min(factors.len().saturating_sub(1));
        self.asked = factors.get(self.selected).cloned();
        if let Some(name) = &self.asked {
            reading.ask(Request::Factor(name.clone()));
        }
    }

    /// Whether something asked for has not come yet.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> bool {
        self.asked.is_some() && self.loaded.is_none()
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

    /// Does a command of this page.
    pub(crate) fn act(&mut self, action: Action, factors: &[String], reading: &Reading) {
        let count = factors.len().max(1);
        match action {
            Action::NextFactor => self.select((self.selected + 1) % count, factors, reading),
            Action::PreviousFactor => self.select((self.selected + count - 1) % count, factors, reading),
            Action::Horizon => self.horizon = (self.horizon + 1) % self.horizons().max(1),
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
        (self.selected, self.loaded) = (factor, None);
        self.reload(factors, reading);
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
