//! The trials of a ledger counted up, and what one of them is worth among all.
//!
//! All trials of a ledger are looks at one market: a ledger belongs to a project, or to the folder in which tables are tested, and nobody
//! has to argue which of them count. Deleted ones count, and so do lines that are gone.

use std::collections::BTreeMap;

use super::Looks;
use super::chain::Ledger;
use super::discovery::{benjamini_hochberg, benjamini_yekutieli};
use super::entry::{Entry, Series, common};
use super::overfitting::overfitting;
use super::sharpe::expected_maximum;
use crate::data::Key;
use crate::stats::{mean, variance};

/// Confidence of the days that a track record needs.
const CONFIDENCE: f64 = 0.95;
/// Trials of which the probability of overfitting is computed at the most.
const MOST_OVERFITTING: usize = 200;

/// The trials of a ledger.
pub struct Tally<'a> {
    trials: Vec<Counted<'a>>,
    runs: u64,
    deleted: u64,
    missing: u64,
    problems: usize,
    /// Different groups, lines that are gone included.
    groups: u64,
    /// Variance of the trials' Sharpe ratios, and of the groups' means.
    variance: f64,
    variance_of_groups: f64,
    q: Vec<f64>,
    q_dependent: Vec<f64>,
}

/// A trial with all its runs.
pub struct Counted<'a> {
    /// Its last run.
    pub entry: &'a Entry,
    /// How often it ran.
    pub runs: u64,
    /// Its last run that is still there in full.
    pub kept: Option<&'a Entry>,
}

impl Counted<'_> {
    fn returns(&self) -> Option<&Series> {
        self.kept?.details.as_ref()?.returns.as_ref()
    }
}

impl<'a> Tally<'a> {
    /// Counts the trials of a ledger.
    pub fn of(ledger: &'a Ledger) -> Tally<'a> {
        let mut trials: Vec<Counted<'a>> = Vec::new();
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        for entry in ledger.entries() {
            let kept = entry.details.is_some().then_some(entry);
            match places.get(&entry.trial) {
                Some(&at) => {
                    let trial = &mut trials[at];
                    (trial.entry, trial.runs, trial.kept) = (entry, trial.runs + 1, kept.or(trial.kept));
                }
                None => {
                    places.insert(entry.trial, trials.len());
                    trials.push(Counted { entry, runs: 1, kept });
                }
            }
        }
        let missing = ledger.missing();
        let mut groups: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for trial in &trials {
            groups.entry(trial.entry.group).or_default().extend(sharpe(trial));
        }
        let of_trials: Vec<f64> = trials.iter().filter_map(sharpe).collect();
        let of_groups: Vec<f64> = groups.values().map(|sharpes| mean(sharpes.iter().copied())).collect();
        // What was tried without a p, and what is gone, counts as found to be nothing.
        let mut p: Vec<f64> =
            trials.iter().map(|trial| if trial.entry.p.is_nan() { 1.0 } else { trial.entry.p }).collect();
        p.resize(trials.len() + missing as usize, 1.0);
        Tally {
            runs: ledger.entries().len() as u64 + missing,
            deleted: ledger.entries().iter().filter(|entry| entry.deleted.is_some()).count() as u64,
            missing,
            problems: ledger.problems().len(),
            groups: groups.len() as u64 + missing,
            variance: variance(&of_trials, 1),
            variance_of_groups: variance(&of_groups, 1),
            q: benjamini_hochberg(&p),
            q_dependent: benjamini_yekutieli(&p),
            trials,
        }
    }

    /// The trials, in the order in which they first ran.
    pub fn trials(&self) -> &[Counted<'a>] {
        &self.trials
    }

    /// What a trial is worth among all; none if it never ran. `overfitting` and what goes with it are left out (NaN), as they take longer.
    pub fn standing(&self, trial: Key) -> Option<Looks> {
        let at = self.trials.iter().position(|counted| counted.entry.trial == trial)?;
        let entry = self.trials[at].entry;
        let mut looks = Looks {
            entry: entry.number,
            seal: entry.seal,
            trials: self.trials.len() as u64 + self.missing,
            runs: self.runs,
            deleted: self.deleted,
            missing: self.missing,
            problems: self.problems as u64,
            independent: self.groups,
            p: entry.p,
            q: if entry.p.is_nan() { f64::NAN } else { self.q[at] },
            q_dependent: if entry.p.is_nan() { f64::NAN } else { self.q_dependent[at] },
            ..Looks::unknown()
        };
        if let Some(moments) = entry.moments {
            let annual = f64::from(entry.days_per_year).sqrt();
            let benchmark = self.expected_best(moments.days);
            looks.days = moments.days as u64;
            looks.sharpe = moments.sharpe * annual;
            looks.expected_best = benchmark * annual;
            looks.probabilistic_sharpe = moments.probability_above(0.0);
            looks.deflated_sharpe = moments.probability_above(benchmark);
            looks.days_needed = moments.days_needed(benchmark, CONFIDENCE);
        }
        Some(looks)
    }

    /// The same with the probability of overfitting, among the trials that have returns on most of its dates.
    pub fn looks(&self, trial: Key) -> Option<Looks> {
        let mut looks = self.standing(trial)?;
        let matrix = self.matrix(trial);
        looks.overfitting_trials = matrix.len() as u64;
        if let Some(found) = overfitting(&matrix) {
            looks.overfitting = found.probability;
            looks.overfitting_slope = found.slope;
            looks.overfitting_loss = found.loss;
        }
        Some(looks)
    }

    /// Sharpe ratio of a day that the best of the trials is expected to have by luck alone, over so many days.
    ///
    /// The larger of two. Of all trials, with the variance of their ratios, as the paper has it: if all are alike their variance is small, so
    /// their number need not be corrected. And of the groups of trials that are alike (as López de Prado and Lewis 2018 cluster them),
    /// with the variance of the groups' means, but no less than luck gives independent ones, 1 / (days - 1): otherwise whoever ran a
    /// hundred copies of one trial would shrink the variance of all.
    fn expected_best(&self, days: usize) -> f64 {
        let by_luck = 1.0 / (days as f64 - 1.0);
        let of_trials = expected_maximum(self.variance, self.trials.len() as u64 + self.missing);
        // Too few ratios have no variance, which leaves the groups.
        expected_maximum(by_luck.max(self.variance_of_groups), self.groups).max(of_trials)
    }

    /// Daily returns of a trial and of others on common dates, `[trials][days]`: the latest others first, each that leaves half of the
    /// trial's dates common to all.
    fn matrix(&self, trial: Key) -> Vec<Vec<f64>> {
        let own = self.trials.iter().find(|counted| counted.entry.trial == trial).and_then(Counted::returns);
        let Some(own) = own else { return Vec::new() };
        let mut chosen = vec![own];
        let mut dates = own.dates.clone();
        let mut others: Vec<&Counted<'_>> = self.trials.iter().filter(|counted| counted.entry.trial != trial).collect();
        others.sort_by_key(|counted| std::cmp::Reverse(counted.entry.number));
        for returns in others.into_iter().filter_map(Counted::returns) {
            let left = common(&dates, &returns.dates);
            if 2 * left.len() >= own.dates.len() {
                dates = left;
                chosen.push(returns);
            }
            if chosen.len() == MOST_OVERFITTING {
                break;
            }
        }
        chosen.into_iter().map(|returns| returns.on(&dates)).collect()
    }
}

fn sharpe(trial: &Counted<'_>) -> Option<f64> {
    trial.entry.moments.map(|moments| moments.sharpe)
}
