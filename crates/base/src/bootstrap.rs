//! The moving-block bootstrap, a correction for the number of comparisons, and the cells that may be the best.
//!
//! Neighbouring days (and documents of one event) resemble each other, so whole blocks of neighbours are drawn (Kunsch 1989, Liu
//! and Singh 1992). Every cell is computed on the same draws, so differences between cells are paired. Intervals are percentiles
//! of the draws. A p-value is the share of draws that, centred on a difference of zero, differ as much. P-values of many differences are
//! adjusted by the step-down of Romano and Wolf (2005). The cells that may be the best are the model confidence set of Hansen, Lunde and
//! Nason (2011): a comparison with the best that counts that the best was chosen on the same observations.

use std::ops::Range;

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::job::Ctx;
use crate::stats::{quantile, std};

/// Draws between two checks for cancellation.
const DRAWS_PER_CHECK: usize = 16;

/// A figure with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Difference of a cell from the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Figure of the cell less the figure of the baseline.
    pub difference: f64,
    pub interval: Interval,
    /// Share of the draws that differ as much where there is no difference; two-sided.
    pub p: f64,
    /// `p` adjusted for the number of cells compared.
    pub p_adjusted: f64,
}

/// The length of block that goes with `n` observations: their cube root, but no shorter than what overlaps.
pub fn block_length(n: usize, overlap: usize) -> usize {
    ((n as f64).cbrt().round() as usize).max(overlap).clamp(1, n.max(1))
}

/// Figures of the draws, `[draws][cells]`. `figures` computes every cell's figure from how often each of `n` observations was
/// drawn. Draw number `i` is the same whatever the number of threads.
pub fn draw(
    n: usize,
    block: usize,
    draws: usize,
    ctx: &Ctx,
    figures: impl Fn(&[u32]) -> Vec<f64> + Sync,
) -> Result<Vec<Vec<f64>>> {
    let one = |number: usize| {
        if number.is_multiple_of(DRAWS_PER_CHECK) {
            ctx.check()?;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
        rng.set_stream(number as u64);
        Ok(figures(&times_drawn(n, block, &mut rng)))
    };
    ctx.install(|| (0..draws).into_par_iter().map(one).collect())
}

/// Number of times that each of `n` observations is drawn, when blocks of neighbours are drawn until there are `n`; the last block is cut.
fn times_drawn(n: usize, block: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut times = vec![0; n];
    let mut left = n;
    while left > 0 {
        let start = rng.random_range(0..=n - block);
        let drawn: Range<usize> = start..start + block.min(left);
        left -= drawn.len();
        times[drawn].iter_mut().for_each(|times| *times += 1);
    }
    times
}

/// The interval of a figure that holds `confidence` of the draws; NaN where no draw has a figure.
pub fn interval(draws: impl Iterator<Item = f64>, confidence: f64) -> Interval {
    let mut sorted: Vec<f64> = draws.filter(|v| !v.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Interval { low: quantile(&sorted, tail), high: quantile(&sorted, 1.0 - tail) }
}

/// Compares cells with the baseline, all on the same draws. `figures` are those of the cells as they are; cells are given in any
/// order, the baseline is not among `compared`.
pub fn compare(
    figures: &[f64],
    draws: &[Vec<f64>],
    baseline: usize,
    compared: &[usize],
    confidence: f64,
) -> Vec<Comparison> {
    let differences = |cell: usize| -> Vec<f64> { draws.iter().map(|draw| draw[cell] - draw[baseline]).collect() };
    let drawn: Vec<Vec<f64>> = compared.iter().map(|&cell| differences(cell)).collect();
    let found: Vec<f64> = compared.iter().map(|&cell| figures[cell] - figures[baseline]).collect();
    let spread: Vec<f64> = drawn.iter().map(|draws| std(draws)).collect();
    // Distance from zero in standard errors; of draws, from the difference that was found.
    let distance = |k: usize, value: f64| if spread[k] > 0.0 { value.abs() / spread[k] } else { 0.0 };
    let observed: Vec<f64> = (0..compared.len()).map(|k| distance(k, found[k])).collect();
    let chance: Vec<Vec<f64>> = drawn
        .iter()
        .enumerate()
        .map(|(k, draws)| draws.iter().map(|d| if d.is_nan() { 0.0 } else { distance(k, d - found[k]) }).collect())
        .collect();
    let share = |k: usize, of: &dyn Fn(usize) -> f64| {
        let above = (0..draws.len()).filter(|&b| of(b) >= observed[k]).count();
        (1 + above) as f64 / (1 + draws.len()) as f64
    };
    let mut order: Vec<usize> = (0..compared.len()).collect();
    order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]).then(a.cmp(&b)));
    let mut comparisons: Vec<Comparison> = (0..compared.len())
        .map(|k| Comparison {
            difference: found[k],
            interval: interval(drawn[k].iter().copied(), confidence),
            p: share(k, &|b| chance[k][b]),
            p_adjusted: 1.0,
        })
        .collect();
    let mut before = 0.0f64;
    for (at, &k) in order.iter().enumerate() {
        let largest = |b: usize| order[at..].iter().map(|&other| chance[other][b]).fold(0.0, f64::max);
        before = before.max(share(k, &largest));
        comparisons[k].p_adjusted = before;
    }
    comparisons
}

/// P-values of the model confidence set, by the statistic of the greatest distance below the mean of the cells left (T_max). A cell may be
/// the best, at a confidence of 0.95, where its value is above 0.05; that of the highest figure is 1. Higher figures are better. None for
/// a cell without a figure.
pub fn confidence_set(figures: &[f64], draws: &[Vec<f64>]) -> Vec<Option<f64>> {
    let mut left: Vec<usize> = (0..figures.len()).filter(|&cell| figures[cell].is_finite()).collect();
    let mut found = vec![None; figures.len()];
    // A draw without a figure (a class that was not drawn) tells nothing of its cell.
    let error = |draw: &[f64], cell: usize| Some(draw[cell] - figures[cell]).filter(|e| e.is_finite()).unwrap_or(0.0);
    let mut before = 0.0f64;
    while !left.is_empty() {
        let mean = |value: &dyn Fn(usize) -> f64| left.iter().map(|&cell| value(cell)).sum::<f64>() / left.len() as f64;
        let average = mean(&|cell| figures[cell]);
        let errors: Vec<Vec<f64>> = draws
            .iter()
            .map(|draw| {
                let average = mean(&|cell| error(draw, cell));
                left.iter().map(|&cell| average - error(draw, cell)).collect()
            })
            .collect();
        let spread: Vec<f64> = (0..left.len())
            .map(|k| (errors.iter().map(|draw| draw[k] * draw[k]).sum::<f64>() / draws.len() as f64).sqrt())
            .collect();
        let distance = |k: usize, value: f64| if spread[k] > 0.0 { value / spread[k] } else { 0.0 };
        let below: Vec<f64> = (0..left.len()).map(|k| distance(k, average - figures[left[k]])).collect();
        let worst = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let largest = |draw: &Vec<f64>| (0..draw.len()).map(|k| distance(k, draw[k])).fold(f64::NEG_INFINITY, f64::max);
        let as_far = errors.iter().map(largest).filter(|far| *far >= worst).count();
        before = before.max((1 + as_far) as f64 / (1 + draws.len()) as f64);
        // Equal cells leave together; the last ones are the best.
        let leaves: Vec<bool> = below.iter().map(|value| *value == worst).collect();
        let last = leaves.iter().all(|leaves| *leaves);
        left.iter().zip(&leaves).filter(|(_, leaves)| **leaves).for_each(|(&cell, _)| {
            found[cell] = Some(if last { 1.0 } else { before });
        });
        let mut stays = leaves.iter().map(|leaves| !leaves);
        left.retain(|_| stays.next().unwrap_or(false));
    }
    found
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn ctx(threads: usize) -> Ctx {
        Ctx::new(threads, 3).unwrap()
    }

    fn mean(times: &[u32], values: &[f64]) -> f64 {
        let n: u32 = times.iter().sum();
        times.iter().zip(values).map(|(&t, v)| f64::from(t) * v).sum::<f64>() / f64::from(n)
    }

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        StandardNormal.sample_iter(&mut rng).take(n).collect()
    }

    #[test]
    fn each_draw_has_as_many_observations_in_blocks_of_neighbours() {
        let draws = draw(50, 7, 200, &ctx(2), |times| times.iter().map(|&t| f64::from(t)).collect()).unwrap();
        for times in &draws {
            assert_eq!(times.iter().sum::<f64>(), 50.0);
        }
        // The ends are in fewer blocks than the middle.
        let mean_of = |i: usize| draws.iter().map(|times| times[i]).sum::<f64>() / draws.len() as f64;
        assert!(mean_of(0) < 0.5 && mean_of(25) > 0.8, "{} {}", mean_of(0), mean_of(25));
        let alone = draw(50, 7, 200, &ctx(1), |times| times.iter().map(|&t| f64::from(t)).collect()).unwrap();
        assert_eq!(alone, draws);
        assert_eq!(
            (block_length(1000, 1), block_length(1000, 20), block_length(3, 20), block_length(0, 1)),
            (10, 20, 3, 1)
        );
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_theory() {
        let values = noise(2000, 1);
        let draws = draw(2000, 1, 2000, &ctx(2), |times| vec![mean(times, &values)]).unwrap();
        let found = interval(draws.iter().map(|d| d[0]), 0.95);
        let half = 1.96 * std(&values) / 2000f64.sqrt();
        let middle = values.iter().sum::<f64>() / 2000.0;
        assert!((found.low - (middle - half)).abs() < 0.1 * half && (found.high - (middle + half)).abs() < 0.1 * half);
    }

    #[test]
    fn neighbours_that_resemble_each_other_widen_the_interval() {
        // Each value stands ten times in a row: a tenth of the observations, so sqrt(10) times the width.
        let values: Vec<f64> = noise(200, 2).into_iter().flat_map(|v| [v; 10]).collect();
        let width = |block: usize| {
            let draws = draw(2000, block, 1000, &ctx(2), |times| vec![mean(times, &values)]).unwrap();
            let found = interval(draws.iter().map(|d| d[0]), 0.95);
            found.high - found.low
        };
        let ratio = width(40) / width(1);
        assert!((2.5..3.6).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_true_difference_stands_and_chance_does_not_survive_the_correction() {
        let n = 500;
        let base = noise(n, 10);
        // Cell 1 is better by 0.3 on the same days, cells 2 to 21 are the baseline with noise of their own.
        let mut cells = vec![base.clone(), base.iter().zip(noise(n, 11)).map(|(b, e)| b + 0.3 + 0.5 * e).collect()];
        for seed in 0..20 {
            cells.push(base.iter().zip(noise(n, 100 + seed)).map(|(b, e)| b + 0.5 * e).collect());
        }
        let figures: Vec<f64> = cells.iter().map(|v| crate::stats::mean(v.iter().copied())).collect();
        let draws = draw(n, 5, 999, &ctx(2), |times| cells.iter().map(|v| mean(times, v)).collect()).unwrap();
        let compared: Vec<usize> = (1..cells.len()).collect();
        let found = compare(&figures, &draws, 0, &compared, 0.95);
        assert!(found[0].interval.low > 0.15 && found[0].p_adjusted <= 0.002, "{:?}", found[0]);
        assert!(found.iter().all(|c| c.p_adjusted >= c.p));
        assert!(found[1..].iter().all(|c| c.p_adjusted > 0.05), "none of twenty is called different");
        assert!(found[1..].iter().any(|c| c.p < 0.2), "though some look it alone");
    }

    #[test]
    fn the_step_down_is_as_by_hand() {
        // Two cells beside the baseline 0; differences 2 and 1, draws around them.
        let figures = [0.0, 2.0, 1.0];
        let draws: Vec<Vec<f64>> =
            [(2.0, 1.0), (4.0, 0.0), (0.0, 2.0), (2.0, 3.0)].iter().map(|&(a, b)| vec![0.0, a, b]).collect();
        // Spread: sqrt(8/3) = 1.633 and sqrt(5/3) = 1.291; observed 1.225 and 0.775.
        // Of the first alone |d - 2| / 1.633: 0, 1.225, 1.225, 0: two of four as far, so p = 3/5; with the second's
        // |d - 1| / 1.291 = 0, 0.775, 0.775, 1.549 the largest are 0, 1.225, 1.225, 1.549: p = 4/5. The second: 3 of 4.
        let found = compare(&figures, &draws, 0, &[1, 2], 0.95);
        assert_eq!([found[0].p, found[0].p_adjusted, found[1].p, found[1].p_adjusted], [0.6, 0.8, 0.8, 0.8]);
        // A cell that never differs is no discovery.
        let same = compare(&[1.0, 1.0], &[vec![1.0, 1.0], vec![2.0, 2.0]], 0, &[1], 0.9);
        assert_eq!((same[0].difference, same[0].p_adjusted), (0.0, 1.0));
    }

    /// Losses, how often each observation was drawn, and the p-values of the Python package arch.
    #[derive(Deserialize)]
    struct ArchSet {
        losses: Vec<Vec<f64>>,
        times: Vec<Vec<u32>>,
        p: Vec<f64>,
    }

    #[test]
    fn the_confidence_set_is_that_of_arch() {
        let reference: ArchSet =
            serde_json::from_str(include_str!("../../../tests/reference/arch/confidence_set.json")).unwrap();
        let cells = reference.losses[0].len();
        let series: Vec<Vec<f64>> =
            (0..cells).map(|cell| reference.losses.iter().map(|losses| -losses[cell]).collect()).collect();
        let figures: Vec<f64> = series.iter().map(|values| mean(&vec![1; values.len()], values)).collect();
        let draws: Vec<Vec<f64>> =
            reference.times.iter().map(|times| series.iter().map(|values| mean(times, values)).collect()).collect();
        let n = draws.len() as f64;
        let ours = confidence_set(&figures, &draws);
        for (ours, theirs) in ours.iter().zip(&reference.p) {
            // arch gives the share of the draws alone; the observation itself counts here as one more.
            let wanted = if *theirs == 1.0 { 1.0 } else { (1.0 + theirs * n) / (1.0 + n) };
            assert!((ours.unwrap() - wanted).abs() < 1e-12, "{ours:?} {wanted}");
        }
    }

    #[test]
    fn the_set_of_the_best_leaves_out_what_is_worse_and_keeps_what_is_equal() {
        let n = 300;
        let good = noise(n, 5);
        let close: Vec<f64> = good.iter().zip(noise(n, 6)).map(|(g, e)| g + 0.3 * e).collect();
        let bad: Vec<f64> = good.iter().zip(noise(n, 7)).map(|(g, e)| g - 0.5 + 0.3 * e).collect();
        let cells = [good.clone(), close, bad, good];
        let figures: Vec<f64> = cells.iter().map(|v| crate::stats::mean(v.iter().copied())).collect();
        let draws = draw(n, 3, 500, &ctx(2), |times| cells.iter().map(|v| mean(times, v)).collect()).unwrap();
        let found = confidence_set(&figures, &draws);
        let [first, second, third, fourth] = found[..] else { panic!() };
        assert_eq!(first, fourth);
        assert!(first.unwrap() > 0.05 && second.unwrap() > 0.05 && third.unwrap() < 0.01, "{found:?}");
        assert_eq!(found.iter().flatten().copied().fold(0.0, f64::max), 1.0);
        // Cells that never differ are all the best; one without a figure is none.
        let same = confidence_set(&[0.5, 0.5, f64::NAN], &[vec![0.4, 0.4, 0.1], vec![0.6, 0.6, f64::NAN]]);
        assert_eq!(same, [Some(1.0), Some(1.0), None]);
        assert_eq!(confidence_set(&[], &[]), []);
    }
}
