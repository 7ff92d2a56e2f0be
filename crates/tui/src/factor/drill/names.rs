//! The names of a date: which are shown, and in which order.

use chrono::NaiveDate;

use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::list::Cursor;
use crate::page::{Table, exact};
use crate::words;
use inkstone_lab::factor::{TracedDate, TracedName};

/// The orders of the stocks of a date, each with the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NameOrder {
    #[default]
    Value,
    Return,
    Documents,
}

pub(super) struct Names {
    /// The dates that have names, ascending, and which of them is shown.
    dates: Vec<NaiveDate>,
    date: usize,
    pub(super) asked: Errand<TracedDate>,
    pub(super) order: NameOrder,
    /// The quantile that is shown; 0 for all.
    pub(super) quantile: u16,
    /// Places among the names of the date, in the order in which they are listed.
    pub(super) listed: Vec<usize>,
    pub(super) cursor: Cursor,
}

impl Names {
    /// The names of one of these dates; `quantile` 0 is all of them.
    pub(super) fn new(dates: Vec<NaiveDate>, date: usize, quantile: u16, asked: Errand<TracedDate>) -> Names {
        let (order, listed, cursor) = (NameOrder::Value, Vec::new(), Cursor::default());
        Names { dates, date, asked, order, quantile, listed, cursor }
    }

    pub(super) fn day(&self) -> NaiveDate {
        self.dates[self.date]
    }

    /// The date after or before, and its place.
    pub(super) fn beside(&self, on: bool) -> Option<(usize, NaiveDate)> {
        let at = if on { self.date + 1 } else { self.date.wrapping_sub(1) };
        Some((at, *self.dates.get(at)?))
    }

    /// Another date, by the same order and quantile.
    pub(super) fn again(&mut self, date: usize, asked: Errand<TracedDate>) {
        (self.date, self.asked, self.listed, self.cursor) = (date, asked, Vec::new(), Cursor::default());
    }

    /// Marks a name by its code; whether the list has it.
    pub(super) fn mark(&mut self, code: &str) -> bool {
        let names = self.asked.get().map_or(&[][..], |date| &date.names);
        let at = self.listed.iter().position(|place| names[*place].code == code);
        self.cursor.at = at.unwrap_or(self.cursor.at);
        at.is_some()
    }

    pub(super) fn marked(&self) -> Option<&TracedName> {
        self.asked.get()?.names.get(*self.listed.get(self.cursor.at)?)
    }

    pub(super) fn sort_by_next(&mut self, horizon: usize) {
        self.order = match self.order {
            NameOrder::Value => NameOrder::Return,
            NameOrder::Return => NameOrder::Documents,
            NameOrder::Documents => NameOrder::Value,
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

    /// Lists the names anew; names without a number come last.
    pub(super) fn sort(&mut self, horizon: usize) {
        let Some(date) = self.asked.get() else { return };
        let number = |place: &usize| {
            let name = &date.names[*place];
            match self.order {
                NameOrder::Value => name.value,
                NameOrder::Return => name.returns.get(horizon).copied().unwrap_or(f64::NAN),
                NameOrder::Documents => name.documents as f64,
            }
        };
        let shown = |place: &usize| self.quantile == 0 || date.names[*place].quantile == self.quantile;
        let mut listed: Vec<usize> = (0..date.names.len()).filter(shown).collect();
        let key = |place: &usize| Some(number(place)).filter(|number| !number.is_nan()).unwrap_or(f64::NEG_INFINITY);
        listed.sort_by(|a, b| key(b).total_cmp(&key(a)));
        self.listed = listed;
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        self.cursor.step(action, self.listed.len(), rows);
    }

    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        let date = self.asked.get()?;
        let titles = [words::CODE, words::NAME, words::WORTH, words::RAW, words::DOCUMENTS_SHORT, words::FIRST];
        let mut header: Vec<String> = titles.map(|word| desk.say(word).to_owned()).to_vec();
        header.push("Q".to_owned());
        header.extend(date.horizons.iter().map(|days| format!("{}{days}d", desk.say(words::RETURN))));
        header.extend([words::KNOWN_AT, words::TOP_DOCUMENT].map(|word| desk.say(word).to_owned()));
        let row = |name: &TracedName| {
            let mut row = vec![
                name.code.clone(),
                name.name.clone(),
                exact(name.value),
                exact(name.raw),
                name.documents.to_string(),
                name.first_mentions.to_string(),
                name.quantile.to_string(),
            ];
            row.extend(name.returns.iter().map(|earned| exact(*earned)));
            row.extend([name.known_at.map(|time| time.to_string()).unwrap_or_default(), name.title.clone()]);
            row
        };
        let rows = self.listed.iter().filter_map(|place| date.names.get(*place)).map(row).collect();
        Some(Table { header, rows })
    }
}
