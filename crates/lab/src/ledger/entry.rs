//! A backtest in the ledger: the trial before it is recorded, and the entry that it becomes.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::{DateTime, Datelike, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sharpe::Moments;
use crate::backtest::{IcSummary, Outcome, PortfolioFigures};
use inkstone_base::data::Key;
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_base::stats::pearson;

/// Days below which two series are not held to be alike.
const LEAST_COMMON: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    Backtest,
    /// A cell of an experiment that was judged by returns.
    Cell,
}

/// A backtest that ran, to be recorded.
#[derive(Clone, Debug)]
pub struct Trial {
    pub kind: EntryKind,
    /// Two-sided p of the mean RankIC at the horizon that counts; NaN where there is none.
    pub p: f64,
    /// Trading days per year that annual figures are stated with.
    pub days_per_year: u32,
    /// Key of the trial that it carries on: the same choices on a factor and prices that grew behind an equal past. That is no second look.
    pub carries_on: Option<Key>,
    /// The part that a deletion takes away.
    pub details: Details,
}

/// The part of a trial that does not count for other trials. A deletion takes it away.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Details {
    /// Name of the factor, or of the experiment and its cell.
    pub factor: String,
    /// Everything that was chosen: parameters of the backtest, and of what made the factor.
    pub parameters: Value,
    /// Content hashes of what went in, by name: `prices`, `factor`, `corpus`.
    pub inputs: BTreeMap<String, Key>,
    pub version: String,
    pub figures: EntryFigures,
    /// Daily returns of the long-short portfolio after costs; none where no portfolio was held.
    #[serde(skip)]
    pub returns: Option<Series>,
}

nan_as_null! {
    /// The figures of a backtest that its entry keeps.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct EntryFigures {
        /// Summary of the RankIC by horizon in trading days.
        pub rank_ic: BTreeMap<usize, IcSummary>,
        /// The long-short portfolio after costs.
        pub long_short: PortfolioFigures,
        /// Mean one-way turnover a day of the long-short portfolio.
        pub turnover: f64,
        /// Mean share of names new to the top and bottom quantile.
        pub new_names: f64,
        /// True if values were paired with returns that had begun before they were known.
        pub lookahead: bool,
    }
}

/// A series of daily values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub dates: Vec<NaiveDate>,
    /// Finite values, one a date.
    pub values: Vec<f32>,
}

/// A line of the ledger.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Number of the entry, from 1 on. Deletions have numbers too.
    pub number: u64,
    pub when: DateTime<Utc>,
    pub kind: EntryKind,
    /// The key of the trial: hash of its parameters and of the factor and prices. Entries of one key are repetitions.
    pub trial: Key,
    /// The first entry of the trials whose returns resemble these.
    pub group: u64,
    /// Moments of the daily returns; none without a portfolio.
    pub moments: Option<Moments>,
    /// Trading days per year that annual figures are stated with.
    pub days_per_year: u32,
    /// Two-sided p of the mean RankIC; NaN where there is none.
    pub p: f64,
    /// Hash of this line and, through it, of all lines before it.
    pub seal: Key,
    /// The rest; none once it is deleted.
    pub details: Option<Details>,
    pub deleted: Option<Deletion>,
    /// The returns of a deleted entry. They count for others, but no name or date of theirs is shown.
    #[serde(skip)]
    pub(super) left: Option<Series>,
}

impl Entry {
    /// Daily returns of the long-short portfolio after costs, deleted or not; none where no portfolio was held.
    pub(super) fn returns(&self) -> Option<&Series> {
        self.details.as_ref().and_then(|details| details.returns.as_ref()).or(self.left.as_ref())
    }
}

/// Deletion of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deletion {
    pub number: u64,
    pub when: DateTime<Utc>,
    /// Reason in the words of whoever deleted the entry.
    pub reason: String,
}

impl Trial {
    /// A backtest of a factor. `inputs` are content hashes by name; the table of the factor and the prices belong among them. p is that of the
    /// RankIC at the first horizon.
    pub fn backtest(outcome: &Outcome, parameters: Value, inputs: BTreeMap<String, Key>) -> Trial {
        let horizon = outcome.ic.first().map_or(0, |series| series.horizon);
        Trial::new(EntryKind::Backtest, outcome, horizon, parameters, inputs)
    }

    /// A cell of an experiment, which is judged by the RankIC at its horizon. Cells that are judged by labels see no returns: they are no
    /// looks at the market.
    pub fn cell(outcome: &Outcome, horizon: usize, parameters: Value, inputs: BTreeMap<String, Key>) -> Trial {
        Trial::new(EntryKind::Cell, outcome, horizon, parameters, inputs)
    }

    fn new(
        kind: EntryKind,
        outcome: &Outcome,
        horizon: usize,
        parameters: Value,
        inputs: BTreeMap<String, Key>,
    ) -> Trial {
        let counts = outcome.ic.iter().find(|series| series.horizon == horizon);
        let figures = EntryFigures {
            rank_ic: outcome.ic.iter().map(|series| (series.horizon, series.rank_ic_summary)).collect(),
            long_short: outcome.long_short.total,
            turnover: outcome.long_short.mean_turnover(),
            new_names: outcome.new_names,
            lookahead: outcome.lookahead,
        };
        Trial {
            kind,
            p: counts.map_or(f64::NAN, |series| series.rank_ic_summary.p),
            days_per_year: outcome.days_per_year,
            carries_on: None,
            details: Details {
                factor: outcome.factor.clone(),
                parameters,
                inputs,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                figures,
                returns: Series::of(&outcome.long_short.dates, &outcome.long_short.net),
            },
        }
    }

    /// Identity of the trial: kind, parameters, and the hashes of the factor's table and the prices. The name does not
    /// count, nor the order of parameters, nor what else went in, which shows in the factor's table.
    pub fn key(&self) -> Key {
        let inputs = &self.details.inputs;
        let key =
            || Key::of_json(&("trial", self.kind, self.details.choices(), inputs.get("factor"), inputs.get("prices")));
        self.carries_on.unwrap_or_else(key)
    }
}

impl Details {
    /// The parameters in one order.
    pub(super) fn choices(&self) -> Value {
        let mut parameters = self.parameters.clone();
        parameters.sort_all_objects();
        parameters
    }
}

impl Series {
    /// The finite values; none if there is none.
    pub fn of(dates: &[NaiveDate], values: &[f64]) -> Option<Series> {
        let there = dates.iter().zip(values).filter(|(_, value)| value.is_finite());
        let (dates, values): (Vec<NaiveDate>, Vec<f32>) = there.map(|(date, value)| (*date, *value as f32)).unzip();
        (!dates.is_empty()).then_some(Series { dates, values })
    }

    /// Adds the days (`[n] i32`, from 1 January of the year 1) and the values (`[n] f32`), little-endian.
    fn pack(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.dates.iter().flat_map(|date| date.num_days_from_ce().to_le_bytes()));
        bytes.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Reads back [`Series::pack`]; none of no bytes.
    fn unpack(bytes: &[u8]) -> Result<Option<Series>> {
        let (words, left) = bytes.as_chunks::<4>();
        ensure!(left.is_empty() && words.len().is_multiple_of(2), "不完整", "is cut short");
        let (days, values) = words.split_at(words.len() / 2);
        let date = |day: &[u8; 4]| NaiveDate::from_num_days_from_ce_opt(i32::from_le_bytes(*day));
        let dates = days
            .iter()
            .map(date)
            .collect::<Option<Vec<NaiveDate>>>()
            .context(Word("有一天不是日期", "has a day that is none"))?;
        let values = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
        Ok((!days.is_empty()).then_some(Series { dates, values }))
    }

    /// The returns of several entries as bytes: of each its number (`u64`), its days (`u32`) and [`Series::pack`].
    pub(super) fn pack_all<'s>(entries: impl Iterator<Item = (u64, &'s Series)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, series) in entries {
            bytes.extend(number.to_le_bytes());
            bytes.extend((series.dates.len() as u32).to_le_bytes());
            series.pack(&mut bytes);
        }
        bytes
    }

    pub(super) fn unpack_all(mut bytes: &[u8]) -> Result<Vec<(u64, Series)>> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let (number, rest) = bytes.split_first_chunk::<8>().context(Word("不完整", "is cut short"))?;
            let (days, rest) = rest.split_first_chunk::<4>().context(Word("不完整", "is cut short"))?;
            let length = 8 * u32::from_le_bytes(*days) as usize;
            let (packed, rest) = rest.split_at_checked(length).context(Word("不完整", "is cut short"))?;
            entries
                .push((u64::from_le_bytes(*number), Series::unpack(packed)?.context(Word("没有日期", "has no days"))?));
            bytes = rest;
        }
        Ok(entries)
    }

    /// The values of these dates, which it must have.
    pub(super) fn on(&self, dates: &[NaiveDate]) -> Vec<f64> {
        let place = |date| self.dates.binary_search(date).ok();
        dates.iter().filter_map(place).map(|at| f64::from(self.values[at])).collect()
    }

    /// Correlation of the two on their common dates; NaN with too few.
    pub(super) fn correlation(&self, other: &Series) -> f64 {
        let days = |series: &Series| series.values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
        // Nearly always the dates are the same.
        let (own, others) = if self.dates == other.dates {
            (days(self), days(other))
        } else {
            let common = common(&self.dates, &other.dates);
            (self.on(&common), other.on(&common))
        };
        if own.len() < LEAST_COMMON { f64::NAN } else { pearson(&own, &others) }
    }
}

/// The dates that both have, all ascending.
pub(super) fn common(a: &[NaiveDate], b: &[NaiveDate]) -> Vec<NaiveDate> {
    a.iter().filter(|date| b.binary_search(date).is_ok()).copied().collect()
}

impl Details {
    /// The entry as bytes, little-endian: length of the JSON form (`u32`), the JSON form, days (`[n] i32`, from 1 January of the year 1), returns
    /// (`[n] f32`).
    pub(super) fn pack(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("details are plain data and always have a JSON form");
        let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
        bytes.extend(json);
        if let Some(returns) = &self.returns {
            returns.pack(&mut bytes);
        }
        bytes
    }

    pub(super) fn unpack(bytes: &[u8]) -> Result<Details> {
        let short = "is cut short";
        let (length, rest) = bytes.split_first_chunk::<4>().context(short)?;
        let (json, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).context(short)?;
        let mut details: Details =
            serde_json::from_slice(json).context(Word("不是本版本所读的格式", "is not what this version reads"))?;
        details.returns = Series::unpack(rest)?;
        Ok(details)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::reference::trial;

    #[test]
    fn a_trial_is_its_choices_and_its_tables() {
        let with = |parameters: Value, factor: &[u8]| {
            let mut trial = trial(1, 100);
            trial.details.parameters = parameters;
            trial.details.inputs =
                [("factor".to_owned(), Key::of(factor)), ("corpus".to_owned(), Key::of(b"c"))].into();
            trial
        };
        let one = with(json!({"a": 1, "b": {"c": 2, "d": 3}}), b"f");
        assert_eq!(one.key(), with(json!({"b": {"d": 3, "c": 2}, "a": 1}), b"f").key(), "the order does not count");
        assert_ne!(one.key(), with(json!({"a": 1, "b": {"c": 2, "d": 4}}), b"f").key());
        assert_ne!(one.key(), with(json!({"a": 1, "b": {"c": 2, "d": 3}}), b"g").key());
        let mut renamed = one.clone();
        renamed.details.factor = "another name".into();
        renamed.details.inputs.insert("corpus".into(), Key::of(b"another corpus that gave the same table"));
        assert_eq!(one.key(), renamed.key());
        let cell = Trial { kind: EntryKind::Cell, ..one.clone() };
        assert_ne!(one.key(), cell.key());
    }

    #[test]
    fn details_read_back() {
        let details = trial(1, 30).details;
        let read = Details::unpack(&details.pack()).unwrap();
        assert_eq!((&read.returns, &read.factor), (&details.returns, &details.factor));
        assert_eq!(read.figures.rank_ic[&1].mean, details.figures.rank_ic[&1].mean);
        assert!(read.figures.turnover.is_nan() && read.figures.new_names == 0.25);
        let without = Details { returns: None, ..details };
        assert_eq!(Details::unpack(&without.pack()).unwrap().returns, None);
        assert!(Details::unpack(&without.pack()[..20]).is_err());
        assert!(Details::unpack(&[without.pack(), vec![0; 4]].concat()).is_err());
    }

    #[test]
    fn series_are_compared_on_the_days_that_both_have() {
        let day = |n: i32| NaiveDate::from_num_days_from_ce_opt(738_000 + n).unwrap();
        let series = |days: std::ops::Range<i32>, sign: f64| {
            let values: Vec<f64> = days.clone().map(|n| sign * f64::from(n % 7)).collect();
            Series::of(&days.map(day).collect::<Vec<_>>(), &values).unwrap()
        };
        let one = series(0..60, 1.0);
        assert!((one.correlation(&series(20..80, 1.0)) - 1.0).abs() < 1e-12);
        assert!((one.correlation(&series(20..80, -1.0)) + 1.0).abs() < 1e-12);
        assert!(one.correlation(&series(50..110, 1.0)).is_nan(), "ten days are too few");
        assert_eq!(Series::of(&[day(0), day(1)], &[f64::NAN, 2.0]).unwrap().dates, [day(1)]);
        assert_eq!(Series::of(&[day(0)], &[f64::NAN]), None);
    }
}
