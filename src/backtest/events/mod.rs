//! Event study: abnormal returns around documents, by what the documents say.
//!
//! Day 0 of an event is the first trading day on which its document could be traded on. The abnormal return of a day is the
//! return of the security less what is expected of it by [`Model`]; cumulated over days it is the CAR. Events are put in groups
//! by their value; the mean of a group is tested against zero (MacKinlay 1997; Boehmer, Musumeci and Poulsen 1991;
//! Corrado 1989).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a return is expected to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The benchmark's return of the day: that of all names alike where no benchmark is given.
    #[default]
    MarketAdjusted,
    /// alpha + beta x the benchmark's return, by least squares over the estimation window.
    MarketModel,
    /// The security's own mean over the estimation window.
    MeanAdjusted,
}

/// What was found around the events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventStudy {
    /// How returns are expected.
    pub model: Model,
    /// Trading days relative to the event that are looked at, first and last.
    pub window: (i32, i32),
    /// Trading days relative to the event over which the model and the variance are estimated.
    pub estimation: (i32, i32),
    /// Groups from the lowest value to the highest.
    pub groups: Vec<EventGroup>,
    /// Events set aside, by reason.
    pub excluded: BTreeMap<String, u64>,
}

/// The events of one group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventGroup {
    /// Number of the group, from 1 (lowest values).
    pub group: usize,
    /// Least and largest value of its events.
    pub values: (f64, f64),
    /// Events that entered.
    pub events: u64,
    /// Days relative to the event.
    pub days: Vec<i32>,
    /// Mean abnormal return of each day.
    pub abnormal: Vec<f64>,
    /// Mean cumulative abnormal return up to and including each day.
    pub cumulative: Vec<f64>,
    /// Half width of the 95 % interval of `cumulative`.
    pub margin: Vec<f64>,
    /// Tests of parts of the window.
    pub tests: Vec<EventTest>,
}

/// A test of the mean abnormal return of a group over some days.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventTest {
    /// First and last day of the part.
    pub days: (i32, i32),
    /// Mean cumulative abnormal return over the part.
    pub mean: f64,
    /// `cross_section`, `bmp`, `kolari_pynnonen`, `corrado` or `sign`.
    pub test: String,
    /// The statistic.
    pub statistic: f64,
    /// Two-sided p.
    pub p: f64,
}
