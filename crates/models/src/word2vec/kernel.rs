//! The step of one prediction: inputs predict outputs, and both learn from the error.
//!
//! For an input `h` and outputs `v_k` with labels `y_k` the loss is `-ln s(x)` where `y_k` is 1 and `-ln s(-x)` where it is 0, in
//! nats, `x = h . v_k` and `s` the logistic function; its gradient by `x` is `s(x) - y_k`. All errors of a step are taken at the
//! values before it, so that the dot products and the two updates are small dense products over the same rows (Ji, Satish, Li
//! and Dubey 2016, Parallelizing Word2Vec in Shared and Distributed Memory).
//!
//! Rows are worked on in parts of up to eight groups, which stay in registers: the inner functions know their width when
//! they are compiled.

use super::matrix::{Lane, LaneMatrix, WIDTH};
use super::plan::Input;

/// Outputs whose errors are computed at once.
const TILE: usize = WIDTH;
/// Groups that are held in registers at the most.
const HELD: usize = 8;

/// Calls a function of a width for each part of the groups.
macro_rules! by_parts {
    ($lanes:expr, $call:ident, $($argument:expr),*) => {{
        let lanes = $lanes;
        let mut at = 0;
        while at < lanes {
            match (lanes - at).min(HELD) {
                1 => $call::<1>(at, $($argument),*),
                2 => $call::<2>(at, $($argument),*),
                3 => $call::<3>(at, $($argument),*),
                4 => $call::<4>(at, $($argument),*),
                5 => $call::<5>(at, $($argument),*),
                6 => $call::<6>(at, $($argument),*),
                7 => $call::<7>(at, $($argument),*),
                _ => $call::<8>(at, $($argument),*),
            }
            at += HELD;
        }
    }};
}

/// Room for the numbers of a step.
pub(super) struct StepBuffers {
    /// The input.
    hidden: Vec<Lane>,
    /// The gradient, which is added to each input.
    changes: Vec<Lane>,
    /// Error of each input at each output, times minus the rate.
    errors: Vec<[f32; TILE]>,
}

impl StepBuffers {
    /// For at most so many inputs of so many groups.
    pub(super) fn new(inputs: usize, lanes: usize) -> StepBuffers {
        StepBuffers {
            hidden: vec![Lane::default(); lanes],
            changes: vec![Lane::default(); inputs * lanes],
            errors: vec![[0.0; TILE]; inputs],
        }
    }

    /// The mean of inputs learns that outputs have these labels; gives the loss.
    #[inline(always)]
    pub(super) fn mean(
        &mut self,
        (from, inputs, scale): (&mut LaneMatrix, &[Input], f32),
        (to, rows, labels): (&mut LaneMatrix, &[u32], &[f32]),
        rate: f32,
    ) -> f32 {
        let lanes = from.lanes();
        by_parts!(lanes, sum, from, inputs, scale, &mut self.hidden);
        self.changes[..lanes].fill(Lane::default());
        let mut loss = 0.0;
        for (rows, labels) in rows.chunks(TILE).zip(labels.chunks(TILE)) {
            let mut products = [Lane::default(); TILE];
            by_parts!(lanes, products_of, &self.hidden, to, rows, &mut products);
            let (by, lost) = errors(scores(&products, rows.len()), labels, rate);
            loss += lost;
            by_parts!(lanes, exchange, &by, &self.hidden, &mut self.changes, to, rows);
        }
        by_parts!(lanes, spread, &self.changes, from, inputs);
        loss
    }

    /// The vector of a document learns, with the words of a window, that outputs have these labels; nothing else changes.
    #[inline(always)]
    pub(super) fn document(
        &mut self,
        (from, inputs, scale): (&LaneMatrix, &[Input], f32),
        vector: &mut [Lane],
        (to, rows, labels): (&LaneMatrix, &[u32], &[f32]),
        rate: f32,
    ) {
        let lanes = from.lanes();
        by_parts!(lanes, sum, from, inputs, scale, &mut self.hidden);
        self.hidden.iter_mut().zip(&*vector).for_each(|(hidden, value)| *hidden = hidden.plus(scale, *value));
        for (rows, labels) in rows.chunks(TILE).zip(labels.chunks(TILE)) {
            let mut products = [Lane::default(); TILE];
            by_parts!(lanes, products_of, &self.hidden, to, rows, &mut products);
            let (by, _) = errors(scores(&products, rows.len()), labels, rate);
            by_parts!(lanes, gather, &by, to, rows, vector);
        }
    }

    /// Each input learns that outputs have these labels; gives the loss.
    #[inline(always)]
    pub(super) fn each(
        &mut self,
        (from, inputs): (&mut LaneMatrix, &[Input]),
        (to, rows, labels): (&mut LaneMatrix, &[u32], &[f32]),
        rate: f32,
    ) -> f32 {
        let lanes = from.lanes();
        let changes = &mut self.changes[..inputs.len() * lanes];
        changes.fill(Lane::default());
        let all = &mut self.errors[..inputs.len()];
        let mut loss = 0.0;
        for (rows, labels) in rows.chunks(TILE).zip(labels.chunks(TILE)) {
            for (by, input) in all.iter_mut().zip(inputs) {
                let mut products = [Lane::default(); TILE];
                by_parts!(lanes, products_of, from.row(input.row), to, rows, &mut products);
                *by = scores(&products, rows.len());
            }
            for by in &mut *all {
                let lost;
                (*by, lost) = errors(*by, labels, rate);
                loss += lost;
            }
            for (by, change) in all.iter().zip(changes.chunks_exact_mut(lanes)) {
                by_parts!(lanes, gather, by, to, rows, change);
            }
            for (k, &row) in rows.iter().enumerate() {
                by_parts!(lanes, pull, k, all, from, inputs, to.row_mut(row));
            }
        }
        for (input, change) in inputs.iter().zip(changes.chunks_exact(lanes)) {
            from.row_mut(input.row).iter_mut().zip(change).for_each(|(to, change)| *to = to.plus(1.0, *change));
        }
        loss
    }
}

#[inline(always)]
fn part<const C: usize>(row: &[Lane], at: usize) -> &[Lane; C] {
    row[at..at + C].as_array().expect("the slice is as long as the array")
}

#[inline(always)]
fn part_mut<const C: usize>(row: &mut [Lane], at: usize) -> &mut [Lane; C] {
    row[at..at + C].as_mut_array().expect("the slice is as long as the array")
}

/// `to = scale * sum of share * row`.
#[inline(always)]
fn sum<const C: usize>(at: usize, from: &LaneMatrix, inputs: &[Input], scale: f32, to: &mut [Lane]) {
    let to = part_mut::<C>(to, at);
    for i in 0..C {
        let mut sum = Lane::default();
        for input in inputs {
            sum = sum.plus(input.share, from.row(input.row)[at + i]);
        }
        to[i] = Lane::default().plus(scale, sum);
    }
}

/// `row += share * change`.
#[inline(always)]
fn spread<const C: usize>(at: usize, change: &[Lane], to: &mut LaneMatrix, inputs: &[Input]) {
    let change = *part::<C>(change, at);
    for input in inputs {
        let row = part_mut::<C>(to.row_mut(input.row), at);
        for i in 0..C {
            row[i] = row[i].plus(input.share, change[i]);
        }
    }
}

/// Adds the products of an input and each output, which are summed up only when all rows have theirs: else the compiler takes
/// the narrow steps of the sum for all.
#[inline(always)]
fn products_of<const C: usize>(at: usize, hidden: &[Lane], to: &LaneMatrix, rows: &[u32], products: &mut [Lane; TILE]) {
    let hidden = *part::<C>(hidden, at);
    for (product, &row) in products.iter_mut().zip(rows) {
        let row = part::<C>(to.row(row), at);
        let mut sums = [*product, Lane::default()];
        for i in 0..C {
            sums[i % 2] = sums[i % 2].plus_product(hidden[i], row[i]);
        }
        *product = sums[0].plus(1.0, sums[1]);
    }
}

/// `change += by * output`, and `output += by * hidden`.
#[inline(always)]
fn exchange<const C: usize>(
    at: usize,
    by: &[f32; TILE],
    hidden: &[Lane],
    change: &mut [Lane],
    to: &mut LaneMatrix,
    rows: &[u32],
) {
    let hidden = *part::<C>(hidden, at);
    let changed = part_mut::<C>(change, at);
    let mut change = *changed;
    for (&by, &row) in by.iter().zip(rows) {
        let output = part_mut::<C>(to.row_mut(row), at);
        for i in 0..C {
            change[i] = change[i].plus(by, output[i]);
            output[i] = output[i].plus(by, hidden[i]);
        }
    }
    *changed = change;
}

/// `change += by * output`.
#[inline(always)]
fn gather<const C: usize>(at: usize, by: &[f32; TILE], to: &LaneMatrix, rows: &[u32], change: &mut [Lane]) {
    let changed = part_mut::<C>(change, at);
    let mut change = *changed;
    for (&by, &row) in by.iter().zip(rows) {
        let output = part::<C>(to.row(row), at);
        for i in 0..C {
            change[i] = change[i].plus(by, output[i]);
        }
    }
    *changed = change;
}

/// `output += by * input` for the output of this place.
#[inline(always)]
fn pull<const C: usize>(
    at: usize,
    k: usize,
    errors: &[[f32; TILE]],
    from: &LaneMatrix,
    inputs: &[Input],
    output: &mut [Lane],
) {
    let pulled = part_mut::<C>(output, at);
    let mut output = *pulled;
    for (by, input) in errors.iter().zip(inputs) {
        let input = part::<C>(from.row(input.row), at);
        for i in 0..C {
            output[i] = output[i].plus(by[k], input[i]);
        }
    }
    *pulled = output;
}

/// The scores of so many outputs; the others are given up for sure, which gives no error and no loss.
#[inline(always)]
fn scores(products: &[Lane; TILE], outputs: usize) -> [f32; TILE] {
    let mut scores = [-SURE; TILE];
    for (score, product) in scores.iter_mut().zip(&products[..outputs]) {
        // Unless it must forget where the products come from, the compiler gathers them from memory, value by value.
        *score = std::hint::black_box(*product).sum();
    }
    scores
}

/// `-rate (s(x) - y)` of each score, and the sum of their losses.
///
/// With `e = exp(-|x|)`, `s(|x|)` is `1 / (1 + e)` and the loss `max(x, 0) - x y + ln(1 + e)`, which no score overflows.
#[inline(always)]
fn errors(scores: [f32; TILE], labels: &[f32], rate: f32) -> ([f32; TILE], f32) {
    let mut wanted = [0.0; TILE];
    wanted[..labels.len()].copy_from_slice(labels);
    let (mut by, mut losses) = ([0.0; TILE], Lane::default());
    for i in 0..TILE {
        let (x, y) = (scores[i], wanted[i]);
        let e = exp_not_above_one(x.abs());
        // 1 / (1 + e) and e / (2 + e) by one division.
        let (one, two) = (1.0 + e, 2.0 + e);
        let both = 1.0 / (one * two);
        let high = both * two;
        by[i] = -rate * (if x >= 0.0 { high } else { e * high } - y);
        losses.0[i] = x.max(0.0) - x * y + ln_1p(e * (both * one));
    }
    (by, losses.sum())
}

/// A score that leaves no doubt.
const SURE: f32 = 87.0;

/// `exp(-x)` for `x` from 0 on, to some 1e-7 of itself; exp(-87) from 87 on.
#[inline(always)]
fn exp_not_above_one(x: f32) -> f32 {
    /// Adding it rounds to whole numbers, which stand in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = -x.min(87.0);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let integer = rounded - ROUND;
    // ln 2 in two parts, the first of few bits.
    let rest = integer.mul_add(2.121_944_4e-4, integer.mul_add(-0.693_359_4, x));
    let terms = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    f32::from_bits(polynomial(&terms, rest).to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// `ln(1 + e)` of `s = e / (2 + e)` for `e` from 0 to 1, by the series of the inverse hyperbolic tangent.
#[inline(always)]
fn ln_1p(s: f32) -> f32 {
    let square = s * s;
    let terms = [2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0];
    s * polynomial(&terms, square)
}

/// The term of the highest power comes first.
#[inline(always)]
fn polynomial<const N: usize>(terms: &[f32; N], x: f32) -> f32 {
    let mut sum = terms[0];
    for term in &terms[1..] {
        sum = sum.mul_add(x, *term);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const DIM: usize = 21;

    fn matrix(rows: usize, seed: u64) -> LaneMatrix {
        let values = LaneMatrix::random(rows, DIM, &mut Random::new([seed, 0, 0])).to_values();
        LaneMatrix::from_values(&values.iter().map(|v| v * 40.0).collect::<Vec<f32>>(), DIM)
    }

    fn rows(matrix: &LaneMatrix) -> Vec<Vec<f64>> {
        matrix.to_values().chunks(DIM).map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect()
    }

    /// The loss as its formula says it.
    fn loss(inputs: &[Vec<f64>], outputs: &[Vec<f64>], labels: &[f32]) -> f64 {
        let one = |input: &Vec<f64>| {
            let each = outputs.iter().zip(labels).map(|(output, &label)| {
                let x: f64 = input.iter().zip(output).map(|(a, b)| a * b).sum();
                let s = 1.0 / (1.0 + (-x).exp());
                -(if label == 1.0 { s } else { 1.0 - s }).ln()
            });
            each.sum::<f64>()
        };
        inputs.iter().map(one).sum()
    }

    /// The mean of rows by their shares.
    fn mean(rows: &[Vec<f64>], inputs: &[Input], scale: f32) -> Vec<f64> {
        let value = |j: usize| inputs.iter().map(|i| f64::from(i.share) * rows[i.row as usize][j]).sum::<f64>();
        (0..DIM).map(|j| f64::from(scale) * value(j)).collect()
    }

    const RATE: f32 = 0.5;
    const STEP: f64 = 1e-5;

    /// `change` is what a gradient step of `loss` along one value is.
    fn goes_down(change: f64, loss: impl Fn(f64) -> f64, name: &str) {
        let slope = (loss(STEP) - loss(-STEP)) / (2.0 * STEP);
        assert!((change + f64::from(RATE) * slope).abs() < 1e-5, "{name}: {change}, slope {slope}");
    }

    /// Labels of negative samples, of which one is 1, and of a path, longer than a tile.
    fn labels() -> [Vec<f32>; 2] {
        [vec![1.0, 0.0, 0.0, 0.0], (0..20).map(|k| (k % 3 == 0).into()).collect()]
    }

    #[test]
    fn each_input_goes_down_the_gradient_that_finite_differences_give() {
        for labels in labels() {
            let (mut from, mut to) = (matrix(3, 1), matrix(labels.len(), 2));
            let (h, v) = (rows(&from), rows(&to));
            let inputs = [0, 1, 2].map(|row| Input { row, share: 1.0 });
            let numbers: Vec<u32> = (0..labels.len() as u32).collect();
            let mut step = StepBuffers::new(3, from.lanes());
            let found = step.each((&mut from, &inputs), (&mut to, &numbers, &labels), RATE);
            assert!((f64::from(found) - loss(&h, &v, &labels)).abs() < 1e-4, "{found}");
            for j in [0, 7, DIM - 1] {
                for (of_inputs, before, after) in [(true, &h, rows(&from)), (false, &v, rows(&to))] {
                    for row in 0..before.len() {
                        let moved = |by: f64| {
                            let mut moved = before.clone();
                            moved[row][j] += by;
                            if of_inputs { loss(&moved, &v, &labels) } else { loss(&h, &moved, &labels) }
                        };
                        goes_down(after[row][j] - before[row][j], moved, &format!("inputs {of_inputs}, {row},{j}"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_mean_goes_down_the_gradient_of_its_shares() {
        // A word whole, one in halves with two characters, and the same character again.
        let shares = [(0, 1.0), (1, 0.5), (2, 0.25), (3, 0.25), (2, 1.0)];
        let inputs = shares.map(|(row, share)| Input { row, share });
        let scale = 1.0 / 3.0;
        for labels in labels() {
            let (mut from, mut to) = (matrix(4, 1), matrix(labels.len(), 2));
            let (h, v) = (rows(&from), rows(&to));
            let numbers: Vec<u32> = (0..labels.len() as u32).collect();
            let mut step = StepBuffers::new(1, from.lanes());
            let found = step.mean((&mut from, &inputs, scale), (&mut to, &numbers, &labels), RATE);
            let at = |h: &[Vec<f64>], v: &[Vec<f64>]| loss(&[mean(h, &inputs, scale)], v, &labels);
            assert!((f64::from(found) - at(&h, &v)).abs() < 1e-4, "{found}");
            let (from, to) = (rows(&from), rows(&to));
            for j in [0, 7, DIM - 1] {
                for row in 0..labels.len() {
                    let moved = |by: f64| {
                        let mut moved = v.clone();
                        moved[row][j] += by;
                        at(&h, &moved)
                    };
                    goes_down(to[row][j] - v[row][j], moved, &format!("output {row},{j}"));
                }
                for row in 0..4 {
                    let moved = |by: f64| {
                        let mut moved = h.clone();
                        moved[row][j] += by;
                        at(&moved, &v)
                    };
                    // As in the C tool, words take the whole step and not its share of the mean.
                    let change = (from[row][j] - h[row][j]) * f64::from(scale);
                    goes_down(change, moved, &format!("input {row},{j}"));
                }
            }
        }
    }

    #[test]
    fn a_document_goes_down_its_gradient_and_nothing_else_moves() {
        for labels in labels() {
            let (from, to, mut vector) = (matrix(2, 1), matrix(labels.len(), 2), matrix(1, 3));
            let (h, v, before) = (rows(&from), rows(&to), rows(&vector));
            let inputs = [0, 1].map(|row| Input { row, share: 1.0 });
            let numbers: Vec<u32> = (0..labels.len() as u32).collect();
            let mut step = StepBuffers::new(1, from.lanes());
            let scale = 1.0 / 3.0;
            step.document((&from, &inputs, scale), vector.row_mut(0), (&to, &numbers, &labels), RATE);
            let after = rows(&vector);
            for j in [0, 7, DIM - 1] {
                let moved = |by: f64| {
                    let mut hidden = mean(&h, &inputs, scale);
                    hidden.iter_mut().zip(&before[0]).for_each(|(hidden, value)| *hidden += f64::from(scale) * value);
                    hidden[j] += f64::from(scale) * by;
                    loss(&[hidden], &v, &labels)
                };
                goes_down((after[0][j] - before[0][j]) * f64::from(scale), moved, &format!("{j}"));
            }
        }
    }

    #[test]
    fn errors_and_losses_hold_for_all_scores() {
        for i in -4000..4000 {
            let x = i as f32 / 100.0;
            let one = |x: f32| std::array::from_fn(|i| if i == 0 { x } else { -SURE });
            let (by, lost) = errors(one(x), &[1.0], -1.0);
            let s = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(by[0]) - (s - 1.0)).abs() < 2e-7, "{x}: {}", by[0]);
            assert!(errors([-SURE; TILE], &[], -1.0).1 < 1e-30);
            let loss = -s.ln();
            assert!((f64::from(lost) - loss).abs() < 1e-6 * loss.max(1.0), "{x}: {lost}, {loss}");
        }
        assert!(!errors([f32::INFINITY; TILE], &[0.0], 1.0).1.is_finite());
        assert!(errors([f32::NAN; TILE], &[0.0], 1.0).1.is_nan());
    }
}
