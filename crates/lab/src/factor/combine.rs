//! Several numbers of a day made one, by weights that are learned from the days before: `combine(x, y, by = icir, days = 250, horizon = 5)`.
//!
//! Each number is z-scored over the names of its date; a name that lacks one has the mean of the date, 0, for it. The weights of a date
//! come of the last `days` dates whose returns over `horizon` trading days had ended by then: `ic` weighs by the mean RankIC, `icir` by
//! that over its standard deviation, `ridge` by a regression of the returns' ranks on all numbers, `equal` alike. Returns run from the open
//! of the date after the value (from the close, where the table has no opens), and only values that were known before take part: so no
//! weight rests on a return that was not over, and no date has a value before 20 dates could be learned from.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::expression::{NamedArgument, OptionValue, whole_number};
use super::grid::{DayGrid, seconds};
use super::process::standardise;
use super::rules::Standardise;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::{mean, spearman, std};
use inkstone_base::{bail, ensure, message};
use inkstone_market::{AUCTION, CLOSE, Market, OPEN, Price};

/// Dates that weights are learned from at the least.
const FEWEST_DATES: usize = 20;
/// Names that a RankIC needs.
const FEWEST_NAMES: usize = 5;
/// Penalty of `ridge` as a share of the number of rows.
const PENALTY: f64 = 0.01;

/// A way to weigh numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weighing {
    Equal,
    Ic,
    Icir,
    Ridge,
}

impl Weighing {
    const NAMES: [(&'static str, Weighing); 4] =
        [("equal", Weighing::Equal), ("ic", Weighing::Ic), ("icir", Weighing::Icir), ("ridge", Weighing::Ridge)];
}

/// How numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Combination {
    pub(super) weighing: Weighing,
    /// Dates that weights are learned from at the most.
    pub(super) days: usize,
    /// Trading days of the returns.
    pub(super) horizon: usize,
}

impl Combination {
    /// The options of a call; those that are not given have their defaults.
    pub(super) fn of_options(options: &[NamedArgument]) -> Result<Combination> {
        let mut rule = Combination { weighing: Weighing::Icir, days: 250, horizon: 5 };
        for option in options {
            match (option.name.as_str(), &option.value) {
                ("by", OptionValue::Words(words)) => {
                    let found = Weighing::NAMES.iter().find(|(name, _)| [*name] == words[..]);
                    let names = Weighing::NAMES.map(|(name, _)| name).join(", ");
                    let (_, weighing) = found.with_context(|| {
                        let (word, at) = (words.join("+"), option.at);
                        message!(
                            "第 {at} 字的 by = {word} 不是加权方式；可用：{names}",
                            "by = {word} at character {at} is no way to weigh; there are: {names}"
                        )
                    })?;
                    rule.weighing = *weighing;
                }
                ("days", OptionValue::Number(days)) => rule.days = whole_number(*days, Word("它的 days", "its days"))?,
                ("horizon", OptionValue::Number(days)) => {
                    rule.horizon = whole_number(*days, Word("它的 horizon", "its horizon"))?
                }
                (name, _) => bail!(
                    "第 {} 字的 {name:?} 不是选项，或不能取这样的值；可用：by、days、horizon",
                    "{name:?} at character {} is no option, or not of such a value; there are: by, days, horizon",
                    option.at
                ),
            }
        }
        ensure!(
            rule.days >= FEWEST_DATES,
            "days = {} 太少，学不了；请写 {FEWEST_DATES} 或更多",
            "days = {} is too few to learn from; give {FEWEST_DATES} or more",
            rule.days
        );
        ensure!(
            rule.horizon > 0,
            "horizon = 0 没有收益；请写 1 个以上交易日",
            "horizon = 0 is no return; give 1 or more trading days"
        );
        Ok(rule)
    }
}

/// Figures of one date that weights are learned from.
struct Lesson {
    /// RankIC of each number; NaN where there are too few names.
    rank_ic: Vec<f64>,
    /// Products of the numbers with one another, row by row, and with the ranks of the returns; and the number of names.
    products: (Vec<f64>, Vec<f64>, f64),
}

/// The combination of numbers that are on one market's axes.
pub(super) fn combine(mut numbers: Vec<DayGrid>, rule: Combination, market: &Market, ctx: &Ctx) -> Result<DayGrid> {
    let (width, days) = (market.codes().len(), market.dates().len());
    let (price, time) = match market.price(Price::Open) {
        Ok(open) => (open, OPEN),
        Err(_) => (market.price(Price::Close)?, CLOSE),
    };
    let exit = |s: usize| Some(s + 1 + rule.horizon).filter(|exit| *exit < days);
    let lesson = |s: usize| {
        ctx.check()?;
        let Some(exit) = exit(s) else { return Ok(None) };
        let begins = seconds(market.dates()[s + 1], if time == OPEN { AUCTION } else { CLOSE });
        let return_of = |i: usize| {
            let traded = market.traded(s + 1, i) && market.traded(exit, i);
            if traded { price.at(exit, i) / price.at(s + 1, i) - 1.0 } else { f64::NAN }
        };
        let returns: Vec<f64> = (0..width).map(return_of).collect();
        let in_time = |grid: &DayGrid, i: usize| {
            let cell = s * width + i;
            if grid.known[cell] < begins { grid.values[cell] } else { f64::NAN }
        };
        Ok(Some(Lesson::new(&numbers, &returns, in_time)))
    };
    let lessons: Vec<Option<Lesson>> = ctx.install(|| (0..days).into_par_iter().map(lesson).collect::<Result<_>>())?;
    for grid in &mut numbers {
        ctx.check()?;
        ctx.install(|| {
            grid.values.par_chunks_mut(width).for_each(scale);
        });
    }
    let mut combined = DayGrid::empty(market);
    for t in 0..days {
        ctx.check()?;
        // The last date whose return had ended by now.
        let over = t.checked_sub(1 + rule.horizon).map_or(0, |last| last + 1);
        let known: Vec<&Lesson> = lessons[over.saturating_sub(rule.days)..over].iter().flatten().collect();
        let Some(weights) = weights(&known, numbers.len(), rule.weighing) else { continue };
        let latest = numbers.iter().map(|grid| grid.latest(t, |_| true)).max().unwrap_or(i64::MIN);
        let known =
            latest.max(if rule.weighing == Weighing::Equal { i64::MIN } else { seconds(market.dates()[t], time) });
        for i in 0..width {
            let cell = t * width + i;
            let there = || numbers.iter().filter(|grid| !grid.values[cell].is_nan());
            if there().next().is_none() {
                continue;
            }
            let terms = numbers.iter().zip(&weights).filter(|(grid, _)| !grid.values[cell].is_nan());
            combined.values[cell] = terms.map(|(grid, weight)| weight * grid.values[cell]).sum();
            combined.known[cell] = known;
            combined.documents[cell] = there().map(|grid| grid.documents[cell]).max().unwrap_or(0);
        }
    }
    Ok(combined)
}

/// Z-scores of the numbers of a date; NaN for what is not finite.
fn scale(row: &mut [f64]) {
    let names: Vec<usize> = (0..row.len()).filter(|&i| row[i].is_finite()).collect();
    let mut x: Vec<f64> = names.iter().map(|&i| row[i]).collect();
    standardise(&mut x, Standardise::Zscore { ddof: 1 });
    row.fill(f64::NAN);
    names.into_iter().zip(x).for_each(|(i, z)| row[i] = z);
}

impl Lesson {
    fn new(numbers: &[DayGrid], returns: &[f64], in_time: impl Fn(&DayGrid, usize) -> f64) -> Lesson {
        // On the scale of what was known in time: a value that came later takes no part.
        let column = |grid: &DayGrid| {
            let mut column: Vec<f64> = (0..returns.len()).map(|i| in_time(grid, i)).collect();
            scale(&mut column);
            column
        };
        let columns: Vec<Vec<f64>> = numbers.iter().map(column).collect();
        let rank_ic = |column: &Vec<f64>| {
            let (x, y) = inkstone_base::stats::complete(column, returns);
            if x.len() < FEWEST_NAMES { f64::NAN } else { spearman(&x, &y) }
        };
        let names: Vec<usize> = (0..returns.len())
            .filter(|&i| !returns[i].is_nan() && columns.iter().any(|column| !column[i].is_nan()))
            .collect();
        let mut y: Vec<f64> = names.iter().map(|&i| returns[i]).collect();
        standardise(&mut y, Standardise::Rank);
        let x: Vec<Vec<f64>> = columns
            .iter()
            .map(|column| names.iter().map(|&i| if column[i].is_nan() { 0.0 } else { column[i] }).collect())
            .collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let among = x.iter().flat_map(|a| x.iter().map(|b| product(a, b)).collect::<Vec<f64>>()).collect();
        let with_returns = x.iter().map(|a| product(a, &y)).collect();
        Lesson { rank_ic: columns.iter().map(rank_ic).collect(), products: (among, with_returns, names.len() as f64) }
    }
}

/// The weights that lessons give, absolute values summing to 1; none of too few lessons, or where they tell nothing.
fn weights(lessons: &[&Lesson], numbers: usize, weighing: Weighing) -> Option<Vec<f64>> {
    let series =
        |k: usize| lessons.iter().map(|lesson| lesson.rank_ic[k]).filter(|v| !v.is_nan()).collect::<Vec<f64>>();
    let of_series = |figure: fn(&[f64]) -> f64| {
        let weight_of = |k: usize| {
            let series = series(k);
            // A number that is there on too few dates has no weight yet.
            if series.len() < FEWEST_DATES { 0.0 } else { figure(&series) }
        };
        (0..numbers).map(weight_of).collect::<Vec<f64>>()
    };
    let mean_of = |series: &[f64]| mean(series.iter().copied());
    let weights = match weighing {
        Weighing::Equal => vec![1.0; numbers],
        Weighing::Ic => of_series(mean_of),
        Weighing::Icir => of_series(|series| mean(series.iter().copied()) / std(series)),
        Weighing::Ridge if lessons.len() < FEWEST_DATES => return None,
        Weighing::Ridge => {
            let sum = |part: fn(&Lesson) -> &Vec<f64>| {
                let mut sums = vec![0.0; part(lessons[0]).len()];
                lessons.iter().for_each(|l| sums.iter_mut().zip(part(l)).for_each(|(sum, v)| *sum += v));
                sums
            };
            let (mut among, with_returns) = (sum(|l| &l.products.0), sum(|l| &l.products.1));
            let rows: f64 = lessons.iter().map(|lesson| lesson.products.2).sum();
            (0..numbers).for_each(|k| among[k * numbers + k] += PENALTY * rows);
            solve(among, with_returns)?
        }
    };
    let all: f64 = weights.iter().map(|weight| weight.abs()).sum();
    (all > 0.0 && all.is_finite()).then(|| weights.iter().map(|weight| weight / all).collect())
}

/// Solves a system of equations by Gauss's elimination with pivots; none where it is singular.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| matrix[a * n + k].abs().total_cmp(&matrix[b * n + k].abs()))?;
        if matrix[pivot * n + k].abs() < 1e-300 {
            return None;
        }
        (0..n).for_each(|column| matrix.swap(k * n + column, pivot * n + column));
        right.swap(k, pivot);
        for row in k + 1..n {
            let share = matrix[row * n + k] / matrix[k * n + k];
            (k..n).for_each(|column| matrix[row * n + column] -= share * matrix[k * n + column]);
            right[row] -= share * right[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|column| matrix[k * n + column] * right[column]).sum();
        right[k] = (right[k] - known) / matrix[k * n + k];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDate};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const NAMES: usize = 30;

    /// A market of 80 days, and two numbers: one tells the return that begins a day later, the other nothing. From `cut` on returns are
    /// others.
    fn world(cut: usize) -> (Market, Vec<DayGrid>) {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut other = ChaCha8Rng::seed_from_u64(12);
        let days = 80;
        let moves: Vec<Vec<f64>> = (0..days)
            .map(|t| {
                let drawn: Vec<f64> = (0..NAMES).map(|_| rng.random_range(-0.05..0.05)).collect();
                if t < cut { drawn } else { (0..NAMES).map(|_| other.random_range(-0.05..0.05)).collect() }
            })
            .collect();
        let mut prices = "date,code,open,close\n".to_owned();
        let mut last = vec![10.0; NAMES];
        for (t, moves) in moves.iter().enumerate() {
            for (i, last) in last.iter_mut().enumerate() {
                *last *= 1.0 + moves[i];
                let date = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t as u64);
                prices += &format!("{date},{:06}.SH,{last},{last}\n", 600_000 + i);
            }
        }
        let market = Market::of_text(&prices, &[]).unwrap();
        let grid = |value: &mut dyn FnMut(usize, usize) -> f64| {
            let mut grid = DayGrid::empty(&market);
            for t in 0..days {
                for i in 0..NAMES {
                    (grid.values[t * NAMES + i], grid.known[t * NAMES + i]) =
                        (value(t, i), seconds(market.dates()[t], CLOSE));
                }
            }
            grid
        };
        let mut noise = ChaCha8Rng::seed_from_u64(13);
        // The open of t + 1 to that of t + 2 is the move of day t + 2.
        let telling = grid(&mut |t, i| {
            if t + 2 < cut { moves[t + 2][i] + noise.random_range(-0.05..0.05) } else { 0.1 * i as f64 }
        });
        let silent = grid(&mut |_, _| noise.random_range(-1.0..1.0));
        (market, vec![telling, silent])
    }

    fn combined(weighing: Weighing, cut: usize) -> (Vec<DayGrid>, DayGrid) {
        let (market, numbers) = world(cut);
        let rule = Combination { weighing, days: 40, horizon: 1 };
        let made = combine(numbers.clone(), rule, &market, &Ctx::new(2, 1).unwrap()).unwrap();
        (numbers, made)
    }

    fn row(grid: &DayGrid, t: usize) -> &[f64] {
        &grid.values[t * NAMES..(t + 1) * NAMES]
    }

    #[test]
    fn what_tells_returns_weighs_most_and_only_when_it_could_be_known() {
        for weighing in [Weighing::Ic, Weighing::Icir, Weighing::Ridge] {
            let (numbers, made) = combined(weighing, 80);
            assert!(spearman(row(&made, 60), row(&numbers[0], 60)) > 0.9, "{weighing:?}");
            // 20 dates have ended returns on day 21: of day 0 the return is over on day 2.
            assert!(row(&made, 20).iter().all(|v| v.is_nan()) && !row(&made, 21)[0].is_nan(), "{weighing:?}");
        }
        let (numbers, made) = combined(Weighing::Equal, 80);
        let both: Vec<f64> = row(&numbers[0], 5).iter().zip(row(&numbers[1], 5)).map(|(a, b)| 30.0 * a + b).collect();
        assert!(spearman(row(&made, 5), &both) > 0.8, "both count, and from the first day on");
    }

    #[test]
    fn another_future_changes_no_earlier_value() {
        for weighing in [Weighing::Ic, Weighing::Icir, Weighing::Ridge] {
            let (market, numbers) = world(80);
            let (other_market, _) = world(60);
            let rule = Combination { weighing, days: 40, horizon: 1 };
            let ctx = Ctx::new(2, 1).unwrap();
            let made = combine(numbers.clone(), rule, &market, &ctx).unwrap();
            let other = combine(numbers, rule, &other_market, &ctx).unwrap();
            let bits = |grid: &DayGrid, days: std::ops::Range<usize>| {
                days.flat_map(|t| row(grid, t).to_vec()).map(f64::to_bits).collect::<Vec<u64>>()
            };
            assert_eq!(bits(&made, 0..60), bits(&other, 0..60), "{weighing:?}");
            assert_ne!(bits(&made, 62..80), bits(&other, 62..80), "{weighing:?}");
            assert_eq!(made.known[30 * NAMES], seconds(market.dates()[30], CLOSE));
        }
    }

    #[test]
    fn a_value_that_was_known_later_changes_no_weight() {
        let (market, numbers) = world(80);
        let rule = Combination { weighing: Weighing::Ridge, days: 40, horizon: 1 };
        let with = |late: f64| {
            let mut numbers = numbers.clone();
            let cell = 30 * NAMES + 3;
            (numbers[0].values[cell], numbers[0].known[cell]) = (late, seconds(market.dates()[70], CLOSE));
            combine(numbers, rule, &market, &Ctx::new(1, 1).unwrap()).unwrap()
        };
        let (small, large) = (with(0.1), with(1e6));
        assert_ne!(row(&small, 30), row(&large, 30), "its own date has it");
        for t in 31..60 {
            assert_eq!(row(&small, t), row(&large, t), "date {t}");
        }
    }

    #[test]
    fn equations_are_solved_and_singular_ones_refused() {
        let x = solve(vec![0.0, 2.0, 1.0, 1.0], vec![4.0, 5.0]).unwrap();
        assert_eq!(x, [3.0, 2.0]);
        assert!(solve(vec![1.0, 1.0, 1.0, 1.0], vec![1.0, 1.0]).is_none());
    }
}
