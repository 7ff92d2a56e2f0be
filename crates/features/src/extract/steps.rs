//! Models of past documents are fitted every so many natural days, on the documents of the days before.
//!
//! Time is cut into steps of `refit_days` natural days, counted from Monday 1970-01-05. The documents of a step are valued by a model of
//! the documents published in the `window_days` before its first midnight (0: in all days before), so none of them trains the model
//! that values it, and a value is known when its document is. Steps do not depend on the corpus: a longer one changes no earlier value.

use chrono::{Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde::{Deserialize, Serialize};

use super::documents::DocumentPlace;

const MONDAY: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 5).expect("a day of the calendar");

#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// Natural days before a step whose documents its model is fitted on; 0: all days before.
    pub(crate) window_days: u32,
    /// Natural days of a step.
    pub(crate) refit_days: u32,
    /// Documents of a window below which its step has no values.
    pub(crate) min_train_documents: usize,
}

/// A step that has documents.
pub(crate) struct Step<'p> {
    /// First midnight of the step.
    pub(crate) begin: NaiveDateTime,
    /// The documents before it that its model is fitted on, in the order of their times.
    pub(crate) window: &'p [DocumentPlace],
    /// The documents of the step.
    pub(crate) documents: &'p [DocumentPlace],
}

/// A step and the model that valued its documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// The step's first midnight.
    pub from: NaiveDateTime,
    /// Last time of the documents that the model saw; none where there was no model.
    pub fitted_until: Option<NaiveDateTime>,
    /// Documents of the window before the step.
    pub train_documents: usize,
    /// Documents of the step that have values.
    pub scored: usize,
}

impl Steps {
    /// The steps that have documents; `places` are in the order of their times.
    pub(crate) fn over<'p>(self, places: &'p [DocumentPlace]) -> impl Iterator<Item = Step<'p>> {
        places.chunk_by(move |a, b| self.step(a.time) == self.step(b.time)).map(move |documents| {
            let (begin, window) = self.window_before(places, documents[0].time);
            Step { begin, window, documents }
        })
    }

    /// First midnight of the step that a moment falls into, and the documents that its model is fitted on.
    pub(crate) fn window_before(
        self,
        places: &[DocumentPlace],
        time: NaiveDateTime,
    ) -> (NaiveDateTime, &[DocumentPlace]) {
        let begin = self.begin(self.step(time));
        let end = places.partition_point(|place| place.time < begin);
        // A window that reaches beyond the calendar has all days before.
        let first = begin.checked_sub_days(Days::new(u64::from(self.window_days)));
        let first = match first {
            Some(first) if self.window_days > 0 => places.partition_point(|place| place.time < first),
            _ => 0,
        };
        (begin, &places[first..end])
    }

    /// True if so many documents suffice to fit a model.
    pub(crate) fn suffice(&self, documents: usize) -> bool {
        documents >= self.min_train_documents
    }

    /// Number of the step that a moment falls into.
    fn step(&self, time: NaiveDateTime) -> i64 {
        (time.date() - MONDAY).num_days().div_euclid(i64::from(self.refit_days))
    }

    /// First midnight of a step.
    fn begin(&self, step: i64) -> NaiveDateTime {
        let days = TimeDelta::try_days(step.saturating_mul(i64::from(self.refit_days)));
        // Before the first day of the calendar there is none.
        let day = days.and_then(|days| MONDAY.checked_add_signed(days)).unwrap_or(NaiveDate::MIN);
        day.and_time(NaiveTime::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_steps_of_any_length_stay_within_the_calendar() {
        let time = NaiveDate::from_ymd_opt(1969, 6, 1).and_then(|day| day.and_hms_opt(9, 0, 0)).unwrap();
        let places: Vec<DocumentPlace> = [time, time + TimeDelta::days(40)]
            .map(|time| DocumentPlace { time, part: 0, row: 0, tokens: 0..0, body: 0 })
            .into();
        for window_days in [0, 1, 36_500, u32::MAX] {
            for refit_days in [1, 7, 36_500, u32::MAX] {
                let steps = Steps { window_days, refit_days, min_train_documents: 1 };
                let documents: usize = steps.over(&places).map(|step| step.documents.len()).sum();
                assert_eq!(documents, 2);
                assert!(steps.over(&places).all(|step| step.window.iter().all(|place| place.time < step.begin)));
            }
        }
    }
}
