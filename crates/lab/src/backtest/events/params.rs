//! Parameters of an event study (`[events]`).

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_base::{bail, ensure};

/// Model of the expected return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The benchmark's return of the day; without a benchmark, the equal-weighted mean of all names.
    #[default]
    MarketAdjusted,
    /// alpha + beta x the benchmark's return, by least squares over the estimation window.
    MarketModel,
    /// The security's own mean over the estimation window.
    MeanAdjusted,
}

/// Criterion of the groups of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// Quantiles of the value over all events.
    #[default]
    Quantile,
    /// Below, at and above zero.
    Sign,
}

/// Parameters of an event study (`[events]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Model of the expected return (default `market-adjusted`).
    pub model: Model,
    /// A code of the price table that stands for the market. Absent: the equal-weighted mean of all names that traded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// First and last trading day relative to the event that are looked at (default -5, 10).
    pub window: (i32, i32),
    /// First and last trading day of the estimation, before the window (default -120, -21).
    pub estimation: (i32, i32),
    /// One-day returns that the estimation needs (default 60).
    pub min_returns: usize,
    /// Parts of the window that are tested (default -5 to -1: what was known before; 0: the announcement; 1 to 5 and 1 to 10:
    /// the drift after).
    pub parts: Vec<(i32, i32)>,
    /// `quantile` (default) or `sign`.
    pub by: Grouping,
    /// Quantiles of the value (default 3). They are cut over all events, so they describe; nobody could have cut them then.
    pub groups: usize,
    /// Trading days after an event in which further events of its code are set aside (default 0: all are kept). Tests that
    /// cluster allow for events that overlap; a gap as long as the window is for those that do not.
    pub gap: u32,
    /// Events that are studied at the most (default 200,000). Where there are more, a share of them is drawn over all names and dates, the
    /// same each time.
    pub max_events: usize,
    /// True if repeats of an earlier document are no events (default yes).
    pub first_only: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            model: Model::MarketAdjusted,
            benchmark: None,
            window: (-5, 10),
            estimation: (-120, -21),
            min_returns: 60,
            parts: vec![(-5, -1), (0, 0), (1, 5), (1, 10)],
            by: Grouping::Quantile,
            groups: 3,
            gap: 0,
            max_events: 200_000,
            first_only: true,
        }
    }
}

impl Params {
    /// Fails on parameters that make no sense, naming the key.
    pub fn validate(&self) -> Result<()> {
        bounds::check("events", self)?;
        for (key, (from, to)) in [("window", self.window), ("estimation", self.estimation)] {
            ensure!(
                from <= to,
                "[events] {key} 为 {from} 到 {to}；请写首日与末日",
                "[events] {key} is {from} to {to}; give its first and its last day"
            );
        }
        let ((first, last), (_, known)) = (self.window, self.estimation);
        ensure!(
            known < first,
            "[events] estimation 止于第 {known} 日，在始于第 {first} 日的窗口之内或之后；预期收益须在窗口之前估计",
            "[events] estimation ends on day {known}, within or after the window, which begins on day {first}; what is expected must be estimated before"
        );
        ensure!(
            (3..=self.estimation_days()).contains(&self.min_returns),
            "[events] min_returns 为 {}；估计期有 {} 天，至少需要其中 3 天",
            "[events] min_returns is {}; the estimation has {} days, of which at least 3 are needed",
            self.min_returns,
            self.estimation_days()
        );
        ensure!(
            !self.parts.is_empty(),
            "[events] parts 为空；请至少写出窗口的一段",
            "[events] parts is empty; name at least one part of the window"
        );
        for &(from, to) in &self.parts {
            if from > to || from < first || to > last {
                bail!(
                    "[events] parts 中的 {from} 到 {to} 不在窗口 {first} 到 {last} 之内",
                    "[events] parts has {from} to {to}, which is no part of the window, {first} to {last}"
                );
            }
        }
        Ok(())
    }

    pub(super) fn window_days(&self) -> usize {
        (self.window.1 - self.window.0 + 1) as usize
    }

    pub(super) fn estimation_days(&self) -> usize {
        (self.estimation.1 - self.estimation.0 + 1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        Params::default().validate().unwrap();
        let cases: [(&str, fn(&mut Params)); 7] = [
            ("window is 3 to 1", |p| p.window = (3, 1)),
            ("events.estimation[0]: -9000 is out of bounds", |p| p.estimation = (-9000, -21)),
            ("estimation ends on day -5", |p| p.estimation = (-120, -5)),
            ("min_returns is 101", |p| p.min_returns = 101),
            ("parts is empty", |p| p.parts.clear()),
            ("1 to 11, which is no part of the window", |p| p.parts.push((1, 11))),
            ("events.groups: 0 is out of bounds", |p| p.groups = 0),
        ];
        for (words, spoil) in cases {
            let mut params = Params::default();
            spoil(&mut params);
            let error = params.validate().unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
