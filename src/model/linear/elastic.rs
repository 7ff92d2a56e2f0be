//! Logistic regression with an elastic net, binary and multinomial: scikit-learn's `LogisticRegression(l1_ratio=r)`.
//!
//! Minimises `sum s loss + alpha (r |W|_1 + (1 - r) / 2 |W|^2)` over weights and free intercepts; r is `l1_ratio`, alpha is
//! 1/C. Cyclic coordinate descent: each weight takes the Newton step of its own coordinate with the soft threshold, shortened
//! until the objective falls (Yuan, Chang, Hsieh and Lin 2010, as LIBLINEAR). Passes go over all weights, then over
//! those that are not zero until these have settled. It runs on one thread, so its bytes depend on nothing else.
//!
//! Of a row only `e^(z_k)` and their sum are kept: two classes have one score and `e^0` for the other, more have one each.

use anyhow::{Result, ensure};

use super::map::product;
use super::softmax::{log_sum_exp, totals};
use super::{Convergence, LinearMap, LinearParams};
use crate::job::Ctx;
use crate::model::sparse::{Csr, Row};

/// Passes after which the rows' scores are computed afresh, since rounding gathers in what is only ever multiplied.
const REFRESH: usize = 16;

/// Share of the expected fall that a step must bring.
const ENOUGH: f64 = 0.01;

/// Fits which of `classes` each row of `x` is. Two classes give one output, the log-odds of the second. Call inside
/// [`Ctx::install`].
pub fn elastic_net(
    x: &Csr,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    super::check(x, class.len(), weights, params)?;
    ensure!((0.0..=1.0).contains(&params.l1_ratio), "l1_ratio = {} must be between 0 and 1", params.l1_ratio);
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total = totals(class, classes, s)?;
    let mut descent = Descent::new(x, class, s, &total, params);
    let mut convergence = Convergence::default();
    let first = descent.violation();
    let goal = params.tolerance * first.max(f64::MIN_POSITIVE);
    let everything: Vec<u32> = (0..x.cols() as u32).collect();
    while convergence.iterations < params.max_iterations {
        ctx.check()?;
        convergence.iterations += 1;
        descent.pass(&everything, ctx)?;
        let active: Vec<u32> = everything.iter().copied().filter(|&j| descent.is_active(j)).collect();
        let mut last = f64::INFINITY;
        while convergence.iterations < params.max_iterations {
            convergence.iterations += 1;
            let violation = descent.pass(&active, ctx)?;
            if convergence.iterations % REFRESH == 0 {
                descent.refresh();
            }
            // Below the goal, or at rest as far as rounding allows.
            if violation <= 0.5 * goal || (violation >= last && violation <= 1e-12 * first) {
                break;
            }
            last = violation;
        }
        descent.refresh();
        let left = descent.violation();
        convergence.gradient = if first > 0.0 { left / first } else { 0.0 };
        if left <= goal {
            convergence.converged = true;
            break;
        }
    }
    Ok((descent.finish(), convergence))
}

struct Descent<'a> {
    x: &'a Csr,
    transposed: Csr,
    class: &'a [u32],
    s: &'a [f64],
    /// Outputs: 1 for two classes.
    k: usize,
    l1: f64,
    l2: f64,
    /// `[columns, outputs]`.
    weights: Vec<f64>,
    intercepts: Vec<f64>,
    /// `e^(z_k)`, `[rows, outputs]`.
    exp: Vec<f64>,
    /// Their sum by row, and 1 more for two classes.
    sum: Vec<f64>,
    /// The values that one step gives a column's rows, so that a step that is taken need not be computed again.
    tried: Vec<f64>,
    all_rows: Vec<u32>,
    all_ones: Vec<f32>,
}

impl<'a> Descent<'a> {
    fn new(x: &'a Csr, class: &'a [u32], s: &'a [f64], total: &[f64], params: &LinearParams) -> Descent<'a> {
        let k = if total.len() == 2 { 1 } else { total.len() };
        let intercepts = match total {
            [first, second] => vec![(second / first).ln()],
            total => {
                let mean = total.iter().map(|t| t.ln()).sum::<f64>() / k as f64;
                total.iter().map(|t| t.ln() - mean).collect()
            }
        };
        let mut descent = Descent {
            x,
            transposed: x.transpose(),
            class,
            s,
            k,
            l1: params.alpha * params.l1_ratio,
            l2: params.alpha * (1.0 - params.l1_ratio),
            weights: vec![0.0; x.cols() * k],
            intercepts,
            exp: vec![0.0; x.rows() * k],
            sum: vec![0.0; x.rows()],
            tried: Vec::new(),
            all_rows: (0..x.rows() as u32).collect(),
            all_ones: vec![1.0; x.rows()],
        };
        descent.refresh();
        descent
    }

    fn is_active(&self, j: u32) -> bool {
        self.weights[j as usize * self.k..][..self.k].iter().any(|w| *w != 0.0)
    }

    /// 1 when the row's class is the one that output `c` speaks of.
    fn is(&self, row: usize, c: usize) -> f64 {
        f64::from(u8::from(self.class[row] as usize == if self.k == 1 { 1 } else { c }))
    }

    /// Computes the rows' scores from the weights.
    fn refresh(&mut self) {
        product(self.x, &self.weights, self.k, &mut self.exp);
        let rest = if self.k == 1 { Some(0.0) } else { None };
        for (exp, sum) in self.exp.chunks_mut(self.k).zip(&mut self.sum) {
            exp.iter_mut().zip(&self.intercepts).for_each(|(z, b)| *z += b);
            // Of more than two classes only the relations count, so that the sum can be 1.
            let shift = if rest.is_some() { 0.0 } else { log_sum_exp(exp.iter().copied()) };
            exp.iter_mut().for_each(|z| *z = (*z - shift).min(700.0).exp());
            *sum = exp.iter().sum::<f64>() + if rest.is_some() { 1.0 } else { 0.0 };
        }
    }

    /// Slope and curvature of the loss along a column of output `c`.
    fn slope(&self, column: Row<'_>, c: usize) -> (f64, f64) {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for (i, v) in column.iter() {
            let (i, v) = (i as usize, f64::from(v));
            let p = self.exp[i * self.k + c] / self.sum[i];
            slope += v * self.s[i] * (p - self.is(i, c));
            curvature += v * v * self.s[i] * p * (1.0 - p);
        }
        (slope, curvature)
    }

    /// The sum of the absolute values of the least subgradient.
    fn violation(&self) -> f64 {
        let mut sum = 0.0;
        for c in 0..self.k {
            sum += (0..self.x.rows())
                .map(|i| self.s[i] * (self.exp[i * self.k + c] / self.sum[i] - self.is(i, c)))
                .sum::<f64>()
                .abs();
            for j in 0..self.x.cols() {
                let w = self.weights[j * self.k + c];
                sum += self.off(self.slope(self.transposed.row(j), c).0 + self.l2 * w, w);
            }
        }
        sum
    }

    /// How far a weight is from rest, given the slope of all but the L1 part.
    fn off(&self, slope: f64, w: f64) -> f64 {
        if w == 0.0 { (slope.abs() - self.l1).max(0.0) } else { (slope + self.l1 * w.signum()).abs() }
    }

    /// One step for each weight of these columns and each intercept; returns the violation met on the way.
    fn pass(&mut self, columns: &[u32], ctx: &Ctx) -> Result<f64> {
        let transposed = std::mem::take(&mut self.transposed);
        let (rows, ones) = (std::mem::take(&mut self.all_rows), std::mem::take(&mut self.all_ones));
        let every_row = Row { indices: &rows, values: &ones };
        let mut violation = 0.0;
        let mut result = Ok(());
        for c in 0..self.k {
            for chunk in columns.chunks(1024) {
                for &j in chunk {
                    let at = j as usize * self.k + c;
                    let (w, column) = (self.weights[at], transposed.row(j as usize));
                    let (slope, curvature) = self.slope(column, c);
                    let (slope, curvature) = (slope + self.l2 * w, (curvature + self.l2).max(1e-12));
                    violation += self.off(slope, w);
                    let step = soft_step(slope, curvature, w, self.l1);
                    if step != 0.0 {
                        self.weights[at] += self.take(column, c, step, slope, w, self.l1, self.l2);
                    }
                }
                result = result.and_then(|()| ctx.check());
            }
            let (slope, curvature) = self.slope(every_row, c);
            violation += slope.abs();
            let step = -slope / curvature.max(1e-12);
            self.intercepts[c] += self.take(every_row, c, step, slope, 0.0, 0.0, 0.0);
        }
        (self.transposed, self.all_rows, self.all_ones) = (transposed, rows, ones);
        result?;
        Ok(violation)
    }

    /// Takes a step along a column, shortened until the objective falls; returns what was taken.
    #[allow(clippy::too_many_arguments)]
    fn take(&mut self, column: Row<'_>, c: usize, step: f64, slope: f64, w: f64, l1: f64, l2: f64) -> f64 {
        let pulled: f64 = column.iter().map(|(i, v)| f64::from(v) * self.s[i as usize] * self.is(i as usize, c)).sum();
        let mut length = 1.0;
        while length > 1e-10 {
            let d = length * step;
            self.tried.clear();
            let mut fall = l1 * ((w + d).abs() - w.abs()) + l2 * (w * d + 0.5 * d * d) - d * pulled;
            for (i, v) in column.iter() {
                let old = self.exp[i as usize * self.k + c];
                let new = old * (d * f64::from(v)).exp();
                fall += self.s[i as usize] * ((new - old) / self.sum[i as usize]).ln_1p();
                self.tried.push(new);
            }
            let expected = slope * d + l1 * ((w + d).abs() - w.abs());
            // The fall drowns in rounding near the optimum.
            if fall <= ENOUGH * expected || expected.abs() < 1e-12 {
                for ((i, _), &new) in column.iter().zip(&self.tried) {
                    let exp = &mut self.exp[i as usize * self.k + c];
                    self.sum[i as usize] += new - *exp;
                    *exp = new;
                }
                return d;
            }
            length *= 0.5;
        }
        0.0
    }

    fn finish(mut self) -> LinearMap {
        if self.k > 1 {
            let mean = self.intercepts.iter().sum::<f64>() / self.k as f64;
            self.intercepts.iter_mut().for_each(|b| *b -= mean);
        }
        LinearMap { outputs: self.k, weights: self.weights, intercepts: self.intercepts }
    }
}

/// Newton's step for one weight under the L1 part.
fn soft_step(slope: f64, curvature: f64, w: f64, l1: f64) -> f64 {
    if slope + l1 <= curvature * w {
        -(slope + l1) / curvature
    } else if slope - l1 >= curvature * w {
        -(slope - l1) / curvature
    } else {
        -w
    }
}
