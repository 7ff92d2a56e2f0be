//! The whole ledger as a page or a command shows it: trials with their looks, and the looks of the last.

use anyhow::Result;

use super::{Counted, Entry, Ledger, Looks, TrialTally};
use crate::backtest::{IcSummary, Params};
use inkstone_base::data::Key;
use inkstone_base::language::Message;

/// A ledger that was read and closed again.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The trials in the order in which they first ran.
    pub trials: Vec<BookTrial>,
    /// Looks of the last trial that has returns, with the probability of overfitting.
    pub totals: Looks,
    /// Number of lines, deletions included.
    pub lines: u64,
    /// Seal of the last line, which stands for all of them.
    pub seal: Key,
    /// Changes that were not made by the program; empty for a sound ledger.
    pub problems: Vec<Message>,
}

/// A trial and its runs.
#[derive(Clone, Debug)]
pub struct BookTrial {
    /// Last run that is not deleted; if all are, the last run.
    pub entry: Entry,
    pub runs: u64,
    /// Number of runs that are not deleted.
    pub kept: u64,
    /// Looks of the trial, without the probability of overfitting.
    pub looks: Looks,
}

impl Book {
    pub fn new(ledger: &Ledger) -> Result<Book> {
        let tally = TrialTally::new(ledger);
        let trial = |counted: &Counted<'_>| {
            let entry = counted.kept.unwrap_or(counted.entry).clone();
            let same = ledger.entries().iter().filter(|other| other.trial == entry.trial);
            BookTrial {
                runs: counted.runs,
                kept: same.filter(|other| other.details.is_some()).count() as u64,
                looks: tally.standing(entry.trial).unwrap_or_default(),
                entry,
            }
        };
        // The probability of overfitting is that of the trials around the last one with returns.
        let of_portfolios = |kept: &Entry| kept.details.as_ref().is_some_and(|details| details.returns.is_some());
        let last = tally.trials().iter().rev().find(|counted| counted.kept.is_some_and(of_portfolios));
        let last = last.or(tally.trials().last());
        let (lines, seal) = ledger.last()?;
        Ok(Book {
            trials: tally.trials().iter().map(trial).collect(),
            totals: last.and_then(|counted| tally.looks(counted.entry.trial)).unwrap_or_default(),
            lines,
            seal,
            problems: ledger.problems().to_vec(),
        })
    }
}

impl BookTrial {
    /// The RankIC that its p is of, with the horizon in trading days; none once it is deleted.
    pub fn rank_ic(&self) -> Option<(usize, &IcSummary)> {
        let summaries = &self.entry.details.as_ref()?.figures.rank_ic;
        let judged =
            summaries.iter().find(|(_, summary)| summary.p == self.entry.p).or_else(|| summaries.iter().next());
        judged.map(|(horizon, summary)| (*horizon, summary))
    }

    /// The rules of its backtest; none once it is deleted, or where this version does not know them.
    pub fn rules(&self) -> Option<Params> {
        serde_json::from_value(self.entry.details.as_ref()?.parameters.get("backtest")?.clone()).ok()
    }
}
