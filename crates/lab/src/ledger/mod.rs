//! The research ledger: every backtest that ran, and the significance of each after all looks.
//!
//! Among a hundred factors one is good by luck. [`record`] keeps each trial and corrects its result for all trials: the deflated Sharpe
//! ratio, the probability of overfitting, the rate of false discoveries. The same trial run again is a repetition, not a new look. A
//! deletion takes the name, parameters and figures of an entry; the trial and its result stay and count (`chain`). A later entry or
//! deletion never makes an earlier result look better (`tally`).

mod book;
mod chain;
mod discovery;
mod entry;
mod overfitting;
#[cfg(test)]
mod reference;
mod sharpe;
mod tally;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use inkstone_base::data::Key;
use inkstone_base::disk::{self, Room};
use inkstone_base::language::Word;

pub use book::{Book, BookTrial};
pub use chain::{Ledger, VaultOpening};
pub use entry::{Deletion, Details, Entry, EntryFigures, EntryKind, Series, Trial};
pub use overfitting::{Overfitting, overfitting};
pub use sharpe::Moments;
pub(crate) use sharpe::expected_maximum;
pub use tally::{Counted, TrialTally};

nan_as_null! {
    /// Significance of a result after all trials on the same market, which are all trials of its ledger.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Looks {
        /// Number of the entry in the ledger.
        pub entry: u64,
        /// Seal of the entry: hash of its line and all lines before it.
        pub seal: Key,
        /// Different things that were tried (factor, parameters and data), this one included.
        pub trials: u64,
        /// Number of different ideas among the trials: groups whose returns correlate by 0.71 and more.
        pub independent: u64,
        /// Backtests that ran, repetitions included.
        pub runs: u64,
        /// Entries that were deleted; they count among the trials.
        pub deleted: u64,
        /// Lines of the ledger that are gone, not by a deletion. Each counts as a trial.
        pub missing: u64,
        /// Changes that were not made by the program, missing lines included; with any, the figures are not to be trusted.
        pub problems: u64,
        /// Number of days with returns.
        pub days: u64,
        /// Sharpe ratio of the long-short portfolio after costs, annual.
        pub sharpe: f64,
        /// Sharpe ratio, annual, that the best of so many trials without skill is expected to have; it never falls.
        pub expected_best: f64,
        /// Probability that the true Sharpe ratio exceeds 0, not deflated (Bailey and López de Prado 2012).
        pub probabilistic_sharpe: f64,
        /// Deflated Sharpe ratio: probability that it exceeds the expected maximum of the trials under the null (2014).
        pub deflated_sharpe: f64,
        /// Days with returns like these after which the deflated Sharpe ratio reaches 0.95; NaN where it never does.
        pub days_needed: f64,
        /// Probability of backtest overfitting by combinatorially symmetric cross-validation, the highest since the trial first ran; NaN with
        /// fewer than two trials.
        pub overfitting: f64,
        /// Trials that it was computed of: those whose returns share the dates, deleted or not, 200 at the most.
        pub overfitting_trials: u64,
        /// Slope of the best trial's Sharpe ratio in one half of the days on that in the other, where it was chosen.
        pub overfitting_slope: f64,
        /// Probability that the trial chosen in one half of the days loses in the other.
        pub overfitting_loss: f64,
        /// Two-sided p of the RankIC at the first horizon; in an experiment, at its horizon.
        pub p: f64,
        /// `p` after Benjamini and Hochberg over all trials, the highest since the trial ran.
        pub q: f64,
        /// `p` after Benjamini and Yekutieli, which holds however the trials depend on each other.
        pub q_dependent: f64,
    }
}

impl Looks {
    /// Looks without counts and figures.
    fn unknown() -> Looks {
        let nan = f64::NAN;
        Looks {
            sharpe: nan,
            expected_best: nan,
            probabilistic_sharpe: nan,
            deflated_sharpe: nan,
            days_needed: nan,
            overfitting: nan,
            overfitting_slope: nan,
            overfitting_loss: nan,
            p: nan,
            q: nan,
            q_dependent: nan,
            ..Looks::default()
        }
    }
}

/// Records a trial in the ledger of this folder, and gives its looks. The ledger is open only meanwhile. Fails if the folder is not one
/// of ours.
pub fn record(path: &Path, trial: &Trial, when: DateTime<Utc>) -> Result<Looks> {
    disk::own_folder(path, Room::Ledger)?;
    let mut ledger = Ledger::open(path)?;
    ledger.record(trial, when)?;
    worth(&ledger, trial)
}

/// Makes the folder of a ledger this program's own; fails where it is somebody else's.
pub fn own(path: &Path) -> Result<()> {
    disk::own_folder(path, Room::Ledger)
}

/// Records a trial as [`record`] does, for a step that may be done again after a kill: if the last entry is of this very trial, it was
/// recorded before the kill, and the test is no second look.
pub fn record_once(path: &Path, trial: &Trial, when: DateTime<Utc>) -> Result<Looks> {
    disk::own_folder(path, Room::Ledger)?;
    let mut ledger = Ledger::open(path)?;
    let last = ledger.entries().last().filter(|last| last.trial == trial.key());
    let noted = last
        .and_then(|last| last.details.as_ref())
        .is_some_and(|details| (&details.version, &details.inputs) == (&trial.details.version, &trial.details.inputs));
    if !noted {
        ledger.record(trial, when)?;
    }
    worth(&ledger, trial)
}

/// Records a trial as [`record_once`] does. If the last backtest with its choices was on one of the `tables` (keys of a factor's tables whose past this
/// one has too), it is that trial on more days. Gives the key under which it counts.
pub fn record_further(path: &Path, mut trial: Trial, tables: &[Key], when: DateTime<Utc>) -> Result<Key> {
    if Ledger::is_in(path) {
        let ledger = Ledger::read(path)?;
        let choices = trial.details.choices();
        let is_before = |entry: &&Entry| {
            let details = entry.details.as_ref().filter(|_| entry.kind == trial.kind);
            let of_table =
                |details: &&Details| details.inputs.get("factor").is_some_and(|table| tables.contains(table));
            details.filter(of_table).is_some_and(|details| details.choices() == choices)
        };
        trial.carries_on = ledger.entries().iter().rev().find(is_before).map(|entry| entry.trial);
    }
    record_once(path, &trial, when)?;
    Ok(trial.key())
}

fn worth(ledger: &Ledger, trial: &Trial) -> Result<Looks> {
    TrialTally::new(ledger).looks(trial.key()).context(Word("记下的应在台账中", "what was recorded is in the ledger"))
}

/// The standing of trials in the ledger, in their order; none for a trial that was never recorded. Nothing is written.
pub fn looks(path: &Path, trials: &[Key]) -> Result<Vec<Option<Looks>>> {
    if !Ledger::is_in(path) {
        return Ok(vec![None; trials.len()]);
    }
    let ledger = Ledger::read(path)?;
    let tally = TrialTally::new(&ledger);
    Ok(trials.iter().map(|trial| tally.looks(*trial)).collect())
}
