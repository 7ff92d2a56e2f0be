//! The dates of a quantile: in which order they are listed, and which is marked.

use chrono::NaiveDate;

use crate::action::Action;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::list::Cursor;
use crate::page::{Table, exact};
use crate::words;
use inkstone_lab::factor::TracedDay;

pub(super) struct Days {
    /// The quantile, from 1, the lowest.
    pub(super) quantile: u16,
    /// Dates of the factor, ascending.
    pub(super) asked: Errand<Vec<TracedDay>>,
    /// True if the highest return stands first, and not the latest date.
    pub(super) by_return: bool,
    /// Places among the dates, in the order in which they are listed.
    pub(super) listed: Vec<usize>,
    pub(super) cursor: Cursor,
}

impl Days {
    pub(super) fn new(quantile: u16, asked: Errand<Vec<TracedDay>>) -> Days {
        Days { quantile, asked, by_return: false, listed: Vec::new(), cursor: Cursor::default() }
    }

    pub(super) fn dates(&self) -> Vec<NaiveDate> {
        self.asked.get().map_or(&[][..], Vec::as_slice).iter().map(|day| day.date).collect()
    }

    pub(super) fn marked(&self) -> Option<&TracedDay> {
        self.asked.get()?.get(*self.listed.get(self.cursor.at)?)
    }

    /// Marks a date; whether the list has it.
    pub(super) fn mark(&mut self, date: NaiveDate) -> bool {
        let place = self.asked.get().and_then(|days| days.binary_search_by_key(&date, |day| day.date).ok());
        let at = place.and_then(|place| self.listed.iter().position(|listed| *listed == place));
        self.cursor.at = at.unwrap_or(self.cursor.at);
        at.is_some()
    }

    pub(super) fn sort_by_next(&mut self, horizon: usize) {
        self.by_return = !self.by_return;
        self.cursor = Cursor::default();
        self.sort(horizon);
    }

    /// Lists the dates anew and keeps the mark; dates without a return come last.
    pub(super) fn sort(&mut self, horizon: usize) {
        let marked = self.marked().map(|day| day.date).filter(|_| self.cursor != Cursor::default());
        let Some(days) = self.asked.get() else { return };
        let mut listed: Vec<usize> = (0..days.len()).rev().collect();
        if self.by_return {
            let earned = |place: &usize| {
                let earned = days[*place].returns.get(horizon).copied().filter(|earned| !earned.is_nan());
                earned.unwrap_or(f64::NEG_INFINITY)
            };
            listed.sort_by(|a, b| earned(b).total_cmp(&earned(a)));
        }
        self.listed = listed;
        if let Some(date) = marked {
            self.mark(date);
        }
    }

    pub(super) fn step(&mut self, action: Action, rows: usize) {
        self.cursor.step(action, self.listed.len(), rows);
    }

    pub(super) fn table(&self, desk: &Desk<'_>) -> Option<Table> {
        let days = self.asked.get()?;
        let say = |word| desk.say(word).to_owned();
        let horizons = days.first().map_or(0, |day| day.returns.len());
        let mut header = vec![
            say(super::super::words::DATE),
            say(words::NAMES_UNIT),
            say(words::WORTH),
            say(super::super::words::NEW_DOCUMENTS),
        ];
        for horizon in 1..=horizons {
            header.push(format!("{} {horizon}", say(super::super::words::MEAN_RETURN)));
            header.push(format!("{} {horizon}", say(super::super::words::UP)));
        }
        let row = |day: &TracedDay| {
            let mut row =
                vec![day.date.to_string(), day.names.to_string(), exact(day.value), day.documents.to_string()];
            for (earned, hits) in day.returns.iter().zip(&day.hits) {
                row.extend([exact(*earned), exact(*hits)]);
            }
            row
        };
        Some(Table { header, rows: self.listed.iter().filter_map(|place| days.get(*place)).map(row).collect() })
    }
}
