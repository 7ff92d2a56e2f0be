//! The result of an event study: everything that a table or a chart shows, as plain data.
//!
//! Returns are simple (0.01 = 1 %). A value that does not exist is NaN in memory and null in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::params::Model;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Results of an event study.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventStudy {
    pub model: Model,
    /// Trading days relative to the event that are looked at, first and last.
    pub window: (i32, i32),
    /// Trading days relative to the event over which the model and the variance are estimated.
    pub estimation: (i32, i32),
    /// Groups from the lowest value to the highest; one without events is not there.
    pub groups: Vec<EventGroup>,
    /// The last group less the first; none where there is but one group.
    #[serde(default)]
    pub difference: Option<EventDifference>,
    /// Events set aside, by reason.
    pub excluded: BTreeMap<String, u64>,
}

nan_as_null! {
    /// Results of one group of events.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct EventGroup {
        /// Number of the group, from 1 (lowest values).
        pub group: usize,
        /// Least and largest value of its events.
        pub values: (f64, f64),
        pub events: u64,
        /// Days relative to the event.
        pub days: Vec<i32>,
        /// Mean abnormal return of each day, over the events whose name traded.
        pub abnormal: Vec<f64>,
        /// Mean cumulative abnormal return up to and including each day, over the events whose name traded at all until then.
        pub cumulative: Vec<f64>,
        /// Half width of the 95 % interval of `cumulative`, by errors clustered by code and by day.
        pub margin: Vec<f64>,
        /// Tests of parts of the window.
        pub tests: Vec<EventTest>,
    }

    /// The group of the highest values less the group of the lowest.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct EventDifference {
        /// Number of the group that is subtracted from.
        pub top: usize,
        /// Number of the group that is subtracted.
        pub bottom: usize,
        /// Days relative to the event.
        pub days: Vec<i32>,
        /// Difference of the mean cumulative abnormal returns up to and including each day.
        pub cumulative: Vec<f64>,
        /// Half width of the 95 % interval of `cumulative`.
        pub margin: Vec<f64>,
        /// Tests of parts of the window: `cross_section` (Welch's t) and `clustered`.
        pub tests: Vec<EventTest>,
    }

    /// A test of the mean abnormal return of a group over some days.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct EventTest {
        /// First and last day of the part.
        pub days: (i32, i32),
        /// Mean cumulative abnormal return over the part.
        pub mean: f64,
        /// `cross_section`, `bmp`, `kolari_pynnonen`, `clustered`, `corrado` or `sign`.
        pub test: String,
        pub statistic: f64,
        /// Two-sided p.
        pub p: f64,
    }
}

impl EventStudy {
    /// Meaning of the days in words, for every table and chart.
    pub(crate) fn days_in_words(&self) -> Message {
        let expected = match self.model {
            Model::MarketAdjusted => Word("减基准收益", "less the benchmark's"),
            Model::MarketModel => Word("减市场模型的预期", "less what the market model expects"),
            Model::MeanAdjusted => Word("减个股自身的均值", "less the name's own mean"),
        };
        message!(
            "收益为收盘到收盘，{expected}；第 0 日是文档归入的交易日，当日的变动可能有一部分发生在文档之前；据它可做的交易始于第 +1 日\
             开盘，所以第 0 日收盘到该开盘之间的变动也得不到；各组按全部事件划分，只作描述，不是交易规则",
            "returns close to close {expected}; day 0 is the trading day that the document counts for, part of whose move may \
             have come before the document; what could be traded on it begins at the open of day +1, so that the move from the \
             close of day 0 to that open is not to be had either; groups are cut over all events and describe, they are no \
             rule of trading"
        )
    }
}
