//! The names of a date: which are shown, and in which order.

use super::Asked;
use crate::factor::{TracedDate, TracedName};
use crate::tui::commands::Action;
use crate::tui::list::Cursor;

/// What names are put in order by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// The value.
    #[default]
    Value,
    /// The return at the horizon of the page.
    Return,
    /// The number of documents.
    Documents,
}

/// The list.
pub(super) struct Names {
    pub(super) asked: Asked<TracedDate>,
    pub(super) order: Order,
    /// The quantile that is shown; 0 for all.
    pub(super) quantile: u16,
    /// Places among the names of the date, in the order in which they are listed.
    pub(super) listed: Vec<usize>,
    pub(super) cursor: Cursor,
}

impl Names {
    pub(super) fn of(asked: Asked<TracedDate>) -> Names {
        Names { asked, order: Order::Value, quantile: 0, listed: Vec::new(), cursor: Cursor::default() }
    }

    /// Another date, by the same order and quantile.
    pub(super) fn again(&mut self, asked: Asked<TracedDate>) {
        (self.asked, self.listed, self.cursor) = (asked, Vec::new(), Cursor::default());
    }

    /// The name at the cursor.
    pub(super) fn marked(&self) -> Option<&TracedName> {
        self.asked.get()?.names.get(*self.listed.get(self.cursor.at)?)
    }

    pub(super) fn sort_by_next(&mut self, horizon: usize) {
        self.order = match self.order {
            Order::Value => Order::Return,
            Order::Return => Order::Documents,
            Order::Documents => Order::Value,
        };
        self.cursor = Cursor::default();
        self.sort(horizon);
    }

    pub(super) fn next_quantile(&mut self, horizon: usize) {
        let quantiles = self.asked.get().map_or(0, |date| date.quantiles as u16);
        // From the top down: the last quantile has the highest values.
        self.quantile = match self.quantile {
            0 => quantiles,
            quantile => quantile - 1,
        };
        self.cursor = Cursor::default();
        self.sort(horizon);
    }

    /// Lists the names anew; what has no number stands behind.
    pub(super) fn sort(&mut self, horizon: usize) {
        let Some(date) = self.asked.get() else { return };
        let of = |place: &usize| {
            let name = &date.names[*place];
            match self.order {
                Order::Value => name.value,
                Order::Return => name.returns.get(horizon).copied().unwrap_or(f64::NAN),
                Order::Documents => name.documents as f64,
            }
        };
        let shown = |place: &usize| self.quantile == 0 || date.names[*place].quantile == self.quantile;
        let mut listed: Vec<usize> = (0..date.names.len()).filter(shown).collect();
        let key = |place: &usize| Some(of(place)).filter(|number| !number.is_nan()).unwrap_or(f64::NEG_INFINITY);
        listed.sort_by(|a, b| key(b).total_cmp(&key(a)));
        self.listed = listed;
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        self.cursor.step(action, self.listed.len(), rows);
    }

    pub(super) fn arrange(&mut self, rows: usize) {
        self.cursor.arrange(self.listed.len(), rows);
    }
}
