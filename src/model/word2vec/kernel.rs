//! The step of one prediction: some inputs each predict the same outputs, and all learn from the error.
//!
//! For inputs `h_i` and outputs `v_k` with labels `y_k` the loss is `-ln s(x)` where `y_k` is 1 and `-ln s(-x)` where it is 0, in
//! nats, `x = h_i . v_k` and `s` the logistic function; its gradient by `x` is `s(x) - y_k`. All errors of a step are taken at the
//! values before it, so that the dot products and the two updates are small dense products over the same rows (Ji, Satish, Li
//! and Dubey 2016, Parallelizing Word2Vec in Shared and Distributed Memory).

use super::matrix::{Lane, WIDTH};

/// Outputs whose errors are computed at once.
pub(super) const TILE: usize = WIDTH;

/// What a step works on, all of `lanes` groups a row.
pub(super) struct Step<'a> {
    /// The inputs `h_i`.
    pub(super) inputs: &'a [Lane],
    /// What is to be added to each input; comes as zeros.
    pub(super) changes: &'a mut [Lane],
    /// All outputs.
    pub(super) outputs: &'a mut [Lane],
    /// Room for the errors of each input.
    pub(super) errors: &'a mut [[f32; TILE]],
    pub(super) lanes: usize,
    /// The rate of learning.
    pub(super) rate: f32,
}

impl Step<'_> {
    /// Learns that these outputs, given by row, have these labels; gives the loss.
    #[inline(always)]
    pub(super) fn learn(&mut self, rows: &[u32], labels: &[f32]) -> f32 {
        let mut loss = 0.0;
        for (rows, labels) in rows.chunks(TILE).zip(labels.chunks(TILE)) {
            let mut wanted = [0.0; TILE];
            wanted[..labels.len()].copy_from_slice(labels);
            if self.inputs.len() == self.lanes {
                let scores = scores(self.inputs, self.outputs, rows);
                let (errors, losses) = logistic(&scores, &wanted);
                loss += losses[..rows.len()].iter().sum::<f32>();
                for (error, &row) in errors.iter().zip(rows) {
                    let output = &mut self.outputs[row as usize * self.lanes..][..self.lanes];
                    exchange(-self.rate * error, self.inputs, self.changes, output);
                }
            } else {
                loss += self.several(rows, &wanted);
            }
        }
        loss
    }

    /// As [`Step::learn`], for more than one input.
    #[inline(always)]
    fn several(&mut self, rows: &[u32], wanted: &[f32; TILE]) -> f32 {
        let lanes = self.lanes;
        let mut loss = 0.0;
        for (errors, input) in self.errors.iter_mut().zip(self.inputs.chunks_exact(lanes)) {
            let scores = scores(input, self.outputs, rows);
            let (found, losses) = logistic(&scores, wanted);
            *errors = found;
            loss += losses[..rows.len()].iter().sum::<f32>();
        }
        let rate = self.rate;
        let output = |row: u32| row as usize * lanes..(row as usize + 1) * lanes;
        for (errors, change) in self.errors.iter().zip(self.changes.chunks_exact_mut(lanes)) {
            let (mut four, mut k) = (rows.chunks_exact(4), 0);
            for rows in &mut four {
                let by = [-rate * errors[k], -rate * errors[k + 1], -rate * errors[k + 2], -rate * errors[k + 3]];
                let from = [
                    &self.outputs[output(rows[0])],
                    &self.outputs[output(rows[1])],
                    &self.outputs[output(rows[2])],
                    &self.outputs[output(rows[3])],
                ];
                add_four(by, from, change);
                k += 4;
            }
            for &row in four.remainder() {
                add(-rate * errors[k], &self.outputs[output(row)], change);
                k += 1;
            }
        }
        for (k, &row) in rows.iter().enumerate() {
            let to = &mut self.outputs[output(row)];
            let mut inputs = self.inputs.chunks_exact(4 * lanes);
            let mut errors = self.errors.chunks_exact(4);
            for (inputs, errors) in (&mut inputs).zip(&mut errors) {
                let by = [-rate * errors[0][k], -rate * errors[1][k], -rate * errors[2][k], -rate * errors[3][k]];
                let (first, second) = inputs.split_at(2 * lanes);
                add_four(by, [&first[..lanes], &first[lanes..], &second[..lanes], &second[lanes..]], to);
            }
            for (input, errors) in inputs.remainder().chunks_exact(lanes).zip(errors.remainder()) {
                add(-rate * errors[k], input, to);
            }
        }
        loss
    }
}

/// The scores of outputs for an input. Products of one row are summed up only when all rows have theirs, or the compiler would
/// take the narrow steps of the sum for all.
#[inline(always)]
fn scores(input: &[Lane], outputs: &[Lane], rows: &[u32]) -> [f32; TILE] {
    let lanes = input.len();
    let mut products = [Lane::default(); TILE];
    for (product, &row) in products.iter_mut().zip(rows) {
        let mut sums = Lane::default();
        for (a, b) in input.iter().zip(&outputs[row as usize * lanes..][..lanes]) {
            sums = sums.plus_product(*a, *b);
        }
        *product = sums;
    }
    let mut scores = [0.0; TILE];
    for (score, product) in scores.iter_mut().zip(&products[..rows.len()]) {
        *score = product.sum();
    }
    scores
}

/// `to += by * from`.
#[inline(always)]
pub(super) fn add(by: f32, from: &[Lane], to: &mut [Lane]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = to.plus(by, *from);
    }
}

/// `to += by * from` four times, which reads and writes `to` once.
#[inline(always)]
fn add_four(by: [f32; 4], from: [&[Lane]; 4], to: &mut [Lane]) {
    let [a, b, c, d] = from;
    for ((((to, a), b), c), d) in to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *to = to.plus(by[0], *a).plus(by[1], *b).plus(by[2], *c).plus(by[3], *d);
    }
}

/// `change += by * output`, and `output += by * input`.
#[inline(always)]
fn exchange(by: f32, input: &[Lane], change: &mut [Lane], output: &mut [Lane]) {
    for ((input, change), output) in input.iter().zip(change).zip(output) {
        let old = *output;
        *change = change.plus(by, old);
        *output = old.plus(by, *input);
    }
}

/// `s(x) - y` and the loss of each score.
///
/// With `e = exp(-|x|)`, `s(|x|)` is `1 / (1 + e)` and the loss `max(x, 0) - x y + ln(1 + e)`, which no score overflows.
#[inline(always)]
fn logistic(scores: &[f32; TILE], labels: &[f32; TILE]) -> ([f32; TILE], [f32; TILE]) {
    let (mut errors, mut losses) = ([0.0; TILE], [0.0; TILE]);
    for i in 0..TILE {
        let (x, y) = (scores[i], labels[i]);
        let e = exp_not_above_one(x.abs());
        let high = 1.0 / (1.0 + e);
        errors[i] = if x >= 0.0 { high } else { e * high } - y;
        losses[i] = x.max(0.0) - x * y + ln_1p(e);
    }
    (errors, losses)
}

/// `exp(-x)` for `x` from 0 on, to some 1e-7 of itself; exp(-87) from 87 on.
#[inline(always)]
fn exp_not_above_one(x: f32) -> f32 {
    /// Adding it rounds to whole numbers, which stand in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = -x.min(87.0);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let whole = rounded - ROUND;
    // ln 2 in two parts, the first of few bits.
    let rest = whole.mul_add(2.121_944_4e-4, whole.mul_add(-0.693_359_4, x));
    let terms = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    f32::from_bits(polynomial(&terms, rest).to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// `ln(1 + e)` for `e` from 0 to 1, by the series of the inverse hyperbolic tangent.
#[inline(always)]
fn ln_1p(e: f32) -> f32 {
    let s = e / (2.0 + e);
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
    use super::super::matrix::Matrix;
    use super::*;

    const DIM: usize = 21;

    fn lanes(rows: usize, seed: u64) -> Vec<Lane> {
        let mut values = Matrix::random(rows, DIM, seed);
        values.cut(&[]).remove(0).iter().map(|lane| Lane(lane.0.map(|v| v * 40.0))).collect()
    }

    fn row(lanes: &[Lane], row: usize) -> Vec<f64> {
        let width = DIM.div_ceil(WIDTH);
        lanes[row * width..][..width].iter().flat_map(|lane| lane.0).map(f64::from).collect()
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

    #[test]
    fn a_step_goes_down_the_gradient_that_finite_differences_give() {
        // Negative samples have one label of 1, paths any; more outputs than a tile; one input as in CBOW, several as in skip-gram.
        let path: Vec<f32> = (0..20).map(|k| (k % 3 == 0).into()).collect();
        for (m, labels) in [(1, &[1.0, 0.0, 0.0, 0.0][..]), (3, &[1.0, 0.0, 0.0]), (1, &path), (4, &path)] {
            let width = DIM.div_ceil(WIDTH);
            let (inputs, before) = (lanes(m, 1), lanes(labels.len(), 2));
            let mut outputs = before.clone();
            let (mut changes, mut errors) = (vec![Lane::default(); inputs.len()], vec![[0.0; TILE]; m]);
            let rows: Vec<u32> = (0..labels.len() as u32).collect();
            let rate = 0.5;
            let (changes_of, outputs_of) = (&mut changes, &mut outputs);
            let found = crate::simd::wide(
                #[inline(always)]
                || {
                    let (inputs, errors) = (&inputs[..], &mut errors[..]);
                    Step { inputs, changes: changes_of, outputs: outputs_of, errors, lanes: width, rate }
                        .learn(&rows, labels)
                },
            );
            let values = |lanes: &[Lane], n: usize| (0..n).map(|i| row(lanes, i)).collect::<Vec<_>>();
            let (h, v) = (values(&inputs, m), values(&before, labels.len()));
            assert!((f64::from(found) - loss(&h, &v, labels)).abs() < 1e-4, "{found}");
            let step = 1e-5;
            for j in [0, 7, DIM - 1] {
                for i in 0..m {
                    let moved = |by: f64| {
                        let mut h = h.clone();
                        h[i][j] += by;
                        loss(&h, &v, labels)
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    let change = row(&changes, i)[j];
                    assert!((change + f64::from(rate) * slope).abs() < 1e-5, "input {i},{j}: {change}, slope {slope}");
                }
                for k in 0..labels.len() {
                    let moved = |by: f64| {
                        let mut v = v.clone();
                        v[k][j] += by;
                        loss(&h, &v, labels)
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    let change = row(&outputs, k)[j] - v[k][j];
                    assert!((change + f64::from(rate) * slope).abs() < 1e-5, "output {k},{j}: {change}, slope {slope}");
                }
            }
        }
    }

    #[test]
    fn errors_and_losses_hold_for_all_scores() {
        for i in -4000..4000 {
            let x = i as f32 / 100.0;
            let (errors, losses) = logistic(&[x; TILE], &[1.0; TILE]);
            let s = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(errors[0]) - (s - 1.0)).abs() < 2e-7, "{x}: {}", errors[0]);
            let loss = -s.ln();
            assert!((f64::from(losses[0]) - loss).abs() < 1e-6 * loss.max(1.0), "{x}: {}, {loss}", losses[0]);
        }
        let (errors, losses) = logistic(&[f32::INFINITY; TILE], &[0.0; TILE]);
        assert!(errors[0] == 1.0 && !losses[0].is_finite());
        assert!(logistic(&[f32::NAN; TILE], &[0.0; TILE]).1[0].is_nan());
    }
}
