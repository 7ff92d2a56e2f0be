//! The dates of a quantile.

use chrono::NaiveDate;
use ratatui::style::Style;

use super::lists::{HoldingPeriod, bar_cells};
use crate::charts::signed_bar;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::errand::Errand;
use crate::factor::words as own;
use crate::kit::{Cell, ListSheet, SheetRow, Value, number, text};
use crate::{figures, look, words};
use inkstone_lab::factor::TracedDay;

/// The columns by which a key sorts in turn.
pub(super) const ORDERS: [&str; 2] = ["date", "return"];

pub(super) struct Days {
    /// The quantile, from 1, the lowest.
    pub(super) quantile: u16,
    /// Dates of the factor, ascending.
    pub(super) asked: Errand<Vec<TracedDay>>,
    pub(super) sheet: ListSheet,
}

impl Days {
    pub(super) fn dates(&self) -> Vec<NaiveDate> {
        self.asked.get().map_or(&[][..], Vec::as_slice).iter().map(|day| day.date).collect()
    }

    pub(super) fn marked(&self) -> Option<&TracedDay> {
        self.asked.get()?.get(self.sheet.selected()?)
    }

    pub(super) fn fill(&mut self, held: HoldingPeriod, width: u16, desk: &Desk<'_>) {
        let Some(days) = self.asked.get() else { return };
        let (language, red_up) = (desk.language, desk.workspace.red_up);
        let (horizon, name) = held.among(days.first().map_or(0, |day| day.returns.len()));
        let room = bar_cells(width, 64, 0);
        self.sheet.fill((days.len(), horizon, room), language, || {
            let say = |word| desk.say(word);
            let mut columns = vec![
                text("date", own::DATE, 10),
                number("names", words::NAMES_UNIT, 5),
                number("value", words::WORTH, 9),
                number("return", format!("{}{name} %", say(own::MEAN_RETURN)), 14).on_screen(),
                number("up", format!("{} %", say(own::UP)), 10).on_screen(),
                number("documents", own::NEW_DOCUMENTS, 9),
                text("bar", String::new(), 0).on_screen(),
            ];
            let horizons = days.first().map_or(0, |day| day.returns.len());
            for at in 1..=horizons {
                columns.push(number(format!("return-{at}"), format!("{} {at}", say(own::MEAN_RETURN)), 14).on_paper());
                columns.push(number(format!("up-{at}"), format!("{} {at}", say(own::UP)), 10).on_paper());
            }
            let earned_of = |day: &TracedDay| day.returns.get(horizon).copied().unwrap_or(f64::NAN);
            let sizes = days.iter().map(|day| earned_of(day).abs()).filter(|size| size.is_finite());
            let largest = sizes.fold(0.0, f64::max);
            let rows = days.iter().map(|day| {
                let earned = earned_of(day);
                let share = |hits: f64| figures::number(100.0 * hits, 0);
                let mut cells = vec![
                    Cell::of(Value::Time(day.date.and_hms_opt(0, 0, 0).unwrap_or_default()))
                        .copied(day.date.to_string()),
                    Cell::count(Some(day.names as u64)),
                    Cell::number(day.value, |value| figures::number(value, 3)),
                    Cell::number(earned, |earned| figures::signed(100.0 * earned, 2)),
                    Cell::number(day.hits.get(horizon).copied().unwrap_or(f64::NAN), share),
                    Cell::count(Some(day.documents as u64)),
                    Cell::number(earned, |_| String::new()).shown(signed_bar(earned, largest, room)),
                ];
                for (earned, hits) in day.returns.iter().zip(&day.hits) {
                    cells.push(Cell::number(*earned, |earned| figures::signed(earned, 4)));
                    cells.push(Cell::number(*hits, |hits| figures::number(hits, 3)));
                }
                let style: Style = look::of_sign(earned, red_up);
                SheetRow { key: day.date.to_string(), style, cells }
            });
            (columns, rows.collect())
        });
    }

    /// The title of the list: ` Q5 · 3 / 160 个日期 · 日期▼ `.
    pub(super) fn title(&self, context: &PageContext<'_>) -> String {
        let place = self.sheet.place(context.say(own::DATES_UNIT));
        let order = self.sheet.order().map(|order| format!(" · {order}")).unwrap_or_default();
        format!(" Q{} · {place}{order} ", self.quantile)
    }
}
