//! The trials of a ledger counted up, and what one of them is worth among all.
//!
//! All trials of a ledger are looks at one market: a ledger belongs to a project, or to the folder in which tables are tested, and nobody
//! has to argue which of them count. Deleted ones count, and so do lines that are gone.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::Looks;
use super::chain::Ledger;
use super::discovery::{benjamini_hochberg, benjamini_yekutieli};
use super::entry::{Entry, Series, common};
use super::overfitting::{Overfitting, worst_overfitting};
use super::sharpe::expected_maximum;
use inkstone_base::data::Key;
use inkstone_base::stats::variance;

/// Confidence of the days that a track record needs.
const CONFIDENCE: f64 = 0.95;
/// Greatest number of trials from which the probability of overfitting is computed.
const MOST_OVERFITTING: usize = 200;

/// The trials of a ledger.
pub struct TrialTally<'a> {
    trials: Vec<Counted<'a>>,
    runs: u64,
    deleted: u64,
    missing: u64,
    problems: usize,
    past: EarlierTrials,
}

/// A trial with all its runs.
pub struct Counted<'a> {
    /// Last run.
    pub entry: &'a Entry,
    pub runs: u64,
    /// Last run that is not deleted.
    pub kept: Option<&'a Entry>,
    /// Returns of its last run that has any, deleted or not.
    returns: Option<&'a Series>,
}

impl<'a> TrialTally<'a> {
    /// Counts the trials of a ledger.
    pub fn new(ledger: &'a Ledger) -> TrialTally<'a> {
        let missing = ledger.missing();
        let mut trials: Vec<Counted<'a>> = Vec::new();
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        let mut past = EarlierTrials::new(missing);
        for entry in ledger.entries() {
            let kept = entry.details.is_some().then_some(entry);
            let returns = entry.returns();
            let at = match places.get(&entry.trial) {
                Some(&at) => {
                    let trial = &mut trials[at];
                    (trial.entry, trial.runs, trial.kept) = (entry, trial.runs + 1, kept.or(trial.kept));
                    trial.returns = returns.or(trial.returns);
                    at
                }
                None => {
                    places.insert(entry.trial, trials.len());
                    trials.push(Counted { entry, runs: 1, kept, returns });
                    trials.len() - 1
                }
            };
            past.look(at, entry);
        }
        TrialTally {
            runs: ledger.entries().len() as u64 + missing,
            deleted: ledger.entries().iter().filter(|entry| entry.deleted.is_some()).count() as u64,
            missing,
            problems: ledger.problems().len(),
            past,
            trials,
        }
    }

    /// The trials, in the order in which they first ran.
    pub fn trials(&self) -> &[Counted<'a>] {
        &self.trials
    }

    /// Looks of a trial; none if it never ran. `overfitting` and the figures beside it are left out (NaN), as they take longer.
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
            independent: self.past.groups(),
            p: entry.p,
            q: if entry.p.is_nan() { f64::NAN } else { self.past.looks[at].q },
            q_dependent: if entry.p.is_nan() { f64::NAN } else { self.past.looks[at].q_dependent },
            ..Looks::unknown()
        };
        if let Some(moments) = entry.moments {
            let annual = f64::from(entry.days_per_year).sqrt();
            let benchmark = self.past.expected_best(moments.days);
            looks.days = moments.days as u64;
            looks.sharpe = moments.sharpe * annual;
            looks.expected_best = benchmark * annual;
            looks.probabilistic_sharpe = moments.probability_above(0.0);
            looks.deflated_sharpe = moments.probability_above(benchmark);
            looks.days_needed = moments.days_needed(benchmark, CONFIDENCE);
        }
        Some(looks)
    }

    /// Looks of a trial with the probability of overfitting among the trials that have returns on most of its dates: the highest that it had since
    /// this trial first ran. What was tried later can choose better, but it does not make this trial less of a choice.
    pub fn looks(&self, trial: Key) -> Option<Looks> {
        let mut looks = self.standing(trial)?;
        let (others, mut known) = self.compared(trial);
        looks.overfitting_trials = others.len() as u64;
        let mut worst: Option<Overfitting> = None;
        // Dates change where a trial lacks some; between such trials the same dates are compared.
        while known <= others.len() && !others.is_empty() {
            let dates = others[known - 1].1.as_slice();
            let end = others.iter().take_while(|(_, common)| common.len() >= dates.len()).count();
            let matrix: Vec<Vec<f64>> = others[..end].iter().map(|(returns, _)| returns.on(dates)).collect();
            let found = worst_overfitting(&matrix, known);
            worst = match (worst, found) {
                (Some(worst), Some(found)) if worst.probability > found.probability => Some(worst),
                (worst, found) => found.or(worst),
            };
            known = end + 1;
        }
        if let Some(found) = worst {
            looks.overfitting = found.probability;
            looks.overfitting_slope = found.slope;
            looks.overfitting_loss = found.loss;
        }
        Some(looks)
    }

    /// Daily returns of a trial and of those it is compared with, each with the dates that it and all before it in this list have; and
    /// how many of them had run when the trial first ran. First come those that ran before it, the latest first, then those that ran
    /// after it in their order; each leaves half of the trial's dates common to all. What is recorded later only adds to the list.
    fn compared(&self, trial: Key) -> (Vec<(&Series, Vec<NaiveDate>)>, usize) {
        let at = self.trials.iter().position(|counted| counted.entry.trial == trial);
        let own = at.and_then(|at| Some((at, self.trials[at].returns?)));
        let Some((at, own)) = own else { return (Vec::new(), 1) };
        let mut compared = vec![(own, own.dates.clone())];
        let (before, after) = (self.trials[..at].iter().rev(), self.trials[at + 1..].iter());
        let mut known = 1;
        for (n, other) in before.chain(after).enumerate() {
            if compared.len() == MOST_OVERFITTING {
                break;
            }
            let Some(returns) = other.returns else { continue };
            let left = common(&compared[compared.len() - 1].1, &returns.dates);
            if 2 * left.len() >= own.dates.len() {
                compared.push((returns, left));
                known += usize::from(n < at);
            }
        }
        (compared, known)
    }
}

/// The past of a ledger, line after line: what luck was expected to give, and how the p values stood, when each trial was recorded.
///
/// The more is tried, the higher is the best result that luck gives, so what a result is measured by may only rise. Two estimates do not
/// keep to that by themselves: the variance of the ratios falls when trials are added that are alike, and with it the expected maximum; and
/// the q value of a trial falls when better ones are added. Of both the highest so far counts (the least majorant that does not fall). It
/// is computed from the lines alone, which are only ever added.
struct EarlierTrials {
    missing: u64,
    /// Sharpe ratio of a day of each trial; NaN without one.
    sharpes: Vec<f64>,
    /// Sum and number of the ratios of each group.
    groups: BTreeMap<u64, (f64, usize)>,
    /// The highest expected maximum so far, by the variance of the ratios and by the variance of the groups' means.
    highest: f64,
    /// p of each trial and its place, ascending. A trial without a p was found to be nothing (1), and so was a line that is gone.
    p: Vec<(f64, usize)>,
    looks: Vec<PValues>,
}

/// The p of a trial, and the highest q values that it had.
struct PValues {
    p: f64,
    q: f64,
    q_dependent: f64,
}

impl EarlierTrials {
    fn new(missing: u64) -> EarlierTrials {
        let gone = (0..missing as usize).map(|_| (1.0, usize::MAX)).collect();
        EarlierTrials {
            missing,
            sharpes: Vec::new(),
            groups: BTreeMap::new(),
            highest: 0.0,
            p: gone,
            looks: Vec::new(),
        }
    }

    /// Takes in the next line, a run of the trial at this place.
    fn look(&mut self, at: usize, entry: &Entry) {
        let sharpe = entry.moments.map_or(f64::NAN, |moments| moments.sharpe);
        let p = if entry.p.is_nan() { 1.0 } else { entry.p };
        match self.looks.get(at) {
            // The same again.
            Some(before) if before.p == p && self.sharpes[at].total_cmp(&sharpe).is_eq() => return,
            Some(before) => {
                // Another version of the program found something else.
                let (old, was) = ((before.p, at), self.sharpes[at]);
                self.p.retain(|known| *known != old);
                if let Some((sum, n)) = self.groups.get_mut(&entry.group).filter(|_| !was.is_nan()) {
                    (*sum, *n) = (*sum - was, *n - 1);
                }
                self.sharpes[at] = sharpe;
                self.looks[at] = PValues { p, q: 0.0, q_dependent: 0.0 };
            }
            None => {
                self.sharpes.push(sharpe);
                self.looks.push(PValues { p, q: 0.0, q_dependent: 0.0 });
            }
        }
        let group = self.groups.entry(entry.group).or_default();
        if !sharpe.is_nan() {
            *group = (group.0 + sharpe, group.1 + 1);
        }
        let place = self.p.partition_point(|(other, _)| *other <= p);
        self.p.insert(place, (p, at));
        self.raise();
    }

    /// Raises what counts to where it stands now.
    fn raise(&mut self) {
        let ratios: Vec<f64> = self.sharpes.iter().copied().filter(|sharpe| !sharpe.is_nan()).collect();
        let means: Vec<f64> =
            self.groups.values().filter(|group| group.1 > 0).map(|(sum, n)| sum / *n as f64).collect();
        let of_trials = expected_maximum(variance(&ratios, 1), self.sharpes.len() as u64 + self.missing);
        let of_groups = expected_maximum(variance(&means, 1), self.groups());
        // Too few ratios have no variance: `max` takes no NaN.
        self.highest = self.highest.max(of_trials).max(of_groups);
        let p: Vec<f64> = self.p.iter().map(|(p, _)| *p).collect();
        let q = benjamini_hochberg(&p).into_iter().zip(benjamini_yekutieli(&p));
        for ((_, at), (q, q_dependent)) in self.p.iter().zip(q) {
            if let Some(look) = self.looks.get_mut(*at) {
                look.q = look.q.max(q);
                look.q_dependent = look.q_dependent.max(q_dependent);
            }
        }
    }

    /// Groups of trials that are alike; a line that is gone is one.
    fn groups(&self) -> u64 {
        self.groups.len() as u64 + self.missing
    }

    /// Sharpe ratio of a day that the best of the trials is expected to have by luck alone, over so many days; it never falls.
    ///
    /// The largest of three expected maxima (Bailey and López de Prado 2014, equation 1), of which the first two count with the highest value
    /// they ever had. Of all trials, with the variance of their ratios, as the paper has it: if all are alike their variance is small, so
    /// their number need not be corrected. Of the groups of trials that are alike (as López de Prado and Lewis 2018 cluster them), with the
    /// variance of the groups' means. And of as many groups with the variance that luck gives independent ratios, 1 / (days - 1).
    fn expected_best(&self, days: usize) -> f64 {
        expected_maximum(1.0 / (days as f64 - 1.0), self.groups()).max(self.highest)
    }
}
