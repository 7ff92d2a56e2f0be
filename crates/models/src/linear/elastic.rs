//! Logistic regression with an elastic net, binary and multinomial: scikit-learn's `LogisticRegression(l1_ratio=r)`.
//!
//! Minimises `sum s loss + alpha (r |W|_1 + (1 - r) / 2 |W|^2)` over weights and free intercepts; r is `l1_ratio`, alpha is
//! 1/C. Newton's method with the penalty kept whole: each step minimises the quadratic model of the loss plus the penalty by
//! cyclic coordinate descent over the weights that are not at rest, then goes as far along it as the objective falls (Yuan, Ho and
//! Lin 2012, "An improved GLMNET for L1-regularized logistic regression", here with the whole Hessian of all classes). The descent
//! runs on one thread and sums over rows are taken in order, so that bytes depend on nothing else.
//!
//! Two classes have one score, the log-odds of the second; more have one each.

use anyhow::Result;
use rayon::prelude::*;

use super::softmax::totals;
use super::{Convergence, LinearMap, LinearParams};
use crate::design::{ColumnReader, Design, TwoWay};
use crate::sparse::Row;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Newton steps at the most; ten are usual.
const MAX_STEPS: usize = 200;

/// Share of the expected fall that a step must bring.
const ENOUGH: f64 = 0.01;

/// Fits which of `classes` each row of `x` is. Two classes give one output, the log-odds of the second. Call inside
/// [`Ctx::install`].
pub(crate) fn elastic_net(
    x: &Design,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    super::model::check(x, class.len(), weights, params)?;
    ensure!(
        (0.0..=1.0).contains(&params.l1_ratio),
        "l1_ratio = {} 须在 0 到 1 之间",
        "l1_ratio = {} must be between 0 and 1",
        params.l1_ratio
    );
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total = totals(class, classes, s)?;
    let mut fit = Fit::new(x, class, s, &total, params);
    let mut convergence = Convergence::default();
    let mut first = None;
    for _ in 0..MAX_STEPS {
        let gradient = fit.gradient();
        let violation = fit.violation(&gradient);
        let first = *first.get_or_insert(violation);
        convergence.gradient = if first > 0.0 { violation / first } else { 0.0 };
        convergence.converged = convergence.gradient <= params.tolerance;
        let left = params.max_iterations.saturating_sub(convergence.iterations);
        if convergence.converged || left == 0 {
            break;
        }
        // The nearer the end, the more exact the step, so that errors shrink faster than by a constant share.
        let exactness = convergence.gradient.sqrt().clamp(1e-3, 0.1);
        let mut model = QuadraticModel::new(&fit, &gradient, ctx)?;
        convergence.iterations += model.descend(exactness * violation, left)?;
        if !fit.advance(&gradient, &model.step) {
            break;
        }
    }
    Ok((fit.finish(), convergence))
}

/// The state of the fit.
struct Fit<'a> {
    x: &'a Design,
    two: TwoWay<'a>,
    class: &'a [u32],
    s: &'a [f64],
    /// Outputs: 1 for two classes.
    k: usize,
    l1: f64,
    l2: f64,
    /// `[columns + 1, outputs]`; the last row has the intercepts.
    weights: Vec<f64>,
    /// `[rows, outputs]`.
    margins: Vec<f64>,
    /// Probabilities, `[rows, outputs]`.
    p: Vec<f64>,
    value: f64,
}

impl<'a> Fit<'a> {
    fn new(x: &'a Design, class: &'a [u32], s: &'a [f64], total: &[f64], params: &LinearParams) -> Fit<'a> {
        let k = if total.len() == 2 { 1 } else { total.len() };
        let mut weights = vec![0.0; (x.cols() + 1) * k];
        let intercepts = &mut weights[x.cols() * k..];
        match total {
            [first, second] => intercepts[0] = (second / first).ln(),
            total => intercepts.iter_mut().zip(total).for_each(|(b, t)| *b = t.ln()),
        }
        let margins = intercepts.repeat(x.rows());
        let (l1, l2) = (params.alpha * params.l1_ratio, params.alpha * (1.0 - params.l1_ratio));
        let two = TwoWay::new(x);
        let mut fit = Fit { x, two, class, s, k, l1, l2, weights, p: Vec::new(), value: f64::INFINITY, margins };
        (fit.value, fit.p) = fit.at(&fit.margins);
        fit.value += fit.penalty(&fit.weights);
        fit
    }

    /// 1 when the row's class is the one that output `c` speaks of.
    fn is(&self, row: usize, c: usize) -> f64 {
        f64::from(u8::from(self.class[row] as usize == if self.k == 1 { 1 } else { c }))
    }

    /// Loss and probabilities at these margins.
    fn at(&self, margins: &[f64]) -> (f64, Vec<f64>) {
        let mut p = margins.to_vec();
        // The first of two classes has a margin of 0.
        let rest = if self.k == 1 { 0.0 } else { f64::NEG_INFINITY };
        let losses: Vec<f64> = p
            .par_chunks_mut(self.k)
            .zip(margins.par_chunks(self.k))
            .enumerate()
            .map(|(i, (p, margins))| {
                let top = margins.iter().copied().fold(rest, f64::max);
                p.iter_mut().for_each(|z| *z = (*z - top).exp());
                let sum = p.iter().sum::<f64>() + (rest - top).exp();
                p.iter_mut().for_each(|z| *z /= sum);
                let own: f64 = margins.iter().enumerate().map(|(c, z)| self.is(i, c) * z).sum();
                self.s[i] * (top + sum.ln() - own)
            })
            .collect();
        (losses.iter().sum(), p)
    }

    fn penalty(&self, weights: &[f64]) -> f64 {
        let penalty = |w: &f64| self.l1 * w.abs() + 0.5 * self.l2 * w * w;
        weights[..self.x.cols() * self.k].iter().map(penalty).sum()
    }

    /// The loss's and the L2 part's, `[columns + 1, outputs]`.
    fn gradient(&self) -> Vec<f64> {
        let (d, k) = (self.x.cols(), self.k);
        let pull = |(at, p): (usize, &f64)| self.s[at / k] * (p - self.is(at / k, at % k));
        let pull: Vec<f64> = self.p.iter().enumerate().map(pull).collect();
        let mut gradient = vec![0.0; (d + 1) * k];
        self.two.transposed_product(&pull, k, &mut gradient[..d * k]);
        gradient[..d * k].iter_mut().zip(&self.weights).for_each(|(g, w)| *g += self.l2 * w);
        for row in pull.chunks(k) {
            gradient[d * k..].iter_mut().zip(row).for_each(|(g, v)| *g += v);
        }
        gradient
    }

    /// The L1 penalty of a weight, none of the intercepts.
    fn l1_of(&self, at: usize) -> f64 {
        if at < self.x.cols() * self.k { self.l1 } else { 0.0 }
    }

    /// The sum of the absolute values of the least subgradient.
    fn violation(&self, gradient: &[f64]) -> f64 {
        let violation = |(at, (&g, &w)): (usize, (&f64, &f64))| off(g, w, self.l1_of(at));
        gradient.iter().zip(&self.weights).enumerate().map(violation).sum()
    }

    /// Goes along the step as far as the objective falls enough; false when it falls nowhere.
    fn advance(&mut self, gradient: &[f64], step: &[f64]) -> bool {
        let (d, k) = (self.x.cols(), self.k);
        let mut along = vec![0.0; self.margins.len()];
        self.x.product(&step[..d * k], k, &mut along);
        along.chunks_mut(k).for_each(|row| row.iter_mut().zip(&step[d * k..]).for_each(|(a, b)| *a += b));
        let moved = |from: &[f64], by: &[f64], length: f64| -> Vec<f64> {
            from.iter().zip(by).map(|(a, b)| a + length * b).collect()
        };
        let (old, l1) = (&self.weights, |w: &[f64]| self.l1 * w[..d * k].iter().map(|w| w.abs()).sum::<f64>());
        let slope = gradient.iter().zip(step).map(|(g, b)| g * b).sum::<f64>() + l1(&moved(old, step, 1.0)) - l1(old);
        let mut length = 1.0;
        while length > 1e-10 {
            let (weights, margins) = (moved(&self.weights, step, length), moved(&self.margins, &along, length));
            let (loss, p) = self.at(&margins);
            let value = loss + self.penalty(&weights);
            // Near the optimum the fall drowns in rounding; a full step is right there.
            if value <= self.value + ENOUGH * length * slope + 1e-12 * self.value.abs() {
                (self.weights, self.margins, self.p, self.value) = (weights, margins, p, value);
                return slope < 0.0;
            }
            length *= 0.5;
        }
        false
    }

    fn finish(mut self) -> LinearMap {
        let mut intercepts = self.weights.split_off(self.x.cols() * self.k);
        if self.k > 1 {
            let mean = intercepts.iter().sum::<f64>() / self.k as f64;
            intercepts.iter_mut().for_each(|b| *b -= mean);
        }
        LinearMap { outputs: self.k, weights: self.weights, intercepts }
    }
}

/// The distance of a weight from rest, given the slope of all but the L1 part.
fn off(slope: f64, w: f64, l1: f64) -> f64 {
    if w == 0.0 { (slope.abs() - l1).max(0.0) } else { (slope + l1 * w.signum()).abs() }
}

/// The quadratic model of the objective around a point.
struct QuadraticModel<'a> {
    fit: &'a Fit<'a>,
    gradient: &'a [f64],
    ctx: &'a Ctx,
    rows: RowModel,
    reader: ColumnReader,
    /// Weights to be moved, class by class.
    active: Vec<usize>,
    curvature: Vec<f64>,
    /// `[columns + 1, outputs]`.
    step: Vec<f64>,
}

/// The quadratic model row by row.
struct RowModel {
    /// Output by output, `[outputs, rows]`.
    cells: Vec<OutputCell>,
    /// The mean of a row's moves under its probabilities.
    mean: Vec<f64>,
}

/// A row in one output.
#[derive(Clone, Copy)]
struct OutputCell {
    p: f64,
    /// p times the row's weight.
    pull: f64,
    /// By how much the step so far moves the margin.
    moved: f64,
}

impl<'a> QuadraticModel<'a> {
    fn new(fit: &'a Fit<'a>, gradient: &'a [f64], ctx: &'a Ctx) -> Result<QuadraticModel<'a>> {
        ctx.check()?;
        let (n, k) = (fit.x.rows(), fit.k);
        let cell = |at: usize| {
            let (c, i) = (at / n, at % n);
            OutputCell { p: fit.p[i * k + c], pull: fit.s[i] * fit.p[i * k + c], moved: 0.0 }
        };
        let rows = RowModel { cells: (0..n * k).map(cell).collect(), mean: vec![0.0; n] };
        // Intercepts first, since all else leans on them.
        let by_class = |c: usize| (0..=fit.x.cols()).rev().map(move |j| j * k + c);
        let active: Vec<usize> = (0..k)
            .flat_map(by_class)
            .filter(|&at| fit.weights[at] != 0.0 || off(gradient[at], fit.weights[at], fit.l1_of(at)) > 0.0)
            .collect();
        let dense = rows.dense_curvatures(fit);
        let curvature = active.par_iter().map(|&at| rows.curvature(fit, at, &dense)).collect();
        let (reader, step) = (ColumnReader::default(), vec![0.0; gradient.len()]);
        Ok(QuadraticModel { fit, gradient, ctx, rows, reader, active, curvature, step })
    }

    /// Passes over the weights until the violation met on the way is below the goal; says how many passes.
    fn descend(&mut self, goal: f64, most: usize) -> Result<usize> {
        for pass in 1..=most {
            self.ctx.check()?;
            if self.pass() <= goal {
                return Ok(pass);
            }
        }
        Ok(most)
    }

    fn pass(&mut self) -> f64 {
        let fit = self.fit;
        let mut violation = 0.0;
        for (&at, &curvature) in self.active.iter().zip(&self.curvature) {
            let l2 = if at < fit.x.cols() * fit.k { fit.l2 } else { 0.0 };
            let column = fit.column(at / fit.k, &mut self.reader);
            let slope = self.gradient[at] + l2 * self.step[at] + self.rows.pulled(&column, at % fit.k);
            let (w, l1) = (fit.weights[at] + self.step[at], fit.l1_of(at));
            violation += off(slope, w, l1);
            let by = soft_step(slope, (curvature + l2).max(1e-12), w, l1);
            if by != 0.0 {
                self.step[at] += by;
                self.rows.shift(&column, at % fit.k, by);
            }
        }
        violation
    }
}

/// The values of a column.
enum ColumnValues<'a> {
    /// Column of the sparse part: the rows in which it has a value.
    Sparse(Row<'a>),
    /// Column of the dense part: one value a row.
    Dense(&'a [f64]),
    /// The intercept: 1 in all rows.
    Ones,
}

impl Fit<'_> {
    fn column<'c>(&'c self, j: usize, reader: &'c mut ColumnReader) -> ColumnValues<'c> {
        let sparse = self.two.transposed.rows();
        match self.x.dense() {
            _ if j < sparse => ColumnValues::Sparse(self.two.transposed.row(j)),
            Some(view) if j < self.x.cols() => ColumnValues::Dense(reader.dense(view, j - sparse)),
            _ => ColumnValues::Ones,
        }
    }
}

impl RowModel {
    /// The curvatures of the dense columns, `[columns, outputs]`.
    fn dense_curvatures(&self, fit: &Fit<'_>) -> Vec<f64> {
        let Some(view) = fit.x.dense() else { return Vec::new() };
        let n = self.mean.len();
        let curved = |at: usize| {
            let cell = &self.cells[at % fit.k * n + at / fit.k];
            cell.pull * (1.0 - cell.p)
        };
        let by: Vec<f64> = (0..n * fit.k).map(curved).collect();
        let mut out = vec![0.0; view.dim() * fit.k];
        view.squares(&by, fit.k, &mut out);
        out
    }

    fn curvature(&self, fit: &Fit<'_>, at: usize, dense: &[f64]) -> f64 {
        let (j, c) = (at / fit.k, at % fit.k);
        let cells = &self.cells[c * self.mean.len()..][..self.mean.len()];
        let curvature = |cell: &OutputCell| cell.pull * (1.0 - cell.p);
        let sparse = fit.two.transposed.rows();
        if j < sparse {
            let column = fit.two.transposed.row(j);
            column.iter().map(|(i, v)| f64::from(v).powi(2) * curvature(&cells[i as usize])).sum()
        } else if j < fit.x.cols() {
            dense[at - sparse * fit.k]
        } else {
            cells.iter().map(curvature).sum()
        }
    }

    /// By how much the step so far changes the slope of a column in output `c`.
    fn pulled(&self, column: &ColumnValues<'_>, c: usize) -> f64 {
        let cells = &self.cells[c * self.mean.len()..][..self.mean.len()];
        let slope = |cell: &OutputCell, mean: f64| cell.pull * (cell.moved - mean);
        match column {
            ColumnValues::Sparse(column) => {
                column.iter().map(|(i, v)| f64::from(v) * slope(&cells[i as usize], self.mean[i as usize])).sum()
            }
            ColumnValues::Dense(values) => {
                values.iter().zip(cells).zip(&self.mean).map(|((v, cell), &mean)| v * slope(cell, mean)).sum()
            }
            ColumnValues::Ones => cells.iter().zip(&self.mean).map(|(cell, &mean)| slope(cell, mean)).sum(),
        }
    }

    fn shift(&mut self, column: &ColumnValues<'_>, c: usize, by: f64) {
        let n = self.mean.len();
        let (cells, means) = (&mut self.cells[c * n..][..n], &mut self.mean);
        let shift = |cell: &mut OutputCell, mean: &mut f64, by: f64| {
            cell.moved += by;
            *mean += cell.p * by;
        };
        match column {
            ColumnValues::Sparse(column) => {
                column.iter().for_each(|(i, v)| {
                    shift(&mut cells[i as usize], &mut means[i as usize], by * f64::from(v));
                });
            }
            ColumnValues::Dense(values) => {
                cells.iter_mut().zip(means).zip(*values).for_each(|((cell, mean), v)| shift(cell, mean, by * v));
            }
            ColumnValues::Ones => cells.iter_mut().zip(means).for_each(|(cell, mean)| shift(cell, mean, by)),
        }
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
