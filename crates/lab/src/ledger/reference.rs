//! Data of the ledger's tests: the reference figures, noise, and trials.

use chrono::{DateTime, Days, NaiveDate, Utc};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::Deserialize;
use serde_json::json;

use super::entry::{Details, EntryFigures, EntryKind, Series, Trial};
use crate::backtest::IcSummary;
use inkstone_base::data::Key;

/// `tests/reference/ledger/significance.json`.
#[derive(Deserialize)]
pub(super) struct Reference {
    pub(super) returns: Vec<Vec<f64>>,
    pub(super) variance: f64,
    pub(super) expected_maximum: f64,
    pub(super) moments: Vec<OfTrial>,
    pub(super) overfitting: OfSplits,
    pub(super) p: Vec<f64>,
    pub(super) fdr_bh: Vec<f64>,
    pub(super) fdr_by: Vec<f64>,
}

#[derive(Deserialize)]
pub(super) struct OfTrial {
    pub(super) sharpe: f64,
    pub(super) skew: f64,
    pub(super) kurtosis: f64,
    pub(super) probabilistic: f64,
    pub(super) deflated: f64,
    pub(super) days_needed: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct OfSplits {
    pub(super) probability: f64,
    pub(super) slope: f64,
    pub(super) loss: f64,
}

pub(super) fn reference() -> Reference {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/ledger/significance.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
pub(super) fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
}

/// Daily returns of 1 % volatility without skill.
pub(super) fn noise(days: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    StandardNormal.sample_iter(&mut rng).take(days).map(|z: f64| 0.01 * z).collect()
}

pub(super) fn hour(n: u64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + 3600 * n as i64, 0).unwrap()
}

/// A trial with these returns from 2 January 2023 on, day by day.
pub(super) fn trial_of(name: &str, returns: &[f64]) -> Trial {
    let first = NaiveDate::from_ymd_opt(2023, 1, 2).unwrap();
    let dates: Vec<NaiveDate> = (0..returns.len() as u64).map(|n| first + Days::new(n)).collect();
    let rank_ic = [(1, IcSummary { n: returns.len(), mean: 0.02, ..IcSummary::default() })].into();
    Trial {
        kind: EntryKind::Backtest,
        p: 0.5,
        days_per_year: 242,
        carries_on: None,
        details: Details {
            factor: name.to_owned(),
            parameters: json!({"factor": name, "quantiles": 5}),
            inputs: [("factor".to_owned(), Key::of(name.as_bytes())), ("prices".to_owned(), Key::of(b"prices"))].into(),
            version: "0.0.0".to_owned(),
            figures: EntryFigures { rank_ic, turnover: f64::NAN, new_names: 0.25, ..EntryFigures::default() },
            returns: Series::of(&dates, returns),
        },
    }
}

/// A trial of noise, named by its seed.
pub(super) fn trial(seed: u64, days: usize) -> Trial {
    trial_of(&format!("noise {seed}"), &noise(days, seed))
}
