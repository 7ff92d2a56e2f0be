//! Multinomial logistic regression with an L2 penalty: scikit-learn's `LogisticRegression` on more than two classes.
//!
//! Minimises `sum s (ln sum_k e^(z_k) - z_y) + alpha / 2 |W|^2` with z = xW + b, one column of W a class and b free. Newton's
//! method as in the binary case: the Hessian's product with V is `s p (u - sum p u)` with u = xV, so the matrix is touched by
//! products alone. A constant added to all of b changes nothing; b is given with mean 0, as lbfgs from zero gives it.

use anyhow::{Result, ensure};

use super::cg::{self, dot, norm};
use super::map::product;
use super::{Convergence, LinearMap, LinearParams};
use crate::sparse::Csr;
use inkstone_base::job::Ctx;

/// Newton steps at the most; a dozen is usual.
const MAX_STEPS: usize = 100;

/// Fits which of `classes` each row of `x` is, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn softmax(
    x: &Csr,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    super::check(x, class.len(), weights, params)?;
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total = totals(class, classes, s)?;
    let transposed = x.transpose();
    let (n, d, k, alpha) = (x.rows(), x.cols(), classes, params.alpha);

    // The unknowns are the weights `[columns, classes]`, then the intercepts. The start knows the base rates alone.
    let mut theta = vec![0.0; (d + 1) * k];
    theta[d * k..].iter_mut().zip(&total).for_each(|(b, t)| *b = t.ln());
    centre(&mut theta[d * k..]);
    let mut margins: Vec<f64> = theta[d * k..].repeat(n);
    let mut value = objective(&margins, class, s, &theta[..d * k], k, alpha);
    let mut start = None;
    let mut convergence = Convergence::default();
    for _ in 0..MAX_STEPS {
        ctx.check()?;
        let mut p = margins.clone();
        p.chunks_mut(k).for_each(to_probabilities);
        let mut pull = p.clone();
        for ((pull, &c), s) in pull.chunks_mut(k).zip(class).zip(s) {
            pull[c as usize] -= 1.0;
            pull.iter_mut().for_each(|v| *v *= s);
        }
        let gradient = transpose_product(&transposed, &pull, &theta, k, alpha);
        let size = norm(&gradient);
        let first = *start.get_or_insert(size);
        convergence.gradient = if first > 0.0 { size / first } else { 0.0 };
        convergence.converged = convergence.gradient <= params.tolerance;
        if convergence.converged || convergence.iterations >= params.max_iterations {
            break;
        }

        let diagonal = diagonal(&transposed, &p, s, k, alpha);
        let mut u = vec![0.0; n * k];
        let apply = |v: &[f64], out: &mut [f64]| {
            ctx.check()?;
            product(x, v, k, &mut u);
            for ((u, p), s) in u.chunks_mut(k).zip(p.chunks(k)).zip(s) {
                u.iter_mut().zip(&v[d * k..]).for_each(|(u, b)| *u += b);
                let mean = dot(u, p);
                u.iter_mut().zip(p).for_each(|(u, p)| *u = s * p * (*u - mean));
            }
            out.copy_from_slice(&transpose_product(&transposed, &u, v, k, alpha));
            Ok(())
        };
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let exactness = convergence.gradient.sqrt().min(0.1);
        let left = params.max_iterations - convergence.iterations;
        let (step, products, _) = cg::solve(apply, &diagonal, &downhill, exactness, left)?;
        convergence.iterations += products.max(1);

        let mut along = vec![0.0; n * k];
        product(x, &step, k, &mut along);
        along.chunks_mut(k).for_each(|row| row.iter_mut().zip(&step[d * k..]).for_each(|(a, b)| *a += b));
        let slope = dot(&gradient, &step);
        let mut length = 1.0;
        loop {
            let moved =
                |from: &[f64], by: &[f64]| from.iter().zip(by).map(|(a, b)| a + length * b).collect::<Vec<f64>>();
            let (next, next_margins) = (moved(&theta, &step), moved(&margins, &along));
            let next_value = objective(&next_margins, class, s, &next[..d * k], k, alpha);
            // Near the optimum the fall drowns in rounding; a full step is right there.
            let rounding = 1e-12 * value.abs();
            if next_value <= value + 1e-4 * length * slope + rounding || length < 1e-10 {
                (theta, margins, value) = (next, next_margins, next_value);
                break;
            }
            length *= 0.5;
        }
    }
    let mut intercepts = theta.split_off(d * k);
    centre(&mut intercepts);
    Ok((LinearMap { outputs: k, weights: theta, intercepts }, convergence))
}

/// The weight of the rows of each class, none of which may be without.
pub(super) fn totals(class: &[u32], classes: usize, s: &[f64]) -> Result<Vec<f64>> {
    ensure!(classes > 1, "a classifier needs rows of two classes or more; there is only one");
    let mut total = vec![0.0; classes];
    for (&c, s) in class.iter().zip(s) {
        total[c as usize] += s;
    }
    if let Some(empty) = total.iter().position(|t| *t <= 0.0) {
        anyhow::bail!("class {empty} has no rows to learn from (or all of them have weight 0); leave it out");
    }
    Ok(total)
}

fn centre(b: &mut [f64]) {
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    b.iter_mut().for_each(|b| *b -= mean);
}

/// Scores to probabilities, in place.
pub(crate) fn to_probabilities(z: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    z.iter_mut().for_each(|z| *z = (*z - top).exp());
    let sum: f64 = z.iter().sum();
    z.iter_mut().for_each(|z| *z /= sum);
}

/// ln sum e^z without overflow.
pub(crate) fn log_sum_exp(z: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = z.clone().fold(f64::NEG_INFINITY, f64::max);
    top + z.map(|z| (z - top).exp()).sum::<f64>().ln()
}

/// What rows pull on weights and intercepts, with the penalty's pull on the weights.
fn transpose_product(transposed: &Csr, pull: &[f64], theta: &[f64], k: usize, alpha: f64) -> Vec<f64> {
    let d = transposed.rows();
    let mut out = vec![0.0; (d + 1) * k];
    product(transposed, pull, k, &mut out[..d * k]);
    for (out, w) in out[..d * k].iter_mut().zip(theta) {
        *out += alpha * w;
    }
    for row in pull.chunks(k) {
        out[d * k..].iter_mut().zip(row).for_each(|(out, v)| *out += v);
    }
    out
}

fn diagonal(transposed: &Csr, p: &[f64], s: &[f64], k: usize, alpha: f64) -> Vec<f64> {
    let curved: Vec<f64> = p.iter().enumerate().map(|(at, p)| s[at / k] * p * (1.0 - p)).collect();
    let mut out = Vec::with_capacity((transposed.rows() + 1) * k);
    for j in 0..transposed.rows() {
        let row = transposed.row(j);
        out.extend(
            (0..k).map(|c| {
                alpha + row.iter().map(|(i, v)| curved[i as usize * k + c] * f64::from(v).powi(2)).sum::<f64>()
            }),
        );
    }
    out.extend((0..k).map(|c| curved[c..].iter().step_by(k).sum::<f64>().max(f64::MIN_POSITIVE)));
    out
}

fn objective(margins: &[f64], class: &[u32], s: &[f64], weights: &[f64], k: usize, alpha: f64) -> f64 {
    let loss = |((z, &c), s): ((&[f64], &u32), &f64)| s * (log_sum_exp(z.iter().copied()) - z[c as usize]);
    margins.chunks(k).zip(class).zip(s).map(loss).sum::<f64>() + 0.5 * alpha * dot(weights, weights)
}
