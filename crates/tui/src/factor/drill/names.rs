//! The names of a date.

use chrono::NaiveDate;

use super::lists::{HoldingPeriod, return_of};
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::{figures, look, words};
use inkstone_lab::factor::{TracedDate, TracedName};

/// The columns by which a key sorts in turn.
pub(super) const ORDERS: [&str; 3] = ["value", "return", "documents"];

pub(super) struct Names {
    /// The dates that have names, ascending, and which of them is shown.
    dates: Vec<NaiveDate>,
    date: usize,
    pub(super) asked: Errand<TracedDate>,
    /// The quantile that is shown; 0 for all.
    pub(super) quantile: u16,
    /// Places among the names of the date of those that are shown.
    shown: Vec<usize>,
    pub(super) sheet: ListSheet,
}

impl Names {
    /// The names of one of these dates; `quantile` 0 is all of them.
    pub(super) fn new(
        dates: Vec<NaiveDate>,
        date: usize,
        quantile: u16,
        asked: Errand<TracedDate>,
        sheet: ListSheet,
    ) -> Names {
        Names { dates, date, asked, quantile, shown: Vec::new(), sheet }
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
        (self.date, self.asked) = (date, asked);
        self.sheet.empty();
    }

    pub(super) fn marked(&self) -> Option<&TracedName> {
        self.asked.get()?.names.get(*self.shown.get(self.sheet.selected()?)?)
    }

    pub(super) fn next_quantile(&mut self) {
        let quantiles = self.asked.get().map_or(0, |date| date.quantiles as u16);
        // From the top down: the last quantile has the highest values.
        self.quantile = match self.quantile {
            0 => quantiles,
            quantile => quantile - 1,
        };
        self.sheet.empty();
    }

    pub(super) fn fill(&mut self, held: HoldingPeriod, desk: &Desk<'_>) {
        let Some(date) = self.asked.get() else { return };
        let (horizon, name) = held.among(date.horizons.len());
        let of_quantile = |place: &usize| self.quantile == 0 || date.names[*place].quantile == self.quantile;
        self.shown = (0..date.names.len()).filter(of_quantile).collect();
        let shown = &self.shown;
        self.sheet.fill((date.date, horizon, self.quantile, shown.len()), desk.language, || {
            let say = |word| desk.say(word);
            let mut columns = vec![
                text("code", words::CODE, 9),
                text("name", words::NAME, 8),
                number("quantile", "Q".to_owned(), 3),
                number("value", words::WORTH, 8),
                number("raw", words::RAW, 9).at_least(110),
                number("documents", words::DOCUMENTS_SHORT, 5),
                number("first", words::FIRST, 4),
                number("return", format!("{}{name} %", say(words::RETURN)), 9).on_screen(),
                text("title", words::TOP_DOCUMENT, 0),
                text("known-at", words::KNOWN_AT, 19).on_paper(),
            ];
            for days in &date.horizons {
                let title = format!("{}{days}d", say(words::RETURN));
                columns.push(number(format!("return-{days}"), title, 9).on_paper());
            }
            let row = |place: &usize| {
                let name = &date.names[*place];
                let earned = name.returns.get(horizon).copied().unwrap_or(f64::NAN);
                let quantile = Some(u64::from(name.quantile)).filter(|quantile| *quantile > 0);
                let mut cells = vec![
                    Cell::text(name.code.clone()),
                    Cell::text(name.name.clone()),
                    match quantile {
                        Some(quantile) => Cell::count(Some(quantile)).shown(format!("Q{quantile}")),
                        None => Cell::count(None),
                    },
                    Cell::number(name.value, |value| figures::number(value, 3)),
                    Cell::number(name.raw, |raw| figures::number(raw, 3)),
                    Cell::count(Some(name.documents as u64)),
                    Cell::count(Some(name.first_mentions as u64)),
                    Cell::number(earned, |_| String::new()).shown(return_of(name, earned)),
                    Cell::text(name.title.clone()),
                    name.known_at.map_or_else(|| Cell::text(""), |time| Cell::of(Value::Time(time))),
                ];
                cells.extend(
                    name.returns.iter().map(|earned| Cell::number(*earned, |earned| figures::signed(earned, 4))),
                );
                SheetRow { key: name.code.clone(), style: look::of_sign(earned, desk.workspace.red_up), cells }
            };
            (columns, shown.iter().map(row).collect())
        });
    }

    /// The title of the list: ` 2024-03-15 · Q5 · 3 / 40 只 · 取值▼ `.
    pub(super) fn title(&self, context: &PageContext<'_>) -> String {
        let quantile = if self.quantile > 0 { format!(" · Q{}", self.quantile) } else { String::new() };
        let place = self.sheet.place(context.say(words::NAMES_UNIT));
        let order = self.sheet.order().map(|order| format!(" · {order}")).unwrap_or_default();
        format!(" {}{quantile} · {place}{order} ", self.day())
    }

    /// Codes in the order of the list.
    pub(super) fn codes(&self) -> Vec<String> {
        self.sheet.listed().map(|row| row.key.clone()).collect()
    }
}
