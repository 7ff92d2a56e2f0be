//! The times at which the values of a feature set were known.

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::set::SetMeta;
use inkstone_models::FoldReport;
use inkstone_store::Header;

/// Last times of the data that the models behind a set's rows were fitted on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelTimes {
    /// End of the data of the model that all rows share.
    fitted_until: Option<NaiveDateTime>,
    /// Walk-forward models.
    folds: Vec<FoldTime>,
    /// The sets that the rows were computed from.
    inputs: Vec<ModelTimes>,
}

/// A fold that has a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FoldTime {
    /// First and last trading day that it scored.
    test: (NaiveDate, NaiveDate),
    fitted_until: NaiveDateTime,
}

impl ModelTimes {
    /// The times of a set of the store.
    pub(crate) fn read(header: &Header) -> Result<ModelTimes> {
        let meta = SetMeta::read(header)?;
        let time = |fold: &FoldReport| Some(FoldTime { test: fold.test, fitted_until: fold.fitted_until? });
        let folds = meta.folds.iter().flatten().filter_map(time).collect();
        let inputs = meta.inputs.into_iter().flatten().chain(SetMeta::condition_of(header)?);
        let inputs = inputs.map(|input| input.times).collect();
        Ok(ModelTimes { fitted_until: header.spec.fitted_until, folds, inputs })
    }

    /// The last time of the data of the models of all rows, those of inputs among them.
    pub(crate) fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.inputs.iter().filter_map(ModelTimes::fitted_until).chain(self.fitted_until).max()
    }

    /// True if a model, or that of an input, was walked forward over trading days.
    pub(crate) fn has_folds(&self) -> bool {
        !self.folds.is_empty() || self.inputs.iter().any(ModelTimes::has_folds)
    }

    /// The time when the value of a text was known: the text was published, and its model and those of its inputs were fitted. Where
    /// test windows overlap, the newest model gave the value.
    pub(crate) fn known_at(&self, published_at: NaiveDateTime, day: NaiveDate) -> NaiveDateTime {
        let fold = self.folds.iter().rev().find(|fold| fold.test.0 <= day && day <= fold.test.1);
        let fitted = [self.fitted_until, fold.map(|fold| fold.fitted_until)];
        let inputs = self.inputs.iter().map(|input| input.known_at(published_at, day));
        fitted.into_iter().flatten().chain(inputs).fold(published_at, NaiveDateTime::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_when_text_and_models_are() {
        let at = |day: u32, hour| NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(hour, 0, 0).unwrap();
        let day = |day: u32| at(day, 0).date();
        let fold = |first, last, fitted_until| FoldTime { test: (day(first), day(last)), fitted_until };
        let folds = vec![fold(4, 8, at(1, 15)), fold(6, 12, at(5, 15))];
        let walked = ModelTimes { folds, ..ModelTimes::default() };
        assert_eq!(walked.known_at(at(1, 10), day(4)), at(1, 15), "the model of the fold came after the text");
        assert_eq!(walked.known_at(at(5, 20), day(6)), at(5, 20));
        assert_eq!(walked.known_at(at(5, 9), day(6)), at(5, 15), "of two folds the newer");
        assert_eq!(walked.known_at(at(4, 9), day(20)), at(4, 9), "no fold gave this value");
        let one_model = ModelTimes { fitted_until: Some(at(20, 23)), ..ModelTimes::default() };
        assert_eq!(one_model.known_at(at(4, 9), day(4)), at(20, 23));
        let composed = ModelTimes { inputs: vec![walked, one_model], ..ModelTimes::default() };
        assert_eq!(composed.known_at(at(4, 9), day(4)), at(20, 23), "of all inputs the last");
        assert_eq!(composed.known_at(at(21, 9), day(21)), at(21, 9));
    }
}
