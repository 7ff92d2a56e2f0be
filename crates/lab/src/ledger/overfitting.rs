//! Probability of backtest overfitting by combinatorially symmetric cross-validation.
//!
//! Paper: Bailey, Borwein, López de Prado and Zhu, The Probability of Backtest Overfitting (2015). The days are cut into 16 blocks; for each of
//! the 12,870 ways to take half of them, the trial that is best there is looked for among all trials in the other half. Performance is
//! the Sharpe ratio of a day.

use inkstone_base::stats::mean;

/// Blocks of days. All ways to take half of them are tried.
const BLOCKS: usize = 16;
/// Days in a block below which nothing can be said.
const LEAST_DAYS: usize = 4;
/// Subsets of the first eight blocks, and of the last eight.
const SUBSETS: usize = 1 << (BLOCKS / 2);

/// Performance of the best trial of one half of the days in the other half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overfitting {
    /// Share of the splits in which the best of one half is in the lower half of the trials in the other (logit of its relative rank at
    /// most 0).
    pub probability: f64,
    /// Slope of its Sharpe ratio in the other half on that in its own (performance degradation).
    pub slope: f64,
    /// Share of the splits in which it loses in the other half.
    pub loss: f64,
}

/// Overfitting of daily returns on common dates, `[trials][days]`; none with fewer than two trials or 64 days. Days that do not fill blocks of one
/// length are left out at the beginning.
pub fn overfitting(returns: &[Vec<f64>]) -> Option<Overfitting> {
    let mut splits = Splits { own: Vec::new(), other: Vec::new(), low: 0 };
    each_split(returns, |inside, outside| splits.look(inside, outside))?;
    Some(splits.conclude())
}

/// The [`overfitting`] of the first `n` trials with the highest probability, over every `n` from `least` on.
pub(super) fn worst_overfitting(returns: &[Vec<f64>], least: usize) -> Option<Overfitting> {
    let least = least.max(2);
    if least >= returns.len() {
        return overfitting(returns);
    }
    let mut low = vec![0usize; returns.len() + 1];
    each_split(returns, |inside, outside| {
        let (mut best, mut below, mut equal) = (0, 0, 1);
        for n in 1..=inside.len() {
            let last = n - 1;
            if last > 0 && inside[last] > inside[best] {
                best = last;
                (below, equal) = ranked(&outside[..n], outside[best]);
            } else if last > 0 {
                below += usize::from(outside[last] < outside[best]);
                equal += usize::from(outside[last] == outside[best]);
            }
            low[n] += usize::from(2 * below + equal < n + 1);
        }
    })?;
    let worst = (least..=returns.len()).max_by_key(|n| low[*n])?;
    overfitting(&returns[..worst])
}

/// Calls `look` with the Sharpe ratios of all trials in one half of the days and in the other, for each way to take half of the blocks.
/// Gives none if there are too few trials or days.
fn each_split(returns: &[Vec<f64>], mut look: impl FnMut(&[f64], &[f64])) -> Option<()> {
    let days = returns.first()?.len();
    let length = days / BLOCKS;
    if returns.len() < 2 || length < LEAST_DAYS {
        return None;
    }
    let halves = [0, BLOCKS / 2].map(|first| sums(returns, days - length * BLOCKS + first * length, length));
    let n = (length * BLOCKS / 2) as f64;
    let trials = returns.len();
    // A split and its opposite need the same sums: the last block is in the second half of both.
    for taken in (0..SUBSETS * SUBSETS / 2).filter(|taken| taken.count_ones() as usize == BLOCKS / 2) {
        let sharpes = |taken: usize| -> Vec<f64> {
            let (a, b) = (&halves[0][taken % SUBSETS], &halves[1][taken / SUBSETS]);
            (0..trials).map(|k| sharpe(a.sum[k] + b.sum[k], a.squares[k] + b.squares[k], n)).collect()
        };
        let (inside, outside) = (sharpes(taken), sharpes(!taken % (SUBSETS * SUBSETS)));
        look(&inside, &outside);
        look(&outside, &inside);
    }
    Some(())
}

/// Numbers of values below this one, and equal to it.
fn ranked(values: &[f64], value: f64) -> (usize, usize) {
    let below = values.iter().filter(|v| **v < value).count();
    (below, values.iter().filter(|v| **v == value).count())
}

/// Sums over a subset of blocks, by trial.
struct DaySums {
    sum: Vec<f64>,
    squares: Vec<f64>,
}

/// Sums over each subset of eight blocks that begin at day `start`.
fn sums(returns: &[Vec<f64>], start: usize, length: usize) -> Vec<DaySums> {
    let trials = returns.len();
    let mut subsets = vec![DaySums { sum: vec![0.0; trials], squares: vec![0.0; trials] }];
    for block in 0..BLOCKS / 2 {
        let powers = |power: i32| -> Vec<f64> {
            let days = start + block * length..start + (block + 1) * length;
            returns.iter().map(|returns| returns[days.clone()].iter().map(|r| r.powi(power)).sum()).collect()
        };
        let (sum, squares) = (powers(1), powers(2));
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
        let more: Vec<DaySums> = subsets
            .iter()
            .map(|without| DaySums { sum: add(&without.sum, &sum), squares: add(&without.squares, &squares) })
            .collect();
        subsets.extend(more);
    }
    subsets
}

/// Sharpe ratio (ddof 1) of `n` days with this sum and this sum of squares; 0 where nothing moves.
fn sharpe(sum: f64, squares: f64, n: f64) -> f64 {
    let variance = (squares - sum * sum / n) / (n - 1.0);
    if variance > 1e-14 * squares / n { sum / n / variance.sqrt() } else { 0.0 }
}

/// The splits so far: Sharpe ratio of the best in its own half and in the other, and how often it was in the lower half there.
struct Splits {
    own: Vec<f64>,
    other: Vec<f64>,
    low: usize,
}

impl Splits {
    fn look(&mut self, inside: &[f64], outside: &[f64]) {
        let best = (1..inside.len()).fold(0, |best, k| if inside[k] > inside[best] { k } else { best });
        let found = outside[best];
        // Its rank, from 1, ties at their average. The logit of rank / (trials + 1) is at most 0 where twice the rank is at most trials + 1.
        let (below, equal) = ranked(outside, found);
        self.low += usize::from(2 * below + equal < outside.len() + 1);
        self.own.push(inside[best]);
        self.other.push(found);
    }

    fn conclude(self) -> Overfitting {
        let n = self.own.len() as f64;
        let (mean_own, mean_other) = (mean(self.own.iter().copied()), mean(self.other.iter().copied()));
        let (mut squares, mut products) = (0.0, 0.0);
        for (own, other) in self.own.iter().zip(&self.other) {
            squares += (own - mean_own).powi(2);
            products += (own - mean_own) * (other - mean_other);
        }
        Overfitting {
            probability: self.low as f64 / n,
            slope: products / squares,
            loss: self.other.iter().filter(|v| **v < 0.0).count() as f64 / n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::reference::{close, noise, reference};

    #[test]
    fn figures_equal_those_of_a_plain_script() {
        let reference = reference();
        let found = overfitting(&reference.returns).unwrap();
        close(found.probability, reference.overfitting.probability);
        close(found.slope, reference.overfitting.slope);
        close(found.loss, reference.overfitting.loss);
    }

    #[test]
    fn of_two_trials_that_take_turns_the_better_half_is_always_the_wrong_one() {
        // The first gains in the even blocks what the second gains in the odd ones: what leads in one half trails in the other, but for the
        // 4,900 splits with as many even blocks as odd ones, in which both are alike and the rank is the middle one.
        let turn = |odd: usize| -> Vec<f64> {
            // Powers of two, so that sums are exact and what is alike is equal.
            (0..160).map(|t| if t / 10 % 2 == odd { 1.0 } else { 0.0 } / 128.0 + [1.0, -1.0][t % 2] / 1024.0).collect()
        };
        let found = overfitting(&[turn(0), turn(1)]).unwrap();
        assert_eq!(found.probability, 1.0);
        assert!(found.slope < 0.0, "{found:?}");
        assert_eq!(found.loss, 0.0);
    }

    #[test]
    fn noise_is_overfitted_as_often_as_not_and_skill_is_not() {
        let noisy = |set: u64| (0..30).map(|seed| noise(320, 100 * set + seed)).collect::<Vec<_>>();
        let chances: Vec<f64> = (0..12).map(|set| overfitting(&noisy(set)).unwrap().probability).collect();
        let chance = mean(chances.iter().copied());
        assert!((0.4..0.6).contains(&chance), "{chance} of {chances:?}");
        let mut trials = noisy(0);
        trials[17].iter_mut().for_each(|r| *r += 0.3 * 0.01);
        let skill = overfitting(&trials).unwrap();
        assert!(skill.probability < 0.1 && skill.loss < 0.1, "{skill:?}");
    }

    #[test]
    fn the_worst_of_all_beginnings_is_found() {
        let mut trials: Vec<Vec<f64>> = (0..9).map(|seed| noise(160, 40 + seed)).collect();
        trials.push(noise(160, 99).iter().map(|r| r + 0.004).collect());
        for least in 0..12 {
            let beginnings = (least.max(2).min(trials.len())..=trials.len()).filter_map(|n| overfitting(&trials[..n]));
            let worst = beginnings.map(|found| found.probability).fold(0.0, f64::max);
            assert_eq!(worst_overfitting(&trials, least).unwrap().probability, worst, "{least}");
        }
        assert!(worst_overfitting(&trials, 3).unwrap().probability > overfitting(&trials).unwrap().probability);
        assert_eq!(worst_overfitting(&trials[..1], 1), None);
    }

    #[test]
    fn one_trial_or_a_few_days_say_nothing() {
        assert_eq!(overfitting(&[]), None);
        assert_eq!(overfitting(&[noise(480, 1)]), None);
        assert_eq!(overfitting(&[noise(63, 1), noise(63, 2)]), None);
        assert!(overfitting(&[noise(64, 1), noise(64, 2)]).is_some());
        let still = overfitting(&[vec![0.0; 64], vec![0.0; 64]]).unwrap();
        assert!(still.probability == 1.0 && still.slope.is_nan(), "nothing moves, nothing leads: {still:?}");
    }
}
