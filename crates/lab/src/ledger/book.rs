//! What a ledger says to whoever reads all of it: its trials with what each is worth, and what holds of them all.

use anyhow::Result;

use super::{Counted, Entry, Ledger, Looks, Tally};
use crate::backtest::{IcSummary, Params};
use inkstone_base::data::Key;

/// A ledger that was read and closed again.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The trials in the order in which they first ran.
    pub trials: Vec<BookTrial>,
    /// What holds of all: the looks at the last trial that has returns, which the probability of overfitting is told of.
    pub totals: Looks,
    /// Lines, deletions among them.
    pub lines: u64,
    /// Seal of the last line, which stands for all of them.
    pub seal: Key,
    /// What was changed behind the program's back; empty of a sound ledger.
    pub problems: Vec<String>,
}

/// A trial with all its runs.
#[derive(Clone, Debug)]
pub struct BookTrial {
    /// Its last run that is there in full; where none is, its last one.
    pub entry: Entry,
    /// How often it ran.
    pub runs: u64,
    /// Of these runs, how many are there in full.
    pub kept: u64,
    /// What it is worth among all; without the probability of overfitting.
    pub looks: Looks,
}

impl Book {
    /// Reads an open ledger.
    pub fn of(ledger: &Ledger) -> Result<Book> {
        let tally = Tally::of(ledger);
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
